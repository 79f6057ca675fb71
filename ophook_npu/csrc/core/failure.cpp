#include "failure.h"

#include <cstdlib>
#include <cstring>

#include "failure_api.h"
#include "fault.h"
#include "forever.h"
#include "stream.h"
#include "visible.h"

namespace sim::failure {

std::atomic<int> codes[kMaxDevices];

namespace {

std::atomic<bool> stops[kMaxDevices];

struct Texts {
  std::mutex mutex;
  std::string of[kMaxDevices];
};
Texts& texts() { return sim::forever<Texts>(); }

// Read at each failure: a program may set it for a part of its run.
bool continues() {
  const char* text = getenv("OPHOOK_SIM_AFTER_FAILURE");
  return text && !strcmp(text, "continue");
}

void keep(int device, int code, const std::string& text) {
  {
    std::lock_guard lock(texts().mutex);
    if (codes[device] && code != kDeviceTaskAbort) return;  // the first one stays
    texts().of[device] = text;
    codes[device] = code;
  }
  for (const auto& stream : Handles<Stream>::all().where([device](Stream& each) { return each.device == device; }))
    stream->wake();
}

void heal(int device) {
  std::lock_guard lock(texts().mutex);
  codes[device] = kOk;
}

}  // namespace

int read_setting() {
  const char* text = getenv("OPHOOK_SIM_AFTER_FAILURE");
  if (!text || !*text || !strcmp(text, "poison") || continues()) return kOk;
  return sim_fail(kInvalidParam, "OPHOOK_SIM_AFTER_FAILURE=%s; allowed: poison, continue", text);
}

int answer(int device) {
  std::lock_guard lock(texts().mutex);
  const int kept = codes[device];
  if (!kept) return kOk;
  return sim_fail(kept, "%s; device %d answers so until it is reset (OPHOOK_SIM_AFTER_FAILURE)",
                  texts().of[device].c_str(), device);
}

void stop_on_failure(int device) { stops[device] = true; }

void left(int device, int code, const std::string& text) {
  if (stops[device] && !continues()) keep(device, code, text);
}

void reset(int device) {
  stops[device] = false;
  heal(device);
}

}  // namespace sim::failure

using namespace sim;

int sim_device_failed() {
  int device = 0;
  return sim_get_device(&device) ? int(kOk) : failure::code(device);
}

int sim_abort_tasks(int device, int64_t timeout_ms) {
  if (int code = sim_check_device("aclrtDeviceTaskAbort", device)) return code;
  failure::keep(device, kDeviceTaskAbort, "the tasks of device " + std::to_string(device) + " are being aborted");
  sim_end_hanging(device);
  int code = kOk;
  for (auto& stream : Handles<Stream>::all().where([device](Stream& each) { return each.device == device; }))
    if (!stream->runs_here() && stream->drain(timeout_ms) != kOk) code = kStreamSyncTimeout;
  if (code == kOk) return failure::heal(device), kOk;  // else what is queued would still run
  return sim_fail(code, "aclrtDeviceTaskAbort: a task of device %d still runs after %lld ms", device,
                  (long long)timeout_ms);
}
