// Of opdev: containers, data types, formats and shapes, and all of them as text for messages.
#ifndef OPHOOK_ACLNN_OPDEV_VALUES_H_
#define OPHOOK_ACLNN_OPDEV_VALUES_H_

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <complex>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "aclnn/aclnn_base.h"
#include "bfloat16.h"
#include "exe_graph/runtime/shape.h"
#include "exe_graph/runtime/tiling_context.h"
#include "fp16_t.h"
#include "graph/ascend_string.h"
#include "graph/types.h"
#include "ophook_opdev_c.h"
#include "platform.h"
#include "tiling/platform/platform_ascendc.h"

// ---- containers, types and formats ----
namespace op {

using namespace std;  // sources rely on it: `string`, `get<0>(…)`

struct Object {};  // what callers make are such: functions of this namespace are found by them

using DataType = ge::DataType;
using Format = ge::Format;
using Shape = gert::Shape;
constexpr size_t MAX_DIM_NUM = 25;

template <typename T, size_t N = 8>
class FVector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  FVector() = default;
  template <size_t M>
  FVector(const FVector<T, M>& other) : std::vector<T>(other.begin(), other.end()) {}
};

// Bits would have no data().
template <size_t N>
class FVector<bool, N> {
 public:
  FVector() = default;
  FVector(std::initializer_list<bool> values) : values_(values.begin(), values.end()) {}
  explicit FVector(size_t count, bool value = false) : values_(count, value) {}
  template <typename It>
  FVector(It begin, It end) : values_(begin, end) {}
  void push_back(bool value) { values_.push_back(value); }
  void emplace_back(bool value) { values_.push_back(value); }
  void reserve(size_t count) { values_.reserve(count); }
  void clear() { values_.clear(); }
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  bool* data() { return reinterpret_cast<bool*>(values_.data()); }
  const bool* data() const { return reinterpret_cast<const bool*>(values_.data()); }
  bool& operator[](size_t i) { return data()[i]; }
  const bool& operator[](size_t i) const { return data()[i]; }
  bool* begin() { return data(); }
  bool* end() { return data() + size(); }
  const bool* begin() const { return data(); }
  const bool* end() const { return data() + size(); }

 private:
  std::vector<char> values_;
};

template <typename T, size_t N = 8>
using SmallVector = FVector<T, N>;
using ShapeVector = FVector<int64_t, MAX_DIM_NUM>;
using Strides = FVector<int64_t, MAX_DIM_NUM>;

enum class OpImplMode : uint32_t {
  IMPL_MODE_DEFAULT = 0x1,
  IMPL_MODE_HIGH_PERFORMANCE = 0x2,
  IMPL_MODE_HIGH_PRECISION = 0x4,
  IMPL_MODE_SUPER_PERFORMANCE = 0x8,
  IMPL_MODE_SUPPORT_OUT_OF_BOUND_INDEX = 0x10,
  IMPL_MODE_ENABLE_FLOAT32_EXECUTION = 0x20,
  IMPL_MODE_ENABLE_HI_FLOAT32_EXECUTION = 0x40,
  IMPL_MODE_KEEP_FP16 = 0x80,
  IMPL_MODE_RESERVED = 0xFFFFFFFF
};
enum class OpExecMode : uint32_t {
  OP_EXEC_MODE_DEFAULT = 0,
  OP_EXEC_MODE_HF32 = 1,
  OP_EXEC_MODE_HF32T = 1,
  OP_EXEC_MODE_RESERVED = 0xFFFFFFFF
};
enum CoreType : uint32_t { AI_CORE, AI_CPU };

inline DataType ToOpDataType(aclDataType type) { return static_cast<DataType>(type); }
inline aclDataType ToAclDataType(DataType type) { return static_cast<aclDataType>(type); }
inline Format ToOpFormat(aclFormat format) { return static_cast<Format>(format); }
inline aclFormat ToAclFormat(Format format) { return static_cast<aclFormat>(format); }

