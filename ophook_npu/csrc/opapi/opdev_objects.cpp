// Of opdev: what tensors, arrays, lists and numbers say of themselves, and what tensors are told.
#include <cstring>

#include "opapi/described.h"

namespace sim::aclnn {

Described& described(const aclTensor& tensor) {
  if (!tensor.described) {
    tensor.described = std::make_shared<Described>();
    tensor.described->original = tensor.sizes;
    tensor.described->view_format = tensor.described->original_format = tensor.format;
  }
  return *tensor.described;
}

void describe(aclTensor& tensor, const ophook_opdev_tensor& in) {
  const auto set = [](at::DimVector& dims, const int64_t* from, int32_t rank) { dims.assign(from, from + rank); };
  tensor.dtype = aclDataType(in.dtype), tensor.format = aclFormat(in.storage_format);
  tensor.offset = in.offset, tensor.data = in.data;
  set(tensor.sizes, in.view, in.view_rank), set(tensor.strides, in.strides, in.view_rank);
  set(tensor.storage_sizes, in.storage, in.storage_rank);
  tensor.storage_elements =
      std::accumulate(tensor.storage_sizes.begin(), tensor.storage_sizes.end(), size_t(1), std::multiplies<>());
  Described& about = described(tensor);
  set(about.original, in.original, in.original_rank);
  about.view_format = in.view_format, about.original_format = in.original_format;
  about.storage_offset = in.storage_offset, about.of_workspace = in.of_workspace != 0;
}

}  // namespace sim::aclnn

using namespace sim::aclnn;

static bool is_tensor(const aclTensor* tensor) {
  if (objects().is<aclTensor>(tensor)) return true;
  sim_fail(kInvalid, "opdev: %p %s, not a live aclTensor", static_cast<const void*>(tensor),
           objects().what(tensor).c_str());
  return false;
}

extern "C" {

SIM_API void ophook_opdev_get(const aclTensor* tensor, ophook_opdev_tensor* out) {
  *out = {};
  if (!is_tensor(tensor)) return;
  const Described& about = described(*tensor);
  const auto get = [](const at::DimVector& dims, int64_t* to, int32_t& rank) {
    rank = int32_t(std::min<size_t>(dims.size(), 25));
    std::copy_n(dims.begin(), rank, to);
  };
  int32_t strides = 0;
  get(tensor->sizes, out->view, out->view_rank), get(tensor->strides, out->strides, strides);
  get(tensor->storage_sizes, out->storage, out->storage_rank), get(about.original, out->original, out->original_rank);
  out->dtype = tensor->dtype, out->storage_format = tensor->format;
  out->view_format = about.view_format, out->original_format = about.original_format;
  out->offset = tensor->offset, out->storage_offset = about.storage_offset;
  out->on_host = about.on_host(), out->of_workspace = about.of_workspace;
  out->data = out->on_host ? about.storage->values.data() : tensor->data;
}

SIM_API void ophook_opdev_set(const aclTensor* tensor, const ophook_opdev_tensor* in) {
  if (!objects().is<aclTensor>(tensor)) return;
  describe(*const_cast<aclTensor*>(tensor), *in);
}

SIM_API const void* ophook_opdev_shape(const aclTensor* tensor, int32_t which) {
  static const Described::Sizes none;
  if (!is_tensor(tensor)) return &none;
  Described& about = described(*tensor);
  const at::DimVector& dims = which == 0 ? tensor->sizes : which == 1 ? tensor->storage_sizes : about.original;
  Described::Sizes& out = about.shapes[which];
  out.rank = std::min<size_t>(dims.size(), 25);
  std::copy_n(dims.begin(), out.rank, out.dims);
  return &out;
}

SIM_API uint64_t ophook_opdev_list_size(const void* list, int32_t kind) {
  if (kind == ophook_opdev_a_list) return static_cast<const aclTensorList*>(list)->tensors.size();
  return static_cast<const aclScalarList*>(list)->scalars.size();
}
SIM_API const void* ophook_opdev_list_at(const void* list, int32_t kind, uint64_t i) {
  if (kind == ophook_opdev_a_list) {
    const auto& all = static_cast<const aclTensorList*>(list)->tensors;
    return i < all.size() ? all[i] : nullptr;
  }
  const auto& all = static_cast<const aclScalarList*>(list)->scalars;
  return i < all.size() ? all[i] : nullptr;
}
SIM_API const void* ophook_opdev_array_data(const void* array, int32_t kind, uint64_t* size) {
  const auto of = [&](const auto& values) -> const void* {
    *size = values.size();
    return values.size() ? &values[0] : nullptr;
  };
  if (kind == ophook_opdev_some_ints) return of(static_cast<const aclIntArray*>(array)->values);
  if (kind == ophook_opdev_some_floats) return of(static_cast<const aclFloatArray*>(array)->values);
  const auto& bools = *static_cast<const aclBoolArray*>(array);
  *size = bools.values.size();
  if (!bools.plain) {
    bools.plain = std::shared_ptr<bool[]>(new bool[bools.values.size() + 1]);
    std::copy(bools.values.begin(), bools.values.end(), bools.plain.get());
  }
  return bools.plain.get();
}
SIM_API void ophook_opdev_scalar_get(const aclScalar* scalar, int32_t* dtype, int64_t* whole, double* real,
                                     double* imaginary) {
  const at::Scalar& value = scalar->value;
  *dtype = scalar->dtype;
  const auto complex = value.toComplexDouble();
  *real = complex.real(), *imaginary = complex.imag();
  *whole = value.isIntegral(true) ? value.toLong() : 0;
}

SIM_API void ophook_opdev_log(int32_t level, int32_t code, const char* file, int32_t line, const char* text) {
  const char* name = std::strrchr(file, '/');
  if (level == 3) sim_fail(code, "%s [%s:%d]", text, name ? name + 1 : file, line);
}

}  // extern "C"
