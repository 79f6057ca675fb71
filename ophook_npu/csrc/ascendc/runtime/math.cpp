// The math library, computed in float and rounded once; a device's last bits may differ.
#include "ascendc/math.h"

#include <cmath>
#include <span>
#include <string>

#include "arithmetic.h"
#include "ascendc/advanced.h"
#include "vector.h"

namespace ophook::rt {
namespace {

constexpr const char* kFunctions[] = {
#define MATH(name, ...) #name,
#include "ascendc/math.inc"
};

// By the recurrence to where the asymptotic series is exact in float; left of 0 by the reflection formula.
float digamma(float x) {
  if (x == 0) return std::copysign(INFINITY, -x);
  if (x < 0 && x == std::floor(x)) return NAN;  // a pole between both infinities
  double at = x, sum = 0;
  if (at < 0) {
    constexpr double kPi = 3.14159265358979323846;
    sum = -kPi / std::tan(kPi * at);
    at = 1 - at;
  }
  for (; at < 10; at += 1) sum -= 1 / at;
  const double square = 1 / (at * at);
  return float(sum + std::log(at) - 0.5 / at - square * (1.0 / 12 - square * (1.0 / 120 - square / 252)));
}

float value_of(Math which, float x) {
  switch (which) {
#define MATH(name, ...) \
  case Math::name: return __VA_ARGS__;
#include "ascendc/math.inc"
  }
  return x;
}

float value_of(Pair which, float a, float b) {
  switch (which) {
    case Pair::power: return std::pow(a, b);
    case Pair::fmod: return std::fmod(a, b);
    case Pair::at_most: return a < b ? a : b;
    case Pair::at_least: return a > b ? a : b;
    default: return a;
  }
}

// The data types of the math library, which are the same for all its functions but two.
void has_type(Operation& op, Dtype dtype, bool bits, bool power) {
  constexpr Dtype kReal[] = {Dtype::f16, Dtype::f32}, kBits[] = {Dtype::i16, Dtype::u16},
                  kPower[] = {Dtype::f16, Dtype::f32, Dtype::i32},
                  kNewerPower[] = {Dtype::u8,  Dtype::i8,  Dtype::u16,  Dtype::i16, Dtype::u32,
                                   Dtype::i32, Dtype::f16, Dtype::bf16, Dtype::f32};
  const bool newer = op.core.launch.options.architecture == 310;
  const std::span<const Dtype> allowed = bits     ? std::span<const Dtype>(kBits)
                                         : !power ? kReal
                                         : newer  ? std::span<const Dtype>(kNewerPower)
                                                  : kPower;
  std::string names;
  for (const Dtype each : allowed) {
    if (each == dtype) return;
    names += (names.empty() ? "" : ", ") + std::string(name_of(each));
  }
  op.core.report(Kind::data_type, op.call, op.at,
                 text("%s has no %s on this SoC; it has %s", op.call, name_of(dtype), names.c_str()));
  op.core.stop();
}

// What repeated multiplication gives, which wraps around; one divided by it is 0 but of 1 and -1.
template <typename T>
T whole_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>)
    if (exponent < 0) return base == 1 ? T(1) : base == -1 ? T(exponent % 2 ? -1 : 1) : T(0);
  uint64_t result = 1, square = uint64_t(base);
  for (auto left = uint64_t(exponent); left; left >>= 1, square *= square)
    if (left & 1) result *= square;
  return T(result);
}
template <typename T>
void whole_powers(uint8_t* to, const uint8_t* x, const uint8_t* y, int64_t scalar, bool reversed, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    T p, q = T(scalar);
    std::memcpy(&p, x + i * sizeof(T), sizeof(T));
    if (y) std::memcpy(&q, y + i * sizeof(T), sizeof(T));
    const T result = reversed ? whole_power(q, p) : whole_power(p, q);
    std::memcpy(to + i * sizeof(T), &result, sizeof(T));
  }
}
using Powers = void (*)(uint8_t*, const uint8_t*, const uint8_t*, int64_t, bool, uint32_t);
Powers whole_powers_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::u8: return whole_powers<uint8_t>;
    case Dtype::i8: return whole_powers<int8_t>;
    case Dtype::u16: return whole_powers<uint16_t>;
    case Dtype::i16: return whole_powers<int16_t>;
    case Dtype::u32: return whole_powers<uint32_t>;
    case Dtype::i32: return whole_powers<int32_t>;
    default: return nullptr;
  }
}

Cover all(int64_t count) { return {Cover::kCount, uint64_t(std::max<int64_t>(count, 0)), 0, 1}; }

}  // namespace

