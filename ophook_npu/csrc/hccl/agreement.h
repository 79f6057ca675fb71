// For the check of order: whether the ranks launch the collectives of several communicators in one order.
#pragma once

#include <cstdint>
#include <string>

namespace sim::hccl {

// At the launch of one, on the device whose rank the caller is.
void launches_collective(const std::string& communicator, uint32_t rank, const char* collective);

}  // namespace sim::hccl
