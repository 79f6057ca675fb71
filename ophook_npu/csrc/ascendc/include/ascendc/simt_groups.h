// Cooperative groups: threads of a block, of a part of it, or of those lanes of a warp that are active.
#pragma once

#include "simt_device.h"
#include "simt_half.h"

#define OPHOOK_AT ::ophook::rt::At at = ::ophook::rt::At::here()

namespace cooperative_groups {

template <unsigned int MaxBlockSize = 1024>
struct block_tile_memory {
  static_assert(MaxBlockSize > 0 && MaxBlockSize <= 2048 && MaxBlockSize % 32 == 0,
                "block_tile_memory: up to 2048 threads, a multiple of 32");
  unsigned long long words[MaxBlockSize / 32 + 8];
};

class thread_block {
 public:
  static dim3 dim_threads() { return blockDim; }
  static dim3 group_dim() { return blockDim; }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static unsigned int num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned int size() { return num_threads(); }
  static unsigned int thread_rank() {
    return threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z * blockDim.x * blockDim.y;
  }
  static void sync(OPHOOK_AT) { asc_syncthreads(at); }
  unsigned int room() const { return room_; }

 private:
  explicit thread_block(unsigned int room) : room_(room) {}
  friend thread_block this_thread_block();
  template <unsigned int MaxBlockSize>
  friend thread_block this_thread_block(block_tile_memory<MaxBlockSize>& scratch);
  unsigned int room_;  // threads for which there is memory for groups beyond a warp
};
inline thread_block this_thread_block() { return thread_block(0); }
template <unsigned int MaxBlockSize>
thread_block this_thread_block(block_tile_memory<MaxBlockSize>&) {
  return thread_block(MaxBlockSize);
}

namespace details {

// Lanes of the running thread's warp.
class Lanes {
 public:
  unsigned long long num_threads() const { return __builtin_popcount(mask_); }
  unsigned long long size() const { return num_threads(); }
  unsigned long long thread_rank() const { return rank(); }
  unsigned long long meta_group_rank() const { return group_; }
  unsigned long long meta_group_size() const { return groups_; }
  void sync(OPHOOK_AT) const { votes(1, at); }
  int all(int predicate, OPHOOK_AT) const { return votes(predicate, at) == low(int(num_threads())); }
  int any(int predicate, OPHOOK_AT) const { return votes(predicate, at) != 0; }
  unsigned int ballot(int predicate, OPHOOK_AT) const { return votes(predicate, at); }
  template <typename T>
  T shfl(T var, int src_rank, OPHOOK_AT) const {
    const int count = int(num_threads());
    return of(var, ((src_rank % count) + count) % count, "shfl", at);
  }
  template <typename T>
  T shfl_up(T var, unsigned int delta, OPHOOK_AT) const {
    return of(var, delta > unsigned(rank()) ? rank() : rank() - int(delta), "shfl_up", at);
  }
  template <typename T>
  T shfl_down(T var, unsigned int delta, OPHOOK_AT) const {
    const bool beyond = delta >= unsigned(num_threads()) - unsigned(rank());
    return of(var, beyond ? rank() : rank() + int(delta), "shfl_down", at);
  }
  uint32_t mask() const { return mask_; }

