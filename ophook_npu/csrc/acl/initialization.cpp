// libascendcl: aclInit and aclFinalize, how often they were called, and what a program wants to be called by them.
// hicann/runtime, docs/zh/api_ref/02_initialization_and_deinitialization.md.
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <vector>

#include "acl/dump.h"
#include "acl/tasks.h"
#include "core/forever.h"

namespace {

template <typename Function>
struct Callback {
  aclRegisterCallbackType type;
  Function function;
  void* data;
};

struct State {
  std::mutex mutex;
  uint64_t times = 0;    // of aclInit, without those that were taken back
  std::string settings;  // what the file of the last aclInit said
  std::vector<Callback<aclInitCallbackFunc>> at_begin;
  std::vector<Callback<aclFinalizeCallbackFunc>> at_end;
};
State& state() { return sim::forever<State>(); }

template <typename Function>
int take_out(const char* caller, std::vector<Callback<Function>>& all, aclRegisterCallbackType type,
             Function function) {
  std::lock_guard lock(state().mutex);
  if (std::erase_if(all, [&](const auto& one) { return one.type == type && one.function == function; }))
    return ACL_SUCCESS;
  return ACL_INVALID(caller, "this function is not registered for type %d", int(type));
}

// The first code that is not 0; all are called.
int finalized() {
  sim::acl::dumps::end();
  std::vector<Callback<aclFinalizeCallbackFunc>> all;
  {
    std::lock_guard lock(state().mutex);
    state().times = 0;
    all = state().at_end;
  }
  int code = ACL_SUCCESS;
  for (const auto& one : all)
    if (const int said = one.function(one.data); !code) code = said;
  return code;
}

}  // namespace

extern "C" {

aclError aclInit(const char* config) {
  if (int code = sim_init()) return code;
  // {"defaultDevice": {"default_device": "0"}}: the one setting of ACL's configuration file that changes what is
  // simulated. torch_npu passes it so that a thread without aclrtSetDevice works on that device.
  std::string text;
  if (config && *config) {
    std::ifstream file(config);
    if (!file) return sim_fail(ACL_ERROR_INVALID_FILE, "aclInit: cannot read %s", config);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  const char* const key = "\"default_device\"";
  if (const size_t found = text.find(key); found != std::string::npos) {
    const size_t at = text.find_first_not_of(": \t\r\n\"", found + std::strlen(key));
    if (at != std::string::npos && std::isdigit(static_cast<unsigned char>(text[at])))
      if (int code = sim_set_default_device(std::atoi(text.c_str() + at))) return code;
  }
  if (int code = sim::acl::dumps::as_told(text)) return code;
  std::vector<Callback<aclInitCallbackFunc>> all;
  {
    std::lock_guard lock(state().mutex);
    ++state().times;
    state().settings = text;
    all = state().at_begin;
  }
  for (const auto& one : all)
    if (int code = one.function(text.c_str(), text.size(), one.data)) return code;
  return ACL_SUCCESS;
}

// Nothing else is to be done: nothing outlives the process, and streams drain when they are destroyed.
aclError aclFinalize() { return finalized(); }
SIM_API aclError aclFinalizeReference(uint64_t* count) {
  uint64_t left = 0;
  {
    std::lock_guard lock(state().mutex);
    if (state().times) left = --state().times;
  }
  if (count) *count = left;
  return left ? int(ACL_SUCCESS) : finalized();
}

SIM_API aclError aclInitCallbackRegister(aclRegisterCallbackType type, aclInitCallbackFunc function, void* data) {
  if (!function) return sim::acl::missing(__func__, "cbFunc", ACL_ERROR_INVALID_PARAM);
  std::string settings;
  {
    std::lock_guard lock(state().mutex);
    state().at_begin.push_back({type, function, data});
    if (!state().times) return ACL_SUCCESS;
    settings = state().settings;
  }
  return function(settings.c_str(), settings.size(), data);  // after aclInit: at once
}
SIM_API aclError aclInitCallbackUnRegister(aclRegisterCallbackType type, aclInitCallbackFunc function) {
  return take_out(__func__, state().at_begin, type, function);
}
SIM_API aclError aclFinalizeCallbackRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc function,
                                             void* data) {
  if (!function) return sim::acl::missing(__func__, "cbFunc", ACL_ERROR_INVALID_PARAM);
  std::lock_guard lock(state().mutex);
  state().at_end.push_back({type, function, data});
  return ACL_SUCCESS;
}
SIM_API aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc function) {
  return take_out(__func__, state().at_end, type, function);
}

}  // extern "C"
