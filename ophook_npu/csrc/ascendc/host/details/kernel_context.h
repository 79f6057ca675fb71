// What all contexts of the host side have in common: the call of an operator, and pointers by their numbers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attributes.h"
#include "platform_infos.h"

namespace gert {

// Anything: a pointer to it, or itself where it is no longer than a pointer.
class Chain {
 public:
  using Deleter = void (*)(void*);
  Chain() = default;
  Chain(Chain&& other) noexcept : data_(other.data_), deleter_(other.deleter_) { other.deleter_ = nullptr; }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;
  ~Chain() { Set(nullptr, nullptr); }
  static constexpr bool is_inline(size_t size) { return size <= sizeof(void*); }
  template <typename T>
  const T* GetPointer() const {
    return static_cast<const T*>(is_inline(sizeof(T)) ? static_cast<const void*>(&data_) : data_);
  }
  template <typename T>
  T* GetPointer() {
    return const_cast<T*>(static_cast<const Chain*>(this)->GetPointer<T>());
  }
  template <typename T>
  const T& GetValue() const {
    static_assert(is_inline(sizeof(T)), "longer than a pointer");
    return *GetPointer<T>();
  }
  template <typename T>
  T& GetValue() {
    static_assert(is_inline(sizeof(T)), "longer than a pointer");
    return *GetPointer<T>();
  }
  void Set(void* data, Deleter deleter) {
    if (deleter_) deleter_(data_);
    data_ = data, deleter_ = deleter;
  }
  template <typename T>
  void SetWithDefaultDeleter(T* data) {
    Set(data, [](void* old) { delete static_cast<T*>(old); });
  }
  bool HasDeleter() const { return deleter_ != nullptr; }
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
  Deleter deleter_ = nullptr;
};

class KernelExtendInfo;

class KernelContext {
 public:
  KernelContext() = default;
  KernelContext(const KernelContext&) = delete;
  KernelContext& operator=(const KernelContext&) = delete;
  static bool IsInlineSize(size_t size) { return Chain::is_inline(size); }
  size_t GetInputNum() const { return inputs_.size(); }
  size_t GetOutputNum() const { return outputs_.size(); }
  const Chain* GetInput(size_t i) const { return i < inputs_.size() ? &inputs_[i] : nullptr; }
  Chain* MutableInput(size_t i) { return i < inputs_.size() ? &inputs_[i] : nullptr; }
  const Chain* GetOutput(size_t i) const { return i < outputs_.size() ? &outputs_[i] : nullptr; }
  Chain* GetOutput(size_t i) { return i < outputs_.size() ? &outputs_[i] : nullptr; }
  template <typename T>
  const T* GetInputPointer(size_t i) const {
    return i < inputs_.size() ? inputs_[i].GetPointer<T>() : nullptr;
  }
  template <typename T>
  T* MutableInputPointer(size_t i) {
    return i < inputs_.size() ? inputs_[i].GetPointer<T>() : nullptr;
  }
  template <typename T>
  T GetInputValue(size_t i) const {
    return i < inputs_.size() ? inputs_[i].GetValue<T>() : T{};
  }
  const char* GetInputStrPointer(size_t i) const {
    return i < inputs_.size() ? static_cast<const char*>(inputs_[i].get()) : nullptr;
  }
  template <typename T>
  const T* GetOutputPointer(size_t i) const {
    return i < outputs_.size() ? outputs_[i].GetPointer<T>() : nullptr;
  }
  template <typename T>
  T* GetOutputPointer(size_t i) {
    return i < outputs_.size() ? outputs_[i].GetPointer<T>() : nullptr;
  }
  const void* GetComputeNodeExtend() const { return node_info_; }
  const void* GetKernelExtend() const { return nullptr; }  // as ExtendedKernelContext::GetExtendInfo

 protected:
  static void set(std::vector<Chain>& chains, const std::vector<void*>& pointers) {
    chains.clear();
    for (void* pointer : pointers) chains.emplace_back(), chains.back().Set(pointer, nullptr);
  }
  std::vector<Chain> inputs_, outputs_;
  const void* node_info_ = nullptr;
};

// One call of the operator. "ir" counts the parameters of the prototype, "i" the tensors that are there.
struct Node {
  ophook::host::Text name, type;
  std::vector<Tensor*> inputs, outputs;  // of `own`, or of who built the context
  std::vector<std::unique_ptr<Tensor>> own;
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
  static const Tensor* one_of(const std::vector<Tensor*>& all, const std::vector<int>& places, size_t i) {
    return get(all, at(places, i));
  }
  static Tensor* get(const std::vector<Tensor*>& all, size_t i) { return i < all.size() ? all[i] : nullptr; }
  // One more, to `inputs` or `outputs`.
  Tensor& add(std::vector<Tensor*>& to, Tensor&& tensor) {
    own.emplace_back(new Tensor(std::move(tensor)));
    return to.push_back(own.back().get()), *own.back();
  }
  std::vector<CompileTimeTensorDesc> input_descs, output_descs;
  RuntimeAttrs attrs{{}};
  std::unique_ptr<fe::PlatFormInfos> own_platform;
  fe::PlatFormInfos* platform = nullptr;
};

// Which tensors one parameter stands for.
class AnchorInstanceInfo {
 public:
  AnchorInstanceInfo() = default;
  AnchorInstanceInfo(uint32_t start, uint32_t count) : start_(start), count_(count) {}
  size_t GetInstanceNum() const { return count_; }
  size_t GetInstanceStart() const { return start_; }
  void SetInstanceStart(uint32_t start) { start_ = start; }
  void SetInstantiationNum(uint32_t count) { count_ = count; }

 private:
  uint32_t start_ = 0, count_ = 0;
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
    uint32_t start = 0;
    for (const auto& tensors : parameters) {
      const auto count = static_cast<uint32_t>(tensors.size());
      all.emplace_back(start, count), start += count;
    }
    return all;
  }
  const Node& node_;
  const std::vector<AnchorInstanceInfo> inputs_, outputs_;
};

class ExtendedKernelContext : public KernelContext {
 public:
  explicit ExtendedKernelContext(Node& node) : node_(node), info_(node) { node_info_ = &info_; }
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
  // Of the kernel of an executing graph that a context belongs to; here it belongs to none.
  const KernelExtendInfo* GetExtendInfo() const { return nullptr; }
  const ge::char_t* GetKernelName() const { return nullptr; }
  const ge::char_t* GetKernelType() const { return nullptr; }
  size_t GetIrInputInstanceNum(size_t ir) const { return ir < node_.ir_inputs.size() ? node_.ir_inputs[ir].size() : 0; }

 protected:
  // Which tensor the i-th of a parameter of the prototype is; a number that no tensor has where there is none.
  static size_t place(const std::vector<std::vector<int>>& parameters, size_t ir, size_t i) {
    return ir < parameters.size() && i < parameters[ir].size() ? static_cast<size_t>(parameters[ir][i]) : SIZE_MAX;
  }
  size_t place(size_t ir, size_t i) const { return place(node_.ir_inputs, ir, i); }
  const Tensor* instance(size_t ir, size_t i) const { return Node::get(node_.inputs, place(ir, i)); }
  Node& node_;

 private:
  const ComputeNodeInfo info_;
};

}  // namespace gert
