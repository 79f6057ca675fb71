// Functions of an Ascend950 that compute each element by itself; floats are computed in float and rounded once.
#include "ascendc/elementwise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "arithmetic.h"
#include "numbers.h"
#include "vector.h"

namespace ophook::rt {
namespace {

// Where an operand's elements are; a scalar is at the same place for all of them.
struct Elements {
  const uint8_t* data = nullptr;
  Dtype dtype = Dtype::other;
  uint32_t step = 0;
  const uint8_t* at(uint32_t i) const { return data + uint64_t(i) * step; }
};
using Sources = std::array<Elements, 3>;

bool is_real(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::f32 || dtype == Dtype::bf16; }

bool truth(const Elements& x, uint32_t i) {
  if (is_real(x.dtype)) return real_at(x.dtype, x.at(i)) != 0;
  const uint8_t* bytes = x.at(i);
  return std::any_of(bytes, bytes + size_of(x.dtype), [](uint8_t byte) { return byte; });
}
bool flag(Each which, const Sources& s, uint32_t i) {
  if (which >= Each::is_inf) {
    const float x = real_at(s[0].dtype, s[0].at(i));
    return which == Each::is_inf ? std::isinf(x) : which == Each::is_nan ? std::isnan(x) : std::isfinite(x);
  }
  const bool a = truth(s[0], i);
  switch (which) {
    case Each::truth_and: return a && truth(s[1], i);
    case Each::truth_or: return a || truth(s[1], i);
    case Each::truth_xor: return a != truth(s[1], i);
    default: return !a;
  }
}

float value_of(Each which, float a, float b, float c) {
  switch (which) {
    case Each::rint: return std::nearbyint(a);
    case Each::round: return std::round(a);
    case Each::floor: return std::floor(a);
    case Each::ceil: return std::ceil(a);
    case Each::trunc: return std::trunc(a);
    case Each::fma: return std::fma(a, b, c);
    case Each::sin: return std::sin(a);
    case Each::cos: return std::cos(a);
    case Each::hypot: return std::hypot(a, b);
    case Each::neg: return -a;
    case Each::prelu: return a >= 0 ? a : a * b;
    case Each::abs_sub: return std::fabs(a - b);
    default: return std::exp(a - b);  // exp_sub
  }
}

uint8_t combined(Each which, uint8_t a, uint8_t b) {
  switch (which) {
    case Each::bits_and: return a & b;
    case Each::bits_or: return a | b;
    case Each::bits_xor: return a ^ b;
    default: return static_cast<uint8_t>(~a);
  }
}

// By more bits than there are, the sign alone is left on the right and nothing on the left; by less than none it is the
// other direction.
template <typename T>
T shifted(T value, int64_t left) {
  constexpr int kBits = sizeof(T) * 8;
  if (left >= 0) return left >= kBits ? T(0) : T(std::make_unsigned_t<T>(value) << left);
  return -left >= kBits || left == INT64_MIN ? T(value < 0 ? -1 : 0) : T(value >> -left);
}

// Whole numbers, which wrap around.
template <typename T>
T whole_value(Each which, T a, const Sources& s, uint32_t i) {
  if (which == Each::neg) return T(0 - uint64_t(a));
  if (which == Each::multiply_low || which == Each::multiply_high) {
    const T b = element_at<T>(s[1].at(i));  // of at most 32 bits
    if constexpr (sizeof(T) <= 4) {
      const auto product = std::is_signed_v<T> ? uint64_t(int64_t(a) * int64_t(b)) : uint64_t(a) * uint64_t(b);
      return T(which == Each::multiply_low ? product : product >> 32);
    }
    return b;
  }
  const int64_t by = scalar_at(s[1].dtype, s[1].at(i)).whole;
  return shifted(a, which == Each::shift_left ? by : by == INT64_MIN ? INT64_MAX : -by);
}

// Nan stays; where the least is above the most, all else is the most.
template <typename V>
const uint8_t* clamped(const Sources& s, uint32_t i, V value) {
  const auto x = value(s[0].at(i)), least = value(s[1].at(i)), most = value(s[2].at(i));
  if (x != x) return s[0].at(i);
  if (x > most || least > most) return s[2].at(i);
  return x < least ? s[1].at(i) : s[0].at(i);
}

void compute(Each which, Dtype to_type, uint8_t* to, const Sources& s, uint32_t count) {
  const uint32_t size = size_of(to_type);
  if (which <= Each::bits_not) {
    for (uint32_t i = 0; i < count; ++i)
      for (uint32_t k = 0; k < size; ++k)
        to[uint64_t(i) * size + k] = combined(which, s[0].at(i)[k], s[1].data ? s[1].at(i)[k] : 0);
    return;
  }
  if (which <= Each::is_finite) {
    for (uint32_t i = 0; i < count; ++i) {
      const bool result = flag(which, s, i);
      if (to_type == Dtype::b8) to[i] = result;
      else put_scalar(to_type, {double(result), 0}, to + uint64_t(i) * size);
    }
    return;
  }
  if (which == Each::clamp || which == Each::where) {
    for (uint32_t i = 0; i < count; ++i) {
      const uint8_t* from = nullptr;
      if (which == Each::where) from = *s[2].at(i) ? s[0].at(i) : s[1].at(i);
      else if (is_real(to_type)) from = clamped(s, i, [&](const uint8_t* at) { return real_at(to_type, at); });
      else
        with_whole(to_type, [&](auto type) {
          from = clamped(s, i, [](const uint8_t* at) { return element_at<decltype(type)>(at); });
        });
      std::memmove(to + uint64_t(i) * size, from, size);
    }
    return;
  }
  if (!is_real(to_type)) {
    with_whole(to_type, [&](auto type) {
      for (uint32_t i = 0; i < count; ++i) {
        const auto value = whole_value(which, element_at<decltype(type)>(s[0].at(i)), s, i);
        std::memcpy(to + uint64_t(i) * size, &value, size);
      }
    });
    return;
  }
  std::array<std::vector<float>, 3> wide_values;
  for (size_t k = 0; k < 3; ++k) {
    wide_values[k].resize(count);
    if (s[k].data) wide(s[k].dtype, s[k].data, wide_values[k].data(), count);
  }
  auto& [a, b, c] = wide_values;
  for (uint32_t i = 0; i < count; ++i) a[i] = value_of(which, a[i], b[i], c[i]);
  narrow(to_type, a.data(), to, count);
}

constexpr const char* kRoles[] = {"the source", "the second source", "the third source"};

bool overlaps(const Local& a, const Local& b, uint64_t count) {
  const auto end = [count](const Local& x) {
    return x.offset + std::min<uint64_t>(count * size_of(x.dtype), x.bytes);  // what is more is told otherwise
  };
  return a.memory == b.memory && a.offset < end(b) && b.offset < end(a);
}

}  // namespace

void each_element(const char* call, Each which, bool apart, Local dst, std::initializer_list<Given> sources,
                  const Local* work, int64_t count, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, call, at);
  Operand operands[4] = {{&dst, {}, size_of(dst.dtype), true, "the destination"}};
  std::array<uint64_t, 3> bits{};
  Sources elements;
  std::array<int, 3> place{};  // of the operands, 0: a scalar
  int n = 1;
  for (size_t k = 0; const Given& source : sources) {
    const uint32_t size = size_of(source.view.dtype);
    if (source.kind == Given::tensor) {
      if (apart && overlaps(dst, source.view, uint64_t(count)))
        return c.report(Kind::overlap, call, at, "source and destination overlap");
      place[k] = n;
      operands[n++] = {&source.view, {}, size, false, kRoles[k]};
    } else {
      bits[k] = source.bits;
      if (source.kind == Given::first) {
        Scalar value{};
        if (!first_element(call, source.view, dst, value, at)) return;
        std::memcpy(&bits[k], op.data(source.view), size);
      }
    }
    elements[k] = {reinterpret_cast<const uint8_t*>(&bits[k]), source.view.dtype, place[k] ? size : 0};
    ++k;
  }
  const auto span = [&](int i) {
    return Span{operands[i].tensor, uint64_t(std::max<int64_t>(count, 0)) * operands[i].size};
  };
  if (!scratch(op, work, {span(0), span(n > 1), span(n - 1)}, most_of(count))) return;
  Walk walk(op, operands, n, {Cover::kCount, uint64_t(std::max<int64_t>(count, 0)), 0, 1});
  walk.each([&](const Run& run) {
    carry(op, operands, n, run);
    for (size_t k = 0; k < 3; ++k)
      if (place[k]) elements[k].data = op.data(*operands[place[k]].tensor) + run.offsets[place[k]];
    compute(which, dst.dtype, op.data(dst) + run.offsets[0], elements, run.count);
  });
}

