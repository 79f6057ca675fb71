// The Reg interface: what fills, moves, compares, converts and adds up lanes.
#pragma once

#include "eight_bits.h"
#include "reg_compute.h"

namespace AscendC::Reg {

namespace details {
template <AReg U>
U zeroed() {
  U made;
  std::memset(made.bytes, 0, U::kBytes), std::memset(made.known, 1, U::kBytes);
  return made;
}
}  // namespace details

// ---- fill, move, order ----
template <typename T = DefaultType, typename S, details::AReg U>
  requires(!details::AReg<S>)
__simd_callee__ inline void Duplicate(U& dstReg, S scalarValue) {
  for (uint32_t lane = 0; lane < U::kLanes; ++lane) details::put(dstReg, lane, details::scalar<U>(scalarValue));
}
template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, typename S, details::AReg U>
  requires(!details::AReg<S>)
__simd_callee__ inline void Duplicate(U& dstReg, S scalarValue, MaskReg& mask) {
  details::each(dstReg, mask, mode, [&](uint32_t, bool&) { return details::scalar<U>(scalarValue); });
}
template <typename T = DefaultType, HighLowPart pos = HighLowPart::LOWEST, MaskMergeMode mode = MaskMergeMode::ZEROING,
          details::AReg U>
__simd_callee__ inline void Duplicate(U& dstReg, U& srcReg, MaskReg& mask) {
  static_assert(pos == HighLowPart::LOWEST, "Duplicate has HighLowPart::LOWEST alone");
  const U source = srcReg;
  details::each(dstReg, mask, mode, [&](uint32_t, bool& is_known) {
    is_known = details::known(source, 0);
    return details::get(source, 0);
  });
}
template <typename T = DefaultType, details::AReg U>
__simd_callee__ inline void Move(U& dstReg, U& srcReg) {
  dstReg = srcReg;
}
template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::MERGING, details::AReg U>
__simd_callee__ inline void Move(U& dstReg, U& srcReg, MaskReg mask) {
  static_assert(mode == MaskMergeMode::MERGING, "Move has MaskMergeMode::MERGING alone");
  details::each(dstReg, mask, mode, [&](uint32_t lane, bool& is_known) {
    is_known = details::known(srcReg, lane);
    return details::get(srcReg, lane);
  });
}
template <typename T = DefaultType, IndexOrder order = IndexOrder::INCREASE_ORDER, typename S, details::AReg U>
__simd_callee__ inline void Arange(U& dstReg, S scalarValue) {
  using A = typename U::ActualT;
  static_assert(details::OneOf<A, int8_t, int16_t, int32_t, int64_t, half, float>, "Arange has not this data type");
  for (uint32_t lane = 0; lane < U::kLanes; ++lane) {
    const uint32_t step = order == IndexOrder::INCREASE_ORDER ? lane : U::kLanes - 1 - lane;
    const auto first = details::wrapping(details::scalar<U>(scalarValue));
    details::put(dstReg, lane, details::narrow<A>(first + decltype(first)(step)));
  }
}
namespace details {
// Bytes of both sources in one order, which `to` names.
template <AReg U, typename F>
void reorder(U& dst0, U& dst1, const U& src0, const U& src1, F to) {
  constexpr uint32_t size = sizeof(typename U::ActualT), lanes = U::kLanes;
  const U sources[] = {src0, src1};
  U results[2];
  for (uint32_t e = 0; e < 2 * lanes; ++e) {
    const uint32_t target = to(e, lanes);
    put(results[target / lanes], target % lanes, get(sources[e / lanes], e % lanes),
        known(sources[e / lanes], e % lanes));
  }
  static_assert(size < 8 || U::kBytes == 512, "of b64 there is RegTraitNumTwo alone");
  dst0 = results[0], dst1 = results[1];
}
}  // namespace details
template <typename T = DefaultType, details::AReg U>
__simd_callee__ inline void Interleave(U& dstReg0, U& dstReg1, U& srcReg0, U& srcReg1) {
  details::reorder(dstReg0, dstReg1, srcReg0, srcReg1,
                   [](uint32_t e, uint32_t lanes) { return e % lanes * 2 + e / lanes; });
}
template <typename T = DefaultType, details::AReg U>
__simd_callee__ inline void DeInterleave(U& dstReg0, U& dstReg1, U& srcReg0, U& srcReg1) {
  details::reorder(dstReg0, dstReg1, srcReg0, srcReg1,
                   [](uint32_t e, uint32_t lanes) { return e % 2 * lanes + e / 2; });
}
template <typename T = DefaultType, typename F = DefaultType, HighLowPart part = HighLowPart::LOWEST, details::AReg U,
          details::AReg V>
__simd_callee__ inline void Pack(U& dstReg, V& srcReg) {
  using A = typename U::ActualT;
  static_assert(std::is_unsigned_v<A> && sizeof(typename V::ActualT) == 2 * sizeof(A), "Pack: to half of the width");
  const V source = srcReg;
  for (uint32_t lane = 0; lane < V::kLanes && lane < U::kLanes; ++lane)
    details::put(dstReg, lane + (part == HighLowPart::HIGHEST ? V::kLanes : 0), A(details::get(source, lane)),
                 details::known(source, lane));
}
template <typename T = DefaultType, typename F = DefaultType, HighLowPart part = HighLowPart::LOWEST, details::AReg U,
          details::AReg V>
__simd_callee__ inline void UnPack(U& dstReg, V& srcReg) {
  using A = typename U::ActualT;
  using B = typename V::ActualT;
  static_assert(sizeof(A) == 2 * sizeof(B) && std::is_signed_v<A> == std::is_signed_v<B>, "UnPack: to twice the width");
  const V source = srcReg;
  for (uint32_t lane = 0; lane < U::kLanes; ++lane) {
    const uint32_t from = lane + (part == HighLowPart::HIGHEST ? U::kLanes : 0);
    details::put(dstReg, lane, A(details::get(source, from)), details::known(source, from));
  }
}
template <typename T = DefaultType, details::AReg U>
__simd_callee__ inline void Unsqueeze(U& dstReg, MaskReg& mask) {
  uint64_t before = 0;
  for (uint32_t lane = 0; lane < U::kLanes; ++lane) {
    details::put(dstReg, lane, typename U::ActualT(before));
    before += details::on<U>(mask, lane);
  }
}
template <typename T = DefaultType, GatherMaskMode store = GatherMaskMode::NO_STORE_REG, details::AReg U>
__simd_callee__ inline void Squeeze(U& dstReg, U& srcReg, MaskReg& mask) {
  static_assert(sizeof(typename U::ActualT) <= 4, "Squeeze has not this data type");
  U result;
  uint32_t count = 0;
  for (uint32_t lane = 0; lane < U::kLanes; ++lane)
    if (details::on<U>(mask, lane))
      details::put(result, count++, details::get(srcReg, lane), details::known(srcReg, lane));
  for (uint32_t lane = count; lane < U::kLanes; ++lane) details::put(result, lane, typename U::ActualT{});
  dstReg = result;
  if (store == GatherMaskMode::STORE_REG) ophook::rt::squeezed().last = uint32_t(count * sizeof(typename U::ActualT));
}
template <typename T = DefaultType, typename F = DefaultType, details::AReg U, details::AReg V>
__simd_callee__ inline void Gather(U& dstReg, U& srcReg, V& indexReg) {
  static_assert(std::is_unsigned_v<typename V::ActualT> && sizeof(typename V::ActualT) == sizeof(typename U::ActualT),
                "Gather: the index is unsigned, as wide as the data");
  const U source = srcReg;
  const V index = indexReg;
  for (uint32_t lane = 0; lane < U::kLanes; ++lane) {
    const uint32_t from = uint32_t(details::get(index, lane)) % U::kLanes;
    details::put(dstReg, lane, details::get(source, from), details::known(source, from) && details::known(index, lane));
  }
}

// ---- compare and select ----
template <typename T = DefaultType, CMPMODE mode = CMPMODE::EQ, details::AReg U>
__simd_callee__ inline void Compare(MaskReg& dst, U& srcReg0, U& srcReg1, MaskReg& mask) {
  MaskReg result;
  for (uint32_t lane = 0; lane < U::kLanes; ++lane)
    if (details::on<U>(mask, lane))
      result.set(lane * (256 / U::kLanes), details::order(mode, details::number(details::get(srcReg0, lane)),
                                                          details::number(details::get(srcReg1, lane))));
  dst = result;
}
template <typename T = DefaultType, CMPMODE mode = CMPMODE::EQ, details::AReg U, typename S>
__simd_callee__ inline void Compares(MaskReg& dst, U& srcReg, S scalarValue, MaskReg& mask) {
  U second;
  Duplicate(second, scalarValue);
  Compare<T, mode>(dst, srcReg, second, mask);
}
template <typename T = DefaultType, details::AReg U>
__simd_callee__ inline void Select(U& dstReg, U& srcReg0, U& srcReg1, MaskReg& mask) {
  U result;
  for (uint32_t lane = 0; lane < U::kLanes; ++lane) {
    const U& from = details::on<U>(mask, lane) ? srcReg0 : srcReg1;
    details::put(result, lane, details::get(from, lane), details::known(from, lane));
  }
  dstReg = result;
}

// ---- conversions ----
namespace details {
template <typename T>
constexpr bool kEight = std::is_same_v<T, fp8_e4m3fn_t> || std::is_same_v<T, fp8_e5m2_t>;
template <typename T>
constexpr const ophook::Eight& eight() {
  return std::is_same_v<T, fp8_e4m3fn_t> ? ophook::kE4M3 : ophook::kE5M2;
}
template <typename To, typename From>
To converted(const From& from, RoundMode mode, SatMode saturation) {
  To to;
  if constexpr (kEight<To>) {
    to.bits = ophook::to_eight(from, eight<To>(), saturation == SatMode::SAT);
  } else if constexpr (kEight<From>) {
    to = ophook::of_eight(from.bits, eight<From>());
  } else if constexpr (std::is_same_v<To, fp8_e8m0_t>) {
    to.bits = ophook::to_exponent(from.bits);
  } else if constexpr (std::is_same_v<From, fp8_e8m0_t>) {
    to.bits = ophook::of_exponent(from.bits);
  } else {
    const bool saturated = saturation == SatMode::SAT || (saturation == SatMode::UNKNOWN && !kReal<To>);
    ophook::rt::reg_convert(ophook::rt::dtype_of<From>(), ophook::rt::dtype_of<To>(), int(mode), saturated, &from, &to);
  }
  return to;
}
// `own`: it says itself whether it saturates, whatever the control register says.
template <CastTrait trait, bool own, typename U, typename V>
void cast(U& dstReg, V& srcReg, MaskReg& mask) {
  using To = typename U::ActualT;
  using From = typename V::ActualT;
  constexpr const char* letters = details::roundings<From, To>();
  static_assert(*letters, "Cast has not this pair of data types, or not here");
  static_assert(*letters == 'N' || trait.roundMode <= RoundMode::CAST_NONE ||
                    details::has(letters, "NRFCATO"[int(trait.roundMode) % 7]),
                "Cast has not this RoundMode for the data types");
  static_assert(trait.mrgMode != MaskMergeMode::MERGING, "Cast has MaskMergeMode::ZEROING alone");
  constexpr uint32_t wide = 256 / (sizeof(To) > sizeof(From) ? sizeof(To) : sizeof(From));
  constexpr uint32_t lanes = U::kBytes == 512 || V::kBytes == 512 ? 64 : wide;
  constexpr uint32_t place = int(trait.layoutMode) > 0 ? uint32_t(trait.layoutMode) : 0;
  constexpr uint32_t from_step = V::kLanes / lanes, to_step = U::kLanes / lanes;
  static_assert(place < from_step * to_step, "Cast has not this RegLayout for the data types");
  U result = details::zeroed<U>();
  const bool whole = !own && std::is_integral_v<To>;
  const SatMode saturation = whole && ophook::rt::reg_saturates() ? SatMode::SAT : trait.satMode;
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    const uint32_t from = lane * from_step + (from_step > 1 ? place : 0),
                   to = lane * to_step + (to_step > 1 ? place : 0);
    if (!details::on<V>(mask, lane * from_step)) continue;
    const From source = details::get(srcReg, from);
    const To value = details::converted<To>(source, trait.roundMode, saturation);
    details::put(result, to, value, details::known(srcReg, from));
  }
  dstReg = result;
}
}  // namespace details
template <typename T = DefaultType, typename F = DefaultType, CastTrait trait = castTrait, typename U, typename V>
__simd_callee__ inline void Cast(U& dstReg, V& srcReg, MaskReg& mask) {
  details::cast<trait, false>(dstReg, srcReg, mask);
}
template <typename T = DefaultType, RoundMode roundMode = RoundMode::CAST_NONE,
          MaskMergeMode mode = MaskMergeMode::ZEROING, details::AReg U>
