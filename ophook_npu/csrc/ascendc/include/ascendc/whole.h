// What advanced functions share that are a formula over whole tensors: each reads and writes as one vector instruction
// would, and is computed here, in float and rounded once. The formulas are those of the vendor's pages.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "advanced.h"
#include "copy.h"
#include "pipe.h"

namespace ophook::rt {
struct Part {
  Local tensor;
  uint64_t bytes;
  const char* role;
};
// Checks and records what the function writes and reads, each from its tensor's begin on. False, after a finding, where
// it cannot work.
OPHOOK_RT bool whole(const char* call, std::initializer_list<Part> writes, std::initializer_list<Part> reads,
                     const Local* work, At at);
// A note where sources lie over the destination although the function's page allows that nowhere.
OPHOOK_RT void apart(const char* call, const Part& to, std::initializer_list<Part> from, At at);
// As whole for a function that moves elements as they are: element e of what it writes is element origins[e] of what it
// reads, and what was never computed stays so.
OPHOOK_RT bool moves(const char* call, const Part& to, const Part& from, const std::vector<uint32_t>& origins,
                     const Local* work, At at);
}  // namespace ophook::rt

namespace AscendC {

template <typename T>
GlobalTensor<T> TPipe::spilled(const char* call, int32_t offset, ophook::rt::At at) const {
  GlobalTensor<T> found;
  if (!spill_.GetSize() || offset < 0 || uint64_t(offset) >= spill_.GetSize() || offset % int32_t(sizeof(T)))
    ophook::rt::refuse(call, "InitSpmBuffer comes before, and the offset is one of an element in it", at);
  else
    found.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(const_cast<__gm__ uint8_t*>(spill_.GetPhyAddr(offset))),
                          (spill_.GetSize() - uint64_t(offset)) / sizeof(T));
  return found;
}
template <typename T, typename Size>  // elements, or DataCopyParams
__aicore__ void TPipe::WriteSpmBuffer(const LocalTensor<T>& writeBuffer, const Size& size, int32_t writeOffset,
                                      ophook::rt::At at) {
  DataCopy(spilled<T>("WriteSpmBuffer", writeOffset, at), writeBuffer, size, at);
}
template <typename T, typename Size>
__aicore__ void TPipe::ReadSpmBuffer(const LocalTensor<T>& readBuffer, const Size& size, int32_t readOffset,
                                     ophook::rt::At at) {
  DataCopy(readBuffer, spilled<T>("ReadSpmBuffer", readOffset, at), size, at);
}

namespace whole_details {
using ophook::rt::At;
using ophook::rt::Local;
using ophook::rt::Part;
using ophook::rt::RowShape;
template <typename T>
float wide(T value) {
  if constexpr (std::is_same_v<T, bfloat16_t>) return ophook::rt::bfloat16_value(value.bits);
  else return static_cast<float>(value);
}
template <typename T>
T narrow(float value) {
  return static_cast<T>(value);
}
template <typename T>
T* data(const LocalTensor<T>& tensor) {
  return static_cast<T*>(ophook::rt::local_address(tensor.view()));
}
template <typename T>
Part part(const LocalTensor<T>& tensor, uint64_t count, const char* role) {
  return {tensor.view(), tensor_bytes<T>(count), role};
}
template <typename T>
constexpr bool real = std::is_same_v<T, half> || std::is_same_v<T, float>;
template <typename T, typename... Any>
constexpr bool one_of = (std::is_same_v<T, Any> || ...);
template <typename T>
std::vector<float> values(const LocalTensor<T>& tensor, uint64_t count) {  // a copy: the destination may be the tensor
  std::vector<float> out(count);
  for (uint64_t i = 0; i < count; ++i) out[i] = wide(data(tensor)[i]);
  return out;
}
struct Work {  // the scratch tensor of a call, for as long as the call's expression
  explicit Work(const LocalTensor<uint8_t>& tmp) : view(tmp.view()) {}
  operator const Local*() const { return &view; }
  Local view;
};
// dst[i] = f(src[i]), and with two sources f(a[i], b[i]). `in_place`: where the page allows it.
template <bool in_place = false, typename T, typename F>
void each(const char* call, const LocalTensor<T>& dst, const LocalTensor<T>& src, const Local* work, uint64_t count,
          At at, F f) {
  if (!ophook::rt::whole(call, {part(dst, count, "the destination")}, {part(src, count, "the source")}, work, at))
    return;
  if (!in_place) ophook::rt::apart(call, part(dst, count, ""), {part(src, count, "")}, at);
  for (uint64_t i = 0; i < count; ++i) data(dst)[i] = narrow<T>(f(wide(data(src)[i])));
}
template <typename T, typename F>
void each(const char* call, const LocalTensor<T>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b,
          const Local* work, uint64_t count, At at, F f) {
  if (!ophook::rt::whole(call, {part(dst, count, "the destination")},
                         {part(a, count, "the first source"), part(b, count, "the second source")}, work, at))
    return;
  ophook::rt::apart(call, part(dst, count, ""), {part(a, count, ""), part(b, count, "")}, at);
  for (uint64_t i = 0; i < count; ++i) data(dst)[i] = narrow<T>(f(wide(data(a)[i]), wide(data(b)[i])));
}
}  // namespace whole_details

}  // namespace AscendC
