// Groups of rows that belong to an expert each.
#pragma once

#include "kernels/tensors.h"

namespace sim::groups {

struct Group {
  int64_t expert, start, count;
};
enum GroupList : int64_t { kEnds = 0, kCounts = 1, kPairs = 2 };  // kPairs: an expert and its count in each row
void listed(const at::Tensor& list, int64_t kind);                // it may be absent
std::vector<Group> of(const at::Tensor& list, int64_t kind, int64_t rows);
Dims numbers(const at::Tensor& list);  // none where it is absent
std::vector<Group> of(const Dims& list, int64_t kind, int64_t rows);

}  // namespace sim::groups
