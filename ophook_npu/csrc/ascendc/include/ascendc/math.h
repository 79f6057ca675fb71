// The math library: functions of one tensor (rows of math.inc), powers, and limits. On the device each is a sequence of
// vector instructions; here one that reads and writes as they do. A temporary tensor is written to.
#pragma once

#include "vector.h"

namespace ophook::rt {
enum class Math : uint8_t {
#define MATH(name, ...) name,
#include "math.inc"
#undef MATH
};
enum class Pair : uint8_t { power, fmod, bits_xor, at_most, at_least };
OPHOOK_RT void math(Math which, Local dst, Local src, const Local* work, int64_t count, At at);
// b, or where it is NULL the scalar; `reversed`: the scalar comes first.
OPHOOK_RT void math_pair(const char* call, Pair which, Local dst, Local a, const Local* b, Scalar scalar, bool reversed,
                         const Local* work, int64_t count, At at);
}  // namespace ophook::rt

namespace AscendC {

// calCount is optional: without it, the source's size.
#define MATH(name, ...)                                                                                              \
  template <typename T, bool isReuseSource = false>                                                                  \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
                              ophook::rt::At at = ophook::rt::At::here()) {                                          \
    ophook::rt::math(ophook::rt::Math::name, dst.view(), src.view(), nullptr, src.GetSize(), at);                    \
  }                                                                                                                  \
  template <typename T, bool isReuseSource = false>                                                                  \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t calCount,         \
                              ophook::rt::At at = ophook::rt::At::here()) {                                          \
    ophook::rt::math(ophook::rt::Math::name, dst.view(), src.view(), nullptr, calCount, at);                         \
  }                                                                                                                  \
  template <typename T, bool isReuseSource = false>                                                                  \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, \
                              ophook::rt::At at = ophook::rt::At::here()) {                                          \
    const auto work = tmp.view();                                                                                    \
    ophook::rt::math(ophook::rt::Math::name, dst.view(), src.view(), &work, src.GetSize(), at);                      \
  }                                                                                                                  \
  template <typename T, bool isReuseSource = false>                                                                  \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, \
                              const uint32_t calCount, ophook::rt::At at = ophook::rt::At::here()) {                 \
    const auto work = tmp.view();                                                                                    \
    ophook::rt::math(ophook::rt::Math::name, dst.view(), src.view(), &work, calCount, at);                           \
  }                                                                                                                  \
  template <typename T, bool isReuseSource = false, OPHOOK_ONLY(N, uint32_t)>                                        \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const N calCount) {              \
    name<T, isReuseSource>(dst, src, calCount, kByAddress);                                                          \
  }                                                                                                                  \
  template <typename T, bool isReuseSource = false, OPHOOK_ONLY(N, uint32_t)>                                        \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, \
                              const N calCount) {                                                                    \
    name<T, isReuseSource>(dst, src, tmp, calCount, kByAddress);                                                     \
  }
#include "math.inc"
#undef MATH

// Of two whole numbers: how many of `b` it takes for `a`.
template <typename A, typename B, typename = std::enable_if_t<std::is_integral_v<A> && std::is_integral_v<B>>>
__aicore__ constexpr std::common_type_t<A, B> Ceil(A a, B b) {
  return b ? std::common_type_t<A, B>((a + b - 1) / b) : 0;
}

#define OPHOOK_PAIR(name, which)                                                                                     \
  template <typename T, bool isReuseSource = false>                                                                  \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,     \
                              const uint32_t calCount, ophook::rt::At at = ophook::rt::At::here()) {                 \
    const auto b = src1.view();                                                                                      \
    ophook::rt::math_pair(#name, ophook::rt::Pair::which, dst.view(), src0.view(), &b, {}, false, nullptr, calCount, \
                          at);                                                                                       \
  }                                                                                                                  \
  template <typename T, bool isReuseSource = false>                                                                  \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,     \
                              const LocalTensor<uint8_t>& tmp, const uint32_t calCount,                              \
                              ophook::rt::At at = ophook::rt::At::here()) {                                          \
    const auto b = src1.view(), work = tmp.view();                                                                   \
    ophook::rt::math_pair(#name, ophook::rt::Pair::which, dst.view(), src0.view(), &b, {}, false, &work, calCount,   \
                          at);                                                                                       \
  }
