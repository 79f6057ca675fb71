// libmsprofiler: marks and ranges of the program's own, in the profile as calls of the host with their names (the pages
// "msproftx extension", "subscription to operator information"). Without a profiler that runs they leave no trace.
#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "acl/acl_prof.h"
#include "acl/refuse.h"
#include "core/forever.h"

namespace {

struct Stamp {
  std::string message;
};
struct Range {
  std::string name;
  uint64_t begin;
};

struct Step {
  bool begun = false;
  uint64_t begin = 0;
};

struct State {
  std::mutex mutex;
  std::map<void*, std::unique_ptr<Stamp>> stamps;
  std::map<uint32_t, Range> ranges;
  uint32_t next = 1;
  std::map<const void*, std::unique_ptr<Step>> steps;
  std::map<uint32_t, uint32_t> devices;  // of models
  std::map<uint32_t, int> subscribed;    // the files of models
};
State& state() { return sim::forever<State>(); }
thread_local std::vector<Range> pushed;

int no_stamp(const char* caller) {
  return ACL_INVALID(caller, "the stamp was not made by aclprofCreateStamp, or was destroyed");
}

int named(const char* caller, void* stamp, std::string* name) {
  std::lock_guard lock(state().mutex);
  const auto found = state().stamps.find(stamp);
  if (found == state().stamps.end()) return no_stamp(caller);
  *name = found->second->message;
  return ACL_SUCCESS;
}

// What a subscriber reads: a record for each operator of a model.
struct Operator {
  uint64_t model, start, end, duration;
  uint32_t flag;
  char type[65], name[257];
};

const Operator* at(const void* data, size_t length, uint32_t index) {
  if (!data || (size_t(index) + 1) * sizeof(Operator) > length) {
    sim_fail(ACL_ERROR_INVALID_PARAM, "operator %u is not in the %zu bytes", index, length);
    return nullptr;
  }
  return static_cast<const Operator*>(data) + index;
}

// A field of a record that is there, with the NUL behind a text.
template <size_t room>
aclError length_of(char (Operator::*text)[room], const Operator* one, size_t* size) {
  if (!one || !size) return ACL_ERROR_INVALID_PARAM;
  *size = strlen(one->*text) + 1;
  return ACL_SUCCESS;
}
template <size_t room>
aclError text_of(char (Operator::*text)[room], const Operator* one, char* to, size_t size) {
  if (!one || !to || strlen(one->*text) >= size) return ACL_ERROR_INVALID_PARAM;
  strcpy(to, one->*text);
  return ACL_SUCCESS;
}
uint64_t number_of(uint64_t Operator::* number, const Operator* one) { return one ? one->*number : 0; }

}  // namespace

struct aclprofSubscribeConfig {
  int8_t times;
  int file;
};

