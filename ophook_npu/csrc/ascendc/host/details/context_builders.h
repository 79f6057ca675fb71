// Builders of contexts: a program that tests a tiling or inference function describes a call with one, and calls the
// function with what it builds.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>  // tests use std::cout, and include nothing for it
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "contexts.h"

namespace gert {

// A context and what it points to, but for what the caller gave by a pointer. Empty where it could not be built.
template <typename T>
class ContextHolder {
 public:
  ContextHolder() = default;
  ContextHolder(T* context, std::shared_ptr<void> owner) : context_(context), owner_(std::move(owner)) {}
  ContextHolder(ContextHolder&& other) noexcept : context_(other.context_), owner_(std::move(other.owner_)) {
    other.context_ = nullptr;
  }
  ContextHolder& operator=(ContextHolder&& other) noexcept {
    std::swap(context_, other.context_), owner_.swap(other.owner_);
    return *this;
  }
  T* GetContext() const { return context_; }

 private:
  T* context_ = nullptr;
  std::shared_ptr<void> owner_;
};

namespace builders {

// What is told of a tensor before there is one; of some nothing is told.
struct Desc {
  ge::DataType type = ge::DT_UNDEFINED;
  StorageFormat format{ge::FORMAT_RESERVED, ge::FORMAT_RESERVED, {}};
};
inline void put(std::vector<Desc>& all, size_t i, ge::DataType type, ge::Format origin, ge::Format storage,
                const ExpandDimsType& expand) {
  if (i >= all.size()) all.resize(i + 1);
  all[i].type = type, all[i].format = StorageFormat(origin, storage, expand);
}

// One side of a call: how many tensors each parameter has, and the tensors or their descriptions.
struct Side {
  std::vector<uint32_t> counts;
  std::vector<Desc> descs;
  std::vector<Tensor*> tensors;
  bool of_tensors = false;  // each is one of the caller's
  // By their places: a shorter list leaves the rest of an earlier one, as programs rely on.
  void put(const std::vector<Tensor*>& given) {
    if (tensors.size() < given.size()) tensors.resize(given.size());
    std::copy(given.begin(), given.end(), tensors.begin());
  }
  size_t size() const {
    size_t all = 0;
    for (const uint32_t count : counts) all += count;
    return all;
  }
};

// Context and node have one life.
template <typename T>
struct Built {
  Node node;
  std::unique_ptr<T> context;
  std::shared_ptr<void> more;
};

inline void describe(const Side& side, Node& node, std::vector<Tensor*>& to, std::vector<CompileTimeTensorDesc>& descs,
                     std::vector<std::vector<int>>& ir, std::vector<int>& places) {
  for (const uint32_t count : side.counts) {
    ir.emplace_back();
    for (uint32_t i = 0; i < count; ++i) ir.back().push_back(int(places.size())), places.push_back(int(places.size()));
  }
  for (size_t i = 0; i < side.size(); ++i) {
    const Desc told = i < side.descs.size() ? side.descs[i] : Desc();
    if (side.of_tensors) to.push_back(i < side.tensors.size() ? side.tensors[i] : nullptr);
    else node.add(to, Tensor(StorageShape(), told.format, told.type));
    descs.emplace_back();
    CompileTimeTensorDesc& desc = descs.back();
    if (!to.back()) continue;
    desc.SetDataType(to.back()->GetDataType());
    desc.SetOriginFormat(to.back()->GetOriginFormat()), desc.SetStorageFormat(to.back()->GetStorageFormat());
    desc.SetExpandDimsType(to.back()->GetExpandDimsType());
  }
}

}  // namespace builders

template <typename T>
class OpContextBuilderBase {
 public:
  virtual ~OpContextBuilderBase() = default;
  T& OpType(const ge::AscendString& op_type) { return type_ = op_type.GetString(), self(); }
  T& OpName(const ge::AscendString& op_name) { return name_ = op_name.GetString(), self(); }
  // The first call of one of these two counts.
  T& IONum(size_t input_ir_num, size_t output_ir_num) {
    return IOInstanceNum(std::vector<uint32_t>(input_ir_num, 1), std::vector<uint32_t>(output_ir_num, 1));
  }
  T& IOInstanceNum(const std::vector<uint32_t>& input_instance_num, const std::vector<uint32_t>& output_instance_num) {
    if (!counted_) inputs_.counts = input_instance_num, outputs_.counts = output_instance_num;
    return counted_ = true, self();
  }
  T& AppendAttr(bool attr) { return append(AttrValue::of(attr)); }
  T& AppendAttr(int64_t attr) { return append(AttrValue::of(attr)); }
  T& AppendAttr(float attr) { return append(AttrValue::of(attr)); }
  T& AppendAttr(const ge::AscendString& attr) { return append(AttrValue::of(attr.GetString())); }
  T& AppendAttr(const std::vector<bool>& attr) { return append(AttrValue::of(attr)); }
  T& AppendAttr(const std::vector<int64_t>& attr) { return append(AttrValue::of(attr)); }
  T& AppendAttr(const std::vector<float>& attr) { return append(AttrValue::of(attr)); }
  T& AppendAttr(const std::vector<ge::AscendString>& attr) {
    std::vector<ophook::host::Text> texts;
    for (const ge::AscendString& one : attr) texts.emplace_back(one.GetString());
    return append(AttrValue::of(std::move(texts)));
  }
  T& AppendAttr(const std::vector<std::vector<int64_t>>& attr) { return append(AttrValue::of(attr)); }

