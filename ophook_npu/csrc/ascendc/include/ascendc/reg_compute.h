// The Reg interface: what is computed lane by lane. reg_lanes.h has the rest, and ends the macros.
#pragma once

#include <cmath>
#include <limits>

#include "reg_memory.h"

#define OPHOOK_AT ophook::rt::At at = ophook::rt::At::here()

// ---- settings of functions that have several implementations on a device ----
#define OPHOOK_SETTINGS(name, fields, kept)         \
  namespace AscendC::Reg {                          \
  using AscendC::name##Algo;                        \
  struct name##SpecificMode {                       \
    MaskMergeMode mrgMode = MaskMergeMode::ZEROING; \
    fields name##Algo algo = name##Algo::INTRINSIC; \
  };                                                \
  namespace details {                               \
  constexpr bool keeps_subnormal(name##Algo algo) { \
    using enum name##Algo;                          \
    return kept;                                    \
  }                                                 \
  }                                                 \
  }
namespace AscendC {  // which are not also those of an instruction on tensors
enum class LogAlgo { INTRINSIC = 0, PRECISION_1ULP_FTZ_TRUE, PRECISION_1ULP_FTZ_FALSE };
enum class Log2Algo { INTRINSIC = 0, PRECISION_1ULP_FTZ_TRUE, PRECISION_1ULP_FTZ_FALSE };
enum class Log10Algo { INTRINSIC = 0, PRECISION_1ULP_FTZ_TRUE, PRECISION_1ULP_FTZ_FALSE };
}  // namespace AscendC
#define OPHOOK_FLUSHES algo == PRECISION_1ULP_FTZ_FALSE
OPHOOK_SETTINGS(Exp, , OPHOOK_FLUSHES)
OPHOOK_SETTINGS(Ln, , OPHOOK_FLUSHES)
OPHOOK_SETTINGS(Log, , OPHOOK_FLUSHES)
OPHOOK_SETTINGS(Log2, , OPHOOK_FLUSHES)
OPHOOK_SETTINGS(Log10, , OPHOOK_FLUSHES)
OPHOOK_SETTINGS(Sqrt, bool precisionMode = false;
                , OPHOOK_FLUSHES || algo == PRECISION_0ULP_FTZ_FALSE || algo == FAST_INVERSE)
OPHOOK_SETTINGS(Div, bool precisionMode = false;, OPHOOK_FLUSHES || algo == PRECISION_0ULP_FTZ_FALSE)
#undef OPHOOK_SETTINGS
#undef OPHOOK_FLUSHES

