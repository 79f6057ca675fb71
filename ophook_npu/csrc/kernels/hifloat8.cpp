#include "kernels/hifloat8.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace sim::kernels {
namespace {

constexpr int kCodes = 128;  // of numbers that are not negative
constexpr int64_t kSign = 128, kNoNumber = 128, kInfinite = 0x6f;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A field of `bits`: its first bit is the exponent's sign, the rest follow a 1 that is not written.
int exponent_of(int field, int bits) {
  if (bits == 0) return 0;
  const int highest = 1 << (bits - 1), size = highest | (field & (highest - 1));
  return field & highest ? -size : size;
}

float value_of(int code) {
  if (code == 0) return 0;
  if (code == kInfinite) return kInfinity;
  if (code < 8) return std::ldexp(1.0F, code - 23);
  const int prefix = code >> 5;  // 11, 10 and 01: 4, 3 and 2 bits of exponent; then 001: one, 0001: none
  const int bits = prefix ? prefix + 1 : code >> 4;
  const int fraction_bits = prefix ? 5 - bits : 3;
  const int fraction = code & ((1 << fraction_bits) - 1), field = code >> fraction_bits & ((1 << bits) - 1);
  return std::ldexp(1.0F + std::ldexp(float(fraction), -fraction_bits), exponent_of(field, bits));
}

struct Numbers {
  at::Tensor by_code;        // 256, as float
  at::Tensor codes, middle;  // in the order of their values: from middle[i] on codes[i + 1] is the nearest
};
const Numbers& numbers() {
  static const Numbers made = [] {
    std::array<int64_t, kCodes> codes;
    for (int64_t i = 0; i < kCodes; ++i) codes[size_t(i)] = i;
    std::sort(codes.begin(), codes.end(), [](int64_t a, int64_t b) { return value_of(int(a)) < value_of(int(b)); });
    auto by_code = at::empty({2 * kCodes}, at::kFloat), order = at::empty({kCodes}, at::kLong);
    auto middle = at::empty({kCodes - 1}, at::kFloat);
    for (int i = 0; i < kCodes; ++i) {
      const float value = value_of(i), here = value_of(int(codes[size_t(i)]));
      by_code.data_ptr<float>()[i] = value, by_code.data_ptr<float>()[kCodes + i] = -value;
      order.data_ptr<int64_t>()[i] = codes[size_t(i)];
      if (i + 1 == kCodes) continue;
      const float next = value_of(int(codes[size_t(i) + 1]));
      // The largest number would be followed by one 1.5 times as large.
      middle.data_ptr<float>()[i] = std::isinf(next) ? here * 1.25F : (here + next) / 2;
    }
    by_code.data_ptr<float>()[kNoNumber] = std::numeric_limits<float>::quiet_NaN();
    return Numbers{by_code, order, middle};
  }();
  return made;
}

}  // namespace

at::Tensor from_hifloat8(const at::Tensor& bytes) { return indexed(numbers().by_code, {bytes.to(at::kLong)}); }

at::Tensor to_hifloat8(const at::Tensor& value) {
  auto x = value.to(at::kFloat);
  auto codes = indexed(numbers().codes, {at::bucketize(x.abs(), numbers().middle, false, /*right=*/true)});
  codes = codes.add(x.lt(0).logical_and(codes.ne(0)).to(at::kLong).mul(kSign));
  return codes.masked_fill(x.isnan(), kNoNumber).to(at::kByte);
}

}  // namespace sim::kernels
