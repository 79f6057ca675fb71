// Data types and formats as the graph engine numbers them, its status and its strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>

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

// Of one element; 0 for a type that has none.
constexpr int GetSizeInBits(DataType type) {
  switch (type) {
#define DATA_TYPE(name, number, bits) \
  case name: return bits;
#define FORMAT(...)
#include "graph_types.inc"
#undef DATA_TYPE
#undef FORMAT
    default: return 0;
  }
}
// Bytes; 1000 and its bits for a type of less than a byte.
constexpr int GetSizeByDataType(DataType type) {
  const int bits = GetSizeInBits(type);
  return bits == 0 ? -1 : bits < 8 ? 1000 + bits : bits / 8;
}

// These return whether there was an overflow, in which case `result` has no meaning.
template <typename L, typename R, typename T>
bool AddOverflow(L a, R b, T& result) {
  return __builtin_add_overflow(a, b, &result);
}
template <typename L, typename R, typename T>
bool MulOverflow(L a, R b, T& result) {
  return __builtin_mul_overflow(a, b, &result);
}
template <typename T>
class IntegerChecker {
 public:
  template <typename V>
  static bool Compat(const V value) {
    T same{};
    return !AddOverflow(value, 0, same);
  }
};

inline int64_t GetSizeInBytes(int64_t count, DataType type) {
  int64_t bits = 0;
  if (count < 0 || GetSizeInBits(type) == 0 || MulOverflow(count, GetSizeInBits(type), bits)) return -1;
  return bits / 8 + (bits % 8 != 0);
}

// A format's number has its format in the lowest byte, a sub-format in the next two, and in four bits of the last the
// power of two, plus 1, that C0 is.
inline int32_t GetPrimaryFormat(int32_t format) { return format & 0xff; }
inline int32_t GetSubFormat(int32_t format) { return format >> 8 & 0xffff; }
inline int32_t GetC0Format(int32_t format) { return format >> 24 & 0xf; }
inline bool HasSubFormat(int32_t format) { return GetSubFormat(format) != 0; }
inline bool HasC0Format(int32_t format) { return GetC0Format(format) != 0; }
inline int64_t GetC0Value(int32_t format) { return HasC0Format(format) ? int64_t{1} << (GetC0Format(format) - 1) : -1; }
inline int32_t GetFormatFromSub(int32_t primary, int32_t sub) { return (primary & 0xff) | (sub & 0xffff) << 8; }
inline int32_t GetFormatFromC0(int32_t format, int32_t c0) { return (format & 0xffffff) | (c0 & 0xf) << 24; }
inline int32_t GetFormatFromSubAndC0(int32_t primary, int32_t sub, int32_t c0) {
  return GetFormatFromC0(GetFormatFromSub(primary, sub), c0);
}
// Without FORMAT_ in front; null for a number that is none.
inline const char_t* GetFormatName(Format format) {
  switch (GetPrimaryFormat(format)) {
#define DATA_TYPE(...)
#define FORMAT(name, number) \
  case name: return &#name[7];
#include "graph_types.inc"
#undef DATA_TYPE
#undef FORMAT
    default: return nullptr;
  }
}

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
inline AscendString ConvertToAscendString(const char* text) { return AscendString(text); }
inline AscendString ConvertToAscendString(const std::string& text) { return AscendString(text.c_str()); }
inline AscendString ConvertToAscendString(const AscendString& text) { return text; }

// Their names, for messages.
struct TypeUtils {
  static std::string DataTypeToSerialString(DataType type) {
    switch (type) {
#define DATA_TYPE(name, number, bits) \
  case name: return #name;
#define FORMAT(...)
#include "graph_types.inc"
#undef DATA_TYPE
#undef FORMAT
      default: return "UNDEFINED";
    }
  }
  static std::string FormatToSerialString(Format format) {
    const char_t* name = GetFormatName(format);
    return name ? name : "RESERVED";
  }
  static DataType SerialStringToDataType(const std::string& text) {
    for (int type = 0; type < DT_MAX; ++type)
      if (DataTypeToSerialString(DataType(type)) == text) return DataType(type);
    return DT_UNDEFINED;
  }
  static Format SerialStringToFormat(const std::string& text) {
    for (int format = 0; format < FORMAT_END; ++format)
      if (FormatToSerialString(Format(format)) == text) return Format(format);
    return FORMAT_RESERVED;
  }
  static Format DataFormatToFormat(const std::string& text) {
    const Format format = SerialStringToFormat(text);
    const bool one = format == FORMAT_NCHW || format == FORMAT_NHWC || format == FORMAT_NDHWC ||
                     format == FORMAT_NCDHW || format == FORMAT_ND;
    return one ? format : FORMAT_RESERVED;
  }
  static Format DataFormatToFormat(const AscendString& text) {
    return DataFormatToFormat(std::string(text.GetString()));
  }
  static AscendString DataTypeToAscendString(const DataType& type) { return DataTypeToSerialString(type).c_str(); }
  static AscendString FormatToAscendString(const Format& format) { return FormatToSerialString(format).c_str(); }
  static DataType AscendStringToDataType(const AscendString& text) { return SerialStringToDataType(text.GetString()); }
  static Format AscendStringToFormat(const AscendString& text) { return SerialStringToFormat(text.GetString()); }
  static bool GetDataTypeLength(DataType type, uint32_t& length) {
    const int size = GetSizeByDataType(type);
    length = size > 0 ? uint32_t(size) : 0;
    return size > 0;
  }
};

}  // namespace ge
