// How an operator project declares its operator: OpDef and OP_ADD, or IMPL_OP_OPTILING and its like.
#pragma once

#include <deque>
#include <functional>
#include <iostream>  // tilings use std::cout and std::map, and include nothing for them
#include <map>

#include "graph_operator.h"
#include "op_impl.h"

namespace ops {
using ophook::host::Text;

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };
enum class ScalarType : uint32_t {
  UINT64 = 0,
  INT64,
  UINT32,
  INT32,
  UINT16,
  INT16,
  UINT8,
  INT8,
  FLOAT32,
  FLOAT16,
  INVALID_DTYPE = static_cast<uint32_t>(-1)
};
union ScalarNum {
  uint64_t value_u64;
  int64_t value_i64;
  float value_f32;
  ScalarNum() : value_u64(0) {}
  explicit ScalarNum(uint64_t value) : value_u64(value) {}
  explicit ScalarNum(int64_t value) : value_i64(value) {}
  explicit ScalarNum(float value) : value_f32(value) {}
};
// A number and the type that an output's memory is filled with it as.
struct ScalarVar {
  ScalarType scalar_type = ScalarType::INVALID_DTYPE;
  ScalarNum scalar_num;
  ScalarVar() = default;
  ScalarVar(ScalarType type, uint64_t number) : ScalarVar(type, wide(number)) {}
  ScalarVar(ScalarType type, int64_t number) : ScalarVar(type, wide(number)) {}
  ScalarVar(ScalarType type, int number) : ScalarVar(type, wide(number)) {}
  ScalarVar(ScalarType type, unsigned number) : ScalarVar(type, wide(number)) {}
  ScalarVar(ScalarType type, float number) : ScalarVar(type, wide(number)) {}
  ScalarVar(ScalarType type, double number) : ScalarVar(type, wide(number)) {}
  bool operator==(const ScalarVar& other) const {
    return scalar_type == other.scalar_type && scalar_num.value_u64 == other.scalar_num.value_u64;
  }
  // As JSON.
  std::string number() const {
    switch (scalar_type) {
      case ScalarType::FLOAT32:
      case ScalarType::FLOAT16: return std::to_string(scalar_num.value_f32);
      case ScalarType::UINT64:
      case ScalarType::UINT32:
      case ScalarType::UINT16:
      case ScalarType::UINT8: return std::to_string(scalar_num.value_u64);
      default: return std::to_string(scalar_num.value_i64);
    }
  }

 private:
  using Wide = long double;  // holds each of them
  static Wide wide(Wide number) { return number; }
  ScalarVar(ScalarType type, Wide number) : scalar_type(type) {
    if (type == ScalarType::FLOAT32 || type == ScalarType::FLOAT16) scalar_num.value_f32 = float(number);
    else if (number < 0) scalar_num.value_i64 = int64_t(number);
    else scalar_num.value_u64 = uint64_t(number);
  }
};
enum class DependScope : uint32_t { ALL = 0, TILING, INVALID_SCOPE };
enum class FollowType : uint32_t { ALL = 0, DTYPE, FORMAT, SHAPE, INVALID_TYPE };

