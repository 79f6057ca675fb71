// What an operator's own aclnn function (opdev) says of a tensor besides what aclCreateTensor takes.
#pragma once

#include "include/aclnn/opdev/ophook_opdev_c.h"
#include "opapi/objects.h"

namespace sim::aclnn {

// Memory of an executor: in the workspace, or on the host.
struct Storage {
  uint64_t bytes = 0, offset = 0;
  bool on_host = false;
  std::vector<char> values;
};

struct Described {
  struct Sizes {
    size_t rank = 0;
    int64_t dims[25] = {};
  } shapes[3];  // as ophook_opdev_shape gives them
  at::DimVector original;
  int32_t view_format = 0, original_format = 0;
  int64_t storage_offset = 0;  // in elements
  bool of_workspace = false;
  bool of_executor = false;  // then it lives until the call has run, and its place may be told after it was noted
  std::shared_ptr<Storage> storage;  // null: the caller's

  bool on_host() const { return storage && storage->on_host; }
};

Described& described(const aclTensor& tensor);
void describe(aclTensor& tensor, const ophook_opdev_tensor& in);

}  // namespace sim::aclnn
