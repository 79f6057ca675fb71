// libgraph, second part: ge::Operator and ge::AttrValue, which the REG_OP macros write prototypes with.
//
// graph_build.cpp has what puts operators together.
#include <algorithm>

#include "acl/error_codes/ge_error_codes.h"
#include "attr_data.h"
#include "core/sim.h"
#include "graph/graph.h"
#include "ir.h"
#include "registry.h"

namespace ge {

std::string attr_type_name(const std::string& declared) {
  static const std::map<std::string, std::string> names = {{"Int", "VT_INT"},
                                                           {"Float", "VT_FLOAT"},
                                                           {"Bool", "VT_BOOL"},
                                                           {"String", "VT_STRING"},
                                                           {"AscendString", "VT_STRING"},
                                                           {"Type", "VT_DATA_TYPE"},
                                                           {"Tensor", "VT_TENSOR"},
                                                           {"Bytes", "VT_BYTES"},
                                                           {"ListInt", "VT_LIST_INT"},
                                                           {"ListFloat", "VT_LIST_FLOAT"},
                                                           {"ListBool", "VT_LIST_BOOL"},
                                                           {"ListString", "VT_LIST_STRING"},
                                                           {"ListAscendString", "VT_LIST_STRING"},
                                                           {"ListType", "VT_LIST_DATA_TYPE"},
                                                           {"ListTensor", "VT_LIST_TENSOR"},
                                                           {"ListListInt", "VT_LIST_LIST_INT"}};
  auto it = names.find(declared);
  return it == names.end() ? declared : it->second;
}

namespace {

const char* kind_name(const AttrData& data) {
  static const char* const names[] = {"VT_NONE",        "VT_INT",       "VT_FLOAT",        "VT_BOOL",
                                      "VT_STRING",      "VT_DATA_TYPE", "VT_TENSOR",       "VT_LIST_INT",
                                      "VT_LIST_FLOAT",  "VT_LIST_BOOL", "VT_LIST_STRING",  "VT_LIST_DATA_TYPE",
                                      "VT_LIST_TENSOR", "VT_BYTES",     "VT_LIST_LIST_INT"};
  return names[data.index()];
}

using Descs = std::vector<std::pair<std::string, TensorDesc>>;

using List = Descs OperatorImpl::*;  // of the inputs, or of the outputs

TensorDesc* find_desc(const OperatorImplPtr& op, List list, const std::string& name) {
  if (op)
    for (auto& [key, desc] : op.get()->*list)
      if (key == name) return &desc;
  return nullptr;
}
TensorDesc* find_desc(const OperatorImplPtr& op, List list, uint32_t index) {
  return op && index < (op.get()->*list).size() ? &(op.get()->*list)[index].second : nullptr;
}

template <typename Key>
TensorDesc get_desc(const OperatorImplPtr& op, List list, const Key& key) {
  const TensorDesc* desc = find_desc(op, list, key);
  return desc ? *desc : TensorDesc();
}
template <typename Key>
graphStatus update_desc(const OperatorImplPtr& op, List list, const Key& key, const TensorDesc& desc) {
  TensorDesc* old = find_desc(op, list, key);
  if (!old) return GRAPH_FAILED;
  *old = desc;
  return GRAPH_SUCCESS;
}

// Why the operator cannot be part of a graph: the first reason.
void refuse(OperatorImpl& op, const std::string& why) {
  if (op.problem.empty()) op.problem = "'" + op.name + "' (" + op.type + "): " + why;
}

graphStatus fail(const Operator& op, const std::string& why) {
  AscendString name, type;
  op.GetName(name), op.GetOpType(type);
  sim_fail(ACL_ERROR_GE_PARAM_INVALID, "'%s' (%s): %s", name.GetString(), type.GetString(), why.c_str());
  return GRAPH_FAILED;
}

std::string spread(const std::string& name, uint32_t index) { return name + std::to_string(index); }

int32_t dynamic_count(const Descs& descs, const std::string& name) {
  return static_cast<int32_t>(std::count_if(descs.begin(), descs.end(), [&](const auto& entry) {
    const std::string& key = entry.first;
    return key.size() > name.size() && key.compare(0, name.size(), name) == 0 &&
           std::all_of(key.begin() + static_cast<long>(name.size()), key.end(), ::isdigit);
  }));
}

void add_dynamic(std::vector<IrPort>& ports, Descs& descs, const char* name, uint32_t count) {
  if (count == 0) ports.push_back({name, IrPort::kDynamic});  // the prototype registers with 0, an instance with more
  for (uint32_t i = 0; i < count; ++i) descs.emplace_back(name + std::to_string(i), TensorDesc());
}

}  // namespace

// ---- AttrValue --------------------------------------------------------------------------------------------------
AttrValue::AttrValue() : impl(std::make_shared<AttrValueImpl>()) {}

#define ATTR_VALUE(type)                                         \
  graphStatus AttrValue::SetAttrValue(const type& value) const { \
    impl->data = stored(value);                                  \
    return GRAPH_SUCCESS;                                        \
  }                                                              \
  graphStatus AttrValue::GetAttrValue(type& value) const { return load(impl->data, value); }
OPHOOK_ATTR_KINDS(ATTR_VALUE)
ATTR_VALUE(AscendString)
ATTR_VALUE(std::vector<AscendString>)
#undef ATTR_VALUE

graphStatus AttrValue::GetValue(AscendString& value) { return load(impl->data, value); }
graphStatus AttrValue::GetValue(std::string& value) const { return load(impl->data, value); }
graphStatus AttrValue::GetValue(int64_t& value) const { return load(impl->data, value); }
graphStatus AttrValue::GetValue(float& value) const { return load(impl->data, value); }

// ---- Operator: identity -----------------------------------------------------------------------------------------
Operator::Operator(const char_t* name, const char_t* type) : operator_impl_(std::make_shared<OperatorImpl>()) {
  operator_impl_->name = name ? name : "";
  operator_impl_->type = type ? type : "";
}
Operator::Operator(const char_t* type) : Operator(type, type) {}
Operator::Operator(const std::string& type) : Operator(type.c_str()) {}
Operator::Operator(const std::string& name, const std::string& type) : Operator(name.c_str(), type.c_str()) {}
Operator::Operator(const AscendString& name, const AscendString& type) : Operator(name.GetString(), type.GetString()) {}
Operator::Operator(OperatorImplPtr&& op_impl) : operator_impl_(std::move(op_impl)) {}

bool Operator::IsEmpty() const { return !operator_impl_; }
std::string Operator::GetName() const { return operator_impl_ ? operator_impl_->name : ""; }
std::string Operator::GetOpType() const { return operator_impl_ ? operator_impl_->type : ""; }
graphStatus Operator::GetName(AscendString& name) const {
  name = AscendString(operator_impl_ ? operator_impl_->name.c_str() : "");
  return GRAPH_SUCCESS;
}
graphStatus Operator::GetOpType(AscendString& type) const {
  type = AscendString(operator_impl_ ? operator_impl_->type.c_str() : "");
  return GRAPH_SUCCESS;
}

// ---- Operator: the prototype, as REG_OP registers it ------------------------------------------------------------
void Operator::InputRegister(const char_t* name) {
  operator_impl_->inputs.push_back({name, IrPort::kRequired});
  operator_impl_->input_desc.emplace_back(name, TensorDesc());
}
void Operator::InputRegister(const char_t* name, const char_t*) { InputRegister(name); }
void Operator::InputRegister(const std::string& name) { InputRegister(name.c_str()); }
void Operator::OptionalInputRegister(const char_t* name) {
  TensorDesc absent;
  absent.SetDataType(DT_UNDEFINED);
  operator_impl_->inputs.push_back({name, IrPort::kOptional});
  operator_impl_->input_desc.emplace_back(name, absent);
}
void Operator::OptionalInputRegister(const char_t* name, const char_t*) { OptionalInputRegister(name); }
void Operator::OptionalInputRegister(const std::string& name) { OptionalInputRegister(name.c_str()); }
void Operator::OutputRegister(const char_t* name) {
  operator_impl_->outputs.push_back({name, IrPort::kRequired});
  operator_impl_->output_desc.emplace_back(name, TensorDesc());
}
void Operator::OutputRegister(const char_t* name, const char_t*) { OutputRegister(name); }
void Operator::OutputRegister(const std::string& name) { OutputRegister(name.c_str()); }
#define DYNAMIC(Side, side)                                                                                  \
  void Operator::Dynamic##Side##Register(const char_t* name, const uint32_t num, bool) {                     \
    add_dynamic(operator_impl_->side##s, operator_impl_->side##_desc, name, num);                            \
  }                                                                                                          \
  void Operator::Dynamic##Side##Register(const std::string& name, const uint32_t num, bool back) {           \
    Dynamic##Side##Register(name.c_str(), num, back);                                                        \
  }                                                                                                          \
  void Operator::Dynamic##Side##Register(const char_t* name, const uint32_t num, const char_t*, bool back) { \
    Dynamic##Side##Register(name, num, back);                                                                \
  }
