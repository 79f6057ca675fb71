#include "gears.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>

namespace gesim {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

namespace {

constexpr size_t kMostGears = 100;  // as torchair and CANN's ATC document it

// "-1,4" as numbers; false where a part is none.
bool numbers(const std::string& text, std::vector<int64_t>& out) {
  for (const std::string& part : split(text, ',')) {
    char* end = nullptr;
    errno = 0;
    out.push_back(std::strtoll(part.c_str(), &end, 10));
    if (errno || end == part.c_str() || *end) return false;
  }
  return true;
}

// The input of this name; null where there is none.
template <typename AnyGraph>
auto input_of(AnyGraph& graph, const std::string& name) {
  for (auto& node : graph.nodes)
    if (is_input(node) && node.name == name) return &node;
  return decltype(graph.nodes.data())();
}

std::string read_inputs(const std::string& text, const Graph& graph, Gears& out, size_t& unknown) {
  unknown = 0;
  for (const std::string& part : split(text, ';')) {
    const size_t colon = part.rfind(':');
    if (colon == std::string::npos) return "ge.inputShape: '" + part + "' has no ':' between name and dimensions";
    const std::string name = part.substr(0, colon);
    std::vector<int64_t> dims;
    if (!numbers(part.substr(colon + 1), dims)) return "ge.inputShape: '" + part + "' is not name:number,number";
    const Node* node = input_of(graph, name);
    if (!node) return "ge.inputShape: the graph has no input '" + name + "'";
    const std::vector<int64_t>& declared = node->output_desc.at(0).dims;
    if (declared != std::vector<int64_t>{-2} && declared.size() != dims.size())
      return "ge.inputShape: input '" + name + "' has " + std::to_string(declared.size()) + " dimensions, not " +
             std::to_string(dims.size());
    unknown += size_t(std::count(dims.begin(), dims.end(), -1));
    out.inputs.emplace_back(name, dims);
  }
  return unknown ? "" : "ge.inputShape: no dimension is -1, so there is nothing for ge.dynamicDims to choose";
}

}  // namespace

std::string read_gears(const std::map<std::string, std::string>& options, const Graph& graph, Gears& out) {
  out = {};
  for (const char* other : {"ge.dynamicBatchSize", "ge.dynamicImageSize"})
    if (options.count(other)) return std::string("option ") + other + " is not simulated; ge.dynamicDims is";
  const auto gears = options.find("ge.dynamicDims"), shapes = options.find("ge.inputShape"),
             nodes = options.find("ge.dynamicNodeType");
  if (gears == options.end()) return "";
  if (shapes == options.end()) return "ge.dynamicDims needs ge.inputShape, which says whose dimensions they are";
  if (nodes == options.end() || nodes->second != "1")
    return "ge.dynamicNodeType has to be 1 (the inputs are Data nodes)";
  size_t unknown = 0;
  if (std::string problem = read_inputs(shapes->second, graph, out, unknown); !problem.empty()) return problem;
  for (const std::string& part : split(gears->second, ';')) {
    std::vector<int64_t> sizes;
    if (!numbers(part, sizes) || sizes.size() != unknown ||
        std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size <= 0; }))
      return "ge.dynamicDims: '" + part + "'; allowed: " + std::to_string(unknown) +
             " positive numbers, one for each -1 of ge.inputShape";
    out.sizes.push_back(sizes);
  }
  if (out.sizes.empty() || out.sizes.size() > kMostGears)
    return "ge.dynamicDims has " + std::to_string(out.sizes.size()) + " gears; allowed: 1 to " +
           std::to_string(kMostGears);
  return "";
}

Graph Gears::graph_of(const Graph& graph, size_t gear) const {
  Graph made = graph;
  size_t next = 0;
  for (const auto& [name, dims] : inputs) {
    std::vector<int64_t> fixed = dims;
    for (int64_t& dim : fixed)
      if (dim == -1) dim = sizes[gear][next++];
    input_of(made, name)->output_desc[0].dims = fixed;
  }
  return made;
}

std::string Gears::text() const {
  std::string out;
  for (const std::vector<int64_t>& gear : sizes) {
    out += out.empty() ? "[" : ", [";
    for (size_t i = 0; i < gear.size(); ++i) out += (i ? ", " : "") + std::to_string(gear[i]);
    out += "]";
  }
  return out;
}

}  // namespace gesim
