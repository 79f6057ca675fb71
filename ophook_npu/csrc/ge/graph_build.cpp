// libgraph, fourth part: a graph that a program builds from operators. SetInput notes what an input reads. The graph
// has all operators that its outputs and targets come from; where it has neither, all that its inputs are connected
// with.
#include <algorithm>
#include <cstring>
#include <set>

#include "graph_impl.h"

namespace ge {
namespace {

gesim::Bytes bytes_of(const Tensor& tensor) {
  auto out = std::make_shared<gesim::Buffer>();
  out->reserve(tensor.GetSize() + 1);  // data() of an empty value must not be NULL
  out->resize(tensor.GetSize());
  if (tensor.GetSize()) std::memcpy(out->data(), tensor.GetData(), tensor.GetSize());
  return out;
}

struct ToAttr {
  gesim::Attr out;
  void operator()(std::monostate) {}
  void operator()(int64_t value) { out.kind = gesim::Attr::kInt, out.i = value; }
  void operator()(bool value) { out.kind = gesim::Attr::kBool, out.i = value; }
  void operator()(DataType value) { out.kind = gesim::Attr::kType, out.i = value; }
  void operator()(float value) { out.kind = gesim::Attr::kFloat, out.f = value; }
  void operator()(const std::string& value) { out.kind = gesim::Attr::kString, out.s = value; }
  void operator()(const Tensor& value) {
    out.kind = gesim::Attr::kTensor;
    out.desc = desc_of("", value.GetTensorDesc());
    out.data = bytes_of(value);
  }
  void operator()(const std::vector<int64_t>& value) { out.kind = gesim::Attr::kInts, out.ints = value; }
  void operator()(const std::vector<float>& value) { out.kind = gesim::Attr::kFloats, out.floats = value; }
  void operator()(const std::vector<bool>& value) {
    out.kind = gesim::Attr::kBools, out.ints.assign(value.begin(), value.end());
  }
  void operator()(const std::vector<std::string>& value) { out.kind = gesim::Attr::kStrings, out.strings = value; }
  void operator()(const std::vector<DataType>& value) {
    out.kind = gesim::Attr::kTypes, out.ints.assign(value.begin(), value.end());
  }
  void operator()(const std::vector<std::vector<int64_t>>& value) {
    out.kind = gesim::Attr::kIntLists, out.lists = value;
  }
  template <typename T>
  void operator()(const T&) {}  // lists of tensors and bytes: no operator reads them
};

using Impl = std::shared_ptr<OperatorImpl>;

std::string quoted(const OperatorImpl& op) { return "'" + op.name + "' (" + op.type + ")"; }

void complain(OperatorImpl& op, const std::string& why) {
  if (op.problem.empty()) op.problem = quoted(op) + ": " + why;
}

void connect(Operator& op, const std::string& input, const Operator& source, size_t port) {
  const Impl& to = OpDescUtils::shared(op);
  const Impl& from = OpDescUtils::shared(source);
  if (!to) return;
  if (!from) return complain(*to, "its input '" + input + "' is given an operator that is none");
  bool known = false;
  for (const auto& [name, desc] : to->input_desc) known |= name == input;
  if (!known) return complain(*to, "it has no input '" + input + "'");
  if (port == SIZE_MAX)
    return complain(*to, "its input '" + input + "' reads no output of " + quoted(*from) + " that has this name");
  if (port >= from->output_desc.size())
    return complain(*to, "its input '" + input + "' reads output " + std::to_string(port) + " of " + quoted(*from) +
                             ", which has " + std::to_string(from->output_desc.size()));
  to->sources[input] = {from, port};
  from->readers.push_back(to);
}

// The only output, where the program does not say which.
void connect(Operator& op, const std::string& input, const Operator& source) {
  const OperatorImpl* from = OpDescUtils::impl(source);
  if (from && from->output_desc.size() > 1 && OpDescUtils::impl(op))
    return complain(*OpDescUtils::impl(op), "its input '" + input + "' does not say which output of " + quoted(*from) +
                                                " it reads, which has " + std::to_string(from->output_desc.size()));
  connect(op, input, source, 0);
}

// SIZE_MAX where it has no such output.
size_t output_named(const Operator& source, const char_t* name) {
  const OperatorImpl* from = OpDescUtils::impl(source);
  for (size_t i = 0; from && name && i < from->output_desc.size(); ++i)
    if (from->output_desc[i].first == name) return i;
  return SIZE_MAX;
}

std::string input_numbered(const Operator& op, uint32_t index) {
  const OperatorImpl* to = OpDescUtils::impl(op);
  return to && index < to->input_desc.size() ? to->input_desc[index].first : "number " + std::to_string(index);
}

std::string element(const char_t* dynamic, uint32_t index) { return dynamic + std::to_string(index); }

// Makes nodes of operators, those first that others read.
class Builder {
 public:
  explicit Builder(GraphImpl& impl) : impl_(impl) {}

