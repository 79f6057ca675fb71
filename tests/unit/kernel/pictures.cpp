// Images that become feature maps: the tiling says of which format, which part, and how.
#include "kernel_operator.h"
using namespace AscendC;

struct Picture {
  uint32_t format, width, height, left, top, row, rows, above, below, before, behind, padding, four, swap, line, colors;
};
template <typename T>
__aicore__ inline void picture(GM_ADDR x, GM_ADDR z, GM_ADDR tiling) {
  const auto& t = *reinterpret_cast<const Picture*>(tiling);
  const auto format = AippInputFormat(t.format);
  GlobalTensor<uint8_t> from;
  from.SetGlobalBuffer(x);
  GlobalTensor<T> to;
  to.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(z));
  TPipe pipe;
  TQue<TPosition::A1, 1> queue;
  const uint32_t height = (t.line ? 1 : t.height) + t.above + t.below, width = t.width + t.before + t.behind;
  const uint32_t elements = height * width * (t.four ? 4 : 32 / sizeof(T));
  pipe.InitBuffer(queue, 1, elements * sizeof(T));
  AippParams<T> config;
  config.paddingParams = {t.padding, 1, 2, 3, 4};
  config.swapParams = {bool(t.swap & 1), bool(t.swap & 2), bool(t.swap & 4)};
  config.singleLineParams.isSingleLineCopy = t.line;
  config.dtcParams.dtcMeanCh0 = 100, config.dtcParams.dtcMeanCh1 = 20, config.dtcParams.dtcMinCh2 = -8,
  config.dtcParams.dtcVarCh1 = 0.25;
  config.cPaddingParams = {t.four, T(7)};
  auto& c = config.cscParams;
  c.isEnableCsc = t.colors;
  c.cscMatrixR0C0 = 298, c.cscMatrixR0C2 = 409, c.cscMatrixR1C0 = 298, c.cscMatrixR1C1 = -100, c.cscMatrixR1C2 = -208,
  c.cscMatrixR2C0 = 298, c.cscMatrixR2C1 = 516;
  c.cscBiasIn0 = 16, c.cscBiasIn1 = c.cscBiasIn2 = 128, c.cscBiasOut0 = 3, c.cscBiasOut1 = 5, c.cscBiasOut2 = 9;
  LocalTensor<T> image = queue.AllocTensor<T>();
  if (format == AippInputFormat::YUV420SP_U8) SetAippFunctions(from, from[t.row * t.rows], format, config);
  else SetAippFunctions(from, format, config);
  LoadImageToLocal(image, {uint16_t(t.width), uint16_t(t.height), uint16_t(t.left), uint16_t(t.top), uint16_t(t.row),
                           uint8_t(t.above), uint8_t(t.below), uint16_t(t.before), uint16_t(t.behind)});
  queue.EnQue(image);
  image = queue.DeQue<T>();
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  DataCopy(to, image, elements);
  queue.FreeTensor(image);
}
extern "C" __global__ __aicore__ void of_bytes(GM_ADDR x, GM_ADDR z, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  picture<int8_t>(x, z, tiling);
}
extern "C" __global__ __aicore__ void of_halves(GM_ADDR x, GM_ADDR z, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  picture<half>(x, z, tiling);
}
extern "C" __global__ __aicore__ void without_functions(GM_ADDR, GM_ADDR, GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  TPipe pipe;
  TBuf<TPosition::A1> image;
  pipe.InitBuffer(image, 1024);
  LoadImageToLocal(image.Get<half>(), LoadImageToLocalParams(2, 2, 0, 0, 2, 0, 0, 0, 0));
}
