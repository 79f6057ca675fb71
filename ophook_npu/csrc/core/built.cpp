// Models that are built stream by stream (aclmdlRIBuildBegin …): what is launched on bound streams is kept, and a
// replay follows each stream from where it was activated, by the order of the launches where several are.
#include <algorithm>
#include <map>

#include "stream.h"

namespace sim {
namespace {

struct LabelTask final : Task {
  explicit LabelTask(void* which) : Task("label"), label(which) {}
  int run() override { return kOk; }
  void* const label;
};

struct FlowTask final : Task {
  FlowTask(const char* task_name, std::vector<sim_place> where, bool leaves_stream, sim_choose how, void* argument_,
           sim_drop drop_)
      : Task(task_name),
        places(std::move(where)),
        leaves(leaves_stream),
        choose(how),
        argument(argument_),
        drop(drop_) {}
  ~FlowTask() override {
    if (drop) drop(argument);
  }
  int run() override {
    chosen = SIZE_MAX;
    return choose ? choose(argument, &chosen) : (chosen = 0, int(kOk));
  }
  const std::vector<sim_place> places;
  const bool leaves;
  const sim_choose choose;
  void* const argument;
  const sim_drop drop;
  size_t chosen = SIZE_MAX;
};

int find(const char* caller, void* handle, std::shared_ptr<Model>* out) {
  *out = Handles<Model>::all().find(handle);
  if (*out && (*out)->built) return kOk;
  return sim_fail(kInvalidHandle, "%s: %p is not a model of aclmdlRIBuildBegin", caller, handle);
}

bool has(const std::vector<int32_t>& all, int32_t one) { return std::find(all.begin(), all.end(), one) != all.end(); }

// The bound stream behind a handle.
int bound(const char* caller, void* handle, std::shared_ptr<Stream>* out) {
  if (int code = resolve(caller, handle, out)) return code;
  const auto model = (*out)->capturing();
  if (model && model->built) return kOk;
  return sim_fail(kInvalidParam, "%s: stream %d is not bound to a model that is built (aclmdlRIBindStream)", caller,
                  (*out)->id);
}

}  // namespace

int replay_built(Model& model, const std::function<int(Task&)>& run) {
  const auto& tasks = model.tasks;   // of a model that has ended
  std::map<int32_t, size_t> active;  // by stream: the task that it goes on with, or one before it
  for (const int32_t head : model.built->heads) active[head] = 0;
  while (true) {
    size_t next = tasks.size();
    for (auto& [stream, at] : active) {
      while (at < tasks.size() && tasks[at]->line != stream) ++at;
      next = std::min(next, at);
    }
    if (next == tasks.size()) return kOk;
    Task& task = *tasks[next];
    active[task.line] = next + 1;
    if (int code = run(task)) return code;
    const auto* flow = dynamic_cast<const FlowTask*>(&task);
    if (!flow || flow->chosen >= flow->places.size()) continue;
    if (flow->leaves) active.erase(task.line);
    const sim_place& place = flow->places[flow->chosen];
    if (place.stream) {
      const auto stream = Handles<Stream>::all().find(place.stream);
      if (!stream || !has(model.built->streams, stream->id))
        return sim_fail(kInvalidHandle, "%s: the stream is not bound to the model", task.name);
      active[stream->id] = 0;
      continue;
    }
    size_t at = 0;
    while (at < tasks.size()) {
      const auto* label = dynamic_cast<const LabelTask*>(tasks[at].get());
      if (label && label->label == place.label) break;
      ++at;
    }
    if (at == tasks.size()) return sim_fail(kInvalidParam, "%s: the label is not set in the model", task.name);
    active[tasks[at]->line] = at;
  }
}

}  // namespace sim

using namespace sim;

int sim_built_begin(void** out) {
  if (int code = sim_model_create(out)) return code;
  Handles<Model>::all().find(*out)->built = std::make_unique<Built>();
  return kOk;
}

int sim_built_bind(void* handle, void* on, int head) {
  std::shared_ptr<Stream> stream;
  FIND(Model, model, find, "aclmdlRIBindStream", handle);
  if (!on) return sim_fail(kInvalidParam, "aclmdlRIBindStream: stream is null");
  if (int code = resolve("aclmdlRIBindStream", on, &stream)) return code;
  if (!stream->persistent)
    return sim_fail(kInvalidParam, "aclmdlRIBindStream: stream %d was not made with ACL_STREAM_PERSISTENT", stream->id);
  if (!stream->join(model))
    return sim_fail(kInvalidParam, "aclmdlRIBindStream: stream %d is bound already, or the model is finished",
                    stream->id);
  std::lock_guard lock(model->mutex);
  for (auto& task : stream->take_kept()) {
    task->line = stream->id;
    model->tasks.push_back(std::move(task));
  }
  model->built->streams.push_back(stream->id);
  if (head) model->built->heads.push_back(stream->id);
  return kOk;
}

int sim_built_unbind(void* handle, void* on) {
  FIND(Model, model, find, "aclmdlRIUnbindStream", handle);
  FIND(Stream, stream, resolve, "aclmdlRIUnbindStream", on);
  if (!has(model->built->streams, stream->id))
    return sim_fail(kInvalidParam, "aclmdlRIUnbindStream: stream %d is not bound to the model", stream->id);
  stream->leave(model);
  std::lock_guard lock(model->mutex);
  std::erase(model->built->streams, stream->id);
  std::erase(model->built->heads, stream->id);
  return kOk;
}

int sim_built_end(void* handle) {
  FIND(Model, model, find, "aclmdlRIBuildEnd", handle);
  std::lock_guard lock(model->mutex);
  if (model->ended) return sim_fail(kInvalidParam, "aclmdlRIBuildEnd: the model is finished already");
  if (model->built->heads.empty())
    return sim_fail(kInvalidParam, "aclmdlRIBuildEnd: no stream of ACL_MODEL_STREAM_FLAG_HEAD is bound");
  model->ended = true;
  return kOk;
}

int sim_built_label(void* label, void* on) {
  FIND(Stream, stream, bound, "aclrtSetLabel", on);
  return stream->launch(std::make_shared<LabelTask>(label));
}

int sim_built_flow(void* on, const char* name, const sim_place* places, size_t count, int leaves, sim_choose choose,
                   void* argument, sim_drop drop) {
  auto task = std::make_shared<FlowTask>(name, std::vector<sim_place>(places, places + count), leaves != 0, choose,
                                         argument, drop);
  FIND(Stream, stream, bound, name, on);
  return stream->launch(std::move(task));
}