DYNAMIC(Input, input)
DYNAMIC(Output, output)
#undef DYNAMIC

static void declare(OperatorImpl& op, const std::string& name, AttrData data) {
  op.ir_attrs.push_back({name, kind_name(data), false});
  op.attrs[name] = std::move(data);
}
#define DECLARED(key, type) \
  void Operator::AttrRegister(key name, Given<type> value) { declare(*operator_impl_, name, stored(value)); }
#define DECLARED_BOTH(type)     \
  DECLARED(const char_t*, type) \
  DECLARED(const std::string&, type)
OPHOOK_ATTR_KINDS(DECLARED_BOTH)
DECLARED_BOTH(AscendString)
DECLARED_BOTH(std::vector<AscendString>)
DECLARED_BOTH(std::vector<uint8_t>)
DECLARED(const char_t*, const char_t*)
DECLARED(const char_t*, AttrValue)
DECLARED(const std::string&, std::string)
DECLARED(const std::string&, std::vector<std::string>)
#undef DECLARED_BOTH
#undef DECLARED

void Operator::RequiredAttrWithTypeRegister(const char_t* name, const char_t* type) {
  operator_impl_->ir_attrs.push_back({name, attr_type_name(type), true});
}
void Operator::RequiredAttrRegister(const char_t* name) { RequiredAttrWithTypeRegister(name, "VT_NONE"); }
void Operator::RequiredAttrRegister(const std::string& name) { RequiredAttrRegister(name.c_str()); }

