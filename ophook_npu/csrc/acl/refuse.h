// What libascendcl's functions, and those of the libraries beside it, answer to wrong arguments: a code, and a message
// that begins with the name of the call.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "acl/acl.h"
#include "acl/newer.h"
#include "core/sim.h"

// As CANN answers it: 107000, or 100000 where the function belongs to what was there before the runtime.
#define RT_INVALID(caller, text, ...) \
  sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: " text, caller __VA_OPT__(, ) __VA_ARGS__)
#define ACL_INVALID(caller, text, ...) sim_fail(ACL_ERROR_INVALID_PARAM, "%s: " text, caller __VA_OPT__(, ) __VA_ARGS__)

// `return` of that, for the checks of entry points.
#define RT_INVALID_IF(condition, ...)                        \
  do {                                                       \
    if (condition) return RT_INVALID(__func__, __VA_ARGS__); \
  } while (0)
#define ACL_INVALID_IF(condition, ...)                        \
  do {                                                        \
    if (condition) return ACL_INVALID(__func__, __VA_ARGS__); \
  } while (0)
// The same of null pointers.
#define REQUIRE(...)                                                                             \
  do {                                                                                           \
    if (const int code = sim::acl::missing_of(__func__, #__VA_ARGS__, __VA_ARGS__)) return code; \
  } while (0)

namespace sim::acl {

inline int missing(const char* caller, const char* argument, int code = ACL_ERROR_RT_PARAM_INVALID) {
  return sim_fail(code, "%s: %s is null", caller, argument);
}

// Whether the device is of the products whose names begin so.
inline bool on(std::string_view product) {
  const sim_soc* soc = sim_current_soc();
  return soc && std::string_view(soc->name).starts_with(product);
}

// The first of the arguments that is null, by its name among `names`: "to, from".
template <typename... T>
int missing_of(const char* caller, std::string_view names, T... arguments) {
  for (const bool given : {arguments != nullptr...}) {
    if (!given) return missing(caller, std::string(names.substr(0, names.find(','))).c_str());
    names.remove_prefix(std::min(names.find(',') + 2, names.size()));
  }
  return ACL_SUCCESS;
}

// Whether it is; else that is told, for functions that return no code.
template <typename T>
bool given(const char* caller, const T* pointer) {
  if (!pointer) ACL_INVALID(caller, "null pointer");
  return pointer;
}

// Deletes what the function that makes such objects gave.
template <typename T>
int destroyed(const char* caller, const char* name, const T* object) {
  if (!object) return missing(caller, name, ACL_ERROR_INVALID_PARAM);
  delete object;
  return ACL_SUCCESS;
}

}  // namespace sim::acl
