// The advanced functions' host side: how much temporary memory they want, and their tiling. The sizes are ours: they
// are enough for what the kernel is told, and those of the vendor's own functions may differ.
#pragma once
#if __cplusplus < 201703L
#pragma GCC system_header  // no warnings: projects of older releases compile their host side as C++11
#endif

#include <algorithm>
#include <iostream>  // programs that include this one print with it
#include <type_traits>
#include <vector>

#include "../../../include/securec.h"  // tiling functions copy with memcpy_s and include nothing for it
#include "../../include/ascendc/algorithms.h"
#include "../../include/ascendc/modes.h"
#include "../../include/kernel_tiling/kernel_tiling.h"
#include "graph_operator.h"
#include "platform.h"
#include "tiling_data.h"

namespace optiling {
#define TILING_BEGIN(name)                      \
  class name : public TilingDef {               \
    static constexpr const char* kName = #name; \
                                                \
   public:                                      \
    name() : TilingDef(kName, true) {}
#define TILING_FIELD(type, name) TILING_DATA_FIELD_DEF(type, name)
// clang-format off
#define TILING_END };
// clang-format on
#include "../../include/ascendc/advanced_tilings.inc"
#undef TILING_BEGIN
#undef TILING_FIELD
#undef TILING_END
}  // namespace optiling

namespace AscendC {
using TensorShape = ge::Shape;
using TensorDataType = ge::DataType;

// A tiling comes as the class that an operator registers, or as the plain structure.
#define OPHOOK_TILED(name)           \
  template <typename Tiling,         \
            typename std::enable_if< \
                std::is_same<Tiling, optiling::name>::value || std::is_same<Tiling, ::name>::value, int>::type = 0>
#define OPHOOK_SET(field, number)                                                                \
  if constexpr (std::is_base_of<optiling::TilingDef, Tiling>::value) tiling.set_##field(number); \
  else tiling.field = number;

namespace host_details {
inline uint32_t last(const ge::Shape& shape) { return uint32_t(shape.GetDim(shape.GetDimNum() - 1)); }
inline uint32_t rows(const ge::Shape& shape) { return last(shape) ? uint32_t(shape.GetShapeSize()) / last(shape) : 0; }
inline uint32_t up32(uint64_t bytes) { return uint32_t((bytes + 31) / 32 * 32); }
inline uint32_t whole(const ge::Shape& shape) {
  return up32(uint64_t(shape.GetShapeSize()) * 4);
}  // all of it in float
inline uint32_t line(const ge::Shape& shape) { return up32(uint64_t(last(shape)) * 4); }
// Of (B, S, H), as the pages of normalizations say it: rows as they were before they were padded, and a limit.
inline bool basic_rows(const ge::Shape& shape, const ge::Shape& original, int64_t most) {
  const int64_t h = shape.GetDim(2);
  return h % 64 == 0 && h <= most && shape.GetDim(0) * shape.GetDim(1) % 8 == 0 && original.GetDim(2) == h;
}
inline bool basic_block(uint32_t m, uint32_t k, uint32_t type_size) {
  return m % 8 == 0 && k % 64 == 0 && k < 2048 && uint64_t(k) * type_size >= 256;
}
}  // namespace host_details

inline uint32_t GetSoftMaxMaxTmpSize(const ge::Shape& shape, uint32_t, bool) { return 2 * host_details::whole(shape); }
inline uint32_t GetSoftMaxMinTmpSize(const ge::Shape& shape, uint32_t, bool) { return 2 * host_details::line(shape); }
OPHOOK_TILED(SoftMaxTiling)
inline void SoftMaxTilingFunc(const ge::Shape& shape, uint32_t type_size, uint32_t, Tiling& tiling) {
  OPHOOK_SET(srcM, host_details::rows(shape))
  OPHOOK_SET(srcK, host_details::last(shape))
  OPHOOK_SET(srcSize, uint32_t(shape.GetShapeSize()))
  OPHOOK_SET(outMaxM, host_details::rows(shape))
  OPHOOK_SET(outMaxK, 32 / type_size)
  OPHOOK_SET(outMaxSize, host_details::rows(shape) * (32 / type_size))
}
// Whether kernels may be given isBasicBlock: the page's rule for the shape, which our functions take as one piece.
inline bool IsBasicBlockInSoftMax(optiling::SoftMaxTiling& tiling, const uint32_t dataTypeSize = 2) {
  return host_details::basic_block(tiling.get_srcM(), tiling.get_srcK(), dataTypeSize);
}
inline bool IsBasicBlockInSoftMax(::SoftMaxTiling& tiling, const uint32_t dataTypeSize = 2) {
  return host_details::basic_block(tiling.srcM, tiling.srcK, dataTypeSize);
}
// SoftmaxFlash, which its page calls the older one.
inline uint32_t GetSoftMaxFlashMaxTmpSize(const ge::Shape& shape, const uint32_t, const bool, const bool) {
  return 2 * host_details::whole(shape);
}
inline uint32_t GetSoftMaxFlashMinTmpSize(const ge::Shape& shape, const uint32_t, const bool, const bool) {
  return 2 * host_details::line(shape);
}
OPHOOK_TILED(SoftMaxTiling)
inline void SoftMaxFlashTilingFunc(const ge::Shape& shape, const uint32_t type_size, const uint32_t, Tiling& tiling,
                                   const bool = false) {
  SoftMaxTilingFunc(shape, type_size, 0, tiling);
}
inline uint32_t GetSoftMaxFlashV2MaxTmpSize(const ge::Shape& shape, uint32_t, uint32_t, bool, bool = false,
                                            bool = false) {
  return 2 * host_details::whole(shape);
}
inline uint32_t GetSoftMaxFlashV2MinTmpSize(const ge::Shape& shape, uint32_t, uint32_t, bool, bool = false,
                                            bool = false) {
  return 2 * host_details::line(shape);
}
OPHOOK_TILED(SoftMaxTiling)
inline void SoftMaxFlashV2TilingFunc(const ge::Shape& shape, uint32_t, uint32_t type_size, uint32_t, Tiling& tiling,
                                     bool, bool = false, bool = false) {
  SoftMaxTilingFunc(shape, type_size, 0, tiling);
}
inline void GetSoftMaxFlashV3MaxMinTmpSize(const ge::Shape& shape, const uint32_t, const uint32_t, uint32_t& most,
                                           uint32_t& least, const bool, const bool = false) {
  most = 2 * host_details::whole(shape), least = 2 * host_details::line(shape);
}
OPHOOK_TILED(SoftMaxTiling)
inline void SoftMaxFlashV3TilingFunc(const ge::Shape& shape, const uint32_t, const uint32_t type_size, const uint32_t,
                                     Tiling& tiling, const bool, const bool = false) {
  SoftMaxTilingFunc(shape, type_size, 0, tiling);
}
inline uint32_t GetLogSoftMaxMaxTmpSize(const ge::Shape& shape, uint32_t, bool) {
  return 2 * host_details::whole(shape);
}
inline uint32_t GetLogSoftMaxMinTmpSize(const ge::Shape& shape, uint32_t, bool) {
  return 2 * host_details::line(shape);
}
OPHOOK_TILED(LogSoftMaxTiling)
inline void LogSoftMaxTilingFunc(const ge::Shape& shape, uint32_t, uint32_t, Tiling& tiling) {
  OPHOOK_SET(srcM, host_details::rows(shape))
  OPHOOK_SET(srcK, host_details::last(shape))
  OPHOOK_SET(srcSize, uint32_t(shape.GetShapeSize()))
}

// Of (B, S, H, original H).
inline void GetLayerNormMaxMinTmpSize(const ge::Shape& shape, uint32_t, bool, uint32_t& most, uint32_t& least) {
  const uint32_t h = uint32_t(shape.GetDim(2));
  most = 3 * host_details::up32(uint64_t(shape.GetDim(0)) * uint64_t(shape.GetDim(1)) * h * 4),
  least = 3 * host_details::up32(uint64_t(h) * 4);
}
OPHOOK_TILED(LayerNormTiling)
inline void GetLayerNormNDTillingInfo(const ge::Shape& shape, uint32_t stack, uint32_t, bool, Tiling& tiling) {
  const auto dim = [&](size_t i) { return uint32_t(shape.GetDim(i)); };
  OPHOOK_SET(bLength, dim(0))
  OPHOOK_SET(sLength, dim(1))
  OPHOOK_SET(hLength, dim(2))
  OPHOOK_SET(originalHLength, shape.GetDimNum() > 3 && dim(3) ? dim(3) : dim(2))
  OPHOOK_SET(inputXSize, dim(0) * dim(1) * dim(2))
  OPHOOK_SET(meanVarSize, dim(0) * dim(1))
  OPHOOK_SET(tmpBufSize, stack)
}
OPHOOK_TILED(LayerNormTiling)
inline void GetLayerNormNDTilingInfo(const ge::Shape& shape, uint32_t stack, uint32_t type_size, bool reuse,
                                     Tiling& tiling) {
  GetLayerNormNDTillingInfo(shape, stack, type_size, reuse, tiling);
}
inline bool GetRmsNormMaxMinTmpSize(const ge::Shape& shape, uint32_t, uint32_t& most, uint32_t& least, bool = false) {
  most = 2 * host_details::whole(shape), least = 2 * host_details::line(shape);
  return true;
}
OPHOOK_TILED(RmsNormTiling)
inline bool GetRmsNormTilingInfo(const ge::Shape& shape, const ge::Shape& original, uint32_t, uint32_t, Tiling& tiling,
                                 bool basic = false) {
  if (shape.GetDimNum() != 3) return false;
  if (basic && !host_details::basic_rows(shape, original.GetDimNum() == 3 ? original : shape, 2047)) return false;
  const auto dim = [&](size_t i) { return uint32_t(shape.GetDim(i)); };
  OPHOOK_SET(bLength, dim(0))
  OPHOOK_SET(sLength, dim(1))
  OPHOOK_SET(hLength, dim(2))
  OPHOOK_SET(originalHLength, original.GetDimNum() ? host_details::last(original) : dim(2))
  OPHOOK_SET(mainBshLength, dim(0) * dim(1) * dim(2))
  return true;
}

// Of (A, R).
inline void GetLayerNormMaxMinTmpSize(const ge::Shape& shape, const uint32_t, const bool, const bool, const bool,
                                      uint32_t& most, uint32_t& least) {
  most = 3 * host_details::whole(shape), least = 3 * host_details::line(shape);
}
OPHOOK_TILED(LayerNormSeparateTiling)
inline void GetLayerNormNDTilingInfo(const ge::Shape& shape, const uint32_t stack, const uint32_t, const bool,
                                     const bool, Tiling& tiling) {
  OPHOOK_SET(aLength, host_details::rows(shape))
  OPHOOK_SET(rLength, host_details::last(shape))
  OPHOOK_SET(tmpBufSize, stack)
}
inline void GetNormalizeMaxMinTmpSize(const ge::Shape& shape, const uint32_t, const uint32_t, const bool, const bool,
                                      const bool, uint32_t& most, uint32_t& least) {
  most = 2 * host_details::whole(shape), least = 2 * host_details::line(shape);
}
inline void GetWelfordUpdateMaxMinTmpSize(const ge::Shape& shape, const uint32_t, const uint32_t, const bool,
                                          const bool, uint32_t& most, uint32_t& least) {
  most = 2 * host_details::whole(shape), least = 2 * 256;
}
inline void GetWelfordFinalizeMaxMinTmpSize(const ge::Shape& shape, const uint32_t, const bool, uint32_t& most,
                                            uint32_t& least) {
  most = 2 * host_details::whole(shape), least = 2 * 256;
}
// Of (B, S, H), and the shape before its rows were padded.
#define OPHOOK_BSH(name)                                                                                       \
  inline void Get##name##MaxMinTmpSize(const ge::Shape& shape, const uint32_t, const bool, uint32_t& most,     \
                                       uint32_t& least) {                                                      \
    most = 4 * host_details::whole(shape), least = 4 * host_details::line(shape);                              \
  }                                                                                                            \
  OPHOOK_TILED(name##Tiling)                                                                                   \
  inline void Get##name##NDTilingInfo(const ge::Shape shape, const uint32_t stack, const uint32_t, const bool, \
                                      Tiling& tiling) {                                                        \
    OPHOOK_SET(stackBufferSize, stack)                                                                         \
    OPHOOK_SET(bLength, uint32_t(shape.GetDim(0)))                                                             \
    OPHOOK_SET(sLength, uint32_t(shape.GetDim(1)))                                                             \
    OPHOOK_SET(hLength, uint32_t(shape.GetDim(2)))                                                             \
    OPHOOK_SET(originalHLength,                                                                                \
               uint32_t(shape.GetDimNum() > 3 && shape.GetDim(3) ? shape.GetDim(3) : shape.GetDim(2)))         \
  }
OPHOOK_BSH(LayerNormGrad)
OPHOOK_BSH(LayerNormGradBeta)
#undef OPHOOK_BSH
inline bool GetDeepNormMaxMinTmpSize(const ge::Shape& shape, const uint32_t, const bool, const bool, uint32_t& most,
                                     uint32_t& least) {
  most = 4 * host_details::whole(shape), least = 4 * host_details::line(shape);
  return shape.GetDimNum() == 3;
}
OPHOOK_TILED(DeepNormTiling)
inline bool GetDeepNormTilingInfo(const ge::Shape& shape, const ge::Shape& original, const uint32_t stack,
                                  const uint32_t, const bool, const bool basic, Tiling& tiling) {
  if (shape.GetDimNum() != 3 || original.GetDimNum() != 3) return false;
  if (basic && !host_details::basic_rows(shape, original, 2040)) return false;
  OPHOOK_SET(bLength, uint32_t(shape.GetDim(0)))
  OPHOOK_SET(sLength, uint32_t(shape.GetDim(1)))
  OPHOOK_SET(hLength, uint32_t(shape.GetDim(2)))
  OPHOOK_SET(originalHLength, uint32_t(original.GetDim(2)))
  OPHOOK_SET(tmpBufSize, stack)
  return true;
}
inline bool GetBatchNormMaxMinTmpSize(const ge::Shape& shape, const ge::Shape&, const uint32_t, const bool,
                                      uint32_t& most, uint32_t& least, const bool = false) {
  most = 4 * host_details::whole(shape), least = 4 * host_details::line(shape);
  return shape.GetDimNum() == 3;
}
OPHOOK_TILED(BatchNormTiling)
inline bool GetBatchNormNDTilingInfo(const ge::Shape& shape, const ge::Shape& original, const uint32_t stack,
                                     const uint32_t, const bool, Tiling& tiling, const bool basic = false) {
  if (shape.GetDimNum() != 3 || original.GetDimNum() != 3) return false;
  const int64_t features = shape.GetDim(1) * shape.GetDim(2);
  if (basic && (original.GetDim(0) % 8 || features % 64 || features >= 2048)) return false;
  OPHOOK_SET(originalBLength, uint32_t(original.GetDim(0)))
  OPHOOK_SET(shCurLength, uint32_t(shape.GetDim(1) * shape.GetDim(2)))
  OPHOOK_SET(tmpBufSize, stack)
  return true;
}
// Of (N, C, H, W).
inline void GetGroupNormMaxMinTmpSize(const ge::Shape& shape, const uint32_t, const bool, const uint32_t,
                                      uint32_t& most, uint32_t& least) {
  most = 4 * host_details::whole(shape), least = 4 * host_details::line(shape);
}
OPHOOK_TILED(GroupNormTiling)
inline void GetGroupNormNDTilingInfo(const ge::Shape& shape, const uint32_t stack, const uint32_t type_size, const bool,
                                     const uint32_t groups, Tiling& tiling) {
  const uint32_t c = uint32_t(shape.GetDim(1)), hw = uint32_t(shape.GetDim(2) * shape.GetDim(3)),
                 unit = 32 / std::max(type_size, 1u);
  if (!groups || c % groups) return;
  OPHOOK_SET(n, uint32_t(shape.GetDim(0)))
  OPHOOK_SET(c, c)
  OPHOOK_SET(hw, hw)
  OPHOOK_SET(g, groups)
  OPHOOK_SET(d, c / groups)
  OPHOOK_SET(hwAlignSize, (hw + unit - 1) / unit * unit)
  OPHOOK_SET(tmpBufSize, stack)
}

inline void GetSumMaxMinTmpSize(uint32_t n, uint32_t type_size, bool, uint32_t& most, uint32_t& least) {
  most = least = host_details::up32(uint64_t(n) * type_size);
}
inline void GetMeanMaxMinTmpSize(uint32_t n, uint32_t type_size, uint32_t, bool, uint32_t& most, uint32_t& least) {
  most = least = host_details::up32(uint64_t(n) * std::max<uint32_t>(type_size, 4));
}
#define OPHOOK_REDUCE(name)                                                                                       \
  inline void Get##name##MaxMinTmpSize(const TensorShape& shape, const TensorDataType, ReducePattern, bool, bool, \
                                       uint32_t& most, uint32_t& least) {                                         \
    most = host_details::whole(shape), least = host_details::line(shape);                                         \
  }
