// Reductions and comparisons. Sums are added as the pages of ReduceSum and ReduceDataBlock say: neighbours two by two,
// then their sums, within a repeat or a block.
#include "ascendc/reduce.h"

#include <array>
#include <bit>
#include <cmath>

#include "arithmetic.h"
#include "numbers.h"
#include "vector.h"

namespace ophook::rt {
namespace {

bool real(Operation& op, const Local& tensor, bool integers = false) {
  const Dtype d = tensor.dtype;
  if (d == Dtype::f16 || d == Dtype::f32 || (integers && (d == Dtype::i32 || d == Dtype::i16))) return true;
  op.core.report(Kind::data_type, op.call, op.at,
                 text("%s has no %s on this SoC; it has half and float", op.call, name_of(d)));
  op.core.stop();
}

// Of what Compare and Select work on; an Ascend950 has them for all numbers.
void compared(Operation& op, const Local& tensor, bool integers) {
  if (op.core.launch.options.architecture == 310 && tensor.dtype <= Dtype::u64) return;
  real(op, tensor, integers);
}

double number(Dtype dtype, const uint8_t* at) {
  double whole = 0;
  if (with_whole(dtype, [&](auto type) { whole = double(element_at<decltype(type)>(at)); })) return whole;
  float value;
  wide(dtype, at, &value, 1);
  return value;
}
void put(Dtype dtype, double value, uint8_t* at) {
  if (dtype == Dtype::i32) *reinterpret_cast<int32_t*>(at) = int32_t(value);
  else if (dtype == Dtype::i16) *reinterpret_cast<int16_t*>(at) = int16_t(value);
  else {
    const float narrowed = float(value);
    narrow(dtype, &narrowed, at, 1);
  }
}

// The sum of `count` values, a power of two, each sum rounded to the operand's type.
float tree_sum(Dtype dtype, float* values, uint32_t count) {
  for (; count > 1; count /= 2)
    for (uint32_t i = 0; i < count / 2; ++i) {
      const float sum = values[2 * i] + values[2 * i + 1];
      values[i] = dtype == Dtype::f16 ? half_value(half_bits(sum)) : sum;
    }
  return values[0];
}

struct Folded {
  float value = 0;
  uint32_t index = 0, seen = 0;
  void add(Fold fold, float next, uint32_t at) {
    if (seen++ == 0 || (fold == Fold::max ? next > value : next < value)) value = next, index = at;
  }
};

// One repeat after the other: the lanes that the mask leaves out are 0 in a sum.
class Sum {
 public:
  Sum(Dtype dtype, uint32_t lanes) : dtype_(dtype), lanes_(lanes) {}
  void add(uint64_t repeat, uint32_t lane, float value) {
    if (repeat != repeat_) close();
    repeat_ = repeat, open_ = true, values_[lane] = value;
  }
  // Sums of repeats are added one after the other for the first n elements of a tensor, else as within a repeat.
  float total(bool one_by_one) {
    close();
    if (!one_by_one)
      while (sums_.size() > 1) {
        std::vector<float> next;
        for (size_t i = 0; i < sums_.size(); i += lanes_) {
          values_.fill(0);
          std::copy_n(sums_.begin() + long(i), std::min<size_t>(lanes_, sums_.size() - i), values_.begin());
          next.push_back(tree_sum(dtype_, values_.data(), lanes_));
        }
        sums_ = next;
      }
    float all = sums_.empty() ? 0.0f : sums_[0];
    for (size_t i = 1; i < sums_.size(); ++i) all += sums_[i];
    return all;
  }

