// Data types and formats as the graph engine numbers them, and its status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ge {

using graphStatus = uint32_t;
using char_t = char;
constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFFu;
constexpr graphStatus GRAPH_PARAM_INVALID = 50331649u;
constexpr int64_t UNKNOWN_DIM = -1, UNKNOWN_DIM_NUM = -2;

#define DATA_TYPE(name, number) name = number,
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
  FORMAT_MAX = 0xff,
};
#undef DATA_TYPE
#undef FORMAT

constexpr int GetSizeByDataType(DataType dtype) {
  switch (dtype) {
    case DT_FLOAT:
    case DT_INT32:
    case DT_UINT32: return 4;
    case DT_FLOAT16:
    case DT_BF16:
    case DT_INT16:
    case DT_UINT16: return 2;
    case DT_INT8:
    case DT_UINT8:
    case DT_BOOL:
    case DT_HIFLOAT8:
    case DT_FLOAT8_E5M2:
    case DT_FLOAT8_E4M3FN: return 1;
    case DT_INT64:
    case DT_UINT64:
    case DT_DOUBLE:
    case DT_COMPLEX64: return 8;
    case DT_COMPLEX128: return 16;
    default: return -1;
  }
}

// Their names, for messages.
struct TypeUtils {
  static std::string DataTypeToSerialString(DataType type) {
    switch (type) {
#define DATA_TYPE(name, number) \
  case name: return #name;
#define FORMAT(...)
#include "graph_types.inc"
#undef DATA_TYPE
#undef FORMAT
      default: return "UNDEFINED";
    }
  }
  static std::string FormatToSerialString(Format format) {
    switch (format) {
#define DATA_TYPE(...)
#define FORMAT(name, number) \
  case name: return std::string(#name).substr(7);  // without FORMAT_
#include "graph_types.inc"
#undef DATA_TYPE
#undef FORMAT
      default: return "RESERVED";
    }
  }
  static bool GetDataTypeLength(DataType type, uint32_t& length) {
    const int size = GetSizeByDataType(type);
    length = size > 0 ? uint32_t(size) : 0;
    return size > 0;
  }
};

}  // namespace ge
