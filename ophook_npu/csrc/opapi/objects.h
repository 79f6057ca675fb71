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

}  // namespace sim::aclnn
