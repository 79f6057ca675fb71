// libge_runner's public face: initialisation, sessions, compiled graph summaries, prototypes.
//
// How libgraph and libge_runner fail: inside, a function that can fail returns what is wrong as a text, empty for
// success, with the node's place in the graph; what CANN declares returns a ge::Status (ACL_ERROR_GE_…), null or an
// empty object, and leaves the text for aclGetRecentErrMsg. What fails when the graph runs is its stream's error.
// Nothing is thrown on purpose.
#include "session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <mutex>
#include <unordered_map>

#include "acl/error_codes/ge_error_codes.h"
#include "core/sim.h"
#include "graph_impl.h"
#include "loaded.h"
#include "registry.h"

namespace {

using gesim::Compiled;

// A graph of a session; its lock is held while it is compiled or launched, as its memory is changed between runs.
struct Entry {
  std::mutex mutex;
  ge::Graph graph;
  std::map<std::string, std::string> options;
  gesim::Loaded loaded;
  std::shared_ptr<ge::CompiledGraphSummary> summary;
};

struct SessionState {
  int device = 0;
  std::shared_ptr<gesim::Variables> variables = std::make_shared<gesim::Variables>();
  std::vector<std::future<void>> running;  // graphs that run by themselves
  std::map<uint32_t, std::shared_ptr<Entry>> graphs;
  std::map<const void*, std::shared_ptr<ge::Allocator>> allocators;
};

struct Sessions {
  std::mutex mutex;
  uint64_t next = 1;
  std::map<uint64_t, SessionState> all;
};

// Never destroyed: torchair finalises from static destructors and atexit handlers in an order of its own.
Sessions& sessions() {
  static auto* one = new Sessions;
  return *one;
}

ge::Options wrapped(const ge::OldOptions& options) {
  ge::Options out;
  for (const auto& [key, value] : options) out[key.c_str()] = value.c_str();
  return out;
}

ge::Status refuse(const std::string& reason) {
  sim_fail(ACL_ERROR_GE_PARAM_INVALID, "%s", reason.c_str());
  return ACL_ERROR_GE_PARAM_INVALID;
}

std::shared_ptr<Entry> find(uint64_t session, uint32_t id) {
  std::lock_guard<std::mutex> lock(sessions().mutex);
  auto state = sessions().all.find(session);
  if (state == sessions().all.end()) return nullptr;
  auto entry = state->second.graphs.find(id);
  return entry == state->second.graphs.end() ? nullptr : entry->second;
}

ge::Status no_graph(uint32_t id) { return refuse("the session has no graph " + std::to_string(id)); }

ge::Status set_region(uint64_t session, uint32_t id, const void* memory, size_t size,
                      gesim::Region gesim::Memory::* region) {
  std::shared_ptr<Entry> entry = find(session, id);
  if (!entry) return no_graph(id);
  std::lock_guard<std::mutex> lock(entry->mutex);
  entry->loaded.memory.*region = gesim::Region{const_cast<void*>(memory), size, nullptr};
  if (region == &gesim::Memory::constants) entry->loaded.uploaded = nullptr;
  return ge::kSuccess;
}

// A program assigns it before: how many steps follow the first one in a run of a graph that repeats (SetNeedIteration).
int64_t steps_of_a_run(const gesim::Variables& variables) {
  gesim::Variables::Variable found;
  if (!variables.get("npu_runconfig/iterations_per_loop", found) || found.tensor.dtype != ge::DT_INT64) return 1;
  sim_memory_open();
  const int64_t more = *static_cast<const int64_t*>(found.tensor.data);
  sim_memory_close();
  return std::max<int64_t>(more, 0) + 1;
}

}  // namespace