  void build() {
    impl_.problem.clear(), impl_.serialized.clear();
    if (impl_.fixed) {
      if (!impl_.outputs.empty()) remove_outputs();
      for (const gesim::Node& node : impl_.graph.nodes) names_.insert(node.name);
    } else {
      impl_.graph.name = impl_.name, impl_.graph.nodes.clear();
      for (const Impl& input : impl_.inputs)  // others, such as GetNext and variables, take nothing from the caller
        if (gesim::takes_data(input->type)) inputs_.emplace(input.get(), inputs_.size());
      for (const Impl& input : impl_.inputs) (void)add(input);
    }
    for (const Impl& target : impl_.targets) (void)add(target);
    if (impl_.outputs.empty() && impl_.targets.empty())
      for (size_t i = 0; i < added_.size(); ++i)
        for (const std::weak_ptr<OperatorImpl>& reader : added_[i]->readers)
          if (const Impl lives = reader.lock()) (void)add(lives);
    if (!impl_.fixed || !impl_.outputs.empty()) add_outputs();
    if (!impl_.problem.empty()) impl_.graph.nodes.clear();
  }

 private:
  void remove_outputs() {
    for (size_t i = impl_.graph.nodes.size(); i-- > 0;)
      if (impl_.graph.nodes[i].type == "NetOutput") remove_node(impl_.graph, int(i));
  }

  void add_outputs() {
    gesim::Node net;
    net.type = "NetOutput";
    for (const IrSource& output : impl_.outputs) {
      const int node = add(output.from);
      net.inputs.push_back({node, static_cast<int>(output.port)});
      net.input_desc.push_back(
          desc_of("input" + std::to_string(net.input_desc.size()), output.from->output_desc[output.port].second));
    }
    for (net.name = "NetOutput"; !names_.insert(net.name).second;) net.name += "_";
    impl_.graph.nodes.push_back(std::move(net));
  }

  // The node of this name, in a graph that has its own.
  int named(const OperatorImpl& op) {
    const auto& nodes = impl_.graph.nodes;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].name == op.name) return int(i);
    complain(quoted(op) + ": the graph has no node of this name");
    return -1;
  }

  int add(const Impl& op) {
    if (impl_.fixed) return named(*op);
    const auto found = index_.find(op.get());
    if (found != index_.end()) {
      if (found->second < 0) complain(quoted(*op) + ": it is part of a cycle");
      return found->second;
    }
    index_[op.get()] = -1;
    added_.push_back(op);
    if (!op->problem.empty()) complain(op->problem);
    gesim::Node node = node_of(*op);
    if (!names_.insert(op->name).second) complain("two operators are named '" + op->name + "'");
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto source = op->sources.find(node.input_desc[i].name);
      if (source != op->sources.end()) node.inputs[i] = {add(source->second.from), int(source->second.port)};
    }
    for (const Impl& before : op->before) node.control.push_back(add(before));
    if (gesim::is_input(node)) as_input(*op, node);
    impl_.graph.nodes.push_back(std::move(node));
    return index_[op.get()] = static_cast<int>(impl_.graph.nodes.size()) - 1;
  }

  void as_input(const OperatorImpl& op, gesim::Node& node) {
    const auto place = inputs_.find(&op);
    if (place == inputs_.end()) return complain(quoted(op) + ": it is not among the graph's inputs (SetInputs)");
    node.attrs["index"].kind = gesim::Attr::kInt;
    node.attrs["index"].i = static_cast<int64_t>(place->second);
  }

  void complain(const std::string& why) {
    if (impl_.problem.empty()) impl_.problem = why;
  }

  GraphImpl& impl_;
  std::map<const OperatorImpl*, int> index_;  // -1 while its inputs are looked at
  std::vector<Impl> added_;
  std::map<const OperatorImpl*, size_t> inputs_;
  std::set<std::string> names_;
};

void read_by(GraphImpl& impl, const Operator& op, size_t port) {
  const Impl& from = OpDescUtils::shared(op);
  if (from && port < from->output_desc.size()) impl.outputs.push_back({from, port});
  else
    impl.problem = "an output of the graph is output " + std::to_string(port) + " of " +
                   (from ? quoted(*from) + ", which has " + std::to_string(from->output_desc.size()) : "no operator");
}

}  // namespace

