// The C interface of Ascend 950: vector functions on registers. Each function is a thin call of AscendC::Reg's, which
// checks what is loaded and stored. What is a row is in c_registers.inc.
#pragma once

#include "c_register_types.h"
#include "c_support.h"

namespace ophook::c {
namespace reg = AscendC::Reg;
using AscendC::RoundMode;
using reg::LoadDist, reg::StoreDist, reg::RegLayout, reg::SatMode, reg::PostLiteral, reg::DataCopyMode;

template <typename T>
using Vec = reg::RegTensor<T>;
using Mask = vector_bool;

// Operations on bits take half and float as whole numbers.
template <size_t size>
using Bits = std::conditional_t<size == 1, uint8_t, std::conditional_t<size == 2, uint16_t, uint32_t>>;
template <typename T>
Vec<Bits<sizeof(T)>>& bits(Vec<T>& reg) {
  return reinterpret_cast<Vec<Bits<sizeof(T)>>&>(reg);
}
// The distribution of elements of `size` bytes, from the narrowest one of its kind.
constexpr LoadDist dist_of(LoadDist first, size_t size) {
  using enum LoadDist;
  if (first == DIST_NORM || first == DIST_BLK || first == DIST_UNPACK4_B8) return first;
  if (first == DIST_UNPACK_B8 && size == 4) return DIST_UNPACK_B32;
  const int step = size == 4 ? 2 : int(size) - 1;
  return LoadDist(int(first) + (first == DIST_E2B_B16 ? step - 1 : step));
}
constexpr StoreDist dist_of(StoreDist first, size_t size) {
  using enum StoreDist;
  if (first == DIST_NORM || first == DIST_PACK4_B32) return first;
  const int step = size == 8 ? 3 : size == 4 ? 2 : int(size) - 1;
  return StoreDist(int(first) + (first == DIST_PACK_B16 ? step - 1 : step));
}
template <typename To, typename From, RoundMode round, SatMode saturates, RegLayout layout>
void convert(Vec<To>& dst, Vec<From>& src, Mask& mask) {
  static constexpr reg::CastTrait trait{layout, saturates, reg::MaskMergeMode::ZEROING, round};
  reg::details::cast<trait, true>(dst, src, mask);  // its name says whether it saturates
}
inline void mask_pieces(Mask& dst, const auto& src, int16_t part, uint32_t pieces, At where) {
  if (part < 0 || uint32_t(part) >= pieces)
    return refuse("asc_copy", "of uint16_t the parts are 0 to 15, of uint32_t 0 to 31", where);
  reg::details::mask_from(dst, src, uint32_t(part));
}
// What ophook_npu.sim.address_registers makes of asc_update_addr_reg: it gives the loop's variable.
inline addr_reg address_in_loop(uint64_t index, uint32_t offset) { return {index * offset}; }
// What SetVectorMask set: a bit for each of `lanes` elements.
inline Mask set_before(uint32_t lanes) {
  uint64_t bits[2];
  read_mask_bits(bits[1], bits[0]);
  Mask mask;
  for (uint32_t bit = 0; bit < 256; ++bit) {
    const uint32_t lane = bit / (256 / lanes);
    mask.set(bit, bits[lane / 64] >> lane % 64 & 1);
  }
  return mask;
}
inline uint32_t* later_mask(void* address, int64_t bytes) {  // offsets of masks are in bytes
  return reinterpret_cast<uint32_t*>(static_cast<uint8_t*>(address) + bytes);
}
}  // namespace ophook::c

#include "c_macros.inc"
#define OPHOOK_VEC ophook::c::Vec<T>
#define OPHOOK_MASK vector_bool
#define OPHOOK_REG AscendC::Reg
#define OPHOOK_BYTES int8_t, uint8_t, fp8_e8m0_t, fp8_e5m2_t, fp8_e4m3fn_t, hifloat8_t
#define OPHOOK_FOURS fp4x2_e2m1_t, fp4x2_e1m2_t
#define OPHOOK_B8 OPHOOK_BYTES, OPHOOK_FOURS
#define OPHOOK_B16 int16_t, uint16_t, half, bfloat16_t
#define OPHOOK_B32 int32_t, uint32_t, float
#define OPHOOK_PAIR(...)            \
  template <typename D, typename S> \
    requires ophook::c::one_of<D(S), __VA_ARGS__>

// ---- the kinds of rows ----
#define R_BINARY(name, function, ...)                                                                            \
  OPHOOK_OF(__VA_ARGS__) inline void name(OPHOOK_VEC& dst, OPHOOK_VEC src0, OPHOOK_VEC src1, OPHOOK_MASK mask) { \
    OPHOOK_REG::function(dst, src0, src1, mask);                                                                 \
  }
#define R_UNARY(name, function, ...)                                                           \
  OPHOOK_OF(__VA_ARGS__) inline void name(OPHOOK_VEC& dst, OPHOOK_VEC src, OPHOOK_MASK mask) { \
    OPHOOK_REG::function(dst, src, mask);                                                      \
  }
#define R_SCALAR(name, function, ...)                                                              \
  OPHOOK_OF(__VA_ARGS__)                                                                           \
  inline void name(OPHOOK_VEC& dst, OPHOOK_VEC src, ophook::c::Given<T> value, OPHOOK_MASK mask) { \
    OPHOOK_REG::function(dst, src, value, mask);                                                   \
  }
