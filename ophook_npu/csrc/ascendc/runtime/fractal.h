// What the operations of the cube unit share.
#pragma once

#include "access.h"
#include "ascendc/cube.h"

namespace ophook::rt {

constexpr uint64_t kFractal = 512;  // bytes: 16 rows of 32

// False, after a finding.
bool within(Operation& op, const char* name, uint64_t value, uint64_t least, uint64_t most);
bool placed(Operation& op, const Local& tensor, bool right, const char* role, const char* where);

// What becomes of one element on its way out of L0C. A factor is the upper 19 bits of a float, and an offset that is
// added before rounding.
struct Conversion {
  QuantMode_t mode;
  Dtype from, to;
  bool eight;
};
const Conversion* conversion_of(Operation& op, QuantMode_t mode, Dtype from, Dtype to);  // NULL: a finding
void convert(const Conversion& how, const uint8_t* from, uint64_t factor, bool relu, uint8_t* to);

// To 8 bits, by such a factor and offset. `by_nine`: the product saturates to 9 bits before the offset is added.
uint8_t converted_to_eight(float value, uint64_t factor, bool has_sign, bool by_nine = false);

// Where the two values that stand for four along the depth belong, by their two indices of 2 bits; -1: no such pair.
struct TwoOfFour {
  int first, second;
};
inline TwoOfFour sparse_pair(uint32_t first, uint32_t second) {
  if (first > 2 || second > 2) return {-1, -1};
  return {int(first), first == 2 && second == 0 ? 2 : int(second) + 1};
}

// `count` factors of a product, as float; rounded to HF32 where the core is told so.
void factors(const Core& core, Dtype dtype, const void* from, float* to, size_t count);

constexpr int64_t kColumns = 16;  // of a block
// c += a b for `rows` rows of a, `row` elements apart, and a block of b: kColumns values for each of `depth`. c:
// kColumns a row.
void add_product(const float* a, int64_t row, const float* b, int64_t depth, int64_t rows, float* c);
void add_product(const int32_t* a, int64_t row, const int32_t* b, int64_t depth, int64_t rows, int32_t* c);

// c += a b: a is m by depth, b by columns: n by depth.
template <typename T>
void multiply(const std::vector<T>& a, const std::vector<T>& b, uint32_t m, uint32_t n, uint32_t depth,
              std::vector<T>& c) {
  std::vector<T> columns(size_t(depth) * kColumns), sums(size_t(m) * kColumns);
  for (uint32_t first = 0; first < n; first += kColumns) {
    const uint32_t count = std::min<uint32_t>(kColumns, n - first);
    for (uint32_t j = 0; j < count; ++j)
      for (uint32_t k = 0; k < depth; ++k) columns.data()[size_t(k) * kColumns + j] = b[size_t(first + j) * depth + k];
    for (uint32_t i = 0; i < m; ++i)
      std::copy_n(c.data() + size_t(i) * n + first, count, sums.data() + size_t(i) * kColumns);
    add_product(a.data(), depth, columns.data(), depth, m, sums.data());
    for (uint32_t i = 0; i < m; ++i)
      std::copy_n(sums.data() + size_t(i) * kColumns, count, c.data() + size_t(i) * n + first);
  }
}

}  // namespace ophook::rt
