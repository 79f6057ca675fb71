// A compiled graph: its nodes in order, every output's shape as far as it can be told, and where it will lie.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir.h"
#include "kernels.h"

namespace gesim {

// An output as inference knows it; `value` where its contents are known on the host.
struct Known {
  ge_tensor tensor{};
  Bytes value;
};

enum class Place {
  kFeature,   // in feature memory (static graphs) or allocated at run time
  kInput,     // the caller's input
  kConst,     // in constant memory
  kVariable,  // in the session's memory, by the node's name
  kHost,      // its value was computed while compiling
  kAlias,     // the operator writes the memory of one of its inputs
  kOutput,    // in the caller's output
};

struct Location {
  Place place = Place::kFeature;
  size_t offset = 0;  // in feature or constant memory
  size_t index = 0;   // of the graph's input or output, or of the node's input that is aliased
  int last_use = -1;  // the last position in `order` that reads it
};

enum class Engine { kNone, kTable, kAclnn, kAicpu, kEager, kText };

struct Compiled {
  Graph graph;
  std::vector<int> order;
  std::vector<Engine> engine;                   // by node
  std::vector<std::vector<ge_attr>> attrs;      // by node, views into graph
  std::vector<std::vector<size_t>> counts;      // by node and input of its prototype: how many of its inputs those are
  std::vector<std::vector<Known>> known;        // by node and output
  std::vector<std::vector<Location>> location;  // likewise
  std::vector<int> inputs;                      // node of the graph's i-th input, -1 where nothing reads it
  std::vector<Edge> outputs;
  bool is_static = false;
  size_t const_size = 0;
  size_t feature_size = 0;

  std::string where(int node) const {
    return "graph " + graph.name + ", node " + graph.nodes[node].name + " (" + graph.nodes[node].type + ")";
  }
};

// Returns NULL and the reason in `error`, which names the node and its type.
std::shared_ptr<Compiled> compile(const Graph& graph, std::string& error);

// Shape and dtype inference of one node from its inputs; by the operator's own function where a library registered it,
// by the table otherwise. Returns "" or the reason.
std::string infer(const Compiled& graph, int node, const std::vector<ge_tensor>& inputs,
                  std::vector<ge_tensor>& outputs);

// The largest shapes of a library's operator, by the ranges that its function gives, where only running it tells them.
std::string infer_largest(const Compiled& graph, int node, const std::vector<ge_tensor>& inputs,
                          std::vector<ge_tensor>& outputs);

// Runs a node of the table on the host where all that it reads is known there and its results are small.
bool fold(const Compiled& graph, int node, const std::vector<Known>& inputs, std::vector<Known>& outputs,
          std::string& error);

bool shape_known(const ge_tensor& tensor);
int64_t element_count(const ge_tensor& tensor);  // -1 where the shape is not known
int64_t byte_size(const ge_tensor& tensor);      // -1 where the shape or the size of an element is not known
std::string describe(const ge_tensor& tensor);   // "float16[2, 3]"

}  // namespace gesim
