// The math library: functions of one tensor (rows of math.inc), powers, and limits. On the device each is a sequence of
// vector instructions; here one that reads and writes as they do. A temporary tensor is written to.
#pragma once

#include "algorithms.h"
#include "vector.h"

namespace ophook::rt {
enum class Math : uint8_t {
#define MATH(name, ...) name,
#include "math.inc"
};
enum class Pair : uint8_t { power, fmod, bits_xor, at_most, at_least };
// `reuse`: some functions leave their own numbers in a source of float.
OPHOOK_RT void math(Math which, Local dst, Local src, const Local* work, int64_t count, bool reuse, At at);
// b, or where it is NULL the scalar; `reversed`: the scalar comes first.
OPHOOK_RT void math_pair(const char* call, Pair which, Local dst, Local a, const Local* b, Scalar scalar, bool reversed,
                         const Local* work, int64_t count, At at);
}  // namespace ophook::rt

namespace AscendC {

// calCount is optional: without it, the source's size. `takes`: what the page has for the data type.
#define OPHOOK_MATH(name, takes, ...)                                                                                  \
  template <__VA_ARGS__>                                                                                               \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t calCount,           \
                              ophook::rt::At at = ophook::rt::At::here()) {                                            \
    takes ophook::rt::math(ophook::rt::Math::name, dst.view(), src.view(), nullptr, calCount, isReuseSource, at);      \
  }                                                                                                                    \
  template <__VA_ARGS__>                                                                                               \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                    \
                              ophook::rt::At at = ophook::rt::At::here()) {                                            \
    takes ophook::rt::math(ophook::rt::Math::name, dst.view(), src.view(), nullptr, src.GetSize(), isReuseSource, at); \
  }                                                                                                                    \
  template <__VA_ARGS__>                                                                                               \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,   \
                              const uint32_t calCount, ophook::rt::At at = ophook::rt::At::here()) {                   \
    const auto work = tmp.view();                                                                                      \
    takes ophook::rt::math(ophook::rt::Math::name, dst.view(), src.view(), &work, calCount, isReuseSource, at);        \
  }                                                                                                                    \
  template <__VA_ARGS__>                                                                                               \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,   \
                              ophook::rt::At at = ophook::rt::At::here()) {                                            \
    const auto work = tmp.view();                                                                                      \
    takes ophook::rt::math(ophook::rt::Math::name, dst.view(), src.view(), &work, src.GetSize(), isReuseSource, at);   \
  }                                                                                                                    \
  template <__VA_ARGS__, OPHOOK_ONLY(N, uint32_t)>                                                                     \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const N calCount) {                \
    takes ophook::rt::math(ophook::rt::Math::name, dst.view(), src.view(), nullptr, calCount, isReuseSource,           \
                           kByAddress);                                                                                \
  }                                                                                                                    \
  template <__VA_ARGS__, OPHOOK_ONLY(N, uint32_t)>                                                                     \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,   \
                              const N calCount) {                                                                      \
    const auto work = tmp.view();                                                                                      \
    takes ophook::rt::math(ophook::rt::Math::name, dst.view(), src.view(), &work, calCount, isReuseSource,             \
                           kByAddress);                                                                                \
  }