namespace ge {

// ---- process ----------------------------------------------------------------------------------------------------
Status GEInitialize(const Options&) {
  if (sim_init()) return kFailed;
  gesim::load_custom_protos();
  if (!gesim::kernels().run) {
    sim_fail(ACL_ERROR_GE_INTERNAL_ERROR, "the graph engine found no operator table: libopapi.so is not loaded");
    return kFailed;
  }
  return kSuccess;
}

Status GEInitialize(const OldOptions& options) { return GEInitialize(wrapped(options)); }

Status GEFinalize() { return kSuccess; }

std::string GEGetErrorMsg() {
  const char* text = sim_error_message();
  return text ? text : "";
}

AscendString GEGetErrorMsgV2() { return AscendString(GEGetErrorMsg().c_str()); }
std::string GEGetWarningMsg() {
  std::string text;
  for (const std::string& line : gesim::custom_proto_errors()) text += (text.empty() ? "" : "\n") + line;
  return text;
}
AscendString GEGetWarningMsgV2() { return AscendString(GEGetWarningMsg().c_str()); }

// ---- summary ----------------------------------------------------------------------------------------------------
class CompiledGraphSummary::SummaryData {
 public:
  gesim::Loaded loaded;  // what was compiled; the memory is the entry's
  bool refreshable;
};

CompiledGraphSummary::CompiledGraphSummary(std::shared_ptr<SummaryData> data) : data_(std::move(data)) {}
CompiledGraphSummary::~CompiledGraphSummary() = default;
bool CompiledGraphSummary::IsStatic() const {
  return std::all_of(data_->loaded.compiled.begin(), data_->loaded.compiled.end(),
                     [](const auto& graph) { return graph->is_static; });
}
Status CompiledGraphSummary::GetConstMemorySize(size_t& size) const {
  size = data_->loaded.const_size();
  return kSuccess;
}
Status CompiledGraphSummary::GetFeatureMemorySize(size_t& size) const {
  size = data_->loaded.feature_size();
  return kSuccess;
}
// Nothing has to stay in place from run to run.
Status CompiledGraphSummary::GetFixedFeatureMemorySize(size_t& size) const {
  size = 0;
  return kSuccess;
}
Status CompiledGraphSummary::GetRefreshableFeatureMemorySize(size_t& size) const { return GetFeatureMemorySize(size); }
Status CompiledGraphSummary::GetFeatureMemoryBaseRefreshable(bool& refreshable) const {
  refreshable = data_->refreshable;
  return kSuccess;
}
Status CompiledGraphSummary::GetStreamNum(size_t& count) const {
  count = 1;
  return kSuccess;
}
Status CompiledGraphSummary::GetEventNum(size_t& count) const {
  count = 0;
  return kSuccess;
}
Status CompiledGraphSummary::GetOutputShapes(std::vector<Shape>& shapes) const {
  shapes.clear();
  for (size_t i = 0; i < data_->loaded.compiled[0]->outputs.size(); ++i) {
    const ge_tensor& tensor = data_->loaded.output(i);
    shapes.emplace_back(tensor.rank < 0 ? UNKNOWN_RANK : std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank));
  }
  return kSuccess;
}
Status CompiledGraphSummary::GetOutputDtypes(std::vector<DataType>& dtypes) const {
  dtypes.clear();
  for (size_t i = 0; i < data_->loaded.compiled[0]->outputs.size(); ++i)
    dtypes.push_back(static_cast<DataType>(data_->loaded.output(i).dtype));
  return kSuccess;
}

// Of inputs and outputs that lie in the same memory: an output has memory of its own.
Status CompiledGraphSummary::GetIOIndexesWithSameAddr(std::vector<std::pair<uint32_t, uint32_t>>& pairs) const {
  pairs.clear();
  return kSuccess;
}

// ---- session ----------------------------------------------------------------------------------------------------
Session::Session(const Options& options) {
  std::map<std::string, std::string> all = plain(options);
  auto device = all.find("ge.session_device_id");
  if (device == all.end()) device = all.find("ge.exec.deviceId");
  std::lock_guard<std::mutex> lock(sessions().mutex);
  id_ = sessions().next++;
  sessions().all[id_].device = device == all.end() ? 0 : std::atoi(device->second.c_str());
}