#define R_BITS(name, function, ...)                                                                              \
  OPHOOK_OF(__VA_ARGS__) inline void name(OPHOOK_VEC& dst, OPHOOK_VEC src0, OPHOOK_VEC src1, OPHOOK_MASK mask) { \
    OPHOOK_REG::function(ophook::c::bits(dst), ophook::c::bits(src0), ophook::c::bits(src1), mask);              \
  }                                                                                                              \
  inline void name(OPHOOK_MASK& dst, OPHOOK_MASK src0, OPHOOK_MASK src1, OPHOOK_MASK mask) {                     \
    OPHOOK_REG::function(dst, src0, src1, mask);                                                                 \
  }
#define R_SHIFT(name, function, ...)                                                                               \
  OPHOOK_OF(__VA_ARGS__)                                                                                           \
  inline void name(OPHOOK_VEC& dst, OPHOOK_VEC src0, ophook::c::Vec<std::make_signed_t<T>> src1, OPHOOK_MASK mask, \
                   OPHOOK_AT) {                                                                                    \
    OPHOOK_REG::function(dst, src0, src1, mask, where);                                                            \
  }                                                                                                                \
  OPHOOK_OF(__VA_ARGS__)                                                                                           \
  inline void name##_scalar(OPHOOK_VEC& dst, OPHOOK_VEC src, int16_t value, OPHOOK_MASK mask, OPHOOK_AT) {         \
    OPHOOK_REG::function##s(dst, src, value, mask, where);                                                         \
  }
#define R_COMPARE(name, mode, ...)                                                                                \
  OPHOOK_OF(__VA_ARGS__) inline void name(OPHOOK_MASK& dst, OPHOOK_VEC src0, OPHOOK_VEC src1, OPHOOK_MASK mask) { \
    OPHOOK_REG::Compare<T, AscendC::CMPMODE::mode>(dst, src0, src1, mask);                                        \
  }
#define R_COMPARE_SCALAR(name, mode, ...)                                                           \
  OPHOOK_OF(__VA_ARGS__)                                                                            \
  inline void name(OPHOOK_MASK& dst, OPHOOK_VEC src, ophook::c::Given<T> value, OPHOOK_MASK mask) { \
    OPHOOK_REG::Compares<T, AscendC::CMPMODE::mode>(dst, src, value, mask);                         \
  }
#define R_TRUNCATE(name, mode)                                                \
  OPHOOK_OF(half, bfloat16_t, float)                                          \
  inline void name(OPHOOK_VEC& dst, OPHOOK_VEC src, OPHOOK_MASK mask) {       \
    OPHOOK_REG::Truncate<T, AscendC::RoundMode::CAST_##mode>(dst, src, mask); \
  }
#define R_REDUCE(name, function, type, ...)                                           \
  OPHOOK_PAIR(__VA_ARGS__)                                                            \
  inline void name(ophook::c::Vec<D>& dst, ophook::c::Vec<S> src, OPHOOK_MASK mask) { \
    OPHOOK_REG::function<OPHOOK_REG::ReduceType::type>(dst, src, mask);               \
  }
// Conversions. The place of the element in a wider one is a suffix, as saturation and the rounding before it are.
#define R_CAST(name, to, from, round, saturates, layout)                                    \
  inline void name(ophook::c::Vec<to>& dst, ophook::c::Vec<from> src, OPHOOK_MASK mask) {   \
    ophook::c::convert<to, from, AscendC::RoundMode::round, OPHOOK_REG::SatMode::saturates, \
                       OPHOOK_REG::RegLayout::layout>(dst, src, mask);                      \
  }
