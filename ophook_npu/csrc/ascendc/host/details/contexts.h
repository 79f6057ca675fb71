// What the host side of an operator is given: shapes, attributes, and where its results go.
#pragma once

#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "graph_types.h"

namespace fe {
enum class LocalMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, RESERVED };
// What is known about the processor; made by the runtime.
struct PlatFormInfos {
  std::string soc;
  uint32_t cube_cores = 0, vector_cores = 0;
  uint64_t ub = 0, l1 = 0, l0a = 0, l0b = 0, l0c = 0, l2 = 0, hbm = 0;

  uint32_t GetCoreNum() const { return cube_cores ? cube_cores : vector_cores; }
  void GetLocalMemSize(const LocalMemType& type, uint64_t& size) const {
    const uint64_t sizes[] = {l0a, l0b, l0c, l1, l2, ub, hbm};
    size = type < LocalMemType::RESERVED ? sizes[int(type)] : 0;
  }
};
using PlatformInfo = PlatFormInfos;
}  // namespace fe

namespace gert {

class Shape {
 public:
  static constexpr size_t kMaxDimNum = 25;
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) {
    for (const int64_t dim : dims) AppendDim(dim);
  }
  size_t GetDimNum() const { return count_; }
  void SetDimNum(size_t count) { count_ = count < kMaxDimNum ? count : kMaxDimNum; }
  int64_t GetDim(size_t i) const { return i < count_ ? dims_[i] : -1; }
  void SetDim(size_t i, int64_t dim) {
    if (i < kMaxDimNum) dims_[i] = dim;
  }
  Shape& AppendDim(int64_t dim) {
    if (count_ < kMaxDimNum) dims_[count_++] = dim;
    return *this;
  }
  int64_t operator[](size_t i) const { return dims_[i]; }
  int64_t& operator[](size_t i) { return dims_[i]; }
  int64_t GetShapeSize() const {
    int64_t size = 1;
    for (size_t i = 0; i < count_; ++i) size *= dims_[i];
    return size;
  }
  bool IsScalar() const { return count_ == 0; }
  void SetScalar() { count_ = 0; }
  bool operator==(const Shape& other) const {
    return count_ == other.count_ && std::memcmp(dims_, other.dims_, count_ * sizeof(int64_t)) == 0;
  }
  bool operator!=(const Shape& other) const { return !(*this == other); }

 private:
  size_t count_ = 0;
  int64_t dims_[kMaxDimNum] = {};
};

class StorageShape {
 public:
  StorageShape() = default;
  StorageShape(const Shape& origin, const Shape& storage) : origin_(origin), storage_(storage) {}
  const Shape& GetOriginShape() const { return origin_; }
  const Shape& GetStorageShape() const { return storage_; }
  Shape& MutableOriginShape() { return origin_; }
  Shape& MutableStorageShape() { return storage_; }

 private:
  Shape origin_, storage_;
};

class CompileTimeTensorDesc {
 public:
  ge::DataType GetDataType() const { return dtype; }
  ge::Format GetOriginFormat() const { return format; }
  ge::Format GetStorageFormat() const { return format; }
  struct Both {
    ge::Format both;
    ge::Format GetStorageFormat() const { return both; }
    ge::Format GetOriginFormat() const { return both; }
  };
  Both GetFormat() const { return {format}; }
  ge::DataType dtype = ge::DT_UNDEFINED;
  ge::Format format = ge::FORMAT_ND;
};

// A tensor whose values the host may read where the operator said ValueDepend; elsewhere its data is null.
class Tensor {
 public:
  const Shape& GetOriginShape() const { return shape.GetOriginShape(); }
  const Shape& GetStorageShape() const { return shape.GetStorageShape(); }
  const StorageShape& GetShape() const { return shape; }
  int64_t GetShapeSize() const { return shape.GetStorageShape().GetShapeSize(); }
  ge::DataType GetDataType() const { return desc.dtype; }
  ge::Format GetStorageFormat() const { return desc.format; }
  ge::Format GetOriginFormat() const { return desc.format; }
  template <typename T>
  const T* GetData() const {
    return static_cast<const T*>(data);
  }
  const void* GetAddr() const { return data; }
  size_t GetSize() const {
    return static_cast<size_t>(GetShapeSize()) * static_cast<size_t>(ge::GetSizeByDataType(desc.dtype));
  }
  StorageShape shape;
  CompileTimeTensorDesc desc;
  const void* data = nullptr;
};

