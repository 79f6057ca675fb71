// LocalTensor and GlobalTensor: views of one core's local memory and of device memory.
#pragma once

#include <string>

#include "enums.h"
#include "layout.h"
#include "runtime.h"

namespace AscendC {

template <typename T, typename U>
struct IsSameType {
  static constexpr bool value = std::is_same_v<T, U>;
};

namespace trait_details {
template <typename T>
constexpr bool is_trait = !std::is_same_v<T, PrimT<T>>;
// What describes a tensor, which takes no room where nothing does.
template <typename T, typename = void>
struct Kept {};
template <typename T>
struct Kept<T, std::enable_if_t<is_trait<T>>> {
  T& Described() { return trait; }
  const T& Described() const { return trait; }
  T trait{};
};
}  // namespace trait_details

constexpr int32_t K_MAX_DIM = 8;
// What a kernel notes of a tensor's shape: nothing reads it but the kernel, and functions whose page says so.
struct ShapeInfo {
  __aicore__ ShapeInfo() {}
  __aicore__ ShapeInfo(const uint8_t dims, const uint32_t sizes[], const uint8_t original_dims,
                       const uint32_t original[], const DataFormat format)
      : shapeDim(dims), originalShapeDim(original_dims), dataFormat(format) {
    for (uint8_t i = 0; i < dims && i < K_MAX_DIM; ++i) shape[i] = sizes[i];
    for (uint8_t i = 0; i < original_dims && i < K_MAX_DIM; ++i) originalShape[i] = original[i];
  }
  __aicore__ ShapeInfo(const uint8_t dims, const uint32_t sizes[], const DataFormat format)
      : ShapeInfo(dims, sizes, dims, sizes, format) {}
  __aicore__ ShapeInfo(const uint8_t dims, const uint32_t sizes[]) : ShapeInfo(dims, sizes, DataFormat::ND) {}
  uint8_t shapeDim = 0, originalShapeDim = 0;
  uint32_t shape[K_MAX_DIM] = {}, originalShape[K_MAX_DIM] = {};
  DataFormat dataFormat = DataFormat::ND;
};
__aicore__ inline int GetShapeSize(const ShapeInfo& info) {
  int size = 1;
  for (uint8_t i = 0; i < info.shapeDim; ++i) size *= int(info.shape[i]);
  return size;
}

// `a + b` of whole tensors: computed when it is assigned to one.
struct WholeTensors {
  ophook::rt::Op op;
  ophook::rt::Local a, b;
  ophook::rt::At at;
};

// `a < b` likewise: a bit for each element.
struct ComparedTensors {
  CMPMODE mode;
  ophook::rt::Local a, b;
  uint64_t elements;
  ophook::rt::At at;
};

// Two elements of int4b_t share a byte.
template <typename T>
constexpr uint64_t tensor_bytes(uint64_t elements) {
  return std::is_same_v<std::remove_cv_t<PrimT<T>>, int4b_t> ? elements / 2 : elements * sizeof(PrimT<T>);
}
template <typename T>
constexpr uint32_t tensor_elements(uint32_t bytes) {
  return std::is_same_v<std::remove_cv_t<PrimT<T>>, int4b_t> ? bytes * 2
                                                             : static_cast<uint32_t>(bytes / sizeof(PrimT<T>));
}
template <typename T>
struct SizeOfBits {
  static constexpr size_t value = std::is_same_v<std::remove_cv_t<T>, int4b_t> ? 4 : sizeof(T) * 8;
};
// What a tensor's operator() names: read as GetValue, written as SetValue. A reference on the device; here `auto x =
// t(0)` goes on naming the element too, and is read when it is used.
template <class Tensor>
class Element {
 public:
  using T = std::remove_cv_t<typename Tensor::PrimType>;
  Element(const Tensor& tensor, uint64_t offset, ophook::rt::At at) : tensor_(tensor), offset_(offset), at_(at) {}
  __aicore__ operator T() const { return tensor_.GetValue(offset_, at_); }
  ophook::rt::At at() const { return at_; }
  template <typename V, typename = std::enable_if_t<std::is_constructible_v<V, T>>>
  __aicore__ explicit operator V() const {
    return static_cast<V>(T(*this));
  }
  __aicore__ Element& operator=(T value) { return tensor_.SetValue(offset_, value, at_), *this; }
  __aicore__ Element& operator=(const Element& other) { return *this = T(other); }
#define OPHOOK_UPDATE(sign, assigned) \
  __aicore__ Element& operator assigned(T value) { return *this = T(T(*this) sign value); }
  OPHOOK_UPDATE(+, +=)
  OPHOOK_UPDATE(-, -=)
  OPHOOK_UPDATE(*, *=)
  OPHOOK_UPDATE(/, /=)
  OPHOOK_UPDATE(%, %=)
  OPHOOK_UPDATE(&, &=)
  OPHOOK_UPDATE(|, |=)
  OPHOOK_UPDATE(^, ^=)
  OPHOOK_UPDATE(<<, <<=)
  OPHOOK_UPDATE(>>, >>=)
#undef OPHOOK_UPDATE
#define OPHOOK_STEP(sign)               \
  __aicore__ Element& operator sign() { \
    T value = *this;                    \
    return *this = (sign value);        \
  }                                     \
  __aicore__ T operator sign(int) {     \
    const T before = *this;             \
    return sign(*this), before;         \
  }
  OPHOOK_STEP(++)
  OPHOOK_STEP(--)
#undef OPHOOK_STEP

