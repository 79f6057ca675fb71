// Shapes and layout: reshaping, joining and splitting, slicing, indexing, filling.
#include "ge_rows.h"

namespace sim::ge_table {
namespace {

int64_t rank_of(const Shape& shape) { return static_cast<int64_t>(shape->size()); }

Shape all_unknown(const Shape& shape) {
  return shape ? Shape(std::vector<int64_t>(shape->size(), ge_unknown_dim)) : std::nullopt;
}

int64_t product_of(const std::vector<int64_t>& dims) {
  int64_t out = 1;
  for (int64_t dim : dims) {
    if (dim < 0) return -1;
    out *= dim;
  }
  return out;
}

// A shape that is given as an input: its values, or as many unknown dimensions as it has elements.
Shape shape_from(const Shaper& s, size_t input) {
  if (Values known = s.values(input)) return *known;
  Shape length = s.shape(input);
  if (!length || length->size() != 1 || (*length)[0] < 0) return std::nullopt;
  return std::vector<int64_t>(static_cast<size_t>((*length)[0]), ge_unknown_dim);
}

// ---- the same elements in another shape -------------------------------------------------------------------------
void reshape(Shaper& s) {
  Shape target = shape_from(s, 1), from = s.shape(0);
  int64_t total = from ? product_of(*from) : -1;
  if (s.values(1) && target) {
    int64_t known = 1, free = -1;
    for (size_t i = 0; i < target->size(); ++i) {
      if ((*target)[i] == -1 && free < 0) free = static_cast<int64_t>(i);
      else known *= (*target)[i];
    }
    if (free >= 0 && total >= 0 && known > 0) (*target)[static_cast<size_t>(free)] = total / known;
    if (total >= 0 && product_of(*target) >= 0 && product_of(*target) != total)
      throw Refused(c10::str(s.describe(0), " has ", total, " elements and cannot take the shape [", c10::Join(", ", *target), "]"));
  }
  s.out(s.dtype(0), target);
}

void unsqueeze(Shaper& s) {
  Shape shape = s.shape(0);
  std::vector<int64_t> axes = s.integers("axes");
  if (shape) {
    int64_t rank = rank_of(shape) + static_cast<int64_t>(axes.size());
    std::vector<bool> added(static_cast<size_t>(rank), false);
    for (int64_t axis : axes) added[static_cast<size_t>(wrap(axis, rank))] = true;
    std::vector<int64_t> out;
    size_t next = 0;
    for (bool one : added) out.push_back(one ? 1 : (*shape)[next++]);
    shape = out;
  }
  s.out(s.dtype(0), shape);
}

void expand_dims(Shaper& s) {
  Shape shape = s.shape(0);
  Values axis = s.values(1);
  if (shape && axis) shape->insert(shape->begin() + wrap(axis->at(0), rank_of(shape) + 1), 1);
  else if (shape) shape = std::vector<int64_t>(shape->size() + 1, ge_unknown_dim);
  s.out(s.dtype(0), shape);
}

void squeeze(Shaper& s) {
  Shape shape = s.shape(0);
  std::vector<int64_t> axes = s.integers("axis");
  if (shape) {
    std::vector<int64_t> out;
    std::vector<bool> chosen(shape->size(), axes.empty());
    for (int64_t axis : axes) chosen[static_cast<size_t>(wrap(axis, rank_of(shape)))] = true;
    for (size_t i = 0; i < shape->size(); ++i) {
      int64_t dim = (*shape)[i];
      if (chosen[i] && axes.empty() && dim < 0) {   // whether it goes depends on its size
        s.out(s.dtype(0), std::nullopt);
        return;
      }
      if (chosen[i] && !axes.empty() && dim > 1)
        throw Refused("axis " + std::to_string(i) + " of " + s.describe(0) + " is not 1 and cannot be squeezed");
      if (!(chosen[i] && (dim == 1 || !axes.empty()))) out.push_back(dim);
    }
    shape = out;
  }
  s.out(s.dtype(0), shape);
}

void flatten(Shaper& s) {
  Shape shape = s.shape(0);
  if (shape && !shape->empty()) {
    int64_t first = wrap(s.integer("axis", 1), rank_of(shape)), last = wrap(s.integer("end_axis", -1), rank_of(shape));
    std::vector<int64_t> middle(shape->begin() + first, shape->begin() + last + 1);
    shape->erase(shape->begin() + first, shape->begin() + last + 1);
    shape->insert(shape->begin() + first, product_of(middle));
  }
  s.out(s.dtype(0), shape);
}

at::Tensor reshaped(const Args& a) { return a[0].reshape(a.output(0).sizes()); }

void permute(Shaper& s, const Values& order) {
  Shape shape = s.shape(0);
  if (shape && order) {
    if (order->size() != shape->size())
      throw Refused("its permutation has " + std::to_string(order->size()) + " axes, its input is " + s.describe(0));
    std::vector<int64_t> out;
    for (int64_t axis : *order) out.push_back((*shape)[static_cast<size_t>(wrap(axis, rank_of(shape)))]);
    shape = out;
  } else {
    shape = all_unknown(shape);
  }
  s.out(s.dtype(0), shape);
}
void transpose(Shaper& s) { permute(s, s.values(1)); }
void transpose_attr(Shaper& s) { permute(s, s.integers("perm")); }
void permute_attr(Shaper& s) { permute(s, s.integers("order")); }

// ---- joining and splitting --------------------------------------------------------------------------------------
void join(Shaper& s, size_t first, size_t last, const Values& axis) {
  require_same_dtype(s, first, last);
  Shape out = s.shape(first);
  if (out && !axis) out = all_unknown(out);
  for (size_t i = first + 1; i < last && out && axis; ++i) {
    Shape next = s.shape(i);
    if (!next) continue;
    auto at = static_cast<size_t>(wrap(axis->at(0), rank_of(out)));
    if (next->size() != out->size()) throw Refused("it joins " + s.describe(first) + " and " + s.describe(i));
    for (size_t d = 0; d < out->size(); ++d) {
      int64_t &x = (*out)[d], y = (*next)[d];
      if (d == at) x = x < 0 || y < 0 ? -1 : x + y;
      else if (x < 0) x = y;
      else if (y >= 0 && x != y) throw Refused("it joins " + s.describe(first) + " and " + s.describe(i) + " along axis " + std::to_string(at));
    }
  }
  s.out(s.dtype(first), out);
}
void concat(Shaper& s) { join(s, 0, s.count() - 1, s.values(s.count() - 1)); }
void concat_attr(Shaper& s) { join(s, 0, s.count(), std::vector<int64_t>{s.integer("concat_dim", 0)}); }

void pack(Shaper& s) {
  require_same_dtype(s, 0, s.count());
  Shape shape = s.shape(0);
  for (size_t i = 1; i < s.count() && shape; ++i)
    if (Shape next = s.shape(i)) {
      if (next->size() != shape->size()) throw Refused("it packs " + s.describe(0) + " and " + s.describe(i));
      for (size_t d = 0; d < shape->size(); ++d) {
        if ((*shape)[d] < 0) (*shape)[d] = (*next)[d];
        else if ((*next)[d] >= 0 && (*next)[d] != (*shape)[d])
          throw Refused("it packs " + s.describe(0) + " and " + s.describe(i));
      }
    }
  if (shape)
    shape->insert(shape->begin() + wrap(s.integer("axis", 0), rank_of(shape) + 1), static_cast<int64_t>(s.count()));
  s.out(s.dtype(0), shape);
}

void unpack(Shaper& s) {
  Shape shape = s.shape(0);
  if (shape) {
    int64_t axis = wrap(s.integer("axis", 0), rank_of(shape)), dim = (*shape)[static_cast<size_t>(axis)];
    if (dim >= 0 && dim != static_cast<int64_t>(s.outputs()))
      throw Refused("it unpacks " + s.describe(0) + " into " + std::to_string(s.outputs()) + " outputs");
    shape->erase(shape->begin() + axis);
  }
  for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(0), shape);
}

void split_even(Shaper& s, size_t data, const Values& axis) {
  Shape shape = s.shape(data);
  if (shape && axis) {
    int64_t& dim = (*shape)[static_cast<size_t>(wrap(axis->at(0), rank_of(shape)))];
    auto parts = static_cast<int64_t>(s.outputs());
    if (dim >= 0 && dim % parts) throw Refused(s.describe(data) + " does not split into " + std::to_string(parts) + " even parts");
    if (dim >= 0) dim /= parts;
  } else {
    shape = all_unknown(shape);
  }
  for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(data), shape);
}
void split(Shaper& s) { split_even(s, 1, s.values(0)); }
void split_attr(Shaper& s) { split_even(s, 0, std::vector<int64_t>{s.integer("split_dim", 0)}); }

