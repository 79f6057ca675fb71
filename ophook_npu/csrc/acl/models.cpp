// libascendcl: model runtime instances: captured, built stream by stream, with conditions; labels. CANN's pages "Model
// runtime instance management", "Label management" and "Execution control".
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "acl/tasks.h"
#include "core/lines.h"
#include "core/runtime.h"

namespace sim::acl::models {
namespace {

constexpr uint32_t kHead = 0, kDefault = 0x7fffffff;  // ACL_MODEL_STREAM_FLAG_…
constexpr size_t kMostLabels = 65535;

struct Named {
  std::string name;
  std::vector<std::pair<aclrtCallback, void*>> destroyed;
};
std::mutex names_mutex;
std::map<void*, Named> named_models;  // by model

struct Label {
  static constexpr const char* kKind = "a label";
};
struct Labels {
  static constexpr const char* kKind = "a list of labels";
  std::vector<std::shared_ptr<Label>> labels;
};

// The variable of a condition, in device memory.
struct Condition {
  static constexpr const char* kKind = "a condition";
  ~Condition() {
    if (variable) sim_free(variable);
  }
  void* model;
  void* variable = nullptr;
  uint64_t initial;
};

int read(const char* caller, const void* address, void* to, size_t size) {
  if (const char* problem = sim_memory_problem("the value", address, size))
    return sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "%s: %s", caller, problem);
  memcpy(to, address, size);
  return ACL_SUCCESS;
}

template <typename T>
bool holds(T left, aclrtCondition condition, T right) {
  switch (condition) {
    case ACL_RT_EQUAL: return left == right;
    case ACL_RT_NOT_EQUAL: return left != right;
    case ACL_RT_GREATER: return left > right;
    case ACL_RT_GREATER_OR_EQUAL: return left >= right;
    case ACL_RT_LESS: return left < right;
    default: return left <= right;
  }
}

struct Switch {
  void *left, *right;
  aclrtCondition condition;
  bool wide;
};

int choose_stream(void* argument, size_t* chosen) {
  const auto& task = *static_cast<const Switch*>(argument);
  int64_t left = 0, right = 0;
  const size_t size = task.wide ? sizeof(int64_t) : sizeof(int32_t);
  if (int code = read("aclrtSwitchStream", task.left, &left, size)) return code;
  if (int code = read("aclrtSwitchStream", task.right, &right, size)) return code;
  const bool yes =
      task.wide ? holds(left, task.condition, right) : holds(int32_t(left), task.condition, int32_t(right));
  *chosen = yes ? 0 : SIZE_MAX;
  return ACL_SUCCESS;
}

struct Jump {
  void* index;
  size_t count;
};

int choose_label(void* argument, size_t* chosen) {
  const auto& task = *static_cast<const Jump*>(argument);
  uint32_t index = 0;
  if (int code = read("aclrtSwitchLabelByIndex", task.index, &index, sizeof index)) return code;
  *chosen = std::min<size_t>(index, task.count - 1);
  return ACL_SUCCESS;
}

using Parent = std::shared_ptr<Condition>;

struct Branch {
  std::shared_ptr<Condition> condition;
  aclmdlRICondTaskType type;
  std::vector<aclmdlRI> models;
};

void drop_branch(void* argument) {
  auto* branch = static_cast<Branch*>(argument);
  for (aclmdlRI model : branch->models) sim_model_destroy(model);
  delete branch;
}

int run_branch(void* argument) {
  const auto& branch = *static_cast<const Branch*>(argument);
  uint64_t value = 0;
  const auto look = [&] { return read("a conditional task", branch.condition->variable, &value, sizeof value); };
  if (int code = look()) return code;
  switch (branch.type) {
    case ACL_MODEL_RI_COND_TYPE_IF:
      if (value) return sim_model_run(branch.models[0]);
      return branch.models.size() > 1 ? sim_model_run(branch.models[1]) : ACL_SUCCESS;
    case ACL_MODEL_RI_COND_TYPE_WHILE:
      while (value) {
        if (int code = sim_model_run(branch.models[0])) return code;
        if (int code = look()) return code;
      }
      return ACL_SUCCESS;
    default: return value < branch.models.size() ? sim_model_run(branch.models[value]) : ACL_SUCCESS;
  }
}

int no_model(const char* caller, void* model) { return RT_INVALID(caller, "%p is not a model", model); }

bool is_model(aclmdlRI model) {
  uint32_t id = 0;
  return sim_model_id(model, &id) == ACL_SUCCESS;
}

}  // namespace