Session::Session(const OldOptions& options) : Session(wrapped(options)) {}

Session::~Session() {
  std::vector<std::future<void>> running;
  {
    std::lock_guard<std::mutex> lock(sessions().mutex);
    running.swap(sessions().all[id_].running);
  }
  running.clear();  // which waits for them
  std::lock_guard<std::mutex> lock(sessions().mutex);
  sessions().all.erase(id_);
}

Status Session::AddGraph(uint32_t id, const Graph& graph) { return AddGraph(id, graph, Options()); }

Status Session::AddGraph(uint32_t id, const Graph& graph, const Options& options) {
  auto entry = std::make_shared<Entry>();
  entry->graph = graph;
  entry->options = plain(options);
  if (const GraphImpl* impl = GraphUtils::impl(graph); impl && !impl->problem.empty())
    return refuse("graph " + std::to_string(id) + ": " + impl->problem);
  if (!graph.IsValid()) return refuse("graph " + std::to_string(id) + " has no nodes");
  std::string problem = gesim::read_gears(entry->options, GraphUtils::impl(graph)->graph, entry->loaded.gears);
  if (!problem.empty()) return refuse("graph " + std::to_string(id) + ": " + problem);
  std::lock_guard<std::mutex> lock(sessions().mutex);
  entry->loaded.memory.variables = sessions().all[id_].variables;
  if (!sessions().all[id_].graphs.emplace(id, entry).second)
    return refuse("the session has a graph " + std::to_string(id) + " already");
  return kSuccess;
}

Status Session::AddGraph(uint32_t id, const Graph& graph, const OldOptions& options) {
  return AddGraph(id, graph, wrapped(options));
}

Status Session::AddGraphWithCopy(uint32_t id, const Graph& graph) { return AddGraphWithCopy(id, graph, Options()); }

Status Session::AddGraphWithCopy(uint32_t id, const Graph& graph, const Options& options) {
  AscendString name;
  Graph copy(graph.GetName(name) == GRAPH_SUCCESS ? name.GetString() : "");
  return copy.CopyFrom(graph) == GRAPH_SUCCESS ? AddGraph(id, copy, options) : refuse("the graph cannot be copied");
}

Status Session::RemoveGraph(uint32_t id) {
  std::shared_ptr<Entry> entry = find(id_, id);  // destroyed outside the lock
  std::lock_guard<std::mutex> lock(sessions().mutex);
  return sessions().all[id_].graphs.erase(id) ? kSuccess : no_graph(id);
}

Status Session::CompileGraph(uint32_t id) {
  std::shared_ptr<Entry> entry = find(id_, id);
  if (!entry) return no_graph(id);
  std::lock_guard<std::mutex> lock(entry->mutex);
  if (!entry->loaded.compiled.empty()) return kSuccess;
  const std::string problem = entry->loaded.compile(GraphUtils::impl(entry->graph)->graph);
  if (!problem.empty()) return refuse(problem);
  auto refreshable = entry->options.find("ge.featureBaseRefreshable");
  entry->summary = std::make_shared<CompiledGraphSummary>(std::make_shared<CompiledGraphSummary::SummaryData>(
      CompiledGraphSummary::SummaryData{{entry->loaded.gears, entry->loaded.compiled, {}, nullptr},
                                        refreshable != entry->options.end() && refreshable->second == "1"}));
  return kSuccess;
}

std::shared_ptr<CompiledGraphSummary> Session::GetCompiledGraphSummary(uint32_t id) {
  std::shared_ptr<Entry> entry = find(id_, id);
  if (entry && entry->summary) return entry->summary;
  refuse("graph " + std::to_string(id) + " is not compiled");
  return nullptr;
}

