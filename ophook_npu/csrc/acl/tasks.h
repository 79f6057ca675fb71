// What the files of libascendcl share: tasks that are values, and answers to wrong arguments.
#pragma once

#include <utility>

#include "acl/refuse.h"
#include "core/touch.h"
#include "core/visible.h"

namespace sim::acl {

// 0, or what the calls of a handle that is no stream fail with.
inline int check_stream(aclrtStream stream) {
  int32_t id = 0;
  return sim_stream_id(stream, &id);
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
      [](void* task) { delete static_cast<T*>(task); });
}

}  // namespace sim::acl
