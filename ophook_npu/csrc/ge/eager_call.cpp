#include "eager_call.h"

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "core/sim.h"
#include "include/graph/custom_op.h"
#include "include/register/op_impl_registry.h"
#include "registry.h"

namespace gesim {
namespace {

struct Registered {
  std::mutex mutex;
  std::map<std::string, ge::EagerExecuteOp* (*)()> makers;
  std::map<std::string, std::set<size_t>> value_inputs;
};

// Static constructors of any library may register before this file's own statics exist.
Registered& all() {
  static auto* one = new Registered;
  return *one;
}

gert::StorageShape to_shape(const ge_tensor& tensor) {
  gert::StorageShape out;
  for (gert::Shape* shape : {&out.MutableOriginShape(), &out.MutableStorageShape()}) {
    shape->SetDimNum(static_cast<size_t>(tensor.rank));
    for (int32_t i = 0; i < tensor.rank; ++i) shape->SetDim(static_cast<size_t>(i), tensor.dims[i]);
  }
  return out;
}

class Context final : public gert::EagerOpExecutionContext {
 public:
  Context(const Node& node, const std::vector<EagerInput>& inputs, void* stream, const EagerOutputs& outputs)
      : node_(node),
        ir_(ir_inputs(node)),
        stream_(stream),
        how_(outputs),
        outputs_(node.output_desc.size()),
        made_(node.output_desc.size()) {
    for (const EagerInput& input : inputs) {
      bool absent = input.tensor.dtype == ge_absent;
      inputs_.push_back(absent ? gert::Tensor()
                               : gert::Tensor(static_cast<ge::DataType>(input.tensor.dtype), to_shape(input.tensor),
                                              input.tensor.data, input.size));
      fed_.push_back(!absent);
    }
    ge::Operator op = create(node.name, node.type);
    size_t at = 0;
    for (const ge::IrPort& port : ge::OpDescUtils::impl(op)->outputs) {
      size_t count = 1;
      if (port.kind == ge::IrPort::kDynamic)
        for (count = 0; at + count < node.output_desc.size() &&
                        node.output_desc[at + count].name == port.name + std::to_string(count);)
          ++count;
      instances_.emplace_back(count);
      at += count;
    }
  }

  const gert::Tensor* GetInputTensor(size_t index) const override {
    return index < inputs_.size() && fed_[index] ? &inputs_[index] : nullptr;
  }
  const gert::Tensor* GetRequiredInputTensor(size_t ir) const override { return GetDynamicInputTensor(ir, 0); }
  const gert::Tensor* GetOptionalInputTensor(size_t ir) const override { return GetDynamicInputTensor(ir, 0); }
  const gert::Tensor* GetDynamicInputTensor(size_t ir, size_t index) const override {
    for (size_t i = 0; i < ir_.size(); ++i)
      if (ir_[i] == ir) return i + index < ir_.size() && ir_[i + index] == ir ? GetInputTensor(i + index) : nullptr;
    return nullptr;
  }
  const gert::Tensor* GetOutputTensor(size_t index) const override {
    return index < outputs_.size() && made_[index] ? &outputs_[index] : nullptr;
  }
  const gert::InstanceInfo* GetIrOutputInstanceInfo(size_t ir) const override {
    return ir < instances_.size() ? &instances_[ir] : nullptr;
  }
  gert::Tensor* MallocOutputTensor(size_t index, const gert::StorageShape& shape, const gert::StorageFormat&,
                                   ge::DataType dtype) override {
    if (index >= outputs_.size()) return fail("it has no output " + std::to_string(index));
    const gert::Shape& dims = shape.GetStorageShape();
    if (dims.GetDimNum() > ge_max_rank)
      return fail("its output " + std::to_string(index) + " has rank " + std::to_string(dims.GetDimNum()));
    ge_tensor tensor{};
    tensor.dtype = dtype;
    tensor.rank = static_cast<int32_t>(dims.GetDimNum());
    for (size_t i = 0; i < dims.GetDimNum(); ++i) tensor.dims[i] = dims.GetDim(i);
    std::string problem = how_.allocate(index, tensor);
    if (!problem.empty()) return fail(problem);
    outputs_[index] = gert::Tensor(dtype, shape, tensor.data, static_cast<size_t>(byte_size(tensor)));
    made_[index] = true;
    return &outputs_[index];
  }
  ge::Status MakeOutputRefInput(size_t output, size_t input) override {
    if (output >= outputs_.size() || !GetInputTensor(input)) {
      fail("output " + std::to_string(output) + " cannot be input " + std::to_string(input));
      return ge::FAILED;
    }
    std::string problem = how_.refer(output, input);
    if (!problem.empty()) fail(problem);
    made_[output] = problem.empty();
    return problem.empty() ? ge::SUCCESS : ge::FAILED;
  }
  void* GetStream() const override { return stream_; }

