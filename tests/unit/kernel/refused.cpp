// What no page of the interface documents for an Atlas A2, or what is not implemented here: each marked line is an error.
#include "c_api/asc_simd.h"
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;
using Side = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using Column = MatmulType<TPosition::GM, CubeFormat::SCALAR, half>;

void copy_out(const void*, const LocalTensor<int8_t>&, const void*, const uint64_t, const uint64_t);

constexpr MatmulConfig partial() {
  MatmulConfig c = CFG_MDL;
  c.intraBlockPartSum = true;
  return c;
}
constexpr MatmulConfig kPartial = partial();

void a() { AscendC::GetTPipePtr(); }  // REFUSED
void b(LocalTensor<half> x, LocalTensor<uint32_t> o) { Gatherb(x, x, o, 1, GatherRepeatParams{1, 8}); }  // REFUSED
void c(float* x) { ReadGmByPassDCache<float>(x); }  // REFUSED
void d(float* x) { WriteGmByPassDCache<float>(x, 1.0f); }  // REFUSED
void e() { GetReduceRepeatSumSpr<int32_t>(); }  // REFUSED
void of_no_extreme(int32_t& x) { GetReduceRepeatMaxMinSpr(x, x); }  // REFUSED
void f(LocalTensor<int32_t> x) { Gelu(x, x, 8); }  // REFUSED
void g(LocalTensor<bfloat16_t> x) { GeGLU(x, x, x); }  // REFUSED
void h(LocalTensor<int32_t> x) { Swish(x, x, 8, 1); }  // REFUSED
void i(LocalTensor<float> x, SoftMaxTiling t) { SimpleSoftMax<float>(x, LocalTensor<half>(), LocalTensor<half>(), x, t); }  // REFUSED
void j(LocalTensor<float> x, uint32_t* s) { Broadcast<float, 3, 1>(x, x, s, s); }  // REFUSED
void k(LocalTensor<int32_t> x, CumSumInfo s) { CumSum(x, x, x, s); }  // REFUSED
void l(LocalTensor<float> x, LocalTensor<half> y) { Axpy(y, x, 1.0f, LocalTensor<uint8_t>(), 8u); }  // REFUSED
void m() { FixpipeParamsV220 p; p.channels = 1; }  // REFUSED
void n() { Matmul<Side, Side, Side, Side, CFG_NORM, MatmulCallBackFunc<copy_out>> x; }  // REFUSED
void o() { Matmul<Side, Side, Side, Side, kPartial> x; }  // REFUSED
void p() { Matmul<Side, Column, Side> x; }  // REFUSED
void q() { MatmulConfig x; x.doWhatIMean = true; }  // REFUSED
void r() { Std::vector<int> x; }  // REFUSED
void s() { DataSyncBarrier<0>(); }  // REFUSED
void t(bfloat16_t x) { x + x; }  // REFUSED
void u(LocalTensor<float> x) { ReducePairElem<ReduceType::MAX>(x, x, 64, 1, 1, 1, 8); }  // REFUSED
void sums_of_floats_as_bytes(LocalTensor<int8_t> d, LocalTensor<float> x) { AddReluCast(d, x, x, 64); }  // REFUSED
void products_as_whole_numbers(LocalTensor<int32_t> d, LocalTensor<half> x) { MulCast(d, x, x, 64); }  // REFUSED
void an_atomic_type_that_is_none() { SetAtomicType<int64_t>(); }  // REFUSED
void bits_that_are_two() { GetBitCount<2>(1); }  // REFUSED
using Half = SparseMatmulType<TPosition::GM, TPosition::GM, CubeFormat::ND, int8_t, true>;
void sparse_of_halves(LocalTensor<half> x, LocalTensor<float> z) { MmadWithSparse(z, x, x, MmadParams{}); }  // REFUSED
void sparse_with_a_signed_index(LocalTensor<int8_t> x) { LoadDataWithSparse(x, x, x, LoadData2DParams{}); }  // REFUSED
void sparse_that_lies_otherwise() { SparseMatmulType<TPosition::GM, TPosition::GM, CubeFormat::ND, int8_t, false> x; }  // REFUSED
void sparse_for_vector_cores() { Matmul<Half, Half, Half> x; }  // REFUSED
void a_pool_of_many() { TBufPool<TPosition::VECCALC, 17> x; }  // REFUSED
void a_pool_of_results() { TBufPool<TPosition::CO1> x; }  // REFUSED
void an_older_image(LocalTensor<half> x) { LoadData(x, x, LoadData3DParamsV1<half>{}); }  // REFUSED
void line_of_an_atomic(GlobalTensor<float> x) { DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_ATOMIC>(x); }  // REFUSED
constexpr LayerNormConfig kOnlyOutput{false, false, true, true};
constexpr LayerNormConfig kVariance{false, false, false, false};
constexpr NormalizeConfig kByColumns{ReducePattern::RA, -1, false, false, false};
constexpr WelfordFinalizeConfig kCorrected{true};
constexpr TransDataConfig kToRows{DataFormat::NCDHW, DataFormat::NHWC};
using Flat = decltype(MakeLayout(MakeShape(1, 2, 3, 4, 5), MakeStride()));

