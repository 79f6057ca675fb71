// libhccl: what torch_npu and torchair need to load. Collectives are looked up when a process group is made, and torch_npu
// names the one that is missing.
#include "hccl/hccl.h"

#include <map>
#include <mutex>

#include "core/sim.h"

namespace {
std::mutex mutex;
std::map<int, int32_t> values;
}  // namespace

extern "C" {

// Kept for HcclGetConfig. The only setting there is asks for deterministic collectives.
SIM_API HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue value) {
  std::lock_guard<std::mutex> lock(mutex);
  values[int(config)] = value.value;
  return HCCL_SUCCESS;
}

SIM_API HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* value) {
  std::lock_guard<std::mutex> lock(mutex);
  auto entry = values.find(int(config));
  value->value = entry == values.end() ? 0 : entry->second;
  return HCCL_SUCCESS;
}

}  // extern "C"
