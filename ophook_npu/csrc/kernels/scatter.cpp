#include "kernels/scatter.h"

#include "kernels/mx_quant.h"
#include "kernels/pattern.h"

namespace sim::kernels {
namespace {

Tensors places_of(const at::Tensor& indices) {
  Tensors all;
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

void put(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& source, bool accumulate) {
  at::Tensor flat = self.reshape({-1});
  put_at(flat, {indices.to(at::kLong).reshape({-1})}, source.reshape({-1}), accumulate);
  if (!flat.is_alias_of(self)) self.copy_(flat.view(self.sizes()));
}

at::Tensor max_unpool(const at::Tensor& x, const at::Tensor& indices, at::IntArrayRef sizes) {
  const auto dims = int64_t(sizes.size());
  Dims all = x.sizes().slice(0, size_t(x.dim() - dims)).vec();
  all.insert(all.end(), sizes.begin(), sizes.end());
  at::Tensor out = at::zeros(all, x.options());
  out.flatten(-dims).scatter_(-1, indices.to(at::kLong).flatten(-dims), x.flatten(-dims));
  return out;
}

at::Tensor max_unpool_backward(const at::Tensor& grad, const at::Tensor& indices, int64_t dims) {
  auto flat = grad.flatten(-dims), places = indices.to(at::kLong).flatten(-dims);
  return flat.gather(-1, places).reshape(indices.sizes());
}

Dims slices_sizes(const at::Tensor& x, const at::Tensor& indices) {
  const int64_t depth = indices.dim() ? indices.size(-1) : 0;
  SIM_CHECK(indices.dim() && depth <= x.dim(), "indices of shape ", indices.sizes(), " for a tensor of shape ",
            x.sizes());
  Dims sizes = indices.sizes().slice(0, size_t(indices.dim()) - 1).vec();
  sizes.insert(sizes.end(), x.sizes().begin() + depth, x.sizes().end());
  return sizes;
}

at::Tensor slices_taken(const at::Tensor& x, const at::Tensor& indices, bool from_the_end) {
  const at::Tensor places = indices.to(at::kLong);
  SIM_CHECK(from_the_end || !places.numel() || places.min().item<int64_t>() >= 0, "an index is below 0");
  const Tensors each = places_of(places);
  return each.empty() ? x.expand(slices_sizes(x, indices)) : indexed(x, each);
}

void rows_like(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates) {
  shapes<"_ *rest, *places -> *places *rest">(self, indices, updates);
}

at::Tensor combined_slices(const at::Tensor& x, const at::Tensor& indices, const at::Tensor& updates, Combined how) {
  at::Tensor result = wide(x).clone();
  const int64_t of_place = indices.size(-1);
  const at::Tensor places = indices.reshape({-1, of_place});
  const at::Tensor values = indices.dim() > 1 ? updates.flatten(0, indices.dim() - 2) : updates.unsqueeze(0);
  for (int64_t i = 0; i < places.size(0); ++i) {
    at::Tensor slice = result;
    for (int64_t k = 0; k < of_place; ++k) slice = slice.select(0, places[i][k].item<int64_t>());
    const at::Tensor by = values[i].to(slice.scalar_type());
    if (how == Combined::product) slice.mul_(by);
    else if (how == Combined::most) slice.copy_(at::maximum(slice, by));
    else if (how == Combined::least) slice.copy_(at::minimum(slice, by));
    else if (at::isIntegralType(slice.scalar_type(), true)) slice.div_(by, "trunc");
    else slice.div_(by);
  }
  return result.to(x.scalar_type());
}

at::Tensor combined_rows(const at::Tensor& x, const at::Tensor& indices, const at::Tensor& updates, Combined how) {
  return combined_slices(x, indices.unsqueeze(-1), updates, how);
}

void three_points_like(const at::Tensor& grad, const at::Tensor& places, const at::Tensor& weight, int64_t m,
                       const at::Tensor& out) {
  SIM_CHECK(grad.dim() == 3 || (grad.dim() == 4 && grad.size(3) == 1), "grad_x ", grad.sizes(),
            "; (b, c, n) or (b, c, n, 1) expected");
  shapes<"b c n *one, b n 3, b n 3 -> b c =m *one">({m}, grad, places, weight, out);
}

at::Tensor three_points_backward(const at::Tensor& grad, const at::Tensor& places, const at::Tensor& weight,
                                 int64_t m) {
  const at::Tensor slope = wide(grad).reshape({grad.size(0), grad.size(1), grad.size(2)});
  const at::Tensor out = at::zeros({slope.size(0), slope.size(1), m}, slope.options());
  for (int64_t i = 0; i < 3; ++i) {
    const at::Tensor to = places.select(2, i).to(at::kLong).unsqueeze(1).expand_as(slope);
    out.scatter_add_(2, to, slope * wide(weight).select(2, i).unsqueeze(1));
  }
  return out;
}

void slices_like(const at::Tensor& x, const at::Tensor& indices, const at::Tensor& updates) {
  SIM_CHECK(
      indices.dim() && indices.size(-1) <= x.dim() &&
          ends_with(updates.sizes(), indices.sizes().slice(0, indices.dim() - 1), x.sizes().slice(indices.size(-1))),
      "updates ", updates.sizes(), " for slices of ", x.sizes(), " at indices ", indices.sizes());
}

at::Tensor scattered_slices(const at::Tensor& x, const at::Tensor& indices, const at::Tensor& updates) {
  at::Tensor result = x.clone();
  put_at(result, places_of(indices), updates);
  return result;
}

at::Tensor added_slices(const at::Tensor& x, const at::Tensor& indices, const at::Tensor& updates) {
  at::Tensor result = x.clone();
  put_at(result, places_of(indices), updates, /*accumulate=*/true);
  return result;
}

at::Tensor slices_of_zeros(at::IntArrayRef sizes, const at::Tensor& indices, const at::Tensor& updates) {
  return added_slices(at::zeros(sizes, updates.options()), indices, updates);
}

at::Tensor gathered_backward(const at::Tensor& grad, const at::Tensor& x, int64_t dim, const at::Tensor& indices) {
  return at::zeros_like(x).scatter_add(dim, indices.to(at::kLong), grad);
}

at::Tensor subtracted_slices(const at::Tensor& x, const at::Tensor& indices, const at::Tensor& updates) {
  return added_slices(x, indices, at::neg(updates));
}

static bool names_rows(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates) {
  return self.dim() && ends_with(updates.sizes(), indices.sizes(), self.sizes().slice(1));
}

void add_slices_like(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates) {
  if (!names_rows(self, indices, updates)) slices_like(self, indices, updates);
}

void add_slices(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates) {
  if (names_rows(self, indices, updates)) {
    self.index_add_(0, indices.to(at::kLong).reshape({-1}), updates.flatten(0, indices.dim() - 1));
    return;
  }
  put_at(self, places_of(indices), updates, /*accumulate=*/true);
}

void put_slices(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates) {
  put_at(self, places_of(indices), updates);
}

void rows_within(const at::Tensor& self, const at::Tensor& updates, int64_t dim) {
  SIM_CHECK(self.dim() == updates.dim(), "updates ", updates.sizes(), " for data ", self.sizes());
  const int64_t along = wrap(dim, self);
  for (int64_t i = 0; i < self.dim(); ++i)
    SIM_CHECK(i == 0 || i == along ? updates.size(i) <= self.size(i) : updates.size(i) == self.size(i), "updates ",
              updates.sizes(), " for data ", self.sizes(), " and axis ", dim);
}

void put_rows_like(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates, int64_t dim) {
  SIM_CHECK(self.numel() && indices.numel() && updates.numel(), "no tensor may be empty: data ", self.sizes(),
            ", indices ", indices.sizes(), ", updates ", updates.sizes());
  rows_within(self, updates, dim);
  SIM_CHECK(indices.dim() <= 2 && indices.numel() % updates.size(0) == 0 && indices.numel() / updates.size(0) <= 2,
            "indices ", indices.sizes(), " for updates ", updates.sizes());
}

void put_rows(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates, int64_t dim) {
  if (!updates.size(0)) return;
  auto places = indices.to(at::kLong).reshape({updates.size(0), -1});  // a start, or a batch of self and a start
  for (int64_t batch = 0; batch < updates.size(0); ++batch) {
    auto rows = updates.select(0, batch);
    const int64_t along = wrap(dim, self) - 1, start = places[batch][-1].item<int64_t>();
    const int64_t to = places.size(1) == 2 ? places[batch][0].item<int64_t>() : batch;
    self.select(0, to).narrow(along, start, rows.size(along)).copy_(rows);
  }
}

void put_quantized_rows(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates,
                        const at::Tensor& scales, const at::Tensor& zero_points, int64_t dim) {
  auto steps = wide(updates).div(wide(scales).reshape({-1}));
  if (zero_points.defined()) steps = steps.add(wide(zero_points).reshape({-1}));
  put_rows(self, indices, mx::stepped(steps, self), dim);
}

void put_rows(const Tensors& list, const at::Tensor& indices, const at::Tensor& updates, const at::Tensor& mask,
              int64_t dim) {
  const int64_t along = wrap(dim, updates) - 1;
  auto places = indices.to(at::kLong).reshape({int64_t(list.size()), -1});
  for (size_t i = 0; i < list.size(); ++i) {
    const int64_t row = int64_t(i);
    if (mask.defined() && !mask[row].item<bool>()) continue;
    auto rows = updates[row];
    if (places.size(1) == 2) rows = rows.narrow(along, 0, places[row][1].item<int64_t>());
    list[i].narrow(along, places[row][0].item<int64_t>(), rows.size(along)).copy_(rows);
  }
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

void coalesced_like(const at::Tensor& places, const at::Tensor& indices, const at::Tensor& values,
                    const at::Tensor& new_indices, const at::Tensor& new_values) {
  SIM_CHECK(indices.dim() == 2 && values.dim() >= 1 && new_indices.dim() == 2 && new_values.dim() >= 1, "indices ",
            indices.sizes(), " and values ", values.sizes());
  shape(places, {indices.size(0)});
  SIM_CHECK(values.size(0) == indices.size(0) && new_values.size(0) == new_indices.size(0) &&
                indices.size(1) == new_indices.size(1) && values.sizes().slice(1) == new_values.sizes().slice(1),
            "indices ", indices.sizes(), " and values ", values.sizes(), " become ", new_indices.sizes(), " and ",
            new_values.sizes());
  same_dtype({values, new_values});
}

void coalesced(const at::Tensor& places, const at::Tensor& indices, const at::Tensor& values,
               const at::Tensor& new_indices, const at::Tensor& new_values) {
  const auto at_place = places.to(at::kLong);
  new_indices.index_copy_(0, at_place, indices.to(new_indices.scalar_type()));
  new_values.copy_(at::zeros_like(new_values).index_add_(0, at_place, values));
}

}  // namespace sim::kernels
