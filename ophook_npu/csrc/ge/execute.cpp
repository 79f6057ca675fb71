#include "execute.h"

#include <algorithm>
#include <cstring>

#include "aclnn_call.h"
#include "aicpu_call.h"
#include "eager_call.h"
#include "core/sim.h"
#include "registry.h"
#include "tasks.h"

namespace gesim {
namespace {

// A tensor while the graph runs.
struct Slot {
  ge_tensor tensor{};  // data: on the device, or `value`'s bytes
  Bytes value;
  Keep owner;  // frees the memory behind `data`
  bool on_device = false;
};

class Run {
 public:
  Run(const std::shared_ptr<Compiled>& graph, void* stream, const Memory& memory, const std::vector<ge::Tensor>& inputs,
      std::vector<ge::Tensor>& outputs)
      : graph_(graph), stream_(stream), memory_(memory), inputs_(inputs), outputs_(outputs) {}

  std::string all() {
    const Compiled& graph = *graph_;
    if (inputs_.size() < graph.inputs.size())
      return "graph " + graph.graph.name + " has " + std::to_string(graph.inputs.size()) + " inputs, " +
             std::to_string(inputs_.size()) + " were given";
    if (outputs_.empty()) outputs_.resize(graph.outputs.size());
    if (outputs_.size() != graph.outputs.size())
      return "graph " + graph.graph.name + " has " + std::to_string(graph.outputs.size()) + " outputs, " +
             std::to_string(outputs_.size()) + " were given";
    slots_.resize(graph.graph.nodes.size());
    for (size_t i = 0; i < slots_.size(); ++i) slots_[i].resize(graph.known[i].size());
    for (position_ = 0; position_ < static_cast<int>(graph.order.size()); ++position_) {
      std::string problem = step(graph.order[position_]);
      if (!problem.empty()) return problem;
      if (!graph.is_static) release(graph.order[position_]);
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      std::string problem = finish_output(i);
      if (!problem.empty()) return problem;
    }
    return "";
  }

 private:
  std::string step(int index) {
    const Node& node = graph_->graph.nodes[index];
    if (graph_->engine[index] == Engine::kEager) return run_eager(index);
    if (graph_->engine[index] == Engine::kText) return print(index);
    if (graph_->engine[index] != Engine::kNone) {
      bool folded = !graph_->location[index].empty() && graph_->location[index][0].place == Place::kHost;
      return folded ? host_values(index) : run_node(index);
    }
    if (node.type == "Const" || node.type == "Constant") return constant(index);
    if (is_input(node)) return input(index);
    if (is_variable(node)) return variable(index);
    return "";
  }

  std::string host_values(int index) {
    for (size_t i = 0; i < slots_[index].size(); ++i) set_value(slots_[index][i], graph_->known[index][i]);
    return "";
  }

  static void set_value(Slot& slot, const Known& known) {
    slot.tensor = known.tensor;
    slot.value = known.value;
    slot.owner = known.value;
    slot.tensor.data = const_cast<uint8_t*>(known.value->data());
    slot.on_device = false;
  }

  std::string constant(int index) {
    Slot& slot = slots_[index][0];
    set_value(slot, graph_->known[index][0]);
    if (!memory_.constants.base) return "";
    slot.tensor.data = static_cast<char*>(memory_.constants.base) + graph_->location[index][0].offset;
    slot.on_device = true;
    return "";
  }

