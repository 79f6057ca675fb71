// What the host side of an operator is given: shapes, attributes, and where its results go.
#pragma once

#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "tensors.h"

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
  // What CANN has in a file for each processor, by section and key; false: it has no such line. One that is not known
  // here is told, since no answer is an answer: that the processor lacks something.
  bool GetPlatformRes(const std::string& label, const std::string& key, std::string& value) const {
    struct Product {
      const char* begins;
      int architecture;  // which of the four in platform.inc
    };
    const Product products[] = {
        {"Ascend910_93", 0}, {"Ascend910B", 0}, {"Ascend950", 1}, {"Ascend310P", 2}, {"Ascend310B", 3}};
    const Product* product = products;
    while (product != std::end(products) && soc.rfind(product->begins, 0)) ++product;
    if (label == "version" && key == "SoC_version") return value = soc, true;
    if (product != std::end(products)) {
      if (label == "version" && key == "Short_SoC_version") return value = product->begins, true;
#define TELLS(section, name, field) \
  if (label == section && key == name) return value = std::to_string(field), true;
#define OF_ARCHITECTURE(section, name, ...)                     \
  if (label == section && key == name) {                        \
    const char* const told[] = {__VA_ARGS__};                   \
    return value = told[product->architecture], !value.empty(); \
  }
#include "platform.inc"
#undef OF_ARCHITECTURE
#undef TELLS
    }
    fprintf(stderr, "[simulated Ascend] GetPlatformRes: %s of %s is not known\n", key.c_str(), label.c_str());
    return false;
  }
  bool GetPlatformResWithLock(const std::string& label, const std::string& key, std::string& value) const {
    return GetPlatformRes(label, key, value);
  }
};
using PlatformInfo = PlatFormInfos;
}  // namespace fe

namespace gert {

// An attribute's value. Lists are kept as the image in memory that a tiling function is shown.
struct AttrValue {
  enum Kind { kNone, kInt, kFloat, kBool, kText, kInts, kFloats, kBools, kIntLists } kind = kNone;
  int64_t whole = 0;
  float real = 0;
  bool flag = false;
  std::string text;
  std::vector<int64_t> wholes;  // of all lists, one behind the other
  std::vector<float> reals;
  std::vector<size_t> lengths;  // of the lists in a list
  std::vector<uint64_t> image;

  void make_image() {
    switch (kind) {
      case kInts: return put(wholes);
      case kFloats: return put(reals);
      case kBools: return put(std::vector<char>(wholes.begin(), wholes.end()));
      case kIntLists: return put_lists();
      default: return;
    }
  }

 private:
  template <typename T>
  static void copy(const T* from, size_t count, ContinuousVector* to) {
    (void)to->SetSize(count);
    if (count) std::memcpy(to->MutableData(), from, count * sizeof(T));
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    image.assign((sizeof(ContinuousVector) + values.size() * sizeof(T) + 7) / 8, 0);
    auto* list = reinterpret_cast<ContinuousVector*>(image.data());
    list->Init(values.size()), copy(values.data(), values.size(), list);
  }
  void put_lists() {
    size_t bytes = ContinuousVectorVector::GetOverHeadLength(lengths.size());
    for (const size_t length : lengths) bytes += sizeof(ContinuousVector) + length * sizeof(int64_t);
    image.assign(bytes / 8, 0);
    auto* lists = reinterpret_cast<ContinuousVectorVector*>(image.data());
    lists->Init(lengths.size());
    const int64_t* from = wholes.data();
    for (const size_t length : lengths) copy(from, length, lists->Add<int64_t>(length)), from += length;
  }
};

class RuntimeAttrs {
 public:
  explicit RuntimeAttrs(std::vector<AttrValue> values) : values_(std::move(values)) {
    for (AttrValue& value : values_) value.make_image();
  }
  size_t GetAttrNum() const { return values_.size(); }
  const int64_t* GetInt(size_t i) const { return is(i, AttrValue::kInt) ? &values_[i].whole : nullptr; }
  const float* GetFloat(size_t i) const { return is(i, AttrValue::kFloat) ? &values_[i].real : nullptr; }
  const bool* GetBool(size_t i) const { return is(i, AttrValue::kBool) ? &values_[i].flag : nullptr; }
  const char* GetStr(size_t i) const { return is(i, AttrValue::kText) ? values_[i].text.c_str() : nullptr; }
  const TypedContinuousVector<int64_t>* GetListInt(size_t i) const {
    return image<TypedContinuousVector<int64_t>>(i, AttrValue::kInts);
  }
  const TypedContinuousVector<float>* GetListFloat(size_t i) const {
    return image<TypedContinuousVector<float>>(i, AttrValue::kFloats);
  }
  const ContinuousVectorVector* GetListListInt(size_t i) const {
    return image<ContinuousVectorVector>(i, AttrValue::kIntLists);
  }
  const ContinuousVectorVector* GetListListFloat(size_t) const { return nullptr; }  // no OpDef can declare one
  // What the attribute's value lies in, taken as T.
  template <typename T>
  const T* GetAttrPointer(size_t i) const {
    if (i >= values_.size()) return nullptr;
    const AttrValue& value = values_[i];
    const void* at = value.kind == AttrValue::kInt     ? static_cast<const void*>(&value.whole)
                     : value.kind == AttrValue::kFloat ? &value.real
                     : value.kind == AttrValue::kBool  ? &value.flag
                     : value.kind == AttrValue::kText  ? value.text.c_str()
                     : value.image.empty()             ? nullptr
                                                       : static_cast<const void*>(value.image.data());
    return static_cast<const T*>(at);
  }