void split_sizes(Shaper& s) {
  Values sizes = s.values(1), axis = s.values(2);
  for (size_t i = 0; i < s.outputs(); ++i) {
    Shape shape = s.shape(0);
    if (shape && axis) {
      int64_t& dim = (*shape)[static_cast<size_t>(wrap(axis->at(0), rank_of(shape)))];
      int64_t whole = dim;
      dim = sizes ? sizes->at(i) : static_cast<int64_t>(ge_unknown_dim);
      if (dim == -1 && sizes && whole >= 0) {   // one part may take the rest
        dim = whole;
        for (size_t k = 0; k < sizes->size(); ++k)
          if (k != i) dim -= (*sizes)[k];
      }
    } else {
      shape = all_unknown(shape);
    }
    s.out(i, s.dtype(0), shape);
  }
}

// Consecutive parts of the input along an axis, as long as the outputs.
Results parts(const Args& a, size_t data, int64_t axis, size_t count) {
  Results out;
  int64_t start = 0;
  axis = wrap(axis, a[data].dim());
  for (size_t i = 0; i < count; ++i) {
    int64_t length = a.output(i).size(axis);
    out.push_back(a[data].narrow(axis, start, length));
    start += length;
  }
  return out;
}

// ---- slicing ----------------------------------------------------------------------------------------------------
struct Slice {
  int64_t axis, begin, end, step;
};

