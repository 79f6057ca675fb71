// Builds a graph from the prototypes of the toolkit and runs it: y = x·w + 1, and the two halves of y turned.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ge/ge_api.h"
#include "graph/graph.h"
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
    if (right && graph.SaveToFile("graph.air") == GRAPH_SUCCESS) std::printf("written ");
    std::printf("status %d\n", status);
  }
  GEFinalize();
  return status;
}
