// What an operator's own aclnn function is written with (opdev): tensors with their shapes, an executor that notes what
// is to be launched, and macros that note it. All of it is text of this header over the C functions below, so that it
// compiles with either form of std::string. The headers named after the pages include it.
#ifndef OPHOOK_ACLNN_OPDEV_H_
#define OPHOOK_ACLNN_OPDEV_H_

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

// ---- what callers of aclnn functions make: nothing is in these types, what they stand for is the library's ----
struct aclTensor : op::Object {
  aclTensor() = delete;
  const op::Shape& GetViewShape() const { return shape(0); }
  const op::Shape& GetStorageShape() const { return shape(1); }
  const op::Shape& GetOriginalShape() const { return shape(2); }
  op::Strides GetViewStrides() const {
    const auto told = get();
    return op::Strides(told.strides, told.strides + told.view_rank);
  }
  int64_t GetViewOffset() const { return get().offset; }
  int64_t GetStorageOffset() const { return get().storage_offset; }
  op::DataType GetDataType() const { return op::DataType(get().dtype); }
  op::Format GetViewFormat() const { return op::Format(get().view_format); }
  op::Format GetStorageFormat() const { return op::Format(get().storage_format); }
  op::Format GetOriginalFormat() const { return op::Format(get().original_format); }
  void* GetStorageAddr() const { return get().data; }
  void* GetData() const {
    const auto told = get();
    return told.data ? static_cast<char*>(told.data) +
                           (told.offset + told.storage_offset) * int64_t(op::TypeSize(op::DataType(told.dtype)))
                     : nullptr;
  }
  const aclTensor* GetTensor() const { return this; }
  void* GetAddr() const { return GetData(); }
  int64_t Numel() const { return GetViewShape().GetShapeSize(); }
  int64_t Size() const { return Numel(); }
  bool IsEmpty() const { return Numel() == 0; }
  ge::AscendString ToString() const {
    const std::string shape = op::ToString(GetViewShape()).GetString(), type = op::ToString(GetDataType()).GetString();
    return ge::AscendString((shape + " " + type + " " + op::ToString(GetViewFormat()).GetString()).c_str());
  }
  bool IsFromWorkspace() const { return get().of_workspace != 0; }
  gert::TensorPlacement GetPlacement() const { return get().on_host ? gert::kOnHost : gert::kOnDeviceHbm; }

  void SetViewShape(const op::Shape& shape) const {
    set(shape, &ophook_opdev_tensor::view, &ophook_opdev_tensor::view_rank);
  }
  void SetStorageShape(const op::Shape& shape) const {
    set(shape, &ophook_opdev_tensor::storage, &ophook_opdev_tensor::storage_rank);
  }
  void SetOriginalShape(const op::Shape& shape) const {
    set(shape, &ophook_opdev_tensor::original, &ophook_opdev_tensor::original_rank);
  }
  void SetViewStrides(const op::Strides& strides) const {
    auto told = get();
    std::copy_n(strides.begin(), std::min(strides.size(), op::MAX_DIM_NUM), told.strides);
    ophook_opdev_set(this, &told);
  }
  void SetViewOffset(int64_t offset) const { change(&ophook_opdev_tensor::offset, offset); }
  void SetStorageOffset(int64_t offset) const { change(&ophook_opdev_tensor::storage_offset, offset); }
  void SetDataType(op::DataType type) const { change(&ophook_opdev_tensor::dtype, int32_t(type)); }
  void SetViewFormat(op::Format format) const { change(&ophook_opdev_tensor::view_format, int32_t(format)); }
  void SetStorageFormat(op::Format format) const { change(&ophook_opdev_tensor::storage_format, int32_t(format)); }
  void SetOriginalFormat(op::Format format) const { change(&ophook_opdev_tensor::original_format, int32_t(format)); }
  void SetStorageAddr(void* address) const { change(&ophook_opdev_tensor::data, address); }
  void SetFromWorkspace(bool is) const { change(&ophook_opdev_tensor::of_workspace, int32_t(is)); }
  // Of a tensor on the host.
  template <typename T>
  void SetData(int64_t i, const T value, op::DataType type) const {
    op_put(static_cast<char*>(get().data) + i * int64_t(op::TypeSize(type)), value, type);
  }
  template <typename T>
  void SetData(const T* values, uint64_t count, op::DataType type) const {
    for (uint64_t i = 0; i < count; ++i) SetData(int64_t(i), values[i], type);
  }
  void SetIntData(const int64_t* values, uint64_t count, op::DataType type) const { SetData(values, count, type); }
  void SetFloatData(const float* values, uint64_t count, op::DataType type) const { SetData(values, count, type); }
  void SetBoolData(const bool* values, uint64_t count, op::DataType type) const { SetData(values, count, type); }
  void SetFp16Data(const op::fp16_t* values, uint64_t count, op::DataType type) const { SetData(values, count, type); }
  void SetBf16Data(const op::bfloat16* values, uint64_t count, op::DataType type) const {
    SetData(values, count, type);
  }

