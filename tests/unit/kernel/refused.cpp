// What no page of the interface documents for an Atlas A2, or what is not implemented here: each marked line is an error.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;
using Side = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using Column = MatmulType<TPosition::GM, CubeFormat::SCALAR, half>;

void copy_out(const void*, const LocalTensor<int8_t>&, const void*, const uint64_t, const uint64_t);

constexpr MatmulConfig partial() {
  MatmulConfig c = CFG_MDL;
  c.isPartialOutput = true;
  return c;
}
constexpr MatmulConfig kPartial = partial();

void a() { AscendC::GetTPipePtr(); }  // REFUSED
void b(LocalTensor<half> x, LocalTensor<uint32_t> o) { Gatherb(x, x, o, 1, GatherRepeatParams{1, 8}); }  // REFUSED
void c(float* x) { ReadGmByPassDCache<float>(x); }  // REFUSED
void d(float* x) { WriteGmByPassDCache<float>(x, 1.0f); }  // REFUSED
void e() { GetReduceRepeatSumSpr<int32_t>(); }  // REFUSED
void f(LocalTensor<int32_t> x) { Gelu(x, x, 8); }  // REFUSED
void g(LocalTensor<bfloat16_t> x) { GeGLU(x, x, x); }  // REFUSED
void h(LocalTensor<int32_t> x) { Swish(x, x, 8, 1); }  // REFUSED
void i(LocalTensor<float> x, SoftMaxTiling t) { SoftmaxGrad<float, false, true>(x, x, x, t); }  // REFUSED
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
