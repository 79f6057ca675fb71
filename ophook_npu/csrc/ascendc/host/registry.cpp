// The registry: part of every operator's host library, and of libopp_registry.so for programs.
#include "registry.h"

#include <algorithm>

#include "templates.h"

#ifndef OPHOOK_PROGRAM_REGISTRY
#include "host.h"
// Who takes the registry out of an archive takes the C interface, too.
[[gnu::used]] static const char* (*const with_interface)() = &ascendc_describe;
#else
// For programs that load a library which registers here.
extern "C" OPHOOK_REGISTRY const void* ophook_registered_functions(const char* type) {
  return ophook::host::registered_functions(type);
}
#endif

namespace ophook::host {

Registry& registry() {
  static Registry all;
  return all;
}

// What AddConfig says of a processor stands before what a source of its own does.
ops::OpDef& settled(ops::OpDef& op) {
  auto& others = registry().configs[op.type];
  for (auto& [soc, config] : others) {
    const auto& socs = op.core.socs;
    if (std::find(socs.begin(), socs.end(), soc) == socs.end()) op.core.AddConfig(soc.c_str(), config);
  }
  others.clear();
  op.settle();
  return op;
}
ConfigRegistration::ConfigRegistration(const char* type, const char* soc, ops::OpAICoreConfig (*config)()) {
  registry().configs[type].emplace_back(soc, config());
}

namespace {

// Of an operator without an inference of its own, whose outputs follow an input's shape or that of an output before.
ge::graphStatus follow_shapes(gert::InferShapeContext* context) {
  const ops::OpDef& op = settled(*registry().ops.at(context->GetNodeType()));
  const auto place = [](const auto& all, const std::string& name) {
    return size_t(std::find_if(all.begin(), all.end(), [&](const auto& p) { return p->name == name; }) - all.begin());
  };
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const std::string& name = op.outputs[i]->follows;
    const size_t input = place(op.inputs, name), output = place(op.outputs, name);
    const gert::Shape* followed = input < op.inputs.size() ? context->GetRequiredInputShape(input)
                                  : output < i             ? context->GetOutputShape(output)
                                                           : nullptr;
    if (!followed) return ge::GRAPH_FAILED;
    *context->GetOutputShape(i) = *followed;
  }
  return ge::GRAPH_SUCCESS;
}
bool all_follow_shapes(const ops::OpDef& op) {
  return !op.outputs.empty() && std::all_of(op.outputs.begin(), op.outputs.end(), [](const auto& p) {
    return p->as_other(ops::FollowType::SHAPE) && p->kind != ops::DYNAMIC;
  });
}

}  // namespace

bool only_operator() { return registry().ops.size() == 1; }
Functions& functions_of(const char* type) { return registry().functions[type]; }
const Functions* registered_functions(const char* type) {
  const auto found = type ? registry().functions.find(type) : registry().functions.end();
  return found == registry().functions.end() ? nullptr : &found->second;
}

Registration::Registration(std::unique_ptr<ops::OpDef> op) {
  Functions& functions = functions_of(op->type.c_str());
  if (op->core.tiling) functions.tiling = op->core.tiling;
  if (op->infer_shape) functions.infer_shape = op->infer_shape;
  if (!functions.infer_shape && all_follow_shapes(*op)) functions.infer_shape = follow_shapes;
  if (op->infer_dtype) functions.infer_datatype = op->infer_dtype;
  if (op->infer_range) functions.infer_shape_range = op->infer_range;
  const std::string type = op->type;
  registry().ops[type] = std::move(op);
}
void register_tiling(const char* key, const char* name, MakeTiling make) { registry().tilings[key] = {name, make}; }

}  // namespace ophook::host
