// The advanced functions' host side: how much temporary memory they want, and their tiling. The sizes are ours: they are enough
// for what the kernel is told, and those of the vendor's own functions may differ.
#pragma once

#include <algorithm>
#include <iostream>  // programs that include this one print with it
#include <type_traits>
#include <vector>

#include "../../../include/securec.h"  // tiling functions copy with memcpy_s and include nothing for it
#include "../../include/ascendc/modes.h"
#include "platform.h"
#include "tiling_data.h"

namespace ge {
class Shape {
 public:
  Shape() = default;
  explicit Shape(const std::vector<int64_t>& dims) : dims_(dims) {}
  size_t GetDimNum() const { return dims_.size(); }
  int64_t GetDim(size_t i) const { return i < dims_.size() ? dims_[i] : 0; }
  int64_t SetDim(size_t i, int64_t value) { return i < dims_.size() ? (dims_[i] = value, GRAPH_SUCCESS) : GRAPH_FAILED; }
  std::vector<int64_t> GetDims() const { return dims_; }
  int64_t GetShapeSize() const {
    int64_t size = 1;
    for (const int64_t dim : dims_) size *= dim;
    return size;
  }

 private:
  std::vector<int64_t> dims_;
};
}  // namespace ge

namespace optiling {
#define TILING_BEGIN(name)                    \
  class name : public TilingDef {             \
    static constexpr const char* kName = #name; \
                                              \
   public:                                    \
    name() : TilingDef(kName, true) {}
#define TILING_FIELD(type, name) TILING_DATA_FIELD_DEF(type, name)
#define TILING_END };
#include "../../include/ascendc/advanced_tilings.inc"
#undef TILING_BEGIN
#undef TILING_FIELD
#undef TILING_END
}  // namespace optiling

namespace AscendC {
using TensorShape = ge::Shape;
using TensorDataType = ge::DataType;
// Which dimensions a reduction leaves (A) and which it reduces (R), from the first on.
enum class ReducePattern : uint32_t {
  AR = 0, RA = 1, R, ARA, ARAR, ARARA, ARARAR, ARARARA, ARARARAR, ARARARARA, RAR, RARA, RARAR, RARARA, RARARAR, RARARARA,
};

namespace host_details {
inline uint32_t last(const ge::Shape& shape) { return uint32_t(shape.GetDim(shape.GetDimNum() - 1)); }
inline uint32_t rows(const ge::Shape& shape) { return last(shape) ? uint32_t(shape.GetShapeSize()) / last(shape) : 0; }
inline uint32_t up32(uint64_t bytes) { return uint32_t((bytes + 31) / 32 * 32); }
inline uint32_t whole(const ge::Shape& shape) { return up32(uint64_t(shape.GetShapeSize()) * 4); }  // all of it in float
inline uint32_t line(const ge::Shape& shape) { return up32(uint64_t(last(shape)) * 4); }
}  // namespace host_details

inline uint32_t GetSoftMaxMaxTmpSize(const ge::Shape& shape, uint32_t, bool) { return 2 * host_details::whole(shape); }
inline uint32_t GetSoftMaxMinTmpSize(const ge::Shape& shape, uint32_t, bool) { return 2 * host_details::line(shape); }
inline void SoftMaxTilingFunc(const ge::Shape& shape, uint32_t type_size, uint32_t, optiling::SoftMaxTiling& tiling) {
  tiling.set_srcM(host_details::rows(shape)), tiling.set_srcK(host_details::last(shape)), tiling.set_srcSize(uint32_t(shape.GetShapeSize()));
  tiling.set_outMaxM(host_details::rows(shape)), tiling.set_outMaxK(32 / type_size), tiling.set_outMaxSize(host_details::rows(shape) * (32 / type_size));
}
inline uint32_t GetSoftMaxFlashV2MaxTmpSize(const ge::Shape& shape, uint32_t, uint32_t, bool, bool = false, bool = false) {
  return 2 * host_details::whole(shape);
}
inline uint32_t GetSoftMaxFlashV2MinTmpSize(const ge::Shape& shape, uint32_t, uint32_t, bool, bool = false, bool = false) {
  return 2 * host_details::line(shape);
}
inline void SoftMaxFlashV2TilingFunc(const ge::Shape& shape, uint32_t, uint32_t type_size, uint32_t, optiling::SoftMaxTiling& tiling, bool,
                                     bool = false, bool = false) {
  SoftMaxTilingFunc(shape, type_size, 0, tiling);
}
inline uint32_t GetLogSoftMaxMaxTmpSize(const ge::Shape& shape, uint32_t, bool) { return 2 * host_details::whole(shape); }
inline uint32_t GetLogSoftMaxMinTmpSize(const ge::Shape& shape, uint32_t, bool) { return 2 * host_details::line(shape); }
inline void LogSoftMaxTilingFunc(const ge::Shape& shape, uint32_t, uint32_t, optiling::LogSoftMaxTiling& tiling) {
  tiling.set_srcM(host_details::rows(shape)), tiling.set_srcK(host_details::last(shape)), tiling.set_srcSize(uint32_t(shape.GetShapeSize()));
}

// Of (B, S, H, original H).
inline void GetLayerNormMaxMinTmpSize(const ge::Shape& shape, uint32_t, bool, uint32_t& most, uint32_t& least) {
  const uint32_t h = uint32_t(shape.GetDim(2));
  most = 3 * host_details::up32(uint64_t(shape.GetDim(0)) * uint64_t(shape.GetDim(1)) * h * 4), least = 3 * host_details::up32(uint64_t(h) * 4);
}
inline void GetLayerNormNDTillingInfo(const ge::Shape& shape, uint32_t stack, uint32_t, bool, optiling::LayerNormTiling& tiling) {
  const auto dim = [&](size_t i) { return uint32_t(shape.GetDim(i)); };
  tiling.set_bLength(dim(0)), tiling.set_sLength(dim(1)), tiling.set_hLength(dim(2));
  tiling.set_originalHLength(shape.GetDimNum() > 3 && dim(3) ? dim(3) : dim(2));
  tiling.set_inputXSize(dim(0) * dim(1) * dim(2)), tiling.set_meanVarSize(dim(0) * dim(1)), tiling.set_tmpBufSize(stack);
}
inline void GetLayerNormNDTilingInfo(const ge::Shape& shape, uint32_t stack, uint32_t type_size, bool reuse, optiling::LayerNormTiling& tiling) {
  GetLayerNormNDTillingInfo(shape, stack, type_size, reuse, tiling);
}
inline bool GetRmsNormMaxMinTmpSize(const ge::Shape& shape, uint32_t, uint32_t& most, uint32_t& least, bool = false) {
  most = 2 * host_details::whole(shape), least = 2 * host_details::line(shape);
  return true;
}
inline bool GetRmsNormTilingInfo(const ge::Shape& shape, const ge::Shape& original, uint32_t, uint32_t, optiling::RmsNormTiling& tiling, bool = false) {
  if (shape.GetDimNum() != 3) return false;
  const auto dim = [&](size_t i) { return uint32_t(shape.GetDim(i)); };
  tiling.set_bLength(dim(0)), tiling.set_sLength(dim(1)), tiling.set_hLength(dim(2));
  tiling.set_originalHLength(original.GetDimNum() ? host_details::last(original) : dim(2));
  tiling.set_mainBshLength(dim(0) * dim(1) * dim(2));
  return true;
}

inline void GetSumMaxMinTmpSize(uint32_t n, uint32_t type_size, bool, uint32_t& most, uint32_t& least) {
  most = least = host_details::up32(uint64_t(n) * type_size);
}
inline void GetMeanMaxMinTmpSize(uint32_t n, uint32_t type_size, uint32_t, bool, uint32_t& most, uint32_t& least) {
  most = least = host_details::up32(uint64_t(n) * std::max<uint32_t>(type_size, 4));
}
#define OPHOOK_REDUCE(name)                                                                                                            \
  inline void Get##name##MaxMinTmpSize(const TensorShape& shape, const TensorDataType, ReducePattern, bool, bool, uint32_t& most,       \
                                       uint32_t& least) {                                                                              \
    most = host_details::whole(shape), least = host_details::line(shape);                                                              \
  }
OPHOOK_REDUCE(ReduceSum)
OPHOOK_REDUCE(ReduceMean)
OPHOOK_REDUCE(ReduceMax)
OPHOOK_REDUCE(ReduceMin)
#undef OPHOOK_REDUCE

namespace host_details {
// What an elementwise function holds at a time: two tensors of floats, of whatever type its own are; 256 bytes are one step.
inline void factor(uint32_t type_size, uint32_t& nodes, uint32_t& extra) { nodes = 8 / std::clamp(type_size, 1u, 8u), extra = 0; }
inline void elementwise(const ge::Shape& shape, uint32_t type_size, uint32_t& most, uint32_t& least) {
  uint32_t nodes, extra;
  factor(type_size, nodes, extra);
  least = nodes * 256 + extra;
  most = std::max(least, nodes * up32(uint64_t(shape.GetShapeSize()) * type_size) + extra);
}
}  // namespace host_details

#define OPHOOK_SPACE(type, name, ...)                                                                                                   \
  inline type Get##name(__VA_ARGS__ __VA_OPT__(, ) const TensorShape& shape, const uint32_t type_size, const bool, uint32_t& most,      \
                        uint32_t& least) {                                                                                             \
    host_details::elementwise(shape, type_size, most, least);                                                                          \
    return type(1);                                                                                                                    \
  }
