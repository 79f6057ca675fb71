// Streams: in order, next to each other, from several host threads, and what a failed task leaves.
#include <algorithm>

#include "check.h"
#include "core/failure_api.h"
#include "core/runtime.h"

using namespace check;

namespace {

struct OneStream {
  OneStream() { OK(sim_stream_create(&handle)); }
  ~OneStream() {
    if (handle) OK(sim_stream_destroy(handle));
  }
  void* handle = nullptr;
};

}  // namespace

TEST(a_stream_runs_its_tasks_in_order) {
  OneStream stream;
  std::vector<int> seen;  // only the stream's thread writes; the synchronization is what lets this one read
  for (int index = 0; index < 1000; ++index)
    OK(launch(stream.handle, [&seen, index] {
      seen.push_back(index);
      return 0;
    }));
  OK(sim_stream_synchronize(stream.handle, -1));
  EQUAL(seen.size(), 1000u);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
}

TEST(streams_run_at_the_same_time) {
  OneStream one, other;
  std::atomic<int> met{0};
  for (void* stream : {one.handle, other.handle})
    OK(launch(stream, [&met] {
      ++met;
      for (int wait = 0; met < 2 && wait < 100000; ++wait) std::this_thread::sleep_for(std::chrono::microseconds(100));
      return met < 2 ? kFailure : 0;
    }));
  OK(sim_stream_synchronize(one.handle, -1));
  OK(sim_stream_synchronize(other.handle, -1));
}

TEST(a_launch_does_not_wait_and_a_query_says_so) {
  OneStream stream;
  Door door;
  OK(launch(stream.handle, [&door] {
    door.pass();
    return 0;
  }));
  int done = 1;
  OK(sim_stream_query(stream.handle, &done));
  EQUAL(done, 0);
  EQUAL(sim_stream_synchronize(stream.handle, 1), kStreamTimeout);
  CHECK(says("not done after 1 ms"));
  door.open();
  OK(sim_stream_synchronize(stream.handle, -1));
  OK(sim_stream_query(stream.handle, &done));
  EQUAL(done, 1);
}

TEST(the_first_failure_is_reported_once_and_the_stream_goes_on) {
  OneStream stream;
  int ran = 0;
  OK(launch(stream.handle, [] { return sim_fail(kFailure, "the first"); }));
  OK(launch(stream.handle, [] { return sim_fail(kFailure + 1, "the second"); }));
  OK(launch(stream.handle, [&ran] { return ++ran, 0; }));
  EQUAL(sim_stream_synchronize(stream.handle, -1), kFailure);
  CHECK(says("the first"));
  EQUAL(ran, 1);
  OK(sim_stream_synchronize(stream.handle, -1));
  OK(launch(stream.handle, [] { return kFailure; }));
  EQUAL(sim_stream_synchronize(stream.handle, -1), kFailure);
  CHECK(says("failed on the device"));
}

TEST(after_a_failure_a_device_that_stops_answers_with_it_until_it_is_whole_again) {
  unsetenv("OPHOOK_SIM_AFTER_FAILURE");  // whatever the shell has
  OneStream stream;
  void *other = nullptr, *event = nullptr;
  OK(sim_stream_create(&other));
  OK(sim_event_create(&event));
  OK(sim_event_record(event, other));
  OK(sim_stream_stop_on_failure(stream.handle, 1));
  std::atomic<int> ran{0};
  Door door;
  const auto task = [&ran] { return ++ran, 0; };
  std::atomic<bool> runs{false};
  OK(launch(other, [&] { return runs = true, door.pass(), 0; }));
  OK(launch(other, task));
  while (!runs) std::this_thread::yield();  // after the failure it would not begin
  OK(launch(stream.handle, [] { return sim_fail(kFailure, "the first"); }));
  EQUAL(sim_stream_synchronize(stream.handle, -1), kFailure);
  for (int time = 0; time < 2; ++time) {
    int done = 0;
    EQUAL(launch(other, task), kFailure);
    CHECK(says("the first"));
    EQUAL(sim_stream_synchronize(stream.handle, -1), kFailure);
    EQUAL(sim_synchronize_device(-1), kFailure);
    EQUAL(sim_stream_query(other, &done), kFailure);
    EQUAL(sim_event_query(event, &done), kFailure);
    EQUAL(sim_event_synchronize(event, -1), kFailure);
    EQUAL(sim_event_record(event, other), kFailure);
  }
  EQUAL(sim_abort_tasks(0, 1), kStreamTimeout);  // what runs cannot be ended
  door.open();
  OK(sim_abort_tasks(0, 0));
  EQUAL(ran, 0);  // what was queued never ran
  OK(launch(other, task));
  OK(sim_synchronize_device(-1));
  EQUAL(ran, 1);
  OK(launch(other, [] { return kFailure; }));
  EQUAL(sim_stream_synchronize(other, -1), kFailure);
  OK(sim_event_destroy(event));
  OK(sim_reset_device(0));
  OK(sim_set_device(0));
  stream.handle = nullptr;
  OK(launch(nullptr, [] { return kFailure; }));  // nobody asked the new context to stop
  EQUAL(sim_stream_synchronize(nullptr, -1), kFailure);
  OK(sim_stream_synchronize(nullptr, -1));
  EQUAL(sim_abort_tasks(99, 0), kInvalidDevice);
}

