#include <ATen/core/List.h>
#include <ATen/ops/index.h>
#include <ATen/ops/index_put.h>

#include "kernels/tensors.h"

namespace sim {

static c10::List<std::optional<at::Tensor>> list_of(const Tensors& indices) {
  c10::List<std::optional<at::Tensor>> list;
  for (const at::Tensor& index : indices)
    list.push_back(index.defined() && index.scalar_type() == at::kInt ? index.to(at::kLong) : optional(index));
  return list;
}

at::Tensor indexed(const at::Tensor& x, const Tensors& indices) { return at::index(x, list_of(indices)); }
void put_at(const at::Tensor& self, const Tensors& indices, const at::Tensor& values, bool accumulate) {
  at::Tensor(self).index_put_(list_of(indices), values, accumulate);
}

}  // namespace sim
