#include "kernels/groups.h"

namespace sim::groups {

static void known(int64_t kind) {
  SIM_CHECK(kind >= kEnds && kind <= kPairs, "group list type ", kind, "; allowed: 0 (ends), 1 (counts), 2 (pairs)");
}

std::vector<Group> of(const Dims& list, int64_t kind, int64_t rows) {
  known(kind);
  std::vector<Group> groups;
  int64_t start = 0;
  const size_t step = kind == kPairs ? 2 : 1;
  for (size_t i = 0; i + step <= list.size(); i += step) {
    const int64_t expert = kind == kPairs ? list[i] : int64_t(i);
    const int64_t count = kind == kEnds ? list[i] - start : list[i + step - 1];
    SIM_CHECK(count >= 0 && start + count <= rows, "group ", i / step, " has ", count, " rows from row ", start,
              " on, there are ", rows);
    groups.push_back({expert, start, count});
    start += count;
  }
  return groups;
}

void listed(const at::Tensor& list, int64_t kind) {
  known(kind);
  if (!list.defined()) return;
  const bool fits = kind == kPairs ? list.dim() == 2 && list.size(1) == 2 : list.dim() == 1;
  SIM_CHECK(fits, "a group list of type ", kind, " has shape ", list.sizes(), "; ",
            kind == kPairs ? "(groups, 2)" : "(groups)", " expected");
}

std::vector<Group> of(const at::Tensor& list, int64_t kind, int64_t rows) {
  listed(list, kind);
  return of(numbers(list), kind, rows);
}

Dims numbers(const at::Tensor& list) {
  if (!list.defined()) return {};
  const at::Tensor values = list.to(at::kLong).contiguous();
  return Dims(values.const_data_ptr<int64_t>(), values.const_data_ptr<int64_t>() + values.numel());
}

}  // namespace sim::groups
