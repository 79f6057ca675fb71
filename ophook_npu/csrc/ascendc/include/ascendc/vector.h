// Elementwise vector instructions, each in its three forms: a count, a mask as a number of elements, a mask as bits.
#pragma once

#include "algorithms.h"
#include "tensor.h"

namespace AscendC {

namespace cover {
using ophook::rt::Cover;
inline Cover count(int32_t elements) { return {Cover::kCount, elements < 0 ? 0 : uint64_t(elements), 0, 1}; }
inline Cover lanes(uint64_t mask, uint32_t repeat) { return {Cover::kLanes, mask, 0, repeat}; }
inline Cover preset(uint32_t repeat) { return {Cover::kPreset, 0, 0, repeat}; }  // what SetVectorMask set
inline Cover first(int32_t elements, bool set) { return set ? count(elements) : preset(1); }
inline Cover fixed(Cover cover) { return cover.fixed = true, cover; }
// A mask is a number of elements or bits; of the widest of these types, of 4 bytes and more, one word of bits.
template <typename... T>
Cover of(uint64_t mask, int32_t repeat, bool set) {
  return set ? lanes(mask, uint32_t(repeat)) : preset(uint32_t(repeat));
}
template <typename... T>
Cover of(const uint64_t* mask, int32_t repeat, bool set) {
  constexpr bool two = ((sizeof(T) <= 2) && ...);
  return set ? Cover{Cover::kBits, mask[0], two ? mask[1] : 0, uint32_t(repeat)} : preset(uint32_t(repeat));
}
}  // namespace cover

// Passed as the mask of a call with isSetMask = false.
constexpr uint64_t MASK_PLACEHOLDER = 0;
inline uint64_t MASK_PLACEHOLDER_LIST[2] = {0, 0};

// A kernel may name an instruction as an argument of a template: void(const LocalTensor<T>&, …, const int32_t&). So
// there is one with no place of the call behind its parameters. A call finds the other one, which is more specialized.
#define OPHOOK_ONLY(N, type) typename N = type, typename = std::enable_if_t<std::is_same_v<N, type>>
constexpr ophook::rt::At kByAddress{"an instruction that a template names", 0};

// `takes` and what follows it: an Ascend950 can be told how some are computed, by a row of algorithms.inc.
#if __NPU_ARCH__ == 3510
#define OPHOOK_TOLD(form, name, preset)                                                                                \
  form(name,                                                                                                           \
       static_assert(algorithm_details::takes<T>(config), #name ": this algorithm is for float alone (" #name ".md)"); \
       , name##Config config = preset)
#else
#define OPHOOK_TOLD(form, name, preset) form(name, )
#endif
#define OPHOOK_BINARY_OVER(name, mask_type, takes, ...)                                                          \
  template <typename T, bool isSetMask = true __VA_OPT__(, ) __VA_ARGS__>                                        \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, \
                              mask_type, const uint8_t repeatTime, const BinaryRepeatParams& p,                  \
                              ophook::rt::At at = ophook::rt::At::here()) {                                      \
    takes ophook::rt::binary(ophook::rt::Op::name, dst.view(), src0.view(), src1.view(),                         \
                             cover::of<T>(mask, repeatTime, isSetMask), {p.dstBlkStride, p.dstRepStride},        \
                             {p.src0BlkStride, p.src0RepStride}, {p.src1BlkStride, p.src1RepStride}, at);        \
  }
#define OPHOOK_BINARY_AS(name, takes, ...)                                                                            \
  template <typename T __VA_OPT__(, ) __VA_ARGS__>                                                                    \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,      \
                              const int32_t& count, ophook::rt::At at = ophook::rt::At::here()) {                     \
    takes ophook::rt::binary(ophook::rt::Op::name, dst.view(), src0.view(), src1.view(), cover::count(count), {}, {}, \
                             {}, at);                                                                                 \
  }                                                                                                                   \
  template <typename T __VA_OPT__(, ) __VA_ARGS__, OPHOOK_ONLY(N, int32_t)>                                           \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,      \
                              const N& count) {                                                                       \
    takes ophook::rt::binary(ophook::rt::Op::name, dst.view(), src0.view(), src1.view(), cover::count(count), {}, {}, \
                             {}, kByAddress);                                                                         \
  }                                                                                                                   \
  template <typename T, bool isSetMask = true __VA_OPT__(, ) __VA_ARGS__, OPHOOK_ONLY(N, uint64_t)>                   \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,      \
                              N mask, const uint8_t repeatTime, const BinaryRepeatParams& p) {                        \
    takes ophook::rt::binary(ophook::rt::Op::name, dst.view(), src0.view(), src1.view(),                              \
                             cover::of<T>(mask, repeatTime, isSetMask), {p.dstBlkStride, p.dstRepStride},             \
                             {p.src0BlkStride, p.src0RepStride}, {p.src1BlkStride, p.src1RepStride}, kByAddress);     \
  }                                                                                                                   \
  OPHOOK_BINARY_OVER(name, uint64_t mask, takes, __VA_ARGS__)                                                         \
  OPHOOK_BINARY_OVER(name, uint64_t mask[], takes, __VA_ARGS__)
