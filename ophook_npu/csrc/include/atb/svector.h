// ATB's list: up to 64 elements lie in the list itself, up to 256 after reserve() on the heap. Its layout is part of
// the binary interface: callers copy and fill it without a function of the library.
#ifndef OPHOOK_ATB_SVECTOR_H_
#define OPHOOK_ATB_SVECTOR_H_

#include <cstddef>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <ostream>
#include <stdexcept>

namespace atb {

constexpr size_t MAX_SVECTOR_SIZE = 256;
constexpr size_t DEFAULT_SVECTOR_SIZE = 64;

struct MaxSizeExceeded : public std::exception {};

template <class T>
class SVector {
 public:
  SVector() = default;
  SVector(std::initializer_list<T> values) { take(values.begin(), values.size()); }
  explicit SVector(size_t size, const T& value = 0) {
    fits(size);
    for (; size_ < size; ++size_) data()[size_] = value;
  }
  SVector(const SVector& other) {
    if (other.heap_) reserve(other.capacity_);
    take(other.data(), other.size_);
  }
  SVector& operator=(const SVector& other) {
    if (this != &other) take(other.data(), other.size_);
    return *this;
  }
  SVector& operator=(std::initializer_list<T> values) {
    take(values.begin(), values.size());
    return *this;
  }
  ~SVector() { drop(); }

  void push_back(const T& value) {
    fits(size_ + 1);
    data()[size_++] = value;
  }
  void insert(size_t position, const T& value) {
    fits(size_ + 1);
    if (position > size_) throw MaxSizeExceeded();
    for (size_t i = size_++; i > position; --i) data()[i] = data()[i - 1];
    data()[position] = value;
  }
  void resize(size_t size) {
    fits(size);
    size_ = size;
  }
  void reserve(size_t size) {
    if (size > MAX_SVECTOR_SIZE) throw MaxSizeExceeded();
    if (size <= DEFAULT_SVECTOR_SIZE) return;
    drop();
    heap_ = static_cast<T*>(::operator new(size * sizeof(T)));
    std::uninitialized_value_construct_n(heap_, size);
    capacity_ = size;
  }
  void clear() noexcept { size_ = 0; }

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return heap_ ? heap_ : storage_; }
  const T* data() const noexcept { return heap_ ? heap_ : storage_; }
  T* begin() noexcept { return data(); }
  const T* begin() const noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* end() const noexcept { return data() + size_; }
  T& operator[](size_t i) { return at(i); }
  const T& operator[](size_t i) const { return at(i); }
  T& at(size_t i) { return data()[there(i)]; }
  const T& at(size_t i) const { return data()[there(i)]; }

  bool operator==(const SVector& other) const {
    if (size_ != other.size_) return false;
    for (size_t i = 0; i < size_; ++i)
      if (data()[i] != other.data()[i]) return false;
    return true;
  }
  bool operator!=(const SVector& other) const { return !(*this == other); }

 private:
  void fits(size_t size) const {
    if (size > (heap_ ? capacity_ : DEFAULT_SVECTOR_SIZE)) throw MaxSizeExceeded();
  }
  size_t there(size_t i) const {
    if (i >= size_) throw std::out_of_range("SVector: out of range");
    return i;
  }
  void take(const T* values, size_t count) {
    fits(count);
    for (size_t i = 0; i < count; ++i) data()[i] = values[i];
    size_ = count;
  }
  void drop() {
    if (heap_) std::destroy_n(heap_, capacity_);
    ::operator delete(heap_);
    heap_ = nullptr;
  }

  size_t capacity_ = 0;  // of the heap
  size_t size_ = 0;
  T storage_[DEFAULT_SVECTOR_SIZE + 1] = {};
  T* heap_ = nullptr;
};

template <class T>
std::ostream& operator<<(std::ostream& to, const SVector<T>& values) {
  for (size_t i = 0; i < values.size(); ++i) to << (i ? "," : "") << values[i];
  return to;
}

}  // namespace atb

#endif