// Before the input `index` of those that are there.
void Operator::DynamicInputRegisterByIndex(const char_t* name, const uint32_t num, size_t index) {
  Descs& descs = operator_impl_->input_desc;
  const size_t first = std::min(index, descs.size());
  for (uint32_t i = 0; i < num; ++i)
    descs.emplace(descs.begin() + static_cast<long>(first + i), name + std::to_string(i), TensorDesc());
}
void Operator::DynamicInputRegisterByIndex(const std::string& name, const uint32_t num, size_t index) {
  DynamicInputRegisterByIndex(name.c_str(), num, index);
}

// A prototype may have subgraphs (If, While), which have names; an operator that is given one is no part of a graph
// here.
void Operator::SubgraphRegister(const char_t* name, bool dynamic) { operator_impl_->spread_subgraphs[name] = dynamic; }
void Operator::SubgraphRegister(const std::string& name, bool dynamic) { SubgraphRegister(name.c_str(), dynamic); }
void Operator::SubgraphCountRegister(const char_t* name, uint32_t count) {
  std::vector<std::string>& names = operator_impl_->subgraphs;
  if (!operator_impl_->spread_subgraphs[name]) return names.emplace_back(name), void();
  for (uint32_t i = 0; i < count; ++i) names.push_back(spread(name, i));
}
void Operator::SubgraphCountRegister(const std::string& name, uint32_t count) {
  SubgraphCountRegister(name.c_str(), count);
}
size_t Operator::GetSubgraphNamesCount() const { return operator_impl_ ? operator_impl_->subgraphs.size() : 0; }
std::vector<std::string> Operator::GetSubgraphNames() const {
  return operator_impl_ ? operator_impl_->subgraphs : std::vector<std::string>();
}
graphStatus Operator::GetSubgraphNames(std::vector<AscendString>& names) const {
  if (!operator_impl_) return GRAPH_FAILED;
  give(operator_impl_->subgraphs, names);
  return GRAPH_SUCCESS;
}
static std::string no_subgraphs(const std::string& name) {
  return "its subgraph '" + name + "': subgraphs are not simulated";
}
void Operator::SetSubgraphBuilder(const char_t* ir_name, uint32_t, const SubgraphBuilder&) {
  refuse(*operator_impl_, no_subgraphs(ir_name));
}
void Operator::SetSubgraphBuilder(const std::string& ir_name, uint32_t index, const SubgraphBuilder& builder) {
  SetSubgraphBuilder(ir_name.c_str(), index, builder);
}
graphStatus Operator::SetSubgraphInstanceName(const uint32_t, const char_t* name) {
  return fail(*this, no_subgraphs(name ? name : ""));
}
// None has a subgraph or what builds one.
#define NONE(Type, Function)                                                                            \
  Type Operator::Function(const char_t* name) const { return fail(*this, no_subgraphs(name)), Type(); } \
  Type Operator::Function(const std::string& name) const { return Function(name.c_str()); }
