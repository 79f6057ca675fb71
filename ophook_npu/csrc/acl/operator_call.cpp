// Operators by type name: the path of what has no aclnn form, and of single operators that were compiled before.
//
// It fails as libascendcl does (acl/runtime.cpp). The operator table refuses with a text: it becomes the message of
// ACL_ERROR_INVALID_PARAM in the call, or of the stream's error where the operator was on it.
#include "acl/operator_call.h"

#include <functional>
#include <numeric>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>

#include "acl/blocks.h"
#include "acl/tasks.h"
#include "ge/custom.h"
#include "ge/kernels.h"

namespace sim::acl {
namespace {

// The operator table of the graph engine, which knows the same operator types. It is in libopapi, with ATen.
struct Table {
  SIM_FOUND(sim_opapi_symbol, ophook_ge_proto, proto);
  SIM_FOUND(sim_opapi_symbol, ophook_ge_infer, infer);
  SIM_FOUND(sim_opapi_symbol, ophook_ge_run, run);
};

const Table* table() {
  static const Table found;
  return found.run ? &found : nullptr;
}

// Operators of installed packages: of libge_runner, which finds and loads the packages.
struct Packages {
  SIM_FOUND(sim_engine_symbol, ophook_ge_custom_exists, exists);
  SIM_FOUND(sim_engine_symbol, ophook_ge_custom_infer, infer);
  SIM_FOUND(sim_engine_symbol, ophook_ge_custom_launch, launch);
};

const Packages* packages() {
  static const Packages found;
  return found.launch ? &found : nullptr;
}

bool in_table(const char* type) { return table() && table()->proto(type); }
bool in_package(const char* type) { return packages() && packages()->exists(type); }

// One call with all that it refers to: the caller frees its descriptions when the call returns, the stream runs it
// later.
struct Call {
  std::string type;
  std::vector<ge_tensor> inputs, outputs;
  std::vector<ge_attr> attributes;
  std::deque<std::string> texts;  // deques: growing moves nothing that is pointed to
  std::deque<std::vector<int64_t>> ints;
  std::deque<std::vector<float>> floats;
  std::deque<std::vector<char>> host_values;
  std::vector<aclDataBuffer> read, written;  // on the device
  // Tensors that lie in blocks, and the memory in which the operator sees them without.
  struct Apart {
    Blocks blocks;
    ge_tensor* tensor;  // of inputs or outputs
    void* device;
    std::vector<char> plain;
    bool output;
  };
  std::deque<Apart> apart;

  ge_call view() {
    return {type.c_str(),   inputs.data(),     inputs.size(),     outputs.data(),
            outputs.size(), attributes.data(), attributes.size(), nullptr};
  }
};

// The task has its part of a call, and so has the caller that waits for the sizes.
using SharedCall = std::shared_ptr<Call>;

void tell(const void* self, sim_listener* listener) {
  const SharedCall& call = *static_cast<const SharedCall*>(self);
  listener->type(listener, call->type.c_str());
  ge_tell(listener, false, call->inputs.data(), call->inputs.size());
  ge_tell(listener, true, call->outputs.data(), call->outputs.size());
  for (const aclDataBuffer& buffer : call->read) sim::touch(listener, false, buffer.data, buffer.size);
  for (const aclDataBuffer& buffer : call->written) sim::touch(listener, true, buffer.data, buffer.size);
}
constexpr sim_about kCall{sim_task_operator, tell};

int refuse(const Call& call, const std::string& why) {
  return sim_fail(ACL_ERROR_INVALID_PARAM, "aclop operator %s: %s", call.type.c_str(), why.c_str());
}

// ACL's and GE's data types have the same numbers.
int describe(Call& call, const char* side, int index, const aclTensorDesc* desc, const aclDataBuffer* buffer,
             ge_tensor* out) {
  const std::string where = std::string(side) + " " + std::to_string(index);
  if (desc->dims.size() > ge_max_rank) return refuse(call, where + " has more than 16 dimensions");
  if (in_blocks(*desc))
    if (const std::string problem = problem_of_blocks(*desc); !problem.empty())
      return refuse(call, where + " " + problem);
  *out = {};
  out->dtype = desc->dtype == ACL_DT_UNDEFINED ? int32_t(ge_absent) : int32_t(desc->dtype);
  out->rank = int32_t(desc->dims.size());
  std::copy(desc->dims.begin(), desc->dims.end(), out->dims);
  out->data = buffer ? buffer->data : nullptr;
  return ACL_SUCCESS;
}

// For a tensor in blocks, which the stream takes apart before the operator runs, or puts together after it.
int keep_apart(Call& call, const char* side, const aclTensorDesc* desc, const aclDataBuffer* buffer, bool output,
               ge_tensor* tensor) {
  if (!in_blocks(*desc) || !buffer || !buffer->data) return ACL_SUCCESS;
  const Blocks blocks(*desc);
  if (buffer->size < blocks.bytes_in_blocks())
    return refuse(call, std::string(side) + " has " + std::to_string(buffer->size) + " bytes for blocks of " +
                            std::to_string(blocks.bytes_in_blocks()));
  call.apart.push_back({blocks, tensor, buffer->data, {}, output});
  return ACL_SUCCESS;
}

struct AttributeWriter {
  Call& call;
  ge_attr& attribute;

