// Tensors and lists as gert gives them to a tiling function.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "shapes.h"

namespace gert {

enum TensorPlacement { kOnDeviceHbm, kOnHost, kFollowing, kOnDeviceP2p, kTensorPlacementEnd };
enum TensorVersion : uint8_t { kTensorV1 = 0, kTensorV2 = 1 };
enum TensorOperateType { kGetTensorAddress, kFreeTensor, kPlusShareCount, kTensorOperateType };
using TensorAddress = void*;
using ConstTensorAddressPtr = const void*;
using TensorAddrManager = ge::graphStatus (*)(TensorAddress, TensorOperateType, void** out);

class TensorPlacementUtils {
 public:
  static bool IsOnDevice(TensorPlacement placement) { return IsOnDeviceHbm(placement) || IsOnDeviceP2p(placement); }
  static bool IsOnHost(TensorPlacement placement) {
    return IsOnHostNotFollowing(placement) || IsOnHostFollowing(placement);
  }
  static bool IsOnHostFollowing(TensorPlacement placement) { return placement == kFollowing; }
  static bool IsOnHostNotFollowing(TensorPlacement placement) { return placement == kOnHost; }
  static bool IsOnDeviceHbm(TensorPlacement placement) { return placement == kOnDeviceHbm; }
  static bool IsOnDeviceP2p(TensorPlacement placement) { return placement == kOnDeviceP2p; }
};

// Memory, and who manages it: without a manager the address is the data's, and nobody frees it.
class TensorData {
 public:
  explicit TensorData(TensorAddress addr = nullptr, TensorAddrManager manager = nullptr)
      : addr_(addr), manager_(manager) {}
  explicit TensorData(TensorAddress addr, TensorAddrManager manager, size_t size, TensorPlacement placement)
      : addr_(addr), manager_(manager), size_(size), placement_(placement) {}
  TensorData(TensorData&& other) noexcept { take(other); }
  TensorData& operator=(TensorData&& other) noexcept {
    if (this != &other) (void)Free(), take(other);
    return *this;
  }
  TensorData(const TensorData&) = delete;
  TensorData& operator=(const TensorData&) = delete;
  ~TensorData() { (void)Free(); }
  TensorAddress GetAddr() const {
    void* address = addr_;
    return manager_ && manager_(addr_, kGetTensorAddress, &address) != ge::GRAPH_SUCCESS ? nullptr : address;
  }
  ge::graphStatus SetAddr(ConstTensorAddressPtr addr, TensorAddrManager manager) {
    const ge::graphStatus freed = Free();
    if (freed != ge::GRAPH_SUCCESS) return freed;
    addr_ = const_cast<TensorAddress>(addr), manager_ = manager;
    return ge::GRAPH_SUCCESS;
  }
  size_t GetSize() const { return size_; }
  void SetSize(size_t size) { size_ = size; }
  TensorPlacement GetPlacement() const { return placement_; }
  void SetPlacement(TensorPlacement placement) { placement_ = placement; }
  ge::graphStatus Free() {
    const ge::graphStatus freed = manager_ ? manager_(addr_, kFreeTensor, nullptr) : ge::GRAPH_SUCCESS;
    if (freed == ge::GRAPH_SUCCESS) addr_ = nullptr, manager_ = nullptr;
    return freed;
  }
  TensorAddress Release(TensorAddrManager& manager) {
    const TensorAddress address = addr_;
    manager = manager_, manager_ = nullptr, addr_ = nullptr;
    return address;
  }
  bool IsSharedWith(const TensorData& other) const { return addr_ == other.addr_ && manager_ == other.manager_; }
  ge::graphStatus ShareFrom(const TensorData& other) {
    if (IsSharedWith(other)) return ge::GRAPH_SUCCESS;
    const ge::graphStatus freed = Free();
    if (freed != ge::GRAPH_SUCCESS) return freed;
    addr_ = other.addr_, manager_ = other.manager_, size_ = other.size_, placement_ = other.placement_;
    return manager_ ? manager_(addr_, kPlusShareCount, nullptr) : ge::GRAPH_SUCCESS;
  }

 private:
  void take(TensorData& other) {
    addr_ = other.Release(manager_);
    size_ = other.size_, other.size_ = 0, placement_ = other.placement_;
  }
  TensorAddress addr_ = nullptr;
  TensorAddrManager manager_ = nullptr;
  size_t size_ = 0;
  TensorPlacement placement_ = kTensorPlacementEnd;
};

// What a tensor and its description have in common.
class TypeAndFormat {
 public:
  ge::DataType GetDataType() const { return type_; }
  void SetDataType(ge::DataType type) { type_ = type; }
  const StorageFormat& GetFormat() const { return format_; }
  ge::Format GetOriginFormat() const { return format_.GetOriginFormat(); }
  void SetOriginFormat(ge::Format format) { format_.SetOriginFormat(format); }
  ge::Format GetStorageFormat() const { return format_.GetStorageFormat(); }
  void SetStorageFormat(ge::Format format) { format_.SetStorageFormat(format); }
  ExpandDimsType GetExpandDimsType() const { return format_.GetExpandDimsType(); }
  void SetExpandDimsType(const ExpandDimsType& type) { format_.SetExpandDimsType(type); }