  // A number as it lies in memory in another data type.
  template <typename T>
  static void op_put(void* to, T value, op::DataType type) {
    const auto put = [&](auto number) { std::memcpy(to, &number, sizeof number); };
    switch (type) {
      case ge::DT_FLOAT: return put(float(value));
      case ge::DT_DOUBLE: return put(double(value));
      case ge::DT_FLOAT16: return put(op::fp16_t(float(value)));
      case ge::DT_BF16: return put(op::bfloat16(float(value)));
      case ge::DT_INT8: return put(int8_t(value));
      case ge::DT_UINT8: return put(uint8_t(value));
      case ge::DT_INT16: return put(int16_t(value));
      case ge::DT_UINT16: return put(uint16_t(value));
      case ge::DT_INT32: return put(int32_t(value));
      case ge::DT_UINT32: return put(uint32_t(value));
      case ge::DT_INT64: return put(int64_t(value));
      case ge::DT_UINT64: return put(uint64_t(value));
      case ge::DT_BOOL: return put(bool(value));
      case ge::DT_COMPLEX64: return put(std::complex<float>(float(value)));
      case ge::DT_COMPLEX128: return put(std::complex<double>(double(value)));
      default:
        std::fprintf(stderr, "[simulated Ascend] opdev: numbers of data type %d are not simulated\n", int(type)),
            std::abort();
    }
  }

 private:
  ophook_opdev_tensor get() const {
    ophook_opdev_tensor told;
    ophook_opdev_get(this, &told);
    return told;
  }
  const op::Shape& shape(int32_t which) const {
    static_assert(sizeof(op::Shape) == sizeof(size_t) + 25 * sizeof(int64_t), "as ophook_opdev_shape says");
    return *static_cast<const op::Shape*>(ophook_opdev_shape(this, which));
  }
  void set(const op::Shape& shape, int64_t (ophook_opdev_tensor::*dims)[25],
           int32_t ophook_opdev_tensor::* rank) const {
    auto told = get();
    told.*rank = int32_t(shape.GetDimNum());
    for (size_t i = 0; i < shape.GetDimNum(); ++i) (told.*dims)[i] = shape.GetDim(i);
    if (dims == &ophook_opdev_tensor::view) {
      op::Strides strides;
      op::ToContiguousStrides(shape, strides);
      std::copy(strides.begin(), strides.end(), told.strides);
    }
    ophook_opdev_set(this, &told);
  }
  template <typename T>
  void change(T ophook_opdev_tensor::* member, T value) const {
    auto told = get();
    told.*member = value;
    ophook_opdev_set(this, &told);
  }
};

