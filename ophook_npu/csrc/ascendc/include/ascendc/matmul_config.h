// How a Matmul object loads and schedules: MatmulConfig with its templates, tilings that are constants, callbacks and
// policies. What is computed depends on few of these fields; those that would change it and are not implemented are
// refused by name.
#pragma once

#include "../kernel_operator.h"
#include "../kernel_tiling/kernel_tiling.h"

enum class CubeFormat { ND = 0, NZ, ZN, ZZ, NN, VECTOR, SCALAR, ND_ALIGN };
enum class LayoutMode { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };

namespace AscendC {

enum class BatchMode { NONE = 0, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };
enum class BatchOutMode { SINGLE_BATCH = 0, MULTI_BATCH, DYNAMIC };
enum class IterateOrder { ORDER_M = 0, ORDER_N, UNDEF };
enum class ScheduleType { INNER_PRODUCT = 0, OUTER_PRODUCT, N_BUFFER_33 };
enum class MatmulConfigMode { CONFIG_NORM = 0, CONFIG_MDL, CONFIG_SPECIALMDL, CONFIG_IBSHARE };
enum class IterateMode : uint8_t {
  ITERATE_MODE_NORMAL = 0b1,
  ITERATE_MODE_ALL = 0b10,
  ITERATE_MODE_BATCH = 0b100,
  ITERATE_MODE_N_BATCH = 0b1000,
  ITERATE_MODE_DEFAULT = 0b11111111,
};

struct MatmulConfig {
  bool doNorm = true, doBasicBlock = false, doMultiDataLoad = false;
  uint32_t basicM = 0, basicN = 0, basicK = 0;
  bool intrinsicsCheck = false, isNBatch = false, enVecND2NZ = false, doSpecialBasicBlock = false;
  uint32_t doMTE2Preload = 0;
  uint32_t singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, stepM = 0, stepN = 0, baseMN = 0, singleCoreMN = 0;
  bool enUnitFlag = true, isPerTensor = false, hasAntiQuantOffset = false, doIBShareNorm = false, doSpecialMDL = false,
       enableInit = true;
  BatchMode batchMode = BatchMode::NONE;
  bool enableEnd = true, enableGetTensorC = true, enableSetOrgShape = true, enableSetBias = true, enableSetTail = true,
       enableQuantVector = true, enableSetDefineData = true;
  IterateMode iterateMode = IterateMode::ITERATE_MODE_DEFAULT;
  bool enableReuse = true, enableUBReuse = true, enableL1CacheUB = false, intraBlockPartSum = false;
  IterateOrder iterateOrder = IterateOrder::UNDEF;
  ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
  bool enableDoubleCache = false, isBiasBatch = true, enableStaticPadZeros = false, isPartialOutput = false,
       enableMixDualMaster = false, isA2B2Shared = false, isEnableChannelSplit = false, enableKdimReorderLoad = false,
       isCO1Shared = false;
  uint32_t sharedCO1BufferSize = 64 * 1024;
  bool enableL1BankConflictOptimise = false;
  BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH;
  bool enableRelu = false;
};

__aicore__ constexpr MatmulConfig GetNormalConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                                  const bool isVecND2NZ = false,
                                                  const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1,
                                                  const bool isMsgReuse = true,
                                                  const IterateOrder iterateOrder = IterateOrder::UNDEF,
                                                  const ScheduleType scheduleType = ScheduleType::INNER_PRODUCT,
                                                  const bool enUnitFlag = true, const bool enableMixDualMaster = false,
                                                  const BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH) {
  MatmulConfig c;
  c.intrinsicsCheck = intrinsicsLimit, c.isNBatch = batchLoop, c.enVecND2NZ = isVecND2NZ, c.batchMode = bmmMode,
  c.enableReuse = isMsgReuse;
  c.iterateOrder = iterateOrder, c.scheduleType = scheduleType, c.enUnitFlag = enUnitFlag,
  c.enableMixDualMaster = enableMixDualMaster;
  c.bmmOutMode = bmmOutMode;
  return c;
}
__aicore__ constexpr MatmulConfig GetMDLConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                               const uint32_t doMTE2Preload = 0, const bool isVecND2NZ = false,
                                               bool isPerTensor = false, bool hasAntiQuantOffset = false,
                                               const bool enUnitFlag = false, const bool isMsgReuse = true,
                                               const bool enableUBReuse = true, const bool enableL1CacheUB = false,
                                               const bool enableMixDualMaster = false,
                                               const bool enableKdimReorderLoad = false) {
  MatmulConfig c;
  c.doNorm = false, c.doMultiDataLoad = true;
  c.intrinsicsCheck = intrinsicsLimit, c.isNBatch = batchLoop, c.doMTE2Preload = doMTE2Preload,
  c.enVecND2NZ = isVecND2NZ;
  c.isPerTensor = isPerTensor, c.hasAntiQuantOffset = hasAntiQuantOffset, c.enUnitFlag = enUnitFlag,
  c.enableReuse = isMsgReuse;
  c.enableUBReuse = enableUBReuse, c.enableL1CacheUB = enableL1CacheUB, c.enableMixDualMaster = enableMixDualMaster;
  c.enableKdimReorderLoad = enableKdimReorderLoad;
  return c;
}
__aicore__ constexpr MatmulConfig GetSpecialMDLConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                                      const uint32_t doMTE2Preload = 0, const bool isVecND2NZ = false,
                                                      bool isPerTensor = false, bool hasAntiQuantOffset = false) {
  MatmulConfig c = GetMDLConfig(intrinsicsLimit, batchLoop, doMTE2Preload, isVecND2NZ, isPerTensor, hasAntiQuantOffset);
  c.doMultiDataLoad = false, c.doSpecialMDL = true;
  return c;
}
__aicore__ constexpr MatmulConfig GetIBShareNormConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                                       const bool isVecND2NZ = false,
                                                       const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1,
                                                       const bool isDoubleCache = false, const bool enUnitFlag = true) {
  MatmulConfig c = GetNormalConfig(intrinsicsLimit, batchLoop, isVecND2NZ, bmmMode);
  c.doNorm = false, c.doIBShareNorm = true, c.enableDoubleCache = isDoubleCache, c.enUnitFlag = enUnitFlag;
  return c;
}
__aicore__ constexpr MatmulConfig GetBasicConfig(const uint32_t basicM, const uint32_t basicN, const uint32_t basicK,
                                                 const bool intrinsicsLimit = false, const bool batchLoop = false,
                                                 const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1) {
  MatmulConfig c = GetNormalConfig(intrinsicsLimit, batchLoop, false, bmmMode);
  c.doNorm = false, c.doBasicBlock = true, c.basicM = basicM, c.basicN = basicN, c.basicK = basicK;
  return c;
}
constexpr MatmulConfig CFG_NORM = GetNormalConfig(), CFG_MDL = GetMDLConfig(),
                       CFG_IBSHARE_NORM = GetIBShareNormConfig(), MM_CFG_BB = GetBasicConfig(128, 128, 128);

