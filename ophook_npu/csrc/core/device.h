#pragma once

#include <cstdint>

namespace sim {
constexpr int kMaxDevices = 64;
uint64_t device_capacity();  // bytes of memory that each device has
}  // namespace sim

// The same for npu-smi, which opens no device.
extern "C" __attribute__((visibility("default"))) uint64_t sim_device_capacity(void);