OPHOOK_REDUCE(ReduceSum)
OPHOOK_REDUCE(ReduceMean)
OPHOOK_REDUCE(ReduceMax)
OPHOOK_REDUCE(ReduceMin)
OPHOOK_REDUCE(ReduceAll)
OPHOOK_REDUCE(ReduceAny)
OPHOOK_REDUCE(ReduceProd)
#undef OPHOOK_REDUCE

namespace host_details {
// What an elementwise function holds at a time: two tensors of floats, of whatever type its own are; 256 bytes are one
// step.
inline void factor(uint32_t type_size, uint32_t& nodes, uint32_t& extra) {
  nodes = 8 / std::min(std::max(type_size, 1u), 8u), extra = 0;
}
inline void elementwise(const ge::Shape& shape, uint32_t type_size, uint32_t& most, uint32_t& least) {
  uint32_t nodes, extra;
  factor(type_size, nodes, extra);
  least = nodes * 256 + extra;
  most = std::max(least, nodes * up32(uint64_t(shape.GetShapeSize()) * type_size) + extra);
}
}  // namespace host_details

#define OPHOOK_SPACE(type, name, ...)                                                                              \
  inline type Get##name(__VA_ARGS__ __VA_OPT__(, ) const TensorShape& shape, const uint32_t type_size, const bool, \
                        uint32_t& most, uint32_t& least) {                                                         \
    host_details::elementwise(shape, type_size, most, least);                                                      \
    return type(1);                                                                                                \
  }
