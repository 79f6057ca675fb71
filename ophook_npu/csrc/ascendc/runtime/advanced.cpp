// The advanced functions, row by row.
#include "ascendc/advanced.h"

#include <cmath>
#include <numeric>

#include "arithmetic.h"
#include "numbers.h"
#include "vector.h"

namespace ophook::rt {
namespace {

// Whether `bytes` of the tensor can be worked on at all.
bool there(Operation& op, const Local& tensor, uint64_t bytes, const char* role) {
  Core& c = op.core;
  if (!has_unit(c, true, op.call, op.at) || !c.usable(tensor, op.call, op.at)) return false;
  if (tensor.memory != Memory::ub) {
    c.report(Kind::position, op.call, op.at, text("%s is not in UB", role), c.describe(tensor));
    return false;
  }
  return op.aligned(tensor, kBlock, role) && op.inside(tensor, 0, bytes, role);
}
bool real(Operation& op, Dtype dtype) {
  if (dtype == Dtype::f16 || dtype == Dtype::f32) return true;
  op.core.report(Kind::data_type, op.call, op.at,
                 text("%s has no %s on this SoC; it has half, float", op.call, name_of(dtype)));
  return false;
}
// `one`: a single row may have any length, since none begins behind it. The pages ask for a multiple here, too; kernels
// that run on devices sum up six numbers.
bool right_shape(Operation& op, const RowShape& s, uint32_t size, bool one = false) {
  const bool blocks = s.fractal_rows ? s.width % 16 == 0 && s.fractal_rows >= s.count
                                     : uint64_t(s.width) * size % kBlock == 0 || (one && s.count == 1);
  if (s.count && s.valid && s.width >= s.valid && blocks) return true;
  op.core.report(Kind::parameter, op.call, op.at,
                 text("%u rows of %u elements, %u of them used; a row must be a multiple of %s and as long as what is "
                      "used of it",
                      s.count, s.width, s.valid, s.fractal_rows ? "16 elements" : "32 bytes"));
  return false;
}
// Elements of a row from the i-th on that lie one after the other.
uint32_t run(const RowShape& s, uint32_t i) { return s.fractal_rows ? std::min(16u, s.valid - i) : s.valid - i; }
// The first `valid` elements of row `r` in float. False: some of them were never computed.
bool row_of(Operation& op, const Local& src, const RowShape& s, uint32_t r, std::vector<float>& out) {
  const uint64_t size = size_of(src.dtype);
  out.resize(s.valid);
  bool known = true;
  for (uint32_t i = 0; i < s.valid; i += run(s, i)) {
    const uint64_t first = s.at(r, i) * size;
    wide(src.dtype, op.data(src) + first, &out[i], run(s, i));
    known &= all_written(op.written(src) + first, run(s, i) * size);
  }
  return known;
}
void put(Operation& op, const Local& dst, uint64_t first_element, const float* values, size_t count) {
  const uint64_t size = size_of(dst.dtype);
  narrow(dst.dtype, values, op.data(dst) + first_element * size, count);
  std::memset(op.written(dst) + first_element * size, 1, count * size);
}
void put_row(Operation& op, const Local& dst, const RowShape& s, uint32_t r, const float* values) {
  for (uint32_t i = 0; i < s.valid; i += run(s, i)) put(op, dst, s.at(r, i), values + i, run(s, i));
}
// What a row has beyond its used elements is worked on as well, which the pages say of softmax and its kin.
template <typename F>
void put_rest(Operation& op, const Local& dst, const Local& src, const RowShape& s, uint32_t r, F computed) {
  const uint64_t size = size_of(src.dtype);
  for (uint32_t i = s.valid; i < s.width; ++i) {
    const uint64_t at = s.at(r, i) * size;
    float value;
    wide(src.dtype, op.data(src) + at, &value, 1);
    value = computed(value);
    const bool known = all_written(op.written(src) + at, size);
    narrow(dst.dtype, &value, op.data(dst) + at, 1);
    std::memset(op.written(dst) + at, known, size);
  }
}
void never_computed(Operation& op, const Local& tensor) {
  op.core.report(Kind::uninitialized, op.call, op.at, "works on elements that were never computed",
                 op.core.describe(tensor));
}

}  // namespace

void spent(Local source, uint64_t bytes, std::initializer_list<Local> results) {
  Core& c = core();
  if (!c.launch.checks() || source.memory != Memory::ub) return;
  LocalMemory& memory = c.memory->at(source.memory);
  bytes = std::min<uint64_t>(bytes, memory.size() - std::min<uint64_t>(memory.size(), source.offset));
  uint8_t* const written = memory.written(source.offset, bytes);
  for (uint64_t i = 0; i < bytes; ++i)
    if (std::none_of(results.begin(), results.end(), [&](const Local& each) {
          return source.offset + i >= each.offset && source.offset + i < uint64_t(each.offset) + each.bytes;
        }))
      written[i] = 0;
}

void needs_tiling(const char* call, bool there, At at) {
  if (there) return;
  core().report(Kind::parameter, call, at,
                "the tiling is empty: the host's function for it was not called, or the kernel did not read it");
  core().stop();
}

void softmax(RowsOp which, Local dst, const Local* sum, const Local* max, Local src, const Local* work, RowShape s,
             At at) {
  const bool log = which == RowsOp::log_softmax;
  Operation op(core(), Pipe::V, log ? "LogSoftMax" : "SoftMax", at);
  if (!real(op, src.dtype)) return op.core.stop();
  const uint32_t size = size_of(src.dtype);
  const uint64_t bytes = s.all() * size;
  if (!right_shape(op, s, size) || !there(op, src, bytes, "the source") || !there(op, dst, bytes, "the destination"))
    return;
  for (const Local* each : {sum, max})
    if (each &&
        !there(op, *each, uint64_t(s.count) * kBlock, each == sum ? "the tensor of sums" : "the tensor of maxima"))
      return;
  op.core.settle();
  op.core.launch.counters.elements += uint64_t(s.count) * s.valid;
  const uint64_t numbers = uint64_t(s.count) * kBlock;
  if (!scratch(
          op, work,
          {{&src, bytes}, {&dst, bytes}, {sum ? sum : &src, sum ? numbers : 0}, {max ? max : &src, max ? numbers : 0}}))
    return;
  if (log) in_place(op, dst, bytes, {{&src, bytes}});
  op.reads(src, 0, bytes);
  std::vector<float> all(size_t(s.count) * s.valid), row, factors(16);
  bool known = true;
  for (uint32_t r = 0; r < s.count; ++r) {
    known &= row_of(op, src, s, r, row);
    std::copy(row.begin(), row.end(), all.begin() + size_t(r) * s.valid);
  }
  if (op.core.launch.checks() && !known) never_computed(op, src);
  op.writes(dst, 0, bytes);
  for (uint32_t r = 0; r < s.count; ++r) {
    float* values = all.data() + size_t(r) * s.valid;
    const float most = *std::max_element(values, values + s.valid);
    float total = 0;
    for (uint32_t i = 0; i < s.valid; ++i) total += std::exp(values[i] - most);
    const float shift = log ? std::log(total) : 0;
    constexpr float kLogOfTen = 2.302585093f;  // the page's LogSoftMax is of base 10
    const auto computed = [&](float x) { return log ? (x - most - shift) / kLogOfTen : std::exp(x - most) / total; };
    std::transform(values, values + s.valid, values, computed);
    put_rest(op, dst, src, s, r, computed);
    put_row(op, dst, s, r, values);
    for (const Local* each : {sum, max}) {
      if (!each) continue;
      std::fill(factors.begin(), factors.end(), each == sum ? total : most);
      op.writes(*each, uint64_t(r) * kBlock, kBlock);
      put(op, *each, uint64_t(r) * kBlock / size_of(each->dtype), factors.data(), kBlock / size_of(each->dtype));
    }
  }
}

void simple_softmax(Local dst, Local sum, Local max, Local src, const Local* work, RowShape s, At at) {
  Operation op(core(), Pipe::V, "SimpleSoftMax", at);
  if (!real(op, src.dtype) || !real(op, sum.dtype)) return op.core.stop();
  const uint32_t size = size_of(src.dtype), step = kBlock / size_of(sum.dtype);
  const uint64_t bytes = s.all() * size, numbers = uint64_t(s.count) * kBlock;
  if (!right_shape(op, s, size) || !there(op, src, bytes, "the source") || !there(op, dst, bytes, "the destination") ||
      !there(op, sum, numbers, "the tensor of sums") || !there(op, max, numbers, "the tensor of maxima"))
    return;
  op.core.settle();
  op.core.launch.counters.elements += uint64_t(s.count) * s.valid;
  if (!scratch(op, work, {{&src, bytes}, {&dst, bytes}, {&sum, numbers}, {&max, numbers}})) return;
  op.reads(src, 0, bytes), op.reads(sum, 0, numbers), op.reads(max, 0, numbers);
  op.writes(dst, 0, bytes);
  std::vector<float> row, sums(size_t(s.count) * step), maxima(sums.size());
  wide(sum.dtype, op.data(sum), sums.data(), sums.size());
  wide(max.dtype, op.data(max), maxima.data(), maxima.size());
  if (op.core.launch.checks())
    for (const Local& each : {sum, max})
      if (!all_written(op.written(each), numbers)) never_computed(op, each);
  bool known = true;
  for (uint32_t r = 0; r < s.count; ++r) {
    known &= row_of(op, src, s, r, row);
    const auto computed = [&](float x) { return std::exp(x - maxima[size_t(r) * step]) / sums[size_t(r) * step]; };
    std::transform(row.begin(), row.end(), row.begin(), computed);
    put_rest(op, dst, src, s, r, computed);
    put_row(op, dst, s, r, row.data());
  }
  if (op.core.launch.checks() && !known) never_computed(op, src);
}

void softmax_flash(const char* call, const FlashTensors& t, const Local* work, RowShape s, bool update, bool divide,
                   At at) {
  Operation op(core(), Pipe::V, call, at);
  if (!real(op, t.src.dtype) || !real(op, t.sum.dtype)) return op.core.stop();
  const uint32_t size = size_of(t.src.dtype);
  const auto step = [&](const Local& of) { return t.packed ? size_of(of.dtype) : kBlock; };
  const auto numbers = [&](const Local& of) { return uint64_t(s.count) * step(of); };
  const uint64_t bytes = s.all() * size;
  const bool parts = update && t.part_max;
  if (!right_shape(op, s, size) || !there(op, t.src, bytes, "the source") ||
      !there(op, t.dst, bytes, "the destination") || !there(op, t.sum, numbers(t.sum), "the tensor of sums") ||
      !there(op, t.max, numbers(t.max), "the tensor of maxima"))
    return;
  if (update && (!there(op, t.exp_max, numbers(t.exp_max), "expMax") ||
                 !there(op, t.in_sum, numbers(t.in_sum), "the sums so far") ||
                 !there(op, t.in_max, numbers(t.in_max), "the maxima so far")))
    return;
  if (parts && !there(op, *t.part_max, numbers(*t.part_max), "the tensor of this part's maxima")) return;
  op.core.settle();
  op.core.launch.counters.elements += uint64_t(s.count) * s.valid;
  const uint64_t more = update ? ~uint64_t{0} : 0;
  if (!scratch(op, work,
               {{&t.src, bytes},
                {&t.dst, bytes},
                {&t.sum, numbers(t.sum)},
                {&t.max, numbers(t.max)},
                {&t.exp_max, std::min(more, numbers(t.exp_max))},
                {&t.in_sum, std::min(more, numbers(t.in_sum))},
                {&t.in_max, std::min(more, numbers(t.in_max))}}))
    return;
  op.reads(t.src, 0, bytes);
  std::vector<float> all(size_t(s.count) * s.valid), row, sums(s.count, 0.0f), maxima(s.count, -INFINITY), factors(16);
  bool known = true;
  for (uint32_t r = 0; r < s.count; ++r) {
    known &= row_of(op, t.src, s, r, row);
    std::copy(row.begin(), row.end(), all.begin() + size_t(r) * s.valid);
  }
  if (op.core.launch.checks() && !known) never_computed(op, t.src);
  // Read before anything is written: what comes in and what goes out may be one tensor.
  if (update)
    for (const Local* each : {&t.in_sum, &t.in_max}) {
      op.reads(*each, 0, numbers(*each));
      std::vector<float>& to = each == &t.in_sum ? sums : maxima;
      for (uint32_t r = 0; r < s.count; ++r) {
        wide(each->dtype, op.data(*each) + r * step(*each), &to[r], 1);
        if (op.core.launch.checks() && !all_written(op.written(*each) + r * step(*each), size_of(each->dtype)))
          never_computed(op, *each);
      }
    }
  auto spread = [&](const Local& to, uint32_t r, float value) {
    std::fill(factors.begin(), factors.end(), value);
    const uint32_t each = step(to) / size_of(to.dtype);
    put(op, to, uint64_t(r) * each, factors.data(), each);
  };
  op.writes(t.dst, 0, bytes), op.writes(t.sum, 0, numbers(t.sum)), op.writes(t.max, 0, numbers(t.max));
  if (update) op.writes(t.exp_max, 0, numbers(t.exp_max));
  if (parts) op.writes(*t.part_max, 0, numbers(*t.part_max));
  for (uint32_t r = 0; r < s.count; ++r) {
    float* values = all.data() + size_t(r) * s.valid;
    const float part = *std::max_element(values, values + s.valid), most = std::max(maxima[r], part);
    float total = 0, before = update ? std::exp(maxima[r] - most) : 0;
    for (uint32_t i = 0; i < s.valid; ++i) total += values[i] = std::exp(values[i] - most);
    if (update) total += before * sums[r];
    if (divide) {
      for (uint32_t i = 0; i < s.valid; ++i) values[i] /= total;
      before *= sums[r] / total;
    }
    put_rest(op, t.dst, t.src, s, r, [&](float x) { return std::exp(x - most) / (divide ? total : 1.0f); });
    put_row(op, t.dst, s, r, values);
    spread(t.sum, r, total), spread(t.max, r, most);
    if (update) spread(t.exp_max, r, before);
    if (parts) spread(*t.part_max, r, part);
  }
}

void normalize(const char* call, Local dst, const Local* mean, const Local* variance, Local src, Local gamma,
               const Local* beta, const Local* work, RowShape s, float epsilon, At at) {
  Operation op(core(), Pipe::V, call, at);
  if (!real(op, src.dtype)) return op.core.stop();
  const uint32_t size = size_of(src.dtype);
  const uint64_t bytes = uint64_t(s.count) * s.width * size, line = uint64_t(s.valid) * size;
  if (!right_shape(op, s, size) || !there(op, src, bytes, "the source") || !there(op, dst, bytes, "the destination") ||
      !there(op, gamma, line, "gamma") || (beta && !there(op, *beta, line, "beta")))
    return;
  for (const Local* each : {mean, variance})
    if (each && !there(op, *each, uint64_t(s.count) * size, each == mean ? "the mean" : "the variance")) return;
  op.core.settle();
  op.core.launch.counters.elements += uint64_t(s.count) * s.valid;
  if (!scratch(op, work, {{&src, bytes}, {&dst, bytes}, {&gamma, line}, {beta ? beta : &gamma, line}})) return;
  if (!mean) in_place(op, dst, bytes, {{&gamma, line}});
  op.reads(src, 0, bytes), op.reads(gamma, 0, line);
  if (beta) op.reads(*beta, 0, line);
  op.writes(dst, 0, bytes);
  std::vector<float> row, scale(s.valid), shift(s.valid, 0.0f);
  wide(gamma.dtype, op.data(gamma), scale.data(), s.valid);
  if (beta) wide(beta->dtype, op.data(*beta), shift.data(), s.valid);
  bool known = all_written(op.written(gamma), line) && (!beta || all_written(op.written(*beta), line));
  for (uint32_t r = 0; r < s.count; ++r) {
    known &= row_of(op, src, s, r, row);
    const float middle = mean ? std::accumulate(row.begin(), row.end(), 0.0f) / float(s.valid) : 0.0f;
    float spread = 0;
    for (const float x : row) spread += (x - middle) * (x - middle);
    spread /= float(s.valid);
    const float factor = 1.0f / std::sqrt(spread + epsilon);
    for (uint32_t i = 0; i < s.valid; ++i) row[i] = (row[i] - middle) * factor * scale[i] + shift[i];
    put(op, dst, uint64_t(r) * s.width, row.data(), s.valid);
    for (const Local* each : {mean, variance}) {
      if (!each) continue;
      op.writes(*each, uint64_t(r) * size, size);
      put(op, *each, r, each == mean ? &middle : &spread, 1);
    }
  }
  if (op.core.launch.checks() && !known) never_computed(op, src);
}

namespace {
float folded(RowsOp which, float to, float next) {
  switch (which) {
    case RowsOp::min: return std::min(to, next);
    case RowsOp::max: return std::max(to, next);
    case RowsOp::prod: return to * next;
    case RowsOp::all: return to != 0 && next != 0;
    case RowsOp::any: return to != 0 || next != 0;
    default: return to + next;
  }
}
float before_all(RowsOp which) {
  const bool one = which == RowsOp::prod || which == RowsOp::all;
  return which == RowsOp::min ? INFINITY : which == RowsOp::max ? -INFINITY : one ? 1.0f : 0.0f;
}
// Whole numbers; sums wrap around.
template <typename T>
T folded(RowsOp which, T to, T next) {
  switch (which) {
    case RowsOp::min: return std::min(to, next);
    case RowsOp::max: return std::max(to, next);
    case RowsOp::all: return T(to && next);
    case RowsOp::any: return T(to || next);
    default: return T(uint64_t(to) + uint64_t(next));
  }
}
template <typename T>
void fold_whole(Operation& op, RowsOp which, bool columns, const Local& dst, const Local& src, const RowShape& s) {
  std::vector<T> out(columns ? s.valid : s.count), row(s.valid);
  for (uint32_t r = 0; r < s.count; ++r) {
    std::memcpy(row.data(), op.data(src) + uint64_t(r) * s.width * sizeof(T), s.valid * sizeof(T));
    for (uint32_t i = 0; i < s.valid; ++i) {
      const bool first = columns ? r == 0 : i == 0;
      T& to = out[columns ? i : r];
      to = folded<T>(which, first ? row[i] : to, first && which == RowsOp::sum ? T(0) : row[i]);
    }
  }
  std::memcpy(op.data(dst), out.data(), out.size() * sizeof(T));
  std::memset(op.written(dst), 1, out.size() * sizeof(T));
}
}  // namespace

void fold_rows(const char* call, RowsOp which, bool columns, Local dst, Local src, const Local* work, RowShape s,
               At at) {
  Operation op(core(), Pipe::V, call, at);
  const bool in_float = src.dtype <= Dtype::bf16;
  const bool pairs = which == RowsOp::sum_in_pairs || which == RowsOp::mean_in_pairs,
             wide_pairs = which == RowsOp::mean_in_float_pairs;
  if ((pairs || wide_pairs || which == RowsOp::mean) && !real(op, src.dtype)) return op.core.stop();
  const uint32_t size = size_of(src.dtype);
  const uint64_t bytes = uint64_t(s.count) * s.width * size;
  const uint32_t results = columns ? s.valid : s.count;
  if (!right_shape(op, s, size, !columns) || !there(op, src, bytes, "the source") ||
      !there(op, dst, uint64_t(results) * size, "the destination"))
    return;
  op.core.settle();
  op.core.launch.counters.elements += uint64_t(s.count) * s.valid;
  if (!scratch(op, work, {{&src, bytes}, {&dst, uint64_t(results) * size}})) return;
  in_place(op, dst, uint64_t(results) * size, {{&src, bytes}});
  op.reads(src, 0, bytes);
  if (!in_float) {
    for (uint32_t r = 0; op.core.launch.checks() && r < s.count; ++r)
      if (!all_written(op.written(src) + uint64_t(r) * s.width * size, uint64_t(s.valid) * size)) {
        never_computed(op, src);
        break;
      }
    op.writes(dst, 0, uint64_t(results) * size);
    with_whole(src.dtype, [&](auto type) { fold_whole<decltype(type)>(op, which, columns, dst, src, s); });
    return;
  }
  std::vector<float> out(results, before_all(which)), row;
  bool known = true;
  for (uint32_t r = 0; r < s.count; ++r) {
    known &= row_of(op, src, s, r, row);
    if (pairs || wide_pairs) {  // as the pages of Sum and Mean say
      out[r] = sum_in_pairs(wide_pairs ? Dtype::f32 : src.dtype, row.data(), s.valid);
      continue;
    }
    for (uint32_t i = 0; i < s.valid; ++i) {
      float& to = out[columns ? i : r];
      to = folded(which, to, row[i]);
    }
  }
  if (op.core.launch.checks() && !known) never_computed(op, src);
  if (which == RowsOp::mean || which == RowsOp::mean_in_pairs || wide_pairs)
    for (float& value : out) value /= float(columns ? s.count : s.valid);
  op.writes(dst, 0, uint64_t(results) * size);
  put(op, dst, 0, out.data(), results);
}

void xor_sum(Local dst, Local a, Local b, const Local* work, int64_t count, At at) {
  Operation op(core(), Pipe::V, "ReduceXorSum", at);
  const uint64_t bytes = uint64_t(count) * 2;
  if (!there(op, a, bytes, "the source") || !there(op, b, bytes, "the second source") ||
      !there(op, dst, 2, "the destination"))
    return;
  op.core.settle();
  op.core.launch.counters.elements += uint64_t(count);
  if (!scratch(op, work, {{&a, bytes}, {&b, bytes}, {&dst, 2}})) return;
  in_place(op, dst, 2, {{&a, bytes}, {&b, bytes}});
  int64_t sum = 0;
  for (const Local* each : {&a, &b}) {
    op.reads(*each, 0, bytes);
    if (op.core.launch.checks() && !all_written(op.written(*each), bytes)) never_computed(op, *each);
  }
  for (int64_t i = 0; i < count; ++i)
    sum += int16_t(element_at<int16_t>(op.data(a) + i * 2) ^ element_at<int16_t>(op.data(b) + i * 2));
  const auto within = int16_t(std::clamp<int64_t>(sum, INT16_MIN, INT16_MAX));
  op.writes(dst, 0, 2);
  std::memcpy(op.data(dst), &within, 2);
  std::memset(op.written(dst), 1, 2);
}

void top_k(Local values, Local indices, Local src, const Local* src_indices, const Local* finished, const Local* work,
           int32_t k, RowShape s, TopKHow how, At at) {
  Operation op(core(), Pipe::V, "TopK", at);
  if (!how.any_type && !real(op, src.dtype)) return op.core.stop();
  const uint32_t size = size_of(src.dtype);
  if (k < 1 || uint32_t(k) > s.valid || s.width % 32 || s.width > (how.small ? 32 : 4096)) {
    op.core.report(Kind::parameter, "TopK", at,
                   text("k is %d, inner %u, n %u; k is 1 to n, inner %s", k, s.width, s.valid,
                        how.small ? "32 with TOPK_NSMALL" : "a multiple of 32 up to 4096"));
    return;
  }
  if (how.small && finished) {  // at run time: the vendor's example has the call in a branch that it does not take
    op.core.report(Kind::parameter, "TopK", at, "isHasfinish is for TOPK_NORMAL");
    return;
  }
  const auto line_of = [&](uint32_t each) {
    return how.small ? uint64_t(k) * each : (uint64_t(k) * each + kBlock - 1) / kBlock * kBlock;
  };
  const uint64_t bytes = uint64_t(s.count) * s.width * size, value_line = line_of(size), index_line = line_of(4);
  const uint64_t given_line = how.small ? s.width * 4ull : 0, given = how.small ? s.count * given_line : s.width * 4ull;
  if (!right_shape(op, s, size) || !there(op, src, bytes, "the source") ||
      !there(op, values, s.count * value_line, "the values") ||
      !there(op, indices, s.count * index_line, "the indices") ||
      (src_indices && !there(op, *src_indices, given, "the source's indices")) ||
      (finished && !there(op, *finished, s.count, "finishLocal")))
    return;
  op.core.settle();
  op.core.launch.counters.elements += uint64_t(s.count) * s.valid;
  if (!scratch(op, work, {{&src, bytes}, {&values, s.count * value_line}, {&indices, s.count * index_line}})) return;
  in_place(op, values, s.count * value_line, {{&src, bytes}});
  op.reads(src, 0, bytes);
  if (src_indices) op.reads(*src_indices, 0, given);
  if (finished) op.reads(*finished, 0, s.count);
  const uint64_t line = uint64_t(s.width) * size;
  bool known = true;
  for (uint32_t r = 0; r < s.count; ++r) known &= all_written(op.written(src) + r * line, uint64_t(s.valid) * size);
  if (op.core.launch.checks() && !known) never_computed(op, src);
  op.writes(values, 0, s.count * value_line);
  op.writes(indices, 0, s.count * index_line);
  for (uint32_t r = 0; r < s.count; ++r) {
    const uint8_t* from = op.data(src) + r * line;
    std::vector<uint32_t> order = order_of(src.dtype, from, s.valid, how.largest, true);
    order.resize(size_t(k));
    if (!how.sorted) std::sort(order.begin(), order.end());  // as they stand in the source
    std::vector<uint8_t> chosen(uint64_t(k) * size);
    const bool over = finished && op.data(*finished)[r];
    uint8_t* to = op.data(indices) + r * index_line;
    for (int32_t i = 0; i < k; ++i) {
      auto index = int32_t(order[size_t(i)]);
      std::memcpy(chosen.data() + uint64_t(i) * size, from + uint64_t(index) * size, size);
      if (src_indices) std::memcpy(&index, op.data(*src_indices) + r * given_line + index * 4, 4);
      if (over) index = int32_t(s.valid);  // a finished row has an index that is none
      std::memcpy(to + i * 4, &index, 4);
    }
    std::memset(op.written(indices) + r * index_line, 1, uint64_t(k) * 4);
    std::memcpy(op.data(values) + r * value_line, chosen.data(), chosen.size());
    std::memset(op.written(values) + r * value_line, 1, chosen.size());
  }
}

}  // namespace ophook::rt