#define OPHOOK_PAIR_ALL(name)                                                                                    \
  template <typename T, bool isReuseSource = false>                                                              \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, \
                              const LocalTensor<uint8_t>& tmp, ophook::rt::At at = ophook::rt::At::here()) {     \
    name<T, isReuseSource>(dst, src0, src1, tmp, src0.GetSize(), at);                                            \
  }                                                                                                              \
  template <typename T, bool isReuseSource = false>                                                              \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, \
                              ophook::rt::At at = ophook::rt::At::here()) {                                      \
    name<T, isReuseSource>(dst, src0, src1, src0.GetSize(), at);                                                 \
  }
OPHOOK_PAIR(Power, power)
OPHOOK_PAIR(Fmod, fmod)
OPHOOK_PAIR(Xor, bits_xor)
OPHOOK_PAIR_ALL(Power)
OPHOOK_PAIR_ALL(Fmod)
OPHOOK_PAIR_ALL(Xor)
#undef OPHOOK_PAIR
#undef OPHOOK_PAIR_ALL

// A power with a scalar, a tensor for what lies between, and a count or the whole of it.
#define OPHOOK_POWER(first, second, source, base, reversed)                                               \
  template <typename T, bool isReuseSource = false>                                                       \
  __aicore__ inline void Power(const LocalTensor<T>& dst, first, second, const LocalTensor<uint8_t>& tmp, \
                               const uint32_t calCount, ophook::rt::At at = ophook::rt::At::here()) {     \
    const auto work = tmp.view();                                                                         \
    ophook::rt::math_pair("Power", ophook::rt::Pair::power, dst.view(), source.view(), nullptr,           \
                          ophook::rt::scalar_of(base), reversed, &work, calCount, at);                    \
  }                                                                                                       \
  template <typename T, bool isReuseSource = false>                                                       \
  __aicore__ inline void Power(const LocalTensor<T>& dst, first, second, const LocalTensor<uint8_t>& tmp, \
                               ophook::rt::At at = ophook::rt::At::here()) {                              \
    Power<T, isReuseSource>(dst, src0, src1, tmp, source.GetSize(), at);                                  \
  }
OPHOOK_POWER(const LocalTensor<T>& src0, const T& src1, src0, src1, false)
OPHOOK_POWER(const T& src0, const LocalTensor<T>& src1, src1, src0, true)
#undef OPHOOK_POWER

template <typename T, bool isReuseSource = false>
__aicore__ inline void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const T& src1,
                             const uint32_t calCount, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::math_pair("Power", ophook::rt::Pair::power, dst.view(), src0.view(), nullptr, ophook::rt::scalar_of(src1),
                        false, nullptr, calCount, at);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void Power(const LocalTensor<T>& dst, const T& src0, const LocalTensor<T>& src1,
                             const uint32_t calCount, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::math_pair("Power", ophook::rt::Pair::power, dst.view(), src1.view(), nullptr, ophook::rt::scalar_of(src0),
                        true, nullptr, calCount, at);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void ClampMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T scalar,
                                const uint32_t calCount, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::math_pair("ClampMax", ophook::rt::Pair::at_most, dst.view(), src.view(), nullptr,
                        ophook::rt::scalar_of(scalar), false, nullptr, calCount, at);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void ClampMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T scalar,
                                const uint32_t calCount, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::math_pair("ClampMin", ophook::rt::Pair::at_least, dst.view(), src.view(), nullptr,
                        ophook::rt::scalar_of(scalar), false, nullptr, calCount, at);
}

}  // namespace AscendC