struct MatmulShapeParams {
  uint32_t singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, basicM = 0, basicN = 0, basicK = 0;
};
struct MatmulQuantParams {
  bool isPerTensor = false, hasAntiQuantOffset = false;
};
struct MatmulBiasParams {
  bool enableSetBias = true;
};
struct MatmulBatchParams {
  bool isNBatch = false;
  BatchMode batchMode = BatchMode::BATCH_LESS_THAN_L1;
  bool isBiasBatch = true;
  BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH;
};
struct MatmulFuncParams {
  bool intrinsicsLimit = false, enVecND2NZ = false, enableDoubleCache = false, enableL1CacheUB = false;
  uint32_t doMTE2Preload = 0;
  IterateOrder iterateOrder = IterateOrder::UNDEF;
  ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
  bool enableReuse = true, enableUBReuse = true, isPartialOutput = false, isA2B2Shared = false,
       isEnableChannelSplit = false, enableKdimReorderLoad = false, enableL1BankConflictOptimise = false;
};
namespace matmul_details {
constexpr void put(MatmulConfig& c, const MatmulShapeParams& p) {
  c.singleCoreM = p.singleCoreM, c.singleCoreN = p.singleCoreN, c.singleCoreK = p.singleCoreK;
  c.basicM = p.basicM, c.basicN = p.basicN, c.basicK = p.basicK;
}
constexpr void put(MatmulConfig& c, const MatmulQuantParams& p) {
  c.isPerTensor = p.isPerTensor, c.hasAntiQuantOffset = p.hasAntiQuantOffset;
}
constexpr void put(MatmulConfig& c, const MatmulBiasParams& p) { c.enableSetBias = p.enableSetBias; }
constexpr void put(MatmulConfig& c, const MatmulBatchParams& p) {
  c.isNBatch = p.isNBatch, c.batchMode = p.batchMode, c.isBiasBatch = p.isBiasBatch, c.bmmOutMode = p.bmmOutMode;
}
constexpr void put(MatmulConfig& c, const MatmulFuncParams& p) {
  c.intrinsicsCheck = p.intrinsicsLimit, c.enVecND2NZ = p.enVecND2NZ, c.enableDoubleCache = p.enableDoubleCache;
  c.enableL1CacheUB = p.enableL1CacheUB, c.doMTE2Preload = p.doMTE2Preload, c.iterateOrder = p.iterateOrder,
  c.scheduleType = p.scheduleType;
  c.enableReuse = p.enableReuse, c.enableUBReuse = p.enableUBReuse, c.isPartialOutput = p.isPartialOutput,
  c.isA2B2Shared = p.isA2B2Shared;
  c.isEnableChannelSplit = p.isEnableChannelSplit, c.enableKdimReorderLoad = p.enableKdimReorderLoad;
  c.enableL1BankConflictOptimise = p.enableL1BankConflictOptimise;
}
}  // namespace matmul_details
template <MatmulConfigMode configMode, typename... ArgTypes>
__aicore__ inline constexpr MatmulConfig GetMMConfig(ArgTypes&&... args) {
  MatmulConfig c = configMode == MatmulConfigMode::CONFIG_NORM         ? CFG_NORM
                   : configMode == MatmulConfigMode::CONFIG_MDL        ? CFG_MDL
                   : configMode == MatmulConfigMode::CONFIG_SPECIALMDL ? GetSpecialMDLConfig()
                                                                       : CFG_IBSHARE_NORM;
  (matmul_details::put(c, args), ...);
  return c;
}

