// Device memory is host memory with a ledger: every block is known by address, device and size, so that a wrong pointer
// is found where it is used and aclrtGetMemInfo tells the truth. A block belongs to the program as far as CANN's
// documentation says that it was allocated. A device lets pass what goes on to the end of its page, and so is it here,
// with a warning; in strict mode a block may be used as far as was asked for. Blocks that were freed are remembered by
// name until their addresses are used again, or there are too many of them.
#include "memory.h"
#include "order.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>
#include <utility>

#include "device.h"
#include "fault.h"
#include "ledger.h"
#include "pages_api.h"
#include "runtime.h"
#include "state.h"
#include "visible.h"

namespace {

struct Physical {
  int file;
  size_t size;
  int device;
  int maps;               // how often it is mapped now
  bool imported = false;  // another process has booked it
};

struct Block {
  size_t size;   // as asked for
  size_t reach;  // as far as it is the program's
  size_t pages;  // as far as a device lets pass
  int device;    // -1: pinned host memory
  bool mapped;   // part of a reserved range: released by sim_unmap, not by sim_free
  uint64_t id;
  const char* call;          // what made it
  const char* library;       // where that was called from; null: not known
  Physical* physical;        // what is mapped there
  bool one_address = false;  // on host and device, once it is registered
  int file = -1;             // of which the pages are, where other processes map them; of what is mapped the handle's
  size_t file_begin = 0;     // of what is mapped, in the handle
};

std::shared_mutex mutex;
std::map<uintptr_t, Block> blocks;  // by start address
std::map<uintptr_t, size_t> reservations;
std::unordered_set<void*> handles;  // of Physical
std::map<uintptr_t, Block> freed;   // by start address; no two overlap, and none overlaps a block
uint64_t next_id = 1;

constexpr size_t kRemembered = 16384;  // freed blocks; of more, those at the lowest addresses are forgotten
constexpr int kFresh = 0xff;           // each byte of fresh memory in strict mode: floats are NaN, integers -1

constexpr size_t kAlignment = 512;  // what aclrtMalloc promises

size_t page_size() {
  static const size_t size = size_t(sysconf(_SC_PAGE_SIZE));
  return size;
}

size_t round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

// The block that holds the address, or end(). Call with the mutex held.
std::map<uintptr_t, Block>::iterator block_at(std::map<uintptr_t, Block>& in, const void* pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  auto next = in.upper_bound(address);
  if (next == in.begin()) return in.end();
  --next;
  return address < next->first + next->second.pages ? next : in.end();
}
std::map<uintptr_t, Block>::iterator block_at(const void* pointer) { return block_at(blocks, pointer); }

// What a device block takes of its device.
size_t booked(const Block& block) { return block.mapped ? 0 : round_up(block.size, kAlignment); }
// What it takes of the host.
size_t on_host(const Block& block) { return round_up(block.pages, page_size()); }

// Call the next three with the mutex held exclusively.
void add(void* pointer, Block block, const char* call, const void* caller) {
  const auto begin = reinterpret_cast<uintptr_t>(pointer);
  Dl_info info;
  block.id = next_id++;
  block.call = call;
  block.library = caller && dladdr(caller, &info) ? info.dli_fname : nullptr;
  auto old = freed.lower_bound(begin);
  if (old != freed.begin() && std::prev(old)->first + std::prev(old)->second.pages > begin) --old;
  while (old != freed.end() && old->first < begin + block.pages) old = freed.erase(old);
  blocks[begin] = block;
}

void remember(std::map<uintptr_t, Block>::iterator block) {
  if (block->second.file >= 0) close(std::exchange(block->second.file, -1));
  if (freed.size() >= kRemembered) freed.erase(freed.begin());
  freed.insert(*block);
  blocks.erase(block);
}

void fill_if_strict(void* pointer, size_t size) {
  if (!sim::strict_memory()) return;
  memset(pointer, kFresh, size);
  if (!sim::memory_is_open()) mprotect(pointer, round_up(size, page_size()), PROT_NONE);
}

// Bytes in use on the device. Written with the mutex held exclusively; other processes read it (npu-smi).
std::atomic<uint64_t>& used(int device) { return sim::ledger().used[sim_physical_device(device)]; }

void give_back(int device, size_t size) { used(device).fetch_sub(size, std::memory_order_relaxed); }

// Where the memory that begins with the block ends: handles of one device that are mapped next to each other in one
// reserved range are one piece of memory. Call with the mutex held.
uintptr_t end_of(std::map<uintptr_t, Block>::iterator block) {
  const int device = block->second.device;
  uintptr_t end = block->first + block->second.reach;
  if (!block->second.mapped) return end;
  const auto range = std::prev(reservations.upper_bound(block->first));
  const uintptr_t limit = range->first + range->second;
  while (++block != blocks.end() && block->first == end && end < limit && block->second.device == device)
    end += block->second.reach;
  return end;
}

// Books `size` bytes on the device or refuses. Call with the mutex held exclusively.
int book(const char* caller, int device, size_t size) {
  if (sim::fault::on())
    if (int code = sim_fault_here("malloc", "malloc")) return code;
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

int sim_malloc_pages(const char* call, const void* caller, size_t size, size_t reach, size_t pages, void** out) {
  int device = 0;
  if (int code = sim::require_device(call, &device)) return code;
  if (!out || size == 0) return sim_fail(sim::kInvalidParam, "%s: size 0 or no place for the result", call);
  size_t whole = size > SIZE_MAX - kAlignment ? size : round_up(size, kAlignment);
  if (sim::strict_memory() || reach < size) reach = pages = size;
  if (pages < reach) pages = reach;
  sim::tell_leaks_at_exit();
  std::unique_lock lock(mutex);
  if (int code = book(call, device, whole)) return code;
  // Anonymous pages are committed on first use: a card's 32 GiB do not have to exist on a laptop.
  void* pointer =
      mmap(nullptr, round_up(pages, page_size()), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pointer == MAP_FAILED) {
    give_back(device, whole);
    return sim_fail(sim::kOutOfMemory, "%s: the host has no %zu bytes for device %d", call, whole, device);
  }
  add(pointer, {size, reach, pages, device, false, 0, nullptr, nullptr, nullptr}, call, caller);
  fill_if_strict(pointer, size);
  *out = pointer;
  return sim::kOk;
}

int sim_malloc_by(const char* call, const void* caller, size_t size, size_t reach, void** out) {
  return sim_malloc_pages(call, caller, size, reach, reach, out);
}

int sim_malloc(size_t size, void** out) { return sim_malloc_by("aclrtMalloc", nullptr, size, size, out); }

static int release(const char* caller, void* pointer, bool host) {
  if (!pointer) return sim_fail(sim::kInvalidParam, "%s: null pointer", caller);
  std::unique_lock lock(mutex);
  auto block = blocks.find(reinterpret_cast<uintptr_t>(pointer));
  if (block == blocks.end() || (block->second.device < 0) != host || block->second.mapped) {
    lock.unlock();
    char text[400];
    sim::describe_memory(pointer, 0, text, sizeof text, false);
    return sim_fail(sim::kInvalidParam, "%s: %p was not allocated by the matching call, or was freed before%s%s",
                    caller, pointer, *text ? ": " : "", text);
  }
  if (!host) give_back(block->second.device, booked(block->second));
  const size_t size = on_host(block->second);
  remember(block);
  // A task that still uses it finds what fresh memory holds; where there is none nobody can read it any more. Somebody
  // may be about to open it, but not this block, which is in no list now.
  if (sim::strict_memory() && !host) {
    const bool open = sim::memory_is_open();
    mprotect(pointer, size, open ? PROT_READ | PROT_WRITE : PROT_NONE);
    if (open) memset(pointer, kFresh, size);
  }
  sim::retire(reinterpret_cast<uintptr_t>(pointer), size, sim::Bare::unmapped);
  return sim::kOk;
}

int sim_free(void* pointer) {
  if (sim::order::on()) sim::order::freed("aclrtFree", pointer);
  return release("aclrtFree", pointer, false);
}
int sim_free_host(void* pointer) {
  if (sim::order::on()) {
    size_t size = 0;
    {
      std::shared_lock lock(mutex);
      const auto block = blocks.find(reinterpret_cast<uintptr_t>(pointer));
      if (block != blocks.end() && block->second.device < 0) size = on_host(block->second);
    }
    if (size) sim::order::freed_host("aclrtFreeHost", pointer, size);
  }
  return release("aclrtFreeHost", pointer, true);
}

int sim_malloc_host_by(const char* call, const void* caller, size_t size, int one_address, void** out) {
  if (!out || size == 0) return sim_fail(sim::kInvalidParam, "%s: size 0 or no place for the result", call);
  // Shared, so that it can have a second address when it is registered.
  void* pointer = mmap(nullptr, round_up(size, page_size()), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (pointer == MAP_FAILED) return sim_fail(sim::kOutOfMemory, "%s: the host has no %zu bytes", call, size);
  std::unique_lock lock(mutex);
  add(pointer, {size, size, size, -1, false, 0, nullptr, nullptr, nullptr, one_address != 0}, call, caller);
  *out = pointer;
  return sim::kOk;
}

int sim_malloc_host(size_t size, void** out) { return sim_malloc_host_by("aclrtMallocHost", nullptr, size, 0, out); }

int sim_memory_info(size_t* free_bytes, size_t* total) {
  int device = 0;
  if (int code = sim::require_device("aclrtGetMemInfo", &device)) return code;
  std::shared_lock lock(mutex);
  *total = sim::device_capacity();
  *free_bytes = *total - used(device).load(std::memory_order_relaxed);
  return sim::kOk;
}

int sim_memory_device(const void* pointer, size_t* bytes_left) {
  void* begin;
  size_t bytes;
  const int device = sim_memory_block(pointer, &begin, &bytes);
  if (device >= 0 && bytes_left) {
    const auto into = size_t(static_cast<const char*>(pointer) - static_cast<char*>(begin));
    *bytes_left = into < bytes ? bytes - into : 0;
  }
  return device;
}

int sim_memory_block(const void* pointer, void** begin, size_t* bytes) {
  std::shared_lock lock(mutex);
  auto block = block_at(pointer);
  if (block == blocks.end() || block->second.device < 0) return -1;
  *begin = reinterpret_cast<void*>(block->first);
  *bytes = end_of(block) - block->first;
  return block->second.device;
}

int sim_is_pinned(const void* pointer) {
  std::shared_lock lock(mutex);
  auto block = block_at(pointer);
  return block != blocks.end() ? block->second.device < 0 : sim::registered_as_pinned(pointer);
}

bool sim::host_memory_has_one_address(const void* pointer) {
  std::shared_lock lock(mutex);
  auto block = block_at(pointer);
  return block != blocks.end() && block->second.one_address;
}

// Where the host has mapped memory of its own since, at the addresses of a block that was freed.
static bool taken_by_the_host(const void* pointer) {
  std::shared_lock lock(mutex);
  if (block_at(blocks, pointer) != blocks.end() || block_at(freed, pointer) == freed.end()) return false;
  unsigned char resident;
  return mincore(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(pointer) / page_size() * page_size()), 1,
                 &resident) == 0;
}

int sim_memory_known(const void* pointer) {
  if (taken_by_the_host(pointer)) return 0;
  char text[8];
  sim::describe_memory(pointer, 0, text, sizeof text, false);
  return *text != 0;
}

int sim_copy_takes(const void* pointer, size_t size, int as_device) {
  if (sim_memory_device(pointer, nullptr) >= 0) return as_device && sim_memory_reach(pointer, size);
  return sim::copies_take(pointer, size, as_device != 0);
}

namespace {

// Appends to a text that has room for so much; takes no memory.
struct Text {
  char* to;
  size_t room, length = 0;
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    if (length + 1 >= room) return;
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(to + length, room - length, format, arguments);
    va_end(arguments);
    if (more > 0) length += size_t(more);
  }
  void add_block(const Block& block, uintptr_t begin) {
    const char* name = block.library ? strrchr(block.library, '/') : nullptr;
    add("allocation %llu, %zu bytes ", (unsigned long long)block.id, block.size);
    if (block.pages != block.size)
      add("(%zu with those that CANN adds, %zu with its pages) ", block.reach, block.pages);
    add("at 0x%llx ", (unsigned long long)begin);
    if (block.device < 0) add("on the host");
    else add("on device %d", block.device);
    add(", made by %s", block.call);
    if (block.library) add(" for %s", name ? name + 1 : block.library);
  }
};

// Once for each allocation: what a program uses of its pages that is not its own. Call with the mutex held.
void warn_of_excess(const std::pair<const uintptr_t, Block>& used, size_t excess) {
  constexpr size_t kMost = 100;  // warnings of a process
  static std::mutex own;
  static std::unordered_set<uint64_t> warned;
  std::lock_guard lock(own);
  if (warned.size() >= kMost || !warned.insert(used.second.id).second) return;
  char block[400];
  Text text{block, sizeof block};
  text.add_block(used.second, used.first);
  sim_warn(
      "%zu bytes beyond the end of %s are used: they lie in its last page, where a device lets it pass, and belong "
      "to nobody; `--strict-memory` refuses it%s",
      excess, block, warned.size() == kMost ? "; the last warning of this" : "");
}

}  // namespace

int sim_memory_reach(const void* pointer, size_t size) {
  // Nearly always a block that this thread saw lately: torch_npu gives out parts of few large ones.
  struct Seen {
    uint64_t epoch = 0;
    uintptr_t begin = 0, end = 0;
  };
  struct Lately {
    Seen blocks[4];
    unsigned next = 0;
  };
  [[gnu::tls_model("initial-exec")]] static thread_local constinit Lately lately;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const uint64_t epoch = sim::memory_epoch.load();
  for (const Seen& seen : lately.blocks)
    if (address - seen.begin < seen.end - seen.begin && size <= seen.end - address && seen.epoch == epoch) return 1;
  std::shared_lock lock(mutex);
  auto block = block_at(pointer);
  if (block == blocks.end() || block->second.device < 0) return sim::registered_memory_reaches(pointer, size);
  const uintptr_t end = end_of(block), last = block->first + block->second.pages;
  if (address > end || size > end - address) {
    if (address > last || size > last - address) return 0;
    return warn_of_excess(*block, address + size - end), 1;
  }
  lately.blocks[lately.next++ % 4] = {sim::memory_epoch.load(), block->first, end};
  return 1;
}

void sim::describe_memory(const void* pointer, size_t size, char* to, size_t room, bool busy_ok) {
  Text text{to, room};
  *to = 0;
  std::shared_lock lock(mutex, std::defer_lock);
  if (!busy_ok) lock.lock();
  else if (!lock.try_lock()) return text.add("%p may be device memory", pointer);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (describe_registered_memory(pointer, to, room)) return;
  if (auto block = block_at(pointer); block != blocks.end()) {
    const uintptr_t end = std::max(end_of(block), block->first + block->second.pages);
    text.add("%p lies %llu bytes into ", pointer, (unsigned long long)(address - block->first));
    text.add_block(block->second, block->first);
    if (size > end - address)
      text.add("; %zu bytes from there leave it after %llu", size, (unsigned long long)(end - address));
    return;
  }
  if (auto old = block_at(freed, pointer); old != freed.end()) {
    text.add("%p lies %llu bytes into ", pointer, (unsigned long long)(address - old->first));
    text.add_block(old->second, old->first);
    return text.add(", which was freed");
  }
  if (auto range = reservations.upper_bound(address);
      range != reservations.begin() && (--range, address - range->first < range->second))
    return text.add("%p lies in the %zu bytes reserved at 0x%llx, where nothing is mapped", pointer, range->second,
                    (unsigned long long)range->first);
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin()) return;
  --next;
  if (const uintptr_t end = next->first + next->second.pages; address - end < page_size()) {
    text.add("%p lies %llu bytes beyond the end of ", pointer, (unsigned long long)(address - end));
    text.add_block(next->second, next->first);
  }
}