namespace op {
namespace internal {

template <typename T, int32_t kKind>
struct Array : Object {
  Array() = delete;
  uint64_t Size() const {
    uint64_t size = 0;
    ophook_opdev_array_data(this, kKind, &size);
    return size;
  }
  uint64_t size() const { return Size(); }
  const T* GetData() const {
    uint64_t size = 0;
    return static_cast<const T*>(ophook_opdev_array_data(this, kKind, &size));
  }
  const T& operator[](uint64_t i) const { return GetData()[i]; }
  const T* begin() const { return GetData(); }
  const T* end() const { return GetData() + Size(); }
  ge::AscendString ToString() const {
    return JoinedText(*this, [](const T& one) { return std::to_string(one); });
  }
};

template <typename T, int32_t kKind>
struct List : Object {
  List() = delete;
  uint64_t Size() const { return ophook_opdev_list_size(this, kKind); }
  const T* operator[](uint64_t i) const { return static_cast<const T*>(ophook_opdev_list_at(this, kKind, i)); }
  T* operator[](uint64_t i) { return const_cast<T*>(static_cast<const T*>(ophook_opdev_list_at(this, kKind, i))); }
};

}  // namespace internal
}  // namespace op

struct aclIntArray : op::internal::Array<int64_t, ophook_opdev_some_ints> {};
struct aclFloatArray : op::internal::Array<float, ophook_opdev_some_floats> {};
struct aclBoolArray : op::internal::Array<bool, ophook_opdev_some_bools> {};
struct aclFp16Array;
struct aclBf16Array;
struct aclTensorList : op::internal::List<aclTensor, ophook_opdev_a_list> {};
struct aclScalarList : op::internal::List<aclScalar, ophook_opdev_a_scalar> {};

struct aclScalar : op::Object {
  aclScalar() = delete;
  op::DataType GetDataType() const { return op::DataType(get().dtype); }
  float ToFloat() const { return float(as<double>()); }
  double ToDouble() const { return as<double>(); }
  int64_t ToInt64() const { return as<int64_t>(); }
  int32_t ToInt32() const { return as<int32_t>(); }
  int16_t ToInt16() const { return as<int16_t>(); }
  int8_t ToInt8() const { return as<int8_t>(); }
  uint64_t ToUint64() const { return as<uint64_t>(); }
  uint32_t ToUint32() const { return as<uint32_t>(); }
  uint16_t ToUint16() const { return as<uint16_t>(); }
  uint8_t ToUint8() const { return as<uint8_t>(); }
  bool ToBool() const {
    const auto told = get();
    return whole(told) ? told.whole != 0 : told.real != 0 || told.imaginary != 0;
  }
  op::fp16_t ToFp16() const { return op::fp16_t(float(as<double>())); }
  op::bfloat16 ToBf16() const { return op::bfloat16(float(as<double>())); }
  std::complex<float> ToComplex64() const { return {float(get().real), float(get().imaginary)}; }
  std::complex<double> ToComplex128() const { return {get().real, get().imaginary}; }
  // Whether the number does not fit into the type.
  template <typename T>
  bool CheckOverflows() const {
    const auto told = get();
    if constexpr (std::is_same<T, bool>::value) return false;
    else if constexpr (std::is_integral<T>::value) {
      const double number = whole(told) ? double(told.whole) : told.real;
      return number < double(std::numeric_limits<T>::lowest()) || number > double(std::numeric_limits<T>::max()) ||
             told.imaginary != 0;
    } else {
      const double number = std::fabs(whole(told) ? double(told.whole) : told.real);
      const double most = std::is_same<T, op::fp16_t>::value     ? 65504.0
                          : std::is_same<T, op::bfloat16>::value ? 3.3895313892515355e38
                          : std::is_same<T, float>::value        ? double(std::numeric_limits<float>::max())
                                                                 : std::numeric_limits<double>::max();
      return std::isfinite(number) && number > most;
    }
  }

 private:
  struct Told {
    int32_t dtype;
    int64_t whole;
    double real, imaginary;
  };
  static bool whole(const Told& told) { return op::IsIntegralType(op::DataType(told.dtype), true); }
  Told get() const {
    Told told{};
    ophook_opdev_scalar_get(this, &told.dtype, &told.whole, &told.real, &told.imaginary);
    return told;
  }
  template <typename T>
  T as() const {
    const auto told = get();
    return whole(told) ? T(told.whole) : T(told.real);
  }
};

