#include "kernels/scatter.h"

namespace sim::kernels {
namespace {

c10::List<std::optional<at::Tensor>> places_of(const at::Tensor& indices) {
  c10::List<std::optional<at::Tensor>> all;
  for (int64_t i = 0; i < indices.size(-1); ++i) all.push_back(indices.select(-1, i).to(at::kLong));
  return all;
}

bool ends_with(at::IntArrayRef sizes, at::IntArrayRef first, at::IntArrayRef rest) {
  Dims expected = first.vec();
  expected.insert(expected.end(), rest.begin(), rest.end());
  return sizes == at::IntArrayRef(expected);
}

}  // namespace

at::Tensor expanded_ranges(const at::Tensor& permute, const at::Tensor& input_offset, const at::Tensor& output_offset,
                           int64_t size) {
  auto order = permute.to(at::kLong), starts = input_offset.to(at::kLong), ends = output_offset.to(at::kLong);
  auto result = at::zeros({size}, at::kLong);
  for (int64_t i = 0; i < order.numel(); ++i) {
    const int64_t from = ends[i].item<int64_t>(), to = ends[i + 1].item<int64_t>();
    SIM_CHECK(from >= 0 && from <= to && to <= size, "range ", i, " lies from ", from, " to ", to, " of ", size);
    const int64_t start = starts[order[i].item<int64_t>()].item<int64_t>();
    result.narrow(0, from, to - from).copy_(at::arange(start, start + to - from, at::kLong));
  }
  return result;
}

at::Tensor max_unpool_backward(const at::Tensor& grad, const at::Tensor& indices, int64_t dims) {
  auto flat = grad.flatten(-dims), places = indices.to(at::kLong).flatten(-dims);
  return flat.gather(-1, places).reshape(indices.sizes());
}

at::Tensor scattered_slices(const at::Tensor& x, const at::Tensor& indices, const at::Tensor& updates) {
  return x.index_put(places_of(indices), updates);
}

void add_slices(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates) {
  if (ends_with(updates.sizes(), indices.sizes(), self.sizes().slice(1))) {
    self.index_add_(0, indices.to(at::kLong).reshape({-1}), updates.flatten(0, indices.dim() - 1));
    return;
  }
  SIM_CHECK(
      indices.dim() && indices.size(-1) <= self.dim() &&
          ends_with(updates.sizes(), indices.sizes().slice(0, indices.dim() - 1), self.sizes().slice(indices.size(-1))),
      "updates ", updates.sizes(), " for slices of ", self.sizes(), " at indices ", indices.sizes());
  self.index_put_(places_of(indices), updates, /*accumulate=*/true);
}

ChamferGradients chamfer_backward(const at::Tensor& first, const at::Tensor& second, const at::Tensor& nearest_second,
                                  const at::Tensor& nearest_first, const at::Tensor& grad_first,
                                  const at::Tensor& grad_second) {
  auto places = [](const at::Tensor& nearest) { return nearest.to(at::kLong).unsqueeze(-1).expand({-1, -1, 2}); };
  auto one = [&](const at::Tensor& points, const at::Tensor& others, const at::Tensor& nearest, const at::Tensor& grad,
                 at::Tensor& own, at::Tensor& other) {
    auto pull = wide(points).sub(wide(others).gather(1, places(nearest))).mul(wide(grad).unsqueeze(-1)).mul(2);
    own.add_(pull);
    other.scatter_add_(1, places(nearest), pull.neg());
  };
  auto to_first = at::zeros_like(wide(first)), to_second = at::zeros_like(wide(second));
  one(first, second, nearest_second, grad_first, to_first, to_second);
  one(second, first, nearest_first, grad_second, to_second, to_first);
  return {to_first, to_second};
}

}  // namespace sim::kernels