// Texts of a thread lie on the heap: `lately` makes all variables of threads that this library has a part of what the
// loader reserves for libraries that come late, 512 bytes in all, and others need their part (OpenMP's libraries do).
const char* sim_memory_text(const void* pointer, size_t size) {
  constexpr size_t room = 480;
  static thread_local const auto text = std::make_unique<char[]>(room);
  if (!pointer) snprintf(text.get(), room, "null, where %zu bytes of device memory are needed", size);
  else sim::describe_memory(pointer, size, text.get(), room, false);
  if (!text[0]) snprintf(text.get(), room, "%p is memory of the host, or none", pointer);
  return text.get();
}

const char* sim_memory_problem(const char* what, const void* pointer, size_t size) {
  if (!size || sim_memory_reach(pointer, size)) return nullptr;
  constexpr size_t room = 640;
  static thread_local const auto problem = std::make_unique<char[]>(room);
  snprintf(problem.get(), room, "%s (%zu bytes) is not in device memory as a whole: %s", what, size,
           sim_memory_text(pointer, size));
  return problem.get();
}

void sim::for_each_on_device(const std::function<void(const OnDevice&)>& visit) {
  std::shared_lock lock(mutex);
  for (const auto& [begin, block] : blocks)
    if (block.device >= 0)
      visit({begin, on_host(block), block.size, block.device, block.mapped, block.call, block.library});
}

