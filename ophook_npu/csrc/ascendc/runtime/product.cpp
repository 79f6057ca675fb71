// The innermost loop of products: 16 columns at once, each element's terms in the order of the depth.
#include "fractal.h"

namespace ophook::rt {
namespace {

constexpr int kRows = 8;  // with as many sums in registers

// As many columns at a time as a register has, each compiled for the processors that have such registers: wider vectors
// go through the stack. The sums are the same for every processor, without fused multiplication and addition, whose
// rounding differs. As they lie in memory, at any element, each compiler takes the smaller alignment in one of two
// ways.
#ifdef __clang__
#define OPHOOK_THERE(T, bytes) typedef T There __attribute__((vector_size(bytes), aligned(4), may_alias))
#else
#define OPHOOK_THERE(T, bytes) using There = T __attribute__((vector_size(bytes), aligned(4), may_alias))
#endif
#define OPHOOK_BLOCK(T, bytes, processor)                                                             \
  processor void by_##bytes(const T* a, int64_t row, const T* b, int64_t depth, int64_t rows, T* c) { \
    using V = T __attribute__((vector_size(bytes)));                                                  \
    OPHOOK_THERE(T, bytes);                                                                           \
    constexpr int kParts = 64 / bytes;                                                                \
    for (int part = 0; part < kParts; ++part) {                                                       \
      const auto* columns = reinterpret_cast<const There*>(b) + part;                                 \
      auto* out = reinterpret_cast<There*>(c) + part;                                                 \
      int64_t i = 0;                                                                                  \
      for (; i + kRows <= rows; i += kRows, out += kRows * kParts) {                                  \
        const T *a0 = a + i * row, *a1 = a0 + row, *a2 = a1 + row, *a3 = a2 + row;                    \
        const T *a4 = a3 + row, *a5 = a4 + row, *a6 = a5 + row, *a7 = a6 + row;                       \
        V s0 = out[0], s1 = out[kParts], s2 = out[2 * kParts], s3 = out[3 * kParts];                  \
        V s4 = out[4 * kParts], s5 = out[5 * kParts], s6 = out[6 * kParts], s7 = out[7 * kParts];     \
        for (int64_t k = 0; k < depth; ++k) {                                                         \
          const V v = columns[k * kParts];                                                            \
          s0 += a0[k] * v, s1 += a1[k] * v, s2 += a2[k] * v, s3 += a3[k] * v;                         \
          s4 += a4[k] * v, s5 += a5[k] * v, s6 += a6[k] * v, s7 += a7[k] * v;                         \
        }                                                                                             \
        out[0] = s0, out[kParts] = s1, out[2 * kParts] = s2, out[3 * kParts] = s3;                    \
        out[4 * kParts] = s4, out[5 * kParts] = s5, out[6 * kParts] = s6, out[7 * kParts] = s7;       \
      }                                                                                               \
      for (; i < rows; ++i, out += kParts) {                                                          \
        V sum = out[0];                                                                               \
        for (int64_t k = 0; k < depth; ++k) sum += a[i * row + k] * columns[k * kParts];              \
        out[0] = sum;                                                                                 \
      }                                                                                               \
    }                                                                                                 \
  }
#ifdef __x86_64__
#define OPHOOK_BLOCKS(T)                                  \
  OPHOOK_BLOCK(T, 64, __attribute__((target("avx512f")))) \
  OPHOOK_BLOCK(T, 32, __attribute__((target("avx2"))))    \
  OPHOOK_BLOCK(T, 16, )
const bool kHas64 = __builtin_cpu_supports("avx512f"), kHas32 = __builtin_cpu_supports("avx2");
#define OPHOOK_BEST(...) return kHas64 ? by_64(__VA_ARGS__) : kHas32 ? by_32(__VA_ARGS__) : by_16(__VA_ARGS__)
#else
#define OPHOOK_BLOCKS(T) OPHOOK_BLOCK(T, 16, )
#define OPHOOK_BEST(...) return by_16(__VA_ARGS__)
#endif
OPHOOK_BLOCKS(float)
OPHOOK_BLOCKS(int32_t)

}  // namespace

void add_product(const float* a, int64_t row, const float* b, int64_t depth, int64_t rows, float* c) {
  OPHOOK_BEST(a, row, b, depth, rows, c);
}
void add_product(const int32_t* a, int64_t row, const int32_t* b, int64_t depth, int64_t rows, int32_t* c) {
  OPHOOK_BEST(a, row, b, depth, rows, c);
}

}  // namespace ophook::rt
