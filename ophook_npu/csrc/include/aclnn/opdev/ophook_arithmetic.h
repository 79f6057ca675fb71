// Arithmetic of numbers of 16 bits: of two such numbers a third one, rounded.
#ifndef OPHOOK_ACLNN_OPDEV_ARITHMETIC_H_
#define OPHOOK_ACLNN_OPDEV_ARITHMETIC_H_

#include <type_traits>

namespace op {

template <typename T>
constexpr bool ophook_number = false;

#define OPHOOK_ARITHMETIC(sign, assigned)                                       \
  template <typename T>                                                         \
  std::enable_if_t<ophook_number<T>, T> operator sign(const T& a, const T& b) { \
    return T(float(a) sign float(b));                                           \
  }                                                                             \
  template <typename T>                                                         \
  T& operator assigned(T& a, const std::enable_if_t<ophook_number<T>, T>& b) {  \
    return a = a sign b;                                                        \
  }
OPHOOK_ARITHMETIC(+, +=)
OPHOOK_ARITHMETIC(-, -=)
OPHOOK_ARITHMETIC(*, *=)
OPHOOK_ARITHMETIC(/, /=)
#undef OPHOOK_ARITHMETIC

}  // namespace op

#endif
