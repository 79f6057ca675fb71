// Captured models (aclmdlRI): the tasks launched on captured streams, kept and run again by a replay.
#include <utility>

#include "capture_mode.h"
#include "runtime.h"
#include "stream.h"

namespace sim {
namespace {

std::atomic<uint32_t> next_model{1};

std::shared_ptr<Model> find(void* handle) { return Handles<Model>::all().find(handle); }

// Replays in capture order on one thread. That order keeps every dependency of the captured streams; only the overlap
// between them is lost.
struct ReplayTask final : Task {
  explicit ReplayTask(std::shared_ptr<Model> what) : Task("aclmdlRIExecuteAsync"), model(std::move(what)) {}
  int run() override { return replay(*model, launched); }
  bool runs_others() const override { return true; }
  std::shared_ptr<Model> model;
};

}  // namespace

// A model that another thread has just ended is captured no more.
Capture* Stream::capture() { return capture_.model && !capture_.model->ended ? &capture_ : nullptr; }

std::shared_ptr<Model> Stream::capturing() {
  std::lock_guard lock(mutex_);
  const Capture* capture = this->capture();
  return capture ? capture->model : nullptr;
}

bool Stream::join(const std::shared_ptr<Model>& model) {
  std::lock_guard lock(mutex_);
  if (capture()) return false;
  std::lock_guard model_lock(model->mutex);
  if (model->ended) return false;
  model->members.push_back(weak_from_this());
  capture_ = {model, nullptr, nullptr};
  return true;
}

Capture Stream::leave(const std::shared_ptr<Model>& model) {
  std::lock_guard lock(mutex_);
  return capture_.model == model ? std::exchange(capture_, {}) : Capture{};
}

void Stream::waited_for(Recording& recording) {
  std::lock_guard lock(mutex_);
  Capture* capture = this->capture();
  if (!capture) return;
  capture->last = nullptr;
  recording.joined = true;
}

int replay(Model& model, const Launch& launched) {
  const auto run = [&](Task& task) {
    return observer() ? run_observed(task, launched, model.id, [](Task& each) { return each.run(); }) : task.run();
  };
  for (const auto& task : model.first)
    if (int code = run(*task)) return code;
  if (model.built) return replay_built(model, run);
  // A task may be replaced until its turn has come: a replay waits for that at an external event.
  int code = kOk;
  for (size_t i = 0;; ++i) {
    std::shared_ptr<Task> task;
    {
      std::lock_guard lock(model.mutex);
      if (i >= model.tasks.size()) return code;
      task = model.tasks[i];
    }
    if (code) task->replay_failed();
    else code = run(*task);
  }
}

Model::~Model() {
  for (const auto& group : groups) Handles<TaskGroup>::all().take(group.get());
  forget_tasks(*this);
}

}  // namespace sim

using namespace sim;

static std::shared_ptr<Model> make_model() {
  auto model = std::make_shared<Model>();
  model->id = next_model++;
  return model;
}

static int begin_capture(const char* caller, void* handle, std::shared_ptr<Model> model, int mode) {
  std::shared_ptr<Stream> stream;
  if (!capture_mode::known(mode))
    return sim_fail(kInvalidParam, "%s: mode %d; allowed: %s", caller, mode, capture_mode::kAllowed);
  if (!handle) return sim_fail(kInvalidParam, "%s: the default stream cannot be captured", caller);
  if (int code = resolve(caller, handle, &stream)) return code;
  model->origin = stream.get();
  model->mode = mode;
  model->device = stream->device;
  model->thread = std::this_thread::get_id();
  if (order::on()) order::capture_begun(*model);
  if (!stream->join(model)) return sim_fail(kStreamCaptured, "%s: stream %d is already captured", caller, stream->id);
  capture_mode::enter(stream->device, mode);
  Handles<Model>::all().add(std::move(model));
  return kOk;
}

int sim_capture_begin(void* handle) { return sim_capture_begin_as(handle, capture_mode::kGlobal); }
int sim_capture_begin_as(void* handle, int mode) {
  return begin_capture("aclmdlRICaptureBegin", handle, make_model(), mode);
}

int sim_capture_begin_into(void* handle, void* into, int mode) {
  auto model = find(into);
  if (!model || model->ended || model->origin || model->built)
    return sim_fail(kInvalidHandle, "aclmdlRICaptureToModelRIBegin: %p is not an empty model of a condition", into);
  return begin_capture("aclmdlRICaptureToModelRIBegin", handle, std::move(model), mode);
}