 private:
  bool is(size_t i, AttrValue::Kind kind) const { return i < values_.size() && values_[i].kind == kind; }
  template <typename T>
  const T* image(size_t i, AttrValue::Kind kind) const {
    return is(i, kind) ? reinterpret_cast<const T*>(values_[i].image.data()) : nullptr;
  }
  std::vector<AttrValue> values_;
};

class TilingData {
 public:
  TilingData(const TilingData&) = delete;
  TilingData& operator=(const TilingData&) = delete;
  static ge::graphStatus CalcTotalSize(size_t capacity, size_t& total_size) {
    return ge::AddOverflow(capacity, sizeof(TilingData), total_size) ? ge::GRAPH_FAILED : ge::GRAPH_SUCCESS;
  }
  static std::unique_ptr<uint8_t[]> CreateCap(size_t capacity) {
    size_t total = 0;
    if (CalcTotalSize(capacity, total) != ge::GRAPH_SUCCESS) return nullptr;
    std::unique_ptr<uint8_t[]> memory(new (std::nothrow) uint8_t[total]());
    if (memory) reinterpret_cast<TilingData*>(memory.get())->Init(capacity, memory.get() + sizeof(TilingData));
    return memory;
  }
  void Init(size_t capacity, void* data) { capacity_ = capacity, size_ = 0, data_ = data; }
  void* GetData() { return data_; }
  const void* GetData() const { return data_; }
  size_t GetCapacity() const { return capacity_; }
  size_t GetDataSize() const { return size_; }
  void SetDataSize(size_t size) { size_ = size; }
  void* Expand(size_t size) {
    if (size > capacity_ || size_ > capacity_ - size) return nullptr;
    void* at = static_cast<uint8_t*>(data_) + size_;
    return size_ += size, at;
  }
  template <typename T, typename std::enable_if<std::is_standard_layout<T>::value, int>::type = 0>
  ge::graphStatus Append(const T& data) {
    return Append(&data, 1);
  }
  template <typename T, typename std::enable_if<std::is_standard_layout<T>::value, int>::type = 0>
  ge::graphStatus Append(const T* data, size_t append_num) {
    size_t bytes = 0;
    void* to = ge::MulOverflow(append_num, sizeof(T), bytes) ? nullptr : Expand(bytes);
    if (!to) return ge::GRAPH_FAILED;
    std::memcpy(to, data, bytes);
    return ge::GRAPH_SUCCESS;
  }

