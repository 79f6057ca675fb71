// What is registered about an operator type, by IMPL_OP_OPTILING and its like or by an OpDef, and where it is found.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "contexts.h"

namespace gert {

struct OpImplFunctionsV2;
struct OpImplKernelRegistry {
  using OpImplFunctions = OpImplFunctionsV2;
  using TilingKernelFunc = ge::graphStatus (*)(TilingContext*);
  using InferShapeKernelFunc = ge::graphStatus (*)(InferShapeContext*);
  using InferShapeRangeKernelFunc = ge::graphStatus (*)(InferShapeRangeContext*);
  using InferDataTypeKernelFunc = ge::graphStatus (*)(InferDataTypeContext*);
  using InferFormatFunc = ge::graphStatus (*)(InferFormatContext*);
  using GenSimplifiedKeyKernelFunc = ge::graphStatus (*)(TilingContext*, ge::char_t*);
  using KernelFunc = ge::graphStatus (*)(KernelContext*);
  using TilingParseFunc = ge::graphStatus (*)(TilingParseContext*);
  using CompileInfoCreatorFunc = void* (*)();
  using CompileInfoDeleterFunc = void (*)(void*);
};
using OP_CHECK_FUNC_V2 = ge::graphStatus (*)(const OpCheckContext* context, ge::AscendString& result);

enum class TilingPlacement { TILING_ON_HOST = 0, TILING_ON_AICPU = 1 };

// Which of an operator's inputs or outputs something holds for.
class Marked {
 public:
  bool any() const { return !indices_.empty(); }
  bool has(size_t i) const { return std::find(indices_.begin(), indices_.end(), i) != indices_.end(); }
  void add(size_t i) { indices_.push_back(i); }

 private:
  std::vector<size_t> indices_;
};

// A private attribute: one of the operator's own where no value is given (kNone).
struct PrivateAttribute {
  ophook::host::Text name;
  AttrValue value;
};

// A library that has a registry of its own and a program hand each other these.
struct OpImplFunctionsV2 : OpImplKernelRegistry {
  InferShapeKernelFunc infer_shape = nullptr;
  InferShapeRangeKernelFunc infer_shape_range = nullptr;
  InferDataTypeKernelFunc infer_datatype = nullptr;
  InferFormatFunc infer_format_func = nullptr;
  TilingKernelFunc tiling = nullptr;
  KernelFunc tiling_parse = nullptr;
  CompileInfoCreatorFunc compile_info_creator = nullptr;
  CompileInfoDeleterFunc compile_info_deleter = nullptr;
  size_t max_tiling_data_size = 2048;
  GenSimplifiedKeyKernelFunc gen_simplifiedkey = nullptr;
  OP_CHECK_FUNC_V2 check_support = nullptr, op_select_format = nullptr;
  std::vector<PrivateAttribute> private_attrs;
  Marked value_inputs, tiling_value_inputs, host_inputs, computed_outputs, nullable_outputs;

  bool HasDataDependency() const { return value_inputs.any(); }
  bool IsInputDataDependency(size_t i) const { return value_inputs.has(i); }
  bool HasTilingInputDataDependency() const { return tiling_value_inputs.any(); }
  bool IsTilingInputDataDependency(size_t i) const { return tiling_value_inputs.has(i); }
  bool HasHostInput() const { return host_inputs.any(); }
  bool IsHostInput(size_t i) const { return host_inputs.has(i); }
  bool IsOutputShapeDependOnCompute() const { return computed_outputs.any(); }
  bool IsOutputShapeDependOnCompute(size_t i) const { return computed_outputs.has(i); }
  bool IsNullableOutput(size_t i) const { return nullable_outputs.has(i); }
};
using OpImplFunctions = OpImplFunctionsV2;

}  // namespace gert

namespace ophook::host {
using Functions = gert::OpImplFunctionsV2;
OPHOOK_REGISTRY Functions& functions_of(const char* type);
// Null: nothing is registered about it. A program that registers nothing may have no registry.
OPHOOK_REGISTRY __attribute__((weak)) const Functions* registered_functions(const char* type);
}  // namespace ophook::host

