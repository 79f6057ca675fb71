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

// How a value is stored: whole numbers as int64_t, texts as the library's own, lists with such members.
template <typename T>
struct StoredAs {
  using type = T;
};
template <>
struct StoredAs<int32_t> {
  using type = int64_t;
};
template <>
struct StoredAs<uint32_t> {
  using type = int64_t;
};
template <>
struct StoredAs<AscendString> {
  using type = std::string;
};
template <typename T>
struct StoredAs<std::vector<T>> {
  using type = std::vector<typename StoredAs<T>::type>;
};

template <typename To, typename From>
To converted(const From& from) {
  if constexpr (std::is_same_v<To, From>) return from;
  else if constexpr (std::is_same_v<From, AscendString>) return from.GetString();
  else if constexpr (std::is_same_v<To, AscendString>) return To(from.c_str());
  else if constexpr (std::is_arithmetic_v<To>) return static_cast<To>(from);
  else {
    To out;
    for (const auto& one : from) out.push_back(converted<typename To::value_type>(one));
    return out;
  }
}

template <typename T>
AttrData stored(const T& value) {
  return converted<typename StoredAs<T>::type>(value);
}

template <typename T>
graphStatus read(const AttrData& data, T& out) {
  const auto* value = std::get_if<typename StoredAs<T>::type>(&data);
  if (!value) return GRAPH_FAILED;
  out = converted<T>(*value);
  return GRAPH_SUCCESS;
}

template <typename T>
graphStatus read(const std::shared_ptr<OperatorImpl>& of, const std::string& name, T& out) {
  if (!of || !of->attrs.count(name)) return GRAPH_FAILED;
  return read(of->attrs[name], out);
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

#define ATTR_VALUE(type)                                         \
  graphStatus AttrValue::SetAttrValue(const type& value) const { \
    impl->data = stored(value);                                  \
    return GRAPH_SUCCESS;                                        \
  }                                                              \
  graphStatus AttrValue::GetAttrValue(type& value) const { return read(impl->data, value); }
ATTR_VALUE(int64_t)
ATTR_VALUE(float32_t)
ATTR_VALUE(bool)
ATTR_VALUE(Tensor)
ATTR_VALUE(DataType)
ATTR_VALUE(AscendString)
ATTR_VALUE(std::vector<int64_t>)
ATTR_VALUE(std::vector<float32_t>)
ATTR_VALUE(std::vector<bool>)
ATTR_VALUE(std::vector<Tensor>)
ATTR_VALUE(std::vector<DataType>)
ATTR_VALUE(std::vector<AscendString>)
ATTR_VALUE(std::vector<std::vector<int64_t>>)
#undef ATTR_VALUE

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
// What an operator has on each of its sides.
#define REGISTER(Side, ports, descs)                                                                         \
  void Operator::Side##Register(const char_t* name) {                                                        \
    operator_impl_->ports.push_back({name, IrPort::kRequired});                                              \
    operator_impl_->descs.emplace_back(name, TensorDesc());                                                  \
  }                                                                                                          \
  void Operator::Side##Register(const char_t* name, const char_t*) { Side##Register(name); }                 \
  void Operator::Side##Register(const std::string& name) { Side##Register(name.c_str()); }                   \
  void Operator::Dynamic##Side##Register(const char_t* name, const uint32_t num, bool) {                     \
    add_dynamic(operator_impl_->ports, operator_impl_->descs, name, num);                                    \
  }                                                                                                          \
  void Operator::Dynamic##Side##Register(const char_t* name, const uint32_t num, const char_t*, bool back) { \
    Dynamic##Side##Register(name, num, back);                                                                \
  }                                                                                                          \
  void Operator::Dynamic##Side##Register(const std::string& name, const uint32_t num, bool back) {           \
    Dynamic##Side##Register(name.c_str(), num, back);                                                        \
  }
REGISTER(Input, inputs, input_desc)
REGISTER(Output, outputs, output_desc)
#undef REGISTER
void Operator::OptionalInputRegister(const char_t* name) {
  TensorDesc absent;
  absent.SetDataType(DT_UNDEFINED);
  operator_impl_->inputs.push_back({name, IrPort::kOptional});
  operator_impl_->input_desc.emplace_back(name, absent);
}
void Operator::OptionalInputRegister(const char_t* name, const char_t*) { OptionalInputRegister(name); }
void Operator::OptionalInputRegister(const std::string& name) { OptionalInputRegister(name.c_str()); }

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
ATTR_REGISTER(const AscendString&, stored(value))
ATTR_REGISTER(const DataType&, value)
ATTR_REGISTER(const Tensor&, value)
ATTR_REGISTER(const std::vector<float32_t>&, value)
ATTR_REGISTER(const std::vector<int64_t>&, value)
ATTR_REGISTER(const std::vector<bool>&, value)
ATTR_REGISTER(const std::vector<AscendString>&, stored(value))
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
static std::string spread(const char_t* name, uint32_t index) { return name + std::to_string(index); }
#define DESCRIPTORS(Side, descs)                                                                                      \
  TensorDesc Operator::Get##Side##DescByName(const char_t* name) const {                                              \
    return find_desc(operator_impl_->descs, name);                                                                    \
  }                                                                                                                   \
  TensorDesc Operator::Get##Side##Desc(const std::string& name) const { return Get##Side##DescByName(name.c_str()); } \
  TensorDesc Operator::Get##Side##Desc(uint32_t index) const {                                                        \
    return index < operator_impl_->descs.size() ? operator_impl_->descs[index].second : TensorDesc();                 \
  }                                                                                                                   \
  graphStatus Operator::Update##Side##Desc(const char_t* name, const TensorDesc& desc) {                              \
    return operator_impl_ ? update_desc(operator_impl_->descs, name, desc) : GRAPH_FAILED;                            \
  }                                                                                                                   \
  graphStatus Operator::Update##Side##Desc(const std::string& name, const TensorDesc& desc) {                         \
    return Update##Side##Desc(name.c_str(), desc);                                                                    \
  }                                                                                                                   \
  graphStatus Operator::Update##Side##Desc(const uint32_t index, const TensorDesc& desc) {                            \
    if (index >= operator_impl_->descs.size()) return GRAPH_FAILED;                                                   \
    operator_impl_->descs[index].second = desc;                                                                       \
    return GRAPH_SUCCESS;                                                                                             \
  }                                                                                                                   \
  TensorDesc Operator::GetDynamic##Side##Desc(const char_t* name, uint32_t index) const {                             \
    return find_desc(operator_impl_->descs, spread(name, index));                                                     \
  }                                                                                                                   \
  graphStatus Operator::UpdateDynamic##Side##Desc(const char_t* name, uint32_t index, const TensorDesc& desc) {       \
    return update_desc(operator_impl_->descs, spread(name, index), desc);                                             \
  }                                                                                                                   \
  int32_t Operator::GetDynamic##Side##Num(const char_t* name) const {                                                 \
    return dynamic_count(operator_impl_->descs, name);                                                                \
  }                                                                                                                   \
  int32_t Operator::GetDynamic##Side##Num(const std::string& name) const {                                            \
    return GetDynamic##Side##Num(name.c_str());                                                                       \
  }                                                                                                                   \
  size_t Operator::Get##Side##sSize() const { return operator_impl_ ? operator_impl_->descs.size() : 0; }
