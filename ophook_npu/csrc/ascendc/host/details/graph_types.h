// Data types and formats as the graph engine numbers them, and its status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ge {

using graphStatus = uint32_t;
constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFFu;
constexpr graphStatus GRAPH_PARAM_INVALID = 50331649u;

#define OPHOOK_DATA_TYPES(OPHOOK_ROW)                                                                                  \
  OPHOOK_ROW(DT_FLOAT, 0)                                                                                              \
  OPHOOK_ROW(DT_FLOAT16, 1)                                                                                            \
  OPHOOK_ROW(DT_INT8, 2) OPHOOK_ROW(DT_INT32, 3) OPHOOK_ROW(DT_UINT8, 4) OPHOOK_ROW(DT_INT16, 6)                       \
      OPHOOK_ROW(DT_UINT16, 7) OPHOOK_ROW(DT_UINT32, 8) OPHOOK_ROW(DT_INT64, 9) OPHOOK_ROW(DT_UINT64, 10)              \
          OPHOOK_ROW(DT_DOUBLE, 11) OPHOOK_ROW(DT_BOOL, 12) OPHOOK_ROW(DT_STRING, 13) OPHOOK_ROW(DT_COMPLEX64, 16)     \
              OPHOOK_ROW(DT_COMPLEX128, 17) OPHOOK_ROW(DT_UNDEFINED, 28) OPHOOK_ROW(DT_BF16, 27)                       \
                  OPHOOK_ROW(DT_INT4, 29) OPHOOK_ROW(DT_UINT1, 30) OPHOOK_ROW(DT_INT2, 31) OPHOOK_ROW(DT_HIFLOAT8, 34) \
                      OPHOOK_ROW(DT_FLOAT8_E5M2, 35) OPHOOK_ROW(DT_FLOAT8_E4M3FN, 36)
#define OPHOOK_ROW(name, number) name = number,
enum DataType {
  OPHOOK_DATA_TYPES(OPHOOK_ROW) DT_MAX,
};
#undef OPHOOK_ROW
#define OPHOOK_FORMATS(OPHOOK_ROW)                                                                                   \
  OPHOOK_ROW(FORMAT_NCHW, 0)                                                                                         \
  OPHOOK_ROW(FORMAT_NHWC, 1)                                                                                         \
  OPHOOK_ROW(FORMAT_ND, 2) OPHOOK_ROW(FORMAT_NC1HWC0, 3) OPHOOK_ROW(FORMAT_FRACTAL_Z, 4) OPHOOK_ROW(FORMAT_HWCN, 16) \
      OPHOOK_ROW(FORMAT_NDHWC, 27) OPHOOK_ROW(FORMAT_FRACTAL_NZ, 29) OPHOOK_ROW(FORMAT_NCDHW, 30)                    \
          OPHOOK_ROW(FORMAT_NDC1HWC0, 32) OPHOOK_ROW(FORMAT_RESERVED, 40) OPHOOK_ROW(FORMAT_NCL, 47)
#define OPHOOK_ROW(name, number) name = number,
enum Format {
  OPHOOK_FORMATS(OPHOOK_ROW) FORMAT_MAX = 0xff,
};
#undef OPHOOK_ROW

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
#define OPHOOK_ROW(name, number) \
  case name: return #name;
      OPHOOK_DATA_TYPES(OPHOOK_ROW)
#undef OPHOOK_ROW
      default: return "UNDEFINED";
    }
  }
  static std::string FormatToSerialString(Format format) {
    switch (format) {
#define OPHOOK_ROW(name, number) \
  case name: return std::string(#name).substr(7);  // without FORMAT_
      OPHOOK_FORMATS(OPHOOK_ROW)
#undef OPHOOK_ROW
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
