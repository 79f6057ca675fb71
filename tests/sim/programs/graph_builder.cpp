// Builds a graph from the prototypes of the toolkit and runs it: y = x·w + 1, and the two halves of y turned.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "ge/ge_api.h"
#include "ge/ge_ir_build.h"
#include "graph/graph.h"
#include "parser/onnx_parser.h"
#include "ops_proto_legacy.h"

using namespace ge;

TensorDesc of(std::vector<int64_t> dims) { return TensorDesc(Shape(dims), FORMAT_ND, DT_FLOAT); }
Tensor tensor(const TensorDesc& desc, const std::vector<float>& values) {
  return Tensor(desc, reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float));
}

// What `fault` says is wrong with it.
Graph built(const std::string& fault) {
  auto x = op::Data("x");
  x.update_input_desc_x(of({2, 3}));
  if (fault != "half") x.update_output_desc_y(of({2, 3}));  // else it is what the input describes
  auto one = op::Const("one").set_attr_value(tensor(of({}), {1}));
  one.update_output_desc_y(of({}));
  auto w = op::Data("w");
  w.update_output_desc_y(of({3, 4}));
  auto product = op::MatMulV2(fault == "names" ? "x" : "product").set_input_x1(x);
  if (fault != "unfed") product.set_input_x2(w);
  auto sum = op::Add("sum").set_input_x1(product).set_input_x2(one);
  auto halves = op::SplitD("halves").set_input_x(sum).set_attr_split_dim(1).set_attr_num_split(2);
  halves.create_dynamic_output_y(2);
  auto turned = op::ConcatD("turned").create_dynamic_input_x(2).set_attr_concat_dim(1).set_attr_N(2);
  turned.SetInput("x", 0u, halves, "y1");
  if (fault == "output") turned.SetInput("x", 1u, halves);
  else turned.SetInput("x", 1u, halves, fault == "port" ? "y7" : "y0");
  if (fault == "cycle") product.SetInput("x2", turned, 0u);
  turned.AddControlInput(sum);
  Graph graph("built");
  graph.SetInputs(fault == "inputs" ? std::vector<Operator>{x} : std::vector<Operator>{x, w});
  graph.SetOutputs(std::vector<std::pair<Operator, std::vector<size_t>>>{{turned, {}}, {sum, {0}}});
  return graph;
}

bool same(const std::vector<Tensor>& one, const std::vector<Tensor>& other) {
  bool all = one.size() == other.size() && !one.empty();
  for (size_t i = 0; all && i < one.size(); ++i)
    all =
        one[i].GetSize() == other[i].GetSize() && !std::memcmp(one[i].GetData(), other[i].GetData(), one[i].GetSize());
  return all;
}

// The graph from a file and by the older functions of a session computes the same; and so does its offline model.
bool written(Session& session, const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> first, again, later;
  session.RunGraph(1, inputs, first);
  Graph read("read");
  if (graph.SaveToFile("graph.air") != GRAPH_SUCCESS || read.LoadFromFile("graph.air") != GRAPH_SUCCESS) return false;
  const std::map<std::string, std::string> none;
  if (session.AddGraph(2, read, none) != SUCCESS || session.RunGraph(2, inputs, again) != SUCCESS) return false;
  {
    Session old(std::map<std::string, std::string>{{"ge.exec.deviceId", "0"}});
    old.AddGraph(3, read);
    old.RunGraphAsync(3, inputs, [&](Status status, std::vector<Tensor>& outputs) {
      if (status == SUCCESS) later = outputs;
    });
  }
  std::map<AscendString, AscendString> process = {{ir_option::SOC_VERSION, "Ascend910B4"}};
  ModelBufferData model;
  const bool early = aclgrphBuildModel(graph, std::map<AscendString, AscendString>{}, model) == GRAPH_SUCCESS;
  if (early || aclgrphBuildInitialize(process) != GRAPH_SUCCESS) return false;
  const std::map<AscendString, AscendString> options = {{ir_option::PRECISION_MODE_V2, "origin"}};
  const bool made = aclgrphBuildModel(graph, options, model) == GRAPH_SUCCESS;
  const bool refused = aclgrphBuildModel(graph, {{AscendString("ge.noSuchOption"), AscendString("1")}}, model);
  if (!made || !refused || aclgrphSaveModel("graph", model) != GRAPH_SUCCESS) return false;
  aclgrphBuildFinalize();
  return same(first, again) && same(first, later);
}