void v(LocalTensor<int8_t> d, LocalTensor<int32_t> x) { AscendQuant(d, x, 1.0f, 0.0f); }  // REFUSED
void w(LocalTensor<half> d, LocalTensor<half> x) { AscendQuant(d, x, 1.0f, 0.0f); }  // REFUSED
void x(LocalTensor<half> d, LocalTensor<int32_t> s, LocalTensor<float> f) { AscendDequant(d, s, f, DequantParams{1, 8, 8}); }  // REFUSED
void y(LocalTensor<half> d, LocalTensor<int32_t> s) { AscendDequant(d, s, half(1), DequantParams{1, 8, 8}); }  // REFUSED
void z(LocalTensor<float> d, LocalTensor<int8_t> s) { AscendAntiQuant<int8_t, float, false>(d, s, d, d, 8); }  // REFUSED
void aa(LocalTensor<float> f, LayerNormSeparateTiling t) { LayerNorm<float, float, false, kOnlyOutput>(f, f, f, f, f, f, 1.0f, LayerNormPara{}, t); }  // REFUSED
void ab(LocalTensor<float> f, LayerNormSeparateTiling t) { LayerNorm<float, float, false, kVariance>(f, f, f, f, f, f, 1.0f, LayerNormPara{}, t); }  // REFUSED
void ac(LocalTensor<float> f, LocalTensor<half> h, LayerNormSeparateTiling t) { LayerNorm<half, float>(f, f, f, f, h, h, 1.0f, LayerNormPara{}, t); }  // REFUSED
void ad(LocalTensor<float> f) { Normalize<float, float, false, kByColumns>(f, f, f, f, f, f, f, 1.0f, NormalizePara{}); }  // REFUSED
void ae(LocalTensor<float> f, WelfordFinalizePara p) { WelfordFinalize<false, kCorrected>(f, f, f, f, p); }  // REFUSED
void af(LocalTensor<half> h, WelfordUpdateParam p) { WelfordUpdate<half, half>(h, h, h, h, h, p); }  // REFUSED
void ag(LocalTensor<int32_t> i, BatchNormTiling t) { BatchNorm(i, i, i, i, i, i, 1, t); }  // REFUSED
void ah(LocalTensor<float> f, SoftMaxTiling t, SoftMaxParams p) { SoftmaxFlashV3<float, float>(f, f, f, f, f, f, f, f, f, t, p); }  // REFUSED
void ai(LocalTensor<half> h, TransDataParams<Flat, Flat> p) { TransData<kToRows>(h, h, p); }  // REFUSED
void aj(LocalTensor<int32_t> i, SoftMaxTiling t) { SoftmaxGrad<int32_t, false, true>(i, i, i, t); }  // REFUSED
void ak(LocalTensor<uint64_t> f) { SetFixPipeConfig<uint64_t, true>(f); }  // REFUSED
void al(Matmul<Side, Side, Side> m) { m.IterateNBatch(1, 1, 1, false); }  // REFUSED
void am(LocalTensor<float> f) { WholeReduceProd(f, f, 64, 1, 1, 1, 8); }  // REFUSED
void ap(LocalTensor<half> h, Nd2NzParams p) { DataCopyPad(h, h, DataCopyExtParams(1, 32, 0, 0, 0), p); }  // REFUSED
void an(float* f, half* h) { asc_add(f, h, f, 8); }  // REFUSED
void ao(int8_t* b) { asc_add(b, b, b, 8); }  // REFUSED
void ap(uint16_t* b) { asc_mul_scalar(b, b, 2, 8); }  // REFUSED
void aq(float* f, int8_t* b) { asc_float2int16_rz(b, f, 8); }  // REFUSED
void ar(float* f) { asc_add_sync(f, f, f, 1, 1, 1, 1, 8, 8, 8); }  // REFUSED
void as(int32_t* i, uint8_t* b) { asc_lt(b, i, i, 1, 1, 1, 1, 8, 8, 8); }  // REFUSED
void at(float* f) { asc_pair_reduce_max(f, f, 8); }  // REFUSED
void au(int64_t* i) { asc_copy_gm2ub_align(i, i, 32); }  // REFUSED
void av(GlobalTensor<float> g) { g.ReinterpretCast<half>(); }  // REFUSED
void aw() { GetUBSizeInBytes(); }  // REFUSED
void ax(LocalTensor<TensorTrait<float>> f, LocalTensor<float> g) { Add(f, f, g, 8); }  // REFUSED
void ay(LocalTensor<TensorTrait<float>> f, LocalTensor<float> g) { f = g; }  // REFUSED
void az(LocalTensor<TensorTrait<float>> f) { Adds(f, f, 1, 8); }  // REFUSED
void ba(LocalTensor<TensorTrait<float>> f) { f.SetShapeInfo(ShapeInfo()); }  // REFUSED
void bb() { TensorTrait<double> t; }  // REFUSED
struct Sent { CubeGroupMsgHead head; uint8_t rest[62]; };
void bc(GM_ADDR w) { CubeResGroupHandle<Sent>(w, 0, 2, 2, 0); }  // REFUSED
using Batch = MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::NORMAL>;
using Pairs = MatmulType<TPosition::GM, CubeFormat::ND, int4b_t, false, LayoutMode::NORMAL>;
using Sums = MatmulType<TPosition::GM, CubeFormat::ND, int32_t, false, LayoutMode::NORMAL>;
void a_batch_of_no_layout(Matmul<Batch, Side, Side> m, GlobalTensor<half> g) { m.IterateBatch(g, 1, 1, false); }  // REFUSED
void a_batch_of_mdl(Matmul<Batch, Batch, Batch, Batch, CFG_MDL> m, GlobalTensor<half> g) { m.IterateBatch(g, 1, 1, false); }  // REFUSED
void a_batch_of_pairs(Matmul<Pairs, Pairs, Sums> m, GlobalTensor<int32_t> g) { m.IterateBatch(g, 1, 1, false); }  // REFUSED
void a_batch_that_is_set(Matmul<Batch, Batch, Batch> m) { m.SetBatchNum(1, 1); }  // REFUSED
void a_batch_in_time(Matmul<Batch, Batch, Batch> m, LocalTensor<half> l) { m.IterateBatch<false>(l, 1, 1, false); }  // REFUSED
using Bytes = MatmulType<TPosition::GM, CubeFormat::ND, int8_t>;
using Whole = MatmulType<TPosition::GM, CubeFormat::ND, int32_t>;
using Floats = MatmulType<TPosition::GM, CubeFormat::ND, float>;
using Shared = MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::NONE, true>;
void halves_in_co1() { Matmul<Side, Side, MatmulType<TPosition::CO1, CubeFormat::NZ, half>> x; }  // REFUSED
void blocks_of_bytes() { Matmul<Bytes, Bytes, Whole, Whole, MM_CFG_BB> x; }  // REFUSED
void triangles_of_blocks() { Matmul<Side, Side, Floats, Floats, MM_CFG_BB, MatmulCallBackFunc<>, Impl::Detail::TrianUpperMatmulPolicy> x; }  // REFUSED
void nine_blocks_of_norm() { Matmul<Side, Side, Floats, Floats, CFG_NORM, MatmulCallBackFunc<>, Impl::Detail::NBuffer33MatmulPolicy> x; }  // REFUSED
void both_shared_by_tiles(Matmul<Shared, Shared, Floats> m, GlobalTensor<float> g) { m.GetTensorC(g); }  // REFUSED
constexpr MatmulConfig kRelu = [] { MatmulConfig c = CFG_NORM; c.enableRelu = true; return c; }();
void a_relu_of_ascend_950() { Matmul<Side, Side, Floats, Floats, kRelu> x; }  // REFUSED
constexpr MatmulConfig kNarrow = [] { MatmulConfig c = CFG_NORM; c.isEnableChannelSplit = true; return c; }();
void narrow_rows() { Matmul<Side, Side, Floats, Floats, kNarrow> x; }  // REFUSED
constexpr MatmulConfig kPairsOfTiles = GetNormalConfig(false, false, false, BatchMode::NONE, true, IterateOrder::ORDER_M, ScheduleType::OUTER_PRODUCT);
void pairs_of_tiles_in_a_mix() { Matmul<Side, Side, Floats, Floats, kPairsOfTiles> x; }  // REFUSED
void steps_of_whole_numbers(LocalTensor<uint32_t> x) { Arange(x, 0u, 1u, 8); }  // REFUSED
void repeated_whole_numbers(LocalTensor<int32_t> x, uint32_t* s) { Broadcast<int32_t, 2, 1>(x, x, s, s); }  // REFUSED
void bytes_that_fill(GlobalTensor<int8_t> g) { Fill(g, 8, int8_t(0)); }  // REFUSED
void padded_bytes(LocalTensor<int8_t> x, PadParams p, PadTiling t) { Pad(x, x, p, t); }  // REFUSED
void bytes_chosen_by_bytes(LocalTensor<int8_t> x, LocalTensor<uint8_t> m) { Select(x, x, int8_t(0), m, m, SelectWithBytesMaskShapeInfo{}); }  // REFUSED
void transposed_bytes(LocalTensor<int8_t> x, ConfusionTransposeTiling t) { Transpose(x, x, TransposeType::TRANSPOSE_ND2ND_ONLY, t); }  // REFUSED
void five_objects(Matmul<Side, Side, Floats> m, TCubeTiling* t) { REGIST_MATMUL_OBJ(nullptr, t, m, t, m, t, m, t, m, t, m, t); }  // REFUSED