#define OPHOOK_BINARY(name) OPHOOK_BINARY_AS(name, )
OPHOOK_BINARY(Add)
OPHOOK_BINARY(Sub)
OPHOOK_BINARY(Mul)
OPHOOK_TOLD(OPHOOK_BINARY_AS, Div, DEFAULT_DIV_CONFIG)
OPHOOK_BINARY(Max)
OPHOOK_BINARY(Min)
OPHOOK_BINARY(And)
OPHOOK_BINARY(Or)
OPHOOK_BINARY(AddRelu)
OPHOOK_BINARY(SubRelu)
OPHOOK_BINARY(FusedMulAdd)
OPHOOK_BINARY(FusedMulAddRelu)
OPHOOK_BINARY(MulAddRelu)
#undef OPHOOK_BINARY
#undef OPHOOK_BINARY_AS
#undef OPHOOK_BINARY_OVER

// dst += src0 * src1; a float dst may have half sources.
#define OPHOOK_MUL_ADD(mask_type)                                                                                     \
  template <typename T, typename U, bool isSetMask = true>                                                            \
  __aicore__ inline void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, \
                                   mask_type, const uint8_t repeatTime, const BinaryRepeatParams& p,                  \
                                   ophook::rt::At at = ophook::rt::At::here()) {                                      \
    static_assert(std::is_same_v<T, U> || (std::is_same_v<PrimT<T>, float> && std::is_same_v<PrimT<U>, half>),        \
                  "MulAddDst: sources of half or the destination's type");                                            \
    ophook::rt::binary(ophook::rt::Op::MulAddDst, dst.view(), src0.view(), src1.view(),                               \
                       cover::of<T, U>(mask, repeatTime, isSetMask), {p.dstBlkStride, p.dstRepStride},                \
                       {p.src0BlkStride, p.src0RepStride}, {p.src1BlkStride, p.src1RepStride}, at);                   \
  }
OPHOOK_MUL_ADD(uint64_t mask)
OPHOOK_MUL_ADD(const uint64_t mask[])
#undef OPHOOK_MUL_ADD
template <typename T, typename U>
__aicore__ inline void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                                 const int32_t& count, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<T, U> || (std::is_same_v<PrimT<T>, float> && std::is_same_v<PrimT<U>, half>),
                "MulAddDst: sources of half or the destination's type");
  ophook::rt::binary(ophook::rt::Op::MulAddDst, dst.view(), src0.view(), src1.view(), cover::count(count), {}, {}, {},
                     at);
}
template <typename T, typename U, OPHOOK_ONLY(N, int32_t)>
__aicore__ inline void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                                 const N& count) {
  MulAddDst<T, U>(dst, src0, src1, count, kByAddress);
}