gesim::Desc desc_of(const std::string& name, const TensorDesc& desc) {
  static const std::set<Format> kPlain = {FORMAT_NCHW,  FORMAT_NHWC,  FORMAT_ND,    FORMAT_HWCN,    FORMAT_CHWN,
                                          FORMAT_NDHWC, FORMAT_NCDHW, FORMAT_DHWCN, FORMAT_NC,      FORMAT_CN,
                                          FORMAT_NCL,   FORMAT_ALL,   FORMAT_NULL,  FORMAT_RESERVED};
  gesim::Desc out;
  out.name = name;
  out.dtype = desc.GetDataType();
  out.dims = desc.GetShape().GetDims();
  const char_t* layout = GetFormatName(desc.GetFormat());
  out.layout = layout ? layout : "ND";
  if (!kPlain.count(desc.GetFormat())) {
    out.format = desc.GetFormat();
    out.dims = desc.GetOriginShape().GetDims();
  }
  return out;
}

gesim::Attr attr_of(const AttrData& value) {
  ToAttr to;
  std::visit(to, value);
  return std::move(to.out);
}
std::vector<gesim::Attr> attributes_of(const gesim::Node& node, const OperatorImpl& prototype) {
  std::vector<gesim::Attr> out(prototype.ir_attrs.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const auto preset = prototype.attrs.find(prototype.ir_attrs[i].name);
    if (const gesim::Attr* given = node.attr(prototype.ir_attrs[i].name.c_str())) out[i] = *given;
    else if (preset != prototype.attrs.end()) out[i] = attr_of(preset->second);
  }
  return out;
}

// The shape of a tensor in a private format is not known here: that of what it stands for is in its place.
TensorDesc desc_of(const gesim::Desc& desc) {
  int format = 0;
  while (format < FORMAT_END && desc.layout != GetFormatName(Format(format))) ++format;
  const Shape shape(desc.dims);
  TensorDesc out(shape, format == FORMAT_END ? FORMAT_ND : Format(format), DataType(desc.dtype));
  out.SetName(desc.name.c_str()), out.SetOriginShape(shape), out.SetOriginFormat(out.GetFormat());
  return out;
}

AttrData data_of(const gesim::Attr& attr) {
  using Attr = gesim::Attr;
  switch (attr.kind) {
    case Attr::kInt: return attr.i;
    case Attr::kFloat: return attr.f;
    case Attr::kBool: return attr.i != 0;
    case Attr::kString: return attr.s;
    case Attr::kType: return DataType(attr.i);
    case Attr::kInts: return attr.ints;
    case Attr::kFloats: return attr.floats;
    case Attr::kBools: return std::vector<bool>(attr.ints.begin(), attr.ints.end());
    case Attr::kStrings: return attr.strings;
    case Attr::kIntLists: return attr.lists;
    case Attr::kTypes: {
      std::vector<DataType> types;
      for (const int64_t one : attr.ints) types.push_back(DataType(one));
      return types;
    }
    case Attr::kTensor:
      if (attr.desc.format || !attr.data) return {};
      return Tensor(desc_of(attr.desc), attr.data->data(), attr.data->size());
    case Attr::kNone: return {};
  }
  return {};
}

gesim::Node node_of(const OperatorImpl& op) {
  gesim::Node node;
  node.name = op.name, node.type = op.type;
  const auto describe = [](const auto& from, const auto& attrs, std::vector<gesim::Desc>& to) {
    for (const auto& [name, desc] : from) {
      to.push_back(desc_of(name, desc));
      if (const auto found = attrs.find(name); found != attrs.end())
        for (const auto& [key, value] : found->second) to.back().attrs[key] = attr_of(value);
    }
  };
  describe(op.input_desc, op.input_attrs, node.input_desc), describe(op.output_desc, op.output_attrs, node.output_desc);
  for (const auto& [name, value] : op.attrs) node.attrs[name] = attr_of(value);
  // What Data describes as its input is what it gives, if its output is not described.
  if (gesim::is_input(node)) {
    if (!node.input_desc.empty() && !node.output_desc.empty() && node.output_desc[0].dims.empty() &&
        !node.input_desc[0].dims.empty()) {
      node.input_desc[0].name = node.output_desc[0].name;
      node.output_desc[0] = node.input_desc[0];
    }
    node.input_desc.clear();
  }
  node.inputs.resize(node.input_desc.size());
  return node;
}