 private:
  Tensor tensor_;
  uint64_t offset_;
  ophook::rt::At at_;
};

// For a function whose scalar is such an element: T is deduced from what a reference would be. The line is the
// element's.
template <typename T, typename Tensor>
using IfElement = std::enable_if_t<std::is_same_v<typename Element<Tensor>::T, T>>;

// Of a second tensor beside one of T: both are described, or neither is.
template <typename T, typename U>
using AlikeT = std::conditional_t<trait_details::is_trait<T>, TensorTrait<U>, U>;
// For a function whose tensors TensorTraits describe: the scalar is of their elements' type.
template <typename T, typename V>
using IfTrait = std::enable_if_t<trait_details::is_trait<T> && std::is_same_v<PrimT<T>, V>>;

using TBufHandle = uint8_t*;

// Where a tensor lies. Programs that do without a TPipe write it down: a position; a byte of its memory, as a number or
// as what a pointer to it is; and how many bytes, where 0 is all that is left.
struct TBuffAddr : private ophook::rt::Local {
  TBuffAddr() = default;
  TBuffAddr(const Local& of) : Local(of), logicPos(of.position), dataLen(of.bytes), bufferAddr(of.offset) {}
  uint8_t logicPos = 0;
  uint32_t dataLen = 0;
  uint64_t bufferAddr = 0;
  TBufHandle bufferHandle = nullptr;  // what a program's own pool knows a buffer by

