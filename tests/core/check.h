// The little that tests of the core need: named tests, checks that say what was not so, threads that start together.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/sim.h"

namespace check {

// acl/error_codes/rt_error_codes.h, as far as the core answers with them.
constexpr int kInvalidParam = 107000, kInvalidDevice = 107001, kNoDevice = 107002, kNoTime = 107006,
              kStreamContext = 107003, kInvalidHandle = 107017, kUnfinished = 107024, kUnjoined = 107025,
              kCaptured = 107027, kEventCaptured = 107028, kNotCaptured = 107029, kGroupStatus = 107033,
              kUnmatched = 107036, kUnsupported = 200001, kOutOfMemory = 207001, kNoStreams = 207008, kFailure = 507015,
              kStreamTimeout = 507046, kEventTimeout = 507047;

struct Test {
  const char* name;
  void (*body)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

struct Registered {
  Registered(const char* name, void (*body)()) { tests().push_back({name, body}); }
};

inline std::atomic<int> failures{0};

inline void fail(const char* file, int line, const std::string& what) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  const char* base = strrchr(file, '/');
  fprintf(stderr, "  %s:%d: %s\n", base ? base + 1 : file, line, what.c_str());
  ++failures;
}

inline void so(const char* file, int line, const char* what, bool is) {
  if (!is) fail(file, line, std::string("not so: ") + what);
}

template <typename T>
const T& value(const T& plain) {
  return plain;
}
template <typename T>
T value(const std::atomic<T>& shared) {
  return shared.load();
}

template <typename T>
std::string text(const T& value) {
  if constexpr (std::is_convertible_v<T, std::string>) return value;
  else if constexpr (std::is_pointer_v<T>) return value ? "a pointer" : "null";
  else return std::to_string(value);
}

template <typename L, typename R>
void equal(const char* file, int line, const char* what, const L& left, const R& right) {
  const auto a = value(left);
  const auto b = value(right);
  bool same;
  if constexpr (std::is_integral_v<decltype(a)> && std::is_integral_v<decltype(b)>)
    same = __int128(a) == __int128(b);  // whatever their signs
  else same = a == b;
  if (!same) fail(file, line, std::string(what) + " is " + text(a) + ", not " + text(b));
}

// How often a test repeats what has to go wrong only sometimes.
inline int rounds(int whole) {
  static const bool brief = getenv("OPHOOK_CORE_SHORT") != nullptr;
  return brief ? (whole + 9) / 10 : whole;
}

// Runs body(0) … body(count - 1), each in a thread of its own, begun together.
inline void together(int count, const std::function<void(int)>& body) {
  std::atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (int index = 0; index < count; ++index)
    threads.emplace_back([&, index] {
      ++arrived;
      while (arrived < count) std::this_thread::yield();
      body(index);
    });
  for (std::thread& thread : threads) thread.join();
}

// A function object as a task: `sim_launch(stream, name, Task::run, new Task{…}, Task::drop)`.
struct Task {
  std::function<int()> body;
  std::function<void()> dropped = [] {};
  static int run(void* self) { return static_cast<Task*>(self)->body(); }
  static void drop(void* self) {
    static_cast<Task*>(self)->dropped();
    delete static_cast<Task*>(self);
  }
};

inline int launch(void* stream, std::function<int()> body, std::function<void()> dropped = [] {}) {
  return sim_launch(stream, "test", Task::run, new Task{std::move(body), std::move(dropped)}, Task::drop);
}

// A door that tasks wait at until the test opens it.
class Door {
 public:
  ~Door() { open(); }
  void open() { is_open_ = true; }
  void pass() const {
    while (!is_open_) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  std::atomic<bool> is_open_{false};
};

inline std::string message() {
  const char* said = sim_error_message();
  return said ? said : "";
}

inline bool says(const char* part) {
  std::string said = message();
  if (said.find(part) != std::string::npos) return true;
  fprintf(stderr, "  the message is: %s\n", said.c_str());
  return false;
}

}  // namespace check

#define TEST(name)                                               \
  static void name();                                            \
  static const check::Registered registered_##name{#name, name}; \
  static void name()
#define CHECK(condition) check::so(__FILE__, __LINE__, #condition, bool(condition))
#define EQUAL(left, right) check::equal(__FILE__, __LINE__, #left, left, right)
#define OK(call) EQUAL(call, 0)