void refuse_masks(const Call& call) {
  for (const char* mask : {"ellipsis_mask", "new_axis_mask"})
    if (call.integer(mask, 0)) throw Refused(std::string(mask) + " is not simulated");
}

// The slices that begin, end, axes and strides describe; inputs axes and strides may be absent.
std::vector<Slice> slices(const Call& call, const std::vector<int64_t>& shape, bool with_axes) {
  refuse_masks(call);
  std::vector<int64_t> begin = call.need(1), end = call.need(2), axes, steps;
  size_t strides_at = with_axes ? 4 : 3;
  if (with_axes && call.has(3)) axes = call.need(3);
  if (call.has(strides_at)) steps = call.need(strides_at);
  std::vector<Slice> out;
  for (size_t i = 0; i < begin.size(); ++i) {
    int64_t axis = wrap(axes.empty() ? static_cast<int64_t>(i) : axes.at(i), static_cast<int64_t>(shape.size()));
    int64_t dim = shape[static_cast<size_t>(axis)], step = steps.empty() ? 1 : steps.at(i);
    if (step <= 0) throw Refused("a step of " + std::to_string(step) + " is not simulated");
    int64_t from = begin[i] < 0 ? begin[i] + dim : begin[i], to = end.at(i) < 0 ? end[i] + dim : end[i];
    if (call.integer("shrink_axis_mask", 0) >> i & 1) to = from + 1, step = 1;
    if (call.integer("begin_mask", 0) >> i & 1) from = 0;
    if (call.integer("end_mask", 0) >> i & 1) to = dim;
    from = std::clamp<int64_t>(from, 0, dim);
    out.push_back({axis, from, std::clamp<int64_t>(to, from, dim), step});
  }
  return out;
}

std::vector<int64_t> shrunk(const Call& call, const std::vector<Slice>& all) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < all.size(); ++i)
    if (call.integer("shrink_axis_mask", 0) >> i & 1) out.push_back(all[i].axis);
  std::sort(out.rbegin(), out.rend());
  return out;
}

