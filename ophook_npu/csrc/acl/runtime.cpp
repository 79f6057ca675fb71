// libascendcl: devices, memory, streams and events. Each function is the core's, with ACL's types.
//
// How libascendcl fails: a function returns one of CANN's codes (acl/error_codes/rt_error_codes.h) and leaves the
// reason for aclGetRecentErrMsg in the calling thread (sim_fail); it writes no output then. 107000 is a wrong argument,
// 107017 a handle that is none, 200001 what is not simulated, with its name. What fails on a stream is returned by the
// next synchronization with it, once. A function that makes something returns null instead of a code.
#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "acl/device_memory.h"
#include "acl/tasks.h"
#include "core/fault.h"
#include "core/runtime.h"
#include "core/waits.h"

namespace {

int invalid(const char* caller, const char* what) { return RT_INVALID(caller, "%s", what); }

struct Copy {
  void* to;
  const void* from;
  size_t size;
  bool to_device, from_device;
  bool to_pinned = false, from_pinned = false;  // when it was launched
  bool unnamed = false;                         // a side is memory of the host although the kind says device
  void touch(sim_listener* listener) const;
};

// Whether [pointer, pointer + size) is what the copy's kind says. `by_system`: who copies it finds out what is there.
int check_side(const char* caller, const char* side, const void* pointer, size_t size, bool device,
               bool by_system = false) {
  if (sim_copy_takes(pointer, size, device)) {
    if (device || by_system || sim_is_pinned(pointer) || sim_host_has(pointer, size)) return ACL_SUCCESS;
    return RT_INVALID(caller, "%s (%zu bytes at %p) reaches where the program has no memory", side, size, pointer);
  }
  if (!device && sim::acl::managed(pointer, size)) return ACL_SUCCESS;
  return RT_INVALID(caller, "%s (%zu bytes) has to be %s memory: %s", side, size, device ? "device" : "host",
                    sim_memory_text(pointer, size));
}

// The same when a task gets to it: memory may have been freed since.
int still_there(const char* caller, const char* side, const void* pointer, size_t size, bool device,
                bool pinned = false) {
  if (pinned && !sim_is_pinned(pointer))
    return sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "%s: %s %p was pinned memory at the launch and was given back since",
                    caller, side, pointer);
  const char* problem = device ? sim_memory_problem(side, pointer, size) : nullptr;
  return problem ? sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "%s: %s", caller, problem) : ACL_SUCCESS;
}

struct Use {
  Use() { sim_memory_open(); }
  ~Use() { sim_memory_close(); }
};

// The side that an address has, whatever the kind says: CANN corrects the kind of memory that it gave out or
// registered. Of other memory the kind decides.
void correct(const void* pointer, bool* device) {
  if (sim_memory_device(pointer, nullptr) >= 0) *device = true;
  else if (sim_is_pinned(pointer)) *device = false;
}

// Whether it is the host's and no call of ACL's gave it out, now or earlier.
bool only_the_hosts(const void* pointer, size_t size) {
  return sim_copy_takes(pointer, size, false) && !sim_memory_known(pointer);
}

int check_copy(const char* caller, void* to, size_t capacity, const void* from, size_t size, aclrtMemcpyKind kind,
               bool at_once, Copy* copy) {
  *copy = {to, from, size, false, false};
  if (size == 0) return ACL_SUCCESS;
  if (!to || !from) return invalid(caller, "null pointer");
  if (size > capacity) return RT_INVALID(caller, "%zu bytes do not fit into the destination's %zu", size, capacity);
  bool &to_device = copy->to_device, &from_device = copy->from_device;
  bool corrected = true;
  switch (kind) {
    case ACL_MEMCPY_HOST_TO_HOST:
    case ACL_MEMCPY_DEFAULT: break;
    case ACL_MEMCPY_HOST_TO_DEVICE: to_device = true; break;
    case ACL_MEMCPY_DEVICE_TO_HOST: from_device = true; break;
    case ACL_MEMCPY_DEVICE_TO_DEVICE: to_device = from_device = true; break;
    case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE:
      to_device = true;
      corrected = false;
      break;
    case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE:
      to_device = from_device = true;
      corrected = false;
      break;
    default: return RT_INVALID(caller, "copy kind %d", int(kind));
  }
  if (corrected || at_once) {
    correct(to, &to_device);
    correct(from, &from_device);
  }
  if (at_once) {  // its page: the kind is reserved and has no effect
    const bool to_host = to_device && only_the_hosts(to, size), from_host = from_device && only_the_hosts(from, size);
    to_device = to_device && !to_host;
    from_device = from_device && !from_host;
    copy->unnamed = to_host || from_host;
  }
  if (int code = check_side(caller, "destination", to, size, to_device, copy->unnamed)) return code;
  return check_side(caller, "source", from, size, from_device, copy->unnamed);
}