TEST(where_a_failure_is_to_stay_no_longer_a_stream_that_stops_runs_nothing_until_that_was_reported) {
  OneStream stream;
  setenv("OPHOOK_SIM_AFTER_FAILURE", "continue", 1);
  OK(sim_stream_stop_on_failure(stream.handle, 1));
  int ran = 0, dropped = 0;
  void* event = nullptr;
  OK(sim_event_create(&event));
  OK(launch(stream.handle, [] { return kFailure; }));
  OK(launch(stream.handle, [&ran] { return ++ran, 0; }, [&dropped] { ++dropped; }));
  OK(sim_event_record(event, stream.handle));  // others may wait for it
  OK(sim_event_synchronize(event, -1));
  EQUAL(sim_stream_synchronize(stream.handle, -1), kFailure);
  EQUAL(ran, 0);
  EQUAL(dropped, 1);
  EQUAL(sim_stream_stop_on_failure(stream.handle, 0), 207000);
  OK(launch(stream.handle, [&ran] { return ++ran, 0; }));
  OK(sim_stream_synchronize(stream.handle, -1));
  EQUAL(ran, 1);
  OK(sim_event_destroy(event));
  unsetenv("OPHOOK_SIM_AFTER_FAILURE");
}

TEST(what_a_task_throws_is_its_failure) {
  OneStream stream;
  OK(launch(stream.handle, []() -> int { throw std::runtime_error("thrown"); }));
  EQUAL(sim_stream_synchronize(stream.handle, -1), kFailure);
  CHECK(says("test: thrown"));
  OK(launch(stream.handle, []() -> int { throw 1; }));
  EQUAL(sim_stream_synchronize(stream.handle, -1), kFailure);
  CHECK(says("unknown type"));
}

TEST(a_task_is_dropped_once_whatever_happens_to_it) {
  std::atomic<int> dropped{0};
  auto drop = [&dropped] { ++dropped; };
  {
    OneStream stream;
    OK(launch(stream.handle, [] { return 0; }, drop));
    OK(launch(stream.handle, [] { return kFailure; }, drop));
    EQUAL(sim_stream_synchronize(stream.handle, -1), kFailure);
    for (int index = 0; index < 10; ++index) OK(launch(stream.handle, [] { return 0; }, drop));
  }
  EQUAL(dropped, 12);
  Door nothing;
  EQUAL(launch(&nothing, [] { return 0; }, drop), kInvalidHandle);
  EQUAL(dropped, 13);
}

TEST(threads_launch_on_one_stream_and_synchronize_it) {
  OneStream stream;
  const int each = rounds(500);
  int ran = 0;  // tasks of one stream need no lock
  together(4, [&](int) {
    OK(sim_set_device(0));
    for (int index = 0; index < each; ++index) {
      OK(launch(stream.handle, [&ran] { return ++ran, 0; }));
      if (index % 50 == 0) OK(sim_stream_synchronize(stream.handle, -1));
    }
    OK(sim_stream_synchronize(stream.handle, -1));
  });
  EQUAL(ran, 4 * each);
}

TEST(threads_that_synchronize_get_a_failure_once_between_them) {
  for (int round = 0; round < rounds(50); ++round) {
    OneStream stream;
    OK(launch(stream.handle, [] { return sim_fail(kFailure, "shared"); }));
    std::atomic<int> told{0};
    together(3, [&](int) {
      const int code = sim_stream_synchronize(stream.handle, -1);
      if (code != 0) CHECK(says("shared"));
      told += code == kFailure;
      CHECK(code == 0 || code == kFailure);
    });
    EQUAL(told, 1);
  }
}

TEST(threads_make_and_destroy_streams_while_the_device_is_synchronized) {
  std::atomic<int> ran{0};
  const int each = rounds(60);
  together(4, [&](int index) {
    OK(sim_set_device(0));
    for (int round = 0; round < each; ++round) {
      if (index == 0) {
        OK(sim_synchronize_device(-1));
        continue;
      }
      OneStream stream;
      OK(launch(stream.handle, [&ran] { return ++ran, 0; }));
    }
  });
  EQUAL(ran, 3 * each);
}