// ---- the executor ----
struct aclOpExecutor : op::Object {
  aclOpExecutor() = delete;
  aclTensor* AllocTensor(const op::Shape& shape, op::DataType type, op::Format format = op::Format::FORMAT_ND) {
    return AllocTensor(shape, shape, type, format, format);
  }
  aclTensor* AllocTensor(const op::Shape& storage, const op::Shape& origin, op::DataType type,
                         op::Format storage_format, op::Format origin_format) {
    const auto like = described(storage, origin, type, storage_format, origin_format);
    return ophook_opdev_make(this, &like, nullptr, 0);
  }
  aclTensor* AllocTensor(op::DataType type, op::Format storage_format, op::Format origin_format) {
    return AllocTensor(op::Shape(), op::Shape(), type, storage_format, origin_format);
  }
  aclTensor* AllocHostTensor(const op::Shape& shape, op::DataType type, op::Format format = op::Format::FORMAT_ND) {
    return AllocHostTensor(shape, shape, type, format, format);
  }
  aclTensor* AllocHostTensor(const op::Shape& storage, const op::Shape& origin, op::DataType type,
                             op::Format storage_format, op::Format origin_format) {
    auto like = described(storage, origin, type, storage_format, origin_format);
    like.on_host = 1;
    const std::vector<char> nothing(size_t(op::CalcShapeBytes(origin.GetShapeSize(), type)));
    return ophook_opdev_make(this, &like, nothing.data(), nothing.size());
  }
  template <typename T, std::enable_if_t<op::ophook_number<T> || std::is_arithmetic<T>::value, int> = 0>
  aclTensor* AllocHostTensor(const T* values, uint64_t count, op::DataType type) {
    std::vector<char> bytes(count * op::TypeSize(type));
    for (uint64_t i = 0; i < count; ++i) aclTensor::op_put(bytes.data() + i * op::TypeSize(type), values[i], type);
    const op::Shape shape{int64_t(count)};
    auto like = described(shape, shape, type, op::Format::FORMAT_ND, op::Format::FORMAT_ND);
    like.on_host = 1;
    return ophook_opdev_make(this, &like, bytes.data(), bytes.size());
  }
  aclIntArray* AllocIntArray(const int64_t* values, uint64_t count) {
    return static_cast<aclIntArray*>(ophook_opdev_keep(this, ophook_opdev_some_ints, values, count, 0));
  }
  aclFloatArray* AllocFloatArray(const float* values, uint64_t count) {
    return static_cast<aclFloatArray*>(ophook_opdev_keep(this, ophook_opdev_some_floats, values, count, 0));
  }
  aclBoolArray* AllocBoolArray(const bool* values, uint64_t count) {
    return static_cast<aclBoolArray*>(ophook_opdev_keep(this, ophook_opdev_some_bools, values, count, 0));
  }
  aclTensorList* AllocTensorList(const aclTensor* const* tensors, uint64_t count) {
    return static_cast<aclTensorList*>(ophook_opdev_keep(this, ophook_opdev_a_list, tensors, count, 0));
  }
  aclScalar* AllocScalar(const void* value, op::DataType type) {
    return static_cast<aclScalar*>(ophook_opdev_keep(this, ophook_opdev_a_scalar, value, 1, int32_t(type)));
  }
  aclScalar* AllocScalar(float value) { return AllocScalar(&value, ge::DT_FLOAT); }
  aclScalar* AllocScalar(double value) { return AllocScalar(&value, ge::DT_DOUBLE); }
  aclScalar* AllocScalar(op::fp16_t value) { return AllocScalar(&value, ge::DT_FLOAT16); }
  aclScalar* AllocScalar(op::bfloat16 value) { return AllocScalar(&value, ge::DT_BF16); }
  aclScalar* AllocScalar(int64_t value) { return AllocScalar(&value, ge::DT_INT64); }
  aclScalar* AllocScalar(int32_t value) { return AllocScalar(&value, ge::DT_INT32); }
  aclScalar* AllocScalar(int16_t value) { return AllocScalar(&value, ge::DT_INT16); }
  aclScalar* AllocScalar(int8_t value) { return AllocScalar(&value, ge::DT_INT8); }
  aclScalar* AllocScalar(uint64_t value) { return AllocScalar(&value, ge::DT_UINT64); }
  aclScalar* AllocScalar(uint32_t value) { return AllocScalar(&value, ge::DT_UINT32); }
  aclScalar* AllocScalar(uint16_t value) { return AllocScalar(&value, ge::DT_UINT16); }
  aclScalar* AllocScalar(uint8_t value) { return AllocScalar(&value, ge::DT_UINT8); }
  aclScalar* AllocScalar(bool value) { return AllocScalar(&value, ge::DT_BOOL); }
  template <typename T, int32_t kKind>
  const aclTensor* ConvertToTensor(const op::internal::Array<T, kKind>* values, op::DataType type) {
    return values ? AllocHostTensor(values->GetData(), values->Size(), type) : nullptr;
  }
  const aclTensor* ConvertToTensor(const aclScalar* value, op::DataType type) {
    if (!value) return nullptr;
    aclTensor* made = AllocHostTensor(op::Shape(), type);
    if (op::IsComplexType(value->GetDataType()) && op::IsComplexType(type)) {
      if (type == ge::DT_COMPLEX64) *static_cast<std::complex<float>*>(made->GetStorageAddr()) = value->ToComplex64();
      else *static_cast<std::complex<double>*>(made->GetStorageAddr()) = value->ToComplex128();
    } else if (op::IsIntegralType(value->GetDataType())) made->SetData(0, value->ToInt64(), type);
    else if (value->GetDataType() == ge::DT_BOOL) made->SetData(0, value->ToBool(), type);
    else made->SetData(0, value->ToDouble(), type);
    return made;
  }
  template <typename T>
  const aclTensor* ConvertToTensor(const T* values, uint64_t count, op::DataType type) {
    return AllocHostTensor(values, count, type);
  }
  aclTensor* CreateView(const aclTensor* tensor, const op::Shape& shape, int64_t offset) {
    op::Strides strides;
    op::ToContiguousStrides(shape, strides);
    return CreateView(tensor, shape, shape, strides, offset);
  }
  aclTensor* CreateView(const aclTensor* tensor, const op::Shape& shape, const op::Shape& storage,
                        const op::Strides& strides, int64_t offset) {
    auto as = described(storage, shape, tensor->GetDataType(), tensor->GetStorageFormat(), tensor->GetOriginalFormat());
    std::copy(strides.begin(), strides.end(), as.strides);
    as.view_format = int32_t(tensor->GetViewFormat());
    as.offset = offset;
    return ophook_opdev_view(this, tensor, &as);
  }
  uint64_t GetWorkspaceSize() { return ophook_opdev_workspace(this); }
  uint64_t GetLinearWorkspaceSize() { return ophook_opdev_workspace(this); }
  void AbandonCache(bool = false) {}  // nothing here keeps calls
  void AddTensorRelation(const aclTensor*, const aclTensor*) {}