#define OPHOOK_UNARY_OVER(name, mask_type, takes, ...)                                                               \
  template <typename T, bool isSetMask = true __VA_OPT__(, ) __VA_ARGS__>                                            \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, mask_type,                       \
                              const uint8_t repeatTime, const UnaryRepeatParams& p,                                  \
                              ophook::rt::At at = ophook::rt::At::here()) {                                          \
    takes ophook::rt::unary(ophook::rt::Op::name, dst.view(), src.view(), cover::of<T>(mask, repeatTime, isSetMask), \
                            {p.dstBlkStride, p.dstRepStride}, {p.srcBlkStride, p.srcRepStride}, at);                 \
  }
#define OPHOOK_UNARY_AS(name, takes, ...)                                                                             \
  template <typename T __VA_OPT__(, ) __VA_ARGS__>                                                                    \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count,             \
                              ophook::rt::At at = ophook::rt::At::here()) {                                           \
    takes ophook::rt::unary(ophook::rt::Op::name, dst.view(), src.view(), cover::count(count), {}, {}, at);           \
  }                                                                                                                   \
  template <typename T __VA_OPT__(, ) __VA_ARGS__, OPHOOK_ONLY(N, int32_t)>                                           \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const N& count) {                 \
    takes ophook::rt::unary(ophook::rt::Op::name, dst.view(), src.view(), cover::count(count), {}, {}, kByAddress);   \
  }                                                                                                                   \
  template <typename T, bool isSetMask = true __VA_OPT__(, ) __VA_ARGS__, OPHOOK_ONLY(N, uint64_t)>                   \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, N mask, const uint8_t repeatTime, \
                              const UnaryRepeatParams& p) {                                                           \
    takes ophook::rt::unary(ophook::rt::Op::name, dst.view(), src.view(), cover::of<T>(mask, repeatTime, isSetMask),  \
                            {p.dstBlkStride, p.dstRepStride}, {p.srcBlkStride, p.srcRepStride}, kByAddress);          \
  }                                                                                                                   \
  OPHOOK_UNARY_OVER(name, uint64_t mask, takes, __VA_ARGS__)                                                          \
  OPHOOK_UNARY_OVER(name, uint64_t mask[], takes, __VA_ARGS__)
#define OPHOOK_UNARY(name) OPHOOK_UNARY_AS(name, )
OPHOOK_UNARY(Abs)
OPHOOK_TOLD(OPHOOK_UNARY_AS, Exp, DEFAULT_EXP_CONFIG)
OPHOOK_TOLD(OPHOOK_UNARY_AS, Ln, DEFAULT_LN_CONFIG)
OPHOOK_TOLD(OPHOOK_UNARY_AS, Sqrt, DEFAULT_SQRT_CONFIG)
OPHOOK_TOLD(OPHOOK_UNARY_AS, Rsqrt, DEFAULT_RSQRT_CONFIG)
OPHOOK_TOLD(OPHOOK_UNARY_AS, Reciprocal, DEFAULT_RECIPROCAL_CONFIG)
OPHOOK_UNARY(Relu)
OPHOOK_UNARY(Not)
#undef OPHOOK_UNARY
#undef OPHOOK_UNARY_AS
#undef OPHOOK_TOLD
#undef OPHOOK_UNARY_OVER

#define OPHOOK_SCALAR_OVER(name, mask_type)                                                                     \
  template <typename T, bool isSetMask = true>                                                                  \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, mask_type, \
                              const uint8_t repeatTime, const UnaryRepeatParams& p,                             \
                              ophook::rt::At at = ophook::rt::At::here()) {                                     \
    ophook::rt::with_scalar(ophook::rt::Op::name, dst.view(), src.view(), ophook::rt::scalar_of(scalar),        \
                            cover::of<T>(mask, repeatTime, isSetMask), {p.dstBlkStride, p.dstRepStride},        \
                            {p.srcBlkStride, p.srcRepStride}, at);                                              \
  }
