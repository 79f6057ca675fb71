// libascendcl: memory that streams order (aclrtMemPool…). An allocation is there when the call returns. What is freed
// goes back to the pool when its stream comes to it; what the same stream asks for after that can have it at once. As
// much of what nobody uses as the threshold says stays in the pool.
// hicann/runtime, docs/zh/api_ref/11-10_ordered_stream_memory_allocation.md. A device gives the rest back at the next
// synchronization, here it goes when the stream comes to the call.
#include <map>
#include <memory>
#include <mutex>

#include "acl/tasks.h"
#include "core/forever.h"
#include "core/handles.h"
#if __has_include("acl/acl_rt_memory_soma.h")
#include "acl/acl_rt_memory_soma.h"

namespace {

struct Block {
  size_t size;
  bool used = true;
  bool waits = false;        // freed, and its stream has yet to come to that
  void* freed_on = nullptr;  // the stream then
  uint64_t round = 0;        // of its use: a task that frees an earlier one does nothing
};

struct Pool {
  std::mutex mutex;
  int device;
  size_t limit;
  std::map<void*, Block> blocks;
  uint32_t reuse[3] = {1, 1, 1};
  uint64_t threshold = 0, reserved = 0, most_reserved = 0, used = 0, most_used = 0;
  bool gone = false;

  // Call with the mutex held. Gives back what nobody uses and no stream has yet to come to, down to so many bytes.
  int trim(size_t keep) {
    for (auto block = blocks.begin(); block != blocks.end();) {
      if (block->second.used || block->second.waits || reserved - used <= keep) {
        ++block;
        continue;
      }
      if (int code = sim_free(block->first)) return code;
      reserved -= block->second.size;
      block = blocks.erase(block);
    }
    return ACL_SUCCESS;
  }
};
using Pools = sim::Handles<Pool>;

std::mutex owners_mutex;
std::map<void*, std::shared_ptr<Pool>>& owners() {
  return sim::forever<std::map<void*, std::shared_ptr<Pool>>>();
}  // of what is in use

int find(const char* caller, void* handle, std::shared_ptr<Pool>* out) {
  *out = Pools::all().find(handle);
  return *out ? int(ACL_SUCCESS) : RT_INVALID(caller, "%p was not made by aclrtMemPoolCreate, or is gone", handle);
}

struct Returned {
  std::shared_ptr<Pool> pool;
  void* pointer;
  uint64_t round;
};

int come_back(const Returned& returned) {
  Pool& pool = *returned.pool;
  std::lock_guard lock(pool.mutex);
  const auto block = pool.blocks.find(returned.pointer);
  if (block == pool.blocks.end() || block->second.used || block->second.round != returned.round) return ACL_SUCCESS;
  block->second.waits = false;
  return pool.trim(pool.gone ? 0 : pool.threshold);
}

}  // namespace

extern "C" {

SIM_API aclError aclrtMemPoolCreate(aclrtMemPool* out, const aclrtMemPoolProps* wanted) {
  REQUIRE(out, wanted);
  RT_INVALID_IF(
      wanted->allocType != ACL_MEM_ALLOCATION_TYPE_PINNED || wanted->location.type != ACL_MEM_LOCATION_TYPE_DEVICE,
      "allocType %d, location.type %d; allowed: ACL_MEM_ALLOCATION_TYPE_PINNED, "
      "ACL_MEM_LOCATION_TYPE_DEVICE",
      int(wanted->allocType), int(wanted->location.type));
  if (std::any_of(std::begin(wanted->reserved), std::end(wanted->reserved), [](unsigned char byte) { return byte; }))
    return RT_INVALID(__func__, "reserved has to be zeros");
  if (int code = sim_check_device(__func__, wanted->location.id)) return code;
  auto pool = std::make_shared<Pool>();
  pool->device = int(wanted->location.id);
  pool->limit = wanted->maxSize;
  *out = Pools::all().add(std::move(pool));
  return ACL_SUCCESS;
}

// What is in use stays so until it is freed.
SIM_API aclError aclrtMemPoolDestroy(const aclrtMemPool handle) {
  const auto pool = Pools::all().take(handle);
  RT_INVALID_IF(!pool, "%p was not made by aclrtMemPoolCreate, or is gone", handle);
  std::lock_guard lock(pool->mutex);
  pool->gone = true;
  return pool->trim(0);
}

SIM_API aclError aclrtMemPoolMallocAsync(void** out, size_t size, aclrtMemPool handle, aclrtStream stream) {
  REQUIRE(out);
  FIND(Pool, pool, find, __func__, handle);
  RT_INVALID_IF(!size, "size is 0");
  if (int code = sim::acl::check_stream(stream)) return code;
  std::lock_guard lock(pool->mutex);
  // The smallest that is large enough, of what this stream freed or no stream has yet to come to.
  auto best = pool->blocks.end();
  for (auto block = pool->blocks.begin(); block != pool->blocks.end(); ++block) {
    const Block& one = block->second;
    if (one.used || one.size < size || (one.waits && one.freed_on != stream)) continue;
    if (best == pool->blocks.end() || one.size < best->second.size) best = block;
  }
  if (best == pool->blocks.end()) {
    const size_t whole = size > SIZE_MAX - 511 ? size : (size + 511) / 512 * 512;
    if (pool->limit && whole > pool->limit - std::min<uint64_t>(pool->limit, pool->reserved))
      if (int code = pool->trim(0)) return code;
    if (pool->limit && whole > pool->limit - std::min<uint64_t>(pool->limit, pool->reserved))
      return sim_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: %zu bytes asked for, %llu of %zu in the pool are taken",
                      __func__, size, (unsigned long long)pool->reserved, pool->limit);
    int current = 0;
    if (int code = sim_get_device(&current)) return code;
    RT_INVALID_IF(current != pool->device, "the pool is of device %d, the thread uses device %d", pool->device,
                  current);
    void* made = nullptr;
    if (int code = sim_malloc_by(__func__, __builtin_return_address(0), whole, whole, &made)) return code;
    best = pool->blocks.emplace(made, Block{whole}).first;
    pool->reserved += whole;
    pool->most_reserved = std::max(pool->most_reserved, pool->reserved);
  }
  Block& block = best->second;
  block.used = true, block.waits = false, ++block.round;
  pool->used += block.size;
  pool->most_used = std::max(pool->most_used, pool->used);
  *out = best->first;
  std::lock_guard of_owners(owners_mutex);
  owners()[best->first] = pool;
  return ACL_SUCCESS;
}

