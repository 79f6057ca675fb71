// Functions that an Ascend950 alone has: each element by itself (rows of elementwise.inc, and those whose operands are
// scalars or tensors), and random numbers.
#pragma once

#include "advanced.h"
#include "flexible.h"
#include "math.h"
#include "whole.h"

namespace ophook::rt {
enum class Each : uint8_t {
  bits_and,
  bits_or,
  bits_xor,
  bits_not,
  truth_and,
  truth_or,
  truth_xor,
  truth_not,
  is_inf,
  is_nan,
  is_finite,
  rint,
  round,
  floor,
  ceil,
  trunc,
  fma,
  sin,
  cos,
  hypot,
  neg,
  prelu,
  abs_sub,
  exp_sub,
  multiply_low,
  multiply_high,
  shift_left,
  shift_right,
  clamp,
  where,
};
// An operand: a tensor, the first element of one, or a scalar by its bits.
struct Given {
  enum Kind : uint8_t { tensor, first, scalar } kind;
  Local view;
  uint64_t bits;
};
// `apart`: the destination may lie on no source.
OPHOOK_RT void each_element(const char* call, Each which, bool apart, Local dst, std::initializer_list<Given> sources,
                            const Local* work, int64_t count, At at);
// `rows` of `columns` numbers; from one row to the next the counter goes on by `stride` numbers.
OPHOOK_RT void philox(Local dst, const uint32_t* key, const uint32_t* counter, int rounds, uint32_t stride,
                      uint32_t rows, uint32_t columns, At at);
}  // namespace ophook::rt

