// libgraph, fifth part: nodes of a graph, what they read and who reads them, and edges that are set anew. A GNode names
// its node, because places change as nodes go.
#include <algorithm>

#include "acl/error_codes/ge_error_codes.h"
#include "core/sim.h"
#include "attr_data.h"
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

// What was loaded is not what the graph is any more, and what it was built from neither.
graphStatus changed(GraphImpl& graph) {
  graph.serialized.clear(), graph.fixed = true;
  return GRAPH_SUCCESS;
}

bool in(const GraphImpl* graph, const Place& place) { return place && place.graph.get() == graph; }

}  // namespace

graphStatus refuse_graph(const std::string& why) {
  sim_fail(ACL_ERROR_GE_PARAM_INVALID, "%s", why.c_str());
  return GRAPH_FAILED;
}

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
  if (!in(impl_.get(), from) || !in(impl_.get(), to))
    return refuse_graph("AddDataEdge: a node that the graph does not have");
  if (src_port_index < 0 || size_t(src_port_index) >= from->output_desc.size())
    return refuse_graph("AddDataEdge: " + from->name + " has no output " + std::to_string(src_port_index));
  if (dst_port_index < 0 || size_t(dst_port_index) >= to->inputs.size())
    return refuse_graph("AddDataEdge: " + to->name + " has no input " + std::to_string(dst_port_index));
  gesim::Edge& edge = to->inputs[size_t(dst_port_index)];
  if (edge.node >= 0)
    return refuse_graph("AddDataEdge: input " + std::to_string(dst_port_index) + " of " + to->name +
                        " reads another node");
  edge = {from.index, src_port_index};
  return changed(*impl_);
}

graphStatus Graph::AddControlEdge(GNode& src_node, GNode& dst_node) {
  const Place from(src_node), to(dst_node);
  if (!in(impl_.get(), from) || !in(impl_.get(), to))
    return refuse_graph("AddControlEdge: a node that the graph does not have");
  to->control.push_back(from.index);
  return changed(*impl_);
}

