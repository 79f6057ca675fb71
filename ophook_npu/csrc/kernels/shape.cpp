#include "kernels/shape.h"

namespace sim::kernels {

static bool has(int64_t mask, size_t bit) { return bit < 64 && (mask >> bit & 1); }

// One entry along a dimension of `size` elements. Going down, places are clamped to one before the first.
static Cut cut_along(const StridedSlice& of, size_t entry, int64_t dim, int64_t size) {
  const int64_t step = of.strides.empty() ? 1 : of.strides[entry];
  SIM_CHECK(step != 0, "strides[", entry, "] is 0");
  if (has(of.shrink_mask, entry)) {
    SIM_CHECK(step > 0, "strides[", entry, "] is ", step, "; where shrinkAxisMask has a bit it is positive");
    const int64_t place = of.begin[entry];
    if (size < 0) return {dim, place, 1, 1, true};
    SIM_CHECK(-size <= place && place < size, "begin[", entry, "] is ", place, " for ", size, " elements");
    return {dim, place < 0 ? place + size : place, 1, 1, true};
  }
  if (size < 0) return {dim, 0, step, -1, false};
  const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
  const auto clamped = [&](int64_t place) { return std::clamp(place < 0 ? place + size : place, lowest, highest); };
  const int64_t from = has(of.begin_mask, entry) ? (step > 0 ? 0 : size - 1) : clamped(of.begin[entry]);
  const int64_t to = has(of.end_mask, entry) ? (step > 0 ? size : -1) : clamped(of.end[entry]);
  const int64_t way = step > 0 ? to - from + step - 1 : to - from + step + 1;
  return {dim, from, step, std::max<int64_t>(0, way / step), false};
}

static Cut whole_dimension(int64_t dim, int64_t size) { return {dim, 0, 1, size, false}; }

std::vector<Cut> cuts_of(const StridedSlice& slice, at::IntArrayRef sizes) {
  const size_t entries = slice.begin.size(), rank = sizes.size();
  SIM_CHECK(slice.end.size() == entries && (slice.strides.empty() || slice.strides.size() == entries), "begin has ",
            entries, " entries, end ", slice.end.size(), ", strides ", slice.strides.size());
  std::vector<Cut> cuts;
  if (!slice.axes.empty()) {
    SIM_CHECK(!slice.ellipsis_mask && !slice.new_axis_mask, "ellipsis and new axes next to axes are not simulated");
    SIM_CHECK(slice.axes.size() == entries, "begin has ", entries, " entries, axes ", slice.axes.size());
    for (size_t i = 0; i < rank; ++i) cuts.push_back(whole_dimension(int64_t(i), sizes[i]));
    for (size_t i = 0; i < entries; ++i) {
      const int64_t dim = c10::maybe_wrap_dim(slice.axes[i], int64_t(rank), /*wrap_scalar=*/false);
      cuts[size_t(dim)] = cut_along(slice, i, dim, sizes[size_t(dim)]);
    }
    return cuts;
  }
  size_t named = 0, ellipses = 0;  // entries that stand for one dimension of x, and for any number
  for (size_t i = 0; i < entries; ++i)
    if (has(slice.ellipsis_mask, i)) ++ellipses;
    else if (!has(slice.new_axis_mask, i)) ++named;
  SIM_CHECK(ellipses <= 1, "ellipsisMask has ", ellipses, " bits; allowed: one");
  SIM_CHECK(named <= rank, named, " entries for a tensor of ", rank, " dimensions");
  size_t dim = 0;
  const auto all_but = [&](size_t left) {
    for (; dim + left < rank; ++dim) cuts.push_back(whole_dimension(int64_t(dim), sizes[dim]));
  };
  for (size_t i = 0; i < entries; ++i) {
    if (has(slice.ellipsis_mask, i)) {
      size_t after = 0;
      for (size_t later = i + 1; later < entries; ++later) after += !has(slice.new_axis_mask, later);
      all_but(after);
    } else if (has(slice.new_axis_mask, i)) {
      cuts.push_back({-1, 0, 1, 1, false});
    } else {
      cuts.push_back(cut_along(slice, i, int64_t(dim), sizes[dim])), ++dim;
    }
  }
  all_but(0);
  return cuts;
}

std::vector<Cut> cuts_along(const at::Tensor& x, const Dims& begin, const Dims& end, const Dims& steps,
                            const Dims& axes) {
  return cuts_of({begin, end, steps, 0, 0, 0, 0, 0, axes}, x.sizes());
}

Dims flat_sizes(const at::Tensor& x, int64_t axis) {
  const size_t before = x.dim() ? size_t(wrap(axis, x)) : 0;
  return {c10::multiply_integers(x.sizes().slice(0, before)), c10::multiply_integers(x.sizes().slice(before))};
}

Dims even_parts(const at::Tensor& x, int64_t length, int64_t dim) {
  const int64_t size = x.size(wrap(dim, x));
  SIM_CHECK((length == 0) == (size == 0), "parts of ", length, " of a dimension of size ", size);
  if (size == 0) return {0};
  Dims sizes(size_t((size + length - 1) / length), length);
  sizes.back() = size - length * int64_t(sizes.size() - 1);
  return sizes;
}

Dims sizes_of(const std::vector<Cut>& cuts) {
  Dims sizes;
  for (const Cut& one : cuts)
    if (!one.dropped) sizes.push_back(one.count);
  return sizes;
}

at::Tensor cut(const at::Tensor& x, const std::vector<Cut>& cuts) {
  at::Tensor out = x;
  for (const Cut& one : cuts) {
    if (one.dim < 0) continue;
    if (one.step > 0)
      out = out.slice(one.dim, one.begin, one.count ? one.begin + (one.count - 1) * one.step + 1 : one.begin, one.step);
    else out = out.index_select(one.dim, at::arange(one.count).mul_(one.step).add_(one.begin));
  }
  return out.reshape(sizes_of(cuts));
}

at::Tensor put_into(const at::Tensor& x, const at::Tensor& part, const std::vector<Cut>& cuts) {
  const at::Tensor places = cut(at::arange(x.numel()).reshape(x.sizes()), cuts);
  SIM_CHECK(part.sizes() == places.sizes(), "the part has shape ", part.sizes(), ", the slice ", places.sizes());
  return x.put(places, part);
}
at::Tensor put_back(const at::Tensor& part, at::IntArrayRef sizes, const std::vector<Cut>& cuts) {
  return put_into(at::zeros(sizes, part.options()), part, cuts);
}

at::Tensor cut_out(const at::Tensor& x, const Dims& begin, at::IntArrayRef sizes) {
  at::Tensor out = x;
  for (size_t i = 0; i < begin.size(); ++i) out = out.narrow(int64_t(i), begin[i], sizes[i]);
  return out;
}

Tensors split(const at::Tensor& x, at::IntArrayRef sizes, int64_t dim) { return at::split_with_sizes(x, sizes, dim); }

at::Tensor joined(const Tensors& parts, int64_t dim) { return at::concat(at::atleast_1d(parts), dim); }

at::Tensor chunks_joined(const Tensors& tensors, int64_t dim, int64_t chunks) {
  for (const at::Tensor& tensor : tensors)
    SIM_CHECK(tensor.dim() > wrap(dim, tensors.front()) && tensor.dim() > 0, "a tensor of shape ", tensor.sizes(),
              " has no dimension ", dim);
  return at::_chunk_cat(tensors, dim, chunks);
}

at::Tensor confusion_transposed(const at::Tensor& x, at::IntArrayRef perm, at::IntArrayRef sizes,
                                bool transpose_first) {
  return transpose_first ? x.permute(perm).reshape(sizes) : x.reshape(sizes).permute(perm);
}

at::Tensor strided_view(const at::Tensor& x, const View& view) {
  const auto& [sizes, strides, offset] = view;
  SIM_CHECK(sizes.size() == strides.size(), "a view has ", sizes.size(), " sizes and ", strides.size(), " strides");
  int64_t last = offset;
  for (size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  SIM_CHECK(!c10::multiply_integers(sizes) || (offset >= 0 && last >= 0 && last < x.numel()),
            "its view leaves a tensor of shape ", x.sizes());
  return x.as_strided(sizes, strides, offset);
}

// ATen starts at the last dimension.
static Dims last_first(const Dims& pads, size_t first = 0) {
  Dims reversed;
  for (size_t i = pads.size() / 2; i-- > first;) reversed.insert(reversed.end(), {pads[2 * i], pads[2 * i + 1]});
  return reversed;
}

at::Tensor padded(const at::Tensor& x, const Dims& pads, const at::Scalar& value) {
  return at::constant_pad_nd(x, last_first(pads), value);
}

// Which element of a dimension of `size` elements a padded position is a copy of; -1: of none.
static int64_t origin(int64_t at, int64_t size, const std::string& mode) {
  if (at >= 0 && at < size) return at;
  if (mode == "constant") return -1;
  if (mode == "edge") return at < 0 ? 0 : size - 1;
  if (mode == "circular") return (at % size + size) % size;
  SIM_CHECK(mode == "reflect" || mode == "symmetric", "mode ", mode,
            "; allowed: constant, reflect, symmetric, edge, circular");
  const int64_t twice = mode == "symmetric";
  return at < 0 ? -at - twice : 2 * size - 2 - at + twice;
}

Dims from_the_front(const Dims& pads, int64_t dims) {
  Dims turned(size_t(2 * dims), 0);
  for (size_t i = 0; i < pads.size(); ++i) turned[turned.size() - 2 * (i / 2 + 1) + i % 2] = pads[i];
  return turned;
}

// The elements of dimension `dim`, `size` long without its paddings, that the positions with them are copies of,
// as origin tells; undefined where it has no paddings.
static at::Tensor origins(const at::Tensor& x, int64_t dim, int64_t size, const Dims& pads, const std::string& mode) {
  const int64_t before = pads[2 * dim], after = pads[2 * dim + 1];
  SIM_CHECK(before >= 0 && after >= 0 && size > 0, "paddings ", pads, " of ", x.sizes());
  if (!before && !after) return {};
  Dims from;
  for (int64_t at = -before; at < size + after; ++at) {
    from.push_back(origin(at, size, mode));
    SIM_CHECK(from.back() < size && (from.back() >= 0 || mode == "constant"), "paddings ", pads,
              " are too large for mode ", mode);
  }
  return at::tensor(from, at::kLong);
}

at::Tensor padded_in_mode(const at::Tensor& x, const Dims& pads, const std::string& mode) {
  at::Tensor result = x;
  SIM_CHECK(pads.size() == 2 * size_t(x.dim()), pads.size(), " paddings for ", x.dim(), " dimensions");
  for (int64_t dim = 0; dim < x.dim(); ++dim)
    if (const at::Tensor from = origins(x, dim, x.size(dim), pads, mode); from.defined())
      result = result.index_select(dim, from);
  return result;
}

at::Tensor padded_backward(const at::Tensor& grad, const Dims& pads, const std::string& mode) {
  at::Tensor result = wide(grad);
  SIM_CHECK(pads.size() == 2 * size_t(grad.dim()), pads.size(), " paddings for ", grad.dim(), " dimensions");
  for (int64_t dim = 0; dim < grad.dim(); ++dim) {
    Dims sizes = result.sizes().vec();
    sizes[dim] -= pads[2 * dim] + pads[2 * dim + 1];
    const at::Tensor to = origins(grad, dim, sizes[dim], pads, mode);
    if (!to.defined()) continue;
    const at::Tensor copies = to.ge(0).nonzero().squeeze(1);
    result = at::zeros(sizes, result.options())
                 .index_add_(dim, to.index_select(0, copies), result.index_select(dim, copies));
  }
  return result;
}

void replace_view(const at::Tensor& x, const View& where, const at::Tensor& source, const View& what) {
  SIM_CHECK(where.sizes == what.sizes, "a view of sizes ", what.sizes, " for one of sizes ", where.sizes);
  strided_view(x, where).copy_(strided_view(source, what));
}

at::Tensor repeat_interleave_backward(const at::Tensor& grad, const at::Tensor& repeats, int64_t dim,
                                      at::IntArrayRef result) {
  const int64_t along = wrap(dim, grad);
  if (repeats.numel() == 1) {
    const int64_t each = grad.numel() / c10::multiply_integers(result);
    return wide(grad).unflatten(along, {-1, each}).sum(along + 1).reshape(result);
  }
  Dims sizes = grad.sizes().vec();
  sizes[size_t(along)] = repeats.numel();
  auto owners = at::repeat_interleave(repeats.to(at::kLong));
  return at::zeros(sizes, wide(grad).scalar_type()).index_add_(along, owners, wide(grad)).reshape(result);
}

static at::Tensor repeats_of(const at::Tensor& repeats, int64_t count, int64_t size) {
  const at::Tensor whole = repeats.to(at::kLong),
                   each = whole.numel() == 1 ? whole.reshape({1}).expand({count}) : whole;
  SIM_CHECK(!each.numel() || at::amin(each).item<int64_t>() >= 0, "a number of repeats is below 0");
  const auto total = each.to(at::kDouble).sum().item<double>();
  SIM_CHECK(total == double(size), "repeats sum up to ", total, ", outputSize is ", size);
  return each;
}

at::Tensor repeated(const at::Tensor& x, const at::Tensor& repeats, std::optional<int64_t> dim, int64_t size) {
  return at::repeat_interleave(x, repeats_of(repeats, dim ? x.size(*dim) : x.numel(), size), dim);
}

at::Tensor repeated_places(const at::Tensor& repeats, int64_t size) {
  return at::repeat_interleave(repeats_of(repeats, repeats.numel(), size));
}

at::Tensor depth_to_space(const at::Tensor& given, const Blocks& blocks) {
  const at::Tensor x = blocks.channels_last ? given.permute({0, 3, 1, 2}) : given;
  const int64_t n = x.size(0), h = x.size(2), w = x.size(3), b = blocks.size, c = x.size(1) / (b * b);
  const at::Tensor parts = blocks.channel_first ? x.reshape({n, c, b, b, h, w}).permute({0, 1, 4, 2, 5, 3})
                                                : x.reshape({n, b, b, c, h, w}).permute({0, 3, 4, 1, 5, 2});
  const at::Tensor y = parts.reshape({n, c, h * b, w * b});
  return blocks.channels_last ? y.permute({0, 2, 3, 1}) : y;
}

at::Tensor space_to_depth(const at::Tensor& given, const Blocks& blocks) {
  const at::Tensor x = blocks.channels_last ? given.permute({0, 3, 1, 2}) : given;
  const int64_t n = x.size(0), c = x.size(1), b = blocks.size, h = x.size(2) / b, w = x.size(3) / b;
  const at::Tensor y = x.reshape({n, c, h, b, w, b}).permute({0, 3, 5, 1, 2, 4}).reshape({n, b * b * c, h, w});
  return blocks.channels_last ? y.permute({0, 2, 3, 1}) : y;
}

at::Tensor sequences_reversed(const at::Tensor& x, const at::Tensor& lengths, int64_t dim, int64_t batch_dim) {
  const at::Tensor sequences = x.movedim({batch_dim, dim}, {0, 1}), all = lengths.to(at::kLong);
  const int64_t most = sequences.size(1);
  at::Tensor out = at::empty_like(sequences);
  for (int64_t i = 0; i < sequences.size(0); ++i) {
    const auto length = all[i].item<int64_t>();
    SIM_CHECK(length >= 0 && length <= most, "a length of ", length, "; a sequence has ", most, " elements");
    out[i].copy_(sequences[i]);
    out[i].slice(0, 0, length).copy_(sequences[i].slice(0, 0, length).flip(0));
  }
  return out.movedim({0, 1}, {batch_dim, dim});
}

void same_axes(const std::string& from, const std::string& to) {
  std::string one = from, other = to;
  std::sort(one.begin(), one.end()), std::sort(other.begin(), other.end());
  SIM_CHECK(one == other && std::adjacent_find(one.begin(), one.end()) == one.end() && !one.empty(), "axes ", from,
            " in the order ", to);
}
// Where each letter of the one stands in the other.
static at::Tensor places_of_letters(const std::string& of, const std::string& in) {
  std::vector<int64_t> out;
  for (const char letter : of) out.push_back(int64_t(in.find(letter)));
  return at::tensor(out, at::kLong);
}
static std::string of_space(std::string axes) {
  std::erase_if(axes, [](char letter) { return letter == 'N' || letter == 'C'; });
  return axes;
}
at::Tensor axes_moved(const at::Tensor& x, const std::string& from, const std::string& to) {
  const auto axes = int64_t(from.size());
  SIM_CHECK(!x.numel() || (at::amin(x).item<int64_t>() >= -axes && at::amax(x).item<int64_t>() < axes),
            "a place outside of ", from);
  const at::Tensor from_front = at::remainder(x.to(at::kLong), axes);
  return places_of_letters(from, to).index_select(0, from_front.flatten()).view(x.sizes());
}
at::Tensor of_axes_moved(const at::Tensor& x, const std::string& from, const std::string& to) {
  const bool all = x.size(0) == int64_t(from.size());
  return x.index_select(0, all ? places_of_letters(to, from) : places_of_letters(of_space(to), of_space(from)));
}

at::Tensor space_to_batch(const at::Tensor& x, const Dims& blocks, const Dims& sides) {
  const at::Tensor whole = at::constant_pad_nd(x, from_the_front(sides, x.dim() - 1));
  const auto count = int64_t(blocks.size());
  Dims parts{whole.size(0)}, order, sizes{whole.size(0)};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t block = blocks[size_t(i)];
    parts.insert(parts.end(), {whole.size(i + 1) / block, block});
    order.push_back(2 * i + 2), sizes[0] *= block, sizes.push_back(whole.size(i + 1) / block);
  }
  order.push_back(0);
  for (int64_t i = 0; i < count; ++i) order.push_back(2 * i + 1);
  for (int64_t dim = count + 1; dim < whole.dim(); ++dim) {
    order.push_back(int64_t(parts.size()));
    parts.push_back(whole.size(dim)), sizes.push_back(whole.size(dim));
  }
  return whole.reshape(parts).permute(order).reshape(sizes);
}
at::Tensor batch_to_space(const at::Tensor& x, const Dims& blocks, const Dims& sides) {
  const auto count = int64_t(blocks.size());
  Dims parts(blocks), order{count}, sizes;
  const int64_t samples = x.size(0) / c10::multiply_integers(blocks);
  parts.push_back(samples), sizes.push_back(samples);
  for (int64_t i = 0; i < count; ++i) {
    parts.push_back(x.size(i + 1)), sizes.push_back(x.size(i + 1) * blocks[size_t(i)]);
    order.insert(order.end(), {count + 1 + i, i});
  }
  for (int64_t dim = count + 1; dim < x.dim(); ++dim) {
    order.push_back(int64_t(parts.size()));
    parts.push_back(x.size(dim)), sizes.push_back(x.size(dim));
  }
  const at::Tensor whole = x.reshape(parts).permute(order).reshape(sizes);
  Dims cut = from_the_front(sides, whole.dim() - 1);
  for (int64_t& side : cut) side = -side;
  return at::constant_pad_nd(whole, cut);
}

}  // namespace sim::kernels
