// What the guide of tiling tests has: a context for a tiling function, and the function out of an operators' library.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "context_builders.h"
#include "op_libraries.h"
#include "platform_files.h"

namespace context_ascendc {

using TilingFunc = ge::graphStatus (*)(gert::TilingContext*);

class OpTilingRegistry {
 public:
  OpTilingRegistry() = default;
  ~OpTilingRegistry() = default;
  TilingFunc GetTilingFunc(const char* type) const {
    const gert::OpImplFunctionsV2* found = type ? libraries_->GetOpImpl(type) : nullptr;
    return found ? found->tiling : nullptr;
  }
  bool LoadTilingLibrary(const char* path) const {
    return libraries_->AddSoToRegistry({ge::AscendString(path ? path : ""), "tiling"}) == ge::GRAPH_SUCCESS;
  }

 private:
  std::shared_ptr<gert::OpImplSpaceRegistryV2> libraries_ = std::make_shared<gert::OpImplSpaceRegistryV2>();
};

// What was built, with all that the builder owned.
struct KernelRunContextHolder {
  // Null where a context of another kind was built.
  template <typename T>
  T* GetContext() const {
    return as(static_cast<T*>(nullptr));
  }
  gert::ComputeNodeInfo* MutableComputeNodeInfo() {
    const auto* context = GetContext<gert::ExtendedKernelContext>();
    return const_cast<gert::ComputeNodeInfo*>(context->GetComputeNodeInfo());
  }
  gert::TilingContext* tiling = nullptr;
  gert::TilingParseContext* kernel = nullptr;
  std::vector<std::shared_ptr<void>> owned;

 private:
  gert::TilingContext* as(gert::TilingContext*) const { return tiling; }
  gert::TilingParseContext* as(gert::TilingParseContext*) const { return kernel; }
  gert::ExtendedKernelContext* as(gert::ExtendedKernelContext*) const {
    if (tiling) return tiling;
    return kernel;
  }
  gert::KernelContext* as(gert::KernelContext*) const { return GetContext<gert::ExtendedKernelContext>(); }
};

class ContextBuilder : private gert::OpTilingContextBuilder {
  using Base = gert::OpTilingContextBuilder;

 public:
  ContextBuilder() = default;
  // Parameters of the prototype; IrInstanceNum says how many tensors each input has.
  ContextBuilder& NodeIoNum(size_t inputs, size_t outputs) { return ir_inputs_ = inputs, ir_outputs_ = outputs, *this; }
  ContextBuilder& IrInstanceNum(std::vector<uint32_t> counts) { return counts_ = std::move(counts), *this; }
  ContextBuilder& SetOpNameType(const std::string& name, const std::string& type) {
    return (void)OpName(name.c_str()).OpType(type.c_str()), *this;
  }
  ContextBuilder& AddInputTd(int32_t index, ge::DataType dtype, ge::Format origin, ge::Format storage,
                             gert::StorageShape shape) {
    return add(in_, index, dtype, origin, storage, shape, nullptr), *this;
  }
  // The values are floats where the type is half or bfloat16.
  ContextBuilder& AddInputTd(int32_t index, ge::DataType dtype, ge::Format origin, ge::Format storage,
                             gert::StorageShape shape, void* values) {
    const int64_t count = shape.GetStorageShape().GetShapeSize(), bytes = ophook::host::bytes_of(count, dtype);
    if (!values || bytes < 0) return wrong("AddInputTd was given no values of a data type whose size is known");
    auto memory = std::make_shared<std::vector<uint8_t>>(size_t(bytes) + 1);  // one more: never empty
    const auto* floats = static_cast<const float*>(values);
    auto* small = reinterpret_cast<uint16_t*>(memory->data());
    if (dtype == ge::DT_FLOAT16) std::transform(floats, floats + count, small, ophook::host::to_half);
    else if (dtype == ge::DT_BF16) std::transform(floats, floats + count, small, ophook::host::to_bfloat16);
    else std::memcpy(memory->data(), values, size_t(bytes));
    owned_.push_back(memory);
    return add(in_, index, dtype, origin, storage, shape, memory->data()), *this;
  }
  // A file of the values as they lie in memory.
  ContextBuilder& AddInputTd(int32_t index, ge::DataType dtype, ge::Format origin, ge::Format storage,
                             gert::StorageShape shape, const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const int64_t bytes = ophook::host::bytes_of(shape.GetStorageShape().GetShapeSize(), dtype);
    auto memory =
        std::make_shared<std::vector<char>>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (!file || int64_t(memory->size()) != bytes)
      return wrong("AddInputTd: " + path + " has " + std::to_string(memory->size()) + " bytes; the tensor takes " +
                   std::to_string(bytes));
    owned_.push_back(memory);
    return add(in_, index, dtype, origin, storage, shape, memory->data()), *this;
  }
  ContextBuilder& AddOutputTd(int32_t index, ge::DataType dtype, ge::Format origin, ge::Format storage,
                              gert::StorageShape shape) {
    return add(out_, index, dtype, origin, storage, shape, nullptr), *this;
  }
  ContextBuilder& AddAttr(const std::string& name, int64_t value) { return attr(name, value); }
  ContextBuilder& AddAttr(const std::string& name, int value) { return attr(name, int64_t{value}); }
  ContextBuilder& AddAttr(const std::string& name, bool value) { return attr(name, value); }
  ContextBuilder& AddAttr(const std::string& name, const std::string& value) {
    return attr(name, ge::AscendString(value.c_str()));
  }
  ContextBuilder& AddAttr(const std::string& name, const char* value) { return attr(name, ge::AscendString(value)); }
  ContextBuilder& AddAttr(const std::string& name, float value) { return attr(name, value); }
  ContextBuilder& AddAttr(const std::string& name, const std::vector<float>& value) { return attr(name, value); }
  ContextBuilder& AddAttr(const std::string& name, const std::vector<bool>& value) { return attr(name, value); }
  ContextBuilder& AddAttr(const std::string& name, const std::vector<int64_t>& value) { return attr(name, value); }
  ContextBuilder& AddAttr(const std::string& name, const std::vector<std::string>& value) {
    std::vector<ge::AscendString> texts;
    for (const std::string& one : value) texts.emplace_back(one.c_str());
    return attr(name, texts);
  }
  ContextBuilder& AddAttr(const std::string& name, const std::vector<std::vector<int64_t>>& value) {
    return attr(name, value);
  }
  ContextBuilder& CompileInfo(void* info) { return (void)Base::CompileInfo(info), *this; }
  ContextBuilder& PlatformInfo(void* infos) { return (void)Base::PlatformInfo(infos), *this; }
  // By its name, or null for that of the device. Where it is not known stderr says so, and there is none.
  ContextBuilder& AddPlatformInfo(const char* soc) {
    auto infos = std::make_shared<fe::PlatFormInfos>();
    owned_.push_back(infos);
    return PlatformInfo(ophook::host::read_platform(soc, *infos) ? infos.get() : nullptr);
  }
  ContextBuilder& TilingData(void* data) { return (void)Base::TilingData(static_cast<gert::TilingData*>(data)), *this; }
  ContextBuilder& Workspace(gert::ContinuousVector* sizes) { return (void)Base::Workspace(sizes), *this; }
  ContextBuilder& Inputs(std::vector<void*> inputs) { return pointers_in_ = std::move(inputs), *this; }
  ContextBuilder& Outputs(std::vector<void*> outputs) { return pointers_out_ = std::move(outputs), *this; }
  // Null, with the reason on stderr, where the call is not described in full.
  std::shared_ptr<KernelRunContextHolder> BuildTilingContext() {
    if (!describe()) return nullptr;
    return hold(build(), &KernelRunContextHolder::tiling);
  }
  std::shared_ptr<KernelRunContextHolder> BuildKernelRunContext() {
    if (!describe()) return nullptr;
    auto built = call<gert::TilingParseContext>();
    if (built) built->context.reset(new gert::TilingParseContext(built->node, pointers_in_, pointers_out_));
    return hold(built, &KernelRunContextHolder::kernel);
  }