class OpParamDef {
 public:
  explicit OpParamDef(const char* given) : name(given) {}
  OpParamDef& ParamType(Option option) { return kind = option, *this; }
  OpParamDef& DataType(std::vector<ge::DataType> types) { return dtypes = std::move(types), *this; }
  OpParamDef& DataTypeList(std::vector<ge::DataType> types) { return dtypes = std::move(types), listed = true, *this; }
  OpParamDef& Format(std::vector<ge::Format> given) { return formats = std::move(given), *this; }
  OpParamDef& FormatList(std::vector<ge::Format> given) { return formats = std::move(given), *this; }
  OpParamDef& UnknownShapeFormat(std::vector<ge::Format>) { return *this; }
  OpParamDef& DataTypeForBinQuery(std::vector<ge::DataType> types) { return queried = std::move(types), *this; }
  OpParamDef& FormatForBinQuery(std::vector<ge::Format>) { return *this; }
  OpParamDef& ValueDepend(Option) { return values = true, *this; }
  OpParamDef& ValueDepend(Option, DependScope) { return values = true, *this; }
  OpParamDef& AutoContiguous() { return *this; }
  OpParamDef& IgnoreContiguous() { return *this; }
  // What the operator's aclnn function takes in place of a tensor, and the data type that it becomes.
  OpParamDef& Scalar() { return scalar = 1, *this; }
  OpParamDef& ScalarList() { return scalar = 2, *this; }
  OpParamDef& To(ge::DataType type) { return to = int(type), *this; }
  OpParamDef& To(const char* other) { return to_of = other, *this; }
  OpParamDef& InitValue(uint64_t value) {
    if (value) refused = "InitValue of a number takes 0; ScalarVar has other values (InitValue.md)";
    return InitValue(ScalarVar(ScalarType::UINT8, uint64_t{0}));
  }
  OpParamDef& InitValue(const ScalarVar& value) { return initial = {value}, *this; }
  OpParamDef& InitValue(const std::vector<ScalarVar>& each) { return initial = each, *this; }
  OpParamDef& OutputShapeDependOnCompute() { return computed = true, *this; }
  OpParamDef& Follow(const char* other, FollowType what = FollowType::ALL) {
    return follows = other, followed = what, *this;
  }
  OpParamDef& Version(uint32_t given) { return version = given, *this; }
  OpParamDef& Comment(const char*) { return *this; }

  bool as_other(FollowType what) const { return !follows.empty() && (followed == what || followed == FollowType::ALL); }

  Text name, follows;
  FollowType followed = FollowType::ALL;
  Option kind = REQUIRED;
  std::vector<ge::DataType> dtypes, queried;  // queried: those whose kernel is taken, where another one's is
  std::vector<ge::Format> formats;
  bool listed = false, values = false, computed = false;
  int scalar = 0, to = -1;  // 1: one, 2: a list
  uint32_t version = 0;     // of the first of the operator's aclnn functions that takes it
  Text to_of;
  std::vector<ScalarVar> initial;  // one, or one for each of the data types
  const char* refused = "";
};

class OpAttrDef {
 public:
  explicit OpAttrDef(const char* given) : name(given) {}
  OpAttrDef& AttrType(Option option) { return required = option == REQUIRED, *this; }
  OpAttrDef& Bool() { return as("Bool"); }
  OpAttrDef& Bool(bool value) { return Bool(), preset.kind = gert::AttrValue::kBool, preset.flag = value, *this; }
  OpAttrDef& Int() { return as("Int"); }
  OpAttrDef& Int(int64_t value) { return Int(), preset.kind = gert::AttrValue::kInt, preset.whole = value, *this; }
  OpAttrDef& Float() { return as("Float"); }
  OpAttrDef& Float(float value) { return Float(), preset.kind = gert::AttrValue::kFloat, preset.real = value, *this; }
  OpAttrDef& String() { return as("String"); }
  OpAttrDef& String(const char* value) {
    return String(), preset.kind = gert::AttrValue::kText, preset.text = value, *this;
  }
  OpAttrDef& ListInt() { return as("ListInt"); }
  OpAttrDef& ListInt(std::vector<int64_t> value) {
    return ListInt(), preset.kind = gert::AttrValue::kInts, preset.wholes = std::move(value), *this;
  }
  OpAttrDef& ListFloat() { return as("ListFloat"); }
  OpAttrDef& ListFloat(std::vector<float> value) {
    return ListFloat(), preset.kind = gert::AttrValue::kFloats, preset.reals = std::move(value), *this;
  }
  OpAttrDef& ListBool() { return as("ListBool"); }
  OpAttrDef& ListBool(std::vector<bool> value) { return ListBool(), preset = gert::AttrValue::of(value), *this; }
  OpAttrDef& ListListInt() { return as("ListListInt"); }
  OpAttrDef& ListListInt(std::vector<std::vector<int64_t>> value) {
    return ListListInt(), preset = gert::AttrValue::of(value), *this;
  }
  OpAttrDef& Comment(const char*) { return *this; }
  OpAttrDef& Version(uint32_t given) { return version = given, *this; }
  ge::AscendString& GetName() const { return shown = ge::AscendString(name.c_str()), shown; }
  bool IsRequired() { return required; }

