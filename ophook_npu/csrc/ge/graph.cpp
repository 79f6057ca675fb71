// libgraph, third part: ge::Graph and ge::GNode as torchair uses them, over a parsed ModelDef.
#include "graph_impl.h"

#include <fstream>

#include "core/sim.h"
#include "acl/error_codes/ge_error_codes.h"

namespace ge {

class NodeImpl {
 public:
  std::string name, type;
};

class NodeAdapter {
 public:
  static GNode make(const gesim::Node& node) {
    GNode out;
    out.impl_ = std::make_shared<NodeImpl>(NodeImpl{node.name, node.type});
    return out;
  }
};

GNode::GNode() = default;
graphStatus GNode::GetType(AscendString& type) const {
  if (!impl_) return GRAPH_FAILED;
  type = AscendString(impl_->type.c_str());
  return GRAPH_SUCCESS;
}
graphStatus GNode::GetName(AscendString& name) const {
  if (!impl_) return GRAPH_FAILED;
  name = AscendString(impl_->name.c_str());
  return GRAPH_SUCCESS;
}

Graph::Graph(const char_t* name) : impl_(std::make_shared<GraphImpl>()) { impl_->name = name ? name : ""; }
Graph::Graph(const std::string& name) : Graph(name.c_str()) {}

bool Graph::IsValid() const { return impl_ && impl_->problem.empty() && !impl_->graph.nodes.empty(); }

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

graphStatus Graph::CopyFrom(const Graph& source) {
  if (!source.impl_) return GRAPH_FAILED;
  std::string name = impl_ ? impl_->name : source.impl_->name;
  impl_ = std::make_shared<GraphImpl>(*source.impl_);
  impl_->name = name;
  return GRAPH_SUCCESS;
}

std::vector<GNode> Graph::GetAllNodes() const {
  std::vector<GNode> out;
  if (impl_)
    for (const gesim::Node& node : impl_->graph.nodes) out.push_back(NodeAdapter::make(node));
  return out;
}
std::vector<GNode> Graph::GetDirectNode() const { return GetAllNodes(); }

}  // namespace ge
