// What stands behind ge::Graph: the graph, and the bytes that it came from or the operators that it was built from.
#pragma once

#include <memory>
#include <string>

#include "graph/graph.h"
#include "ir.h"
#include "operator_impl.h"

namespace ge {

class GraphImpl {
 public:
  std::string name;
  gesim::Graph graph;
  std::string serialized;
  std::vector<std::shared_ptr<OperatorImpl>> inputs;
  std::vector<IrSource> outputs;
  std::vector<std::shared_ptr<OperatorImpl>> targets;  // that run, and of which nobody asks for a result
  bool repeats = false;                                // a run is as many steps as a variable of the session says
  bool fixed = false;                                  // its nodes are its own, not made of inputs and outputs
  std::map<std::string, Operator> kept;                // AddOp: what FindOpBy... looks at
  std::string problem;                                 // why what was built is no graph
};

// An attribute's value as a node of the graph has it, and the other way round: no value where one cannot be the other.
gesim::Attr attr_of(const AttrData& value);
// Those that a prototype names, in its order: the node's own, or what is preset. One that is required may be missing:
// its kind is kNone.
std::vector<gesim::Attr> attributes_of(const gesim::Node& node, const OperatorImpl& prototype);
AttrData data_of(const gesim::Attr& attr);
gesim::Desc desc_of(const std::string& name, const TensorDesc& desc);
TensorDesc desc_of(const gesim::Desc& desc);
// A node that nothing is connected with.
gesim::Node node_of(const OperatorImpl& op);
// Tells the user why, and fails.
graphStatus refuse_graph(const std::string& why);
// With its edges.
void remove_node(gesim::Graph& graph, int index);

// ge::Graph names this class as a friend.
class GraphUtils {
 public:
  static const GraphImpl* impl(const Graph& graph) { return graph.impl_.get(); }
};

}  // namespace ge