  Text name, type;
  bool required = true;
  gert::AttrValue preset;
  uint32_t version = 0;  // of the first of the operator's aclnn functions that takes it

 private:
  OpAttrDef& as(const char* kind) { return type = kind, *this; }
  mutable ge::AscendString shown;
};

class OpAICoreConfig {
 public:
  OpAICoreConfig() = default;
  explicit OpAICoreConfig(const char*) {}
  // What takes the place of the OpDef's for that processor.
  OpParamDef& Input(const char* name) { return find(inputs, name); }
  OpParamDef& Output(const char* name) { return find(outputs, name); }
  OpAICoreConfig& DynamicCompileStaticFlag(bool) { return *this; }
  OpAICoreConfig& DynamicFormatFlag(bool) { return *this; }
  OpAICoreConfig& DynamicRankSupportFlag(bool) { return *this; }
  OpAICoreConfig& DynamicShapeSupportFlag(bool) { return *this; }
  OpAICoreConfig& NeedCheckSupportFlag(bool) { return *this; }
  OpAICoreConfig& PrecisionReduceFlag(bool) { return *this; }
  // The kernel's source and function, where they are not called after the type; the rest is for the device's compiler.
  OpAICoreConfig& ExtendCfgInfo(const char* key, const char* value) {
    if (std::string(key) == "opFile.value") file = value;
    if (std::string(key) == "opInterface.value") function = value;
    return *this;
  }
  Text file, function;
  std::deque<OpParamDef> inputs, outputs;

 private:
  static OpParamDef& find(std::deque<OpParamDef>& list, const char* name) {
    for (OpParamDef& each : list)
      if (each.name == name) return each;
    list.emplace_back(name);
    return list.back();
  }
};

class OpAICoreDef {
 public:
  OpAICoreDef& SetTiling(gert::OpImplKernelRegistry::TilingKernelFunc given) { return tiling = given, *this; }
  OpAICoreDef& AddConfig(const char* soc) { return socs.emplace_back(soc), *this; }
  OpAICoreDef& AddConfig(const char* soc, OpAICoreConfig& config) {
    if (!config.file.empty() || !config.function.empty()) kernels.push_back({soc, config.file, config.function});
    configs.push_back({soc, config});
    return AddConfig(soc);
  }
  // What the graph engine asks before it takes an operator; nothing here calls it.
  using OpCheck = int32_t (*)(const ge::Operator&, ge::AscendString& result);
  using Generalize = ge::graphStatus (*)(const ge::Operator&, const ge::AscendString& config, ge::AscendString& params);
  OpAICoreDef& SetCheckSupport(OpCheck) { return *this; }
  OpAICoreDef& SetCheckSupport(ge::graphStatus (*)(const ge::Operator&, ge::AscendString&)) { return *this; }
  OpAICoreDef& SetOpSelectFormat(OpCheck) { return *this; }
  OpAICoreDef& SetOpSelectFormat(ge::graphStatus (*)(const ge::Operator&, ge::AscendString&)) { return *this; }
  OpAICoreDef& SetOpSupportInfo(OpCheck) { return *this; }
  OpAICoreDef& SetOpSpecInfo(OpCheck) { return *this; }
  OpAICoreDef& SetParamGeneralize(Generalize) { return *this; }
  // Without it a call whose outputs are all empty launches nothing.
  OpAICoreDef& LaunchWithZeroEleOutputTensors(bool launch) { return launches_empty = launch, *this; }
  gert::OpImplKernelRegistry::TilingKernelFunc tiling = nullptr;
  std::vector<Text> socs;
  std::vector<std::vector<Text>> kernels;  // of a SoC: its source and its function, where the OpDef names them
  std::vector<std::pair<Text, OpAICoreConfig>> configs;
  bool launches_empty = false;
};

