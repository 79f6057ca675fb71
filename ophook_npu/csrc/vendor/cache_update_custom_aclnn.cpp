// CacheUpdateCustom of the vendor package "ophook", for the simulator: cache[index[i]] = updates[i], in place. A C interface
// names an argument that is read and written once.

#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void check_cache_update(const at::Tensor& cache, const at::Tensor& index, const at::Tensor& updates) {
  SIM_CHECK(cache.defined() && index.defined() && updates.defined(), "cache, index and updates must be given");
  of_dtype("cache", cache, {at::kHalf, at::kFloat, at::kBFloat16, at::kInt});
  same_dtype({cache, updates});
  of_dtype("index", index, {at::kInt, at::kLong});
  SIM_CHECK(cache.dim() > 0 && index.dim() == 1, "cache has ", cache.dim(), " dimensions and index has ", index.dim(),
              "; allowed: at least one, and one");
  auto expected = cache.sizes().vec();
  expected[0] = index.size(0);
  shape(updates, expected);
}

void run(at::Tensor& cache, const at::Tensor& index, const at::Tensor& updates) {
  auto rows = index.to(at::kLong).contiguous();
  for (int64_t i = 0; i < rows.numel(); ++i) {
    const int64_t row = rows.data_ptr<int64_t>()[i];
    SIM_CHECK(row >= 0 && row < cache.size(0), "index[", i, "] is ", row, "; allowed: 0 to ", cache.size(0) - 1);
    cache.select(0, row).copy_(updates.select(0, i));
  }
}

}  // namespace

// clang-format off
ACLNN(CacheUpdateCustom, (Ref,cache, In,index, In,updates), check_cache_update(cache, index, updates), run(cache, index, updates))
// clang-format on