namespace AscendC::Reg {
namespace details {

template <typename C>
C larger(C a, C b) {
  if constexpr (std::is_floating_point_v<C>)
    if (a == b) return std::signbit(a) ? b : a;  // of -0 and +0 it is +0
  return a > b ? a : b;
}
template <typename C>
C smaller(C a, C b) {
  if constexpr (std::is_floating_point_v<C>)
    if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <typename C>
C magnitude(C a) {
  if constexpr (std::is_floating_point_v<C>) return std::fabs(a);
  else return int64_t(a) < 0 ? C(-uint64_t(int64_t(a))) : a;  // of -128 in int8_t it is -128
}
template <typename T, typename C>
T narrow(C value) {
  if constexpr (kReal<T>) return T(float(value));
  else return T(value);
}
constexpr bool merges = true, zeroes = false;
template <typename M>
constexpr bool allows(M mode, bool merging) {
  if constexpr (std::is_same_v<M, MaskMergeMode>)
    return mode == MaskMergeMode::ZEROING || (merging && mode == MaskMergeMode::MERGING);
  else return mode->mrgMode == MaskMergeMode::ZEROING;
}

// Subnormal numbers count as 0, before and after, unless the settings keep them.
template <auto mode>
constexpr bool kept() {
  if constexpr (std::is_same_v<decltype(mode), MaskMergeMode>) return false;
  else return keeps_subnormal(mode->algo);
}
template <auto mode, typename T>
float flushed(float value) {
  const float least = std::is_same_v<T, half> ? 6.103515625e-05f : std::numeric_limits<float>::min();
  return !kept<mode>() && std::fabs(value) < least ? std::copysign(0.0f, value) : value;
}

template <typename T>
int order(CMPMODE mode, T a, T b) {
  switch (mode) {
    case CMPMODE::LT: return a < b;
    case CMPMODE::GT: return a > b;
    case CMPMODE::EQ: return a == b;
    case CMPMODE::LE: return a <= b;
    case CMPMODE::GE: return a >= b;
    default: return a != b;
  }
}

template <typename F, typename T>
constexpr const char* roundings() {
#define REG_BINARY(...)
#define REG_UNARY(...)
#define REG_SCALAR(...)
#define REG_FUNCTION(...)
#define REG_CAST(from, to, letters) \
  if constexpr (std::is_same_v<F, from> && std::is_same_v<T, to>) return letters;
#include "reg.inc"
#undef REG_BINARY
#undef REG_UNARY
#undef REG_SCALAR
#undef REG_FUNCTION
#undef REG_CAST
  return "";
}
constexpr bool has(const char* letters, char letter) {
  for (; *letters; ++letters)
    if (*letters == letter) return true;
  return false;
}

}  // namespace details

// ---- elementwise: rows of reg.inc ----
#define OPHOOK_HEAD(name, merging, ...)                                                               \
  static_assert(details::Fits<T, U>, #name ": T is the registers' data type");                        \
  static_assert(details::allows(mode, details::merging), #name ": this merge mode is not supported"); \
  static_assert(details::OneOf<typename U::ActualT, __VA_ARGS__>, #name " has not this data type");
#define REG_BINARY(name, domain, merging, expression, ...)                                          \
  template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, details::AReg U> \
  __simd_callee__ inline void name(U& dstReg, U& srcReg0, U& srcReg1, MaskReg& mask) {              \
    OPHOOK_HEAD(name, merging, __VA_ARGS__)                                                         \
    using namespace details;                                                                        \
    each(dstReg, mask, mode, [&](uint32_t lane, bool& is_known) {                                   \
      const auto a = domain(get(srcReg0, lane)), b = domain(get(srcReg1, lane));                    \
      is_known = known(srcReg0, lane) && known(srcReg1, lane);                                      \
      return narrow<typename U::ActualT>(expression);                                               \
    });                                                                                             \
  }
#define REG_UNARY(name, domain, merging, expression, ...)                                           \
  template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, details::AReg U> \
  __simd_callee__ inline void name(U& dstReg, U& srcReg, MaskReg& mask) {                           \
    OPHOOK_HEAD(name, merging, __VA_ARGS__)                                                         \
    using namespace details;                                                                        \
    each(dstReg, mask, mode, [&](uint32_t lane, bool& is_known) {                                   \
      const auto a = domain(get(srcReg, lane));                                                     \
      is_known = known(srcReg, lane);                                                               \
      return narrow<typename U::ActualT>(expression);                                               \
    });                                                                                             \
  }
#define REG_SCALAR(name, domain, expression, ...)                                                               \
  template <typename T = DefaultType, typename S, MaskMergeMode mode = MaskMergeMode::ZEROING, details::AReg U> \
  __simd_callee__ inline void name(U& dstReg, U& srcReg, S scalarValue, MaskReg& mask) {                        \
    OPHOOK_HEAD(name, zeroes, __VA_ARGS__)                                                                      \
    using namespace details;                                                                                    \
    const auto s = domain(scalar<U>(scalarValue));                                                              \
    each(dstReg, mask, mode, [&](uint32_t lane, bool& is_known) {                                               \
      const auto a = domain(get(srcReg, lane));                                                                 \
      is_known = known(srcReg, lane);                                                                           \
      return narrow<typename U::ActualT>(expression);                                                           \
    });                                                                                                         \
  }
#define REG_FUNCTION(name, expression)                                                        \
  template <typename T = DefaultType, auto mode = MaskMergeMode::ZEROING, details::AReg U>    \
  __simd_callee__ inline void name(U& dstReg, U& srcReg, MaskReg& mask) {                     \
    OPHOOK_HEAD(name, zeroes, half, float)                                                    \
    details::each(dstReg, mask, MaskMergeMode::ZEROING, [&](uint32_t lane, bool& is_known) {  \
      using E = typename U::ActualT;                                                          \
      const float a = details::flushed<mode, E>(details::number(details::get(srcReg, lane))); \
      is_known = details::known(srcReg, lane);                                                \
      return details::narrow<E>(details::flushed<mode, E>(expression));                       \
    });                                                                                       \
  }
#define REG_CAST(...)
namespace details {
template <typename T>
auto plain(T value) {
  return number(value);
}
}  // namespace details
#include "reg.inc"
#undef REG_BINARY
#undef REG_UNARY
#undef REG_SCALAR
#undef REG_FUNCTION
#undef REG_CAST

template <typename T = DefaultType, auto mode = MaskMergeMode::ZEROING, details::AReg U>
__simd_callee__ inline void Div(U& dstReg, U& srcReg0, U& srcReg1, MaskReg& mask) {
  OPHOOK_HEAD(Div, zeroes, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, half, float)
  using namespace details;
  each(dstReg, mask, MaskMergeMode::ZEROING, [&](uint32_t lane, bool& is_known) {
    using E = typename U::ActualT;
    const auto a = number(get(srcReg0, lane)), b = number(get(srcReg1, lane));
    is_known = known(srcReg0, lane) && known(srcReg1, lane);
    if constexpr (kReal<E>) {
      return narrow<E>(flushed<mode, E>(flushed<mode, E>(a) / flushed<mode, E>(b)));
    } else {
      if (!b) return is_known = false, E(-1);  // no page says what that gives: nobody may use it
      if (std::is_signed_v<E> && b == E(-1)) return narrow<E>(-wrapping(a));
      return narrow<E>(a / b);
    }
  });
}
template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, details::AReg U>
__simd_callee__ inline void Not(U& dstReg, U& srcReg, MaskReg& mask) {
  OPHOOK_HEAD(Not, zeroes, OPHOOK_WHOLE, half, float)
  details::each(dstReg, mask, mode, [&](uint32_t lane, bool& is_known) {
    auto value = details::get(srcReg, lane);  // of half and float the bits
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = ~bits;
    std::memcpy(&value, &bits, sizeof value);
    is_known = details::known(srcReg, lane);
    return value;
  });
}
// Shifts: the distance is signed and not negative. A signed number keeps its sign to either side; from the width on
// nothing is left, to the right the sign.
namespace details {
template <typename T>
T shifted(T value, int64_t by, bool left) {
  constexpr int64_t bits = int64_t(sizeof(T)) * 8;
  if (by >= bits) return left || value >= 0 ? T(0) : T(-1);
  if (!left) return T(value >> by);
  constexpr uint64_t sign = std::is_signed_v<T> ? uint64_t{1} << (bits - 1) : 0;
  return T(((uint64_t(value) << by) & ~sign) | (uint64_t(value) & sign));
}
}  // namespace details
#define OPHOOK_SHIFT(name, left)                                                                                \
  template <typename T = DefaultType, typename V = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING,    \
            details::AReg U, details::AReg W>                                                                   \
  __simd_callee__ inline void name(U& dstReg, U& srcReg0, W& srcReg1, MaskReg& mask, OPHOOK_AT) {               \
    OPHOOK_HEAD(name, zeroes, OPHOOK_WHOLE)                                                                     \
    static_assert(std::is_same_v<typename W::ActualT, std::make_signed_t<typename U::ActualT>>,                 \
                  #name ": the distances are signed, as wide as what is shifted");                              \
    details::each(dstReg, mask, mode, [&](uint32_t lane, bool& is_known) {                                      \
      const int64_t by = details::get(srcReg1, lane);                                                           \
      if (by < 0) ophook::rt::refuse(#name, "the distance is negative", at);                                    \
      is_known = details::known(srcReg0, lane) && details::known(srcReg1, lane);                                \
      return details::shifted(details::get(srcReg0, lane), by, left);                                           \
    });                                                                                                         \
  }                                                                                                             \
  template <typename T = DefaultType, typename S, MaskMergeMode mode = MaskMergeMode::ZEROING, details::AReg U> \
  __simd_callee__ inline void name##s(U& dstReg, U& srcReg, S scalarValue, MaskReg& mask, OPHOOK_AT) {          \
    OPHOOK_HEAD(name##s, zeroes, OPHOOK_WHOLE)                                                                  \
    static_assert(std::is_integral_v<S>, #name "s: the distance is an int16_t");                                \
    if (int64_t(scalarValue) < 0) ophook::rt::refuse(#name "s", "the distance is negative", at);                \
    details::each(dstReg, mask, mode, [&](uint32_t lane, bool& is_known) {                                      \
      is_known = details::known(srcReg, lane);                                                                  \
      return details::shifted(details::get(srcReg, lane), int64_t(scalarValue), left);                          \
    });                                                                                                         \
  }
OPHOOK_SHIFT(ShiftLeft, true)
OPHOOK_SHIFT(ShiftRight, false)
#undef OPHOOK_SHIFT
#undef OPHOOK_WHOLE
#undef OPHOOK_REAL

// ---- several operations at once: rounded once ----
namespace details {
template <AReg U>
void fused(U& dst, const U& a, const U& b, const U& c, const MaskReg& mask) {
  each(dst, mask, MaskMergeMode::ZEROING, [&](uint32_t lane, bool& is_known) {
    using T = typename U::ActualT;
    is_known = known(a, lane) && known(b, lane) && known(c, lane);
    const auto x = wrapping(get(a, lane)), y = wrapping(get(b, lane)), z = wrapping(get(c, lane));
    if constexpr (std::is_same_v<T, float>) return std::fma(x, y, z);
    else if constexpr (kReal<T>) return narrow<T>(double(x) * y + z);  // exact before it is rounded, or nearly
    else return T(x * y + z);
  });
}
}  // namespace details
template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, details::AReg U>
__simd_callee__ inline void MulAddDst(U& dstReg, U& srcReg0, U& srcReg1, MaskReg& mask) {
  OPHOOK_HEAD(MulAddDst, zeroes, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, half, bfloat16_t, float)
  details::fused(dstReg, srcReg0, srcReg1, U(dstReg), mask);
}
template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, details::AReg U>
__simd_callee__ inline void MulDstAdd(U& dstReg, U& srcReg0, U& srcReg1, MaskReg& mask) {
  OPHOOK_HEAD(MulDstAdd, zeroes, half, bfloat16_t, float)
  details::fused(dstReg, U(dstReg), srcReg0, srcReg1, mask);
}
template <typename T = DefaultType, typename S, MaskMergeMode mode = MaskMergeMode::ZEROING, details::AReg U>
__simd_callee__ inline void Axpy(U& dstReg, U& srcReg, const S scalarValue, MaskReg& mask) {
  OPHOOK_HEAD(Axpy, zeroes, half, float, int64_t, uint64_t)
  U scalars;
  for (uint32_t lane = 0; lane < U::kLanes; ++lane) details::put(scalars, lane, details::scalar<U>(scalarValue));
  details::fused(dstReg, srcReg, scalars, U(dstReg), mask);
}
template <typename T = DefaultType, typename F = DefaultType, RegLayout layout = RegLayout::ZERO,
          MaskMergeMode mode = MaskMergeMode::ZEROING, details::AReg U, details::AReg V>
__simd_callee__ inline void ExpSub(U& dstReg, V& srcReg0, V& srcReg1, MaskReg& mask) {
  OPHOOK_HEAD(ExpSub, zeroes, float)
  static_assert(details::OneOf<typename V::ActualT, half, float>, "ExpSub has not this data type");
  constexpr uint32_t step = 4 / sizeof(typename V::ActualT);
  details::each(dstReg, mask, mode, [&](uint32_t lane, bool& is_known) {
    const uint32_t from = lane * step + (step == 2 ? uint32_t(layout) : 0);
    is_known = details::known(srcReg0, from) && details::known(srcReg1, from);
    return std::exp(details::number(details::get(srcReg0, from)) - details::number(details::get(srcReg1, from)));
  });
}
template <typename T = DefaultType, details::AReg U>
__simd_callee__ inline void Mull(U& dstReg0, U& dstReg1, U& srcReg0, U& srcReg1, MaskReg& mask) {
  static_assert(details::OneOf<typename U::ActualT, int32_t, uint32_t>, "Mull has not this data type");
  U a = srcReg0, b = srcReg1;
  const auto part = [&](int shift) {
    return [&a, &b, shift](uint32_t lane, bool& is_known) {
      using W = std::conditional_t<std::is_signed_v<typename U::ActualT>, int64_t, uint64_t>;
      is_known = details::known(a, lane) && details::known(b, lane);
      return typename U::ActualT((W(details::get(a, lane)) * W(details::get(b, lane))) >> shift);
    };
  };
  details::each(dstReg0, mask, MaskMergeMode::ZEROING, part(0));
  details::each(dstReg1, mask, MaskMergeMode::ZEROING, part(32));
}
// Carries: of 32 bits, a - b as a + ~b + 1.
namespace details {
template <AReg U>
void with_carry(MaskReg& carry, U& dst, const U& a, const U& b, const MaskReg* before, bool minus,
                const MaskReg& mask) {
  static_assert(OneOf<typename U::ActualT, int32_t, uint32_t>, "with a carry there are int32_t and uint32_t");
  MaskReg out;
  each(dst, mask, MaskMergeMode::ZEROING, [&](uint32_t lane, bool& is_known) {
    const uint32_t second = minus ? ~uint32_t(get(b, lane)) : uint32_t(get(b, lane));
    const uint64_t first = before ? before->get(4 * lane) : minus;
    const uint64_t sum = uint64_t(uint32_t(get(a, lane))) + second + first;
    out.set(4 * lane, sum >> 32);
    is_known = known(a, lane) && known(b, lane);
    return typename U::ActualT(uint32_t(sum));
  });
  carry = out;
}
}  // namespace details
#define OPHOOK_CARRY(name, minus)                                                                           \
  template <typename T = DefaultType, details::AReg U>                                                      \
  __simd_callee__ inline void name(MaskReg& carry, U& dstReg, U& srcReg0, U& srcReg1, MaskReg& mask) {      \
    details::with_carry(carry, dstReg, srcReg0, srcReg1, nullptr, minus, mask);                             \
  }                                                                                                         \
  template <typename T = DefaultType, details::AReg U>                                                      \
  __simd_callee__ inline void name##C(MaskReg& carry, U& dstReg, U& srcReg0, U& srcReg1, MaskReg& carrySrc, \
                                      MaskReg& mask) {                                                      \
    const MaskReg before = carrySrc;                                                                        \
    details::with_carry(carry, dstReg, srcReg0, srcReg1, &before, minus, mask);                             \
  }
OPHOOK_CARRY(Add, false)
OPHOOK_CARRY(Sub, true)
#undef OPHOOK_CARRY

}  // namespace AscendC::Reg