  std::string input(int index) {
    size_t position = graph_->location[index][0].index;
    const ge::Tensor& given = inputs_[position];
    const ge_tensor& declared = graph_->known[index][0].tensor;
    Slot& slot = slots_[index][0];
    ge_tensor& tensor = slot.tensor;
    tensor.dtype = given.GetDataType();
    tensor.rank = static_cast<int32_t>(given.GetShapeDimNum());
    if (tensor.rank > ge_max_rank) return graph_->where(index) + ": rank " + std::to_string(tensor.rank);
    for (int32_t i = 0; i < tensor.rank; ++i) tensor.dims[i] = given.GetShapeDim(static_cast<size_t>(i));
    if (ge_in_tiles(&declared)) {  // torchair hands over the sizes of the tiles
      if (!shape_known(declared))
        return graph_->where(index) + ": an input in FRACTAL_NZ whose shape is not known is not simulated";
      const int32_t dtype = tensor.dtype;
      tensor = declared;
      tensor.dtype = dtype;
    }
    // torchair hands a number over as one element of rank 1, to an input that it declares without dimensions.
    if (declared.rank == 0 && tensor.rank == 1 && tensor.dims[0] == 1) tensor.rank = 0;
    bool fits = tensor.dtype == declared.dtype && (declared.rank == tensor.rank || declared.rank < 0);
    for (int32_t i = 0; fits && i < declared.rank; ++i)
      fits = declared.dims[i] < 0 || declared.dims[i] == tensor.dims[i];
    if (!fits)
      return graph_->where(index) + ": input " + std::to_string(position) + " is " + describe(tensor) +
             ", the graph was compiled for " + describe(declared);
    auto* data = const_cast<uint8_t*>(given.GetData());
    if (given.GetPlacement() != ge::kPlacementHost) {
      tensor.data = data;
      slot.on_device = true;
      return "";
    }
    // The caller may reuse a host input as soon as this call returns.
    int64_t size = byte_size(tensor);
    if (size < 0) return graph_->where(index) + ": tensors of " + describe(tensor) + " are not simulated";
    if (size && !data)
      return graph_->where(index) + ": input " + std::to_string(position) + ", " + describe(tensor) +
             " on the host, was given without data";
    auto copy = std::make_shared<Buffer>();
    copy->reserve(static_cast<size_t>(size) + 1);
    copy->assign(data, data + size);
    slot.value = copy;
    slot.owner = copy;
    tensor.data = copy->data();
    return "";
  }

  std::string variable(int index) {
    Slot& slot = slots_[index][0];
    Variables::Variable found;
    const std::string problem =
        memory_.variables->find(graph_->graph.nodes[index].name, graph_->known[index][0].tensor, found);
    slot.tensor = found.tensor, slot.owner = found.owner, slot.on_device = true;
    return problem.empty() ? "" : graph_->where(index) + ": " + problem;
  }

  Slot& source(const Edge& edge) { return slots_[edge.node][edge.port]; }

  std::string run_node(int index) {
    const Node& node = graph_->graph.nodes[index];
    std::vector<ge_tensor> in;
    std::vector<bool> on_device;
    std::vector<Keep> keep = regions();
    for (const Edge& edge : node.inputs) {
      in.push_back(edge.node < 0 ? absent() : source(edge).tensor);
      on_device.push_back(edge.node >= 0 && source(edge).on_device);
      if (edge.node >= 0 && source(edge).owner && !stream_ordered(source(edge))) keep.push_back(source(edge).owner);
    }
    std::vector<ge_tensor> out;
    std::string problem = shapes(index, in, out);
    if (!problem.empty()) return problem;
    if (!graph_->is_static && fold_now(index, out, problem)) return "";
    if (!problem.empty()) return problem;
    for (size_t i = 0; i < out.size(); ++i) {
      problem = place(index, i, out[i]);
      if (!problem.empty()) return graph_->where(index) + ": " + problem;
      const Slot& slot = slots_[index][i];
      if (slot.owner && !stream_ordered(slot)) keep.push_back(slot.owner);
    }
    if (graph_->engine[index] == Engine::kAclnn || graph_->engine[index] == Engine::kAicpu)
      return run_package(index, in, out);
    bool alias = std::any_of(graph_->location[index].begin(), graph_->location[index].end(),
                             [](const Location& location) { return location.place == Place::kAlias; });
    bool empty =
        !out.empty() && std::all_of(out.begin(), out.end(), [](const ge_tensor& t) { return element_count(t) == 0; });
    if (empty && !alias) return "";
    return launch_kernel(stream_,
                         {graph_, index, std::move(in), std::move(out), std::move(on_device), std::move(keep)});
  }

  std::string print(int index) {
    int device = 0;
    if (sim_stream_device(stream_, &device)) return last_error();
    const Node& node = graph_->graph.nodes[index];
    NodeTask task{.graph = graph_, .node = index, .keep = regions()};
    for (const Edge& edge : node.inputs) {
      task.inputs.push_back(source(edge).tensor);
      task.on_device.push_back(source(edge).on_device);
      if (source(edge).owner && !stream_ordered(source(edge))) task.keep.push_back(source(edge).owner);
    }
    return launch_print(stream_, device, std::move(task));
  }

