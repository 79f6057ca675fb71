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
#include "graph/attr_value.h"
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
  auto told = weight({3}).set_attr_value(tensor(of({3}), {1, 1, 1}));
  wrong.SetOutputs(std::vector<Operator>{op::AssignAdd("told").set_input_ref(told).set_input_value(one)});
  if (session.AddGraph(10, wrong, options) != SUCCESS || session.RunGraph(10, none, outputs) == SUCCESS) return false;
  std::printf("%s\n", GEGetErrorMsgV2().GetString());
  std::map<AscendString, AscendString> process = {{ir_option::SOC_VERSION, "Ascend910B4"}};
  ModelBufferData model;
  if (aclgrphBuildInitialize(process) != GRAPH_SUCCESS) return false;
  const bool refused = aclgrphBuildModel(step, options, model) != GRAPH_SUCCESS;
  std::printf("%s\n", GEGetErrorMsgV2().GetString());
  aclgrphBuildFinalize();
  return refused;
}

// What is set is read, by names of both kinds, and not as what it is not.
template <typename T>
bool again(Operator op, const T& value) {
  T read{};
  op.SetAttr("own", value);
  return op.GetAttr("own", read) == GRAPH_SUCCESS && read == value && op.GetAttr("other", read) != GRAPH_SUCCESS;
}
bool attributes() {
  const Operator op = op::Add("some");
  using Lists = std::vector<std::vector<int64_t>>;
  bool right = again(op, int64_t(-5)) && again(op, int32_t(-6)) && again(op, 7u) && again(op, 0.5f) && again(op, true);
  right = right && again(op, DT_INT8) && again(op, AscendString("text")) && again(op, Lists{{1, 2}, {}, {3}});
  right = right && again(op, std::vector<int64_t>{1, -2}) && again(op, std::vector<int32_t>{3, -4});
  right = right && again(op, std::vector<uint32_t>{5}) && again(op, std::vector<float>{0.5, 6}) &&
          again(op, std::vector<bool>{true, false}) && again(op, std::vector<AscendString>{"a", "b"}) &&
          again(op, std::vector<DataType>{DT_INT8, DT_BOOL}) && again(op, std::vector<uint8_t>{7, 8});
  auto more = op::Add("more");
  std::vector<int32_t> list;
  std::string text;
  AttrValue value;
  AscendString plain;
  more.SetAttr(std::string("list"), {9, 10}), more.SetAttr(std::string("text"), std::string("said"));
  right = right && more.GetAttr(std::string("list"), list) == GRAPH_SUCCESS && list == std::vector<int32_t>{9, 10};
  right = right && more.GetAttr(std::string("text"), text) == GRAPH_SUCCESS && text == "said";
  right = right && more.GetAttr("list", text) != GRAPH_SUCCESS && more.GetAttr("text", value) == GRAPH_SUCCESS;
  right = right && value.GetAttrValue(plain) == GRAPH_SUCCESS && plain == "said" &&
          more.GetAllAttrNamesAndTypes().at("list") == "VT_LIST_INT";
  int64_t number = 0;
  more.SetInputAttr("x2", "of", 11).SetOutputAttr(0, "of", "out");
  right = right && more.GetInputAttr(1, "of", number) == GRAPH_SUCCESS && number == 11;
  right = right && more.GetInputAttr("x1", "of", number) != GRAPH_SUCCESS;
  AscendString out;
  return right && more.GetOutputAttr("y", "of", out) == GRAPH_SUCCESS && out == "out";
}

// An operator is looked at before it is in a graph.
bool operators() {
  auto one = ones("one");
  auto sum = op::Add("sum").set_input_x1(one).set_input_x2(one);
  Tensor value;
  bool right = sum.GetInputConstData("x1", value) == GRAPH_SUCCESS && same({value}, {tensor(of({3}), {1, 1, 1})});
  sum.BreakConnect();
  Graph alone("alone"), owned("owned");
  AttrValue whole;
  whole.SetAttrValue(true);
  right = right && owned.SetAttr("whole", whole) == GRAPH_SUCCESS;
  owned.SetInputs(std::vector<Operator>{one}), alone.SetInputs(std::vector<Operator>{one});
  right = right && alone.GetAllNodes().size() == 2 && owned.IsValid() && owned.GetAttr("whole", whole) == GRAPH_SUCCESS;
  right = right && Graph::ConstructFromInputs({one}, "made") && !Graph::ConstructFromInputs({}, "none");
  right = right && sum.GetInputConstData("x1", value) != GRAPH_SUCCESS;
  auto halves = op::SplitD("halves").set_attr_split_dim(1);
  right = right && halves.VerifyAllAttr() != GRAPH_SUCCESS && halves.VerifyAllAttr(true) == GRAPH_SUCCESS;
  std::printf("%s\n", GEGetErrorMsgV2().GetString());
  right = right && halves.set_attr_num_split(2).VerifyAllAttr() == GRAPH_SUCCESS;
  right = right && sum.InferShapeAndType() != GRAPH_SUCCESS;
  std::printf("%s\n", GEGetErrorMsgV2().GetString());
  right = right && !sum.GetSubgraph("body").IsValid() && sum.GetSubgraphNamesCount() == 0;
  std::printf("%s\n", GEGetErrorMsgV2().GetString());
  Graph graph("cache");
  std::vector<Operator> found;
  std::vector<AscendString> names;
  Operator there;
  right = right && graph.AddOp(sum) == GRAPH_SUCCESS && graph.AddOp(sum) != GRAPH_SUCCESS;
  right = right && graph.FindOpByName("sum", there) == GRAPH_SUCCESS && graph.FindOpByName("x", there) != GRAPH_SUCCESS;
  right = right && graph.FindOpByType("Add", found) == GRAPH_SUCCESS && found.size() == 1 && there.GetName() == "sum";
  return right && graph.GetAllOpName(names) == GRAPH_SUCCESS && names == std::vector<AscendString>{"sum"};
}

