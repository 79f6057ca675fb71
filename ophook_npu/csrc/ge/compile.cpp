// Compilation: check every node, order them, infer shapes, fold what is known, give every output its place.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <queue>

#include "aclnn_call.h"
#include "aicpu_call.h"
#include "compiled.h"
#include "eager_call.h"
#include "print.h"
#include "registry.h"

namespace gesim {
namespace {

std::string quoted_list(const std::vector<ge::IrPort>& ports) {
  std::string out;
  for (const ge::IrPort& port : ports) out += (out.empty() ? "" : ", ") + port.name;
  return out;
}

// Puts a node's inputs into its prototype's order; optional ones that are not fed become absent edges.
std::string order_inputs(Node& node, const ge::OperatorImpl& prototype, std::vector<size_t>& counts) {
  std::map<std::string, size_t> by_name;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    by_name[i < node.input_desc.size() ? node.input_desc[i].name : ""] = i;
  std::vector<Edge> edges;
  std::vector<Desc> descs;
  size_t taken = 0;
  auto take = [&](const std::string& name) {
    auto it = by_name.find(name);
    if (it == by_name.end()) return false;
    edges.push_back(node.inputs[it->second]);
    descs.push_back(node.input_desc[it->second]);
    ++taken;
    return true;
  };
  for (const ge::IrPort& port : prototype.inputs) {
    counts.push_back(1);
    if (port.kind == ge::IrPort::kDynamic) {
      for (counts.back() = 0; take(port.name + std::to_string(counts.back())); ++counts.back()) {
      }
    } else if (!take(port.name)) {
      if (port.kind == ge::IrPort::kRequired) return "its required input '" + port.name + "' is not fed";
      edges.push_back(Edge{});
      descs.push_back(Desc{});
      descs.back().name = port.name;
    } else if (port.kind == ge::IrPort::kRequired && edges.back().node < 0) {
      return "its required input '" + port.name + "' is not fed";
    }
  }
  if (taken != node.inputs.size()) {
    for (const auto& [name, index] : by_name)
      if (std::none_of(descs.begin(), descs.end(), [&](const Desc& desc) { return desc.name == name; }))
        return "it has an input '" + name + "', its prototype has " + quoted_list(prototype.inputs);
  }
  node.inputs = std::move(edges);
  node.input_desc = std::move(descs);
  return "";
}

std::string check_outputs(const Node& node, const ge::OperatorImpl& prototype) {
  bool dynamic = std::any_of(prototype.outputs.begin(), prototype.outputs.end(),
                             [](const ge::IrPort& port) { return port.kind == ge::IrPort::kDynamic; });
  if (!dynamic && node.output_desc.size() != prototype.outputs.size())
    return "it has " + std::to_string(node.output_desc.size()) + " outputs, its prototype has " +
           quoted_list(prototype.outputs);
  return "";
}

std::vector<ge_attr> attr_views(Node& node) {
  std::vector<ge_attr> out;
  for (auto& [name, attr] : node.attrs) {
    if (attr.kind == Attr::kIntLists) attr.ints = lengths_and_values(attr.lists);
    ge_attr view{};
    view.name = name.c_str();
    view.i = attr.i;
    view.f = attr.f;
    view.s = attr.s.c_str();
    view.ints = attr.ints.data();
    view.floats = attr.floats.data();
    switch (attr.kind) {
      case Attr::kInt: view.kind = ge_attr_int; break;
      case Attr::kFloat: view.kind = ge_attr_float; break;
      case Attr::kBool: view.kind = ge_attr_bool; break;
      case Attr::kString: view.kind = ge_attr_string; break;
      case Attr::kType: view.kind = ge_attr_dtype; break;
      case Attr::kInts:
      case Attr::kBools:
      case Attr::kTypes:
        view.kind = ge_attr_ints;
        view.count = attr.ints.size();
        break;
      case Attr::kFloats:
        view.kind = ge_attr_floats;
        view.count = attr.floats.size();
        break;
      case Attr::kIntLists:
        view.kind = ge_attr_int_lists;
        view.count = attr.ints.size();
        break;
      default: view.kind = ge_attr_other; break;
    }
    out.push_back(view);
  }
  return out;
}

// Who executes the node; "" or why nobody does.
std::string choose_engine(Compiled& graph, int index) {
  Node& node = graph.graph.nodes[index];
  if (is_input(node) || is_const(node.type) || is_variable(node) || node.type == "NetOutput" || node.type == "NoOp")
    return "";
  if (!registered(node.type))
    return "the simulator has no operator of this type, neither in its table nor from an op_proto library";
  ge::Operator op = create(node.name, node.type);
  const ge::OperatorImpl& prototype = *ge::OpDescUtils::impl(op);
  std::string problem = order_inputs(node, prototype, graph.counts[index]);
  if (problem.empty()) problem = check_outputs(node, prototype);
  if (!problem.empty()) return problem;
  if (makes_text(node) || prints_text(node)) {
    if (makes_text(node)) graph.engine[index] = Engine::kText;
    return "";
  }
  if (eager_exists(node.type)) {
    graph.engine[index] = Engine::kEager;
    return "";
  }
  // Who repeats the prototype of one of the table's operators, as a program does that includes the toolkit's, gets the
  // table's; a package that replaces one infers its shapes. Its kernels of AI CPUs come behind those of AI cores, which
  // the table stands for: MindSpore's package has Tile and BiasAdd there as well.
  const bool in_table = kernels().proto(node.type.c_str()) != nullptr;
  const bool aclnn = (!in_table || infer_function(node.type)) && aclnn_exists(node.type);
  if (aclnn || (!in_table && aicpu_exists(node.type))) {
    graph.engine[index] = aclnn ? Engine::kAclnn : Engine::kAicpu;
    return "";
  }
  if (!in_table)
    return "its op_proto library is loaded, but no library of a custom operator package exports aclnn" + node.type +
           "GetWorkspaceSize (op_api/lib/libcust_opapi.so), and none has an AI CPU kernel (op_impl/cpu/config/*.json)";
  graph.engine[index] = Engine::kTable;
  for (size_t o = 0; o < node.output_desc.size(); ++o)
    for (size_t i = 0; i < node.input_desc.size(); ++i)
      if (node.output_desc[o].name == node.input_desc[i].name) {
        graph.location[index][o].place = Place::kAlias;
        graph.location[index][o].index = i;
      }
  return "";
}

std::string sort(Compiled& graph) {
  const auto& nodes = graph.graph.nodes;
  std::vector<int> waits(nodes.size(), 0);
  std::vector<std::vector<int>> readers(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    auto after = [&](int source) {
      readers[source].push_back(static_cast<int>(i));
      ++waits[i];
    };
    for (const Edge& edge : nodes[i].inputs)
      if (edge.node >= 0) after(edge.node);
    for (int source : nodes[i].control) after(source);
  }
  // In the order of the program, as far as nothing speaks against it: collectives meet in the same order on all ranks,
  // whatever else each of them computes.
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waits[i] == 0) ready.push(static_cast<int>(i));
  while (!ready.empty()) {
    graph.order.push_back(ready.top());
    ready.pop();
    for (int reader : readers[graph.order.back()])
      if (--waits[reader] == 0) ready.push(reader);
  }
  if (graph.order.size() == nodes.size()) return "";
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waits[i]) return graph.where(static_cast<int>(i)) + ": it is part of a cycle";
  return "";
}

