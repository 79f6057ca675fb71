#include "arithmetic.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ophook::rt {
namespace {

#if defined(__x86_64__)
bool has_f16c() {
#ifdef __clang__  // it does not know the name before version 19; what has AVX2 has it
  static const bool has = __builtin_cpu_supports("avx2");
#else
  static const bool has = __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
#endif
  return has;
}
__attribute__((target("avx,f16c"))) inline __m256 eight_halves(const uint16_t* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
__attribute__((target("avx,f16c"))) inline void put_eight(__m256 values, uint16_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
__attribute__((target("avx,f16c"))) size_t to_float_fast(const uint16_t* from, float* to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) _mm256_storeu_ps(to + i, eight_halves(from + i));
  return i;
}
__attribute__((target("avx,f16c"))) size_t to_half_fast(const float* from, uint16_t* to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) put_eight(_mm256_loadu_ps(from + i), to + i);
  return i;
}
// The commonest instructions in one pass, where the others widen, compute and round piece by piece.
template <Op op>
__attribute__((target("avx,f16c"))) size_t halves_fast(uint16_t* to, const uint16_t* a, const uint16_t* b,
                                                       size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 x = eight_halves(a + i), y = eight_halves(b + i);
    put_eight(op == Op::Add ? x + y : op == Op::Sub ? x - y : x * y, to + i);
  }
  return i;
}
#else
bool has_f16c() { return false; }
size_t to_float_fast(const uint16_t*, float*, size_t) { return 0; }
size_t to_half_fast(const float*, uint16_t*, size_t) { return 0; }
template <Op op>
size_t halves_fast(uint16_t*, const uint16_t*, const uint16_t*, size_t) {
  return 0;
}
#endif

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

// A shift by all of a type's bits, or more, leaves the sign alone.
template <typename T>
constexpr bool shifts_out(T by) {
  return by < 0 || by >= T(sizeof(T) * 8);
}

// One instruction on one element. Integers wrap around.
template <Op op, typename T>
T compute(T d, T a, T b, T s) {
  constexpr bool real = std::is_floating_point_v<T>;
  auto add = [](T x, T y) -> T {
    if constexpr (real) return x + y;
    else return T(Unsigned<T>(Unsigned<T>(x) + Unsigned<T>(y)));
  };
  auto sub = [](T x, T y) -> T {
    if constexpr (real) return x - y;
    else return T(Unsigned<T>(Unsigned<T>(x) - Unsigned<T>(y)));
  };
  auto mul = [](T x, T y) -> T {
    if constexpr (real) return x * y;
    else return T(Unsigned<T>(uint64_t(Unsigned<T>(x)) * uint64_t(Unsigned<T>(y))));
  };
  auto relu = [](T x) { return x > T(0) ? x : T(0); };
  if constexpr (op == Op::Add) return add(a, b);
  else if constexpr (op == Op::Sub) return sub(a, b);
  else if constexpr (op == Op::Mul) return mul(a, b);
  else if constexpr (op == Op::Div) {
    if constexpr (real) return a / b;
    else return b ? T(a / b) : T(-1);
  } else if constexpr (op == Op::Max) return a > b ? a : b;
  else if constexpr (op == Op::Min) return a < b ? a : b;
  else if constexpr (op == Op::AddRelu) return relu(add(a, b));
  else if constexpr (op == Op::SubRelu) return relu(sub(a, b));
  else if constexpr (op == Op::MulAddDst) return add(mul(a, b), d);
  else if constexpr (op == Op::FusedMulAdd) return add(mul(a, d), b);
  else if constexpr (op == Op::FusedMulAddRelu || op == Op::MulAddRelu) return relu(add(mul(a, d), b));
  else if constexpr (op == Op::Abs) {
    if constexpr (real) return std::fabs(a);  // of a nan, too, the sign goes: kernels take whole numbers for floats
    else return a < T(0) ? sub(T(0), a) : a;
  } else if constexpr (op == Op::Relu) return relu(a);
  else if constexpr (op == Op::Adds) return add(a, s);
  else if constexpr (op == Op::Muls) return mul(a, s);
  else if constexpr (op == Op::Maxs) return a > s ? a : s;
  else if constexpr (op == Op::Mins) return a < s ? a : s;
  else if constexpr (op == Op::Subs) return sub(a, s);
  else if constexpr (op == Op::SubsReversed) return sub(s, a);
  else if constexpr (op == Op::Divs) return compute<Op::Div, T>(d, a, s, s);
  else if constexpr (op == Op::DivsReversed) return compute<Op::Div, T>(d, s, a, s);
  else if constexpr (op == Op::LeakyRelu) return a >= T(0) ? a : mul(a, s);
  else if constexpr (op == Op::Axpy) return add(mul(a, s), d);
  else if constexpr (real) {
    if constexpr (op == Op::Exp) return std::exp(a);
    else if constexpr (op == Op::Ln) return std::log(a);
    else if constexpr (op == Op::Sqrt) return std::sqrt(a);
    else if constexpr (op == Op::Rsqrt) return T(1) / std::sqrt(a);
    else if constexpr (op == Op::Reciprocal) return T(1) / a;
    else return a;
  } else {
    if constexpr (op == Op::And) return T(a & b);
    else if constexpr (op == Op::Or) return T(a | b);
    else if constexpr (op == Op::Not) return T(~a);
    else if constexpr (op == Op::Ands) return T(a & s);
    else if constexpr (op == Op::Ors) return T(a | s);
    else if constexpr (op == Op::ShiftLeft) return shifts_out(s) ? T(0) : T(Unsigned<T>(a) << s);
    else if constexpr (op == Op::ShiftRight) return shifts_out(s) ? T(a < 0 ? -1 : 0) : T(a >> s);
    else if constexpr (op == Op::ShiftRightRounded)
      return T(compute<Op::ShiftRight, T>(d, a, b, s) + (s > 0 && !shifts_out<T>(s - 1) ? a >> (s - 1) & 1 : 0));
    else return a;
  }
}