 private:
  friend class TilingContext;
  TilingData() = default;
  size_t capacity_ = 0, size_ = 0;
  void* data_ = nullptr;
};
template <typename T>
TilingData& operator<<(TilingData& out, const T& data) {
  return (void)out.Append(data), out;
}

// One call of the operator. "ir" counts the parameters of the prototype, "i" the tensors that are there.
struct Node {
  std::string name, type;
  std::vector<Tensor> inputs, outputs;
  std::vector<std::vector<int>> ir_inputs, ir_outputs;  // which tensors each parameter stands for
  std::vector<int> input_places, output_places;         // the tensor at each place, -1: one that is absent kept it
  static size_t at(const std::vector<int>& places, size_t i) {
    return i < places.size() && places[i] >= 0 ? static_cast<size_t>(places[i]) : SIZE_MAX;
  }
  template <typename T>
  static const T* one_of(const std::vector<T>& all, const std::vector<int>& places, size_t i) {
    const size_t found = at(places, i);
    return found < all.size() ? &all[found] : nullptr;
  }
  std::vector<CompileTimeTensorDesc> input_descs, output_descs;
  RuntimeAttrs attrs{{}};
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
    return Node::one_of(node_.input_descs, node_.input_places, i);
  }
  const CompileTimeTensorDesc* GetOutputTdInfo(size_t i) const {
    return Node::one_of(node_.output_descs, node_.output_places, i);
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
  const CompileTimeTensorDesc* GetOptionalInputDesc(size_t ir) const { return GetDynamicInputDesc(ir, 0); }
  const CompileTimeTensorDesc* GetDynamicInputDesc(size_t ir, size_t i) const {
    const size_t at = place(ir, i);
    return at < node_.input_descs.size() ? &node_.input_descs[at] : nullptr;
  }
  const AnchorInstanceInfo* GetIrInputInstanceInfo(size_t ir) const { return info_.GetInputInstanceInfo(ir); }
  const AnchorInstanceInfo* GetIrOutputInstanceInfo(size_t ir) const { return info_.GetOutputInstanceInfo(ir); }
  size_t GetIrInputInstanceNum(size_t ir) const { return ir < node_.ir_inputs.size() ? node_.ir_inputs[ir].size() : 0; }

 protected:
  // Which tensor the i-th of a parameter of the prototype is; a number that no tensor has where there is none.
  static size_t place(const std::vector<std::vector<int>>& parameters, size_t ir, size_t i) {
    return ir < parameters.size() && i < parameters[ir].size() ? static_cast<size_t>(parameters[ir][i]) : SIZE_MAX;
  }
  size_t place(size_t ir, size_t i) const { return place(node_.ir_inputs, ir, i); }
  const Tensor* instance(size_t ir, size_t i) const {
    const size_t at = place(ir, i);
    return at < node_.inputs.size() ? &node_.inputs[at] : nullptr;
  }
  Node& node_;

 private:
  const ComputeNodeInfo info_;
};

class TilingContext : public ExtendedKernelContext {
 public:
  explicit TilingContext(Node& node) : ExtendedKernelContext(node), bytes_(64 * 1024) {
    tiling_.Init(bytes_.size(), bytes_.data());
  }
  const StorageShape* GetInputShape(size_t i) const { return shape_of(GetInputTensor(i)); }
  const StorageShape* GetOutputShape(size_t i) const {
    return shape_of(Node::one_of(node_.outputs, node_.output_places, i));
  }
  const Tensor* GetInputTensor(size_t i) const { return Node::one_of(node_.inputs, node_.input_places, i); }
  const Tensor* GetRequiredInputTensor(size_t ir) const { return instance(ir, 0); }
  const Tensor* GetOptionalInputTensor(size_t ir) const { return instance(ir, 0); }
  const Tensor* GetDynamicInputTensor(size_t ir, size_t i) const { return instance(ir, i); }
  const StorageShape* GetRequiredInputShape(size_t ir) const { return GetOptionalInputShape(ir); }
  const StorageShape* GetOptionalInputShape(size_t ir) const { return GetDynamicInputShape(ir, 0); }
  const StorageShape* GetDynamicInputShape(size_t ir, size_t i) const { return shape_of(instance(ir, i)); }
  // Every tensor that is tiled here is contiguous, and carries no strides.
  const Stride* GetInputStride(size_t) const { return nullptr; }
  const Stride* GetRequiredInputStride(size_t) const { return nullptr; }
  const Stride* GetOptionalInputStride(size_t) const { return nullptr; }
  const Stride* GetDynamicInputStride(size_t, size_t) const { return nullptr; }
  const Stride* GetOutputStride(size_t) const { return nullptr; }
  int64_t GetInputOffset(size_t) const { return -1; }
  int64_t GetRequiredInputOffset(size_t) const { return -1; }
  int64_t GetOptionalInputOffset(size_t) const { return -1; }
  int64_t GetDynamicInputOffset(size_t, size_t) const { return -1; }
  int64_t GetOutputOffset(size_t) const { return -1; }
  bool InputIsView(size_t) const { return false; }
  bool RequiredInputIsView(size_t) const { return false; }
  bool OptionalInputIsView(size_t) const { return false; }
  bool DynamicInputIsView(size_t, size_t) const { return false; }
  bool OutputIsView(size_t) const { return false; }
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
  ge::graphStatus SetSimdNumBlocks(uint32_t blocks) { return SetBlockDim(blocks); }
  uint32_t GetSimdNumBlocks() const { return block_dim; }
  // Cores of the AI CPU, whose part of a collective is the library's here.
  ge::graphStatus SetAicpuBlockDim(uint32_t blocks) { return aicpu_block_dim = blocks, ge::GRAPH_SUCCESS; }
  uint32_t GetAicpuBlockDim() const { return aicpu_block_dim; }
  ge::graphStatus SetTilingKey(uint64_t key) { return tiling_key = key, ge::GRAPH_SUCCESS; }
  uint64_t GetTilingKey() const { return tiling_key; }
  size_t* GetWorkspaceSizes(size_t count) { return workspaces.resize(count), workspaces.data(); }
  size_t GetWorkspaceNum() const { return workspaces.size(); }
  ge::graphStatus SetScheduleMode(uint32_t mode) { return schedule_mode = mode, ge::GRAPH_SUCCESS; }
  uint32_t GetScheduleMode() const { return schedule_mode; }
  ge::graphStatus SetNeedAtomic(bool atomic) { return need_atomic = atomic, ge::GRAPH_SUCCESS; }
  bool NeedAtomic() const { return need_atomic; }
  ge::graphStatus SetTilingCond(int32_t cond) { return tiling_cond = cond, ge::GRAPH_SUCCESS; }
  int32_t GetTilingCond() const { return tiling_cond; }
  // What a kernel for threads (SIMT) asks for; none of these is run here.
  ge::graphStatus SetLocalMemorySize(uint32_t bytes) { return local_memory = bytes, ge::GRAPH_SUCCESS; }
  uint32_t GetLocalMemorySize() const { return local_memory; }
  int32_t GetDeterministic() const { return 0; }
  int32_t GetDeterministicLevel() const { return 0; }
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