// A graph that is made of nodes, one by one; it is the same when it was in a file.
bool nodes(Session& session) {
  auto x = op::Data("x");
  x.update_output_desc_y(of({3}));
  auto one = ones("one");
  auto sum = op::Add("sum"), extra = op::Add("extra");
  sum.SetInputAttr("x2", "of", 11);
  Graph graph("nodes"), read("read");
  bool right = !graph.IsValid() && graph.SetValid() == GRAPH_SUCCESS && graph.IsValid();
  GNode data = graph.AddNodeByOp(x), constant = graph.AddNodeByOp(one), node = graph.AddNodeByOp(sum);
  GNode unwired = graph.AddNodeByOp(extra);
  AscendString text;
  right = right && graph.AddNodeByOp(x).GetName(text) != GRAPH_SUCCESS && node.GetInputsSize() == 2;
  right = right && graph.AddDataEdge(data, 0, node, 0) == GRAPH_SUCCESS;
  right = right && graph.AddDataEdge(constant, 0, node, 1) == GRAPH_SUCCESS;
  graph.SetOutputs(std::vector<Operator>{extra}), graph.SetOutputs(std::vector<Operator>{sum});
  right = right && graph.RemoveNode(unwired, true) == GRAPH_SUCCESS && graph.GetAllNodes().size() == 4;
  int32_t index = 0;
  Tensor value;
  TensorDesc desc;
  right = right && node.GetInputIndexByName("x2", index) == GRAPH_SUCCESS && index == 1;
  right = right && node.GetOutputIndexByName("x2", index) == GRAPH_SUCCESS && index == -1;
  right = right && node.GetInputConstData(1, value) == GRAPH_SUCCESS && value.GetSize() == 12;
  right = right && node.GetInputConstData(0, value) != GRAPH_SUCCESS && node.GetOutputDesc(1, desc) != GRAPH_SUCCESS;
  right = right && node.UpdateOutputDesc(0, TensorDesc(Shape({3}), FORMAT_NCHW, DT_FLOAT)) == GRAPH_SUCCESS;
  right = right && node.GetOutputDesc(0, desc) == GRAPH_SUCCESS && desc.GetFormat() == FORMAT_NCHW;
  right = right && desc.GetShape().GetDims() == std::vector<int64_t>{3} && desc.GetDataType() == DT_FLOAT;
  std::vector<AscendString> list = {"a", "b"}, again;
  std::vector<uint8_t> bytes = {1};
  AttrValue whole;
  whole.SetAttrValue(int64_t(12));
  right = right && node.SetAttr("_list", list) == GRAPH_SUCCESS && node.HasAttr("_list") && !node.HasAttr("other");
  right = right && node.SetAttr("bytes", bytes) != GRAPH_SUCCESS && graph.SetAttr("whole", whole) == GRAPH_SUCCESS;
  right = right && graph.SaveToFile("nodes.air") == GRAPH_SUCCESS;
  right = right && read.LoadFromFile(std::string("nodes.air")) == GRAPH_SUCCESS;
  int64_t number = 0;
  right = right && read.GetAttr("whole", whole) == GRAPH_SUCCESS && whole.GetAttrValue(number) == GRAPH_SUCCESS &&
          number == 12;
  for (const GNode& loaded : read.GetAllNodes()) {
    if (loaded.GetName(text) != GRAPH_SUCCESS || text != "sum") continue;
    right = right && loaded.GetAttr("_list", again) == GRAPH_SUCCESS && again == list;
    right = right && loaded.GetInputAttr("of", 1, whole) == GRAPH_SUCCESS &&
            whole.GetAttrValue(number) == GRAPH_SUCCESS && number == 11;
  }
  Graph made("made");
  const std::vector<TensorDesc> two = {of({3}), of({3})}, three = {of({3}), of({3}), of({3})};
  right = right && aclgrphGenerateForOp("Add", two, {of({3})}, made) == GRAPH_SUCCESS;
  right = right && aclgrphGenerateForOp("Add", three, {of({3})}, made) != GRAPH_SUCCESS;
  right = right && aclgrphGenerateForOp("NoSuchOperator", two, {of({3})}, made) != GRAPH_SUCCESS;
  std::printf("%s\n", GEGetErrorMsgV2().GetString());
  const std::map<AscendString, AscendString> none;
  const Tensor given = tensor(of({3}), {1, 2, 3});
  std::vector<Tensor> first, second, third;
  session.AddGraph(10, graph, none), session.AddGraph(11, read, none), session.AddGraph(12, made, none);
  right = right && session.RunGraph(10, {given}, first) == SUCCESS && session.RunGraph(11, {given}, second) == SUCCESS;
  right = right && session.RunGraph(12, {given, given}, third) == SUCCESS;
  return right && same(first, {tensor(of({3}), {2, 3, 4})}) && same(first, second) &&
         same(third, {tensor(of({3}), {2, 4, 6})});
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
    if (right && (fault == "written"      ? written(session, graph, inputs)
                  : fault == "edges"      ? edges(graph)
                  : fault == "parsed"     ? parsed(session)
                  : fault == "variables"  ? variables(session)
                  : fault == "attributes" ? attributes()
                  : fault == "operators"  ? operators()
                  : fault == "nodes"      ? nodes(session)
                                          : false))
      std::printf("as it was\n");
  }
  GEFinalize();
  return status;
}