// Makes the pages of a block a file's, with what they hold. Call with the mutex held exclusively.
static bool give_file(uintptr_t begin, Block& block) {
  const size_t size = on_host(block), page = page_size();
  const int file = memfd_create("ophook-device-memory", MFD_CLOEXEC);
  void* all = MAP_FAILED;
  if (file >= 0 && ftruncate(file, off_t(size)) == 0)
    all = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (all != MAP_FAILED) {
    // Pages of zeros stay without memory of the host.
    const std::unique_ptr<char[]> zeros(new char[page]());
    for (size_t at = 0; at < size; at += page)
      if (memcmp(reinterpret_cast<void*>(begin + at), zeros.get(), page))
        memcpy(static_cast<char*>(all) + at, reinterpret_cast<void*>(begin + at), page);
    munmap(all, size);
    all = mmap(reinterpret_cast<void*>(begin), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  }
  if (all != MAP_FAILED) block.file = file;
  else if (file >= 0) close(file);
  return all != MAP_FAILED;
}

int sim_share_memory(const char* call, void* pointer, size_t size, int* file, size_t* offset) {
  const sim::MemoryUse use;
  std::unique_lock lock(mutex);
  const auto found = block_at(pointer);
  if (found == blocks.end() || found->second.device < 0)
    return sim_fail(sim::kInvalidParam, "%s: %p is not device memory", call, pointer);
  auto& [begin, block] = *found;
  const size_t into = reinterpret_cast<uintptr_t>(pointer) - begin;
  if (into > block.reach || size > block.reach - into)
    return sim_fail(sim::kInvalidParam, "%s: %zu bytes at %p leave %s (allocation %llu) after %zu", call, size, pointer,
                    block.mapped ? "the handle that is mapped there" : "the allocation", (unsigned long long)block.id,
                    into > block.reach ? 0 : block.reach - into);
  if (!block.physical && block.file < 0 && !give_file(begin, block))
    return sim_fail(sim::kOutOfMemory, "%s: the host has no %zu bytes that processes share", call, block.reach);
  *file = fcntl(block.physical ? block.physical->file : block.file, F_DUPFD_CLOEXEC, 0);
  *offset = block.file_begin + into;
  return *file >= 0 ? sim::kOk : sim_fail(sim::kOutOfMemory, "%s: the process has too many files open", call);
}

int sim_reserve_address(size_t size, void** out) {
  size = round_up(size, page_size());
  void* pointer = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pointer == MAP_FAILED) return sim_fail(sim::kOutOfMemory, "aclrtReserveMemAddress: no %zu bytes free", size);
  std::unique_lock lock(mutex);
  reservations[reinterpret_cast<uintptr_t>(pointer)] = size;
  return *out = pointer, sim::kOk;
}

