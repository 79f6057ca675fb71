// libascendcl: what operators read and wrote, as files or to a callback. CANN's page "Dump configuration". A file has
// eight bytes that are the length of a protobuf message DumpData, the message, and the data of all inputs and outputs
// that it lists, as CANN's accuracy tools read it. Dumps of offline models have nothing to dump here; statistics,
// watched and overflowing operators are refused by name.
#include "acl/dump.h"

#include <sys/time.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "acl/tasks.h"
#include "core/fault.h"
#include "core/forever.h"
#include "core/json.h"
#include "core/pages_api.h"
#include "core/runtime.h"

namespace sim::acl::dumps {
namespace {

// As acl_dump.h of newer wheels has them.
struct Chunk {
  char fileName[4096];
  uint32_t bufLen, isLastChunk;
  int64_t offset;
  int32_t flag;
  uint8_t dataBuf[0];
};
enum Type { kBrief = 1, kNormal = 2, kDetail = 3, kData = 4 };
using Callback = int32_t (*)(const Chunk*, int32_t);

struct Model {
  std::string name;
  std::set<std::string> layers;  // names or types of operators; none: all of the model
};

struct State {
  std::mutex mutex;
  bool begun = false, by_file = false;  // by aclmdlInitDump; by aclInit's file
  bool operators = false, inputs = false, outputs = true;
  std::string path, exceptions;  // of operators' data; of failures
  int scene = 0;                 // Type of failures
  Callback callback = nullptr;
  std::string begun_at;
  std::vector<Model> models;                                // by dump_list
  std::vector<std::string> seen;                            // a model's number is its place here, from 1
  std::map<std::pair<std::string, std::string>, int> runs;  // of a model's operator
};
State& state() { return sim::forever<State>(); }
// What acldumpGetPath gave out stays. With the mutex held.
const char* kept(const std::string& text) {
  static auto* all = new std::set<std::string>;
  return all->insert(text).first->c_str();
}

std::string now(const char* format, bool milliseconds) {
  timeval time{};
  gettimeofday(&time, nullptr);
  tm local{};
  localtime_r(&time.tv_sec, &local);
  char text[64], parts[8] = "";
  strftime(text, sizeof text, format, &local);
  if (milliseconds) snprintf(parts, sizeof parts, "%03d", int(time.tv_usec / 1000));
  return std::string(text) + parts;
}

// What a file of settings says of dumps; nothing where it does not.
Json dump_of(const std::string& settings) {
  const Json all = JsonReader(settings).whole();
  const Json* dump = find(all, "dump");
  return dump ? *dump : Json{};
}

std::string text_of(const Json& of, const char* field) {
  const Json* found = find(of, field);
  return found ? found->text : "";
}

std::vector<Model> models_of(const Json& dump) {
  std::vector<Model> models;
  const Json* list = find(dump, "dump_list");
  for (const Json& one : list ? list->list : std::vector<Json>{}) {
    Model model{text_of(one, "model_name"), {}};
    if (const Json* layers = find(one, "layer"))
      for (const Json& layer : layers->list) model.layers.insert(layer.text);
    if (!model.name.empty()) models.push_back(std::move(model));
  }
  return models;
}

// ---- protobuf ----
void number(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += char(value | 0x80);
  to += char(value);
}
void field(std::string& to, int tag, uint64_t value) {
  number(to, uint64_t(tag) << 3);
  number(to, value);
}
void field(std::string& to, int tag, const std::string& value) {
  number(to, uint64_t(tag) << 3 | 2);
  number(to, value.size());
  to += value;
}

// DumpData counts data types from 1, in an order of its own up to BOOL.
uint64_t type_of(int dtype) {
  constexpr int kOrder[] = {1, 2, 3, 7, 4, 0, 5, 6, 9, 8, 10, 12, 11};
  if (dtype < int(std::size(kOrder))) return dtype < 0 ? 0 : uint64_t(kOrder[dtype]);
  return dtype == ACL_DT_UNDEFINED ? 0 : uint64_t(dtype - (dtype > ACL_DT_UNDEFINED));
}

struct Tensor {
  bool output = false;
  int dtype = 0;
  std::vector<int64_t> sizes;
  std::string data;
};

std::string message(const std::string& name, const std::vector<Tensor>& tensors) {
  constexpr uint64_t kNd = 2;
  std::string text, data;
  field(text, 1, "2.0");
  field(text, 2, uint64_t(time(nullptr)));
  for (const bool output : {false, true})
    for (const Tensor& tensor : tensors) {
      if (tensor.output != output) continue;
      std::string shape, one;
      for (const int64_t size : tensor.sizes) field(shape, 1, uint64_t(size));
      field(one, 1, type_of(tensor.dtype));
      field(one, 2, kNd);
      field(one, 3, shape);
      field(one, output ? 6 : 5, uint64_t(tensor.data.size()));
      field(one, output ? 7 : 6, shape);
      field(text, output ? 3 : 4, one);
      data += tensor.data;
    }
  field(text, 6, name);
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + data;
}

// ---- what a task tells of itself ----
struct Listener : sim_listener {
  std::string type, node, graph;
  bool all;  // operators of models and others
  std::vector<Model> models;
  std::vector<Tensor> tensors;