inline bool IsComplexType(DataType type) {
  return type == ge::DT_COMPLEX64 || type == ge::DT_COMPLEX128 || type == ge::DT_COMPLEX32;
}
inline bool IsFloatingType(DataType type) {
  return type == ge::DT_FLOAT || type == ge::DT_FLOAT16 || type == ge::DT_DOUBLE || type == ge::DT_BF16;
}
inline bool IsIntegralType(DataType type) {
  switch (type) {
    case ge::DT_INT8:
    case ge::DT_INT16:
    case ge::DT_INT32:
    case ge::DT_INT64:  // clang-format off
    case ge::DT_UINT8: case ge::DT_UINT16: case ge::DT_UINT32: case ge::DT_UINT64: return true;  // clang-format on
    default: return false;
  }
}
inline bool IsIntegralType(DataType type, bool with_bool) {
  return IsIntegralType(type) || (with_bool && type == ge::DT_BOOL);
}
inline bool IsRealNumberType(DataType type) { return IsFloatingType(type) || IsIntegralType(type); }
inline bool IsNumberType(DataType type) { return IsRealNumberType(type) || IsComplexType(type); }
inline bool IsBasicType(DataType type) { return IsNumberType(type) || type == ge::DT_BOOL; }
inline size_t TypeSize(DataType type) {
  const int bytes = ge::GetSizeByDataType(type);
  return bytes < 0 ? 0 : size_t(bytes);
}
inline int64_t CalcShapeBytes(int64_t size, DataType type, bool = false) {
  const size_t one = TypeSize(type);
  constexpr size_t of_bits = 1000;  // ge says so of types that are less than a byte
  return one > of_bits ? (size * int64_t(one - of_bits) + 7) / 8 : size * int64_t(one);
}
template <typename Types>
bool CheckType(DataType type, const Types& allowed) {
  return std::find(allowed.begin(), allowed.end(), type) != allowed.end();
}
inline bool CheckType(DataType type, std::initializer_list<DataType> allowed) {
  return std::find(allowed.begin(), allowed.end(), type) != allowed.end();
}
// Bool, whole numbers, floating-point numbers, complex ones: nothing becomes a lower kind.
inline int KindOfType(DataType type) {
  return IsComplexType(type) ? 3 : IsFloatingType(type) ? 2 : IsIntegralType(type) ? 1 : type == ge::DT_BOOL ? 0 : -1;
}
inline bool CanCast(DataType from, DataType to) {
  if (from == to) return true;
  const int a = KindOfType(from), b = KindOfType(to);
  return a >= 0 && b >= 0 && !(a == 3 && b < 3) && !(a == 2 && b < 2) && !(a == 1 && b == 0);
}
inline DataType PromoteType(DataType a, DataType b) {
  if (a == b) return a;
  const int of_a = KindOfType(a), of_b = KindOfType(b);
  if (of_a < 0 || of_b < 0) return ge::DT_UNDEFINED;
  const DataType high = of_a > of_b ? a : b, low = of_a > of_b ? b : a;
  if (of_a != of_b) {
    if (of_a + of_b == 5) {  // a complex number and a real one with as many bits
      if (low == ge::DT_DOUBLE) return ge::DT_COMPLEX128;
      return high == ge::DT_COMPLEX32 && low != ge::DT_FLOAT16 ? ge::DT_COMPLEX64 : high;
    }
    return high;
  }
  if (of_a == 3) return a == ge::DT_COMPLEX128 || b == ge::DT_COMPLEX128 ? ge::DT_COMPLEX128 : ge::DT_COMPLEX64;
  if (of_a == 2) return a == ge::DT_DOUBLE || b == ge::DT_DOUBLE ? ge::DT_DOUBLE : ge::DT_FLOAT;
  const auto is_signed = [](DataType type) {
    return type == ge::DT_INT8 || type == ge::DT_INT16 || type == ge::DT_INT32 || type == ge::DT_INT64;
  };
  const size_t bytes_a = TypeSize(a), bytes_b = TypeSize(b);
  if (is_signed(a) == is_signed(b)) return bytes_a > bytes_b ? a : b;
  const DataType with_sign = is_signed(a) ? a : b, without = is_signed(a) ? b : a;
  if (TypeSize(with_sign) > TypeSize(without)) return with_sign;
  switch (TypeSize(without)) {
    case 1: return ge::DT_INT16;
    case 2: return ge::DT_INT32;
    case 4: return ge::DT_INT64;
    default: return ge::DT_UNDEFINED;
  }
}