  Local local() const {
    if (logicPos != position || bufferAddr != offset) return ophook::rt::local_told(logicPos, bufferAddr, dataLen);
    Local view = *this;
    view.bytes = dataLen;
    return view;
  }
};

template <typename T>
class LocalTensor {
 public:
  using PrimType = PrimT<T>;
  LocalTensor() = default;
  // Without a TPipe: `tileSize` elements from byte `addr` of the memory of `pos`.
  __aicore__ LocalTensor(TPosition pos, uint32_t addr, uint32_t tileSize, ophook::rt::At at = ophook::rt::At::here())
      : LocalTensor(ophook::rt::local_at("LocalTensor", int(pos), addr, tensor_bytes<T>(tileSize), at)) {}
  struct Operand {  // takes the place of the operator in the kernel's source along
    Operand(const LocalTensor& tensor, ophook::rt::At where = ophook::rt::At::here())
        : view(tensor.view()), at(where) {}
    ophook::rt::Local view;
    ophook::rt::At at;
  };
#define OPHOOK_WHOLE(sign, op)                                         \
  friend __aicore__ WholeTensors operator sign(Operand a, Operand b) { \
    return {ophook::rt::Op::op, a.view, b.view, a.at};                 \
  }
  OPHOOK_WHOLE(+, Add)
  OPHOOK_WHOLE(-, Sub)
  OPHOOK_WHOLE(*, Mul)
  OPHOOK_WHOLE(/, Div)
  OPHOOK_WHOLE(&, And)
  OPHOOK_WHOLE(|, Or)
#undef OPHOOK_WHOLE
#define OPHOOK_WHOLE(sign, mode)                                                    \
  friend __aicore__ ComparedTensors operator sign(Operand a, Operand b) {           \
    return {CMPMODE::mode, a.view, b.view, tensor_elements<T>(a.view.bytes), a.at}; \
  }
  OPHOOK_WHOLE(<, LT)
  OPHOOK_WHOLE(>, GT)
  OPHOOK_WHOLE(<=, LE)
  OPHOOK_WHOLE(>=, GE)
  OPHOOK_WHOLE(==, EQ)
  OPHOOK_WHOLE(!=, NE)
#undef OPHOOK_WHOLE
  __aicore__ void operator=(const WholeTensors& of) {
    // Numbers of 32 bits are combined in lanes of 16, of all of both tensors.
    const bool halved = __NPU_ARCH__ != 3510 && (of.op == ophook::rt::Op::And || of.op == ophook::rt::Op::Or);
    const uint64_t lanes = halved && sizeof(PrimType) == 4 ? GetSize() * uint64_t{2} : GetSize();
    ophook::rt::binary(of.op, view(), of.a, of.b, {ophook::rt::Cover::kCount, lanes}, {}, {}, {}, of.at);
  }
  __aicore__ void operator=(const ComparedTensors& of) {
    ophook::rt::compare("Compare", view(), of.a, &of.b, {}, int(of.mode), {ophook::rt::Cover::kCount, of.elements}, {},
                        {}, of.at);
  }
  explicit LocalTensor(const ophook::rt::Local& view) : address_(view) {}

  __aicore__ PrimType GetValue(uint32_t index, ophook::rt::At at = ophook::rt::At::here()) const {
    PrimType value;
    ophook::rt::read_local("GetValue", view(), index, sizeof(PrimType), &value, at);
    return value;
  }
  template <typename V>
  __aicore__ void SetValue(uint32_t index, V value, ophook::rt::At at = ophook::rt::At::here()) const {
    const PrimType converted = static_cast<PrimType>(value);
    ophook::rt::write_local("SetValue", view(), index, sizeof(PrimType), &converted, at);
  }
  __aicore__ Element<LocalTensor> operator()(uint32_t offset, ophook::rt::At at = ophook::rt::At::here()) const {
    return {*this, offset, at};
  }
  __aicore__ LocalTensor operator[](uint32_t first) const {
    ophook::rt::Local part = view();
    const uint64_t skipped = tensor_bytes<T>(first);
    part.offset = static_cast<uint32_t>(part.offset + skipped);
    part.bytes = skipped > part.bytes ? 0 : static_cast<uint32_t>(part.bytes - skipped);
    return LocalTensor(part);
  }
  template <typename S>  // where `offset` elements of `src` end
  __aicore__ void SetAddrWithOffset(LocalTensor<S>& src, uint32_t offset) {
    *this = LocalTensor(src[offset].view());
  }
  __aicore__ void SetAddr(const TBuffAddr& address) {
    *this = LocalTensor(address.local());
    address_.bufferHandle = address.bufferHandle;
  }
  __aicore__ TBufHandle GetBufferHandle() const { return address_.bufferHandle; }
  template <typename U>
  __aicore__ LocalTensor<U> ReinterpretCast() const {
    return LocalTensor<U>(view());
  }
  // Without a TPipe: the tensor begins at a byte of the memory that address_.logicPos names, then or later.
  __aicore__ void InitBuffer(uint32_t bufferOffset, uint32_t bufferSize) {
    address_.bufferAddr = bufferOffset, SetSize(bufferSize);
  }
  __aicore__ uint32_t GetSize() const { return tensor_elements<T>(GetLength()); }
  __aicore__ uint32_t GetLength() const { return view().bytes; }
  __aicore__ void SetSize(uint32_t elements) { address_.dataLen = static_cast<uint32_t>(tensor_bytes<T>(elements)); }
  __aicore__ void SetBufferLen(uint32_t elements) { SetSize(elements); }
  __aicore__ int32_t GetPosition() const { return address_.logicPos; }
  // A number, as on the device; what is made of it by a cast points to the memory that stands for it.
  __aicore__ uint64_t GetPhyAddr() const { return reinterpret_cast<uintptr_t>(ophook::rt::local_address(view())); }
  __aicore__ uint64_t GetPhyAddr(const uint32_t offset) const { return GetPhyAddr() + tensor_bytes<T>(offset); }
  // Of a tensor that a TensorTrait describes, which has no ShapeInfo.
  __aicore__ const T& GetTensorTrait() const { return trait_.Described(); }
  __aicore__ void SetTensorTrait(const T& trait) { trait_.Described() = trait; }
  __aicore__ void SetShapeInfo(const ShapeInfo& info) {
    static_assert(!trait_details::is_trait<T>,
                  "SetShapeInfo: a tensor of TensorTrait has no ShapeInfo (MakeTensorTrait.md)");
    shape_ = static_cast<const ShapeInfo*>(ophook::rt::keep(&info, sizeof info));
  }
  __aicore__ ShapeInfo GetShapeInfo() const { return shape_ ? *shape_ : ShapeInfo(); }
  __aicore__ void SetUserTag(int32_t tag) { tag_ = tag; }
  __aicore__ int32_t GetUserTag() const { return tag_; }
  // For debugging on a CPU: a line for each 32 bytes, and the bytes as they are.
  void Print() const { Print(GetSize()); }
  void Print(uint32_t len) const { ophook::rt::print_lines(view(), len); }
  int32_t ToFile(const std::string& fileName) const { return ophook::rt::to_file(view(), fileName.c_str()); }
  // Of the type by which it is called: kernels take a tensor for one of another type by a cast of its address.
  ophook::rt::Local view() const {
    ophook::rt::Local view = address_.local();
    view.dtype = ophook::rt::dtype_of<T>();
    return view;
  }