#define OPHOOK_SCALAR(name)                                                                                            \
  template <typename T, bool isSetMask = true>                                                                         \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar,                   \
                              const int32_t& count, ophook::rt::At at = ophook::rt::At::here()) {                      \
    ophook::rt::with_scalar(ophook::rt::Op::name, dst.view(), src.view(), ophook::rt::scalar_of(scalar),               \
                            cover::first(count, isSetMask), {}, {}, at);                                               \
  }                                                                                                                    \
  template <typename T, bool isSetMask = true, OPHOOK_ONLY(N, int32_t)>                                                \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, const N& count) { \
    name<T, isSetMask>(dst, src, scalar, count, kByAddress);                                                           \
  }                                                                                                                    \
  template <typename T, bool isSetMask = true, OPHOOK_ONLY(N, uint64_t)>                                               \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, N mask,           \
                              const uint8_t repeatTime, const UnaryRepeatParams& p) {                                  \
    name<T, isSetMask>(dst, src, scalar, mask, repeatTime, p, kByAddress);                                             \
  }                                                                                                                    \
  template <typename T, bool isSetMask = true, typename X, typename = IfElement<T, X>>                                 \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Element<X>& scalar,          \
                              const int32_t& count) {                                                                  \
    const T value = scalar;                                                                                            \
    name<T, isSetMask>(dst, src, value, count, scalar.at());                                                           \
  }                                                                                                                    \
  OPHOOK_SCALAR_OVER(name, uint64_t mask)                                                                              \
  OPHOOK_SCALAR_OVER(name, uint64_t mask[])                                                                            \
  template <typename T, bool isSetMask = true, typename X, typename M, typename = IfElement<T, X>>                     \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Element<X>& scalar, M mask,  \
                              const uint8_t repeatTime, const UnaryRepeatParams& p) {                                  \
    const T value = scalar;                                                                                            \
    name<T, isSetMask>(dst, src, value, mask, repeatTime, p, scalar.at());                                             \
  }
OPHOOK_SCALAR(Adds)
OPHOOK_SCALAR(Muls)
OPHOOK_SCALAR(Maxs)
OPHOOK_SCALAR(Mins)
OPHOOK_SCALAR(ShiftLeft)
OPHOOK_SCALAR(ShiftRight)
OPHOOK_SCALAR(LeakyRelu)
#undef OPHOOK_SCALAR
// Of tensors that TensorTraits describe, whose type is not the scalar's.
#define OPHOOK_SCALAR_OF_TRAIT(name, mask_type)                                                                        \
  template <typename T, bool isSetMask = true, typename V, typename = IfTrait<T, V>>                                   \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const V& scalar, mask_type,        \
                              const uint8_t repeatTime, const UnaryRepeatParams& p,                                    \
                              ophook::rt::At at = ophook::rt::At::here()) {                                            \
    name<V, isSetMask>(dst.template ReinterpretCast<V>(), src.template ReinterpretCast<V>(), scalar, mask, repeatTime, \
                       p, at);                                                                                         \
  }
#define OPHOOK_SCALAR(name)                                                                                      \
  OPHOOK_SCALAR_OF_TRAIT(name, uint64_t mask)                                                                    \
  OPHOOK_SCALAR_OF_TRAIT(name, uint64_t mask[])                                                                  \
  template <typename T, bool isSetMask = true, typename V, typename = IfTrait<T, V>>                             \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const V& scalar,             \
                              const int32_t& count, ophook::rt::At at = ophook::rt::At::here()) {                \
    name<V, isSetMask>(dst.template ReinterpretCast<V>(), src.template ReinterpretCast<V>(), scalar, count, at); \
  }