  static ge_tensor absent() {
    ge_tensor out{};
    out.dtype = ge_absent;
    return out;
  }

  // Output shapes: the compiled ones of a static graph, inferred from the real inputs otherwise.
  std::string shapes(int index, const std::vector<ge_tensor>& in, std::vector<ge_tensor>& out) {
    for (const Known& known : graph_->known[index]) out.push_back(known.tensor);
    if (graph_->is_static) return "";
    const Node& node = graph_->graph.nodes[index];
    auto known_in = in;
    for (size_t i = 0; i < in.size(); ++i)
      if (node.inputs[i].node < 0 || !source(node.inputs[i]).value) known_in[i].data = nullptr;
    for (size_t i = 0; i < in.size(); ++i)
      if (node.inputs[i].node >= 0 && source(node.inputs[i]).value)
        known_in[i].data = const_cast<uint8_t*>(source(node.inputs[i]).value->data());
    std::string problem = infer(*graph_, index, known_in, out);
    if (!problem.empty()) return problem;
    if (all_known(out)) return "";
    // The shape depends on values that the device is still computing.
    if (sim_stream_synchronize(stream_, -1)) return graph_->where(index) + ": " + last_error();
    sim_memory_open();
    problem = infer(*graph_, index, in, out);
    if (problem.empty() && !all_known(out) && tells_shapes(index)) problem = infer_largest(*graph_, index, in, out);
    sim_memory_close();
    if (problem.empty() && !all_known(out)) problem = graph_->where(index) + ": its output shape cannot be told";
    return problem;
  }

  bool tells_shapes(int index) const {
    return graph_->engine[index] == Engine::kAicpu && aicpu_tells_shapes(graph_->graph.nodes[index].type);
  }

  static bool all_known(const std::vector<ge_tensor>& tensors) {
    return std::all_of(tensors.begin(), tensors.end(), [](const ge_tensor& tensor) { return byte_size(tensor) >= 0; });
  }

  bool fold_now(int index, const std::vector<ge_tensor>& out, std::string& problem) {
    std::vector<Known> inputs, results;
    for (const Edge& edge : graph_->graph.nodes[index].inputs) {
      inputs.push_back(edge.node < 0 ? Known{absent(), nullptr} : Known{source(edge).tensor, source(edge).value});
      inputs.back().tensor.data = nullptr;
    }
    for (const ge_tensor& tensor : out) results.push_back(Known{tensor, nullptr});
    for (const Location& location : graph_->location[index])
      if (location.place == Place::kAlias) return false;
    if (!fold(*graph_, index, inputs, results, problem)) return false;
    for (size_t i = 0; i < results.size(); ++i) set_value(slots_[index][i], results[i]);
    return true;
  }

  std::string place(int index, size_t port, ge_tensor& tensor) {
    const Location& location = graph_->location[index][port];
    Slot& slot = slots_[index][port];
    auto size = static_cast<size_t>(byte_size(tensor));
    std::string problem;
    switch (location.place) {
      case Place::kAlias: {
        const Edge& edge = graph_->graph.nodes[index].inputs[location.index];
        if (!source(edge).on_device) problem = to_device(index, source(edge));
        slot.owner = source(edge).owner;
        tensor.data = source(edge).tensor.data;
        break;
      }
      case Place::kOutput: problem = output_memory(location.index, tensor, size, slot.owner); break;
      default:
        if (graph_->is_static && memory_.features.base) {
          if (memory_.features.size < graph_->feature_size)
            return "the feature memory given has " + std::to_string(memory_.features.size) +
                   " bytes, the graph needs " + std::to_string(graph_->feature_size);
          tensor.data = static_cast<char*>(memory_.features.base) + location.offset;
        } else {
          problem = allocate(size, tensor.data, slot.owner);
        }
    }
    slot.tensor = tensor;
    slot.on_device = true;
    return problem;
  }

  // A value that the host knows, in memory of its own, for an operator that writes there.
  std::string to_device(int index, Slot& slot) {
    const Slot known = slot;
    const auto size = static_cast<size_t>(byte_size(known.tensor));
    std::string problem = allocate(size, slot.tensor.data, slot.owner);
    if (!problem.empty()) return problem;
    slot.on_device = true;
    slot.value = nullptr;
    return launch_copy(stream_, "MemcpyH2D", graph_->where(index), {slot.tensor.data, known.tensor.data, size, true},
                       {known.owner, slot.owner});
  }