std::string to_tensor(const Desc& desc, ge_tensor& out) {
  out.dtype = desc.dtype;
  out.format = desc.format;
  if (out.format && !ge_in_tiles(&out)) return "its private format " + std::to_string(out.format) + " is not simulated";
  if (desc.dims.size() == 1 && desc.dims[0] == -2) {
    out.rank = ge_unknown_rank;
    return "";
  }
  if (desc.dims.size() > ge_max_rank)
    return "rank " + std::to_string(desc.dims.size()) + " is more than the engine has";
  out.rank = static_cast<int32_t>(desc.dims.size());
  std::copy(desc.dims.begin(), desc.dims.end(), out.dims);
  return "";
}

std::string add_const(Compiled& graph, int index) {
  Node& node = graph.graph.nodes[index];
  const Attr* value = node.attr("value");
  if (!value || value->kind != Attr::kTensor) return "it has no value";
  Known& known = graph.known[index][0];
  std::string problem = to_tensor(value->desc, known.tensor);
  if (!problem.empty()) return problem;
  static const Bytes none = [] {
    auto made = std::make_shared<Buffer>();
    made->reserve(1);  // data() of an empty value must not be NULL
    return made;
  }();
  known.value = value->data ? value->data : none;
  if (known.tensor.dtype == ge::DT_STRING) {  // for operators that run eagerly; C++ reads up to the zero behind it
    auto text = std::make_shared<Buffer>(*known.value);
    text->push_back(0);
    known.value = text;
    return "";
  }
  int64_t size = byte_size(known.tensor);
  if (size < 0) return "constants of " + describe(known.tensor) + " are not simulated";
  if (known.value->size() < static_cast<size_t>(size))
    return "its value has " + std::to_string(known.value->size()) + " bytes, " + describe(known.tensor) + " needs " +
           std::to_string(size);
  return "";
}