template <Op op>
constexpr bool for_integers() {
  return op != Op::Exp && op != Op::Ln && op != Op::Sqrt && op != Op::Rsqrt && op != Op::Reciprocal;
}
template <Op op>
constexpr bool for_reals() {
  return op != Op::And && op != Op::Or && op != Op::Not && op != Op::Ands && op != Op::Ors && op != Op::ShiftLeft &&
         op != Op::ShiftRight && op != Op::ShiftRightRounded;
}
template <Op op>
constexpr bool reads_dst() {
  return op == Op::MulAddDst || op == Op::FusedMulAdd || op == Op::FusedMulAddRelu || op == Op::MulAddRelu ||
         op == Op::Axpy;
}
template <Op op>
constexpr bool reads_b() {
  return op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Div || op == Op::Max || op == Op::Min ||
         op == Op::And || op == Op::Or || op == Op::AddRelu || op == Op::SubRelu || op == Op::MulAddDst ||
         op == Op::FusedMulAdd || op == Op::FusedMulAddRelu || op == Op::MulAddRelu;
}

template <Op op, typename T>
void run(void* dst, const void* a, const void* b, const Scalar& scalar, size_t count) {
  T s;
  if constexpr (std::is_floating_point_v<T>) s = T(scalar.real);
  else s = T(scalar.whole);
  auto* d = static_cast<T*>(dst);
  auto* x = static_cast<const T*>(a);
  auto* y = static_cast<const T*>(b);
  for (size_t i = 0; i < count; ++i)
    d[i] = compute<op, T>(reads_dst<op>() ? d[i] : T(0), x[i], reads_b<op>() ? y[i] : T(0), s);
}

// Half types: computed in float and rounded once, which for + - * / and square roots is the exact result rounded.
template <Op op, Dtype dtype>
void run_narrow(void* dst, const void* a, const void* b, const Scalar& scalar, size_t count) {
  constexpr size_t kPiece = 512;
  float d[kPiece], x[kPiece], y[kPiece];
  auto* out = static_cast<uint16_t*>(dst);
  size_t at = 0;
  if constexpr (dtype == Dtype::f16 && (op == Op::Add || op == Op::Sub || op == Op::Mul))
    if (has_f16c()) at = halves_fast<op>(out, static_cast<const uint16_t*>(a), static_cast<const uint16_t*>(b), count);
  for (; at < count; at += kPiece) {
    const size_t n = count - at < kPiece ? count - at : kPiece;
    wide(dtype, static_cast<const uint16_t*>(a) + at, x, n);
    if constexpr (reads_b<op>()) wide(dtype, static_cast<const uint16_t*>(b) + at, y, n);
    if constexpr (reads_dst<op>()) wide(dtype, out + at, d, n);
    if constexpr (op == Op::Axpy && dtype == Dtype::f16) {  // a published test asks for the product's rounding, too
      uint16_t products[kPiece];
      run<Op::Muls, float>(x, x, nullptr, scalar, n);
      narrow(dtype, x, products, n);
      wide(dtype, products, x, n);
      run<Op::Add, float>(d, d, x, scalar, n);
    } else {
      run<op, float>(d, x, y, scalar, n);
    }
    narrow(dtype, d, out + at, n);
  }
}