enum HcclServerType : uint32_t { AICPU = 0, AICORE, CCU, MAX };

// An operator that communicates: the attributes that name its groups.
class OpMC2Def {
 public:
  OpMC2Def& HcclGroup(const char* attribute) { return HcclGroup(std::vector<const char*>{attribute}); }
  OpMC2Def& HcclGroup(std::vector<const char*> attributes) {
    return groups.assign(attributes.begin(), attributes.end()), *this;
  }
  void HcclServerType(enum HcclServerType, const char* = nullptr) {}  // here one thread serves on every SoC
  std::vector<Text> groups;
};

// An operator that the CPU of a device, or the host, runs: kept for who asks. Nothing here runs one that an OpDef
// registers (projects of the classic form, with cpu_kernel.h, do), and its name is refused where it would have to run.
template <typename Self>
class OpCpuDef {
 public:
  Self& Engine(const char* value) { return engine = value, self(); }
  Self& OpkernelLib(const char* value) { return library = value, self(); }
  Self& OpKernelLib(const char* value) { return OpkernelLib(value); }
  Self& KernelSo(const char* value) { return file = value, self(); }
  Self& FunctionName(const char* value) { return function = value, self(); }
  Self& ComputeCost(const char* value) { return cost = value, self(); }
  Self& FlagPartial(bool flag) { return partial = flag, self(); }
  Self& FlagAsync(bool flag) { return async = flag, self(); }
  Self& UserDefined(bool flag) { return user_defined = flag, self(); }
  Self& ExtendCfgInfo(const char* key, const char* value) { return more.emplace_back(key, value), self(); }
  bool asked = false;  // the OpDef speaks of it
  Text engine, library, file, function, cost;
  bool partial = false, async = false, user_defined = true;
  std::vector<std::pair<Text, Text>> more;

 private:
  Self& self() { return static_cast<Self&>(*this); }
};
class OpAICPUDef : public OpCpuDef<OpAICPUDef> {};
class OpHostCPUDef : public OpCpuDef<OpHostCPUDef> {};

enum class FormatCheckOption : uint32_t { DEFAULT = 0, STRICT };

class OpDef {
 public:
  explicit OpDef(const char* given) : type(given) {}
  OpParamDef& Input(const char* name) { return find(inputs, name); }
  OpParamDef& Output(const char* name) { return find(outputs, name); }
  OpAttrDef& Attr(const char* name) { return find(attrs, name); }
  OpDef& SetInferShape(gert::OpImplKernelRegistry::InferShapeKernelFunc given) { return infer_shape = given, *this; }
  OpDef& SetInferDataType(gert::OpImplKernelRegistry::InferDataTypeKernelFunc given) {
    return infer_dtype = given, *this;
  }
  OpDef& SetInferShapeRange(gert::OpImplKernelRegistry::InferShapeRangeKernelFunc given) {
    return infer_range = given, *this;
  }
  OpDef& Comment(const char*) { return *this; }
  template <typename C, typename T>
  OpDef& Comment(C, T) {
    return *this;
  }
  OpAICoreDef& AICore() { return core; }
  OpAICPUDef& AICPU() { return aicpu.asked = true, aicpu; }
  OpHostCPUDef& HostCPU() { return host_cpu.asked = true, host_cpu; }
  OpDef& FormatMatchMode(FormatCheckOption option) { return formats = option, *this; }
  OpMC2Def& MC2() { return communication; }
  OpDef& EnableFallBack() { return *this; }

