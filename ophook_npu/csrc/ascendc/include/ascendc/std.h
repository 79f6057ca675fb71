// AscendC::Std: the part of C++'s standard library that the interface documents.
#pragma once

#include <cmath>
#include <tuple>
#include <type_traits>
#include <utility>

#include "types.h"

namespace AscendC {
namespace Std {
using std::add_const, std::add_cv, std::add_lvalue_reference, std::add_pointer, std::add_rvalue_reference,
    std::add_volatile;
using std::add_const_t, std::add_cv_t, std::add_lvalue_reference_t, std::add_pointer_t, std::add_rvalue_reference_t,
    std::add_volatile_t;
using std::conditional, std::enable_if, std::integral_constant, std::is_array, std::is_base_of, std::is_const,
    std::is_convertible;
using std::conditional_t, std::enable_if_t, std::integer_sequence, std::index_sequence, std::make_index_sequence,
    std::make_integer_sequence;
using std::forward, std::forward_as_tuple, std::get, std::make_tuple, std::tie, std::tuple, std::tuple_cat,
    std::tuple_element, std::tuple_size;
using std::is_lvalue_reference_v, std::is_rvalue_reference_v, std::tuple_size_v;
template <size_t v>
using Int = integral_constant<size_t, v>;
using std::is_floating_point, std::is_integral, std::is_pointer, std::is_reference, std::is_same, std::is_void;
using std::is_reference_v, std::is_convertible_v, std::is_base_of_v, std::true_type, std::false_type;
using std::is_same_v, std::is_integral_v, std::is_floating_point_v, std::is_void_v, std::is_pointer_v, std::is_array_v,
    std::is_const_v;
using std::remove_const, std::remove_cv, std::remove_pointer, std::remove_reference, std::remove_volatile;
using std::remove_const_t, std::remove_cv_t, std::remove_pointer_t, std::remove_reference_t, std::remove_volatile_t;
template <typename T, typename U>
constexpr T max(const T a, const U b) {
  return a > static_cast<T>(b) ? a : static_cast<T>(b);
}
template <typename T, typename U>
constexpr T min(const T a, const U b) {
  return a < static_cast<T>(b) ? a : static_cast<T>(b);
}
template <typename T>
__aicore__ inline T abs(const T x) {
  return static_cast<T>(x < T(0) ? -x : x);
}
template <typename T>
__aicore__ inline T sqrt(const T x) {
  return static_cast<T>(std::sqrt(static_cast<float>(x)));
}
}  // namespace Std
template <bool condition, typename A, typename B>
using Conditional = std::conditional<condition, A, B>;  // an older name, which examples use
}  // namespace AscendC
