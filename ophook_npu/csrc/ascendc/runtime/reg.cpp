// The Reg interface's side of local memory, and its conversions.
#include "ascendc/reg_types.h"

#include <cmath>
#include <limits>

#include "access.h"
#include "cast.h"

namespace ophook::rt {
namespace {

struct Piece {
  Operation op;
  Local view;
  bool usable = false;
  Piece(const char* call, const void* address, uint64_t bytes, uint32_t align, const char* role, At at)
      : op(core(), Pipe::V, call, at), view(local_of(call, address, at)) {
    Core& c = op.core;
    usable = has_unit(c, true, call, at) && c.usable(view, call, at) && op.aligned(view, align, role) &&
             op.inside(view, 0, bytes, role);
    if (!usable) c.stop();
    c.settle();
  }
};

// A whole number as a double may not have it.
template <typename T>
T cut(long double value, bool saturated) {
  constexpr long double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  if (value != value) return 0;
  if (std::isinf(value)) return value < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  if (saturated) return value < low ? T(low) : value > high ? std::numeric_limits<T>::max() : T(value);
  const long double around = std::fmod(value, 18446744073709551616.0L);
  return T(around < 0 ? uint64_t{0} - uint64_t(-around) : uint64_t(around));
}
long double rounded(long double value, int mode) {
  switch (AscendC::RoundMode(mode)) {
    case AscendC::RoundMode::CAST_FLOOR: return std::floor(value);
    case AscendC::RoundMode::CAST_CEIL: return std::ceil(value);
    case AscendC::RoundMode::CAST_ROUND: return std::round(value);
    case AscendC::RoundMode::CAST_TRUNC: return std::trunc(value);
    default: return std::nearbyint(value);
  }
}
template <typename T>
T read_as(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
long double value_of(Dtype dtype, const void* from) {
  switch (dtype) {
    case Dtype::f16: return half_value(read_as<uint16_t>(from));
    case Dtype::bf16: return bfloat16_value(read_as<uint16_t>(from));
    case Dtype::f32: return read_as<float>(from);
    case Dtype::i8: return read_as<int8_t>(from);
    case Dtype::u8: return read_as<uint8_t>(from);
    case Dtype::i16: return read_as<int16_t>(from);
    case Dtype::u16: return read_as<uint16_t>(from);
    case Dtype::i32: return read_as<int32_t>(from);
    case Dtype::u32: return read_as<uint32_t>(from);
    default: return read_as<int64_t>(from);
  }
}
template <typename T>
void write_as(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace

void reg_load(const char* call, const void* from, uint32_t bytes, uint32_t align, void* to, uint8_t* known, At at) {
  Piece piece(call, from, 1, align, "the source", at);
  Operation& op = piece.op;
  // A load has no mask: it may go beyond the buffer, and who uses what lies there uses what was never computed.
  const uint32_t own = std::min(bytes, piece.view.bytes);
  piece.view.bytes = bytes;
  if (!op.inside(piece.view, 0, bytes, "the source")) op.core.stop();
  op.reads(piece.view, 0, own);
  std::memcpy(to, op.data(piece.view), bytes);
  std::memset(known, 0, bytes);
  if (op.core.launch.checks()) std::memcpy(known, op.written(piece.view), own);
  else std::memset(known, 1, bytes);
}

uint32_t reg_place(const void* address) {
  return uint32_t(static_cast<const uint8_t*>(address) - core().memory->at(Memory::ub).data(0, 0)) % kBlock;
}

void reg_peek(const char* call, const void* from, uint8_t* to, uint8_t* known, At at) {
  LocalMemory& memory = core().memory->at(Memory::ub);
  const uint8_t* begin = memory.data(0, 0);
  const uint32_t offset = uint32_t(static_cast<const uint8_t*>(from) - begin) / kBlock * kBlock;
  if (!memory.holds(static_cast<const uint8_t*>(from))) {  // behind the last of them: nobody reads what is there
    std::memset(to, 0, kBlock), std::memset(known, 0, kBlock);
    if (static_cast<const uint8_t*>(from) != begin + memory.size()) (void)local_of(call, from, at);
    return;
  }
  std::memcpy(to, memory.data(offset, kBlock), kBlock);
  if (core().launch.checks()) std::memcpy(known, memory.written(offset, kBlock), kBlock);
  else std::memset(known, 1, kBlock);
}

void reg_store(const char* call, void* to, const void* from, const uint8_t* known, const uint8_t* chosen,
               uint32_t bytes, uint32_t align, At at) {
  uint32_t first = 0, last = bytes;  // nothing is written before and behind what is chosen
  if (chosen) {
    while (first < last && !chosen[first]) ++first;
    while (first < last && !chosen[last - 1]) --last;
    if (first == last) return;
  }
  Piece piece(call, to, last, align, "the destination", at);
  Operation& op = piece.op;
  const auto* source = static_cast<const uint8_t*>(from);
  uint8_t* data = op.data(piece.view);
  uint8_t* written = op.core.launch.checks() ? op.written(piece.view) : nullptr;
  for (uint32_t i = first; i < last;) {
    uint32_t end = i;
    while (end < last && (!chosen || chosen[end])) ++end;
    op.writes(piece.view, i, end - i);
    std::memcpy(data + i, source + i, end - i);
    if (written) std::memcpy(written + i, known + i, end - i);
    for (i = end; i < last && chosen && !chosen[i];) ++i;
  }
}

void reg_gather(const char* call, const void* base, const uint64_t* index, const uint8_t* chosen, uint32_t count,
                uint32_t size, uint32_t align, uint8_t* to, uint8_t* known, At at) {
  Piece piece(call, base, 0, align, "the source", at);
  Operation& op = piece.op;
  std::memset(to, 0, size_t(count) * size), std::memset(known, 1, size_t(count) * size);
  for (uint32_t i = 0; i < count; ++i) {
    if (!chosen[i]) continue;
    const uint64_t from = index[i] * size;
    if (!op.inside(piece.view, from, size, "the source")) op.core.stop();
    op.reads(piece.view, from, size);
    std::memcpy(to + size_t(i) * size, op.data(piece.view) + from, size);
    if (op.core.launch.checks()) std::memcpy(known + size_t(i) * size, op.written(piece.view) + from, size);
  }
}

void reg_scatter(const char* call, void* base, const uint64_t* index, const uint8_t* chosen, uint32_t count,
                 uint32_t size, const uint8_t* from, const uint8_t* known, At at) {
  Piece piece(call, base, 0, kBlock, "the destination", at);
  Operation& op = piece.op;
  for (uint32_t i = 0; i < count; ++i) {
    if (!chosen[i]) continue;
    const uint64_t to = index[i] * size;
    if (!op.inside(piece.view, to, size, "the destination")) op.core.stop();
    op.writes(piece.view, to, size);
    std::memcpy(op.data(piece.view) + to, from + size_t(i) * size, size);
    if (op.core.launch.checks()) std::memcpy(op.written(piece.view) + to, known + size_t(i) * size, size);
  }
}

bool reg_saturates() { return !(core().control >> 60 & 1); }  // control.cpp keeps what differs from the usual 1
void reg_convert(Dtype from, Dtype to, int mode, bool saturated, const void* in, void* out) {
  if (AscendC::RoundMode(mode) <= AscendC::RoundMode::CAST_NONE) mode = int(AscendC::RoundMode::CAST_RINT);
  const long double value = value_of(from, in);
  switch (to) {
    case Dtype::f16:
    case Dtype::bf16: {
      float single = float(value);  // whole numbers of 16 bits and less are exact
      if (saturated) {
        const float most = to == Dtype::f16 ? 65504.0f : bfloat16_value(0x7f7f);
        single = single != single ? 0 : std::min(std::max(single, -most), most);
      }
      conversion(Dtype::f32, to, mode, 310).run(&single, out, 1, mode);
      return;
    }
    case Dtype::f32: {
      if (from == Dtype::i32 || from == Dtype::i64) return conversion(from, to, mode, 310).run(in, out, 1, mode);
      return write_as(out, float(value));
    }
#define WHOLE(dtype, type) \
  case Dtype::dtype: return write_as(out, cut<type>(rounded(value, mode), saturated));
      WHOLE(i8, int8_t)
      WHOLE(u8, uint8_t)
      WHOLE(i16, int16_t)
      WHOLE(u16, uint16_t)
      WHOLE(i32, int32_t)
      WHOLE(u32, uint32_t)
      WHOLE(i64, int64_t)
#undef WHOLE
    default: return;
  }
}

SqueezedBytes& squeezed() { return core().squeezed; }

}  // namespace ophook::rt