inline int32_t GetPrimaryFormat(int32_t format) { return int32_t(uint32_t(format) & 0xffu); }
inline Format GetPrimaryFormat(Format format) { return static_cast<Format>(GetPrimaryFormat(int32_t(format))); }
inline int32_t GetSubFormat(int32_t format) { return int32_t((uint32_t(format) & 0xffff00u) >> 8); }
inline int32_t GetSubFormat(Format format) { return GetSubFormat(int32_t(format)); }
inline bool HasSubFormat(int32_t format) { return GetSubFormat(format) > 0; }
inline bool IsPrivateFormat(Format format) {
  switch (GetPrimaryFormat(format)) {
    case ge::FORMAT_ND:
    case ge::FORMAT_NCHW:
    case ge::FORMAT_NHWC:
    case ge::FORMAT_HWCN:  // clang-format off
    case ge::FORMAT_NCDHW: case ge::FORMAT_NDHWC: case ge::FORMAT_DHWCN: case ge::FORMAT_NCL:
    case ge::FORMAT_DHWNC: case ge::FORMAT_CHWN: return false;  // clang-format on
    default: return true;
  }
}

inline void ToShape(const int64_t* dims, uint64_t count, Shape& shape) {
  shape.SetDimNum(0);
  for (uint64_t i = 0; i < count; ++i) shape.AppendDim(dims[i]);
}
template <size_t N>
void ToShape(const FVector<int64_t, N>& dims, Shape& shape) {
  ToShape(dims.data(), dims.size(), shape);
}
inline ShapeVector ToShapeVector(const Shape& shape) {
  ShapeVector dims;
  for (size_t i = 0; i < shape.GetDimNum(); ++i) dims.push_back(shape.GetDim(i));
  return dims;
}
inline void ToContiguousStrides(const Shape& shape, Strides& strides) {
  strides.assign(shape.GetDimNum(), 1);
  for (size_t i = shape.GetDimNum(); i-- > 1;) strides[i - 1] = strides[i] * shape.GetDim(i);
}
inline bool BroadcastInferShape(const Shape& a, const Shape& b, Shape& out) {
  const size_t rank = std::max(a.GetDimNum(), b.GetDimNum());
  Shape made;
  for (size_t i = 0; i < rank; ++i) {
    const auto dim = [&](const Shape& of) {
      const size_t missing = rank - of.GetDimNum();
      return i < missing ? int64_t{1} : of.GetDim(i - missing);
    };
    const int64_t x = dim(a), y = dim(b);
    if (x != y && x != 1 && y != 1) return false;
    made.AppendDim(x == 1 ? y : x);
  }
  out = made;
  return true;
}
inline bool CheckBroadcastShape(const Shape& a, const Shape& b) {
  Shape out;
  return BroadcastInferShape(a, b, out);
}