template <typename T>
class TypedContinuousVector {
 public:
  size_t GetSize() const { return values.size(); }
  const T* GetData() const { return values.data(); }
  std::vector<T> values;
};
using ContinuousVector = TypedContinuousVector<int64_t>;

struct AttrValue {
  enum Kind { kNone, kInt, kFloat, kBool, kText, kInts, kFloats } kind = kNone;
  int64_t whole = 0;
  float real = 0;
  bool flag = false;
  std::string text;
  TypedContinuousVector<int64_t> wholes;
  TypedContinuousVector<float> reals;
};
class RuntimeAttrs {
 public:
  size_t GetAttrNum() const { return values.size(); }
  const int64_t* GetInt(size_t i) const { return is(i, AttrValue::kInt) ? &values[i].whole : nullptr; }
  const float* GetFloat(size_t i) const { return is(i, AttrValue::kFloat) ? &values[i].real : nullptr; }
  const bool* GetBool(size_t i) const { return is(i, AttrValue::kBool) ? &values[i].flag : nullptr; }
  const char* GetStr(size_t i) const { return is(i, AttrValue::kText) ? values[i].text.c_str() : nullptr; }
  const TypedContinuousVector<int64_t>* GetListInt(size_t i) const {
    return is(i, AttrValue::kInts) ? &values[i].wholes : nullptr;
  }
  const TypedContinuousVector<float>* GetListFloat(size_t i) const {
    return is(i, AttrValue::kFloats) ? &values[i].reals : nullptr;
  }
  template <typename T>
  const T* GetAttrPointer(size_t i) const {
    if constexpr (std::is_same_v<T, float>) return GetFloat(i);
    else if constexpr (std::is_same_v<T, bool>) return GetBool(i);
    else if constexpr (std::is_same_v<T, char>) return GetStr(i);
    else if constexpr (std::is_same_v<T, gert::ContinuousVector>) return GetListInt(i);
    else if constexpr (std::is_same_v<T, TypedContinuousVector<float>>) return GetListFloat(i);
    else if constexpr (sizeof(T) == 8) return reinterpret_cast<const T*>(GetInt(i));
    else return is(i, AttrValue::kInt) ? reinterpret_cast<const T*>(&values[i].whole) : nullptr;
  }
  bool is(size_t i, AttrValue::Kind kind) const { return i < values.size() && values[i].kind == kind; }
  std::vector<AttrValue> values;
};

class TilingData {
 public:
  explicit TilingData(size_t capacity) : bytes_(capacity) {}
  void* GetData() { return bytes_.data(); }
  const void* GetData() const { return bytes_.data(); }
  size_t GetCapacity() const { return bytes_.size(); }
  size_t GetDataSize() const { return size_; }
  void SetDataSize(size_t size) { size_ = size; }

 private:
  std::vector<uint8_t> bytes_;
  size_t size_ = 0;
};

// One call of the operator. "ir" counts the parameters of the prototype, "i" the tensors that are there.
struct Node {
  std::string name, type;
  std::vector<Tensor> inputs, outputs;
  std::vector<std::vector<int>> ir_inputs, ir_outputs;  // which tensors each parameter stands for
  RuntimeAttrs attrs;
  fe::PlatFormInfos platform;
};

// Which tensors one parameter stands for.
class AnchorInstanceInfo {
 public:
  AnchorInstanceInfo(size_t start, size_t count) : start_(start), count_(count) {}
  size_t GetInstanceNum() const { return count_; }
  size_t GetInstanceStart() const { return start_; }

 private:
  size_t start_, count_;
};

class ComputeNodeInfo {
 public:
  explicit ComputeNodeInfo(const Node& node)
      : node_(node), inputs_(instances(node.ir_inputs)), outputs_(instances(node.ir_outputs)) {}
  const char* GetNodeName() const { return node_.name.c_str(); }
  const char* GetNodeType() const { return node_.type.c_str(); }
  size_t GetIrInputsNum() const { return inputs_.size(); }
  size_t GetIrOutputsNum() const { return outputs_.size(); }
  size_t GetInputsNum() const { return node_.inputs.size(); }
  size_t GetOutputsNum() const { return node_.outputs.size(); }
  const AnchorInstanceInfo* GetInputInstanceInfo(size_t ir) const {
    return ir < inputs_.size() ? &inputs_[ir] : nullptr;
  }
  const AnchorInstanceInfo* GetOutputInstanceInfo(size_t ir) const {
    return ir < outputs_.size() ? &outputs_[ir] : nullptr;
  }
  const CompileTimeTensorDesc* GetInputTdInfo(size_t i) const {
    return i < node_.inputs.size() ? &node_.inputs[i].desc : nullptr;
  }
  const CompileTimeTensorDesc* GetOutputTdInfo(size_t i) const {
    return i < node_.outputs.size() ? &node_.outputs[i].desc : nullptr;
  }
  const RuntimeAttrs* GetAttrs() const { return &node_.attrs; }

