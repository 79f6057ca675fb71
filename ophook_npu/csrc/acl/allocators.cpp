// libascendcl: allocators that a program registers for a stream. CANN's page "Custom memory allocator": they serve
// operators by type and models of dynamic shapes, which take no memory here that an allocator could give.
#include <map>
#include <memory>
#include <mutex>

#include "acl/acl_rt_allocator.h"
#include "acl/tasks.h"
#include "core/handles.h"

namespace {

struct Allocator {
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc alloc = nullptr;
  aclrtAllocatorFreeFunc free = nullptr;
  aclrtAllocatorAllocAdviseFunc advise = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
};
using Allocators = sim::Handles<Allocator>;

std::mutex allocators_mutex;
std::map<void*, std::pair<void*, Allocator>> of_stream;  // the description, and what it said when it was registered

int no_description(const char* caller, void* handle) {
  return ACL_INVALID(caller, "%p was not made by aclrtAllocatorCreateDesc", handle);
}

template <typename T>
int set(const char* caller, aclrtAllocatorDesc handle, T Allocator::* member, T value) {
  if (!value) return sim::acl::missing(caller, "the second argument", ACL_ERROR_INVALID_PARAM);
  const auto found = Allocators::all().find(handle);
  if (!found) return no_description(caller, handle);
  (*found).*member = value;
  return ACL_SUCCESS;
}

}  // namespace

extern "C" {

SIM_API aclrtAllocatorDesc aclrtAllocatorCreateDesc() { return Allocators::all().add(std::make_shared<Allocator>()); }
SIM_API aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc handle) {
  return Allocators::all().take(handle) ? int(ACL_SUCCESS) : no_description(__func__, handle);
}
SIM_API aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc handle, aclrtAllocator object) {
  return set(__func__, handle, &Allocator::object, object);
}
SIM_API aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc handle, aclrtAllocatorAllocFunc function) {
  return set(__func__, handle, &Allocator::alloc, function);
}
SIM_API aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc handle, aclrtAllocatorFreeFunc function) {
  return set(__func__, handle, &Allocator::free, function);
}
SIM_API aclError aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc handle,
                                                        aclrtAllocatorAllocAdviseFunc function) {
  return set(__func__, handle, &Allocator::advise, function);
}
SIM_API aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc handle,
                                                             aclrtAllocatorGetAddrFromBlockFunc function) {
  return set(__func__, handle, &Allocator::address, function);
}
SIM_API aclError aclrtAllocatorRegister(aclrtStream stream, aclrtAllocatorDesc handle) {
  if (!stream) return sim::acl::missing(__func__, "stream", ACL_ERROR_INVALID_PARAM);
  const auto found = Allocators::all().find(handle);
  if (!found) return no_description(__func__, handle);
  ACL_INVALID_IF(!found->object || !found->alloc || !found->free || !found->address,
                 "the description lacks the allocator or one of its functions");
  std::lock_guard lock(allocators_mutex);
  of_stream[stream] = {handle, *found};
  return ACL_SUCCESS;
}
SIM_API aclError aclrtAllocatorUnregister(aclrtStream stream) {
  if (!stream) return sim::acl::missing(__func__, "stream", ACL_ERROR_INVALID_PARAM);
  std::lock_guard lock(allocators_mutex);
  of_stream.erase(stream);
  return ACL_SUCCESS;
}
SIM_API aclError aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc* description, aclrtAllocator* object,
                                           aclrtAllocatorAllocFunc* alloc, aclrtAllocatorFreeFunc* free,
                                           aclrtAllocatorAllocAdviseFunc* advise,
                                           aclrtAllocatorGetAddrFromBlockFunc* address) {
  if (!description || !object || !alloc || !free || !advise || !address)
    return sim::acl::missing(__func__, "one of the arguments", ACL_ERROR_INVALID_PARAM);
  std::lock_guard lock(allocators_mutex);
  const auto found = of_stream.find(stream);
  ACL_INVALID_IF(found == of_stream.end(), "no allocator is registered for the stream");
  const auto& [handle, allocator] = found->second;
  *description = handle, *object = allocator.object, *alloc = allocator.alloc, *free = allocator.free;
  *advise = allocator.advise, *address = allocator.address;
  return ACL_SUCCESS;
}

}  // extern "C"