 private:
  static ophook_opdev_tensor described(const op::Shape& storage, const op::Shape& origin, op::DataType type,
                                       op::Format storage_format, op::Format origin_format) {
    ophook_opdev_tensor out{};
    const auto put = [](const op::Shape& shape, int64_t* dims, int32_t& rank) {
      rank = int32_t(shape.GetDimNum());
      for (size_t i = 0; i < shape.GetDimNum(); ++i) dims[i] = shape.GetDim(i);
    };
    put(origin, out.view, out.view_rank), put(origin, out.original, out.original_rank);
    put(storage, out.storage, out.storage_rank);
    op::Strides strides;
    op::ToContiguousStrides(origin, strides);
    std::copy(strides.begin(), strides.end(), out.strides);
    out.dtype = int32_t(type);
    out.storage_format = int32_t(storage_format), out.original_format = out.view_format = int32_t(origin_format);
    return out;
  }
};

inline aclnnStatus CommonOpExecutorRun(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream) {
  return ophook_opdev_run(workspace, size, executor, stream);
}

class UniqueExecutor {
 public:
  explicit UniqueExecutor(const char* function) : executor_(ophook_opdev_begin(function)) {}
  UniqueExecutor() = default;
  UniqueExecutor(UniqueExecutor&& other) noexcept : executor_(std::exchange(other.executor_, nullptr)) {}
  UniqueExecutor& operator=(UniqueExecutor&& other) noexcept { return std::swap(executor_, other.executor_), *this; }
  ~UniqueExecutor() {
    if (executor_) ophook_opdev_end(executor_);
  }
  aclOpExecutor* get() const { return executor_; }
  aclOpExecutor* operator->() const { return executor_; }
  aclOpExecutor& operator*() const { return *executor_; }
  void ReleaseTo(aclOpExecutor** executor) { *executor = std::exchange(executor_, nullptr); }