OPHOOK_SCALAR(Adds)
OPHOOK_SCALAR(Muls)
OPHOOK_SCALAR(Maxs)
OPHOOK_SCALAR(Mins)
OPHOOK_SCALAR(ShiftLeft)
OPHOOK_SCALAR(ShiftRight)
OPHOOK_SCALAR(LeakyRelu)
#undef OPHOOK_SCALAR
#undef OPHOOK_SCALAR_OF_TRAIT
#undef OPHOOK_SCALAR_OVER

// roundEn adds the last bit that is shifted out of a number with a sign.
#define OPHOOK_ROUNDED(mask_type)                                                                                     \
  template <typename T, bool isSetMask = true>                                                                        \
  __aicore__ inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, mask_type, \
                                    const uint8_t repeatTime, const UnaryRepeatParams& p, bool roundEn,               \
                                    ophook::rt::At at = ophook::rt::At::here()) {                                     \
    const bool rounds = roundEn && std::is_signed_v<T>;                                                               \
    ophook::rt::with_scalar(rounds ? ophook::rt::Op::ShiftRightRounded : ophook::rt::Op::ShiftRight, dst.view(),      \
                            src.view(), ophook::rt::scalar_of(scalar), cover::of<T>(mask, repeatTime, isSetMask),     \
                            {p.dstBlkStride, p.dstRepStride}, {p.srcBlkStride, p.srcRepStride}, at);                  \
  }                                                                                                                   \
  template <typename T, bool isSetMask = true, typename V, typename = IfTrait<T, V>>                                  \
  __aicore__ inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const V& scalar, mask_type, \
                                    const uint8_t repeatTime, const UnaryRepeatParams& p, bool roundEn,               \
                                    ophook::rt::At at = ophook::rt::At::here()) {                                     \
    ShiftRight<V, isSetMask>(dst.template ReinterpretCast<V>(), src.template ReinterpretCast<V>(), scalar, mask,      \
                             repeatTime, p, roundEn, at);                                                             \
  }
OPHOOK_ROUNDED(uint64_t mask)
OPHOOK_ROUNDED(uint64_t mask[])
#undef OPHOOK_ROUNDED

// dst += src * scalar; a float dst may have a half src.
template <typename T, typename U>
__aicore__ inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalar, const int32_t& count,
                            ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::with_scalar(ophook::rt::Op::Axpy, dst.view(), src.view(), ophook::rt::scalar_of(scalar),
                          cover::count(count), {}, {}, at);
}
#define OPHOOK_AXPY(mask_type)                                                                                  \
  template <typename T, typename U, bool isSetMask = true>                                                      \
  __aicore__ inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalar, mask_type, \
                              const uint8_t repeatTime, const UnaryRepeatParams& p,                             \
                              ophook::rt::At at = ophook::rt::At::here()) {                                     \
    ophook::rt::with_scalar(ophook::rt::Op::Axpy, dst.view(), src.view(), ophook::rt::scalar_of(scalar),        \
                            cover::of<T, U>(mask, repeatTime, isSetMask), {p.dstBlkStride, p.dstRepStride},     \
                            {p.srcBlkStride, p.srcRepStride}, at);                                              \
  }
OPHOOK_AXPY(uint64_t mask)
OPHOOK_AXPY(uint64_t mask[])
#undef OPHOOK_AXPY

template <typename T>
__aicore__ inline void Duplicate(const LocalTensor<T>& dst, const T& value, const int32_t& count,
                                 ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::duplicate(dst.view(), ophook::rt::scalar_of(value), cover::count(count), {}, at);
}
template <typename T, typename X, typename = IfElement<T, X>>
__aicore__ inline void Duplicate(const LocalTensor<T>& dst, const Element<X>& element, const int32_t& count) {
  const T value = element;
  Duplicate(dst, value, count, element.at());
}
#define OPHOOK_DUPLICATE(mask_type)                                                                                \
  template <typename T, bool isSetMask = true>                                                                     \
  __aicore__ inline void Duplicate(const LocalTensor<T>& dst, const T& value, mask_type, const uint8_t repeatTime, \
                                   const uint16_t dstBlockStride, const uint8_t dstRepeatStride,                   \
                                   ophook::rt::At at = ophook::rt::At::here()) {                                   \
    ophook::rt::duplicate(dst.view(), ophook::rt::scalar_of(value), cover::of<T>(mask, repeatTime, isSetMask),     \
                          {dstBlockStride, dstRepeatStride}, at);                                                  \
  }
