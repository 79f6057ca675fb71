// Contexts, and sizes of tensors.
#include <atomic>
#include <cstring>

#include "atb/operation.h"
#include "core/handles.h"

namespace sim::atblib {

class OwnContext final : public ::atb::Context {
 public:
  ::atb::Status SetExecuteStream(aclrtStream stream) override {
    stream_ = stream;
    return 0;
  }
  aclrtStream GetExecuteStream() const override { return stream_; }
  // Where the host prepares what a kernel needs: there is nothing to be copied here.
  ::atb::Status SetAsyncTilingCopyStatus(bool enable) override {
    copies_ = enable;
    return 0;
  }
  bool GetAsyncTilingCopyStatus() const override { return copies_; }
  ::atb::Status SetExecuteStreams(const std::vector<aclrtStream>& streams) override {
    if (streams.size() != 1) return refused("SetExecuteStreams of more than one stream");
    return SetExecuteStream(streams[0]);
  }
  std::vector<aclrtStream> GetExecuteStreams() override { return {stream_.load()}; }
  ::atb::Status SetExecuteType(::atb::ExecuteType type) override {
    return type == ::atb::EXECUTE_NORMAL ? 0 : refused("SetExecuteType other than EXECUTE_NORMAL");
  }
  ::atb::ExecuteType GetExecuteType() override { return ::atb::EXECUTE_NORMAL; }
  ::atb::Status SetLaunchMode(::atb::LaunchMode mode) override {
    return mode == ::atb::KERNEL_LAUNCH_MODE ? 0 : refused("SetLaunchMode other than KERNEL_LAUNCH_MODE");
  }
  ::atb::LaunchMode GetLaunchMode() override { return ::atb::KERNEL_LAUNCH_MODE; }

 private:
  static int refused(const char* what) {
    sim_unimplemented((std::string("atb::Context::") + what).c_str());
    return ErrorType::ERROR_INVALID_PARAM;
  }
  std::atomic<aclrtStream> stream_{nullptr};
  std::atomic<bool> copies_{false};
};

}  // namespace sim::atblib

namespace atb {

using sim::atblib::OwnContext;

SIM_API Status CreateContext(Context** context) {
  if (!context) return sim_fail(ERROR_INVALID_PARAM, "atb::CreateContext: no place for the context");
  auto made = std::make_shared<OwnContext>();
  *context = made.get();
  sim::Handles<OwnContext>::all().add(std::move(made));
  return NO_ERROR;
}

SIM_API Status DestroyContext(Context* context) {
  if (!context) return NO_ERROR;
  if (!sim::Handles<OwnContext>::all().take(static_cast<OwnContext*>(context)))
    return sim_fail(ERROR_INVALID_CONTEXT_ADDR, "atb::DestroyContext: context (%p) is none", (void*)context);
  return NO_ERROR;
}

SIM_API std::string Utils::GetAtbVersion() { return "simulated"; }

SIM_API uint64_t Utils::GetTensorNumel(const TensorDesc& desc) {
  if (desc.shape.dimNum == 0 || desc.shape.dimNum > MAX_DIM) return 0;
  uint64_t count = 1;
  for (uint64_t i = 0; i < desc.shape.dimNum; ++i) {
    if (desc.shape.dims[i] < 0 || __builtin_mul_overflow(count, uint64_t(desc.shape.dims[i]), &count)) return 0;
  }
  return count;
}
SIM_API uint64_t Utils::GetTensorNumel(const Tensor& tensor) { return GetTensorNumel(tensor.desc); }
SIM_API uint64_t Utils::GetTensorSize(const TensorDesc& desc) {
  return GetTensorNumel(desc) * aclDataTypeSize(desc.dtype);
}
SIM_API uint64_t Utils::GetTensorSize(const Tensor& tensor) { return GetTensorSize(tensor.desc); }

SIM_API void Utils::QuantParamConvert(const float* src, uint64_t* dest, uint64_t itemCount) {
  if (!src || !dest) return;
  for (uint64_t i = 0; i < itemCount; ++i) {
    uint32_t bits;
    std::memcpy(&bits, src + i, sizeof bits);
    dest[i] = bits;
  }
}

}  // namespace atb
