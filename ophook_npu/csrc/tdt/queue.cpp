// libacl_tdt_queue: queues of buffers within a process, and routes between them. CANN's pages "Shared queue management"
// and "Shared buffer management". Queues of other processes are not simulated: granting and attaching are refused.
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "acl/acl_tdt_queue.h"
#include "acl/refuse.h"
#include "core/forever.h"

namespace {

constexpr uint32_t kUsualDepth = 8, kLeastDepth = 2, kMostDepth = 8192;
constexpr size_t kLongestName = 127, kUserData = 96, kMostParts = 128;

struct Part {
  explicit Part(size_t bytes) : memory(bytes), length(bytes) {}
  std::vector<char> memory;
  size_t length;
  char user[kUserData] = {};
};
// What a handle stands for: parts in a chain; a copied reference shares them.
struct Buffer {
  std::vector<std::shared_ptr<Part>> chain;
};

struct Queue {
  std::string name;
  uint32_t depth;
  std::deque<std::unique_ptr<Buffer>> buffers;
};

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<uint32_t, Queue> queues;
  uint32_t next = 0;
  std::map<std::pair<uint32_t, uint32_t>, int32_t> routes;
  std::map<void*, std::unique_ptr<Buffer>> buffers;  // those that the program has
};
State& state() { return sim::forever<State>(); }

int bad(const char* caller, const char* what) { return ACL_INVALID(caller, "%s", what); }
int no_queue(const char* caller, uint32_t id) { return RT_INVALID(caller, "no queue %u", id); }

Buffer* find(const char* caller, acltdtBuf handle) {
  const auto found = state().buffers.find(handle);
  if (found != state().buffers.end()) return found->second.get();
  bad(caller, "the buffer was not made by acltdtAllocBuf, or is in a queue");
  return nullptr;
}

std::unique_ptr<Buffer> copy(const Buffer& from) {
  auto made = std::make_unique<Buffer>();
  for (const auto& part : from.chain) made->chain.push_back(part);
  return made;
}

// With the mutex held: into the queue, and along its routes.
void arrive(uint32_t id, std::unique_ptr<Buffer> buffer) {
  bool routed = false;
  for (const auto& [route, status] : state().routes) {
    if (route.first != id || !state().queues.count(route.second)) continue;
    routed = true;
    arrive(route.second, copy(*buffer));
  }
  if (!routed) state().queues[id].buffers.push_back(std::move(buffer));
  state().changed.notify_all();
}

template <typename Ready>
bool wait(std::unique_lock<std::mutex>& lock, int32_t timeout_ms, Ready ready) {
  if (timeout_ms >= 0) return state().changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), ready);
  state().changed.wait(lock, ready);
  return true;
}

int enqueue(const char* caller, uint32_t id, std::unique_ptr<Buffer>& buffer, int32_t timeout_ms) {
  std::unique_lock lock(state().mutex);
  const auto there = [&] { return state().queues.find(id); };
  if (there() == state().queues.end()) return no_queue(caller, id);
  const auto ready = [&] {
    return there() == state().queues.end() || there()->second.buffers.size() < there()->second.depth;
  };
  if (!wait(lock, timeout_ms, ready)) return sim_fail(ACL_ERROR_RT_QUEUE_FULL, "%s: queue %u is full", caller, id);
  if (there() == state().queues.end()) return no_queue(caller, id);
  arrive(id, std::move(buffer));
  return ACL_SUCCESS;
}

int dequeue(const char* caller, uint32_t id, int32_t timeout_ms, std::unique_ptr<Buffer>* out) {
  std::unique_lock lock(state().mutex);
  const auto there = [&] { return state().queues.find(id); };
  if (there() == state().queues.end()) return no_queue(caller, id);
  const auto ready = [&] { return there() == state().queues.end() || !there()->second.buffers.empty(); };
  if (!wait(lock, timeout_ms, ready)) return sim_fail(ACL_ERROR_RT_QUEUE_EMPTY, "%s: queue %u is empty", caller, id);
  if (there() == state().queues.end()) return no_queue(caller, id);
  auto& buffers = there()->second.buffers;
  *out = std::move(buffers.front());
  buffers.pop_front();
  state().changed.notify_all();
  return ACL_SUCCESS;
}

