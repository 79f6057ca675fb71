// Matmul objects.
#include "common.h"
#include "lib/matmul_intf.h"

KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);

namespace {

constexpr int32_t kSide = 32;
using Matrix = MatmulType<TPosition::GM, CubeFormat::ND, float>;
using Product = Matmul<Matrix, Matrix, Matrix>;

inline TCubeTiling square(int32_t side = kSide) {
  TCubeTiling t{};
  t.usedCoreNum = 2, t.M = t.N = t.Ka = t.Kb = side, t.singleCoreM = t.singleCoreN = t.singleCoreK = side;
  t.baseM = t.baseN = kSide, t.baseK = 32, t.depthA1 = t.depthB1 = t.stepM = t.stepN = t.stepKa = t.stepKb = t.dbL0A = t.dbL0B = t.dbL0C = 1;
  return t;
}
inline void good(Product& mm, GM_ADDR x, GM_ADDR y, GM_ADDR z) {
  mm.SetTensorA(part(x));
  mm.SetTensorB(part(y));
  mm.IterateAll(part(z));
}

}  // namespace

template <bool wrong>
void reads_what_is_still_computed(ARGUMENTS) {
  const TCubeTiling t = square();
  TPipe pipe;
  Product mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  mm.SetTensorA(part(x));
  mm.SetTensorB(part(y));
  mm.IterateAll<false>(part(z));
  if (!wrong) mm.WaitIterateAll();
  TBuf<TPosition::VECCALC> work;
  pipe.InitBuffer(work, kBytes);
  DataCopy(work.Get<float>(), part(z), kCount);  // FAULT missing_sync
  mm.End();
}
EXPORT(reads_what_is_still_computed)

template <bool wrong>
void the_right_matrix_is_missing(ARGUMENTS) {
  const TCubeTiling t = square();
  TPipe pipe;
  Product mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  mm.SetTensorA(part(x));
  if (!wrong) mm.SetTensorB(part(y));
  mm.IterateAll(part(z));  // FAULT parameter
  mm.End();
}
EXPORT(the_right_matrix_is_missing)

// Of the type Matrix, whose ISTRANS is false, a device lays the blocks in L1 out as of one that is not transposed.
template <bool wrong>
void transposed_without_istrans(ARGUMENTS) {
  const TCubeTiling t = square();
  TPipe pipe;
  Matmul<Matrix, MatmulType<TPosition::GM, CubeFormat::ND, float, !wrong>, Matrix> mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  mm.SetTensorA(part(x));
  mm.SetTensorB(part(y), true);  // FAULT parameter
  mm.IterateAll(part(z));
  mm.End();
}
EXPORT(transposed_without_istrans)

// Blocks of 32 bits lie in L1 as ISTRANS says; halves may change at run time.
template <bool wrong>
void istrans_and_not_transposed(ARGUMENTS) {
  const TCubeTiling t = square();
  TPipe pipe;
  Matmul<Matrix, MatmulType<TPosition::GM, CubeFormat::ND, float, true>, Matrix> mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  mm.SetTensorA(part(x));
  mm.SetTensorB(part(y), !wrong);  // FAULT parameter
  mm.IterateAll(part(z));
  mm.End();
}
EXPORT(istrans_and_not_transposed)

template <bool wrong>
void a_bias_that_the_tiling_has_not(ARGUMENTS) {
  TCubeTiling t = square();
  t.isBias = !wrong;
  TPipe pipe;
  Product mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  mm.SetBias(part(x));  // FAULT parameter
  good(mm, x, y, z);
}
EXPORT(a_bias_that_the_tiling_has_not)

template <bool wrong>
void a_bias_of_whole_numbers(ARGUMENTS) {
  using T = std::conditional_t<wrong, int32_t, float>;
  TCubeTiling t = square();
  t.isBias = 1;
  TPipe pipe;
  Matmul<Matrix, Matrix, Matrix, MatmulType<TPosition::GM, CubeFormat::ND, T>> mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  GlobalTensor<T> bias;
  bias.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x));
  mm.SetBias(bias);  // FAULT parameter
  mm.SetTensorA(part(x));
  mm.SetTensorB(part(y));
  mm.IterateAll(part(z));
  mm.End();
}
EXPORT(a_bias_of_whole_numbers)

template <bool wrong>
void bytes_of_floats(ARGUMENTS) {
  using T = std::conditional_t<wrong, int8_t, float>;
  const TCubeTiling t = square();
  TPipe pipe;
  Matmul<Matrix, Matrix, MatmulType<TPosition::GM, CubeFormat::ND, T>> mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  GlobalTensor<T> result;
  result.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(z) + GetBlockIdx() * kSide * kSide);
  mm.SetTensorA(part(x));
  mm.SetTensorB(part(y));
  mm.IterateAll(result);  // FAULT parameter
  mm.End();
}
EXPORT(bytes_of_floats)

template <bool wrong>
void fewer_blocks_than_a_step_brings(ARGUMENTS) {
  TCubeTiling t = square();
  t.stepKa = wrong ? 2 : 1;
  TPipe pipe;
  Product mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);  // FAULT parameter
  good(mm, x, y, z);
}
EXPORT(fewer_blocks_than_a_step_brings)

