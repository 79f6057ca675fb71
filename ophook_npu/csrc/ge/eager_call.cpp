#include "eager_call.h"

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "core/sim.h"
#include "include/graph/custom_op.h"
#include "include/register/op_impl_registry.h"
#include "graph_impl.h"
#include "registry.h"

namespace gesim {
namespace {

struct Registered {
  std::mutex mutex;
  std::map<std::string, ge::EagerExecuteOp* (*)()> makers;
  std::map<std::string, ge::EagerOpInfer> inferences;
  std::map<std::string, std::set<size_t>> value_inputs;
};

// Static constructors of any library may register before this file's own statics exist.
Registered& all() {
  static auto* one = new Registered;
  return *one;
}

gert::StorageShape to_shape(const ge_tensor& tensor) {
  gert::StorageShape out;
  for (gert::Shape* shape : {&out.MutableOriginShape(), &out.MutableStorageShape()})
    for (int32_t i = 0; i < tensor.rank; ++i) shape->AppendDim(tensor.dims[i]);
  return out;
}

// `size` in bytes: a string's cannot be told from its shape.
gert::Tensor to_tensor(ge::DataType dtype, const gert::StorageShape& shape, const gert::StorageFormat& format,
                       void* data, size_t size) {
  gert::Tensor out(shape, format, gert::kOnDeviceHbm, dtype, data);
  out.SetSize(size);
  return out;
}

// The graph engine's number of a shape that is not known at all (-2 in its place), as inference reads and writes it.
constexpr int64_t kUnknownRank = -2;

ascendc_tensor describe_to_host(const ge_tensor& tensor) {
  ascendc_tensor out{};
  out.dtype = tensor.dtype;
  out.rank = tensor.rank < 0 ? 1 : tensor.rank;
  if (tensor.rank < 0) out.dims[0] = kUnknownRank;
  for (int32_t i = 0; i < tensor.rank; ++i) out.dims[i] = tensor.dims[i];
  out.data = tensor.data;
  return out;
}

std::string take(const ascendc_tensor& told, ge_tensor& out) {
  if (told.rank > ge_max_rank) return "its inference gives an output of rank " + std::to_string(told.rank);
  out.dtype = told.dtype;
  out.rank = told.rank == 1 && told.dims[0] == kUnknownRank ? static_cast<int32_t>(ge_unknown_rank) : told.rank;
  for (int32_t i = 0; i < out.rank; ++i) out.dims[i] = told.dims[i];
  return "";
}

// How many tensors each port of the prototype has in this node; what is absent still counts.
std::vector<size_t> instances(const std::vector<ge::IrPort>& ports, const std::vector<Desc>& descs) {
  std::vector<size_t> out;
  size_t at = 0;
  for (const ge::IrPort& port : ports) {
    size_t count = 1;
    if (port.kind == ge::IrPort::kDynamic)
      for (count = 0; at + count < descs.size() && descs[at + count].name == port.name + std::to_string(count);)
        ++count;
    out.push_back(count);
    at += count;
  }
  return out;
}

// The attributes that the prototype names, in its order, as the host side of an operator reads them.
class Attributes {
 public:
  Attributes(const Node& node, const ge::OperatorImpl& prototype)
      : values_(ge::attributes_of(node, prototype)), wholes_(values_.size()), lengths_(values_.size()) {
    for (size_t i = 0; i < values_.size(); ++i) all_.push_back(to_host(i));
  }
  const std::vector<ascendc_attr>& all() const { return all_; }

