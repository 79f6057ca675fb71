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

// Calls the function; what it throws becomes the message, what a check throws with the code `invalid`, and `failed` the
// answer.
template <typename T, typename Do>
T guarded(const char* caller, int invalid, T failed, Do what) {
  try {
    return what();
  } catch (const c10::Error& error) {
    sim_fail(invalid, "%s: %s", caller, error.what_without_backtrace());
  } catch (const std::exception& error) {
    sim_fail(kInner, "%s: %s", caller, error.what());
  } catch (...) {
    sim_fail(kInner, "%s: an exception of an unknown type", caller);
  }
  return failed;
}

// The call once more, with the address of `object` (a tensor or a list that was passed to it) read anew; null where it
// was not passed, or where the call is not a row's. What was launched before keeps the call that it has.
std::unique_ptr<PendingCall> moved(const PendingCall& call, const void* object);
void release(void* call);  // by one of its owners

}  // namespace sim::aclnn
