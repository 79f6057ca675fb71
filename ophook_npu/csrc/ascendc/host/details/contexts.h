// What the host side of an operator is given: shapes, attributes, and where its results go.
#pragma once

#include <memory>
#include <vector>

#include "../../../include/securec.h"  // host code calls memset_s and its like, and includes nothing for them
#include "kernel_context.h"

namespace gert {

// Of a kernel for threads: how many a block has, how many blocks a grid.
struct Dim3 {
  uint32_t x, y, z;
  Dim3(uint32_t dim3_x, uint32_t dim3_y = 1, uint32_t dim3_z = 1) : x(dim3_x), y(dim3_y), z(dim3_z) {}
};

class TilingContext : public ExtendedKernelContext {
 public:
  explicit TilingContext(Node& node) : TilingContext(node, size_t{64} * 1024) {}
  TilingContext(Node& node, size_t tiling_data_size) : ExtendedKernelContext(node), bytes_(tiling_data_size) {
    own_tiling_.Init(bytes_.size(), bytes_.data());
  }
  const StorageShape* GetInputShape(size_t i) const { return shape_of(GetInputTensor(i)); }
  const StorageShape* GetOutputShape(size_t i) const { return shape_of(output(i)); }
  const Tensor* GetInputTensor(size_t i) const { return Node::one_of(node_.inputs, node_.input_places, i); }
  const Tensor* GetRequiredInputTensor(size_t ir) const { return instance(ir, 0); }
  const Tensor* GetOptionalInputTensor(size_t ir) const { return instance(ir, 0); }
  const Tensor* GetDynamicInputTensor(size_t ir, size_t i) const { return instance(ir, i); }
  const StorageShape* GetRequiredInputShape(size_t ir) const { return GetOptionalInputShape(ir); }
  const StorageShape* GetOptionalInputShape(size_t ir) const { return GetDynamicInputShape(ir, 0); }
  const StorageShape* GetDynamicInputShape(size_t ir, size_t i) const { return shape_of(instance(ir, i)); }
  // Tensors of a call are contiguous and carry no strides; those of who builds a context may be others (TensorV2).
  const Stride* GetInputStride(size_t i) const { return stride_of(GetInputTensor(i)); }
  const Stride* GetRequiredInputStride(size_t ir) const { return stride_of(instance(ir, 0)); }
  const Stride* GetOptionalInputStride(size_t ir) const { return stride_of(instance(ir, 0)); }
  const Stride* GetDynamicInputStride(size_t ir, size_t i) const { return stride_of(instance(ir, i)); }
  const Stride* GetOutputStride(size_t i) const { return stride_of(output(i)); }
  int64_t GetInputOffset(size_t i) const { return offset_of(GetInputTensor(i)); }
  int64_t GetRequiredInputOffset(size_t ir) const { return offset_of(instance(ir, 0)); }
  int64_t GetOptionalInputOffset(size_t ir) const { return offset_of(instance(ir, 0)); }
  int64_t GetDynamicInputOffset(size_t ir, size_t i) const { return offset_of(instance(ir, i)); }
  int64_t GetOutputOffset(size_t i) const { return offset_of(output(i)); }
  bool InputIsView(size_t i) const { return GetInputStride(i) != nullptr; }
  bool RequiredInputIsView(size_t ir) const { return GetRequiredInputStride(ir) != nullptr; }
  bool OptionalInputIsView(size_t ir) const { return GetOptionalInputStride(ir) != nullptr; }
  bool DynamicInputIsView(size_t ir, size_t i) const { return GetDynamicInputStride(ir, i) != nullptr; }
  bool OutputIsView(size_t i) const { return GetOutputStride(i) != nullptr; }
  fe::PlatFormInfos* GetPlatformInfo() const { return node_.platform; }
  TilingData* GetRawTilingData() { return given_tiling ? given_tiling : bytes_.empty() ? nullptr : &own_tiling_; }
  template <typename T>
  T* GetTilingData() {
    TilingData* data = GetRawTilingData();
    if (!data || data->GetCapacity() < sizeof(T)) return nullptr;
    data->SetDataSize(sizeof(T));
    return static_cast<T*>(data->GetData());
  }
  ge::graphStatus SetBlockDim(uint32_t blocks) { return block_dim = blocks, ge::GRAPH_SUCCESS; }
  uint32_t GetBlockDim() const { return block_dim; }
  ge::graphStatus SetSimdNumBlocks(uint32_t blocks) { return SetBlockDim(blocks); }
  uint32_t GetSimdNumBlocks() const { return block_dim; }
  // Cores of the AI CPU, whose part of a collective is the library's here.
  ge::graphStatus SetAicpuBlockDim(uint32_t blocks) { return aicpu_block_dim = blocks, ge::GRAPH_SUCCESS; }
  uint32_t GetAicpuBlockDim() const { return aicpu_block_dim; }
  ge::graphStatus SetAicpuNumBlocks(uint32_t blocks) { return SetAicpuBlockDim(blocks); }
  uint32_t GetAicpuNumBlocks() const { return aicpu_block_dim; }
  ge::graphStatus SetTilingKey(uint64_t key) { return tiling_key = key, ge::GRAPH_SUCCESS; }
  uint64_t GetTilingKey() const { return tiling_key; }
  // Null where who built the context has fewer, or gave none (Workspace).
  size_t* GetWorkspaceSizes(size_t count) {
    if (!built) return workspaces.resize(count), workspaces.data();
    const bool fit = given_workspaces && given_workspaces->SetSize(count) == ge::GRAPH_SUCCESS;
    return fit ? static_cast<size_t*>(given_workspaces->MutableData()) : nullptr;
  }
  size_t GetWorkspaceNum() const {
    if (!built) return workspaces.size();
    return given_workspaces ? given_workspaces->GetSize() : 0;
  }
  ge::graphStatus SetScheduleMode(uint32_t mode) { return schedule_mode = mode, ge::GRAPH_SUCCESS; }
  uint32_t GetScheduleMode() const { return schedule_mode; }
  ge::graphStatus SetNeedAtomic(bool atomic) { return need_atomic = atomic, ge::GRAPH_SUCCESS; }
  bool NeedAtomic() const { return need_atomic; }
  ge::graphStatus SetTilingCond(int32_t cond) { return tiling_cond = cond, ge::GRAPH_SUCCESS; }
  int32_t GetTilingCond() const { return tiling_cond; }
  // What a kernel for threads (SIMT) asks for; none of these is run here.
  ge::graphStatus SetDynUBufSize(uint32_t bytes) { return local_memory = bytes, ge::GRAPH_SUCCESS; }
  uint32_t GetDynUBufSize() const { return local_memory; }
  ge::graphStatus SetLocalMemorySize(uint32_t bytes) { return SetDynUBufSize(bytes); }
  uint32_t GetLocalMemorySize() const { return local_memory; }
  ge::graphStatus SetSimtBlockDim(const Dim3& dim) { return simt_block.set(dim), ge::GRAPH_SUCCESS; }
  const Dim3* GetSimtBlockDim() const { return simt_block.given; }
  ge::graphStatus SetSimtGridDim(const Dim3& dim) { return simt_grid.set(dim), ge::GRAPH_SUCCESS; }
  const Dim3* GetSimtGridDim() const { return simt_grid.given; }
  int32_t GetDeterministic() const { return deterministic; }
  int32_t GetDeterministicLevel() const { return deterministic_level; }
  const void* GetCompileInfo() const { return compile_info.get(); }
  template <typename T>
  const T* GetCompileInfo() const {
    return static_cast<const T*>(compile_info.get());
  }