namespace {
// J. Salmon, M. Moraes, R. Dror, D. Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> x, uint32_t key0, uint32_t key1, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * x[0], b = uint64_t{0xCD9E8D57} * x[2];
    x = {uint32_t(b >> 32) ^ x[1] ^ key0, uint32_t(b), uint32_t(a >> 32) ^ x[3] ^ key1, uint32_t(a)};
    key0 += 0x9E3779B9, key1 += 0xBB67AE85;
  }
  return x;
}
std::array<uint32_t, 4> advanced(std::array<uint32_t, 4> counter, uint64_t by) {
  for (size_t i = 0; by && i < 4; ++i) {
    by += counter[i];
    counter[i] = uint32_t(by);
    by >>= 32;
  }
  return counter;
}
}  // namespace

void philox(Local dst, const uint32_t* key, const uint32_t* counter, int rounds, uint32_t stride, uint32_t rows,
            uint32_t columns, At at) {
  Operation op(core(), Pipe::V, "PhiloxRandom", at);
  const Operand operands[] = {{&dst, {}, 4, true, "the destination"}};
  Walk walk(op, operands, 1, {Cover::kCount, uint64_t(rows) * columns, 0, 1});
  walk.each([&](const Run& run) {
    carry(op, operands, 1, run);
    uint8_t* to = op.data(dst) + run.offsets[0];
    for (uint64_t row = 0; row < rows; ++row)
      for (uint32_t column = 0; column < columns; column += 4) {
        const auto numbers =
            philox4x32(advanced({counter[0], counter[1], counter[2], counter[3]}, (row * stride + column) / 4), key[0],
                       key[1], rounds);
        for (uint32_t i = 0; i < 4 && column + i < columns; ++i, to += 4) {
          const float real = std::bit_cast<float>((numbers[i] & 0x7fffff) | 0x3f800000) - 1.0f;
          std::memcpy(to, dst.dtype == Dtype::f32 ? static_cast<const void*>(&real) : &numbers[i], 4);
        }
      }
  });
}

}  // namespace ophook::rt
