#include "loaded.h"

#include <algorithm>

#include "core/sim.h"
#include "tasks.h"

namespace gesim {
namespace {

size_t most(const std::vector<std::shared_ptr<Compiled>>& graphs, size_t Compiled::* size) {
  size_t most = 0;
  for (const auto& graph : graphs) most = std::max(most, (*graph).*size);
  return most;
}

// Device memory for what the graph needs and the caller did not give.
std::string take(size_t size, Region& region) {
  if (region.base || size == 0) return "";
  if (sim_malloc_by("the graph engine", nullptr, size, size, &region.base)) return last_error();
  region.size = size;
  region.owner = std::shared_ptr<void>(region.base, [](void* pointer) { sim_free(pointer); });
  return "";
}

}  // namespace

std::string Loaded::compile(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (is_variable(node) && !memory.variables)
      return "graph " + graph.name + ", node " + node.name + " (" + node.type +
             "): variables belong to a session (ge::Session), and an offline model has none";
  std::vector<std::shared_ptr<Compiled>> all;
  for (size_t gear = 0; gear < std::max<size_t>(gears.sizes.size(), 1); ++gear) {
    std::string error;
    all.push_back(gesim::compile(gears.sizes.empty() ? graph : gears.graph_of(graph, gear), error));
    if (!all.back()) return error;
  }
  compiled = all;
  return "";
}

size_t Loaded::const_size() const { return most(compiled, &Compiled::const_size); }
size_t Loaded::feature_size() const { return most(compiled, &Compiled::feature_size); }

const ge_tensor& Loaded::output(size_t index) const {
  const auto in = [index](const std::shared_ptr<Compiled>& graph) -> const ge_tensor& {
    const Edge& edge = graph->outputs[index];
    return graph->known[edge.node][edge.port].tensor;
  };
  return in(*std::max_element(compiled.begin(), compiled.end(), [&](const auto& one, const auto& other) {
    return element_count(in(one)) < element_count(in(other));
  }));
}

std::shared_ptr<Compiled> Loaded::fitting(const std::vector<ge::Tensor>& inputs, std::string& problem) const {
  if (gears.sizes.empty()) return compiled[0];
  for (const auto& one : compiled) {
    bool fits = inputs.size() >= one->inputs.size();
    for (size_t i = 0; fits && i < one->inputs.size(); ++i) {
      if (one->inputs[i] < 0) continue;
      const ge_tensor& tensor = one->known[one->inputs[i]][0].tensor;
      for (int32_t dim = 0; fits && dim < tensor.rank; ++dim)
        fits = tensor.dims[dim] < 0 || tensor.rank != int32_t(inputs[i].GetShapeDimNum()) ||
               tensor.dims[dim] == inputs[i].GetShapeDim(size_t(dim));
    }
    if (fits) return one;
  }
  problem = "graph " + compiled[0]->graph.name + ": the inputs have sizes of no gear; allowed: " + gears.text();
  return nullptr;
}

std::string Loaded::upload(const std::shared_ptr<Compiled>& one, void* stream) {
  if (std::string problem = take(const_size(), memory.constants); !problem.empty()) return problem;
  if (uploaded == one) return "";
  std::string problem = upload_constants(one, stream, memory);
  uploaded = problem.empty() ? one : nullptr;
  return problem;
}

std::string Loaded::run(const std::shared_ptr<Compiled>& one, void* stream, const std::vector<ge::Tensor>& inputs,
                        std::vector<ge::Tensor>& outputs) {
  if (one->is_static)
    if (std::string problem = take(feature_size(), memory.features); !problem.empty()) return problem;
  if (std::string problem = upload(one, stream); !problem.empty()) return problem;
  return execute(one, stream, memory, inputs, outputs);
}

}  // namespace gesim
