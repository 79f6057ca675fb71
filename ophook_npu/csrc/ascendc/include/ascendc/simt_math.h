// Functions of numbers for threads: what the device's compiler has beside C's.
#pragma once

#include "simt_numbers.h"
#include "simt_whole.h"

// ---- constants ----
#define ASCRT_INF_F __builtin_inff()
#define ASCRT_NAN_F __builtin_nanf("")
#define ASCRT_MIN_DENORM_F 0x1p-149f
#define ASCRT_MAX_NORMAL_F 0x1.fffffep+127f
#define ASCRT_NEG_ZERO_F (-0.0f)
#define ASCRT_ZERO_F 0.0f
#define ASCRT_ONE_F 1.0f
#define ASCRT_SQRT_HALF_F 0x1.6a09e6p-1f
#define ASCRT_SQRT_HALF_HI_F 0x1.6a09e6p-1f
#define ASCRT_SQRT_HALF_LO_F 0x1.9fcef4p-27f
#define ASCRT_SQRT_TWO_F 0x1.6a09e6p+0f
#define ASCRT_THIRD_F 0x1.555556p-2f
#define ASCRT_PIO4_F 0x1.921fb6p-1f
#define ASCRT_PIO2_F 0x1.921fb6p+0f
#define ASCRT_3PIO4_F 0x1.2d97c8p+1f
#define ASCRT_2_OVER_PI_F 0x1.45f306p-1f
#define ASCRT_SQRT_2_OVER_PI_F 0x1.988454p-1f
#define ASCRT_PI_F 0x1.921fb6p+1f
#define ASCRT_L2E_F 0x1.715476p+0f
#define ASCRT_L2T_F 0x1.a934f0p+1f
#define ASCRT_LG2_F 0x1.344136p-2f
#define ASCRT_LGE_F 0x1.bcb7b2p-2f
#define ASCRT_LN2_F 0x1.62e430p-1f
#define ASCRT_LNT_F 0x1.26bb1cp+1f
#define ASCRT_LNPI_F 0x1.250d04p+0f
#define ASCRT_TWO_TO_M126_F 0x1p-126f
#define ASCRT_TWO_TO_126_F 0x1p+126f
#define ASCRT_NORM_HUGE_F 0x1.fffffep+127f
#define ASCRT_TWO_TO_23_F 8388608.0f
#define ASCRT_TWO_TO_24_F 16777216.0f
#define ASCRT_TWO_TO_31_F 2147483648.0f
#define ASCRT_TWO_TO_32_F 4294967296.0f
#define ASCRT_REMQUO_BITS_F 3
#define ASCRT_REMQUO_MASK_F (~((~0U) << ASCRT_REMQUO_BITS_F))
#define ASCRT_TRIG_PLOSS_F 105615.0f
#define ASCRT_MIN_VAL_S (-2147483647 - 1)
#define ASCRT_MAX_VAL_S 2147483647

// ---- float ----
namespace ophook::simt::c {  // C's own, which the pages list as well
using ::acosf, ::acoshf, ::asinf, ::asinhf, ::atan2f, ::atanf, ::atanhf, ::cbrtf, ::ceilf, ::copysignf, ::cosf, ::coshf,
    ::erfcf, ::erff, ::exp10f, ::exp2f, ::expf, ::expm1f, ::fabsf, ::fdimf, ::floorf, ::fmaf, ::fmaxf, ::fminf, ::fmodf,
    ::frexpf, ::hypotf, ::ilogbf, ::j0f, ::j1f, ::jnf, ::ldexpf, ::lgammaf, ::llrintf, ::llroundf, ::log10f, ::log1pf,
    ::log2f, ::logbf, ::logf, ::lrintf, ::lroundf, ::modff, ::nearbyintf, ::nextafterf, ::powf, ::remainderf, ::remquof,
    ::rintf, ::roundf, ::scalblnf, ::scalbnf, ::sincosf, ::sinf, ::sinhf, ::sqrtf, ::tanf, ::tanhf, ::tgammaf, ::truncf,
    ::y0f, ::y1f, ::ynf, ::labs, ::llabs;
using std::isfinite, std::isinf, std::isnan, std::signbit;
}  // namespace ophook::simt::c

namespace ophook::simt {
inline double square(float x) { return double(x) * double(x); }
inline double sum_of_squares(int n, const float* a) {
  double sum = square(a[0]);
  for (int i = 1; i < n; ++i) sum += square(a[i]);
  return sum;
}
inline double inverse_normal(double p) {  // of the cumulative distribution, by Newton's steps on erfc
  if (!(p >= 0 && p <= 1)) return NAN;
  if (p == 0 || p == 1) return p ? INFINITY : -INFINITY;
  const double tail = p < 0.5 ? p : 1 - p, t = std::sqrt(-2 * std::log(tail));
  double x = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  for (int i = 0; i < 4; ++i)
    x -= (0.5 * std::erfc(-x / std::sqrt(2.0)) - tail) / (std::exp(-x * x / 2) / std::sqrt(2 * M_PI));
  return p < 0.5 ? x : -x;
}
inline double bessel_i(int n, double x) {  // the series; all of its terms are of one sign
  double term = n ? x / 2 : 1, sum = term;
  for (int k = 1; k < 1000 && std::abs(term) > 1e-17 * std::abs(sum); ++k) sum += term *= x * x / 4 / k / (k + n);
  return sum;
}
// exp(x²) erfc(x): beyond 25 the factors leave double.
inline double scaled_erfc(double x) {
  if (x < 25) return std::exp(x * x) * std::erfc(x);
  const double y = 1 / (2 * x * x);
  return (1 - y + 3 * y * y - 15 * y * y * y) / (x * std::sqrt(M_PI));
}
inline double turn(double x) { return std::fmod(x, 2.0) * M_PI; }  // half a turn is 1
inline bool is_whole(float x) { return std::trunc(x) == x; }
}  // namespace ophook::simt

