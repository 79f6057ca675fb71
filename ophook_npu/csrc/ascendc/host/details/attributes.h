// Attributes as a tiling function reads them, and the tiling data that it writes.
#pragma once

#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "conversions.h"
#include "tensors.h"
#include "text.h"

namespace gert {

// An attribute's value. Lists are kept as the image in memory that a tiling function is shown.
struct AttrValue {
  enum Kind { kNone, kInt, kFloat, kBool, kText, kInts, kFloats, kBools, kIntLists, kTexts } kind = kNone;
  int64_t whole = 0;
  float real = 0;
  bool flag = false;
  ophook::host::Text text;
  std::vector<int64_t> wholes;  // of all lists, one behind the other
  std::vector<float> reals;
  std::vector<size_t> lengths;  // of the lists in a list
  std::vector<ophook::host::Text> texts;
  std::vector<uint64_t> image;

  static AttrValue of(int64_t value) { return as(kInt, &AttrValue::whole, value); }
  static AttrValue of(float value) { return as(kFloat, &AttrValue::real, value); }
  static AttrValue of(bool value) { return as(kBool, &AttrValue::flag, value); }
  static AttrValue of(const char* value) { return as(kText, &AttrValue::text, ophook::host::Text(value)); }
  static AttrValue of(const std::vector<int64_t>& value) { return as(kInts, &AttrValue::wholes, value); }
  static AttrValue of(const std::vector<float>& value) { return as(kFloats, &AttrValue::reals, value); }
  static AttrValue of(const std::vector<bool>& value) {
    return as(kBools, &AttrValue::wholes, std::vector<int64_t>(value.begin(), value.end()));
  }
  static AttrValue of(const std::vector<std::vector<int64_t>>& lists) {
    AttrValue out;
    out.kind = kIntLists;
    for (const auto& list : lists) {
      out.wholes.insert(out.wholes.end(), list.begin(), list.end());
      out.lengths.push_back(list.size());
    }
    return out;
  }
  static AttrValue of(std::vector<ophook::host::Text> value) { return as(kTexts, &AttrValue::texts, std::move(value)); }

  void make_image() {
    switch (kind) {
      case kInts: return put(wholes);
      case kFloats: return put(reals);
      case kBools: return put(std::vector<char>(wholes.begin(), wholes.end()));
      case kIntLists: return put_lists();
      default: return;
    }
  }

 private:
  template <typename T>
  static AttrValue as(Kind kind, T AttrValue::* member, T value) {
    AttrValue out;
    out.kind = kind, out.*member = std::move(value);
    return out;
  }
  template <typename T>
  static void copy(const T* from, size_t count, ContinuousVector* to) {
    (void)to->SetSize(count);
    if (count) std::memcpy(to->MutableData(), from, count * sizeof(T));
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    image.assign((sizeof(ContinuousVector) + values.size() * sizeof(T) + 7) / 8, 0);
    auto* list = reinterpret_cast<ContinuousVector*>(image.data());
    list->Init(values.size()), copy(values.data(), values.size(), list);
  }
  void put_lists() {
    size_t bytes = ContinuousVectorVector::GetOverHeadLength(lengths.size());
    for (const size_t length : lengths) bytes += sizeof(ContinuousVector) + length * sizeof(int64_t);
    image.assign(bytes / 8, 0);
    auto* lists = reinterpret_cast<ContinuousVectorVector*>(image.data());
    lists->Init(lengths.size());
    const int64_t* from = wholes.data();
    for (const size_t length : lengths) copy(from, length, lists->Add<int64_t>(length)), from += length;
  }
};

class RuntimeAttrs {
 public:
  explicit RuntimeAttrs(std::vector<AttrValue> values) : values_(std::move(values)) {
    for (AttrValue& value : values_) value.make_image();
  }
  size_t GetAttrNum() const { return values_.size(); }
  // Where the value lies, of whatever type it is: tiling functions run on devices that ask for another one's type.
  const int64_t* GetInt(size_t i) const { return GetAttrPointer<int64_t>(i); }
  const float* GetFloat(size_t i) const { return GetAttrPointer<float>(i); }
  const bool* GetBool(size_t i) const { return GetAttrPointer<bool>(i); }
  const char* GetStr(size_t i) const { return GetAttrPointer<char>(i); }
  const TypedContinuousVector<int64_t>* GetListInt(size_t i) const {
    return image<TypedContinuousVector<int64_t>>(i, AttrValue::kInts);
  }
  const TypedContinuousVector<float>* GetListFloat(size_t i) const {
    return image<TypedContinuousVector<float>>(i, AttrValue::kFloats);
  }
  const ContinuousVectorVector* GetListListInt(size_t i) const {
    return image<ContinuousVectorVector>(i, AttrValue::kIntLists);
  }
  // No OpDef can declare one of these.
  const ContinuousVectorVector* GetListListFloat(size_t) const { return nullptr; }
  const Tensor* GetTensor(size_t) const { return nullptr; }
  const AttrValue* value(size_t i) const { return i < values_.size() ? &values_[i] : nullptr; }
  // What the attribute's value lies in, taken as T.
  template <typename T>
  const T* GetAttrPointer(size_t i) const {
    if (i >= values_.size()) return nullptr;
    const AttrValue& value = values_[i];
    if (value.kind == AttrValue::kTexts)
      fprintf(stderr, "[simulated Ascend] GetAttrPointer: how a list of strings lies in memory is not known\n");
    const void* at = value.kind == AttrValue::kInt     ? static_cast<const void*>(&value.whole)
                     : value.kind == AttrValue::kFloat ? &value.real
                     : value.kind == AttrValue::kBool  ? &value.flag
                     : value.kind == AttrValue::kText  ? value.text.c_str()
                     : value.image.empty()             ? nullptr
                                                       : static_cast<const void*>(value.image.data());
    return static_cast<const T*>(at);
  }