// A tiling that is known when the kernel is compiled. What is 0 comes from the tiling that the host gives.
struct MatmulApiStaticTiling {
#define CUBE_TILING(name) int32_t name = 0;
#include "cube_tiling.inc"
#undef CUBE_TILING
  MatmulConfig cfg;
};
namespace matmul_details {
constexpr const MatmulConfig& config_of(const MatmulConfig& c) { return c; }
constexpr const MatmulConfig& config_of(const MatmulApiStaticTiling& t) { return t.cfg; }
inline void constants(TCubeTiling&, const MatmulConfig&) {}
inline void constants(TCubeTiling& to, const MatmulApiStaticTiling& t) {
#define CUBE_TILING(name) \
  if (t.name) to.name = t.name;
#include "cube_tiling.inc"
#undef CUBE_TILING
}
constexpr bool is_constant(const MatmulConfig&) { return false; }
constexpr bool is_constant(const MatmulApiStaticTiling&) { return true; }
}  // namespace matmul_details
// The blocks that fill half of L1 each way; the sizes are ours.
template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE>
__aicore__ constexpr MatmulApiStaticTiling GetMatmulApiTiling(const MatmulConfig& mmCFG, int32_t l1Size = 512 * 1024) {
  MatmulApiStaticTiling t;
  t.cfg = mmCFG;
  t.baseM = int32_t(mmCFG.basicM), t.baseN = int32_t(mmCFG.basicN), t.baseK = int32_t(mmCFG.basicK);
  t.singleCoreM = t.M = int32_t(mmCFG.singleCoreM), t.singleCoreN = t.N = int32_t(mmCFG.singleCoreN);
  t.singleCoreK = t.Ka = t.Kb = int32_t(mmCFG.singleCoreK);
  const int32_t left = t.baseM * t.baseK * int32_t(sizeof(typename A_TYPE::T)),
                right = t.baseN * t.baseK * int32_t(sizeof(typename B_TYPE::T));
  int32_t steps = left + right > 0 ? l1Size / 2 / (left + right) : 1;
  steps = steps < 1 ? 1 : steps > 4 ? 4 : steps;
  t.stepM = t.stepN = 1, t.stepKa = t.stepKb = steps, t.depthA1 = t.depthB1 = 2 * steps;
  t.dbL0A = 2 * left <= 64 * 1024 ? 2 : 1, t.dbL0B = 2 * right <= 64 * 1024 ? 2 : 1, t.dbL0C = 1;
  return t;
}