 private:
  void close() {
    if (open_) sums_.push_back(tree_sum(dtype_, values_.data(), lanes_));
    values_.fill(0), open_ = false;
  }
  const Dtype dtype_;
  const uint32_t lanes_;
  uint64_t repeat_ = 0;
  bool open_ = false;
  std::array<float, 128> values_{};
  std::vector<float> sums_;
};

// An index is stored in the bits of an element.
void put_index(Dtype dtype, uint32_t index, uint8_t* at) {
  if (dtype == Dtype::f32) std::memcpy(at, &index, 4);
  else {
    const auto low = static_cast<uint16_t>(index);
    std::memcpy(at, &low, 2);
  }
}

void report_unknown(Operation& op, const Local& src) {
  op.core.report(Kind::uninitialized, op.call, op.at, "reduces values that were never computed", op.core.describe(src));
}
void known(Operation& op, const Local& src, uint64_t first, uint64_t bytes) {
  if (op.core.launch.checks() && !all_written(op.written(src) + first, bytes)) report_unknown(op, src);
}
void store(Operation& op, const Local& dst, uint64_t first, uint64_t bytes) {
  op.writes(dst, first, bytes);
  std::memset(op.written(dst) + first, 1, bytes);
}

template <typename T>
bool holds(int mode, T x, T y) {  // CMPMODE
  switch (mode) {
    case 0: return x < y;
    case 1: return x > y;
    case 2: return x == y;
    case 3: return x <= y;
    case 4: return x >= y;
    default: return x != y;
  }
}

}  // namespace

// What lies between the repeats' results and the last one, as ReduceMax.md and ReduceSum.md count it, in elements.
static uint64_t between(Fold fold, uint64_t repeats, uint32_t lanes, uint32_t block, bool index) {
  auto blocks = [block](uint64_t n) { return (n + block - 1) / block * block; };
  auto next = [lanes](uint64_t n) { return (n + lanes - 1) / lanes * 2; };
  if (fold == Fold::sum) return blocks(repeats);
  const uint64_t second = next(2 * repeats);
  if (!index) return blocks(2 * repeats);
  return blocks(2 * repeats) + blocks(second) + (second > 2 ? blocks(next(second)) : 0);
}

void reduce(const char* call, Fold fold, Local dst, Local src, Local work, Cover cover, uint32_t src_repeat, bool index,
            At at) {
  Core& c = core();
  Operation op(c, Pipe::V, call, at);
  real(op, src);
  if (!c.usable(work, call, at)) return;
  const uint32_t size = size_of(src.dtype);
  const Operand operands[] = {{&src, {1, src_repeat}, size, false, "the source"}};
  const bool first_ones = cover.kind == Cover::kCount || cover.kind == Cover::kPreset;
  cover = meant(c, cover);
  Walk walk(op, operands, 1, cover);
  Folded folded;
  const uint32_t lanes = 256 / size;
  Sum sum(src.dtype, lanes);
  const bool in_a_row = cover.kind == Cover::kCount;
  const uint64_t active = in_a_row ? lanes
                          : cover.kind == Cover::kLanes
                              ? std::min<uint64_t>(cover.low, lanes)
                              : uint64_t(std::popcount(cover.low) + (size == 2 ? std::popcount(cover.high) : 0));
  walk.each([&](const Run& run) {
    known(op, src, run.offsets[0], uint64_t(run.count) * size);
    for (uint32_t e = 0; e < run.count; ++e) {
      const uint64_t offset = run.offsets[0] + uint64_t(e) * size;
      const auto value = float(number(src.dtype, op.data(src) + offset));
      if (fold == Fold::sum) {
        const uint64_t repeat = folded.seen / std::max<uint64_t>(active, 1),
                       begin = in_a_row ? repeat * 256 : repeat * src_repeat * kBlock;
        sum.add(repeat, uint32_t((offset - begin) / size) % lanes, value);
      }
      folded.add(fold, value, uint32_t(offset / size));
    }
  });
  if (!folded.seen) return;
  // The sum of the first elements uses none, by its page; of one repeat nothing lies between.
  const uint64_t repeats = in_a_row ? (cover.low + lanes - 1) / lanes : cover.repeat;
  if (repeats > 1 && !(first_ones && fold == Fold::sum))
    scratch(op, &work, {}, between(fold, first_ones ? cover.low / lanes : repeats, lanes, kBlock / size, index) * size);
  if (fold == Fold::sum) folded.value = sum.total(first_ones);
  const uint32_t results = index ? 2 : 1;
  if (!c.usable(dst, call, at) || !op.inside(dst, 0, results * size, "the destination")) return;
  store(op, dst, 0, results * size);
  put(dst.dtype, folded.value, op.data(dst));
  if (fold == Fold::sum && first_ones) {
    c.last_sum = 0;
    put(dst.dtype, folded.value, reinterpret_cast<uint8_t*>(&c.last_sum));
  }
  if (fold != Fold::sum) c.last_extreme = folded.value, c.last_place = ~0u;
  if (index) put_index(dst.dtype, folded.index, op.data(dst) + size);
}

float sum_in_pairs(Dtype dtype, const float* values, size_t count) {
  const uint32_t lanes = 256 / size_of(dtype);
  Sum sum(dtype, lanes);
  for (size_t i = 0; i < count; ++i) sum.add(i / lanes, uint32_t(i % lanes), values[i]);
  return sum.total(false);
}

uint64_t last_sum() { return core().last_sum; }
Extreme last_extreme() { return {core().last_extreme, core().last_place}; }

void reduce_groups(const char* call, Fold fold, Local dst, Local src, uint32_t group, Cover cover, uint32_t dst_repeat,
                   uint32_t src_block, uint32_t src_repeat, int order, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, call, at);
  real(op, src);
  const uint32_t size = size_of(src.dtype), lanes = 256 / size;
  cover = meant(c, cover);
  if (cover.kind == Cover::kCount) cover.repeat = uint32_t((cover.low + lanes - 1) / lanes);
  if (cover.kind == Cover::kLanes && cover.low > lanes) cut(op, cover, lanes);
  if (cover.repeat > 255 && cover.kind != Cover::kCount) {
    c.report(Kind::repeat, call, at, text("repeat is %u; allowed: up to 255", cover.repeat));
    return;
  }
  const uint64_t low = cover.low, high = cover.high;
  auto masked = [&](uint32_t repeat, uint32_t e) {
    if (cover.kind == Cover::kCount) return uint64_t(repeat) * lanes + e < low;
    if (cover.kind == Cover::kLanes) return e < low;
    return ((e < 64 ? low >> e : high >> (e - 64)) & 1) != 0;
  };
  if (!c.usable(src, call, at) || !c.usable(dst, call, at) || !op.aligned(src, kBlock, "the source")) return;
  const uint32_t groups = lanes / group;
  // dst's repeat stride counts results: those of one repeat for pairs and blocks, single ones for a whole repeat.
  const bool pairs = order == 0 || order == 1;  // value and index
  const uint32_t per_repeat = group == lanes ? (pairs ? 2 : 1) : groups;
  const uint32_t width = order == 3 ? 4 : size;  // an index alone is a uint32_t whatever the type (ReduceRepeat.md)
  // Where results begin (ReduceRepeat.md, ReduceDataBlock.md, ReducePairElem.md): those of a repeat's blocks are 8.
  const uint32_t begins = group == lanes ? (pairs ? 2 * size : width) : group == 2 ? kBlock : 8 * size;
  if (order != kIntoRegister && !op.aligned(dst, begins, "the destination")) return;
  Folded all;
  float total = 0;
  Behind behind(op);
  for (uint32_t repeat = 0; repeat < cover.repeat; ++repeat)
    for (uint32_t g = 0; g < groups; ++g) {
      Folded folded;
      uint32_t unknown = 0, taken = 0;
      std::array<float, 128> values{};
      for (uint32_t e = g * group; e < (g + 1) * group; ++e) {
        if (!masked(repeat, e)) continue;
        const uint32_t per_block = kBlock / size;
        const uint64_t offset = uint64_t(repeat) * src_repeat * kBlock + uint64_t(e / per_block) * src_block * kBlock +
                                e % per_block * size;
        if (!behind.reads(src, offset, size, "the source")) return;
        op.reads(src, offset, behind.own(src, offset, size));
        ++taken, unknown += c.launch.checks() && !all_written(op.written(src) + offset, size);
        values[e - g * group] = float(number(src.dtype, op.data(src) + offset));
        folded.add(fold, values[e - g * group], e);
      }
      if (!folded.seen) continue;
      if (fold == Fold::sum) folded.value = tree_sum(src.dtype, values.data(), group);
      else all.add(fold, folded.value, repeat * lanes + folded.index);
      if (order == kIntoRegister) {
        if (unknown) report_unknown(op, src);
        total += folded.value;
        continue;
      }
      const uint64_t first = (uint64_t(repeat) * dst_repeat * per_repeat + (group == lanes ? 0 : g)) * width;
      const uint32_t results = group == lanes && pairs ? 2 : 1;
      if (!op.inside(dst, first, results * width, "the destination")) return;
      store(op, dst, first, results * width);
      // What comes of a group of which nothing was computed, such as a row behind a matrix's last, is nobody's.
      if (unknown == taken) std::memset(op.written(dst) + first, 0, results * width);
      else if (unknown) report_unknown(op, src);
      uint8_t* to = op.data(dst) + first;
      if (order == 3) put_index(Dtype::f32, folded.index, to);
      else put(dst.dtype, folded.value, order == 1 ? to + size : to);
      if (order == 0) put_index(dst.dtype, folded.index, to + size);
      if (order == 1) put_index(dst.dtype, folded.index, to);
    }
  if (order == kIntoRegister) c.last_sum = 0, put(src.dtype, total, reinterpret_cast<uint8_t*>(&c.last_sum));
  if (all.seen && group == lanes) c.last_extreme = all.value, c.last_place = all.index;
}

