// Of opdev: what callers of aclnn functions make, tensors, arrays, lists and numbers.
#ifndef OPHOOK_ACLNN_OPDEV_OBJECTS_H_
#define OPHOOK_ACLNN_OPDEV_OBJECTS_H_

#include "ophook_values.h"

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

#endif