OPHOOK_DUPLICATE(uint64_t mask)
OPHOOK_DUPLICATE(uint64_t mask[])
#undef OPHOOK_DUPLICATE

template <typename T, typename U>
__aicore__ inline void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode,
                            const uint32_t count, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::cast(dst.view(), src.view(), int(mode), cover::count(int32_t(count)), {}, {}, at);
}
#define OPHOOK_CAST(mask_type)                                                                                        \
  template <typename T, typename U, bool isSetMask = true>                                                            \
  __aicore__ inline void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode, mask_type, \
                              const uint8_t repeatTime, const UnaryRepeatParams& p,                                   \
                              ophook::rt::At at = ophook::rt::At::here()) {                                           \
    ophook::rt::cast(dst.view(), src.view(), int(mode), cover::of<T, U>(mask, repeatTime, isSetMask),                 \
                     {p.dstBlkStride, p.dstRepStride}, {p.srcBlkStride, p.srcRepStride}, at);                         \
  }
OPHOOK_CAST(const uint64_t mask)
OPHOOK_CAST(const uint64_t mask[])
#undef OPHOOK_CAST

// dst = conversion of op(src0, src1).
#define OPHOOK_CONVERTED_OVER(name, op, allowed, types, mask_type)                                               \
  template <typename T, typename U, bool isSetMask = true>                                                       \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, \
                              mask_type, const uint8_t repeatTime, const BinaryRepeatParams& p,                  \
                              ophook::rt::At at = ophook::rt::At::here()) {                                      \
    static_assert(allowed, #name ": " types " (" #name ".md)");                                                  \
    ophook::rt::binary_cast(#name, ophook::rt::Op::op, dst.view(), src0.view(), src1.view(),                     \
                            cover::of<T, U>(mask, repeatTime, isSetMask), {p.dstBlkStride, p.dstRepStride},      \
                            {p.src0BlkStride, p.src0RepStride}, {p.src1BlkStride, p.src1RepStride}, at);         \
  }
#define OPHOOK_CONVERTED(name, op, allowed, types)                                                               \
  template <typename T, typename U>                                                                              \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, \
                              const uint32_t count, ophook::rt::At at = ophook::rt::At::here()) {                \
    static_assert(allowed, #name ": " types " (" #name ".md)");                                                  \
    ophook::rt::binary_cast(#name, ophook::rt::Op::op, dst.view(), src0.view(), src1.view(),                     \
                            cover::count(int32_t(count)), {}, {}, {}, at);                                       \
  }                                                                                                              \
  OPHOOK_CONVERTED_OVER(name, op, allowed, types, uint64_t mask)                                                 \
  OPHOOK_CONVERTED_OVER(name, op, allowed, types, uint64_t mask[])
template <typename From, typename To, typename T, typename U>
constexpr bool converts = std::is_same_v<From, PrimT<U>> && std::is_same_v<To, PrimT<T>>;
#define OPHOOK_SUMS (converts<half, int8_t, T, U> || converts<int16_t, int8_t, T, U> || converts<float, half, T, U>)
OPHOOK_CONVERTED(AddReluCast, AddRelu, OPHOOK_SUMS, "half or int16_t to int8_t, float to half")
OPHOOK_CONVERTED(SubReluCast, SubRelu, OPHOOK_SUMS, "half or int16_t to int8_t, float to half")
OPHOOK_CONVERTED(MulCast, Mul, (converts<half, int8_t, T, U> || converts<half, uint8_t, T, U>),
                 "half to int8_t or uint8_t")
// Of the sum, times what SetDeqScale set, what is above 0.
OPHOOK_CONVERTED(AddDeqRelu, Add, (converts<int32_t, half, T, U>), "int32_t to half")
#undef OPHOOK_SUMS
#undef OPHOOK_CONVERTED
#undef OPHOOK_CONVERTED_OVER

// What a Cast of int32_t to half multiplies by.
__aicore__ inline void SetDeqScale(half scale) { ophook::rt::set_deq_scale(float(scale)); }

// What CastDequant makes int16_t into 8 bits with: a float whose last 13 bits do not count, nine bits of offset from
// bit 37 on, and whether the result has a sign. Of all elements, or of each of 16.
namespace vector_details {
inline uint64_t dequantization(float scale, int16_t offset, bool sign) {
  return uint64_t(sign) << 46 | uint64_t(offset & 0x1ff) << 37 | (__builtin_bit_cast(uint32_t, scale) & 0xffffe000u);
}
}  // namespace vector_details
__aicore__ inline void SetDeqScale(float scale, int16_t offset, bool signMode) {
  ophook::rt::set_dequantization(vector_details::dequantization(scale, offset, signMode));
}
struct VdeqInfo {
  VdeqInfo() = default;
  VdeqInfo(const float scale[16], const int16_t offset[16], const bool sign[16]) {
    for (int i = 0; i < 16; ++i) vdeqScale[i] = scale[i], vdeqOffset[i] = offset[i], vdeqSignMode[i] = sign[i];
  }
  float vdeqScale[16] = {};
  int16_t vdeqOffset[16] = {};
  bool vdeqSignMode[16] = {};
};
template <typename T>
__aicore__ inline void SetDeqScale(const LocalTensor<T>& vdeq, const VdeqInfo& vdeqInfo) {
  static_assert(std::is_same_v<T, uint64_t>, "SetDeqScale: the tensor is of uint64_t");
  uint64_t each[16];
  for (int i = 0; i < 16; ++i)
    each[i] = vector_details::dequantization(vdeqInfo.vdeqScale[i], vdeqInfo.vdeqOffset[i], vdeqInfo.vdeqSignMode[i]);
  ophook::rt::set_dequantization(vdeq.view(), each);
}
// int32_t to half as Cast does it; int16_t to int8_t or uint8_t, where the 16 of a block of 32 bytes lie in the
// lower half of one or, with halfBlock, in the upper. The second name is that of CANN 8.5.
namespace vector_details {
template <bool isVecDeq, bool halfBlock, typename T, typename U>
void dequantize(const LocalTensor<T>& dst, const LocalTensor<U>& src, ophook::rt::Cover cover, ophook::rt::Step d,
                ophook::rt::Step s, ophook::rt::At at) {
  constexpr bool eight = sizeof(T) == 1 && std::is_integral_v<PrimT<T>>;
  static_assert((converts<int32_t, half, T, U>) || (eight && std::is_same_v<PrimT<U>, int16_t>),
                "CastDequant: int32_t to half, int16_t to int8_t or uint8_t (CastDequant.md)");
  if constexpr (eight) ophook::rt::dequantize(dst.view(), src.view(), isVecDeq, halfBlock, cover, d, s, at);
  else ophook::rt::cast(dst.view(), src.view(), int(RoundMode::CAST_NONE), cover, d, s, at);
}
}  // namespace vector_details
#define OPHOOK_DEQUANT_OVER(name, mask_type)                                                                       \
  template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>            \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<U>& src, mask_type, uint8_t repeatTime, \
                              const UnaryRepeatParams& p, ophook::rt::At at = ophook::rt::At::here()) {            \
    vector_details::dequantize<isVecDeq, halfBlock>(dst, src, cover::of<T, U>(mask, repeatTime, isSetMask),        \
                                                    {p.dstBlkStride, p.dstRepStride},                              \
                                                    {p.srcBlkStride, p.srcRepStride}, at);                         \
  }
