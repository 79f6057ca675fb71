// libascendcl: copies that are described in the device's memory, and many copies at once.
// hicann/runtime, docs/zh/api_ref/11-03_memory_copy_and_set.md.
#include <cstring>

#include "acl/tasks.h"
#include "core/order_api.h"

namespace {

struct CopyCall {
  void* to;
  const void* from;
  size_t size;
};

int within_a_device(const char* caller, aclrtMemcpyKind kind) {
  if (kind == ACL_MEMCPY_INNER_DEVICE_TO_DEVICE) return ACL_SUCCESS;
  return RT_INVALID(caller, "kind %d; allowed: ACL_MEMCPY_INNER_DEVICE_TO_DEVICE", int(kind));
}

int move(const char* caller, const char* problem, void* to, const void* from, size_t size) {
  if (!problem) problem = sim_memory_problem("source", from, size);
  if (!problem) problem = sim_memory_problem("destination", to, size);
  if (problem) return sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "%s: %s", caller, problem);
  if (!size) return ACL_SUCCESS;
  sim_order_touched(0, from, size);
  sim_order_touched(1, to, size);
  memmove(to, from, size);
  return ACL_SUCCESS;
}

// The description is read when the stream comes to it, as a device reads it.
int run(void* what) {
  const void* description = *static_cast<void**>(what);
  CopyCall copy{};
  const char* problem = sim_memory_problem("desc", description, sizeof copy);
  if (!problem) {
    sim_order_touched(0, description, sizeof copy);
    memcpy(&copy, description, sizeof copy);
  }
  return move("aclrtMemcpyAsyncWithDesc", problem, copy.to, copy.from, copy.size);
}

// Both addresses lie in device memory, and are read when the stream comes to it.
struct Moved {
  void** to;
  const void** from;
  size_t size, to_offset, from_offset;
};

int run_moved(void* what) {
  const auto& copy = *static_cast<const Moved*>(what);
  char* to = nullptr;
  const char* from = nullptr;
  const char* problem = sim_memory_problem("the destination's address", copy.to, sizeof to);
  if (!problem) problem = sim_memory_problem("the source's address", copy.from, sizeof from);
  if (!problem) {
    sim_order_touched(0, copy.to, sizeof to);
    sim_order_touched(0, copy.from, sizeof from);
    to = static_cast<char*>(*copy.to) + copy.to_offset;
    from = static_cast<const char*>(*copy.from) + copy.from_offset;
  }
  return move("aclrtMemcpyAsyncWithOffset", problem, to, from, copy.size);
}

// Nobody knows before it runs what it reads and writes.
template <typename T>
int launch_blind(aclrtStream stream, const char* name, T what, sim_run run) {
  return sim_launch_telling_later(stream, name, run, new T(what), sim::acl::drop<T>);
}

#ifdef OPHOOK_NEWER_ACL
// Calls `one` for each copy, with its kind: to the device or to the host, and all the same way. `failed`: the copy
// whose attributes are wrong, or SIZE_MAX.
template <typename One>
int each(const char* caller, void** to, size_t* capacities, void** from, size_t* sizes, size_t count,
         aclrtMemcpyBatchAttr* attributes, size_t* begins, size_t groups, size_t* failed, One one) {
  *failed = SIZE_MAX;
  for (const void* given :
       {static_cast<const void*>(to), static_cast<const void*>(capacities), static_cast<const void*>(from),
        static_cast<const void*>(sizes), static_cast<const void*>(attributes), static_cast<const void*>(begins)})
    if (!given) return RT_INVALID(caller, "an array is null");
  if (!count || !groups || groups > count || begins[0])
    return RT_INVALID(caller, "%zu copies, %zu attributes, the first of them from copy %zu on; each copy needs one",
                      count, groups, begins[0]);
  aclrtMemcpyKind kind = ACL_MEMCPY_HOST_TO_HOST;
  for (size_t group = 0; group < groups; ++group) {
    if (group && (begins[group] <= begins[group - 1] || begins[group] >= count))
      return RT_INVALID(caller, "attrsIndexes[%zu] is %zu", group, begins[group]);
    const bool to_device = attributes[group].dstLoc.type == ACL_MEM_LOCATION_TYPE_DEVICE;
    const auto own = to_device ? ACL_MEMCPY_HOST_TO_DEVICE : ACL_MEMCPY_DEVICE_TO_HOST;
    if (to_device == (attributes[group].srcLoc.type == ACL_MEM_LOCATION_TYPE_DEVICE) || (group && own != kind)) {
      *failed = begins[group];
      return RT_INVALID(caller, "the copies have to go from the host to a device, or all from a device to the host");
    }
    kind = own;
  }
  for (size_t i = 0; i < count; ++i)
    if (int code = one(to[i], capacities[i], from[i], sizes[i], kind)) return code;
  return ACL_SUCCESS;
}
auto on(aclrtStream stream) {
  return [stream](void* to, size_t capacity, const void* from, size_t size, aclrtMemcpyKind kind) {
    return aclrtMemcpyAsync(to, capacity, from, size, kind, stream);
  };
}
#endif

}  // namespace

