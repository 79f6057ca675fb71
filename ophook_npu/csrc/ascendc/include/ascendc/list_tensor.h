// Lists of tensors as a kernel gets them: an argument that points to their shapes and addresses.
#pragma once

#include "../kernel_operator.h"

namespace AscendC {

template <class T>
class TensorDesc {
 public:
  __aicore__ TensorDesc() {}
  __aicore__ void SetShapeAddr(uint64_t* shapePtr) { shape_ = shapePtr; }
  __aicore__ uint64_t GetDim() { return dim_; }
  __aicore__ uint64_t GetIndex() { return index_; }
  __aicore__ uint64_t GetShape(uint32_t offset) { return shape_ && offset < dim_ ? shape_[offset] : 0; }
  __aicore__ T* GetDataPtr() { return data_; }
  __aicore__ GlobalTensor<T> GetDataObj() {
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(data_);
    return tensor;
  }

 private:
  friend class ListTensorDesc;
  uint64_t* shape_ = nullptr;
  uint64_t dim_ = 0, index_ = 0;
  T* data_ = nullptr;
};

// At first the distance to the addresses; for each tensor its dimensions and index in 32 bits each, and its shape; then
// the addresses.
class ListTensorDesc {
 public:
  __aicore__ ListTensorDesc() {}
  __aicore__ ListTensorDesc(__gm__ void* data, uint32_t length = 0xffffffff, uint32_t shapeSize = 0xffffffff) {
    Init(data, length, shapeSize);
  }
  __aicore__ void Init(__gm__ void* data, uint32_t length = 0xffffffff, uint32_t = 0xffffffff) {
    data_ = static_cast<uint8_t*>(data), length_ = length;
  }
  template <class T>
  __aicore__ void GetDesc(TensorDesc<T>& desc, uint32_t index) {
    const uint8_t* at = data_ + sizeof(uint64_t);
    for (uint32_t i = 0; at < data_ + Distance(); ++i) {
      uint32_t dims, number;
      std::memcpy(&dims, at, 4), std::memcpy(&number, at + 4, 4);
      if (i == index) {
        desc.dim_ = dims, desc.index_ = number, desc.data_ = GetDataPtr<T>(index);
        for (uint32_t d = 0; d < dims && desc.shape_; ++d) std::memcpy(&desc.shape_[d], at + 8 + d * 8, 8);
        return;
      }
      at += 8 + uint64_t(dims) * 8;
    }
  }
  template <class T>
  __aicore__ T* GetDataPtr(uint32_t index) {
    uint64_t address;
    std::memcpy(&address, data_ + Distance() + uint64_t(index) * 8, 8);
    return reinterpret_cast<T*>(address);
  }
  __aicore__ uint32_t GetSize() {
    uint32_t count = 0;
    for (const uint8_t* at = data_ + sizeof(uint64_t); at < data_ + Distance(); ++count) {
      uint32_t dims;
      std::memcpy(&dims, at, 4);
      at += 8 + uint64_t(dims) * 8;
    }
    return count;
  }

 private:
  __aicore__ uint64_t Distance() const {
    uint64_t bytes;
    std::memcpy(&bytes, data_, 8);
    return bytes;
  }
  uint8_t* data_ = nullptr;
  uint32_t length_ = 0;
};

}  // namespace AscendC