Operator& Operator::SetInput(const char_t* dst_name, const Operator& src_oprt) {
  return connect(*this, dst_name, src_oprt), *this;
}
Operator& Operator::SetInput(const char_t* dst_name, const Operator& src_oprt, const char_t* name) {
  return connect(*this, dst_name, src_oprt, output_named(src_oprt, name)), *this;
}
Operator& Operator::SetInput(const char_t* dst_name, const Operator& src_oprt, uint32_t index) {
  return connect(*this, dst_name, src_oprt, index), *this;
}
Operator& Operator::SetInput(uint32_t dst_index, const Operator& src_oprt, uint32_t src_index) {
  return connect(*this, input_numbered(*this, dst_index), src_oprt, src_index), *this;
}
Operator& Operator::SetInput(const char_t* dst_name, uint32_t dst_index, const Operator& src_oprt) {
  return connect(*this, element(dst_name, dst_index), src_oprt), *this;
}
Operator& Operator::SetInput(const char_t* dst_name, uint32_t dst_index, const Operator& src_oprt, const char_t* name) {
  return connect(*this, element(dst_name, dst_index), src_oprt, output_named(src_oprt, name)), *this;
}
Operator& Operator::SetInput(const std::string& dst_name, const Operator& src_oprt) {
  return SetInput(dst_name.c_str(), src_oprt);
}
Operator& Operator::SetInput(const std::string& dst_name, const Operator& src_oprt, const std::string& name) {
  return SetInput(dst_name.c_str(), src_oprt, name.c_str());
}
Operator& Operator::SetInput(const std::string& dst_name, const Operator& src_oprt, uint32_t index) {
  return SetInput(dst_name.c_str(), src_oprt, index);
}
Operator& Operator::SetInput(const std::string& dst_name, uint32_t dst_index, const Operator& src_oprt) {
  return SetInput(dst_name.c_str(), dst_index, src_oprt);
}
Operator& Operator::SetInput(const std::string& dst_name, uint32_t dst_index, const Operator& src_oprt,
                             const std::string& name) {
  return SetInput(dst_name.c_str(), dst_index, src_oprt, name.c_str());
}
Operator& Operator::SetInput(const char_t* dst_name, const OutHandler& out) {
  return connect(*this, dst_name, Operator(OperatorImplPtr(out ? out->from : nullptr)), out ? out->port : 0), *this;
}
Operator& Operator::SetInput(const std::string& dst_name, const OutHandler& out) {
  return SetInput(dst_name.c_str(), out);
}
OutHandler Operator::GetOutput(uint32_t index) const { return std::make_shared<OpIO>(OpIO{{operator_impl_, index}}); }
OutHandler Operator::GetOutput(const char_t* name) const {
  return std::make_shared<OpIO>(OpIO{{operator_impl_, output_named(*this, name)}});
}
OutHandler Operator::GetOutput(const std::string& name) const { return GetOutput(name.c_str()); }
// Reads nothing more, and nobody reads it.
void Operator::BreakConnect() const {
  if (!operator_impl_) return;
  const Impl me = operator_impl_;
  const auto forget = [](OperatorImpl& reader, const Impl& from) {
    for (auto source = reader.sources.begin(); source != reader.sources.end();)
      source = source->second.from == from ? reader.sources.erase(source) : std::next(source);
    reader.before.erase(std::remove(reader.before.begin(), reader.before.end(), from), reader.before.end());
    from->readers.erase(std::remove_if(from->readers.begin(), from->readers.end(),
                                       [&](const auto& one) { return one.lock().get() == &reader; }),
                        from->readers.end());
  };
  for (const auto& reader : std::vector<std::weak_ptr<OperatorImpl>>(me->readers))
    if (const Impl other = reader.lock()) forget(*other, me);
  while (!me->sources.empty()) forget(*me, Impl(me->sources.begin()->second.from));
  while (!me->before.empty()) forget(*me, Impl(me->before.front()));
}
Operator& Operator::AddControlInput(const Operator& src_oprt) {
  if (!operator_impl_ || !src_oprt.operator_impl_) return *this;
  operator_impl_->before.push_back(src_oprt.operator_impl_);
  src_oprt.operator_impl_->readers.push_back(operator_impl_);
  return *this;
}