 protected:
  TypeAndFormat() = default;
  TypeAndFormat(ge::DataType type, const StorageFormat& format) : type_(type), format_(format) {}
  ge::DataType type_ = ge::DT_UNDEFINED;
  StorageFormat format_;
};

class CompileTimeTensorDesc : public TypeAndFormat {
 public:
  bool IsExist() const { return exists_; }
  void SetExist(bool exists) { exists_ = exists; }

 private:
  bool exists_ = true;
};

// In front of the rest of a tensor: programs give a StorageShape's address for that of a tensor that has no data.
class BeginsWithShape {
 protected:
  BeginsWithShape() = default;
  explicit BeginsWithShape(const StorageShape& shape) : shape_(shape) {}
  StorageShape shape_;
};

// A tensor whose values the host may read where the operator said ValueDepend; elsewhere its data is null.
class Tensor : public BeginsWithShape, public TypeAndFormat {
 public:
  Tensor() = default;
  Tensor(const StorageShape& shape, const StorageFormat& format, ge::DataType type)
      : Tensor(shape, format, kTensorPlacementEnd, type, nullptr) {}
  Tensor(const StorageShape& shape, const StorageFormat& format, TensorPlacement placement, ge::DataType type,
         TensorAddress addr, TensorAddrManager manager = nullptr)
      : BeginsWithShape(shape), TypeAndFormat(type, format), data_(addr, manager, 0, placement) {
    const int64_t bytes = ophook::host::bytes_of(GetShapeSize(), type);
    data_.SetSize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  }
  // The object and `tensor_size` bytes behind it.
  static std::unique_ptr<uint8_t[]> CreateFollowing(ge::DataType type, size_t tensor_size, size_t& total_size) {
    return create<Tensor>(type, tensor_size, total_size);
  }
  static std::unique_ptr<uint8_t[]> CreateFollowing(int64_t shape_size, ge::DataType type, size_t& total_size) {
    const int64_t bytes = ophook::host::bytes_of(shape_size, type);
    return bytes < 0 ? nullptr : CreateFollowing(type, static_cast<size_t>(bytes), total_size);
  }
  const StorageShape& GetShape() const { return shape_; }
  StorageShape& GetShape() { return shape_; }
  const Shape& GetOriginShape() const { return shape_.GetOriginShape(); }
  const Shape& GetStorageShape() const { return shape_.GetStorageShape(); }
  Shape& MutableOriginShape() { return shape_.MutableOriginShape(); }
  Shape& MutableStorageShape() { return shape_.MutableStorageShape(); }
  int64_t GetShapeSize() const { return GetStorageShape().GetShapeSize(); }
  StorageFormat& MutableFormat() { return format_; }
  TensorPlacement GetPlacement() const { return data_.GetPlacement(); }
  void SetPlacement(TensorPlacement placement) { data_.SetPlacement(placement); }
  size_t GetSize() const { return data_.GetSize(); }
  void SetSize(size_t size) { data_.SetSize(size); }
  const TensorData& GetTensorData() const { return data_; }
  TensorData& MutableTensorData() { return data_; }
  void SetData(TensorData&& data) { data_ = std::move(data); }
  TensorVersion GetVersion() const { return version_; }
  inline const void* GetAddr() const;
  void* GetAddr() { return const_cast<void*>(static_cast<const Tensor*>(this)->GetAddr()); }
  template <class T>
  const T* GetData() const {
    return static_cast<const T*>(GetAddr());
  }
  template <class T>
  auto GetData() -> T* {
    return static_cast<T*>(GetAddr());
  }

 protected:
  template <typename T>
  static std::unique_ptr<uint8_t[]> create(ge::DataType type, size_t tensor_size, size_t& total_size) {
    if (ge::AddOverflow(tensor_size, sizeof(T), total_size)) return nullptr;
    std::unique_ptr<uint8_t[]> memory(new (std::nothrow) uint8_t[total_size]());
    if (memory) {
      auto* tensor = new (memory.get()) T();
      tensor->SetDataType(type), tensor->SetPlacement(kFollowing), tensor->SetSize(tensor_size);
    }
    return memory;
  }
  TensorVersion version_ = kTensorV1;