void strided(Shaper& s, bool with_axes) {
  Shape shape = s.shape(0);
  bool known = s.values(1) && s.values(2);
  for (size_t i = 3; i < s.count(); ++i) known = known && (!s.has(i) || s.values(i));
  if (!shape || !known) {
    s.out(s.dtype(0), s.integer("shrink_axis_mask", 0) ? std::nullopt : all_unknown(shape));
    return;
  }
  std::vector<Slice> all = slices(s, *shape, with_axes);
  std::vector<int64_t> out = *shape;
  for (const Slice& one : all) {
    int64_t& dim = out[static_cast<size_t>(one.axis)];
    dim = dim < 0 ? dim : (one.end - one.begin + one.step - 1) / one.step;
  }
  for (int64_t axis : shrunk(s, all)) out.erase(out.begin() + axis);
  s.out(s.dtype(0), out);
}
void strided_slice(Shaper& s) { strided(s, false); }
void strided_slice_v2(Shaper& s) { strided(s, true); }

at::Tensor sliced(const Args& a, bool with_axes) {
  at::Tensor out = a[0];
  std::vector<Slice> all = slices(a, out.sizes().vec(), with_axes);
  for (const Slice& one : all) out = out.slice(one.axis, one.begin, one.end, one.step);
  for (int64_t axis : shrunk(a, all)) out = out.squeeze(axis);
  return out;
}

void slice_rule(Shaper& s) {
  Shape shape = s.shape(0);
  Values offsets = s.values(1), sizes = s.values(2);
  if (shape && offsets && sizes) {
    for (size_t i = 0; i < shape->size(); ++i) {
      int64_t dim = (*shape)[i], size = sizes->at(i);
      (*shape)[i] = size >= 0 ? size : dim < 0 ? dim : dim - offsets->at(i);
    }
  } else {
    shape = all_unknown(shape);
  }
  s.out(s.dtype(0), shape);
}

at::Tensor slice_of(const Args& a) {
  at::Tensor out = a[0];
  std::vector<int64_t> offsets = a.need(1);
  for (size_t i = 0; i < offsets.size(); ++i)
    out = out.narrow(static_cast<int64_t>(i), offsets[i], a.output(0).size(static_cast<int64_t>(i)));
  return out;
}

// ---- indexing ---------------------------------------------------------------------------------------------------
void gather_along(Shaper& s, const Values& axis) {
  Shape data = s.shape(0), indices = s.shape(1);
  if (s.integer("batch_dims", 0)) throw Refused("batch_dims is not simulated");
  Shape out;
  if (data && indices && axis) {
    int64_t at = wrap(axis->at(0), rank_of(data));
    out = data;
    out->erase(out->begin() + at);
    out->insert(out->begin() + at, indices->begin(), indices->end());
  }
  s.out(s.dtype(0), out);
}
void gather(Shaper& s) { gather_along(s, std::vector<int64_t>{0}); }
void gather_v2(Shaper& s) { gather_along(s, s.values(2)); }

at::Tensor gathered(const Args& a, int64_t axis) {
  at::Tensor indices = a[1].to(at::kLong);
  axis = wrap(axis, a[0].dim());
  int64_t dim = a[0].size(axis);
  at::Tensor flat = indices.reshape({-1});
  if (flat.numel() && (flat.min().item<int64_t>() < -dim || flat.max().item<int64_t>() >= dim))
    throw Refused(c10::str("an index is out of range for axis ", axis, " of ", a.describe(0)));
  flat = at::where(flat.lt(0), flat + dim, flat);
  return a[0].index_select(axis, flat).reshape(a.output(0).sizes());
}

void gather_elements(Shaper& s) { s.out(s.dtype(0), s.shape(1)); }

at::Tensor scattered(const Args& a) {
  std::string reduction = a.text("reduction", "none");
  at::Tensor out = a[0].clone(), indices = a[1].to(at::kLong);
  int64_t axis = a.integer("axis", 0);
  if (reduction == "none") return out.scatter(axis, indices, a[2]);
  if (reduction == "add") return out.scatter_add(axis, indices, a[2]);
  throw Refused("reduction '" + reduction + "' is not simulated");
}