// C is copied out, A and B are copied in by functions of the kernel's own.
template <void (*DataCopyOut)(const __gm__ void*, const LocalTensor<int8_t>&, const void*, const uint64_t,
                              const uint64_t) = nullptr,
          void (*CopyA1)(const LocalTensor<int8_t>&, const __gm__ void*, int, int, int, int, const uint64_t,
                         const uint64_t) = nullptr,
          void (*CopyB1)(const LocalTensor<int8_t>&, const __gm__ void*, int, int, int, int, const uint64_t,
                         const uint64_t) = nullptr>
struct MatmulCallBackFunc {
  static constexpr bool writes = DataCopyOut != nullptr, copies_a = CopyA1 != nullptr, copies_b = CopyB1 != nullptr,
                        loads = copies_a || copies_b;
  static constexpr auto copy_a = CopyA1;
  static constexpr auto copy_b = CopyB1;
};
// Which tiles of C a policy computes and writes, by their numbers along m and n.
namespace Impl::Detail {
template <const auto& config, typename...>
struct MatmulPolicy {
  static constexpr bool nine_blocks = false, triangle = false;
  static constexpr bool wanted(int, int) { return true; }
};
template <const auto& config, typename...>
struct NBuffer33MatmulPolicy : MatmulPolicy<config> {  // how A is loaded
  static constexpr bool nine_blocks = true;
};
template <const auto& config, typename...>
struct TrianUpperMatmulPolicy {
  static constexpr bool nine_blocks = false, triangle = true;
  static constexpr bool wanted(int row, int column) { return row <= column; }
};
template <const auto& config, typename...>
struct TrianLowerMatmulPolicy {
  static constexpr bool nine_blocks = false, triangle = true;
  static constexpr bool wanted(int row, int column) { return row >= column; }
};
}  // namespace Impl::Detail

namespace matmul_details {
template <class A, class = void>
struct ElementOf {
  using T = A;
};
template <class A>
struct ElementOf<A, std::void_t<typename A::T>> {
  using T = typename A::T;
};
}  // namespace matmul_details
// Which types go together on an Atlas A2 or A3: results of a matrix's type, and biases.
namespace matmul_details {
template <typename T, typename... Any>
constexpr bool is_any = (std::is_same_v<T, Any> || ...);
template <typename T, typename C>
constexpr bool has_result = is_any<T, half, bfloat16_t> ? is_any<C, float, half, bfloat16_t, int8_t>
                            : is_any<T, float>          ? is_any<C, float, half, bfloat16_t>
                            : is_any<T, int8_t>         ? is_any<C, int32_t, half, int8_t>
                                                        : is_any<T, int4b_t> && is_any<C, int32_t, half>;
template <typename T, typename Bias>
constexpr bool has_bias = is_any<T, int8_t, int4b_t> ? is_any<Bias, int32_t> : is_any<Bias, float, half>;
}  // namespace matmul_details
// Of a MatmulType or of its elements' type.
template <class A>
struct GetMmDstType {
  using T = typename matmul_details::ElementOf<A>::T;
  using Type = std::conditional_t<std::is_same_v<T, int8_t> || std::is_same_v<T, int4b_t>, int32_t, float>;
};

}  // namespace AscendC
