// What the headers in inc declare, for a library of AI CPU kernels: ophook_npu/sim/aicpu_compiler.py links it into
// each. C++11, as the projects' own sources are.
#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <map>
#include <thread>

#include "aicpu/call.h"
#include "aicpu/guard.h"
#include "cpu_kernel.h"
#include "cpu_kernel_register.h"
#include "cpu_kernel_utils.h"
#include "cust_cpu_utils.h"

namespace aicpu {

class TensorShapeImpl {
 public:
  std::vector<int64_t> dims;
  Format format = FORMAT_ND;
  bool unknown_rank = false;
};

class TensorImpl {
 public:
  std::shared_ptr<TensorShapeImpl> shape = std::make_shared<TensorShapeImpl>();
  DataType dtype = DT_UNDEFINED;
  void* data = nullptr;
  uint64_t size = 0;
};

class AttrValueImpl {
 public:
  std::vector<std::string> texts;  // a value that is no list is the first element
  std::vector<int64_t> wholes;     // also of bool and type
  std::vector<float> reals;
  std::vector<std::vector<int64_t>> lists;
};

class ContextImpl {
 public:
  std::string type;
  std::vector<std::shared_ptr<Tensor>> inputs, outputs;
  std::map<std::string, std::shared_ptr<AttrValue>> attrs;
  uint32_t cpus = 1;
  void (*log)(int32_t, const char*) = nullptr;
};

// Makes what only a friend can make, and looks into it.
struct Access {
  template <typename T, typename Impl>
  static std::shared_ptr<T> make(const std::shared_ptr<Impl>& impl) {
    return std::shared_ptr<T>(new T(impl));
  }
  template <typename T>
  static auto impl(const T& of) -> decltype(*of.impl_)& {
    return *of.impl_;
  }
};

namespace {

enum : uint32_t { kOk = 0, kParamInvalid = 1, kInnerError = 2 };

std::map<std::string, KERNEL_CREATOR_FUN>& kernels() {
  static auto* one = new std::map<std::string, KERNEL_CREATOR_FUN>;
  return *one;
}

template <typename T>
T* at(const std::vector<std::shared_ptr<T>>& all, uint32_t index) {
  return index < all.size() ? all[index].get() : nullptr;
}

std::shared_ptr<Tensor> to_tensor(const ophook_aicpu_tensor& from) {
  auto impl = std::make_shared<TensorImpl>();
  impl->dtype = static_cast<DataType>(from.dtype);
  impl->shape->format = static_cast<Format>(from.format);
  impl->shape->dims.assign(from.dims, from.dims + from.rank);
  impl->shape->unknown_rank = from.shape_unknown != 0;
  impl->data = from.data;
  impl->size = from.size;
  return Access::make<Tensor>(impl);
}

std::shared_ptr<AttrValue> to_attr(const ophook_aicpu_attr& from) {
  auto impl = std::make_shared<AttrValueImpl>();
  switch (from.kind) {
    case ophook_aicpu_string: impl->texts.emplace_back(from.text); break;
    case ophook_aicpu_float: impl->reals.push_back(from.real); break;
    case ophook_aicpu_floats: impl->reals.assign(from.reals, from.reals + from.count); break;
    case ophook_aicpu_strings: impl->texts.assign(from.texts, from.texts + from.count); break;
    case ophook_aicpu_int:
    case ophook_aicpu_bool:
    case ophook_aicpu_type: impl->wholes.push_back(from.whole); break;
    case ophook_aicpu_int_lists: {
      const int64_t* next = from.wholes;
      for (size_t i = 0; i < from.count; next += from.lengths[i++])
        impl->lists.emplace_back(next, next + from.lengths[i]);
      break;
    }
    default: impl->wholes.assign(from.wholes, from.wholes + from.count);
  }
  return Access::make<AttrValue>(impl);
}

int64_t elements(const TensorShapeImpl& shape) {
  int64_t count = 1;
  for (const int64_t size : shape.dims) {
    if (size < 0) return -1;
    count *= size;
  }
  return count;
}

void write_line(const CpuKernelContext& ctx, int32_t level, const char* fmt, va_list list) {
  char line[1024];
  std::vsnprintf(line, sizeof line, fmt, list);
  if (Access::impl(ctx).log) Access::impl(ctx).log(level, line);
}

}  // namespace

int GetSizeByDataType(DataType dataType) {
  switch (dataType) {
    case DT_INT8:
    case DT_UINT8:
    case DT_BOOL:
    case DT_QINT8:
    case DT_QUINT8: return 1;
    case DT_FLOAT16:
    case DT_BF16:
    case DT_INT16:
    case DT_UINT16:
    case DT_QINT16:
    case DT_QUINT16: return 2;
    case DT_FLOAT:
    case DT_INT32:
    case DT_UINT32:
    case DT_QINT32: return 4;
    case DT_INT64:
    case DT_UINT64:
    case DT_DOUBLE:
    case DT_COMPLEX64: return 8;
    case DT_COMPLEX128: return 16;
    default: return -1;
  }
}

// ---- shapes and tensors -----------------------------------------------------------------------------------------
void TensorShape::SetFormat(Format format) { impl_->format = format; }
Format TensorShape::GetFormat() const { return impl_->format; }
bool TensorShape::GetUnknownRank() const { return impl_->unknown_rank; }
void TensorShape::SetUnknownRank(bool unknownRank) { impl_->unknown_rank = unknownRank; }
void TensorShape::SetDimSizes(const std::vector<int64_t>& dims) { impl_->dims = dims; }
std::vector<int64_t> TensorShape::GetDimSizes() const { return impl_->dims; }
void TensorShape::SetDimSize(int32_t index, int64_t size) {
  if (index >= 0 && index < GetDims()) impl_->dims[size_t(index)] = size;
}
int64_t TensorShape::GetDimSize(int32_t index) const {
  return index >= 0 && index < GetDims() ? impl_->dims[size_t(index)] : 0;
}
int32_t TensorShape::GetDims() const { return int32_t(impl_->dims.size()); }
int64_t TensorShape::NumElements() const { return elements(*impl_); }

bool Tensor::SetTensorShape(const TensorShape* shape) {
  if (!shape) return false;
  *impl_->shape = Access::impl(*shape);
  return true;
}
std::shared_ptr<TensorShape> Tensor::GetTensorShape() const { return Access::make<TensorShape>(impl_->shape); }
void Tensor::SetDataType(DataType type) { impl_->dtype = type; }
DataType Tensor::GetDataType() const { return impl_->dtype; }
void Tensor::SetData(void* addr) { impl_->data = addr; }
void* Tensor::GetData() const { return impl_->data; }
void Tensor::SetDataSize(uint64_t size) { impl_->size = size; }
uint64_t Tensor::GetDataSize() const { return impl_->size; }
int64_t Tensor::CalcDataSizeByShape() const {
  const int64_t count = NumElements(), width = GetSizeByDataType(impl_->dtype);
  return count < 0 || width < 0 ? -1 : count * width;
}
int64_t Tensor::NumElements() const { return elements(*impl_->shape); }

// ---- attributes -------------------------------------------------------------------------------------------------
#define OPHOOK_AICPU_ATTRIBUTE(Name, Type, Given, field)                                                           \
  Type AttrValue::Get##Name() const { return impl_->field.empty() ? Type() : static_cast<Type>(impl_->field[0]); } \
  void AttrValue::Set##Name(Given value) { impl_->field.assign(1, value); }                                        \
  std::vector<Type> AttrValue::GetList##Name() const {                                                             \
    std::vector<Type> list;                                                                                        \
    for (const auto& one : impl_->field) list.push_back(static_cast<Type>(one));                                   \
    return list;                                                                                                   \
  }                                                                                                                \
  void AttrValue::SetList##Name(const std::vector<Type>& list) { impl_->field.assign(list.begin(), list.end()); }  \
  void AttrValue::AddList##Name(Given value) { impl_->field.push_back(value); }                                    \
  int32_t AttrValue::List##Name##Size() const { return int32_t(impl_->field.size()); }
