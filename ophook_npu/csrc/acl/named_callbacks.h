// What a program registers under a name and the runtime calls when something changes.
#pragma once

#include <map>
#include <mutex>

#include "acl/tasks.h"

namespace sim::acl {

template <typename Function>
class NamedCallbacks {
 public:
  // As CANN's pages have it: names are unique, and a null function takes its name out.
  int change(const char* caller, const char* name, Function function, void* argument) {
    if (!name) return missing(caller, "regName");
    std::lock_guard lock(mutex_);
    if (!function) {
      if (all_.erase(name)) return ACL_SUCCESS;
      return RT_INVALID(caller, "nothing is registered as %s", name);
    }
    if (all_.emplace(name, std::pair{function, argument}).second) return ACL_SUCCESS;
    return RT_INVALID(caller, "%s is registered already", name);
  }

  template <typename... Given>
  void tell(Given... given) {
    std::map<std::string, std::pair<Function, void*>> all;
    {
      std::lock_guard lock(mutex_);
      if (all_.empty()) return;
      all = all_;
    }
    for (const auto& [name, callback] : all) callback.first(given..., callback.second);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::pair<Function, void*>> all_;
};

}  // namespace sim::acl
