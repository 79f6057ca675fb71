// Memory of the host that a program registers for a device (aclrtHostRegister, aclrtHostRegisterV2). As CANN documents
// it, kernels get to it through an address of its own that copies do not take: a second mapping of the same pages,
// where the host lets us make one, which it does for memory that is shared, pinned memory among it. Pages that malloc
// gave have one address, which then is both.
//
// hicann/runtime, docs/zh/api_ref/11-02_host_memory_management.md (22 August 2026), and the CANN 8.5.0 page of
// aclrtHostRegister for memory of one address (ACL_RT_MEM_ATTR_VA_FLAG), which copies do take.
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "memory.h"
#include "state.h"

namespace {

struct Registered {
  size_t size;
  uintptr_t seen_at;  // by a device; 0: only pinned
  bool pinned;
  bool one_address;  // copies take it as a device's, too
  const char* call;
};

std::shared_mutex of_registered;
std::map<uintptr_t, Registered> registered;  // by the host's address
std::map<uintptr_t, uintptr_t> seen;         // the host's address by the device's
constexpr uintptr_t kPage = 4096;            // what the documentation aligns to
constexpr long kTmpfs = 0x01021994, kHuge = 0x958458f6;

// The registered memory whose addresses of a device hold this one. Call with the lock held.
std::map<uintptr_t, Registered>::iterator seen_at(uintptr_t address) {
  auto next = seen.upper_bound(address);
  if (next == seen.begin()) return registered.end();
  --next;
  auto found = registered.find(next->second);
  return address - next->first < found->second.size ? found : registered.end();
}

// Why these pages cannot be given to a device; empty if they can, and in `mappings` how many they belong to. The driver
// refuses those that a file on a disk backs.
std::string unfit(uintptr_t begin, size_t size, int& mappings) {
  std::ifstream maps("/proc/self/maps");
  uintptr_t reached = begin;
  mappings = 0;
  if (size > UINTPTR_MAX - begin) return "there are not so many addresses";
  for (std::string line; reached < begin + size && std::getline(maps, line);) {
    uintptr_t from = 0, to = 0;
    unsigned long long inode = 0;
    int path = 0;
    if (sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %llu %n", &from, &to, &inode, &path) < 3) continue;
    if (to <= reached) continue;
    if (from > reached) break;
    struct statfs on{};
    const char* name = line.c_str() + path;
    if (inode && statfs(name, &on) == 0 && long(on.f_type) != kTmpfs && long(on.f_type) != kHuge)
      return std::string("the file ") + name + " is mapped there";
    reached = to;
    ++mappings;
  }
  return reached < begin + size ? "it is not all memory of this process" : "";
}

size_t whole_pages(size_t size) {
  const auto page = size_t(sysconf(_SC_PAGE_SIZE));
  return (size + page - 1) / page * page;
}

}  // namespace

int sim_host_register(const char* call, void* pointer, size_t size, int mapped, int pinned, void** device_address) {
  int device = 0;
  if (int code = sim::require_device(call, &device)) return code;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (!pointer || size == 0) return sim_fail(sim::kInvalidParam, "%s: null pointer, or size 0", call);
  // The page asks for it in all cases; Ascend/pytorch's own test pins what malloc gave.
  if (mapped && address % kPage)
    return sim_fail(sim::kInvalidParam, "%s: %p is not a multiple of 4096; allowed: the start of a page", call,
                    pointer);
  if (sim_memory_device(pointer, nullptr) >= 0)
    return sim_fail(sim::kInvalidParam, "%s: %s; allowed: memory of the host", call, sim_memory_text(pointer, size));
  if (pinned && sim_is_pinned(pointer))
    return sim_fail(sim::kInvalidParam, "%s: %p is pinned already; next: leave out ACL_HOST_REG_PINNED", call, pointer);
  int mappings = 0;
  if (std::string why = unfit(address, size, mappings); !why.empty())
    return sim_fail(sim::kDriver, "%s: %zu bytes at %p cannot be registered: %s", call, size, pointer, why.c_str());
  const bool one_address = sim::host_memory_has_one_address(pointer);
  std::unique_lock lock(of_registered);
  auto next = registered.lower_bound(address);
  const bool before = next != registered.begin() && std::prev(next)->first + std::prev(next)->second.size > address;
  if (before || (next != registered.end() && next->first - address < size))
    return sim_fail(sim::kInvalidParam,
                    "%s: a part of the %zu bytes at %p is registered already; next: "
                    "aclrtHostUnregister",
                    call, size, pointer);
  Registered made{size, 0, pinned != 0, one_address, call};
  if (mapped) {
    // With an old size of 0 a shared mapping is not moved but made a second time; only one, and none for private
    // memory.
    void* second = one_address || mappings > 1 ? MAP_FAILED : mremap(pointer, 0, whole_pages(size), MREMAP_MAYMOVE);
    made.seen_at = second == MAP_FAILED ? address : reinterpret_cast<uintptr_t>(second);
    seen[made.seen_at] = address;
    if (device_address) *device_address = reinterpret_cast<void*>(made.seen_at);
  }
  registered[address] = made;
  return sim::kOk;
}

int sim_host_unregister(void* pointer) {
  std::unique_lock lock(of_registered);
  auto found = registered.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == registered.end())
    return sim_fail(sim::kInvalidParam,
                    "aclrtHostUnregister: %p is not registered; allowed: the address that was "
                    "given to aclrtHostRegister",
                    pointer);
  const auto [size, seen_at, pinned, one_address, call] = found->second;
  seen.erase(seen_at);
  registered.erase(found);
  // Tasks that use it now may do so to their end.
  if (seen_at && seen_at != reinterpret_cast<uintptr_t>(pointer))
    sim::retire(seen_at, whole_pages(size), sim::Bare::unmapped);
  return sim::kOk;
}

