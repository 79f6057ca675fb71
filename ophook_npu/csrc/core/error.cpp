#include <cstdarg>
#include <cstdio>
#include <string>

#include "state.h"

namespace {
thread_local std::string pending;   // set by sim_fail, not read yet
thread_local std::string returned;  // keeps the text alive that was handed out
}  // namespace

int sim_fail(int code, const char* format, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  // A caller that adds detail to an error of ours must not stamp the prefix twice.
  const std::string prefix = "[simulated Ascend] ";
  pending = std::string(text).rfind(prefix, 0) == 0 ? text : prefix + text;
  return code;
}

int sim_unimplemented(const char* what) {
  return sim_fail(sim::kUnsupported,
                  "%s is not implemented by the simulator (`ophook-npu sim info --operators` lists what is)", what);
}

const char* sim_error_message(void) {
  if (pending.empty()) return nullptr;
  returned.swap(pending);
  pending.clear();
  return returned.c_str();
}
