// libacl_op_compiler: compile options, and single operators by type name (the path that ops without an aclnn form take).
#include "acl/acl_op_compiler.h"

#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "acl/operator_description.h"
#include "core/sim.h"

namespace {

std::mutex mutex;
// "disable": operators are looked up, not compiled for each shape; anything else sends torch_npu down the old aclop path.
std::map<int, std::string>& options() {
  static auto* instance = new std::map<int, std::string>{{ACL_OP_JIT_COMPILE, "disable"}};
  return *instance;
}

}  // namespace

extern "C" {

size_t aclGetCompileoptSize(aclCompileOpt option) {
  std::lock_guard<std::mutex> lock(mutex);
  auto entry = options().find(option);
  return entry == options().end() ? 0 : entry->second.size() + 1;
}

aclError aclGetCompileopt(aclCompileOpt option, char* value, size_t length) {
  std::lock_guard<std::mutex> lock(mutex);
  auto entry = options().find(option);
  if (entry == options().end())
    return sim_fail(ACL_ERROR_INVALID_PARAM, "aclGetCompileopt: option %d was never set", int(option));
  if (length < entry->second.size() + 1) return sim_fail(ACL_ERROR_INVALID_PARAM, "aclGetCompileopt: buffer too small");
  memcpy(value, entry->second.c_str(), entry->second.size() + 1);
  return ACL_SUCCESS;
}

aclError aclSetCompileopt(aclCompileOpt option, const char* value) {
  std::lock_guard<std::mutex> lock(mutex);
  options()[option] = value ? value : "";
  return ACL_SUCCESS;
}

aclError aclopCompileAndExecute(const char* type, int, const aclTensorDesc* const[], const aclDataBuffer* const[], int,
                                const aclTensorDesc* const[], aclDataBuffer* const[], const aclopAttr*, aclopEngineType,
                                aclopCompileType, const char*, aclrtStream) {
  return sim_unimplemented((std::string("the aclop operator ") + type).c_str());
}

aclError aclopCompileAndExecuteV2(const char* type, int, aclTensorDesc*[], aclDataBuffer*[], int, aclTensorDesc*[],
                                  aclDataBuffer*[], aclopAttr*, aclopEngineType, aclopCompileType, const char*, aclrtStream) {
  return sim_unimplemented((std::string("the aclop operator ") + type).c_str());
}

}  // extern "C"
