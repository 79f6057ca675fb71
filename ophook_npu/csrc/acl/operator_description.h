// What describes an operator to the aclop path: tensor descriptions, data buffers, attributes. libascendcl makes them,
// libacl_op_compiler reads them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "acl/acl.h"

struct aclTensorDesc {
  aclDataType dtype;
  std::vector<int64_t> dims;
  aclFormat format;
  std::string name;
  aclFormat storage_format;
  std::vector<int64_t> storage_dims;
  aclMemType placement = ACL_MEMTYPE_DEVICE;
  bool in_other_order = false;  // made by in_nchw: it lies in the order of the storage's format
};

struct aclDataBuffer {
  void* data;
  size_t size;
};

struct aclopAttr {
  using Value = std::variant<bool, int64_t, float, std::string, aclDataType, std::vector<bool>, std::vector<int64_t>,
                             std::vector<float>, std::vector<std::vector<int64_t>>>;
  std::map<std::string, Value> values;
};