OPHOOK_AICPU_ATTRIBUTE(String, std::string, const std::string&, texts)
OPHOOK_AICPU_ATTRIBUTE(Int, int64_t, int64_t, wholes)
OPHOOK_AICPU_ATTRIBUTE(Float, float, float, reals)
OPHOOK_AICPU_ATTRIBUTE(Bool, bool, bool, wholes)
OPHOOK_AICPU_ATTRIBUTE(DataType, DataType, DataType, wholes)
std::vector<std::vector<int64_t>> AttrValue::GetListListInt() const { return impl_->lists; }
void AttrValue::SetListListInt(const std::vector<std::vector<int64_t>>& lists) { impl_->lists = lists; }

// ---- the context, and the kernels of this library ---------------------------------------------------------------
std::string CpuKernelContext::GetOpType() const { return impl_->type; }
Tensor* CpuKernelContext::Input(uint32_t index) const { return at(impl_->inputs, index); }
Tensor* CpuKernelContext::Output(uint32_t index) const { return at(impl_->outputs, index); }
AttrValue* CpuKernelContext::GetAttr(std::string name) const {
  const auto found = impl_->attrs.find(name);
  return found == impl_->attrs.end() ? nullptr : found->second.get();
}
uint32_t CpuKernelContext::GetInputsSize() const { return uint32_t(impl_->inputs.size()); }
uint32_t CpuKernelContext::GetOutputsSize() const { return uint32_t(impl_->outputs.size()); }

bool RegistCpuKernel(const std::string& type, const KERNEL_CREATOR_FUN& fun) {
  kernels()[type] = fun;
  return true;
}