extern "C" {

void* aclprofCreateStamp() {
  auto made = std::make_unique<Stamp>();
  void* handle = made.get();
  std::lock_guard lock(state().mutex);
  state().stamps[handle] = std::move(made);
  return handle;
}
void aclprofDestroyStamp(void* stamp) {
  std::lock_guard lock(state().mutex);
  if (!state().stamps.erase(stamp)) no_stamp("aclprofDestroyStamp");
}
aclError aclprofSetStampTraceMessage(void* stamp, const char* message, uint32_t length) {
  std::lock_guard lock(state().mutex);
  const auto found = state().stamps.find(stamp);
  if (found == state().stamps.end()) return no_stamp(__func__);
  ACL_INVALID_IF(!message || !length || length > 127, "a message of %u letters; allowed: 1 to 127", length);
  found->second->message.assign(message, strnlen(message, length));
  return ACL_SUCCESS;
}
aclError aclprofMark(void* stamp) {
  std::string name;
  if (int code = named(__func__, stamp, &name)) return code;
  sim_call_end(name.c_str(), sim_call_begin());
  return ACL_SUCCESS;
}
aclError aclprofPush(void* stamp) {
  Range range{"", sim_call_begin()};
  if (int code = named(__func__, stamp, &range.name)) return code;
  pushed.push_back(std::move(range));
  return ACL_SUCCESS;
}
aclError aclprofPop() {
  ACL_INVALID_IF(pushed.empty(), "this thread has pushed nothing");
  sim_call_end(pushed.back().name.c_str(), pushed.back().begin);
  pushed.pop_back();
  return ACL_SUCCESS;
}
aclError aclprofRangeStart(void* stamp, uint32_t* id) {
  Range range{"", sim_call_begin()};
  ACL_INVALID_IF(!id, "rangeId is null");
  if (int code = named(__func__, stamp, &range.name)) return code;
  std::lock_guard lock(state().mutex);
  *id = state().next++;
  state().ranges[*id] = std::move(range);
  return ACL_SUCCESS;
}
aclError aclprofRangeStop(uint32_t id) {
  Range range;
  {
    std::lock_guard lock(state().mutex);
    const auto found = state().ranges.find(id);
    ACL_INVALID_IF(found == state().ranges.end(), "no range %u", id);
    range = std::move(found->second);
    state().ranges.erase(found);
  }
  sim_call_end(range.name.c_str(), range.begin);
  return ACL_SUCCESS;
}

// A step, from its first time stamp to its last.
SIM_API aclprofStepInfo* aclprofCreateStepInfo() {
  auto made = std::make_unique<Step>();
  auto* handle = reinterpret_cast<aclprofStepInfo*>(made.get());
  std::lock_guard lock(state().mutex);
  state().steps[handle] = std::move(made);
  return handle;
}
SIM_API void aclprofDestroyStepInfo(aclprofStepInfo* step) {
  std::lock_guard lock(state().mutex);
  if (!state().steps.erase(step)) ACL_INVALID(__func__, "the step was not made by aclprofCreateStepInfo");
}
SIM_API aclError aclprofGetStepTimestamp(aclprofStepInfo* info, aclprofStepTag tag, aclrtStream) {
  ACL_INVALID_IF(!info, "stepInfo is null");
  ACL_INVALID_IF(tag != ACL_STEP_START && tag != ACL_STEP_END, "tag %d; allowed: 0, 1", int(tag));
  std::unique_lock lock(state().mutex);
  const auto found = state().steps.find(info);
  ACL_INVALID_IF(found == state().steps.end(), "the step was not made by aclprofCreateStepInfo");
  Step& step = *found->second;
  ACL_INVALID_IF(step.begun == (tag == ACL_STEP_START), "the step has %s", step.begun ? "begun already" : "not begun");
  step.begun = tag == ACL_STEP_START;
  if (step.begun) {
    step.begin = sim_call_begin();
    return ACL_SUCCESS;
  }
  const uint64_t begin = step.begin;
  lock.unlock();
  sim_call_end("step", begin);
  return ACL_SUCCESS;
}

// ---- subscriptions ---- (of models that are loaded: aclmdlLoad… is refused, so no record ever comes)
SIM_API int32_t MsprofSetDeviceIdByGeModelIdx(const uint32_t model, const uint32_t device) {
  std::lock_guard lock(state().mutex);
  state().devices[model] = device;
  return 0;
}
SIM_API int32_t MsprofUnsetDeviceIdByGeModelIdx(const uint32_t model, const uint32_t) {
  std::lock_guard lock(state().mutex);
  return state().devices.erase(model) ? 0 : -1;
}
aclprofSubscribeConfig* aclprofCreateSubscribeConfig(int8_t times, aclprofAicoreMetrics, void* file) {
  if (file) return new aclprofSubscribeConfig{times, *static_cast<int*>(file)};
  ACL_INVALID(__func__, "fd is null");
  return nullptr;
}
aclError aclprofDestroySubscribeConfig(const aclprofSubscribeConfig* config) {
  return sim::acl::destroyed(__func__, "profSubscribeConfig", config);
}
aclError aclprofModelSubscribe(uint32_t model, const aclprofSubscribeConfig* config) {
  ACL_INVALID_IF(!config, "the configuration is null");
  std::lock_guard lock(state().mutex);
  if (!state().devices.count(model))
    return sim_fail(ACL_ERROR_INVALID_MODEL_ID, "%s: no model %u is known", __func__, model);
  if (!state().subscribed.emplace(model, config->file).second)
    return sim_fail(ACL_ERROR_PROF_REPEAT_SUBSCRIBE, "%s: model %u is subscribed to already", __func__, model);
  return ACL_SUCCESS;
}
// The file is closed: who reads sees its end.
aclError aclprofModelUnSubscribe(uint32_t model) {
  std::lock_guard lock(state().mutex);
  const auto found = state().subscribed.find(model);
  if (found == state().subscribed.end())
    return sim_fail(ACL_ERROR_INVALID_MODEL_ID, "%s: nobody subscribes to model %u", __func__, model);
  close(found->second);
  state().subscribed.erase(found);
  return ACL_SUCCESS;
}
aclError aclprofGetOpDescSize(size_t* size) {
  ACL_INVALID_IF(!size, "null pointer");
  *size = sizeof(Operator);
  return ACL_SUCCESS;
}
aclError aclprofGetOpNum(const void* data, size_t length, uint32_t* count) {
  ACL_INVALID_IF(!data || !count || length % sizeof(Operator),
                 "a null pointer, or %zu bytes, which are not whole records", length);
  *count = uint32_t(length / sizeof(Operator));
  return ACL_SUCCESS;
}
aclError aclprofGetOpTypeLen(const void* data, size_t length, uint32_t index, size_t* size) {
  return length_of(&Operator::type, at(data, length, index), size);
}
aclError aclprofGetOpType(const void* data, size_t length, uint32_t index, char* to, size_t room) {
  return text_of(&Operator::type, at(data, length, index), to, room);
}
aclError aclprofGetOpNameLen(const void* data, size_t length, uint32_t index, size_t* size) {
  return length_of(&Operator::name, at(data, length, index), size);
}
aclError aclprofGetOpName(const void* data, size_t length, uint32_t index, char* to, size_t room) {
  return text_of(&Operator::name, at(data, length, index), to, room);
}
uint64_t aclprofGetOpStart(const void* data, size_t length, uint32_t index) {
  return number_of(&Operator::start, at(data, length, index));
}
uint64_t aclprofGetOpEnd(const void* data, size_t length, uint32_t index) {
  return number_of(&Operator::end, at(data, length, index));
}
uint64_t aclprofGetOpDuration(const void* data, size_t length, uint32_t index) {
  return number_of(&Operator::duration, at(data, length, index));
}
size_t aclprofGetModelId(const void* data, size_t length, uint32_t index) {
  return number_of(&Operator::model, at(data, length, index));
}

}  // extern "C"