#define R_PLACES_1(name, ...) R_CAST(name, __VA_ARGS__, ZERO)
#define R_PLACES_2(name, ...) R_PLACES_1(name, __VA_ARGS__) R_CAST(name##_v2, __VA_ARGS__, ONE)
#define R_PLACES_4(name, ...)   \
  R_PLACES_2(name, __VA_ARGS__) \
  R_CAST(name##_v3, __VA_ARGS__, TWO) R_CAST(name##_v4, __VA_ARGS__, THREE)
#define R_EXACT(name, to, from, places) R_PLACES_##places(name, to, from, UNKNOWN, NO_SAT)
#define R_CUT(name, to, from, places) \
  R_EXACT(name, to, from, places)     \
  R_PLACES_##places(name##_sat, to, from, UNKNOWN, SAT)
#define R_ROUNDED(name, to, from, places)                               \
  R_PLACES_##places(name##_rn, to, from, CAST_RINT, NO_SAT)             \
      R_PLACES_##places(name##_rna, to, from, CAST_ROUND, NO_SAT)       \
          R_PLACES_##places(name##_rd, to, from, CAST_FLOOR, NO_SAT)    \
              R_PLACES_##places(name##_ru, to, from, CAST_CEIL, NO_SAT) \
                  R_PLACES_##places(name##_rz, to, from, CAST_TRUNC, NO_SAT)
#define R_ROUNDED_CUT(name, to, from, places)                            \
  R_ROUNDED(name, to, from, places)                                      \
  R_PLACES_##places(name##_rn_sat, to, from, CAST_RINT, SAT)             \
      R_PLACES_##places(name##_rna_sat, to, from, CAST_ROUND, SAT)       \
          R_PLACES_##places(name##_rd_sat, to, from, CAST_FLOOR, SAT)    \
              R_PLACES_##places(name##_ru_sat, to, from, CAST_CEIL, SAT) \
                  R_PLACES_##places(name##_rz_sat, to, from, CAST_TRUNC, SAT)
// Loads and stores: at an address, behind it by a number of elements or an address register, and with an address that
// goes on (`_postupdate`).
#define OPHOOK_DIST(kind, dist) ophook::c::dist_of(OPHOOK_REG::kind::DIST_##dist, sizeof(T))
#define R_LOAD(name, dist, ...)                                                                  \
  OPHOOK_OF(__VA_ARGS__) inline void name(OPHOOK_VEC& dst, T* src, OPHOOK_AT) {                  \
    OPHOOK_REG::LoadAlign<T, OPHOOK_DIST(LoadDist, dist)>(dst, src, where);                      \
  }                                                                                              \
  OPHOOK_OF(__VA_ARGS__) inline void name(OPHOOK_VEC& dst, T* src, int32_t offset, OPHOOK_AT) {  \
    name(dst, src + offset, where);                                                              \
  }                                                                                              \
  OPHOOK_OF(__VA_ARGS__) inline void name(OPHOOK_VEC& dst, T* src, addr_reg offset, OPHOOK_AT) { \
    name(dst, src + offset.elements, where);                                                     \
  }
#define R_LOAD_POST(name, dist, ...)                                                             \
  OPHOOK_OF(__VA_ARGS__) inline void name(OPHOOK_VEC& dst, T*& src, int32_t offset, OPHOOK_AT) { \
    OPHOOK_REG::LoadAlign<T, OPHOOK_DIST(LoadDist, dist)>(dst, src, where);                      \
    src += offset;                                                                               \
  }
#define R_STORE(name, dist, ...)                                                                                  \
  OPHOOK_OF(__VA_ARGS__) inline void name(T* dst, OPHOOK_VEC src, OPHOOK_MASK mask, OPHOOK_AT) {                  \
    OPHOOK_REG::StoreAlign<T, OPHOOK_DIST(StoreDist, dist)>(dst, src, mask, where);                               \
  }                                                                                                               \
  OPHOOK_OF(__VA_ARGS__) inline void name(T* dst, OPHOOK_VEC src, int32_t offset, OPHOOK_MASK mask, OPHOOK_AT) {  \
    name(dst + offset, src, mask, where);                                                                         \
  }                                                                                                               \
  OPHOOK_OF(__VA_ARGS__) inline void name(T* dst, OPHOOK_VEC src, addr_reg offset, OPHOOK_MASK mask, OPHOOK_AT) { \
    name(dst + offset.elements, src, mask, where);                                                                \
  }
#define R_STORE_POST(name, dist, ...)                                                                             \
  OPHOOK_OF(__VA_ARGS__) inline void name(T*& dst, OPHOOK_VEC src, int32_t offset, OPHOOK_MASK mask, OPHOOK_AT) { \
    OPHOOK_REG::StoreAlign<T, OPHOOK_DIST(StoreDist, dist)>(dst, src, mask, where);                               \
    dst += offset;                                                                                                \
  }
// Of masks.
#define R_MASK_LOAD(name, dist)                                                                  \
  inline void name(OPHOOK_MASK& dst, uint32_t* src, OPHOOK_AT) {                                 \
    OPHOOK_REG::LoadAlign<uint32_t, OPHOOK_REG::MaskDist::DIST_##dist>(dst, src, where);         \
  }                                                                                              \
  inline void name(OPHOOK_MASK& dst, uint32_t* src, int32_t offset, OPHOOK_AT) {                 \
    name(dst, ophook::c::later_mask(src, offset), where);                                        \
  }                                                                                              \
  inline void name(OPHOOK_MASK& dst, uint32_t* src, addr_reg offset, OPHOOK_AT) {                \
    OPHOOK_REG::LoadAlign<uint32_t, OPHOOK_REG::MaskDist::DIST_##dist>(dst, src, offset, where); \
  }                                                                                              \
  inline void name##_postupdate(OPHOOK_MASK& dst, uint32_t*& src, int32_t offset, OPHOOK_AT) {   \
    name(dst, src, where);                                                                       \
    src = ophook::c::later_mask(src, offset);                                                    \
  }
#define R_MASK_STORE(name, dist)                                                                \
  OPHOOK_OF(uint8_t, uint16_t, uint32_t) inline void name(T* dst, OPHOOK_MASK src, OPHOOK_AT) { \
    OPHOOK_REG::StoreAlign<T, OPHOOK_REG::MaskDist::DIST_##dist>(dst, src, where);              \
  }                                                                                             \
  OPHOOK_OF(uint8_t, uint16_t, uint32_t)                                                        \
  inline void name(T* dst, OPHOOK_MASK src, int32_t offset, OPHOOK_AT) {                        \
    name(reinterpret_cast<T*>(ophook::c::later_mask(dst, offset)), src, where);                 \
  }                                                                                             \
  OPHOOK_OF(uint8_t, uint16_t, uint32_t)                                                        \
  inline void name(T* dst, OPHOOK_MASK src, addr_reg offset, OPHOOK_AT) {                       \
    OPHOOK_REG::StoreAlign<T, OPHOOK_REG::MaskDist::DIST_##dist>(dst, src, offset, where);      \
  }                                                                                             \
  OPHOOK_OF(uint8_t, uint16_t, uint32_t)                                                        \
  inline void name##_postupdate(T*& dst, OPHOOK_MASK src, int32_t offset, OPHOOK_AT) {          \
    name(dst, src, where);                                                                      \
    dst = reinterpret_cast<T*>(ophook::c::later_mask(dst, offset));                             \
  }