// A model of ONNX from its file and from memory.
bool parsed(Session& session) {
  const std::vector<Tensor> inputs = {tensor(of({2, 3}), {-1, 2, -3, 4, -5, 6})};
  std::ifstream file("net.onnx", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  Graph whole("whole"), wrong("wrong");
  std::vector<Tensor> first, again;
  const std::map<AscendString, AscendString> none;
  if (aclgrphParseONNX("net.onnx", none, whole) != GRAPH_SUCCESS) return false;
  Graph copied("copied");
  if (aclgrphParseONNXFromMem(bytes.data(), bytes.size(), none, copied) != GRAPH_SUCCESS) return false;
  if (aclgrphParseONNXFromMem(bytes.data(), bytes.size() / 2, none, wrong) == GRAPH_SUCCESS) return false;
  session.AddGraph(4, whole), session.AddGraph(5, copied);
  if (session.RunGraph(4, inputs, first) != SUCCESS || session.RunGraph(5, inputs, again) != SUCCESS) return false;
  const auto* values = reinterpret_cast<const float*>(first[0].GetData());
  return same(first, again) && first[0].GetSize() == 24 && values[0] == 0 && values[1] == 2;
}

// Nodes know their neighbours; an edge that goes and comes leaves the graph as it was, a node that goes is missed.
bool edges(Graph graph) {
  std::map<std::string, GNode> nodes;
  AscendString name;
  for (const GNode& node : graph.GetDirectNode())
    if (node.GetName(name) == GRAPH_SUCCESS) nodes[name.GetString()] = node;
  GNode &sum = nodes["sum"], &one = nodes["one"], &turned = nodes["turned"];
  const auto reads = sum.GetInDataNodesAndPortIndexs(1);
  reads.first->GetName(name);
  bool right = std::string(name.GetString()) == "one" && reads.second == 0 && sum.GetInputsSize() == 2;
  right =
      right && one.GetOutDataNodesAndPortIndexs(0).size() == 1 && sum.GetInDataNodesAndPortIndexs(2).first == nullptr;
  right = right && turned.GetInControlNodes().size() == 1 && sum.GetOutControlNodes().size() == 1;
  right =
      right && graph.AddDataEdge(one, 0, sum, 1) != GRAPH_SUCCESS && graph.RemoveEdge(one, 0, sum, 0) != GRAPH_SUCCESS;
  right =
      right && graph.RemoveEdge(one, 0, sum, 1) == GRAPH_SUCCESS && graph.AddDataEdge(one, 0, sum, 1) == GRAPH_SUCCESS;
  right = right && graph.RemoveEdge(sum, -1, turned, -1) == GRAPH_SUCCESS && turned.GetInControlNodes().empty();
  right = right && graph.AddControlEdge(sum, turned) == GRAPH_SUCCESS && turned.GetInControlNodes().size() == 1;
  const size_t before = graph.GetAllNodes().size();
  right = right && graph.RemoveNode(one) == GRAPH_SUCCESS && graph.GetAllNodes().size() == before - 1;
  right = right && sum.GetInDataNodesAndPortIndexs(1).first == nullptr && graph.RemoveNode(one) != GRAPH_SUCCESS;
  sum.GetInDataNodesAndPortIndexs(0).first->GetName(name);
  return right && std::string(name.GetString()) == "product";
}

op::Variable weight(std::vector<int64_t> dims) {
  auto made = op::Variable("weight");
  made.update_output_desc_y(of(dims));
  return made;
}
op::Const ones(const char* name) {
  auto made = op::Const(name).set_attr_value(tensor(of({3}), {1, 1, 1}));
  made.update_output_desc_y(of({3}));
  return made;
}

// A graph without outputs is all that its inputs are connected with: it gives two variables their values.
Graph beginning(op::Variable& kept) {
  static const int64_t steps = 2;
  const TensorDesc whole(Shape(), FORMAT_ND, DT_INT64);
  auto more = op::Const("more").set_attr_value(Tensor(whole, reinterpret_cast<const uint8_t*>(&steps), sizeof steps));
  more.update_output_desc_y(whole);
  auto count = op::Variable("npu_runconfig/iterations_per_loop");
  count.update_output_desc_y(whole);
  auto value = ones("one");
  const auto counted = op::Assign("counted").set_input_ref(count).set_input_value(more);
  const auto assigned = op::Assign("assigned").set_input_ref(kept).set_input_value(value);
  Graph graph("beginning");
  return graph.SetInputs(std::vector<Operator>{kept, count});
}

// Another graph adds to one of them, three times in each run, and a third reads it.
bool variables(Session& session) {
  auto kept = weight({3}), first = weight({3}), other = weight({1});
  auto one = ones("one");
  const std::vector<Operator> added = {op::AssignAdd("added").set_input_ref(kept).set_input_value(one)};
  const std::vector<Operator> doubled = {op::AssignAdd("doubled").set_input_ref(other).set_input_value(other)};
  auto x = op::Data("x");
  x.update_output_desc_y(of({2, 3}));
  Graph step("step"), wrong("wrong"), reads("reads");
  step.SetTargets(added), step.SetNeedIteration(true), wrong.SetOutputs(doubled);
  reads.SetInputs(std::vector<Operator>{x});
  reads.SetOutputs(std::vector<Operator>{op::Mul("product").set_input_x1(x).set_input_x2(kept)});
  const std::vector<Tensor> inputs = {tensor(of({2, 3}), {1, 2, 3, 4, 5, 6})}, none;
  std::vector<Tensor> outputs, values;
  const std::vector<AscendString> names = {"weight"};
  const std::map<AscendString, AscendString> options;
  if (session.AddGraphWithCopy(6, beginning(first)) != SUCCESS) return false;
  if (session.AddGraph(7, step, options) != SUCCESS || session.AddGraph(8, reads, options) != SUCCESS) return false;
  if (!session.IsGraphNeedRebuild(8) || session.BuildGraph(8, inputs) != SUCCESS) return false;
  if (session.IsGraphNeedRebuild(8) || session.GetVariables(names, values) == SUCCESS) return false;
  if (session.RunGraph(6, none, outputs) != SUCCESS || session.RunGraph(7, none, outputs) != SUCCESS) return false;
  if (session.RunGraph(8, inputs, outputs) != SUCCESS || session.GetVariables(names, values) != SUCCESS) return false;
  if (!same(outputs, {tensor(of({2, 3}), {4, 8, 12, 16, 20, 24})})) return false;
  if (!same(values, {tensor(of({3}), {4, 4, 4})})) return false;
  if (session.AddGraph(9, wrong, options) != SUCCESS || session.RunGraph(9, none, outputs) == SUCCESS) return false;
  std::printf("%s\n", GEGetErrorMsgV2().GetString());
  std::map<AscendString, AscendString> process = {{ir_option::SOC_VERSION, "Ascend910B4"}};
  ModelBufferData model;
  if (aclgrphBuildInitialize(process) != GRAPH_SUCCESS) return false;
  const bool refused = aclgrphBuildModel(step, options, model) != GRAPH_SUCCESS;
  std::printf("%s\n", GEGetErrorMsgV2().GetString());
  aclgrphBuildFinalize();
  return refused;
}

int main(int, char** arguments) {
  const std::string fault = arguments[1];
  std::map<AscendString, AscendString> options = {{"ge.exec.deviceId", "0"}};
  if (GEInitialize(options) != SUCCESS) return 2;
  int status = 0;
  {
    Session session(options);
    const std::vector<Tensor> inputs = {tensor(of({2, 3}), {1, 2, 3, 4, 5, 6}),
                                        tensor(of({3, 4}), {1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1})};
    std::vector<Tensor> outputs;
    const Graph graph = built(fault);
    const bool right = session.AddGraph(1, graph) == SUCCESS && session.RunGraph(1, inputs, outputs) == SUCCESS;
    status = right ? 0 : 1;
    for (const Tensor& output : outputs) {
      const auto* values = reinterpret_cast<const float*>(output.GetData());
      for (size_t i = 0; i < output.GetSize() / sizeof(float); ++i) std::printf("%g ", values[i]);
      std::printf("| ");
    }
    std::printf("status %d\n", status);
    if (right && (fault == "written"     ? written(session, graph, inputs)
                  : fault == "edges"     ? edges(graph)
                  : fault == "parsed"    ? parsed(session)
                  : fault == "variables" ? variables(session)
                                         : false))
      std::printf("as it was\n");
  }
  GEFinalize();
  return status;
}
