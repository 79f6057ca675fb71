// libgraph, first part: the value types of the graph API (strings, shapes, tensor descriptors, tensors, type sets).
#include <cstring>
#include <functional>
#include <initializer_list>

#include "acl/error_codes/ge_error_codes.h"
#include "core/sim.h"
#include "graph/ascend_string.h"
#include "graph/tensor.h"
#include "graph/types.h"

namespace ge {

// ---- AscendString: the ABI-neutral string of the API ------------------------------------------------------------
namespace {
template <typename T>
graphStatus put(T& to, const T& value) {
  to = value;
  return GRAPH_SUCCESS;
}

const std::string& text(const std::shared_ptr<std::string>& name) {
  static const std::string empty;
  return name ? *name : empty;
}
}  // namespace

AscendString::AscendString(const char_t* const name) : name_(name ? std::make_shared<std::string>(name) : nullptr) {}
AscendString::AscendString(const char_t* const name, size_t length)
    : name_(name ? std::make_shared<std::string>(name, length) : nullptr) {}
const char_t* AscendString::GetString() const { return text(name_).c_str(); }
size_t AscendString::GetLength() const { return text(name_).size(); }
size_t AscendString::Find(const AscendString& other) const { return text(name_).find(text(other.name_)); }
size_t AscendString::Hash() const { return std::hash<std::string>()(text(name_)); }
bool AscendString::operator<(const AscendString& d) const { return text(name_) < text(d.name_); }
bool AscendString::operator>(const AscendString& d) const { return d < *this; }
bool AscendString::operator<=(const AscendString& d) const { return !(d < *this); }
bool AscendString::operator>=(const AscendString& d) const { return !(*this < d); }
bool AscendString::operator==(const AscendString& d) const { return text(name_) == text(d.name_); }
bool AscendString::operator!=(const AscendString& d) const { return !(*this == d); }
bool AscendString::operator==(const char_t* const d) const { return d && text(name_) == d; }
bool AscendString::operator!=(const char_t* const d) const { return !(*this == d); }

// ---- formats and type sets --------------------------------------------------------------------------------------
const char_t* GetFormatName(Format format) {
  static const char* const names[] = {"NCHW",
                                      "NHWC",
                                      "ND",
                                      "NC1HWC0",
                                      "FRACTAL_Z",
                                      "NC1C0HWPAD",
                                      "NHWC1C0",
                                      "FSR_NCHW",
                                      "FRACTAL_DECONV",
                                      "C1HWNC0",
                                      "FRACTAL_DECONV_TRANSPOSE",
                                      "FRACTAL_DECONV_SP_STRIDE_TRANS",
                                      "NC1HWC0_C04",
                                      "FRACTAL_Z_C04",
                                      "CHWN",
                                      "FRACTAL_DECONV_SP_STRIDE8_TRANS",
                                      "HWCN",
                                      "NC1KHKWHWC0",
                                      "BN_WEIGHT",
                                      "FILTER_HWCK",
                                      "HASHTABLE_LOOKUP_LOOKUPS",
                                      "HASHTABLE_LOOKUP_KEYS",
                                      "HASHTABLE_LOOKUP_VALUE",
                                      "HASHTABLE_LOOKUP_OUTPUT",
                                      "HASHTABLE_LOOKUP_HITS",
                                      "C1HWNCoC0",
                                      "MD",
                                      "NDHWC",
                                      "FRACTAL_ZZ",
                                      "FRACTAL_NZ",
                                      "NCDHW",
                                      "DHWCN",
                                      "NDC1HWC0",
                                      "FRACTAL_Z_3D",
                                      "CN",
                                      "NC",
                                      "DHWNC",
                                      "FRACTAL_Z_3D_TRANSPOSE",
                                      "FRACTAL_ZN_LSTM",
                                      "FRACTAL_Z_G",
                                      "RESERVED",
                                      "ALL",
                                      "NULL",
                                      "ND_RNN_BIAS",
                                      "FRACTAL_ZN_RNN",
                                      "NYUV",
                                      "NYUV_A",
                                      "NCL",
                                      "FRACTAL_Z_WINO",
                                      "C1HWC0"};
  auto index = static_cast<size_t>(GetPrimaryFormat(format));
  return index < sizeof names / sizeof *names ? names[index] : "INVALID";
}

int64_t GetSizeInBytes(int64_t element_count, DataType data_type) {
  int size = GetSizeByDataType(data_type);
  if (size < 0 || element_count < 0) return -1;
  if (size < kDataTypeSizeBitOffset) return element_count * size;
  return (element_count * (size - kDataTypeSizeBitOffset) + 7) / 8;
}

class TensorTypeImpl {
 public:
  std::vector<DataType> types;
};
TensorType::TensorType(DataType dt) : TensorType({dt}) {}
TensorType::TensorType(const std::initializer_list<DataType>& types)
    : tensor_type_impl_(std::make_shared<TensorTypeImpl>(TensorTypeImpl{types})) {}

Promote::Promote(const std::initializer_list<const char*>& syms)
    : data_(std::make_shared<std::vector<const char*>>(syms)) {}
std::vector<const char*> Promote::Syms() const { return *static_cast<std::vector<const char*>*>(data_.get()); }
Promote::Promote(Promote&& other) noexcept = default;
Promote& Promote::operator=(Promote&& other) noexcept = default;

// ---- Shape ------------------------------------------------------------------------------------------------------
class ShapeImpl {
 public:
  std::vector<int64_t> dims;
};

Shape::Shape() : impl_(std::make_shared<ShapeImpl>()) {}
Shape::Shape(const std::vector<int64_t>& dims) : impl_(std::make_shared<ShapeImpl>(ShapeImpl{dims})) {}
size_t Shape::GetDimNum() const { return impl_->dims == UNKNOWN_RANK ? 0 : impl_->dims.size(); }
int64_t Shape::GetDim(size_t idx) const { return idx < impl_->dims.size() ? impl_->dims[idx] : 0; }
graphStatus Shape::SetDim(size_t idx, int64_t value) {
  if (idx >= impl_->dims.size()) return GRAPH_FAILED;
  impl_ = std::make_shared<ShapeImpl>(*impl_);  // copies of a Shape share dims until one of them is written
  impl_->dims[idx] = value;
  return GRAPH_SUCCESS;
}
std::vector<int64_t> Shape::GetDims() const { return impl_->dims; }
int64_t Shape::GetShapeSize() const {
  if (impl_->dims.empty()) return 0;
  int64_t size = 1;
  for (int64_t dim : impl_->dims) {
    if (dim < 0) return -1;
    if (__builtin_mul_overflow(size, dim, &size)) return 0;
  }
  return size;
}

// ---- TensorDesc -------------------------------------------------------------------------------------------------
class TensorDescImpl {
 public:
  Shape shape, origin_shape;
  Format format = FORMAT_ND, origin_format = FORMAT_ND;
  DataType dtype = DT_FLOAT;
  std::string name;
  Placement placement = kPlacementHost;
  int64_t size = 0, real_dims = 0;
  std::vector<std::pair<int64_t, int64_t>> range;
  std::shared_ptr<uint8_t> constant;
  size_t constant_size = 0;
  AscendString expand_rule;
  uint32_t reuse_input = 0;
};

TensorDesc::TensorDesc() : impl(std::make_shared<TensorDescImpl>()) {}
TensorDesc::TensorDesc(Shape shape, Format format, DataType dt) : TensorDesc() { Update(shape, format, dt); }
TensorDesc::TensorDesc(const TensorDesc& desc) : impl(std::make_shared<TensorDescImpl>(*desc.impl)) {}
TensorDesc::TensorDesc(TensorDesc&& desc) : impl(std::make_shared<TensorDescImpl>()) { impl.swap(desc.impl); }
TensorDesc& TensorDesc::operator=(const TensorDesc& desc) {
  if (this != &desc) impl = std::make_shared<TensorDescImpl>(*desc.impl);
  return *this;
}
TensorDesc& TensorDesc::operator=(TensorDesc&& desc) {
  impl.swap(desc.impl);
  return *this;
}
void TensorDesc::Update(const Shape& shape, Format format, DataType dt) {
  impl->shape = shape;
  impl->format = format;
  impl->dtype = dt;
}
Shape TensorDesc::GetShape() const { return impl->shape; }
void TensorDesc::SetShape(const Shape& shape) { impl->shape = shape; }
graphStatus TensorDesc::SetUnknownDimNumShape() { return put(impl->shape, Shape(UNKNOWN_RANK)); }
graphStatus TensorDesc::SetShapeRange(const std::vector<std::pair<int64_t, int64_t>>& range) {
  return put(impl->range, range);
}
graphStatus TensorDesc::GetShapeRange(std::vector<std::pair<int64_t, int64_t>>& range) const {
  return put(range, impl->range);
}
Format TensorDesc::GetFormat() const { return impl->format; }
void TensorDesc::SetFormat(Format format) { impl->format = format; }
Shape TensorDesc::GetOriginShape() const { return impl->origin_shape; }
void TensorDesc::SetOriginShape(const Shape& shape) { impl->origin_shape = shape; }
Format TensorDesc::GetOriginFormat() const { return impl->origin_format; }
void TensorDesc::SetOriginFormat(Format format) { impl->origin_format = format; }
DataType TensorDesc::GetDataType() const { return impl->dtype; }
void TensorDesc::SetDataType(DataType dt) { impl->dtype = dt; }
std::string TensorDesc::GetName() const { return impl->name; }
graphStatus TensorDesc::GetName(AscendString& name) { return put(name, AscendString(impl->name.c_str())); }
graphStatus TensorDesc::GetName(AscendString& name) const { return put(name, AscendString(impl->name.c_str())); }
void TensorDesc::SetName(const std::string& name) { impl->name = name; }
void TensorDesc::SetName(const char_t* name) { impl->name = name ? name : ""; }
void TensorDesc::SetSize(int64_t size) { impl->size = size; }
int64_t TensorDesc::GetSize() const { return impl->size; }
int64_t TensorDesc::GetRealDimCnt() const { return impl->real_dims; }
void TensorDesc::SetRealDimCnt(const int64_t count) { impl->real_dims = count; }
void TensorDesc::SetPlacement(Placement placement) { impl->placement = placement; }
Placement TensorDesc::GetPlacement() const { return impl->placement; }
void TensorDesc::SetConstData(std::unique_ptr<uint8_t[]> data, const size_t& size) {
  impl->constant = std::shared_ptr<uint8_t>(data.release(), std::default_delete<uint8_t[]>());
  impl->constant_size = size;
}
bool TensorDesc::GetConstData(uint8_t** data, size_t& size) const {
  *data = impl->constant.get();
  size = impl->constant_size;
  return *data != nullptr;
}
void TensorDesc::SetExpandDimsRule(const AscendString& rule) { impl->expand_rule = rule; }
graphStatus TensorDesc::GetExpandDimsRule(AscendString& rule) const { return put(rule, impl->expand_rule); }
void TensorDesc::SetReuseInputIndex(const uint32_t index) { impl->reuse_input = index; }

// ---- Tensor -----------------------------------------------------------------------------------------------------
class TensorImpl {
 public:
  ~TensorImpl() { drop(); }
  void drop() {
    if (data && deleter) deleter(data);
    data = nullptr;
    size = 0;
  }
  void set(uint8_t* new_data, size_t new_size, const Tensor::DeleteFunc& new_deleter) {
    drop();
    data = new_data;
    size = new_size;
    deleter = new_deleter;
  }
  graphStatus copy(const uint8_t* from, size_t bytes) {
    auto* own = new uint8_t[bytes ? bytes : 1];
    if (bytes) std::memcpy(own, from, bytes);
    set(own, bytes, [](uint8_t* p) { delete[] p; });
    return GRAPH_SUCCESS;
  }