#define OPHOOK_FACTOR(name, ...)                                                                                                        \
  inline void Get##name##TmpBufferFactorSize(__VA_ARGS__ __VA_OPT__(, ) const uint32_t type_size, uint32_t& nodes, uint32_t& extra) {   \
    host_details::factor(type_size, nodes, extra);                                                                                     \
  }
#define OPHOOK_ELEMENTWISE(name)       \
  OPHOOK_SPACE(void, name##MaxMinTmpSize) \
  OPHOOK_FACTOR(name)
OPHOOK_ELEMENTWISE(Acos)
OPHOOK_ELEMENTWISE(Acosh)
OPHOOK_ELEMENTWISE(Asin)
OPHOOK_ELEMENTWISE(Asinh)
OPHOOK_ELEMENTWISE(Atan)
OPHOOK_ELEMENTWISE(Atanh)
OPHOOK_ELEMENTWISE(Axpy)
OPHOOK_ELEMENTWISE(Ceil)
OPHOOK_ELEMENTWISE(Clamp)
OPHOOK_ELEMENTWISE(Cos)
OPHOOK_ELEMENTWISE(Cosh)
OPHOOK_ELEMENTWISE(Erf)
OPHOOK_ELEMENTWISE(Erfc)
OPHOOK_ELEMENTWISE(Floor)
OPHOOK_ELEMENTWISE(Fmod)
OPHOOK_ELEMENTWISE(Frac)
OPHOOK_ELEMENTWISE(Lgamma)
OPHOOK_ELEMENTWISE(Log)
OPHOOK_ELEMENTWISE(Log10)
OPHOOK_ELEMENTWISE(Log2)
OPHOOK_ELEMENTWISE(Sign)
OPHOOK_ELEMENTWISE(Sin)
OPHOOK_ELEMENTWISE(Sinh)
OPHOOK_ELEMENTWISE(Tan)
OPHOOK_ELEMENTWISE(Tanh)
OPHOOK_ELEMENTWISE(Trunc)
OPHOOK_ELEMENTWISE(Xor)
OPHOOK_SPACE(bool, ExpMaxMinTmpSize)
OPHOOK_FACTOR(Exp)
OPHOOK_SPACE(void, RoundMaxMinTmpSize, const platform_ascendc::PlatformAscendC&)
OPHOOK_FACTOR(Round, const platform_ascendc::PlatformAscendC&)
OPHOOK_SPACE(void, SigmoidMaxMinTmpSize)
OPHOOK_SPACE(void, SiluTmpSize)
OPHOOK_SPACE(void, SwishTmpSize)
OPHOOK_SPACE(void, GeGLUMaxMinTmpSize)
OPHOOK_SPACE(void, ReGluMaxMinTmpSize)
#undef OPHOOK_ELEMENTWISE
#undef OPHOOK_SPACE
inline void GetPowerMaxMinTmpSize(const TensorShape& base, const TensorShape&, const bool, const uint32_t type_size, const bool, uint32_t& most,
                                  uint32_t& least) {
  host_details::elementwise(base, type_size, most, least);
}
OPHOOK_FACTOR(Power, const bool, const bool, const bool)
#undef OPHOOK_FACTOR

inline bool GetTopKMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, int32_t inner, int32_t outer, bool, bool, TopKMode, bool, uint32_t,
                                 uint32_t& most, uint32_t& least) {
  if (inner <= 0 || outer <= 0 || inner % 32) return false;
  least = uint32_t(inner) * 8 * 2, most = uint32_t(inner) * uint32_t(outer) * 8 * 2;  // pairs of 8 bytes, twice
  return true;
}
inline bool TopKTilingFunc(const platform_ascendc::PlatformAscendC&, int32_t inner, int32_t outer, int32_t k, uint32_t, bool, TopKMode, bool,
                           optiling::TopkTiling& tiling) {
  if (inner <= 0 || outer <= 0 || inner % 32 || k <= 0 || k > inner) return false;
  tiling.set_allDataSize(inner * outer), tiling.set_innerDataSize(inner), tiling.set_tmpLocalSize(inner * 4);
  tiling.set_kAlignFourBytes((k + 7) / 8 * 8), tiling.set_kAlignTwoBytes((k + 15) / 16 * 16);
  return true;
}

