// What ge_ir_build.h of CANN has and the wheel's has not: models that a program converts itself.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "graph/ascend_string.h"
#include "graph/graph.h"

namespace ge {
struct ModelBufferData {
  std::shared_ptr<uint8_t> data = nullptr;
  uint64_t length = 0;
};

GE_FUNC_HOST_VISIBILITY graphStatus aclgrphBuildInitialize(std::map<std::string, std::string> global_options);
GE_FUNC_HOST_VISIBILITY graphStatus aclgrphBuildInitialize(std::map<AscendString, AscendString>& global_options);
GE_FUNC_HOST_VISIBILITY void aclgrphBuildFinalize();
GE_FUNC_HOST_VISIBILITY graphStatus aclgrphBuildModel(const Graph& graph,
                                                      const std::map<std::string, std::string>& build_options,
                                                      ModelBufferData& model);
GE_FUNC_HOST_VISIBILITY graphStatus aclgrphBuildModel(const Graph& graph,
                                                      const std::map<AscendString, AscendString>& build_options,
                                                      ModelBufferData& model);
GE_FUNC_HOST_VISIBILITY graphStatus aclgrphSaveModel(const std::string& output_file, const ModelBufferData& model);
GE_FUNC_HOST_VISIBILITY graphStatus aclgrphSaveModel(const char_t* output_file, const ModelBufferData& model);
GE_FUNC_HOST_VISIBILITY graphStatus aclgrphGetIRVersion(int* major_version, int* minor_version, int* patch_version);
}  // namespace ge
