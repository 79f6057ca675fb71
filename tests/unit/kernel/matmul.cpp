// Matmul objects in other ways than examples/ascendc_matmul uses them: tile by tile through the vector core, several at once,
// asynchronously, from NZ and into it, quantized. Each of the two vector cores of a block has half the rows of z.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace matmul;  // which has every name of AscendC

template <typename T>
using Plain = MatmulType<TPosition::GM, CubeFormat::ND, T>;
template <typename T>
using Fractal = MatmulType<TPosition::GM, CubeFormat::NZ, T>;
template <typename T>
using OnCore = MatmulType<TPosition::VECIN, CubeFormat::ND, T>;

template <typename T>
inline GlobalTensor<T> at(GM_ADDR memory, uint64_t first = 0) {
  GlobalTensor<T> tensor;
  tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(memory) + first);
  return tensor;
}
#define KERNEL(name) extern "C" __global__ __aicore__ void name(GM_ADDR a, GM_ADDR b, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling)
#define TILING GET_TILING_DATA_WITH_STRUCT(TCubeTiling, t, tiling); TPipe pipe
#define ROW (GetBlockIdx() * t.singleCoreM)

// z = leaky_relu(a b): every tile passes through the vector core.
KERNEL(through_the_vector_core) {
  TILING;
  Matmul<Plain<half>, Plain<half>, OnCore<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  TQue<TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, t.baseM * t.baseN * sizeof(float));
  mm.SetTensorA(at<half>(a, ROW * t.Ka));
  mm.SetTensorB(at<half>(b));
  const int down = (t.singleCoreM + t.baseM - 1) / t.baseM;
  for (int i = 0; mm.Iterate<true>(); ++i) {
    LocalTensor<float> tile = queue.AllocTensor<float>();
    mm.GetTensorC<true>(tile, false, true);
    LeakyRelu(tile, tile, 0.1f, t.baseM * t.baseN);
    queue.EnQue(tile);
    tile = queue.DeQue<float>();
    const DataCopyParams rows(t.baseM, t.baseN / 8, 0, (t.N - t.baseN) / 8);
    DataCopy(at<float>(z, (ROW + i % down * t.baseM) * t.N + i / down * t.baseN), tile, rows);
    queue.FreeTensor(tile);
  }
  mm.End();
}

// The same, asked for at once: each GetTensorC takes the next tile, and the queue from device memory waits for it.
KERNEL(asked_for_at_once) {
  TILING;
  Matmul<Plain<half>, Plain<half>, OnCore<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  const int size = t.baseM * t.baseN, down = (t.singleCoreM + t.baseM - 1) / t.baseM, across = (t.singleCoreN + t.baseN - 1) / t.baseN;
  pipe.InitBuffer(in, 1, size * sizeof(float));
  pipe.InitBuffer(out, 1, size * sizeof(float));
  mm.SetTensorA(at<half>(a, ROW * t.Ka));
  mm.SetTensorB(at<half>(b));
  mm.Iterate<false>();
  for (int i = 0; i < down * across; ++i) {
    LocalTensor<float> tile = in.AllocTensor<float>(), result = out.AllocTensor<float>();
    mm.GetTensorC<false>(tile, false, true);
    in.EnQue(tile);
    tile = in.DeQue<float>();
    LeakyRelu(result, tile, 0.1f, size);
    in.FreeTensor(tile);
    out.EnQue(result);
    result = out.DeQue<float>();
    const DataCopyParams rows(t.baseM, t.baseN / 8, 0, (t.N - t.baseN) / 8);
    DataCopy(at<float>(z, (ROW + i % down * t.baseM) * t.N + i / down * t.baseN), result, rows);
    out.FreeTensor(result);
  }
  mm.End();
}

