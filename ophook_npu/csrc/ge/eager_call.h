// Runs an operator that a library registered with REG_AUTO_MAPPING_OP (include/graph/custom_op.h): C++ code that
// computes its outputs with operators of torch_npu or kernels of its own, on the graph's stream. It tells their shapes
// only then, but where it has an inference.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiled.h"

namespace gesim {

bool eager_exists(const std::string& type);

// Whether the operator tells the shapes of its outputs before it runs.
bool eager_infers(const std::string& type);
// Fills in `outputs`. Returns "" or the reason.
std::string eager_infer(const Node& node, const std::vector<ge_tensor>& inputs, std::vector<ge_tensor>& outputs);

// Whether the operator reads this input of its prototype on the host.
bool reads_value(const std::string& type, size_t ir_input);

// An input as the operator sees it; `size` in bytes, as a string's size cannot be told from its shape.
struct EagerInput {
  ge_tensor tensor;  // dtype ge_absent where it is not fed; on the device otherwise
  size_t size = 0;
};

struct EagerOutputs {
  std::function<std::string(size_t output, ge_tensor& tensor)> allocate;  // fills tensor.data, for its dtype and shape
  std::function<std::string(size_t output, size_t input)> refer;          // the output is that input
  std::function<std::string(size_t size, void** data)> workspace;         // for what the operator launches
};

// Calls Execute on the calling thread. Returns "" or the reason.
std::string eager_launch(const Node& node, const std::vector<EagerInput>& inputs, void* stream,
                         const EagerOutputs& outputs);

// For each input of a node, which input of its prototype it belongs to.
std::vector<size_t> ir_inputs(const Node& node);

}  // namespace gesim
