// The data types of a page as a list of their names, so that what is allowed and what a message says is one text.
#pragma once

#include <string_view>

#include "tensor.h"

namespace AscendC::type_details {

template <typename T>
constexpr std::string_view name() {
  constexpr std::string_view kNames[] = {"half",     "float",    "bfloat16_t", "int8_t",   "uint8_t",
                                         "int16_t",  "uint16_t", "int32_t",    "uint32_t", "int64_t",
                                         "uint64_t", "double",   "bool",       "int4b_t",  "?"};
  return kNames[int(ophook::rt::dtype_of<T>())];
}
template <typename T>
constexpr bool listed(std::string_view list) {
  while (!list.empty()) {
    const size_t end = list.find(',') < list.size() ? list.find(',') : list.size();
    if (list.substr(0, end) == name<T>()) return true;
    list.remove_prefix(end + 2 < list.size() ? end + 2 : list.size());
  }
  return false;
}

// Of an operand that is a tensor or a scalar: the type of its elements, or its own.
template <typename X>
struct Operand {
  static constexpr bool is_tensor = false;
  using Type = X;
};
template <typename T>
struct Operand<LocalTensor<T>> {
  static constexpr bool is_tensor = true;
  using Type = T;
};
template <class Tensor>
struct Operand<Element<Tensor>> {
  static constexpr bool is_tensor = false;
  using Type = typename Element<Tensor>::T;
};
template <typename X>
using TypeOf = typename Operand<X>::Type;
template <typename X>
constexpr bool is_tensor = Operand<X>::is_tensor;

}  // namespace AscendC::type_details
