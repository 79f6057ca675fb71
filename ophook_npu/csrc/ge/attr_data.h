// How the values of attributes are kept (AttrData), and read back as what a program asks for: all integers are kept as
// int64_t, all texts as std::string, others as they are.
#pragma once

#include <type_traits>

#include "operator_impl.h"

namespace ge {

inline int64_t kept(int32_t value) { return value; }
inline int64_t kept(uint32_t value) { return value; }
inline std::string kept(const char_t* value) { return value ? value : ""; }
inline std::string kept(const AscendString& value) { return value.GetString(); }
template <typename T>
T kept(const T& value) {
  return value;
}
template <typename T>
auto kept(const std::vector<T>& values) {
  std::vector<decltype(kept(std::declval<T>()))> out;
  for (const auto& value : values) out.push_back(kept(value));
  return out;
}

inline void give(const std::string& from, AscendString& to) { to = AscendString(from.c_str()); }
template <typename From, typename To>
void give(const From& from, To& to) {
  to = static_cast<To>(from);
}
template <typename From, typename To>
void give(const std::vector<From>& from, std::vector<To>& to) {
  to.clear();
  for (const auto& one : from) {
    To value{};
    give(one, value);
    to.push_back(value);
  }
}
template <typename T>
AttrData stored(const T& value) {
  return kept(value);
}
inline AttrData stored(const AttrValue& value) { return value.impl->data; }

// Fails where the value is of another kind.
template <typename T>
graphStatus load(const AttrData& data, T& out) {
  const auto* value = std::get_if<decltype(kept(out))>(&data);
  if (!value) return GRAPH_FAILED;
  give(*value, out);
  return GRAPH_SUCCESS;
}
inline graphStatus load(const AttrData& data, AttrValue& out) {
  out.impl->data = data;
  return GRAPH_SUCCESS;
}

template <typename T>
graphStatus load(const AttrMap& attrs, const std::string& name, T& out) {
  const auto found = attrs.find(name);
  return found == attrs.end() ? GRAPH_FAILED : load(found->second, out);
}

// How a function of the interface takes a value of this type.
template <typename T>
using Given = std::conditional_t<std::is_arithmetic_v<T> || std::is_pointer_v<T>, T, const T&>;

// The types that all functions of attributes know, beside texts; and those that operators and nodes know in addition.
#define OPHOOK_ATTR_KINDS(DO) \
  DO(int64_t)                 \
  DO(float32_t)               \
  DO(bool)                    \
  DO(DataType)                \
  DO(Tensor)                  \
  DO(std::vector<int64_t>)    \
  DO(std::vector<float32_t>)  \
  DO(std::vector<bool>)       \
  DO(std::vector<DataType>)   \
  DO(std::vector<Tensor>)     \
  DO(std::vector<std::vector<int64_t>>)
#define OPHOOK_ATTR_TYPES(DO) \
  OPHOOK_ATTR_KINDS(DO)       \
  DO(int32_t)                 \
  DO(uint32_t)                \
  DO(std::vector<int32_t>)    \
  DO(std::vector<uint32_t>)   \
  DO(std::vector<uint8_t>)

}  // namespace ge
