// What Digest and Compare read off a result, in one pass over it as it lies; _figures.py calls it.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
// What the processor at hand has is found out when the library is loaded.
#define BY_PROCESSOR __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define BY_PROCESSOR
#endif

namespace {

constexpr int kLanes = 16, kPeriod = 17, kRow = kLanes * kPeriod;

struct Bfloat16 {
  uint16_t bits;
  explicit operator double() const {
    const uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
};
struct Half {
  uint16_t bits;
  explicit operator double() const {
    // Exponent and digits in their places; 2^112 puts the exponent right, and subnormal numbers with it.
    const uint32_t moved = uint32_t(bits & 0x7fff) << 13;
    const uint32_t sign = uint32_t(bits & 0x8000) << 16, scale = 0x77800000;
    const uint32_t infinite = (bits & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
    float value, factor;
    std::memcpy(&value, &moved, sizeof value), std::memcpy(&factor, &scale, sizeof factor);
    value *= factor;
    uint32_t found;
    std::memcpy(&found, &value, sizeof found);
    found |= sign | infinite;
    std::memcpy(&value, &found, sizeof value);
    return value;
  }
};

// As in digest.py, which says why.
struct Weights {
  double of[kRow];
  constexpr Weights() : of() {
    for (int i = 0; i < kRow; ++i) of[i] = i % kPeriod;
  }
};
constexpr Weights kWeights;

// Lanes side by side, so that the compiler makes vectors of them without changing the order of a sum.
template <typename T>
[[gnu::always_inline]] inline void sums(const T* values, int64_t count, double* out) {
  double squares[kLanes] = {}, total[kLanes] = {}, weighted[kLanes] = {};
  int64_t at = 0;
  for (; at + kRow <= count; at += kRow)
    for (int step = 0; step < kRow; step += kLanes)
      for (int lane = 0; lane < kLanes; ++lane) {
        const double x(values[at + step + lane]);
        squares[lane] += x * x, total[lane] += x, weighted[lane] += x * kWeights.of[step + lane];
      }
  for (int i = 0; at + i < count; ++i) {
    const double x(values[at + i]);
    squares[0] += x * x, total[0] += x, weighted[0] += x * kWeights.of[i];
  }
  for (int lane = 0; lane < kLanes; ++lane) out[0] += squares[lane], out[1] += total[lane], out[2] += weighted[lane];
}

template <typename T>
[[gnu::always_inline]] inline void distance(const T* given, const double* wanted, int64_t count, double* out) {
  // A NaN or an infinity makes one of `odd` a NaN, and then the rest counts for nothing.
  double largest[kLanes] = {}, size[kLanes] = {}, odd[kLanes] = {};
  const auto look = [&](int lane, int64_t i) {
    const double off = std::fabs(double(given[i]) - wanted[i]), magnitude = std::fabs(wanted[i]);
    largest[lane] = off > largest[lane] ? off : largest[lane];
    size[lane] = magnitude > size[lane] ? magnitude : size[lane];
    odd[lane] += (off + magnitude) * 0;
  };
  int64_t at = 0;
  for (; at + kLanes <= count; at += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) look(lane, at + lane);
  for (; at < count; ++at) look(0, at);
  for (int lane = 0; lane < kLanes; ++lane) {
    out[0] = largest[lane] > out[0] ? largest[lane] : out[0];
    out[1] = size[lane] > out[1] ? size[lane] : out[1];
  }
  for (const double one : odd)
    if (one != 0) out[0] = out[1] = std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

#define FUNCTIONS(name, T)                                                                                        \
  extern "C" __attribute__((visibility("default"))) BY_PROCESSOR void sums_##name(const T* values, int64_t count, \
                                                                                  double* out) {                  \
    sums(values, count, out);                                                                                     \
  }                                                                                                               \
  extern "C" __attribute__((visibility("default"))) BY_PROCESSOR void distance_##name(                            \
      const T* given, const double* wanted, int64_t count, double* out) {                                         \
    distance(given, wanted, count, out);                                                                          \
  }
FUNCTIONS(float64, double)
FUNCTIONS(float32, float)
FUNCTIONS(float16, Half)
FUNCTIONS(bfloat16, Bfloat16)
