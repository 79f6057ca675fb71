// What the core's files share. Not installed, not seen by the libraries above.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sim.h"

namespace sim {

// acl/error_codes/rt_error_codes.h, as far as the core answers with them; the header itself is C and macro-only, and
// the core must build without the wheel.
enum Code : int {
  kOk = 0,
  kUninitialized = 100001,
  kInvalidParam = 107000,
  kInvalidDevice = 107001,
  kContextNull = 107002,
  kStreamContext = 107003,
  kEventTimestampInvalid = 107006,
  kInvalidHandle = 107017,
  kWaitTimeout = 107019,
  kDeviceTaskAbort = 107022,
  kStreamAbort = 107023,
  kCaptureDependency = 107024,
  kStreamUnjoined = 107025,
  kModelCaptured = 107026,
  kStreamCaptured = 107027,
  kEventCaptured = 107028,
  kStreamNotCaptured = 107029,
  kCaptureMode = 107030,
  kCaptureImplicit = 107031,
  kCaptureConflict = 107032,
  kTaskGroupStatus = 107033,
  kCaptureUnmatched = 107036,
  kCaptureWrongThread = 107038,
  kUnsupported = 200001,
  kFeatureNotSupported = 207000,
  kOutOfMemory = 207001,
  kNoEventResource = 207007,
  kNoStreamResource = 207008,
  kQueueEmpty = 207013,
  kQueueFull = 207014,
  kInternal = 507000,
  kAicoreException = 507015,
  kAicpuTimeout = 507017,
  kStreamSyncTimeout = 507046,
  kEventSyncTimeout = 507047,
  kDriver = 507899,
  kCaptureInvalidated = 507903,
};

inline uint64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline bool switched_on(const char* variable) {
  const char* text = getenv(variable);
  return text && !strcmp(text, "1");
}

// What the thread set by itself; -1: nothing.
int own_device();
// The calling thread's device, or kContextNull with a message naming `caller`.
int require_device(const char* caller, int* device);
void count_task(bool failed);
void count_model();
uint64_t memory_in_use();
// Destroys every stream of the device after its work is done; refused in a task on one of them.
int drop_streams(int device);
bool synchronous();

}  // namespace sim