#define OPHOOK_DEQUANT(name)                                                                              \
  template <typename T, typename U, bool isVecDeq = true, bool halfBlock = true>                          \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count, \
                              ophook::rt::At at = ophook::rt::At::here()) {                               \
    vector_details::dequantize<isVecDeq, halfBlock>(dst, src, cover::count(int32_t(count)), {}, {}, at);  \
  }                                                                                                       \
  OPHOOK_DEQUANT_OVER(name, const int32_t mask)                                                           \
  OPHOOK_DEQUANT_OVER(name, const uint64_t mask[])
OPHOOK_DEQUANT(CastDequant)
OPHOOK_DEQUANT(CastDeq)
#undef OPHOOK_DEQUANT
#undef OPHOOK_DEQUANT_OVER

// ---- the mask as a state of the core ----
__aicore__ inline void SetMaskCount() { ophook::rt::set_mask(true, 0, 0, true); }
__aicore__ inline void SetMaskNorm() { ophook::rt::set_mask(false, 0, 0, true); }
template <typename T, MaskMode mode = MaskMode::NORMAL>
__aicore__ inline void SetVectorMask(const uint64_t high, const uint64_t low) {
  if constexpr (mode == MaskMode::COUNTER) ophook::rt::set_mask(true, high, low, false);
  else ophook::rt::set_mask_bits(high, low);  // what they mean is SetMaskCount's and SetMaskNorm's
}
template <typename T, MaskMode mode = MaskMode::NORMAL>
__aicore__ inline void SetVectorMask(int32_t length) {
  if constexpr (mode == MaskMode::COUNTER) {
    ophook::rt::set_mask(true, 0, uint64_t(length), false);
  } else {
    auto ones = [](int32_t n) { return n <= 0 ? 0 : n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; };
    ophook::rt::set_mask(false, ones(length - 64), ones(length), false);
  }
}
__aicore__ inline void ResetMask() { ophook::rt::set_mask(false, ~uint64_t{0}, ~uint64_t{0}, false); }