  uint32_t block_dim = 0, aicpu_block_dim = 0, schedule_mode = 0, local_memory = 0;
  int32_t tiling_cond = -1;
  bool need_atomic = false;
  uint64_t tiling_key = 0;
  std::vector<size_t> workspaces;
  std::shared_ptr<void> compile_info;
  int32_t deterministic = 0, deterministic_level = 0;
  // Null before anybody sets one.
  struct SimtDim {
    Dim3 own{0, 0, 0};
    const Dim3* given = nullptr;
    void set(const Dim3& dim) { own = dim, given = &own; }
  } simt_block, simt_grid;
  // Of who built the context, in place of our own.
  bool built = false;
  TilingData* given_tiling = nullptr;
  ContinuousVector* given_workspaces = nullptr;

 private:
  const Tensor* output(size_t i) const { return Node::one_of(node_.outputs, node_.output_places, i); }
  static const StorageShape* shape_of(const Tensor* tensor) { return tensor ? &tensor->GetShape() : nullptr; }
  static const Stride* stride_of(const Tensor* tensor) {
    const TensorV2* later = TensorV2::of(tensor);
    return later ? &later->GetStride() : nullptr;
  }
  static int64_t offset_of(const Tensor* tensor) {
    const TensorV2* later = TensorV2::of(tensor);
    return later ? later->GetOffset() : -1;
  }
  std::vector<uint8_t> bytes_;
  TilingData own_tiling_;
};

// Input 0 is the JSON that a compiler of kernels wrote, input 1 the processor, output 0 what the function fills in.
class TilingParseContext : public ExtendedKernelContext {
 public:
  TilingParseContext(Node& node, const std::vector<void*>& inputs, const std::vector<void*>& outputs)
      : ExtendedKernelContext(node) {
    set(inputs_, inputs), set(outputs_, outputs);
  }
  const ge::char_t* GetCompiledJson() const { return GetInputStrPointer(0); }
  fe::PlatFormInfos* GetPlatformInfo() const {
    return GetInputNum() > 1 ? static_cast<fe::PlatFormInfos*>(GetInput(1)->get()) : nullptr;
  }
  template <typename T>
  T* GetCompiledInfo() const {
    return GetOutputNum() > 0 ? static_cast<T*>(GetOutput(0)->get()) : nullptr;
  }
};

class InferShapeContext : public ExtendedKernelContext {
 public:
  using ExtendedKernelContext::ExtendedKernelContext;
  const Shape* GetInputShape(size_t i) const {
    const Tensor* tensor = GetInputTensor(i);
    return tensor ? &tensor->GetOriginShape() : nullptr;
  }
  Shape* GetOutputShape(size_t i) {
    Tensor* tensor = Node::get(node_.outputs, i);
    return tensor ? &tensor->MutableOriginShape() : nullptr;
  }
  const Tensor* GetInputTensor(size_t i) const { return Node::get(node_.inputs, i); }
  const Shape* GetRequiredInputShape(size_t ir) const { return GetOptionalInputShape(ir); }
  const Shape* GetOptionalInputShape(size_t ir) const { return GetDynamicInputShape(ir, 0); }
  const Shape* GetDynamicInputShape(size_t ir, size_t i) const {
    const Tensor* tensor = instance(ir, i);
    return tensor ? &tensor->GetOriginShape() : nullptr;
  }
  const Tensor* GetRequiredInputTensor(size_t ir) const { return instance(ir, 0); }
  const Tensor* GetOptionalInputTensor(size_t ir) const { return instance(ir, 0); }
  const Tensor* GetDynamicInputTensor(size_t ir, size_t i) const { return instance(ir, i); }
};

// The contexts below are those of functions that only a graph of unknown shapes or a choice of formats calls; nothing
// here calls one. They speak of a call whose shapes are known, of which the least and the greatest are the same, or of
// the ranges that who builds a context gives.
class InferShapeRangeContext : public ExtendedKernelContext {
 public:
  explicit InferShapeRangeContext(Node& node) : InferShapeRangeContext(node, same(node.inputs)) {}
  InferShapeRangeContext(Node& node, std::vector<TensorRange> inputs)
      : ExtendedKernelContext(node), greatest_(node.outputs.size()), tensors_(std::move(inputs)) {
    for (TensorRange& range : tensors_)
      shapes_.emplace_back(&range.GetMin()->MutableOriginShape(), &range.GetMax()->MutableOriginShape());
    for (size_t i = 0; i < greatest_.size(); ++i)
      outputs_.emplace_back(&node.outputs[i]->MutableOriginShape(), &greatest_[i]);
  }
  const Range<Shape>* GetInputShapeRange(size_t i) const { return i < shapes_.size() ? &shapes_[i] : nullptr; }
  const Range<Shape>* GetRequiredInputShapeRange(size_t ir) const { return GetDynamicInputShapeRange(ir, 0); }
  const Range<Shape>* GetOptionalInputShapeRange(size_t ir) const { return GetDynamicInputShapeRange(ir, 0); }
  const Range<Shape>* GetDynamicInputShapeRange(size_t ir, size_t i) const { return GetInputShapeRange(place(ir, i)); }
  const TensorRange* GetInputTensorRange(size_t i) const { return i < tensors_.size() ? &tensors_[i] : nullptr; }
  const TensorRange* GetRequiredInputTensorRange(size_t ir) const { return GetDynamicInputTensorRange(ir, 0); }
  const TensorRange* GetOptionalInputTensorRange(size_t ir) const { return GetDynamicInputTensorRange(ir, 0); }
  const TensorRange* GetDynamicInputTensorRange(size_t ir, size_t i) const { return GetInputTensorRange(place(ir, i)); }
  Range<Shape>* GetOutputShapeRange(size_t i) { return i < outputs_.size() ? &outputs_[i] : nullptr; }

