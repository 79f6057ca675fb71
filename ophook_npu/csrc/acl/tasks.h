// What the files of libascendcl share: tasks that are values, and answers to wrong arguments.
#pragma once

#include <utility>

#include "acl/refuse.h"
#include "core/handles.h"
#include "core/touch.h"
#include "core/visible.h"

namespace sim::acl {

// 0, or what the calls of a handle that is no stream fail with.
inline int check_stream(aclrtStream stream) {
  int32_t id = 0;
  return sim_stream_id(stream, &id);
}

// What a handle stands for, or the code that says why it is none; T::kKind is what it has to be: "a label".
template <typename T>
int find_handle(const char* caller, const void* handle, std::shared_ptr<T>* out) {
  *out = Handles<T>::all().find(const_cast<void*>(handle));
  return *out ? int(ACL_SUCCESS) : RT_INVALID(caller, "%p is not %s", handle, T::kKind);
}
// The same, and it is a handle no more.
template <typename T>
int end_handle(const char* caller, const void* handle, std::shared_ptr<T>* out) {
  *out = Handles<T>::all().take(const_cast<void*>(handle));
  return *out ? int(ACL_SUCCESS) : RT_INVALID(caller, "%p is not %s", handle, T::kKind);
}

template <typename T>
void drop(void* task) {
  delete static_cast<T*>(task);
}

// Launches a task on the stream; `run` gets `what`, once, or at each replay of a captured model. What has a function
// touch(sim_listener*) tells by it which memory it reads and writes.
template <auto run, typename T>
int launch(aclrtStream stream, const char* name, T what) {
  static constexpr sim_about kAbout{sim_task_other, [](const void* task, sim_listener* listener) {
                                      if constexpr (requires(const T& one) { one.touch(listener); })
                                        if (listener->touch) static_cast<const T*>(task)->touch(listener);
                                    }};
  return sim_launch_about(
      stream, name, &kAbout, [](void* task) { return int(run(*static_cast<T*>(task))); }, new T(std::move(what)),
      drop<T>);
}

}  // namespace sim::acl
