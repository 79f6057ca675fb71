// Images that become feature maps on their way into L1: SetAippFunctions says how, LoadImageToLocal loads.
#pragma once

#include "tensor.h"

namespace AscendC {

enum class AippInputFormat : uint8_t { YUV420SP_U8 = 0, XRGB8888_U8 = 1, RGB888_U8 = 4, YUV400_U8 = 9 };
template <typename T>
struct AippPaddingParams {
  uint32_t paddingMode = 0;
  T paddingValueCh0 = 0, paddingValueCh1 = 0, paddingValueCh2 = 0, paddingValueCh3 = 0;
};
struct AippSwapParams {
  bool isSwapRB = false, isSwapUV = false, isSwapAX = false;
};
struct AippSingleLineParams {
  bool isSingleLineCopy = false;
};
struct AippDataTypeConvParams {
  uint8_t dtcMeanCh0 = 0, dtcMeanCh1 = 0, dtcMeanCh2 = 0;
  half dtcMinCh0 = 0, dtcMinCh1 = 0, dtcMinCh2 = 0;
  half dtcVarCh0 = 1.0, dtcVarCh1 = 1.0, dtcVarCh2 = 1.0;
  uint32_t dtcRoundMode = 0;  // an Atlas 200I/500 A2's alone
};
template <typename T>
struct AippChannelPaddingParams {
  uint32_t cPaddingMode = 0;
  T cPaddingValue = 0;
};
struct AippColorSpaceConvParams {
  bool isEnableCsc = false;
  int16_t cscMatrixR0C0 = 0, cscMatrixR0C1 = 0, cscMatrixR0C2 = 0;
  int16_t cscMatrixR1C0 = 0, cscMatrixR1C1 = 0, cscMatrixR1C2 = 0;
  int16_t cscMatrixR2C0 = 0, cscMatrixR2C1 = 0, cscMatrixR2C2 = 0;
  uint8_t cscBiasIn0 = 0, cscBiasIn1 = 0, cscBiasIn2 = 0;
  uint8_t cscBiasOut0 = 0, cscBiasOut1 = 0, cscBiasOut2 = 0;
};
template <typename T>
struct AippParams {
  AippPaddingParams<T> paddingParams;
  AippSwapParams swapParams;
  AippSingleLineParams singleLineParams;
  AippDataTypeConvParams dtcParams;
  AippChannelPaddingParams<T> cPaddingParams;
  AippColorSpaceConvParams cscParams;
};
struct LoadImageToLocalParams {
  LoadImageToLocalParams() = default;
  LoadImageToLocalParams(uint16_t width, uint16_t height, uint16_t left, uint16_t top, uint16_t row, uint8_t above,
                         uint8_t below, uint16_t before, uint16_t behind, uint8_t reserved = 0)
      : horizSize(width),
        vertSize(height),
        horizStartPos(left),
        vertStartPos(top),
        srcHorizSize(row),
        topPadSize(above),
        botPadSize(below),
        leftPadSize(before),
        rightPadSize(behind),
        sid(reserved) {}
  uint16_t horizSize = 0, vertSize = 0, horizStartPos = 0, vertStartPos = 0, srcHorizSize = 0;
  uint8_t topPadSize = 0, botPadSize = 0;
  uint16_t leftPadSize = 0, rightPadSize = 0;
  uint8_t sid = 0;
};

}  // namespace AscendC

namespace ophook::rt {
// What SetAippFunctions told, with values of the result's type as float.
struct ImageFunctions {
  bool told = false;
  Global planes[2];
  AscendC::AippInputFormat format{};
  Dtype dtype = Dtype::other;
  uint32_t padding = 0;
  float border[3] = {};
  AscendC::AippSwapParams swap;
  bool single_line = false;
  AscendC::AippDataTypeConvParams conversion;
  bool four_channels = false;
  float more = 0;  // channels beyond the image's
  AscendC::AippColorSpaceConvParams colors;
};
OPHOOK_RT void set_image_functions(const ImageFunctions& functions, At at);
OPHOOK_RT void load_picture(Local to, const AscendC::LoadImageToLocalParams& p, At at);
}  // namespace ophook::rt

namespace AscendC {

template <typename T, typename U>
__aicore__ inline void SetAippFunctions(const GlobalTensor<T>& src0, const GlobalTensor<T>& src1,
                                        AippInputFormat format, AippParams<U> config,
                                        ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<PrimT<T>, uint8_t>, "SetAippFunctions: an image of uint8_t");
  static_assert(std::is_same_v<U, int8_t> || std::is_same_v<U, half>, "SetAippFunctions: it becomes int8_t or half");
  const auto& p = config.paddingParams;
  ophook::rt::set_image_functions({true,
                                   {src0.view(), src1.view()},
                                   format,
                                   ophook::rt::dtype_of<U>(),
                                   p.paddingMode,
                                   {float(p.paddingValueCh0), float(p.paddingValueCh1), float(p.paddingValueCh2)},
                                   config.swapParams,
                                   config.singleLineParams.isSingleLineCopy,
                                   config.dtcParams,
                                   config.cPaddingParams.cPaddingMode != 0,
                                   float(config.cPaddingParams.cPaddingValue),
                                   config.cscParams},
                                  at);
}
template <typename T, typename U>
__aicore__ inline void SetAippFunctions(const GlobalTensor<T>& src0, AippInputFormat format, AippParams<U> config,
                                        ophook::rt::At at = ophook::rt::At::here()) {
  if (format == AippInputFormat::YUV420SP_U8)
    return ophook::rt::refuse("SetAippFunctions", "YUV420SP has a second plane, src1", at);
  SetAippFunctions(src0, src0, format, config, at);
}
template <typename T>
__aicore__ inline void LoadImageToLocal(const LocalTensor<T>& dst, const LoadImageToLocalParams& loadDataParams,
                                        ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<PrimT<T>, int8_t> || std::is_same_v<PrimT<T>, half>, "LoadImageToLocal: int8_t or half");
  ophook::rt::load_picture(dst.view(), loadDataParams, at);
}

}  // namespace AscendC
