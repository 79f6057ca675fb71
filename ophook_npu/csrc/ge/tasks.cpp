#include "tasks.h"

#include <cstring>

#include "acl/error_codes/ge_error_codes.h"
#include "acl/error_codes/rt_error_codes.h"
#include "core/channel.h"
#include "core/order_api.h"
#include "core/sim.h"
#include "core/touch.h"
#include "print.h"
#include "registry.h"

namespace gesim {
namespace {

// What a task has in its `keep` goes back with it.
template <typename T>
void drop_task(void* self) {
  const std::unique_ptr<T> task(static_cast<T*>(self));
  if (sim_order_on())
    for (const Keep& each : task->keep) sim_order_let_go(each.get());
}

// A failure where a kernel cannot reach these bytes.
int reach(const std::string& where, const std::string& what, const void* data, size_t size) {
  const char* problem = sim_memory_problem(what.c_str(), data, size);
  return problem ? sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "%s: %s", where.c_str(), problem) : 0;
}

void touch(sim_listener* listener, bool writes, const ge_tensor& tensor) {
  if (const int64_t size = byte_size(tensor); size > 0) sim::touch(listener, writes, tensor.data, size_t(size));
}

struct KernelTask : NodeTask {
  int unreachable() const {
    const Node& of = graph->graph.nodes[node];
    const auto check = [&](const char* side, const std::string& name, const ge_tensor& tensor) {
      const int64_t size = byte_size(tensor);
      if (size <= 0 || sim_memory_reach(tensor.data, static_cast<size_t>(size))) return 0;
      return reach(graph->where(node), side + name + "'", tensor.data, static_cast<size_t>(size));
    };
    int code = 0;
    for (size_t i = 0; i < inputs.size() && !code; ++i)
      if (on_device[i]) code = check("input '", of.input_desc[i].name, inputs[i]);
    for (size_t i = 0; i < outputs.size() && !code; ++i) code = check("output '", of.output_desc[i].name, outputs[i]);
    return code;
  }

  static int run(void* self) {
    auto* task = static_cast<KernelTask*>(self);
    if (int code = task->unreachable()) return code;
    const Node& node = task->graph->graph.nodes[task->node];
    ge_call call = {node.type.c_str(),
                    task->inputs.data(),
                    task->inputs.size(),
                    task->outputs.data(),
                    task->outputs.size(),
                    task->graph->attrs[task->node].data(),
                    task->graph->attrs[task->node].size(),
                    task->graph->counts[task->node].data()};
    char error[1024] = "";
    const int failed = kernels().run(&call, error, sizeof error);
    if (!failed) return 0;
    return sim_fail(failed > 1 ? failed : ACL_ERROR_GE_INTERNAL_ERROR, "%s: %s", task->graph->where(task->node).c_str(),
                    error);
  }

  static void tell(const void* self, sim_listener* listener) {
    const auto* task = static_cast<const KernelTask*>(self);
    listener->node(listener, task->graph->graph.nodes[task->node].name.c_str());
    if (listener->graph) listener->graph(listener, task->graph->graph.name.c_str());
    for (size_t i = 0; i < task->inputs.size(); ++i) {
      ge_tell(listener, false, &task->inputs[i], 1);
      if (task->on_device[i]) touch(listener, false, task->inputs[i]);
    }
    for (const ge_tensor& output : task->outputs) {
      ge_tell(listener, true, &output, 1);
      touch(listener, true, output);
    }
  }
  static constexpr sim_about kAbout{sim_task_operator, tell};
};

struct CopyTask {
  std::string where;
  Copy copy;
  std::vector<Keep> keep;

  static int run(void* self) {
    const auto& [where, copy, keep] = *static_cast<CopyTask*>(self);
    if (copy.to == copy.from) return 0;
    if (int code = reach(where, "destination", copy.to, copy.size)) return code;
    if (int code = copy.from_host ? 0 : reach(where, "source", copy.from, copy.size)) return code;
    std::memmove(copy.to, copy.from, copy.size);
    return 0;
  }

  static void tell(const void* self, sim_listener* listener) {
    const Copy& copy = static_cast<const CopyTask*>(self)->copy;
    if (copy.to == copy.from) return;
    if (!copy.from_host) sim::touch(listener, false, copy.from, copy.size);
    sim::touch(listener, true, copy.to, copy.size);
  }
  static constexpr sim_about kAbout{sim_task_other, tell};
};

constexpr const char* kPrinted = "_npu_log";  // the channel that torchair opens for what graphs print

struct PrintTask : NodeTask {
  int device;

  static int run(void* self) {
    const auto& task = *static_cast<PrintTask*>(self);
    const Node& node = task.graph->graph.nodes[task.node];
    for (size_t i = 0; i < task.inputs.size(); ++i)
      if (task.on_device[i])
        if (int code = reach(task.graph->where(task.node), "input '" + node.input_desc[i].name + "'",
                             task.inputs[i].data, static_cast<size_t>(byte_size(task.inputs[i]))))
          return code;
    const std::string text = format_text(node, task.inputs);
    sim_channel_send(task.device, kPrinted, text.data(), text.size());
    return 0;
  }

  static void tell(const void* self, sim_listener* listener) {
    const auto& task = *static_cast<const PrintTask*>(self);
    for (size_t i = 0; i < task.inputs.size(); ++i)
      if (task.on_device[i]) touch(listener, false, task.inputs[i]);
  }
  static constexpr sim_about kAbout{sim_task_other, tell};
};

template <typename T>
std::string launch(void* stream, const char* name, T task) {
  return sim_launch_about(stream, name, &T::kAbout, T::run, new T(std::move(task)), drop_task<T>) ? last_error() : "";
}

const char* type_of(const NodeTask& task) { return task.graph->graph.nodes[task.node].type.c_str(); }

}  // namespace

std::string last_error() {
  const char* text = sim_error_message();
  return text ? text : "unknown error";
}

std::string launch_kernel(void* stream, NodeTask task) {
  const char* type = type_of(task);
  return launch(stream, type, KernelTask{std::move(task)});
}

std::string launch_print(void* stream, int device, NodeTask task) {
  const char* type = type_of(task);
  return launch(stream, type, PrintTask{std::move(task), device});
}

std::string launch_copy(void* stream, const char* name, std::string where, const Copy& copy, std::vector<Keep> keep) {
  return copy.size ? launch(stream, name, CopyTask{std::move(where), copy, std::move(keep)}) : "";
}

}  // namespace gesim