// ---- making tensors ---------------------------------------------------------------------------------------------
void shape_of(Shaper& s) {
  Shape shape = s.shape(0);
  s.out(static_cast<int32_t>(s.integer("dtype", kInt32)),
        std::vector<int64_t>{shape ? rank_of(shape) : static_cast<int64_t>(ge_unknown_dim)});
}
void scalar_int(Shaper& s) { s.out(static_cast<int32_t>(s.integer("dtype", kInt32)), std::vector<int64_t>{}); }

// Reads only the shape of its input, whose values need not be there.
at::Tensor dims(const Args& a) { return at::tensor(*a.shape(0), at::kLong).to(a.out_dtype()); }

void fill(Shaper& s) { s.out(s.dtype(1), shape_from(s, 0)); }
void broadcast_to(Shaper& s) {
  Shape target = shape_from(s, 1), from = s.shape(0);
  if (target && from && s.values(1)) {   // -1 keeps the input's dimension
    if (target->size() < from->size()) throw Refused(s.describe(0) + " has more dimensions than its target shape");
    size_t lead = target->size() - from->size();
    for (size_t i = 0; i < from->size(); ++i)
      if ((*target)[lead + i] == -1) (*target)[lead + i] = (*from)[i];
    broadcast_shapes(target, from, s);
  }
  s.out(s.dtype(0), target);
}
void tile(Shaper& s) {
  Shape shape = s.shape(0);
  Values times = s.values(1);
  if (shape && times) {
    while (shape->size() < times->size()) shape->insert(shape->begin(), 1);
    size_t lead = shape->size() - times->size();
    for (size_t i = 0; i < times->size(); ++i)
      if ((*shape)[lead + i] >= 0) (*shape)[lead + i] *= (*times)[i];
  } else {
    shape = std::nullopt;
  }
  s.out(s.dtype(0), shape);
}
void range(Shaper& s) {
  // Bounds of several types give the widest of them.
  int32_t dtype = s.dtype(0);
  for (size_t i = 1; i < 3; ++i)
    if (dtype == kInt32 || s.dtype(i) == kFloat) dtype = s.dtype(i);
  std::optional<double> start = s.number(0), limit = s.number(1), delta = s.number(2);
  int64_t count = ge_unknown_dim;
  if (start && limit && delta) {
    if (*delta == 0) throw Refused("a step of 0");
    count = std::max<int64_t>(0, static_cast<int64_t>(std::ceil((*limit - *start) / *delta)));
  }
  s.out(dtype, std::vector<int64_t>{count});
}
void pad(Shaper& s) {
  Shape shape = s.shape(0);
  Values paddings = s.values(1);
  if (shape && paddings) {
    if (paddings->size() != 2 * shape->size())
      throw Refused("it has " + std::to_string(paddings->size()) + " paddings for " + s.describe(0));
    for (size_t i = 0; i < shape->size(); ++i)
      if ((*shape)[i] >= 0) (*shape)[i] += paddings->at(2 * i) + paddings->at(2 * i + 1);
  } else {
    shape = all_unknown(shape);
  }
  s.out(s.dtype(0), shape);
}
at::Tensor padded(const Args& a) {
  if (a.text("mode", "constant") != "constant") throw Refused("mode '" + a.text("mode", "") + "' is not simulated");
  std::vector<int64_t> given = a.need(1), reversed;   // ATen starts at the last dimension
  for (size_t i = given.size() / 2; i-- > 0;) reversed.insert(reversed.end(), {given[2 * i], given[2 * i + 1]});
  return at::constant_pad_nd(a[0], reversed, a.has(2) ? a[2].item() : at::Scalar(0));
}