  bool wants() const {
    return all || std::any_of(models.begin(), models.end(), [&](const Model& of) {
             return of.name == graph && (of.layers.empty() || of.layers.contains(node) || of.layers.contains(type));
           });
  }
};

void copy(std::string& to, const char* from, size_t item, const int64_t* sizes, const int64_t* strides, size_t rank) {
  if (!rank) {
    to.append(from, item);
    return;
  }
  for (int64_t i = 0; i < *sizes; ++i)
    copy(to, from + i * *strides * int64_t(item), item, sizes + 1, strides + 1, rank - 1);
}

void heard_type(sim_listener* self, const char* type) { static_cast<Listener*>(self)->type = type; }
void heard_node(sim_listener* self, const char* name) { static_cast<Listener*>(self)->node = name; }
void heard_graph(sim_listener* self, const char* name) { static_cast<Listener*>(self)->graph = name; }
void heard_tensor(sim_listener* self, int is_output, int dtype, const int64_t* sizes, size_t rank) {
  static_cast<Listener*>(self)->tensors.push_back({is_output != 0, dtype, {sizes, sizes + rank}, ""});
}
void heard_touch(sim_listener* self, int, const void* pointer, size_t item, const int64_t* sizes,
                 const int64_t* strides, size_t rank) {
  auto& tensors = static_cast<Listener*>(self)->tensors;
  if (tensors.empty() || !static_cast<Listener*>(self)->wants()) return;
  std::vector<int64_t> steps(rank, 1);
  for (size_t i = rank; i-- > 1;) steps[i - 1] = steps[i] * sizes[i];
  copy(tensors.back().data, static_cast<const char*>(pointer), item, sizes, strides ? strides : steps.data(), rank);
}

int hand_over(Callback callback, const std::string& file, const std::string& content) {
  std::vector<char> room(sizeof(Chunk) + content.size());
  auto* chunk = reinterpret_cast<Chunk*>(room.data());
  strncpy(chunk->fileName, file.c_str(), sizeof chunk->fileName - 1);
  chunk->bufLen = uint32_t(content.size());
  chunk->isLastChunk = 1;
  memcpy(chunk->dataBuf, content.data(), content.size());
  return callback(chunk, int32_t(room.size()));
}

bool write(const std::string& file, const std::string& content) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), failed);
  std::ofstream out(file, std::ios::binary);
  const bool full = sim_fault_disk(file.c_str());
  out.write(content.data(), std::streamsize(full ? content.size() / 2 : content.size()));
  return out.flush() && !full;
}

// Below the folder of a model: its number and how many times the operator ran before. With the mutex held.
std::string place_of(const Listener& of) {
  auto [seen, runs] = std::tie(state().seen, state().runs);
  size_t number = size_t(std::find(seen.begin(), seen.end(), of.graph) - seen.begin()) + 1;
  if (number > seen.size()) seen.push_back(of.graph);
  return of.graph + "/" + std::to_string(number) + "/" + std::to_string(runs[{of.graph, of.node}]++) + "/";
}