DESCRIPTORS(Input, input_desc)
DESCRIPTORS(Output, output_desc)
#undef DESCRIPTORS
graphStatus Operator::TryGetInputDesc(const char_t* name, TensorDesc& out) const {
  out = GetInputDescByName(name);
  for (const auto& [key, desc] : operator_impl_->input_desc)
    if (key == name) return desc.GetDataType() == DT_UNDEFINED ? GRAPH_FAILED : GRAPH_SUCCESS;
  return GRAPH_FAILED;
}
graphStatus Operator::TryGetInputDesc(const std::string& name, TensorDesc& out) const {
  return TryGetInputDesc(name.c_str(), out);
}
TensorDesc Operator::GetDynamicInputDesc(const std::string& name, uint32_t index) const {
  return GetDynamicInputDesc(name.c_str(), index);
}

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
#define ATTR_ACCESS(Name, parameter, type)                  \
  Operator& Operator::SetAttr(Name name, parameter value) { \
    operator_impl_->attrs[name] = stored(value);            \
    return *this;                                           \
  }                                                         \
  graphStatus Operator::GetAttr(Name name, type& value) const { return read(operator_impl_, name, value); }
#define ATTR_OF_ANY_NAME(parameter, type)     \
  ATTR_ACCESS(const char_t*, parameter, type) \
  ATTR_ACCESS(const std::string&, parameter, type)
ATTR_OF_ANY_NAME(int64_t, int64_t)
ATTR_OF_ANY_NAME(int32_t, int32_t)
ATTR_OF_ANY_NAME(uint32_t, uint32_t)
ATTR_OF_ANY_NAME(float32_t, float32_t)
ATTR_OF_ANY_NAME(bool, bool)
ATTR_OF_ANY_NAME(const DataType&, DataType)
ATTR_OF_ANY_NAME(const Tensor&, Tensor)
ATTR_OF_ANY_NAME(const std::vector<int64_t>&, std::vector<int64_t>)
ATTR_OF_ANY_NAME(const std::vector<int32_t>&, std::vector<int32_t>)
ATTR_OF_ANY_NAME(const std::vector<uint32_t>&, std::vector<uint32_t>)
ATTR_OF_ANY_NAME(const std::vector<float32_t>&, std::vector<float32_t>)
ATTR_OF_ANY_NAME(const std::vector<bool>&, std::vector<bool>)
ATTR_OF_ANY_NAME(const std::vector<DataType>&, std::vector<DataType>)
ATTR_OF_ANY_NAME(const std::vector<Tensor>&, std::vector<Tensor>)
ATTR_OF_ANY_NAME(const OpBytes&, OpBytes)
ATTR_OF_ANY_NAME(const std::vector<std::vector<int64_t>>&, std::vector<std::vector<int64_t>>)
ATTR_ACCESS(const char_t*, const AscendString&, AscendString)
ATTR_ACCESS(const char_t*, const std::vector<AscendString>&, std::vector<AscendString>)
ATTR_ACCESS(const std::string&, const std::string&, std::string)
ATTR_ACCESS(const std::string&, const std::vector<std::string>&, std::vector<std::string>)
#undef ATTR_OF_ANY_NAME
#undef ATTR_ACCESS

Operator& Operator::SetAttr(const char_t* name, const char_t* value) { return SetAttr(name, AscendString(value)); }
Operator& Operator::SetAttr(const char_t* name, const AttrValue& value) {
  operator_impl_->attrs[name] = value.impl->data;
  return *this;
}
Operator& Operator::SetAttr(const char_t* name, AttrValue&& value) {
  return SetAttr(name, static_cast<const AttrValue&>(value));
}
graphStatus Operator::GetAttr(const char_t* name, AttrValue& value) const {
  auto it = operator_impl_->attrs.find(name);
  if (it == operator_impl_->attrs.end()) return GRAPH_FAILED;
  value.impl->data = it->second;
  return GRAPH_SUCCESS;
}

}  // namespace ge