__simd_callee__ inline void Truncate(U& dstReg, U& srcReg, MaskReg& mask) {
  OPHOOK_HEAD(Truncate, zeroes, half, bfloat16_t, float)
  details::each(dstReg, mask, mode, [&](uint32_t lane, bool& is_known) {
    const float a = details::number(details::get(srcReg, lane));
    is_known = details::known(srcReg, lane);
    return details::narrow<typename U::ActualT>(roundMode == RoundMode::CAST_FLOOR   ? std::floor(a)
                                                : roundMode == RoundMode::CAST_CEIL  ? std::ceil(a)
                                                : roundMode == RoundMode::CAST_TRUNC ? std::trunc(a)
                                                : roundMode == RoundMode::CAST_ROUND ? std::round(a)
                                                                                     : std::nearbyint(a));
  });
}
template <typename T0 = DefaultType, typename T1 = DefaultType, typename S, RegLayout layout = RegLayout::ZERO,
          details::AReg U, details::AReg V>
__simd_callee__ inline void MulsCast(U& dstReg, V& srcReg, S scalarValue, MaskReg& mask) {
  static_assert(std::is_same_v<typename U::ActualT, half> && std::is_same_v<typename V::ActualT, float>,
                "MulsCast is of float, and gives half");
  static constexpr CastTrait trait{layout, SatMode::NO_SAT, MaskMergeMode::ZEROING, RoundMode::CAST_ROUND};
  V product;
  Muls(product, srcReg, scalarValue, mask);
  Cast<DefaultType, DefaultType, trait>(dstReg, product, mask);
}

