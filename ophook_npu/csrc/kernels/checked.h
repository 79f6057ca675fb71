// Lists that refuse a position which they do not have, and divisions that refuse zero. Shapes, axes and lists of
// tensors come from the caller, and a tensor without dimensions has no last one: what is out of range is the call's
// error, not a signal.
#pragma once

#include <ATen/core/Tensor.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace sim {

template <typename T>
struct Checked : std::vector<T> {
  using Base = std::vector<T>;
  using Base::Base;
  Checked() = default;
  Checked(const Base& values) : Base(values) {}
  Checked(Base&& values) noexcept : Base(std::move(values)) {}

  typename Base::reference operator[](size_t i) { return need(i), Base::operator[](i); }
  typename Base::const_reference operator[](size_t i) const { return need(i), Base::operator[](i); }
  typename Base::reference at(size_t i) { return (*this)[i]; }
  typename Base::const_reference at(size_t i) const { return (*this)[i]; }
  typename Base::reference front() { return (*this)[0]; }
  typename Base::const_reference front() const { return (*this)[0]; }
  typename Base::reference back() { return (*this)[Base::size() - 1]; }
  typename Base::const_reference back() const { return (*this)[Base::size() - 1]; }

  using Base::erase;
  void erase(int64_t i) {
    need(size_t(i));
    Base::erase(Base::begin() + i);
  }
  // Where the last `count` elements begin.
  typename Base::iterator last(size_t count) {
    if (count) need(count - 1);
    return Base::end() - int64_t(count);
  }

 private:
  void need(size_t i) const {
    if (i < Base::size()) return;
    if (Base::empty()) throw std::out_of_range("a list (a shape, axes or tensors) is empty; it needs an element");
    throw std::out_of_range("a list of " + std::to_string(Base::size()) + " (a shape, axes or tensors) is asked for " +
                            "element " + std::to_string(int64_t(i)));
  }
};

using Dims = Checked<int64_t>;
using Tensors = Checked<at::Tensor>;

inline int64_t divided(int64_t whole, int64_t parts) {
  if (parts == 0) throw std::invalid_argument("a size of " + std::to_string(whole) + " is divided by 0");
  return whole / parts;
}
inline int64_t remainder_of(int64_t whole, int64_t parts) { return whole - divided(whole, parts) * parts; }

}  // namespace sim
