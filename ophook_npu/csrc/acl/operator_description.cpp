#include "acl/operator_description.h"

#include <tuple>

#include "acl/acl_op.h"
#include "acl/refuse.h"

namespace {
int set(aclopAttr* attributes, const char* name, aclopAttr::Value value) {
  if (!attributes || !name) return sim_fail(ACL_ERROR_INVALID_PARAM, "aclopSetAttr…: null attributes or name");
  attributes->values[name] = std::move(value);
  return ACL_SUCCESS;
}

int null_of(const char* caller, const char* what) { return ACL_INVALID(caller, "%s is null", what); }

int set_ranges(const char* caller, aclTensorDesc* desc,
               std::vector<std::pair<int64_t, int64_t>> aclTensorDesc::* member, size_t count,
               const int64_t (*ranges)[2]) {
  if (!desc || (count && !ranges)) return null_of(caller, desc ? "the ranges" : "the description");
  (desc->*member).clear();
  for (size_t i = 0; i < count; ++i) (desc->*member).emplace_back(ranges[i][0], ranges[i][1]);
  return ACL_SUCCESS;
}

int problem_of_values(const char* name, int count, const void* values) {
  if (count < 0) return sim_fail(ACL_ERROR_INVALID_PARAM, "aclopSetAttr…: %d values of %s", count, name ? name : "?");
  if (count && !values) return null_of("aclopSetAttr…", name ? name : "the values");
  return ACL_SUCCESS;
}
}  // namespace

extern "C" {

aclTensorDesc* aclCreateTensorDesc(aclDataType dtype, int count, const int64_t* dims, aclFormat format) {
  if (count < 0 || (count && !dims)) {
    ACL_INVALID(__func__, "%d dimensions at %p", count, static_cast<const void*>(dims));
    return nullptr;
  }
  std::vector<int64_t> shape(dims, dims + count);
  return new aclTensorDesc[1]{{dtype, shape, format, {}, format, shape}};  // an array, as those of several
}
void aclDestroyTensorDesc(const aclTensorDesc* desc) { delete[] desc; }
void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
  if (!desc) return (void)null_of("aclSetTensorDescName", "the description");
  desc->name = name ? name : "";
}

// Its storage: what lies in memory.
aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format) {
  if (desc) desc->storage_format = format, desc->storage_told = true;
  return ACL_SUCCESS;
}
aclError aclSetTensorStorageFormat(aclTensorDesc* desc, aclFormat format) { return aclSetTensorFormat(desc, format); }
aclError aclSetTensorShape(aclTensorDesc* desc, int count, const int64_t* dims) {
  if (!desc || !dims) return null_of("aclSetTensorShape", desc ? "the shape" : "the description");
  desc->storage_dims.assign(dims, dims + std::max(count, 0));
  return ACL_SUCCESS;
}
aclError aclSetTensorStorageShape(aclTensorDesc* desc, int count, const int64_t* dims) {
  return aclSetTensorShape(desc, count, dims);
}
// What it stands for. A storage that was not told of follows.
aclError aclSetTensorOriginFormat(aclTensorDesc* desc, aclFormat format) {
  if (!desc) return ACL_SUCCESS;
  if (!desc->storage_told) desc->storage_format = format;
  desc->format = format;
  return ACL_SUCCESS;
}
aclError aclSetTensorOriginShape(aclTensorDesc* desc, int count, const int64_t* dims) {
  if (!desc || !dims) return null_of("aclSetTensorOriginShape", desc ? "the shape" : "the description");
  const bool same = desc->storage_dims == desc->dims;
  desc->dims.assign(dims, dims + std::max(count, 0));
  if (same && !desc->storage_told) desc->storage_dims = desc->dims;
  return ACL_SUCCESS;
}
aclError aclSetTensorShapeRange(aclTensorDesc* desc, size_t count, int64_t ranges[][ACL_TENSOR_SHAPE_RANGE_NUM]) {
  return set_ranges(__func__, desc, &aclTensorDesc::ranges, count, ranges);
}
aclError aclSetTensorValueRange(aclTensorDesc* desc, size_t count, int64_t ranges[][ACL_TENSOR_VALUE_RANGE_NUM]) {
  return set_ranges(__func__, desc, &aclTensorDesc::value_ranges, count, ranges);
}
aclError aclSetTensorDynamicInput(aclTensorDesc* desc, const char* name) {
  if (!desc || !name) return null_of("aclSetTensorDynamicInput", desc ? "the name" : "the description");
  desc->dynamic_input = name;
  return ACL_SUCCESS;
}
aclError aclSetTensorConst(aclTensorDesc* desc, void* values, size_t size) {
  if (!desc || !values) return null_of("aclSetTensorConst", desc ? "the values" : "the description");
  ACL_INVALID_IF(!size, "a constant of no bytes");
  desc->is_const = true;
  desc->constant.assign(static_cast<const char*>(values), size);
  return ACL_SUCCESS;
}
aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType where) {
  if (!desc) return null_of("aclSetTensorPlaceMent", "the description");
  desc->placement = where;
  return ACL_SUCCESS;
}

