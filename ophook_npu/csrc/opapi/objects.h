// Where the objects of opapi/aclnn.h lie that callers hold pointers to.
#pragma once

#include "core/slots.h"
#include "opapi/aclnn.h"

namespace sim::aclnn {

extern constinit Slots all_objects;
inline Slots& objects() { return all_objects; }

template <typename T>
bool is_or_null(const T* handle) {
  return !handle || objects().is<T>(handle);
}

// The call once more, with the address of `object` (a tensor or a list that was passed to it) read anew; null where it
// was not passed, or where the call is not a row's. What was launched before keeps the call that it has.
std::unique_ptr<PendingCall> moved(const PendingCall& call, const void* object);
void release(void* call);  // by one of its owners

}  // namespace sim::aclnn
