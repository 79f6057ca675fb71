// SIM_CHECK(condition, "message ", of, parts): TORCH_CHECK without its templates. Theirs are instantiated anew for
// every list of argument types, and nearly every message has one of its own; here a part is a pointer and a function
// that prints it.
#pragma once

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>  // prints lists

#include <ostream>

#include "core/sim.h"

namespace sim {

class Part {
 public:
  Part(const char* text)
      : value_(text), print_([](std::ostream& to, const void* value) { to << static_cast<const char*>(value); }) {}
  template <typename T>
  Part(const T& value)
      : value_(&value), print_([](std::ostream& to, const void* what) { to << *static_cast<const T*>(what); }) {}
  void print(std::ostream& to) const { print_(to, value_); }

 private:
  const void* value_;
  void (*print_)(std::ostream&, const void*);
};

// What a check of ours says, told from what ATen says of itself.
struct SIM_API Violation : c10::Error {
  using c10::Error::Error;
};

// Throws a Violation with the parts as its message; wrong_dtype throws c10::TypeError, as TORCH_CHECK_TYPE.
[[noreturn]] SIM_API void violated(const char* function, const char* file, int line, std::initializer_list<Part> parts);
[[noreturn]] SIM_API void wrong_dtype(const char* function, const char* file, int line,
                                      std::initializer_list<Part> parts);

}  // namespace sim

#define SIM_CHECK(condition, ...)                                 \
  do {                                                            \
    if (!(condition)) [[unlikely]]                                \
      sim::violated(__func__, __FILE__, __LINE__, {__VA_ARGS__}); \
  } while (false)

// A data type that is wrong: the first phase answers 161002 to it, also where wrong shapes have another code.
#define SIM_CHECK_DTYPE(condition, ...)                              \
  do {                                                               \
    if (!(condition)) [[unlikely]]                                   \
      sim::wrong_dtype(__func__, __FILE__, __LINE__, {__VA_ARGS__}); \
  } while (false)
