// What a capture forbids beside its streams: copies and fills that wait. It depends on the modes of the captures that
// go on in the device, of those that the thread began, and on the mode that the thread has chosen.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "capture_mode.h"
#include "device.h"
#include "runtime.h"
#include "state.h"

namespace sim::capture_mode {
namespace {

using Counts = std::array<uint16_t, kNone>;  // of captures, by mode

std::mutex mutex;
Counts on_device[kMaxDevices];
std::atomic<int> going_on{0};  // captures, of all devices
thread_local Counts own{};
thread_local uint8_t chosen = kGlobal;

int strictest(const Counts& counts) {
  return int(std::find_if(counts.begin(), counts.end(), [](uint16_t count) { return count != 0; }) - counts.begin());
}

}  // namespace

void enter(int device, int mode) {
  std::lock_guard lock(mutex);
  ++on_device[device][size_t(mode)];
  ++own[size_t(mode)];
  ++going_on;
}

void leave(int device, int mode) {
  std::lock_guard lock(mutex);
  // Another thread may end it; the one that began it keeps its own count then, as CANN's does.
  if (own[size_t(mode)]) --own[size_t(mode)];
  if (!on_device[device][size_t(mode)]) return;  // the device was reset
  --on_device[device][size_t(mode)];
  --going_on;
}

void reset(int device) {
  std::lock_guard lock(mutex);
  for (uint16_t& count : on_device[device]) going_on -= std::exchange(count, uint16_t{0});
}

int exchange(int* mode) {
  if (!mode) return sim_fail(kInvalidParam, "aclmdlRICaptureThreadExchangeMode: mode is null");
  if (!known(*mode))
    return sim_fail(kInvalidParam, "aclmdlRICaptureThreadExchangeMode: mode %d; allowed: %s", *mode, kAllowed);
  const uint8_t before = chosen;
  chosen = uint8_t(*mode);
  *mode = before;
  return kOk;
}

int allows(const char* call) {
  if (!going_on.load(std::memory_order_relaxed)) return kOk;
  int device = 0;
  if (sim_get_device(&device)) return kOk;
  std::lock_guard lock(mutex);
  const int here = strictest(on_device[device]), mine = strictest(own);
  if (here == kNone || chosen == kRelaxed) return kOk;
  const bool forbidden = chosen == kGlobal ? here == kGlobal || mine == kThreadLocal : mine <= kThreadLocal;
  if (!forbidden) return kOk;
  static constexpr const char* kNames[] = {"GLOBAL", "THREAD_LOCAL", "RELAXED", "none"};
  return sim_fail(kCaptureMode,
                  "%s: not within a capture: the strictest one on device %d is %s, of this thread's own it is %s, and "
                  "this thread's mode is %s; allowed where aclmdlRICaptureThreadExchangeMode has made that RELAXED",
                  call, device, kNames[here], kNames[mine], kNames[chosen]);
}

}  // namespace sim::capture_mode

int sim_capture_exchange_mode(int* mode) { return sim::capture_mode::exchange(mode); }
int sim_capture_allows(const char* call) { return sim::capture_mode::allows(call); }
