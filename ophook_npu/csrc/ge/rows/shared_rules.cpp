// Rules that several files of rows use, and what rules ask.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ge/rows/rows.h"
#include "kernels/sizes.h"

namespace sim::ge_table {

bool may_be(const Shape& one, const Shape& other) {
  bool fits = !one || !other || one->size() == other->size();
  for (size_t i = 0; fits && one && other && i < one->size(); ++i) fits = !((*one)[i] != (*other)[i]);
  return fits;
}
void each_like_its_input(Shaper& s) {
  for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(i), s.shape(i));
}
void matrices(Shaper& s) {
  if (const Shape shape = s.shape(0); shape && shape->size() < 2)
    throw Refused("it takes matrices, its input is " + s.describe(0));
  same(s);
}
void along_axis(Shaper& s) {
  if (const Shape shape = s.shape(0)) wrap(s.integer("axis"), rank_of(shape));
  same(s);
}
void within_first(const Call& call, size_t first, size_t last) {
  const Shape whole = call.shape(0);
  for (size_t i = first; i < last; ++i)
    if (!may_be(broadcast_shapes(whole, call.shape(i), call), whole))
      throw Refused(call.describe(i) + " is larger than " + call.describe(0));
}
void require_shape(const Call& call, size_t input, const Shape& shape, const char* why) {
  if (!may_be(call.shape(input), shape)) throw Refused(call.describe(input) + " " + why);
}
void like_first(const Call& call, size_t input) {
  require_shape(call, input, call.shape(0), ("has to be shaped like " + call.describe(0)).c_str());
}
void same(Shaper& s) { s.out(s.dtype(0), s.shape(0)); }
void floating(Shaper& s) {
  const int32_t dtype = s.dtype(0);
  if (dtype != kFloat && dtype != kHalf && dtype != kBfloat16 && dtype != kDouble && dtype != kComplex64 &&
      dtype != kComplex128)
    throw Refused("its input must be a floating-point number, it is " + s.describe(0));
  same(s);
}

void boolean_like(Shaper& s) { s.out(kBool, s.shape(0)); }

void require_same_dtype(const Call& call, size_t first, size_t last) {
  for (size_t i = first + 1; i < last; ++i)
    if (call.has(i) && call.dtype(i) != call.dtype(first))
      throw Refused("its inputs must have one data type, they are " + call.describe(first) + " and " +
                    call.describe(i));
}

Shape broadcast_shapes(const Shape& first, const Shape& second, const Call& call) {
  if (!first || !second) return std::nullopt;
  Sizes sizes = *first;
  if (broadcast_into(sizes, *second)) return sizes;
  std::string all;
  for (size_t k = 0; k < call.count(); ++k)
    if (call.has(k)) all += (all.empty() ? "" : " and ") + call.describe(k);
  throw Refused("the shapes of its inputs do not broadcast: " + all);
}

void require_type(const Call& call, size_t input, std::initializer_list<int32_t> allowed) {
  if (!call.has(input) || std::find(allowed.begin(), allowed.end(), call.dtype(input)) != allowed.end()) return;
  std::string names;
  for (const int32_t one : allowed) names += (names.empty() ? "" : ", ") + type_name(one);
  throw Refused("input " + std::to_string(input) + " is " + call.describe(input) + "; allowed: " + names);
}

void broadcast(Shaper& s) {
  const bool mixed = s.count() == 2 && s.whole_constant(0) != s.whole_constant(1);
  if (!mixed) require_same_dtype(s, 0, s.count());
  Shape shape = s.shape(0);
  for (size_t i = 1; i < s.count(); ++i)
    if (s.has(i)) shape = broadcast_shapes(shape, s.shape(i), s);
  s.out(s.dtype(mixed && s.whole_constant(0) ? 1 : 0), shape);
}

void logical(Shaper& s) {
  for (size_t i = 0; i < s.count(); ++i)
    if (s.dtype(i) != kBool)
      throw Refused("its inputs must be bool, input " + std::to_string(i) + " is " + s.describe(i));
  broadcast(s);
}

void integral(Shaper& s) {
  for (size_t i = 0; i < s.count(); ++i)
    if (s.dtype(i) == kFloat || s.dtype(i) == kHalf || s.dtype(i) == kBfloat16)
      throw Refused("its inputs must be integers or bool, input " + std::to_string(i) + " is " + s.describe(i));
  broadcast(s);
}

int64_t wrap(int64_t axis, int64_t rank) {
  int64_t limit = std::max<int64_t>(rank, 1);
  if (axis < -limit || axis >= limit)
    throw Refused("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  return axis < 0 ? axis + limit : axis;
}

Checked<bool> named(const Dims& axes, const Shape& shape, const Call& call) {
  Checked<bool> out(shape->size(), false);
  for (const int64_t axis : axes) {
    const int64_t at = wrap(axis, rank_of(shape));
    if (shape->empty()) continue;
    if (out[size_t(at)]) throw Refused("axis " + std::to_string(axis) + " of " + call.describe(0) + " stands twice");
    out[size_t(at)] = true;
  }
  return out;
}

Dim numbers_in(const Call& call, size_t input) {
  Dim numbers = 1;
  if (call.has(input))
    for (const Dim& dim : call.shape(input).value_or(Sizes{unknown})) numbers = numbers * dim;
  return numbers;
}
void one_number(const Call& call, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i)
    if (numbers_in(call, i) != 1)
      throw Refused("input " + std::to_string(i) + " is one number, not " + call.describe(i));
}

// The greatest and the least int32 stand for an infinite order.
double norm_order(const Call& call) {
  const double p = call.is_whole("p") ? double(call.integer("p")) : call.real("p");
  return std::abs(p) < INT32_MAX ? p : std::copysign(std::numeric_limits<double>::infinity(), p);
}

Shape all_unknown(const Shape& shape) { return shape ? known(Sizes(shape->size(), unknown)) : std::nullopt; }

Shape shape_from(const Shaper& s, size_t input) {
  if (Values known = s.values(input)) return *known;
  Shape length = s.shape(input);
  if (!length || length->size() != 1 || !(*length)[0].known()) return std::nullopt;
  return Sizes(static_cast<size_t>((*length)[0].size()), unknown);
}

Dims spatial(const Call& call, size_t axes, const char* attr, int64_t neutral) {
  const Dims all = call.knows(attr) ? call.integers(attr) : Dims(axes + 2, neutral);
  if (all.size() != axes + 2 || all[0] != neutral || all[1] != neutral)
    throw Refused(std::string(attr) + " needs " + std::to_string(axes + 2) + " values, the first two " +
                  std::to_string(neutral));
  return {all.begin() + 2, all.end()};
}

Dims equal_pads(const Call& call, size_t axes) {
  const Dims both = call.integers("pads");
  if (both.size() != 2 * axes)
    throw Refused("pads needs " + std::to_string(2 * axes) + " values, it has " + std::to_string(both.size()));
  Dims out;
  for (size_t i = 0; i < both.size(); i += 2) {
    if (both[i] != both[i + 1]) throw Refused("paddings that differ in front and behind are not simulated");
    out.push_back(both[i]);
  }
  return out;
}

}  // namespace sim::ge_table