  Text type;
  std::vector<std::unique_ptr<OpParamDef>> inputs, outputs;
  std::vector<std::unique_ptr<OpAttrDef>> attrs;
  gert::OpImplKernelRegistry::InferShapeKernelFunc infer_shape = nullptr;
  gert::OpImplKernelRegistry::InferDataTypeKernelFunc infer_dtype = nullptr;
  gert::OpImplKernelRegistry::InferShapeRangeKernelFunc infer_range = nullptr;
  OpAICoreDef core;
  OpAICPUDef aicpu;
  OpHostCPUDef host_cpu;
  OpMC2Def communication;
  FormatCheckOption formats = FormatCheckOption::DEFAULT;

  // Inputs and outputs become what the config of the processor says of them: of an Atlas A2 or A3 where the OpDef has
  // one, and else of another than Ascend 950, if there is another.
  void settle() {
    const auto rank = [](const Text& soc) {
      return soc == "ascend910b" ? 0 : soc == "ascend910_93" ? 1 : soc == "ascend950" || soc == "ascend910_95" ? 3 : 2;
    };
    int best = 4;
    for (const Text& soc : core.socs) best = rank(soc) < best ? rank(soc) : best;
    for (const auto& one : core.configs) {
      if (rank(one.first) != best) continue;
      for (const OpParamDef& each : one.second.inputs) find(inputs, each.name.c_str()) = each;
      for (const OpParamDef& each : one.second.outputs) find(outputs, each.name.c_str()) = each;
      break;
    }
    core.configs.clear();
  }

  // Why it cannot be run here, or "".
  const char* refused() const {
    const bool on_cores = core.tiling || !core.socs.empty();
    if (aicpu.asked && !on_cores)
      return "OpDef::AICPU: that AI CPUs run an OpDef's operator is not simulated; projects with cpu_kernel.h are";
    if (host_cpu.asked && !on_cores) return "OpDef::HostCPU: that the host runs an operator is not simulated";
    for (const auto& each : outputs) {
      if (*each->refused) return each->refused;
      if (each->initial.size() > 1 && each->dtypes.size() > 1 && each->initial.size() != each->dtypes.size())
        return "InitValue has another number of values than DataType has types (InitValue.md)";
    }
    if (formats == FormatCheckOption::STRICT)
      return "FormatMatchMode(FormatCheckOption::STRICT) is not simulated: tiling is told FORMAT_ND of every tensor";
    return "";
  }

 private:
  template <typename T>
  T& find(std::vector<std::unique_ptr<T>>& list, const char* name) {
    for (auto& each : list)
      if (each->name == name) return *each;
    list.emplace_back(new T(name));
    return *list.back();
  }
};

}  // namespace ops

namespace ophook::host {
struct OPHOOK_REGISTRY Registration {
  explicit Registration(std::unique_ptr<ops::OpDef> op);
};
// A config that a source of its own registers.
struct OPHOOK_REGISTRY ConfigRegistration {
  ConfigRegistration(const char* type, const char* soc, ops::OpAICoreConfig (*config)());
};
}  // namespace ophook::host

#define OP_ADD(type, ...) \
  static const ophook::host::Registration ophook_op_##type(std::unique_ptr<ops::OpDef>(new type(#type)))
#define OPHOOK_OP_IMPL(type, kind) \
  static gert::OpImplRegisterV2 ophook_impl_##kind##_##type = gert::OpImplRegisterV2(#type)
#ifdef OPHOOK_CANN_GRAPH
#include "register/op_impl_registry.h"  // a program's IMPL_OP speaks to the graph engine
#else
#define IMPL_OP(type) OPHOOK_OP_IMPL(type, all)
#endif
#define IMPL_OP_OPTILING(type) OPHOOK_OP_IMPL(type, tiling)
#define IMPL_OP_INFERSHAPE(type) OPHOOK_OP_IMPL(type, shape)
#define IMPL_OP_INFERDATATYPE(type) OPHOOK_OP_IMPL(type, dtype)