 private:
  aclOpExecutor* executor_ = nullptr;
};

// ---- what is noted for the second phase ----
namespace op {
namespace internal {

using Value = ophook_opdev_value;
inline Value value_of(std::nullptr_t) { return {ophook_opdev_nothing, nullptr, 0, 0, nullptr}; }
inline Value object_of(int32_t kind, const void* object) {
  return {object ? kind : int32_t(ophook_opdev_nothing), object, 0, 0, nullptr};
}
inline Value value_of(const aclTensor* one) { return object_of(ophook_opdev_a_tensor, one); }
inline Value value_of(const aclTensorList* one) { return object_of(ophook_opdev_a_list, one); }
inline Value value_of(const aclIntArray* one) { return object_of(ophook_opdev_some_ints, one); }
inline Value value_of(const aclFloatArray* one) { return object_of(ophook_opdev_some_floats, one); }
inline Value value_of(const aclBoolArray* one) { return object_of(ophook_opdev_some_bools, one); }
inline Value value_of(const aclScalar* one) { return object_of(ophook_opdev_a_scalar, one); }
inline Value value_of(bool one) { return {ophook_opdev_a_bool, nullptr, one, 0, nullptr}; }
inline Value value_of(float one) { return {ophook_opdev_a_float, nullptr, 0, one, nullptr}; }
inline Value value_of(double one) { return {ophook_opdev_a_float, nullptr, 0, one, nullptr}; }
inline Value value_of(const char* one) { return {ophook_opdev_a_text, nullptr, 0, 0, one}; }
inline Value value_of(const std::string& one) { return value_of(one.c_str()); }
inline Value value_of(const std::string* one) { return value_of(one->c_str()); }
inline Value value_of(DataType one) { return {ophook_opdev_a_dtype, nullptr, int64_t(one), 0, nullptr}; }
inline Value value_of(OpImplMode one) { return {ophook_opdev_a_mode, nullptr, int64_t(one), 0, nullptr}; }
template <typename T, std::enable_if_t<std::is_integral<T>::value || std::is_enum<T>::value, int> = 0>
Value value_of(T one) {
  return {ophook_opdev_an_int, nullptr, int64_t(one), 0, nullptr};
}

struct Noted {
  std::vector<Value> inputs, outputs, attributes, workspaces;
  std::vector<ophook_opdev_told> told;
  std::vector<std::string> names;  // of the attributes; empty: in the order of the prototype
};
struct Inputs {
  std::vector<Value> values;
};
struct Outputs {
  std::vector<Value> values;
};
struct Attributes {
  std::vector<Value> values;
};
struct Workspaces {
  std::vector<Value> values;
};
struct Mode {};
struct Empty {};
struct OutShape {
  const aclTensor* shapes;
  uint64_t output;
};
inline void note(Noted& to, const Inputs& one) { to.inputs = one.values; }
inline void note(Noted& to, const Outputs& one) { to.outputs = one.values; }
inline void note(Noted& to, const Attributes& one) { to.attributes = one.values; }
inline void note(Noted& to, const Workspaces& one) { to.workspaces = one.values; }
inline void note(Noted& to, const OutShape& one) { to.told.push_back({one.shapes, one.output}); }
inline void note(Noted& to, const std::vector<std::string>& names) { to.names = names; }
inline void note(Noted&, CoreType) {}
inline void note(Noted&, const Mode&) {}
inline void note(Noted&, const Empty&) {}
template <typename... T>
std::vector<Value> values_of(const T&... values) {
  return {value_of(values)...};
}

[[maybe_unused]] static const char here = 0;  // of the library that this is compiled into
template <typename Function, typename... Args>
aclnnStatus asked(Function function, aclOpExecutor* executor, const char* type, const char* where,
                  const Args&... args) {
  Noted noted;
  (note(noted, args), ...);
  std::vector<const char*> names;
  for (const std::string& one : noted.names) names.push_back(one.c_str());
  const ophook_opdev_launch launch{type,
                                   where,
                                   noted.inputs.data(),
                                   noted.outputs.data(),
                                   noted.attributes.data(),
                                   noted.inputs.size(),
                                   noted.outputs.size(),
                                   noted.attributes.size(),
                                   names.data(),
                                   names.size(),
                                   noted.told.data(),
                                   noted.told.size(),
                                   &here};
  return function(executor, &launch);
}

// An AI CPU operator: here it is found by its type, as any.
class AicpuTaskSpace {
 public:
  template <typename... Args>
  explicit AicpuTaskSpace(const std::string& type, const Args&...) : type_(type) {}
  template <typename... Args>
  void SetRef(const Args&...) {}
  const char* type() const { return type_.c_str(); }