// The system reads and writes, so that an address where nothing is gives an answer and no signal. Without `from` the
// bytes have the value.
bool written_by_the_system(void* to, const void* from, size_t size, char value = 0) {
  std::vector<char> bytes(std::min(size, size_t(1) << 20), value);
  for (size_t done = 0; done < size;) {
    const size_t next = std::min(size - done, bytes.size());
    const iovec here{bytes.data(), next}, target{static_cast<char*>(to) + done, next};
    if (from) {
      const iovec source{const_cast<char*>(static_cast<const char*>(from)) + done, next};
      if (process_vm_readv(getpid(), &here, 1, &source, 1, 0) != ssize_t(next)) return false;
    }
    if (process_vm_writev(getpid(), &here, 1, &target, 1, 0) != ssize_t(next)) return false;
    done += next;
  }
  return true;
}

struct Fill {
  void* to;
  uint32_t value;
  size_t size, unit;  // bytes; of a value: 1 or 4
  void touch(sim_listener* listener) const { sim::touch(listener, true, to, size); }
  void operator()() const {
    if (unit == 1) memset(to, int(value), size);
    else
      for (size_t at = 0; at < size; at += sizeof value) memcpy(static_cast<char*>(to) + at, &value, sizeof value);
  }
};

void Copy::touch(sim_listener* listener) const {
  sim::touch(listener, false, from, size);
  sim::touch(listener, true, to, size);
}

int check_fill(const char* caller, void* pointer, size_t capacity, size_t size) {
  if (size > capacity) return RT_INVALID(caller, "%zu bytes exceed %zu", size, capacity);
  if (sim_is_pinned(pointer) && sim_copy_takes(pointer, size, false)) return ACL_SUCCESS;
  return check_side(caller, "memory", pointer, size, true);
}

int run_copy(const Copy& copy) {
  if (int code = still_there("aclrtMemcpyAsync", "destination", copy.to, copy.size, copy.to_device, copy.to_pinned))
    return code;
  if (int code = still_there("aclrtMemcpyAsync", "source", copy.from, copy.size, copy.from_device, copy.from_pinned))
    return code;
  void* to = copy.to_device ? copy.to : sim_order_second_address(copy.to, copy.size);
  const void* from = copy.from_device ? copy.from : sim_order_second_address(copy.from, copy.size);
  memmove(to, from, copy.size);
  return ACL_SUCCESS;
}

int run_fill(const Fill& fill) {
  const char* call = fill.unit == 1 ? "aclrtMemsetAsync" : "aclrtMemsetD32Async";
  if (int code = still_there(call, "memory", fill.to, fill.size, true)) return code;
  return fill(), ACL_SUCCESS;
}

}  // namespace