 private:
  using Tensors = std::vector<std::shared_ptr<gert::Tensor>>;
  ContextBuilder& wrong(const std::string& why) { return wrong_ = why, *this; }
  template <typename T>
  ContextBuilder& attr(const std::string& name, const T& value) {
    if (std::find(names_.begin(), names_.end(), name) != names_.end())
      return wrong("AddAttr was called twice for " + name);
    names_.push_back(name);
    return (void)AppendAttr(value), *this;
  }
  void add(Tensors& to, int32_t index, ge::DataType dtype, ge::Format origin, ge::Format storage,
           const gert::StorageShape& shape, void* data) {
    if (index < 0) return (void)wrong("the index of a tensor is " + std::to_string(index));
    if (size_t(index) >= to.size()) to.resize(size_t(index) + 1);
    to[size_t(index)] = std::make_shared<gert::Tensor>(shape, gert::StorageFormat(origin, storage, {}),
                                                       data ? gert::kOnHost : gert::kOnDeviceHbm, dtype, data);
  }
  bool describe() {
    if (!wrong_.empty()) return refuse(wrong_);
    if (counts_.size() != ir_inputs_)
      return refuse("IrInstanceNum tells of " + std::to_string(counts_.size()) + " inputs, NodeIoNum of " +
                    std::to_string(ir_inputs_));
    IOInstanceNum(counts_, std::vector<uint32_t>(ir_outputs_, 1));
    const auto pointers = [](const Tensors& tensors) {
      std::vector<gert::Tensor*> all;
      for (const auto& tensor : tensors) all.push_back(tensor.get());
      return all;
    };
    InputTensors(pointers(in_)), OutputTensors(pointers(out_));
    return true;
  }
  template <typename B, typename T>
  std::shared_ptr<KernelRunContextHolder> hold(const std::shared_ptr<B>& built, T* KernelRunContextHolder::* as) const {
    if (!built) return nullptr;
    auto holder = std::make_shared<KernelRunContextHolder>();
    holder.get()->*as = built->context.get();
    holder->owned = owned_;
    holder->owned.insert(holder->owned.end(), in_.begin(), in_.end());
    holder->owned.insert(holder->owned.end(), out_.begin(), out_.end());
    holder->owned.push_back(built);
    return holder;
  }
  size_t ir_inputs_ = 0, ir_outputs_ = 0;
  std::vector<uint32_t> counts_;
  Tensors in_, out_;
  std::vector<std::string> names_;
  std::vector<void*> pointers_in_, pointers_out_;
  std::vector<std::shared_ptr<void>> owned_;
  std::string wrong_;
};

}  // namespace context_ascendc