 private:
  static std::vector<TensorRange> same(const std::vector<Tensor*>& tensors) {
    std::vector<TensorRange> ranges;
    for (Tensor* tensor : tensors) ranges.emplace_back(tensor);
    return ranges;
  }
  std::vector<Shape> greatest_;
  std::vector<TensorRange> tensors_;
  std::vector<Range<Shape>> shapes_, outputs_;
};

class InferFormatContext : public InferShapeContext {
 public:
  using InferShapeContext::InferShapeContext;
  StorageFormat* GetInputFormat(size_t i) { return format_of(node_.inputs, i); }
  StorageFormat* GetRequiredInputFormat(size_t ir) { return GetDynamicInputFormat(ir, 0); }
  StorageFormat* GetOptionalInputFormat(size_t ir) { return GetDynamicInputFormat(ir, 0); }
  StorageFormat* GetDynamicInputFormat(size_t ir, size_t i) { return GetInputFormat(place(ir, i)); }
  StorageFormat* GetOutputFormat(size_t i) { return format_of(node_.outputs, i); }
  StorageFormat* GetRequiredOutputFormat(size_t ir) { return GetDynamicOutputFormat(ir, 0); }
  StorageFormat* GetDynamicOutputFormat(size_t ir, size_t i) { return GetOutputFormat(place(node_.ir_outputs, ir, i)); }