#define OPHOOK_FACTOR(name, ...)                                                                                   \
  inline void Get##name##TmpBufferFactorSize(__VA_ARGS__ __VA_OPT__(, ) const uint32_t type_size, uint32_t& nodes, \
                                             uint32_t& extra) {                                                    \
    host_details::factor(type_size, nodes, extra);                                                                 \
  }
#define OPHOOK_ELEMENTWISE(name)          \
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
OPHOOK_ELEMENTWISE(Digamma)
OPHOOK_ELEMENTWISE(Erf)
OPHOOK_ELEMENTWISE(Erfc)
OPHOOK_ELEMENTWISE(Floor)
OPHOOK_ELEMENTWISE(Fmod)
OPHOOK_ELEMENTWISE(Frac)
OPHOOK_ELEMENTWISE(Hypot)
OPHOOK_ELEMENTWISE(Lgamma)
OPHOOK_SPACE(void, LogMaxMinTmpSize)
OPHOOK_SPACE(void, Log10MaxMinTmpSize)
OPHOOK_SPACE(void, Log2MaxMinTmpSize)
OPHOOK_ELEMENTWISE(Sign)
OPHOOK_ELEMENTWISE(Sin)
OPHOOK_ELEMENTWISE(Sinh)
OPHOOK_ELEMENTWISE(Tan)
OPHOOK_ELEMENTWISE(Tanh)
OPHOOK_ELEMENTWISE(Trunc)
OPHOOK_ELEMENTWISE(Xor)
#define OPHOOK_OF_PLATFORM(name)                                                    \
  OPHOOK_SPACE(void, name##MaxMinTmpSize, const platform_ascendc::PlatformAscendC&) \
  OPHOOK_FACTOR(name, const platform_ascendc::PlatformAscendC&)
OPHOOK_OF_PLATFORM(BitwiseAnd)
OPHOOK_OF_PLATFORM(BitwiseNot)
OPHOOK_OF_PLATFORM(BitwiseOr)
OPHOOK_OF_PLATFORM(BitwiseXor)
OPHOOK_OF_PLATFORM(Fma)
OPHOOK_OF_PLATFORM(IsInf)
OPHOOK_OF_PLATFORM(IsNan)
OPHOOK_OF_PLATFORM(LogicalAnd)
OPHOOK_OF_PLATFORM(LogicalAnds)
OPHOOK_OF_PLATFORM(LogicalNot)
OPHOOK_OF_PLATFORM(LogicalOr)
OPHOOK_OF_PLATFORM(LogicalOrs)
OPHOOK_OF_PLATFORM(LogicalXor)
OPHOOK_OF_PLATFORM(Rint)
OPHOOK_OF_PLATFORM(Round)
OPHOOK_OF_PLATFORM(SinCos)
OPHOOK_OF_PLATFORM(Where)
#undef OPHOOK_OF_PLATFORM
OPHOOK_SPACE(void, CosMaxMinTmpSize, const CosConfig&)
OPHOOK_SPACE(void, SinMaxMinTmpSize, const SinConfig&)
OPHOOK_FACTOR(Cos, const CosConfig&)
OPHOOK_FACTOR(Sin, const SinConfig&)
OPHOOK_FACTOR(Mean)
OPHOOK_SPACE(bool, ExpMaxMinTmpSize)
OPHOOK_FACTOR(Exp)
OPHOOK_SPACE(void, ReduceXorSumMaxMinTmpSize)
OPHOOK_SPACE(void, SigmoidMaxMinTmpSize)
OPHOOK_SPACE(void, SiluTmpSize)
OPHOOK_SPACE(void, SwishTmpSize)
OPHOOK_ELEMENTWISE(GeGLU)
OPHOOK_FACTOR(SwiGLU)
OPHOOK_SPACE(void, ReGluMaxMinTmpSize)
#undef OPHOOK_ELEMENTWISE
#undef OPHOOK_SPACE
// Of logarithms only that of base 2 needs something between, of half, as the page says.
inline void GetLog2TmpBufferFactorSize(const uint32_t type_size, uint32_t& nodes, uint32_t& extra) {
  host_details::factor(type_size, nodes, extra);
  if (type_size != 2) nodes = 0;
}
inline void GetLogTmpBufferFactorSize(const uint32_t, uint32_t& nodes, uint32_t& extra) { nodes = extra = 0; }
inline void GetLog10TmpBufferFactorSize(const uint32_t, uint32_t& nodes, uint32_t& extra) { nodes = extra = 0; }
// One of the two may be a scalar.
inline void GetPowerMaxMinTmpSize(const TensorShape& base, const TensorShape& exponent, const bool,
                                  const uint32_t type_size, const bool, uint32_t& most, uint32_t& least) {
  host_details::elementwise(base.GetShapeSize() < exponent.GetShapeSize() ? exponent : base, type_size, most, least);
}
OPHOOK_FACTOR(Power, const bool, const bool, const bool)
#undef OPHOOK_FACTOR

// Of two families of functions, of which the second came with the Ascend950.
#define OPHOOK_QUANTIZERS(quant, dequant, antiquant)                                                               \
  inline void Get##quant##MaxMinTmpSize(const TensorShape& shape, const uint32_t type_size, uint32_t& most,        \
                                        uint32_t& least) {                                                         \
    host_details::elementwise(shape, type_size, most, least);                                                      \
  }                                                                                                                \
  inline void Get##quant##TmpBufferFactorSize(uint32_t& nodes, uint32_t& extra) {                                  \
    host_details::factor(2, nodes, extra);                                                                         \
  }                                                                                                                \
  inline void Get##dequant##MaxMinTmpSize(const TensorShape& shape, const uint32_t type_size, uint32_t& most,      \
                                          uint32_t& least) {                                                       \
    host_details::elementwise(shape, type_size, most, least);                                                      \
  }                                                                                                                \
  inline void Get##dequant##TmpBufferFactorSize(const TensorShape&, uint32_t& nodes, uint32_t& extra) {            \
    host_details::factor(4, nodes, extra);                                                                         \
  }                                                                                                                \
  inline void Get##antiquant##MaxMinTmpSize(const TensorShape& shape, const TensorShape&, bool, TensorDataType in, \
                                            TensorDataType, uint32_t& most, uint32_t& least) {                     \
    host_details::elementwise(shape, uint32_t(ge::GetSizeByDataType(in)), most, least);                            \
  }                                                                                                                \
  inline void Get##antiquant##TmpBufferFactorSize(const TensorShape&, const TensorShape&, bool, TensorDataType in, \
                                                  TensorDataType, uint32_t& nodes, uint32_t& extra) {              \
    host_details::factor(uint32_t(ge::GetSizeByDataType(in)), nodes, extra);                                       \
  }
