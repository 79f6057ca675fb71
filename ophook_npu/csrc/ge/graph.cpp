// libgraph, third part: ge::Graph, over a parsed ModelDef or what a program built.
#include "graph_impl.h"

#include <fstream>

#include "core/sim.h"
#include "acl/error_codes/ge_error_codes.h"

namespace ge {

// What it was loaded from, or what it is by now; empty, and a message, where it is none.
static std::string serialized(const GraphImpl* impl) {
  if (impl && !impl->serialized.empty()) return impl->serialized;
  if (impl && impl->problem.empty() && !impl->graph.nodes.empty()) return gesim::model_of(impl->graph);
  sim_fail(ACL_ERROR_GE_PARAM_INVALID, "a graph is written: %s",
           impl && !impl->problem.empty() ? impl->problem.c_str() : "it has no nodes");
  return "";
}

Graph::Graph(const char_t* name) : impl_(std::make_shared<GraphImpl>()) {
  impl_->name = impl_->graph.name = name ? name : "";
}
Graph::Graph(const std::string& name) : Graph(name.c_str()) {}

bool Graph::IsValid() const { return impl_ && impl_->problem.empty() && (impl_->fixed || !impl_->graph.nodes.empty()); }
// An empty graph, for AddNodeByOp.
graphStatus Graph::SetValid() {
  if (!impl_) return GRAPH_FAILED;
  impl_->fixed = true;
  return GRAPH_SUCCESS;
}

const std::string& Graph::GetName() const {
  static const std::string none;
  return impl_ ? impl_->name : none;
}
graphStatus Graph::GetName(AscendString& name) const {
  if (!impl_) return GRAPH_FAILED;
  name = AscendString(impl_->name.c_str());
  return GRAPH_SUCCESS;
}

graphStatus Graph::LoadFromSerializedModelArray(const void* model, size_t size) {
  auto loaded = std::make_shared<GraphImpl>();
  std::string problem = gesim::parse_model(model, size, loaded->graph);
  if (!problem.empty()) {
    sim_fail(ACL_ERROR_GE_PARAM_INVALID, "%s", problem.c_str());
    return GRAPH_FAILED;
  }
  loaded->name = loaded->graph.name;
  loaded->fixed = true;
  loaded->serialized.assign(static_cast<const char*>(model), size);
  impl_ = loaded;
  return GRAPH_SUCCESS;
}

graphStatus Graph::LoadFromMem(const uint8_t* data, const size_t size) {
  return LoadFromSerializedModelArray(data, size);
}

graphStatus Graph::LoadFromFile(const char_t* path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) {
    sim_fail(ACL_ERROR_GE_PARAM_INVALID, "the graph file %s cannot be read", path);
    return GRAPH_FAILED;
  }
  return LoadFromSerializedModelArray(bytes.data(), bytes.size());
}

graphStatus Graph::LoadFromFile(const std::string& path) { return LoadFromFile(path.c_str()); }

graphStatus Graph::SaveToFile(const char_t* path) const {
  const std::string bytes = serialized(impl_.get());
  if (bytes.empty()) return GRAPH_FAILED;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush()) return GRAPH_SUCCESS;
  sim_fail(ACL_ERROR_GE_PARAM_INVALID, "the graph cannot be written to %s", path);
  return GRAPH_FAILED;
}

graphStatus Graph::SaveToFile(const std::string& path) const { return SaveToFile(path.c_str()); }

class GraphBuffer {  // the wheel only names it; who has one calls these
 public:
  GE_FUNC_HOST_VISIBILITY GraphBuffer();
  GraphBuffer(const GraphBuffer&) = delete;
  GraphBuffer& operator=(const GraphBuffer&) = delete;
  GE_FUNC_HOST_VISIBILITY ~GraphBuffer();
  GE_FUNC_HOST_VISIBILITY const uint8_t* GetData() const;
  GE_FUNC_HOST_VISIBILITY size_t GetSize() const;

 private:
  friend class Graph;
  std::string* bytes_;
};
GraphBuffer::GraphBuffer() : bytes_(new std::string) {}
GraphBuffer::~GraphBuffer() { delete bytes_; }
const uint8_t* GraphBuffer::GetData() const { return reinterpret_cast<const uint8_t*>(bytes_->data()); }
size_t GraphBuffer::GetSize() const { return bytes_->size(); }

graphStatus Graph::SaveToMem(GraphBuffer& buffer) const {
  *buffer.bytes_ = serialized(impl_.get());
  return buffer.bytes_->empty() ? GRAPH_FAILED : GRAPH_SUCCESS;
}
graphStatus Graph::LoadFromMem(const GraphBuffer& buffer) { return LoadFromMem(buffer.GetData(), buffer.GetSize()); }

void Graph::SetNeedIteration(bool need_iteration) {
  if (impl_) impl_->repeats = need_iteration;
}

graphStatus Graph::CopyFrom(const Graph& source) {
  if (!source.impl_) return GRAPH_FAILED;
  std::string name = impl_ ? impl_->name : source.impl_->name;
  impl_ = std::make_shared<GraphImpl>(*source.impl_);
  impl_->name = name;
  return GRAPH_SUCCESS;
}

}  // namespace ge