  // Memory of an external allocator may be given back while kernels that use it wait on the stream; memory of the
  // device itself must outlive them.
  bool stream_ordered(const Slot& slot) const { return slot.on_device && memory_.allocator != nullptr; }

  // The engine's own memory that kernels of this run may use.
  std::vector<Keep> regions() const {
    std::vector<Keep> out;
    for (const Region* region : {&memory_.constants, &memory_.features})
      if (region->owner) out.push_back(region->owner);
    return out;
  }

  std::string allocate(size_t size, void*& data, Keep& owner) {
    size = std::max<size_t>(size, 1);
    if (memory_.allocator) {
      ge::MemBlock* block = memory_.allocator->Malloc(size);
      if (!block) return "the external allocator has no " + std::to_string(size) + " bytes";
      data = block->GetAddr();
      owner = std::shared_ptr<void>(data, [block, allocator = memory_.allocator](void*) { block->Free(); });
      return "";
    }
    if (sim_malloc_by("the graph engine", nullptr, size, size, &data)) return last_error();
    owner = std::shared_ptr<void>(data, [](void* pointer) { sim_free(pointer); });
    return "";
  }

  // The caller's memory for an output, or new memory that the output then owns, together with the kernels that write
  // it.
  std::string output_memory(size_t position, ge_tensor& tensor, size_t size, Keep& owner) {
    ge::Tensor& output = outputs_[position];
    if (!output.GetData()) {
      std::string problem = allocate(size, tensor.data, owner);
      if (!problem.empty()) return problem;
      auto held = std::make_shared<Keep>(owner);
      output.SetData(static_cast<uint8_t*>(tensor.data), size, [held](uint8_t*) { held->reset(); });
      output.SetPlacement(ge::kPlacementDevice);
      output.SetFormat(ge::FORMAT_ND);
      output.SetDataType(static_cast<ge::DataType>(tensor.dtype));
    } else if (output.GetSize() < size) {
      return "output " + std::to_string(position) + " of the graph is " + describe(tensor) + ", its memory has " +
             std::to_string(output.GetSize()) + " bytes";
    }
    tensor.data = output.GetData();
    output.SetShapeDimNum(static_cast<size_t>(tensor.rank));
    output.SetOriginShapeDimNum(static_cast<size_t>(tensor.rank));
    for (int32_t i = 0; i < tensor.rank; ++i) {
      output.SetShapeDim(static_cast<size_t>(i), tensor.dims[i]);
      output.SetOriginShapeDim(static_cast<size_t>(i), tensor.dims[i]);
    }
    return "";
  }

  // An output that no node writes directly: an input or a constant passed through, a value that the host computed, or
  // the second use of one result.
  std::string finish_output(size_t position) {
    const Edge& edge = graph_->outputs[position];
    const Location& location = graph_->location[edge.node][edge.port];
    const Slot& slot = source(edge);
    // A node of a dynamic graph that the host computed has left its result there.
    if (location.place == Place::kOutput && location.index == position && slot.on_device) return "";
    ge_tensor tensor = slot.tensor;
    auto size = static_cast<size_t>(byte_size(tensor));
    Keep owner;
    std::string problem = output_memory(position, tensor, size, owner);
    if (!problem.empty()) return "graph " + graph_->graph.name + ": " + problem;
    std::vector<Keep> keep = regions();
    keep.push_back(graph_);
    if (owner && !memory_.allocator) keep.push_back(owner);
    if (slot.owner && !stream_ordered(slot)) keep.push_back(slot.owner);
    return launch_copy(stream_, "NetOutput", "graph " + graph_->graph.name + ", output " + std::to_string(position),
                       {tensor.data, slot.tensor.data, size, !slot.on_device}, std::move(keep));
  }

