// Devices: threads and what they are set to, and a reset with work in flight.
#include "check.h"

using namespace check;

TEST(each_thread_has_a_device_of_its_own) {
  EQUAL(sim_device_count(), 2);
  EQUAL(sim_set_device(2), kInvalidDevice);
  EQUAL(sim_set_device(-1), kInvalidDevice);
  together(4, [](int index) {
    int device = -1;
    EQUAL(sim_get_device(&device), kNoDevice);
    for (int round = 0; round < rounds(100); ++round) {
      OK(sim_set_device((index + round) % 2));
      OK(sim_get_device(&device));
      EQUAL(device, (index + round) % 2);
      EQUAL(sim_context_device(sim_context(device)), device);
    }
  });
  int local = 0;
  EQUAL(sim_context_device(&local), -1);
}

TEST(threads_that_set_none_have_the_default_device) {
  OK(sim_set_default_device(1));
  std::thread([] {
    int device = -1;
    OK(sim_get_device(&device));
    EQUAL(device, 1);
  }).join();
  OK(sim_set_default_device(-1));
  std::thread([] {
    int device = -1;
    EQUAL(sim_get_device(&device), kNoDevice);
  }).join();
}

TEST(a_device_has_one_default_stream_whoever_asks_first) {
  void* seen[4] = {};
  together(4, [&](int index) { seen[index] = sim_default_stream(1); });
  for (void* stream : seen) CHECK(stream && stream == seen[0]);
  int device = -1;
  OK(sim_stream_device(seen[0], &device));
  EQUAL(device, 1);
  CHECK(sim_default_stream(0) != seen[0]);
  CHECK(sim_default_stream(-1) == nullptr && sim_default_stream(2) == nullptr);
}

TEST(a_reset_waits_for_the_work_in_flight) {
  OK(sim_set_device(1));
  void *one = nullptr, *other = nullptr, *event = nullptr;
  OK(sim_stream_create(&one));
  OK(sim_stream_create(&other));
  OK(sim_event_create(&event));
  int ran = 0, dropped = 0;
  Door door;
  OK(launch(one, [&] { return door.pass(), 0; }));
  OK(sim_event_record(event, one));
  OK(sim_event_wait(other, event));
  for (int task = 0; task < 100; ++task) OK(launch(other, [&] { return ++ran, 0; }, [&] { ++dropped; }));
  std::thread opens([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    door.open();
  });
  OK(sim_reset_device(1));
  opens.join();
  EQUAL(ran, 100);
  EQUAL(dropped, 100);
  EQUAL(sim_stream_synchronize(one, -1), kInvalidHandle);
  int device = -1;
  EQUAL(sim_get_device(&device), kNoDevice);
  OK(sim_set_device(1));
  OK(sim_stream_synchronize(nullptr, -1));  // a new default stream
  OK(sim_event_destroy(event));
  EQUAL(sim_reset_device(2), kInvalidDevice);
}

TEST(a_reset_while_others_launch) {
  for (int round = 0; round < rounds(100); ++round) {
    std::atomic<int> launched{0}, dropped{0};
    together(4, [&](int index) {
      if (index == 0) {
        OK(sim_reset_device(1));
        return;
      }
      OK(sim_set_device(1));
      for (int task = 0; task < 20; ++task) {
        ++launched;
        const int code = launch(nullptr, [] { return 0; }, [&] { ++dropped; });
        CHECK(code == 0 || code == kInvalidHandle);
      }
      const int code = index == 1 ? sim_synchronize_device(-1) : sim_stream_synchronize(nullptr, -1);
      CHECK(code == 0 || code == kInvalidHandle);
    });
    OK(sim_reset_device(1));
    EQUAL(dropped, launched);
  }
}

TEST(a_reset_in_a_capture_leaves_nothing_that_points_to_it) {
  OK(sim_set_device(1));
  void *there = nullptr, *here = nullptr, *event = nullptr, *model = nullptr;
  OK(sim_stream_create(&there));
  OK(sim_set_device(0));
  OK(sim_stream_create(&here));
  OK(sim_event_create(&event));
  OK(sim_capture_begin(here));
  OK(sim_event_record(event, here));
  EQUAL(sim_event_wait(there, event), kStreamContext);  // a stream of another device takes nothing from here
  OK(sim_set_device(1));
  OK(sim_event_wait(there, event));  // joins
  OK(launch(there, [] { return 0; }));
  OK(sim_reset_device(1));
  OK(sim_set_device(0));
  OK(sim_capture_end(here, &model));
  OK(sim_model_execute(model, here));
  OK(sim_stream_synchronize(here, -1));
  OK(sim_model_destroy(model));
  OK(sim_capture_begin(here));
  OK(sim_reset_device(0));
  EQUAL(sim_capture_end(here, &model), kInvalidHandle);
  OK(sim_set_device(0));
  OK(sim_event_destroy(event));
}

TEST(a_task_that_resets_its_own_device_is_refused) {
  OK(sim_set_device(1));
  int code = 0;
  OK(launch(nullptr, [&] { return code = sim_reset_device(1), 0; }));
  OK(sim_stream_synchronize(nullptr, -1));
  CHECK(code != 0);
  CHECK(sim_default_stream(1) != nullptr);
}

TEST(counters_count_from_all_threads) {
  sim_counters before, after;
  sim_read_counters(&before);
  const int each = rounds(200);
  together(3, [&](int index) {
    OK(sim_set_device(index % 2));
    void* stream = nullptr;
    OK(sim_stream_create(&stream));
    for (int task = 0; task < each; ++task) {
      OK(launch(stream, [index] { return index == 2 ? 1 : 0; }));
      sim_counters now;
      sim_read_counters(&now);
      CHECK(now.tasks_run >= before.tasks_run);
    }
    EQUAL(sim_stream_synchronize(stream, -1), index == 2 ? 1 : 0);
    OK(sim_stream_destroy(stream));
  });
  sim_read_counters(&after);
  EQUAL(after.tasks_run - before.tasks_run, uint64_t(3 * each));
  EQUAL(after.tasks_failed - before.tasks_failed, uint64_t(each));
}

TEST(messages_belong_to_their_thread) {
  together(4, [](int index) {
    const std::string own = "number " + std::to_string(index);
    for (int round = 0; round < rounds(200); ++round) {
      EQUAL(sim_fail(index, "%s", own.c_str()), index);
      EQUAL(message(), "[simulated Ascend] " + own);
      EQUAL(message(), std::string());
    }
  });
  EQUAL(sim_unimplemented("aclrtNoSuchCall"), kUnsupported);
  CHECK(says("aclrtNoSuchCall is not implemented"));
}
