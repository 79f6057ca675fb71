// What describes an operator to the aclop path: tensor descriptions, data buffers, attributes. libascendcl makes them,
// libacl_op_compiler reads them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
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
  // What single operators are compiled for, and found by (operator_models.h).
  bool storage_told = false;  // the storage's format was set: until then it is the format
  bool is_const = false;      // its values are a part of the operator: constant
  std::string constant;
  std::vector<std::pair<int64_t, int64_t>> ranges;        // of each dimension; the most is -1 where there is none
  std::vector<std::pair<int64_t, int64_t>> value_ranges;  // kept: what is compiled here needs none
  std::string dynamic_input;                              // the prototype's dynamic input that it is one of
  // Of the graph engine's: how many there are from this one on in one array, and where the tensor lies.
  size_t count = 1;
  void* address = nullptr;
};

struct aclDataBuffer {
  void* data;
  size_t size;
};

struct aclopAttr {
  using Value = std::variant<bool, int64_t, float, std::string, aclDataType, std::vector<bool>, std::vector<int64_t>,
                             std::vector<float>, std::vector<std::vector<int64_t>>, std::vector<std::string>,
                             std::vector<aclDataType>>;
  std::map<std::string, Value> values;
};