  // aclnn functions and AI CPU kernels only take device memory.
  std::string run_package(int index, std::vector<ge_tensor>& in, std::vector<ge_tensor>& out) {
    const Node& node = graph_->graph.nodes[index];
    std::vector<Keep> temporary;
    for (size_t i = 0; i < in.size(); ++i) {
      if (node.inputs[i].node < 0 || source(node.inputs[i]).on_device) continue;
      Keep owner;
      const void* from = in[i].data;
      auto size = static_cast<size_t>(byte_size(in[i]));
      std::string problem = allocate(size, in[i].data, owner);
      if (problem.empty())
        problem = launch_copy(stream_, "MemcpyH2D", graph_->where(index), {in[i].data, from, size, true},
                              {source(node.inputs[i]).owner});
      if (!problem.empty()) return graph_->where(index) + ": " + problem;
      temporary.push_back(owner);
    }
    const auto workspace = [&](size_t size) {
      void* data = nullptr;
      Keep owner;
      if (!allocate(size, data, owner).empty()) return static_cast<void*>(nullptr);
      temporary.push_back(owner);
      return data;
    };
    std::string problem = graph_->engine[index] == Engine::kAicpu ? aicpu_launch(node, in, out, stream_)
                                                                  : aclnn_launch(node, in, out, stream_, workspace);
    for (size_t i = 0; problem.empty() && i < out.size() && !graph_->is_static && tells_shapes(index); ++i) {
      slots_[index][i].tensor = out[i];
      const Location& location = graph_->location[index][i];
      if (location.place == Place::kOutput) problem = output_memory(location.index, out[i], 0, slots_[index][i].owner);
    }
    for (size_t i = 0; problem.empty() && i < out.size(); ++i)
      for (size_t k = 0; problem.empty() && k < in.size(); ++k)
        // The function wrote this input in place, and later nodes read the output.
        if (node.output_desc[i].name == node.input_desc[k].name && out[i].data != in[k].data)
          problem = launch_copy(stream_, "MemcpyD2D", graph_->where(index),
                                {out[i].data, in[k].data, static_cast<size_t>(byte_size(out[i]))}, {});
    if (!problem.empty()) return graph_->where(index) + ": " + problem;
    return memory_.allocator && regions().empty() ? "" : keep_until_done(index, std::move(temporary));
  }

  // Calls the operator's own code, which launches on the stream and asks for memory as soon as it knows its outputs'
  // shapes.
  std::string run_eager(int index) {
    const Node& node = graph_->graph.nodes[index];
    const std::vector<size_t> ir = ir_inputs(node);
    std::vector<EagerInput> in;
    std::vector<Keep> temporary;
    bool wait = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Edge& edge = node.inputs[i];
      if (edge.node < 0) {
        in.push_back({absent()});
        continue;
      }
      const Slot& slot = source(edge);
      in.push_back({slot.tensor, slot.value ? slot.value->size() : static_cast<size_t>(byte_size(slot.tensor))});
      wait |= !slot.value && reads_value(node.type, ir[i]);
      if (!slot.value) continue;
      // The operator may read the value before what is on the stream has run: a copy of its own, there at once.
      void* data = nullptr;
      if (sim_malloc_by("the graph engine", nullptr, std::max<size_t>(in[i].size, 1), in[i].size, &data))
        return graph_->where(index) + ": " + last_error();
      sim_memory_open();
      std::memcpy(data, slot.value->data(), in[i].size);
      sim_memory_close();
      in[i].tensor.data = data;
      temporary.emplace_back(data, [](void* pointer) { sim_free(pointer); });
    }
    if (wait && sim_stream_synchronize(stream_, -1)) return graph_->where(index) + ": " + last_error();
    EagerOutputs outputs;
    outputs.allocate = [&](size_t i, ge_tensor& tensor) -> std::string {
      const ge_tensor& declared = graph_->known[index][i].tensor;
      if (tensor.dtype != declared.dtype)
        return "its output " + std::to_string(i) + " is " + describe(tensor) + ", the graph was compiled for " +
               describe(declared);
      if (graph_->is_static && describe(tensor) != describe(declared))
        return "its output " + std::to_string(i) + " is " + describe(tensor) + ", its InferShape told " +
               describe(declared);
      return place(index, i, tensor);
    };
    outputs.workspace = [&](size_t size, void** data) -> std::string {
      if (sim_malloc_by("the graph engine", nullptr, std::max<size_t>(size, 1), size, data)) return last_error();
      temporary.emplace_back(*data, [](void* pointer) { sim_free(pointer); });
      return "";
    };
    outputs.refer = [&](size_t output, size_t input) -> std::string {
      slots_[index][output] = source(node.inputs[input]);
      if (graph_->location[index][output].place != Place::kOutput) return "";
      ge_tensor tensor = slots_[index][output].tensor;
      const void* from = tensor.data;
      std::string problem = place(index, output, tensor);
      if (!problem.empty()) return problem;
      return launch_copy(stream_, "MemcpyD2D", graph_->where(index),
                         {tensor.data, from, static_cast<size_t>(byte_size(tensor)), !slots_[index][output].on_device},
                         {});
    };
    std::string problem = eager_launch(node, in, stream_, outputs);
    return problem.empty() ? keep_until_done(index, std::move(temporary)) : graph_->where(index) + ": " + problem;
  }

