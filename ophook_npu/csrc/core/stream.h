// Streams, events and captured models. A stream is a thread with a first-in-first-out queue of tasks.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "handles.h"
#include "observe.h"
#include "order.h"
#include "runtime.h"
#include "schedule.h"
#include "state.h"

namespace sim {

struct Recording;

struct Task {
  explicit Task(const char* task_name) : name(task_name) {}
  virtual ~Task() = default;
  virtual int run() = 0;
  virtual bool runs_after_failure() const { return false; }               // event records do: others may wait for them
  virtual std::shared_ptr<Recording> records() const { return nullptr; }  // an event, for other streams to wait for
  // At the launch of a replay, and where the replay ends before the task's turn: what waits for it must not wait for
  // ever.
  virtual void replay_launched() {}
  virtual void replay_failed() {}
  // For an observer.
  virtual bool runs_others() const { return false; }  // those are told of, and it is not
  virtual sim_task_kind task_kind() const { return sim_task_other; }
  virtual void tell(sim_listener*) const {}
  // For the check of order.
  virtual bool tells_later() const { return false; }    // what it touches, when it has run
  virtual bool waits_outside() const { return false; }  // for what is recorded outside of its captured model

  virtual std::shared_ptr<Recording> waits_for() const { return nullptr; }  // that another stream completes

  const char* name;  // a literal, or owned by what the task owns
  Launch launched;
  int32_t line = -1;                          // the stream that launched it into a model
  uint32_t nth = 0, by_thread = 0;            // on its stream; who launched it
  std::shared_ptr<const order::Clock> clock;  // at its launch, where it calls the host
  std::vector<order::Bytes> touched;          // of its latest run, where it tells later; order.cpp's mutex
  uint32_t count = 0;                         // on its stream's line, at its launch
  int caller = 0;                             // of the launch, with the check of order
  uint64_t told = 0;                          // before it, to other processes: bytes
  uint64_t number = 0, entry = 0;             // schedule.cpp's
  bool delayed = false;
};

// One record of an event: done when the stream got there. A new record makes a new one, so a waiter keeps its own.
struct Recording {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  bool captured = false;            // recorded into a model; only the model's replays complete it
  std::atomic<bool> joined{false};  // a stream of that capture waits for it
  uint64_t time_us = 0;

  bool abandoned = false;                     // the model is gone, so nothing can complete it
  std::shared_ptr<const order::Clock> clock;  // in a capture that of its lines, till the model is replayed

  void complete();
  void abandon();
  bool wait(int64_t timeout_ms);  // whether it was completed
  bool is_done();
  bool is_over();  // or nothing can complete it any more
};

struct Stream;

struct Model;

// Of a model that was built stream by stream (built.cpp).
struct Built {
  std::vector<int32_t> streams, heads;
};

// Tasks of a model that can be replaced by others after the capture: those that one stream launched meanwhile.
struct TaskGroup {
  std::weak_ptr<Model> model;
  std::vector<size_t> positions;  // among the model's tasks
};

// What programs hold of a model's tasks and of the streams that they were launched on (model_tasks.cpp).
struct ModelTask {
  ModelTask(std::weak_ptr<Model> of, size_t nth, sim_model_task_type what)
      : model(std::move(of)), index(nth), type(what) {}
  const std::weak_ptr<Model> model;
  const size_t index;
  const sim_model_task_type type;
  bool disabled = false;  // from the model's next update on
};
struct ModelLine {
  ModelLine(std::weak_ptr<Model> of, int32_t stream) : model(std::move(of)), id(stream) {}
  const std::weak_ptr<Model> model;
  const int32_t id;
};
int line_id(void* handle, int32_t* id);
void forget_tasks(Model& model);

// Where both are locked, a stream's mutex is locked before its model's.
struct Model {
  ~Model();

  uint32_t id = 0;
  const Stream* origin = nullptr;  // compared, never followed
  std::mutex mutex;
  std::vector<std::shared_ptr<Task>> tasks;  // in capture order, which is an order of execution
  std::vector<std::shared_ptr<TaskGroup>> groups;
  std::vector<std::weak_ptr<Stream>> members;  // the origin first, then those that joined by waiting on an event
  std::atomic<bool> ended{false};              // written with the mutex held
  std::atomic<bool> broken{false};             // a call within the capture failed so that no model comes of it
  int mode = 0, device = 0;                    // of the capture
  std::thread::id thread;                      // that began it
  std::shared_ptr<order::Inside> inside;
  std::vector<std::shared_ptr<Task>> first;  // run at the beginning of each replay
  std::unique_ptr<Built> built;
  std::vector<std::shared_ptr<ModelTask>> handed;
  std::vector<std::shared_ptr<ModelLine>> lines;
};

// A task that calls a function, as sim_launch makes it.
std::shared_ptr<Task> make_call(const char* name, sim_run run, void* argument, sim_drop drop);

// Runs a model's tasks in the calling thread.
int replay(Model& model, const Launch& launched);
// The same of one that was built, with `run` for each task.
int replay_built(Model& model, const std::function<int(Task&)>& run);

// What a stream captures: begun by joining a model, gone when the stream leaves it.
struct Capture {
  std::shared_ptr<Model> model;
  std::shared_ptr<TaskGroup> group;  // the one that is open
  std::shared_ptr<Recording> last;   // the stream's last task, if that records an event that others can wait for
};

struct Stream : std::enable_shared_from_this<Stream> {
  explicit Stream(int on_device);
  ~Stream();

