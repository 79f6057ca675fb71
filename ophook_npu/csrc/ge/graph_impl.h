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
  std::string problem;                                 // why what was built is no graph
};

// An attribute's value as a node of the graph has it.
gesim::Attr attr_of(const AttrData& value);
// Those that a prototype names, in its order: the node's own, or what is preset. One that is required may be missing:
// its kind is kNone.
std::vector<gesim::Attr> attributes_of(const gesim::Node& node, const OperatorImpl& prototype);

// ge::Graph names this class as a friend.
class GraphUtils {
 public:
  static const GraphImpl* impl(const Graph& graph) { return graph.impl_.get(); }
};

}  // namespace ge