void compare_into_register(Local a, Local b, int mode, Cover cover, Step sa, Step sb, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, "Compare", at);
  real(op, a, mode == 2);
  const uint32_t size = size_of(a.dtype);
  Operand operands[2] = {{&a, sa, size, false, "the source"}, {&b, sb, size, false, "the second source"}};
  Walk walk(op, operands, 2, cover);
  std::memset(c.compared, 0, sizeof c.compared);
  walk.each([&](const Run& run) {
    uint64_t bit = run.first;
    if (c.launch.checks() && (!all_written(op.written(a) + run.offsets[0], uint64_t(run.count) * size) ||
                              !all_written(op.written(b) + run.offsets[1], uint64_t(run.count) * size)))
      c.report(Kind::uninitialized, "Compare", at, "compares elements that were never computed");
    for (uint32_t e = 0; e < run.count && bit < 128; ++e, ++bit) {
      const double x = number(a.dtype, op.data(a) + run.offsets[0] + e * size),
                   y = number(b.dtype, op.data(b) + run.offsets[1] + e * size);
      if (holds(mode, x, y)) c.compared[bit / 8] = uint8_t(c.compared[bit / 8] | 1u << bit % 8);
    }
  });
}
void read_compared(Local dst, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, "GetCmpMask", at);
  if (!c.usable(dst, "GetCmpMask", at) || !op.inside(dst, 0, sizeof c.compared, "the destination")) return;
  op.writes(dst, 0, sizeof c.compared);
  std::memcpy(op.data(dst), c.compared, sizeof c.compared);
  std::memset(op.written(dst), 1, sizeof c.compared);
}