int sim_is_reserved(const void* pointer) {
  std::unique_lock lock(mutex);
  const auto at = reinterpret_cast<uintptr_t>(pointer);
  auto range = reservations.upper_bound(at);
  return range != reservations.begin() && (--range, at - range->first < range->second);
}

int sim_release_address(void* pointer) {
  std::unique_lock lock(mutex);
  auto range = reservations.find(reinterpret_cast<uintptr_t>(pointer));
  if (range == reservations.end())
    return sim_fail(sim::kInvalidParam, "aclrtReleaseMemAddress: %p was not reserved", pointer);
  auto inside = blocks.lower_bound(range->first);
  if (inside != blocks.end() && inside->first < range->first + range->second)
    return sim_fail(sim::kInvalidParam, "aclrtReleaseMemAddress: memory is still mapped in the range at %p", pointer);
  const size_t size = range->second;
  reservations.erase(range);
  sim::retire(reinterpret_cast<uintptr_t>(pointer), size, sim::Bare::unmapped);
  return sim::kOk;
}

int sim_malloc_physical(size_t size, int device, void** handle) {
  if (int code = sim_check_device("aclrtMallocPhysical", device)) return code;
  std::unique_lock lock(mutex);
  if (int code = book("aclrtMallocPhysical", device, size)) return code;
  int file = memfd_create("ophook-device-memory", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(size)) != 0) {
    if (file >= 0) close(file);
    give_back(device, size);
    return sim_fail(sim::kOutOfMemory, "aclrtMallocPhysical: the host has no %zu bytes", size);
  }
  if (sim::strict_memory()) {
    void* all = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (all != MAP_FAILED) memset(all, kFresh, size), munmap(all, size);
  }
  *handle = new Physical{file, size, device, 0};
  handles.insert(*handle);
  return sim::kOk;
}

