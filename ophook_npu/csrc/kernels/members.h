// The tensors of a struct, as what a kernel with several results gives them.
#pragma once

#include <tuple>
#include <vector>

#include "kernels/tensors.h"

namespace sim::kernels {

// A struct of tensors, or a tuple, in its order.
struct AnyTensor {
  operator at::Tensor() const;
};
template <typename Made, typename... Members>
constexpr size_t members() {
  if constexpr (requires { Made{Members{}..., AnyTensor{}}; }) return members<Made, Members..., AnyTensor>();
  else return sizeof...(Members);
}
template <typename Made>
std::vector<at::Tensor> each_of(const Made& made) {
  if constexpr (requires { std::tuple_size<Made>::value; })
    return std::apply([](const auto&... one) { return std::vector<at::Tensor>{one...}; }, made);
  else if constexpr (members<Made>() == 2) {
    const auto& [a, b] = made;
    return {a, b};
  } else if constexpr (members<Made>() == 3) {
    const auto& [a, b, c] = made;
    return {a, b, c};
  } else if constexpr (members<Made>() == 4) {
    const auto& [a, b, c, d] = made;
    return {a, b, c, d};
  } else {
    const auto& [a, b, c, d, e] = made;
    return {a, b, c, d, e};
  }
}
inline std::vector<at::Tensor> each_of(const at::Tensor& one) { return {one}; }

// Each to its output, as write() or write_asked() writes it.
template <typename Made>
void write_members(std::initializer_list<at::Tensor> outs, const Made& made) {
  const auto values = each_of(made);
  for (size_t i = 0; i < outs.size(); ++i) write(outs.begin()[i], values[i]);
}
template <typename Made>
void write_asked_members(std::initializer_list<at::Tensor> outs, const Made& made) {
  const auto values = each_of(made);
  for (size_t i = 0; i < outs.size(); ++i) write_asked(outs.begin()[i], values[i]);
}

}  // namespace sim::kernels