 private:
  static std::vector<AnchorInstanceInfo> instances(const std::vector<std::vector<int>>& parameters) {
    std::vector<AnchorInstanceInfo> all;
    size_t start = 0;
    for (const auto& tensors : parameters) all.emplace_back(start, tensors.size()), start += tensors.size();
    return all;
  }
  const Node& node_;
  const std::vector<AnchorInstanceInfo> inputs_, outputs_;
};

class ExtendedKernelContext {
 public:
  explicit ExtendedKernelContext(Node& node) : node_(node), info_(node) {}
  const ComputeNodeInfo* GetComputeNodeInfo() const { return &info_; }
  const char* GetNodeName() const { return node_.name.c_str(); }
  const char* GetNodeType() const { return node_.type.c_str(); }
  const RuntimeAttrs* GetAttrs() const { return &node_.attrs; }
  size_t GetComputeNodeInputNum() const { return node_.inputs.size(); }
  size_t GetComputeNodeOutputNum() const { return node_.outputs.size(); }
  const CompileTimeTensorDesc* GetInputDesc(size_t i) const { return info_.GetInputTdInfo(i); }
  const CompileTimeTensorDesc* GetOutputDesc(size_t i) const { return info_.GetOutputTdInfo(i); }
  const CompileTimeTensorDesc* GetRequiredInputDesc(size_t ir) const { return GetOptionalInputDesc(ir); }
  const CompileTimeTensorDesc* GetOptionalInputDesc(size_t ir) const {
    const Tensor* tensor = instance(ir, 0);
    return tensor ? &tensor->desc : nullptr;
  }
  const CompileTimeTensorDesc* GetDynamicInputDesc(size_t ir, size_t i) const {
    const Tensor* tensor = instance(ir, i);
    return tensor ? &tensor->desc : nullptr;
  }
  size_t GetIrInputInstanceNum(size_t ir) const { return ir < node_.ir_inputs.size() ? node_.ir_inputs[ir].size() : 0; }

 protected:
  const Tensor* instance(size_t ir, size_t i) const {
    if (ir >= node_.ir_inputs.size() || i >= node_.ir_inputs[ir].size()) return nullptr;
    return &node_.inputs[static_cast<size_t>(node_.ir_inputs[ir][i])];
  }
  Node& node_;

 private:
  const ComputeNodeInfo info_;
};

class TilingContext : public ExtendedKernelContext {
 public:
  using ExtendedKernelContext::ExtendedKernelContext;
  const StorageShape* GetInputShape(size_t i) const {
    return i < node_.inputs.size() ? &node_.inputs[i].shape : nullptr;
  }
  const StorageShape* GetOutputShape(size_t i) const {
    return i < node_.outputs.size() ? &node_.outputs[i].shape : nullptr;
  }
  const Tensor* GetInputTensor(size_t i) const { return i < node_.inputs.size() ? &node_.inputs[i] : nullptr; }
  const Tensor* GetRequiredInputTensor(size_t ir) const { return instance(ir, 0); }
  const Tensor* GetOptionalInputTensor(size_t ir) const { return instance(ir, 0); }
  const Tensor* GetDynamicInputTensor(size_t ir, size_t i) const { return instance(ir, i); }
  const StorageShape* GetRequiredInputShape(size_t ir) const { return GetOptionalInputShape(ir); }
  const StorageShape* GetOptionalInputShape(size_t ir) const {
    const Tensor* tensor = instance(ir, 0);
    return tensor ? &tensor->shape : nullptr;
  }
  const StorageShape* GetDynamicInputShape(size_t ir, size_t i) const {
    const Tensor* tensor = instance(ir, i);
    return tensor ? &tensor->shape : nullptr;
  }
  fe::PlatFormInfos* GetPlatformInfo() const { return &node_.platform; }
  TilingData* GetRawTilingData() { return &tiling_; }
  template <typename T>
  T* GetTilingData() {
    if (tiling_.GetCapacity() < sizeof(T)) return nullptr;
    tiling_.SetDataSize(sizeof(T));
    return static_cast<T*>(tiling_.GetData());
  }
  ge::graphStatus SetBlockDim(uint32_t blocks) { return block_dim = blocks, ge::GRAPH_SUCCESS; }
  uint32_t GetBlockDim() const { return block_dim; }
  ge::graphStatus SetTilingKey(uint64_t key) { return tiling_key = key, ge::GRAPH_SUCCESS; }
  uint64_t GetTilingKey() const { return tiling_key; }
  size_t* GetWorkspaceSizes(size_t count) { return workspaces.resize(count), workspaces.data(); }
  size_t GetWorkspaceNum() const { return workspaces.size(); }
  ge::graphStatus SetScheduleMode(uint32_t mode) { return schedule_mode = mode, ge::GRAPH_SUCCESS; }
  ge::graphStatus SetNeedAtomic(bool) { return ge::GRAPH_SUCCESS; }
  ge::graphStatus SetLocalMemorySize(uint32_t) { return ge::GRAPH_SUCCESS; }
  int32_t GetDeterministic() const { return 0; }
  const void* GetCompileInfo() const { return compile_info.get(); }
  template <typename T>
  const T* GetCompileInfo() const {
    return static_cast<const T*>(compile_info.get());
  }

