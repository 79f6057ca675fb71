// libgraph, third part: ge::Graph, over a parsed ModelDef or what a program built.
#include "graph_impl.h"

#include <fstream>

#include "core/sim.h"
#include "acl/error_codes/ge_error_codes.h"

namespace ge {

Graph::Graph(const char_t* name) : impl_(std::make_shared<GraphImpl>()) { impl_->name = name ? name : ""; }
Graph::Graph(const std::string& name) : Graph(name.c_str()) {}

bool Graph::IsValid() const { return impl_ && impl_->problem.empty() && !impl_->graph.nodes.empty(); }

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

graphStatus Graph::SaveToFile(const char_t* path) const {
  if (impl_ && impl_->serialized.empty()) {
    sim_fail(ACL_ERROR_GE_PARAM_INVALID, "a graph that a program builds is not written to a file: not simulated");
    return GRAPH_FAILED;
  }
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (impl_) out.write(impl_->serialized.data(), static_cast<std::streamsize>(impl_->serialized.size()));
  if (impl_ && out.flush()) return GRAPH_SUCCESS;
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
  if (!impl_ || impl_->serialized.empty()) {
    sim_fail(ACL_ERROR_GE_PARAM_INVALID, "a graph that a program builds is not written to memory: not simulated");
    return GRAPH_FAILED;
  }
  *buffer.bytes_ = impl_->serialized;
  return GRAPH_SUCCESS;
}
graphStatus Graph::LoadFromMem(const GraphBuffer& buffer) { return LoadFromMem(buffer.GetData(), buffer.GetSize()); }

// How often a training graph runs at one call: a graph runs once here.
void Graph::SetNeedIteration(bool) {}

graphStatus Graph::CopyFrom(const Graph& source) {
  if (!source.impl_) return GRAPH_FAILED;
  std::string name = impl_ ? impl_->name : source.impl_->name;
  impl_ = std::make_shared<GraphImpl>(*source.impl_);
  impl_->name = name;
  return GRAPH_SUCCESS;
}

}  // namespace ge
