// A graph with gears: the sizes that its inputs' dimensions of unknown size may have, all written down when it is added
// (torchair.inference.set_dim_gears). A device compiles one static graph for each, and so do we.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir.h"

namespace gesim {

// The parts of a text between these characters.
std::vector<std::string> split(const std::string& text, char at);

struct Gears {
  // By input: its dimensions, -1 where a gear says the size.
  std::vector<std::pair<std::string, std::vector<int64_t>>> inputs;
  std::vector<std::vector<int64_t>> sizes;  // by gear: of each -1 above, in order

  // The graph with the sizes of one gear.
  Graph graph_of(const Graph& graph, size_t gear) const;
  // "[2, 8], [4, 8]": the gears as a caller wrote them.
  std::string text() const;
};

// Reads the options ge.inputShape, ge.dynamicDims and ge.dynamicNodeType. Without gears `out` has no sizes. Returns ""
// or what is wrong with them.
std::string read_gears(const std::map<std::string, std::string>& options, const Graph& graph, Gears& out);

}  // namespace gesim