OPHOOK_QUANTIZERS(AscendQuant, AscendDequant, AscendAntiQuant)
OPHOOK_QUANTIZERS(Quantize, Dequantize, AntiQuantize)
#undef OPHOOK_QUANTIZERS
inline void GetAntiQuantizeTmpBufferFactorSize(const TensorShape& shape, const TensorShape& scale, TensorDataType in,
                                               TensorDataType out, uint32_t& nodes, uint32_t& extra) {
  GetAntiQuantizeTmpBufferFactorSize(shape, scale, false, in, out, nodes, extra);
}
inline uint32_t GetAscendAntiQuantMaxTmpSize(const TensorShape& shape, const TensorShape& scale, bool transposed,
                                             TensorDataType in, TensorDataType out) {
  uint32_t most, least;
  return GetAscendAntiQuantMaxMinTmpSize(shape, scale, transposed, in, out, most, least), most;
}
inline uint32_t GetAscendAntiQuantMinTmpSize(const TensorShape& shape, const TensorShape& scale, bool transposed,
                                             TensorDataType in, TensorDataType out) {
  uint32_t most, least;
  return GetAscendAntiQuantMaxMinTmpSize(shape, scale, transposed, in, out, most, least), least;
}

inline bool GetTopKMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, int32_t inner, int32_t outer, bool, bool,
                                 TopKMode, bool, uint32_t, uint32_t& most, uint32_t& least) {
  if (inner <= 0 || outer <= 0 || inner % 32) return false;
  least = uint32_t(inner) * 8 * 2, most = uint32_t(inner) * uint32_t(outer) * 8 * 2;  // pairs of 8 bytes, twice
  return true;
}
inline bool GetTopKMaxMinTmpSize(int32_t inner, int32_t outer, int32_t, bool, bool, TopKMode, bool, TensorDataType,
                                 const TopKConfig&, uint32_t& most, uint32_t& least) {
  if (inner <= 0 || outer <= 0) return false;
  least = uint32_t(inner) * 8 * 2, most = uint32_t(inner) * uint32_t(outer) * 8 * 2;
  return true;
}
OPHOOK_TILED(TopkTiling)
inline bool TopKTilingFunc(const platform_ascendc::PlatformAscendC&, int32_t inner, int32_t outer, int32_t k, uint32_t,
                           bool, TopKMode, bool, Tiling& tiling) {
  if (inner <= 0 || outer <= 0 || inner % 32 || k <= 0 || k > inner) return false;
  OPHOOK_SET(allDataSize, inner * outer)
  OPHOOK_SET(innerDataSize, inner)
  OPHOOK_SET(tmpLocalSize, inner * 4)
  OPHOOK_SET(kAlignFourBytes, (k + 7) / 8 * 8)
  OPHOOK_SET(kAlignTwoBytes, (k + 15) / 16 * 16)
  return true;
}