  TBuffAddr address_;  // public, since programs write to it and hand it to another tensor's SetAddr

 private:
  int32_t tag_ = 0;
  [[no_unique_address]] trait_details::Kept<T> trait_;
  const ShapeInfo* shape_ = nullptr;  // the core keeps it
};

template <typename T>
class GlobalTensor {
 public:
  using PrimType = PrimT<T>;
  GlobalTensor() = default;
  __aicore__ void SetGlobalBuffer(PrimType* buffer) { data_ = buffer, elements_ = 0; }
  __aicore__ void SetGlobalBuffer(PrimType* buffer, uint64_t elements) { data_ = buffer, elements_ = elements; }
  __aicore__ const PrimType* GetPhyAddr() const { return data_; }
  __aicore__ PrimType* GetPhyAddr(uint64_t first) const { return data_ + first; }
  __aicore__ uint64_t GetSize() const { return elements_; }
  __aicore__ Element<GlobalTensor> operator()(uint64_t offset, ophook::rt::At at = ophook::rt::At::here()) const {
    return {*this, offset, at};
  }
  __aicore__ GlobalTensor operator[](uint64_t first) const {
    GlobalTensor other;
    other.data_ = reinterpret_cast<PrimType*>(reinterpret_cast<uintptr_t>(data_) + tensor_bytes<T>(first));
    other.elements_ = elements_ > first ? elements_ - first : 0;
    return other;
  }
  __aicore__ PrimType GetValue(uint64_t index, ophook::rt::At at = ophook::rt::At::here()) const {
    PrimType value;
    ophook::rt::read_global("GetValue", view(), index, sizeof(PrimType), &value, at);
    return value;
  }
  __aicore__ void SetValue(uint64_t index, PrimType value, ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::write_global("SetValue", view(), index, sizeof(PrimType), &value, at);
  }
  // Of a tensor that a TensorTrait describes, which has no ShapeInfo.
  __aicore__ const T& GetTensorTrait() const { return trait_.Described(); }
  __aicore__ void SetTensorTrait(const T& trait) { trait_.Described() = trait; }
  __aicore__ void SetShapeInfo(const ShapeInfo& info) {
    static_assert(!trait_details::is_trait<T>,
                  "SetShapeInfo: a tensor of TensorTrait has no ShapeInfo (MakeTensorTrait.md)");
    shape_ = static_cast<const ShapeInfo*>(ophook::rt::keep(&info, sizeof info));
  }
  __aicore__ ShapeInfo GetShapeInfo() const { return shape_ ? *shape_ : ShapeInfo(); }
  template <CacheRwMode mode = CacheRwMode::RW>
  __aicore__ void SetL2CacheHint(CacheMode) {}
  template <typename U>
  __aicore__ GlobalTensor<U> ReinterpretCast() const {
    static_assert(sizeof(U) && __NPU_ARCH__ == 3510, "ReinterpretCast of a GlobalTensor: for Ascend 950 only");
    GlobalTensor<U> other;
    const auto bytes = static_cast<uint64_t>(tensor_bytes<T>(elements_));
    other.SetGlobalBuffer((PrimT<U>*)const_cast<std::remove_cv_t<PrimType>*>(data_), bytes * 8 / SizeOfBits<U>::value);
    return other;
  }
  ophook::rt::Global view() const {
    return {reinterpret_cast<uint8_t*>(const_cast<std::remove_cv_t<PrimType>*>(data_)), tensor_bytes<T>(elements_),
            ophook::rt::dtype_of<T>()};
  }

