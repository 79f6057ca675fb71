// A dimension that may be unknown until a graph runs.
#pragma once

#include <stdexcept>

#include "kernels/checked.h"

namespace sim {

// A size, or unknown. What is computed from an unknown one is unknown, and no comparison with one holds, `!=` no more
// than `==`: a rule refuses what is certainly wrong.
class Dim {
 public:
  constexpr Dim() = default;  // unknown
  constexpr Dim(int64_t size) : known_(true), size_(size) {}
  constexpr bool known() const { return known_; }
  int64_t size() const {
    if (!known_) throw std::logic_error("its shape rule asks for the size of an unknown dimension");
    return size_;
  }
  friend Dim operator+(Dim a, Dim b) { return both(a, b) ? a.size_ + b.size_ : Dim(); }
  friend Dim operator-(Dim a, Dim b) { return both(a, b) ? a.size_ - b.size_ : Dim(); }
  friend Dim operator*(Dim a, Dim b) { return both(a, b) ? a.size_ * b.size_ : Dim(); }
  friend Dim operator/(Dim a, Dim b) { return both(a, b) ? divided(a.size_, b.size_) : Dim(); }
  friend Dim operator%(Dim a, Dim b) { return both(a, b) ? remainder_of(a.size_, b.size_) : Dim(); }
  friend bool operator==(Dim a, Dim b) { return both(a, b) && a.size_ == b.size_; }
  friend bool operator!=(Dim a, Dim b) { return both(a, b) && a.size_ != b.size_; }
  friend bool operator<(Dim a, Dim b) { return both(a, b) && a.size_ < b.size_; }
  friend bool operator>(Dim a, Dim b) { return b < a; }
  friend bool operator<=(Dim a, Dim b) { return both(a, b) && a.size_ <= b.size_; }
  friend bool operator>=(Dim a, Dim b) { return b <= a; }

 private:
  static constexpr bool both(Dim a, Dim b) { return a.known_ && b.known_; }
  bool known_ = false;
  int64_t size_ = 0;
};
inline constexpr Dim unknown;

struct Sizes : Checked<Dim> {
  using Checked<Dim>::Checked;
  Sizes(const Dims& sizes) : Checked<Dim>(sizes.begin(), sizes.end()) {}
};

}  // namespace sim