// indices_mask says which dimensions are indexed; those after the mask's end are not. As in ATen, the broadcast indices stand
// where the first indexed dimension was, or in front where indexed dimensions are not neighbours.
void index_by_tensor(Shaper& s) {
  Shape x = s.shape(0), index = std::vector<int64_t>{};
  for (size_t i = 1; i < s.count(); ++i) index = broadcast_shapes(index, s.shape(i), s);
  if (!x || !index) return s.out(s.dtype(0), std::nullopt);
  std::vector<int64_t> mask = s.integers("indices_mask");
  mask.resize(x->size(), 0);
  std::vector<int64_t> out;
  size_t first = 0, last = 0, indexed = 0;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (!mask[i]) {
      out.push_back((*x)[i]);
    } else {
      if (!indexed++) first = i;
      last = i;
    }
  }
  if (indexed + 1 != s.count()) throw Refused("its mask names " + std::to_string(indexed) + " dimensions for " + std::to_string(s.count() - 1) + " indices");
  bool neighbours = indexed == 0 || last - first + 1 == indexed;
  out.insert(out.begin() + static_cast<int64_t>(neighbours ? first : 0), index->begin(), index->end());
  s.out(s.dtype(0), out);
}
at::Tensor indexed_by_tensor(const Args& a) {
  std::vector<int64_t> mask = a.integers("indices_mask");
  c10::List<std::optional<at::Tensor>> indices;
  size_t next = 1;
  for (int64_t taken : mask) indices.push_back(taken ? std::optional<at::Tensor>(a[next++].to(at::kLong)) : std::nullopt);
  return at::index(a[0], indices);
}

void embedding_grad(Shaper& s) {
  Shape grad = s.shape(0);
  s.out(s.dtype(0), std::vector<int64_t>{s.integer("num_weights", 0), grad ? grad->back() : static_cast<int64_t>(ge_unknown_dim)});
}

void one_hot(Shaper& s) {
  Shape shape = s.shape(0);
  Values depth = s.values(1);
  if (shape) {
    int64_t axis = wrap(s.integer("axis", -1), rank_of(shape) + 1);
    shape->insert(shape->begin() + axis, depth ? depth->at(0) : static_cast<int64_t>(ge_unknown_dim));
  }
  s.out(s.dtype(2), shape);
}
at::Tensor one_hot_of(const Args& a) {
  at::Tensor classes = at::arange(a.need(1).at(0), at::kLong), indices = a[0].to(at::kLong);
  at::Tensor hot = indices.unsqueeze(-1).eq(classes);
  int64_t axis = a.integer("axis", -1);
  return at::where(hot, a[2], a[3]).movedim(-1, axis);
}

}  // namespace

