// What stands behind ge::Graph: the parsed graph and the bytes that it came from.
#pragma once

#include <memory>
#include <string>

#include "graph/graph.h"
#include "ir.h"

namespace ge {

class GraphImpl {
 public:
  std::string name;
  gesim::Graph graph;
  std::string serialized;
};

// ge::Graph names this class as a friend.
class GraphUtils {
 public:
  static const GraphImpl* impl(const Graph& graph) { return graph.impl_.get(); }
};

}  // namespace ge