class AscendCUtils {
 public:
  __aicore__ static inline int32_t GetBitSize(int32_t byteSize) { return byteSize * 8; }
  // What an overflow gives is not modelled: floats keep infinity, whatever is set here.
  static __aicore__ void SetOverflow(uint64_t) {}
  // These have no page, and many operators call them in the place of SetVectorMask.
  template <typename T>
  static __aicore__ void SetMask(int32_t length) {
    SetVectorMask<T>(length);
  }
  template <typename T>
  static __aicore__ void SetMask(uint64_t high, uint64_t low) {
    SetVectorMask<T>(high, low);
  }
  static __aicore__ int32_t GetC0Count(int32_t bytes) { return ONE_BLK_SIZE / bytes; }
};

__aicore__ inline float ToFloat(const bfloat16_t& value) { return ophook::rt::bfloat16_value(value.bits); }
__aicore__ inline bfloat16_t ToBfloat16(const float& value) { return bfloat16_t(value); }
__aicore__ inline float Cast(const bfloat16_t& bVal) { return ToFloat(bVal); }
__aicore__ inline bfloat16_t Cast(const float& fVal) { return ToBfloat16(fVal); }
template <typename T, typename U, RoundMode roundMode>
__aicore__ inline U Cast(T valueIn, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<T, float> && (std::is_same_v<U, half> || std::is_same_v<U, int32_t>),
                "Cast of a scalar: float to half or int32_t");
  U out{};
  ophook::rt::cast_scalar(valueIn, ophook::rt::dtype_of<U>(), &out, int(roundMode), at);
  return out;
}
template <typename T, typename U, RoundMode roundMode>
__aicore__ inline U ScalarCast(T valueIn, ophook::rt::At at = ophook::rt::At::here()) {  // up to CANN 8.5
  return Cast<T, U, roundMode>(valueIn, at);
}

}  // namespace AscendC