const Table& shape_rows() {
#define STRIDED_MASKS "begin_mask:Int=0 end_mask:Int=0 ellipsis_mask:Int=0 new_axis_mask:Int=0 shrink_axis_mask:Int=0"
  static const Table table = {
      ROW(Reshape,    "x shape -> y | axis:Int=0 num_axes:Int=-1", reshape, reshaped(a))
      ROW(Unsqueeze,  "x -> y | axes:ListInt={}", unsqueeze, reshaped(a))
      ROW(ExpandDims, "x axis -> y", expand_dims, reshaped(a))
      ROW(Squeeze,    "x -> y | axis:ListInt={}", squeeze, reshaped(a))
      ROW(FlattenV2,  "x -> y | axis:Int=1 end_axis:Int=-1", flatten, reshaped(a))
      ROW(Transpose,  "x perm -> y", transpose, a[0].permute(a.need(1)))
      ROW(TransposeD, "x -> y | perm:ListInt", transpose_attr, a[0].permute(a.integers("perm")))
      ROW(Permute,    "x -> y | order:ListInt={0}", permute_attr, a[0].permute(a.integers("order")))
      ROW(ConcatV2,   "x* concat_dim -> y | N:Int=1", concat, at::cat(a.tensors(0, a.count() - 1), a.need(a.count() - 1).at(0)))
      ROW(ConcatD,    "x* -> y | concat_dim:Int N:Int=1", concat_attr, at::cat(a.tensors(0, a.count()), a.integer("concat_dim", 0)))
      ROW(Pack,       "x* -> y | axis:Int=0 N:Int", pack, at::stack(a.tensors(0, a.count()), a.integer("axis", 0)))
      {"Unpack", "x -> y* | num:Int axis:Int=0", unpack, [](const Args& a) { return a[0].unbind(a.integer("axis", 0)); }},
      {"Split",  "split_dim x -> y* | num_split:Int", split, [](const Args& a) { return parts(a, 1, a.need(0).at(0), static_cast<size_t>(a.integer("num_split", 1))); }},
      {"SplitD", "x -> y* | split_dim:Int num_split:Int", split_attr, [](const Args& a) { return parts(a, 0, a.integer("split_dim", 0), static_cast<size_t>(a.integer("num_split", 1))); }},
      {"SplitV", "x size_splits split_dim -> y* | num_split:Int", split_sizes, [](const Args& a) { return parts(a, 0, a.need(2).at(0), static_cast<size_t>(a.integer("num_split", 1))); }},

      ROW(StridedSlice,   "x begin end strides -> y | " STRIDED_MASKS, strided_slice, sliced(a, false))
      ROW(StridedSliceV2, "x begin end axes? strides? -> y | " STRIDED_MASKS, strided_slice_v2, sliced(a, true))
      ROW(Slice,          "x offsets size -> y", slice_rule, slice_of(a))

      ROW(Gather,   "x indices -> y | validate_indices:Bool=true batch_dims:Int=0 is_preprocessed:Bool=false negative_index_support:Bool=false", gather, gathered(a, 0))
      ROW(GatherV2, "x indices axis -> y | batch_dims:Int=0 is_preprocessed:Bool=false negative_index_support:Bool=false", gather_v2, gathered(a, a.need(2).at(0)))
      ROW(GatherElements,  "x index -> y | dim:Int=0", gather_elements, at::gather(a[0], a.integer("dim", 0), a[1].to(at::kLong)))
      ROW(ScatterElements, "data indices updates -> y | axis:Int=0 reduction:String=none", same, scattered(a))
      ROW(IndexByTensor,   "x indices* -> y | indices_mask:ListInt={}", index_by_tensor, indexed_by_tensor(a))
      ROW(EmbeddingDenseGrad, "grad indices -> y | num_weights:Int padding_idx:Int=-1 scale_grad_by_freq:Bool=false", embedding_grad,
          at::embedding_dense_backward(a[0], a[1].to(at::kLong), a.integer("num_weights", 0), a.integer("padding_idx", -1), a.flag("scale_grad_by_freq")))
      ROW(OneHot,          "x depth on_value off_value -> y | axis:Int=-1", one_hot, one_hot_of(a))

      ROW(Shape,       "x -> y | dtype:Int=3", shape_of, dims(a))
      ROW(Size,        "x -> y | dtype:Int=3", scalar_int, at::scalar_tensor(c10::multiply_integers(*a.shape(0)), a.out_dtype()))
      ROW(Rank,        "x -> y", scalar_int, at::scalar_tensor(static_cast<int64_t>(a.shape(0)->size()), a.out_dtype()))
      ROW(Fill,        "dims value -> y", fill, a[1].reshape({}).expand(a.output(0).sizes()))
      ROW(BroadcastTo, "x shape -> y", broadcast_to, a[0].expand(a.output(0).sizes()))
      ROW(Expand,      "x shape -> y", broadcast_to, a[0].expand(a.output(0).sizes()))
      ROW(Tile,        "x multiples -> y", tile, a[0].repeat(a.need(1)))
      ROW(Range,       "start limit delta -> y", range, at::arange(a[0].item(), a[1].item(), a[2].item(), a.out_dtype()))
      ROW(PadV3,       "x paddings constant_values? -> y | mode:String=constant paddings_contiguous:Bool=true", pad, padded(a))
      ROW(Tril,        "x -> y | diagonal:Int=0", same, at::tril(a[0], a.integer("diagonal", 0)))
      ROW(Triu,        "x -> y | diagonal:Int=0", same, at::triu(a[0], a.integer("diagonal", 0)))
      ROW(ReverseV2,   "x axis -> y", same, at::flip(a[0], a.need(1)))
  };
  return table;
}

}  // namespace sim::ge_table