std::string infer_all(Compiled& graph) {
  for (int index : graph.order) {
    const Node& node = graph.graph.nodes[index];
    std::vector<Known>& known = graph.known[index];
    std::string problem;
    if (is_input(node)) {
      problem = to_tensor(node.output_desc[0], known[0].tensor);
    } else if (is_variable(node)) {
      problem = to_tensor(node.output_desc[0], known[0].tensor);
      if (problem.empty() && byte_size(known[0].tensor) < 0)
        problem = "a variable of " + describe(known[0].tensor) + " has no size; allowed: a shape that is known";
    } else if (is_const(node.type)) {
      problem = add_const(graph, index);
    } else if (graph.engine[index] == Engine::kText) {
      known[0].tensor.dtype = ge::DT_STRING;
      graph.location[index][0].place = Place::kHost;
    } else if (graph.engine[index] != Engine::kNone) {
      std::vector<Known> inputs;
      std::vector<ge_tensor> in, out(known.size());
      for (const Edge& edge : node.inputs) {
        inputs.push_back(edge.node < 0 ? Known{} : graph.known[edge.node][edge.port]);
        if (edge.node < 0) inputs.back().tensor.dtype = ge_absent;
        in.push_back(inputs.back().tensor);
        if (inputs.back().value) in.back().data = const_cast<uint8_t*>(inputs.back().value->data());
      }
      problem = infer(graph, index, in, out);
      if (!problem.empty()) return problem;
      for (size_t i = 0; i < out.size(); ++i) {
        out[i].data = nullptr;
        known[i].tensor = out[i];
      }
      bool alias = std::any_of(graph.location[index].begin(), graph.location[index].end(),
                               [](const Location& location) { return location.place == Place::kAlias; });
      if (!alias && fold(graph, index, inputs, known, problem))
        for (Location& location : graph.location[index]) location.place = Place::kHost;
      if (!problem.empty()) return problem;
    }
    if (!problem.empty()) return graph.where(index) + ": " + problem;
  }
  return "";
}

std::string find_interface(Compiled& graph) {
  for (int index : graph.order) {
    const Node& node = graph.graph.nodes[index];
    if (is_input(node)) {
      const Attr* position = node.attr("index");
      if (!position || position->i < 0 || node.output_desc.empty())
        return graph.where(index) + ": an input needs an index and an output";
      if (graph.inputs.size() <= static_cast<size_t>(position->i)) graph.inputs.resize(position->i + 1, -1);
      graph.inputs[position->i] = index;
      graph.location[index][0].place = Place::kInput;
      graph.location[index][0].index = static_cast<size_t>(position->i);
    } else if (is_const(node.type) || is_variable(node)) {
      if (node.output_desc.empty()) return graph.where(index) + ": it needs an output";
      const Attr* first = is_variable(node) ? node.attr("value") : nullptr;
      if (first && first->data && !first->data->empty())
        return graph.where(index) + ": a first value as the attribute 'value' is not simulated; assign it in a graph";
      graph.location[index][0].place = is_const(node.type) ? Place::kConst : Place::kVariable;
    } else if (node.type == "NetOutput") {
      for (const Edge& edge : node.inputs) {
        if (edge.node < 0) return graph.where(index) + ": an output of the graph is not fed";
        graph.outputs.push_back(edge);
      }
    }
  }
  return "";
}

// First fit over the memory that earlier outputs have left behind.
class Planner {
 public:
  size_t take(size_t size) {
    size = std::max<size_t>((size + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment, kDeviceAlignment);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < size) continue;
      size_t offset = it->first, rest = it->second - size;
      free_.erase(it);
      if (rest) free_[offset + size] = rest;
      used_[offset] = size;
      return offset;
    }
    size_t offset = end_;
    end_ += size;
    used_[offset] = size;
    return offset;
  }
  void give(size_t offset) {
    size_t size = used_[offset];
    used_.erase(offset);
    auto after = free_.emplace(offset, size).first;
    auto next = std::next(after);
    if (next != free_.end() && after->first + after->second == next->first) {
      after->second += next->second;
      free_.erase(next);
    }
    if (after != free_.begin()) {
      auto before = std::prev(after);
      if (before->first + before->second == after->first) {
        before->second += after->second;
        free_.erase(after);
      }
    }
  }
  size_t end() const { return end_; }

 private:
  std::map<size_t, size_t> free_, used_;
  size_t end_ = 0;
};

