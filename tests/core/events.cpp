// Events: order between streams, host threads that wait, and times.
#include "check.h"

using namespace check;

namespace {

struct Pair {
  Pair() {
    OK(sim_stream_create(&one));
    OK(sim_stream_create(&other));
    OK(sim_event_create(&event));
  }
  ~Pair() {
    OK(sim_stream_destroy(one));
    OK(sim_stream_destroy(other));
    OK(sim_event_destroy(event));
  }
  void *one = nullptr, *other = nullptr, *event = nullptr;
};

}  // namespace

TEST(a_stream_waits_for_what_another_recorded) {
  for (int round = 0; round < rounds(100); ++round) {
    Pair pair;
    int value = 0;  // written by one stream, read by the other: the event is all that orders them
    Door door;
    OK(launch(pair.one, [&] {
      door.pass();
      value = 42;
      return 0;
    }));
    OK(sim_event_record(pair.event, pair.one));
    OK(sim_event_wait(pair.other, pair.event));
    int seen = 0;
    OK(launch(pair.other, [&] { return seen = value, 0; }));
    door.open();
    OK(sim_stream_synchronize(pair.other, -1));
    EQUAL(seen, 42);
  }
}

TEST(a_wait_is_for_the_newest_recording_when_it_was_asked_for) {
  Pair pair;
  Door first, second;
  OK(launch(pair.one, [&] { return first.pass(), 0; }));
  OK(sim_event_record(pair.event, pair.one));
  OK(sim_event_wait(pair.other, pair.event));
  OK(launch(pair.one, [&] { return second.pass(), 0; }));
  OK(sim_event_record(pair.event, pair.one));
  first.open();
  OK(sim_stream_synchronize(pair.other, -1));  // does not wait for the second recording
  int done = 1;
  OK(sim_event_query(pair.event, &done));
  EQUAL(done, 0);
  EQUAL(sim_event_synchronize(pair.event, 1), kEventTimeout);
  second.open();
  OK(sim_event_synchronize(pair.event, -1));
  OK(sim_event_query(pair.event, &done));
  EQUAL(done, 1);
}

TEST(an_event_nobody_recorded_is_complete_and_has_no_time) {
  Pair pair;
  int done = 0;
  OK(sim_event_query(pair.event, &done));
  EQUAL(done, 1);
  OK(sim_event_synchronize(pair.event, -1));
  OK(sim_event_wait(pair.one, pair.event));
  OK(sim_stream_synchronize(pair.one, -1));
  uint64_t time = 0;
  EQUAL(sim_event_time(pair.event, &time), kNoTime);
  OK(sim_event_record(pair.event, pair.one));
  OK(sim_event_synchronize(pair.event, -1));
  OK(sim_event_time(pair.event, &time));
  CHECK(time > 0);
  OK(sim_event_reset(pair.event, pair.one));
  EQUAL(sim_event_time(pair.event, &time), kNoTime);
}

TEST(time_between_events_is_what_the_stream_took) {
  Pair pair;
  void* end = nullptr;
  OK(sim_event_create(&end));
  OK(sim_event_record(pair.event, pair.one));
  OK(launch(pair.one, [] { return std::this_thread::sleep_for(std::chrono::milliseconds(5)), 0; }));
  OK(sim_event_record(end, pair.one));
  OK(sim_event_synchronize(end, -1));
  float milliseconds = 0;
  OK(sim_event_elapsed(pair.event, end, &milliseconds));
  CHECK(milliseconds >= 5);
  OK(sim_event_elapsed(end, pair.event, &milliseconds));
  CHECK(milliseconds <= -5);
  OK(sim_event_destroy(end));
}

TEST(many_threads_wait_for_one_event) {
  for (int round = 0; round < rounds(50); ++round) {
    Pair pair;
    int value = 0;
    Door door;
    OK(launch(pair.one, [&] { return door.pass(), value = 1, 0; }));
    OK(sim_event_record(pair.event, pair.one));
    together(4, [&](int index) {
      if (index == 0) return door.open();
      OK(sim_event_synchronize(pair.event, -1));
      EQUAL(value, 1);
    });
  }
}

TEST(threads_record_query_and_wait_for_one_event) {
  Pair pair;
  together(4, [&](int index) {
    OK(sim_set_device(0));
    for (int round = 0; round < rounds(300); ++round) {
      int done = 0;
      if (index == 0) OK(sim_event_record(pair.event, pair.one));
      if (index == 1) OK(sim_event_wait(pair.other, pair.event));
      if (index == 2) OK(sim_event_query(pair.event, &done));
      if (index == 3) OK(sim_event_synchronize(pair.event, -1));
    }
  });
  OK(sim_stream_synchronize(pair.other, -1));
}

TEST(an_event_may_go_while_a_stream_waits_for_it) {
  Pair pair;
  void* event = nullptr;
  OK(sim_event_create(&event));
  Door door;
  OK(launch(pair.one, [&] { return door.pass(), 0; }));
  OK(sim_event_record(event, pair.one));
  OK(sim_event_wait(pair.other, event));
  OK(sim_event_destroy(event));
  door.open();
  OK(sim_stream_synchronize(pair.other, -1));
}

TEST(a_handle_that_is_no_event_is_refused) {
  Pair pair;
  void* gone = nullptr;
  OK(sim_event_create(&gone));
  OK(sim_event_destroy(gone));
  char own[256] = {};
  int done = 0;
  uint64_t time = 0;
  float span = 0;
  for (void* handle :
       {gone, static_cast<void*>(own), reinterpret_cast<void*>(8), static_cast<void*>(nullptr), pair.one}) {
    EQUAL(sim_event_destroy(handle), kInvalidHandle);
    CHECK(says(handle == gone ? "is not an event: it was destroyed before" : "is not an event"));
    EQUAL(sim_event_record(handle, pair.one), kInvalidHandle);
    EQUAL(sim_event_wait(pair.one, handle), kInvalidHandle);
    EQUAL(sim_event_synchronize(handle, -1), kInvalidHandle);
    EQUAL(sim_event_query(handle, &done), kInvalidHandle);
    EQUAL(sim_event_reset(handle, pair.one), kInvalidHandle);
    EQUAL(sim_event_time(handle, &time), kInvalidHandle);
    EQUAL(sim_event_elapsed(pair.event, handle, &span), kNoTime);  // the start is asked first
  }
  EQUAL(sim_event_record(pair.event, pair.event), kInvalidHandle);
  CHECK(says("is not a stream"));
}

TEST(an_event_that_another_thread_destroys_is_refused_or_done) {
  for (int round = 0; round < rounds(200); ++round) {
    Pair pair;
    void* event = nullptr;
    OK(sim_event_create(&event));
    together(2, [&](int index) {
      if (index == 0) {
        OK(sim_event_destroy(event));
        return;
      }
      OK(sim_set_device(0));
      for (int step = 0; step < 5; ++step) {
        int done = 0;
        for (int code : {sim_event_record(event, pair.one), sim_event_wait(pair.other, event),
                         sim_event_query(event, &done), sim_event_synchronize(event, -1)})
          CHECK(code == 0 || code == kInvalidHandle);
      }
    });
  }
}
