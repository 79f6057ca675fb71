#include "kernels/loops.h"

#include <ATen/Version.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

// No function that is called from elsewhere has a vector.
#pragma GCC diagnostic ignored "-Wpsabi"
#define SIM_INLINE static inline __attribute__((always_inline))

#pragma GCC push_options
#pragma GCC optimize("O2")

namespace sim::loops {

constexpr float kRoot = 0.7978845608028654f;  // sqrt(2 / pi)
constexpr float kCube = 0.044715f;
constexpr float kPower = -2 * kRoot * 1.44269504088896341f;  // of 2, not of e
constexpr int64_t kPart = 8192;  // so many numbers are added in float; a row may have millions

#if defined(__x86_64__)
#define SIM_BITS 512
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,prefer-vector-width=512")
namespace avx512 {
#include "kernels/numbers.inc"
}  // namespace avx512
#pragma GCC pop_options
#undef SIM_BITS

#define SIM_BITS 256
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
namespace avx2 {
#include "kernels/numbers.inc"
}  // namespace avx2
#pragma GCC pop_options
#undef SIM_BITS
#endif

#define SIM_BITS 0
namespace any {
#include "kernels/numbers.inc"
}  // namespace any
#undef SIM_BITS

// Runs it with the vectors that ATen uses here: those of the processor, or what ATEN_CPU_CAPABILITY leaves of them.
#if defined(__x86_64__)
static int bits() {
  static const int found = [] {
    const std::string widest = at::get_cpu_capability();
    return widest.rfind("AVX512", 0) == 0 ? 512 : widest == "AVX2" ? 256 : 0;
  }();
  return found;
}
#define SIM_CALL(...)      \
  const int wide = bits(); \
  return wide == 512 ? avx512::__VA_ARGS__ : wide == 256 ? avx2::__VA_ARGS__ : any::__VA_ARGS__
#else
#define SIM_CALL(...) return any::__VA_ARGS__
#endif

float largest(const float* row, int64_t count) { SIM_CALL(largest(row, count)); }
float raised(float* row, int64_t count, float top) { SIM_CALL(raised(row, count, top)); }
template <typename Number>
void gelu(const Number* x, Number* y, int64_t count) {
  SIM_CALL(gelu(x, y, count));
}
template <typename Number>
void gelu_backward(const Number* grad, const Number* x, Number* to_x, int64_t count) {
  SIM_CALL(gelu_backward(grad, x, to_x, count));
}
template <typename Number>
void layer_norm(const NormRows<Number>& of, Number* y, float* mean, float* rstd) {
  SIM_CALL(layer_norm(of, y, mean, rstd));
}
template <typename Number>
void layer_norm_backward(const NormRowsBackward<Number>& of, Number* to_x, float* to_weight, float* to_bias) {
  SIM_CALL(layer_norm_backward(of, to_x, to_weight, to_bias));
}

#define SIM_OF(Number)                                                         \
  template void gelu(const Number*, Number*, int64_t);                         \
  template void gelu_backward(const Number*, const Number*, Number*, int64_t); \
  template void layer_norm(const NormRows<Number>&, Number*, float*, float*);  \
  template void layer_norm_backward(const NormRowsBackward<Number>&, Number*, float*, float*);
SIM_OF(float)
SIM_OF(at::Half)
SIM_OF(at::BFloat16)
#undef SIM_OF
#undef SIM_CALL

}  // namespace sim::loops
#pragma GCC pop_options
