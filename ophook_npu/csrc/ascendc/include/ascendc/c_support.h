// What the functions of the C interface and the intrinsics are made of; behind kernel_operator.h, whose end has them.
#pragma once

#include <cstring>

namespace ophook::c {
using namespace ophook::rt;

template <typename T, typename... Types>
concept one_of = (std::is_same_v<T, Types> || ...);
template <typename T>
concept number = std::is_integral_v<T> || std::is_enum_v<T>;
template <typename T>
using Distance = std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>;
template <typename T>
using Given = std::type_identity_t<T>;  // a scalar follows the operands' type

// The tensor at an address, to the end of the array that it lies in.
template <typename T>
Local at(const char* call, T* address, At where, Memory in = Memory::ub) {
  Local local = local_of(call, address, where, in);
  if constexpr (std::is_void_v<T>) local.dtype = Dtype::u8;
  else local.dtype = dtype_of<T>();
  return local;
}
template <typename T>
Global global(T* address) {
  if constexpr (std::is_void_v<T>) return {reinterpret_cast<uint8_t*>(address), 0, Dtype::u8};
  else return {reinterpret_cast<uint8_t*>(address), 0, dtype_of<T>()};
}
inline Cover first(uint32_t count) { return {Cover::kCount, count, 0, 1}; }
inline Cover repeated(uint32_t repeat) { return {Cover::kPreset, 0, 0, repeat}; }
inline void wait(At where) { barrier(Pipe::ALL, where); }
inline Blocks blocks(uint16_t bursts, uint16_t length, uint16_t from_gap, uint16_t to_gap) {
  return {bursts, uint64_t(length) * 32, uint64_t(from_gap) * 32, uint64_t(to_gap) * 32};
}
}  // namespace ophook::c

constexpr int ASC_C_API_MRGSORT_ELEMENT_LEN = 4;
