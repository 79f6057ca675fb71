#include "opapi/watch.h"

#include <memory>
#include <string>

#include "core/sim.h"

namespace sim::aclnn {
namespace {

thread_local bool watched_now = false;
thread_local std::unique_ptr<std::string> watched_lines;  // a pointer, as in core/error.cpp

}  // namespace

bool watching() { return watched_now; }
void watched(const std::string& line) { (*watched_lines += line) += '\n'; }

}  // namespace sim::aclnn

// Begins to watch this thread, with nothing seen.
extern "C" SIM_API void ophook_watch(void) {
  sim::aclnn::watched_lines = std::make_unique<std::string>();
  sim::aclnn::watched_now = true;
}

// Ends it and gives what was seen, a line each: "call<TAB>function", and for each refusal
// "refused<TAB>product family<TAB>code<TAB>message". Valid until this thread watches again.
extern "C" SIM_API const char* ophook_watched(void) {
  sim::aclnn::watched_now = false;
  return sim::aclnn::watched_lines ? sim::aclnn::watched_lines->c_str() : "";
}