#define OPHOOK_FLOAT(name, value) \
  inline float name(float x) { return float(value); }
OPHOOK_FLOAT(cospif,
             ophook::simt::is_whole(x * 2) && !ophook::simt::is_whole(x) ? 0.0 : std::cos(ophook::simt::turn(x)))
OPHOOK_FLOAT(sinpif, ophook::simt::is_whole(x) ? std::copysign(0.0, x) : std::sin(ophook::simt::turn(x)))
OPHOOK_FLOAT(tanpif, sinpif(x) / cospif(x))
OPHOOK_FLOAT(cyl_bessel_i0f, ophook::simt::bessel_i(0, x))
OPHOOK_FLOAT(cyl_bessel_i1f, ophook::simt::bessel_i(1, x))
OPHOOK_FLOAT(erfinvf, x == 0 ? x : ophook::simt::inverse_normal((double(x) + 1) / 2) / std::sqrt(2.0))
OPHOOK_FLOAT(erfcinvf, -ophook::simt::inverse_normal(double(x) / 2) / std::sqrt(2.0))
OPHOOK_FLOAT(erfcxf, ophook::simt::scaled_erfc(x))
OPHOOK_FLOAT(normcdff, 0.5 * std::erfc(-double(x) / std::sqrt(2.0)))
OPHOOK_FLOAT(normcdfinvf, ophook::simt::inverse_normal(x))
OPHOOK_FLOAT(rcbrtf, 1.0 / std::cbrt(double(x)))
OPHOOK_FLOAT(rsqrtf, 1.0 / std::sqrt(double(x)))
OPHOOK_FLOAT(__saturatef, x > 0 ? (x < 1 ? x : 1) : 0)
#undef OPHOOK_FLOAT
inline float fdividef(float x, float y) { return x / y; }
inline float __fdividef(float x, float y) { return x / y; }
inline float norm3df(float a, float b, float c) {
  const float all[] = {a, b, c};
  return float(std::sqrt(ophook::simt::sum_of_squares(3, all)));
}
inline float norm4df(float a, float b, float c, float d) {
  const float all[] = {a, b, c, d};
  return float(std::sqrt(ophook::simt::sum_of_squares(4, all)));
}
inline float normf(int n, float* a) { return float(std::sqrt(ophook::simt::sum_of_squares(n, a))); }
inline float rhypotf(float x, float y) { return float(1 / std::hypot(double(x), double(y))); }
inline float rnorm3df(float a, float b, float c) {
  const float all[] = {a, b, c};
  return float(1 / std::sqrt(ophook::simt::sum_of_squares(3, all)));
}
inline float rnorm4df(float a, float b, float c, float d) {
  const float all[] = {a, b, c, d};
  return float(1 / std::sqrt(ophook::simt::sum_of_squares(4, all)));
}
inline float rnormf(int n, float* a) { return float(1 / std::sqrt(ophook::simt::sum_of_squares(n, a))); }
inline void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }

// ---- whole numbers ----
inline long long llmax(long long x, long long y) { return x > y ? x : y; }
inline long long llmin(long long x, long long y) { return x < y ? x : y; }
inline unsigned long long ullmax(unsigned long long x, unsigned long long y) { return x > y ? x : y; }
inline unsigned long long ullmin(unsigned long long x, unsigned long long y) { return x < y ? x : y; }
inline unsigned int umax(unsigned int x, unsigned int y) { return x > y ? x : y; }
inline unsigned int umin(unsigned int x, unsigned int y) { return x < y ? x : y; }

// ---- from type to type ----
#define OPHOOK_CONVERT(how, name, from, to) \
  inline to name##_##how(const from x) { return ophook::simt::converted<to, ophook::simt::Round::how>(x); }
OPHOOK_ROUNDS(OPHOOK_CONVERT, __float2int, float, int)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __float2uint, float, unsigned int)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __float2ll, float, long long)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __float2ull, float, unsigned long long)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __int2float, int, float)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __uint2float, unsigned int, float)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __ll2float, long long, float)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __ull2float, unsigned long long, float)
#define OPHOOK_WHOLE_FLOAT(how, ...) \
  inline float __float2float_##how(const float x) { return ophook::simt::whole<ophook::simt::Round::how>(x); }
OPHOOK_ROUNDS(OPHOOK_WHOLE_FLOAT)
#undef OPHOOK_WHOLE_FLOAT
inline int __float_as_int(const float x) { return __builtin_bit_cast(int, x); }
inline unsigned int __float_as_uint(const float x) { return __builtin_bit_cast(unsigned int, x); }
inline float __int_as_float(const int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(const unsigned int x) { return __builtin_bit_cast(float, x); }