  // Lets the queued work finish and ends the thread. Before the last reference goes, and not in a task of its own.
  void finish(bool by_force = false);
  int launch(std::shared_ptr<Task> task);
  int synchronize(int64_t timeout_ms);
  // Waits for what was launched so far, and forgets its failures.
  int drain(int64_t timeout_ms);
  void wake();  // those that synchronize: the device's context has failed
  bool idle();
  bool comes_to_end(int64_t timeout_ms);  // of what was launched; it says nothing about their order
  bool runs_here() const;                 // the calling thread is the stream's own
  static Stream* here();                  // the stream whose thread is calling, or null

  // Null where it is not being captured.
  std::shared_ptr<Model> capturing();
  // What has not run will not. A device begins a task as soon as nothing is in front of it, which this stream's thread
  // may not have come to yet: `first_has_begun` keeps that one.
  void abort(bool first_has_begun = false);
  // A persistent stream's tasks that belong to no model yet.
  std::vector<std::shared_ptr<Task>> take_kept();
  // From here on what is launched belongs to the model; false if the stream is captured already, or the model ended.
  bool join(const std::shared_ptr<Model>& model);
  // What it captured for the model; no model where it captured nothing for it.
  Capture leave(const std::shared_ptr<Model>& model);
  // It waits for what another stream of its capture recorded; the model's order already says so.
  void waited_for(Recording& recording);

  // Between these two, what is launched while the stream is captured belongs to the group as well; false if it is not
  // captured or there is a group already. Null where there is none. A group that is open ends with the capture.
  bool begin_group();
  std::shared_ptr<TaskGroup> end_group();
  // Between these two, what is launched is kept and not run; false if the stream is captured or updates already.
  bool begin_update(std::shared_ptr<TaskGroup> group);
  // The group and what was launched; a null group where nothing was begun.
  std::pair<std::shared_ptr<TaskGroup>, std::vector<std::shared_ptr<Task>>> end_update();

  const int device;
  const int32_t id;
  void* context = nullptr;  // one of the program's own; compared, never followed
  bool first = false;       // its device's default stream, which all contexts share
  std::atomic<bool> stop_on_failure{false};
  std::atomic<bool> persistent{false};
  order::Line line;                     // order.cpp's
  Task* telling = nullptr;              // that runs and tells later; its own thread's
  const Task* host_function = nullptr;  // that runs; its own thread's
  const Task* runs = nullptr;           // its own thread's
  uint32_t ran = 0;                     // the count of the task that ran last; its own thread's
  std::atomic<bool> closing{false};     // somebody destroys it: a handle no more, but to tasks that it still runs

 private:
  void work();
  Capture* capture();  // with the mutex held; null where nothing is captured
  int put(std::shared_ptr<Task> task, bool* queued);
  bool reached(uint64_t target);  // with the mutex held; where it is not, who asks is woken when it is

  std::mutex mutex_;
  std::condition_variable work_arrived_, work_done_;
  std::deque<std::shared_ptr<Task>> queue_;
  uint64_t submitted_ = 0, completed_ = 0, drained_ = 0;
  uint64_t aborted_ = 0, begun_ = 0;  // those up to here, but for that one
  std::vector<std::shared_ptr<Task>> kept_;
  // The earliest task that somebody waits for: to wake who waits at every task costs as much as a small task.
  static constexpr uint64_t kNobody = ~uint64_t{0};
  uint64_t awaited_ = kNobody;
  bool sleeping_ = false, stop_ = false;
  int failure_ = 0;  // the first since the last synchronization
  std::string failure_text_;
  Capture capture_;
  std::shared_ptr<TaskGroup> updating_;
  std::vector<std::shared_ptr<Task>> updates_;
  std::thread thread_;
};

struct Event {
  ~Event();
  std::mutex mutex;
  const uint32_t id = sim_next_event_id();
  int taken = -1;                     // the device that has one event less as long as it exists
  std::shared_ptr<Recording> newest;  // null: never recorded, counts as complete
  std::weak_ptr<Model> model;         // the capture that the newest recording belongs to
  std::atomic<int> device{-1};        // of the stream that recorded it last

  // One that is waited for, and reset, from inside a model: every replay waits anew for a recording outside.
  std::atomic<bool> external{false};
  bool set = false;
  // Recorded inside of models for streams outside: by how many replays that were launched, and that came so far.
  std::atomic<bool> inside{false};
  uint64_t expected = 0, came = 0;
  std::condition_variable changed;
};

// The stream behind a handle (NULL: the current device's default stream), or a failure naming `caller`.
int resolve(const char* caller, void* handle, std::shared_ptr<Stream>* out);
// The same for what a stream is to do: a failure too where it is of another context than the calling thread's.
int resolve_here(const char* caller, void* handle, std::shared_ptr<Stream>* out);

}  // namespace sim
