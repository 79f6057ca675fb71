#pragma once

#include <cstdint>

namespace sim {
constexpr int kMaxDevices = 16;
uint64_t device_capacity();  // bytes of memory that each device has
}  // namespace sim
