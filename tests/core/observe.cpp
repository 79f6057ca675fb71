// What an observer is told: each task once, from its launch to its end, and none that nobody asked for.
#include <algorithm>

#include "check.h"

using namespace check;

namespace {

struct Seen {
  std::string name, type;
  sim_task_run run;
};

std::mutex seeing;
std::vector<Seen> seen;
std::vector<sim_call_made> calls;

const sim_observer kWatching = {
    [](const sim_task_run* run, const void* task) {
      struct Listener : sim_listener {
        std::string told;
      } listener{};
      listener.type = [](sim_listener* self, const char* text) { static_cast<Listener*>(self)->told = text; };
      sim_task_tell(task, &listener);
      std::lock_guard lock(seeing);
      seen.push_back({run->name, listener.told, *run});
    },
    [](const sim_call_made* call) {
      std::lock_guard lock(seeing);
      calls.push_back(*call);
    },
};

struct Observed {
  Observed() {
    std::lock_guard lock(seeing);
    seen.clear();
    calls.clear();
    sim_observe(sim_watcher_tool, &kWatching);
  }
  ~Observed() { sim_observe(sim_watcher_tool, nullptr); }
};

const sim_about kAbout = {sim_task_operator, [](const void* argument, sim_listener* listener) {
                            listener->type(listener, static_cast<const char*>(argument));
                          }};

int launch_named(void* stream, const char* name, int code = 0) {
  const auto run = code ? [](void*) { return kFailure; } : [](void*) { return 0; };
  return sim_launch_about(stream, name, &kAbout, run, const_cast<char*>("kind"), nullptr);
}

}  // namespace

TEST(an_observer_is_told_of_tasks_and_launches) {
  void* stream = nullptr;
  OK(sim_stream_create(&stream));
  OK(launch_named(stream, "before"));
  OK(sim_stream_synchronize(stream, -1));
  {
    const Observed now;
    OK(launch_named(stream, "first"));
    OK(launch_named(stream, "second", kFailure));
    EQUAL(sim_stream_synchronize(stream, -1), kFailure);
    const uint64_t begin = sim_call_begin();
    CHECK(begin > 0);
    sim_call_end("call", begin);
  }
  OK(launch_named(stream, "after"));
  OK(sim_stream_synchronize(stream, -1));
  EQUAL(sim_call_begin(), 0u);
  EQUAL(seen.size(), 2u);
  EQUAL(calls.size(), 3u);
  CHECK(seen[0].name == "first" && seen[1].name == "second" && seen[0].type == "kind");
  CHECK(!seen[0].run.failed && seen[1].run.failed && seen[0].run.model == UINT32_MAX);
  for (size_t i = 0; i < seen.size(); ++i) {
    const sim_task_run& run = seen[i].run;
    CHECK(run.launched_ns <= run.begin_ns && run.begin_ns <= run.end_ns && run.thread != 0);
    CHECK(run.connection != 0 && run.connection == calls[i].connection && calls[i].level == sim_level_node);
  }
  CHECK(seen[0].run.end_ns <= seen[1].run.begin_ns && seen[0].run.number < seen[1].run.number);
  OK(sim_stream_destroy(stream));
}

TEST(an_observer_is_told_of_what_a_replay_runs) {
  void *stream = nullptr, *model = nullptr;
  uint32_t id = 0;
  OK(sim_stream_create(&stream));
  OK(sim_capture_begin(stream));
  OK(launch_named(stream, "captured"));
  OK(launch_named(stream, "captured"));
  OK(sim_capture_end(stream, &model));
  OK(sim_model_id(model, &id));
  {
    const Observed now;
    OK(sim_model_execute(model, stream));
    OK(sim_model_execute(model, stream));
    OK(sim_stream_synchronize(stream, -1));
  }
  EQUAL(seen.size(), 4u);
  CHECK(std::all_of(seen.begin(), seen.end(), [id](const Seen& one) { return one.run.model == id; }));
  CHECK(seen[0].run.connection == seen[1].run.connection && seen[1].run.connection != seen[2].run.connection);
  OK(sim_model_destroy(model));
  OK(sim_stream_destroy(stream));
}

TEST(an_observer_comes_and_goes_while_tasks_run) {
  void* stream = nullptr;
  OK(sim_stream_create(&stream));
  std::atomic<bool> over{false};
  std::thread switching([&over] {
    while (!over) const Observed now;
  });
  for (int index = 0; index < 2000; ++index) OK(launch_named(stream, "task"));
  OK(sim_stream_synchronize(stream, -1));
  over = true;
  switching.join();
  OK(sim_stream_destroy(stream));
}
