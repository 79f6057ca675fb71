// What is asked of a model's tasks: which streams they were launched on, what they do, and that some run no more.
#include <algorithm>
#include <string_view>
#include <utility>

#include "stream.h"

namespace sim {
namespace {

struct NothingTask final : Task {
  NothingTask() : Task("disabled") {}
  int run() override { return kOk; }
};

std::shared_ptr<ModelTask> find_task(const char* caller, void* handle, std::shared_ptr<Model>* model) {
  auto task = Handles<ModelTask>::all().find(handle);
  if (task) *model = task->model.lock();
  if (task && *model) return task;
  sim_fail(kInvalidParam, "%s: %p is not a task of a model", caller, handle);
  return nullptr;
}

sim_model_task_type type_of(const Task& task) {
  const std::string_view name = task.name;
  if (name == "event record") return sim_model_task_record;
  if (name == "event wait") return sim_model_task_wait;
  if (name == "event reset") return sim_model_task_reset;
  if (name == "aclrtValueWrite") return sim_model_task_value_write;
  if (name == "aclrtValueWait") return sim_model_task_value_wait;
  return task.task_kind() == sim_task_operator ? sim_model_task_kernel : sim_model_task_other;
}

// As the two calls of CANN's pages: how many there are, then those that have room.
template <typename T>
int give(const char* caller, const std::vector<std::shared_ptr<T>>& all, void** out, uint32_t* count) {
  if (out && *count < all.size()) return sim_fail(kInvalidParam, "%s: room for %u of %zu", caller, *count, all.size());
  *count = uint32_t(all.size());
  for (size_t i = 0; out && i < all.size(); ++i) out[i] = all[i].get();
  return kOk;
}

// With the model's mutex held. Of tasks that were launched later, those from before have handles already.
void hand_out(const std::shared_ptr<Model>& model) {
  for (size_t i = model->handed.size(); i < model->tasks.size(); ++i) {
    model->handed.push_back(std::make_shared<ModelTask>(model, i, type_of(*model->tasks[i])));
    Handles<ModelTask>::all().add(model->handed.back());
  }
  for (const auto& task : model->tasks) {
    const auto same = [&](auto& line) { return line->id == task->line; };
    if (std::any_of(model->lines.begin(), model->lines.end(), same)) continue;
    model->lines.push_back(std::make_shared<ModelLine>(model, task->line));
    Handles<ModelLine>::all().add(model->lines.back());
  }
}

}  // namespace

int line_id(void* handle, int32_t* id) {
  const auto line = Handles<ModelLine>::all().find(handle);
  return line ? (*id = line->id, kOk) : kInvalidHandle;
}

void forget_tasks(Model& model) {
  for (const auto& task : model.handed) Handles<ModelTask>::all().take(task.get());
  for (const auto& line : model.lines) Handles<ModelLine>::all().take(line.get());
}

}  // namespace sim

using namespace sim;

int sim_model_streams(void* handle, void** streams, uint32_t* count) {
  constexpr const char* kCaller = "aclmdlRIGetStreams";
  const auto model = Handles<Model>::all().find(handle);
  if (!model) return sim_fail(kInvalidHandle, "%s: %p is not a model", kCaller, handle);
  if (!model->ended) return sim_fail(kInvalidParam, "%s: the model is not finished", kCaller);
  std::lock_guard lock(model->mutex);
  hand_out(model);
  if (int code = give(kCaller, model->lines, streams, count)) return code;
  if (!model->built || !streams) return kOk;
  for (size_t i = 0; i < *count; ++i)  // those that the program bound
    for (const auto& bound : Handles<Stream>::all().where([&](Stream& one) { return one.id == model->lines[i]->id; }))
      streams[i] = bound.get();
  return kOk;
}

int sim_stream_tasks(void* stream, void** tasks, uint32_t* count) {
  constexpr const char* kCaller = "aclmdlRIGetTasksByStream";
  auto line = Handles<ModelLine>::all().find(stream);
  if (const auto bound = line ? nullptr : Handles<Stream>::all().find(stream))
    for (const auto& one : Handles<ModelLine>::all().where([&](ModelLine& each) { return each.id == bound->id; }))
      if (const auto of = one->model.lock(); of && of->built) line = one;
  const auto model = line ? line->model.lock() : nullptr;
  if (!model) return sim_fail(kInvalidParam, "%s: %p is not of aclmdlRIGetStreams", kCaller, stream);
  std::lock_guard lock(model->mutex);
  std::vector<std::shared_ptr<ModelTask>> of_stream;
  for (const auto& task : model->handed)
    if (model->tasks[task->index]->line == line->id) of_stream.push_back(task);
  return give(kCaller, of_stream, tasks, count);
}

int sim_model_task(const char* caller, void* handle, sim_model_task_type* type, uint32_t* index) {
  std::shared_ptr<Model> model;
  const auto task = find_task(caller, handle, &model);
  if (!task) return kInvalidParam;
  *type = task->type, *index = uint32_t(task->index);
  return kOk;
}

int sim_model_task_disable(void* handle) {
  std::shared_ptr<Model> model;
  const auto task = find_task("aclmdlRITaskDisable", handle, &model);
  if (!task) return kInvalidParam;
  if (task->type != sim_model_task_kernel && task->type != sim_model_task_other)
    return sim_unimplemented("aclmdlRITaskDisable of a task that others wait for, or that waits");
  std::lock_guard lock(model->mutex);
  task->disabled = true;
  return kOk;
}

int sim_model_update(void* handle) {
  const auto model = Handles<Model>::all().find(handle);
  if (!model) return sim_fail(kInvalidHandle, "aclmdlRIUpdate: %p is not a model", handle);
  std::lock_guard lock(model->mutex);
  for (const auto& task : model->handed) {
    auto& place = model->tasks[task->index];
    if (!std::exchange(task->disabled, false)) continue;
    auto nothing = std::make_shared<NothingTask>();
    nothing->line = place->line;
    place = std::move(nothing);
  }
  return kOk;
}
