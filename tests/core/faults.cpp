// Deliberate faults, run only by name: a sanitizer that does not end these would find nothing in the core either.
#include "check.h"

using namespace check;

TEST(fault_race) {
  static int shared = 0;  // written by two streams, which nothing orders
  void *one = nullptr, *other = nullptr;
  OK(sim_stream_create(&one));
  OK(sim_stream_create(&other));
  for (int round = 0; round < 100; ++round)
    for (void* stream : {one, other}) OK(launch(stream, [] { return ++shared, 0; }));
  OK(sim_synchronize_device(-1));
}

TEST(fault_freed) {
  auto* number = new int(1);
  OK(launch(nullptr, [number] { return *number - 1; }, [number] { delete number; }));
  OK(sim_synchronize_device(-1));
  EQUAL(*number, 1);
}
