// Collectives for rows: those of libhccl, over the communicators that the caller made, at once and on any memory. A
// group is named as HcclGetCommName names it.
#pragma once

#include <string>

#include "hccl/here.h"
#include "kernels/devices.h"

namespace sim {

// Throws c10::Error for a data type that HCCL does not have.
SIM_API HcclDataType hccl_dtype(at::ScalarType dtype);
// Throws where a group has no name, which CANN looks at as at a pointer.
SIM_API void communicator_named(const std::string& name);
// The communicator of this name in this process; throws c10::Error where there is none.
SIM_API HcclComm communicator(const std::string& name);
// Throws c10::Error with libhccl's reason unless the code is HCCL_SUCCESS.
SIM_API void done(HcclResult code);

class HcclDevices final : public Devices {
 public:
  explicit HcclDevices(const std::string& name);
  int64_t ranks() const override { return ranks_; }
  int64_t rank() const override { return rank_; }
  at::Tensor sum(const at::Tensor& x) override;
  at::Tensor share_of_sum(const at::Tensor& x) override;
  at::Tensor gather(const at::Tensor& x) override;
  at::Tensor exchange(const at::Tensor& x, const Dims& sent, const Dims& received) override;
  void put(int64_t rank, int64_t offset, const at::Tensor& x) override;
  void raise(int64_t rank, int64_t offset) override;

 private:
  HcclComm comm_;
  uint32_t ranks_ = 0, rank_ = 0;
};

}  // namespace sim