  void operator()(bool value) const { attribute.kind = ge_attr_bool, attribute.i = value; }
  void operator()(int64_t value) const { attribute.kind = ge_attr_int, attribute.i = value; }
  void operator()(float value) const { attribute.kind = ge_attr_float, attribute.f = value; }
  void operator()(aclDataType value) const { attribute.kind = ge_attr_dtype, attribute.i = value; }
  void operator()(const std::string& value) const {
    attribute.kind = ge_attr_string, attribute.s = call.texts.emplace_back(value).c_str();
  }
  void operator()(const std::vector<int64_t>& value) const {
    auto& kept = call.ints.emplace_back(value);
    attribute.kind = ge_attr_ints, attribute.ints = kept.data(), attribute.count = kept.size();
  }
  void operator()(const std::vector<float>& value) const {
    auto& kept = call.floats.emplace_back(value);
    attribute.kind = ge_attr_floats, attribute.floats = kept.data(), attribute.count = kept.size();
  }
  void operator()(const std::vector<aclDataType>& value) const {
    (*this)(std::vector<int64_t>(value.begin(), value.end()));
  }
  void operator()(const std::vector<std::vector<int64_t>>& value) const {
    (*this)(lengths_and_values(value));
    attribute.kind = ge_attr_int_lists;
  }
  template <typename T>
  void operator()(const T&) const {
    attribute.kind = ge_attr_other;
  }
};

int run_call(void* pointer) {
  const SharedCall& call = *static_cast<SharedCall*>(pointer);
  for (const auto* buffers : {&call->read, &call->written})
    for (const aclDataBuffer& buffer : *buffers)
      if (const char* problem = sim_memory_problem("a buffer", buffer.data, buffer.size))
        return sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "aclop operator %s: %s", call->type.c_str(), problem);
  for (Call::Apart& one : call->apart) {
    one.plain.resize(one.blocks.bytes());
    if (!one.output) one.blocks.take_apart(one.device, one.plain.data());
    one.tensor->data = one.plain.data();
  }
  char error[512] = "";
  const ge_call view = call->view();  // the outputs are those of the call: what their sizes are is written there
  const int failed = table()->run(&view, error, sizeof error);
  for (Call::Apart& one : call->apart) {
    if (!failed && one.output) one.blocks.put_together(one.plain.data(), one.device);
    one.plain = {};
  }
  if (!failed) return ACL_SUCCESS;
  return sim_fail(failed > 1 ? failed : ACL_ERROR_RT_AICORE_EXCEPTION, "aclop operator %s: %s", call->type.c_str(),
                  error);
}

std::string described(const ge_tensor& tensor) {
  std::string sizes;
  for (int d = 0; d < tensor.rank; ++d) sizes += (d ? ", " : "") + std::to_string(tensor.dims[d]);
  return "of data type " + std::to_string(tensor.dtype) + " and shape [" + (tensor.rank < 0 ? "?" : sizes) + "]";
}

// Whether only running the operator tells the sizes: the caller gave room for the most that there can be.
bool open_ended(const ge_tensor& tensor) {
  return tensor.rank == ge_unknown_rank ||
         std::find(tensor.dims, tensor.dims + tensor.rank, int64_t(ge_unknown_dim)) != tensor.dims + tensor.rank;
}

// Whether they are as many elements: programs describe a result as they will look at it. torch_npu leaves out, or adds,
// dimensions of 1, and mmcv has GatherV2 write groups of points.
bool lies_as(const ge_tensor& one, const ge_tensor& other) {
  const auto elements = [](const ge_tensor& tensor) {
    return std::accumulate(tensor.dims, tensor.dims + std::max(tensor.rank, 0), int64_t{1}, std::multiplies<>());
  };
  return elements(one) == elements(other);
}

// What is written in place has the input's memory; torch_npu may describe it as the view that the operator writes.
bool is_input(const Call& call, const ge_tensor& output) {
  return output.data && std::any_of(call.inputs.begin(), call.inputs.end(), [&](const ge_tensor& input) {
           return input.dtype == output.dtype && input.data == output.data;
         });
}

// Images may have their channels last, which each description says of its own tensor. The table has them second: what
// the attributes say by dimension is told in that order, and the stream puts the tensors into it. DeformableOffsets has
// a row for both orders; colours of AdjustHue lie last in any case, as its format without a batch, HWC, says.
bool has_other_order(const Operator& op) {
  return std::any_of(op.inputs, op.inputs + op.input_count,
                     [](const auto* one) { return lies_in_other_order(*one); }) &&
         strstr(table()->proto(op.type), " data_format:String=N") && !strstr(op.type, "DeformableOffsets");
}

// Those that take blocks out of images have no attribute for the order, only the description of these.
bool takes_order_from_images(const Operator& op) {
  const std::string_view type = op.type;
  return op.input_count && op.inputs[0]->format == ACL_FORMAT_NCHW && op.inputs[0]->dims.size() == 4 &&
         (type.starts_with("SpaceToBatch") || type.starts_with("BatchToSpace")) &&
         type.find("ND") == std::string_view::npos;
}

void tell_in_nchw(const char* type, std::map<std::string, aclopAttr::Value>& values) {
  const auto given = values.find("data_format");
  const bool last = given == values.end() ? strstr(table()->proto(type), " data_format:String=NHWC") != nullptr
                                          : given->second == aclopAttr::Value(std::string("NHWC"));
  values["data_format"] = std::string("NCHW");
  if (!last) return;
  for (const char* name : {"strides", "dilations", "ksize"})
    if (const auto entry = values.find(name); entry != values.end())
      if (auto* by_dim = std::get_if<std::vector<int64_t>>(&entry->second); by_dim && by_dim->size() == 4)
        *by_dim = {(*by_dim)[0], (*by_dim)[3], (*by_dim)[1], (*by_dim)[2]};
}

// The attributes, and the inputs with what they lie in.
int describe_inputs(const Operator& op, const aclDataBuffer* const buffers[], Call& call) {
  call.type = op.type;
  call.inputs.resize(size_t(op.input_count));
  call.outputs.resize(size_t(op.output_count));
  for (size_t i = 0; i < size_t(op.input_count); ++i) {
    ge_tensor& tensor = call.inputs[i];
    const aclTensorDesc& desc = *op.inputs[i];
    const aclDataBuffer* buffer = buffers ? buffers[i] : nullptr;
    if (int code = describe(call, "input", int(i), &desc, buffer, &tensor)) return code;
    if (desc.is_const) {
      if (desc.constant.size() < aclGetTensorDescSize(&desc))
        return refuse(call, "the constant of input " + std::to_string(i) + " has " +
                                std::to_string(desc.constant.size()) + " bytes, the tensor " +
                                std::to_string(aclGetTensorDescSize(&desc)));
      tensor.data = call.host_values.emplace_back(desc.constant.begin(), desc.constant.end()).data();
      continue;
    }
    if (int code = keep_apart(call, "an input", &desc, buffer, false, &tensor)) return code;
    if (desc.placement == ACL_MEMTYPE_DEVICE && buffer) call.read.push_back(*buffer);
    if (desc.placement == ACL_MEMTYPE_DEVICE || !tensor.data) continue;
    auto bytes = static_cast<const char*>(tensor.data);
    tensor.data = call.host_values.emplace_back(bytes, bytes + buffer->size).data();
  }
  if (!op.attributes) return ACL_SUCCESS;
  for (const auto& [name, value] : op.attributes->values) {
    ge_attr& attribute = call.attributes.emplace_back();
    attribute = {};
    attribute.name = call.texts.emplace_back(name).c_str();
    std::visit(AttributeWriter{call, attribute}, value);
  }
  return ACL_SUCCESS;
}

// Inference sees the values that lie on the host; what is on the device is not there before the stream gets to it.
int infer_outputs(const Operator& op, Call& call) {
  std::vector<void*> data;
  for (size_t i = 0; i < size_t(op.input_count); ++i) {
    data.push_back(call.inputs[i].data);
    if (op.inputs[i]->placement == ACL_MEMTYPE_DEVICE && !op.inputs[i]->is_const) call.inputs[i].data = nullptr;
  }
  // A package's inference may leave an output as it was described.
  for (size_t i = 0; i < size_t(op.output_count) && !in_table(op.type); ++i)
    if (int code = describe(call, "output", int(i), op.outputs[i], nullptr, &call.outputs[i])) return code;
  char error[512] = "";
  const ge_call view = call.view();
  const auto infer = in_table(op.type) ? table()->infer : packages()->infer;
  if (infer(&view, error, sizeof error)) return refuse(call, error);
  for (size_t i = 0; i < data.size(); ++i) call.inputs[i].data = data[i];
  return ACL_SUCCESS;
}

// The outputs as they are described, which is what the operator gives them.
int describe_outputs(const Operator& op, const aclDataBuffer* const buffers[], Call& call) {
  for (size_t i = 0; i < size_t(op.output_count); ++i) {
    const ge_tensor inferred = call.outputs[i];
    ge_tensor& told = call.outputs[i];
    const aclDataBuffer* buffer = buffers ? buffers[i] : nullptr;
    if (int code = describe(call, "output", int(i), op.outputs[i], buffer, &told)) return code;
    if (int code = keep_apart(call, "an output", op.outputs[i], buffer, true, &told)) return code;
    if (buffer) call.written.push_back(*buffer);
    bool same = inferred.rank == ge_unknown_rank || inferred.rank == told.rank;
    for (int d = 0; same && d < inferred.rank; ++d)
      same = inferred.dims[d] == ge_unknown_dim || inferred.dims[d] == told.dims[d];
    if (!same && !open_ended(inferred) && (lies_as(inferred, told) || is_input(call, told))) {
      told.rank = inferred.rank;
      std::copy(inferred.dims, inferred.dims + inferred.rank, told.dims);
      same = true;
    }
    // Into an output that is not asked for nothing is written, whatever it is.
    same = same || (inferred.rank == 1 && inferred.dims[0] == 0);
    // What is 0 or 1 in a byte is a truth value as well, as MindSpore describes such masks.
    const bool truth = told.dtype == ACL_BOOL && (inferred.dtype == ACL_INT8 || inferred.dtype == ACL_UINT8);
    if (truth) told.dtype = inferred.dtype;
    if (!same || inferred.dtype != told.dtype)
      return refuse(call, "output " + std::to_string(i) +
                              " does not have the shape and dtype that the operator gives it: it is " +
                              described(told) + ", not " + described(inferred));
  }
  return ACL_SUCCESS;
}

// The data type that a result has where an attribute tells it: programs leave that out and describe the output alone,
// as the vendor's sample does with ArgMaxV2 and MindSpore with Unique.
struct UntoldType {
  const char* attribute = nullptr;
  int output = 0;
};
UntoldType untold_type(const Operator& op) {
  for (const UntoldType one : {UntoldType{"dtype"}, UntoldType{"Tout"}, UntoldType{"out_idx", 1}}) {
    if (one.output ? op.output_count <= one.output : op.output_count != 1) continue;
    const std::string declared = std::string(" ") + one.attribute + ":Type=";
    const char* at = strstr(table()->proto(op.type), declared.c_str());
    const bool given = op.attributes && op.attributes->values.count(one.attribute);
    if (at && !given && atoi(at + declared.size()) != ge_absent) return one;
  }
  return {};
}

// The operator with one attribute more.
struct Told {
  Told(const Operator& of, const char* name, aclopAttr::Value value)
      : attributes(of.attributes ? *of.attributes : aclopAttr{}), op(of) {
    attributes.values[name] = std::move(value);
    op.attributes = &attributes;
  }
  aclopAttr attributes;
  Operator op;
};

// Calls `use` with the operator as the table has it: its types told, its dimensions in the table's order.
template <typename F>
int as_in_table(const Operator& op, F use) {
  if (!in_table(op.type)) {
    if (in_package(op.type)) return use(op);
    return sim_unimplemented((std::string("the aclop operator ") + op.type).c_str());
  }
  if (const UntoldType untold = untold_type(op); untold.attribute)
    return as_in_table(Told(op, untold.attribute, op.outputs[untold.output]->dtype).op, use);
  if (takes_order_from_images(op)) return use(Told(op, "data_format", std::string("NCHW")).op);
  if (!has_other_order(op)) return use(op);
  std::deque<aclTensorDesc> kept;
  const auto reordered = [&](int count, const aclTensorDesc* const desc[]) {
    std::vector<const aclTensorDesc*> all;
    for (int i = 0; i < count; ++i) all.push_back(&kept.emplace_back(in_nchw(*desc[i])));
    return all;
  };
  const auto ins = reordered(op.input_count, op.inputs), outs = reordered(op.output_count, op.outputs);
  aclopAttr told = op.attributes ? *op.attributes : aclopAttr{};
  tell_in_nchw(op.type, told.values);
  return use(Operator{op.type, int(ins.size()), ins.data(), int(outs.size()), outs.data(), &told});
}

// What the caller has on the host, and memory of the device for it as long as a task of the stream refers to it.
struct Lent {
  std::vector<std::pair<void*, std::vector<char>>> values;
  ~Lent() {
    for (const auto& [memory, value] : values) sim_free(memory);
  }
};
using SharedLent = std::shared_ptr<Lent>;
int launch_with(const SharedLent& lent, void* stream, sim_run run) {
  return sim_launch(stream, "values of the host", run, new SharedLent(lent), drop<SharedLent>);
}
int put_on_device(void* pointer) {
  for (const auto& [memory, value] : (*static_cast<SharedLent*>(pointer))->values)
    std::memcpy(memory, value.data(), value.size());
  return ACL_SUCCESS;
}

// Its functions put it onto the stream themselves, and take device memory alone.
int launch_of_package(Call& call, void* stream) {
  if (!call.apart.empty()) return refuse(call, "an operator of a package takes no tensors in private formats");
  const auto lent = std::make_shared<Lent>();
  for (std::vector<char>& value : call.host_values) {
    void* memory = nullptr;
    if (const int code = sim_malloc(std::max<size_t>(value.size(), 1), &memory)) return code;
    for (ge_tensor& input : call.inputs)
      if (input.data == value.data()) input.data = memory;
    lent->values.emplace_back(memory, std::move(value));
  }
  if (!lent->values.empty())
    if (const int code = launch_with(lent, stream, put_on_device)) return code;
  char error[512] = "";
  const ge_call view = call.view();
  const int code = packages()->launch(&view, stream, error, sizeof error);
  if (!code && !lent->values.empty()) return launch_with(lent, stream, [](void*) { return int(ACL_SUCCESS); });
  return code > 1 ? sim_fail(code, "%s", error) : code ? refuse(call, error) : int(ACL_SUCCESS);
}

bool is_known(const aclTensorDesc* desc) {
  return std::all_of(desc->dims.begin(), desc->dims.end(), [](int64_t size) { return size >= 0; });
}

bool all_known(int count, const aclTensorDesc* const desc[]) { return std::all_of(desc, desc + count, is_known); }

}  // namespace