void ran(const sim_task_run* run, const void* task) {
  if (run->kind != sim_task_operator || run->failed) return;
  std::unique_lock lock(state().mutex);
  if (!state().operators && state().models.empty()) return;
  const Callback callback = state().callback;
  const bool inputs = state().inputs, outputs = state().outputs;
  std::string folder = state().path + "/" + state().begun_at + "/" + std::to_string(run->device) + "/";
  Listener listener{{heard_type, heard_node, heard_tensor, heard_touch, nullptr, heard_graph},
                    run->name,
                    run->name,
                    "",
                    state().operators,
                    state().models,
                    {}};
  lock.unlock();
  sim_memory_open();
  sim_task_tell(task, &listener);
  sim_memory_close();
  if (!listener.wants()) return;
  if (!listener.all) {
    lock.lock();
    folder += place_of(listener);
    lock.unlock();
  }
  std::erase_if(listener.tensors, [&](const Tensor& one) { return one.output ? !outputs : !inputs; });
  if (listener.type.starts_with("aclnn")) listener.type.erase(0, strlen("aclnn"));
  std::string name = listener.type + "." + listener.node;
  std::replace(name.begin(), name.end(), '/', '_');
  const std::string file = folder + name + "." + std::to_string(run->number) + "." + std::to_string(run->stream) + "." +
                           std::to_string(run->end_ns / 1000);
  const std::string content = message(listener.node, listener.tensors);
  if (callback) hand_over(callback, file, content);
  else if (!write(file, content)) sim_warn("a dump: cannot write %s", file.c_str());
}
void called(const sim_call_made*) {}
constexpr sim_observer kDump{ran, called};

int wrong(const char* caller, const char* what) {
  return sim_fail(ACL_ERROR_INVALID_DUMP_CONFIG, "%s: %s", caller, what);
}

// With the mutex held.
int take(const char* caller, const std::string& settings) try {
  State& all = state();
  const Json dump = dump_of(settings);
  const std::string scene = text_of(dump, "dump_scene"), mode = text_of(dump, "dump_mode");
  const std::string data = text_of(dump, "dump_data"), switched = text_of(dump, "dump_op_switch");
  const std::string path = text_of(dump, "dump_path");
  if (text_of(dump, "dump_debug") == "on") return sim_unimplemented("a dump of operators that overflow");
  if (scene == "watcher") return sim_unimplemented("a dump of watched operators (dump_scene watcher)");
  if (data == "stats") return sim_unimplemented("a dump of statistics (dump_data stats)");
  const auto one_of = [](const std::string& text, std::initializer_list<const char*> allowed) {
    return text.empty() || std::any_of(allowed.begin(), allowed.end(), [&](const char* one) { return text == one; });
  };
  if (!one_of(scene, {"aic_err_brief_dump", "lite_exception", "aic_err_norm_dump", "aic_err_detail_dump"}))
    return wrong(caller,
                 "dump_scene; allowed: aic_err_brief_dump, aic_err_norm_dump, aic_err_detail_dump, "
                 "lite_exception, watcher");
  if (!one_of(mode, {"input", "output", "all"})) return wrong(caller, "dump_mode; allowed: input, output, all");
  if (!one_of(switched, {"on", "off"})) return wrong(caller, "dump_op_switch; allowed: on, off");
  if (!scene.empty() && switched == "on")
    return wrong(caller, "dumps of failures and of operators' data exclude each other");
  char whole[PATH_MAX] = ".";
  const bool there = realpath(path.empty() ? "." : path.c_str(), whole) && access(whole, R_OK | W_OK) == 0;
  if (path.empty() && scene.empty()) return wrong(caller, "dump_path is missing");
  if (!there && !path.empty()) return wrong(caller, "dump_path is no folder that can be read and written");
  all.scene = scene.empty()                    ? 0
              : scene == "aic_err_norm_dump"   ? kNormal
              : scene == "aic_err_detail_dump" ? kDetail
                                               : kBrief;
  (scene.empty() ? all.path : all.exceptions) = whole;
  all.operators = switched == "on";
  all.models = models_of(dump);
  all.inputs = mode == "input" || mode == "all", all.outputs = mode != "input";
  all.begun_at = now("%Y%m%d%H%M%S", false);
  sim_observe(sim_watcher_dump, all.operators || !all.models.empty() ? &kDump : nullptr);
  return ACL_SUCCESS;
} catch (const std::invalid_argument& problem) {
  return wrong(caller, problem.what());
}

