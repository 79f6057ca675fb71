// Data types and formats as the graph engine numbers them, its status and its strings.
//
// A program has CANN's own headers beside these (`c_types.h` is theirs alone) and may include both: then the types that
// both have are CANN's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

#if !defined(OPHOOK_OP_HOST) && __has_include("graph/c_types.h")
#define OPHOOK_CANN_GRAPH
#include "graph/ascend_string.h"
#include "graph/ge_error_codes.h"
#include "graph/types.h"
#else
#include "own_graph_types.h"
#endif

namespace ophook::host {
// Without FORMAT_ in front; null for a number that is none.
inline const char* format_name(int format) {
  switch (format & 0xff) {
#define DATA_TYPE(...)
#define FORMAT(name, number) \
  case number: return &#name[7];
#include "graph_types.inc"
#undef DATA_TYPE
#undef FORMAT
    default: return nullptr;
  }
}
}  // namespace ophook::host

namespace ge {

// Of one element; 0 for a type that has none.
inline int GetSizeInBits(DataType type) {
  switch (static_cast<int>(type)) {
#define DATA_TYPE(name, number, bits) \
  case number: return bits;
#define FORMAT(...)
#include "graph_types.inc"
#undef DATA_TYPE
#undef FORMAT
    default: return 0;
  }
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

}  // namespace ge

namespace ophook::host {
// -1 where it is not known.
inline int64_t bytes_of(int64_t count, ge::DataType type) {
  int64_t bits = 0;
  if (count < 0 || ge::GetSizeInBits(type) == 0 || ge::MulOverflow(count, ge::GetSizeInBits(type), bits)) return -1;
  return bits / 8 + (bits % 8 != 0);
}
}  // namespace ophook::host

namespace ge {

#ifndef OPHOOK_CANN_GRAPH
// Bytes; 1000 and its bits for a type of less than a byte.
inline int GetSizeByDataType(DataType type) {
  const int bits = GetSizeInBits(type);
  return bits == 0 ? -1 : bits < 8 ? 1000 + bits : bits / 8;
}
inline int64_t GetSizeInBytes(int64_t count, DataType type) { return ophook::host::bytes_of(count, type); }

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
inline const char_t* GetFormatName(Format format) { return ophook::host::format_name(format); }
#endif

inline AscendString ConvertToAscendString(const char* text) { return AscendString(text); }
inline AscendString ConvertToAscendString(const std::string& text) { return AscendString(text.c_str()); }
inline AscendString ConvertToAscendString(const AscendString& text) { return text; }

// Their names, for messages.
struct TypeUtils {
  static std::string DataTypeToSerialString(DataType type) {
    switch (static_cast<int>(type)) {
#define DATA_TYPE(name, number, bits) \
  case number: return #name;
#define FORMAT(...)
#include "graph_types.inc"
#undef DATA_TYPE
#undef FORMAT
      default: return "UNDEFINED";
    }
  }
  static std::string FormatToSerialString(Format format) {
    const char* name = ophook::host::format_name(format);
    return name ? name : "RESERVED";
  }
  static DataType SerialStringToDataType(const std::string& text) {
    for (int type = 0; type < DT_MAX; ++type)
      if (DataTypeToSerialString(DataType(type)) == text) return DataType(type);
    return DT_UNDEFINED;
  }
  static Format SerialStringToFormat(const std::string& text) {
    for (int format = 0; format < 0xff; ++format)
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