int problem_of(const char* caller, const Operator& op) {
  if (!op.type) return ACL_INVALID(caller, "the operator's type is null");
  const auto problem = [&](const char* side, int count, const aclTensorDesc* const all[]) {
    if (count < 0) return sim_fail(ACL_ERROR_INVALID_PARAM, "%s of %s: %d %ss", caller, op.type, count, side);
    if (count && !all)
      return sim_fail(ACL_ERROR_INVALID_PARAM, "%s of %s: the descriptions of its %ss are null", caller, op.type, side);
    for (int i = 0; i < count; ++i)
      if (!all[i])
        return sim_fail(ACL_ERROR_INVALID_PARAM, "%s of %s: the description of %s %d is null", caller, op.type, side,
                        i);
    return int(ACL_SUCCESS);
  };
  const int code = problem("input", op.input_count, op.inputs);
  return code ? code : problem("output", op.output_count, op.outputs);
}

int problem_of(const char* caller, const Operator& op, const Memory& memory) {
  const auto problem = [&](const char* side, int count, const aclDataBuffer* const all[]) {
    if (count && !all)
      return sim_fail(ACL_ERROR_INVALID_PARAM, "%s of %s: the buffers of its %ss are null", caller, op.type, side);
    for (int i = 0; i < count; ++i) {
      if (!all[i])
        return sim_fail(ACL_ERROR_INVALID_PARAM, "%s of %s: the buffer of %s %d is null", caller, op.type, side, i);
      if (!all[i]->data && all[i]->size)
        return sim_fail(ACL_ERROR_INVALID_PARAM, "%s of %s: the buffer of %s %d has %zu bytes at no address", caller,
                        op.type, side, i, all[i]->size);
    }
    return int(ACL_SUCCESS);
  };
  const int code = problem("input", op.input_count, memory.inputs);
  return code ? code : problem("output", op.output_count, memory.outputs);
}

