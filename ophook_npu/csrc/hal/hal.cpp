// libascend_hal: of the driver's interface what torch_npu asks for. Its profiler asks for the version before it takes
// the first time stamp: from 7.19.5 on it would read the device's counter and its frequency, and before it reads the
// clock of the host, which is what this simulator's times are of.
#include <cstdint>

#include "core/visible.h"

namespace {
constexpr int32_t kVersion = 0x071800;
constexpr int kInvalidValue = 3, kNotSupported = 0xfffe;  // DRV_ERROR_INVALID_VALUE, DRV_ERROR_NOT_SUPPORT
}  // namespace

extern "C" {
SIM_API int halGetAPIVersion(int32_t* version) {
  if (!version) return kInvalidValue;
  *version = kVersion;
  return 0;
}

// The driver knows nothing of what a process sees.
SIM_API int drvGetDevNum(uint32_t* count) {
  if (!count) return kInvalidValue;
  *count = uint32_t(sim_installed_devices());
  return 0;
}

// Memory of the host for the device: programs get it from AscendCL (aclrtHostRegister), which is simulated.
SIM_API int halHostRegister(void*, uint64_t, uint32_t, uint32_t, void**) {
  return sim_unimplemented(__func__), kNotSupported;
}
SIM_API int halHostUnregister(void*, uint32_t) { return sim_unimplemented(__func__), kNotSupported; }

SIM_API int halGetDeviceInfo(uint32_t, int32_t, int32_t, int64_t* value) {
  return value ? kNotSupported : kInvalidValue;
}
}