template <Op op>
Function choose(Dtype dtype) {
  if constexpr (for_reals<op>()) {
    if (dtype == Dtype::f32) return run<op, float>;
    if (dtype == Dtype::f16) return run_narrow<op, Dtype::f16>;
    if (dtype == Dtype::bf16) return run_narrow<op, Dtype::bf16>;
  }
  if constexpr (for_integers<op>()) {
    switch (dtype) {
      case Dtype::i8: return run<op, int8_t>;
      case Dtype::u8:
      case Dtype::b8: return run<op, uint8_t>;
      case Dtype::i16: return run<op, int16_t>;
      case Dtype::u16: return run<op, uint16_t>;
      case Dtype::i32: return run<op, int32_t>;
      case Dtype::u32: return run<op, uint32_t>;
      case Dtype::i64: return run<op, int64_t>;
      case Dtype::u64: return run<op, uint64_t>;
      default: break;
    }
  }
  return nullptr;
}

template <typename T>
void combine_as(int kind, T* to, const T* from, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    to[i] = kind == 1   ? compute<Op::Add, T>(T(0), to[i], from[i], T(0))
            : kind == 2 ? std::max(to[i], from[i])
                        : std::min(to[i], from[i]);
}

}  // namespace

void to_float(const uint16_t* from, float* to, size_t count) {
  size_t i = has_f16c() ? to_float_fast(from, to, count) : 0;
  for (; i < count; ++i) to[i] = half_value(from[i]);
}
void to_half(const float* from, uint16_t* to, size_t count) {
  size_t i = has_f16c() ? to_half_fast(from, to, count) : 0;
  for (; i < count; ++i) to[i] = half_bits(from[i]);
}
void wide(Dtype dtype, const void* from, float* to, size_t count) {
  const auto* bits = static_cast<const uint16_t*>(from);
  if (dtype == Dtype::f16) return to_float(bits, to, count);
  if (dtype == Dtype::f32) return void(std::memcpy(to, from, count * sizeof(float)));
  for (size_t i = 0; i < count; ++i) to[i] = bfloat16_value(bits[i]);
}
void narrow(Dtype dtype, const float* from, void* to, size_t count) {
  auto* bits = static_cast<uint16_t*>(to);
  if (dtype == Dtype::f16) return to_half(from, bits, count);
  if (dtype == Dtype::f32) return void(std::memcpy(to, from, count * sizeof(float)));
  for (size_t i = 0; i < count; ++i) bits[i] = bfloat16_bits(from[i]);
}

Function function_of(Op op, Dtype dtype) {
  switch (op) {
#define VECTOR_OP(name, ...) \
  case Op::name: return choose<Op::name>(dtype);
#include "ascendc/vector_ops.inc"
#undef VECTOR_OP
    default: return nullptr;
  }
}

void axpy_half_to_float(void* dst, const void* src, const Scalar& scalar, size_t count) {
  auto* d = static_cast<float*>(dst);
  for (size_t i = 0; i < count; ++i) d[i] += half_value(static_cast<const uint16_t*>(src)[i]) * float(scalar.real);
}

void multiply_add_half_to_float(void* dst, const void* a, const void* b, size_t count) {
  auto* d = static_cast<float*>(dst);
  for (size_t i = 0; i < count; ++i)
    d[i] += half_value(static_cast<const uint16_t*>(a)[i]) * half_value(static_cast<const uint16_t*>(b)[i]);
}

// Device memory: to = to + from, or the larger or smaller.
void combine(int kind, Dtype dtype, uint8_t* to, const uint8_t* from, uint64_t bytes) {
  switch (dtype) {
    case Dtype::f32:
      return combine_as(kind, reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from), bytes / 4);
    case Dtype::i32:
      return combine_as(kind, reinterpret_cast<int32_t*>(to), reinterpret_cast<const int32_t*>(from), bytes / 4);
    case Dtype::i16:
      return combine_as(kind, reinterpret_cast<int16_t*>(to), reinterpret_cast<const int16_t*>(from), bytes / 2);
    case Dtype::i8:
      return combine_as(kind, reinterpret_cast<int8_t*>(to), reinterpret_cast<const int8_t*>(from), bytes);
    default: break;
  }
  for (uint64_t at = 0; at < bytes; at += 2) {
    float a, b;
    wide(dtype, to + at, &a, 1), wide(dtype, from + at, &b, 1);
    const float result = kind == 1 ? a + b : kind == 2 ? std::max(a, b) : std::min(a, b);
    narrow(dtype, &result, to + at, 1);
  }
}

}  // namespace ophook::rt