int problem_of_places(const char* caller, const Operator& op) {
  const auto problem = [&](const char* side, int count, const aclTensorDesc* const all[]) {
    for (int i = 0; i < count; ++i)
      if (!all[i]->is_const && all[i]->placement != ACL_MEMTYPE_DEVICE)
        return sim_fail(ACL_ERROR_API_NOT_SUPPORT,
                        "%s of %s: %s %d is on the host; allowed: on the device, or a constant (aclSetTensorConst)",
                        caller, op.type, side, i);
    return int(ACL_SUCCESS);
  };
  const int code = problem("input", op.input_count, op.inputs);
  return code ? code : problem("output", op.output_count, op.outputs);
}

bool all_empty(const Operator& op) {
  return op.output_count && std::all_of(op.outputs, op.outputs + op.output_count, [](const aclTensorDesc* desc) {
           return std::find(desc->dims.begin(), desc->dims.end(), 0) != desc->dims.end();
         });
}

int infer(const Operator& op, const aclDataBuffer* const values[], std::vector<aclTensorDesc>& outputs) {
  return as_in_table(op, [&](const Operator& ordered) {
    Call call;
    if (int code = describe_inputs(ordered, values, call)) return code;
    if (int code = infer_outputs(ordered, call)) return code;
    outputs.clear();
    for (size_t i = 0; i < size_t(ordered.output_count); ++i) {
      aclTensorDesc& told = outputs.emplace_back(*op.outputs[i]);
      const ge_tensor& found = call.outputs[i];
      constexpr int64_t kUnknownRank = -2;
      told.dtype = aclDataType(found.dtype);
      told.dims.assign(found.dims, found.dims + std::max(found.rank, 0));
      if (found.rank == ge_unknown_rank) told.dims = {kUnknownRank};
      if (ordered.outputs != op.outputs) told.dims = from_nchw(told.format, told.dims);
    }
    return int(ACL_SUCCESS);
  });
}

