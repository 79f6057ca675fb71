// libascendcl: memory that processes share, and virtual memory. CANN's pages "IPC memory sharing" and "Virtual memory
// management".
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "acl/shared.h"
#include "acl/tasks.h"
#include "core/forever.h"
#include "core/order_api.h"
#include "core/runtime.h"

namespace sim::acl::sharing {
namespace {

constexpr size_t kKey = 65, kSmall = size_t{2} << 20, kLarge = size_t{1} << 30;

struct Imported {
  std::shared_ptr<Shared> shared;
  void *base, *handle;
};

struct Mapped {
  void* handle;
  size_t size, offset;
};

struct State {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Shared>> exported;  // memory, by key
  std::multimap<std::string, Imported> imported;
  std::map<void*, std::shared_ptr<Shared>> handles;  // of physical memory that was exported
  std::map<void*, uint64_t> common;                  // handles that other processes have: the number of the file
  std::map<void*, Mapped> mapped;                    // by address
  std::map<void*, aclrtPhysicalMemProp> properties;
  std::map<std::pair<int, int>, bool> peers;
};
State& state() { return sim::forever<State>(); }

// Which file it is, for all processes.
uint64_t number_of(int file) {
  struct stat about{};
  return fstat(file, &about) ? 0 : about.st_ino;
}

// Where it is mapped, for the check of order. Call with the mutex held.
void share(void* handle, int file) {
  const uint64_t number = state().common[handle] = number_of(file);
  for (const auto& [pointer, one] : state().mapped)
    if (one.handle == handle) sim_order_share(pointer, one.size, number, one.offset);
}

size_t granularity(aclrtMemAttr attribute) {
  switch (attribute) {
    case ACL_MEM_HUGE1G:
    case ACL_MEM_P2P_HUGE1G:
    case ACL_HBM_MEM_HUGE1G:
    case ACL_HBM_MEM_P2P_HUGE1G: return kLarge;
    default: return kSmall;
  }
}

int export_physical(const char* caller, void* handle, uint64_t flags, std::shared_ptr<Shared>* out) {
  if (flags & ~ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION)
    return RT_INVALID(caller, "flags 0x%llx; allowed: 0, 1", (unsigned long long)flags);
  std::lock_guard lock(state().mutex);
  if (state().handles.count(handle)) return RT_INVALID(caller, "handle %p is exported already", handle);
  int file = -1, device = 0;
  size_t size = 0;
  if (int code = sim_share_physical(caller, handle, &file, &size, &device)) return code;
  auto made = Shared::make(caller, Kind::physical, flags != 0);
  if (!made) return close(file), int(ACL_ERROR_RT_MEMORY_ALLOCATION);
  made->page->file = file, made->page->size = size, made->page->device = sim_physical_device(device);
  state().handles[handle] = *out = std::move(made);
  share(handle, file);
  return ACL_SUCCESS;
}

// The device of shared memory, or where this process does not see it, the current one.
int near(const Shared& shared) {
  int device = sim_visible_device(shared.page->device);
  if (device < 0) sim_get_device(&device);
  return device;
}

int import_physical(const char* caller, uint64_t number, int device, aclrtDrvMemHandle* handle) {
  const auto shared = Shared::open(caller, Shared::key_of(number), Kind::physical);
  if (!shared) return ACL_ERROR_RT_PARAM_INVALID;
  if (shared->page->owner == getpid()) return RT_INVALID(caller, "this process has exported it");
  const int file = shared->open_file(caller);
  if (file < 0) return ACL_ERROR_RT_DRV_INTERNAL_ERROR;
  const int code = sim_import_physical(caller, file, shared->page->size, device < 0 ? near(*shared) : device, handle);
  if (code) return close(file), code;
  std::lock_guard lock(state().mutex);
  share(*handle, file);
  return ACL_SUCCESS;
}

int allow_physical(const char* caller, uint64_t number, const int32_t* processes, size_t count) {
  if (!processes || !count) return missing(caller, "pid");
  std::lock_guard lock(state().mutex);
  for (const auto& [handle, shared] : state().handles)
    if (shared->number() == number) return shared->allow(caller, processes, count);
  return RT_INVALID(caller, "this process has not exported the handle");
}

int check_type(const char* caller, aclrtMemSharedHandleType type) {
  if (type == ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT) return ACL_SUCCESS;
  if (type != ACL_MEM_SHARE_HANDLE_TYPE_FABRIC) return RT_INVALID(caller, "shareType %d; allowed: 1, 2", int(type));
  if (on("Ascend910_93")) return ACL_SUCCESS;
  return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: handles for other servers are Atlas A3's", caller);
}

}  // namespace

extern "C" {

// ---- memory by key ----
SIM_API aclError aclrtIpcMemGetExportKey(void* pointer, size_t size, char* key, size_t length, uint64_t flags) {
  REQUIRE(pointer, key);
  RT_INVALID_IF(length < kKey, "len is %zu; allowed: 65", length);
  RT_INVALID_IF(flags & ~ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION, "flags 0x%llx; allowed: 0, 1",
                (unsigned long long)flags);
  int file = -1;
  size_t offset = 0;
  if (int code = sim_share_memory(__func__, pointer, size, &file, &offset)) return code;
  auto made = Shared::make(__func__, Kind::memory, flags != 0);
  if (!made) return close(file), int(ACL_ERROR_RT_MEMORY_ALLOCATION);
  made->page->file = file, made->page->size = size, made->page->offset = offset;
  made->page->device = sim_physical_device(sim_memory_device(pointer, nullptr));
  snprintf(key, length, "%s", made->key().c_str());
  sim_order_share(pointer, size, number_of(file), offset);
  std::lock_guard lock(state().mutex);
  state().exported[key] = std::move(made);
  return ACL_SUCCESS;
}

SIM_API aclError aclrtIpcMemSetImportPid(const char* key, int32_t* processes, size_t count) {
  REQUIRE(key, processes);
  RT_INVALID_IF(!count, "num is 0");
  std::lock_guard lock(state().mutex);
  const auto found = state().exported.find(key);
  RT_INVALID_IF(found == state().exported.end(), "this process has not exported the key %.64s", key);
  return found->second->allow(__func__, processes, count);
}

SIM_API aclError aclrtIpcMemImportByKey(void** pointer, const char* key, uint64_t flags) {
  REQUIRE(pointer, key);
  RT_INVALID_IF(flags & ~ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS, "flags 0x%llx; allowed: 0, 1",
                (unsigned long long)flags);
  int device = 0;
  if (int code = sim_get_device(&device)) return code;
  const auto shared = Shared::open(__func__, key, Kind::memory);
  if (!shared) return ACL_ERROR_RT_PARAM_INVALID;
  const size_t page = size_t(sysconf(_SC_PAGESIZE)), into = shared->page->offset % page;
  const size_t size = (shared->page->size + into + page - 1) / page * page;
  Imported made{shared, nullptr, nullptr};
  const int file = shared->open_file(__func__);
  if (file < 0) return ACL_ERROR_RT_DRV_INTERNAL_ERROR;
  const size_t begin = shared->page->offset - into;
  if (int code = sim_import_physical(__func__, file, begin + size, near(*shared), &made.handle))
    return close(file), code;
  int code = sim_reserve_address(size, &made.base);
  if (!code && (code = sim_map(made.base, size, begin, made.handle))) sim_release_address(made.base);
  if (code) return sim_free_physical(made.handle), code;
  *pointer = static_cast<char*>(made.base) + into;
  sim_order_share(*pointer, shared->page->size, number_of(file), shared->page->offset);
  std::lock_guard lock(state().mutex);
  state().imported.emplace(key, made);
  return ACL_SUCCESS;
}

SIM_API aclError aclrtIpcMemClose(const char* key) {
  REQUIRE(key);
  std::lock_guard lock(state().mutex);
  if (const auto found = state().imported.find(key); found != state().imported.end()) {
    const Imported& one = found->second;
    if (int code = sim_unmap(one.base)) return code;
    sim_order_unshare(one.base, one.shared->page->offset % size_t(sysconf(_SC_PAGESIZE)) + one.shared->page->size);
    sim_release_address(one.base);
    sim_free_physical(one.handle);
    state().imported.erase(found);
    return ACL_SUCCESS;
  }
  if (const auto found = state().exported.find(key); found != state().exported.end()) {
    close(found->second->page->file);
    state().exported.erase(found);
    return ACL_SUCCESS;
  }
  return RT_INVALID(__func__, "this process neither exports nor imports the key %.64s", key);
}

SIM_API aclError aclrtIpcMemSetAttr(const char* key, aclrtIpcMemAttrType type, uint64_t value) {
  REQUIRE(key);
  RT_INVALID_IF(type != ACL_RT_IPC_MEM_ATTR_ACCESS_LINK || value > ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_HCCS,
                "attribute %d of %llu", int(type), (unsigned long long)value);
  std::lock_guard lock(state().mutex);
  if (state().exported.count(key) || state().imported.count(key)) return ACL_SUCCESS;  // which wires: there are none
  return RT_INVALID(__func__, "this process neither exports nor imports the key %.64s", key);
}

// ---- virtual memory ----
SIM_API aclError aclrtReserveMemAddress(void** out, size_t size, size_t, void*, uint64_t) {
  REQUIRE(out);
  RT_INVALID_IF(!size, "size is 0");
  return sim_reserve_address(size, out);
}
SIM_API aclError aclrtReleaseMemAddress(void* pointer) { return sim_release_address(pointer); }
SIM_API aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size, const aclrtPhysicalMemProp* properties,
                                     uint64_t flags) {
  REQUIRE(handle, properties);
  RT_INVALID_IF(!size || flags, "%s", size ? "flags has to be 0" : "size is 0");
  if (properties->location.type != ACL_MEM_LOCATION_TYPE_DEVICE)
    return sim_unimplemented("aclrtMallocPhysical on the host");
  if (int code = sim_malloc_physical(size, int(properties->location.id), handle)) return code;
  std::lock_guard lock(state().mutex);
  state().properties[*handle] = *properties;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  if (int code = sim_free_physical(handle)) return code;
  std::lock_guard lock(state().mutex);
  if (const auto found = state().handles.find(handle); found != state().handles.end()) {
    close(found->second->page->file);
    state().handles.erase(found);
  }
  state().properties.erase(handle);
  state().common.erase(handle);
  return ACL_SUCCESS;
}
SIM_API aclError aclrtMapMem(void* pointer, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t) {
  std::lock_guard lock(state().mutex);
  if (int code = sim_map(pointer, size, offset, handle)) return code;
  state().mapped[pointer] = {handle, size, offset};
  if (const auto found = state().common.find(handle); found != state().common.end())
    sim_order_share(pointer, size, found->second, offset);
  return ACL_SUCCESS;
}
SIM_API aclError aclrtUnmapMem(void* pointer) {
  std::lock_guard lock(state().mutex);
  if (int code = sim_unmap(pointer)) return code;
  if (const auto one = state().mapped.extract(pointer)) sim_order_unshare(pointer, one.mapped().size);
  return ACL_SUCCESS;
}

SIM_API aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* properties, aclrtMemGranularityOptions option,
                                                  size_t* out) {
  REQUIRE(properties, out);
  RT_INVALID_IF(option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM && option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED,
                "option %d; allowed: 0, 1", int(option));
  *out = granularity(properties->memAttr);
  return ACL_SUCCESS;
}
SIM_API aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle, aclrtPhysicalMemProp* properties) {
  REQUIRE(properties);
  std::lock_guard lock(state().mutex);
  const auto found = state().properties.find(handle);
  RT_INVALID_IF(found == state().properties.end(), "%p was not made by aclrtMallocPhysical", handle);
  *properties = found->second;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtMemRetainAllocationHandle(void* pointer, aclrtDrvMemHandle* handle) {
  REQUIRE(pointer, handle);
  void* found = sim_physical_at(pointer);
  RT_INVALID_IF(!found, "no handle is mapped at %p", pointer);
  *handle = found;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtMemGetAddressRange(void* pointer, void** base, size_t* size) {
  REQUIRE(pointer);
  void* begin = nullptr;
  size_t bytes = 0;
  RT_INVALID_IF(sim_memory_block(pointer, &begin, &bytes) < 0, "%s", sim_memory_text(pointer, 1));
  if (base) *base = begin;
  if (size) *size = bytes;
  return ACL_SUCCESS;
}

// Kernels and copies reach all memory that is mapped: the rights are checked and given back.
static int check_mapped(const char* caller, void* pointer, size_t size) {
  void *begin = nullptr, *next = nullptr;
  size_t bytes = 0, rest = 0;
  bool whole = sim_physical_at(pointer) && sim_memory_block(pointer, &begin, &bytes) >= 0 && begin == pointer;
  if (whole && size && size != bytes) {  // or as far as one of the handles that adjoin ends
    void* end = static_cast<char*>(pointer) + size;
    whole = size < bytes && sim_memory_block(end, &next, &rest) >= 0 && next == end;
  }
  if (!whole) return RT_INVALID(caller, "%p (%zu bytes) is not what aclrtMapMem mapped", pointer, size);
  return ACL_SUCCESS;
}
#ifdef OPHOOK_NEWER_ACL
SIM_API aclError aclrtMemSetAccess(void* pointer, size_t size, aclrtMemAccessDesc* rights, size_t count) {
  REQUIRE(pointer, rights);
  RT_INVALID_IF(!count, "count is 0");
  if (int code = check_mapped(__func__, pointer, size)) return code;
  for (size_t i = 0; i < count; ++i)
    if (rights[i].flags != ACL_RT_MEM_ACCESS_FLAGS_READWRITE)
      return sim_unimplemented("aclrtMemSetAccess with other rights than ACL_RT_MEM_ACCESS_FLAGS_READWRITE");
  return ACL_SUCCESS;
}
SIM_API aclError aclrtMemGetAccess(void* pointer, aclrtMemLocation* location, uint64_t* flag) {
  REQUIRE(pointer, location, flag);
  if (int code = check_mapped(__func__, pointer, 0)) return code;
  const bool own =
      location->type == ACL_MEM_LOCATION_TYPE_DEVICE && int(location->id) == sim_memory_device(pointer, nullptr);
  *flag = own ? ACL_RT_MEM_ACCESS_FLAGS_READWRITE : ACL_RT_MEM_ACCESS_FLAGS_NONE;
  return ACL_SUCCESS;
}
#endif

// ---- handles of physical memory ----
SIM_API aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle, uint64_t flags,
                                                   aclrtMemSharedHandleType type, void* out) {
  REQUIRE(handle, out);
  if (int code = check_type(__func__, type)) return code;
  std::shared_ptr<Shared> shared;
  if (int code = export_physical(__func__, handle, flags, &shared)) return code;
  const uint64_t number = shared->number();
  if (type == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC) memset(out, 0, sizeof(aclrtMemFabricHandle));
  memcpy(out, &number, sizeof number);
  return ACL_SUCCESS;
}
SIM_API aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType type, uint64_t flags,
                                                 uint64_t* out) {
  RT_INVALID_IF(type != ACL_MEM_HANDLE_TYPE_NONE, "handleType %d; allowed: 0", int(type));
  return aclrtMemExportToShareableHandleV2(handle, flags, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, out);
}
SIM_API aclError aclrtMemImportFromShareableHandle(uint64_t number, int32_t device, aclrtDrvMemHandle* handle) {
  REQUIRE(handle);
  if (int code = sim_check_device(__func__, device)) return code;
  return import_physical(__func__, number, device, handle);
}
SIM_API aclError aclrtMemImportFromShareableHandleV2(void* shared, aclrtMemSharedHandleType type, uint64_t flags,
                                                     aclrtDrvMemHandle* handle) {
  REQUIRE(shared, handle);
  if (int code = check_type(__func__, type)) return code;
  RT_INVALID_IF(flags, "flags has to be 0");
  int device = 0;
  if (int code = sim_get_device(&device)) return code;
  uint64_t number;
  memcpy(&number, shared, sizeof number);
  return import_physical(__func__, number, device, handle);
}
SIM_API aclError aclrtMemSetPidToShareableHandle(uint64_t number, int32_t* processes, size_t count) {
  return allow_physical(__func__, number, processes, count);
}
SIM_API aclError aclrtMemSetPidToShareableHandleV2(void* shared, aclrtMemSharedHandleType type, int32_t* processes,
                                                   size_t count) {
  REQUIRE(shared);
  if (int code = check_type(__func__, type)) return code;
  uint64_t number;
  memcpy(&number, shared, sizeof number);
  return allow_physical(__func__, number, processes, count);
}