 protected:
  OpContextBuilderBase() = default;
  T& self() { return static_cast<T&>(*this); }
  T& append(AttrValue value) { return attrs_.push_back(std::move(value)), self(); }
  bool refuse(const std::string& why) const {
    fprintf(stderr, "[simulated Ascend] Build of a context for %s: %s\n", type_.empty() ? name_.c_str() : type_.c_str(),
            why.c_str());
    return false;
  }
  // A call may be described in part: a tensor that is missing reads as null.
  bool possible() const {
    return counted_ ? matches("input", inputs_) && matches("output", outputs_)
                    : refuse("neither IONum nor IOInstanceNum was called");
  }
  // Null where there is no such call, with the reason on stderr.
  template <typename C>
  std::shared_ptr<builders::Built<C>> call() const {
    if (!possible()) return nullptr;
    auto built = std::make_shared<builders::Built<C>>();
    Node& node = built->node;
    node.type = type_, node.name = name_, node.attrs = RuntimeAttrs(attrs_);
    builders::describe(inputs_, node, node.inputs, node.input_descs, node.ir_inputs, node.input_places);
    builders::describe(outputs_, node, node.outputs, node.output_descs, node.ir_outputs, node.output_places);
    return built;
  }
  template <typename C, typename B>
  static ContextHolder<C> held(const std::shared_ptr<B>& built) {
    return built ? ContextHolder<C>(built->context.get(), built) : ContextHolder<C>();
  }
  builders::Side inputs_, outputs_;

 private:
  bool matches(const char* what, const builders::Side& side) const {
    const std::string one = what;
    const size_t found = side.of_tensors ? side.tensors.size() : side.descs.size();
    return found <= side.size() || refuse(std::to_string(found) + " " + one + "s are described; allowed: up to " +
                                          std::to_string(side.size()) + ", as IONum or IOInstanceNum says");
  }
  ophook::host::Text type_, name_;
  bool counted_ = false;
  std::vector<AttrValue> attrs_;
};

// What is not set reads as null or 0.
class OpTilingContextBuilder : public OpContextBuilderBase<OpTilingContextBuilder> {
 public:
  OpTilingContextBuilder() { inputs_.of_tensors = outputs_.of_tensors = true; }
  ~OpTilingContextBuilder() override = default;
  OpTilingContextBuilder& CompileInfo(const void* compile_info) {
    return compile_info_ = const_cast<void*>(compile_info), *this;
  }
  OpTilingContextBuilder& PlatformInfo(const void* platform_info) {
    return platform_ = static_cast<fe::PlatFormInfos*>(const_cast<void*>(platform_info)), *this;
  }
  OpTilingContextBuilder& Deterministic(int32_t deterministic) { return deterministic_ = deterministic, *this; }
  OpTilingContextBuilder& DeterministicLevel(int32_t level) { return deterministic_level_ = level, *this; }
  // The last call of one of these two counts.
  OpTilingContextBuilder& TilingData(const gert::TilingData* tiling_data, Chain::Deleter deleter = nullptr) {
    return tiling_data_ = const_cast<gert::TilingData*>(tiling_data), deleter_ = deleter, tiling_size_ = 0, *this;
  }
  OpTilingContextBuilder& TilingDataSize(size_t tiling_data_size) {
    return TilingData(nullptr), tiling_size_ = tiling_data_size, *this;
  }
  OpTilingContextBuilder& Workspace(const ContinuousVector* workspace) {
    return workspaces_ = const_cast<ContinuousVector*>(workspace), *this;
  }
  OpTilingContextBuilder& SimtBlockDim(const Dim3* block_dim) { return simt_block_ = block_dim, *this; }
  OpTilingContextBuilder& SimtGridDim(const Dim3* grid_dim) { return simt_grid_ = grid_dim, *this; }
  OpTilingContextBuilder& InputTensors(const std::vector<Tensor*>& inputs) { return inputs_.put(inputs), *this; }
  OpTilingContextBuilder& OutputTensors(const std::vector<Tensor*>& outputs) { return outputs_.put(outputs), *this; }
  ContextHolder<TilingContext> Build() {
    if (!compile_info_) return refuse("CompileInfo was given no pointer"), ContextHolder<TilingContext>();
    return held<TilingContext>(build());
  }

