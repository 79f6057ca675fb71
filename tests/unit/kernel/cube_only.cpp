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

// Sums over k in a CO1 tensor of the kernel's own: one tile of z after the other.
extern "C" __global__ __aicore__ void sums_in_co1(GM_ADDR a, GM_ADDR b, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(TCubeTiling, t, tiling);
  TPipe pipe;
  using Matrix = MatmulType<TPosition::GM, CubeFormat::ND, float>;
  Matmul<Matrix, Matrix, MatmulType<TPosition::CO1, CubeFormat::NZ, float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  TQue<TPosition::CO1, 1> results;
  pipe.InitBuffer(results, 1, t.baseM * t.baseN * sizeof(float));
  for (int row = 0; row < t.M; row += t.baseM)
    for (int column = 0; column < t.N; column += t.baseN) {
      GlobalTensor<float> ga, gb, gz;
      LocalTensor<float> tile = results.AllocTensor<float>();
      for (int k = 0; k < t.Ka; k += t.baseK) {
        ga.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(a) + row * t.Ka + k);
        gb.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(b) + k * t.N + column);
        mm.SetTensorA(ga);
        mm.SetTensorB(gb);
        mm.SetSingleShape(t.baseM, t.baseN, t.Ka - k < t.baseK ? t.Ka - k : t.baseK);
        mm.Iterate(k != 0, tile);
      }
      results.EnQue(tile);
      tile = results.DeQue<float>();
      gz.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z) + row * t.N + column);
      FixpipeParamsV220 out(t.baseN, t.baseM, t.baseM, t.N, false);
      Fixpipe(gz, tile, out);
      results.FreeTensor(tile);
    }
  mm.End();
}

// As a public kernel calls it: what would be the batch elsewhere is enPartialSum and enAtomic here.
extern "C" __global__ __aicore__ void cube_batch(GM_ADDR a, GM_ADDR b, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(TCubeTiling, t, tiling);
  TPipe pipe;
  using Matrix = MatmulType<TPosition::GM, CubeFormat::ND, float, false, LayoutMode::NORMAL>;
  Matmul<Matrix, Matrix, Matrix> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  GlobalTensor<float> ga, gb, gz;
  ga.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(a));
  gb.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(b));
  gz.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z));
  mm.SetTensorA(ga);
  mm.SetTensorB(gb);
  mm.SetBatchNum(3, 3);
  mm.IterateBatch(gz, 0, 0, 0);
  mm.End();
}

// The left matrix by a function of the kernel's own, which reads its rows in reverse order; `data` is where the last one begins.
template <bool all>
void Reversed(const LocalTensor<int8_t>& to, const __gm__ void* gm, int row, int col, int useM, int useK, const uint64_t tiling, const uint64_t data) {
  const auto* t = reinterpret_cast<const TCubeTiling*>(tiling);
  LocalTensor<float> block = to.ReinterpretCast<float>();
  for (int i = 0; i < useM - !all; ++i) {
    GlobalTensor<float> from;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(data) - (row * t->baseM + i) * t->Ka + col * t->baseK);
    DataCopy(block[uint32_t(i * 8)], from, Nd2NzParams(1, 1, uint16_t(useK), 0, uint16_t(t->Ka), uint16_t((useM + 15) / 16 * 16), 1, 0));
  }
}
template <bool all>
inline void Callback(GM_ADDR a, GM_ADDR b, GM_ADDR z, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(TCubeTiling, t, tiling);
  TPipe pipe;
  using Matrix = MatmulType<TPosition::GM, CubeFormat::ND, float>;
  Matmul<Matrix, Matrix, Matrix, Matrix, CFG_NORM, MatmulCallBackFunc<nullptr, Reversed<all>>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  GlobalTensor<float> ga, gb, gz;
  ga.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(a) + GetBlockIdx() * t.singleCoreM * t.Ka);
  gb.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(b));
  gz.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z) + GetBlockIdx() * t.singleCoreM * t.N);
  mm.SetUserDefInfo(reinterpret_cast<uint64_t>(&t));
  mm.SetSelfDefineData(reinterpret_cast<uint64_t>(ga.GetPhyAddr((t.singleCoreM - 1) * t.Ka)));
  mm.SetTensorA(ga);
  mm.SetTensorB(gb);
  mm.IterateAll(gz);
  mm.End();
}
extern "C" __global__ __aicore__ void callback(GM_ADDR a, GM_ADDR b, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) { Callback<true>(a, b, z, tiling); }
extern "C" __global__ __aicore__ void callback_short(GM_ADDR a, GM_ADDR b, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) { Callback<false>(a, b, z, tiling); }

// As `sparse` of cube.cpp, by a Matmul object: the right matrix is a row for each column.
extern "C" __global__ __aicore__ void sparse_object(GM_ADDR x, GM_ADDR w, GM_ADDR index, GM_ADDR z, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(TCubeTiling, t, tiling);
  TPipe pipe;
  Matmul<MatmulType<TPosition::GM, CubeFormat::ND, int8_t>, SparseMatmulType<TPosition::GM, TPosition::GM, CubeFormat::ND, int8_t, true>,
         MatmulType<TPosition::GM, CubeFormat::ND, int32_t>, MatmulType<TPosition::GM, CubeFormat::ND, int32_t>, CFG_MDL>
      mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  GlobalTensor<int8_t> gx, gw;
  GlobalTensor<uint8_t> gi;
  GlobalTensor<int32_t> gz;
  gx.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(x));
  gw.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(w));
  gi.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t*>(index));
  gz.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(z));
  mm.SetTensorA(gx);
  mm.SetTensorB(gw, true);
  mm.SetSparseIndex(gi);
  mm.IterateAll(gz);
  mm.End();
}

struct Sizes {
  int32_t rows, columns;
};
struct Parts {
  Sizes sizes;
  int32_t list[3];
};
// z: the parts of a tiling by each way to them, and 1 where its key is one of two.
extern "C" __global__ __aicore__ void tiling_parts(GM_ADDR z, GM_ADDR tiling) {
  REGISTER_NONE_TILING;
  GET_TILING_DATA_PTR_WITH_STRUCT(Parts, parts, tiling);
  COPY_TILING_WITH_STRUCT(Sizes, parts->sizes, sizes);
  COPY_TILING_WITH_ARRAY(int32_t, 3, parts->list, list);
  GlobalTensor<int32_t> to;
  to.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(z));
  const int32_t values[] = {parts->sizes.rows, sizes->columns, (*list)[0], (*list)[2]};
  for (uint32_t i = 0; i < 4; ++i) to.SetValue(i, values[i]);
  if (TILING_KEY_LIST(3, 7)) to.SetValue(4, 1);
  else to.SetValue(4, 0);
}