// Of floats a fractal is 8 wide, and a matrix that is turned on its way to L0B needs 16 of the depth.
template <bool wrong>
void a_block_less_deep_than_it_is_turned(ARGUMENTS) {
  TCubeTiling t = square();
  t.baseK = wrong ? 24 : 16;
  TPipe pipe;
  Product mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);  // FAULT alignment
  good(mm, x, y, z);
}
EXPORT(a_block_less_deep_than_it_is_turned)

template <bool wrong>
void a_tail_of_whole_blocks(ARGUMENTS) {
  static constexpr MatmulConfig config = GetBasicConfig(kSide, kSide, 32);
  const TCubeTiling t = square();
  TPipe pipe;
  Matmul<Matrix, Matrix, Matrix, Matrix, config> mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  mm.SetTensorA(part(x));
  mm.SetTensorB(part(y));
  if (wrong) mm.SetTail(kSide / 2);
  mm.IterateAll(part(z));  // FAULT parameter
  mm.End();
}
EXPORT(a_tail_of_whole_blocks)

template <bool wrong>
void a_call_that_the_configuration_takes_out(ARGUMENTS) {
  static constexpr MatmulConfig config = [] {
    MatmulConfig c = CFG_NORM;
    c.enableSetTail = !wrong, c.iterateMode = IterateMode::ITERATE_MODE_ALL;
    return c;
  }();
  const TCubeTiling t = square();
  TPipe pipe;
  Matmul<Matrix, Matrix, Matrix, Matrix, config> mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  mm.SetTensorA(part(x));
  mm.SetTensorB(part(y));
  mm.SetTail(kSide);  // FAULT parameter
  mm.IterateAll(part(z));
  mm.End();
}
EXPORT(a_call_that_the_configuration_takes_out)

template <bool wrong>
void a_sum_that_has_no_beginning(ARGUMENTS) {
  const TCubeTiling t = square();
  TPipe pipe;
  Product mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  for (int i = 0; i < 2; ++i) {
    mm.SetTensorA(part(x));
    mm.SetTensorB(part(y));
    mm.Iterate(wrong || i);  // FAULT parameter
  }
  mm.GetTensorC(part(z));
  mm.End();
}
EXPORT(a_sum_that_has_no_beginning)

template <bool wrong>
void a_sum_that_takes_its_bias_again(ARGUMENTS) {
  TCubeTiling t = square();
  t.isBias = 1;
  TPipe pipe;
  Product mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  mm.SetBias(part(x));
  for (int i = 0; i < 2; ++i) {
    mm.SetTensorA(part(x));
    mm.SetTensorB(part(y));
    mm.Iterate(i);  // FAULT parameter
    if (!wrong) mm.DisableBias();
  }
  mm.GetTensorC(part(z));
  mm.End();
}
EXPORT(a_sum_that_takes_its_bias_again)

template <bool wrong>
void the_tiling_was_never_read(ARGUMENTS) {
  TCubeTiling t{};
  if (!wrong) t = square();
  TPipe pipe;
  Product mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);  // FAULT parameter
  good(mm, x, y, z);
}
EXPORT(the_tiling_was_never_read)

template <bool wrong>
void tile_larger_than_l0c(ARGUMENTS) {
  TCubeTiling t = square();
  if (wrong) t.baseM = 256, t.baseN = 256;
  TPipe pipe;
  Product mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);  // FAULT local_capacity
  good(mm, x, y, z);
}
EXPORT(tile_larger_than_l0c)

template <bool wrong>
void a_tile_that_is_no_fractal(ARGUMENTS) {
  TCubeTiling t = square();
  if (wrong) t.baseN = 24;
  TPipe pipe;
  Product mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);  // FAULT alignment
  good(mm, x, y, z);
}
EXPORT(a_tile_that_is_no_fractal)

// The last core has fewer rows, and does not say so.
template <bool wrong>
void a_tail_that_is_not_set(ARGUMENTS) {
  TCubeTiling t = square();
  t.M = 2 * kSide, t.singleCoreM = wrong ? kSide + 16 : kSide;
  TPipe pipe;
  Product mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  const uint64_t first = GetBlockIdx() * t.singleCoreM * kSide;
  mm.SetTensorA(whole(x)[first]);
  mm.SetTensorB(whole(y));
  mm.IterateAll(whole(z)[first]);  // FAULT global_bounds
  mm.End();
}
EXPORT(a_tail_that_is_not_set)

template <bool wrong>
void both_kinds_of_cores_fill(ARGUMENTS) {
  const TCubeTiling t = square();
  TPipe pipe;
  TBuf<TPosition::VECCALC> work;
  pipe.InitBuffer(work, 64);
  if (wrong || g_coreType == AscendC::AIV) Duplicate(work.Get<float>(), 0.0f, 16);  // FAULT unguarded
  Product mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  good(mm, x, y, z);
}
EXPORT(both_kinds_of_cores_fill)

// With enAtomic a product is added: cores may do so to the same elements.
template <bool wrong>
void two_cores_add_a_product(ARGUMENTS) {
  const TCubeTiling t = square();
  TPipe pipe;
  Product mm;
  REGIST_MATMUL_OBJ(&pipe, workspace, mm, &t);
  good(mm, x, y, z);
  SyncAll();
  mm.SetTensorA(part(x));
  mm.SetTensorB(part(y));
  mm.IterateAll(whole(z), wrong ? 0 : 1);  // FAULT cores_overlap
  mm.End();
}
EXPORT(two_cores_add_a_product)