 private:
  bool is(size_t i, AttrValue::Kind kind) const { return i < values_.size() && values_[i].kind == kind; }
  template <typename T>
  const T* image(size_t i, AttrValue::Kind kind) const {
    return is(i, kind) ? reinterpret_cast<const T*>(values_[i].image.data()) : nullptr;
  }
  std::vector<AttrValue> values_;
};

enum class AttrDataType : int32_t {
  kBool = 0,
  kString,
  kInt32,
  kInt64,
  kUint32,
  kFloat32,
  kFloat16,
  kListBool,
  kListString,
  kListInt32,
  kListInt64,
  kListUint32,
  kListFloat32,
  kListFloat16,
  kListListInt32,
  kListListInt64,
  kBfloat16,
  kInt8,
  kInt16,
  kListInt8,
  kListInt16,
  kTypeEnd
};

class TilingData {
 public:
  TilingData(const TilingData&) = delete;
  TilingData& operator=(const TilingData&) = delete;
  static ge::graphStatus CalcTotalSize(size_t capacity, size_t& total_size) {
    return ge::AddOverflow(capacity, sizeof(TilingData), total_size) ? ge::GRAPH_FAILED : ge::GRAPH_SUCCESS;
  }
  static std::unique_ptr<uint8_t[]> CreateCap(size_t capacity) {
    size_t total = 0;
    if (CalcTotalSize(capacity, total) != ge::GRAPH_SUCCESS) return nullptr;
    std::unique_ptr<uint8_t[]> memory(new (std::nothrow) uint8_t[total]());
    if (memory) reinterpret_cast<TilingData*>(memory.get())->Init(capacity, memory.get() + sizeof(TilingData));
    return memory;
  }
  void Init(size_t capacity, void* data) { capacity_ = capacity, size_ = 0, data_ = data; }
  void* GetData() { return data_; }
  const void* GetData() const { return data_; }
  size_t GetCapacity() const { return capacity_; }
  size_t GetDataSize() const { return size_; }
  void SetDataSize(size_t size) { size_ = size; }
  void* Expand(size_t size) {
    if (size > capacity_ || size_ > capacity_ - size) return nullptr;
    void* at = static_cast<uint8_t*>(data_) + size_;
    return size_ += size, at;
  }
  template <typename T, typename std::enable_if<std::is_standard_layout<T>::value, int>::type = 0>
  ge::graphStatus Append(const T& data) {
    return Append(&data, 1);
  }
  template <typename T, typename std::enable_if<std::is_standard_layout<T>::value, int>::type = 0>
  ge::graphStatus Append(const T* data, size_t append_num) {
    size_t bytes = 0;
    void* to = ge::MulOverflow(append_num, sizeof(T), bytes) ? nullptr : Expand(bytes);
    if (!to) return ge::GRAPH_FAILED;
    std::memcpy(to, data, bytes);
    return ge::GRAPH_SUCCESS;
  }
  inline ge::graphStatus AppendConvertedAttrVal(const RuntimeAttrs* attrs, size_t attr_index, AttrDataType src_type,
                                                AttrDataType dst_type);