// ---- reductions: sums as a tree of neighbours ----
namespace details {
template <typename D, AReg V>
D tree_sum(const V& src, const MaskReg& mask, uint32_t first, uint32_t count, bool& is_known) {
  D sums[256];
  for (uint32_t i = 0; i < count; ++i) {
    const bool counts = on<V>(mask, first + i);
    is_known &= !counts || known(src, first + i);
    sums[i] = counts ? narrow<D>(number(get(src, first + i))) : D{};
  }
  for (uint32_t half_of = count / 2; half_of; half_of /= 2)
    for (uint32_t i = 0; i < half_of; ++i) sums[i] = narrow<D>(wrapping(sums[2 * i]) + wrapping(sums[2 * i + 1]));
  return sums[0];
}
template <typename T>
T extreme(bool largest) {
  if constexpr (std::is_same_v<T, half>) return T(largest ? -INFINITY : INFINITY);
  else if constexpr (kReal<T>) return narrow<T>(largest ? -INFINITY : INFINITY);
  else return largest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
}
// The first of the largest or smallest; a NaN is both.
template <AReg V>
uint32_t best(const V& src, const MaskReg& mask, uint32_t first, uint32_t count, bool largest, bool& is_known,
              typename V::ActualT& value) {
  using T = typename V::ActualT;
  value = extreme<T>(largest);
  uint32_t found = first;
  bool any = false;
  for (uint32_t lane = first; lane < first + count; ++lane) {
    if (!on<V>(mask, lane)) continue;
    is_known &= known(src, lane);
    const auto now = number(get(src, lane)), old = number(value);
    if (any && old != old) continue;
    bool better = now != now || (largest ? now > old : now < old);
    if constexpr (kReal<T>)
      better |= now == old && std::signbit(now) != std::signbit(old) && std::signbit(now) != largest;
    if (!any || better) value = get(src, lane), found = lane, any = true;
  }
  return found;
}
template <typename D, typename S>
constexpr bool kSums = std::is_same_v<D, S> ? sizeof(S) >= 4 || std::is_same_v<S, half>
                                            : (std::is_same_v<S, int16_t> && std::is_same_v<D, int32_t>) ||
                                                  (std::is_same_v<S, uint16_t> && std::is_same_v<D, uint32_t>);
}  // namespace details
template <ReduceType type = ReduceType::SUM, typename T = DefaultType, typename F = DefaultType,
          MaskMergeMode mode = MaskMergeMode::ZEROING, details::AReg U, details::AReg V>