extern "C" {

// ---- built stream by stream ----
SIM_API aclError aclmdlRIBuildBegin(aclmdlRI* model, uint32_t flag) {
  REQUIRE(model);
  RT_INVALID_IF(flag, "flag %u; allowed: 0", flag);
  return sim_built_begin(model);
}
SIM_API aclError aclmdlRIBindStream(aclmdlRI model, aclrtStream stream, uint32_t flag) {
  RT_INVALID_IF(flag != kHead && flag != kDefault, "flag 0x%x; allowed: 0, 0x7fffffff", flag);
  return sim_built_bind(model, stream, flag == kHead);
}
SIM_API aclError aclmdlRIUnbindStream(aclmdlRI model, aclrtStream stream) { return sim_built_unbind(model, stream); }
// What says to the device that it is through; the simulator sees that no stream has anything left.
SIM_API aclError aclmdlRIEndTask(aclmdlRI model, aclrtStream stream) {
  if (!is_model(model)) return no_model(__func__, model);
  return sim_built_flow(stream, "end of the model", nullptr, 0, 0, nullptr, nullptr, nullptr);
}
SIM_API aclError aclmdlRIBuildEnd(aclmdlRI model, void*) { return sim_built_end(model); }

SIM_API aclError aclrtActiveStream(aclrtStream active, aclrtStream stream) {
  REQUIRE(active, stream);
  if (int code = check_stream(active)) return code;
  const sim_place place{active, nullptr};
  return sim_built_flow(stream, __func__, &place, 1, 0, nullptr, nullptr, nullptr);
}
SIM_API aclError aclrtSwitchStream(void* left, aclrtCondition condition, void* right, aclrtCompareDataType type,
                                   aclrtStream yes, aclrtStream no, aclrtStream stream) {
  REQUIRE(left, right, yes, stream);
  RT_INVALID_IF(no, "falseStream has to be null");
  RT_INVALID_IF(condition < ACL_RT_EQUAL || condition > ACL_RT_LESS_OR_EQUAL || type < ACL_RT_SWITCH_INT32 ||
                    type > ACL_RT_SWITCH_INT64,
                "condition %d, data type %d; allowed: 0 to 5, 0 to 1", int(condition), int(type));
  const sim_place place{yes, nullptr};
  return sim_built_flow(stream, __func__, &place, 1, 1, choose_stream,
                        new Switch{left, right, condition, type == ACL_RT_SWITCH_INT64}, drop<Switch>);
}

// ---- labels ----
SIM_API aclError aclrtCreateLabel(aclrtLabel* label) {
  REQUIRE(label);
  *label = Handles<Label>::all().add(std::make_shared<Label>());
  return ACL_SUCCESS;
}
SIM_API aclError aclrtDestroyLabel(aclrtLabel label) {
  std::shared_ptr<Label> ended;
  return end_handle(__func__, label, &ended);
}
SIM_API aclError aclrtSetLabel(aclrtLabel label, aclrtStream stream) {
  FIND(Label, found, find_handle, __func__, label);
  return sim_built_label(label, stream);
}
SIM_API aclError aclrtCreateLabelList(aclrtLabel* labels, size_t count, aclrtLabelList* list) {
  REQUIRE(labels, list);
  RT_INVALID_IF(!count || count > kMostLabels, "%zu labels; allowed: 1 to %zu", count, kMostLabels);
  auto made = std::make_shared<Labels>();
  for (size_t i = 0; i < count; ++i) {
    FIND(Label, label, find_handle, __func__, labels[i]);
    made->labels.push_back(std::move(label));
  }
  *list = Handles<Labels>::all().add(std::move(made));
  return ACL_SUCCESS;
}
SIM_API aclError aclrtDestroyLabelList(aclrtLabelList list) {
  std::shared_ptr<Labels> ended;
  return end_handle(__func__, list, &ended);
}
SIM_API aclError aclrtSwitchLabelByIndex(void* index, uint32_t count, aclrtLabelList list, aclrtStream stream) {
  REQUIRE(index);
  FIND(Labels, labels, find_handle, __func__, list);
  RT_INVALID_IF(!count || count > labels->labels.size(), "maxValue %u; allowed: 1 to %zu", count,
                labels->labels.size());
  std::vector<sim_place> places;
  for (size_t i = 0; i < count; ++i) places.push_back({nullptr, labels->labels[i].get()});
  return sim_built_flow(stream, __func__, places.data(), count, 1, choose_label, new Jump{index, count}, drop<Jump>);
}

// ---- conditions ----
SIM_API aclError aclmdlRICondHandleCreate(aclmdlRI model, uint32_t initial, aclmdlRICondHandleFlag flag,
                                          aclmdlRICondHandle* handle) {
  REQUIRE(handle);
  if (!is_model(model)) return no_model(__func__, model);
  RT_INVALID_IF(int(flag) & ~int(ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT), "flag %d; allowed: 0, 1", int(flag));
  auto made = std::make_shared<Condition>();
  made->model = model, made->initial = initial;
  if (int code = sim_malloc(sizeof(uint64_t), &made->variable)) return code;
  const auto assign = [](void* argument) {
    const auto& condition = *static_cast<Parent*>(argument);
    memcpy(condition->variable, &condition->initial, sizeof condition->initial);
    return int(ACL_SUCCESS);
  };
  const auto nothing = [](void*) { return int(ACL_SUCCESS); };
  // In either case the variable lives as long as the model.
  if (int code = sim_model_starts_with(model, flag ? +assign : +nothing, new Parent(made), drop<Parent>)) return code;
  *handle = Handles<Condition>::all().add(std::move(made));
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlRICondHandleGetCondPtr(aclmdlRICondHandle handle, uint64_t** pointer) {
  REQUIRE(pointer);
  FIND(Condition, condition, find_handle, __func__, handle);
  *pointer = static_cast<uint64_t*>(condition->variable);
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlRIAddCondTask(aclmdlRICondTaskParams what, aclrtStream stream, uint32_t flags) {
  FIND(Condition, condition, find_handle, __func__, what.handle);
  RT_INVALID_IF(flags || !what.modelRIArray, "%s", flags ? "flags has to be 0" : "modelRIArray is null");
  const bool known = what.type >= ACL_MODEL_RI_COND_TYPE_IF && what.type <= ACL_MODEL_RI_COND_TYPE_SWITCH;
  const uint32_t most = what.type == ACL_MODEL_RI_COND_TYPE_IF      ? 2
                        : what.type == ACL_MODEL_RI_COND_TYPE_WHILE ? 1
                                                                    : ~0u;
  RT_INVALID_IF(!known || !what.size || what.size > most,
                "type %d with %u models; allowed: IF (0) 1 or 2, WHILE (1) 1, SWITCH (2)", int(what.type), what.size);
  int active = 0;
  void* capturing = nullptr;
  if (int code = sim_capture_info(stream, &active, &capturing)) return code;
  if (!active) return sim_fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "%s: the stream is not captured", __func__);
  auto branch = std::make_unique<Branch>(Branch{condition, what.type, {}});
  for (uint32_t i = 0; i < what.size; ++i) {
    sim_model_create(&what.modelRIArray[i]);
    branch->models.push_back(what.modelRIArray[i]);
  }
  return sim_launch(stream, __func__, run_branch, branch.release(), drop_branch);
}
SIM_API aclError aclmdlRICaptureToModelRIBegin(aclrtStream stream, aclmdlRI model, aclmdlRICaptureMode mode) {
  return sim_capture_begin_into(stream, model, int(mode));
}

// ---- their tasks ----
SIM_API aclError aclmdlRIGetStreams(aclmdlRI model, aclrtStream* streams, uint32_t* count) {
  REQUIRE(count);
  return sim_model_streams(model, streams, count);
}
SIM_API aclError aclmdlRIGetTasksByStream(aclrtStream stream, void** tasks, uint32_t* count) {
  REQUIRE(count);
  return sim_stream_tasks(stream, tasks, count);
}
SIM_API aclError aclmdlRITaskGetType(void* task, sim_model_task_type* type) {
  REQUIRE(type);
  uint32_t index = 0;
  return sim_model_task(__func__, task, type, &index);
}
SIM_API aclError aclmdlRITaskGetSeqId(void* task, uint32_t* id) {
  REQUIRE(id);
  sim_model_task_type type;
  return sim_model_task(__func__, task, &type, id);
}
SIM_API aclError aclmdlRITaskDisable(void* task) { return sim_model_task_disable(task); }
SIM_API aclError aclmdlRIUpdate(aclmdlRI model) { return sim_model_update(model); }

// ---- what is known of them ----
SIM_API aclError aclmdlRISetName(aclmdlRI model, const char* name) {
  REQUIRE(name);
  if (!is_model(model)) return no_model(__func__, model);
  std::lock_guard lock(names_mutex);
  named_models[model].name = name;
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlRIGetName(aclmdlRI model, uint32_t room, char* name) {
  REQUIRE(name);
  if (!is_model(model)) return no_model(__func__, model);
  std::lock_guard lock(names_mutex);
  const auto found = named_models.find(model);
  const std::string text = found == named_models.end() ? "" : found->second.name;
  RT_INVALID_IF(text.size() >= room, "maxLen %u; the name needs %zu", room, text.size() + 1);
  memcpy(name, text.c_str(), text.size() + 1);
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlRIDestroyRegisterCallback(aclmdlRI model, aclrtCallback callback, void* argument) {
  REQUIRE(callback);
  if (!is_model(model)) return no_model(__func__, model);
  std::lock_guard lock(names_mutex);
  named_models[model].destroyed.push_back({callback, argument});
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlRIDestroyUnregisterCallback(aclmdlRI model, aclrtCallback callback) {
  REQUIRE(callback);
  std::lock_guard lock(names_mutex);
  const auto found = named_models.find(model);
  if (found != named_models.end() &&
      std::erase_if(found->second.destroyed, [&](auto& one) { return one.first == callback; }))
    return ACL_SUCCESS;
  return RT_INVALID(__func__, "the callback is not registered for this model");
}
SIM_API aclError aclmdlRIDestroy(aclmdlRI model) {
  if (int code = sim_model_destroy(model)) return code;
  for (const auto& one : Handles<Condition>::all().where([&](Condition& each) { return each.model == model; }))
    Handles<Condition>::all().take(one.get());
  Named named;
  {
    std::lock_guard lock(names_mutex);
    if (const auto found = named_models.find(model); found != named_models.end()) {
      named = std::move(found->second);
      named_models.erase(found);
    }
  }
  for (const auto& [callback, argument] : named.destroyed) callback(argument);
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlRIGetId(aclmdlRI model, uint32_t* id) {
  REQUIRE(id);
  return sim_model_id(model, id);
}
SIM_API aclError aclmdlRIDebugPrint(aclmdlRI model) {
  size_t tasks = 0;
  if (int code = sim_model_size(model, &tasks)) return code;
  for (size_t i = 0; i < tasks; ++i) printf("aclmdlRI task %zu: %s\n", i, sim_model_task_name(model, i));
  return ACL_SUCCESS;
}
// For chrome://tracing: a line for each stream, tasks in the order of the launches.
SIM_API aclError aclmdlRIDebugJsonPrint(aclmdlRI model, const char* path, uint32_t flags) {
  REQUIRE(path);
  RT_INVALID_IF(flags > ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE, "flags %u; allowed: 0, 1", flags);
  size_t tasks = 0;
  uint32_t id = 0;
  if (int code = sim_model_size(model, &tasks)) return code;
  if (int code = sim_model_id(model, &id)) return code;
  std::ofstream file(path);
  file << "[";
  for (size_t i = 0; i < tasks; ++i) {
    int32_t stream = 0;
    sim_model_task_stream(model, i, &stream);
    file << (i ? ",\n " : "\n ") << "{\"name\": " << quoted(sim_model_task_name(model, i))
         << ", \"ph\": \"X\", \"pid\": \"model " << id << "\", \"tid\": \"stream " << stream << "\", \"ts\": " << i
         << ", \"dur\": 1, \"args\": {\"model id\": " << id << ", \"stream id\": " << stream << ", \"task id\": " << i
         << "}}";
  }
  file << "\n]\n";
  file.close();
  if (file) return ACL_SUCCESS;
  return RT_INVALID(__func__, "cannot write %s", path);
}

}  // extern "C"
}  // namespace sim::acl::models
