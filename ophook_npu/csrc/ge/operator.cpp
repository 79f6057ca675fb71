// libgraph, second part: ge::Operator and ge::AttrValue, which the REG_OP macros write prototypes with.
//
// graph_build.cpp has what puts operators together. A program that needs what is not there fails to link or load and
// names the missing symbol.
#include <algorithm>

#include "operator_impl.h"

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

template <typename T>
graphStatus get(const std::map<std::string, AttrData>& attrs, const std::string& name, T& out) {
  auto it = attrs.find(name);
  if (it == attrs.end()) return GRAPH_FAILED;
  const T* value = std::get_if<T>(&it->second);
  if (!value) return GRAPH_FAILED;
  out = *value;
  return GRAPH_SUCCESS;
}

template <typename T, typename Stored>
graphStatus get_as(const std::map<std::string, AttrData>& attrs, const std::string& name, T& out) {
  Stored value{};
  graphStatus status = get(attrs, name, value);
  if (status == GRAPH_SUCCESS) out = static_cast<T>(value);
  return status;
}

std::vector<std::string> plain(const std::vector<AscendString>& from) {
  std::vector<std::string> out;
  for (const AscendString& one : from) out.emplace_back(one.GetString());
  return out;
}

std::vector<AscendString> wrapped(const std::vector<std::string>& from) {
  std::vector<AscendString> out;
  for (const std::string& one : from) out.emplace_back(one.c_str());
  return out;
}

template <typename To, typename From>
std::vector<To> converted(const std::vector<From>& from) {
  return std::vector<To>(from.begin(), from.end());
}

using Descs = std::vector<std::pair<std::string, TensorDesc>>;

TensorDesc find_desc(const Descs& descs, const std::string& name) {
  for (const auto& [key, desc] : descs)
    if (key == name) return desc;
  return TensorDesc();
}

graphStatus update_desc(Descs& descs, const std::string& name, const TensorDesc& desc) {
  for (auto& [key, old] : descs) {
    if (key != name) continue;
    old = desc;
    return GRAPH_SUCCESS;
  }
  return GRAPH_FAILED;
}

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

template <typename T>
static graphStatus read(const AttrData& data, T& out) {
  const T* value = std::get_if<T>(&data);
  if (!value) return GRAPH_FAILED;
  out = *value;
  return GRAPH_SUCCESS;
}

#define ATTR_VALUE(type)                                         \
  graphStatus AttrValue::SetAttrValue(const type& value) const { \
    impl->data = value;                                          \
    return GRAPH_SUCCESS;                                        \
  }                                                              \
  graphStatus AttrValue::GetAttrValue(type& value) const { return read(impl->data, value); }
ATTR_VALUE(int64_t)
ATTR_VALUE(float32_t)
ATTR_VALUE(bool)
ATTR_VALUE(Tensor)
ATTR_VALUE(DataType)
ATTR_VALUE(std::vector<int64_t>)
ATTR_VALUE(std::vector<float32_t>)
ATTR_VALUE(std::vector<bool>)
ATTR_VALUE(std::vector<Tensor>)
ATTR_VALUE(std::vector<DataType>)
ATTR_VALUE(std::vector<std::vector<int64_t>>)
#undef ATTR_VALUE

graphStatus AttrValue::SetAttrValue(const AscendString& value) const {
  impl->data = std::string(value.GetString());
  return GRAPH_SUCCESS;
}
graphStatus AttrValue::GetAttrValue(AscendString& value) const {
  std::string text;
  graphStatus status = read(impl->data, text);
  if (status == GRAPH_SUCCESS) value = AscendString(text.c_str());
  return status;
}
graphStatus AttrValue::SetAttrValue(const std::vector<AscendString>& value) const {
  impl->data = plain(value);
  return GRAPH_SUCCESS;
}
graphStatus AttrValue::GetAttrValue(std::vector<AscendString>& value) const {
  std::vector<std::string> texts;
  graphStatus status = read(impl->data, texts);
  if (status == GRAPH_SUCCESS) value = wrapped(texts);
  return status;
}
graphStatus AttrValue::GetValue(AscendString& value) { return GetAttrValue(value); }
graphStatus AttrValue::GetValue(std::string& value) const { return read(impl->data, value); }
graphStatus AttrValue::GetValue(int64_t& value) const { return read(impl->data, value); }
graphStatus AttrValue::GetValue(float& value) const { return read(impl->data, value); }

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
void Operator::DynamicInputRegister(const char_t* name, const uint32_t num, bool) {
  add_dynamic(operator_impl_->inputs, operator_impl_->input_desc, name, num);
}
void Operator::DynamicInputRegister(const char_t* name, const uint32_t num, const char_t*, bool back) {
  DynamicInputRegister(name, num, back);
}
void Operator::DynamicInputRegister(const std::string& name, const uint32_t num, bool back) {
  DynamicInputRegister(name.c_str(), num, back);
}
void Operator::DynamicOutputRegister(const char_t* name, const uint32_t num, bool) {
  add_dynamic(operator_impl_->outputs, operator_impl_->output_desc, name, num);
}
void Operator::DynamicOutputRegister(const char_t* name, const uint32_t num, const char_t*, bool back) {
  DynamicOutputRegister(name, num, back);
}
void Operator::DynamicOutputRegister(const std::string& name, const uint32_t num, bool back) {
  DynamicOutputRegister(name.c_str(), num, back);
}