__simd_callee__ inline void Reduce(U& dstReg, V srcReg, MaskReg mask) {
  using D = typename U::ActualT;
  static_assert(mode == MaskMergeMode::ZEROING, "Reduce has MaskMergeMode::ZEROING alone");
  U result = details::zeroed<U>();
  bool is_known = true;
  if constexpr (type == ReduceType::SUM) {
    static_assert(details::kSums<D, typename V::ActualT>, "Reduce: no sum of these data types");
    const D sum = details::tree_sum<D>(srcReg, mask, 0, V::kLanes, is_known);
    details::put(result, 0, sum, is_known);
  } else {
    static_assert(std::is_same_v<D, typename V::ActualT> && sizeof(D) > 1, "Reduce: no extreme of these data types");
    D value;
    const uint32_t at = details::best(srcReg, mask, 0, V::kLanes, type == ReduceType::MAX, is_known, value);
    details::put(result, 0, value, is_known);
    D bits;  // the index is a whole number, whatever the data type
    const uint64_t index = at;
    std::memcpy(&bits, &index, sizeof bits);
    details::put(result, 1, bits, is_known);
  }
  dstReg = result;
}
template <ReduceType type = ReduceType::SUM, typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING,
          details::AReg U, details::AReg V>
__simd_callee__ inline void ReduceDataBlock(U& dstReg, V srcReg, MaskReg mask) {
  using D = typename U::ActualT;
  static_assert(mode == MaskMergeMode::ZEROING, "ReduceDataBlock has MaskMergeMode::ZEROING alone");
  constexpr uint32_t lanes = 32 / sizeof(typename V::ActualT);
  U result = details::zeroed<U>();
  for (uint32_t block = 0; block < 8; ++block) {
    bool is_known = true;
    if constexpr (type == ReduceType::SUM) {
      static_assert(details::kSums<D, typename V::ActualT>, "ReduceDataBlock: no sum of these data types");
      const D sum = details::tree_sum<D>(srcReg, mask, block * lanes, lanes, is_known);
      details::put(result, block, sum, is_known);
    } else {
      static_assert(std::is_same_v<D, typename V::ActualT>, "ReduceDataBlock: no extreme of these data types");
      D value;
      details::best(srcReg, mask, block * lanes, lanes, type == ReduceType::MAX, is_known, value);
      details::put(result, block, value, is_known);
    }
  }
  dstReg = result;
}
template <PairReduce type = PairReduce::SUM, typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING,
          details::AReg U>