 private:
  std::string type_;
};

// As on a device its text is not checked against its arguments.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
inline bool log(int32_t level, int32_t code, const char* file, int32_t line, const char* format, ...) {
  char text[2048];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  ophook_opdev_log(level, code, file, line, text);
  return true;
}
#pragma GCC diagnostic pop
template <typename... Args>
void unused(const Args&...) {}

}  // namespace internal

inline fe::PlatFormInfos* PlatformInfo::GetPlatformInfos() const {
  return const_cast<fe::PlatFormInfos*>(platform_ascendc::platform_now());
}

inline bool IsContiguous(const aclTensor* tensor) {
  if (!tensor) return true;
  const Shape shape = tensor->GetViewShape();
  const Strides strides = tensor->GetViewStrides();
  int64_t step = 1;
  for (size_t i = shape.GetDimNum(); i-- > 0;) {
    if (shape.GetDim(i) == 1) continue;
    if (strides[i] != step) return shape.GetShapeSize() == 0;
    step *= shape.GetDim(i);
  }
  return true;
}
inline bool CanPickViewAsContiguous(const aclTensor* tensor) {
  if (IsContiguous(tensor)) return true;
  const Shape shape = tensor->GetViewShape();
  const Strides strides = tensor->GetViewStrides();
  std::vector<size_t> order(shape.GetDimNum());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0; step *= shape.GetDim(order[i]))
    if (strides[order[i]] != step && shape.GetDim(order[i]) != 1) return false;
  return true;
}
inline bool CanPickViewAsContiguous(std::initializer_list<const aclTensor*> tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const aclTensor* one) { return CanPickViewAsContiguous(one); });
}
inline bool Validate(const aclTensor* tensor) {
  const Shape shape = tensor->GetViewShape(), storage = tensor->GetStorageShape();
  const Strides strides = tensor->GetViewStrides();
  int64_t last = tensor->GetViewOffset();
  for (size_t i = 0; i < shape.GetDimNum(); ++i) {
    if (shape.GetDim(i) == 0) return true;
    if (strides[i] < 0) return false;
    last += (shape.GetDim(i) - 1) * strides[i];
  }
  return last < storage.GetShapeSize();
}

inline const aclTensor* CopyToNpu(const aclTensor* source, aclOpExecutor* executor) {
  aclTensor* made = executor->AllocTensor(source->GetViewShape(), source->GetDataType(), source->GetViewFormat());
  const auto from = internal::Inputs{internal::values_of(source)};
  const auto to = internal::Outputs{internal::values_of(static_cast<const aclTensor*>(made))};
  return internal::asked(ophook_opdev_add, executor, "", "AI core", from, to) ? nullptr : made;
}
inline const aclTensor* CopyToNpuSync(const aclTensor* source, aclOpExecutor* executor) {
  return CopyToNpu(source, executor);
}
inline aclnnStatus CopyNpuToNpu(const aclTensor* source, const aclTensor* target, aclOpExecutor* executor) {
  return internal::asked(ophook_opdev_add, executor, "", "AI core", internal::Inputs{internal::values_of(source)},
                         internal::Outputs{internal::values_of(target)});
}

}  // namespace op