// ---- as text, for messages ----
inline ge::AscendString ToString(DataType type) {
  static const char* const names[] = {"DT_FLOAT",         "DT_FLOAT16",     "DT_INT8",          "DT_INT32",
                                      "DT_UINT8",         nullptr,          "DT_INT16",         "DT_UINT16",
                                      "DT_UINT32",        "DT_INT64",       "DT_UINT64",        "DT_DOUBLE",
                                      "DT_BOOL",          "DT_STRING",      "DT_DUAL_SUB_INT8", "DT_DUAL_SUB_UINT8",
                                      "DT_COMPLEX64",     "DT_COMPLEX128",  "DT_QINT8",         "DT_QINT16",
                                      "DT_QINT32",        "DT_QUINT8",      "DT_QUINT16",       "DT_RESOURCE",
                                      "DT_STRING_REF",    "DT_DUAL",        "DT_VARIANT",       "DT_BF16",
                                      "DT_UNDEFINED",     "DT_INT4",        "DT_UINT1",         "DT_INT2",
                                      "DT_UINT2",         "DT_COMPLEX32",   "DT_HIFLOAT8",      "DT_FLOAT8_E5M2",
                                      "DT_FLOAT8_E4M3FN", "DT_FLOAT8_E8M0", "DT_FLOAT6_E3M2",   "DT_FLOAT6_E2M3",
                                      "DT_FLOAT4_E2M1",   "DT_FLOAT4_E1M2"};
  const size_t i = size_t(type);
  return ge::AscendString(i < std::size(names) && names[i] ? names[i] : "DT_UNDEFINED");
}
inline ge::AscendString ToString(Format format) {
  switch (GetPrimaryFormat(format)) {
    case ge::FORMAT_NCHW: return ge::AscendString("NCHW");
    case ge::FORMAT_NHWC: return ge::AscendString("NHWC");
    case ge::FORMAT_ND: return ge::AscendString("ND");
    case ge::FORMAT_NC1HWC0: return ge::AscendString("NC1HWC0");
    case ge::FORMAT_FRACTAL_Z: return ge::AscendString("FRACTAL_Z");
    case ge::FORMAT_FRACTAL_NZ: return ge::AscendString("FRACTAL_NZ");
    case ge::FORMAT_HWCN: return ge::AscendString("HWCN");
    case ge::FORMAT_NDHWC: return ge::AscendString("NDHWC");
    case ge::FORMAT_NCDHW: return ge::AscendString("NCDHW");
    case ge::FORMAT_NDC1HWC0: return ge::AscendString("NDC1HWC0");
    case ge::FORMAT_FRACTAL_Z_3D: return ge::AscendString("FRACTAL_Z_3D");
    case ge::FORMAT_NCL: return ge::AscendString("NCL");
    default: return ge::AscendString(std::to_string(int32_t(format)).c_str());
  }
}
template <typename Range, typename Text>
ge::AscendString JoinedText(const Range& all, const Text& text) {
  std::string out = "[";
  for (const auto& one : all) out += (out.size() > 1 ? "," : "") + std::string(text(one));
  return ge::AscendString((out + "]").c_str());
}
template <typename T, size_t N, std::enable_if_t<std::is_arithmetic<T>::value, int> = 0>
ge::AscendString ToString(const FVector<T, N>& numbers) {
  return JoinedText(numbers, [](const T& one) { return std::to_string(one); });
}
inline ge::AscendString ToString(const Shape& shape) { return ToString(ToShapeVector(shape)); }
inline ge::AscendString ToString(const std::initializer_list<DataType>& types) {
  return JoinedText(types, [](DataType one) { return ToString(one).GetString(); });
}
inline ge::AscendString ToString(const std::vector<DataType>& types) {
  return JoinedText(types, [](DataType one) { return ToString(one).GetString(); });
}
inline ge::AscendString ToString(const std::initializer_list<Format>& formats) {
  return JoinedText(formats, [](Format one) { return ToString(one).GetString(); });
}
inline ge::AscendString ToString(const std::string& text) { return ge::AscendString(text.c_str()); }
inline ge::AscendString ToString(SocVersion) {
  return ge::AscendString(GetCurrentPlatformInfo().GetSocLongVersion().c_str());
}

}  // namespace op

#endif