int sim_host_device_pointer(void* pointer, void** out) {
  std::shared_lock lock(of_registered);
  auto found = registered.find(reinterpret_cast<uintptr_t>(pointer));
  if (!out || found == registered.end() || !found->second.seen_at)
    return sim_fail(sim::kInvalidParam,
                    "aclrtHostGetDevicePointer: %p is not mapped for a device; next: "
                    "aclrtHostRegisterV2 with ACL_HOST_REG_MAPPED",
                    pointer);
  *out = reinterpret_cast<void*>(found->second.seen_at);
  return sim::kOk;
}

bool sim::registered_memory_reaches(const void* pointer, size_t size) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  std::shared_lock lock(of_registered);
  auto found = seen_at(address);
  if (found == registered.end()) return false;
  const Registered& memory = found->second;
  if (size > memory.size - (address - memory.seen_at)) return false;
  // The program may have given memory of one address back without a word.
  const uintptr_t page = address / kPage * kPage;
  return memory.seen_at != found->first || msync(reinterpret_cast<void*>(page), address + size - page, MS_ASYNC) == 0;
}

bool sim::registered_as_pinned(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  std::shared_lock lock(of_registered);
  auto next = registered.upper_bound(address);
  return next != registered.begin() && (--next, address - next->first < next->second.size) && next->second.pinned;
}

bool sim::copies_take(const void* pointer, size_t size, bool as_device) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  std::shared_lock lock(of_registered);
  auto found = seen_at(address);
  if (found == registered.end()) return !as_device;
  const Registered& memory = found->second;
  if (as_device) return memory.one_address && size <= memory.size - (address - memory.seen_at);
  return memory.seen_at == found->first;
}

bool sim::describe_registered_memory(const void* pointer, char* text, size_t room) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  std::shared_lock lock(of_registered, std::try_to_lock);
  if (!lock) return false;
  auto found = seen_at(address);
  if (found == registered.end()) return false;
  const auto& [begin, memory] = *found;
  snprintf(text, room,
           "%p lies %llu bytes into the device's address of %zu bytes of the host at 0x%llx, registered by %s", pointer,
           (unsigned long long)(address - memory.seen_at), memory.size, (unsigned long long)begin, memory.call);
  return true;
}

int sim_host_has(const void* pointer, size_t size) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  static const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  unsigned char known[4096];
  const uintptr_t end = address + size;
  if (end < address) return 0;
  for (uintptr_t at = address / page * page; at < end; at += sizeof known * page)
    if (mincore(reinterpret_cast<void*>(at), std::min<size_t>(end - at, sizeof known * page), known))
      return errno != ENOMEM;
  return 1;
}