#include "c_registers.inc"

// ---- masks and addresses ----
#define OPHOOK_WIDTH(name, type)                                                                             \
  inline vector_bool asc_create_mask_##name(AscendC::Reg::MaskPattern pat_mode) {                            \
    return OPHOOK_REG::details::pattern_mask(pat_mode, 256 / sizeof(type));                                  \
  }                                                                                                          \
  inline vector_bool asc_update_mask_##name(uint32_t& value) { return OPHOOK_REG::UpdateMask<type>(value); } \
  inline void asc_intlv_##name(vector_bool& dst0, vector_bool& dst1, vector_bool src0, vector_bool src1) {   \
    OPHOOK_REG::Interleave<type>(dst0, dst1, src0, src1);                                                    \
  }                                                                                                          \
  inline void asc_deintlv_##name(vector_bool& dst0, vector_bool& dst1, vector_bool src0, vector_bool src1) { \
    OPHOOK_REG::DeInterleave<type>(dst0, dst1, src0, src1);                                                  \
  }
// In a loop of a program alone: see address_in_loop. The second name is the older one.
#define OPHOOK_STEPPED(width)                                     \
  addr_reg asc_update_addr_reg_##width(uint32_t offset) = delete; \
  addr_reg asc_create_iter_reg_##width(uint32_t offset) = delete;
OPHOOK_STEPPED(b8)
OPHOOK_STEPPED(b16)
OPHOOK_STEPPED(b32)
#undef OPHOOK_STEPPED
OPHOOK_WIDTH(b8, uint8_t)
OPHOOK_WIDTH(b16, uint16_t)
OPHOOK_WIDTH(b32, uint32_t)
#undef OPHOOK_WIDTH
inline vector_bool asc_get_mask_spr_b16() { return ophook::c::set_before(128); }
inline vector_bool asc_get_mask_spr_b32() { return ophook::c::set_before(64); }
inline void asc_not(vector_bool& dst, vector_bool src, vector_bool mask) { OPHOOK_REG::Not(dst, src, mask); }
inline void asc_select(vector_bool& dst, vector_bool src0, vector_bool src1, vector_bool mask) {
  OPHOOK_REG::Select(dst, src0, src1, mask);
}
inline void asc_copy(vector_bool& dst, vector_bool src, vector_bool mask) { OPHOOK_REG::Move(dst, src, mask); }
inline void asc_copy(vector_bool& dst, vector_bool src) { dst = src; }
inline void asc_copy(vector_bool& dst, vector_uint16_t src, int16_t part, OPHOOK_AT) {
  ophook::c::mask_pieces(dst, src, part, 16, where);
}
inline void asc_copy(vector_bool& dst, vector_uint32_t src, int16_t part, OPHOOK_AT) {
  ophook::c::mask_pieces(dst, src, part, 32, where);
}
// Registers keep their order here, and so does memory: nothing is left to wait for.
inline void asc_mem_bar(MEM_TYPE) {}
inline void asc_clear_ar_spr() { OPHOOK_REG::ClearSpr<AscendC::SpecialPurposeReg::AR>(); }
inline int64_t asc_get_squeeze_status() { return ophook::rt::squeezed().last; }
inline int64_t asc_get_ar_spr() { return asc_get_squeeze_status(); }
constexpr int64_t asc_get_vf_len() { return AscendC::VECTOR_REG_WIDTH; }

// ---- arithmetic of more than one result, or of several types ----
inline void asc_add(vector_bool& carry, vector_uint32_t& dst, vector_uint32_t src0, vector_uint32_t src1,
                    vector_bool mask) {
  OPHOOK_REG::Add(carry, dst, src0, src1, mask);
}
inline void asc_sub(vector_bool& carry, vector_uint32_t& dst, vector_uint32_t src0, vector_uint32_t src1,
                    vector_bool mask) {
  OPHOOK_REG::Sub(carry, dst, src0, src1, mask);
}
inline void asc_addc(vector_bool& carry, vector_uint32_t& dst, vector_uint32_t src0, vector_uint32_t src1,
                     vector_bool carry_src, vector_bool mask) {
  OPHOOK_REG::AddC(carry, dst, src0, src1, carry_src, mask);
}
inline void asc_subc(vector_bool& carry, vector_uint32_t& dst, vector_uint32_t src0, vector_uint32_t src1,
                     vector_bool carry_src, vector_bool mask) {
  OPHOOK_REG::SubC(carry, dst, src0, src1, carry_src, mask);
}
OPHOOK_OF(int32_t, uint32_t)
inline void asc_mull(OPHOOK_VEC& dst0, OPHOOK_VEC& dst1, OPHOOK_VEC src0, OPHOOK_VEC src1, vector_bool mask) {
  OPHOOK_REG::Mull(dst0, dst1, src0, src1, mask);
}
// `_v2`: in the odd elements of what is half as wide.
#define OPHOOK_HALVES(suffix, layout)                                                                      \
  inline void asc_muls##suffix(vector_half& dst, vector_float src, float value, vector_bool mask) {        \
    using None = OPHOOK_REG::DefaultType;                                                                  \
    OPHOOK_REG::MulsCast<None, None, float, OPHOOK_REG::RegLayout::layout>(dst, src, value, mask);         \
  }                                                                                                        \
  OPHOOK_OF(half, float)                                                                                   \
  inline void asc_exp_sub##suffix(vector_float& dst, OPHOOK_VEC src0, OPHOOK_VEC src1, vector_bool mask) { \
    OPHOOK_REG::ExpSub<float, T, OPHOOK_REG::RegLayout::layout>(dst, src0, src1, mask);                    \
  }
