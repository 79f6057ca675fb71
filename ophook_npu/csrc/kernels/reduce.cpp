#include "kernels/reduce.h"

namespace sim::kernels {

static at::ScalarType widened(at::ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

at::Tensor product(const at::Tensor& x, at::ScalarType result) { return at::prod(wide(x), widened(result)); }

at::Tensor product(const at::Tensor& x, int64_t dim, bool keep_dim, at::ScalarType result) {
  return at::prod(wide(x), dim, keep_dim, widened(result));
}

at::Tensor running_product(const at::Tensor& x, int64_t dim, at::ScalarType result) {
  return at::cumprod(wide(x), dim, widened(result));
}

Deviation deviation(const at::Tensor& x, const Dims& dims, int64_t correction, bool keep_dims) {
  const auto over = dims.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(dims);
  auto [std, mean] = at::std_mean(x, over, at::Scalar(correction), keep_dims);
  return {std, mean};
}

}  // namespace sim::kernels
