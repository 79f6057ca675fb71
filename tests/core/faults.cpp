// Deliberate faults, run only by name: a sanitizer that does not end these would find nothing in the core either.
#include "check.h"

using namespace check;

// Both tasks are on their way before either writes, and nothing orders them from there on: what the streams' threads
// lock between two tasks would order writes that come one after the other, as they do on a busy machine.
TEST(fault_race) {
  static int shared = 0;
  static std::atomic<int> running{0};
  void *one = nullptr, *other = nullptr;
  OK(sim_stream_create(&one));
  OK(sim_stream_create(&other));
  for (void* stream : {one, other})
    OK(launch(stream, [] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      running.fetch_add(1, std::memory_order_relaxed);
      while (running.load(std::memory_order_relaxed) < 2 && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
      return ++shared, 0;
    }));
  OK(sim_synchronize_device(-1));
}

TEST(fault_freed) {
  auto* number = new int(1);
  OK(launch(nullptr, [number] { return *number - 1; }, [number] { delete number; }));
  OK(sim_synchronize_device(-1));
  EQUAL(*number, 1);
}