#define NONE_OF(Type, Function)                                       \
  Type Operator::Function(const char_t* name, uint32_t index) const { \
    return fail(*this, no_subgraphs(spread(name, index))), Type();    \
  }                                                                   \
  Type Operator::Function(const std::string& name, uint32_t index) const { return Function(name.c_str(), index); }
NONE(SubgraphBuilder, GetSubgraphBuilder)
NONE(Graph, GetSubgraph)
NONE(Graph, GetSubgraphImpl)
NONE_OF(SubgraphBuilder, GetDynamicSubgraphBuilder)
NONE_OF(Graph, GetDynamicSubgraph)
#undef NONE_OF
#undef NONE

// No header says what is in NamedAttrs, and no operator of this engine reads them.
static std::string no_named(const std::string& name) {
  return "its attribute '" + name + "': attributes that have attributes (NamedAttrs) are not simulated";
}
#define NAMED(key, type)                                                                                        \
  void Operator::AttrRegister(key name, const type&) { refuse(*operator_impl_, no_named(name)); }               \
  Operator& Operator::SetAttr(key name, const type&) { return refuse(*operator_impl_, no_named(name)), *this; } \
  graphStatus Operator::GetAttr(key name, type&) const { return fail(*this, no_named(name)); }
NAMED(const char_t*, NamedAttrs)
NAMED(const char_t*, std::vector<NamedAttrs>)
NAMED(const std::string&, NamedAttrs)
NAMED(const std::string&, std::vector<NamedAttrs>)
#undef NAMED

// Named type sets (DATATYPE) constrain inputs together; the engine checks types in each operator's inference instead.
void Operator::DataTypeRegister(const char_t*, const TensorType&) {}
void Operator::DataTypeRegister(const char_t*, const ListTensorType&) {}
void Operator::DataTypeRegister(const char_t*, const Promote&) {}

graphStatus Operator::GetAllIrAttrNamesAndTypes(std::map<AscendString, AscendString>& out) const {
  if (!operator_impl_) return GRAPH_FAILED;
  for (const IrAttr& attr : operator_impl_->ir_attrs) out[attr.name.c_str()] = attr.type.c_str();
  return GRAPH_SUCCESS;
}
graphStatus Operator::GetAllAttrNamesAndTypes(std::map<AscendString, AscendString>& out) const {
  if (GetAllIrAttrNamesAndTypes(out) != GRAPH_SUCCESS) return GRAPH_FAILED;
  for (const auto& [name, data] : operator_impl_->attrs) out[name.c_str()] = kind_name(data);
  return GRAPH_SUCCESS;
}
const std::map<std::string, std::string> Operator::GetAllAttrNamesAndTypes() const {
  std::map<AscendString, AscendString> all;
  std::map<std::string, std::string> out;
  (void)GetAllAttrNamesAndTypes(all);
  for (const auto& [name, type] : all) out[name.GetString()] = type.GetString();
  return out;
}

// ---- Operator: descriptors --------------------------------------------------------------------------------------
#define BY_NAME(Side, list, key)                                                                      \
  graphStatus Operator::Update##Side##Desc(key name, const TensorDesc& desc) {                        \
    return update_desc(operator_impl_, &OperatorImpl::list, name, desc);                              \
  }                                                                                                   \
  TensorDesc Operator::GetDynamic##Side##Desc(key name, uint32_t index) const {                       \
    return get_desc(operator_impl_, &OperatorImpl::list, spread(name, index));                        \
  }                                                                                                   \
  graphStatus Operator::UpdateDynamic##Side##Desc(key name, uint32_t index, const TensorDesc& desc) { \
    return update_desc(operator_impl_, &OperatorImpl::list, spread(name, index), desc);               \
  }                                                                                                   \
  int32_t Operator::GetDynamic##Side##Num(key name) const { return dynamic_count(operator_impl_->list, name); }