// Of two dimensions for TRANSPOSE_ND2ND_ONLY, and of four (B, N, S, H / N) for the others.
#define OPHOOK_TRANSPOSE(name)                                                                                        \
  inline void Get##name##MaxMinTmpSize(const ge::Shape& shape, uint32_t, uint32_t, uint32_t& most, uint32_t& least) { \
    most = host_details::whole(shape), least = host_details::line(shape);                                             \
  }                                                                                                                   \
  OPHOOK_TILED(ConfusionTransposeTiling)                                                                              \
  inline void Get##name##TilingInfo(const ge::Shape& shape, uint32_t, uint32_t, uint32_t, Tiling& tiling) {           \
    OPHOOK_SET(param0, uint32_t(shape.GetDim(0)))                                                                     \
    OPHOOK_SET(param1, uint32_t(shape.GetDim(1)))                                                                     \
    OPHOOK_SET(param2, uint32_t(shape.GetDim(2)))                                                                     \
    OPHOOK_SET(param3, uint32_t(shape.GetDim(3)))                                                                     \
  }
OPHOOK_TRANSPOSE(Transpose)
OPHOOK_TRANSPOSE(ConfusionTranspose)
#undef OPHOOK_TRANSPOSE
OPHOOK_TILED(ConfusionTransposeTiling)
inline void GetConfusionTransposeOnlyTilingInfo(const ge::Shape& shape, uint32_t, uint32_t, Tiling& tiling) {
  OPHOOK_SET(param0, uint32_t(shape.GetDim(0)))
  OPHOOK_SET(param1, uint32_t(shape.GetDim(1)))
}
inline bool GetTransDataMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape& src,
                                      const ge::Shape& dst, const TensorDataType, const TransDataConfig&,
                                      uint32_t& most, uint32_t& least) {
  most = least = host_details::whole(src) + host_details::whole(dst);
  return true;
}

