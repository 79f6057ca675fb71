// libacl_op_compiler: compile options, and single operators by type name (the path that ops without an aclnn form
// take).
//
// It fails as libascendcl does (acl/runtime.cpp). The operator table refuses with a text: it becomes the message of
// ACL_ERROR_INVALID_PARAM in the call, or of the stream's error where the operator was on it.
#include "acl/acl_op_compiler.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "acl/blocks.h"
#include "acl/operator_description.h"
#include "acl/tasks.h"
#include "core/sim.h"
#include "ge/kernels.h"

namespace {

std::mutex options_mutex;
// "disable": operators are looked up, not compiled for each shape; anything else sends torch_npu down the old aclop
// path.
std::map<int, std::string>& options() {
  static auto* instance = new std::map<int, std::string>{{ACL_OP_JIT_COMPILE, "disable"}};
  return *instance;
}

// The operator table of the graph engine, which knows the same operator types. It is in libopapi, with ATen.
struct Table {
  decltype(&ophook_ge_proto) proto;
  decltype(&ophook_ge_infer) infer;
  decltype(&ophook_ge_run) run;
};

const Table* table() {
  static const Table found{reinterpret_cast<decltype(Table::proto)>(sim_opapi_symbol("ophook_ge_proto")),
                           reinterpret_cast<decltype(Table::infer)>(sim_opapi_symbol("ophook_ge_infer")),
                           reinterpret_cast<decltype(Table::run)>(sim_opapi_symbol("ophook_ge_run"))};
  return found.run ? &found : nullptr;
}

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
    sim::acl::Blocks blocks;
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
using Shared = std::shared_ptr<Call>;

void tell(const void* self, sim_listener* listener) {
  const Shared& call = *static_cast<const Shared*>(self);
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
  if (sim::acl::in_blocks(*desc))
    if (const std::string problem = sim::acl::problem_of_blocks(*desc); !problem.empty())
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
  if (!sim::acl::in_blocks(*desc) || !buffer || !buffer->data) return ACL_SUCCESS;
  const sim::acl::Blocks blocks(*desc);
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
  template <typename T>
  void operator()(const T&) const {
    attribute.kind = ge_attr_other;
  }
};

int run_call(void* pointer) {
  const Shared& call = *static_cast<Shared*>(pointer);
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
  return sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "aclop operator %s: %s", call->type.c_str(), error);
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

// Whether they differ in dimensions of 1 only: torch_npu leaves out, or adds, those that a view of the result will.
bool lies_as(const ge_tensor& one, const ge_tensor& other) {
  const auto sizes = [](const ge_tensor& tensor) {
    std::vector<int64_t> found;
    std::copy_if(tensor.dims, tensor.dims + std::max(tensor.rank, 0), std::back_inserter(found),
                 [](int64_t size) { return size != 1; });
    return found;
  };
  return sizes(one) == sizes(other);
}

// What is written in place has the input's memory; torch_npu may describe it as the view that the operator writes.
bool is_input(const Call& call, const ge_tensor& output) {
  return output.data && std::any_of(call.inputs.begin(), call.inputs.end(), [&](const ge_tensor& input) {
           return input.dtype == output.dtype && input.data == output.data;
         });
}

// Images may have their channels last, which each description says of its own tensor. The table has them second: what
// the attributes say by dimension is told in that order, and the stream puts the tensors into it. DeformableOffsets has
// them last by its definition.
bool has_other_order(const char* type, int count, const aclTensorDesc* const desc[]) {
  return std::any_of(desc, desc + count, [](const auto* one) { return sim::acl::lies_in_other_order(*one); }) &&
         strstr(table()->proto(type), " data_format:String") && !strstr(type, "DeformableOffsets");
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

// `found`: the call's outputs have their sizes in it where the stream has to run first, and is null otherwise.
int execute(const char* type, int input_count, const aclTensorDesc* const input_desc[],
            const aclDataBuffer* const inputs[], int output_count, const aclTensorDesc* const output_desc[],
            const aclDataBuffer* const outputs[], const aclopAttr* attributes, void* stream, Shared* found = nullptr) {
  if (!table() || !table()->proto(type)) return sim_unimplemented((std::string("the aclop operator ") + type).c_str());
  if (has_other_order(type, input_count, input_desc)) {
    std::deque<aclTensorDesc> kept;
    const auto reordered = [&](int count, const aclTensorDesc* const desc[]) {
      std::vector<const aclTensorDesc*> all;
      for (int i = 0; i < count; ++i) all.push_back(&kept.emplace_back(sim::acl::in_nchw(*desc[i])));
      return all;
    };
    const auto ins = reordered(input_count, input_desc), outs = reordered(output_count, output_desc);
    aclopAttr told = attributes ? *attributes : aclopAttr{};
    tell_in_nchw(type, told.values);
    return execute(type, input_count, ins.data(), inputs, output_count, outs.data(), outputs, &told, stream, found);
  }
  auto call = std::make_shared<Call>();
  call->type = type;
  call->inputs.resize(size_t(input_count));
  call->outputs.resize(size_t(output_count));
  for (int i = 0; i < input_count; ++i) {
    ge_tensor& tensor = call->inputs[size_t(i)];
    if (int code = describe(*call, "input", i, input_desc[i], inputs[i], &tensor)) return code;
    if (int code = keep_apart(*call, "an input", input_desc[i], inputs[i], false, &tensor)) return code;
    if (input_desc[i]->placement == ACL_MEMTYPE_DEVICE && inputs[i]) call->read.push_back(*inputs[i]);
    if (input_desc[i]->placement == ACL_MEMTYPE_DEVICE || !tensor.data) continue;
    auto bytes = static_cast<const char*>(tensor.data);
    tensor.data = call->host_values.emplace_back(bytes, bytes + inputs[i]->size).data();
  }
  if (attributes) {
    for (const auto& [name, value] : attributes->values) {
      ge_attr& attribute = call->attributes.emplace_back();
      attribute = {};
      attribute.name = call->texts.emplace_back(name).c_str();
      std::visit(AttributeWriter{*call, attribute}, value);
    }
  }

  // Inference sees the values that lie on the host; what is on the device is not there before the stream gets to it.
  std::vector<void*> data;
  for (int i = 0; i < input_count; ++i) {
    data.push_back(call->inputs[size_t(i)].data);
    if (input_desc[i]->placement == ACL_MEMTYPE_DEVICE) call->inputs[size_t(i)].data = nullptr;
  }
  char error[512] = "";
  const ge_call view = call->view();
  if (table()->infer(&view, error, sizeof error)) return refuse(*call, error);
  for (size_t i = 0; i < data.size(); ++i) call->inputs[i].data = data[i];

  if (found && std::any_of(call->outputs.begin(), call->outputs.end(), open_ended)) *found = call;
  for (int i = 0; i < output_count; ++i) {
    const ge_tensor inferred = call->outputs[size_t(i)];
    ge_tensor& told = call->outputs[size_t(i)];
    if (int code = describe(*call, "output", i, output_desc[i], outputs[i], &told)) return code;
    if (int code = keep_apart(*call, "an output", output_desc[i], outputs[i], true, &told)) return code;
    if (outputs[i]) call->written.push_back(*outputs[i]);
    bool same = inferred.rank == ge_unknown_rank || inferred.rank == told.rank;
    for (int d = 0; same && d < inferred.rank; ++d)
      same = inferred.dims[d] == ge_unknown_dim || inferred.dims[d] == told.dims[d];
    if (!same && !open_ended(inferred) && (lies_as(inferred, told) || is_input(*call, told))) {
      told.rank = inferred.rank;
      std::copy(inferred.dims, inferred.dims + inferred.rank, told.dims);
      same = true;
    }
    // Into an output that is not asked for nothing is written, whatever it is.
    same = same || (inferred.rank == 1 && inferred.dims[0] == 0);
    if (!same || inferred.dtype != told.dtype)
      return refuse(*call, "output " + std::to_string(i) +
                               " does not have the shape and dtype that the operator gives it: it is " +
                               described(told) + ", not " + described(inferred));
  }
  const char* const name = call->type.c_str();  // as long as the task
  return sim_launch_about(stream, name, &kCall, run_call, new Shared(std::move(call)),
                          [](void* pointer) { delete static_cast<Shared*>(pointer); });
}

}  // namespace

extern "C" {

size_t aclGetCompileoptSize(aclCompileOpt option) {
  std::lock_guard<std::mutex> lock(options_mutex);
  auto entry = options().find(option);
  return entry == options().end() ? 0 : entry->second.size() + 1;
}

aclError aclGetCompileopt(aclCompileOpt option, char* value, size_t length) {
  std::lock_guard<std::mutex> lock(options_mutex);
  auto entry = options().find(option);
  if (entry == options().end())
    return sim_fail(ACL_ERROR_INVALID_PARAM, "aclGetCompileopt: option %d was never set", int(option));
  if (length < entry->second.size() + 1) return sim_fail(ACL_ERROR_INVALID_PARAM, "aclGetCompileopt: buffer too small");
  memcpy(value, entry->second.c_str(), entry->second.size() + 1);
  return ACL_SUCCESS;
}

aclError aclSetCompileopt(aclCompileOpt option, const char* value) {
  std::lock_guard<std::mutex> lock(options_mutex);
  options()[option] = value ? value : "";
  return ACL_SUCCESS;
}

aclError aclopCompileAndExecute(const char* type, int input_count, const aclTensorDesc* const input_desc[],
                                const aclDataBuffer* const inputs[], int output_count,
                                const aclTensorDesc* const output_desc[], aclDataBuffer* const outputs[],
                                const aclopAttr* attributes, aclopEngineType, aclopCompileType, const char*,
                                aclrtStream stream) {
  return execute(type, input_count, input_desc, inputs, output_count, output_desc, outputs, attributes, stream);
}

// Returns when the descriptions of the outputs have their sizes.
aclError aclopCompileAndExecuteV2(const char* type, int input_count, aclTensorDesc* input_desc[],
                                  aclDataBuffer* inputs[], int output_count, aclTensorDesc* output_desc[],
                                  aclDataBuffer* outputs[], aclopAttr* attributes, aclopEngineType, aclopCompileType,
                                  const char*, aclrtStream stream) {
  Shared found;
  if (const int code = execute(type, input_count, input_desc, inputs, output_count, output_desc, outputs, attributes,
                               stream, &found))
    return code;
  if (!found) return ACL_SUCCESS;
  if (const int code = sim_stream_synchronize(stream, -1)) return code;
  for (int i = 0; i < output_count; ++i) {
    const ge_tensor& output = found->outputs[size_t(i)];
    output_desc[i]->dims.assign(output.dims, output.dims + output.rank);
  }
  return ACL_SUCCESS;
}

}  // extern "C"