SIM_API aclError aclrtMemPoolFreeAsync(void* pointer, aclrtStream stream) {
  REQUIRE(pointer);
  if (int code = sim::acl::check_stream(stream)) return code;
  std::shared_ptr<Pool> pool;
  {
    std::lock_guard lock(owners_mutex);
    const auto owner = owners().find(pointer);
    RT_INVALID_IF(owner == owners().end(), "%p is not in use from a pool, or was freed before", pointer);
    pool = std::move(owner->second);
    owners().erase(owner);
  }
  uint64_t round = 0;
  {
    std::lock_guard lock(pool->mutex);
    Block& block = pool->blocks.at(pointer);
    block.used = false, block.waits = true, block.freed_on = stream, round = block.round;
    pool->used -= block.size;
  }
  return sim::acl::launch<come_back>(stream, __func__, Returned{pool, pointer, round});
}

SIM_API aclError aclrtMemPoolTrimTo(aclrtMemPool handle, size_t keep) {
  FIND(Pool, pool, find, __func__, handle);
  std::lock_guard lock(pool->mutex);
  return pool->trim(keep);
}

SIM_API aclError aclrtMemPoolSetAttr(aclrtMemPool handle, aclrtMemPoolAttr attribute, void* value) {
  REQUIRE(value);
  FIND(Pool, pool, find, __func__, handle);
  std::lock_guard lock(pool->mutex);
  const uint64_t number = attribute > ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES
                              ? *static_cast<const uint64_t*>(value)
                              : *static_cast<const uint32_t*>(value);
  switch (attribute) {
    case ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC:
    case ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      if (number > 1) break;
      pool->reuse[attribute - 1] = uint32_t(number);
      return ACL_SUCCESS;
    case ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD: pool->threshold = number; return ACL_SUCCESS;
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH:
      if (number) break;
      pool->most_reserved = pool->reserved;
      return ACL_SUCCESS;
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH:
      if (number) break;
      pool->most_used = pool->used;
      return ACL_SUCCESS;
    default: break;
  }
  return RT_INVALID(__func__, "attribute %d cannot be set to %llu", int(attribute), (unsigned long long)number);
}

SIM_API aclError aclrtMemPoolGetAttr(aclrtMemPool handle, aclrtMemPoolAttr attribute, void* value) {
  REQUIRE(value);
  FIND(Pool, pool, find, __func__, handle);
  std::lock_guard lock(pool->mutex);
  const auto say = [value](uint64_t number) { return *static_cast<uint64_t*>(value) = number, int(ACL_SUCCESS); };
  switch (attribute) {
    case ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC:
    case ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *static_cast<uint32_t*>(value) = pool->reuse[attribute - 1];
      return ACL_SUCCESS;
    case ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD: return say(pool->threshold);
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT: return say(pool->reserved);
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH: return say(pool->most_reserved);
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT: return say(pool->used);
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH: return say(pool->most_used);
  }
  return RT_INVALID(__func__, "attribute %d", int(attribute));
}

}  // extern "C"
#endif
