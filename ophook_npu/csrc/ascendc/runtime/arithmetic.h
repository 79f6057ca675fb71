// What the instructions compute, over runs of elements in a row.
#pragma once

#include <cstddef>
#include <vector>

#include "ascendc/runtime.h"

namespace ophook::rt {

// dst, a, b, number of elements; an operation with a scalar finds it in `scalar`. NULL: there is no such function.
using Function = void (*)(void* dst, const void* a, const void* b, const Scalar& scalar, size_t count);
Function function_of(Op op, Dtype dtype);
void axpy_half_to_float(void* dst, const void* src, const Scalar& scalar, size_t count);
void multiply_add_half_to_float(void* dst, const void* a, const void* b, size_t count);

void to_float(const uint16_t* half_values, float* values, size_t count);
void to_half(const float* values, uint16_t* half_values, size_t count);
void wide(Dtype dtype, const void* from, float* to, size_t count);    // f16, bf16 or f32 as float
void narrow(Dtype dtype, const float* from, void* to, size_t count);  // rounded to nearest even

// Two by two within a repeat of 256 bytes, and so on with the sums; each sum has the type.  reduce.cpp
float sum_in_pairs(Dtype dtype, const float* values, size_t count);

// The elements' numbers from the largest value on, or from the smallest; of equal ones the first goes first, and so do
// those that are no numbers, where `nan_first` says so.  sort.cpp
std::vector<uint32_t> order_of(Dtype dtype, const uint8_t* elements, uint32_t count, bool largest, bool nan_first);

// Of elements of 4 bits, two in a byte, the lower one first: the i-th.
inline int8_t lower_first(const uint8_t* from, uint64_t i) {
  return static_cast<int8_t>(int8_t(uint8_t(from[i / 2] << (i % 2 ? 0 : 4))) >> 4);
}

}  // namespace ophook::rt
