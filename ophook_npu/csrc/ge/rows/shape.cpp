// The same elements in another shape or order, joining, splitting and repeating.
#include <numeric>

#include "ge/rows/rows.h"
#include "kernels/shape.h"

namespace sim::ge_table {
namespace {

Dim product_of(const Sizes& dims) {
  Dim out = 1;
  for (const Dim& dim : dims) out = out * dim;
  return out;
}

// ---- the same elements in another shape -------------------------------------------------------------------------
void reshape(Shaper& s) {
  Shape target = shape_from(s, 1), from = s.shape(0);
  const Dim total = from ? product_of(*from) : unknown;
  if (const Values asked = s.values(1)) {
    const auto free = std::find(asked->begin(), asked->end(), -1);
    if (free != asked->end()) {
      Dim& rest = (*target)[static_cast<size_t>(free - asked->begin())];
      rest = 1;
      const Dim others = product_of(*target);
      rest = others == 0 ? unknown : total / others;
    }
    if (product_of(*target) != total)
      throw Refused(c10::str(s.describe(0), " has ", total.size(), " elements and cannot take the shape [",
                             c10::Join(", ", *asked), "]"));
  }
  s.out(s.dtype(0), target);
}

void unsqueeze(Shaper& s) {
  Shape shape = s.shape(0);
  Dims axes = s.integers(s.knows("axes") ? "axes" : "axis");
  if (shape) {
    int64_t rank = rank_of(shape) + static_cast<int64_t>(axes.size());
    Checked<bool> added(static_cast<size_t>(rank), false);
    for (int64_t axis : axes) added[static_cast<size_t>(wrap(axis, rank))] = true;
    Sizes out;
    size_t next = 0;
    for (bool one : added) out.push_back(one ? Dim(1) : (*shape)[next++]);
    shape = out;
  }
  s.out(s.dtype(0), shape);
}

void expand_dims(Shaper& s) {
  Shape shape = s.shape(0);
  Values axis = s.values(1);
  if (shape && axis) shape->insert(shape->begin() + wrap(axis->at(0), rank_of(shape) + 1), 1);
  else if (shape) shape = Sizes(shape->size() + 1, unknown);
  s.out(s.dtype(0), shape);
}

void squeeze(Shaper& s) {
  Shape shape = s.shape(0);
  Dims axes = s.integers("axis");
  if (shape) {
    Sizes out;
    Checked<bool> chosen(shape->size(), axes.empty());
    for (int64_t axis : axes) {
      const int64_t at = wrap(axis, rank_of(shape));
      if (!shape->empty()) chosen[static_cast<size_t>(at)] = true;
    }
    for (size_t i = 0; i < shape->size(); ++i) {
      const Dim dim = (*shape)[i];
      if (chosen[i] && axes.empty() && !dim.known()) {  // whether it goes depends on its size
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
    int64_t first = wrap(s.integer("axis"), rank_of(shape)), last = wrap(s.integer("end_axis"), rank_of(shape));
    if (last < first) throw Refused("it flattens axes " + std::to_string(first) + " to " + std::to_string(last));
    Sizes middle(shape->begin() + first, shape->begin() + last + 1);
    shape->erase(shape->begin() + first, shape->begin() + last + 1);
    shape->insert(shape->begin() + first, product_of(middle));
  }
  s.out(s.dtype(0), shape);
}

// Into two dimensions.
void flatten_to_two(Shaper& s) {
  Shape shape = s.shape(0);
  if (shape) {
    const auto first = shape->begin() + wrap(s.integer("axis"), rank_of(shape) + 1);
    shape = Sizes{product_of({shape->begin(), first}), product_of({first, shape->end()})};
  }
  s.out(s.dtype(0), shape ? shape : known({unknown, unknown}));
}

void permuted_by(Shaper& s, const Values& order) {
  Shape shape = s.shape(0);
  if (shape && order) {
    if (order->size() != shape->size())
      throw Refused("its permutation has " + std::to_string(order->size()) + " axes, its input is " + s.describe(0));
    named(*order, shape, s);
    Sizes out;
    for (int64_t axis : *order) out.push_back((*shape)[static_cast<size_t>(wrap(axis, rank_of(shape)))]);
    shape = out;
  } else {
    shape = all_unknown(shape);
  }
  s.out(s.dtype(0), shape);
}
void permute_attr(Shaper& s) { permuted_by(s, s.integers("order")); }

// A reshape to `shape` and a transposition, in either order.
void confusion_transpose(Shaper& s) {
  Dims shape = s.integers("shape"), perm = s.integers("perm"), out;
  const Shape x = s.shape(0);
  if (const Shape moved = s.flag("transpose_first") ? x : known(shape)) named(perm, moved, s);
  if (numbers_in(s, 0) != c10::multiply_integers(shape))
    throw Refused(c10::str(s.describe(0), " has no shape ", shape));
  if (s.flag("transpose_first")) return s.out(s.dtype(0), shape);
  if (perm.size() != shape.size()) throw Refused("its permutation and its shape have different lengths");
  for (int64_t axis : perm) out.push_back(shape[static_cast<size_t>(wrap(axis, static_cast<int64_t>(shape.size())))]);
  s.out(s.dtype(0), out);
}
// ---- joining and splitting --------------------------------------------------------------------------------------
void join(Shaper& s, size_t first, size_t last, const Values& axis) {
  require_same_dtype(s, first, last);
  Shape out = s.shape(first);
  if (out && out->empty()) {  // scalars are joined as vectors of one element
    Dim length = 0;
    for (size_t i = first; i < last; ++i) {
      const Shape part = s.shape(i);
      if (part && part->size() > 1) throw Refused("it joins " + s.describe(first) + " and " + s.describe(i));
      length = length + (!part ? unknown : part->empty() ? Dim(1) : (*part)[0]);
    }
    return s.out(s.dtype(first), known({length}));
  }
  if (out && !axis) out = all_unknown(out);
  for (size_t i = first + 1; i < last && out && axis; ++i) {
    Shape next = s.shape(i);
    auto at = static_cast<size_t>(wrap(axis->at(0), rank_of(out)));
    if (!next) {
      (*out)[at] = unknown;
      continue;
    }
    if (next->size() != out->size()) throw Refused("it joins " + s.describe(first) + " and " + s.describe(i));
    for (size_t d = 0; d < out->size(); ++d) {
      Dim &x = (*out)[d], y = (*next)[d];
      if (d == at) x = x + y;
      else if (!x.known()) x = y;
      else if (x != y)
        throw Refused("it joins " + s.describe(first) + " and " + s.describe(i) + " along axis " + std::to_string(at));
    }
  }
  s.out(s.dtype(first), out);
}
void concat(Shaper& s) { join(s, 0, s.count() - 1, s.values(s.count() - 1)); }
void concat_behind(Shaper& s) { join(s, 1, s.count(), s.values(0)); }
void concat_in_front(Shaper& s) {
  join(s, 0, s.count(), Dims{0});
  const Dims told = s.integers("shape");
  Dim rows = 0;
  for (size_t i = 0; i < s.count(); ++i) {
    Shape whole = told;
    if (!whole->empty()) (*whole)[0] = unknown;
    require_shape(s, i, whole, "does not fit into shape");
    const Shape one = s.shape(i);
    rows = rows + (one && !one->empty() ? (*one)[0] : unknown);
  }
  if (rows.known() && !told.empty() && rows != told[0])
    throw Refused(c10::str("its values have ", rows.size(), " rows, its shape ", told[0]));
  s.out(s.dtype(0), told);
}

// ---- blocks of space as samples ------------------------------------------------------------------------------------
struct Moving {
  Values blocks, sides;
  size_t first = 1;  // of the axes of space
};
Moving moving(const Call& call) {
  Moving out;
  if (call.knows("block_size")) {
    out.blocks = Dims(2, call.integer("block_size"));
    if (const Shape x = call.shape(0); x && x->size() != 4)
      throw Refused("its images have 4 dimensions, not " + std::to_string(x->size()));
    out.first = call.text("data_format") == "NCHW" ? 2 : 1;
  }
  if (!call.knows("block_size")) out.blocks = call.values(1);
  out.sides = call.values(call.count() - 1);
  const auto below = [](const Values& all, int64_t least) {
    return all && std::any_of(all->begin(), all->end(), [&](int64_t one) { return one < least; });
  };
  if (below(out.blocks, 1) || below(out.sides, 0) ||
      (out.blocks && out.sides && out.sides->size() != 2 * out.blocks->size()))
    throw Refused(c10::str("blocks ", out.blocks.value_or(Dims()), " with ", out.sides.value_or(Dims()),
                           " at their sides; allowed: above 0, and two from 0 on for each"));
  return out;
}
template <bool back>
void moved_blocks_rule(Shaper& s) {
  const Moving by = moving(s);
  Shape shape = s.shape(0);
  if (shape && by.blocks && shape->size() <= by.blocks->size())
    throw Refused(c10::str("blocks ", *by.blocks, " of ", s.describe(0)));
  if (!shape || !by.blocks) return s.out(s.dtype(0), all_unknown(shape));
  for (size_t i = 0; i < by.blocks->size(); ++i) {
    const int64_t block = (*by.blocks)[i];
    const Dim sides = by.sides ? Dim((*by.sides)[2 * i] + (*by.sides)[2 * i + 1]) : unknown;
    Dim &samples = (*shape)[0], &size = (*shape)[i + by.first], &whole = back ? samples : size;
    if (!back) size = size + sides;
    if (whole % block != 0) throw Refused(c10::str("blocks ", *by.blocks, " do not divide ", s.describe(0)));
    samples = back ? samples / block : samples * block;
    size = back ? size * block - sides : size / block;
  }
  s.out(s.dtype(0), shape);
}

at::Tensor moved_blocks(const Args& a, at::Tensor (*move)(const at::Tensor&, const Dims&, const Dims&)) {
  const Moving by = moving(a);
  const at::Tensor x = a[0];
  if (by.first == 1) return move(x, *by.blocks, *by.sides);
  return move(x.movedim(1, -1), *by.blocks, *by.sides).movedim(-1, 1);
}

// ---- what is said of axes, for another order of them ----------------------------------------------------------------
void axes_rule(Shaper& s) {
  kernels::same_axes(s.text("src_format"), s.text("dst_format"));
  same(s);
}
void of_axes_rule(Shaper& s) {
  axes_rule(s);
  const Shape x = s.shape(0);
  const auto axes = int64_t(s.text("src_format").size());
  const bool rows = x && (x->size() == 1 || (x->size() == 2 && !((*x)[1] != 2)));
  if (x && (!rows || ((*x)[0] != axes && (*x)[0] != axes - 2)))
    throw Refused(s.describe(0) + " has neither a number nor a pair for each axis, or each axis of space");
}
void concat_attr(Shaper& s) { join(s, 0, s.count(), Dims{s.integer("concat_dim")}); }

// Sizes come as int32 from Shape and as int64 from constants: the first decides.
void pack(Shaper& s) {
  bool whole = true;
  for (size_t i = 0; i < s.count(); ++i) whole &= is_whole(s.dtype(i));
  if (!whole) require_same_dtype(s, 0, s.count());
  Shape shape = s.shape(0);
  for (size_t i = 1; i < s.count() && shape; ++i)
    if (Shape next = s.shape(i)) {
      if (next->size() != shape->size()) throw Refused("it packs " + s.describe(0) + " and " + s.describe(i));
      for (size_t d = 0; d < shape->size(); ++d) {
        if (!(*shape)[d].known()) (*shape)[d] = (*next)[d];
        else if ((*next)[d] != (*shape)[d]) throw Refused("it packs " + s.describe(0) + " and " + s.describe(i));
      }
    }
  if (shape)
    shape->insert(shape->begin() + wrap(s.integer("axis"), rank_of(shape) + 1), static_cast<int64_t>(s.count()));
  s.out(s.dtype(0), shape);
}

void unpack(Shaper& s) {
  Shape shape = s.shape(0);
  if (shape) {
    const int64_t axis = wrap(s.integer("axis"), rank_of(shape));
    if ((*shape)[static_cast<size_t>(axis)] != static_cast<int64_t>(s.outputs()))
      throw Refused("it unpacks " + s.describe(0) + " into " + std::to_string(s.outputs()) + " outputs");
    shape->erase(axis);
  }
  for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(0), shape);
}

void split(Shaper& s) {
  const Values axis = s.values(0);
  Shape shape = s.shape(1);
  if (shape && axis) {
    Dim& dim = (*shape)[static_cast<size_t>(wrap(axis->at(0), rank_of(shape)))];
    auto parts = static_cast<int64_t>(s.outputs());
    if (dim % parts != 0)
      throw Refused(s.describe(1) + " does not split into " + std::to_string(parts) + " even parts");
    dim = dim / parts;
  } else {
    shape = all_unknown(shape);
  }
  for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(1), shape);
}

void split_sizes(Shaper& s) {
  const Values sizes = s.values(1);
  if (sizes && sizes->size() != s.outputs())
    throw Refused(c10::str("parts of ", *sizes, " for ", s.outputs(), " outputs"));
  const Values axis = s.values(2);
  for (size_t i = 0; i < s.outputs(); ++i) {
    Shape shape = s.shape(0);
    if (shape && axis) {
      Dim& dim = (*shape)[static_cast<size_t>(wrap(axis->at(0), rank_of(shape)))];
      const Dim whole = std::exchange(dim, at_or_unknown(sizes, i));
      if (sizes && whole.known()) {
        const auto open = std::count(sizes->begin(), sizes->end(), -1);
        const int64_t sum = std::accumulate(sizes->begin(), sizes->end(), open);
        if (open > 1 || (open ? sum > whole.size() : sum != whole.size()))
          throw Refused(c10::str("parts of ", *sizes, " of ", whole.size(), " along its axis"));
      }
      if (dim == -1) {  // one part may take the rest
        dim = whole;
        for (size_t k = 0; k < sizes->size(); ++k)
          if (k != i) dim = dim - (*sizes)[k];
      }
    } else {
      shape = all_unknown(shape);
    }
    s.out(i, s.dtype(0), shape);
  }
}

// What the rule made of the outputs along an axis.
Dims part_lengths(const Args& a, int64_t axis) {
  Dims out;
  for (size_t i = 0; i < a.outputs(); ++i) out.push_back(a.output(i).size(axis));
  return out;
}
Results parts(const Args& a, size_t data, int64_t axis) { return kernels::split(a[data], part_lengths(a, axis), axis); }

// ---- repeating ---------------------------------------------------------------------------------------------------
void tile(Shaper& s) {
  Shape shape = s.shape(0);
  Values times = s.values(1);
  if (shape && times) {
    if (times->size() < shape->size()) throw Refused("it has a number for each dimension of " + s.describe(0));
    while (shape->size() < times->size()) shape->insert(shape->begin(), 1);
    size_t lead = shape->size() - times->size();
    for (size_t i = 0; i < times->size(); ++i) (*shape)[lead + i] = (*shape)[lead + i] * (*times)[i];
  } else {
    shape = std::nullopt;
  }
  s.out(s.dtype(0), shape);
}

Dims tiles_along(const Call& call, size_t rank) {
  Dims times(rank, 1);
  times[size_t(wrap(call.integer("axis"), int64_t(rank)))] = call.integer("tiles");
  return times;
}
void tile_along(Shaper& s) {
  if (s.integer("tiles") < 2) throw Refused(c10::str("tiles=", s.integer("tiles"), "; allowed: above 1"));
  Shape shape = s.shape(0);
  if (shape) {
    const Dims times = tiles_along(s, shape->size());
    for (size_t i = 0; i < times.size(); ++i) (*shape)[i] = (*shape)[i] * times[i];
  }
  s.out(s.dtype(0), shape);
}

void reversed_rule(Shaper& s) {
  if (const Values axes = s.values(1); axes && s.shape(0)) named(*axes, s.shape(0), s);
  same(s);
}

// A number for each slice, or one for all; 1000 is no axis, and x a line.
void repeated_rule(Shaper& s) {
  Shape x = s.shape(0);
  const int64_t axis = s.integer("axis");
  if (axis == 1000 && x && x->size() != 1) throw Refused("it has no axis, its input is " + s.describe(0));
  const Values repeats = s.values(1);
  if (x) {
    if (x->empty()) throw Refused("it repeats along an axis, its input is " + s.describe(0));
    Dim& size = (*x)[size_t(axis == 1000 ? 0 : wrap(axis, rank_of(x)))];
    const Shape each = s.shape(1);
    if (each && (each->size() > 1 || (each->size() == 1 && (*each)[0] != 1 && (*each)[0] != size)))
      throw Refused("repeats " + s.describe(1) + " for " + s.describe(0) + "; one for each slice, or one for all");
    if (repeats && repeats->size() == 1) size = size * repeats->at(0);
    else size = repeats ? Dim(c10::sum_integers(*repeats)) : unknown;
  }
  s.out(s.dtype(0), x);
}
int64_t axis_of_repeats(const Call& call) {
  const int64_t axis = call.integer("axis");
  return axis == 1000 ? 0 : axis;
}

// ---- blocks of pixels as channels ---------------------------------------------------------------------------------
kernels::Blocks blocks_of(const Call& call) {
  const std::string format = call.text("data_format"), mode = call.knows("mode") ? call.text("mode") : "DCR";
  if ((format != "NCHW" && format != "NHWC") || (mode != "DCR" && mode != "CRD"))
    throw Refused("data_format='" + format + "' and mode='" + mode + "'; allowed: NCHW, NHWC; DCR, CRD");
  if (call.integer("block_size") < 1) throw Refused("a block_size that is not above 0");
  return {call.integer("block_size"), mode == "CRD", format == "NHWC"};
}
template <bool to_space>
void blocks_rule(Shaper& s) {
  const kernels::Blocks blocks = blocks_of(s);
  Shape x = s.shape(0);
  if (!x) return s.out(s.dtype(0), x);
  if (x->size() != 4) throw Refused("its images have 4 dimensions, its input is " + s.describe(0));
  const size_t channels = blocks.channels_last ? 3 : 1, height = blocks.channels_last ? 1 : 2;
  const int64_t area = blocks.size * blocks.size;
  Dim &c = (*x)[channels], &h = (*x)[height], &w = (*x)[height + 1];
  if (to_space ? c % area != 0 : (h % blocks.size != 0 || w % blocks.size != 0))
    throw Refused(s.describe(0) + " does not divide into blocks of " + std::to_string(blocks.size));
  c = to_space ? c / area : c * area;
  h = to_space ? h * blocks.size : h / blocks.size;
  w = to_space ? w * blocks.size : w / blocks.size;
  s.out(s.dtype(0), x);
}
void reversed_sequences_rule(Shaper& s) {
  const Shape x = s.shape(0);
  if (x) {
    const int64_t dim = wrap(s.integer("seq_dim"), rank_of(x)), batch = wrap(s.integer("batch_dim"), rank_of(x));
    if (dim == batch) throw Refused("seq_dim and batch_dim are one dimension");
    require_shape(s, 1, known({(*x)[size_t(batch)]}), "has to be a length for each sequence");
    const Values lengths = s.values(1);
    if (lengths && !lengths->empty() && Dim(*std::max_element(lengths->begin(), lengths->end())) > (*x)[size_t(dim)])
      throw Refused(c10::str("lengths ", *lengths, " of sequences along dimension ", dim, " of ", s.describe(0)));
  }
  same(s);
}

}  // namespace

void permuted(Shaper& s) { permuted_by(s, s.values(1)); }

const Family shape_rows = {
    ROW(Reshape, "x shape -> y | axis:Int=0 num_axes:Int=-1", reshape, a.bytes()),
    ROW(Unsqueeze, "x -> y | axes:ListInt={}", unsqueeze, a.bytes()),
    ROW(ExpandDims, "x axis -> y", expand_dims, a.bytes()),
    ROW(Squeeze, "x -> y | axis:ListInt={}", squeeze, a.bytes()),
    ROW(FlattenV2, "x -> y | axis:Int=1 end_axis:Int=-1", flatten, a.bytes()),
    ROW(SqueezeV2, "x -> y | axis:ListInt={}", squeeze, a.bytes()),
    ROW(UnsqueezeV2, "x -> y | axis:ListInt={}", unsqueeze, a.bytes()),
    ROW(Flatten, "x -> y | axis:Int=1", flatten_to_two, a.bytes()),
    ROW(Transpose, "x perm -> y", permuted, a[0].permute(a.need(1))),
    ROW(Permute, "x -> y | order:ListInt={0}", permute_attr, a[0].permute(a.integers("order"))),
    ROW(ConcatV2, "x* concat_dim -> y | N:Int=1", concat,
        kernels::joined(a.tensors(0, a.count() - 1), a.need(a.count() - 1).at(0))),
// The data format is none of their prototype: who runs one by its type says it of the tensor.
#define OF_IMAGES "block_size:Int data_format:String=NHWC"
#define TO_BATCH(type, proto) ROW(type, proto, moved_blocks_rule<false>, moved_blocks(a, kernels::space_to_batch))
#define TO_SPACE(type, proto) ROW(type, proto, moved_blocks_rule<true>, moved_blocks(a, kernels::batch_to_space))
    TO_BATCH(SpaceToBatch, "x paddings -> y | " OF_IMAGES),
    TO_BATCH(SpaceToBatchND, "x block_shape paddings -> y"),
    TO_SPACE(BatchToSpace, "x crops -> y | " OF_IMAGES),
    TO_SPACE(BatchToSpaceND, "x block_shape crops -> y"),
    {"SpaceToBatchD", "x -> y | paddings:ListInt " OF_IMAGES, AsInputs{"SpaceToBatch"}},
    {"BatchToSpaceD", "x -> y | crops:ListInt " OF_IMAGES, AsInputs{"BatchToSpace"}},
    ROW(Concat, "concat_dim x* -> y | N:Int=1", concat_behind,
        kernels::joined(a.tensors(1, a.count()), a.need(0).at(0))),
    ROW(ParallelConcat, "values* -> output_data | shape:ListInt N:Int", concat_in_front,
        kernels::joined(a.tensors(0, a.count()), 0)),
    ROW(DataFormatDimMap, "x -> y | src_format:String=NHWC dst_format:String=NCHW", axes_rule,
        kernels::axes_moved(a[0], a.text("src_format"), a.text("dst_format"))),
    ROW(DataFormatVecPermute, "x -> y | src_format:String=NHWC dst_format:String=NCHW", of_axes_rule,
        kernels::of_axes_moved(a[0], a.text("src_format"), a.text("dst_format"))),
    ROW(ConcatD, "x* -> y | concat_dim:Int N:Int=1", concat_attr,
        kernels::joined(a.tensors(0, a.count()), a.integer("concat_dim"))),
    {"IdentityN", "x* -> y*", each_like_its_input, [](const Args& a) -> Results { return a.tensors(0, a.count()); }},
    ROW(Pack, "x* -> y | axis:Int=0 N:Int", pack, at::stack(a.tensors(0, a.count()), a.integer("axis"))),
    {"Unpack", "x -> y* | num:Int axis:Int=0", unpack, [](const Args& a) { return a[0].unbind(a.integer("axis")); }},
    {"Split", "split_dim x -> y* | num_split:Int", split, [](const Args& a) { return parts(a, 1, a.need(0).at(0)); }},
    {"SplitV", "x size_splits split_dim -> y* | num_split:Int", split_sizes,
     [](const Args& a) { return parts(a, 0, a.need(2).at(0)); }},
    ROW(ConfusionTransposeD, "x -> y | perm:ListInt shape:ListInt transpose_first:Bool", confusion_transpose,
        kernels::confusion_transposed(a[0], a.integers("perm"), a.integers("shape"), a.flag("transpose_first"))),
    ROW(Tile, "x multiples -> y", tile, a[0].repeat(a.need(1))),
    ROW(TileWithAxis, "x -> y | axis:Int=1 tiles:Int", tile_along, a[0].repeat(tiles_along(a, size_t(a[0].dim())))),
    ROW(Tril, "x -> y | diagonal:Int=0", matrices, at::tril(a[0], a.integer("diagonal"))),
    ROW(Triu, "x -> y | diagonal:Int=0", matrices, at::triu(a[0], a.integer("diagonal"))),
    ROW(DepthToSpace, "x -> y | block_size:Int mode:String=DCR data_format:String=NHWC", blocks_rule<true>,
        kernels::depth_to_space(a[0], blocks_of(a))),
    ROW(SpaceToDepth, "x -> y | block_size:Int data_format:String=NHWC", blocks_rule<false>,
        kernels::space_to_depth(a[0], blocks_of(a))),
    ROW(ReverseSequence, "x seq_lengths -> y | seq_dim:Int batch_dim:Int=0", reversed_sequences_rule,
        kernels::sequences_reversed(a[0], a[1], a.integer("seq_dim"), a.integer("batch_dim"))),
    ROW(ReverseV2, "x axis -> y", reversed_rule, at::flip(a[0], a.need(1))),
    ROW(RepeatInterleave, "x repeats -> y | axis:Int=1000", repeated_rule,
        at::repeat_interleave(a[0], a[1].to(at::kLong), axis_of_repeats(a))),
};

}  // namespace sim::ge_table
