// An operator that a program names by its type: inferred and run by the table that the graph engine has as well.
#pragma once

#include "acl/operator_description.h"
#include "core/sim.h"

namespace sim::acl {

// As a program describes it: to compile it, to find it, to run it.
struct Operator {
  const char* type;
  int input_count;
  const aclTensorDesc* const* inputs;
  int output_count;
  const aclTensorDesc* const* outputs;
  const aclopAttr* attributes;  // null: none
};

// Where its tensors lie, of `data` buffers.
struct Memory {
  const aclDataBuffer* const* inputs;
  const aclDataBuffer* const* outputs;
};

// 0, or what such calls fail with where a count is negative, or a pointer is null.
SIM_API int problem_of(const char* caller, const Operator& op);
// The same of the buffers; one without an address has no bytes.
SIM_API int problem_of(const char* caller, const Operator& op, const Memory& memory);
// The same where a tensor is on the host: of its values nothing is known before the call, unless it is a constant.
SIM_API int problem_of_places(const char* caller, const Operator& op);
// Whether there are outputs, and nothing is in any of them: then nothing is run.
SIM_API bool all_empty(const Operator& op);

// The outputs as the inputs give them; a size that only running tells is -1, and of an unknown rank there is one
// dimension, -2. `values` are the inputs' on the host, null where they are not known.
SIM_API int infer(const Operator& op, const aclDataBuffer* const values[], std::vector<aclTensorDesc>& outputs);
// Whether the operator can be compiled for what is described.
SIM_API int check(const Operator& op);
// Onto the stream. With `told` it returns when these outputs' descriptions have the sizes that only running tells.
SIM_API int execute(const Operator& op, const Memory& memory, void* stream, aclTensorDesc* const told[] = nullptr);

}  // namespace sim::acl