int check(const Operator& op) {
  return as_in_table(op, [&](const Operator& ordered) {
    // With sizes that only the call tells, that the call is asked.
    if (!all_known(ordered.input_count, ordered.inputs) || !all_known(ordered.output_count, ordered.outputs))
      return int(ACL_SUCCESS);
    Call call;
    if (int code = describe_inputs(ordered, nullptr, call)) return code;
    if (int code = infer_outputs(ordered, call)) return code;
    return describe_outputs(ordered, nullptr, call);
  });
}

int execute(const Operator& op, const Memory& memory, void* stream, aclTensorDesc* const told[]) {
  SharedCall found;
  const int code = as_in_table(op, [&](const Operator& ordered) {
    auto call = std::make_shared<Call>();
    if (int code = describe_inputs(ordered, memory.inputs, *call)) return code;
    if (int code = infer_outputs(ordered, *call)) return code;
    if (told && std::any_of(call->outputs.begin(), call->outputs.end(), open_ended)) found = call;
    if (int code = describe_outputs(ordered, memory.outputs, *call)) return code;
    if (!in_table(ordered.type)) return launch_of_package(*call, stream);
    const char* const name = call->type.c_str();  // as long as the task
    return sim_launch_about(stream, name, &kCall, run_call, new SharedCall(std::move(call)), drop<SharedCall>);
  });
  if (code || !found) return code;
  if (const int failed = sim_stream_synchronize(stream, -1)) return failed;
  for (size_t i = 0; i < size_t(op.output_count); ++i) {
    const ge_tensor& output = found->outputs[i];
    told[i]->dims.assign(output.dims, output.dims + output.rank);
  }
  return ACL_SUCCESS;
}

}  // namespace sim::acl