// The same, from the workspace, where each tile lies behind the one before.
KERNEL(from_the_workspace) {
  TILING;
  Matmul<Plain<half>, Plain<half>, OnCore<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  const int size = t.baseM * t.baseN, down = (t.singleCoreM + t.baseM - 1) / t.baseM, across = (t.singleCoreN + t.baseN - 1) / t.baseN;
  pipe.InitBuffer(in, 1, size * sizeof(float));
  pipe.InitBuffer(out, 1, size * sizeof(float));
  GlobalTensor<float> place = at<float>(workspace, ROW * t.N);
  mm.SetWorkspace(place);
  mm.SetTensorA(at<half>(a, ROW * t.Ka));
  mm.SetTensorB(at<half>(b));
  mm.Iterate<false>();
  for (int i = 0; i < down * across; ++i) {
    GlobalTensor<float> found = mm.GetTensorC<false>();
    mm.WaitGetTensorC();
    LocalTensor<float> tile = in.AllocTensor<float>(), result = out.AllocTensor<float>();
    DataCopy(tile, found, size);
    in.EnQue(tile);
    tile = in.DeQue<float>();
    LeakyRelu(result, tile, 0.1f, size);
    in.FreeTensor(tile);
    out.EnQue(result);
    result = out.DeQue<float>();
    const DataCopyParams rows(t.baseM, t.baseN / 8, 0, (t.N - t.baseN) / 8);
    DataCopy(at<float>(z, (ROW + i % down * t.baseM) * t.N + i / down * t.baseN), result, rows);
    out.FreeTensor(result);
  }
  mm.End();
}

// z = 3 (a b): the vector core has each tile at once, and once more from device memory.
KERNEL(to_both) {
  TILING;
  Matmul<Plain<half>, Plain<half>, OnCore<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  const int size = t.baseM * t.baseN, down = (t.singleCoreM + t.baseM - 1) / t.baseM;
  pipe.InitBuffer(in, 1, size * sizeof(float));
  pipe.InitBuffer(out, 1, size * sizeof(float));
  GlobalTensor<float> place = at<float>(workspace, ROW * t.N);
  mm.SetTensorA(at<half>(a, ROW * t.Ka));
  mm.SetTensorB(at<half>(b));
  for (int i = 0; mm.Iterate<true>(); ++i) {
    LocalTensor<float> tile = out.AllocTensor<float>(), again = in.AllocTensor<float>();
    GlobalTensor<float> part = place[i * size];
    mm.GetTensorC<true>(part, tile, 0, true);
    DataCopy(again, part, size);
    in.EnQue(again);
    again = in.DeQue<float>();
    Axpy(tile, again, 2.0f, size);
    in.FreeTensor(again);
    out.EnQue(tile);
    tile = out.DeQue<float>();
    const DataCopyParams rows(t.baseM, t.baseN / 8, 0, (t.N - t.baseN) / 8);
    DataCopy(at<float>(z, (ROW + i % down * t.baseM) * t.N + i / down * t.baseN), tile, rows);
    out.FreeTensor(tile);
  }
  mm.End();
}

// z = (a b) b: the second product reads what the first one wrote, and two objects are registered at once.
KERNEL(one_after_the_other) {
  TILING;
  Matmul<Plain<float>, Plain<float>, Plain<float>> first, second;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), first, &t, second, &t);
  GlobalTensor<float> middle = at<float>(workspace, ROW * t.N);
  first.SetTensorA(at<float>(a, ROW * t.Ka));
  first.SetTensorB(at<float>(b));
  first.IterateAll<false>(middle);
  first.WaitIterateAll();
  first.End();
  second.SetTensorA(middle);
  second.SetTensorB(at<float>(b));
  second.IterateAll(at<float>(z, ROW * t.N));
  second.End();
}

// z = a b^T of bytes, divided by 8.
KERNEL(bytes_to_half) {
  TILING;
  Matmul<Plain<int8_t>, MatmulType<TPosition::GM, CubeFormat::ND, int8_t, true>, Plain<half>, Plain<int32_t>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  mm.SetTensorA(at<int8_t>(a, ROW * t.Ka));
  mm.SetTensorB(at<int8_t>(b), true);
  mm.SetQuantScalar(__builtin_bit_cast(uint32_t, 0.125f));
  mm.IterateAll(at<half>(z, ROW * t.N));
  mm.End();
}

// ISTRANS true, and no word about it at SetTensorB: the matrix is not transposed.
KERNEL(might_be_transposed) {
  TILING;
  Matmul<Plain<half>, MatmulType<TPosition::GM, CubeFormat::ND, half, true>, Plain<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  mm.SetTensorA(at<half>(a, ROW * t.Ka));
  mm.SetTensorB(at<half>(b));
  mm.IterateAll(at<float>(z, ROW * t.N));
  mm.End();
}

// Everything in fractals, a transposed, columns of tiles first; one vector core has it all.
KERNEL(fractals) {
  TILING;
  Matmul<MatmulType<TPosition::GM, CubeFormat::NZ, half, true>, Fractal<half>, Fractal<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  if (GetBlockIdx() != 0) return;
  mm.SetTensorA(at<half>(a), true);
  mm.SetTensorB(at<half>(b));
  mm.IterateAll(at<float>(z));
  mm.End();
}