OPHOOK_HALVES(, ZERO)
OPHOOK_HALVES(_v2, ONE)
#undef OPHOOK_HALVES
inline void asc_frequency_histogram_bin0(vector_uint16_t& dst, vector_uint8_t src, vector_bool mask) {
  using enum AscendC::Reg::HistogramsType;
  OPHOOK_REG::Histograms<uint8_t, uint16_t, OPHOOK_REG::HistogramsBinType::BIN0, FREQUENCY>(dst, src, mask);
}
inline void asc_frequency_histogram_bin1(vector_uint16_t& dst, vector_uint8_t src, vector_bool mask) {
  using enum AscendC::Reg::HistogramsType;
  OPHOOK_REG::Histograms<uint8_t, uint16_t, OPHOOK_REG::HistogramsBinType::BIN1, FREQUENCY>(dst, src, mask);
}
// That of the upper half is not here: whether it begins at 0 or at 128 its page leaves open.
inline void asc_cumulative_histogram_bin0(vector_uint16_t& dst, vector_uint8_t src, vector_bool mask) {
  using enum AscendC::Reg::HistogramsType;
  OPHOOK_REG::Histograms<uint8_t, uint16_t, OPHOOK_REG::HistogramsBinType::BIN0, ACCUMULATE>(dst, src, mask);
}

// ---- fill, order, widths ----
OPHOOK_OF(int8_t, uint8_t, fp8_e5m2_t, fp8_e4m3fn_t, OPHOOK_B16, OPHOOK_B32)
inline void asc_duplicate_scalar(OPHOOK_VEC& dst, ophook::c::Given<T> value, vector_bool mask) {
  OPHOOK_REG::Duplicate(dst, value, mask);
}
OPHOOK_OF(int8_t, uint8_t, fp8_e8m0_t, fp8_e5m2_t, fp8_e4m3fn_t, OPHOOK_B16, OPHOOK_B32)
inline void asc_duplicate_scalar(OPHOOK_VEC& dst, ophook::c::Given<T> value) { OPHOOK_REG::Duplicate(dst, value); }
#define OPHOOK_COUNTED OPHOOK_OF(int8_t, int16_t, half, int32_t, float)
OPHOOK_COUNTED inline void asc_arange(OPHOOK_VEC& dst, ophook::c::Given<T> value) { OPHOOK_REG::Arange(dst, value); }
OPHOOK_COUNTED inline void asc_arange_descend(OPHOOK_VEC& dst, ophook::c::Given<T> value) {
  OPHOOK_REG::Arange<T, OPHOOK_REG::IndexOrder::DECREASE_ORDER>(dst, value);
}
#undef OPHOOK_COUNTED
OPHOOK_OF(OPHOOK_BYTES, OPHOOK_B16, OPHOOK_B32)
inline void asc_intlv(OPHOOK_VEC& dst0, OPHOOK_VEC& dst1, OPHOOK_VEC src0, OPHOOK_VEC src1) {
  OPHOOK_REG::Interleave(dst0, dst1, src0, src1);
}
OPHOOK_OF(OPHOOK_BYTES, OPHOOK_B16, OPHOOK_B32)
inline void asc_deintlv(OPHOOK_VEC& dst0, OPHOOK_VEC& dst1, OPHOOK_VEC src0, OPHOOK_VEC src1) {
  OPHOOK_REG::DeInterleave(dst0, dst1, src0, src1);
}
// Half as wide, into the lower or the upper half of a register; the first two names are older, and take signed numbers.
#define OPHOOK_PACK(name, part, ...)                                                         \
  OPHOOK_PAIR(__VA_ARGS__) inline void name(ophook::c::Vec<D>& dst, ophook::c::Vec<S> src) { \
    OPHOOK_REG::Pack<D, S, OPHOOK_REG::HighLowPart::part>(dst, src);                         \
  }                                                                                          \
  inline void name(vector_bool& dst, vector_bool src) { OPHOOK_REG::Pack<OPHOOK_REG::HighLowPart::part>(dst, src); }
#define OPHOOK_OLDER uint8_t(uint16_t), uint8_t(int16_t), uint16_t(uint32_t), uint16_t(int32_t)
OPHOOK_PACK(asc_pack, LOWEST, OPHOOK_OLDER)
OPHOOK_PACK(asc_pack_v2, HIGHEST, OPHOOK_OLDER)
OPHOOK_PACK(asc_pack_to_low, LOWEST, uint8_t(uint16_t), uint16_t(uint32_t))
OPHOOK_PACK(asc_pack_to_high, HIGHEST, uint8_t(uint16_t), uint16_t(uint32_t))
#undef OPHOOK_PACK
#undef OPHOOK_OLDER
#define OPHOOK_UNPACK(name, part)                                                       \
  OPHOOK_PAIR(uint16_t(uint8_t), int16_t(int8_t), uint32_t(uint16_t), int32_t(int16_t)) \
  inline void name(ophook::c::Vec<D>& dst, ophook::c::Vec<S> src) {                     \
    OPHOOK_REG::UnPack<D, S, OPHOOK_REG::HighLowPart::part>(dst, src);                  \
  }                                                                                     \
  inline void name(vector_bool& dst, vector_bool src) { OPHOOK_REG::UnPack<OPHOOK_REG::HighLowPart::part>(dst, src); }