__simd_callee__ inline void PairReduceElem(U& dstReg, U srcReg, MaskReg mask) {
  OPHOOK_HEAD(PairReduceElem, zeroes, half, float)
  U result = details::zeroed<U>();
  for (uint32_t pair = 0; pair < U::kLanes / 2; ++pair) {
    bool is_known = true;
    const auto sum = details::tree_sum<typename U::ActualT>(srcReg, mask, 2 * pair, 2, is_known);
    details::put(result, pair, sum, is_known);
  }
  dstReg = result;
}

// How often each number of eight bits comes, the lower or the upper 128 of them, added to what is there.
enum class HistogramsBinType { BIN0, BIN1 };
enum class HistogramsType { FREQUENCY, ACCUMULATE };
template <typename T = DefaultType, typename F = DefaultType, HistogramsBinType mode, HistogramsType type,
          details::AReg V, details::AReg U>
__simd_callee__ inline void Histograms(U& dstReg, V& srcReg, MaskReg& mask) {
  static_assert(std::is_same_v<typename V::ActualT, uint8_t> && std::is_same_v<typename U::ActualT, uint16_t>,
                "Histograms counts uint8_t in uint16_t");
  static_assert(type == HistogramsType::FREQUENCY || mode == HistogramsBinType::BIN0,
                "Histograms: whether ACCUMULATE of BIN1 begins at 0 or at 128 no page says");
  constexpr uint32_t first = mode == HistogramsBinType::BIN1 ? 128 : 0;
  uint32_t counts[256] = {};
  bool is_known = true;
  for (uint32_t lane = 0; lane < V::kLanes; ++lane)
    if (details::on<V>(mask, lane)) ++counts[details::get(srcReg, lane)], is_known &= details::known(srcReg, lane);
  uint32_t sum = 0;
  for (uint32_t bin = 0; bin < 128; ++bin) {
    sum = (type == HistogramsType::ACCUMULATE ? sum : 0) + counts[first + bin];
    details::put(dstReg, bin, uint16_t(details::get(dstReg, bin) + sum), is_known && details::known(dstReg, bin));
  }
}

}  // namespace AscendC::Reg

#undef OPHOOK_HEAD
#undef OPHOOK_AT
