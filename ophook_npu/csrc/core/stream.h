// Streams, events and captured models. A stream is a thread with a first-in-first-out queue of tasks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "state.h"

namespace sim {

struct Task {
  explicit Task(const char* task_name) : name(task_name) {}
  virtual ~Task() = default;
  virtual int run() = 0;
  virtual bool runs_after_failure() const { return false; }  // event records do: others may wait for them
  const char* name;  // a literal, or owned by what the task owns
};

// One record of an event: done when the stream got there. A new record makes a new one, so a waiter keeps its own.
struct Recording {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  bool captured = false;  // recorded into a model; only the model's replays complete it
  uint64_t time_us = 0;

  void complete();
  bool wait(int64_t timeout_ms);
  bool is_done();
};

struct Stream;

struct Model {
  uint32_t id = 0;
  std::vector<std::shared_ptr<Task>> tasks;  // in capture order, which is an order of execution
  std::vector<Stream*> members;              // the origin first, then those that joined by waiting on an event
  std::mutex mutex;
  bool ended = false;
};

struct Stream {
  explicit Stream(int on_device);
  ~Stream();  // lets the queued work finish

  int launch(std::shared_ptr<Task> task);
  int synchronize(int64_t timeout_ms);
  bool idle();

  const uint64_t magic;
  const int device;
  const int32_t id;
  std::atomic<Model*> capture{nullptr};
  std::atomic<bool> stop_on_failure{false};
  bool origin = false;                              // this stream began the capture
  std::shared_ptr<Model> capture_owner;             // set on the origin while capturing

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable work_arrived_, work_done_;
  std::deque<std::shared_ptr<Task>> queue_;
  uint64_t submitted_ = 0, completed_ = 0;
  int waiters_ = 0;
  bool sleeping_ = false, stop_ = false;
  int failure_ = 0;  // the first since the last synchronization
  std::string failure_text_;
  std::thread thread_;
};

struct Event {
  uint64_t magic;
  std::mutex mutex;
  std::shared_ptr<Recording> newest;  // null: never recorded, counts as complete
  Model* model = nullptr;             // the capture that the newest recording belongs to
};

// The stream behind a handle (NULL: the current device's default stream), or a failure naming `caller`.
int resolve(const char* caller, void* handle, Stream** out);

}  // namespace sim