namespace host_details {
inline void both(const ge::Shape& shape, uint32_t& most, uint32_t& least) {
  most = 2 * whole(shape), least = 2 * line(shape);
}
}  // namespace host_details

inline void GetPadMaxMinTmpSize(const ge::Shape& shape, const uint32_t, uint32_t& most, uint32_t& least) {
  host_details::both(shape, most, least);
}
OPHOOK_TILED(PadTiling)
inline void PadTilingFunc(const ge::Shape shape, const ge::Shape original, const uint32_t, const uint32_t,
                          Tiling& tiling) {
  OPHOOK_SET(srcHeight, uint32_t(shape.GetDim(0)))
  OPHOOK_SET(srcWidth, uint32_t(shape.GetDim(1)))
  OPHOOK_SET(srcOriWidth, uint32_t(original.GetDim(1)))
}
inline void GetUnPadMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape& shape, const uint32_t,
                                  uint32_t& most, uint32_t& least) {
  host_details::both(shape, most, least);
}
OPHOOK_TILED(UnPadTiling)
inline void UnPadTilingFunc(const ge::Shape shape, const uint32_t, const uint32_t, Tiling& tiling) {
  OPHOOK_SET(srcHeight, uint32_t(shape.GetDim(0)))
  OPHOOK_SET(srcWidth, uint32_t(shape.GetDim(1)))
}
inline uint32_t GetSoftMaxGradMaxTmpSize(const ge::Shape& shape, const uint32_t, const bool, const bool) {
  return 2 * host_details::whole(shape);
}
inline uint32_t GetSoftMaxGradMinTmpSize(const ge::Shape& shape, const uint32_t, const bool, const bool) {
  return 2 * host_details::line(shape);
}
OPHOOK_TILED(SoftMaxTiling)
inline void SoftMaxGradTilingFunc(const ge::Shape& shape, const uint32_t, const uint32_t, Tiling& tiling,
                                  const bool = false) {
  OPHOOK_SET(srcM, host_details::rows(shape))
  OPHOOK_SET(srcK, host_details::last(shape))
  OPHOOK_SET(srcSize, uint32_t(shape.GetShapeSize()))
}
inline uint32_t GetDropOutMaxTmpSize(const ge::Shape& shape, const uint32_t, const bool) {
  return 2 * host_details::whole(shape);
}
inline uint32_t GetDropOutMinTmpSize(const ge::Shape& shape, const uint32_t, const bool) {
  return 2 * host_details::line(shape);
}
inline void GetDropOutMaxMinTmpSize(const ge::Shape& shape, const uint32_t, const bool, uint32_t& most,
                                    uint32_t& least) {
  host_details::both(shape, most, least);
}
inline void GetSelectMaxMinTmpSize(const ge::Shape& src0, const ge::Shape& src1, const uint32_t, const ge::Shape&,
                                   const uint32_t, const bool, uint32_t& most, uint32_t& least) {
  host_details::both(src0.GetShapeSize() > src1.GetShapeSize() ? src0 : src1, most, least);
}
inline uint32_t GetSelectMaxTmpSize(const ge::Shape& src0, const ge::Shape& src1, const uint32_t size,
                                    const ge::Shape& mask, const uint32_t mask_size, const bool reuse) {
  uint32_t most, least;
  return GetSelectMaxMinTmpSize(src0, src1, size, mask, mask_size, reuse, most, least), most;
}
inline uint32_t GetSelectMinTmpSize(const ge::Shape& src0, const ge::Shape& src1, const uint32_t size,
                                    const ge::Shape& mask, const uint32_t mask_size, const bool reuse) {
  uint32_t most, least;
  return GetSelectMaxMinTmpSize(src0, src1, size, mask, mask_size, reuse, most, least), least;
}
// Their older names.
inline void GetSelectWithBytesMaskMaxMinTmpSize(const ge::Shape& src0, const ge::Shape& src1, const uint32_t size,
                                                const ge::Shape& mask, const uint32_t mask_size, const bool reuse,
                                                uint32_t& most, uint32_t& least) {
  GetSelectMaxMinTmpSize(src0, src1, size, mask, mask_size, reuse, most, least);
}
inline uint32_t GetSelectWithBytesMaskMaxTmpSize(const ge::Shape& src0, const ge::Shape& src1, const uint32_t size,
                                                 const ge::Shape& mask, const uint32_t mask_size, const bool reuse) {
  return GetSelectMaxTmpSize(src0, src1, size, mask, mask_size, reuse);
}
inline uint32_t GetSelectWithBytesMaskMinTmpSize(const ge::Shape& src0, const ge::Shape& src1, const uint32_t size,
                                                 const ge::Shape& mask, const uint32_t mask_size, const bool reuse) {
  return GetSelectMinTmpSize(src0, src1, size, mask, mask_size, reuse);
}
inline void GetBroadCastMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape&, const ge::Shape& to,
                                      uint32_t, const bool, uint32_t& most, uint32_t& least) {
  host_details::both(to, most, least);
}
inline void GetCumSumMaxMinTmpSize(const ge::Shape& shape, const uint32_t, const bool, const bool, uint32_t& most,
                                   uint32_t& least) {
  host_details::both(shape, most, least);
}
inline uint32_t GetGeluMaxTmpSize(const ge::Shape& shape, const uint32_t) { return 2 * host_details::whole(shape); }
inline uint32_t GetGeluMinTmpSize(const ge::Shape& shape, const uint32_t) { return 2 * host_details::line(shape); }
inline void GetGeluMaxMinTmpSize(const ge::Shape& shape, const uint32_t, uint32_t& most, uint32_t& least) {
  host_details::both(shape, most, least);
}
inline void GetSwiGLUMaxMinTmpSize(const ge::Shape& shape, const uint32_t, uint32_t& most, uint32_t& least,
                                   const bool = false) {
  host_details::both(shape, most, least);
}
inline void GetArangeMaxMinTmpSize(uint32_t& most, uint32_t& least) { most = least = 0; }
inline void GetArithProgressionMaxMinTmpSize(uint32_t& most, uint32_t& least) { most = least = 0; }  // its older name
// Concat gives its source as it is; Sort has pairs of 8 bytes, twice.
inline uint32_t GetConcatTmpSize(const platform_ascendc::PlatformAscendC&, const uint32_t count, const uint32_t) {
  return host_details::up32(uint64_t(count) * 8);
}
inline uint32_t GetSortTmpSize(const platform_ascendc::PlatformAscendC&, const uint32_t count, const uint32_t) {
  return host_details::up32(uint64_t(count) * 16);
}
inline void GetSortMaxMinTmpSize(const ge::Shape& shape, TensorDataType, TensorDataType, bool, const SortConfig&,
                                 uint32_t& most, uint32_t& least) {
  most = least = 4 * host_details::whole(shape);  // pairs of 8 bytes, twice
}

}  // namespace AscendC
#undef OPHOOK_TILED
#undef OPHOOK_SET