// `use` of so many bytes of the user's data.
template <typename Use>
int user_data(const char* caller, acltdtBuf handle, const void* memory, size_t size, size_t offset, Use use) {
  std::lock_guard lock(state().mutex);
  if (!memory) return bad(caller, "null pointer");
  Buffer* buffer = find(caller, handle);
  if (!buffer) return ACL_ERROR_INVALID_PARAM;
  if (offset > kUserData || size > kUserData - offset) return bad(caller, "size and offset leave the 96 bytes");
  use(buffer->chain.front()->user + offset);
  return ACL_SUCCESS;
}

template <typename T>
int take(const char* caller, size_t length, const void* from, T* to) {
  if (length != sizeof(T) || !from) return bad(caller, "a null pointer, or a length that is not the parameter's");
  memcpy(to, from, sizeof(T));
  return ACL_SUCCESS;
}
template <typename T>
int give(const char* caller, size_t length, size_t* returned, void* to, T value) {
  if (length < sizeof(T) || !to || !returned)
    return bad(caller, "a null pointer, or a length that is not the parameter's");
  memcpy(to, &value, sizeof value);
  *returned = sizeof value;
  return ACL_SUCCESS;
}

}  // namespace

struct tagMemQueueAttr {
  std::string name;
  uint32_t depth = kUsualDepth;
};
struct acltdtQueueRoute {
  uint32_t from, to;
  int32_t status = ACL_TDT_QUEUE_ROUTE_UNBIND;
};
struct acltdtQueueRouteList {
  std::vector<acltdtQueueRoute> routes;
};
struct acltdtQueueRouteQueryInfo {
  acltdtQueueRouteQueryMode mode = ACL_TDT_QUEUE_ROUTE_QUERY_SRC;
  bool has_mode = false, has_from = false, has_to = false;
  uint32_t from = 0, to = 0;
};

