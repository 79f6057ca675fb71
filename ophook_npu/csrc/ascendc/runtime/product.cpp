// The innermost loop of products: 16 columns at once, each element's terms in the order of the depth.
#include "fractal.h"

// The same sums for every processor: without fused multiplication and addition, whose rounding differs.
#ifdef __x86_64__
#define OPHOOK_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define OPHOOK_CLONES
#endif

namespace ophook::rt {
namespace {
using Floats = float __attribute__((vector_size(64)));
using Wholes = int32_t __attribute__((vector_size(64)));
// As they lie in memory: at any element. Each compiler takes the smaller alignment in one of the two ways alone.
#ifdef __clang__
typedef float FloatsThere __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t WholesThere __attribute__((vector_size(64), aligned(4), may_alias));
#else
using FloatsThere = float __attribute__((vector_size(64), aligned(4), may_alias));
using WholesThere = int32_t __attribute__((vector_size(64), aligned(4), may_alias));
#endif
constexpr int kRows = 8;  // with as many sums in registers
}  // namespace

#define OPHOOK_BLOCK(T, V)                                                                                 \
  OPHOOK_CLONES void add_product(const T* a, int64_t row, const T* b, int64_t depth, int64_t rows, T* c) { \
    const auto* columns = reinterpret_cast<const V##There*>(b);                                            \
    auto* out = reinterpret_cast<V##There*>(c);                                                            \
    int64_t i = 0;                                                                                         \
    for (; i + kRows <= rows; i += kRows) {                                                                \
      const T *a0 = a + i * row, *a1 = a0 + row, *a2 = a1 + row, *a3 = a2 + row;                           \
      const T *a4 = a3 + row, *a5 = a4 + row, *a6 = a5 + row, *a7 = a6 + row;                              \
      V s0 = out[i], s1 = out[i + 1], s2 = out[i + 2], s3 = out[i + 3];                                    \
      V s4 = out[i + 4], s5 = out[i + 5], s6 = out[i + 6], s7 = out[i + 7];                                \
      for (int64_t k = 0; k < depth; ++k) {                                                                \
        const V v = columns[k];                                                                            \
        s0 += a0[k] * v, s1 += a1[k] * v, s2 += a2[k] * v, s3 += a3[k] * v;                                \
        s4 += a4[k] * v, s5 += a5[k] * v, s6 += a6[k] * v, s7 += a7[k] * v;                                \
      }                                                                                                    \
      out[i] = s0, out[i + 1] = s1, out[i + 2] = s2, out[i + 3] = s3;                                      \
      out[i + 4] = s4, out[i + 5] = s5, out[i + 6] = s6, out[i + 7] = s7;                                  \
    }                                                                                                      \
    for (; i < rows; ++i) {                                                                                \
      V sum = out[i];                                                                                      \
      for (int64_t k = 0; k < depth; ++k) sum += a[i * row + k] * columns[k];                              \
      out[i] = sum;                                                                                        \
    }                                                                                                      \
  }
OPHOOK_BLOCK(float, Floats)
OPHOOK_BLOCK(int32_t, Wholes)

}  // namespace ophook::rt