bool scratch(Operation& op, const Local* work, const std::vector<Span>& operands, uint64_t most) {
  if (!work || !op.core.usable(*work, op.call, op.at)) return true;
  const uint64_t bytes = std::min<uint64_t>(work->bytes, most), surely = std::min<uint64_t>(bytes, 256);  // one step
  for (const auto& [tensor, used] : operands)
    if (tensor->memory == work->memory && work->offset < tensor->offset + used &&
        tensor->offset < work->offset + surely) {
      op.core.report(Kind::overlap, op.call, op.at, "the temporary tensor lies over what the function works on",
                     op.core.describe(*work));
      return false;
    }
  op.writes(*work, 0, bytes);
  if (op.core.launch.checks()) std::memset(op.written(*work), 0, bytes);
  return true;
}

void in_place(const Operation& op, const Local& dst, uint64_t bytes, const std::vector<Span>& sources) {
  for (const auto& [source, used] : sources)
    if (source->memory == dst.memory && dst.offset < source->offset + used && source->offset < dst.offset + bytes)
      return op.core.report(Kind::in_place, op.call, op.at, "source and destination overlap", op.core.describe(dst));
}

void math(Math which, Local dst, Local src, const Local* work, int64_t count, bool reuse, At at) {
  Operation op(core(), Pipe::V, kFunctions[int(which)], at);
  has_type(op, dst.dtype, false, false);
  const uint32_t size = size_of(dst.dtype);
  const uint64_t bytes = uint64_t(std::max<int64_t>(count, 0)) * size;
  if (!scratch(op, work, {{&dst, bytes}, {&src, bytes}}, most_of(count))) return;
  if (which != Math::Trunc && which != Math::Round) in_place(op, dst, bytes, {{&src, bytes}});
  const Operand operands[] = {{&dst, {}, size, true, "the destination"}, {&src, {}, size, false, "the source"}};
  Walk walk(op, operands, 2, all(count));
  walk.computes();
  walk.each([&](const Run& run) {
    carry(op, operands, 2, run);
    std::vector<float> values(run.count);
    wide(dst.dtype, op.data(src) + run.offsets[1], values.data(), run.count);
    for (float& value : values) value = value_of(which, value);
    narrow(dst.dtype, values.data(), op.data(dst) + run.offsets[0], run.count);
  });
  const bool reuses = which == Math::Sin || which == Math::Cos || which == Math::Digamma || which == Math::Lgamma;
  if (reuse && reuses && dst.dtype == Dtype::f32) spent(src, bytes, {dst});
}

void math_pair(const char* call, Pair which, Local dst, Local a, const Local* b, Scalar scalar, bool reversed,
               const Local* work, int64_t count, At at) {
  Operation op(core(), Pipe::V, call, at);
  const bool whole = which == Pair::bits_xor;
  has_type(op, dst.dtype, whole, which == Pair::power);
  const uint32_t size = size_of(dst.dtype);
  const uint64_t bytes = uint64_t(std::max<int64_t>(count, 0)) * size;
  if (!scratch(op, work, {{&dst, bytes}, {&a, bytes}, {b ? b : &a, bytes}}, most_of(count))) return;
  in_place(op, dst, bytes, {{&a, bytes}, {b ? b : &a, bytes}});
  const Operand operands[] = {{&dst, {}, size, true, "the destination"},
                              {&a, {}, size, false, "the source"},
                              {b, {}, size, false, "the second source"}};
  const int n = b ? 3 : 2;
  Walk walk(op, operands, n, all(count));
  walk.computes();
  walk.each([&](const Run& run) {
    carry(op, operands, n, run);
    uint8_t* to = op.data(dst) + run.offsets[0];
    const uint8_t* x = op.data(a) + run.offsets[1];
    const uint8_t* y = b ? op.data(*b) + run.offsets[2] : nullptr;
    if (whole) {
      for (uint64_t i = 0; i < uint64_t(run.count) * size; ++i) to[i] = static_cast<uint8_t>(x[i] ^ y[i]);
      return;
    }
    if (const Powers powers = whole_powers_of(dst.dtype)) return powers(to, x, y, scalar.whole, reversed, run.count);
    float given = float(scalar.real);
    if (dst.dtype == Dtype::f16) given = half_value(half_bits(given));
    std::vector<float> first(run.count), second(run.count, given);
    wide(dst.dtype, x, first.data(), run.count);
    if (y) wide(dst.dtype, y, second.data(), run.count);
    for (uint32_t i = 0; i < run.count; ++i)
      first[i] = reversed ? value_of(which, second[i], first[i]) : value_of(which, first[i], second[i]);
    narrow(dst.dtype, first.data(), to, run.count);
  });
}

}  // namespace ophook::rt