// Both vector cores ask for all of z: one product serves them, and each reads it back.
KERNEL(shared_by_both) {
  TILING;
  using Shared = MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::NONE, true>;
  Matmul<Shared, Shared, Plain<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  mm.SetTensorA(at<half>(a));
  mm.SetTensorB(at<half>(b));
  mm.IterateAll(at<float>(z));
  mm.End();
  TBuf<TPosition::VECCALC> row;
  pipe.InitBuffer(row, t.N * 4);
  DataCopy(row.Get<float>(), at<float>(z), t.N);
}

// Both vector cores add a half of k to z.
KERNEL(halves_of_k) {
  TILING;
  Matmul<Plain<half>, Plain<half>, Plain<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  const int first = GetBlockIdx() * t.singleCoreK;
  mm.SetTensorA(at<half>(a, first));
  mm.SetTensorB(at<half>(b, first * t.N));
  SetAtomicAdd<float>();
  mm.IterateAll(at<float>(z), 1);
  SetAtomicNone();
  mm.End();
}

// z[i] = a[i] b[0], of three matrices of a: each vector core does half the rows of each.
template <typename T>
using Batch = MatmulType<TPosition::GM, CubeFormat::ND, T, false, LayoutMode::NORMAL>;
KERNEL(batched) {
  TILING;
  Matmul<Batch<half>, Batch<half>, Batch<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  mm.SetTensorA(at<half>(a, ROW * t.Ka));
  mm.SetTensorB(at<half>(b));
  mm.IterateBatch(at<float>(z, ROW * t.N), 3, 1, false);
  mm.End();
}

// Of two heads with three groups each, which C has not: the products of a group are added, and the bias once.
KERNEL(groups_added) {
  TILING;
  using Side = MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::BNGS1S2>;
  Matmul<Side, Side, MatmulType<TPosition::GM, CubeFormat::ND, float, false, LayoutMode::BSNGD>, Plain<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  if (GetBlockIdx() != 0) return;
  mm.SetTensorA(at<half>(a));
  mm.SetTensorB(at<half>(b));
  mm.SetBias(at<float>(a));
  mm.IterateBatch(at<float>(z), 6, 6, false);
  mm.End();
}

// Tiles on one side of the diagonal, by their numbers; the first vector core has them all.
template <template <const auto&, typename...> class Policy>
inline void triangle(GM_ADDR a, GM_ADDR b, GM_ADDR z, const TCubeTiling& t) {
  Matmul<Plain<half>, Plain<half>, Plain<float>, Plain<float>, CFG_NORM, MatmulCallBackFunc<>, Policy> mm;
  TPipe pipe;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  if (GetBlockIdx() != 0) return;
  mm.SetTensorA(at<half>(a));
  mm.SetTensorB(at<half>(b));
  mm.IterateAll(at<float>(z));
  mm.End();
}
KERNEL(upper_triangle) {
  GET_TILING_DATA_WITH_STRUCT(TCubeTiling, t, tiling);
  triangle<Impl::Detail::TrianUpperMatmulPolicy>(a, b, z, t);
}
KERNEL(lower_triangle) {
  GET_TILING_DATA_WITH_STRUCT(TCubeTiling, t, tiling);
  triangle<Impl::Detail::TrianLowerMatmulPolicy>(a, b, z, t);
}

// Each Iterate gives the product of one baseK alone: z has them one after the other.
constexpr MatmulConfig kParts = GetMMConfig<MatmulConfigMode::CONFIG_MDL>(MatmulFuncParams{.isPartialOutput = true});
KERNEL(parts_of_k) {
  TILING;
  Matmul<Plain<half>, Plain<half>, Plain<float>, Plain<float>, kParts> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  if (GetBlockIdx() != 0) return;
  mm.SetTensorA(at<half>(a));
  mm.SetTensorB(at<half>(b));
  for (uint64_t i = 0; mm.Iterate(); ++i) mm.GetTensorC(at<float>(z, i * t.baseM * t.baseN), 0, true);
  mm.End();
}