extern "C" {

// ---- devices ---- (initialization.cpp has aclInit, contexts.cpp aclrtSetDevice and aclrtResetDevice)
const char* aclrtGetSocName() {
  sim_init();
  const sim_soc* soc = sim_current_soc();
  return soc ? soc->name : nullptr;
}
aclError aclrtGetDeviceCount(uint32_t* count) {
  if (int code = sim_init()) return code;
  if (const char* problem = sim_visible_problem()) return sim_fail(ACL_ERROR_RT_NO_DEVICE, "%s", problem);
  *count = uint32_t(sim_device_count());
  return ACL_SUCCESS;
}
// A library in LD_PRELOAD that stands before a function of this one finds it by RTLD_NEXT, which looks among what the
// program and its preloaded libraries see. Python loads torch_npu, and with it this library, for itself alone.
__attribute__((constructor)) static void be_seen_by_preloaded_libraries() {
  if (const char* preloaded = getenv("LD_PRELOAD"); preloaded && *preloaded)
    dlopen("libascendcl.so", RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}

aclError aclrtGetDevice(int32_t* device) { return sim_get_device(device); }
aclError aclrtSynchronizeDevice() { return sim_synchronize_device(-1); }
SIM_API aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout_ms) { return sim_synchronize_device(timeout_ms); }
SIM_API aclError aclrtGetPrimaryCtxState(int32_t device, uint32_t* flags, int32_t* active) {
  if (device < 0 || device >= sim_device_count()) return invalid("aclrtGetPrimaryCtxState", "no such device");
  if (flags) *flags = 0;
  *active = 1;
  return ACL_SUCCESS;
}

// ---- memory ----
aclError aclrtMalloc(void** out, size_t size, aclrtMemMallocPolicy policy) {
  return sim::acl::take("aclrtMalloc", __builtin_return_address(0), size, policy, out);
}
aclError aclrtMallocAlign32(void** out, size_t size, aclrtMemMallocPolicy policy) {
  return sim::acl::take("aclrtMallocAlign32", __builtin_return_address(0), size, policy, out, false);
}
aclError aclrtFree(void* pointer) {
  sim::acl::forget_managed(pointer);
  return sim_free(pointer);
}
aclError aclrtMallocHost(void** out, size_t size) {
  if (int code = sim_require_device("aclrtMallocHost")) return code;
  return sim_malloc_host_by("aclrtMallocHost", __builtin_return_address(0), size, 0, out);
}
aclError aclrtMallocHostWithCfg(void** out, uint64_t size, aclrtMallocConfig* settings) {
  if (int code = sim_require_device("aclrtMallocHostWithCfg")) return code;
  int one_address = 0;
  for (size_t i = 0; settings && settings->attrs && i < settings->numAttrs; ++i)
    if (settings->attrs[i].attr == ACL_RT_MEM_ATTR_VA_FLAG) one_address = settings->attrs[i].value.vaFlag == 1;
  return sim_malloc_host_by("aclrtMallocHostWithCfg", __builtin_return_address(0), size, one_address, out);
}
aclError aclrtFreeHost(void* pointer) { return sim_free_host(pointer); }
aclError aclrtHostRegister(void* pointer, uint64_t size, aclrtHostRegisterType type, void** device_address) {
  if (!device_address) return invalid("aclrtHostRegister", "null pointer");
  RT_INVALID_IF(type != ACL_HOST_REGISTER_MAPPED, "type %d; allowed: ACL_HOST_REGISTER_MAPPED", int(type));
  return sim_host_register("aclrtHostRegister", pointer, size, 1, 0, device_address);
}
aclError aclrtHostRegisterV2(void* pointer, uint64_t size, uint32_t flags) {
  constexpr uint32_t allowed = ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED;
  if (!flags || (flags & ~allowed))  // the others are reserved
    return RT_INVALID(__func__, "flag 0x%x; allowed: ACL_HOST_REG_MAPPED, ACL_HOST_REG_PINNED or both", flags);
  return sim_host_register("aclrtHostRegisterV2", pointer, size, (flags & ACL_HOST_REG_MAPPED) != 0,
                           (flags & ACL_HOST_REG_PINNED) != 0, nullptr);
}
aclError aclrtHostUnregister(void* pointer) { return sim_host_unregister(pointer); }
aclError aclrtHostGetDevicePointer(void* pointer, void** device_address, uint32_t flag) {
  if (flag) return invalid("aclrtHostGetDevicePointer", "the flag has to be 0");
  return sim_host_device_pointer(pointer, device_address);
}
aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free_bytes, size_t* total) { return sim_memory_info(free_bytes, total); }
aclError aclrtPointerGetAttributes(const void* pointer, aclrtPtrAttributes* attributes) {
  memset(attributes, 0, sizeof *attributes);
  int device = sim_memory_device(pointer, nullptr);
  attributes->location.id = device < 0 ? 0 : uint32_t(device);
  attributes->location.type = device >= 0              ? ACL_MEM_LOCATION_TYPE_DEVICE
                              : sim_is_pinned(pointer) ? ACL_MEM_LOCATION_TYPE_HOST
                                                       : ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  attributes->pageSize = 4096;
  return ACL_SUCCESS;
}