// ---- between devices ---- (all memory of a process is one: what is enabled is kept and told)
static int check_peers(const char* caller, int device, int peer) {
  if (int code = sim_check_device(caller, device)) return code;
  if (int code = sim_check_device(caller, peer)) return code;
  return device != peer ? ACL_SUCCESS : RT_INVALID(caller, "device %d is the current device", peer);
}
SIM_API aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t device, int32_t peer) {
  REQUIRE(can);
  const int count = sim_device_count();
  RT_INVALID_IF(device < 0 || peer < 0 || device >= count || peer >= count, "no such device");
  *can = device != peer;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags) {
  int device = 0;
  if (int code = sim_get_device(&device)) return code;
  RT_INVALID_IF(flags, "flags has to be 0");
  if (int code = check_peers(__func__, device, peer)) return code;
  std::lock_guard lock(state().mutex);
  state().peers[{device, peer}] = true;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtDeviceDisablePeerAccess(int32_t peer) {
  int device = 0;
  if (int code = sim_get_device(&device)) return code;
  if (int code = check_peers(__func__, device, peer)) return code;
  std::lock_guard lock(state().mutex);
  state().peers[{device, peer}] = false;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtDevicePeerAccessStatus(int32_t device, int32_t peer, int32_t* status) {
  REQUIRE(status);
  if (int code = check_peers(__func__, device, peer)) return code;
  std::lock_guard lock(state().mutex);
  *status = state().peers[{device, peer}];
  return ACL_SUCCESS;
}

// The other device sees this memory as it is.
SIM_API aclError aclrtMemP2PMap(void* pointer, size_t size, int32_t peer, uint64_t flags) {
  RT_INVALID_IF(flags, "flags has to be 0");
  size_t left = 0;
  const int device = sim_memory_device(pointer, &left);
  RT_INVALID_IF(device < 0 || !size || size > left, "%zu bytes; %s", size, sim_memory_text(pointer, size));
  if (int code = check_peers(__func__, device, peer)) return code;
  std::lock_guard lock(state().mutex);
  if (state().peers[{device, peer}] || state().peers[{peer, device}]) return ACL_SUCCESS;
  return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: devices %d and %d exchange no data before %s", __func__,
                  device, peer, "aclrtDeviceEnablePeerAccess");
}

}  // extern "C"
}  // namespace sim::acl::sharing