int sim_model_create(void** out) {
  *out = Handles<Model>::all().add(make_model());
  return kOk;
}

int sim_model_run(void* handle) {
  auto model = find(handle);
  if (!model || !model->ended) return sim_fail(kInvalidHandle, "%p is not a finished model", handle);
  return replay(*model, {});
}

int sim_model_starts_with(void* handle, sim_run run, void* argument, sim_drop drop) {
  auto model = find(handle);
  if (!model) {
    if (drop) drop(argument);
    return sim_fail(kInvalidHandle, "%p is not a model", handle);
  }
  std::lock_guard lock(model->mutex);
  model->first.push_back(make_call("the beginning of a model", run, argument, drop));
  return kOk;
}

int sim_model_task_stream(void* handle, size_t index, int32_t* stream) {
  auto model = find(handle);
  if (!model) return sim_fail(kInvalidHandle, "%p is not a model", handle);
  std::lock_guard lock(model->mutex);
  if (index >= model->tasks.size()) return sim_fail(kInvalidParam, "the model has %zu tasks", model->tasks.size());
  *stream = model->tasks[index]->line;
  return kOk;
}

int sim_capture_end(void* handle, void** out) {
  FIND(Stream, stream, resolve, "aclmdlRICaptureEnd", handle);
  std::shared_ptr<Model> model = stream->capturing();
  if (!model) return sim_fail(kStreamNotCaptured, "aclmdlRICaptureEnd: stream %d is not captured", stream->id);
  if (model->origin != stream.get())
    return sim_fail(kCaptureUnmatched, "aclmdlRICaptureEnd: the capture did not begin on stream %d", stream->id);
  std::vector<std::weak_ptr<Stream>> members;
  {
    std::lock_guard lock(model->mutex);
    if (model->ended)
      return sim_fail(kStreamNotCaptured, "aclmdlRICaptureEnd: another thread ended the capture of stream %d",
                      stream->id);
    model->ended = true;
    members.swap(model->members);
  }
  capture_mode::leave(model->device, model->mode);
  if (order::on()) order::capture_ended(*model);
  int code = kOk;
  std::string problem;
  const auto fail = [&](int with, int on, const char* what) {
    if (code == kOk || with == kTaskGroupStatus) code = with, problem = "stream " + std::to_string(on) + " " + what;
  };
  // The last record of all can only be waited for by the origin, or its waiter would not end with a record.
  for (auto& each : members) {
    const auto member = each.lock();
    if (!member) continue;
    const Capture left = member->leave(model);
    if (left.group) fail(kTaskGroupStatus, member->id, "began a task group and did not end it");
    if (member == stream) continue;
    if (!left.last) fail(kStreamUnjoined, member->id, "joined the capture and does not end with an event record");
    else if (!left.last->joined)
      fail(kStreamUnjoined, member->id, "joined the capture and no stream waits for its last event record");
  }
  if (model->broken) code = kCaptureInvalidated, problem = "a call within the capture failed";
  if (model->mode != capture_mode::kRelaxed && model->thread != std::this_thread::get_id())
    code = kCaptureWrongThread, problem = "another thread began the capture, and its mode is not RELAXED";
  if (code != kOk) {
    *out = nullptr;
    Handles<Model>::all().take(model.get());
    return sim_fail(code, "aclmdlRICaptureEnd: %s; the captured model is gone", problem.c_str());
  }
  *out = model.get();
  return kOk;
}

int sim_capture_info(void* handle, int* active, void** model) {
  FIND(Stream, stream, resolve, "aclmdlRICaptureGetInfo", handle);
  std::shared_ptr<Model> capturing = stream->capturing();
  *active = capturing != nullptr;
  *model = capturing.get();
  return kOk;
}

int sim_capture_refuses(const char* call, void* handle) {
  FIND(Stream, stream, resolve, call, handle);
  const auto capturing = stream->capturing();
  if (!capturing || capturing->built) return kOk;
  return sim_fail(kStreamCaptured, "%s: stream %d is being captured", call, stream->id);
}

