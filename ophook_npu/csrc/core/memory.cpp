// Device memory is host memory with a ledger: every block is known by address, device and size, so that a wrong pointer
// is found where it is used and aclrtGetMemInfo tells the truth.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>

#include "device.h"
#include "ledger.h"
#include "state.h"

namespace {

struct Block {
  size_t size;
  int device;   // -1: pinned host memory
  bool mapped;  // part of a reserved range: released by sim_unmap, not by sim_free
};

struct Physical {
  int file;
  size_t size;
  int device;
};

std::shared_mutex mutex;
std::map<uintptr_t, Block> blocks;  // by start address
std::map<uintptr_t, size_t> reservations;
std::unordered_set<void*> handles;  // of Physical

constexpr size_t kAlignment = 512;  // what aclrtMalloc promises

size_t page_size() {
  static const size_t size = size_t(sysconf(_SC_PAGE_SIZE));
  return size;
}

size_t round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

// The block that holds the address, or end(). Call with the mutex held.
std::map<uintptr_t, Block>::iterator block_at(const void* pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin()) return blocks.end();
  --next;
  return address < next->first + next->second.size ? next : blocks.end();
}

// Bytes in use on the device. Written with the mutex held exclusively; other processes read it (npu-smi).
std::atomic<uint64_t>& used(int device) { return sim::ledger().used[device]; }

void give_back(int device, size_t size) { used(device).fetch_sub(size, std::memory_order_relaxed); }

// Where the memory that begins with the block ends: handles of one device that are mapped next to each other in one
// reserved range are one piece of memory. Call with the mutex held.
uintptr_t end_of(std::map<uintptr_t, Block>::iterator block) {
  const int device = block->second.device;
  uintptr_t end = block->first + block->second.size;
  if (!block->second.mapped) return end;
  const auto range = std::prev(reservations.upper_bound(block->first));
  const uintptr_t limit = range->first + range->second;
  while (++block != blocks.end() && block->first == end && end < limit && block->second.device == device)
    end += block->second.size;
  return end;
}

// Books `size` bytes on the device or refuses. Call with the mutex held exclusively.
int book(const char* caller, int device, size_t size) {
  uint64_t capacity = sim::device_capacity();
  uint64_t free = capacity - used(device).load(std::memory_order_relaxed);
  if (size > free)
    return sim_fail(sim::kOutOfMemory, "%s: %zu bytes asked for, %llu of %llu free on device %d", caller, size,
                    (unsigned long long)free, (unsigned long long)capacity, device);
  used(device).fetch_add(size, std::memory_order_relaxed);
  return sim::kOk;
}

}  // namespace

uint64_t sim::memory_in_use() {
  std::shared_lock lock(mutex);
  uint64_t sum = 0;
  for (auto& bytes : ledger().used) sum += bytes.load(std::memory_order_relaxed);
  return sum;
}

int sim_malloc(size_t size, void** out) {
  int device = 0;
  if (int code = sim::require_device("aclrtMalloc", &device)) return code;
  if (!out || size == 0) return sim_fail(sim::kInvalidParam, "aclrtMalloc: size 0 or no place for the result");
  size_t whole = size > SIZE_MAX - kAlignment ? size : round_up(size, kAlignment);
  std::unique_lock lock(mutex);
  if (int code = book("aclrtMalloc", device, whole)) return code;
  // Anonymous pages are committed on first use: a card's 32 GiB do not have to exist on a laptop.
  void* pointer =
      mmap(nullptr, round_up(whole, page_size()), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pointer == MAP_FAILED) {
    give_back(device, whole);
    return sim_fail(sim::kOutOfMemory, "aclrtMalloc: the host has no %zu bytes for device %d", whole, device);
  }
  blocks[reinterpret_cast<uintptr_t>(pointer)] = {whole, device, false};
  *out = pointer;
  return sim::kOk;
}

static int release(const char* caller, void* pointer, bool host) {
  if (!pointer) return sim_fail(sim::kInvalidParam, "%s: null pointer", caller);
  std::unique_lock lock(mutex);
  auto block = blocks.find(reinterpret_cast<uintptr_t>(pointer));
  if (block == blocks.end() || (block->second.device < 0) != host || block->second.mapped)
    return sim_fail(sim::kInvalidParam, "%s: %p was not allocated by the matching call, or was freed before", caller,
                    pointer);
  if (!host) give_back(block->second.device, block->second.size);
  munmap(pointer, round_up(block->second.size, page_size()));
  blocks.erase(block);
  return sim::kOk;
}

int sim_free(void* pointer) { return release("aclrtFree", pointer, false); }
int sim_free_host(void* pointer) { return release("aclrtFreeHost", pointer, true); }

int sim_malloc_host(size_t size, void** out) {
  if (!out || size == 0) return sim_fail(sim::kInvalidParam, "aclrtMallocHost: size 0 or no place for the result");
  void* pointer =
      mmap(nullptr, round_up(size, page_size()), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pointer == MAP_FAILED) return sim_fail(sim::kOutOfMemory, "aclrtMallocHost: the host has no %zu bytes", size);
  std::unique_lock lock(mutex);
  blocks[reinterpret_cast<uintptr_t>(pointer)] = {size, -1, false};
  *out = pointer;
  return sim::kOk;
}