inline void GetConfusionTransposeMaxMinTmpSize(const ge::Shape& shape, uint32_t, uint32_t, uint32_t& most, uint32_t& least) {
  most = host_details::whole(shape), least = host_details::line(shape);
}
// Only for TRANSPOSE_ND2ND_ONLY (7): the kernel refuses the others by name.
inline void GetConfusionTransposeTilingInfo(const ge::Shape& shape, uint32_t, uint32_t, uint32_t, optiling::ConfusionTransposeTiling& tiling) {
  tiling.set_param0(uint32_t(shape.GetDim(0))), tiling.set_param1(uint32_t(shape.GetDim(1)));
}

namespace host_details {
// A field of the tiling that an operator registers, or of the plain structure.
#define OPHOOK_PUT(field)                                                      \
  template <typename Tiling>                                                   \
  void put_##field(Tiling& tiling, uint32_t value) {                           \
    if constexpr (std::is_base_of_v<optiling::TilingDef, Tiling>) tiling.set_##field(value); \
    else tiling.field = value;                                                 \
  }
OPHOOK_PUT(srcHeight)
OPHOOK_PUT(srcWidth)
OPHOOK_PUT(srcOriWidth)
OPHOOK_PUT(srcM)
OPHOOK_PUT(srcK)
OPHOOK_PUT(srcSize)
#undef OPHOOK_PUT
inline void both(const ge::Shape& shape, uint32_t& most, uint32_t& least) { most = 2 * whole(shape), least = 2 * line(shape); }
}  // namespace host_details