static int copy_now(const char* call, const Copy& copy) {
  if (sim::fault::on()) [[unlikely]]
    if (int code = sim_fault_here("task", call)) return code;
  if (copy.from_device) sim_order_host(call, copy.from, copy.size, false);
  if (copy.to_device) sim_order_host(call, copy.to, copy.size, true);
  const Use use;
  if (copy.unnamed && !written_by_the_system(copy.to, copy.from, copy.size))
    return RT_INVALID(call, "%zu bytes from %p to %p: not all of them can be read or written", copy.size, copy.from,
                      copy.to);
  if (!copy.unnamed) memmove(copy.to, copy.from, copy.size);
  return ACL_SUCCESS;
}
aclError aclrtMemcpy(void* to, size_t capacity, const void* from, size_t size, aclrtMemcpyKind kind) {
  if (int code = sim_require_device("aclrtMemcpy")) return code;
  Copy copy;
  if (int code = check_copy("aclrtMemcpy", to, capacity, from, size, kind, true, &copy)) return code;
  if (int code = sim_capture_allows("aclrtMemcpy")) return code;
  sim_count_host_wait();
  return copy_now("aclrtMemcpy", copy);
}
// CANN makes a copy of memory that is not pinned a synchronization of the stream and a copy by the host, which no
// capture can have.
static int copy_pageable(const char* call, const Copy& copy, aclrtStream stream) {
  if (sim::fault::on()) [[unlikely]]
    if (int code = sim_fault_call(call)) return code;
  constexpr int kBlocksAsync = 107041;  // ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC, which older headers lack
  const int code = sim_stream_synchronize(stream, -1);
  if (code == ACL_ERROR_RT_STREAM_CAPTURED)
    return RT_INVALID(call, "within a capture, of the host's memory only what aclrtMallocHost gave");
  if (code) return code;
  if (sim_capture_allows(call)) {
    const std::string why = sim_error_message();
    return sim_fail(kBlocksAsync, "%s; memory that is not pinned is copied at once", why.c_str());
  }
  return copy_now(call, copy);
}
aclError aclrtMemcpyAsync(void* to, size_t capacity, const void* from, size_t size, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  Copy copy;
  if (int code = check_copy("aclrtMemcpyAsync", to, capacity, from, size, kind, false, &copy)) return code;
  if (size && !copy.to_device && !copy.from_device)
    return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtMemcpyAsync: both sides are memory of the host");
  copy.to_pinned = size && !copy.to_device && sim_is_pinned(to);
  copy.from_pinned = size && !copy.from_device && sim_is_pinned(from);
  if (size && copy.to_device != copy.from_device && !copy.to_pinned && !copy.from_pinned)
    return copy_pageable("aclrtMemcpyAsync", copy, stream);
  return sim::acl::launch<run_copy>(stream, "aclrtMemcpyAsync", copy);
}
aclError aclrtMemcpyAsyncWithCondition(void* to, size_t capacity, const void* from, size_t size, aclrtMemcpyKind kind,
                                       aclrtStream stream) {
  return aclrtMemcpyAsync(to, capacity, from, size, kind, stream);
}
// Memory is that of aclrtMalloc or of aclrtMallocHost; of the host's the asynchronous call is no task.
SIM_API aclError aclrtMemsetD32(void* pointer, size_t capacity, uint32_t value, size_t count) {
  if (count > SIZE_MAX / 4) return invalid("aclrtMemsetD32", "N is too large");
  if (int code = check_fill("aclrtMemsetD32", pointer, capacity, count * 4)) return code;
  if (int code = sim_capture_allows("aclrtMemsetD32")) return code;
  sim_order_host("aclrtMemsetD32", pointer, count * 4, true);
  const Use use;
  Fill{pointer, value, count * 4, 4}();
  return ACL_SUCCESS;
}
SIM_API aclError aclrtMemsetD32Async(void* pointer, size_t capacity, uint32_t value, size_t count, aclrtStream stream) {
  if (sim_is_pinned(pointer)) return aclrtMemsetD32(pointer, capacity, value, count);
  if (count > SIZE_MAX / 4) return invalid("aclrtMemsetD32Async", "N is too large");
  if (int code = check_fill("aclrtMemsetD32Async", pointer, capacity, count * 4)) return code;
  return sim::acl::launch<run_fill>(stream, "aclrtMemsetD32Async", Fill{pointer, value, count * 4, 4});
}
// Fills memory of the host that no call of ACL's allocated, such as a variable.
static bool filled_on_host(void* pointer, int32_t value, size_t size) {
  return !sim_is_pinned(pointer) && sim_copy_takes(pointer, size, false) &&
         written_by_the_system(pointer, nullptr, size, char(value));
}

