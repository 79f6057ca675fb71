// libascend_ml: torch_npu.npu.stress_detect. A device whose arithmetic is the host's has no cores that could be worn,
// so this tries the memory that it is given, and fails where that was ordered (core/fault.h).
#include <algorithm>
#include <cstddef>

#include "aml/aml_fwk_detect.h"
#include "core/fault.h"
#include "core/sim.h"

namespace {
constexpr int kBitFail = 574006;  // what torch_npu takes for broken hardware
constexpr int kInvalid = 107000;
constexpr size_t kTried = 1 << 20;
constexpr uint32_t kStep = 2654435761u;
}  // namespace

extern "C" {

SIM_API AmlStatus AmlAicoreDetectOnline(int32_t device, const AmlAicoreDetectAttr* given) {
  if (!given || !given->workspace || sim_memory_device(given->workspace, nullptr) != device)
    return sim_fail(kInvalid, "AmlAicoreDetectOnline: the workspace has to be memory of device %d", device);
  if (const int code = sim_fault_call("AmlAicoreDetectOnline")) return code;
  sim_memory_open();
  auto* words = static_cast<volatile uint32_t*>(given->workspace);
  const size_t count = std::min<size_t>(given->workspaceSize, kTried) / sizeof *words;
  for (size_t i = 0; i < count; ++i) words[i] = uint32_t(i) * kStep;
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) wrong += words[i] != uint32_t(i) * kStep;
  sim_memory_close();
  return wrong ? sim_fail(kBitFail, "AmlAicoreDetectOnline: %zu words of device %d are wrong", wrong, device) : 0;
}

SIM_API AmlStatus AmlP2PDetectOnline(int32_t, void*, const AmlP2PDetectAttr*) {
  return sim_unimplemented("AmlP2PDetectOnline");
}

}  // extern "C"
