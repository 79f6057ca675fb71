// The devices that compute together, as kernels see them. A collective meets the same call of the other devices, and
// returns when all of them came; it throws where one of them is gone or in another call. Tensors are contiguous or made
// so, and a result is the caller's own.
#pragma once

#include <string_view>

#include "kernels/tensors.h"

namespace sim {

struct Devices {
  virtual ~Devices() = default;
  virtual int64_t ranks() const = 0;
  virtual int64_t rank() const = 0;
  // The sum of all devices' x, rounded to its data type after each device's, on each of them.
  virtual at::Tensor sum(const at::Tensor& x) = 0;
  // The own share of that sum's rows.
  virtual at::Tensor share_of_sum(const at::Tensor& x) = 0;
  // The rows of all devices, in the order of the ranks.
  virtual at::Tensor gather(const at::Tensor& x) = 0;
  // The next sent[i] rows of x go to device i, the next received[i] rows of the result come from it.
  virtual at::Tensor exchange(const at::Tensor& x, const Dims& sent, const Dims& received) = 0;
  // These two meet nothing: they write so many bytes into the window of a device, memory that it has made known to this
  // one. Who sees the number 1 that raise() writes also sees what was put before.
  virtual void put(int64_t rank, int64_t offset, const at::Tensor& x) = 0;
  virtual void raise(int64_t rank, int64_t offset) = 0;
};

// The product that is simulated is of this family: "Ascend910B", "Ascend910_93".
inline bool on_product(std::string_view family) {
  const sim_soc* soc = sim_current_soc();
  return soc && std::string_view(soc->name).starts_with(family);
}

}  // namespace sim