Status Session::RunGraphWithStreamAsync(uint32_t id, void* stream, const std::vector<Tensor>& inputs,
                                        std::vector<Tensor>& outputs) {
  Status status = CompileGraph(id);
  if (status != kSuccess) return status;
  std::shared_ptr<Entry> entry = find(id_, id);
  if (!entry) return no_graph(id);
  std::shared_ptr<Allocator> allocator;
  {
    std::lock_guard<std::mutex> lock(sessions().mutex);
    auto& registered = sessions().all[id_].allocators;
    auto it = registered.find(stream);
    if (it != registered.end()) allocator = it->second;
  }
  std::lock_guard<std::mutex> lock(entry->mutex);
  std::string problem;
  const std::shared_ptr<Compiled> compiled = entry->loaded.fitting(inputs, problem);
  if (!compiled) return refuse(problem);
  entry->loaded.memory.allocator = allocator;
  int64_t steps = 1;
  if (GraphUtils::impl(entry->graph)->repeats) {
    if (const int code = sim_stream_synchronize(stream, -1)) return static_cast<Status>(code);
    steps = steps_of_a_run(*entry->loaded.memory.variables);
  }
  for (int64_t step = 0; step < steps && problem.empty(); ++step)
    problem = entry->loaded.run(compiled, stream, inputs, outputs);
  if (problem.empty()) return kSuccess;
  sim_fail(ACL_ERROR_GE_INTERNAL_ERROR, "%s", problem.c_str());
  return ACL_ERROR_GE_INTERNAL_ERROR;
}

// Without a stream the graph runs on the device's default one, is waited for, and its outputs come back on the host.
Status Session::RunGraph(uint32_t id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  int device = 0;
  {
    std::lock_guard<std::mutex> lock(sessions().mutex);
    device = sessions().all[id_].device;
  }
  if (sim_set_device(device)) return kFailed;
  void* stream = sim_default_stream(device);
  std::vector<Tensor> results;
  Status status = RunGraphWithStreamAsync(id, stream, inputs, results);
  if (status != kSuccess) return status;
  if (int code = sim_stream_synchronize(stream, -1)) return static_cast<Status>(code);
  outputs.clear();
  sim_memory_open();
  for (const Tensor& result : results) {
    TensorDesc desc = result.GetTensorDesc();
    desc.SetPlacement(kPlacementHost);
    outputs.emplace_back(desc, result.GetData(), result.GetSize());
  }
  sim_memory_close();
  return kSuccess;
}

// The graph runs in a thread of its own, which calls back with the outputs on the host.
Status Session::RunGraphAsync(uint32_t id, const std::vector<Tensor>& inputs, RunAsyncCallback callback) {
  if (!find(id_, id)) return no_graph(id);
  std::lock_guard<std::mutex> lock(sessions().mutex);
  auto& running = sessions().all[id_].running;
  const auto over = [](const auto& one) { return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready; };
  running.erase(std::remove_if(running.begin(), running.end(), over), running.end());
  running.push_back(std::async(std::launch::async, [this, id, inputs, callback = std::move(callback)] {
    std::vector<Tensor> outputs;
    const Status status = RunGraph(id, inputs, outputs);
    if (callback) callback(status, outputs);
  }));
  return kSuccess;
}

// Shapes that only a run tells are inferred in each run: nothing is lost without the inputs.
Status Session::BuildGraph(uint32_t id, const std::vector<InputTensorInfo>&) { return CompileGraph(id); }
Status Session::BuildGraph(uint32_t id, const std::vector<Tensor>&) { return CompileGraph(id); }

bool Session::IsGraphNeedRebuild(uint32_t id) {
  const std::shared_ptr<Entry> entry = find(id_, id);
  return !entry || entry->loaded.compiled.empty();
}

