// The modes of captures, aclmdlRICaptureMode: what a thread may call while one goes on.
#pragma once

namespace sim::capture_mode {

enum Mode { kGlobal, kThreadLocal, kRelaxed, kNone };  // the strictest first
constexpr const char* kAllowed = "GLOBAL (0), THREAD_LOCAL (1), RELAXED (2)";
inline bool known(int mode) { return mode >= kGlobal && mode < kNone; }

// Of the thread that calls.
void enter(int device, int mode);
void leave(int device, int mode);
void reset(int device);  // with all captures of its streams

}  // namespace sim::capture_mode