namespace gert {

class OpImplRegisterV2 : public OpImplKernelRegistry {
 public:
  explicit OpImplRegisterV2(const ge::char_t* type) : functions_(&ophook::host::functions_of(type)) {}
  OpImplRegisterV2& Tiling(TilingKernelFunc given, size_t max_tiling_data_size = 2048) {
    functions_->max_tiling_data_size = max_tiling_data_size;
    return functions_->tiling = given, *this;
  }
  OpImplRegisterV2& InferShape(InferShapeKernelFunc given) { return functions_->infer_shape = given, *this; }
  OpImplRegisterV2& InferDataType(InferDataTypeKernelFunc given) { return functions_->infer_datatype = given, *this; }
  OpImplRegisterV2& InferOutDataTypeSameWithFirstInput() {
    return InferDataType([](InferDataTypeContext* context) -> ge::graphStatus {
      const ge::DataType first = context->GetInputDataType(0);
      if (first == ge::DT_UNDEFINED) return ge::GRAPH_FAILED;
      for (size_t i = 0; i < context->GetComputeNodeOutputNum(); ++i) (void)context->SetOutputDataType(i, first);
      return ge::GRAPH_SUCCESS;
    });
  }
  OpImplRegisterV2& InferShapeRange(InferShapeRangeKernelFunc given) {
    return functions_->infer_shape_range = given, *this;
  }
  OpImplRegisterV2& InferFormat(InferFormatFunc given) { return functions_->infer_format_func = given, *this; }
  OpImplRegisterV2& CheckSupport(OP_CHECK_FUNC_V2 given) { return functions_->check_support = given, *this; }
  OpImplRegisterV2& OpSelectFormat(OP_CHECK_FUNC_V2 given) { return functions_->op_select_format = given, *this; }
  // What finds a kernel among compiled ones sooner; here each is found at once.
  OpImplRegisterV2& GenSimplifiedKey(GenSimplifiedKeyKernelFunc given) {
    return functions_->gen_simplifiedkey = given, *this;
  }
  template <typename T>
  OpImplRegisterV2& TilingParse(KernelFunc parse) {
    functions_->tiling_parse = parse;
    functions_->compile_info_creator = []() -> void* { return new T(); };
    functions_->compile_info_deleter = [](void* info) { delete static_cast<T*>(info); };
    return *this;
  }
  template <typename T>
  OpImplRegisterV2& TilingParse(TilingParseFunc parse) {
    return TilingParse<T>(reinterpret_cast<KernelFunc>(parse));  // who calls it has a TilingParseContext
  }
  OpImplRegisterV2& TilingInputsDataDependency(std::initializer_list<int32_t> inputs) {
    return mark(functions_->tiling_value_inputs, inputs);
  }
  // They may be run in both places; here the host runs them.
  OpImplRegisterV2& TilingInputsDataDependency(std::initializer_list<int32_t> inputs,
                                               std::initializer_list<TilingPlacement>) {
    return TilingInputsDataDependency(inputs);
  }
  OpImplRegisterV2& InputsDataDependency(std::initializer_list<int32_t> inputs) {
    return mark(functions_->value_inputs, inputs);
  }
  OpImplRegisterV2& HostInputs(std::initializer_list<int32_t> inputs) { return mark(functions_->host_inputs, inputs); }
  OpImplRegisterV2& OutputShapeDependOnCompute(std::initializer_list<int32_t> outputs) {
    return mark(functions_->computed_outputs, outputs);
  }
  OpImplRegisterV2& NullableOutputs(std::initializer_list<int32_t> outputs) {
    return mark(functions_->nullable_outputs, outputs);
  }
  // Kept; who reads attributes sees those of the prototype alone.
  OpImplRegisterV2& PrivateAttr(const ge::char_t* name) { return add(name, AttrValue()); }
  OpImplRegisterV2& PrivateAttr(const ge::char_t* name, int64_t value) { return add(name, AttrValue::of(value)); }
  OpImplRegisterV2& PrivateAttr(const ge::char_t* name, const std::vector<int64_t>& value) {
    return add(name, AttrValue::of(value));
  }
  OpImplRegisterV2& PrivateAttr(const ge::char_t* name, const ge::char_t* value) {
    return add(name, AttrValue::of(value));
  }
  OpImplRegisterV2& PrivateAttr(const ge::char_t* name, float value) { return add(name, AttrValue::of(value)); }
  OpImplRegisterV2& PrivateAttr(const ge::char_t* name, bool value) { return add(name, AttrValue::of(value)); }
  OpImplRegisterV2& PrivateAttr(const ge::char_t* name, const std::vector<float>& value) {
    return add(name, AttrValue::of(value));
  }

 private:
  OpImplRegisterV2& mark(Marked& all, std::initializer_list<int32_t> indices) {
    for (const int32_t i : indices) all.add(static_cast<size_t>(i));
    return *this;
  }
  OpImplRegisterV2& add(const ge::char_t* name, AttrValue value) {
    return functions_->private_attrs.push_back({name, std::move(value)}), *this;
  }
  ophook::host::Functions* functions_;
};

}  // namespace gert

namespace ophook {
namespace of_older_programs {

// What this program registered, or a library that has no registry of its own. Newer programs may have one of this name.
class OpImplRegistry {
 public:
  static OpImplRegistry& GetInstance() {
    static OpImplRegistry all;
    return all;
  }
  const gert::OpImplFunctionsV2* GetOpImpl(const ge::char_t* type) const {
    return ophook::host::registered_functions ? ophook::host::registered_functions(type) : nullptr;
  }
};

}  // namespace of_older_programs
}  // namespace ophook
namespace gert {
using namespace ophook::of_older_programs;
}