 protected:
  std::shared_ptr<builders::Built<TilingContext>> build() const {
    auto built = call<TilingContext>();
    if (!built) return nullptr;
    built->node.platform = platform_;
    built->context.reset(new TilingContext(built->node, tiling_size_));
    TilingContext& context = *built->context;
    context.built = true;
    context.compile_info = std::shared_ptr<void>(std::shared_ptr<void>(), compile_info_);
    context.deterministic = deterministic_, context.deterministic_level = deterministic_level_;
    context.given_tiling = tiling_data_, context.given_workspaces = workspaces_;
    context.simt_block.given = simt_block_, context.simt_grid.given = simt_grid_;
    if (tiling_data_ && deleter_) built->more.reset(static_cast<void*>(tiling_data_), deleter_);
    return built;
  }

 private:
  void* compile_info_ = nullptr;
  fe::PlatFormInfos* platform_ = nullptr;
  int32_t deterministic_ = 0, deterministic_level_ = 0;
  gert::TilingData* tiling_data_ = nullptr;
  Chain::Deleter deleter_ = nullptr;
  size_t tiling_size_ = 0;
  ContinuousVector* workspaces_ = nullptr;
  const Dim3 *simt_block_ = nullptr, *simt_grid_ = nullptr;
};

class OpTilingParseContextBuilder : public OpContextBuilderBase<OpTilingParseContextBuilder> {
 public:
  OpTilingParseContextBuilder() = default;
  ~OpTilingParseContextBuilder() override = default;
  OpTilingParseContextBuilder& InputTensorDesc(size_t index, ge::DataType dtype, ge::Format origin_format,
                                               ge::Format storage_format, const ExpandDimsType& expand_dims_type = {}) {
    return builders::put(inputs_.descs, index, dtype, origin_format, storage_format, expand_dims_type), *this;
  }
  OpTilingParseContextBuilder& OutputTensorDesc(size_t index, ge::DataType dtype, ge::Format origin_format,
                                                ge::Format storage_format,
                                                const ExpandDimsType& expand_dims_type = {}) {
    return builders::put(outputs_.descs, index, dtype, origin_format, storage_format, expand_dims_type), *this;
  }
  OpTilingParseContextBuilder& CompiledJson(const ge::char_t* compiled_json) { return json_ = compiled_json, *this; }
  OpTilingParseContextBuilder& CompiledInfo(const void* compile_info) { return info_ = compile_info, *this; }
  OpTilingParseContextBuilder& PlatformInfo(const void* platform_info) { return platform_ = platform_info, *this; }
  ContextHolder<TilingParseContext> Build() {
    auto built = call<TilingParseContext>();
    if (!built) return {};
    const auto plain = [](const void* pointer) { return const_cast<void*>(pointer); };
    const std::vector<void*> inputs{plain(json_), plain(platform_)}, outputs{plain(info_)};
    built->context.reset(new TilingParseContext(built->node, inputs, outputs));
    return held<TilingParseContext>(built);
  }

 private:
  const ge::char_t* json_ = nullptr;
  const void *info_ = nullptr, *platform_ = nullptr;
};

class OpKernelContextBuilder : public OpContextBuilderBase<OpKernelContextBuilder> {
 public:
  OpKernelContextBuilder() = default;
  ~OpKernelContextBuilder() override = default;
  OpKernelContextBuilder& InputTensorDesc(size_t index, ge::DataType dtype, ge::Format origin_format,
                                          ge::Format storage_format, const ExpandDimsType& expand_dims_type = {}) {
    return builders::put(inputs_.descs, index, dtype, origin_format, storage_format, expand_dims_type), *this;
  }
  OpKernelContextBuilder& OutputTensorDesc(size_t index, ge::DataType dtype, ge::Format origin_format,
                                           ge::Format storage_format, const ExpandDimsType& expand_dims_type = {}) {
    return builders::put(outputs_.descs, index, dtype, origin_format, storage_format, expand_dims_type), *this;
  }
  OpKernelContextBuilder& Inputs(std::vector<void*> inputs) { return in_ = std::move(inputs), *this; }
  OpKernelContextBuilder& Outputs(std::vector<void*> outputs) { return out_ = std::move(outputs), *this; }
  // As a TilingParse function is given one, too: its pointers are Inputs and Outputs.
  ContextHolder<KernelContext> Build() {
    auto built = call<TilingParseContext>();
    if (built) built->context.reset(new TilingParseContext(built->node, in_, out_));
    return held<KernelContext>(built);
  }