 protected:
  Lanes(uint32_t mask, unsigned long long group, unsigned long long groups)
      : mask_(mask), group_(group), groups_(groups) {}
  static uint32_t low(int count) { return count >= 32 ? ~0u : (1u << count) - 1; }
  int rank() const { return __builtin_popcount(mask_ & uint32_t(lanemask_lt())); }
  int lane_of(int rank) const {
    uint32_t left = mask_;
    while (rank-- > 0) left &= left - 1;
    return __builtin_ctz(left);
  }
  // Bits by rank of those whose predicate is not 0.
  uint32_t votes(int predicate, ophook::rt::At at) const {
    int32_t everybody[warpSize][4];
    ophook::rt::simt_gather("ballot", &predicate, sizeof predicate, everybody, mask_, at);
    uint32_t said = 0, bit = 1;
    for (uint32_t left = mask_; left; left &= left - 1, bit <<= 1)
      if (everybody[__builtin_ctz(left)][0]) said |= bit;
    return said;
  }
  template <typename T>
  T of(T var, int rank, const char* call, ophook::rt::At at) const {
    static_assert(
        ophook::simt::is_shuffled<T>,
        "a group exchanges half, int32_t, uint32_t, float, half2, int64_t, uint64_t, bfloat16_t, bfloat16x2_t");
    int32_t everybody[warpSize][4];
    ophook::rt::simt_gather(call, &var, sizeof var, everybody, mask_, at);
    T value;
    __builtin_memcpy(&value, everybody[lane_of(rank)], sizeof value);
    return value;
  }

 private:
  uint32_t mask_;
  unsigned long long group_, groups_;
};

}  // namespace details

class coalesced_group : public details::Lanes {
 public:
  coalesced_group(uint32_t mask, unsigned long long group, unsigned long long groups) : Lanes(mask, group, groups) {}
  static uint32_t first(uint32_t mask, int from, int count) {  // lanes of these ranks
    uint32_t taken = 0;
    for (int i = 0; mask && i < from + count; ++i, mask &= mask - 1)
      if (i >= from) taken |= mask & -mask;
    return taken;
  }
};
using thread_group = coalesced_group;
inline coalesced_group coalesced_threads(OPHOOK_AT) { return {asc_activemask(at), 0, 1}; }

template <unsigned int Size, typename ParentT = void, bool in_warp = (Size <= 32)>
class thread_block_tile;

// Within a warp.
template <unsigned int Size, typename ParentT>
class thread_block_tile<Size, ParentT, true> : public details::Lanes {
 public:
  thread_block_tile(uint32_t mask, unsigned long long group, unsigned long long groups) : Lanes(mask, group, groups) {}
  template <typename Other>
  thread_block_tile(const thread_block_tile<Size, Other, true>& other) : Lanes(other) {}
  template <typename T>
  T shfl_xor(T var, unsigned int lane_mask, OPHOOK_AT) const {
    if (lane_mask >= Size) ophook::rt::refuse("shfl_xor", "lane_mask has to be less than the group's threads", at);
    return of(var, int(unsigned(rank()) ^ lane_mask), "shfl_xor", at);
  }
};

// Of several warps.
template <unsigned int Size, typename ParentT>
class thread_block_tile<Size, ParentT, false> {
 public:
  thread_block_tile() = default;
  template <typename Other>
  thread_block_tile(const thread_block_tile<Size, Other, false>&) {}
  unsigned long long num_threads() const { return Size; }
  unsigned long long size() const { return Size; }
  unsigned long long thread_rank() const { return thread_block::thread_rank() % Size; }
  unsigned long long meta_group_rank() const { return thread_block::thread_rank() / Size; }
  unsigned long long meta_group_size() const { return thread_block::num_threads() / Size; }
  void sync(OPHOOK_AT) const { ophook::rt::simt_tile(first(), Size, at); }
  int all(int predicate, OPHOOK_AT) const { return count(predicate, at) == Size; }
  int any(int predicate, OPHOOK_AT) const { return count(predicate, at) != 0; }
  template <typename T>
  T shfl(T var, int src_rank, OPHOOK_AT) const {
    T value;
    ophook::rt::simt_bring(&var, sizeof var);
    ophook::rt::simt_tile(first(), Size, at);
    ophook::rt::simt_brought(first() + unsigned(src_rank) % Size, &value, sizeof value);
    ophook::rt::simt_tile(first(), Size, at);
    return value;
  }

