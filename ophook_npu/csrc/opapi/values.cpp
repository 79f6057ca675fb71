// What the caller passed, as ATen has it.
#include "opapi/aclnn.h"

#include "kernels/absent.h"
#include "opapi/objects.h"
#include "opapi/stored.h"

namespace sim::aclnn {

at::ScalarType to_scalar_type(aclDataType dtype) {
  switch (dtype) {
#define DTYPE(acl, aten) \
  case acl: return at::ScalarType::aten;
#include "opapi/dtypes.inc"
#undef DTYPE
    default: SIM_CHECK(false, "ACL data type ", int(dtype), " is not simulated");
  }
}

at::ScalarType stored_type(aclDataType dtype) {
  return dtype == ACL_HIFLOAT8 ? at::ScalarType::Byte : to_scalar_type(dtype);
}

aclDataType to_acl_dtype(at::ScalarType dtype) {
  switch (dtype) {
#define DTYPE(acl, aten) \
  case at::ScalarType::aten: return acl;
#include "opapi/dtypes.inc"
#undef DTYPE
    case kFloat4: return ACL_FLOAT4_E2M1;  // not in the table: it is of two numbers, CANN's of one
    default: SIM_CHECK(false, "torch.", dtype, " has no ACL data type");
  }
}

static std::optional<aclTensor> in_words(const aclTensor& numbers, aclDataType word, int64_t in_word) {
  aclTensor words = numbers;
  words.dtype = word;
  const auto in_row = std::find(words.strides.rbegin(), words.strides.rend(), 1);
  const bool found = in_row != words.strides.rend();
  const size_t row = found ? size_t(words.strides.rend() - in_row) - 1 : 0;
  bool whole = found && words.offset % in_word == 0;
  for (size_t i = 0; i < words.sizes.size(); ++i) {
    int64_t& part = i == row ? words.sizes[i] : words.strides[i];
    whole &= part % in_word == 0 || (i != row && words.sizes[i] == 1);
    part /= in_word;
  }
  if (!whole) return std::nullopt;
  words.offset /= in_word;
  words.storage_elements /= in_word;
  if (!words.storage_sizes.empty() && words.storage_sizes.back() % in_word == 0) words.storage_sizes.back() /= in_word;
  return words;
}

aclTensor in_words(const aclTensor& numbers) {
  const bool whole_numbers = numbers.dtype == ACL_INT4, named = numbers.dtype == ACL_FLOAT4_E2M1;
  auto words = whole_numbers ? in_words(numbers, ACL_INT32, 8) : std::nullopt;
  if (!words) words = in_words(numbers, named ? numbers.dtype : ACL_UINT8, 2);
  SIM_CHECK(words, "a tensor of ", whole_numbers ? "INT4 " : "FLOAT4 ", at::IntArrayRef(numbers.sizes),
            " with strides ", at::IntArrayRef(numbers.strides), " and offset ", numbers.offset,
            " is not simulated: 2 numbers go into a byte, and no row may end or begin in one");
  return *words;
}

static at::Tensor view_of(const aclTensor* tensor, at::ScalarType type) {
  SIM_CHECK(tensor->format != ACL_FORMAT_NC1HWC0 && tensor->format != ACL_FORMAT_FRACTAL_Z &&
                tensor->format != ACL_FORMAT_NDC1HWC0 && tensor->format != ACL_FRACTAL_Z_3D,
            "a tensor in the private format ", int(tensor->format), " is not simulated");
  const auto dtype = c10::scalarTypeToTypeMeta(type);
  const size_t bytes = tensor->storage_elements * dtype.itemsize();
  // As at::from_blob, without its second look at sizes and strides: this is on every operator's path.
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(tensor->data, c10::kCPU), nullptr, false);
  auto result =
      at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), dtype);
  auto* impl = result.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(tensor->sizes, tensor->strides, tensor->offset);
  int64_t last = tensor->offset;
  for (size_t i = 0; i < tensor->sizes.size(); ++i) {
    if (tensor->sizes[i] == 0) return result;
    last += (tensor->sizes[i] - 1) * tensor->strides[i];
  }
  if (last >= 0 && size_t(last) < tensor->storage_elements) return result;
  // torch_npu goes on telling the old size of a storage that was resized: then the allocation decides.
  const size_t needed = size_t(last + 1) * dtype.itemsize();
  SIM_CHECK(last >= 0 && sim_memory_device(tensor->data, nullptr) >= 0 && sim_memory_reach(tensor->data, needed),
            "the view ", at::IntArrayRef(tensor->sizes), " with strides ", at::IntArrayRef(tensor->strides),
            " and offset ", tensor->offset, " leaves its storage of ", tensor->storage_elements, " elements");
  impl->unsafe_storage().set_nbytes(needed);
  return result;
}

at::Tensor convert(const aclTensor* tensor) {
  if (!tensor) return {};
  if (of_4_bits(tensor->dtype)) [[unlikely]] {
    const aclTensor words = in_words(*tensor);
    SIM_CHECK(words.dtype != ACL_FLOAT4_E2M1 || kFloat4 != at::ScalarType::NumOptions,
              "a tensor of FLOAT4_E2M1 needs torch 2.8 or later");
    return view_of(&words, words.dtype == ACL_FLOAT4_E2M1 ? kFloat4 : to_scalar_type(words.dtype));
  }
  return view_of(tensor, stored_type(tensor->dtype));
}

at::Scalar convert(const aclScalar* scalar) {
  if (!scalar) [[unlikely]]
    absent();
  return scalar->value;
}
Space convert(Resized space) { return {convert(static_cast<const aclTensor*>(space.tensor)), space.tensor}; }
Dims convert(const aclIntArray* array) { return array ? array->values : Dims{}; }
Checked<float> convert(const aclFloatArray* array) { return array ? array->values : Checked<float>{}; }
Checked<bool> convert(const aclBoolArray* array) { return array ? array->values : Checked<bool>{}; }
Tensors convert(const aclTensorList* list) {
  Tensors tensors;
  if (list)
    for (const aclTensor* tensor : list->tensors) tensors.push_back(convert(tensor));
  return tensors;
}
Checked<at::Scalar> convert(const aclScalarList* list) {
  Checked<at::Scalar> scalars;
  if (list)
    for (const aclScalar* scalar : list->scalars) scalars.push_back(convert(scalar));
  return scalars;
}

void fit(const Space& space, const at::Tensor& value) {
  SIM_CHECK(space.memory.defined(), "an output is null");
  SIM_CHECK(value.numel() <= space.memory.numel(), "the result of shape ", value.sizes(), " does not fit into ",
            space.memory.sizes());
  space.memory.as_strided(value.sizes(), row_major(value.sizes())).copy_(value);
  // The caller may have destroyed it meanwhile, though CANN says that it stays until the stream was synchronized.
  if (objects().is<aclTensor>(space.tensor)) space.tensor->sizes = value.sizes().vec();
}

}  // namespace sim::aclnn
