// What an operator's own aclnn function is written with (opdev): tensors with their shapes, an executor that notes what
// is to be launched, and macros that note it. All of it is text of this header over the C functions below, so that it
// compiles with either form of std::string. The headers named after the pages include it.
#ifndef OPHOOK_ACLNN_OPDEV_H_
#define OPHOOK_ACLNN_OPDEV_H_

#include "ophook_objects.h"

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
template <std::vector<Value> Noted::* kSide>
struct Values {
  std::vector<Value> values;
};
using Inputs = Values<&Noted::inputs>;
using Outputs = Values<&Noted::outputs>;
using Attributes = Values<&Noted::attributes>;
using Workspaces = Values<&Noted::workspaces>;
struct Mode {};
struct Empty {};
struct OutShape {
  const aclTensor* shapes;
  uint64_t output;
};
template <std::vector<Value> Noted::* kSide>
void note(Noted& to, const Values<kSide>& one) {
  to.*kSide = one.values;
}
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