  uint32_t block_dim = 0, schedule_mode = 0;
  uint64_t tiling_key = 0;
  std::vector<size_t> workspaces;
  std::shared_ptr<void> compile_info;

 private:
  TilingData tiling_{64 * 1024};
};

class TilingParseContext : public ExtendedKernelContext {
 public:
  using ExtendedKernelContext::ExtendedKernelContext;
  fe::PlatFormInfos* GetPlatformInfo() const { return &node_.platform; }
  template <typename T>
  T* GetCompiledInfo() const {
    return static_cast<T*>(compile_info);
  }
  void* compile_info = nullptr;
};

class InferShapeContext : public ExtendedKernelContext {
 public:
  using ExtendedKernelContext::ExtendedKernelContext;
  const Shape* GetInputShape(size_t i) const {
    return i < node_.inputs.size() ? &node_.inputs[i].shape.GetOriginShape() : nullptr;
  }
  Shape* GetOutputShape(size_t i) {
    return i < node_.outputs.size() ? &node_.outputs[i].shape.MutableOriginShape() : nullptr;
  }
  const Tensor* GetInputTensor(size_t i) const { return i < node_.inputs.size() ? &node_.inputs[i] : nullptr; }
  const Shape* GetRequiredInputShape(size_t ir) const { return GetOptionalInputShape(ir); }
  const Shape* GetOptionalInputShape(size_t ir) const { return GetDynamicInputShape(ir, 0); }
  const Shape* GetDynamicInputShape(size_t ir, size_t i) const {
    const Tensor* tensor = instance(ir, i);
    return tensor ? &tensor->shape.GetOriginShape() : nullptr;
  }
  const Tensor* GetOptionalInputTensor(size_t ir) const { return instance(ir, 0); }
};

class InferDataTypeContext : public ExtendedKernelContext {
 public:
  using ExtendedKernelContext::ExtendedKernelContext;
  ge::DataType GetInputDataType(size_t i) const {
    return i < node_.inputs.size() ? node_.inputs[i].desc.dtype : ge::DT_UNDEFINED;
  }
  ge::DataType GetOptionalInputDataType(size_t ir) const { return GetDynamicInputDataType(ir, 0); }
  ge::DataType GetRequiredInputDataType(size_t ir) const { return GetDynamicInputDataType(ir, 0); }
  ge::DataType GetDynamicInputDataType(size_t ir, size_t i) const {
    const Tensor* tensor = instance(ir, i);
    return tensor ? tensor->desc.dtype : ge::DT_UNDEFINED;
  }
  ge::DataType GetOutputDataType(size_t i) const {
    return i < node_.outputs.size() ? node_.outputs[i].desc.dtype : ge::DT_UNDEFINED;
  }
  ge::graphStatus SetOutputDataType(size_t i, ge::DataType dtype) {
    if (i >= node_.outputs.size()) return ge::GRAPH_FAILED;
    node_.outputs[i].desc.dtype = dtype;
    return ge::GRAPH_SUCCESS;
  }
};

}  // namespace gert