#define DESCS(Side, list)                                                                                             \
  TensorDesc Operator::Get##Side##DescByName(const char_t* name) const {                                              \
    return get_desc(operator_impl_, &OperatorImpl::list, name);                                                       \
  }                                                                                                                   \
  TensorDesc Operator::Get##Side##Desc(const std::string& name) const { return Get##Side##DescByName(name.c_str()); } \
  TensorDesc Operator::Get##Side##Desc(uint32_t index) const {                                                        \
    return get_desc(operator_impl_, &OperatorImpl::list, index);                                                      \
  }                                                                                                                   \
  graphStatus Operator::Update##Side##Desc(const uint32_t index, const TensorDesc& desc) {                            \
    return update_desc(operator_impl_, &OperatorImpl::list, index, desc);                                             \
  }                                                                                                                   \
  BY_NAME(Side, list, const char_t*)                                                                                  \
  BY_NAME(Side, list, const std::string&)                                                                             \
  size_t Operator::Get##Side##sSize() const { return operator_impl_ ? operator_impl_->list.size() : 0; }
DESCS(Input, input_desc)
DESCS(Output, output_desc)
#undef DESCS
#undef BY_NAME
graphStatus Operator::TryGetInputDesc(const char_t* name, TensorDesc& out) const {
  const TensorDesc* found = find_desc(operator_impl_, &OperatorImpl::input_desc, name);
  out = found ? *found : TensorDesc();
  return found && found->GetDataType() != DT_UNDEFINED ? GRAPH_SUCCESS : GRAPH_FAILED;
}
graphStatus Operator::TryGetInputDesc(const std::string& name, TensorDesc& out) const {
  return TryGetInputDesc(name.c_str(), out);
}

// A value that inference reads travels in its descriptor; while a graph is built, it is that of the Const that feeds
// the input.
graphStatus Operator::GetInputConstData(const char_t* name, Tensor& out) const {
  TensorDesc desc = GetInputDescByName(name);
  uint8_t* data = nullptr;
  size_t size = 0;
  if (!desc.GetConstData(&data, size)) return GetInputConstDataOut(name, out);
  out = Tensor(desc, data, size);
  return GRAPH_SUCCESS;
}
graphStatus Operator::GetInputConstDataOut(const char_t* name, Tensor& out) const {
  const auto source = operator_impl_->sources.find(name);
  if (source == operator_impl_->sources.end() || !gesim::is_const(source->second.from->type)) return GRAPH_FAILED;
  return load(source->second.from->attrs, "value", out);
}
graphStatus Operator::GetInputConstDataOut(const std::string& name, Tensor& out) const {
  return GetInputConstDataOut(name.c_str(), out);
}
graphStatus Operator::GetInputConstData(const std::string& name, Tensor& out) const {
  return GetInputConstData(name.c_str(), out);
}

// ---- Operator: attribute values ---------------------------------------------------------------------------------
static void set_in(const OperatorImplPtr& op, const std::string& name, AttrData value) {
  if (op) op->attrs[name] = std::move(value);
}
template <typename T>
graphStatus get_from(const OperatorImplPtr& op, const std::string& name, T& value) {
  return op ? load(op->attrs, name, value) : GRAPH_FAILED;
}
#define SET(key, type)                                         \
  Operator& Operator::SetAttr(key name, Given<type> value) {   \
    return set_in(operator_impl_, name, stored(value)), *this; \
  }
#define GET(key, type) \
  graphStatus Operator::GetAttr(key name, type& value) const { return get_from(operator_impl_, name, value); }
#define SET_AND_GET(key, type) SET(key, type) GET(key, type)
#define BY_BOTH(type) SET_AND_GET(const char_t*, type) SET_AND_GET(const std::string&, type)
OPHOOK_ATTR_TYPES(BY_BOTH)
SET(const char_t*, const char_t*)
SET_AND_GET(const char_t*, AscendString)
SET_AND_GET(const char_t*, std::vector<AscendString>)
SET_AND_GET(const char_t*, AttrValue)
SET_AND_GET(const std::string&, std::string)
SET_AND_GET(const std::string&, std::vector<std::string>)
GET(const std::string&, AttrValue)
#undef BY_BOTH
#undef SET_AND_GET
#undef GET
#undef SET
#define SET_MOVED(key, type, as)                                                       \
  Operator& Operator::SetAttr(key name, type&& value) {                                \
    return set_in(operator_impl_, name, stored(static_cast<const as&>(value))), *this; \
  }