#define OPHOOK_TAKES(name, preset)                                                                                     \
  static_assert(algorithm_details::configured(&config, &preset), #name ": a configuration is for an Ascend950 alone"); \
  static_assert(algorithm_details::takes<T>(config), #name ": this algorithm is for float alone (" #name ".md)");
#define MATH(name, ...) OPHOOK_MATH(name, , typename T, bool isReuseSource = false)
#define MATH_WITH(name, preset, ...)                                                    \
  OPHOOK_MATH(name, OPHOOK_TAKES(name, preset), typename T, bool isReuseSource = false, \
              OPHOOK_CONFIG(name##Config) config = preset)
#include "math.inc"

// Of two whole numbers: how many of `b` it takes for `a`.
template <typename A, typename B, typename = std::enable_if_t<std::is_integral_v<A> && std::is_integral_v<B>>>
__aicore__ constexpr std::common_type_t<A, B> Ceil(A a, B b) {
  return b ? std::common_type_t<A, B>((a + b - 1) / b) : 0;
}

namespace math_details {
using ophook::rt::At;
using ophook::rt::Local;
using ophook::rt::Pair;
template <typename T>
void pair(const char* call, Pair which, const LocalTensor<T>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b,
          const Local* work, int64_t count, At at) {
  const auto second = b.view();
  ophook::rt::math_pair(call, which, dst.view(), a.view(), &second, {}, false, work, count, at);
}
template <typename T>
void pair(const char* call, Pair which, const LocalTensor<T>& dst, const LocalTensor<T>& a, const T& b,
          const Local* work, int64_t count, At at) {
  ophook::rt::math_pair(call, which, dst.view(), a.view(), nullptr, ophook::rt::scalar_of(b), false, work, count, at);
}
template <typename T>
void pair(const char* call, Pair which, const LocalTensor<T>& dst, const T& a, const LocalTensor<T>& b,
          const Local* work, int64_t count, At at) {
  ophook::rt::math_pair(call, which, dst.view(), b.view(), nullptr, ophook::rt::scalar_of(a), true, work, count, at);
}
template <typename T>
constexpr bool takes(const PowerConfig& config) {  // the algorithm of integers has no bfloat16_t
  constexpr bool brain = std::is_same_v<T, bfloat16_t>;
  constexpr bool real = brain || std::is_same_v<T, half> || std::is_same_v<T, float>;
  return config.algo == PowerAlgo::INTRINSIC ? !brain : real;
}
constexpr bool takes(const FmodConfig& config) {
  return config.iterationNum >= 1 && config.iterationNum <= FMOD_ITERATION_NUM_MAX;
}
}  // namespace math_details

// Two tensors, or with Power a scalar in the place of one; a tensor for what lies between, or none; a count, or the
// size of the source.
#define OPHOOK_PAIR(name, which, takes, first, second, source, ...)                                                \
  template <__VA_ARGS__>                                                                                           \
  __aicore__ inline void name(const LocalTensor<T>& dst, first src0, second src1, const LocalTensor<uint8_t>& tmp, \
                              const uint32_t calCount, ophook::rt::At at = ophook::rt::At::here()) {               \
    const auto work = tmp.view();                                                                                  \
    takes math_details::pair(#name, ophook::rt::Pair::which, dst, src0, src1, &work, calCount, at);                \
  }                                                                                                                \
  template <__VA_ARGS__>                                                                                           \
  __aicore__ inline void name(const LocalTensor<T>& dst, first src0, second src1, const LocalTensor<uint8_t>& tmp, \
                              ophook::rt::At at = ophook::rt::At::here()) {                                        \
    const auto work = tmp.view();                                                                                  \
    takes math_details::pair(#name, ophook::rt::Pair::which, dst, src0, src1, &work, source.GetSize(), at);        \
  }                                                                                                                \
  template <__VA_ARGS__>                                                                                           \
  __aicore__ inline void name(const LocalTensor<T>& dst, first src0, second src1, const uint32_t calCount,         \
                              ophook::rt::At at = ophook::rt::At::here()) {                                        \
    takes math_details::pair(#name, ophook::rt::Pair::which, dst, src0, src1, nullptr, calCount, at);              \
  }                                                                                                                \
  template <__VA_ARGS__>                                                                                           \
  __aicore__ inline void name(const LocalTensor<T>& dst, first src0, second src1,                                  \
                              ophook::rt::At at = ophook::rt::At::here()) {                                        \
    takes math_details::pair(#name, ophook::rt::Pair::which, dst, src0, src1, nullptr, source.GetSize(), at);      \
  }
#define OPHOOK_FMOD \
  OPHOOK_TAKES(Fmod, DEFAULT_FMOD_CONFIG) static_assert(math_details::takes(config), "Fmod: iterationNum is 1 to 11");
#define OPHOOK_POWER                      \
  OPHOOK_TAKES(Power, defaultPowerConfig) \
  static_assert(                          \
      math_details::takes<T>(config),     \
      "Power: INTRINSIC has integers, half and float, DOUBLE_FLOAT_TECH bfloat16_t, half and float (Power.md)");
#define OPHOOK_POWERS(first, second, source)                                                             \
  OPHOOK_PAIR(Power, power, OPHOOK_POWER, first, second, source, typename T, bool isReuseSource = false, \
              OPHOOK_CONFIG(PowerConfig) config = defaultPowerConfig)
OPHOOK_POWERS(const LocalTensor<T>&, const LocalTensor<T>&, src0)
OPHOOK_POWERS(const LocalTensor<T>&, const T&, src0)
OPHOOK_POWERS(const T&, const LocalTensor<T>&, src1)
OPHOOK_PAIR(Fmod, fmod, OPHOOK_FMOD, const LocalTensor<T>&, const LocalTensor<T>&, src0, typename T,
            bool isReuseSource = false, OPHOOK_CONFIG(FmodConfig) config = DEFAULT_FMOD_CONFIG)
OPHOOK_PAIR(Xor, bits_xor, , const LocalTensor<T>&, const LocalTensor<T>&, src0, typename T, bool isReuseSource = false)
#undef OPHOOK_PAIR
#undef OPHOOK_POWERS
#undef OPHOOK_POWER
#undef OPHOOK_FMOD
#undef OPHOOK_TAKES
#undef OPHOOK_MATH

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