  // Our own memory goes back to the device only when the kernels before this point are done.
  std::string keep_until_done(int index, std::vector<Keep> temporary) {
    const Node& node = graph_->graph.nodes[index];
    for (const Edge& edge : node.inputs)
      if (edge.node >= 0 && source(edge).owner && !stream_ordered(source(edge)))
        temporary.push_back(source(edge).owner);
    for (const Slot& slot : slots_[index])
      if (slot.owner && !stream_ordered(slot)) temporary.push_back(slot.owner);
    for (Keep& region : regions()) temporary.push_back(std::move(region));
    if (temporary.empty()) return "";
    static char nothing;
    return launch_copy(stream_, "Release", "", {&nothing, &nothing, 1}, std::move(temporary));
  }

  // Gives back what no later node of a dynamic graph reads.
  void release(int index) {
    auto drop_unless_needed = [&](const Edge& edge) {
      if (edge.node < 0 || graph_->location[edge.node][edge.port].last_use > position_) return;
      for (const Edge& output : graph_->outputs)
        if (output.node == edge.node && output.port == edge.port) return;
      Slot& slot = source(edge);
      if (slot.on_device && graph_->location[edge.node][edge.port].place == Place::kFeature) slot.owner = nullptr;
    };
    for (const Edge& edge : graph_->graph.nodes[index].inputs) drop_unless_needed(edge);
  }

  std::shared_ptr<Compiled> graph_;
  void* stream_;
  Memory memory_;
  const std::vector<ge::Tensor>& inputs_;
  std::vector<ge::Tensor>& outputs_;
  std::vector<std::vector<Slot>> slots_;
  int position_ = 0;
};

}  // namespace

std::string Variables::find(const std::string& name, const ge_tensor& wanted, Variable& out) {
  std::lock_guard<std::mutex> lock(mutex_);
  Variable& one = all_[name];
  if (!one.owner) {
    const auto size = std::max<size_t>(static_cast<size_t>(byte_size(wanted)), 1);
    void* data = nullptr;
    if (sim_malloc_by("the graph engine", nullptr, size, size, &data)) return last_error();
    one = {wanted, std::shared_ptr<void>(data, [](void* pointer) { sim_free(pointer); })};
    one.tensor.data = data;
  }
  if (describe(one.tensor) != describe(wanted))
    return "another graph of the session has this variable as " + describe(one.tensor) + ", it is " + describe(wanted) +
           " here";
  out = one;
  return "";
}

bool Variables::get(const std::string& name, Variable& out) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = all_.find(name);
  if (found == all_.end() || !found->second.owner) return false;
  out = found->second;
  return true;
}

std::string upload_constants(const std::shared_ptr<Compiled>& graph, void* stream, const Memory& memory) {
  if (!memory.constants.base) return "";
  if (memory.constants.size < graph->const_size)
    return "the constant memory given has " + std::to_string(memory.constants.size) + " bytes, the graph needs " +
           std::to_string(graph->const_size);
  for (int index : graph->order) {
    if (graph->location[index].empty() || graph->location[index][0].place != Place::kConst) continue;
    const Bytes& value = graph->known[index][0].value;
    void* to = static_cast<char*>(memory.constants.base) + graph->location[index][0].offset;
    std::string problem =
        launch_copy(stream, "Const", "graph " + graph->graph.name + ", node " + graph->graph.nodes[index].name,
                    {to, value->data(), value->size(), true}, {value, memory.constants.owner});
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string execute(const std::shared_ptr<Compiled>& graph, void* stream, const Memory& memory,
                    const std::vector<ge::Tensor>& inputs, std::vector<ge::Tensor>& outputs) {
  return Run(graph, stream, memory, inputs, outputs).all();
}

}  // namespace gesim