// The graph is what its outputs are made of; an operator that they do not need can be found, and is not run.
graphStatus Graph::AddOp(const Operator& op) {
  const OperatorImpl* added = OpDescUtils::impl(op);
  return impl_ && added && impl_->kept.emplace(added->name, op).second ? GRAPH_SUCCESS : GRAPH_FAILED;
}
graphStatus Graph::GetAllOpName(std::vector<std::string>& names) const {
  if (!impl_) return GRAPH_FAILED;
  for (const auto& [name, op] : impl_->kept) names.push_back(name);
  return GRAPH_SUCCESS;
}
graphStatus Graph::GetAllOpName(std::vector<AscendString>& names) const {
  if (!impl_) return GRAPH_FAILED;
  for (const auto& [name, op] : impl_->kept) names.emplace_back(name.c_str());
  return GRAPH_SUCCESS;
}
graphStatus Graph::FindOpByName(const char_t* name, Operator& op) const {
  if (!impl_ || !name || !impl_->kept.count(name)) return GRAPH_FAILED;
  op = impl_->kept.at(name);
  return GRAPH_SUCCESS;
}
graphStatus Graph::FindOpByName(const std::string& name, Operator& op) const { return FindOpByName(name.c_str(), op); }
graphStatus Graph::FindOpByType(const char_t* type, std::vector<Operator>& ops) const {
  if (!impl_ || !type) return GRAPH_FAILED;
  for (const auto& [name, op] : impl_->kept)
    if (OpDescUtils::impl(op)->type == type) ops.push_back(op);
  return GRAPH_SUCCESS;
}
graphStatus Graph::FindOpByType(const std::string& type, std::vector<Operator>& ops) const {
  return FindOpByType(type.c_str(), ops);
}

static std::vector<Impl> impls_of(const std::vector<Operator>& operators) {
  std::vector<Impl> out;
  for (const Operator& op : operators)
    if (OpDescUtils::shared(op)) out.push_back(OpDescUtils::shared(op));
  return out;
}
Graph& Graph::SetInputs(const std::vector<Operator>& inputs) {
  if (!impl_) return *this;
  if (impl_->fixed) return refuse_graph("SetInputs: the graph has its nodes already"), *this;
  impl_->inputs = impls_of(inputs);
  return Builder(*impl_).build(), *this;
}
GraphPtr Graph::ConstructFromInputs(const std::vector<Operator>& inputs, const AscendString& name) {
  auto graph = std::make_shared<Graph>(name.GetString());
  graph->SetInputs(inputs);
  if (!inputs.empty() && graph->IsValid()) return graph;
  refuse_graph(std::string("ConstructFromInputs: ") + (inputs.empty() ? "no inputs" : graph->impl_->problem));
  return nullptr;
}
Graph& Graph::SetTargets(const std::vector<Operator>& targets) {
  if (!impl_) return *this;
  impl_->targets = impls_of(targets);
  return Builder(*impl_).build(), *this;
}
// All outputs of each.
Graph& Graph::SetOutputs(const std::vector<Operator>& outputs) {
  std::vector<std::pair<Operator, std::vector<size_t>>> all;
  for (const Operator& output : outputs) all.emplace_back(output, std::vector<size_t>());
  return SetOutputs(all);
}
Graph& Graph::SetOutputs(const std::vector<std::pair<Operator, std::vector<size_t>>>& output_indexs) {
  if (!impl_) return *this;
  GraphImpl noted;
  for (const auto& [op, ports] : output_indexs) {
    for (const size_t port : ports) read_by(noted, op, port);
    if (!ports.empty()) continue;
    const OperatorImpl* from = OpDescUtils::impl(op);
    if (!from || from->output_desc.empty()) read_by(noted, op, 0);
    for (size_t port = 0; from && port < from->output_desc.size(); ++port) read_by(noted, op, port);
  }
  impl_->outputs = std::move(noted.outputs);
  Builder(*impl_).build();
  if (!noted.problem.empty()) impl_->problem = noted.problem;
  return *this;
}
Graph& Graph::SetOutputs(const std::vector<std::pair<Operator, AscendString>>& outputs) {
  std::vector<std::pair<Operator, std::vector<size_t>>> all;
  for (const auto& [op, name] : outputs) {
    std::vector<size_t> ports;
    if (name.GetLength()) ports.push_back(output_named(op, name.GetString()));
    all.emplace_back(op, ports);
  }
  return SetOutputs(all);
}
Graph& Graph::SetOutputs(const std::vector<std::pair<Operator, std::string>>& outputs) {
  std::vector<std::pair<Operator, AscendString>> all;
  for (const auto& [op, name] : outputs) all.emplace_back(op, AscendString(name.c_str()));
  return SetOutputs(all);
}

}  // namespace ge