// With the mutex held.
void forget() {
  state().begun = state().by_file = state().operators = false;
  state().path.clear();
  state().models.clear(), state().seen.clear(), state().runs.clear();
  sim_observe(sim_watcher_dump, nullptr);
}

}  // namespace

int as_told(const std::string& settings) {
  if (settings.find("\"dump\"") == std::string::npos) return ACL_SUCCESS;
  std::lock_guard lock(state().mutex);
  if (int code = take("aclInit", settings)) return code;
  state().by_file = !state().path.empty();  // what is to be dumped at a failure is no dump that runs
  return ACL_SUCCESS;
}
void end() {
  std::lock_guard lock(state().mutex);
  if (state().by_file) forget();
  state().scene = 0, state().exceptions.clear();
}

extern "C" {

SIM_API aclError aclmdlInitDump() {
  if (int code = sim_init()) return code;
  std::lock_guard lock(state().mutex);
  if (state().begun || state().by_file)
    return sim_fail(ACL_ERROR_DUMP_ALREADY_RUN, "%s: dumps were configured by %s", __func__,
                    state().begun ? "aclmdlInitDump" : "aclInit");
  state().begun = true;
  if (state().callback) {  // it gets all, without a file of settings
    state().operators = state().inputs = state().outputs = true;
    state().begun_at = now("%Y%m%d%H%M%S", false);
    sim_observe(sim_watcher_dump, &kDump);
  }
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlSetDump(const char* file) {
  if (!file) return missing(__func__, "dumpCfgPath", ACL_ERROR_INVALID_PARAM);
  std::lock_guard lock(state().mutex);
  if (state().by_file) return sim_fail(ACL_ERROR_DUMP_ALREADY_RUN, "%s: aclInit configured dumps", __func__);
  if (!state().begun) return sim_fail(ACL_ERROR_DUMP_NOT_RUN, "%s: before aclmdlInitDump", __func__);
  std::ifstream settings(file);
  if (!settings) return sim_fail(ACL_ERROR_INVALID_FILE, "%s: cannot read %s", __func__, file);
  return take(__func__, {std::istreambuf_iterator<char>(settings), {}});
}
SIM_API aclError aclmdlFinalizeDump() {
  std::lock_guard lock(state().mutex);
  if (state().by_file) return sim_fail(ACL_ERROR_DUMP_ALREADY_RUN, "%s: aclInit configured dumps", __func__);
  if (!state().begun) return sim_fail(ACL_ERROR_DUMP_NOT_RUN, "%s: before aclmdlInitDump", __func__);
  forget();
  return ACL_SUCCESS;
}
SIM_API aclError acldumpRegCallback(Callback const callback, int32_t flag) {
  if (!callback) return missing(__func__, "messageCallback", ACL_ERROR_INVALID_PARAM);
  ACL_INVALID_IF(flag, "flag %d; allowed: 0", flag);
  std::lock_guard lock(state().mutex);
  state().callback = callback;
  return ACL_SUCCESS;
}
SIM_API void acldumpUnregCallback() {
  std::lock_guard lock(state().mutex);
  state().callback = nullptr;
}
SIM_API const char* acldumpGetPath(Type type) {
  std::lock_guard lock(state().mutex);
  const std::string& path = type == kData ? state().path : type == state().scene ? state().exceptions : "";
  return path.empty() ? nullptr : kept(path);
}

}  // extern "C"
}  // namespace sim::acl::dumps