OPHOOK_UNPACK(asc_unpack_lower, LOWEST)
OPHOOK_UNPACK(asc_unpack_upper, HIGHEST)
#undef OPHOOK_UNPACK
OPHOOK_OF(int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t)
inline void asc_unsqueeze(OPHOOK_VEC& dst, vector_bool mask) { OPHOOK_REG::Unsqueeze(dst, mask); }
OPHOOK_OF(OPHOOK_BYTES, OPHOOK_B16, OPHOOK_B32)
inline void asc_squeeze_with_status(OPHOOK_VEC& dst, OPHOOK_VEC src, vector_bool mask) {
  OPHOOK_REG::Squeeze<T, OPHOOK_REG::GatherMaskMode::STORE_REG>(dst, src, mask);
}
OPHOOK_OF(OPHOOK_BYTES, OPHOOK_B16, OPHOOK_B32)
inline void asc_squeeze_v2(OPHOOK_VEC& dst, OPHOOK_VEC src, vector_bool mask) {
  asc_squeeze_with_status(dst, src, mask);
}

// ---- by numbers ----
// D from memory of S by numbers of I: D(S, I).
template <typename D, typename S, typename I>
  requires ophook::c::one_of<D(S, I), int16_t(int8_t, uint16_t), uint16_t(uint8_t, uint16_t),
                             int16_t(int16_t, uint16_t), uint16_t(uint16_t, uint16_t), half(half, uint16_t),
                             bfloat16_t(bfloat16_t, uint16_t), int32_t(int32_t, uint32_t), uint32_t(uint32_t, uint32_t),
                             float(float, uint32_t), int16_t(int16_t, uint32_t), uint16_t(uint16_t, uint32_t),
                             half(half, uint32_t), bfloat16_t(bfloat16_t, uint32_t)>
inline void asc_gather(ophook::c::Vec<D>& dst, S* src, ophook::c::Vec<I> index, vector_bool mask, OPHOOK_AT) {
  OPHOOK_REG::Gather(dst, src, index, mask, where);
}
template <typename T, typename I>
  requires ophook::c::one_of<T, OPHOOK_BYTES, OPHOOK_B16, int32_t, uint32_t> &&
           std::is_same_v<I, ophook::c::Bits<sizeof(T)>>
inline void asc_gather(OPHOOK_VEC& dst, OPHOOK_VEC src, ophook::c::Vec<I> index) {
  OPHOOK_REG::Gather(dst, src, index);
}
#define OPHOOK_BLOCKS OPHOOK_OF(OPHOOK_B8, OPHOOK_B16, OPHOOK_B32, int64_t, uint64_t)
OPHOOK_BLOCKS
inline void asc_gather_datablock(OPHOOK_VEC& dst, T* src, vector_uint32_t index, vector_bool mask, OPHOOK_AT) {
  dst = OPHOOK_REG::details::zeroed<OPHOOK_VEC>();
  OPHOOK_REG::GatherB(dst, src, index, mask, where);
}
OPHOOK_BLOCKS inline void asc_gather_datablock(OPHOOK_VEC& dst, T* src, vector_uint32_t index, OPHOOK_AT) {
  asc_gather_datablock(dst, src, index, asc_create_mask_b32(PAT_ALL), where);
}
#undef OPHOOK_BLOCKS
#define OPHOOK_SCATTERED                                                                                         \
  template <typename T, typename I>                                                                              \
    requires ophook::c::one_of<T(I), int8_t(uint16_t), uint8_t(uint16_t), int16_t(uint16_t), uint16_t(uint16_t), \
                               int32_t(uint32_t), uint32_t(uint32_t), bfloat16_t(uint16_t), half(uint16_t),      \
                               float(uint32_t)>
OPHOOK_SCATTERED
inline void asc_scatter(T* dst, OPHOOK_VEC src, ophook::c::Vec<I> index, vector_bool mask, OPHOOK_AT) {
  OPHOOK_REG::Scatter(dst, src, index, mask, where);
}
OPHOOK_SCATTERED  // the older order
    inline void asc_scatter(OPHOOK_VEC& src, T* dst, ophook::c::Vec<I> index, vector_bool mask, OPHOOK_AT) {
  OPHOOK_REG::Scatter(dst, src, index, mask, where);
}
#undef OPHOOK_SCATTERED

