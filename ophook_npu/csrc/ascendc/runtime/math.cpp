// The math library, computed in float and rounded once; a device's last bits may differ.
#include "ascendc/math.h"

#include <cmath>

#include "arithmetic.h"
#include "vector.h"

namespace ophook::rt {
namespace {

constexpr const char* kFunctions[] = {
#define MATH(name, ...) #name,
#include "ascendc/math.inc"
#undef MATH
};

float value_of(Math which, float x) {
  switch (which) {
#define MATH(name, ...) \
  case Math::name: return __VA_ARGS__;
#include "ascendc/math.inc"
#undef MATH
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

void has_type(Operation& op, Dtype dtype, bool whole, bool integers_too) {
  const bool real = dtype == Dtype::f16 || dtype == Dtype::f32, bits = dtype == Dtype::i16 || dtype == Dtype::u16;
  if (whole ? bits : real || (integers_too && dtype == Dtype::i32)) return;
  op.core.report(Kind::data_type, op.call, op.at,
                 text("%s has no %s on this SoC; it has %s", op.call, name_of(dtype),
                      whole          ? "int16_t, uint16_t"
                      : integers_too ? "half, float, int32_t"
                                     : "half, float"));
  op.core.stop();
}

Cover all(int64_t count) { return {Cover::kCount, uint64_t(std::max<int64_t>(count, 0)), 0, 1}; }

}  // namespace

void scratch(Operation& op, const Local* work) {
  if (!work || !op.core.usable(*work, op.call, op.at)) return;
  op.writes(*work, 0, work->bytes);
  if (op.core.launch.checks()) std::memset(op.written(*work), 0, work->bytes);
}

void math(Math which, Local dst, Local src, const Local* work, int64_t count, At at) {
  Operation op(core(), Pipe::V, kFunctions[int(which)], at);
  has_type(op, dst.dtype, false, false);
  scratch(op, work);
  const uint32_t size = size_of(dst.dtype);
  const Operand operands[] = {{&dst, {}, size, true, "the destination"}, {&src, {}, size, false, "the source"}};
  Walk walk(op, operands, 2, all(count));
  walk.each([&](const Run& run) {
    carry(op, operands, 2, run);
    std::vector<float> values(run.count);
    wide(dst.dtype, op.data(src) + run.offsets[1], values.data(), run.count);
    for (float& value : values) value = value_of(which, value);
    narrow(dst.dtype, values.data(), op.data(dst) + run.offsets[0], run.count);
  });
}

void math_pair(const char* call, Pair which, Local dst, Local a, const Local* b, Scalar scalar, bool reversed,
               const Local* work, int64_t count, At at) {
  Operation op(core(), Pipe::V, call, at);
  const bool whole = which == Pair::bits_xor;
  has_type(op, dst.dtype, whole, which == Pair::power);
  scratch(op, work);
  const uint32_t size = size_of(dst.dtype);
  const Operand operands[] = {{&dst, {}, size, true, "the destination"},
                              {&a, {}, size, false, "the source"},
                              {b, {}, size, false, "the second source"}};
  const int n = b ? 3 : 2;
  Walk walk(op, operands, n, all(count));
  walk.each([&](const Run& run) {
    carry(op, operands, n, run);
    uint8_t* to = op.data(dst) + run.offsets[0];
    const uint8_t* x = op.data(a) + run.offsets[1];
    const uint8_t* y = b ? op.data(*b) + run.offsets[2] : nullptr;
    if (whole) {
      for (uint64_t i = 0; i < uint64_t(run.count) * size; ++i) to[i] = static_cast<uint8_t>(x[i] ^ y[i]);
      return;
    }
    if (dst.dtype == Dtype::i32) {
      for (uint32_t i = 0; i < run.count; ++i) {
        int32_t p, q;
        std::memcpy(&p, x + i * 4, 4);
        if (y) std::memcpy(&q, y + i * 4, 4);
        else q = int32_t(scalar.whole);
        const auto result = int32_t(reversed ? std::pow(double(q), double(p)) : std::pow(double(p), double(q)));
        std::memcpy(to + i * 4, &result, 4);
      }
      return;
    }
    const float given = dst.dtype == Dtype::f16 ? half_value(half_bits(float(scalar.real))) : float(scalar.real);
    std::vector<float> first(run.count), second(run.count, given);
    wide(dst.dtype, x, first.data(), run.count);
    if (y) wide(dst.dtype, y, second.data(), run.count);
    for (uint32_t i = 0; i < run.count; ++i)
      first[i] = reversed ? value_of(which, second[i], first[i]) : value_of(which, first[i], second[i]);
    narrow(dst.dtype, first.data(), to, run.count);
  });
}

}  // namespace ophook::rt
