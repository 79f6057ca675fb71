// The Reg interface of Ascend 950: registers of 256 bytes, masks of a bit for each byte, and what its functions are
// told. Registers are the host's memory; what was never computed stays marked so, until it is stored.
#pragma once

#include <cstring>

#include "enums.h"
#include "runtime.h"

#define __simd_vf__
#define __simd_callee__
#define __no_simd_vf_fusion__  // vector functions are not fused here

namespace ophook::rt {
// From the unified buffer: `known` says of each byte whether it was ever written. `align`: what the address has to be
// a multiple of.
OPHOOK_RT void reg_load(const char* call, const void* from, uint32_t bytes, uint32_t align, void* to, uint8_t* known,
                        At at);
// Where an address lies in its block of 32 bytes of the unified buffer; and that block, whoever may use it.
OPHOOK_RT uint32_t reg_place(const void* address);
OPHOOK_RT void reg_peek(const char* call, const void* from, uint8_t* to, uint8_t* known, At at);
// Those bytes of which `chosen` says so; all without it.
OPHOOK_RT void reg_store(const char* call, void* to, const void* from, const uint8_t* known, const uint8_t* chosen,
                         uint32_t bytes, uint32_t align, At at);
// Elements by their numbers; those that are not chosen stay as they are.
OPHOOK_RT void reg_gather(const char* call, const void* base, const uint64_t* index, const uint8_t* chosen,
                          uint32_t count, uint32_t size, uint32_t align, uint8_t* to, uint8_t* known, At at);
OPHOOK_RT void reg_scatter(const char* call, void* base, const uint64_t* index, const uint8_t* chosen, uint32_t count,
                           uint32_t size, const uint8_t* from, const uint8_t* known, At at);
// Whether conversions to whole numbers saturate whatever they say themselves: bit 60 of the control register.
OPHOOK_RT bool reg_saturates();
OPHOOK_RT void reg_convert(Dtype from, Dtype to, int mode, bool saturated, const void* in, void* out);
OPHOOK_RT SqueezedBytes& squeezed();
struct CastsOfRegisters;  // complete where the C interface is included
}  // namespace ophook::rt