// All that was launched before is waited for.
Status Session::GetVariables(const std::vector<AscendString>& names, std::vector<Tensor>& values) {
  std::shared_ptr<gesim::Variables> variables;
  int device = 0;
  {
    std::lock_guard<std::mutex> lock(sessions().mutex);
    variables = sessions().all[id_].variables, device = sessions().all[id_].device;
  }
  if (sim_set_device(device)) return kFailed;
  if (const int code = sim_synchronize_device(-1)) return static_cast<Status>(code);
  std::vector<Tensor> found;
  for (const AscendString& name : names) {
    gesim::Variables::Variable one;
    if (!variables->get(name.GetString(), one))
      return refuse(std::string("GetVariables: no graph with a variable '") + name.GetString() +
                    "' has run in the session");
    const TensorDesc desc(Shape(std::vector<int64_t>(one.tensor.dims, one.tensor.dims + one.tensor.rank)), FORMAT_ND,
                          static_cast<DataType>(one.tensor.dtype));
    sim_memory_open();
    found.emplace_back(desc, static_cast<const uint8_t*>(one.tensor.data),
                       static_cast<size_t>(gesim::byte_size(one.tensor)));
    sim_memory_close();
  }
  values = std::move(found);
  return kSuccess;
}
Status Session::GetVariables(const std::vector<std::string>& names, std::vector<Tensor>& values) {
  std::vector<AscendString> wanted;
  for (const std::string& name : names) wanted.emplace_back(name.c_str());
  return GetVariables(wanted, values);
}

// For summaries and checkpoints that a training graph writes: no graph here writes one.
Status Session::RegisterCallBackFunc(const std::string&, const OldCallback&) { return kSuccess; }
Status Session::RegisterCallBackFunc(const char*, const session::pCallBackFunc&) { return kSuccess; }

Status Session::SetGraphConstMemoryBase(uint32_t id, const void* memory, size_t size) {
  return set_region(id_, id, memory, size, &gesim::Memory::constants);
}
Status Session::UpdateGraphFeatureMemoryBase(uint32_t id, const void* memory, size_t size) {
  return set_region(id_, id, memory, size, &gesim::Memory::features);
}
Status Session::UpdateGraphRefreshableFeatureMemoryBase(uint32_t id, const void* memory, size_t size) {
  return set_region(id_, id, memory, size, &gesim::Memory::features);
}
// The summary asks for none, so what is given stays unused.
Status Session::SetGraphFixedFeatureMemoryBase(uint32_t id, const void*, size_t) {
  return find(id_, id) ? kSuccess : no_graph(id);
}

Status Session::RegisterExternalAllocator(const void* stream, std::shared_ptr<Allocator> allocator) const {
  if (!allocator) return refuse("RegisterExternalAllocator needs an allocator");
  std::lock_guard<std::mutex> lock(sessions().mutex);
  sessions().all[id_].allocators[stream] = std::move(allocator);
  return kSuccess;
}
Status Session::UnregisterExternalAllocator(const void* stream) const {
  std::lock_guard<std::mutex> lock(sessions().mutex);
  sessions().all[id_].allocators.erase(stream);
  return kSuccess;
}

}  // namespace ge

// ---- prototypes -------------------------------------------------------------------------------------------------
ge::Status GetRegisteredIrDef(const char* type, GeNamePairs& inputs, GeNamePairs& outputs, GeNamePairs& attrs) {
  ge::Operator op = type ? gesim::create("prototype", type) : ge::Operator();
  if (op.IsEmpty())
    return refuse(std::string("no prototype is registered for operator type ") + (type ? type : "NULL"));
  const ge::OperatorImpl& prototype = *ge::OpDescUtils::impl(op);
  static const char* const kinds[] = {"required", "optional", "dynamic"};
  for (const ge::IrPort& port : prototype.inputs) inputs.emplace_back(port.name.c_str(), kinds[port.kind]);
  for (const ge::IrPort& port : prototype.outputs) outputs.emplace_back(port.name.c_str(), kinds[port.kind]);
  for (const ge::IrAttr& attr : prototype.ir_attrs) attrs.emplace_back(attr.name.c_str(), attr.type.c_str());
  return ge::kSuccess;
}
