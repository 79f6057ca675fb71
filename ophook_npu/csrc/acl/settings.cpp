// libascendcl: versions, attributes, options and logging: what is asked once and answered from what is simulated.
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "acl/acl_op_compiler.h"
#include "acl/tasks.h"
#include "core/fault.h"
#include "core/log.h"
#include "core/families.h"

namespace {

// The CANN releases that can be simulated, the default first, and the driver. ophook_npu/sim/variables.py has the same
// list.
constexpr const char* kCannVersions[] = {"8.5.0", "9.0.0"};
constexpr const char* kDriverVersion = "25.3.0";

// Null, with the error set, where OPHOOK_SIM_CANN names another.
const char* cann_version() {
  if (const char* other = sim_fault_version("cann")) return other;
  const char* asked = std::getenv("OPHOOK_SIM_CANN");
  if (!asked || !*asked) return kCannVersions[0];
  for (const char* version : kCannVersions)
    if (strcmp(asked, version) == 0) return version;
  sim_fail(ACL_ERROR_INVALID_PARAM, "OPHOOK_SIM_CANN=%s is not simulated; 8.5.0 and 9.0.0 are", asked);
  return nullptr;
}

const char* driver_version() {
  const char* other = sim_fault_version("driver");
  return other ? other : kDriverVersion;
}

std::mutex settings_mutex;
std::map<int, int64_t> system_options = {
    {ACL_OPT_DETERMINISTIC, 0}, {ACL_OPT_ENABLE_DEBUG_KERNEL, 0}, {ACL_OPT_STRONG_CONSISTENCY, 0}};

}  // namespace

extern "C" {

const char* aclGetRecentErrMsg() { return sim_error_message(); }

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  memset(version, 0, sizeof *version);
  const char* text = name == ACL_PKG_NAME_DRIVER ? driver_version() : cann_version();
  if (!text) return ACL_ERROR_INVALID_PARAM;
  snprintf(version->version, sizeof version->version, "%s", text);
  const char* first = strchr(text, '.');
  const char* second = strchr(first + 1, '.');
  snprintf(version->majorVersion, sizeof version->majorVersion, "%.*s", int(first - text), text);
  snprintf(version->minorVersion, sizeof version->minorVersion, "%.*s", int(second - first - 1), first + 1);
  snprintf(version->releaseVersion, sizeof version->releaseVersion, "%s", second + 1);
  return ACL_SUCCESS;
}

SIM_API aclError aclsysGetVersionStr(char* package, char* version) {
  const char* text = strcmp(package, "driver") == 0 ? driver_version() : cann_version();
  if (!text) return ACL_ERROR_INVALID_PARAM;
  strcpy(version, text);
  return ACL_SUCCESS;
}

// Two digits each for the major, minor and patch version, and as many for what comes before a release.
SIM_API aclError aclsysGetVersionNum(char* package, int32_t* number) {
  ACL_INVALID_IF(!package || !number, "null pointer");
  char version[ACL_PKG_VERSION_MAX_SIZE];
  if (int code = aclsysGetVersionStr(package, version)) return code;
  int major = 0, minor = 0, patch = 0;
  ACL_INVALID_IF(sscanf(version, "%d.%d.%d", &major, &minor, &patch) < 2, "%s has the version %s, which is no number",
                 package, version);
  *number = ((major * 100 + minor) * 100 + patch) * 100;
  return ACL_SUCCESS;
}

aclError aclGetCannAttributeList(const aclCannAttr** list, size_t* count) {
  static const aclCannAttr attributes[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_JIT_COMPILE};
  *list = attributes;
  *count = sizeof attributes / sizeof *attributes;
  return ACL_SUCCESS;
}

aclError aclGetCannAttribute(aclCannAttr attribute, int32_t* value) {
  switch (attribute) {
    case ACL_CANN_ATTR_BF16: *value = sim_init() || !sim::acl::on("Ascend310P"); return ACL_SUCCESS;
    case ACL_CANN_ATTR_INF_NAN:  // an Ascend310P saturates, which is not simulated
    case ACL_CANN_ATTR_JIT_COMPILE: *value = 1; return ACL_SUCCESS;
    default: return ACL_INVALID(__func__, "attribute %d", int(attribute));
  }
}

aclError aclGetDeviceCapability(uint32_t device, aclDeviceInfo what, int64_t* value) {
  if (int code = sim_check_device("aclGetDeviceCapability", device)) return code;
  const sim_soc* soc = sim_current_soc();
  switch (what) {
    case ACL_DEVICE_INFO_AI_CORE_NUM: *value = soc->cube_cores; return ACL_SUCCESS;
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM: *value = soc->vector_cores; return ACL_SUCCESS;
    case ACL_DEVICE_INFO_L2_SIZE: *value = int64_t(soc->l2); return ACL_SUCCESS;
    default: return ACL_INVALID(__func__, "figure %d", int(what));
  }
}

