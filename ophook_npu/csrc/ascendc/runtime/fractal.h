// What the operations of the cube unit share.
#pragma once

#include "access.h"
#include "ascendc/cube.h"

namespace ophook::rt {

constexpr uint64_t kFractal = 512;  // bytes: 16 rows of 32

// False, after a finding.
bool within(Operation& op, const char* name, uint64_t value, uint64_t least, uint64_t most);
bool placed(Operation& op, const Local& tensor, bool right, const char* role, const char* where);

// What becomes of one element on its way out of L0C. A factor is the upper 19 bits of a float, and an offset that is added
// before rounding.
struct Conversion {
  QuantMode_t mode;
  Dtype from, to;
  bool eight;
};
const Conversion* conversion_of(Operation& op, QuantMode_t mode, Dtype from, Dtype to);  // NULL: a finding
void convert(const Conversion& how, const uint8_t* from, uint64_t factor, bool relu, uint8_t* to);

// c += a b: a is m by depth, b by columns: n by depth.
template <typename T, typename U>
void multiply(const std::vector<T>& a, const std::vector<T>& b, uint32_t m, uint32_t n, uint32_t depth, std::vector<U>& c) {
  std::vector<U> columns(size_t(depth) * n);
  for (uint32_t j = 0; j < n; ++j)
    for (uint32_t k = 0; k < depth; ++k) columns[size_t(k) * n + j] = U(b[size_t(j) * depth + k]);
  for (uint32_t i = 0; i < m; ++i)
    for (uint32_t k = 0; k < depth; ++k) {
      const U factor = U(a[size_t(i) * depth + k]);
      const U* row = columns.data() + size_t(k) * n;
      U* to = c.data() + size_t(i) * n;
      for (uint32_t j = 0; j < n; ++j) to[j] += factor * row[j];
    }
}

}  // namespace ophook::rt