extern "C" {

SIM_API aclError aclrtGetMemcpyDescSize(aclrtMemcpyKind kind, size_t* size) {
  REQUIRE(size);
  if (int code = within_a_device(__func__, kind)) return code;
  *size = 64;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtSetMemcpyDesc(void* description, aclrtMemcpyKind kind, void* from, void* to, size_t size,
                                    void* settings) {
  REQUIRE(description, from, to);
  if (int code = within_a_device(__func__, kind)) return code;
  RT_INVALID_IF(settings, "config has to be null");
  const CopyCall copy{to, from, size};
  return aclrtMemcpy(description, sizeof copy, &copy, sizeof copy, ACL_MEMCPY_HOST_TO_DEVICE);
}
SIM_API aclError aclrtCmoGetDescSize(size_t* size) {
  REQUIRE(size);
  *size = 64;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtCmoSetDesc(void* description, void* source, size_t size) {
  REQUIRE(description, source);
  RT_INVALID_IF(!size, "size is 0");
  const CopyCall fetch{nullptr, source, size};
  return aclrtMemcpy(description, sizeof fetch, &fetch, sizeof fetch, ACL_MEMCPY_HOST_TO_DEVICE);
}
SIM_API aclError aclrtCmoAsyncWithDesc(void* description, aclrtCmoType kind, aclrtStream stream, const void* reserve) {
  REQUIRE(description);
  RT_INVALID_IF(reserve, "reserve has to be null");
  if (kind != ACL_RT_CMO_TYPE_PREFETCH)
    return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: cmoType %d; allowed: ACL_RT_CMO_TYPE_PREFETCH", __func__,
                    int(kind));
  return launch_blind(stream, __func__, description, [](void* what) {
    const void* address = *static_cast<void**>(what);
    CopyCall fetch{};
    const char* problem = sim_memory_problem("cmoDesc", address, sizeof fetch);
    if (!problem) {
      sim_order_touched(0, address, sizeof fetch);
      memcpy(&fetch, address, sizeof fetch);
      problem = sim_memory_problem("src", fetch.from, fetch.size);
    }
    return problem ? sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "aclrtCmoAsyncWithDesc: %s", problem) : int(ACL_SUCCESS);
  });
}
SIM_API aclError aclrtMemcpyAsyncWithOffset(void** to, size_t most, size_t to_offset, const void** from, size_t size,
                                            size_t from_offset, aclrtMemcpyKind kind, aclrtStream stream) {
  if (!size) return ACL_SUCCESS;
  REQUIRE(to, from);
  if (int code = within_a_device(__func__, kind)) return code;
  RT_INVALID_IF(size > most, "%zu bytes into %zu", size, most);
  return launch_blind(stream, __func__, Moved{to, from, size, to_offset, from_offset}, run_moved);
}
SIM_API aclError aclrtMemcpyAsyncWithDesc(void* description, aclrtMemcpyKind kind, aclrtStream stream) {
  REQUIRE(description);
  if (int code = within_a_device(__func__, kind)) return code;
  return launch_blind(stream, __func__, description, run);
}

#ifdef OPHOOK_NEWER_ACL
SIM_API aclError aclrtMemcpyBatch(void** to, size_t* capacities, void** from, size_t* sizes, size_t count,
                                  aclrtMemcpyBatchAttr* attributes, size_t* begins, size_t groups, size_t* failed) {
  REQUIRE(failed);
  return each(__func__, to, capacities, from, sizes, count, attributes, begins, groups, failed, aclrtMemcpy);
}
SIM_API aclError aclrtMemcpyBatchV2(void** to, size_t* capacities, void** from, size_t* sizes, size_t count,
                                    aclrtMemcpyBatchAttr* attributes, size_t* begins, size_t groups) {
  size_t failed;
  return each(__func__, to, capacities, from, sizes, count, attributes, begins, groups, &failed, aclrtMemcpy);
}
SIM_API aclError aclrtMemcpyBatchAsync(void** to, size_t* capacities, void** from, size_t* sizes, size_t count,
                                       aclrtMemcpyBatchAttr* attributes, size_t* begins, size_t groups, size_t* failed,
                                       aclrtStream stream) {
  REQUIRE(failed);
  return each(__func__, to, capacities, from, sizes, count, attributes, begins, groups, failed, on(stream));
}
SIM_API aclError aclrtMemcpyBatchAsyncV2(void** to, size_t* capacities, void** from, size_t* sizes, size_t count,
                                         aclrtMemcpyBatchAttr* attributes, size_t* begins, size_t groups,
                                         aclrtStream stream) {
  size_t failed;
  return each(__func__, to, capacities, from, sizes, count, attributes, begins, groups, &failed, on(stream));
}
#endif

}  // extern "C"
