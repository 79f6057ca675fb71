// In the place of CANN's header of this name: operators that run eagerly inside a graph. torchair generates such operators
// in C++ where it has no GE converter (scaled dot product attention is one): the class calls the operator through torch's
// dispatcher on the graph's stream.
//
//   class my_op : public ge::EagerExecuteOp { ge::Status Execute(gert::EagerOpExecutionContext* ctx) override {…} };
//   REG_AUTO_MAPPING_OP(my_op);
//
// The engine is compiled with another string ABI than the operator, so nothing of the standard library crosses the border.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ge/ge_api_error_codes.h"
#include "graph/types.h"

namespace gert {

class Shape {
 public:
  static constexpr size_t kMaxDimNum = 25;
  size_t GetDimNum() const { return count_; }
  int64_t GetDim(size_t i) const { return dims_[i]; }
  void SetDimNum(size_t count) { count_ = count < kMaxDimNum ? count : kMaxDimNum; }
  void SetDim(size_t i, int64_t dim) {
    if (i < kMaxDimNum) dims_[i] = dim;
  }

 private:
  size_t count_ = 0;
  int64_t dims_[kMaxDimNum] = {};
};

// The simulator keeps tensors in their base format: both shapes are the same.
class StorageShape {
 public:
  const Shape& GetOriginShape() const { return origin_; }
  const Shape& GetStorageShape() const { return storage_; }
  Shape& MutableOriginShape() { return origin_; }
  Shape& MutableStorageShape() { return storage_; }

 private:
  Shape origin_, storage_;
};

class StorageFormat {};

class Tensor {
 public:
  Tensor() = default;
  Tensor(ge::DataType dtype, const StorageShape& shape, void* data, size_t size) : dtype_(dtype), shape_(shape), data_(data), size_(size) {}
  ge::DataType GetDataType() const { return dtype_; }
  const StorageShape& GetShape() const { return shape_; }
  StorageFormat GetFormat() const { return {}; }
  const void* GetAddr() const { return data_; }   // on the device
  size_t GetSize() const { return size_; }        // in bytes

 private:
  ge::DataType dtype_ = ge::DT_UNDEFINED;
  StorageShape shape_;
  void* data_ = nullptr;
  size_t size_ = 0;
};

// Counts of one output of the prototype in this node: more than one where the prototype calls it dynamic.
class InstanceInfo {
 public:
  explicit InstanceInfo(size_t count = 0) : count_(count) {}
  size_t GetInstanceNum() const { return count_; }

 private:
  size_t count_;
};

// One run of an operator. "ir" counts the inputs and outputs of the prototype, the other indices count tensors.
class EagerOpExecutionContext {
 public:
  virtual const Tensor* GetInputTensor(size_t index) const = 0;               // each returns NULL where there is none
  virtual const Tensor* GetRequiredInputTensor(size_t ir) const = 0;
  virtual const Tensor* GetOptionalInputTensor(size_t ir) const = 0;
  virtual const Tensor* GetDynamicInputTensor(size_t ir, size_t index) const = 0;
  virtual const Tensor* GetOutputTensor(size_t index) const = 0;              // NULL before MallocOutputTensor
  virtual const InstanceInfo* GetIrOutputInstanceInfo(size_t ir) const = 0;
  virtual Tensor* MallocOutputTensor(size_t index, const StorageShape& shape, const StorageFormat& format, ge::DataType dtype) = 0;
  virtual ge::Status MakeOutputRefInput(size_t output, size_t input) = 0;     // the output is that input's memory
  virtual void* GetStream() const = 0;

 protected:
  ~EagerOpExecutionContext() = default;
};

}  // namespace gert

namespace ge {

class EagerExecuteOp {
 public:
  virtual ~EagerExecuteOp() = default;
  virtual Status Execute(gert::EagerOpExecutionContext* context) = 0;
};

// What REG_AUTO_MAPPING_OP does; the first registration of a type stays.
struct EagerOpRegister {
  EagerOpRegister(const char* type, EagerExecuteOp* (*make)());
};

}  // namespace ge

#define REG_AUTO_MAPPING_OP(type) \
  static const ge::EagerOpRegister eager_op_register_##type(#type, []() -> ge::EagerExecuteOp* { return new type; })
