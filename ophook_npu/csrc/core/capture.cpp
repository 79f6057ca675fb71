// Captured models (aclmdlRI): the tasks launched on captured streams, kept and run again by a replay.
#include "stream.h"

namespace sim {
namespace {

std::atomic<uint32_t> next_model{1};

std::shared_ptr<Model> find(void* handle) { return Handles<Model>::all().find(handle); }

// Replays in capture order on one thread. That order keeps every dependency of the captured streams; only the overlap
// between them is lost.
struct ReplayTask final : Task {
  explicit ReplayTask(std::shared_ptr<Model> what) : Task("aclmdlRIExecuteAsync"), model(std::move(what)) {}
  int run() override {
    for (const auto& task : model->tasks)
      if (int code = task->run()) return code;
    return kOk;
  }
  std::shared_ptr<Model> model;
};

}  // namespace
}  // namespace sim

using namespace sim;

int sim_capture_begin(void* handle) {
  std::shared_ptr<Stream> stream;
  if (!handle) return sim_fail(kInvalidParam, "aclmdlRICaptureBegin: the default stream cannot be captured");
  if (int code = resolve("aclmdlRICaptureBegin", handle, &stream)) return code;
  auto model = std::make_shared<Model>();
  model->id = next_model++;
  model->origin = stream.get();
  if (!stream->join(model))
    return sim_fail(kStreamCaptured, "aclmdlRICaptureBegin: stream %d is already captured", stream->id);
  Handles<Model>::all().add(std::move(model));
  return kOk;
}

int sim_capture_end(void* handle, void** out) {
  std::shared_ptr<Stream> stream;
  if (int code = resolve("aclmdlRICaptureEnd", handle, &stream)) return code;
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
  for (auto& each : members)
    if (auto member = each.lock()) member->leave(model);
  *out = model.get();
  return kOk;
}

int sim_capture_info(void* handle, int* active, void** model) {
  std::shared_ptr<Stream> stream;
  if (int code = resolve("aclmdlRICaptureGetInfo", handle, &stream)) return code;
  std::shared_ptr<Model> capturing = stream->capturing();
  *active = capturing != nullptr;
  *model = capturing.get();
  return kOk;
}

int sim_model_execute(void* handle, void* on) {
  std::shared_ptr<Stream> stream;
  if (int code = resolve("aclmdlRIExecuteAsync", on, &stream)) return code;
  auto model = find(handle);
  if (!model || !model->ended)
    return sim_fail(kInvalidHandle, "aclmdlRIExecuteAsync: %p is not a finished model", handle);
  count_model();
  return stream->launch(std::make_shared<ReplayTask>(std::move(model)));
}

int sim_model_destroy(void* handle) {
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