int sim_memory_info(size_t* free_bytes, size_t* total) {
  int device = 0;
  if (int code = sim::require_device("aclrtGetMemInfo", &device)) return code;
  std::shared_lock lock(mutex);
  *total = sim::device_capacity();
  *free_bytes = *total - used(device).load(std::memory_order_relaxed);
  return sim::kOk;
}

int sim_memory_device(const void* pointer, size_t* bytes_left) {
  std::shared_lock lock(mutex);
  auto block = block_at(pointer);
  if (block == blocks.end() || block->second.device < 0) return -1;
  if (bytes_left) *bytes_left = end_of(block) - reinterpret_cast<uintptr_t>(pointer);
  return block->second.device;
}

int sim_is_pinned(const void* pointer) {
  std::shared_lock lock(mutex);
  auto block = block_at(pointer);
  return block != blocks.end() && block->second.device < 0;
}

int sim_reserve_address(size_t size, void** out) {
  size = round_up(size, page_size());
  void* pointer = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pointer == MAP_FAILED)
    return sim_fail(sim::kOutOfMemory, "aclrtReserveMemAddress: no %zu bytes of addresses", size);
  std::unique_lock lock(mutex);
  reservations[reinterpret_cast<uintptr_t>(pointer)] = size;
  *out = pointer;
  return sim::kOk;
}

int sim_release_address(void* pointer) {
  std::unique_lock lock(mutex);
  auto range = reservations.find(reinterpret_cast<uintptr_t>(pointer));
  if (range == reservations.end())
    return sim_fail(sim::kInvalidParam, "aclrtReleaseMemAddress: %p was not reserved", pointer);
  auto inside = blocks.lower_bound(range->first);
  if (inside != blocks.end() && inside->first < range->first + range->second)
    return sim_fail(sim::kInvalidParam, "aclrtReleaseMemAddress: memory is still mapped in the range at %p", pointer);
  munmap(pointer, range->second);
  reservations.erase(range);
  return sim::kOk;
}

int sim_malloc_physical(size_t size, int device, void** handle) {
  if (device < 0 || device >= sim_device_count())
    return sim_fail(sim::kInvalidDevice, "aclrtMallocPhysical: no device %d", device);
  std::unique_lock lock(mutex);
  if (int code = book("aclrtMallocPhysical", device, size)) return code;
  int file = memfd_create("ophook-device-memory", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(size)) != 0) {
    if (file >= 0) close(file);
    give_back(device, size);
    return sim_fail(sim::kOutOfMemory, "aclrtMallocPhysical: the host has no %zu bytes", size);
  }
  *handle = new Physical{file, size, device};
  handles.insert(*handle);
  return sim::kOk;
}

int sim_free_physical(void* handle) {
  std::unique_lock lock(mutex);
  if (!handles.erase(handle))
    return sim_fail(sim::kInvalidParam, "aclrtFreePhysical: %p is not a handle of memory, or was freed before", handle);
  auto physical = static_cast<Physical*>(handle);
  give_back(physical->device, physical->size);
  close(physical->file);
  delete physical;
  return sim::kOk;
}

int sim_map(void* pointer, size_t size, size_t offset, void* handle) {
  auto physical = static_cast<Physical*>(handle);
  auto address = reinterpret_cast<uintptr_t>(pointer);
  std::unique_lock lock(mutex);
  auto range = reservations.upper_bound(address);
  bool reserved = size != 0 && range != reservations.begin() &&
                  (--range, address - range->first < range->second && size <= range->second - (address - range->first));
  if (!reserved || !handles.count(handle) || size > physical->size || offset > physical->size - size)
    return sim_fail(sim::kInvalidParam, "aclrtMapMem: %p (%zu bytes) is not reserved, or the handle is too small",
                    pointer, size);
  auto next = blocks.lower_bound(address);
  if (block_at(pointer) != blocks.end() || (next != blocks.end() && next->first - address < size))
    return sim_fail(sim::kInvalidParam, "aclrtMapMem: memory is already mapped in the %zu bytes at %p", size, pointer);
  if (mmap(pointer, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->file, off_t(offset)) == MAP_FAILED)
    return sim_fail(sim::kOutOfMemory, "aclrtMapMem: mapping %zu bytes failed", size);
  blocks[address] = {size, physical->device, true};
  return sim::kOk;
}

int sim_unmap(void* pointer) {
  std::unique_lock lock(mutex);
  auto block = blocks.find(reinterpret_cast<uintptr_t>(pointer));
  if (block == blocks.end() || !block->second.mapped)
    return sim_fail(sim::kInvalidParam, "aclrtUnmapMem: nothing is mapped at %p", pointer);
  mmap(pointer, block->second.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  blocks.erase(block);
  return sim::kOk;
}
