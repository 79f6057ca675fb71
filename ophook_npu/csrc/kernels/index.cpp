#include "kernels/index.h"

namespace sim::kernels {

// Where no dimension is indexed there is nothing to put.
void put_indexed(const at::Tensor& self, const Tensors& indices, const at::Tensor& values, bool accumulate) {
  const bool any = std::any_of(indices.begin(), indices.end(), [](const at::Tensor& index) { return index.defined(); });
  if (any) put_at(self, indices, values, accumulate);
}

at::IntArrayRef one_at_least(const at::Tensor& indices) {
  static constexpr int64_t kOne = 1;
  return indices.dim() ? indices.sizes() : at::IntArrayRef(kOne);
}
at::Tensor places_of_nonzero(const at::Tensor& x, bool transposed) {
  const at::Tensor places = at::nonzero(x);
  return transposed ? places.t() : places;
}

Slices unique_slices(const at::Tensor& x, int64_t dim) {
  auto [slices, inverse, counts] = at::unique_dim(x, dim, /*sorted=*/true, /*return_inverse=*/true, true);
  const at::Tensor places = at::arange(inverse.numel(), inverse.options());
  const at::Tensor first = at::full_like(counts, inverse.numel()).scatter_reduce(0, inverse, places, "amin");
  return {slices, first, counts, inverse};
}

at::Tensor taken(const at::Tensor& x, int64_t dim, const at::Tensor& indices) {
  if (!x.dim()) return taken(x.reshape({1}), dim, indices);
  const int64_t at = wrap(dim, x), size = x.size(at);
  at::Tensor places = indices.flatten().to(at::kLong);
  if (places.numel()) {
    const int64_t least = places.min().item<int64_t>(), most = places.max().item<int64_t>();
    SIM_CHECK(least >= -size && most < size, "an index is out of range for dimension ", at, " of ", x.sizes());
    if (least < 0) places = at::where(places.lt(0), places.add(size), places);
  }
  return at::index_select(x, at, places).reshape(taken_sizes(x, at, indices.sizes()));
}
at::Tensor gathered(const at::Tensor& x, int64_t dim, const at::Tensor& indices) {
  const at::Tensor places = indices.to(at::kLong);
  return at::gather(x, dim, x.dim() ? at::where(places < 0, places + x.size(dim), places) : places);
}
at::Tensor taken(const at::Tensor& x, int64_t dim, const at::Tensor& indices, int64_t batch) {
  if (!batch) return taken(x, dim, indices);
  const int64_t at = wrap(dim, x);
  SIM_CHECK(x.sizes().slice(0, batch) == indices.sizes().slice(0, batch), "the first ", batch, " dimensions of ",
            x.sizes(), " and of the indices ", indices.sizes(), " differ");
  const Dims sizes = taken_sizes(x, at, indices.sizes().slice(batch));
  const at::Tensor rows = x.flatten(0, batch - 1), places = indices.flatten(0, batch - 1);
  at::Tensor out = at::empty(sizes, x.options());
  at::Tensor each = out.flatten(0, batch - 1);
  for (int64_t i = 0; i < rows.size(0); ++i) each[i].copy_(taken(rows[i], at - batch, places[i]));
  return out;
}
Dims taken_sizes(const at::Tensor& x, int64_t dim, at::IntArrayRef indices) {
  if (!x.dim()) return {};
  const int64_t at = wrap(dim, x);
  Dims sizes = x.sizes().vec();
  sizes.erase(at);
  sizes.insert(sizes.begin() + at, indices.begin(), indices.end());
  return sizes;
}
Dims broadcast_sizes(at::IntArrayRef one, at::IntArrayRef other) { return at::infer_size(one, other); }

at::Tensor index_filled(const at::Tensor& x, int64_t dim, const Dims& indices, const at::Scalar& value) {
  return at::index_fill(x, dim, at::tensor(indices, at::kLong), value);
}

at::Tensor scattered(const at::Tensor& x, int64_t dim, const at::Tensor& indices, const at::Tensor& source,
                     int64_t reduction) {
  const at::Tensor places = indices.to(at::kLong);
  if (reduction == 1) return at::scatter_add(x, dim, places, source);
  if (reduction == 2) return at::scatter(x, dim, places, source, "multiply");
  return scatter_reduced(x, dim, places, source, reduction >= 3 && reduction <= 5 ? reduction : 0, true);
}
at::Tensor scattered_from_both_ends(const at::Tensor& x, int64_t dim, const at::Tensor& indices,
                                    const at::Tensor& source, int64_t reduction) {
  const int64_t size = x.dim() ? x.size(wrap(dim, x)) : 1;
  return scattered(x, dim, at::where(indices.lt(0), indices.add(size), indices), source, reduction);
}
at::Tensor scattered(const at::Tensor& x, int64_t dim, const at::Tensor& indices, const at::Scalar& value,
                     int64_t reduction) {
  return scattered(x, dim, indices, at::full(indices.sizes(), value, x.options()), reduction);
}

void reduced_mode(int64_t reduction) {
  SIM_CHECK(reduction >= 0 && reduction <= 5, "reduction ", reduction,
            "; allowed: 0 to 5 (none, sum, prod, amax, amin, mean)");
}

at::Tensor scatter_reduced(const at::Tensor& x, int64_t dim, const at::Tensor& indices, const at::Tensor& source,
                           int64_t reduction, bool include_self) {
  static constexpr const char* kNames[] = {"", "sum", "prod", "amax", "amin", "mean"};
  if (reduction == 0) return at::scatter(x, dim, indices.to(at::kLong), source);
  return at::scatter_reduce(x, dim, indices.to(at::kLong), source, kNames[reduction], include_self);
}

at::Tensor range_filled(const at::Tensor& x, const at::Tensor& start, const at::Tensor& end, const at::Tensor& value,
                        int64_t dim) {
  const int64_t axis = wrap(dim, x);
  at::Tensor out = x.clone(), first = start.to(at::kLong), last = end.to(at::kLong);
  for (int64_t i = 0; i < first.size(0); ++i)
    for (int64_t j = 0; j < first.size(1); ++j) {
      at::Tensor part = axis == x.dim() - 1 && axis > 0 ? out[j] : out;
      const int64_t along = part.dim() == out.dim() ? axis : axis - 1, from = first[i][j].item<int64_t>(),
                    to = last[i][j].item<int64_t>();
      part.narrow(along, from, to - from).fill_(value[i]);
    }
  return out;
}

at::Tensor one_hot(const at::Tensor& labels, int64_t classes, const at::Tensor& on, const at::Tensor& off,
                   int64_t dim) {
  const at::Tensor hot = at::eq(labels.to(at::kLong).unsqueeze(-1), at::arange(classes, at::kLong));
  return at::where(hot, on.reshape({}), off.reshape({})).movedim(-1, dim);
}

at::Tensor embedding_backward(const at::Tensor& grad, const at::Tensor& indices, int64_t rows, int64_t padding,
                              bool by_frequency) {
  return at::embedding_dense_backward(wide(grad), indices.to(at::kLong), rows, padding, by_frequency);
}

EmbeddingBag embedding_bag(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets,
                           bool by_frequency, int64_t mode, const at::Tensor& factors, bool include_last,
                           int64_t padding) {
  auto [result, bags, sizes, winners] =
      at::_embedding_bag(wide(weight), indices.to(at::kLong), offsets.to(at::kLong), by_frequency, mode, false,
                         optional(wide(factors)), include_last, padding);
  return {result, bags, sizes, winners};
}

void renorm_embedding(const at::Tensor& weight, const at::Tensor& indices, double max, double p) {
  at::Tensor rows = wide(weight);
  at::embedding_renorm_(rows, indices.to(at::kLong), max, p);
  if (!rows.is_same(weight)) weight.copy_(rows);
}

}  // namespace sim::kernels