 private:
  Shape* GetOutputShape(size_t) = delete;
  static StorageFormat* format_of(const std::vector<Tensor*>& tensors, size_t i) {
    Tensor* tensor = Node::get(tensors, i);
    return tensor ? &tensor->MutableFormat() : nullptr;
  }
};

class OpCheckContext : public ExtendedKernelContext {
 public:
  using ExtendedKernelContext::ExtendedKernelContext;
  const StorageShape* GetInputShape(int64_t i) const { return shape_of(node_.inputs, i); }
  const StorageShape* GetOutputShape(int64_t i) const { return shape_of(node_.outputs, i); }

 private:
  static const StorageShape* shape_of(const std::vector<Tensor*>& tensors, int64_t i) {
    const Tensor* tensor = i < 0 ? nullptr : Node::get(tensors, static_cast<size_t>(i));
    return tensor ? &tensor->GetShape() : nullptr;
  }
};

class InferDataTypeContext : public ExtendedKernelContext {
 public:
  using ExtendedKernelContext::ExtendedKernelContext;
  ge::DataType GetInputDataType(size_t i) const { return type_of(Node::get(node_.inputs, i)); }
  ge::DataType GetOptionalInputDataType(size_t ir) const { return GetDynamicInputDataType(ir, 0); }
  ge::DataType GetRequiredInputDataType(size_t ir) const { return GetDynamicInputDataType(ir, 0); }
  ge::DataType GetDynamicInputDataType(size_t ir, size_t i) const { return type_of(instance(ir, i)); }
  ge::DataType GetOutputDataType(size_t i) const { return type_of(Node::get(node_.outputs, i)); }
  ge::graphStatus SetOutputDataType(size_t i, ge::DataType dtype) {
    if (i >= node_.outputs.size()) return ge::GRAPH_FAILED;
    node_.outputs[i]->SetDataType(dtype);
    node_.output_descs[i].SetDataType(dtype);
    return ge::GRAPH_SUCCESS;
  }

 private:
  static ge::DataType type_of(const Tensor* tensor) { return tensor ? tensor->GetDataType() : ge::DT_UNDEFINED; }
};

}  // namespace gert