 private:
  unsigned int first() const { return thread_block::thread_rank() / Size * Size; }
  unsigned int count(int predicate, ophook::rt::At at) const {
    ophook::rt::simt_bring(&predicate, sizeof predicate);
    ophook::rt::simt_tile(first(), Size, at);
    unsigned int said = 0;
    for (unsigned int i = 0; i < Size; ++i) {
      int one;
      ophook::rt::simt_brought(first() + i, &one, sizeof one);
      said += one != 0;
    }
    ophook::rt::simt_tile(first(), Size, at);
    return said;
  }
};

namespace details {
inline void divides(unsigned int size, unsigned int parent, ophook::rt::At at) {
  if (!size || parent % size)
    ophook::rt::refuse("tiled_partition", "the parent's threads are no multiple of the size", at);
}
// Lanes [rank / size * size, … + size) of the warp.
inline uint32_t part_of_warp(unsigned int size) {
  const uint32_t begin = uint32_t(laneid()) / size * size;
  return (size >= 32 ? ~0u : (1u << size) - 1) << begin;
}
}  // namespace details

template <unsigned int Size>
thread_block_tile<Size, thread_block> tiled_partition(const thread_block& g, OPHOOK_AT) {
  static_assert(Size && Size <= 2048 && (Size & (Size - 1)) == 0, "tiled_partition: a power of two up to 2048");
  details::divides(Size, g.num_threads(), at);
  if constexpr (Size <= 32) {
    return {details::part_of_warp(Size), g.thread_rank() / Size, g.num_threads() / Size};
  } else {
    if (g.room() < g.num_threads())
      ophook::rt::refuse("tiled_partition",
                         "a group of several warps needs this_thread_block(scratch), with room for all threads", at);
    return {};
  }
}
template <unsigned int Size, unsigned int Of, typename ParentT>
thread_block_tile<Size, thread_block_tile<Of, ParentT>> tiled_partition(const thread_block_tile<Of, ParentT>& g) {
  static_assert(Size && Size < Of && (Size & (Size - 1)) == 0,
                "tiled_partition: a power of two below the parent's size");
  if constexpr (Size <= 32) return {details::part_of_warp(Size), g.thread_rank() / Size, Of / Size};
  else return {};
}
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned int tilesz, OPHOOK_AT) {
  if (!tilesz || tilesz > 32) ophook::rt::refuse("tiled_partition", "the size is 1 to 32 here", at);
  const auto tile = unsigned(parent.thread_rank()) / tilesz;
  return {coalesced_group::first(parent.mask(), int(tile * tilesz), int(tilesz)), tile,
          (parent.num_threads() + tilesz - 1) / tilesz};
}
inline thread_group tiled_partition(const thread_block& parent, unsigned int tilesz, OPHOOK_AT) {
  if (!tilesz || tilesz > 32 || (tilesz & (tilesz - 1)))
    ophook::rt::refuse("tiled_partition", "the size is a power of two up to 32 here", at);
  details::divides(tilesz, parent.num_threads(), at);
  return {details::part_of_warp(tilesz), parent.thread_rank() / tilesz, parent.num_threads() / tilesz};
}

namespace details {
inline coalesced_group parted(const Lanes& g, uint32_t said, bool pred) {
  uint32_t mine = 0, bit = 1;
  for (uint32_t left = g.mask(); left; left &= left - 1, bit <<= 1)
    if (bool(said & bit) == pred) mine |= left & -left;
  return {mine, pred, 2};
}
}  // namespace details
inline coalesced_group binary_partition(const coalesced_group& g, bool pred, OPHOOK_AT) {
  return details::parted(g, g.ballot(pred, at), pred);
}
template <unsigned int Size, typename ParentT>
coalesced_group binary_partition(const thread_block_tile<Size, ParentT>& g, bool pred, OPHOOK_AT) {
  static_assert(Size <= 32, "binary_partition: of a group of up to 32 threads");
  return details::parted(g, g.ballot(pred, at), pred);
}

}  // namespace cooperative_groups

#undef OPHOOK_AT
