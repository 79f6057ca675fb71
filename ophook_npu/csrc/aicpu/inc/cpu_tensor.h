// A tensor of an AI CPU kernel: its data are in device memory, which the kernel reads and writes itself.
#pragma once

#include <memory>

#include "cpu_tensor_shape.h"

namespace aicpu {

class TensorImpl;
class AICPU_VISIBILITY Tensor {
  friend class CpuKernelUtils;

 public:
  Tensor() = delete;
  ~Tensor() = default;

  bool SetTensorShape(const TensorShape* shape);
  std::shared_ptr<TensorShape> GetTensorShape() const;
  void SetDataType(DataType type);
  DataType GetDataType() const;
  void SetData(void* addr);
  void* GetData() const;
  void SetDataSize(uint64_t size);
  uint64_t GetDataSize() const;
  int64_t CalcDataSizeByShape() const;  // -1: the data type or a dimension is not known
  int64_t NumElements() const;

 private:
  explicit Tensor(const std::shared_ptr<TensorImpl>& impl) : impl_(impl) {}
  std::shared_ptr<TensorImpl> impl_;
  friend struct Access;
};

}  // namespace aicpu
