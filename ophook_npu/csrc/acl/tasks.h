// What the files of libascendcl share: tasks that are values, and arguments that have to be given.
#pragma once

#include <utility>

#include "acl/acl.h"
#include "acl/newer.h"
#include "core/sim.h"
#include "core/touch.h"
#include "core/visible.h"

namespace sim::acl {

// Launches a task on the stream; `run` gets a pointer to `what`, once, or at each replay of a captured model. What has
// a function touch(sim_listener*) tells by it which memory it reads and writes.
template <typename T>
int launch(aclrtStream stream, const char* name, T what, sim_run run) {
  static constexpr sim_about kAbout{sim_task_other, [](const void* task, sim_listener* listener) {
                                      if constexpr (requires(const T& one) { one.touch(listener); })
                                        if (listener->touch) static_cast<const T*>(task)->touch(listener);
                                    }};
  return sim_launch_about(stream, name, &kAbout, run, new T(std::move(what)),
                          [](void* task) { delete static_cast<T*>(task); });
}

// As CANN answers it: 107000, or 100000 where the function belongs to what was there before the runtime.
inline int missing(const char* caller, const char* argument, int code = ACL_ERROR_RT_PARAM_INVALID) {
  return sim_fail(code, "%s: %s is null", caller, argument);
}

}  // namespace sim::acl

// `return` of a null pointer's code, for the entry points.
#define REQUIRE(argument)                                           \
  do {                                                              \
    if (!(argument)) return sim::acl::missing(__func__, #argument); \
  } while (0)