 private:
  std::vector<void*> in_, out_;
};

class OpInferShapeContextBuilder : public OpContextBuilderBase<OpInferShapeContextBuilder> {
 public:
  OpInferShapeContextBuilder() { inputs_.of_tensors = true; }
  ~OpInferShapeContextBuilder() override = default;
  OpInferShapeContextBuilder& OutputTensorDesc(size_t index, ge::DataType dtype, ge::Format origin_format,
                                               ge::Format storage_format, const ExpandDimsType& expand_dims_type = {}) {
    return builders::put(outputs_.descs, index, dtype, origin_format, storage_format, expand_dims_type), *this;
  }
  OpInferShapeContextBuilder& InputTensors(const std::vector<Tensor*>& inputs) { return inputs_.put(inputs), *this; }
  ContextHolder<InferShapeContext> Build() {
    auto built = call<InferShapeContext>();
    if (built) built->context.reset(new InferShapeContext(built->node));
    return held<InferShapeContext>(built);
  }
};

class OpInferShapeRangeContextBuilder : public OpContextBuilderBase<OpInferShapeRangeContextBuilder> {
 public:
  OpInferShapeRangeContextBuilder() { inputs_.of_tensors = true; }
  ~OpInferShapeRangeContextBuilder() override = default;
  OpInferShapeRangeContextBuilder& OutputTensorDesc(size_t index, ge::DataType dtype, ge::Format origin_format,
                                                    ge::Format storage_format,
                                                    const ExpandDimsType& expand_dims_type = {}) {
    return builders::put(outputs_.descs, index, dtype, origin_format, storage_format, expand_dims_type), *this;
  }
  OpInferShapeRangeContextBuilder& InputTensorsRange(const std::vector<Range<Tensor>*>& inputs) {
    ranges_.clear(), inputs_.tensors.clear();
    for (Range<Tensor>* range : inputs) {
      ranges_.push_back(range ? *range : TensorRange());
      const bool whole = ranges_.back().GetMin() && ranges_.back().GetMax();
      inputs_.tensors.push_back(whole ? ranges_.back().GetMin() : nullptr);
    }
    return *this;
  }
  ContextHolder<InferShapeRangeContext> Build() {
    for (const Tensor* least : inputs_.tensors)
      if (!least) return refuse("a range has no least or no greatest"), ContextHolder<InferShapeRangeContext>();
    auto built = call<InferShapeRangeContext>();
    if (built) built->context.reset(new InferShapeRangeContext(built->node, ranges_));
    return held<InferShapeRangeContext>(built);
  }

 private:
  std::vector<TensorRange> ranges_;
};

class OpInferDataTypeContextBuilder : public OpContextBuilderBase<OpInferDataTypeContextBuilder> {
 public:
  OpInferDataTypeContextBuilder() = default;
  ~OpInferDataTypeContextBuilder() override = default;
  OpInferDataTypeContextBuilder& InputTensorDesc(size_t index, ge::DataType dtype, ge::Format origin_format,
                                                 ge::Format storage_format,
                                                 const ExpandDimsType& expand_dims_type = {}) {
    return builders::put(inputs_.descs, index, dtype, origin_format, storage_format, expand_dims_type), *this;
  }
  // Its type is what the function finds.
  OpInferDataTypeContextBuilder& OutputTensorDesc(size_t index, ge::Format origin_format, ge::Format storage_format,
                                                  const ExpandDimsType& expand_dims_type = {}) {
    return builders::put(outputs_.descs, index, ge::DT_MAX, origin_format, storage_format, expand_dims_type), *this;
  }
  ContextHolder<InferDataTypeContext> Build() {
    auto built = call<InferDataTypeContext>();
    if (built) built->context.reset(new InferDataTypeContext(built->node));
    return held<InferDataTypeContext>(built);
  }
};

}  // namespace gert