 private:
  friend class TilingContext;
  TilingData() = default;
  size_t capacity_ = 0, size_ = 0;
  void* data_ = nullptr;
};
template <typename T>
TilingData& operator<<(TilingData& out, const T& data) {
  return (void)out.Append(data), out;
}

// As the page's table pairs them. A number that the new type does not have fails.
class AttrConversion {
 public:
  using T = AttrDataType;
  AttrConversion(TilingData& to, const AttrValue& value) : to_(to), value_(value) {}
  ge::graphStatus run(T from, T to) const {
    switch (value_.kind) {
      case AttrValue::kInt:
        return from == T::kInt64 || (from == T::kInt32 && to == T::kInt32) ? wholes({value_.whole}, to) : failed;
      case AttrValue::kInts:
        return from == T::kListInt64 || (from == T::kListInt32 && to == T::kListInt32)
                   ? wholes(value_.wholes, to == T::kListInt32    ? T::kInt32
                                           : to == T::kListUint32 ? T::kUint32
                                                                  : T::kTypeEnd)
                   : failed;
      case AttrValue::kFloat: return from == T::kFloat32 ? reals({value_.real}, to) : failed;
      case AttrValue::kFloats: return from == T::kListFloat32 ? reals(value_.reals, one_of(to)) : failed;
      case AttrValue::kBool: return from == T::kBool && to == T::kBool ? to_.Append(value_.flag) : failed;
      case AttrValue::kText: {
        const char* text = value_.text.c_str();
        return from == T::kString && to == T::kString ? to_.Append(text, std::strlen(text)) : failed;
      }
      default: return failed;
    }
  }

 private:
  static constexpr ge::graphStatus failed = ge::GRAPH_FAILED;
  // The type of an element; those that no list of floats becomes are none.
  static T one_of(T list) {
    switch (list) {
      case T::kListFloat32: return T::kFloat32;
      case T::kListFloat16: return T::kFloat16;
      case T::kListInt64: return T::kInt64;
      case T::kListInt32: return T::kInt32;
      case T::kListInt16: return T::kInt16;
      case T::kListInt8: return T::kInt8;
      default: return T::kTypeEnd;
    }
  }
  template <typename N>
  ge::graphStatus put(const std::vector<int64_t>& numbers) const {
    std::vector<N> all(numbers.size());
    for (size_t i = 0; i < all.size(); ++i)
      if (ge::AddOverflow(numbers[i], 0, all[i])) return failed;
    return to_.Append(all.data(), all.size());
  }
  ge::graphStatus wholes(const std::vector<int64_t>& numbers, T to) const {
    return to == T::kInt32 ? put<int32_t>(numbers) : to == T::kUint32 ? put<uint32_t>(numbers) : failed;
  }
  ge::graphStatus reals(const std::vector<float>& numbers, T to) const {
    std::vector<uint16_t> small;
    std::vector<int64_t> whole;
    bool fit = true;
    for (const float number : numbers) {
      small.push_back(to == T::kFloat16 ? ophook::host::to_half(number) : ophook::host::to_bfloat16(number));
      const bool fits = number > -9.2e18F && number < 9.2e18F;
      fit &= fits, whole.push_back(fits ? static_cast<int64_t>(number) : 0);
    }
    switch (to) {
      case T::kFloat32: return to_.Append(numbers.data(), numbers.size());
      case T::kFloat16:
      case T::kBfloat16: return to_.Append(small.data(), small.size());
      case T::kInt64: return fit ? put<int64_t>(whole) : failed;
      case T::kInt32: return fit ? put<int32_t>(whole) : failed;
      case T::kInt16: return fit ? put<int16_t>(whole) : failed;
      case T::kInt8: return fit ? put<int8_t>(whole) : failed;
      default: return failed;
    }
  }
  TilingData& to_;
  const AttrValue& value_;
};

ge::graphStatus TilingData::AppendConvertedAttrVal(const RuntimeAttrs* attrs, size_t attr_index, AttrDataType src_type,
                                                   AttrDataType dst_type) {
  const AttrValue* value = attrs ? attrs->value(attr_index) : nullptr;
  return value ? AttrConversion(*this, *value).run(src_type, dst_type) : ge::GRAPH_FAILED;
}

}  // namespace gert
