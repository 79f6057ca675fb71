// libgraph, fifth part: nodes of a graph, what they read and who reads them, and edges that are set anew. A GNode names
// its node, because places change as nodes go.
#include <algorithm>

#include "acl/error_codes/ge_error_codes.h"
#include "core/sim.h"
#include "graph_impl.h"

namespace ge {

class NodeImpl {
 public:
  std::string name, type;
  std::weak_ptr<GraphImpl> graph;
};

using GNodes = std::vector<std::pair<GNodePtr, int32_t>>;

class NodeAdapter {
 public:
  static GNode make(const std::shared_ptr<GraphImpl>& graph, int index) {
    const gesim::Node& node = graph->graph.nodes[size_t(index)];
    GNode out;
    out.impl_ = std::make_shared<NodeImpl>(NodeImpl{node.name, node.type, graph});
    return out;
  }
  static GNodePtr pointer(const std::shared_ptr<GraphImpl>& graph, int index) {
    return std::make_shared<GNode>(make(graph, index));
  }
  static const NodeImpl* impl(const GNode& node) { return node.impl_.get(); }
};

namespace {

// A node's graph and its place there; -1 where it is none.
struct Place {
  explicit Place(const GNode& node) {
    const NodeImpl* impl = NodeAdapter::impl(node);
    if (!impl || !(graph = impl->graph.lock())) return;
    const auto& nodes = graph->graph.nodes;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].name == impl->name) index = int(i);
  }
  explicit operator bool() const { return index >= 0; }
  gesim::Node* operator->() const { return &graph->graph.nodes[size_t(index)]; }

  std::shared_ptr<GraphImpl> graph;
  int index = -1;
};

graphStatus refuse(const std::string& why) {
  sim_fail(ACL_ERROR_GE_PARAM_INVALID, "%s", why.c_str());
  return GRAPH_FAILED;
}

// What was loaded is not what the graph is any more.
graphStatus changed(GraphImpl& graph) {
  graph.serialized.clear();
  return GRAPH_SUCCESS;
}

bool in(const GraphImpl* graph, const Place& place) { return place && place.graph.get() == graph; }

}  // namespace

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
size_t GNode::GetInputsSize() const {
  const Place here(*this);
  return here ? here->inputs.size() : 0;
}
size_t GNode::GetOutputsSize() const {
  const Place here(*this);
  return here ? here->output_desc.size() : 0;
}
std::pair<GNodePtr, int32_t> GNode::GetInDataNodesAndPortIndexs(const int32_t index) const {
  const Place here(*this);
  if (!here || index < 0 || size_t(index) >= here->inputs.size() || here->inputs[size_t(index)].node < 0)
    return {nullptr, -1};
  const gesim::Edge& edge = here->inputs[size_t(index)];
  return {NodeAdapter::pointer(here.graph, edge.node), edge.port};
}
GNodes GNode::GetOutDataNodesAndPortIndexs(const int32_t index) const {
  const Place here(*this);
  GNodes out;
  if (!here) return out;
  const auto& nodes = here.graph->graph.nodes;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (size_t port = 0; port < nodes[i].inputs.size(); ++port)
      if (nodes[i].inputs[port].node == here.index && nodes[i].inputs[port].port == index)
        out.emplace_back(NodeAdapter::pointer(here.graph, int(i)), int32_t(port));
  return out;
}
std::vector<GNodePtr> GNode::GetInControlNodes() const {
  const Place here(*this);
  std::vector<GNodePtr> out;
  if (here)
    for (const int before : here->control) out.push_back(NodeAdapter::pointer(here.graph, before));
  return out;
}
std::vector<GNodePtr> GNode::GetOutControlNodes() const {
  const Place here(*this);
  std::vector<GNodePtr> out;
  if (!here) return out;
  const auto& nodes = here.graph->graph.nodes;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (std::count(nodes[i].control.begin(), nodes[i].control.end(), here.index))
      out.push_back(NodeAdapter::pointer(here.graph, int(i)));
  return out;
}

std::vector<GNode> Graph::GetAllNodes() const {
  std::vector<GNode> out;
  for (size_t i = 0; impl_ && i < impl_->graph.nodes.size(); ++i) out.push_back(NodeAdapter::make(impl_, int(i)));
  return out;
}
std::vector<GNode> Graph::GetDirectNode() const { return GetAllNodes(); }

graphStatus Graph::AddDataEdge(GNode& src_node, const int32_t src_port_index, GNode& dst_node,
                               const int32_t dst_port_index) {
  const Place from(src_node), to(dst_node);
  if (!in(impl_.get(), from) || !in(impl_.get(), to)) return refuse("AddDataEdge: a node that the graph does not have");
  if (src_port_index < 0 || size_t(src_port_index) >= from->output_desc.size())
    return refuse("AddDataEdge: " + from->name + " has no output " + std::to_string(src_port_index));
  if (dst_port_index < 0 || size_t(dst_port_index) >= to->inputs.size())
    return refuse("AddDataEdge: " + to->name + " has no input " + std::to_string(dst_port_index));
  gesim::Edge& edge = to->inputs[size_t(dst_port_index)];
  if (edge.node >= 0)
    return refuse("AddDataEdge: input " + std::to_string(dst_port_index) + " of " + to->name + " reads another node");
  edge = {from.index, src_port_index};
  return changed(*impl_);
}

graphStatus Graph::AddControlEdge(GNode& src_node, GNode& dst_node) {
  const Place from(src_node), to(dst_node);
  if (!in(impl_.get(), from) || !in(impl_.get(), to))
    return refuse("AddControlEdge: a node that the graph does not have");
  to->control.push_back(from.index);
  return changed(*impl_);
}

// Of data; or of control, where both ports are -1.
graphStatus Graph::RemoveEdge(GNode& src_node, const int32_t src_port_index, GNode& dst_node,
                              const int32_t dst_port_index) {
  const Place from(src_node), to(dst_node);
  if (!in(impl_.get(), from) || !in(impl_.get(), to)) return refuse("RemoveEdge: a node that the graph does not have");
  if (src_port_index == -1 && dst_port_index == -1) {
    auto& control = to->control;
    const auto found = std::find(control.begin(), control.end(), from.index);
    if (found == control.end()) return refuse("RemoveEdge: " + to->name + " does not wait for " + from->name);
    control.erase(found);
    return changed(*impl_);
  }
  if (dst_port_index >= 0 && size_t(dst_port_index) < to->inputs.size()) {
    gesim::Edge& edge = to->inputs[size_t(dst_port_index)];
    if (edge.node == from.index && edge.port == src_port_index) {
      edge = {};
      return changed(*impl_);
    }
  }
  return refuse("RemoveEdge: input " + std::to_string(dst_port_index) + " of " + to->name + " does not read output " +
                std::to_string(src_port_index) + " of " + from->name);
}

// With its edges.
graphStatus Graph::RemoveNode(GNode& node) {
  const Place gone(node);
  if (!in(impl_.get(), gone)) return refuse("RemoveNode: a node that the graph does not have");
  auto& nodes = impl_->graph.nodes;
  nodes.erase(nodes.begin() + gone.index);
  for (gesim::Node& other : nodes) {
    for (gesim::Edge& edge : other.inputs)
      if (edge.node == gone.index) edge = {};
      else if (edge.node > gone.index) --edge.node;
    auto& control = other.control;
    control.erase(std::remove(control.begin(), control.end(), gone.index), control.end());
    for (int& before : control) before -= before > gone.index;
  }
  return changed(*impl_);
}

}  // namespace ge
