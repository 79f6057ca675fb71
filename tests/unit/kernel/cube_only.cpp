// A Matmul object that the cube cores use themselves.
#define ASCENDC_CUBE_ONLY
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void cube_only(GM_ADDR a, GM_ADDR b, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(TCubeTiling, t, tiling);
  TPipe pipe;
  using Matrix = MatmulType<TPosition::GM, CubeFormat::ND, float>;
  Matmul<Matrix, Matrix, Matrix> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  GlobalTensor<float> ga, gb, gz;
  ga.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(a) + GetBlockIdx() * t.singleCoreM * t.Ka);
  gb.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(b));
  gz.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z) + GetBlockIdx() * t.singleCoreM * t.N);
  mm.SetTensorA(ga);
  mm.SetTensorB(gb);
  mm.IterateAll(gz);
  mm.End();
}
