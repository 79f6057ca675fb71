#include "kernels/segments.h"

#include <ATen/Dispatch.h>

#include <limits>
#include <map>

namespace sim::kernels {

static at::Tensor neutral(at::IntArrayRef sizes, const at::Tensor& like, Segment how) {
  at::Scalar value = how == Segment::product ? 1 : 0;
  if (how == Segment::most || how == Segment::least)
    AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, like.scalar_type(), "segments", [&] {
      using Limits = std::numeric_limits<scalar_t>;
      value = how == Segment::most ? Limits::lowest() : Limits::max();
    });
  return at::full(sizes, value, like.options());
}

at::Tensor unsorted_segments(const at::Tensor& x, const at::Tensor& ids, int64_t segments, Segment how) {
  Dims sizes{segments};
  sizes.insert(sizes.end(), x.sizes().begin() + ids.dim(), x.sizes().end());
  const at::Tensor places = ids.to(at::kLong).flatten();
  const at::Tensor rows = x.reshape({places.numel(), -1});
  at::Tensor out = neutral({segments, rows.size(1)}, x, how);
  for (int64_t i = 0; i < places.numel(); ++i) {
    const int64_t place = places[i].item<int64_t>();
    if (place < 0) continue;
    SIM_CHECK(place < segments, "segment ", place, " of ", segments);
    at::Tensor row = out[place];
    if (how == Segment::sum) row.add_(rows[i]);
    else if (how == Segment::product) row.mul_(rows[i]);
    else row.copy_(how == Segment::most ? at::maximum(row, rows[i]) : at::minimum(row, rows[i]));
  }
  return out.view(sizes);
}

template <typename T>
static Distinct distinct_of(const at::Tensor& x) {
  const at::Tensor flat = x.contiguous().flatten();
  std::map<T, int64_t> known;
  std::vector<int64_t> first, counts;
  at::Tensor inverse = at::empty({flat.numel()}, at::kLong);
  const T* values = flat.const_data_ptr<T>();
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const auto [found, added] = known.emplace(values[i], int64_t(first.size()));
    if (added) first.push_back(i), counts.push_back(0);
    ++counts[size_t(found->second)];
    inverse[i] = found->second;
  }
  return {flat.index_select(0, at::tensor(first, at::kLong)), inverse, at::tensor(counts, at::kLong)};
}

Distinct distinct(const at::Tensor& x) {
  Distinct out;
  AT_DISPATCH_ALL_TYPES_AND(at::kHalf, x.scalar_type(), "distinct", [&] { out = distinct_of<scalar_t>(x); });
  return out;
}

Distinct padded_distinct(const at::Tensor& x, const at::Tensor& pad) {
  Distinct found = distinct(x);
  at::Tensor values = at::empty({x.numel()}, x.options()).copy_(pad.reshape({1}).expand({x.numel()}));
  values.narrow(0, 0, found.values.numel()).copy_(found.values);
  return {values, found.inverse, found.counts};
}

Rest list_difference(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor there = x.unsqueeze(1).eq(y.unsqueeze(0)).any(1);
  const at::Tensor places = at::nonzero(there.logical_not()).flatten();
  return {x.index_select(0, places), places};
}

at::Tensor in_top_k(const at::Tensor& predictions, const at::Tensor& targets, int64_t k) {
  const at::Tensor places = targets.to(at::kLong), known = places.ge(0).logical_and(places.lt(predictions.size(1)));
  const at::Tensor own = predictions.gather(1, (places * known).unsqueeze(1));
  const at::Tensor finite = at::isfinite(predictions).logical_or(predictions.lt(own)).all(1);
  return predictions.gt(own).sum(1).lt(k).logical_and(known).logical_and(finite).logical_and(
      at::isfinite(own).squeeze(1));
}

at::Tensor looked_up(const at::Tensor& table, const at::Tensor& indices, int64_t offset) {
  const at::Tensor places = (indices.to(at::kLong) - offset).flatten();
  const at::Tensor there = places.ge(0).logical_and(places.lt(table.size(0)));
  Dims sizes = indices.sizes().vec();
  sizes.insert(sizes.end(), table.sizes().begin() + 1, table.sizes().end());
  at::Tensor rows = table.index_select(0, places * there);
  rows.index_fill_(0, at::nonzero(there.logical_not()).flatten(), 0);
  return rows.view(sizes);
}

Hits accidental_hits(const at::Tensor& classes, const at::Tensor& drawn) {
  // A class that was drawn twice is found where it was drawn last, as in TensorFlow.
  std::map<int64_t, int64_t> places;
  for (int64_t i = 0; i < drawn.numel(); ++i) places[drawn[i].item<int64_t>()] = i;
  std::vector<int64_t> rows, ids;
  for (int64_t row = 0; row < classes.size(0); ++row)
    for (int64_t k = 0; k < classes.size(1); ++k)
      if (const auto found = places.find(classes[row][k].item<int64_t>()); found != places.end())
        rows.push_back(row), ids.push_back(found->second);
  const auto count = int64_t(rows.size());
  return {at::tensor(rows, at::kLong).to(at::kInt), at::tensor(ids, at::kLong),
          at::full({count}, std::numeric_limits<float>::lowest(), at::kFloat)};
}

}  // namespace sim::kernels
