// Atomic operations of threads. Threads take turns, so that each is whole by itself.
#include "access.h"
#include "simt.h"

namespace ophook::rt {
namespace {

template <typename T>
T as(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <typename T>
T arithmetic(Atomic what, T old, T value, T compared) {
  switch (what) {
    case Atomic::add: return T(old + value);
    case Atomic::sub: return T(old - value);
    case Atomic::max: return old < value ? value : old;
    case Atomic::min: return value < old ? value : old;
    case Atomic::exchange: return value;
    case Atomic::compare: return old == compared ? value : old;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (what) {
      case Atomic::inc: return old >= value ? T(0) : T(old + 1);
      case Atomic::dec: return old == 0 || old > value ? value : T(old - 1);
      case Atomic::bit_and: return old & value;
      case Atomic::bit_or: return old | value;
      case Atomic::bit_xor: return old ^ value;
      default: break;
    }
  }
  return old;
}

template <typename T>
void whole(Atomic what, void* to, const void* value, const void* compared) {
  using U = std::conditional_t<std::is_integral_v<T> && std::is_signed_v<T>, std::make_unsigned_t<T>, T>;
  T result;
  if (what == Atomic::add) result = T(U(as<U>(to)) + U(as<U>(value)));  // without an overflow of signed numbers
  else if (what == Atomic::sub) result = T(U(as<U>(to)) - U(as<U>(value)));
  else result = arithmetic<T>(what, as<T>(to), as<T>(value), compared ? as<T>(compared) : T(0));
  std::memcpy(to, &result, sizeof result);
}

void narrow_float(Atomic what, Dtype dtype, void* to, const void* value, const void* compared) {
  const bool half_type = dtype == Dtype::f16;
  auto wide = [&](const void* at) {
    return half_type ? half_value(as<uint16_t>(at)) : bfloat16_value(as<uint16_t>(at));
  };
  if (what == Atomic::exchange || what == Atomic::compare) {  // by their bits
    if (what == Atomic::exchange || wide(to) == wide(compared)) std::memcpy(to, value, 2);
    return;
  }
  const float result = arithmetic<float>(what, wide(to), wide(value), 0.0f);
  const uint16_t bits = half_type ? half_bits(result) : bfloat16_bits(result);
  std::memcpy(to, &bits, 2);
}

}  // namespace

void simt_combine(Atomic what, Dtype dtype, void* to, const void* value, const void* compared) {
  switch (dtype) {
    case Dtype::i32: return whole<int32_t>(what, to, value, compared);
    case Dtype::u32: return whole<uint32_t>(what, to, value, compared);
    case Dtype::i64: return whole<int64_t>(what, to, value, compared);
    case Dtype::u64: return whole<uint64_t>(what, to, value, compared);
    case Dtype::f32: {
      const float result = arithmetic<float>(what, as<float>(to), as<float>(value), compared ? as<float>(compared) : 0);
      std::memcpy(to, &result, sizeof result);
      return;
    }
    default: return narrow_float(what, dtype, to, value, compared);
  }
}

void simt_atomic(Atomic what, const char* call, void* address, Dtype dtype, uint32_t count, const void* value,
                 const void* compared, void* before, At at) {
  Simt* const s = simt();
  if (!s) return refuse(call, "it is for threads of SIMT: call it in a __simt_vf__ function", at);
  const uint32_t size = size_of(dtype), bytes = size * count;
  const bool ub = s->core.memory->at(Memory::ub).holds(static_cast<uint8_t*>(address));
  if (ub && size == 8) {
    s->core.report(Kind::data_type, call, at, "64 bits in UB; allowed: in global memory alone");
    s->abandon();
  }
  s->access(address, bytes, true, true, __builtin_return_address(0), &at);
  auto* const data = static_cast<uint8_t*>(address);
  uint8_t old[16];
  std::memcpy(old, data, bytes);
  bool changes = true;
  if (what == Atomic::compare && count > 1) {  // all elements at once
    changes = !std::memcmp(data, compared, bytes);
    if (changes) std::memcpy(data, value, bytes);
  } else {
    for (uint32_t i = 0; i < count; ++i)
      simt_combine(what, dtype, data + i * size, static_cast<const uint8_t*>(value) + i * size,
                   compared ? static_cast<const uint8_t*>(compared) + i * size : nullptr);
    changes = std::memcmp(old, data, bytes) != 0;
  }
  std::memcpy(before, old, bytes);
  if (!ub) s->fence();
  if (changes) s->changed();
  else s->idles(64);  // it may try again until another thread lets it
}

}  // namespace ophook::rt