namespace AscendC {

constexpr uint32_t VECTOR_REG_WIDTH = 256;
constexpr uint32_t GetVecLen() { return VECTOR_REG_WIDTH; }
enum class SpecialPurposeReg { AR };

namespace Reg {

struct RegTrait {
  int REG_NUM = 1;
};
inline constexpr RegTrait RegTraitNumOne{1}, RegTraitNumTwo{2};
struct DefaultType {};

enum class MaskMergeMode { UNKNOWN, MERGING, ZEROING };
enum class PostLiteral { POST_MODE_NORMAL, POST_MODE_UPDATE };
enum class RegLayout { UNKNOWN = -1, ZERO, ONE, TWO, THREE };
enum class SatMode { UNKNOWN = -1, NO_SAT, SAT };
enum class MaskPattern { ALL, VL1, VL2, VL3, VL4, VL8, VL16, VL32, VL64, VL128, M3, M4, H, Q, ALLF = 15 };
enum class MaskDist { DIST_NORM, DIST_US, DIST_DS, DIST_PACK };
enum class HighLowPart { LOWEST, HIGHEST };
enum class IndexOrder { INCREASE_ORDER, DECREASE_ORDER };
enum class ReduceType { SUM, MAX, MIN };
enum class PairReduce { SUM };
enum class GatherMaskMode { NO_STORE_REG, STORE_REG };
enum class DataCopyMode { DATA_BLOCK_COPY };
enum class MemType { VEC_STORE, VEC_LOAD, SCALAR_STORE, SCALAR_LOAD, VEC_ALL, SCALAR_ALL };
struct CastTrait {
  RegLayout layoutMode = RegLayout::UNKNOWN;
  SatMode satMode = SatMode::UNKNOWN;
  MaskMergeMode mrgMode = MaskMergeMode::UNKNOWN;
  RoundMode roundMode = RoundMode::UNKNOWN;
};
inline constexpr CastTrait castTrait{RegLayout::ZERO, SatMode::NO_SAT, MaskMergeMode::ZEROING, RoundMode::CAST_NONE};

// Traits are template parameters by value here: GCC 12 crashes where one refers to a constant of a function.
// b64 in two registers: as many elements as one of b32 has.
template <typename T, RegTrait regTrait = RegTraitNumOne>
struct RegTensor {
  static_assert(regTrait.REG_NUM == 1 || sizeof(T) == 8, "RegTraitNumTwo is for data types of 64 bits");
  using ActualT = T;
  static constexpr uint32_t kBytes = VECTOR_REG_WIDTH * regTrait.REG_NUM, kLanes = kBytes / sizeof(T);
  RegTensor() { std::memset(known, 0, kBytes), std::memset(bytes, 0xa5, kBytes); }
  // (vector_int32_t)reg: in the C interface a cast keeps the bits.
  template <typename U>
    requires(sizeof(std::conditional_t<true, ophook::rt::CastsOfRegisters, U>) > 0)
  explicit RegTensor(const RegTensor<U, regTrait>& other) {
    std::memcpy(bytes, other.bytes, kBytes), std::memcpy(known, other.known, kBytes);
  }
  uint8_t bytes[kBytes], known[kBytes];
};

struct MaskReg {
  bool get(uint32_t bit) const { return bits[bit / 64] >> bit % 64 & 1; }
  void set(uint32_t bit, bool value) {
    bits[bit / 64] = (bits[bit / 64] & ~(uint64_t{1} << bit % 64)) | uint64_t{value} << bit % 64;
  }
  uint64_t bits[4] = {};
};

struct AddrReg {
  uint64_t elements = 0;
};
struct UnalignRegForLoad {
  uint8_t bytes[32], known[32];
  const uint8_t* block = nullptr;  // whose bytes they are
};
struct UnalignRegForStore {
  uint8_t bytes[32], known[32];
  uint32_t first = 0, last = 0;  // which of them wait to be written
};

namespace details {

using ophook::rt::At;
using ophook::rt::Dtype;

template <typename T>
struct OfReg : std::false_type {};
template <typename T, RegTrait trait>
struct OfReg<RegTensor<T, trait>> : std::true_type {};
template <typename U>
concept AReg = OfReg<U>::value;
template <typename T, typename U>
concept Fits = std::is_same_v<T, DefaultType> || std::is_same_v<T, typename U::ActualT>;
template <typename T, typename... Types>
concept OneOf = (std::is_same_v<T, Types> || ...);

template <AReg U>
bool on(const MaskReg& mask, uint32_t lane) {
  return mask.get(lane * (256 / U::kLanes));
}
template <AReg U>
typename U::ActualT get(const U& reg, uint32_t lane) {
  typename U::ActualT value;
  std::memcpy(&value, reg.bytes + lane * sizeof value, sizeof value);
  return value;
}
template <AReg U>
bool known(const U& reg, uint32_t lane) {
  return !std::memchr(reg.known + lane * sizeof(typename U::ActualT), 0, sizeof(typename U::ActualT));
}
template <AReg U>
void put(U& reg, uint32_t lane, typename U::ActualT value, bool is_known = true) {
  std::memcpy(reg.bytes + lane * sizeof value, &value, sizeof value);
  std::memset(reg.known + lane * sizeof value, is_known, sizeof value);
}
template <typename T>
constexpr bool kReal = std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t> || std::is_same_v<T, float>;
// What arithmetic is done in: half and bfloat16_t in float.
template <typename T>
auto number(T value) {
  if constexpr (std::is_same_v<T, half>) return float(value);
  else if constexpr (std::is_same_v<T, bfloat16_t>) return ophook::rt::bfloat16_value(value.bits);
  else return value;
}
// Whole numbers without an end, for sums and products that go round.
template <typename T>
auto wrapping(T value) {
  if constexpr (kReal<T>) return number(value);
  else return uint64_t(int64_t(value));
}
template <typename U>
typename U::ActualT scalar(auto value) {
  using T = typename U::ActualT;
  if constexpr (std::is_same_v<decltype(value), T>) return value;
  else if constexpr (std::is_same_v<T, bfloat16_t>) return T(float(number(value)));
  else return T(number(value));
}

// Each lane that the mask chooses gets f(lane, is_known); the others become zero, or stay.
template <AReg U, typename F>
void each(U& dst, const MaskReg& mask, MaskMergeMode mode, F f) {
  U result = dst;
  for (uint32_t lane = 0; lane < U::kLanes; ++lane) {
    if (on<U>(mask, lane)) {
      bool is_known = true;
      const typename U::ActualT value = f(lane, is_known);
      put(result, lane, value, is_known);
    } else if (mode == MaskMergeMode::ZEROING) {
      put(result, lane, typename U::ActualT{});
    }
  }
  dst = result;
}

}  // namespace details

// ---- masks ----
namespace details {
inline MaskReg pattern_mask(MaskPattern mode, uint32_t lanes) {
  const uint32_t firsts[] = {lanes, 1, 2, 3, 4, 8, 16, 32, 64, 128, 0, 0, lanes / 2, lanes / 4, 0, 0};
  MaskReg mask;
  for (uint32_t lane = 0; lane < lanes; ++lane)
    mask.set(lane * (256 / lanes), mode == MaskPattern::M3   ? lane % 3 == 0
                                   : mode == MaskPattern::M4 ? lane % 4 == 0
                                                             : lane < firsts[int(mode)]);
  return mask;
}
}  // namespace details
template <typename T, MaskPattern mode = MaskPattern::ALL, RegTrait regTrait = RegTraitNumOne>
__simd_callee__ inline MaskReg CreateMask() {
  return details::pattern_mask(mode, RegTensor<T, regTrait>::kLanes);
}
template <typename T, RegTrait regTrait = RegTraitNumOne>
__simd_callee__ inline MaskReg UpdateMask(uint32_t& scalarValue) {
  constexpr uint32_t lanes = RegTensor<T, regTrait>::kLanes;
  MaskReg mask;
  for (uint32_t lane = 0; lane < lanes && lane < scalarValue; ++lane) mask.set(lane * (256 / lanes), true);
  scalarValue = scalarValue < lanes ? 0 : scalarValue - lanes;
  return mask;
}
__simd_callee__ inline void Move(MaskReg& dst, MaskReg& src) { dst = src; }
__simd_callee__ inline void Move(MaskReg& dst, MaskReg& src, MaskReg& mask) {
  for (int i = 0; i < 4; ++i) dst.bits[i] = src.bits[i] & mask.bits[i];
}
#define OPHOOK_MASKS(name, expression)                                                          \
  __simd_callee__ inline void name(MaskReg& dst, MaskReg& src0, MaskReg& src1, MaskReg& mask) { \
    for (int i = 0; i < 4; ++i) {                                                               \
      const uint64_t a = src0.bits[i], b = src1.bits[i], m = mask.bits[i];                      \
      dst.bits[i] = expression;                                                                 \
    }                                                                                           \
  }
OPHOOK_MASKS(And, a & b & m)
OPHOOK_MASKS(Or, (a | b) & m)
OPHOOK_MASKS(Xor, (a ^ b) & m)
OPHOOK_MASKS(Select, (a & m) | (b & ~m))
#undef OPHOOK_MASKS
__simd_callee__ inline void Not(MaskReg& dst, MaskReg& src, MaskReg& mask) {
  for (int i = 0; i < 4; ++i) dst.bits[i] = ~src.bits[i] & mask.bits[i];
}
template <HighLowPart part = HighLowPart::LOWEST>
__simd_callee__ inline void Pack(MaskReg& dst, MaskReg& src) {
  MaskReg result;
  for (uint32_t i = 0; i < 128; ++i) result.set(i + (part == HighLowPart::HIGHEST ? 128 : 0), src.get(2 * i));
  dst = result;
}
template <HighLowPart part = HighLowPart::LOWEST>
__simd_callee__ inline void UnPack(MaskReg& dst, MaskReg& src) {
  MaskReg result;
  for (uint32_t i = 0; i < 128; ++i) result.set(2 * i, src.get(i + (part == HighLowPart::HIGHEST ? 128 : 0)));
  dst = result;
}
template <typename T>
__simd_callee__ inline void Interleave(MaskReg& dst0, MaskReg& dst1, MaskReg& src0, MaskReg& src1) {
  static_assert(sizeof(T) <= 4, "masks of b8, b16 and b32 are interleaved");
  MaskReg results[2], sources[] = {src0, src1};
  for (uint32_t i = 0; i < 512; ++i)
    results[i / 256].set(i % 256, sources[i / sizeof(T) % 2].get(i / sizeof(T) / 2 * sizeof(T) + i % sizeof(T)));
  dst0 = results[0], dst1 = results[1];
}
template <typename T>
__simd_callee__ inline void DeInterleave(MaskReg& dst0, MaskReg& dst1, MaskReg& src0, MaskReg& src1) {
  static_assert(sizeof(T) <= 4, "masks of b8, b16 and b32 are interleaved");
  MaskReg results[2], sources[] = {src0, src1};
  for (uint32_t i = 0; i < 512; ++i)
    results[i / sizeof(T) % 2].set(i / sizeof(T) / 2 * sizeof(T) + i % sizeof(T), sources[i / 256].get(i % 256));
  dst0 = results[0], dst1 = results[1];
}
namespace details {
// A mask of the bits of one piece of a register: as many bits as it has lanes.
template <AReg U>
void mask_from(MaskReg& dst, const U& src, uint32_t piece) {
  constexpr uint32_t size = sizeof(typename U::ActualT), lanes = 256 / size;
  for (uint32_t bit = 0; bit < 256; ++bit) {
    const uint32_t lane = bit / size;
    dst.set(bit, src.bytes[piece * (lanes / 8) + lane / 8] >> lane % 8 & 1);
  }
}
}  // namespace details
template <typename T = DefaultType, int16_t offset, details::AReg U>
  requires details::Fits<T, U>
__simd_callee__ inline void MaskGenWithRegTensor(MaskReg& dst, U& srcReg) {
  constexpr uint32_t size = sizeof(typename U::ActualT);
  static_assert((size == 2 && offset >= 0 && offset < 16) || (size == 4 && offset >= 0 && offset < 32),
                "MaskGenWithRegTensor: of b16 the pieces 0 to 15, of b32 0 to 31");
  details::mask_from(dst, srcReg, offset);
}

// ---- addresses ----
template <typename T>
__simd_callee__ inline AddrReg CreateAddrReg(uint16_t index0, uint32_t stride0) {
  return {uint64_t(index0) * stride0};
}
template <typename T>
__simd_callee__ inline AddrReg CreateAddrReg(uint16_t index0, uint32_t stride0, uint16_t index1, uint32_t stride1) {
  return {uint64_t(index0) * stride0 + uint64_t(index1) * stride1};
}
template <typename T>
__simd_callee__ inline AddrReg CreateAddrReg(uint16_t index0, uint32_t stride0, uint16_t index1, uint32_t stride1,
                                             uint16_t index2, uint32_t stride2) {
  return {uint64_t(index0) * stride0 + uint64_t(index1) * stride1 + uint64_t(index2) * stride2};
}
template <typename T>
__simd_callee__ inline AddrReg CreateAddrReg(uint16_t index0, uint32_t stride0, uint16_t index1, uint32_t stride1,
                                             uint16_t index2, uint32_t stride2, uint16_t index3, uint32_t stride3) {
  return {uint64_t(index0) * stride0 + uint64_t(index1) * stride1 + uint64_t(index2) * stride2 +
          uint64_t(index3) * stride3};
}
template <SpecialPurposeReg spr>
__simd_callee__ inline void ClearSpr() {
  ophook::rt::squeezed() = {};
}

}  // namespace Reg

// Outside of vector functions. AR counts the bytes that StoreUnAlign stored of what Squeeze left.
template <SpecialPurposeReg spr>
__aicore__ inline void ClearSpr() {
  Reg::ClearSpr<spr>();
}
template <SpecialPurposeReg spr>
__aicore__ inline int64_t GetSpr() {
  return int64_t(ophook::rt::squeezed().address);
}
}  // namespace AscendC