aclError aclrtMemset(void* pointer, size_t capacity, int32_t value, size_t size) {
  if (int code = sim_require_device("aclrtMemset")) return code;
  if (int code = sim_capture_allows("aclrtMemset")) return code;
  if (size && size <= capacity && filled_on_host(pointer, value, size)) return ACL_SUCCESS;
  if (int code = check_fill("aclrtMemset", pointer, capacity, size)) return code;
  sim_order_host("aclrtMemset", pointer, size, true);
  const Use use;
  memset(pointer, value, size);
  return ACL_SUCCESS;
}
aclError aclrtMemsetAsync(void* pointer, size_t capacity, int32_t value, size_t size, aclrtStream stream) {
  if (sim_is_pinned(pointer)) return aclrtMemset(pointer, capacity, value, size);
  if (int code = check_fill("aclrtMemsetAsync", pointer, capacity, size)) return code;
  return sim::acl::launch<run_fill>(stream, "aclrtMemsetAsync", Fill{pointer, uint32_t(value), size, 1});
}

// The cache of a simulated device holds nothing of its own: what is fetched ahead or written back is where it was.
aclError aclrtCmoAsync(void* pointer, size_t size, aclrtCmoType kind, aclrtStream stream) {
  constexpr const char* kCaller = "aclrtCmoAsync";
  if (!pointer) return ACL_INVALID(kCaller, "src is null");
  if (!size) return ACL_INVALID(kCaller, "size is 0, it has to be greater");
  if (kind == ACL_RT_CMO_TYPE_INVALID) return sim_unimplemented("aclrtCmoAsync with ACL_RT_CMO_TYPE_INVALID");
  if (kind < ACL_RT_CMO_TYPE_PREFETCH || kind > ACL_RT_CMO_TYPE_FLUSH)
    return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: cmoType %d", kCaller, int(kind));
  constexpr auto run = [](const Copy& cached) { return still_there(kCaller, "src", cached.from, cached.size, true); };
  return sim::acl::launch<run>(stream, kCaller, Copy{nullptr, pointer, size, false, true});
}

SIM_API aclError aclrtCheckMemType(void** addresses, uint32_t count, uint32_t types, uint32_t* result,
                                   uint32_t reserve) {
  constexpr uint32_t kDevice = 0x2, kDvpp = 0x8, kReserved = 0x10;  // ACL_RT_MEM_TYPE_…
  REQUIRE(addresses, result);
  RT_INVALID_IF(!count || !types || types & ~(kDevice | kDvpp | kReserved) || reserve,
                "size %u, memType 0x%x, reserve %u; allowed: more than 0, those of ACL_RT_MEM_TYPE_…, 0", count, types,
                reserve);
  *result = 1;
  for (uint32_t i = 0; i < count; ++i) {
    size_t left = 0;
    const bool device = sim_memory_device(addresses[i], &left) >= 0 && !sim::acl::managed(addresses[i], 1);
    const uint32_t type = sim_is_reserved(addresses[i]) ? kReserved : device ? kDevice : 0;
    if (!(types & type)) *result = 0;
  }
  return ACL_SUCCESS;
}
// Which of its schedulers a device uses: one alone, or both alike.
SIM_API aclError aclrtSetTsDevice(aclrtTsId which) {
  if (which == ACL_TS_ID_AICORE || which == ACL_TS_ID_AIVECTOR) return sim_require_device(__func__);
  return RT_INVALID(__func__, "tsId %d; allowed: 0, 1", int(which));
}

// ---- captured models ----
aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
  return sim_capture_begin_as(stream, int(mode));
}
aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* model) { return sim_capture_end(stream, model); }
SIM_API aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream) { return sim_group_begin(stream); }
SIM_API aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, void** group) { return sim_group_end(stream, group); }
SIM_API aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, void* group) {
  return sim_update_begin(stream, group);
}
SIM_API aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream) { return sim_update_end(stream); }
aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status, aclmdlRI* model) {
  int active = 0;
  void* handle = nullptr;
  if (int code = sim_capture_info(stream, &active, &handle)) return code;
  if (status) *status = active ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE : ACL_MODEL_RI_CAPTURE_STATUS_NONE;
  if (model) *model = handle;
  return ACL_SUCCESS;
}
aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
  int value = mode ? int(*mode) : 0;
  const int code = sim_capture_exchange_mode(mode ? &value : nullptr);
  if (!code) *mode = aclmdlRICaptureMode(value);
  return code;
}
aclError aclmdlRIExecuteAsync(aclmdlRI model, aclrtStream stream) { return sim_model_execute(model, stream); }

}  // extern "C"