#define ATTR_REGISTER(parameter, stored)                                \
  void Operator::AttrRegister(const char_t* name, parameter value) {    \
    AttrData data = stored;                                             \
    operator_impl_->ir_attrs.push_back({name, kind_name(data), false}); \
    operator_impl_->attrs[name] = std::move(data);                      \
  }
ATTR_REGISTER(float32_t, value)
ATTR_REGISTER(int64_t, value)
ATTR_REGISTER(bool, value)
ATTR_REGISTER(const char_t*, std::string(value))
ATTR_REGISTER(const AscendString&, std::string(value.GetString()))
ATTR_REGISTER(const DataType&, value)
ATTR_REGISTER(const Tensor&, value)
ATTR_REGISTER(const std::vector<float32_t>&, value)
ATTR_REGISTER(const std::vector<int64_t>&, value)
ATTR_REGISTER(const std::vector<bool>&, value)
ATTR_REGISTER(const std::vector<AscendString>&, plain(value))
ATTR_REGISTER(const std::vector<DataType>&, value)
ATTR_REGISTER(const std::vector<Tensor>&, value)
ATTR_REGISTER(const OpBytes&, value)
ATTR_REGISTER(const std::vector<std::vector<int64_t>>&, value)
ATTR_REGISTER(const AttrValue&, value.impl->data)
#undef ATTR_REGISTER

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

// A prototype may have subgraphs (If, While); an operator that is given one is no part of a graph here.
void Operator::SubgraphRegister(const char_t*, bool) {}
void Operator::SubgraphRegister(const std::string&, bool) {}
void Operator::SubgraphCountRegister(const char_t*, uint32_t) {}
void Operator::SubgraphCountRegister(const std::string&, uint32_t) {}
void Operator::SetSubgraphBuilder(const char_t* ir_name, uint32_t, const SubgraphBuilder&) {
  operator_impl_->problem = "'" + operator_impl_->name + "' (" + operator_impl_->type + "): its subgraph '" + ir_name +
                            "': subgraphs are not simulated";
}
void Operator::SetSubgraphBuilder(const std::string& ir_name, uint32_t index, const SubgraphBuilder& builder) {
  SetSubgraphBuilder(ir_name.c_str(), index, builder);
}

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

