// Shape and dtype inference of single nodes, and folding of nodes whose inputs are known on the host.
#include <algorithm>
#include <cstring>

#include "compiled.h"
#include "eager_call.h"
#include "graph_impl.h"
#include "registry.h"

namespace gesim {
namespace {

constexpr int64_t kFoldLimit = 4096;  // bytes: shapes, indices and scalars, not weights

const char* dtype_name(int32_t dtype) {
  static const char* const names[] = {"float32", "float16", "int8",  "int32",  "uint8",   "reserved", "int16",
                                      "uint16",  "uint32",  "int64", "uint64", "float64", "bool",     "string"};
  if (dtype == ge::DT_BF16) return "bfloat16";
  if (dtype == ge_absent) return "absent";
  return dtype >= 0 && static_cast<size_t>(dtype) < sizeof names / sizeof *names ? names[dtype] : "other";
}

ge::TensorDesc to_desc(const ge_tensor& tensor) {
  std::vector<int64_t> dims =
      tensor.rank < 0 ? ge::UNKNOWN_RANK : std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank);
  ge::TensorDesc desc(ge::Shape(dims), ge::FORMAT_ND, static_cast<ge::DataType>(tensor.dtype));
  desc.SetOriginShape(ge::Shape(dims));
  int64_t size = byte_size(tensor);
  if (tensor.data && size >= 0) {
    std::unique_ptr<uint8_t[]> copy(new uint8_t[static_cast<size_t>(size) + 1]);
    std::memcpy(copy.get(), tensor.data, static_cast<size_t>(size));
    desc.SetConstData(std::move(copy), static_cast<size_t>(size));
  }
  return desc;
}

std::string from_desc(const ge::TensorDesc& desc, bool largest, ge_tensor& out) {
  std::vector<int64_t> dims = desc.GetShape().GetDims();
  std::vector<std::pair<int64_t, int64_t>> range;
  if (largest && desc.GetShapeRange(range) == ge::GRAPH_SUCCESS && range.size() == dims.size())
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i] == ge_unknown_dim) dims[i] = range[i].second;
  out.dtype = desc.GetDataType();
  if (dims == ge::UNKNOWN_RANK) {
    out.rank = ge_unknown_rank;
    return "";
  }
  if (dims.size() > ge_max_rank) return "its inference gives an output of rank " + std::to_string(dims.size());
  out.rank = static_cast<int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), out.dims);
  return "";
}

std::string infer_by_library(const Node& node, const std::vector<ge_tensor>& inputs, std::vector<ge_tensor>& outputs,
                             bool largest = false) {
  ge::Operator op = create(node.name, node.type);
  ge::OperatorImpl* impl = ge::OpDescUtils::impl(op);
  const ge::InferShapeFunc* function = infer_function(node.type);
  if (!function)
    return "its prototype registers no shape inference (COMMON_INFER_FUNC_REG), so its output shape cannot be told";
  impl->input_desc.clear();
  impl->output_desc.clear();
  for (size_t i = 0; i < inputs.size(); ++i) impl->input_desc.emplace_back(node.input_desc[i].name, to_desc(inputs[i]));
  // What the function says nothing of stays as it was described.
  for (const Desc& desc : node.output_desc)
    impl->output_desc.emplace_back(
        desc.name, ge::TensorDesc(ge::Shape(desc.dims), ge::FORMAT_ND,
                                  desc.dtype == ge_absent ? ge::DT_FLOAT : static_cast<ge::DataType>(desc.dtype)));
  for (const auto& [name, attr] : node.attrs)
    if (ge::AttrData data = ge::data_of(attr); data.index()) impl->attrs[name] = std::move(data);
  if (const ge::VerifyFunc* verify = verify_function(node.type))
    if ((*verify)(op) != ge::GRAPH_SUCCESS) return "its verify function refuses the node";
  if ((*function)(op) != ge::GRAPH_SUCCESS) {
    std::string shapes;
    for (const ge_tensor& input : inputs) shapes += (shapes.empty() ? "" : ", ") + describe(input);
    return "its shape inference refuses the inputs " + shapes;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string problem = from_desc(impl->output_desc[i].second, largest, outputs[i]);
    if (!problem.empty()) return problem;
  }
  return "";
}

ge_call make_call(const Compiled& graph, int node, const std::vector<ge_tensor>& inputs,
                  std::vector<ge_tensor>& outputs) {
  return {graph.graph.nodes[node].type.c_str(),
          inputs.data(),
          inputs.size(),
          outputs.data(),
          outputs.size(),
          graph.attrs[node].data(),
          graph.attrs[node].size(),
          graph.counts[node].data()};
}

}  // namespace