// The sums of b's columns, by a row of ones in place of a; behind them the sum of a's second row, by a column of twos.
KERNEL(one_value) {
  TILING;
  Matmul<Plain<half>, Plain<half>, Plain<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  if (mm.GetSubBlockIdx() != 0) return;
  mm.SetTensorA(half(1));
  mm.SetTensorB(at<half>(b));
  mm.SetSingleShape(1, t.N, t.Ka);
  mm.IterateAll(at<float>(z));
  mm.SetTensorA(at<half>(a, t.Ka));
  mm.SetTensorB(half(2));
  mm.SetSingleShape(1, 1, t.Ka);
  mm.IterateAll(at<float>(z, t.N));
  mm.End();
}

// Products in batches through the workspace into the vector core, whose rows end at multiples of 32 bytes.
constexpr MatmulConfig kLoop = GetNormalConfig(false, true);
KERNEL(batches_to_the_vector_core) {
  TILING;
  using Side = MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::NORMAL>;
  Matmul<Side, Side, MatmulType<TPosition::VECIN, CubeFormat::ND_ALIGN, float, false, LayoutMode::NORMAL>, Plain<float>, kLoop> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  if (GetBlockIdx() != 0) return;
  const uint32_t size = t.singleCoreM * ((t.singleCoreN + 7) / 8 * 8);
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> through;
  pipe.InitBuffer(through, 1, 2 * size * sizeof(float));
  mm.SetTensorA(at<half>(a));
  mm.SetTensorB(at<half>(b));
  mm.SetWorkspace(reinterpret_cast<__gm__ float*>(workspace), 6 * size);
  mm.IterateNBatch<false>(3, 2, 2, false);
  for (uint32_t i = 0; i < 3; ++i) {
    LocalTensor<float> pair = through.AllocTensor<float>();
    mm.GetBatchTensorC<false>(pair, 2, 2);
    through.EnQue(pair);
    pair = through.DeQue<float>();
    DataCopy(at<float>(z, i * 2 * size), pair, 2 * size);
    through.FreeTensor(pair);
  }
  mm.End();
}

// Each vector core's part of z as a sum over k, in several calls: a tile each, with a bias that counts once.
KERNEL(sum_of_parts) {
  TILING;
  Matmul<Plain<half>, Plain<half>, Plain<float>, Plain<float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  for (int row = 0; row < t.singleCoreM; row += t.baseM)
    for (int column = 0; column < t.singleCoreN; column += t.baseN) {
      for (int k = 0; k < t.Ka; k += t.singleCoreK) {
        mm.SetTensorA(at<half>(a, (ROW + row) * t.Ka + k));
        mm.SetTensorB(at<half>(b, k * t.N + column));
        if (k == 0) mm.SetBias(at<float>(a, column));
        else mm.DisableBias();
        mm.SetTail(t.baseM, t.baseN, t.Ka - k < t.singleCoreK ? t.Ka - k : t.singleCoreK);
        mm.Iterate(k != 0);
        mm.End();
      }
      mm.GetTensorC(at<float>(z, (ROW + row) * t.N + column));
    }
}

// z = a b of bytes, each column by a factor of its own, which lies in L1.
KERNEL(factors_in_l1) {
  TILING;
  Matmul<Plain<int8_t>, Plain<int8_t>, Plain<half>, Plain<int32_t>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  TSCM<TPosition::GM, 1> scm;
  pipe.InitBuffer(scm, 1, t.N * sizeof(uint64_t));
  LocalTensor<uint64_t> factors = scm.AllocTensor<uint64_t>();
  DataCopy(factors, at<uint64_t>(b, t.Kb * t.N / 8), t.N);
  scm.EnQue(factors);
  factors = scm.DeQue<uint64_t>();
  mm.SetTensorA(at<int8_t>(a, ROW * t.Ka));
  mm.SetTensorB(at<int8_t>(b));
  mm.SetQuantVector(factors);
  mm.IterateAll(at<half>(z, ROW * t.N));
  mm.End();
  scm.FreeTensor(factors);
}

// Two elements of 4 bits in a byte; rows of z end at multiples of 32 bytes.
KERNEL(four_bits) {
  TILING;
  Matmul<Plain<int4b_t>, MatmulType<TPosition::GM, CubeFormat::ND, int4b_t, true>, MatmulType<TPosition::GM, CubeFormat::ND_ALIGN, int32_t>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  mm.SetTensorA(at<int4b_t>(a)[ROW * t.Ka]);
  mm.SetTensorB(at<int4b_t>(b), true);
  mm.IterateAll(at<int32_t>(z, ROW * ((t.N + 7) / 8 * 8)));
  mm.End();
}