// ---- Operator: descriptors --------------------------------------------------------------------------------------
TensorDesc Operator::GetInputDescByName(const char_t* name) const {
  return find_desc(operator_impl_->input_desc, name);
}
TensorDesc Operator::GetInputDesc(const std::string& name) const { return GetInputDescByName(name.c_str()); }
TensorDesc Operator::GetInputDesc(uint32_t index) const {
  const Descs& descs = operator_impl_->input_desc;
  return index < descs.size() ? descs[index].second : TensorDesc();
}
graphStatus Operator::TryGetInputDesc(const char_t* name, TensorDesc& out) const {
  out = GetInputDescByName(name);
  for (const auto& [key, desc] : operator_impl_->input_desc)
    if (key == name) return desc.GetDataType() == DT_UNDEFINED ? GRAPH_FAILED : GRAPH_SUCCESS;
  return GRAPH_FAILED;
}
graphStatus Operator::TryGetInputDesc(const std::string& name, TensorDesc& out) const {
  return TryGetInputDesc(name.c_str(), out);
}
graphStatus Operator::UpdateInputDesc(const char_t* name, const TensorDesc& desc) {
  return operator_impl_ ? update_desc(operator_impl_->input_desc, name, desc) : GRAPH_FAILED;
}
graphStatus Operator::UpdateInputDesc(const std::string& name, const TensorDesc& desc) {
  return UpdateInputDesc(name.c_str(), desc);
}
graphStatus Operator::UpdateInputDesc(const uint32_t index, const TensorDesc& desc) {
  Descs& descs = operator_impl_->input_desc;
  if (index >= descs.size()) return GRAPH_FAILED;
  descs[index].second = desc;
  return GRAPH_SUCCESS;
}
TensorDesc Operator::GetOutputDescByName(const char_t* name) const {
  return find_desc(operator_impl_->output_desc, name);
}
TensorDesc Operator::GetOutputDesc(const std::string& name) const { return GetOutputDescByName(name.c_str()); }
TensorDesc Operator::GetOutputDesc(uint32_t index) const {
  const Descs& descs = operator_impl_->output_desc;
  return index < descs.size() ? descs[index].second : TensorDesc();
}
graphStatus Operator::UpdateOutputDesc(const char_t* name, const TensorDesc& desc) {
  return operator_impl_ ? update_desc(operator_impl_->output_desc, name, desc) : GRAPH_FAILED;
}
graphStatus Operator::UpdateOutputDesc(const std::string& name, const TensorDesc& desc) {
  return UpdateOutputDesc(name.c_str(), desc);
}
graphStatus Operator::UpdateOutputDesc(const uint32_t index, const TensorDesc& desc) {
  Descs& descs = operator_impl_->output_desc;
  if (index >= descs.size()) return GRAPH_FAILED;
  descs[index].second = desc;
  return GRAPH_SUCCESS;
}
static std::string spread(const char_t* name, uint32_t index) { return name + std::to_string(index); }
TensorDesc Operator::GetDynamicInputDesc(const char_t* name, uint32_t index) const {
  return find_desc(operator_impl_->input_desc, spread(name, index));
}
TensorDesc Operator::GetDynamicInputDesc(const std::string& name, uint32_t index) const {
  return GetDynamicInputDesc(name.c_str(), index);
}
graphStatus Operator::UpdateDynamicInputDesc(const char_t* name, uint32_t index, const TensorDesc& desc) {
  return update_desc(operator_impl_->input_desc, spread(name, index), desc);
}
TensorDesc Operator::GetDynamicOutputDesc(const char_t* name, uint32_t index) const {
  return find_desc(operator_impl_->output_desc, spread(name, index));
}
graphStatus Operator::UpdateDynamicOutputDesc(const char_t* name, uint32_t index, const TensorDesc& desc) {
  return update_desc(operator_impl_->output_desc, spread(name, index), desc);
}
int32_t Operator::GetDynamicInputNum(const char_t* name) const {
  return dynamic_count(operator_impl_->input_desc, name);
}
int32_t Operator::GetDynamicInputNum(const std::string& name) const { return GetDynamicInputNum(name.c_str()); }
int32_t Operator::GetDynamicOutputNum(const char_t* name) const {
  return dynamic_count(operator_impl_->output_desc, name);
}
int32_t Operator::GetDynamicOutputNum(const std::string& name) const { return GetDynamicOutputNum(name.c_str()); }
size_t Operator::GetInputsSize() const { return operator_impl_ ? operator_impl_->input_desc.size() : 0; }
size_t Operator::GetOutputsSize() const { return operator_impl_ ? operator_impl_->output_desc.size() : 0; }

// A value that inference reads (a Const input) travels in its descriptor.
graphStatus Operator::GetInputConstData(const char_t* name, Tensor& out) const {
  TensorDesc desc = GetInputDescByName(name);
  uint8_t* data = nullptr;
  size_t size = 0;
  if (!desc.GetConstData(&data, size)) return GRAPH_FAILED;
  out = Tensor(desc, data, size);
  return GRAPH_SUCCESS;
}
graphStatus Operator::GetInputConstData(const std::string& name, Tensor& out) const {
  return GetInputConstData(name.c_str(), out);
}

// ---- Operator: attribute values ---------------------------------------------------------------------------------
#define ATTR_ACCESS(parameter, type, store, load)                                                                \
  Operator& Operator::SetAttr(const char_t* name, parameter value) {                                             \
    operator_impl_->attrs[name] = store;                                                                         \
    return *this;                                                                                                \
  }                                                                                                              \
  Operator& Operator::SetAttr(const std::string& name, parameter value) { return SetAttr(name.c_str(), value); } \
  graphStatus Operator::GetAttr(const char_t* name, type& value) const {                                         \
    return operator_impl_ ? load : GRAPH_FAILED;                                                                 \
  }                                                                                                              \
  graphStatus Operator::GetAttr(const std::string& name, type& value) const { return GetAttr(name.c_str(), value); }
#define LOAD get(operator_impl_->attrs, name, value)
ATTR_ACCESS(int64_t, int64_t, value, LOAD)
ATTR_ACCESS(int32_t, int32_t, static_cast<int64_t>(value),
            (get_as<int32_t, int64_t>(operator_impl_->attrs, name, value)))
