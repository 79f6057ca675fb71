#include "custom.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "aclnn_call.h"
#include "aicpu_call.h"
#include "compiled.h"
#include "core/sim.h"
#include "registry.h"

namespace gesim {
namespace {

// The names of so many tensors in the order of a prototype's ports: a dynamic one has those that the others leave.
std::string name_tensors(const std::vector<ge::IrPort>& ports, size_t count, const ge_tensor* tensors,
                         std::vector<Desc>& to) {
  const auto dynamic = [](const ge::IrPort& port) { return port.kind == ge::IrPort::kDynamic; };
  const auto lists = static_cast<size_t>(std::count_if(ports.begin(), ports.end(), dynamic));
  const size_t single = ports.size() - lists;
  if (lists > 1) return "it has " + std::to_string(lists) + " lists of tensors, which is not simulated for one call";
  if (count < single || (!lists && count > single))
    return "it has " + std::to_string(count) + " tensors on a side, its prototype " + std::to_string(single);
  for (const ge::IrPort& port : ports) {
    const size_t many = dynamic(port) ? count - single : 1;
    for (size_t i = 0; i < many; ++i) {
      const ge_tensor& tensor = tensors[to.size()];
      Desc& desc = to.emplace_back();
      desc.name = dynamic(port) ? port.name + std::to_string(i) : port.name;
      desc.dtype = tensor.dtype;
      desc.dims.assign(tensor.dims, tensor.dims + std::max(tensor.rank, 0));
    }
  }
  return "";
}

Attr to_attr(const ge_attr& from) {
  static constexpr Attr::Kind kKinds[] = {Attr::kInt,  Attr::kFloat,  Attr::kBool, Attr::kString, Attr::kType,
                                          Attr::kInts, Attr::kFloats, Attr::kNone, Attr::kNone};
  Attr to;
  to.kind = kKinds[from.kind];
  to.i = from.i;
  to.f = static_cast<float>(from.f);
  if (from.s) to.s = from.s;
  if (from.ints) to.ints.assign(from.ints, from.ints + from.count);
  if (from.floats) to.floats.assign(from.floats, from.floats + from.count);
  return to;
}

std::string to_node(const ge_call& call, Node& node) {
  node.name = node.type = call.type;
  const ge::Operator op = create(node.name, node.type);
  const ge::OperatorImpl& prototype = *ge::OpDescUtils::impl(op);
  std::string problem = name_tensors(prototype.inputs, call.input_count, call.inputs, node.input_desc);
  if (problem.empty()) problem = name_tensors(prototype.outputs, call.output_count, call.outputs, node.output_desc);
  for (size_t i = 0; i < call.attr_count; ++i) {
    const ge_attr& attr = call.attrs[i];
    const bool known = std::any_of(prototype.ir_attrs.begin(), prototype.ir_attrs.end(),
                                   [&](const ge::IrAttr& one) { return one.name == attr.name; });
    if (known && attr.kind >= ge_attr_int_lists && problem.empty())
      problem = std::string("its attribute '") + attr.name + "' is of a kind that is not simulated for one call";
    if (known) node.attrs[attr.name] = to_attr(attr);
  }
  return problem;
}

// No exception may leave this library.
template <typename F>
int report(char* error, size_t capacity, F f) {
  std::string problem;
  try {
    problem = f();
  } catch (const std::exception& thrown) {
    problem = thrown.what();
  }
  if (!problem.empty()) std::snprintf(error, capacity, "%s", problem.c_str());
  return !problem.empty();
}

}  // namespace
}  // namespace gesim

using namespace gesim;

int ophook_ge_custom_exists(const char* type) {
  return aclnn_exists(type) || (registered_by_library(type) && aicpu_exists(type));
}

int ophook_ge_custom_infer(const ge_call* call, char* error, size_t capacity) {
  return report(error, capacity, [&] {
    Compiled one;
    one.graph.name = "of one operator";
    std::string problem = to_node(*call, one.graph.nodes.emplace_back());
    if (!problem.empty()) return problem;
    one.engine = {Engine::kAclnn};
    const std::vector<ge_tensor> inputs(call->inputs, call->inputs + call->input_count);
    std::vector<ge_tensor> outputs(call->output_count);
    problem = infer(one, 0, inputs, outputs);
    std::copy(outputs.begin(), outputs.end(), call->outputs);
    return problem;
  });
}

int ophook_ge_custom_launch(const ge_call* call, void* stream, char* error, size_t capacity) {
  int failed = 0;
  const int refused = report(error, capacity, [&] {
    Node node;
    std::string problem = to_node(*call, node);
    if (!problem.empty()) return problem;
    const std::vector<ge_tensor> inputs(call->inputs, call->inputs + call->input_count);
    std::vector<ge_tensor> outputs(call->outputs, call->outputs + call->output_count);
    if (!aclnn_exists(node.type)) {
      problem = aicpu_launch(node, inputs, outputs, stream, &failed);
      std::copy(outputs.begin(), outputs.end(), call->outputs);
      return problem;
    }
    std::vector<void*> workspaces;
    problem = aclnn_launch(node, inputs, outputs, stream, [&](size_t size) {
      void* memory = nullptr;
      if (sim_malloc(size, &memory) == 0) workspaces.push_back(memory);
      return memory;
    });
    // Behind it on the stream: until then it is in use.
    for (void* memory : workspaces)
      sim_launch(stream, "Free", [](void*) { return 0; }, memory, [](void* done) { sim_free(done); });
    return problem;
  });
  return failed ? failed : refused;
}