Local compared_address() {
  LocalMemory& ub = core().memory->at(Memory::ub);
  uint32_t address;  // kernels put its lower half there
  std::memcpy(&address, core().compared, sizeof address);
  const uint32_t offset =
      address < ub.size() ? address : address - uint32_t(reinterpret_cast<uintptr_t>(ub.data(0, 0)));
  Local mask;
  mask.dtype = Dtype::u8;
  if (offset < ub.size()) mask.offset = offset, mask.bytes = ub.size() - offset;  // else empty, which is refused
  return mask;
}
Scalar compared_scalar(Dtype dtype) { return scalar_at(dtype, core().compared); }
void set_compared(const char* call, Local src, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, call, at);
  const uint64_t bytes = std::min<uint64_t>(sizeof c.compared, src.bytes);
  if (!c.usable(src, call, at) || !op.inside(src, 0, bytes, "the mask")) return;
  op.reads(src, 0, bytes);
  if (c.launch.checks() && !all_written(op.written(src), std::min<uint64_t>(bytes, 8)))  // those of a repeat of float
    c.report(Kind::uninitialized, call, at, "the mask was never computed", c.describe(src));
  std::memcpy(c.compared, op.data(src), bytes);
}

// Exactly: a double holds no number of 64 bits.
static bool holds(Dtype dtype, int mode, const uint8_t* a, const uint8_t* b, int64_t scalar) {
  if (dtype == Dtype::i64) return holds(mode, element_at<int64_t>(a), b ? element_at<int64_t>(b) : scalar);
  return holds(mode, element_at<uint64_t>(a), b ? element_at<uint64_t>(b) : uint64_t(scalar));
}