TEST(a_task_launches_on_other_streams_and_on_its_own) {
  OneStream one, other;
  std::vector<int> seen;
  OK(launch(one.handle, [&] {
    return launch(other.handle, [&] {
      seen.push_back(1);
      return launch(other.handle, [&] { return seen.push_back(2), 0; });
    });
  }));
  OK(sim_stream_synchronize(one.handle, -1));
  OK(sim_stream_synchronize(other.handle, -1));
  OK(sim_stream_synchronize(other.handle, -1));  // the first may have been before the second task was launched
  EQUAL(seen.size(), 2u);
}

TEST(a_task_that_waits_for_its_own_stream_is_refused) {
  OneStream stream;
  int synchronized = 0, destroyed = 0;
  OK(launch(stream.handle, [&] {
    synchronized = sim_stream_synchronize(stream.handle, -1);
    destroyed = sim_stream_destroy(stream.handle);
    return 0;
  }));
  OK(sim_stream_synchronize(stream.handle, -1));
  EQUAL(synchronized, kInvalidParam);
  EQUAL(destroyed, kInvalidParam);
}

TEST(a_stream_that_is_destroyed_by_force_drops_what_has_not_begun) {
  void* stream = nullptr;
  OK(sim_stream_create(&stream));
  Door door;
  int ran = 0, dropped = 0;
  OK(launch(stream, [&door] { return door.pass(), 0; }));
  OK(launch(stream, [&ran] { return ++ran, 0; }, [&dropped] { ++dropped; }));
  std::thread opens([&door] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it is being destroyed by then
    door.open();
  });
  OK(sim_stream_destroy_by_force(stream));
  opens.join();
  EQUAL(ran, 0);
  EQUAL(dropped, 1);
}

TEST(a_task_with_nothing_in_front_of_it_has_begun_when_its_stream_is_destroyed_by_force) {
  for (int round = 0; round < rounds(200); ++round) {
    void* stream = nullptr;
    OK(sim_stream_create(&stream));
    int ran = 0;
    OK(launch(stream, [&ran] { return ++ran, 0; }));
    OK(sim_stream_destroy_by_force(stream));
    EQUAL(ran, 1);
  }
}

TEST(a_handle_that_is_no_stream_is_refused) {
  OneStream stream;
  void* gone = stream.handle;
  OK(sim_stream_destroy(gone));
  stream.handle = nullptr;
  int number = 0, done = 0;
  char own[256] = {};
  for (void* handle : {gone, static_cast<void*>(own), reinterpret_cast<void*>(8)}) {
    EQUAL(sim_stream_destroy(handle), kInvalidHandle);
    CHECK(says("is not a stream"));
    EQUAL(sim_stream_synchronize(handle, -1), kInvalidHandle);
    EQUAL(sim_stream_query(handle, &done), kInvalidHandle);
    EQUAL(sim_stream_id(handle, &number), kInvalidHandle);
    EQUAL(sim_stream_device(handle, &number), kInvalidHandle);
    EQUAL(sim_stream_stop_on_failure(handle, 1), kInvalidHandle);
    EQUAL(launch(handle, [] { return 0; }), kInvalidHandle);
  }
  EQUAL(sim_stream_destroy(nullptr), kInvalidParam);
}

TEST(a_stream_that_another_thread_destroys_is_refused_or_done) {
  for (int round = 0; round < rounds(200); ++round) {
    void* stream = nullptr;
    OK(sim_stream_create(&stream));
    std::atomic<int> launched{0}, dropped{0};
    together(2, [&](int index) {
      if (index == 0) {
        OK(sim_stream_destroy(stream));
        return;
      }
      for (int task = 0; task < 20; ++task) {
        ++launched;
        const int code = launch(stream, [] { return 0; }, [&dropped] { ++dropped; });
        CHECK(code == 0 || code == kInvalidHandle);
      }
      const int code = sim_stream_synchronize(stream, -1);
      CHECK(code == 0 || code == kInvalidHandle);
    });
    EQUAL(dropped, launched);
  }
}

TEST(a_device_has_a_limited_number_of_streams) {
  std::vector<void*> streams;
  void* stream = nullptr;
  int code = 0;
  while (streams.size() < 3000 && (code = sim_stream_create(&stream)) == 0) streams.push_back(stream);
  EQUAL(code, kNoStreams);
  CHECK(says("has 1984 streams"));
  CHECK(streams.size() >= 1983 && streams.size() <= 1984);  // the default stream may be there already
  OK(sim_stream_destroy(streams.back()));
  OK(sim_stream_create(&streams.back()));
  OK(sim_set_device(1));  // each device has as many
  OK(sim_stream_create(&stream));
  OK(sim_stream_destroy(stream));
  OK(sim_set_device(0));
  for (void* each : streams) OK(sim_stream_destroy(each));
}
