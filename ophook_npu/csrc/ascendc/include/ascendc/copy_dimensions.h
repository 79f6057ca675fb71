// Copies of up to five dimensions from global memory to UB, which an Ascend 950 has.
#pragma once

#include "copy.h"

namespace AscendC {

struct NdDmaConfig {
  static constexpr uint16_t unsetPad = 0xffff;
  bool isNearestValueMode = false;
  uint16_t loopLpSize = unsetPad, loopRpSize = unsetPad;  // of all dimensions; else each has its own
  bool ascOptimize = false;
};
inline constexpr NdDmaConfig kDefaultNdDmaConfig{};

// The innermost dimension first. Strides and sizes in elements; what is added on the left and on the right as well.
template <uint8_t dim>
struct NdDmaLoopInfo {
  static_assert(dim >= 1 && dim <= 5, "NdDmaLoopInfo has 1 to 5 dimensions");
  uint64_t loopSrcStride[dim] = {0};
  uint32_t loopDstStride[dim] = {0};
  uint32_t loopSize[dim] = {0};
  uint8_t loopLpSize[dim] = {0};
  uint8_t loopRpSize[dim] = {0};
};
template <typename T, uint8_t dim>
struct NdDmaParams {
  NdDmaLoopInfo<dim> loopInfo;
  T constantValue;
};
// Older names, which the vendor's own operators use.
template <uint8_t dim>
using MultiCopyLoopInfo = NdDmaLoopInfo<dim>;
template <typename T, uint8_t dim>
using MultiCopyParams = NdDmaParams<T, dim>;
using MultiCopyConfig = NdDmaConfig;
inline constexpr NdDmaConfig kDefaultMultiCopyConfig{};

template <typename T, uint8_t dim, NdDmaConfig config = kDefaultNdDmaConfig>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                const NdDmaParams<T, dim>& params, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(sizeof(T) < 8 || !config.isNearestValueMode, "DataCopy: of 64 bits there is no isNearestValueMode");
  static_assert(!config.ascOptimize, "DataCopy: ascOptimize is reserved");
  static_assert((config.loopLpSize <= 255 || config.loopLpSize == NdDmaConfig::unsetPad) &&
                    (config.loopRpSize <= 255 || config.loopRpSize == NdDmaConfig::unsetPad),
                "DataCopy: loopLpSize and loopRpSize are 0 to 255, or unsetPad");
  const NdDmaLoopInfo<dim>& loops = params.loopInfo;
  ophook::rt::Dimensions all;
  all.constant = !config.isNearestValueMode, all.value = copy_details::bits_of(params.constantValue);
  for (int d = 0; d < ophook::rt::Dimensions::kMost; ++d) {
    all.size[d] = 1;
    if (d >= dim) continue;
    if (loops.loopSrcStride[d] >> 40 || loops.loopDstStride[d] >> 20)
      return ophook::rt::refuse("DataCopy", "loopSrcStride is below 2^40, loopDstStride below 2^20", at);
    all.size[d] = loops.loopSize[d];
    all.from_step[d] = loops.loopSrcStride[d], all.to_step[d] = loops.loopDstStride[d];
    all.before[d] = config.loopLpSize == NdDmaConfig::unsetPad ? loops.loopLpSize[d] : uint8_t(config.loopLpSize);
    all.behind[d] = config.loopRpSize == NdDmaConfig::unsetPad ? loops.loopRpSize[d] : uint8_t(config.loopRpSize);
  }
  ophook::rt::copy_dimensions("DataCopy", dst.view(), src.view(), sizeof(T), all, at);
}
__aicore__ inline void NdDmaDci() {}  // its cache holds no values of its own here

}  // namespace AscendC