namespace AscendC {

namespace element_details {
using ophook::rt::At;
using ophook::rt::Each;
using ophook::rt::Given;
using ophook::rt::Local;
using type_details::is_tensor;
using type_details::TypeOf;
template <typename T>
Given given(const LocalTensor<T>& tensor) {
  return {Given::tensor, tensor.view(), 0};
}
template <typename X, typename = std::enable_if_t<!is_tensor<X>>>
Given given(const X& scalar) {
  const auto value = TypeOf<X>(scalar);
  Given given{Given::scalar, {}, 0};
  given.view.dtype = ophook::rt::dtype_of<TypeOf<X>>();
  __builtin_memcpy(&given.bits, &value, sizeof value);
  return given;
}
template <typename D, typename... S>
void apply(const char* call, Each which, bool apart, const LocalTensor<D>& dst, const Local* work, uint32_t count,
           At at, const S&... sources) {
  ophook::rt::each_element(call, which, apart, dst.view(), {given(sources)...}, work, count, at);
}
// Two destinations of `results` elements each, from what `place` names of the sources, which lie one behind the other
// and have `count` elements each; all of one where it is given twice.
template <typename T, typename F>
void rearrange(const char* call, const LocalTensor<T>& dst0, const LocalTensor<T>& dst1, const LocalTensor<T>& src0,
               const LocalTensor<T>& src1, int32_t count, int32_t results, At at, F place) {
  if (count <= 0 || count % 2) return ophook::rt::refuse(call, "the count is even and not 0", at);
  if (!ophook::rt::whole(call,
                         {whole_details::part(dst0, uint64_t(results), "the first destination"),
                          whole_details::part(dst1, uint64_t(results), "the second destination")},
                         {whole_details::part(src0, uint64_t(count), "the first source"),
                          whole_details::part(src1, uint64_t(count), "the second source")},
                         nullptr, at))
    return;
  std::vector<T> all(whole_details::data(src0), whole_details::data(src0) + count);
  all.insert(all.end(), whole_details::data(src1), whole_details::data(src1) + count);
  for (uint64_t i = 0; i < 2 * uint64_t(results); ++i)
    whole_details::data(i < uint64_t(results) ? dst0 : dst1)[i % uint64_t(results)] = all[place(i, uint64_t(results))];
}
// Of two operands that are both tensors, `index` says which is a scalar.
template <int index, typename A, typename B>
void logical(const char* call, Each which, Local dst, const A& a, const B& b, uint32_t count, At at) {
  Given sources[] = {given(a), given(b)};
  if constexpr (is_tensor<A> && is_tensor<B>) sources[index].kind = Given::first;
  ophook::rt::each_element(call, which, true, dst, {sources[0], sources[1]}, nullptr, count, at);
}
}  // namespace element_details

#define OPHOOK_WHOLES "int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t"
#define OPHOOK_REALS "half, float"
#define OPHOOK_ALL "int8_t, uint8_t, int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float, int64_t, uint64_t"
#define OPHOOK_SOURCES_1 const LocalTensor<U>& src0
#define OPHOOK_SOURCES_2 OPHOOK_SOURCES_1, const LocalTensor<U>& src1
#define OPHOOK_SOURCES_3 OPHOOK_SOURCES_2, const LocalTensor<U>& src2
#define OPHOOK_NAMES_1 src0
#define OPHOOK_NAMES_2 src0, src1
#define OPHOOK_NAMES_3 src0, src1, src2
#define OPHOOK_RESULT_same(name) static_assert(std::is_same_v<T, U>, #name ": the destination has the sources' type");
#define OPHOOK_RESULT_flag(name) static_assert(std::is_same_v<T, bool>, #name ": the destination is of bool");
#define OPHOOK_RESULT_either(name)                               \
  static_assert(std::is_same_v<T, U> || std::is_same_v<T, bool>, \
                #name ": the destination is of bool or has the source's type");
#define OPHOOK_TYPES(name, list) static_assert(type_details::listed<U>(list), #name ": " list);

#define OPHOOK_EACH(name, computed, apart, sources, result, types, work, temporary, ...)                            \
  template <__VA_ARGS__>                                                                                            \
  __aicore__ inline void name(const LocalTensor<T>& dst, OPHOOK_SOURCES_##sources temporary, const uint32_t count,  \
                              ophook::rt::At at = ophook::rt::At::here()) {                                         \
    OPHOOK_TYPES(name, types)                                                                                       \
    OPHOOK_RESULT_##result(name) element_details::apply(#name, ophook::rt::Each::computed, apart, dst, work, count, \
                                                        at, OPHOOK_NAMES_##sources);                                \
  }
#define OPHOOK_CONFIG(name, preset) \
  struct name##Config {             \
    bool isReuseSource;             \
  };                                \
  inline constexpr name##Config preset = {false};
#define OPHOOK_SCRATCH_none(...)
#define OPHOOK_SCRATCH_tmp(...) __VA_ARGS__
#define OPHOOK_TMP , const LocalTensor<uint8_t>& sharedTmpBuffer
#define OPHOOK_WORK advanced_details::Work(sharedTmpBuffer)
#define CONFIGURED(name, preset, computed, sources, result, scratch, types)                                   \
  OPHOOK_CONFIG(name, DEFAULT_##preset##_CONFIG)                                                              \
  OPHOOK_EACH(name, computed, true, sources, result, types, nullptr, ,                                        \
              name##Config config = DEFAULT_##preset##_CONFIG, typename T, typename U)                        \
  OPHOOK_SCRATCH_##scratch(OPHOOK_EACH(name, computed, true, sources, result, types, OPHOOK_WORK, OPHOOK_TMP, \
                                       name##Config config = DEFAULT_##preset##_CONFIG, typename T, typename U))
#define INSTRUCTION(name, computed, sources, result, types) \
  OPHOOK_EACH(name, computed, false, sources, result, types, nullptr, , typename T, typename U)

#include "elementwise.inc"

template <typename T, typename U>
__aicore__ inline void ExpSub(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                              const uint32_t count, ophook::rt::At at = ophook::rt::At::here()) {
  OPHOOK_TYPES(ExpSub, OPHOOK_REALS)
  static_assert(type_details::listed<T>(OPHOOK_REALS), "ExpSub: the destination is of " OPHOOK_REALS);
  element_details::apply("ExpSub", ophook::rt::Each::exp_sub, false, dst, nullptr, count, at, src0, src1);
}
template <typename T, typename U>
__aicore__ inline void IsFinite(const LocalTensor<U>& dst, const LocalTensor<T>& src, uint32_t calCount,
                                ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(type_details::listed<T>("half, bfloat16_t, float"), "IsFinite: half, bfloat16_t, float");
  static_assert(std::is_same_v<T, U> || std::is_same_v<U, bool>,
                "IsFinite: the destination is of bool or has the source's type");
  element_details::apply("IsFinite", ophook::rt::Each::is_finite, true, dst, nullptr, calCount, at, src);
}
template <typename T, bool isSetMask = true>
__aicore__ inline void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,
                            ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(type_details::listed<T>(OPHOOK_ALL), "Copy: " OPHOOK_ALL);
  ophook::rt::copy_blocks(dst.view(), src.view(), cover::count(int32_t(count)), {}, {}, at);
}
// One element of each in turn, over both destinations; and back.
template <typename T>
__aicore__ inline void Interleave(const LocalTensor<T>& dst0, const LocalTensor<T>& dst1, const LocalTensor<T>& src0,
                                  const LocalTensor<T>& src1, const int32_t count,
                                  ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(type_details::listed<T>(OPHOOK_ALL), "Interleave: " OPHOOK_ALL);
  element_details::rearrange("Interleave", dst0, dst1, src0, src1, count, count, at,
                             [](uint64_t i, uint64_t half) { return i / 2 + i % 2 * half; });
}
template <typename T>
__aicore__ inline void DeInterleave(const LocalTensor<T>& dst0, const LocalTensor<T>& dst1, const LocalTensor<T>& src0,
                                    const LocalTensor<T>& src1, const int32_t count,
                                    ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(type_details::listed<T>(OPHOOK_ALL), "DeInterleave: " OPHOOK_ALL);
  element_details::rearrange("DeInterleave", dst0, dst1, src0, src1, count, count, at,
                             [](uint64_t i, uint64_t half) { return i % half * 2 + i / half; });
}
template <typename T>
__aicore__ inline void DeInterleave(const LocalTensor<T>& dst0, const LocalTensor<T>& dst1, const LocalTensor<T>& src,
                                    const int32_t srcCount, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(type_details::listed<T>(OPHOOK_ALL), "DeInterleave: " OPHOOK_ALL);
  element_details::rearrange("DeInterleave", dst0, dst1, src, src, srcCount, srcCount / 2, at,
                             [](uint64_t i, uint64_t half) { return i % half * 2 + i / half; });
}
// To a whole number of the same type.
template <typename T, RoundMode roundMode>
__aicore__ inline void Truncate(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,
                                ophook::rt::At at = ophook::rt::At::here()) {
  using ophook::rt::Each;
  static_assert(type_details::listed<T>("half, float, bfloat16_t"), "Truncate: half, float, bfloat16_t");
  static_assert(roundMode == RoundMode::CAST_RINT || roundMode == RoundMode::CAST_ROUND ||
                    roundMode == RoundMode::CAST_FLOOR || roundMode == RoundMode::CAST_CEIL ||
                    roundMode == RoundMode::CAST_TRUNC,
                "Truncate: CAST_RINT, CAST_ROUND, CAST_FLOOR, CAST_CEIL or CAST_TRUNC");
  constexpr Each which = roundMode == RoundMode::CAST_RINT    ? Each::rint
                         : roundMode == RoundMode::CAST_ROUND ? Each::round
                         : roundMode == RoundMode::CAST_FLOOR ? Each::floor
                         : roundMode == RoundMode::CAST_CEIL  ? Each::ceil
                                                              : Each::trunc;
  element_details::apply("Truncate", which, false, dst, nullptr, count, at, src);
}
// The lower half of the product and the upper one, which comes first: the lower one may go onto a source.
template <typename T>
__aicore__ inline void Mull(const LocalTensor<T>& dst0, const LocalTensor<T>& dst1, const LocalTensor<T>& src0,
                            const LocalTensor<T>& src1, const uint32_t count,
                            ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(type_details::listed<T>("int32_t, uint32_t"), "Mull: int32_t, uint32_t");
  using ophook::rt::Each;
  element_details::apply("Mull", Each::multiply_high, true, dst1, nullptr, count, at, src0, src1);
  element_details::apply("Mull", Each::multiply_low, false, dst0, nullptr, count, at, src0, src1);
}
// By as many bits as an element of a tensor says.
#define OPHOOK_SHIFT(name, computed)                                                                                 \
  template <typename T, typename S>                                                                                  \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<S>& src1,     \
                              const int32_t& count, ophook::rt::At at = ophook::rt::At::here()) {                    \
    static_assert(type_details::listed<T>(OPHOOK_WHOLES), #name ": " OPHOOK_WHOLES);                                 \
    static_assert(type_details::listed<S>("int8_t, int16_t, int32_t, int64_t"),                                      \
                  #name ": by int8_t, int16_t, int32_t, int64_t");                                                   \
    element_details::apply(#name, ophook::rt::Each::computed, false, dst, nullptr, uint32_t(count), at, src0, src1); \
  }
OPHOOK_SHIFT(ShiftLeft, shift_left)
OPHOOK_SHIFT(ShiftRight, shift_right)
#undef OPHOOK_SHIFT

#define OPHOOK_HYPOT(work, temporary, length, ...)                                                       \
  template <typename T, bool isReuseSource = false>                                                      \
  __aicore__ inline void Hypot(const LocalTensor<T>& dst, const LocalTensor<T>& src0,                    \
                               const LocalTensor<T>& src1 temporary __VA_ARGS__,                         \
                               ophook::rt::At at = ophook::rt::At::here()) {                             \
    static_assert(type_details::listed<T>("half, bfloat16_t, float"), "Hypot: half, bfloat16_t, float"); \
    element_details::apply("Hypot", ophook::rt::Each::hypot, true, dst, work, length, at, src0, src1);   \
  }
OPHOOK_HYPOT(OPHOOK_WORK, OPHOOK_TMP, calCount, , const uint32_t calCount)
OPHOOK_HYPOT(OPHOOK_WORK, OPHOOK_TMP, src0.GetSize())
OPHOOK_HYPOT(nullptr, , calCount, , const uint32_t calCount)
OPHOOK_HYPOT(nullptr, , src0.GetSize())
#undef OPHOOK_HYPOT

OPHOOK_CONFIG(SinCos, DEFAULT_SINCOS_CONFIG)
#define OPHOOK_SIN_COS(work, temporary)                                                           \
  template <SinCosConfig config = DEFAULT_SINCOS_CONFIG, typename T>                              \
  __aicore__ inline void SinCos(const LocalTensor<T>& dst0, const LocalTensor<T>& dst1,           \
                                const LocalTensor<T>& src temporary, const uint32_t count,        \
                                ophook::rt::At at = ophook::rt::At::here()) {                     \
    static_assert(type_details::listed<T>(OPHOOK_REALS), "SinCos: " OPHOOK_REALS);                \
    element_details::apply("SinCos", ophook::rt::Each::sin, true, dst0, work, count, at, src);    \
    element_details::apply("SinCos", ophook::rt::Each::cos, true, dst1, nullptr, count, at, src); \
  }
OPHOOK_SIN_COS(nullptr, )
OPHOOK_SIN_COS(OPHOOK_WORK, OPHOOK_TMP)
#undef OPHOOK_SIN_COS

// With a scalar on either side, or an element of a tensor in the place that the configuration names.
#define OPHOOK_LOGICAL(name, preset, computed)                                                                         \
  struct name##Config {                                                                                                \
    bool isReuseSource;                                                                                                \
    int8_t scalarTensorIndex;                                                                                          \
  };                                                                                                                   \
  inline constexpr name##Config preset = {false, 1};                                                                   \
  template <name##Config config = preset, typename T, typename A, typename B>                                          \
  __aicore__ inline void name(const LocalTensor<T>& dst, const A& src0, const B& src1, const uint32_t count,           \
                              ophook::rt::At at = ophook::rt::At::here()) {                                            \
    using U = type_details::TypeOf<A>;                                                                                 \
    OPHOOK_TYPES(name, "bool, " OPHOOK_ALL)                                                                            \
    OPHOOK_RESULT_flag(name) static_assert(std::is_same_v<U, type_details::TypeOf<B>>,                                 \
                                           #name ": the scalar must have the tensor's type");                          \
    static_assert(type_details::is_tensor<A> || type_details::is_tensor<B>,                                            \
                  #name ": one operand at least is a tensor");                                                         \
    element_details::logical<config.scalarTensorIndex != 0>(#name, ophook::rt::Each::computed, dst.view(), src0, src1, \
                                                            count, at);                                                \
  }
OPHOOK_LOGICAL(LogicalAnds, DEFAULT_LOGICAL_ANDS_CONFIG, truth_and)
OPHOOK_LOGICAL(LogicalOrs, DEFAULT_LOGICAL_ORS_CONFIG, truth_or)
#undef OPHOOK_LOGICAL

OPHOOK_CONFIG(Clamp, DEFAULT_CLAMP_CONFIG)
template <ClampConfig config = DEFAULT_CLAMP_CONFIG, typename U, typename A, typename B>
__aicore__ inline void Clamp(const LocalTensor<U>& dst, const LocalTensor<U>& src, const A& min, const B& max,
                             const uint32_t count, ophook::rt::At at = ophook::rt::At::here()) {
  OPHOOK_TYPES(Clamp, OPHOOK_ALL)
  static_assert(flexible_details::alike<U, A, B>, "Clamp: min and max have the destination's type");
  element_details::apply("Clamp", ophook::rt::Each::clamp, true, dst, nullptr, count, at, src, min, max);
}
template <typename U, typename A, typename B, typename V>
__aicore__ inline void Where(const LocalTensor<U>& dst, const A& src0, const B& src1, const LocalTensor<V>& condition,
                             const uint32_t count, ophook::rt::At at = ophook::rt::At::here()) {
  OPHOOK_TYPES(Where, "bool, " OPHOOK_ALL)
  static_assert(flexible_details::alike<U, A, B>, "Where: the sources have the destination's type");
  static_assert(std::is_same_v<V, bool>, "Where: the condition is of bool");
  element_details::apply("Where", ophook::rt::Each::where, true, dst, nullptr, count, at, src0, src1, condition);
}
#undef OPHOOK_CONFIG
#undef OPHOOK_EACH
#undef OPHOOK_RESULT_same
#undef OPHOOK_RESULT_flag
#undef OPHOOK_RESULT_either
#undef OPHOOK_TYPES
#undef OPHOOK_SOURCES_1
#undef OPHOOK_SOURCES_2
#undef OPHOOK_SOURCES_3
#undef OPHOOK_NAMES_1
#undef OPHOOK_NAMES_2
#undef OPHOOK_NAMES_3
#undef OPHOOK_SCRATCH_none
#undef OPHOOK_SCRATCH_tmp
#undef OPHOOK_TMP
#undef OPHOOK_WORK
#undef OPHOOK_WHOLES
#undef OPHOOK_REALS
#undef OPHOOK_ALL

// Philox4x32 of Salmon et al. (2011): integers over all their range, float in [0, 1) from the lowest 23 bits.
using PhiloxKey = uint32_t[2];
using PhiloxCounter = uint32_t[4];
struct PhiloxRandomParams {
  uint32_t stride, row, column;
};
template <uint16_t Rounds = 7, typename T>
__aicore__ inline void PhiloxRandom(const LocalTensor<T>& dst, const PhiloxKey& philoxKey,
                                    const PhiloxCounter& philoxCounter, const PhiloxRandomParams& params,
                                    ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(Rounds == 7 || Rounds == 10, "PhiloxRandom: Rounds is 7 or 10");
  static_assert(type_details::listed<T>("uint32_t, int32_t, float"), "PhiloxRandom: uint32_t, int32_t, float");
  if (!params.row || !params.column || params.column % 4 || params.stride % 4 || params.stride < params.column)
    return ophook::rt::refuse("PhiloxRandom", "column and stride are multiples of 4, stride is at least column", at);
  ophook::rt::philox(dst.view(), philoxKey, philoxCounter, Rounds, params.stride, params.row, params.column, at);
}
template <uint16_t Rounds = 7, typename T>
__aicore__ inline void PhiloxRandom(const LocalTensor<T>& dst, const PhiloxKey& philoxKey,
                                    const PhiloxCounter& philoxCounter, uint16_t count,
                                    ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(Rounds == 7 || Rounds == 10, "PhiloxRandom: Rounds is 7 or 10");
  static_assert(type_details::listed<T>("uint32_t, int32_t, float"), "PhiloxRandom: uint32_t, int32_t, float");
  ophook::rt::philox(dst.view(), philoxKey, philoxCounter, Rounds, count, 1, count, at);
}

}  // namespace AscendC