  std::string problem() const {
    if (!problem_.empty()) return problem_;
    for (size_t i = 0; i < made_.size(); ++i)
      if (!made_[i]) return "it gave no output '" + node_.output_desc[i].name + "'";
    return "";
  }
  const std::string& refusal() const { return problem_; }

 private:
  gert::Tensor* fail(const std::string& why) {
    if (problem_.empty()) problem_ = why;
    return nullptr;
  }

  const Node& node_;
  std::vector<size_t> ir_;
  void* stream_;
  const EagerOutputs& how_;
  std::vector<gert::Tensor> inputs_, outputs_;
  std::vector<bool> fed_, made_;
  std::vector<gert::InstanceInfo> instances_;
  std::string problem_;
};

}  // namespace

bool eager_exists(const std::string& type) {
  std::lock_guard<std::mutex> lock(all().mutex);
  return all().makers.count(type) != 0;
}

bool reads_value(const std::string& type, size_t ir_input) {
  std::lock_guard<std::mutex> lock(all().mutex);
  auto it = all().value_inputs.find(type);
  return it != all().value_inputs.end() && it->second.count(ir_input) != 0;
}

std::vector<size_t> ir_inputs(const Node& node) {
  ge::Operator op = create(node.name, node.type);
  const std::vector<ge::IrPort>& ports = ge::OpDescUtils::impl(op)->inputs;
  std::vector<size_t> out;
  for (size_t ir = 0; ir < ports.size(); ++ir) {
    if (ports[ir].kind != ge::IrPort::kDynamic) {
      out.push_back(ir);
      continue;
    }
    for (size_t i = 0;
         out.size() < node.input_desc.size() && node.input_desc[out.size()].name == ports[ir].name + std::to_string(i);
         ++i)
      out.push_back(ir);
  }
  return out;
}

std::string eager_launch(const Node& node, const std::vector<EagerInput>& inputs, void* stream,
                         const EagerOutputs& outputs) {
  ge::EagerExecuteOp* (*make)() = nullptr;
  {
    std::lock_guard<std::mutex> lock(all().mutex);
    make = all().makers[node.type];
  }
  const std::unique_ptr<ge::EagerExecuteOp> op(make());
  Context context(node, inputs, stream, outputs);
  try {
    if (op->Execute(&context) != ge::SUCCESS)
      return context.refusal().empty() ? "its Execute failed" : context.refusal();
  } catch (const std::exception& error) {
    if (!context.refusal().empty()) return context.refusal();
    std::string text = error.what();  // of torch: the message, then where it was raised and a stack
    text = text.substr(0, text.find("\nException raised from"));
    // A Python exception has no text here. Only the first run of a graph goes through Python, where torch looks for
    // aliases.
    return text.empty() ? "it raised a Python exception; run the graph once more for its text" : text;
  } catch (...) {
    return context.refusal().empty() ? "it raised an exception of an unknown type" : context.refusal();
  }
  return context.problem();
}

}  // namespace gesim

namespace ge {

EagerOpRegister::EagerOpRegister(const char* type, EagerExecuteOp* (*make)()) {
  std::lock_guard<std::mutex> lock(gesim::all().mutex);
  gesim::all().makers.emplace(type, make);
}

void OpImplRegister::add_dependencies(const int* inputs, size_t count) const {
  std::lock_guard<std::mutex> lock(gesim::all().mutex);
  for (size_t i = 0; i < count; ++i) gesim::all().value_inputs[type_].insert(static_cast<size_t>(inputs[i]));
}

}  // namespace ge