int sim_free_physical(void* handle) {
  std::unique_lock lock(mutex);
  if (!handles.count(handle))
    return sim_fail(sim::kInvalidParam, "aclrtFreePhysical: %p is not a handle of memory, or was freed before", handle);
  auto physical = static_cast<Physical*>(handle);
  if (physical->maps)
    return sim_fail(sim::kInvalidParam, "aclrtFreePhysical: the memory of handle %p is still mapped; unmap it first",
                    handle);
  handles.erase(handle);
  if (!physical->imported) give_back(physical->device, physical->size);
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
  ++physical->maps;
  sim::mapped_again(address, size);
  add(pointer, {size, size, size, physical->device, true, 0, nullptr, nullptr, physical}, "aclrtMapMem", nullptr);
  blocks[address].file_begin = offset;
  if (sim::strict_memory() && !sim::memory_is_open()) mprotect(pointer, size, PROT_NONE);
  return sim::kOk;
}

int sim_unmap(void* pointer) {
  std::unique_lock lock(mutex);
  auto block = blocks.find(reinterpret_cast<uintptr_t>(pointer));
  if (block == blocks.end() || !block->second.mapped)
    return sim_fail(sim::kInvalidParam, "aclrtUnmapMem: nothing is mapped at %p", pointer);
  const size_t size = block->second.size;
  --std::exchange(block->second.physical, nullptr)->maps;
  remember(block);
  if (sim::strict_memory() && !sim::memory_is_open()) mprotect(pointer, size, PROT_NONE);
  sim::retire(reinterpret_cast<uintptr_t>(pointer), size, sim::Bare::reserved);
  return sim::kOk;
}

int sim_share_physical(const char* call, void* handle, int* file, size_t* size, int* device) {
  std::unique_lock lock(mutex);
  if (!handles.count(handle)) return sim_fail(sim::kInvalidParam, "%s: %p is not a handle of memory", call, handle);
  const auto* physical = static_cast<Physical*>(handle);
  *size = physical->size, *device = physical->device;
  *file = fcntl(physical->file, F_DUPFD_CLOEXEC, 0);
  return *file >= 0 ? sim::kOk : sim_fail(sim::kOutOfMemory, "%s: the process has too many files open", call);
}

int sim_import_physical(const char* call, int file, size_t size, int device, void** handle) {
  if (int code = sim_check_device(call, device)) return code;
  std::unique_lock lock(mutex);
  *handle = new Physical{file, size, device, 0, true};
  handles.insert(*handle);
  return sim::kOk;
}

void* sim_physical_at(const void* pointer) {
  std::shared_lock lock(mutex);
  const auto block = block_at(pointer);
  return block == blocks.end() ? nullptr : block->second.physical;
}