// Of data; or of control, where both ports are -1.
graphStatus Graph::RemoveEdge(GNode& src_node, const int32_t src_port_index, GNode& dst_node,
                              const int32_t dst_port_index) {
  const Place from(src_node), to(dst_node);
  if (!in(impl_.get(), from) || !in(impl_.get(), to))
    return refuse_graph("RemoveEdge: a node that the graph does not have");
  if (src_port_index == -1 && dst_port_index == -1) {
    auto& control = to->control;
    const auto found = std::find(control.begin(), control.end(), from.index);
    if (found == control.end()) return refuse_graph("RemoveEdge: " + to->name + " does not wait for " + from->name);
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
  return refuse_graph("RemoveEdge: input " + std::to_string(dst_port_index) + " of " + to->name +
                      " does not read output " + std::to_string(src_port_index) + " of " + from->name);
}

void remove_node(gesim::Graph& graph, int index) {
  auto& nodes = graph.nodes;
  nodes.erase(nodes.begin() + index);
  for (gesim::Node& other : nodes) {
    for (gesim::Edge& edge : other.inputs)
      if (edge.node == index) edge = {};
      else if (edge.node > index) --edge.node;
    auto& control = other.control;
    control.erase(std::remove(control.begin(), control.end(), index), control.end());
    for (int& before : control) before -= before > index;
  }
}
graphStatus Graph::RemoveNode(GNode& node) {
  const Place gone(node);
  if (!in(impl_.get(), gone)) return refuse_graph("RemoveNode: a node that the graph does not have");
  remove_node(impl_->graph, gone.index);
  return changed(*impl_);
}
graphStatus Graph::RemoveNode(GNode& node, bool) { return RemoveNode(node); }  // none contains a subgraph

GNode Graph::AddNodeByOp(const Operator& op) {
  const OperatorImpl* added = OpDescUtils::impl(op);
  std::string problem = !impl_ || !added ? "no graph, or an operator that is none" : added->problem;
  for (size_t i = 0; problem.empty() && i < impl_->graph.nodes.size(); ++i)
    if (impl_->graph.nodes[i].name == added->name) problem = "the graph has a node '" + added->name + "' already";
  if (!problem.empty()) return refuse_graph("AddNodeByOp: " + problem), GNode();
  impl_->graph.nodes.push_back(node_of(*added));
  changed(*impl_);
  return NodeAdapter::make(impl_, int(impl_->graph.nodes.size()) - 1);
}

// ---- attributes, of a graph, of a node, and of its inputs and outputs -------------------------------------------
using Attrs = std::map<std::string, gesim::Attr>;
using PortDescs = std::vector<gesim::Desc>;

static graphStatus set_in(Attrs& attrs, const AscendString& name, const AttrData& value) {
  gesim::Attr attr = attr_of(value);
  if (attr.kind == gesim::Attr::kNone)
    return refuse_graph(std::string("attribute '") + name.GetString() +
                        "': bytes, lists of tensors and no value are not kept in a graph");
  attrs[name.GetString()] = std::move(attr);
  return GRAPH_SUCCESS;
}
static graphStatus set_in(GraphImpl& graph, Attrs& attrs, const AscendString& name, const AttrData& value) {
  const graphStatus status = set_in(attrs, name, value);
  return status == GRAPH_SUCCESS ? changed(graph) : status;
}
template <typename T>
graphStatus get_from(const Attrs& attrs, const AscendString& name, T& value) {
  const auto found = attrs.find(name.GetString());
  return found == attrs.end() ? GRAPH_FAILED : load(data_of(found->second), value);
}
static gesim::Desc* at(const Place& here, PortDescs gesim::Node::* descs, int64_t index) {
  if (!here) return nullptr;
  PortDescs& all = here.operator->()->*descs;
  if (index >= 0 && size_t(index) < all.size()) return &all[size_t(index)];
  refuse_graph(here->name + " has no " + (descs == &gesim::Node::input_desc ? "input " : "output ") +
               std::to_string(index));
  return nullptr;
}

graphStatus Graph::SetAttr(const AscendString& name, const AttrValue& value) {
  if (!impl_) return GRAPH_FAILED;
  impl_->serialized.clear();  // its nodes are still made of inputs and outputs
  return set_in(impl_->graph.attrs, name, stored(value));
}
graphStatus Graph::GetAttr(const AscendString& name, AttrValue& value) const {
  return impl_ ? get_from(impl_->graph.attrs, name, value) : GRAPH_FAILED;
}
#define NODE_ATTR(type)                                                                 \
  graphStatus GNode::SetAttr(const AscendString& name, type& value) const {             \
    const Place here(*this);                                                            \
    return here ? set_in(*here.graph, here->attrs, name, stored(value)) : GRAPH_FAILED; \
  }                                                                                     \
  graphStatus GNode::GetAttr(const AscendString& name, type& value) const {             \
    const Place here(*this);                                                            \
    return here ? get_from(here->attrs, name, value) : GRAPH_FAILED;                    \
  }
OPHOOK_ATTR_TYPES(NODE_ATTR)
NODE_ATTR(AscendString)
NODE_ATTR(std::vector<AscendString>)
NODE_ATTR(AttrValue)
#undef NODE_ATTR
bool GNode::HasAttr(const AscendString& name) {
  const Place here(*this);
  return here && here->attrs.count(name.GetString());
}

// ---- inputs and outputs of a node -------------------------------------------------------------------------------
static graphStatus get_desc(const gesim::Desc* desc, TensorDesc& out) {
  if (!desc) return GRAPH_FAILED;
  if (desc->format)
    return refuse_graph(desc->name + ": the shape that its private format " + desc->layout + " has is not kept");
  out = desc_of(*desc);
  return GRAPH_SUCCESS;
}
static graphStatus update_desc(const Place& here, gesim::Desc* desc, const TensorDesc& from) {
  if (!desc) return GRAPH_FAILED;
  gesim::Desc made = desc_of(desc->name, from);
  made.attrs.swap(desc->attrs), made.device.swap(desc->device);
  *desc = std::move(made);
  return changed(*here.graph);
}
// -1 where there is none.
static graphStatus index_of(const Place& here, PortDescs gesim::Node::* descs, const AscendString& name,
                            int32_t& index) {
  if (!here) return GRAPH_FAILED;
  const PortDescs& all = here.operator->()->*descs;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& desc) { return name == desc.name.c_str(); });
  index = found == all.end() ? -1 : int32_t(found - all.begin());
  return GRAPH_SUCCESS;
}
static graphStatus indexes_of(const Place& here, PortDescs gesim::Node::* descs, const AscendString& name,
                              std::vector<int32_t>& out) {
  out.clear();
  for (int32_t index = 0;; out.push_back(index)) {
    const std::string one = name.GetString() + std::to_string(out.size());
    if (index_of(here, descs, one.c_str(), index) != GRAPH_SUCCESS) return GRAPH_FAILED;
    if (index < 0) return GRAPH_SUCCESS;
  }
}
#define PORTS(Side, list)                                                                                   \
  graphStatus GNode::Get##Side##Desc(const int32_t index, TensorDesc& desc) const {                         \
    return get_desc(at(Place(*this), &gesim::Node::list, index), desc);                                     \
  }                                                                                                         \
  graphStatus GNode::Update##Side##Desc(const int32_t index, const TensorDesc& desc) {                      \
    const Place here(*this);                                                                                \
    return update_desc(here, at(here, &gesim::Node::list, index), desc);                                    \
  }                                                                                                         \
  graphStatus GNode::Get##Side##IndexByName(const AscendString& name, int32_t& index) {                     \
    return index_of(Place(*this), &gesim::Node::list, name, index);                                         \
  }                                                                                                         \
  graphStatus GNode::GetDynamic##Side##IndexesByName(const AscendString& name, std::vector<int32_t>& out) { \
    return indexes_of(Place(*this), &gesim::Node::list, name, out);                                         \
  }                                                                                                         \
  graphStatus GNode::Get##Side##Attr(const AscendString& name, uint32_t index, AttrValue& value) const {    \
    const gesim::Desc* desc = at(Place(*this), &gesim::Node::list, index);                                  \
    return desc ? get_from(desc->attrs, name, value) : GRAPH_FAILED;                                        \
  }                                                                                                         \
  graphStatus GNode::Set##Side##Attr(const AscendString& name, uint32_t index, const AttrValue& value) {    \
    const Place here(*this);                                                                                \
    gesim::Desc* desc = at(here, &gesim::Node::list, index);                                                \
    return desc ? set_in(*here.graph, desc->attrs, name, stored(value)) : GRAPH_FAILED;                     \
  }
PORTS(Input, input_desc)
PORTS(Output, output_desc)
#undef PORTS
graphStatus GNode::GetInputConstData(const int32_t index, Tensor& value) const {
  const GNodePtr source = GetInDataNodesAndPortIndexs(index).first;
  const Place from(source ? *source : GNode());
  if (!from || !gesim::is_const(from->type))
    return refuse_graph("GetInputConstData: input " + std::to_string(index) + " reads no Const");
  return get_from(from->attrs, "value", value);
}

static graphStatus no_subgraphs(const Place& here) {
  return refuse_graph((here ? here->name : "a node of no graph") + " has no subgraphs: they are not simulated");
}
graphStatus GNode::GetSubgraph(uint32_t, GraphPtr&) const { return no_subgraphs(Place(*this)); }
graphStatus GNode::GetALLSubgraphs(std::vector<GraphPtr>&) const { return no_subgraphs(Place(*this)); }

}  // namespace ge