aclError aclrtGetDeviceInfo(uint32_t device, aclrtDevAttr what, int64_t* value) {
  if (int code = sim_check_device("aclrtGetDeviceInfo", device)) return code;
  const sim_soc* soc = sim_current_soc();
  switch (what) {
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM: *value = soc->cube_cores; return ACL_SUCCESS;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM: *value = soc->vector_cores; return ACL_SUCCESS;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE: *value = int64_t(soc->memory); return ACL_SUCCESS;
    case ACL_DEV_ATTR_L2_CACHE_SIZE: *value = int64_t(soc->l2); return ACL_SUCCESS;
    case ACL_DEV_ATTR_PHY_CHIP_ID: *value = device; return ACL_SUCCESS;
    case ACL_DEV_ATTR_IS_VIRTUAL: *value = 0; return ACL_SUCCESS;
    default:
      return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtGetDeviceInfo: attribute %d is not simulated", int(what));
  }
}

SIM_API aclError aclrtGetDeviceCapability(int32_t device, aclrtDevFeatureType what, int32_t* value) {
  RT_INVALID_IF(!value, "value is null");
  if (int code = sim_check_device(__func__, device)) return code;
  RT_INVALID_IF(
      what != ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV && what != ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV,
      "feature %d; allowed: 1, 21", int(what));
  *value = ACL_DEV_FEATURE_NOT_SUPPORT;  // aclrtTaskUpdateAsync, and queues between devices: neither is simulated
  return ACL_SUCCESS;
}

// Where flags between cube and vector cores lie, which a kernel is handed. The simulated ones need no memory for them.
static uint64_t hardware_flags[512];
SIM_API aclError aclrtGetHardwareSyncAddr(void** addr) {
  RT_INVALID_IF(!addr, "addr is null");
  if (int code = sim_init()) return code;
  *addr = hardware_flags;
  return ACL_SUCCESS;
}
// Its name in the runtime below.
SIM_API int rtGetC2cCtrlAddr(uint64_t* addr, uint32_t* len) {
  RT_INVALID_IF(!addr || !len, "a null pointer");
  *len = sizeof hardware_flags;
  return aclrtGetHardwareSyncAddr(reinterpret_cast<void**>(addr));
}

// Binaries are for a family of chips: those that begin alike, such as Ascend910B1 and Ascend910B4.
SIM_API aclError aclrtCheckArchCompatibility(const char* soc_name, int32_t* compatible) {
  RT_INVALID_IF(!soc_name || !compatible, "null pointer");
  if (int code = sim_init()) return code;
  // Atlas A2 and Atlas A3 have the same instructions.
  const auto like = [](std::string_view name) {
    for (const std::string_view one : sim::kFamilies)
      if (name.starts_with(one)) return one == "Ascend910_93" ? std::string_view("Ascend910B") : one;
    return name;
  };
  *compatible = like(soc_name) == like(sim_current_soc()->name);
  return ACL_SUCCESS;
}

// Kept and given back: no simulated operator has a non-deterministic form that such an option could turn off.
aclError aclrtSetSysParamOpt(aclSysParamOpt option, int64_t value) {
  std::lock_guard<std::mutex> lock(settings_mutex);
  system_options[option] = value;
  return ACL_SUCCESS;
}
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt option, int64_t value) { return aclrtSetSysParamOpt(option, value); }
SIM_API aclError aclrtCtxGetSysParamOpt(aclSysParamOpt option, int64_t* value) {
  return aclrtGetSysParamOpt(option, value);
}
aclError aclrtGetSysParamOpt(aclSysParamOpt option, int64_t* value) {
  std::lock_guard<std::mutex> lock(settings_mutex);
  auto entry = system_options.find(option);
  if (entry == system_options.end())
    return sim_fail(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "aclrtGetSysParamOpt: option %d was never set", int(option));
  *value = entry->second;
  return ACL_SUCCESS;
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  return sim_stream_stop_on_failure(stream, mode == ACL_STOP_ON_FAILURE);
}
// Time limits of a single operator: none runs as long, but one that was told to hang (core/fault.h).
static std::atomic<uint64_t> operator_limit_ms{0};  // 0: the longest, which is the default
static aclError limit_operators(uint64_t ms) {
  sim_task_limit(operator_limit_ms = ms);
  return ACL_SUCCESS;
}
aclError aclrtSetOpExecuteTimeOut(uint32_t seconds) { return limit_operators(seconds * 1000ull); }
SIM_API aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t ms) { return limit_operators(ms); }
aclError aclrtSetOpExecuteTimeOutV2(uint64_t wanted, uint64_t* actual) {
  if (actual) *actual = wanted;
  return limit_operators((wanted + 999) / 1000);  // of microseconds
}
// CANN's page of aclrtSetOpExecuteTimeOut has the defaults: 547 seconds on Atlas inference products, 1091 on the
// others.
SIM_API aclError aclrtGetOpExecuteTimeout(uint32_t* ms) {
  REQUIRE(ms);
  const uint64_t set = operator_limit_ms;
  *ms = set ? uint32_t(std::min<uint64_t>(set, UINT32_MAX)) : sim::acl::on("Ascend310P") ? 547000 : 1091000;
  return ACL_SUCCESS;
}
aclError aclrtSetOpWaitTimeout(uint32_t) { return ACL_SUCCESS; }

void aclAppLog(aclLogLevel level, const char* function, const char* file, uint32_t line, const char* format, ...) {
  if (!sim_log_wanted("APP", level)) return;
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const char* name = file ? strrchr(file, '/') : nullptr;
  const std::string place = std::string(name ? name + 1 : file ? file : "?") + ":" + std::to_string(line);
  sim_log("APP", level, place.c_str(), (std::string(function ? function : "?") + " " + text).c_str());
}

}  // extern "C"
