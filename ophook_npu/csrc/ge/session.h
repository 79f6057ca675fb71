// The session API of libge_runner. The wheel's own ge/ge_api.h is older than what torchair links (it lacks
// CompileGraph, external memory and allocators), so the classes are declared here with the layout that torchair's
// modules rely on: a Session is one 64-bit id, a summary one shared_ptr, and Allocator and MemBlock have these virtual
// functions in this order.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "graph/ascend_string.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "include/ge/ge_allocator.h"

#define GE_API __attribute__((visibility("default")))

namespace ge {

using Status = uint32_t;
using Options = std::map<AscendString, AscendString>;
using OldOptions = std::map<std::string, std::string>;
inline OldOptions plain(const Options& options) {
  OldOptions out;
  for (const auto& [key, value] : options) out[key.GetString()] = value.GetString();
  return out;
}
using RunAsyncCallback = std::function<void(Status, std::vector<Tensor>&)>;
using OldCallback = uint32_t (*)(uint32_t graph, const std::map<std::string, Tensor>& values);
namespace session {
using pCallBackFunc = uint32_t (*)(uint32_t graph, const std::map<AscendString, Tensor>& values);
}
struct InputTensorInfo;  // a type and a shape
constexpr Status kSuccess = 0;
constexpr Status kFailed = 0xFFFFFFFF;

class GE_API CompiledGraphSummary {
 public:
  class SummaryData;
  explicit CompiledGraphSummary(std::shared_ptr<SummaryData> data);
  ~CompiledGraphSummary();
  bool IsStatic() const;
  Status GetConstMemorySize(size_t& size) const;
  Status GetFeatureMemorySize(size_t& size) const;
  Status GetFixedFeatureMemorySize(size_t& size) const;
  Status GetRefreshableFeatureMemorySize(size_t& size) const;
  Status GetFeatureMemoryBaseRefreshable(bool& refreshable) const;
  Status GetStreamNum(size_t& count) const;
  Status GetEventNum(size_t& count) const;
  Status GetOutputShapes(std::vector<Shape>& shapes) const;
  Status GetOutputDtypes(std::vector<DataType>& dtypes) const;
  Status GetIOIndexesWithSameAddr(std::vector<std::pair<uint32_t, uint32_t>>& pairs) const;

 private:
  std::shared_ptr<SummaryData> data_;
};

class GE_API Session {
 public:
  explicit Session(const Options& options);
  explicit Session(const OldOptions& options);
  ~Session();
  Status AddGraph(uint32_t id, const Graph& graph);
  Status AddGraph(uint32_t id, const Graph& graph, const Options& options);
  Status AddGraph(uint32_t id, const Graph& graph, const OldOptions& options);
  Status AddGraphWithCopy(uint32_t id, const Graph& graph);
  Status AddGraphWithCopy(uint32_t id, const Graph& graph, const Options& options);
  Status RemoveGraph(uint32_t id);
  Status BuildGraph(uint32_t id, const std::vector<InputTensorInfo>& inputs);
  Status BuildGraph(uint32_t id, const std::vector<Tensor>& inputs);
  bool IsGraphNeedRebuild(uint32_t id);
  Status CompileGraph(uint32_t id);
  std::shared_ptr<CompiledGraphSummary> GetCompiledGraphSummary(uint32_t id);
  Status RunGraph(uint32_t id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
  Status RunGraphWithStreamAsync(uint32_t id, void* stream, const std::vector<Tensor>& inputs,
                                 std::vector<Tensor>& outputs);
  Status RunGraphAsync(uint32_t id, const std::vector<Tensor>& inputs, RunAsyncCallback callback);
  Status GetVariables(const std::vector<std::string>& names, std::vector<Tensor>& values);
  Status GetVariables(const std::vector<AscendString>& names, std::vector<Tensor>& values);
  Status RegisterCallBackFunc(const std::string& key, const OldCallback& callback);
  Status RegisterCallBackFunc(const char* key, const session::pCallBackFunc& callback);
  Status SetGraphConstMemoryBase(uint32_t id, const void* memory, size_t size);
  Status UpdateGraphFeatureMemoryBase(uint32_t id, const void* memory, size_t size);
  Status SetGraphFixedFeatureMemoryBase(uint32_t id, const void* memory, size_t size);
  Status UpdateGraphRefreshableFeatureMemoryBase(uint32_t id, const void* memory, size_t size);
  Status RegisterExternalAllocator(const void* stream, std::shared_ptr<Allocator> allocator) const;
  Status UnregisterExternalAllocator(const void* stream) const;

 private:
  uint64_t id_;
};

GE_API Status GEInitialize(const Options& options);
GE_API Status GEInitialize(const OldOptions& options);
GE_API Status GEFinalize();
GE_API std::string GEGetErrorMsg();
GE_API AscendString GEGetErrorMsgV2();
GE_API std::string GEGetWarningMsg();
GE_API AscendString GEGetWarningMsgV2();

}  // namespace ge

using GeNamePairs = std::vector<std::pair<ge::AscendString, ge::AscendString>>;
extern "C" GE_API ge::Status GetRegisteredIrDef(const char* type, GeNamePairs& inputs, GeNamePairs& outputs,
                                                GeNamePairs& attrs);