#define OP_INPUT(...) (::op::internal::Inputs{::op::internal::values_of(__VA_ARGS__)})
#define OP_OUTPUT(...) (::op::internal::Outputs{::op::internal::values_of(__VA_ARGS__)})
#define OP_ATTR(...) (::op::internal::Attributes{::op::internal::values_of(__VA_ARGS__)})
#define OP_WORKSPACE(...) (::op::internal::Workspaces{::op::internal::values_of(__VA_ARGS__)})
#define OP_OUTSHAPE(...) (::op::internal::OutShape(__VA_ARGS__))
#define OP_MODE(...) (::op::internal::unused(__VA_ARGS__), ::op::internal::Mode{})
#define OP_OPTION(...) (::op::internal::unused(__VA_ARGS__), ::op::internal::Mode{})
#define OP_EMPTY_ARG (::op::internal::Empty{})
#define OP_ATTR_NAMES ::op::FVector<std::string>

#define OPHOOK_OPDEV_ASK(function, kernel, where, ...) \
  ::op::internal::asked(function, executor, kernel, where, ##__VA_ARGS__)
#define ADD_TO_LAUNCHER_LIST_AICORE(kernel, ...) OPHOOK_OPDEV_ASK(ophook_opdev_add, #kernel, "AI core", ##__VA_ARGS__)
#define ADD_TO_LAUNCHER_LIST_DSA(kernel, ...) OPHOOK_OPDEV_ASK(ophook_opdev_add, #kernel, "DSA", ##__VA_ARGS__)
#define ADD_TO_LAUNCHER_LIST_AICPU(kernel, ...) \
  OPHOOK_OPDEV_ASK(ophook_opdev_add, space.type(), "AI CPU", ##__VA_ARGS__)
#define INFER_SHAPE(kernel, ...) OPHOOK_OPDEV_ASK(ophook_opdev_infer, #kernel, "AI core", ##__VA_ARGS__)
#define CREATE_EXECUTOR() UniqueExecutor(__func__)
#define OP_TYPE_REGISTER(kernel) [[maybe_unused]] static const char* const OP_TYPE_##kernel = #kernel

// Times and arguments are logged there on a device.
#define DFX_IN(...) std::make_tuple(__VA_ARGS__)
#define DFX_OUT(...) std::make_tuple(__VA_ARGS__)
#define L0_DFX(name, ...) ::op::internal::unused(__VA_ARGS__);
#define L2_DFX_PHASE_1(name, in, out) ::op::internal::unused(in, out);
#define L2_DFX_PHASE_2(name) ::op::internal::unused();

#ifndef OP_LOGE
#define OP_LOGE(code, ...) ((void)::op::internal::log(3, int32_t(code), __FILE__, __LINE__, __VA_ARGS__))
#define OP_LOGW(...) ((void)::op::internal::log(2, 0, __FILE__, __LINE__, __VA_ARGS__))
#define OP_LOGI(...) ((void)::op::internal::log(1, 0, __FILE__, __LINE__, __VA_ARGS__))
#define OP_LOGD(...) ((void)::op::internal::log(0, 0, __FILE__, __LINE__, __VA_ARGS__))
#endif
#ifndef OP_CHECK
#define OP_CHECK(condition, log, result) \
  do {                                   \
    if (!(condition)) {                  \
      log;                               \
      result;                            \
    }                                    \
  } while (0)
#endif
#ifndef CHECK_RET
#define CHECK_RET(condition, result) \
  do {                               \
    if (!(condition)) return result; \
  } while (0)
#endif
#ifndef OP_CHECK_NO_RETURN
#define OP_CHECK_NO_RETURN(condition, log) \
  do {                                     \
    if (!(condition)) {                    \
      log;                                 \
    }                                      \
  } while (0)
#endif

#endif