  TensorDesc desc;
  std::vector<int64_t> dims, origin_dims;
  uint8_t* data = nullptr;
  size_t size = 0;
  Tensor::DeleteFunc deleter;
};

Tensor::Tensor() : impl(std::make_shared<TensorImpl>()) {}
Tensor::Tensor(const TensorDesc& desc) : Tensor() { SetTensorDesc(desc); }
Tensor::Tensor(const TensorDesc& desc, const std::vector<uint8_t>& data) : Tensor(desc, data.data(), data.size()) {}
Tensor::Tensor(const TensorDesc& desc, const uint8_t* data, size_t size) : Tensor(desc) { impl->copy(data, size); }
Tensor::Tensor(TensorDesc&& desc, std::vector<uint8_t>&& data) : Tensor(desc, data.data(), data.size()) {}

TensorDesc Tensor::GetTensorDesc() const {
  TensorDesc out = impl->desc;
  out.SetShape(Shape(impl->dims));
  out.SetOriginShape(Shape(impl->origin_dims));
  return out;
}
graphStatus Tensor::SetTensorDesc(const TensorDesc& desc) {
  impl->desc = desc;
  impl->dims = desc.GetShape().GetDims();
  impl->origin_dims = desc.GetOriginShape().GetDims();
  return GRAPH_SUCCESS;
}
const uint8_t* Tensor::GetData() const { return impl->data; }
uint8_t* Tensor::GetData() { return impl->data; }
size_t Tensor::GetSize() const { return impl->size; }
std::unique_ptr<uint8_t[], Tensor::DeleteFunc> Tensor::ResetData() {
  DeleteFunc deleter = impl->deleter ? impl->deleter : [](uint8_t*) {};
  std::unique_ptr<uint8_t[], DeleteFunc> out(impl->data, deleter);
  impl->data = nullptr;
  impl->size = 0;
  impl->deleter = nullptr;  // it may own memory, which is the caller's from here on
  return out;
}
graphStatus Tensor::SetData(std::vector<uint8_t>&& data) { return impl->copy(data.data(), data.size()); }
graphStatus Tensor::SetData(const std::vector<uint8_t>& data) { return impl->copy(data.data(), data.size()); }
graphStatus Tensor::SetData(const uint8_t* data, size_t size) { return impl->copy(data, size); }
graphStatus Tensor::SetData(const std::string& data) {
  return impl->copy(reinterpret_cast<const uint8_t*>(data.data()), data.size());
}
graphStatus Tensor::SetData(const char_t* data) {
  return impl->copy(reinterpret_cast<const uint8_t*>(data), std::strlen(data));
}
graphStatus Tensor::SetData(const std::vector<std::string>&) { return SetData(std::vector<AscendString>()); }
graphStatus Tensor::SetData(const std::vector<AscendString>&) {
  sim_fail(ACL_ERROR_GE_PARAM_INVALID, "ge::Tensor::SetData: tensors of several strings are not simulated");
  return GRAPH_FAILED;
}
graphStatus Tensor::SetData(uint8_t* data, size_t size, const DeleteFunc& deleter) {
  impl->set(data, size, deleter);
  return GRAPH_SUCCESS;
}
graphStatus Tensor::ResetData(uint8_t* data, size_t size, const DeleteFunc& deleter) {
  return SetData(data, size, deleter);
}
graphStatus Tensor::IsValid() {
  int64_t count = 1;
  for (int64_t dim : impl->dims) count *= dim;
  int64_t bytes = GetSizeInBytes(count, impl->desc.GetDataType());
  return bytes < 0 || static_cast<size_t>(bytes) == impl->size ? GRAPH_SUCCESS : GRAPH_FAILED;
}

// Of what it is, and of what it was before it was laid out.
#define LAYOUT(Origin, sizes)                                                          \
  graphStatus Tensor::Set##Origin##ShapeDimNum(const size_t count) {                   \
    impl->sizes.resize(count);                                                         \
    return GRAPH_SUCCESS;                                                              \
  }                                                                                    \
  size_t Tensor::Get##Origin##ShapeDimNum() const { return impl->sizes.size(); }       \
  graphStatus Tensor::Set##Origin##ShapeDim(const size_t index, const int64_t value) { \
    return index < impl->sizes.size() ? put(impl->sizes[index], value) : GRAPH_FAILED; \
  }                                                                                    \
  int64_t Tensor::Get##Origin##ShapeDim(const size_t index) const {                    \
    return index < impl->sizes.size() ? impl->sizes[index] : 0;                        \
  }                                                                                    \
  graphStatus Tensor::Set##Origin##Format(const Format& format) {                      \
    impl->desc.Set##Origin##Format(format);                                            \
    return GRAPH_SUCCESS;                                                              \
  }                                                                                    \
  Format Tensor::Get##Origin##Format() const { return impl->desc.Get##Origin##Format(); }
LAYOUT(, dims)
LAYOUT(Origin, origin_dims)
#undef LAYOUT
graphStatus Tensor::SetDataType(const DataType& dtype) {
  impl->desc.SetDataType(dtype);
  return GRAPH_SUCCESS;
}
DataType Tensor::GetDataType() const { return impl->desc.GetDataType(); }
graphStatus Tensor::SetPlacement(const Placement& placement) {
  impl->desc.SetPlacement(placement);
  return GRAPH_SUCCESS;
}
Placement Tensor::GetPlacement() const { return impl->desc.GetPlacement(); }
graphStatus Tensor::SetExpandDimsRule(const AscendString& rule) {
  impl->desc.SetExpandDimsRule(rule);
  return GRAPH_SUCCESS;
}
graphStatus Tensor::GetExpandDimsRule(AscendString& rule) const { return impl->desc.GetExpandDimsRule(rule); }
Tensor Tensor::Clone() const {
  Tensor out(GetTensorDesc());
  out.impl->copy(impl->data, impl->size);
  return out;
}

}  // namespace ge