 private:
  TensorData data_;
};
using TensorRange = Range<Tensor>;

// One that says where its elements lie in memory.
class TensorV2 : public Tensor {
 public:
  TensorV2() { version_ = kTensorV2; }
  TensorV2(const StorageShape& shape, const StorageFormat& format, ge::DataType type)
      : TensorV2(shape, format, kTensorPlacementEnd, type, nullptr) {}
  TensorV2(const StorageShape& shape, const StorageFormat& format, TensorPlacement placement, ge::DataType type,
           TensorAddress addr, TensorAddrManager manager = nullptr)
      : TensorV2(shape, format, placement, type, addr, manager, Stride(), 0) {}
  TensorV2(const StorageShape& shape, const StorageFormat& format, TensorPlacement placement, ge::DataType type,
           TensorAddress addr, TensorAddrManager manager, const Stride& stride, int64_t offset)
      : Tensor(shape, format, placement, type, addr, manager), stride_(stride), offset_(offset) {
    version_ = kTensorV2;
  }
  static std::unique_ptr<uint8_t[]> CreateFollowing(ge::DataType type, size_t tensor_size, size_t& total_size) {
    return create<TensorV2>(type, tensor_size, total_size);
  }
  static std::unique_ptr<uint8_t[]> CreateFollowing(int64_t shape_size, ge::DataType type, size_t& total_size) {
    const int64_t bytes = ophook::host::bytes_of(shape_size, type);
    return bytes < 0 ? nullptr : CreateFollowing(type, static_cast<size_t>(bytes), total_size);
  }
  // Null for a tensor that is none of these.
  static const TensorV2* of(const Tensor* tensor) {
    return tensor && tensor->GetVersion() == kTensorV2 ? static_cast<const TensorV2*>(tensor) : nullptr;
  }
  const Stride& GetStride() const { return stride_; }
  Stride& MutableStride() { return stride_; }
  int64_t GetOffset() const { return offset_; }
  void SetOffset(int64_t offset) { offset_ = offset; }

 private:
  Stride stride_;
  int64_t offset_ = 0;
};

const void* Tensor::GetAddr() const {
  if (GetPlacement() != kFollowing) return data_.GetAddr();
  const TensorV2* later = TensorV2::of(this);
  return later ? static_cast<const void*>(later + 1) : this + 1;
}

// A list that lies in memory as its length and its elements behind it.
class alignas(8) ContinuousVector {
 public:
  ContinuousVector(const ContinuousVector&) = delete;
  ContinuousVector& operator=(const ContinuousVector&) = delete;
  template <typename T>
  static std::unique_ptr<uint8_t[]> Create(size_t capacity, size_t& total_size) {
    if (ge::MulOverflow(capacity, sizeof(T), total_size) ||
        ge::AddOverflow(total_size, sizeof(ContinuousVector), total_size))
      return nullptr;
    std::unique_ptr<uint8_t[]> memory(new (std::nothrow) uint8_t[total_size]());
    if (memory) reinterpret_cast<ContinuousVector*>(memory.get())->Init(capacity);
    return memory;
  }
  template <typename T>
  static std::unique_ptr<uint8_t[]> Create(size_t capacity) {
    size_t total = 0;
    return Create<T>(capacity, total);
  }
  void Init(size_t capacity) { capacity_ = capacity, size_ = 0; }
  size_t GetCapacity() const { return capacity_; }
  size_t GetSize() const { return size_; }
  ge::graphStatus SetSize(size_t size) {
    if (size > capacity_) return ge::GRAPH_FAILED;
    return size_ = size, ge::GRAPH_SUCCESS;
  }
  const void* GetData() const { return this + 1; }
  void* MutableData() { return this + 1; }

 protected:
  ContinuousVector() = default;

 private:
  size_t capacity_ = 0, size_ = 0;
};

template <typename T>
class TypedContinuousVector : public ContinuousVector {
 public:
  const T* GetData() const { return static_cast<const T*>(ContinuousVector::GetData()); }
  T* MutableData() { return static_cast<T*>(ContinuousVector::MutableData()); }
};

// Lists, one behind the other; where each begins stands before them.
class alignas(8) ContinuousVectorVector {
 public:
  ContinuousVectorVector(const ContinuousVectorVector&) = delete;
  ContinuousVectorVector& operator=(const ContinuousVectorVector&) = delete;
  static size_t GetOverHeadLength(size_t capacity) {
    return sizeof(ContinuousVectorVector) + (capacity + 1) * sizeof(size_t);
  }
  void Init(size_t capacity) { capacity_ = capacity, size_ = 0, offsets()[0] = GetOverHeadLength(capacity); }
  template <typename T>
  ContinuousVector* Add(size_t inner_vector_capacity) {
    if (size_ >= capacity_) return nullptr;
    auto* added = reinterpret_cast<ContinuousVector*>(reinterpret_cast<uint8_t*>(this) + offsets()[size_]);
    added->Init(inner_vector_capacity);
    const size_t bytes = (inner_vector_capacity * sizeof(T) + 7) / 8 * 8;
    offsets()[size_ + 1] = offsets()[size_] + sizeof(ContinuousVector) + bytes;
    return ++size_, added;
  }
  const ContinuousVector* Get(size_t i) const {
    if (i >= size_) return nullptr;
    return reinterpret_cast<const ContinuousVector*>(reinterpret_cast<const uint8_t*>(this) + offsets()[i]);
  }
  size_t GetSize() const { return size_; }

 private:
  const size_t* offsets() const { return reinterpret_cast<const size_t*>(this + 1); }
  size_t* offsets() { return reinterpret_cast<size_t*>(this + 1); }
  size_t capacity_ = 0, size_ = 0;
};

}  // namespace gert
