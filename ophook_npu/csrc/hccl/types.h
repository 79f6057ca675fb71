// Data types, reductions and commands: names, sizes and arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sim::hccl {

// A command of ranks that HcclCMDType does not have.
constexpr uint32_t kExchangeWindows = 0x10000;

size_t dtype_size(uint32_t dtype);  // 0: unknown, or not simulated
std::string dtype_name(uint32_t dtype);
std::string reduction_name(uint32_t op);
std::string command_name(uint32_t command);

bool reducible(uint32_t dtype);
// into[i] = a[i] op b[i], rounded to the data type; `into` may be one of the two
void reduce(uint32_t dtype, uint32_t op, void* into, const void* a, const void* b, size_t count);

}  // namespace sim::hccl
