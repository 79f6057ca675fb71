// Types of the graph engine where CANN's own headers are not there (graph_types.h): an operator project is compiled
// without them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace ge {

using graphStatus = uint32_t;
using char_t = char;
using float32_t = float;
constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFFu;
constexpr graphStatus GRAPH_PARAM_INVALID = 50331649u, GRAPH_NOT_CHANGED = 1343242304u;
constexpr graphStatus GRAPH_NODE_WITHOUT_CONST_INPUT = 50331648u, GRAPH_NODE_NEED_REPASS = 50331647u;
constexpr graphStatus GRAPH_INVALID_IR_DEF = 50331646u, OP_WITHOUT_IR_DATATYPE_INFER_RULE = 50331645u;
constexpr graphStatus GRAPH_PARAM_OUT_OF_RANGE = 50331644u, GRAPH_MEM_OPERATE_FAILED = 50331539u;
constexpr graphStatus GRAPH_NULL_PTR = 50331538u, GRAPH_MEMCPY_FAILED = 50331537u, GRAPH_MEMSET_FAILED = 50331536u;
constexpr graphStatus GRAPH_MATH_CAL_FAILED = 50331429u, GRAPH_ADD_OVERFLOW = 50331428u;
constexpr graphStatus GRAPH_MUL_OVERFLOW = 50331427u, GRAPH_RoundUp_Overflow = 50331426u;
constexpr int64_t UNKNOWN_DIM = -1, UNKNOWN_DIM_NUM = -2;

#define DATA_TYPE(name, number, bits) name = number,
#define FORMAT(...)
enum DataType {
#include "graph_types.inc"
  DT_MAX,
};
#undef DATA_TYPE
#undef FORMAT
#define DATA_TYPE(...)
#define FORMAT(name, number) name = number,
enum Format {
#include "graph_types.inc"
  FORMAT_END,
  FORMAT_MAX = 0xff,
};
#undef DATA_TYPE
#undef FORMAT

class AscendString {
 public:
  AscendString() = default;
  AscendString(const char_t* name) : text_(name ? name : "") {}
  AscendString(const char_t* name, size_t length) : text_(name ? std::string(name, length) : "") {}
  const char_t* GetString() const { return text_.c_str(); }
  size_t GetLength() const { return text_.size(); }
  size_t Find(const AscendString& other) const { return text_.find(other.text_); }
  size_t Hash() const { return std::hash<std::string>()(text_); }
  friend bool operator==(const AscendString& a, const AscendString& b) { return a.text_ == b.text_; }
  friend bool operator!=(const AscendString& a, const AscendString& b) { return a.text_ != b.text_; }
  friend bool operator<(const AscendString& a, const AscendString& b) { return a.text_ < b.text_; }
  friend bool operator>(const AscendString& a, const AscendString& b) { return a.text_ > b.text_; }
  friend bool operator<=(const AscendString& a, const AscendString& b) { return a.text_ <= b.text_; }
  friend bool operator>=(const AscendString& a, const AscendString& b) { return a.text_ >= b.text_; }
  bool operator==(const char_t* other) const { return other && text_ == other; }
  bool operator!=(const char_t* other) const { return !(*this == other); }

 private:
  std::string text_;
};

}  // namespace ge
