// Shapes, strides and formats of a tensor as gert describes them.
#pragma once

#include <cstring>
#include <initializer_list>

#include "graph_types.h"

namespace gert {

// What Shape and Stride have in common: up to 25 numbers, `kInvalid` beyond.
class Dimensions {
 public:
  static constexpr size_t kMaxDimNum = 25;
  static constexpr int64_t kInvalid = std::numeric_limits<int64_t>::min();
  size_t GetDimNum() const { return count_; }
  void SetDimNum(size_t count) { count_ = count < kMaxDimNum ? count : kMaxDimNum; }
  const int64_t& operator[](size_t i) const { return values_[i]; }
  int64_t& operator[](size_t i) { return values_[i]; }
  friend bool operator==(const Dimensions& a, const Dimensions& b) {
    return a.count_ == b.count_ && std::memcmp(a.values_, b.values_, a.count_ * sizeof(int64_t)) == 0;
  }
  friend bool operator!=(const Dimensions& a, const Dimensions& b) { return !(a == b); }

 protected:
  Dimensions() = default;
  Dimensions(const std::initializer_list<int64_t>& values) {
    for (const int64_t value : values) append(value);
  }
  int64_t get(size_t i) const { return i < kMaxDimNum ? values_[i] : kInvalid; }
  void set(size_t i, int64_t value) {
    if (i < kMaxDimNum) values_[i] = value;
  }
  void append(int64_t value) {
    if (count_ < kMaxDimNum) values_[count_++] = value;
  }
  size_t count_ = 0;
  int64_t values_[kMaxDimNum] = {};
};

class Shape : public Dimensions {
 public:
  static constexpr int64_t kInvalidDimValue = kInvalid;
  Shape() = default;
  Shape(const std::initializer_list<int64_t>& dims) : Dimensions(dims) {}
  int64_t GetDim(size_t i) const { return get(i); }
  void SetDim(size_t i, int64_t dim) { set(i, dim); }
  Shape& AppendDim(int64_t dim) { return append(dim), *this; }
  int64_t GetShapeSize() const {
    int64_t size = 1;
    for (size_t i = 0; i < count_; ++i) size *= values_[i];
    return size;
  }
  bool IsScalar() const { return count_ == 0; }
  void SetScalar() { count_ = 0; }
};

class Stride : public Dimensions {
 public:
  static constexpr int64_t kInvalidStrideValue = kInvalid;
  Stride() = default;
  Stride(const std::initializer_list<int64_t>& strides) : Dimensions(strides) {}
  int64_t GetStride(size_t i) const { return get(i); }
  void SetStride(size_t i, int64_t stride) { set(i, stride); }
  Stride& AppendStride(int64_t stride) { return append(stride), *this; }
};

class StorageShape {
 public:
  StorageShape() = default;
  StorageShape(const std::initializer_list<int64_t>& origin, const std::initializer_list<int64_t>& storage)
      : origin_(origin), storage_(storage) {}
  const Shape& GetOriginShape() const { return origin_; }
  const Shape& GetStorageShape() const { return storage_; }
  const Shape& GetShape() const { return storage_; }
  Shape& MutableOriginShape() { return origin_; }
  Shape& MutableStorageShape() { return storage_; }
  Shape& MutableShape() { return storage_; }
  bool operator==(const StorageShape& other) const { return origin_ == other.origin_ && storage_ == other.storage_; }
  bool operator!=(const StorageShape& other) const { return !(*this == other); }

 private:
  Shape origin_, storage_;
};

// The least and the greatest of what is not known yet; both belong to somebody else.
template <typename T>
class Range {
 public:
  Range() = default;
  Range(T* min, T* max) : min_(min), max_(max) {}
  explicit Range(T* same) : min_(same), max_(same) {}
  const T* GetMin() const { return min_; }
  T* GetMin() { return min_; }
  const T* GetMax() const { return max_; }
  T* GetMax() { return max_; }
  void SetMin(T* min) { min_ = min; }
  void SetMax(T* max) { max_ = max; }
  bool operator==(const Range<T>& other) const { return same(min_, other.min_) && same(max_, other.max_); }

 private:
  static bool same(const T* a, const T* b) { return a == b || (a && b && *a == *b); }
  T *min_ = nullptr, *max_ = nullptr;
};

// Where dimensions of 1 are put in before a shape is stored: of "1001" the first and the last are such.
class ExpandDimsType {
 public:
  using AxisIndex = uint64_t;
  static constexpr size_t kMaxExpandSize = 56;
  ExpandDimsType() = default;
  explicit ExpandDimsType(const ge::char_t* rule) {
    const size_t size = rule ? std::strlen(rule) : 0;
    if (size > kMaxExpandSize) return;
    for (size_ = 0; size_ < size; ++size_)
      if (rule[size_] == '1') SetExpandIndex(size_);
  }
  // The uppermost byte is the length, and bit i speaks of dimension i.
  explicit ExpandDimsType(const int64_t mask)
      : size_(uint64_t(mask) >> kMaxExpandSize), mask_(uint64_t(mask) & ((uint64_t{1} << kMaxExpandSize) - 1)) {}
  bool operator==(const ExpandDimsType& other) const { return size_ == other.size_ && mask_ == other.mask_; }
  AxisIndex GetFullSize() const { return size_; }
  void SetExpandIndex(AxisIndex index) { mask_ |= uint64_t{1} << index; }
  bool IsExpandIndex(AxisIndex index) const { return (mask_ >> index & 1) != 0; }
  // The dimensions of the shape beyond the rule's follow as they are; too few for the rule fail.
  ge::graphStatus Expand(const Shape& shape, Shape& out) const {
    size_t taken = 0;
    Shape expanded;
    for (AxisIndex i = 0; i < size_; ++i) {
      if (!IsExpandIndex(i) && taken == shape.GetDimNum()) return ge::GRAPH_FAILED;
      expanded.AppendDim(IsExpandIndex(i) ? 1 : shape.GetDim(taken++));
    }
    while (taken < shape.GetDimNum()) expanded.AppendDim(shape.GetDim(taken++));
    out = expanded;
    return ge::GRAPH_SUCCESS;
  }
  ge::graphStatus Expand(Shape& shape) const { return Expand(shape, shape); }

 private:
  uint64_t size_ = 0, mask_ = 0;
};

class StorageFormat {
 public:
  StorageFormat() = default;
  StorageFormat(ge::Format origin, ge::Format storage, const ExpandDimsType& expand_dims)
      : origin_(origin), storage_(storage), expand_dims_(expand_dims) {}
  ge::Format GetOriginFormat() const { return origin_; }
  void SetOriginFormat(ge::Format format) { origin_ = format; }
  ge::Format GetStorageFormat() const { return storage_; }
  void SetStorageFormat(ge::Format format) { storage_ = format; }
  ExpandDimsType GetExpandDimsType() const { return expand_dims_; }
  void SetExpandDimsType(const ExpandDimsType& type) { expand_dims_ = type; }
  ExpandDimsType& MutableExpandDimsType() { return expand_dims_; }
  bool operator==(const StorageFormat& other) const {
    return origin_ == other.origin_ && storage_ == other.storage_ && expand_dims_ == other.expand_dims_;
  }
  bool operator!=(const StorageFormat& other) const { return !(*this == other); }

 private:
  ge::Format origin_ = ge::FORMAT_ND, storage_ = ge::FORMAT_ND;
  ExpandDimsType expand_dims_;
};

}  // namespace gert
