// z = x times the number of tiles, with the opposite sign where NEGATE is set: the result tells which instance ran.
#include "kernel_operator.h"
#include "tiling_key_scale_template.h"
#include "scale_template_tiling.h"

using namespace AscendC;

template <typename D_T_X, int F_X, int TILES, bool NEGATE>
__global__ __aicore__ void scale_template(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  REGISTER_TILING_DEFAULT(ScaleTemplateTilingData);
  GET_TILING_DATA_WITH_STRUCT(ScaleTemplateTilingData, data, tiling);
  static_assert(F_X == C_FORMAT_ND && TILES <= 2);
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  const uint32_t length = data.length / TILES;
  pipe.InitBuffer(in, 2, length * sizeof(D_T_X));
  pipe.InitBuffer(out, 2, length * sizeof(D_T_X));
  GlobalTensor<D_T_X> from, to;
  from.SetGlobalBuffer((__gm__ D_T_X*)x, data.length);
  to.SetGlobalBuffer((__gm__ D_T_X*)z, data.length);
  for (uint32_t tile = 0; tile < TILES; ++tile) {
    LocalTensor<D_T_X> a = in.AllocTensor<D_T_X>();
    DataCopy(a, from[tile * length], length);
    in.EnQue(a);
    a = in.DeQue<D_T_X>();
    LocalTensor<D_T_X> b = out.AllocTensor<D_T_X>();
    Muls(b, a, static_cast<D_T_X>(NEGATE ? -TILES : TILES), length);
    out.EnQue(b);
    in.FreeTensor(a);
    b = out.DeQue<D_T_X>();
    DataCopy(to[tile * length], b, length);
    out.FreeTensor(b);
  }
}
