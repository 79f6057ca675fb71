#include <cstdarg>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "log.h"
#include "pages_api.h"
#include "runtime.h"
#include "state.h"

namespace {
struct Texts {
  std::string pending;   // set by sim_fail, not read yet
  std::string returned;  // keeps the text alive that was handed out
};
thread_local std::unique_ptr<Texts> texts;  // a pointer: the room for thread-local variables of libraries is small
thread_local int last = 0;                  // the newest failure, if its code is the runtime's
constexpr char kPlace[] = "simulated Ascend";
}  // namespace

int sim_fail(int code, const char* format, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  // A caller that adds detail to an error of ours must not stamp the prefix twice.
  const std::string prefix = "[simulated Ascend] ";
  if (!texts) texts = std::make_unique<Texts>();
  auto& pending = texts->pending;
  pending = std::string(text).rfind(prefix, 0) == 0 ? text : prefix + text;
  sim_log("RUNTIME", sim_log_error, kPlace, pending.c_str() + prefix.size());  // programs often print the code alone
  const int kind = code / 1000;
  last = kind == 107 || kind == 207 || kind == 507 ? code : 0;
  return code;
}

void sim_warn(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "[WARNING] [simulated Ascend] %s\n", text);
  sim_log("RUNTIME", sim_log_warning, kPlace, text);
}

int sim_last_runtime_error(int clear) { return clear ? std::exchange(last, 0) : last; }

int sim_unimplemented(const char* what) {
  return sim_fail(sim::kUnsupported,
                  "%s is not implemented by the simulator (`ophook-npu sim info --operators` lists what is)", what);
}

const char* sim_error_message(void) {
  if (!texts || texts->pending.empty()) return nullptr;
  texts->returned = std::exchange(texts->pending, {});
  return texts->returned.c_str();
}