bool shape_known(const ge_tensor& tensor) { return element_count(tensor) >= 0; }

int64_t element_count(const ge_tensor& tensor) {
  if (tensor.rank < 0) return -1;
  int64_t count = 1;
  for (int32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dims[i] < 0 || __builtin_mul_overflow(count, tensor.dims[i], &count)) return -1;
  }
  return count;
}

int64_t byte_size(const ge_tensor& tensor) {
  int64_t count = element_count(tensor);
  int width = ge::GetSizeByDataType(static_cast<ge::DataType>(tensor.dtype));
  if (count < 0 || width <= 0) return -1;
  if (count > 0 && ge_in_tiles(&tensor) && tensor.rank > 1) {
    const int64_t bits = width < ge::kDataTypeSizeBitOffset ? 8 * width : width - ge::kDataTypeSizeBitOffset;
    for (const auto& [dim, tile] :
         {std::pair(tensor.dims[tensor.rank - 1], 256 / bits), {tensor.dims[tensor.rank - 2], 16}})
      count = count / dim * ((dim + tile - 1) / tile * tile);
  }
  return ge::GetSizeInBytes(count, static_cast<ge::DataType>(tensor.dtype));
}

std::string describe(const ge_tensor& tensor) {
  std::string out = dtype_name(tensor.dtype);
  if (tensor.rank < 0) return out + "[?]";
  out += "[";
  for (int32_t i = 0; i < tensor.rank; ++i) out += (i ? ", " : "") + std::to_string(tensor.dims[i]);
  return out + "]";
}

std::string infer(const Compiled& graph, int index, const std::vector<ge_tensor>& inputs,
                  std::vector<ge_tensor>& outputs) {
  const Node& node = graph.graph.nodes[index];
  std::string problem;
  if (graph.engine[index] == Engine::kEager && eager_infers(node.type)) {
    problem = eager_infer(node, inputs, outputs);
  } else if (graph.engine[index] == Engine::kEager) {
    for (size_t i = 0; i < outputs.size();
         ++i) {  // torchair writes the FX graph's dtype; the shape comes with the result
      outputs[i].dtype = node.output_desc[i].dtype;
      outputs[i].rank = ge_unknown_rank;
    }
  } else if (graph.engine[index] == Engine::kAclnn || graph.engine[index] == Engine::kAicpu) {
    problem = infer_by_library(node, inputs, outputs);
  } else {
    char error[1024] = "";
    ge_call call = make_call(graph, index, inputs, outputs);
    if (kernels().check(&call, error, sizeof error) || kernels().infer(&call, error, sizeof error)) problem = error;
  }
  return problem.empty() ? "" : graph.where(index) + ": " + problem;
}

std::string infer_largest(const Compiled& graph, int index, const std::vector<ge_tensor>& inputs,
                          std::vector<ge_tensor>& outputs) {
  const std::string problem = infer_by_library(graph.graph.nodes[index], inputs, outputs, true);
  return problem.empty() ? "" : graph.where(index) + ": " + problem;
}

bool fold(const Compiled& graph, int index, const std::vector<Known>& inputs, std::vector<Known>& outputs,
          std::string& error) {
  static const char* const shape_readers[] = {"Shape", "Size", "Rank", "GatherShapes"};
  const Node& node = graph.graph.nodes[index];
  // What other ranks have a part in happens when the graph runs, as functions that have a group do.
  const bool each_run = kernels().each_run(node.type.c_str()) || node.attr("group") || node.attr("group_ep");
  if (graph.engine[index] != Engine::kTable || each_run) return false;
  bool reads_values =
      std::find(std::begin(shape_readers), std::end(shape_readers), node.type) == std::end(shape_readers);
  std::vector<ge_tensor> in, out;
  for (const Known& input : inputs) {
    bool absent = input.tensor.dtype == ge_absent;
    if (!absent && (reads_values ? !input.value : !shape_known(input.tensor))) return false;
    in.push_back(input.tensor);
    if (input.value) in.back().data = const_cast<uint8_t*>(input.value->data());
  }
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (const Known& output : outputs) {
    int64_t size = byte_size(output.tensor);
    if (size < 0 || size > kFoldLimit) return false;
    buffers.push_back(std::make_shared<Buffer>(static_cast<size_t>(size)));
    buffers.back()->reserve(1);  // data() of an empty value must not be NULL
    out.push_back(output.tensor);
    out.back().data = buffers.back()->data();
  }
  char text[1024] = "";
  ge_call call = make_call(graph, index, in, out);
  if (kernels().run(&call, text, sizeof text)) {
    error = graph.where(index) + ": " + text;
    return false;
  }
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].value = buffers[i];
  return true;
}

}  // namespace gesim