// ---- two registers, and blocks with strides ----
#define OPHOOK_TWO OPHOOK_OF(OPHOOK_B8, OPHOOK_B16, OPHOOK_B32)
OPHOOK_TWO inline void asc_loadalign_deintlv(OPHOOK_VEC& dst0, OPHOOK_VEC& dst1, T* src, OPHOOK_AT) {
  OPHOOK_REG::LoadAlign<T, OPHOOK_DIST(LoadDist, DINTLV_B8)>(dst0, dst1, src, where);
}
OPHOOK_TWO inline void asc_loadalign_deintlv(OPHOOK_VEC& dst0, OPHOOK_VEC& dst1, T* src, int32_t offset, OPHOOK_AT) {
  asc_loadalign_deintlv(dst0, dst1, src + offset, where);
}
OPHOOK_TWO inline void asc_loadalign_deintlv(OPHOOK_VEC& dst0, OPHOOK_VEC& dst1, T* src, addr_reg offset, OPHOOK_AT) {
  asc_loadalign_deintlv(dst0, dst1, src + offset.elements, where);
}
OPHOOK_TWO
inline void asc_loadalign_deintlv_postupdate(OPHOOK_VEC& dst0, OPHOOK_VEC& dst1, T*& src, int32_t offset, OPHOOK_AT) {
  asc_loadalign_deintlv(dst0, dst1, src, where);
  src += offset;
}
#undef OPHOOK_TWO
#define OPHOOK_TWO OPHOOK_OF(OPHOOK_B8, OPHOOK_B16, int32_t, uint32_t)
OPHOOK_TWO inline void asc_storealign_intlv(T* dst, OPHOOK_VEC src0, OPHOOK_VEC src1, OPHOOK_AT) {
  vector_bool all = asc_create_mask_b8(PAT_ALL);
  OPHOOK_REG::StoreAlign<T, OPHOOK_DIST(StoreDist, INTLV_B8)>(dst, src0, src1, all, where);
}
OPHOOK_TWO inline void asc_storealign_intlv(T* dst, OPHOOK_VEC src0, OPHOOK_VEC src1, int32_t offset, OPHOOK_AT) {
  asc_storealign_intlv(dst + offset, src0, src1, where);
}
OPHOOK_TWO inline void asc_storealign_intlv(T* dst, OPHOOK_VEC src0, OPHOOK_VEC src1, addr_reg offset, OPHOOK_AT) {
  asc_storealign_intlv(dst + offset.elements, src0, src1, where);
}
#undef OPHOOK_TWO
// The first element alone: without a mask.
#define OPHOOK_FIRST OPHOOK_OF(OPHOOK_B8, OPHOOK_B16, OPHOOK_B32)
OPHOOK_FIRST inline void asc_storealign_1st(T* dst, OPHOOK_VEC src, OPHOOK_AT) {
  vector_bool all = asc_create_mask_b8(PAT_ALL);
  OPHOOK_REG::StoreAlign<T, OPHOOK_DIST(StoreDist, FIRST_ELEMENT_B8)>(dst, src, all, where);
}
OPHOOK_FIRST inline void asc_storealign_1st(T* dst, OPHOOK_VEC src, int32_t offset, OPHOOK_AT) {
  asc_storealign_1st(dst + offset, src, where);
}
OPHOOK_FIRST inline void asc_storealign_1st(T* dst, OPHOOK_VEC src, addr_reg offset, OPHOOK_AT) {
  asc_storealign_1st(dst + offset.elements, src, where);
}
#undef OPHOOK_FIRST
OPHOOK_OF(int8_t, uint8_t, OPHOOK_B16, OPHOOK_B32)
inline void asc_storealign_1st_postupdate(T*& dst, OPHOOK_VEC src, int32_t offset, OPHOOK_AT) {
  asc_storealign_1st(dst, src, where);
  dst += offset;
}
#define OPHOOK_STRIDES uint16_t block_stride, uint16_t repeat_stride, vector_bool mask
#define OPHOOK_STRIDED(suffix, reference, mode)                                                                      \
  OPHOOK_OF(OPHOOK_B8, OPHOOK_B16, OPHOOK_B32, int64_t)                                                              \
  inline void asc_loadalign##suffix(OPHOOK_VEC& dst, T* reference src, OPHOOK_STRIDES, OPHOOK_AT) {                  \
    OPHOOK_REG::LoadAlign<T, OPHOOK_REG::DataCopyMode::DATA_BLOCK_COPY, OPHOOK_REG::PostLiteral::POST_MODE_##mode>(  \
        dst, src, block_stride, repeat_stride, mask, where);                                                         \
  }                                                                                                                  \
  OPHOOK_OF(OPHOOK_BYTES, OPHOOK_B16, OPHOOK_B32)                                                                    \
  inline void asc_storealign##suffix(T* reference dst, OPHOOK_VEC src, OPHOOK_STRIDES, OPHOOK_AT) {                  \
    OPHOOK_REG::StoreAlign<T, OPHOOK_REG::DataCopyMode::DATA_BLOCK_COPY, OPHOOK_REG::PostLiteral::POST_MODE_##mode>( \
        dst, src, block_stride, repeat_stride, mask, where);                                                         \
  }
OPHOOK_STRIDED(, , NORMAL)
OPHOOK_STRIDED(_postupdate, &, UPDATE)
#undef OPHOOK_STRIDES
#undef OPHOOK_STRIDED