 private:
  static const StorageShape* shape_of(const Tensor* tensor) { return tensor ? &tensor->GetShape() : nullptr; }
  std::vector<uint8_t> bytes_;
  TilingData tiling_;
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
    return i < node_.inputs.size() ? &node_.inputs[i].GetOriginShape() : nullptr;
  }
  Shape* GetOutputShape(size_t i) {
    return i < node_.outputs.size() ? &node_.outputs[i].MutableOriginShape() : nullptr;
  }
  const Tensor* GetInputTensor(size_t i) const { return i < node_.inputs.size() ? &node_.inputs[i] : nullptr; }
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
// here calls one. They speak of a call whose shapes are known: the least and the greatest are the same.
class InferShapeRangeContext : public ExtendedKernelContext {
 public:
  explicit InferShapeRangeContext(Node& node) : ExtendedKernelContext(node), greatest_(node.outputs.size()) {
    for (Tensor& tensor : node.inputs) {
      shapes_.emplace_back(&tensor.MutableOriginShape());
      tensors_.emplace_back(&tensor);
    }
    for (size_t i = 0; i < greatest_.size(); ++i)
      outputs_.emplace_back(&node.outputs[i].MutableOriginShape(), &greatest_[i]);
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
  std::vector<Shape> greatest_;
  std::vector<Range<Shape>> shapes_, outputs_;
  std::vector<TensorRange> tensors_;
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
  static StorageFormat* format_of(std::vector<Tensor>& tensors, size_t i) {
    return i < tensors.size() ? &tensors[i].MutableFormat() : nullptr;
  }
};

class OpCheckContext : public ExtendedKernelContext {
 public:
  using ExtendedKernelContext::ExtendedKernelContext;
  const StorageShape* GetInputShape(int64_t i) const { return shape_of(node_.inputs, i); }
  const StorageShape* GetOutputShape(int64_t i) const { return shape_of(node_.outputs, i); }

 private:
  static const StorageShape* shape_of(const std::vector<Tensor>& tensors, int64_t i) {
    return i >= 0 && static_cast<size_t>(i) < tensors.size() ? &tensors[static_cast<size_t>(i)].GetShape() : nullptr;
  }
};

class InferDataTypeContext : public ExtendedKernelContext {
 public:
  using ExtendedKernelContext::ExtendedKernelContext;
  ge::DataType GetInputDataType(size_t i) const {
    return i < node_.inputs.size() ? node_.inputs[i].GetDataType() : ge::DT_UNDEFINED;
  }
  ge::DataType GetOptionalInputDataType(size_t ir) const { return GetDynamicInputDataType(ir, 0); }
  ge::DataType GetRequiredInputDataType(size_t ir) const { return GetDynamicInputDataType(ir, 0); }
  ge::DataType GetDynamicInputDataType(size_t ir, size_t i) const {
    const Tensor* tensor = instance(ir, i);
    return tensor ? tensor->GetDataType() : ge::DT_UNDEFINED;
  }
  ge::DataType GetOutputDataType(size_t i) const {
    return i < node_.outputs.size() ? node_.outputs[i].GetDataType() : ge::DT_UNDEFINED;
  }
  ge::graphStatus SetOutputDataType(size_t i, ge::DataType dtype) {
    if (i >= node_.outputs.size()) return ge::GRAPH_FAILED;
    node_.outputs[i].SetDataType(dtype);
    node_.output_descs[i].SetDataType(dtype);
    return ge::GRAPH_SUCCESS;
  }
};

}  // namespace gert