void compare(const char* call, Local dst, Local a, const Local* b, Scalar scalar, int mode, Cover cover, Step sa,
             Step sb, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, call, at);
  compared(op, a, mode == 2);
  // The pages have 8 bits alone. An Atlas A2 or A3 writes bits whatever they are in: kernels of CANN's own have
  // uint16_t.
  const bool sixteen = dst.dtype == Dtype::u16 && c.launch.options.architecture != 310;
  if (dst.dtype != Dtype::u8 && dst.dtype != Dtype::i8 && !sixteen) {
    c.report(Kind::data_type, call, at,
             text("the destination has %s; allowed: int8_t, uint8_t%s", name_of(dst.dtype),
                  c.launch.options.architecture != 310 ? ", uint16_t" : ""));
    c.stop();
  }
  const uint32_t size = size_of(a.dtype);
  if (cover.kind == Cover::kCount && c.launch.checks() && cover.low * size % 256)
    c.report(Kind::alignment, call, at,
             text("%llu elements are no multiple of 256 bytes: compare up to the next one, in buffers that have it",
                  (unsigned long long)cover.low));
  Operand operands[2] = {{&a, sa, size, false, "the source"}, {b, sb, size, false, "the second source"}};
  Walk walk(op, operands, b ? 2 : 1, cover);
  const uint64_t bytes = (walk.end() + 7) / 8;
  if (!c.usable(dst, call, at) || !op.inside(dst, 0, bytes, "the destination")) return;
  op.writes(dst, 0, bytes);
  uint8_t scalar_bits[8] = {};
  put_scalar(a.dtype, scalar, scalar_bits);
  const double right = number(a.dtype, scalar_bits);
  uint8_t* to = op.data(dst);
  uint8_t* written = op.written(dst);
  walk.each([&](const Run& run) {
    uint64_t bit = run.first;
    const uint8_t* known_a = op.written(a) + run.offsets[0];
    const uint8_t* known_b = b ? op.written(*b) + run.offsets[1] : known_a;
    for (uint32_t e = 0; e < run.count; ++e, ++bit) {
      const uint8_t *x = op.data(a) + run.offsets[0] + e * size,
                    *y = b ? op.data(*b) + run.offsets[1] + e * size : nullptr;
      const bool result = size == 8 ? holds(a.dtype, mode, x, y, scalar.whole)
                                    : holds(mode, number(a.dtype, x), y ? number(b->dtype, y) : right);
      if (bit % 8 == 0) written[bit / 8] = 0;
      to[bit / 8] = static_cast<uint8_t>((to[bit / 8] & ~(1u << bit % 8)) | (result ? 1u << bit % 8 : 0));
      // The count is a multiple of 256 bytes, so what lies behind a tail is compared too: its bits are nobody's.
      if (known_a[e * size] && known_b[e * size]) written[bit / 8] = 1;
    }
  });
}

void select(Local dst, Local mask, Local a, const Local* b, Scalar scalar, int mode, Cover cover, Step d, Step sa,
            Step sb, At at, bool scalar_first) {
  Core& c = core();
  Operation op(c, Pipe::V, "Select", at);
  compared(op, dst, false);
  if ((b != nullptr) == (mode == 1)) {
    c.report(Kind::parameter, "Select", at,
             "VSEL_TENSOR_SCALAR_MODE goes with a scalar, the other modes with a tensor");
    return;
  }
  const uint32_t size = size_of(dst.dtype);
  Operand operands[3] = {{&dst, d, size, true, "the destination"},
                         {&a, sa, size, false, "the source"},
                         {b, sb, size, false, "the second source"}};
  Walk walk(op, operands, b ? 3 : 2, cover);
  // Each repeat takes a bit for each of its lanes, whichever a mask leaves out; those of mode 0 serve every repeat.
  const uint64_t lanes = 256 / size, used = mode == 0 ? std::min(walk.end(), lanes) : walk.end(),
                 bytes = (used + 7) / 8;
  const bool in_register = !mask.bytes && mask.buffer < 0 && mode == 0;
  const uint8_t* known = nullptr;
  if (!in_register) {
    if (!c.usable(mask, "Select", at) || !op.inside(mask, 0, bytes, "the mask")) return;
    op.reads(mask, 0, bytes);
    // Bits behind a tail are nobody's, as Compare leaves them: what they choose counts as never computed.
    known = op.written(mask);
    if (c.launch.checks() && std::none_of(known, known + bytes, [](uint8_t byte) { return byte; }))
      c.report(Kind::uninitialized, "Select", at, "the mask was never computed", c.describe(mask));
  }
  if (mode == 0 && !in_register) std::memcpy(c.compared, op.data(mask), std::min<uint64_t>(sizeof c.compared, bytes));
  const uint8_t* bits = in_register ? c.compared : op.data(mask);
  uint8_t value[8] = {};
  put_scalar(dst.dtype, scalar, value);
  walk.each([&](const Run& run) {
    for (uint32_t e = 0; e < run.count; ++e) {
      const uint64_t bit = mode == 0 ? (run.first + e) % lanes : run.first + e;
      const bool first = bool(bits[bit / 8] >> bit % 8 & 1) != scalar_first;
      const Local* from = first ? &a : b;
      uint8_t* to = op.data(dst) + run.offsets[0] + e * size;
      const uint64_t offset = from ? run.offsets[first ? 1 : 2] + e * size : 0;
      std::memmove(to, from ? op.data(*from) + offset : value, size);
      const bool chosen = !known || known[bit / 8];
      std::memset(op.written(dst) + run.offsets[0] + e * size, chosen && (!from || op.written(*from)[offset]), size);
    }
  });
}

}  // namespace ophook::rt
