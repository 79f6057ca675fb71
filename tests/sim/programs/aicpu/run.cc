// Runs the operators of kernels.cc in a graph, or by aclopExecuteV2. Arguments: what to do.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "ge/ge_api.h"
#include "graph/graph.h"
#include "proto.h"

namespace ge {
REG_OP(Data)
    .INPUT(x, TensorType::ALL())
    .OUTPUT(y, TensorType::ALL())
    .ATTR(index, Int, 0)
    .OP_END_FACTORY_REG(Data) REG_OP(Neg)
    .INPUT(x, TensorType::ALL())
    .OUTPUT(y, TensorType::ALL())
    .OP_END_FACTORY_REG(Neg)
}  // namespace ge
using namespace ge;

namespace {

template <typename T>
void print(const T* values, size_t count) {
  for (size_t i = 0; i < count; ++i) std::printf("%g ", double(values[i]));
  std::printf("\n");
}

int in_a_graph(const std::string& what) {
  std::map<AscendString, AscendString> options = {{"ge.exec.deviceId", "0"}};
  if (GEInitialize(options) != SUCCESS) return 2;
  int status = 1;
  {
    Session session(options);
    const TensorDesc desc(Shape({4}), FORMAT_ND, DT_FLOAT);
    const float x[] = {1, -2, 3, 4};
    auto data = op::Data("data").set_attr_index(0);
    data.update_input_desc_x(desc);
    data.update_output_desc_y(desc);
    auto negative = op::Neg("negative").set_input_x(data);
    Graph graph("of_ai_cpu");
    graph.SetInputs({data});
    if (what == "weigh") {
      auto weigh = op::Weigh("weigh").set_input_x(data).set_input_w(negative).set_attr_factor(0.5f);
      graph.SetOutputs({op::Neg("last").set_input_x(weigh)});
    } else {
      graph.SetOutputs({op::Neg("last").set_input_x(op::Positive("positive").set_input_x(data))});
    }
    const Tensor input(desc, reinterpret_cast<const uint8_t*>(x), sizeof x);
    std::vector<Tensor> outputs;
    if (session.AddGraph(1, graph) == SUCCESS && session.RunGraph(1, {input}, outputs) == SUCCESS) {
      print(reinterpret_cast<const float*>(outputs[0].GetData()),
            size_t(outputs[0].GetTensorDesc().GetShape().GetDim(0)));
      status = 0;
    }
  }
  GEFinalize();
  return status;
}

int by_type(const std::string& type, const std::string& what) {
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtStream stream;
  aclrtCreateStream(&stream);
  const int64_t dims[] = {8};
  const bool whole = type == "Number" || type == "Own" || what == "whole";
  const aclDataType dtype = whole ? ACL_INT32 : ACL_FLOAT;
  std::vector<aclTensorDesc*> in, out = {aclCreateTensorDesc(dtype, 1, dims, ACL_FORMAT_ND)};
  std::vector<aclDataBuffer*> given, made;
  const auto buffer = [](bool filled) {
    void* memory;
    aclrtMalloc(&memory, 32, ACL_MEM_MALLOC_HUGE_FIRST);
    const float values[] = {1, -2, 3, -4, 5, -6, 7, -8};
    if (filled) aclrtMemcpy(memory, 32, values, 32, ACL_MEMCPY_HOST_TO_DEVICE);
    return aclCreateDataBuffer(memory, 32);
  };
  for (int i = 0; i < (type == "Weigh" ? 2 : 1); ++i) {
    in.push_back(aclCreateTensorDesc(dtype, 1, dims, ACL_FORMAT_ND));
    given.push_back(buffer(true));
  }
  float on_host[] = {1, -2, 3, -4, 5, -6, 7, -8};
  if (what == "host") aclSetTensorConst(in[0], on_host, sizeof on_host);
  made.push_back(buffer(false));
  aclopAttr* attr = aclopCreateAttr();
  if (type == "Weigh") aclopSetAttrString(attr, "mode", what.c_str());
  if (what == "many") aclopSetAttrInt(attr, "most", 9);
  const auto run = [&] {
    const int compiled = aclopCompile(type.c_str(), int(in.size()), in.data(), 1, out.data(), attr, ACL_ENGINE_SYS,
                                      ACL_COMPILE_SYS, nullptr);
    if (compiled) return compiled;
    return aclopExecuteV2(type.c_str(), int(in.size()), in.data(), given.data(), 1, out.data(), made.data(), attr,
                          stream);
  };
  const int launched = run();
  std::fill(on_host, on_host + 8, 0.0f);  // the caller may, once it is launched
  const int done = aclrtSynchronizeStream(stream);
  int64_t size = -1;
  aclGetTensorDescDimV2(out[0], 0, &size);
  std::printf("launched %d done %d shape %ld\n", launched, done, long(size));
  if (launched || done) {
    const char* why = aclGetRecentErrMsg();
    return std::printf("%s\n", why ? why : ""), 0;
  }
  float back[8];
  aclrtMemcpy(back, 32, aclGetDataBufferAddr(made[0]), 32, ACL_MEMCPY_DEVICE_TO_HOST);
  if (whole) print(reinterpret_cast<const int32_t*>(back), 8);
  else print(back, size_t(size));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string first = arguments[1];
  return count == 2 ? in_a_graph(first) : by_type(first, arguments[2]);
}