aclDataType aclGetTensorDescType(const aclTensorDesc* desc) {
  if (!desc) return null_of("aclGetTensorDescType", "the description"), ACL_DT_UNDEFINED;
  return desc->dtype;
}
aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
  if (!desc) return null_of("aclGetTensorDescFormat", "the description"), ACL_FORMAT_UNDEFINED;
  return desc->format;
}
size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
  constexpr int64_t kUnknownRank = -2;
  if (!desc) return null_of("aclGetTensorDescNumDims", "the description"), 0;
  return !desc->dims.empty() && desc->dims[0] == kUnknownRank ? size_t(ACL_UNKNOWN_RANK) : desc->dims.size();
}
aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* size) {
  if (!desc || !size) return null_of("aclGetTensorDescDimV2", desc ? "where the size goes" : "the description");
  ACL_INVALID_IF(index >= desc->dims.size(), "dimension %zu of %zu", index, desc->dims.size());
  *size = desc->dims[index];
  return ACL_SUCCESS;
}
int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index) {
  int64_t size;
  return aclGetTensorDescDimV2(desc, index, &size) ? -1 : size;
}
aclError aclGetTensorDescDimRange(const aclTensorDesc* desc, size_t index, size_t count, int64_t* range) {
  if (!desc || !range) return null_of("aclGetTensorDescDimRange", desc ? "where the range goes" : "the description");
  ACL_INVALID_IF(index >= desc->ranges.size(), "dimension %zu, ranges are known of %zu", index, desc->ranges.size());
  ACL_INVALID_IF(count < ACL_TENSOR_SHAPE_RANGE_NUM, "room for %zu numbers of 2", count);
  std::tie(range[0], range[1]) = desc->ranges[index];
  return ACL_SUCCESS;
}
aclTensorDesc* aclGetTensorDescByIndex(aclTensorDesc* desc, size_t index) {
  if (!desc) return null_of("aclGetTensorDescByIndex", "the description"), nullptr;
  if (index < desc->count) return desc + index;
  ACL_INVALID(__func__, "description %zu of %zu", index, desc->count);
  return nullptr;
}
void* aclGetTensorDescAddress(const aclTensorDesc* desc) {
  if (!desc) return null_of("aclGetTensorDescAddress", "the description"), nullptr;
  return desc->address;
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
  if (!value) return null_of("aclopSetAttrString", name ? name : "the value");
  return set(a, name, std::string(value));
}
aclError aclopSetAttrDataType(aclopAttr* a, const char* name, aclDataType value) { return set(a, name, value); }
#define LIST_OF(Name, T, From)                                                                     \
  aclError aclopSetAttrList##Name(aclopAttr* a, const char* name, int count, const From* values) { \
    const int code = problem_of_values(name, count, values);                                       \
    return code ? code : set(a, name, std::vector<T>(values, values + count));                     \
  }
LIST_OF(Bool, bool, uint8_t)
LIST_OF(Int, int64_t, int64_t)
LIST_OF(Float, float, float)
LIST_OF(DataType, aclDataType, aclDataType)
aclError aclopSetAttrListString(aclopAttr* a, const char* name, int count, const char** values) {
  if (const int code = problem_of_values(name, count, values)) return code;
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    if (!values[i]) return null_of("aclopSetAttrListString", name ? name : "a value");
    all.emplace_back(values[i]);
  }
  return set(a, name, std::move(all));
}
aclError aclopSetAttrListListInt(aclopAttr* a, const char* name, int lists, const int* counts,
                                 const int64_t* const values[]) {
  if (const int code = problem_of_values(name, lists, counts ? values : nullptr)) return code;
  std::vector<std::vector<int64_t>> all;
  for (int i = 0; i < lists; ++i) {
    if (const int code = problem_of_values(name, counts[i], values[i])) return code;
    all.emplace_back(values[i], values[i] + counts[i]);
  }
  return set(a, name, std::move(all));
}

}  // extern "C"
