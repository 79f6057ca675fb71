// What an offline model says of AIPP in front of its inputs.
#pragma once

#include "compiled.h"
#include "gears.h"
#include "offline.h"

struct aclAippInfo;

namespace gesim {

// Of a Data node: the operator Aipp that reads it, and the Data node on the operator's other input.
struct AippInput {
  int type = om_no_aipp;
  const Node* aipp = nullptr;
  int other = -1;  // of an image the parameters, of parameters the image
};
AippInput aipp_of(const Graph& graph, int data);

// What aclmdlGetInputDims tells of an image that lies in memory as `dims` say.
std::vector<int64_t> image_dims(const AippInput& input, const std::vector<int64_t>& dims);

// Of images whose format and size a run says: max_src_image_size.
uint64_t most_bytes(const AippInput& input);

// As the configuration has it; `compiled`: one by gear.
void describe_aipp(const AippInput& input, const std::vector<std::shared_ptr<Compiled>>& compiled, int data,
                   aclAippInfo& out);

}  // namespace gesim
