#include "acl/operator_description.h"

#include "acl/acl_op.h"
#include "core/sim.h"

namespace {
int set(aclopAttr* attributes, const char* name, aclopAttr::Value value) {
  if (!attributes || !name) return sim_fail(ACL_ERROR_INVALID_PARAM, "aclopSetAttr…: null attributes or name");
  attributes->values[name] = std::move(value);
  return ACL_SUCCESS;
}
}  // namespace

extern "C" {

aclTensorDesc* aclCreateTensorDesc(aclDataType dtype, int count, const int64_t* dims, aclFormat format) {
  std::vector<int64_t> shape(dims, dims + count);
  return new aclTensorDesc{dtype, shape, format, {}, format, shape};
}
void aclDestroyTensorDesc(const aclTensorDesc* desc) { delete desc; }
void aclSetTensorDescName(aclTensorDesc* desc, const char* name) { desc->name = name ? name : ""; }
aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format) {
  desc->storage_format = format;
  return ACL_SUCCESS;
}
aclError aclSetTensorShape(aclTensorDesc* desc, int count, const int64_t* dims) {
  desc->storage_dims.assign(dims, dims + count);
  return ACL_SUCCESS;
}
aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType where) {
  desc->placement = where;
  return ACL_SUCCESS;
}
aclDataType aclGetTensorDescType(const aclTensorDesc* desc) { return desc->dtype; }
aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) { return desc->format; }
size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) { return desc->dims.size(); }
aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* size) {
  if (index >= desc->dims.size())
    return sim_fail(ACL_ERROR_INVALID_PARAM, "aclGetTensorDescDimV2: dimension %zu of %zu", index, desc->dims.size());
  *size = desc->dims[index];
  return ACL_SUCCESS;
}

// Of a null description, or of one with a size that is not known, 0.
size_t aclGetTensorDescElementCount(const aclTensorDesc* desc) {
  if (!desc) return 0;
  size_t count = 1;
  for (const int64_t size : desc->dims) count = size < 0 ? 0 : count * size_t(size);
  return count;
}
size_t aclGetTensorDescSize(const aclTensorDesc* desc) {
  return desc ? aclGetTensorDescElementCount(desc) * aclDataTypeSize(desc->dtype) : 0;
}
const char* aclGetTensorDescName(aclTensorDesc* desc) { return desc ? desc->name.c_str() : ""; }

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) { return new aclDataBuffer{data, size}; }
aclError aclDestroyDataBuffer(const aclDataBuffer* buffer) {
  delete buffer;
  return ACL_SUCCESS;
}

aclopAttr* aclopCreateAttr() { return new aclopAttr; }
void aclopDestroyAttr(const aclopAttr* attributes) { delete attributes; }
aclError aclopSetAttrBool(aclopAttr* a, const char* name, uint8_t value) { return set(a, name, value != 0); }
aclError aclopSetAttrInt(aclopAttr* a, const char* name, int64_t value) { return set(a, name, value); }
aclError aclopSetAttrFloat(aclopAttr* a, const char* name, float value) { return set(a, name, value); }
aclError aclopSetAttrString(aclopAttr* a, const char* name, const char* value) {
  return set(a, name, std::string(value));
}
aclError aclopSetAttrDataType(aclopAttr* a, const char* name, aclDataType value) { return set(a, name, value); }
aclError aclopSetAttrListBool(aclopAttr* a, const char* name, int count, const uint8_t* values) {
  return set(a, name, std::vector<bool>(values, values + count));
}
aclError aclopSetAttrListInt(aclopAttr* a, const char* name, int count, const int64_t* values) {
  return set(a, name, std::vector<int64_t>(values, values + count));
}
aclError aclopSetAttrListFloat(aclopAttr* a, const char* name, int count, const float* values) {
  return set(a, name, std::vector<float>(values, values + count));
}
aclError aclopSetAttrListListInt(aclopAttr* a, const char* name, int lists, const int* counts,
                                 const int64_t* const values[]) {
  std::vector<std::vector<int64_t>> all;
  for (int i = 0; i < lists; ++i) all.emplace_back(values[i], values[i] + counts[i]);
  return set(a, name, std::move(all));
}

}  // extern "C"
