// The Reg interface: what moves data between the unified buffer and registers.
#pragma once

#include "reg_types.h"

#define OPHOOK_AT ophook::rt::At at = ophook::rt::At::here()

namespace AscendC::Reg {

enum class LoadDist {
  DIST_NORM,
  DIST_BRC_B8,
  DIST_BRC_B16,
  DIST_BRC_B32,
  DIST_US_B8,
  DIST_US_B16,
  DIST_DS_B8,
  DIST_DS_B16,
  DIST_UNPACK_B8,
  DIST_UNPACK_B16,
  DIST_BLK,
  DIST_E2B_B16,
  DIST_E2B_B32,
  DIST_UNPACK_B32,
  DIST_UNPACK4_B8,
  DIST_DINTLV_B8,
  DIST_DINTLV_B16,
  DIST_DINTLV_B32,
};
enum class StoreDist {
  DIST_NORM_B8,
  DIST_NORM_B16,
  DIST_NORM_B32,
  DIST_FIRST_ELEMENT_B8,
  DIST_FIRST_ELEMENT_B16,
  DIST_FIRST_ELEMENT_B32,
  DIST_PACK_B16,
  DIST_PACK_B32,
  DIST_PACK_B64,
  DIST_PACK4_B32,
  DIST_NORM,
  DIST_INTLV_B8,
  DIST_INTLV_B16,
  DIST_INTLV_B32,
};

namespace details {

// Of each byte of the register: which byte of memory it comes from, or none (zero).
struct Spread {
  uint32_t bytes, align;  // read, and what the address is a multiple of
  int from(uint32_t to) const { return step(to, element, form); }
  uint32_t element;
  enum Form { plain, all, twice, every_second, wide2, wide4, block, element_to_block } form;
  static constexpr int step(uint32_t to, uint32_t size, Form form) {
    const uint32_t lane = to / size, byte = to % size;
    switch (form) {
      case all: return int(byte);
      case twice: return int(lane / 2 * size + byte);
      case every_second: return int(lane * 2 * size + byte);
      case wide2: return lane % 2 ? -1 : int(lane / 2 * size + byte);
      case wide4: return lane % 4 ? -1 : int(lane / 4 * size + byte);
      case block: return int(to % 32);
      case element_to_block: return int(to / 32 * size + byte);
      default: return int(to);
    }
  }
};
constexpr Spread spread_of(LoadDist dist) {
  switch (dist) {
    case LoadDist::DIST_BRC_B8: return {1, 1, 1, Spread::all};
    case LoadDist::DIST_BRC_B16: return {2, 2, 2, Spread::all};
    case LoadDist::DIST_BRC_B32: return {4, 4, 4, Spread::all};
    case LoadDist::DIST_US_B8: return {128, 32, 1, Spread::twice};
    case LoadDist::DIST_US_B16: return {128, 32, 2, Spread::twice};
    case LoadDist::DIST_DS_B8: return {512, 32, 1, Spread::every_second};
    case LoadDist::DIST_DS_B16: return {512, 32, 2, Spread::every_second};
    case LoadDist::DIST_UNPACK_B8: return {128, 32, 1, Spread::wide2};
    case LoadDist::DIST_UNPACK_B16: return {128, 32, 2, Spread::wide2};
    case LoadDist::DIST_UNPACK_B32: return {128, 32, 4, Spread::wide2};
    case LoadDist::DIST_UNPACK4_B8: return {64, 32, 1, Spread::wide4};
    case LoadDist::DIST_BLK: return {32, 32, 1, Spread::block};
    case LoadDist::DIST_E2B_B16: return {16, 16, 2, Spread::element_to_block};
    case LoadDist::DIST_E2B_B32: return {32, 32, 4, Spread::element_to_block};
    default: return {256, 32, 1, Spread::plain};
  }
}
constexpr bool is_double(LoadDist dist) { return dist >= LoadDist::DIST_DINTLV_B8; }
constexpr uint32_t element_of(LoadDist dist) { return 1u << (int(dist) - int(LoadDist::DIST_DINTLV_B8)); }

template <LoadDist dist, AReg U>
void load(U& reg, const void* from, At at) {
  static_assert(!is_double(dist), "LoadAlign: this distribution fills two registers");
  static_assert(dist == LoadDist::DIST_NORM || sizeof(typename U::ActualT) < 8,
                "LoadAlign: of 64 bits there is DIST_NORM alone");
  if constexpr (dist == LoadDist::DIST_NORM) {
    ophook::rt::reg_load("LoadAlign", from, U::kBytes, 32, reg.bytes, reg.known, at);
  } else {
    constexpr Spread spread = spread_of(dist);
    uint8_t bytes[512], known[512];
    ophook::rt::reg_load("LoadAlign", from, spread.bytes, spread.align, bytes, known, at);
    for (uint32_t to = 0; to < U::kBytes; ++to) {
      const int source = spread.from(to);
      reg.bytes[to] = source < 0 ? 0 : bytes[source], reg.known[to] = source < 0 || known[source];
    }
  }
}
template <LoadDist dist, AReg U>
void load_two(U& even, U& odd, const void* from, At at) {
  static_assert(is_double(dist), "LoadAlign: two registers are filled by DIST_DINTLV alone");
  uint8_t bytes[512], known[512];
  ophook::rt::reg_load("LoadAlign", from, 512, 32, bytes, known, at);
  constexpr uint32_t size = element_of(dist);
  U* both[] = {&even, &odd};
  for (uint32_t i = 0; i < 512; ++i) {
    const uint32_t to = i / size / 2 * size + i % size;
    both[i / size % 2]->bytes[to] = bytes[i], both[i / size % 2]->known[to] = known[i];
  }
}

// Which bytes of a register a mask chooses.
template <AReg U>
void chosen_bytes(const MaskReg& mask, uint8_t* chosen) {
  constexpr uint32_t size = sizeof(typename U::ActualT);
  for (uint32_t lane = 0; lane < U::kLanes; ++lane) std::memset(chosen + lane * size, on<U>(mask, lane), size);
}
// The lower part of each element goes next to the one before it. The distribution says how wide elements are, whatever
// the register's data type: after a Cast to a narrower one they lie apart.
template <uint32_t whole, uint32_t part, AReg U>
void store_packed(void* to, const U& reg, const MaskReg& mask, At at) {
  constexpr uint32_t lanes = 256 / whole, bytes = lanes * part;
  uint8_t packed[bytes], known[bytes], chosen[bytes];
  for (uint32_t i = 0; i < bytes; ++i) {
    const uint32_t lane = i / part, from = lane * whole + i % part;
    packed[i] = reg.bytes[from], known[i] = reg.known[from], chosen[i] = mask.get(lane * whole);
  }
  ophook::rt::reg_store("StoreAlign", to, packed, known, chosen, bytes, bytes < 32 ? bytes : 32, at);
}
template <StoreDist dist, AReg U>
void store(void* to, const U& reg, const MaskReg& mask, At at) {
  static_assert(dist < StoreDist::DIST_INTLV_B8, "StoreAlign: this distribution is of two registers");
  if constexpr (dist == StoreDist::DIST_PACK_B16) store_packed<2, 1>(to, reg, mask, at);
  else if constexpr (dist == StoreDist::DIST_PACK_B32) store_packed<4, 2>(to, reg, mask, at);
  else if constexpr (dist == StoreDist::DIST_PACK_B64) store_packed<8, 4>(to, reg, mask, at);
  else if constexpr (dist == StoreDist::DIST_PACK4_B32) store_packed<4, 1>(to, reg, mask, at);
  else if constexpr (dist >= StoreDist::DIST_FIRST_ELEMENT_B8 && dist <= StoreDist::DIST_FIRST_ELEMENT_B32) {
    constexpr uint32_t first = 1u << (int(dist) - int(StoreDist::DIST_FIRST_ELEMENT_B8));
    ophook::rt::reg_store("StoreAlign", to, reg.bytes, reg.known, nullptr, first, first, at);
  } else {
    uint8_t chosen[U::kBytes];
    chosen_bytes<U>(mask, chosen);
    if constexpr (dist != StoreDist::DIST_NORM)
      for (uint32_t i = 0; i < U::kBytes; ++i) chosen[i] = mask.get(i >> int(dist) << int(dist));
    ophook::rt::reg_store("StoreAlign", to, reg.bytes, reg.known, chosen, U::kBytes, 32, at);
  }
}
template <StoreDist dist, AReg U>
void store_two(void* to, const U& even, const U& odd, At at) {
  static_assert(dist >= StoreDist::DIST_INTLV_B8, "StoreAlign: two registers are stored by DIST_INTLV alone");
  constexpr uint32_t size = 1u << (int(dist) - int(StoreDist::DIST_INTLV_B8));
  uint8_t bytes[512], known[512];
  const U* both[] = {&even, &odd};
  for (uint32_t i = 0; i < 512; ++i) {
    const uint32_t from = i / size / 2 * size + i % size;
    bytes[i] = both[i / size % 2]->bytes[from], known[i] = both[i / size % 2]->known[from];
  }
  ophook::rt::reg_store("StoreAlign", to, bytes, known, nullptr, 512, 32, at);
}
// By blocks of 32 bytes: one of which any element is chosen moves as a whole.
template <AReg U>
bool block_on(const MaskReg& mask, uint32_t block) {
  constexpr uint32_t lanes = U::kLanes / 8;
  for (uint32_t lane = 0; lane < lanes; ++lane)
    if (on<U>(mask, block * lanes + lane)) return true;
  return false;
}
template <AReg U>
void load_blocks(U& reg, const uint8_t* from, uint32_t stride, const MaskReg& mask, At at) {
  for (uint32_t block = 0; block < 8; ++block) {
    const uint32_t to = block * 32;
    if (block_on<U>(mask, block))
      ophook::rt::reg_load("LoadAlign", from + uint64_t(block) * stride * 32, 32, 32, reg.bytes + to, reg.known + to,
                           at);
    else std::memset(reg.bytes + to, 0, 32), std::memset(reg.known + to, 1, 32);
  }
}
template <AReg U>
void store_blocks(uint8_t* to, const U& reg, uint32_t stride, const MaskReg& mask, At at) {
  uint8_t chosen[U::kBytes];
  chosen_bytes<U>(mask, chosen);
  for (uint32_t block = 0; block < 8; ++block)
    if (block_on<U>(mask, block))
      ophook::rt::reg_store("StoreAlign", to + uint64_t(block) * stride * 32, reg.bytes + block * 32,
                            reg.known + block * 32, chosen + block * 32, 32, 32, at);
}

// ---- addresses that are no multiple of 32: the register beside holds the block that the address lies in ----
inline const uint8_t* block_of(const void* address) {
  return static_cast<const uint8_t*>(address) - ophook::rt::reg_place(address);
}
inline void fetch(UnalignRegForLoad& ureg, const void* address, At at) {
  ureg.block = block_of(address);
  ophook::rt::reg_peek("LoadUnAlignPre", address, ureg.bytes, ureg.known, at);
}
template <AReg U>
void load_unaligned(U& reg, UnalignRegForLoad& ureg, const uint8_t* from, const uint8_t* next, At at) {
  if (ureg.block != block_of(from))
    return ophook::rt::refuse(
        "LoadUnAlign", "the register holds another block: LoadUnAlignPre comes first, with the same address", at);
  const uint32_t before = uint32_t(from - ureg.block), held = 32 - before;
  std::memcpy(reg.bytes, ureg.bytes + before, held), std::memcpy(reg.known, ureg.known + before, held);
  ophook::rt::reg_load("LoadUnAlign", from + held, U::kBytes - held, 32, reg.bytes + held, reg.known + held, at);
  fetch(ureg, next, at);
}
inline void flush(UnalignRegForStore& ureg, uint8_t* end, At at) {
  const uint32_t last = uint32_t(end - block_of(end));
  if (ureg.first < last && ureg.first < ureg.last)
    ophook::rt::reg_store("StoreUnAlignPost", end - last + ureg.first, ureg.bytes + ureg.first, ureg.known + ureg.first,
                          nullptr, last - ureg.first, 1, at);
  ureg.first = ureg.last = 0;
}
inline void store_unaligned(uint8_t* to, const uint8_t* bytes, const uint8_t* known, uint32_t count,
                            UnalignRegForStore& ureg, At at) {
  const uint32_t before = uint32_t(to - block_of(to));
  if (ureg.first == ureg.last) ureg.first = ureg.last = before;  // it is empty: what is there stays
  uint8_t joined[32 + 512], joined_known[32 + 512];
  std::memcpy(joined, ureg.bytes, before), std::memcpy(joined_known, ureg.known, before);
  std::memcpy(joined + before, bytes, count), std::memcpy(joined_known + before, known, count);
  const uint32_t end = before + count, whole = end / 32 * 32;
  if (whole > ureg.first) {
    ophook::rt::reg_store("StoreUnAlign", to - before + ureg.first, joined + ureg.first, joined_known + ureg.first,
                          nullptr, whole - ureg.first, 1, at);
    ureg.first = 0;
  }
  std::memcpy(ureg.bytes, joined + whole, end - whole), std::memcpy(ureg.known, joined_known + whole, end - whole);
  ureg.last = end - whole;
}
template <typename T>
uint8_t* bytes_at(T* address, uint64_t elements = 0) {
  return reinterpret_cast<uint8_t*>(address + elements);
}

template <MaskDist dist>
void load_mask(MaskReg& mask, const void* from, At at) {
  static_assert(dist != MaskDist::DIST_PACK, "LoadAlign of a mask: DIST_NORM, DIST_US or DIST_DS");
  constexpr uint32_t bytes = dist == MaskDist::DIST_US ? 16 : dist == MaskDist::DIST_DS ? 64 : 32;
  uint8_t read[64], known[64];
  ophook::rt::reg_load("LoadAlign", from, bytes, bytes < 32 ? bytes : 32, read, known, at);
  for (uint32_t i = 0; i < 256; ++i) {
    const uint32_t bit = dist == MaskDist::DIST_US ? i / 2 : dist == MaskDist::DIST_DS ? i * 2 : i;
    mask.set(i, read[bit / 8] >> bit % 8 & 1);
  }
}
template <MaskDist dist>
void store_mask(void* to, const MaskReg& mask, At at) {
  static_assert(dist == MaskDist::DIST_NORM || dist == MaskDist::DIST_PACK,
                "StoreAlign of a mask: DIST_NORM or DIST_PACK");
  MaskReg packed = mask;
  constexpr uint32_t bytes = dist == MaskDist::DIST_PACK ? 16 : 32;
  if (dist == MaskDist::DIST_PACK)
    for (uint32_t i = 0; i < 128; ++i) packed.set(i, mask.get(2 * i));
  uint8_t known[32];
  std::memset(known, 1, sizeof known);
  ophook::rt::reg_store("StoreAlign", to, packed.bits, known, nullptr, bytes, bytes, at);
}
// One bit for each element; the address goes on by as many bytes.
template <typename T>
void store_mask_unaligned(T*& to, const MaskReg& mask, UnalignRegForStore& ureg, At at) {
  constexpr uint32_t bits = 256 / sizeof(T);
  uint8_t bytes[32] = {}, known[32];
  for (uint32_t i = 0; i < bits; ++i) bytes[i / 8] |= uint8_t(mask.get(uint32_t(i * sizeof(T))) << i % 8);
  std::memset(known, 1, sizeof known);
  store_unaligned(bytes_at(to), bytes, known, bits / 8, ureg, at);
  to = reinterpret_cast<T*>(bytes_at(to) + bits / 8);
}
template <AReg U>
void numbers(const auto& index, const MaskReg& mask, uint64_t* to, uint8_t* chosen) {
  for (uint32_t lane = 0; lane < U::kLanes; ++lane) {
    chosen[lane] = on<U>(mask, lane);
    to[lane] = lane < std::remove_cvref_t<decltype(index)>::kLanes ? uint64_t(get(index, lane)) : 0;
  }
}

}  // namespace details

#define OPHOOK_OF_REG requires(details::AReg<U> && sizeof(T) == sizeof(typename U::ActualT)) __simd_callee__ inline void

#define OPHOOK_LOAD LoadAlign
#define OPHOOK_LOAD_PRE LoadUnAlignPre
#define OPHOOK_LOAD_UNALIGNED LoadUnAlign
#define OPHOOK_STORE StoreAlign
#define OPHOOK_STORE_UNALIGNED StoreUnAlign
#define OPHOOK_STORE_POST StoreUnAlignPost
#define OPHOOK_GATHER Gather
#define OPHOOK_SCATTER Scatter
#include "reg_copies.inc"
#undef OPHOOK_LOAD
#undef OPHOOK_LOAD_PRE
#undef OPHOOK_LOAD_UNALIGNED
#undef OPHOOK_STORE
#undef OPHOOK_STORE_UNALIGNED
#undef OPHOOK_STORE_POST
#undef OPHOOK_GATHER
#undef OPHOOK_SCATTER
// The same by the older names, which the vendor's own operators call.
#define OPHOOK_LOAD DataCopy
#define OPHOOK_LOAD_PRE DataCopyUnAlignPre
#define OPHOOK_LOAD_UNALIGNED DataCopyUnAlign
#define OPHOOK_STORE DataCopy
#define OPHOOK_STORE_UNALIGNED DataCopyUnAlign
#define OPHOOK_STORE_POST DataCopyUnAlignPost
#define OPHOOK_GATHER DataCopyGather
#define OPHOOK_SCATTER DataCopyScatter
#include "reg_copies.inc"
#undef OPHOOK_LOAD
#undef OPHOOK_LOAD_PRE
#undef OPHOOK_LOAD_UNALIGNED
#undef OPHOOK_STORE
#undef OPHOOK_STORE_UNALIGNED
#undef OPHOOK_STORE_POST
#undef OPHOOK_GATHER
#undef OPHOOK_SCATTER

template <typename T, typename U>
OPHOOK_OF_REG Load(U& dstReg, __ubuf__ T* srcAddr, OPHOOK_AT) {
  UnalignRegForLoad ureg;
  details::fetch(ureg, srcAddr, at);
  const uint8_t* from = details::bytes_at(srcAddr);
  details::load_unaligned(dstReg, ureg, from, from, at);
}
template <typename T, typename U>
OPHOOK_OF_REG Store(__ubuf__ T* dstAddr, U& srcReg, uint32_t count, OPHOOK_AT) {
  ophook::rt::reg_store("Store", dstAddr, srcReg.bytes, srcReg.known, nullptr, uint32_t(count * sizeof(T)), 1, at);
}
template <typename T, typename U>
OPHOOK_OF_REG Store(__ubuf__ T* dstAddr, U& srcReg, OPHOOK_AT) {
  ophook::rt::reg_store("Store", dstAddr, srcReg.bytes, srcReg.known, nullptr, U::kBytes, 1, at);
}
template <typename T = DefaultType, typename U, typename S>
  requires(details::AReg<U> && details::AReg<S>)
__simd_callee__ inline void GatherB(U& dstReg, __ubuf__ T* baseAddr, S& index, MaskReg& mask, OPHOOK_AT) {
  static_assert(std::is_same_v<typename S::ActualT, uint32_t>, "GatherB: the index is of uint32_t, in bytes");
  for (uint32_t block = 0; block < 8; ++block) {
    if (!mask.get(4 * block)) continue;
    const uint8_t* from = details::bytes_at(baseAddr) + details::get(index, block);
    ophook::rt::reg_load("GatherB", from, 32, 32, dstReg.bytes + 32 * block, dstReg.known + 32 * block, at);
  }
}

// Registers keep their order here, and so does memory: nothing is left to wait for.
template <MemType src, MemType dst>
__simd_callee__ inline void LocalMemBar() {}

}  // namespace AscendC::Reg

#undef OPHOOK_OF_REG
#undef OPHOOK_AT