// ---- addresses that are no multiple of 32 ----
#define OPHOOK_LOOSE OPHOOK_OF(OPHOOK_B8, OPHOOK_B16, OPHOOK_B32, int64_t)
OPHOOK_LOOSE inline void asc_load(OPHOOK_VEC& dst, T* src, OPHOOK_AT) { OPHOOK_REG::Load<T>(dst, src, where); }
OPHOOK_LOOSE inline void asc_store(T* dst, OPHOOK_VEC src, OPHOOK_AT) { OPHOOK_REG::Store<T>(dst, src, where); }
OPHOOK_LOOSE inline void asc_store(T* dst, OPHOOK_VEC src, uint32_t count, OPHOOK_AT) {
  if (!count || count > 256 / sizeof(T))
    return ophook::rt::refuse("asc_store", "count is 1 to the elements of a register", where);
  OPHOOK_REG::Store<T>(dst, src, count, where);
}
OPHOOK_LOOSE inline void asc_loadunalign_pre(vector_load_unalign& dst, T* src, OPHOOK_AT) {
  OPHOOK_REG::LoadUnAlignPre(dst, src, where);
}
OPHOOK_LOOSE inline void asc_loadunalign_pre(vector_load_unalign& dst, T* src, addr_reg offset, OPHOOK_AT) {
  OPHOOK_REG::LoadUnAlignPre(dst, src, offset, where);
}
OPHOOK_LOOSE inline void asc_loadunalign(OPHOOK_VEC& dst, vector_load_unalign& src0, T* src1, OPHOOK_AT) {
  OPHOOK_REG::LoadUnAlign<T>(dst, src0, src1, where);
}
OPHOOK_LOOSE
inline void asc_loadunalign_postupdate(OPHOOK_VEC& dst, vector_load_unalign& src0, T*& src1, uint32_t count,
                                       OPHOOK_AT) {
  OPHOOK_REG::LoadUnAlign<T, OPHOOK_REG::PostLiteral::POST_MODE_UPDATE>(dst, src0, src1, count, where);
}
OPHOOK_LOOSE
inline void asc_loadunalign_postupdate(OPHOOK_VEC& dst, vector_load_unalign& src0, T* src1, addr_reg& offset,
                                       uint32_t inc, OPHOOK_AT) {
  OPHOOK_REG::LoadUnAlign<T>(dst, src0, src1, offset, inc, where);
}
OPHOOK_LOOSE
inline void asc_storeunalign(T* dst, vector_store_unalign& src0, OPHOOK_VEC src1, uint32_t count, OPHOOK_AT) {
  OPHOOK_REG::StoreUnAlign<T>(dst, src1, src0, count, where);
}
OPHOOK_LOOSE
inline void asc_storeunalign_postupdate(T*& dst, vector_store_unalign& src0, OPHOOK_VEC src1, uint32_t count,
                                        OPHOOK_AT) {
  OPHOOK_REG::StoreUnAlign<T>(dst, src1, src0, count, where);
}
OPHOOK_LOOSE
inline void asc_storeunalign_postupdate(T* dst, vector_store_unalign& src0, OPHOOK_VEC src1, addr_reg& count,
                                        OPHOOK_AT) {
  OPHOOK_REG::StoreUnAlign<T>(dst, src1, src0, count, where);
}
OPHOOK_OF(uint8_t, uint16_t, uint32_t)
inline void asc_storeunalign_postupdate(T*& dst, vector_store_unalign& src0, vector_bool src1, OPHOOK_AT) {
  OPHOOK_REG::details::store_mask_unaligned(dst, src1, src0, where);
}
// The register is given by reference: it is empty afterwards.
OPHOOK_LOOSE inline void asc_storeunalign_post(T* dst, vector_store_unalign& src, int32_t offset, OPHOOK_AT) {
  OPHOOK_REG::StoreUnAlignPost<T>(dst, src, offset, where);
}
OPHOOK_LOOSE
inline void asc_storeunalign_post_postupdate(T*& dst, vector_store_unalign& src, int32_t offset, OPHOOK_AT) {
  OPHOOK_REG::StoreUnAlignPost<T>(dst, src, offset, where);
}
#undef OPHOOK_LOOSE
// What asc_squeeze_with_status counted; and behind an address register. Of hifloat8_t there is none.
#define OPHOOK_LOOSE \
  OPHOOK_OF(int8_t, uint8_t, fp8_e8m0_t, fp8_e5m2_t, fp8_e4m3fn_t, OPHOOK_FOURS, OPHOOK_B16, OPHOOK_B32, int64_t)
OPHOOK_LOOSE
inline void asc_storeunalign_postupdate(T* dst, vector_store_unalign& src0, OPHOOK_VEC src1, OPHOOK_AT) {
  OPHOOK_REG::StoreUnAlign<T>(dst, src1, src0, where);
}
OPHOOK_LOOSE inline void asc_storeunalign_post(T* dst, vector_store_unalign& src, OPHOOK_AT) {
  OPHOOK_REG::StoreUnAlignPost<T>(dst, src, where);
}
OPHOOK_LOOSE inline void asc_storeunalign_post(T* dst, vector_store_unalign& src, addr_reg offset, OPHOOK_AT) {
  OPHOOK_REG::StoreUnAlignPost<T>(dst, src, offset, where);
}
#undef OPHOOK_LOOSE

#undef OPHOOK_VEC
#undef OPHOOK_MASK
#undef OPHOOK_REG
#undef OPHOOK_BYTES
#undef OPHOOK_FOURS
#undef OPHOOK_B8
#undef OPHOOK_B16
#undef OPHOOK_B32
#undef OPHOOK_PAIR
#undef R_BINARY
#undef R_UNARY
#undef R_SCALAR
#undef R_BITS
#undef R_SHIFT
#undef R_COMPARE
#undef R_COMPARE_SCALAR
#undef R_TRUNCATE
#undef R_REDUCE
#undef R_CAST
#undef R_PLACES_1
#undef R_PLACES_2
#undef R_PLACES_4
#undef R_EXACT
#undef R_CUT
#undef R_ROUNDED
#undef R_ROUNDED_CUT
#undef OPHOOK_DIST
#undef R_LOAD
#undef R_LOAD_POST
#undef R_STORE
#undef R_STORE_POST
#undef R_MASK_LOAD
#undef R_MASK_STORE
#include "c_macros_end.inc"