ATTR_ACCESS(uint32_t, uint32_t, static_cast<int64_t>(value),
            (get_as<uint32_t, int64_t>(operator_impl_->attrs, name, value)))
ATTR_ACCESS(float32_t, float32_t, value, LOAD)
ATTR_ACCESS(bool, bool, value, LOAD)
ATTR_ACCESS(const DataType&, DataType, value, LOAD)
ATTR_ACCESS(const Tensor&, Tensor, value, LOAD)
ATTR_ACCESS(const std::vector<int64_t>&, std::vector<int64_t>, value, LOAD)
ATTR_ACCESS(const std::vector<float32_t>&, std::vector<float32_t>, value, LOAD)
ATTR_ACCESS(const std::vector<bool>&, std::vector<bool>, value, LOAD)
ATTR_ACCESS(const std::vector<DataType>&, std::vector<DataType>, value, LOAD)
ATTR_ACCESS(const std::vector<Tensor>&, std::vector<Tensor>, value, LOAD)
ATTR_ACCESS(const OpBytes&, OpBytes, value, LOAD)
ATTR_ACCESS(const std::vector<std::vector<int64_t>>&, std::vector<std::vector<int64_t>>, value, LOAD)
#undef LOAD
#undef ATTR_ACCESS

#define INT_LIST_ACCESS(type)                                                            \
  Operator& Operator::SetAttr(const char_t* name, const std::vector<type>& value) {      \
    operator_impl_->attrs[name] = converted<int64_t>(value);                             \
    return *this;                                                                        \
  }                                                                                      \
  Operator& Operator::SetAttr(const std::string& name, const std::vector<type>& value) { \
    return SetAttr(name.c_str(), value);                                                 \
  }                                                                                      \
  graphStatus Operator::GetAttr(const char_t* name, std::vector<type>& value) const {    \
    std::vector<int64_t> wide;                                                           \
    graphStatus status = GetAttr(name, wide);                                            \
    if (status == GRAPH_SUCCESS) value = converted<type>(wide);                          \
    return status;                                                                       \
  }
INT_LIST_ACCESS(int32_t)
INT_LIST_ACCESS(uint32_t)
#undef INT_LIST_ACCESS

Operator& Operator::SetAttr(const char_t* name, const char_t* value) {
  operator_impl_->attrs[name] = std::string(value);
  return *this;
}
Operator& Operator::SetAttr(const char_t* name, const AscendString& value) { return SetAttr(name, value.GetString()); }
Operator& Operator::SetAttr(const std::string& name, const std::string& value) {
  return SetAttr(name.c_str(), value.c_str());
}
Operator& Operator::SetAttr(const char_t* name, const std::vector<AscendString>& value) {
  operator_impl_->attrs[name] = plain(value);
  return *this;
}
Operator& Operator::SetAttr(const std::string& name, const std::vector<std::string>& value) {
  operator_impl_->attrs[name] = value;
  return *this;
}
Operator& Operator::SetAttr(const char_t* name, const AttrValue& value) {
  operator_impl_->attrs[name] = value.impl->data;
  return *this;
}
Operator& Operator::SetAttr(const char_t* name, AttrValue&& value) {
  return SetAttr(name, static_cast<const AttrValue&>(value));
}
graphStatus Operator::GetAttr(const char_t* name, AscendString& value) const {
  std::string plain_text;
  graphStatus status = operator_impl_ ? get(operator_impl_->attrs, name, plain_text) : GRAPH_FAILED;
  if (status == GRAPH_SUCCESS) value = AscendString(plain_text.c_str());
  return status;
}
graphStatus Operator::GetAttr(const std::string& name, std::string& value) const {
  return operator_impl_ ? get(operator_impl_->attrs, name, value) : GRAPH_FAILED;
}
graphStatus Operator::GetAttr(const char_t* name, std::vector<AscendString>& value) const {
  std::vector<std::string> texts;
  graphStatus status = operator_impl_ ? get(operator_impl_->attrs, name, texts) : GRAPH_FAILED;
  if (status == GRAPH_SUCCESS) value = wrapped(texts);
  return status;
}
graphStatus Operator::GetAttr(const std::string& name, std::vector<std::string>& value) const {
  return operator_impl_ ? get(operator_impl_->attrs, name, value) : GRAPH_FAILED;
}
graphStatus Operator::GetAttr(const char_t* name, AttrValue& value) const {
  auto it = operator_impl_->attrs.find(name);
  if (it == operator_impl_->attrs.end()) return GRAPH_FAILED;
  value.impl->data = it->second;
  return GRAPH_SUCCESS;
}

}  // namespace ge