 private:
  PrimType* data_ = nullptr;
  uint64_t elements_ = 0;
  [[no_unique_address]] trait_details::Kept<T> trait_;
  const ShapeInfo* shape_ = nullptr;
};

// Gives local memory away from its beginning on; a kernel has one for each memory, and no TPipe beside it.
template <Hardware hard = Hardware::UB>
class LocalMemAllocator {
 public:
  __aicore__ uint32_t GetCurAddr() const { return next_; }
  template <class DataType, uint32_t tileSize>
  __aicore__ LocalTensor<DataType> Alloc(ophook::rt::At at = ophook::rt::At::here()) {
    return Alloc<kPosition, DataType>(tileSize, at);
  }
  template <TPosition pos, class DataType, uint32_t tileSize>
  __aicore__ LocalTensor<DataType> Alloc(ophook::rt::At at = ophook::rt::At::here()) {
    return Alloc<pos, DataType>(tileSize, at);
  }
  template <class DataType>
  __aicore__ LocalTensor<DataType> Alloc(uint32_t tileSize, ophook::rt::At at = ophook::rt::At::here()) {
    return Alloc<kPosition, DataType>(tileSize, at);
  }
  template <TPosition pos, class DataType>
  __aicore__ LocalTensor<DataType> Alloc(uint32_t tileSize, ophook::rt::At at = ophook::rt::At::here()) {
    static_assert(hardware_of(pos) == hard, "Alloc: this position lies in another memory than the allocator's");
    const uint32_t address = next_;
    next_ += uint32_t((tensor_bytes<DataType>(tileSize) + 31) / 32 * 32);
    return LocalTensor<DataType>(
        ophook::rt::local_at("Alloc", int(pos), address, tensor_bytes<DataType>(tileSize), at));
  }

 private:
  static constexpr Hardware hardware_of(TPosition position) {
    switch (position) {
      case TPosition::A1:
      case TPosition::B1:
      case TPosition::C1:
      case TPosition::TSCM: return Hardware::L1;
      case TPosition::A2: return Hardware::L0A;
      case TPosition::B2: return Hardware::L0B;
      case TPosition::C2: return Hardware::BIAS;
      case TPosition::CO1: return Hardware::L0C;
      case TPosition::C2PIPE2GM:
      case TPosition::C2PIPE2LOCAL: return Hardware::FIXBUF;
      default: return Hardware::UB;
    }
  }
  static constexpr TPosition kPosition = hard == Hardware::L1       ? TPosition::A1
                                         : hard == Hardware::L0A    ? TPosition::A2
                                         : hard == Hardware::L0B    ? TPosition::B2
                                         : hard == Hardware::L0C    ? TPosition::CO1
                                         : hard == Hardware::BIAS   ? TPosition::C2
                                         : hard == Hardware::FIXBUF ? TPosition::C2PIPE2GM
                                                                    : TPosition::VECCALC;
  uint32_t next_ = 0;
};

}  // namespace AscendC