 private:
  ascendc_attr to_host(size_t i) {
    const Attr& attr = values_[i];
    ascendc_attr out{};
    switch (attr.kind) {
      case Attr::kInt:
      case Attr::kType: out.kind = gert::AttrValue::kInt, out.whole = attr.i; break;
      case Attr::kBool: out.kind = gert::AttrValue::kBool, out.whole = attr.i; break;
      case Attr::kFloat: out.kind = gert::AttrValue::kFloat, out.real = attr.f; break;
      case Attr::kString: out.kind = gert::AttrValue::kText, out.text = attr.s.c_str(); break;
      case Attr::kInts:
      case Attr::kBools:
        out.kind = attr.kind == Attr::kInts ? gert::AttrValue::kInts : gert::AttrValue::kBools;
        out.wholes = attr.ints.data(), out.count = attr.ints.size();
        break;
      case Attr::kFloats:
        out.kind = gert::AttrValue::kFloats, out.reals = attr.floats.data(), out.count = attr.floats.size();
        break;
      case Attr::kIntLists:
        for (const auto& list : attr.lists) {
          wholes_[i].insert(wholes_[i].end(), list.begin(), list.end());
          lengths_[i].push_back(list.size());
        }
        out.kind = gert::AttrValue::kIntLists, out.wholes = wholes_[i].data(), out.count = wholes_[i].size();
        out.lengths = lengths_[i].data(), out.lists = lengths_[i].size();
        break;
      default: break;
    }
    return out;
  }
  const std::vector<Attr> values_;
  std::vector<ascendc_attr> all_;
  std::vector<std::vector<int64_t>> wholes_;  // of the lists of lists
  std::vector<std::vector<size_t>> lengths_;
};

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
      if (absent) inputs_.emplace_back();
      else
        inputs_.push_back(to_tensor(static_cast<ge::DataType>(input.tensor.dtype), to_shape(input.tensor), {},
                                    input.tensor.data, input.size));
      fed_.push_back(!absent);
    }
    ge::Operator op = create(node.name, node.type);
    size_t start = 0;
    for (size_t count : instances(ge::OpDescUtils::impl(op)->outputs, node.output_desc)) {
      instances_.emplace_back(start, count);
      start += count;
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
  const gert::AnchorInstanceInfo* GetIrOutputInstanceInfo(size_t ir) const override {
    return ir < instances_.size() ? &instances_[ir] : nullptr;
  }
  gert::Tensor* MallocOutputTensor(size_t index, const gert::StorageShape& shape, const gert::StorageFormat& format,
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
    outputs_[index] = to_tensor(dtype, shape, format, tensor.data, static_cast<size_t>(byte_size(tensor)));
    made_[index] = true;
    return &outputs_[index];
  }
  ge::graphStatus MakeOutputRefInput(size_t output, size_t input) override {
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
  void* MallocWorkSpace(size_t size) override {
    void* data = nullptr;
    std::string problem = how_.workspace(size, &data);
    if (!problem.empty()) fail(problem);
    return data;
  }

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
  std::vector<gert::AnchorInstanceInfo> instances_;
  std::string problem_;
};

}  // namespace

bool eager_exists(const std::string& type) {
  std::lock_guard<std::mutex> lock(all().mutex);
  return all().makers.count(type) != 0;
}

bool eager_infers(const std::string& type) {
  std::lock_guard<std::mutex> lock(all().mutex);
  return all().inferences.count(type) != 0;
}

std::string eager_infer(const Node& node, const std::vector<ge_tensor>& inputs, std::vector<ge_tensor>& outputs) {
  ge::EagerOpInfer infer = nullptr;
  {
    std::lock_guard<std::mutex> lock(all().mutex);
    infer = all().inferences[node.type];
  }
  const ge::Operator op = create(node.name, node.type);
  const ge::OperatorImpl* prototype = ge::OpDescUtils::impl(op);
  std::vector<ascendc_tensor> given, told;
  std::vector<int32_t> input_counts, output_counts;
  size_t at = 0;
  for (size_t count : instances(prototype->inputs, node.input_desc)) {
    input_counts.push_back(0);
    for (size_t i = 0; i < count && at < inputs.size(); ++i, ++at)
      if (inputs[at].dtype != ge_absent) given.push_back(describe_to_host(inputs[at])), ++input_counts.back();
  }
  for (size_t count : instances(prototype->outputs, node.output_desc))
    output_counts.push_back(static_cast<int32_t>(count));
  for (const Desc& desc : node.output_desc) told.emplace_back().dtype = desc.dtype;
  const Attributes attributes(node, *prototype);
  const ascendc_call call{
      node.type.c_str(),    given.data(),         input_counts.data(),     input_counts.size(),     told.data(),
      output_counts.data(), output_counts.size(), attributes.all().data(), attributes.all().size(), {}};
  char error[512] = "";
  if (infer(&call, error, sizeof error)) return error;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string problem = take(told[i], outputs[i]);
    if (!problem.empty()) return problem;
  }
  return "";
}

bool reads_value(const std::string& type, size_t ir_input) {
  std::lock_guard<std::mutex> lock(all().mutex);
  auto it = all().value_inputs.find(type);
  return it != all().value_inputs.end() && it->second.count(ir_input) != 0;
}

std::vector<size_t> ir_inputs(const Node& node) {
  ge::Operator op = create(node.name, node.type);
  std::vector<size_t> out;
  const std::vector<size_t> counts = instances(ge::OpDescUtils::impl(op)->inputs, node.input_desc);
  for (size_t ir = 0; ir < counts.size(); ++ir) out.insert(out.end(), counts[ir], ir);
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

EagerOpRegister::EagerOpRegister(const char* type, EagerExecuteOp* (*make)(), EagerOpInfer infer) {
  std::lock_guard<std::mutex> lock(gesim::all().mutex);
  if (gesim::all().makers.emplace(type, make).second && infer) gesim::all().inferences.emplace(type, infer);
}

void OpImplRegister::add_dependencies(const int* inputs, size_t count) const {
  std::lock_guard<std::mutex> lock(gesim::all().mutex);
  for (size_t i = 0; i < count; ++i) gesim::all().value_inputs[type_].insert(static_cast<size_t>(inputs[i]));
}

}  // namespace ge