// An alias keeps the memory that it stands for in use.
Edge owner(const Compiled& graph, Edge edge) {
  while (graph.location[edge.node][edge.port].place == Place::kAlias)
    edge = graph.graph.nodes[edge.node].inputs[graph.location[edge.node][edge.port].index];
  return edge;
}

void place_all(Compiled& graph) {
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    Location& location = graph.location[graph.outputs[i].node][graph.outputs[i].port];
    if (location.place != Place::kFeature) continue;
    location.place = Place::kOutput;
    location.index = i;
  }
  std::vector<int> position(graph.graph.nodes.size());
  for (size_t at = 0; at < graph.order.size(); ++at) position[graph.order[at]] = static_cast<int>(at);
  for (int index : graph.order)
    for (const Edge& edge : graph.graph.nodes[index].inputs)
      if (edge.node >= 0) {
        Edge source = owner(graph, edge);
        int& last = graph.location[source.node][source.port].last_use;
        last = std::max(last, position[index]);
      }

  Planner constants;
  for (int index : graph.order)
    for (size_t i = 0; i < graph.location[index].size(); ++i)
      if (graph.location[index][i].place == Place::kConst)
        graph.location[index][i].offset = constants.take(graph.known[index][i].value->size());
  graph.const_size = constants.end();

  if (!graph.is_static) return;
  Planner features;
  std::vector<std::vector<size_t>> ends(graph.order.size());
  for (size_t at = 0; at < graph.order.size(); ++at) {
    int index = graph.order[at];
    for (size_t i = 0; i < graph.location[index].size(); ++i) {
      Location& location = graph.location[index][i];
      if (location.place != Place::kFeature) continue;
      location.offset = features.take(static_cast<size_t>(byte_size(graph.known[index][i].tensor)));
      ends[std::max(location.last_use, static_cast<int>(at))].push_back(location.offset);
    }
    for (size_t offset : ends[at]) features.give(offset);
  }
  graph.feature_size = features.end();
}

}  // namespace

std::shared_ptr<Compiled> compile(const Graph& source, std::string& error) {
  auto graph = std::make_shared<Compiled>();
  graph->graph = source;
  size_t count = source.nodes.size();
  if (!kernels().run) {
    error = "the operator library libopapi.so is not loaded";
    return nullptr;
  }
  graph->engine.resize(count, Engine::kNone);
  graph->attrs.resize(count);
  graph->counts.resize(count);
  graph->known.resize(count);
  graph->location.resize(count);
  for (size_t i = 0; i < count; ++i) {
    graph->attrs[i] = attr_views(graph->graph.nodes[i]);
    graph->known[i].resize(source.nodes[i].output_desc.size());
    graph->location[i].resize(source.nodes[i].output_desc.size());
  }
  error = sort(*graph);
  for (size_t i = 0; i < count && error.empty(); ++i) {
    error = choose_engine(*graph, static_cast<int>(i));
    if (error.empty()) error = check_texts(graph->graph, static_cast<int>(i));
    if (!error.empty()) error = graph->where(static_cast<int>(i)) + ": " + error;
  }
  if (error.empty()) error = find_interface(*graph);
  if (error.empty()) error = infer_all(*graph);
  if (!error.empty()) return nullptr;
  graph->is_static = true;
  for (size_t i = 0; i < count; ++i) {
    if (source.nodes[i].type == "NetOutput") continue;
    for (const Known& known : graph->known[i]) graph->is_static &= shape_known(known.tensor);
  }
  if (graph->is_static) {
    for (size_t i = 0; i < count; ++i)
      for (const Known& known : graph->known[i])
        if (source.nodes[i].type != "NetOutput" && graph->engine[i] != Engine::kText && !known.value &&
            byte_size(known.tensor) < 0) {
          error = graph->where(static_cast<int>(i)) + ": tensors of " + describe(known.tensor) + " are not simulated";
          return nullptr;
        }
  }
  place_all(*graph);
  return graph;
}

}  // namespace gesim
