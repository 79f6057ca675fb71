// Instructions of an Ascend950 with a scalar on either side, which may be an element of a tensor: `config` says on
// which side that one stands.
#pragma once

#include "reduce.h"
#include "type_names.h"

namespace ophook::rt {
// The first element of a tensor as a scalar of an instruction that writes `dst`. False: a finding.
OPHOOK_RT bool first_element(const char* call, Local tensor, Local dst, Scalar& value, At at);
OPHOOK_RT void scale_and_cast(const char* call, Local dst, Local src, Scalar scalar, int64_t count, At at);
}  // namespace ophook::rt

namespace AscendC {

struct BinaryDefaultType {};
struct BinaryConfig {
  int8_t scalarTensorIndex = 1;
};
inline constexpr BinaryConfig DEFAULT_BINARY_CONFIG = {1};

namespace flexible_details {
using ophook::rt::At;
using ophook::rt::Local;
using ophook::rt::Scalar;
using type_details::is_tensor;
using type_details::listed;
using type_details::TypeOf;

// Which operand is the vector, and what the other one is worth.
struct Placed {
  Local vector;
  Scalar scalar;
  bool scalar_first, good;
};
template <BinaryConfig config, typename S, typename V>
constexpr bool scalar_first() {
  return is_tensor<S> && is_tensor<V> ? config.scalarTensorIndex == 0 : !is_tensor<S>;
}
template <BinaryConfig config, typename U, typename S, typename V>
Placed place(const char* call, const U& dst, const S& src0, const V& src1, At at) {
  constexpr bool first = scalar_first<config, S, V>();
  Placed placed{{}, {}, first, true};
  if constexpr (is_tensor<S> && is_tensor<V>) {
    placed.vector = first ? src1.view() : src0.view();
    placed.good = ophook::rt::first_element(call, first ? src0.view() : src1.view(), dst.view(), placed.scalar, at);
  } else if constexpr (first) {
    placed.vector = src1.view(), placed.scalar = ophook::rt::scalar_of(TypeOf<S>(src0));
  } else {
    placed.vector = src0.view(), placed.scalar = ophook::rt::scalar_of(TypeOf<V>(src1));
  }
  return placed;
}
template <typename T, typename S, typename V>
constexpr bool alike = std::is_same_v<T, TypeOf<S>> && std::is_same_v<T, TypeOf<V>>;
// A type that is named chooses the form whose scalar comes behind.
template <typename T>
using Unnamed = std::enable_if_t<std::is_same_v<T, BinaryDefaultType>>;
template <typename U>
using Tensor = std::enable_if_t<is_tensor<U>>;
constexpr CMPMODE exchanged(CMPMODE mode) {
  switch (mode) {
    case CMPMODE::LT: return CMPMODE::GT;
    case CMPMODE::GT: return CMPMODE::LT;
    case CMPMODE::LE: return CMPMODE::GE;
    case CMPMODE::GE: return CMPMODE::LE;
    default: return mode;
  }
}
}  // namespace flexible_details

#define OPHOOK_OPERANDS(name, element)                                                                                 \
  static_assert(type_details::is_tensor<S> || type_details::is_tensor<V>, #name ": one operand at least is a tensor"); \
  static_assert(flexible_details::alike<element, S, V>,                                                                \
                #name ": the scalar must have the tensor's type: static_cast<T>(…)");
#define OPHOOK_FLEXIBLE_OVER(name, reversed, types, only, mask_type)                                             \
  template <typename T = BinaryDefaultType, bool isSetMask = true, BinaryConfig config = DEFAULT_BINARY_CONFIG,  \
            typename U, typename S, typename V, typename = only<T>, typename = flexible_details::Tensor<U>>      \
  __aicore__ inline void name(const U& dst, const S& src0, const V& src1, mask_type, const uint8_t repeatTime,   \
                              const UnaryRepeatParams& p, ophook::rt::At at = ophook::rt::At::here()) {          \
    using Type = type_details::TypeOf<U>;                                                                        \
    static_assert(type_details::listed<Type>(types), #name ": with a mask " types);                              \
    OPHOOK_OPERANDS(name, Type)                                                                                  \
    const auto placed = flexible_details::place<config>(#name, dst, src0, src1, at);                             \
    if (placed.good)                                                                                             \
      ophook::rt::with_scalar(placed.scalar_first ? ophook::rt::Op::reversed : ophook::rt::Op::name, dst.view(), \
                              placed.vector, placed.scalar, cover::of<Type>(mask, repeatTime, isSetMask),        \
                              {p.dstBlkStride, p.dstRepStride}, {p.srcBlkStride, p.srcRepStride}, at);           \
  }
#define OPHOOK_FLEXIBLE(name, reversed, types, masked, only)                                                     \
  template <typename T = BinaryDefaultType, bool isSetMask = true, BinaryConfig config = DEFAULT_BINARY_CONFIG,  \
            typename U, typename S, typename V, typename = only<T>, typename = flexible_details::Tensor<U>>      \
  __aicore__ inline void name(const U& dst, const S& src0, const V& src1, const int32_t& count,                  \
                              ophook::rt::At at = ophook::rt::At::here()) {                                      \
    using Type = type_details::TypeOf<U>;                                                                        \
    static_assert(type_details::listed<Type>(types), #name ": " types);                                          \
    OPHOOK_OPERANDS(name, Type)                                                                                  \
    const auto placed = flexible_details::place<config>(#name, dst, src0, src1, at);                             \
    if (placed.good)                                                                                             \
      ophook::rt::with_scalar(placed.scalar_first ? ophook::rt::Op::reversed : ophook::rt::Op::name, dst.view(), \
                              placed.vector, placed.scalar, cover::first(count, isSetMask), {}, {}, at);         \
  }                                                                                                              \
  OPHOOK_FLEXIBLE_OVER(name, reversed, masked, only, uint64_t mask)                                              \
  OPHOOK_FLEXIBLE_OVER(name, reversed, masked, only, uint64_t mask[])
#define OPHOOK_NUMBERS "half, bfloat16_t, int16_t, int32_t, float"
//              name, with the scalar in front; data types with a count; with a mask; whether there is another form
OPHOOK_FLEXIBLE(Adds, Adds, OPHOOK_NUMBERS ", uint8_t, int8_t, uint64_t, int64_t", OPHOOK_NUMBERS,
                flexible_details::Unnamed)
OPHOOK_FLEXIBLE(Subs, SubsReversed, OPHOOK_NUMBERS ", int64_t, uint64_t", OPHOOK_NUMBERS, std::void_t)
OPHOOK_FLEXIBLE(Muls, Muls, OPHOOK_NUMBERS ", int64_t, uint64_t", OPHOOK_NUMBERS, flexible_details::Unnamed)
OPHOOK_FLEXIBLE(Divs, DivsReversed, "half, float, int64_t, uint64_t", "half, float", std::void_t)
OPHOOK_FLEXIBLE(Maxs, Maxs, OPHOOK_NUMBERS ", int8_t, uint8_t, int64_t, uint64_t", OPHOOK_NUMBERS,
                flexible_details::Unnamed)
OPHOOK_FLEXIBLE(Mins, Mins, OPHOOK_NUMBERS ", int8_t, uint8_t, int64_t, uint64_t", OPHOOK_NUMBERS,
                flexible_details::Unnamed)
OPHOOK_FLEXIBLE(Ands, Ands, "int16_t, uint16_t, int64_t, uint64_t", "int16_t, uint16_t", std::void_t)
OPHOOK_FLEXIBLE(Ors, Ors, "int16_t, uint16_t, int64_t, uint64_t", "int16_t, uint16_t", std::void_t)
#undef OPHOOK_FLEXIBLE
#undef OPHOOK_FLEXIBLE_OVER

template <typename T>
__aicore__ inline void Duplicate(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count,
                                 ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::Scalar value{};
  if (ophook::rt::first_element("Duplicate", src.view(), dst.view(), value, at))
    ophook::rt::duplicate(dst.view(), value, cover::count(count), {}, at);
}

// Of a scalar on the left the comparison is turned round.
#define OPHOOK_COMPARES_OVER(types, cover_, step, ...)                                                                \
  template <typename T0 = BinaryDefaultType, typename T1 = BinaryDefaultType, bool isSetMask = true,                  \
            BinaryConfig config = DEFAULT_BINARY_CONFIG, typename T2, typename S, typename V,                         \
            typename = flexible_details::Unnamed<T0>, typename = flexible_details::Tensor<T2>>                        \
  __aicore__ inline void Compares(const T2& dst, const S& src0, const V& src1, CMPMODE cmpMode, __VA_ARGS__,          \
                                  ophook::rt::At at = ophook::rt::At::here()) {                                       \
    using Type = type_details::TypeOf<std::conditional_t<type_details::is_tensor<S>, S, V>>;                          \
    static_assert(type_details::listed<Type>(types), "Compares: " types);                                             \
    OPHOOK_OPERANDS(Compares, Type)                                                                                   \
    const auto placed = flexible_details::place<config>("Compares", dst, src0, src1, at);                             \
    const CMPMODE mode = placed.scalar_first ? flexible_details::exchanged(cmpMode) : cmpMode;                        \
    if (placed.good)                                                                                                  \
      ophook::rt::compare("Compares", dst.view(), placed.vector, nullptr, placed.scalar, int(mode), cover_, step, {}, \
                          at);                                                                                        \
  }
#define OPHOOK_STEP {p.srcBlkStride, p.srcRepStride}
#define OPHOOK_COMPARED "int16_t, uint16_t, half, bfloat16_t, float, int32_t, uint32_t"
OPHOOK_COMPARES_OVER(OPHOOK_COMPARED ", int8_t, uint8_t, int64_t, uint64_t", cover::count(int32_t(count)), {},
                     uint32_t count)
OPHOOK_COMPARES_OVER(OPHOOK_COMPARED, cover::compared<Type>(mask, repeatTime, isSetMask), OPHOOK_STEP,
                     const uint64_t mask[], uint8_t repeatTime, const UnaryRepeatParams& p)
OPHOOK_COMPARES_OVER(OPHOOK_COMPARED, cover::compared<Type>(mask, repeatTime, isSetMask), OPHOOK_STEP,
                     const uint64_t mask, uint8_t repeatTime, const UnaryRepeatParams& p)
#undef OPHOOK_COMPARES_OVER
#undef OPHOOK_STEP

// A scalar on the left is taken where the mask has a 1.
#define OPHOOK_SELECT_OVER(types, cover_, d, s, set, ...)                                                            \
  template <typename T0 = BinaryDefaultType, typename T1 = BinaryDefaultType set,                                    \
            BinaryConfig config = DEFAULT_BINARY_CONFIG, typename T2, typename S, typename V,                        \
            typename = flexible_details::Unnamed<T0>, typename = flexible_details::Tensor<T2>>                       \
  __aicore__ inline void Select(const T2& dst, const LocalTensor<T1>& selMask, const S& src0, const V& src1,         \
                                SELMODE selMode, __VA_ARGS__, ophook::rt::At at = ophook::rt::At::here()) {          \
    using Type = type_details::TypeOf<T2>;                                                                           \
    static_assert(type_details::listed<Type>(types), "Select: " types);                                              \
    static_assert(type_details::listed<T1>("uint8_t, uint16_t, uint32_t, uint64_t"),                                 \
                  "Select: the mask is of uint8_t, uint16_t, uint32_t or uint64_t");                                 \
    OPHOOK_OPERANDS(Select, Type)                                                                                    \
    const auto placed = flexible_details::place<config>("Select", dst, src0, src1, at);                              \
    if (placed.good)                                                                                                 \
      ophook::rt::select(dst.view(), selMask.view(), placed.vector, nullptr, placed.scalar, int(selMode), cover_, d, \
                         s, {}, at, placed.scalar_first);                                                            \
  }
#define OPHOOK_TO {p.dstBlkStride, p.dstRepStride}
#define OPHOOK_FROM {p.src0BlkStride, p.src0RepStride}
#define OPHOOK_SET , bool isSetMask = true
OPHOOK_SELECT_OVER(OPHOOK_COMPARED ", int8_t, uint8_t, int64_t, uint64_t", cover::count(int32_t(count)), {}, {}, ,
                   uint32_t count)
OPHOOK_SELECT_OVER(OPHOOK_COMPARED, cover::of<Type>(mask, repeatTime, true), OPHOOK_TO, OPHOOK_FROM, OPHOOK_SET,
                   uint64_t mask[], uint8_t repeatTime, const BinaryRepeatParams& p)
OPHOOK_SELECT_OVER(OPHOOK_COMPARED, cover::of<Type>(mask, repeatTime, true), OPHOOK_TO, OPHOOK_FROM, OPHOOK_SET,
                   uint64_t mask, uint8_t repeatTime, const BinaryRepeatParams& p)
#undef OPHOOK_SELECT_OVER
#undef OPHOOK_TO
#undef OPHOOK_FROM
#undef OPHOOK_SET
#undef OPHOOK_COMPARED
#undef OPHOOK_NUMBERS

// The product in float, rounded as CAST_ROUND does and kept within half.
template <typename T0 = BinaryDefaultType, typename T1 = BinaryDefaultType, BinaryConfig config = DEFAULT_BINARY_CONFIG,
          typename T2, typename S, typename V>
__aicore__ inline void MulsCast(const T2& dst, const S& src0, const V& src1, const uint32_t count,
                                ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<T2, LocalTensor<half>>, "MulsCast: the destination is of half");
  static_assert(flexible_details::alike<float, S, V>, "MulsCast: the sources are of float");
  OPHOOK_OPERANDS(MulsCast, float)
  const auto placed = flexible_details::place<config>("MulsCast", dst, src0, src1, at);
  if (placed.good) ophook::rt::scale_and_cast("MulsCast", dst.view(), placed.vector, placed.scalar, count, at);
}
#undef OPHOOK_OPERANDS

}  // namespace AscendC