int sim_model_execute(void* handle, void* on) {
  FIND(Stream, stream, resolve, "aclmdlRIExecuteAsync", on);
  auto model = find(handle);
  if (!model || !model->ended)
    return sim_fail(kInvalidHandle, "aclmdlRIExecuteAsync: %p is not a finished model", handle);
  if (int code = sim_capture_refuses("aclmdlRIExecuteAsync", on)) return code;
  count_model();
  {
    std::lock_guard lock(model->mutex);
    for (const auto& task : model->tasks) task->replay_launched();
  }
  const int code = stream->launch(std::make_shared<ReplayTask>(model));
  if (!code && order::on()) order::replayed(*stream, *model);
  return code;
}

int sim_model_destroy(void* handle) {
  if (const auto model = find(handle); model && model->origin && !model->ended)
    return sim_fail(kModelCaptured, "aclmdlRIDestroy: %p is being captured", handle);
  // Its tasks are dropped here, which runs foreign code, so with nothing locked.
  if (!Handles<Model>::all().take(handle))
    return sim_fail(kInvalidHandle, "aclmdlRIDestroy: %p is not a model", handle);
  return kOk;
}

int sim_model_id(void* handle, uint32_t* id) {
  auto model = find(handle);
  if (!model) return sim_fail(kInvalidHandle, "aclmdlRIGetId: %p is not a model", handle);
  *id = model->id;
  return kOk;
}

int sim_model_size(void* handle, size_t* tasks) {
  auto model = find(handle);
  if (!model) return sim_fail(kInvalidHandle, "%p is not a model", handle);
  std::lock_guard lock(model->mutex);
  *tasks = model->tasks.size();
  return kOk;
}

const char* sim_model_task_name(void* handle, size_t index) {
  auto model = find(handle);
  if (!model) return nullptr;
  std::lock_guard lock(model->mutex);
  return index < model->tasks.size() ? model->tasks[index]->name : nullptr;
}

int sim_group_begin(void* handle) {
  FIND(Stream, stream, resolve, "aclmdlRICaptureTaskGrpBegin", handle);
  if (!stream->capturing())
    return sim_fail(kStreamNotCaptured, "aclmdlRICaptureTaskGrpBegin: stream %d is not captured", stream->id);
  if (!stream->begin_group())
    return sim_fail(kTaskGroupStatus, "aclmdlRICaptureTaskGrpBegin: stream %d has begun a task group already",
                    stream->id);
  return kOk;
}

int sim_group_end(void* handle, void** group) {
  FIND(Stream, stream, resolve, "aclmdlRICaptureTaskGrpEnd", handle);
  if (!group) return sim_fail(kInvalidParam, "aclmdlRICaptureTaskGrpEnd: no place for the group");
  auto made = stream->end_group();
  if (!made) return sim_fail(kTaskGroupStatus, "aclmdlRICaptureTaskGrpEnd: stream %d began no task group", stream->id);
  *group = Handles<TaskGroup>::all().add(std::move(made));
  return kOk;
}

int sim_update_begin(void* handle, void* group) {
  FIND(Stream, stream, resolve, "aclmdlRICaptureTaskUpdateBegin", handle);
  auto found = Handles<TaskGroup>::all().find(group);
  if (!found) return sim_fail(kInvalidHandle, "aclmdlRICaptureTaskUpdateBegin: %p is not a task group", group);
  if (!stream->begin_update(std::move(found)))
    return sim_fail(kTaskGroupStatus, "aclmdlRICaptureTaskUpdateBegin: stream %d is captured, or updates already",
                    stream->id);
  return kOk;
}

int sim_update_end(void* handle) {
  FIND(Stream, stream, resolve, "aclmdlRICaptureTaskUpdateEnd", handle);
  auto [group, tasks] = stream->end_update();
  if (!group) return sim_fail(kTaskGroupStatus, "aclmdlRICaptureTaskUpdateEnd: stream %d updates nothing", stream->id);
  auto model = group->model.lock();
  if (!model) return sim_fail(kInvalidHandle, "aclmdlRICaptureTaskUpdateEnd: the group's model was destroyed");
  if (tasks.size() != group->positions.size())
    return sim_fail(kInternal, "aclmdlRICaptureTaskUpdateEnd: %zu tasks were launched; the group has %zu", tasks.size(),
                    group->positions.size());
  // The tasks that go are dropped when the lock is gone: that runs foreign code.
  std::lock_guard lock(model->mutex);
  for (size_t i = 0; i < tasks.size(); ++i) model->tasks[group->positions[i]].swap(tasks[i]);
  return kOk;
}