SET_MOVED(const char_t*, AttrValue, AttrValue)
SET_MOVED(const std::string&, AttrValue, AttrValue)
SET_MOVED(const char_t*, std::initializer_list<int64_t>, std::vector<int64_t>)
SET_MOVED(const std::string&, std::initializer_list<int64_t>, std::vector<int64_t>)
#undef SET_MOVED

// Attributes of one input or output, which is told by its name or its place.
static std::string port_named(const Descs& descs, const char_t* name) {
  const auto found = std::find_if(descs.begin(), descs.end(), [&](const auto& one) { return one.first == name; });
  return found == descs.end() ? "" : found->first;
}
static std::string port_named(const Descs& descs, int32_t index) {
  return index >= 0 && size_t(index) < descs.size() ? descs[size_t(index)].first : "";
}
#define SET(Side, side, key, type)                                                                          \
  Operator& Operator::Set##Side##Attr(key port, const char_t* name, Given<type> value) {                    \
    const std::string named = port_named(operator_impl_->side##_desc, port);                                \
    if (named.empty()) refuse(*operator_impl_, "it has no such " #side ": attribute '" + kept(name) + "'"); \
    operator_impl_->side##_attrs[named][name] = stored(value);                                              \
    return *this;                                                                                           \
  }
#define GET(Side, side, key, type)                                                                        \
  graphStatus Operator::Get##Side##Attr(key port, const char_t* name, type& value) const {                \
    const auto found = operator_impl_->side##_attrs.find(port_named(operator_impl_->side##_desc, port));  \
    return found == operator_impl_->side##_attrs.end() ? GRAPH_FAILED : load(found->second, name, value); \
  }
#define EACH(DO, type)                    \
  DO(Input, input, const int32_t, type)   \
  DO(Input, input, const char_t*, type)   \
  DO(Output, output, const int32_t, type) \
  DO(Output, output, const char_t*, type)
#define SET_AND_GET(type) EACH(SET, type) EACH(GET, type)
EACH(SET, const char_t*)
SET_AND_GET(AscendString)
SET_AND_GET(int64_t)
SET_AND_GET(int32_t)
SET_AND_GET(uint32_t)
SET_AND_GET(bool)
SET_AND_GET(float32_t)
SET_AND_GET(std::vector<AscendString>)
SET_AND_GET(std::vector<int64_t>)
SET_AND_GET(std::vector<int32_t>)
SET_AND_GET(std::vector<uint32_t>)
SET_AND_GET(std::vector<bool>)
SET_AND_GET(std::vector<float32_t>)
#undef SET_AND_GET
#undef EACH
#undef GET
#undef SET

// ---- Operator: what its prototype says of it --------------------------------------------------------------------
graphStatus Operator::InferShapeAndType() {
  const InferShapeFunc* infer = operator_impl_ ? gesim::infer_function(operator_impl_->type) : nullptr;
  return infer ? (*infer)(*this) : fail(*this, "its prototype registers no shape inference (COMMON_INFER_FUNC_REG)");
}
// The common part: attributes without a default are set.
graphStatus Operator::VerifyAllAttr(bool disable_common_verifier) {
  if (!operator_impl_) return GRAPH_FAILED;
  for (const IrAttr& attr : operator_impl_->ir_attrs)
    if (!disable_common_verifier && attr.required && !operator_impl_->attrs.count(attr.name))
      return fail(*this, "its required attribute '" + attr.name + "' is not set");
  const VerifyFunc* verify = gesim::verify_function(operator_impl_->type);
  return verify ? (*verify)(*this) : GRAPH_SUCCESS;
}
graphStatus Operator::VerifyAll() { return VerifyAllAttr(); }
OperatorImplPtr Operator::GetOperatorImplPtr() const { return operator_impl_; }
std::shared_ptr<const Node> Operator::GetNode() const { return nullptr; }  // graphs here have no ge::Node

}  // namespace ge