inline void GetPadMaxMinTmpSize(const ge::Shape& shape, const uint32_t, uint32_t& most, uint32_t& least) { host_details::both(shape, most, least); }
template <typename Tiling>
void PadTilingFunc(const ge::Shape shape, const ge::Shape original, const uint32_t, const uint32_t, Tiling& tiling) {
  host_details::put_srcHeight(tiling, uint32_t(shape.GetDim(0))), host_details::put_srcWidth(tiling, uint32_t(shape.GetDim(1)));
  host_details::put_srcOriWidth(tiling, uint32_t(original.GetDim(1)));
}
inline void GetUnPadMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape& shape, const uint32_t, uint32_t& most, uint32_t& least) {
  host_details::both(shape, most, least);
}
template <typename Tiling>
void UnPadTilingFunc(const ge::Shape shape, const uint32_t, const uint32_t, Tiling& tiling) {
  host_details::put_srcHeight(tiling, uint32_t(shape.GetDim(0))), host_details::put_srcWidth(tiling, uint32_t(shape.GetDim(1)));
}
inline uint32_t GetSoftMaxGradMaxTmpSize(const ge::Shape& shape, const uint32_t, const bool, const bool) { return 2 * host_details::whole(shape); }
inline uint32_t GetSoftMaxGradMinTmpSize(const ge::Shape& shape, const uint32_t, const bool, const bool) { return 2 * host_details::line(shape); }
template <typename Tiling>
void SoftMaxGradTilingFunc(const ge::Shape& shape, const uint32_t, const uint32_t, Tiling& tiling, const bool = false) {
  host_details::put_srcM(tiling, host_details::rows(shape)), host_details::put_srcK(tiling, host_details::last(shape));
  host_details::put_srcSize(tiling, uint32_t(shape.GetShapeSize()));
}
inline uint32_t GetDropOutMaxTmpSize(const ge::Shape& shape, const uint32_t, const bool) { return 2 * host_details::whole(shape); }
inline uint32_t GetDropOutMinTmpSize(const ge::Shape& shape, const uint32_t, const bool) { return 2 * host_details::line(shape); }
inline void GetDropOutMaxMinTmpSize(const ge::Shape& shape, const uint32_t, const bool, uint32_t& most, uint32_t& least) {
  host_details::both(shape, most, least);
}
inline void GetSelectMaxMinTmpSize(const ge::Shape& src0, const ge::Shape& src1, const uint32_t, const ge::Shape&, const uint32_t, const bool,
                                   uint32_t& most, uint32_t& least) {
  host_details::both(src0.GetShapeSize() > src1.GetShapeSize() ? src0 : src1, most, least);
}
inline void GetBroadCastMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape&, const ge::Shape& to, uint32_t, const bool,
                                      uint32_t& most, uint32_t& least) {
  host_details::both(to, most, least);
}
inline void GetCumSumMaxMinTmpSize(const ge::Shape& shape, const uint32_t, const bool, const bool, uint32_t& most, uint32_t& least) {
  host_details::both(shape, most, least);
}
inline uint32_t GetGeluMaxTmpSize(const ge::Shape& shape, const uint32_t) { return 2 * host_details::whole(shape); }
inline uint32_t GetGeluMinTmpSize(const ge::Shape& shape, const uint32_t) { return 2 * host_details::line(shape); }
inline void GetGeluMaxMinTmpSize(const ge::Shape& shape, const uint32_t, uint32_t& most, uint32_t& least) { host_details::both(shape, most, least); }
inline void GetSwiGLUMaxMinTmpSize(const ge::Shape& shape, const uint32_t, uint32_t& most, uint32_t& least, const bool = false) {
  host_details::both(shape, most, least);
}
inline void GetArangeMaxMinTmpSize(uint32_t& most, uint32_t& least) { most = least = 0; }
enum class SortType { RADIX_SORT, MERGE_SORT };
struct SortConfig {
  SortType type = SortType::RADIX_SORT;
  bool isDescend = false, hasSrcIndex = false, hasDstIndex = false;
};
inline void GetSortMaxMinTmpSize(const ge::Shape& shape, TensorDataType, TensorDataType, bool, const SortConfig&, uint32_t& most, uint32_t& least) {
  most = least = 4 * host_details::whole(shape);  // pairs of 8 bytes, twice
}

}  // namespace AscendC
