// Captured models (aclmdlRI): the tasks launched on captured streams, kept and run again by a replay.
#include <algorithm>
#include <unordered_map>

#include "stream.h"

namespace sim {
namespace {

std::mutex models_mutex;
std::unordered_map<void*, std::shared_ptr<Model>>& models() {
  static auto* instance = new std::unordered_map<void*, std::shared_ptr<Model>>;
  return *instance;
}
std::atomic<uint32_t> next_model{1};

std::shared_ptr<Model> find(void* handle) {
  std::lock_guard lock(models_mutex);
  auto entry = models().find(handle);
  return entry == models().end() ? nullptr : entry->second;
}

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
  Stream* stream = nullptr;
  if (!handle) return sim_fail(kInvalidParam, "aclmdlRICaptureBegin: the default stream cannot be captured");
  if (int code = resolve("aclmdlRICaptureBegin", handle, &stream)) return code;
  if (stream->capture)
    return sim_fail(kStreamCaptured, "aclmdlRICaptureBegin: stream %d is already captured", stream->id);
  auto model = std::make_shared<Model>();
  model->id = next_model++;
  model->members.push_back(stream);
  stream->origin = true;
  stream->capture_owner = model;
  {
    std::lock_guard lock(models_mutex);
    models()[model.get()] = model;
  }
  stream->capture.store(model.get(), std::memory_order_release);
  return kOk;
}

int sim_capture_end(void* handle, void** out) {
  Stream* stream = nullptr;
  if (int code = resolve("aclmdlRICaptureEnd", handle, &stream)) return code;
  if (!stream->capture)
    return sim_fail(kStreamNotCaptured, "aclmdlRICaptureEnd: stream %d is not captured", stream->id);
  if (!stream->origin)
    return sim_fail(kCaptureUnmatched, "aclmdlRICaptureEnd: the capture did not begin on stream %d", stream->id);
  std::shared_ptr<Model> model = std::move(stream->capture_owner);
  {
    std::lock_guard lock(model->mutex);
    model->ended = true;
    for (Stream* member : model->members) member->capture = nullptr;
    stream->origin = false;
  }
  *out = model.get();
  return kOk;
}

int sim_capture_info(void* handle, int* active, void** model) {
  Stream* stream = nullptr;
  if (int code = resolve("aclmdlRICaptureGetInfo", handle, &stream)) return code;
  Model* capturing = stream->capture;
  *active = capturing != nullptr;
  *model = capturing;
  return kOk;
}

int sim_model_execute(void* handle, void* on) {
  Stream* stream = nullptr;
  if (int code = resolve("aclmdlRIExecuteAsync", on, &stream)) return code;
  auto model = find(handle);
  if (!model || !model->ended)
    return sim_fail(kInvalidHandle, "aclmdlRIExecuteAsync: %p is not a finished model", handle);
  count_model();
  return stream->launch(std::make_shared<ReplayTask>(std::move(model)));
}

int sim_model_destroy(void* handle) {
  std::shared_ptr<Model> model;  // declared before the lock: dropping the tasks runs foreign code, unlocked
  std::lock_guard lock(models_mutex);
  auto entry = models().find(handle);
  if (entry == models().end()) return sim_fail(kInvalidHandle, "aclmdlRIDestroy: %p is not a model", handle);
  model = std::move(entry->second);
  models().erase(entry);
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