CpuKernelRegister& CpuKernelRegister::Instance() {
  static CpuKernelRegister one;
  return one;
}
std::shared_ptr<CpuKernel> CpuKernelRegister::GetCpuKernel(const std::string& opType) {
  const auto found = kernels().find(opType);
  return found == kernels().end() ? nullptr : found->second();
}
std::vector<std::string> CpuKernelRegister::GetAllRegisteredOpTypes() const {
  std::vector<std::string> types;
  for (const auto& one : kernels()) types.push_back(one.first);
  return types;
}
uint32_t CpuKernelRegister::RunCpuKernel(CpuKernelContext& ctx) {
  const auto kernel = GetCpuKernel(ctx.GetOpType());
  return kernel ? kernel->Compute(ctx) : uint32_t(kInnerError);
}

// ---- work in parts ----------------------------------------------------------------------------------------------
std::shared_ptr<Tensor> CpuKernelUtils::CreateTensor() { return Access::make<Tensor>(std::make_shared<TensorImpl>()); }
std::shared_ptr<TensorShape> CpuKernelUtils::CreateTensorShape() {
  return Access::make<TensorShape>(std::make_shared<TensorShapeImpl>());
}
std::shared_ptr<AttrValue> CpuKernelUtils::CreateAttrValue() {
  return Access::make<AttrValue>(std::make_shared<AttrValueImpl>());
}
uint32_t CpuKernelUtils::GetCPUNum(const CpuKernelContext& ctx) { return Access::impl(ctx).cpus; }

uint32_t CpuKernelUtils::ParallelFor(const CpuKernelContext& ctx, int64_t total, int64_t perUnitSize,
                                     const std::function<void(int64_t, int64_t)>& work) {
  if (total <= 0 || perUnitSize <= 0 || !work) return kParamInvalid;
  const int64_t parts = (total - 1) / perUnitSize + 1;
  std::atomic<int64_t> next(0);
  std::atomic<bool> failed(false);
  std::exception_ptr thrown;
  const auto part_of = [&](int64_t part) { work(part * perUnitSize, std::min(total, (part + 1) * perUnitSize)); };
  const auto run = [&] {
    for (int64_t part; !failed && (part = next++) < parts;) try {
        guarded([&] { part_of(part); });
      } catch (...) {
        if (!failed.exchange(true)) thrown = std::current_exception();
      }
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < std::min<int64_t>(parts, GetCPUNum(ctx)); ++i) others.emplace_back(run);
  run();
  for (std::thread& one : others) one.join();
  if (thrown) std::rethrow_exception(thrown);
  return kOk;
}

#define OPHOOK_AICPU_LOG(name, level)                                                \
  void CustCpuKernelUtils::name(const CpuKernelContext& ctx, const char* fmt, ...) { \
    va_list list;                                                                    \
    va_start(list, fmt);                                                             \
    write_line(ctx, level, fmt, list);                                               \
    va_end(list);                                                                    \
  }
OPHOOK_AICPU_LOG(CustLogDebug, 0)
OPHOOK_AICPU_LOG(CustLogInfo, 1)
OPHOOK_AICPU_LOG(CustLogWarning, 2)
OPHOOK_AICPU_LOG(CustLogError, 3)

namespace {

uint32_t run(ophook_aicpu_call& call, std::string& error) {
  auto impl = std::make_shared<ContextImpl>();
  impl->type = call.type;
  impl->cpus = call.cpus;
  impl->log = call.log;
  for (size_t i = 0; i < call.input_count; ++i) impl->inputs.push_back(to_tensor(call.inputs[i]));
  for (size_t i = 0; i < call.output_count; ++i) impl->outputs.push_back(to_tensor(call.outputs[i]));
  for (size_t i = 0; i < call.attr_count; ++i) impl->attrs[call.attrs[i].name] = to_attr(call.attrs[i]);
  const auto kernel = CpuKernelRegister::Instance().GetCpuKernel(call.type);
  if (!kernel) {
    error = "its library registers no kernel of this type (REGISTER_CPU_KERNEL)";
    return kInnerError;
  }
  const std::shared_ptr<CpuKernelContext> ctx = Access::make<CpuKernelContext>(impl);
  uint32_t status = kInnerError;
  guarded([&] { status = kernel->Compute(*ctx); });
  for (size_t i = 0; i < call.output_count && status == kOk; ++i) {
    const std::vector<int64_t> dims = impl->outputs[i]->GetTensorShape()->GetDimSizes();
    if (dims.size() > ophook_aicpu_max_rank) {
      error = "it gives output " + std::to_string(i) + " the rank " + std::to_string(dims.size());
      return kInnerError;
    }
    call.outputs[i].rank = int32_t(dims.size());
    std::copy(dims.begin(), dims.end(), call.outputs[i].dims);
  }
  return status;
}

}  // namespace
}  // namespace aicpu

extern "C" uint32_t ophook_aicpu_run(ophook_aicpu_call* call, char* error, size_t capacity) {
  std::string text;
  uint32_t status = aicpu::kInnerError;
  try {
    status = aicpu::run(*call, text);
  } catch (const aicpu::Fault& fault) {
    text = fault.what();
  } catch (const std::exception& thrown) {
    text = std::string("it throws: ") + thrown.what();
  } catch (...) {
    text = "it throws something that is no std::exception";
  }
  std::snprintf(error, capacity, "%s", text.c_str());
  return status;
}