extern "C" {

// ---- attributes ----
acltdtQueueAttr* acltdtCreateQueueAttr() { return new acltdtQueueAttr; }
aclError acltdtDestroyQueueAttr(const acltdtQueueAttr* attributes) {
  return sim::acl::destroyed(__func__, "attr", attributes);
}
aclError acltdtSetQueueAttr(acltdtQueueAttr* attributes, acltdtQueueAttrType type, size_t length, const void* value) {
  if (!attributes || !value) return bad(__func__, "null pointer");
  if (type == ACL_TDT_QUEUE_DEPTH_UINT32) return take(__func__, length, value, &attributes->depth);
  const char* name = nullptr;
  if (type != ACL_TDT_QUEUE_NAME_PTR) return bad(__func__, "no such attribute");
  if (int code = take(__func__, length, value, &name)) return code;
  if (!name || strlen(name) > kLongestName) return bad(__func__, "the name is null, or longer than 127 letters");
  attributes->name = name;
  return ACL_SUCCESS;
}
aclError acltdtGetQueueAttr(const acltdtQueueAttr* attributes, acltdtQueueAttrType type, size_t length,
                            size_t* returned, void* value) {
  if (!attributes) return bad(__func__, "null pointer");
  if (type == ACL_TDT_QUEUE_DEPTH_UINT32) return give(__func__, length, returned, value, attributes->depth);
  if (type != ACL_TDT_QUEUE_NAME_PTR) return bad(__func__, "no such attribute");
  return give(__func__, length, returned, value, attributes->name.c_str());
}

// ---- queues ----
aclError acltdtCreateQueue(const acltdtQueueAttr* attributes, uint32_t* id) {
  if (!id) return bad(__func__, "qid is null");
  int32_t device = 0;
  if (int code = sim_get_device(&device)) return code;
  const acltdtQueueAttr asked = attributes ? *attributes : acltdtQueueAttr{};
  RT_INVALID_IF(asked.depth < kLeastDepth || asked.depth > kMostDepth, "depth %u; allowed: %u to %u", asked.depth,
                kLeastDepth, kMostDepth);
  std::lock_guard lock(state().mutex);
  for (const auto& [other, queue] : state().queues)
    if (!asked.name.empty() && queue.name == asked.name) return bad(__func__, "there is a queue of this name");
  *id = state().next++;
  state().queues[*id] = {asked.name, asked.depth, {}};
  return ACL_SUCCESS;
}
aclError acltdtDestroyQueue(uint32_t id) {
  std::lock_guard lock(state().mutex);
  for (const auto& [route, status] : state().routes)
    if (route.first == id || route.second == id) return bad(__func__, "the queue is bound to a route; unbind it first");
  if (!state().queues.erase(id)) return no_queue(__func__, id);
  state().changed.notify_all();
  return ACL_SUCCESS;
}
aclError acltdtGrantQueue(uint32_t, int32_t, uint32_t, int32_t) {
  return sim_unimplemented("acltdtGrantQueue (queues of several processes)");
}
aclError acltdtAttachQueue(uint32_t, int32_t, uint32_t*) {
  return sim_unimplemented("acltdtAttachQueue (queues of several processes)");
}

aclError acltdtEnqueue(uint32_t id, acltdtBuf handle, int32_t timeout_ms) {
  std::unique_ptr<Buffer> buffer;
  {
    std::lock_guard lock(state().mutex);
    if (!find(__func__, handle)) return ACL_ERROR_INVALID_PARAM;
    buffer = std::move(state().buffers[handle]);
    state().buffers.erase(handle);
  }
  const int code = enqueue(__func__, id, buffer, timeout_ms);
  if (buffer) {  // it stays the program's
    std::lock_guard lock(state().mutex);
    state().buffers[handle] = std::move(buffer);
  }
  return code;
}
aclError acltdtDequeue(uint32_t id, acltdtBuf* handle, int32_t timeout_ms) {
  if (!handle) return bad(__func__, "buf is null");
  std::unique_ptr<Buffer> buffer;
  if (int code = dequeue(__func__, id, timeout_ms, &buffer)) return code;
  std::lock_guard lock(state().mutex);
  *handle = buffer.get();
  state().buffers[buffer.get()] = std::move(buffer);
  return ACL_SUCCESS;
}
aclError acltdtEnqueueData(uint32_t id, const void* data, size_t size, const void* user, size_t user_size,
                           int32_t timeout_ms, uint32_t) {
  if (!data || !size || user_size > kUserData || (user_size && !user))
    return bad(__func__, "no data, or more than 96 bytes of the user's");
  auto buffer = std::make_unique<Buffer>();
  buffer->chain.push_back(std::make_shared<Part>(size));
  if (int code = aclrtMemcpy(buffer->chain[0]->memory.data(), size, data, size, ACL_MEMCPY_DEFAULT)) return code;
  if (user) memcpy(buffer->chain[0]->user, user, user_size);
  return enqueue(__func__, id, buffer, timeout_ms);
}
aclError acltdtDequeueData(uint32_t id, void* data, size_t size, size_t* returned, void* user, size_t user_size,
                           int32_t timeout_ms) {
  if (!data || !returned || user_size > kUserData || (user_size && !user))
    return bad(__func__, "a null pointer, or more than 96 bytes of the user's");
  std::unique_ptr<Buffer> buffer;
  if (int code = dequeue(__func__, id, timeout_ms, &buffer)) return code;
  const Part& part = *buffer->chain.front();
  *returned = part.length;
  if (part.length > size) return bad(__func__, "the data is larger than the room for it");
  if (user) memcpy(user, part.user, user_size);
  return aclrtMemcpy(data, size, part.memory.data(), part.length, ACL_MEMCPY_DEFAULT);
}

// ---- routes ----
acltdtQueueRoute* acltdtCreateQueueRoute(uint32_t from, uint32_t to) { return new acltdtQueueRoute{from, to}; }
aclError acltdtDestroyQueueRoute(const acltdtQueueRoute* route) {
  return sim::acl::destroyed(__func__, "route", route);
}
aclError acltdtGetQueueRouteParam(const acltdtQueueRoute* route, acltdtQueueRouteParamType type, size_t length,
                                  size_t* returned, void* value) {
  if (!route) return bad(__func__, "null pointer");
  switch (type) {
    case ACL_TDT_QUEUE_ROUTE_SRC_UINT32: return give(__func__, length, returned, value, route->from);
    case ACL_TDT_QUEUE_ROUTE_DST_UINT32: return give(__func__, length, returned, value, route->to);
    case ACL_TDT_QUEUE_ROUTE_STATUS_INT32: return give(__func__, length, returned, value, route->status);
    default: return bad(__func__, "no such parameter");
  }
}
acltdtQueueRouteList* acltdtCreateQueueRouteList() { return new acltdtQueueRouteList; }
aclError acltdtDestroyQueueRouteList(const acltdtQueueRouteList* list) {
  return sim::acl::destroyed(__func__, "routeList", list);
}
aclError acltdtAddQueueRoute(acltdtQueueRouteList* list, const acltdtQueueRoute* route) {
  if (!list || !route) return bad(__func__, "null pointer");
  list->routes.push_back(*route);
  return ACL_SUCCESS;
}
aclError acltdtGetQueueRoute(const acltdtQueueRouteList* list, size_t index, acltdtQueueRoute* route) {
  if (!list || !route || index >= list->routes.size()) return bad(__func__, "a null pointer, or no such route");
  *route = list->routes[index];
  return ACL_SUCCESS;
}
size_t acltdtGetQueueRouteNum(const acltdtQueueRouteList* list) { return list ? list->routes.size() : 0; }
aclError acltdtBindQueueRoutes(acltdtQueueRouteList* list) {
  if (!list || list->routes.empty()) return bad(__func__, "no routes");
  std::lock_guard lock(state().mutex);
  for (acltdtQueueRoute& route : list->routes) {
    if (!state().queues.count(route.from)) return no_queue(__func__, route.from);
    if (!state().queues.count(route.to)) return no_queue(__func__, route.to);
    // A round trip would be without an end.
    if (route.from == route.to || state().routes.count({route.to, route.from}))
      return bad(__func__, "the route leads back to its queue");
    state().routes[{route.from, route.to}] = route.status = ACL_TDT_QUEUE_ROUTE_BIND;
  }
  return ACL_SUCCESS;
}
aclError acltdtUnbindQueueRoutes(acltdtQueueRouteList* list) {
  if (!list || list->routes.empty()) return bad(__func__, "no routes");
  std::lock_guard lock(state().mutex);
  for (acltdtQueueRoute& route : list->routes) {
    if (!state().routes.erase({route.from, route.to})) return bad(__func__, "a route is not bound");
    route.status = ACL_TDT_QUEUE_ROUTE_UNBIND;
  }
  return ACL_SUCCESS;
}
acltdtQueueRouteQueryInfo* acltdtCreateQueueRouteQueryInfo() { return new acltdtQueueRouteQueryInfo; }
aclError acltdtDestroyQueueRouteQueryInfo(const acltdtQueueRouteQueryInfo* info) {
  return sim::acl::destroyed(__func__, "queryInfo", info);
}
aclError acltdtSetQueueRouteQueryInfo(acltdtQueueRouteQueryInfo* info, acltdtQueueRouteQueryInfoParamType type,
                                      size_t length, const void* value) {
  if (!info) return bad(__func__, "null pointer");
  switch (type) {
    case ACL_TDT_QUEUE_ROUTE_QUERY_MODE_ENUM: info->has_mode = true; return take(__func__, length, value, &info->mode);
    case ACL_TDT_QUEUE_ROUTE_QUERY_SRC_ID_UINT32:
      info->has_from = true;
      return take(__func__, length, value, &info->from);
    case ACL_TDT_QUEUE_ROUTE_QUERY_DST_ID_UINT32: info->has_to = true; return take(__func__, length, value, &info->to);
    default: return bad(__func__, "no such parameter");
  }
}
aclError acltdtQueryQueueRoutes(const acltdtQueueRouteQueryInfo* info, acltdtQueueRouteList* list) {
  if (!info || !list) return bad(__func__, "null pointer");
  const bool by_from = info->mode != ACL_TDT_QUEUE_ROUTE_QUERY_DST, by_to = info->mode != ACL_TDT_QUEUE_ROUTE_QUERY_SRC;
  const bool broken = info->mode == ACL_TDT_QUEUE_ROUTE_QUERY_ABNORMAL;
  if (!info->has_mode || (!broken && ((by_from && !info->has_from) || (by_to && !info->has_to))))
    return bad(__func__, "the mode, or a queue that it asks for, is not set");
  list->routes.clear();
  if (broken) return ACL_SUCCESS;  // a route of this process does not break
  std::lock_guard lock(state().mutex);
  for (const auto& [route, status] : state().routes)
    if ((!by_from || route.first == info->from) && (!by_to || route.second == info->to))
      list->routes.push_back({route.first, route.second, status});
  return ACL_SUCCESS;
}

// ---- buffers ----
aclError acltdtAllocBuf(size_t size, uint32_t type, acltdtBuf* handle) {
  if (!size || !handle) return bad(__func__, "a null pointer, or no size");
  if (type != ACL_TDT_NORMAL_MEM) return sim_unimplemented("acltdtAllocBuf of memory for DVPP");
  auto buffer = std::make_unique<Buffer>();
  buffer->chain.push_back(std::make_shared<Part>(size));
  std::lock_guard lock(state().mutex);
  *handle = buffer.get();
  state().buffers[buffer.get()] = std::move(buffer);
  return ACL_SUCCESS;
}
aclError acltdtFreeBuf(acltdtBuf handle) {
  std::lock_guard lock(state().mutex);
  return state().buffers.erase(handle) ? ACL_SUCCESS
                                       : bad(__func__, "the buffer was not made by acltdtAllocBuf, or is in a queue");
}
aclError acltdtGetBufData(const acltdtBuf handle, void** data, size_t* size) {
  if (!data || !size) return bad(__func__, "null pointer");
  std::lock_guard lock(state().mutex);
  Buffer* buffer = find(__func__, handle);
  if (!buffer) return ACL_ERROR_INVALID_PARAM;
  *data = buffer->chain.front()->memory.data(), *size = buffer->chain.front()->memory.size();
  return ACL_SUCCESS;
}
aclError acltdtSetBufDataLen(acltdtBuf handle, size_t length) {
  std::lock_guard lock(state().mutex);
  Buffer* buffer = find(__func__, handle);
  if (!buffer) return ACL_ERROR_INVALID_PARAM;
  if (length > buffer->chain.front()->memory.size()) return bad(__func__, "longer than the buffer");
  buffer->chain.front()->length = length;
  return ACL_SUCCESS;
}
aclError acltdtGetBufDataLen(acltdtBuf handle, size_t* length) {
  if (!length) return bad(__func__, "null pointer");
  std::lock_guard lock(state().mutex);
  Buffer* buffer = find(__func__, handle);
  if (!buffer) return ACL_ERROR_INVALID_PARAM;
  *length = buffer->chain.front()->length;
  return ACL_SUCCESS;
}
aclError acltdtCopyBufRef(const acltdtBuf handle, acltdtBuf* made) {
  if (!made) return bad(__func__, "null pointer");
  std::lock_guard lock(state().mutex);
  Buffer* buffer = find(__func__, handle);
  if (!buffer) return ACL_ERROR_INVALID_PARAM;
  auto second = copy(*buffer);
  *made = second.get();
  state().buffers[second.get()] = std::move(second);
  return ACL_SUCCESS;
}
aclError acltdtAppendBufChain(acltdtBuf head, acltdtBuf handle) {
  std::lock_guard lock(state().mutex);
  Buffer *first = find(__func__, head), *second = find(__func__, handle);
  if (!first || !second) return ACL_ERROR_INVALID_PARAM;
  if (first == second || first->chain.size() + second->chain.size() > kMostParts)
    return bad(__func__, "the buffer itself, or more than 128 buffers in the chain");
  for (const auto& part : second->chain) first->chain.push_back(part);
  state().buffers.erase(handle);  // it goes with the chain
  return ACL_SUCCESS;
}
aclError acltdtGetBufChainNum(acltdtBuf handle, uint32_t* count) {
  if (!count) return bad(__func__, "null pointer");
  std::lock_guard lock(state().mutex);
  Buffer* buffer = find(__func__, handle);
  if (!buffer) return ACL_ERROR_INVALID_PARAM;
  *count = uint32_t(buffer->chain.size());
  return ACL_SUCCESS;
}
aclError acltdtGetBufUserData(const acltdtBuf handle, void* to, size_t size, size_t offset) {
  return user_data(__func__, handle, to, size, offset, [&](const char* user) { memcpy(to, user, size); });
}
aclError acltdtSetBufUserData(acltdtBuf handle, const void* from, size_t size, size_t offset) {
  return user_data(__func__, handle, from, size, offset, [&](char* user) { memcpy(user, from, size); });
}
aclError acltdtGetBufFromChain(acltdtBuf, uint32_t, acltdtBuf*) { return sim_unimplemented("acltdtGetBufFromChain"); }

}  // extern "C"
