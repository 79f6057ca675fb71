// libacl_op_compiler: compile options, and single operators by type name (the path that ops without an aclnn form
// take).
//
// It fails as libascendcl does (acl/runtime.cpp). The operator table refuses with a text: it becomes the message of
// ACL_ERROR_INVALID_PARAM in the call, or of the stream's error where the operator was on it.
#include "acl/acl_op_compiler.h"

#include <algorithm>
#include <cstring>
#include <deque>
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

// What sizes the outputs came to have, where only running the operator tells.
struct Made {
  bool asked = false;
  std::vector<ge_tensor> outputs;
};

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
    return {type.c_str(),      inputs.data(),     inputs.size(), outputs.data(), outputs.size(),
            attributes.data(), attributes.size(), nullptr,       made != nullptr};
  }
  std::shared_ptr<Made> made;  // none where the caller has told the outputs' sizes
};

void tell(const void* self, sim_listener* listener) {
  const auto* call = static_cast<const Call*>(self);
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
  auto call = static_cast<Call*>(pointer);
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
  const ge_call view = call->view();
  const int failed = table()->run(&view, error, sizeof error);
  for (Call::Apart& one : call->apart) {
    if (!failed && one.output) one.blocks.put_together(one.plain.data(), one.device);
    one.plain = {};
  }
  if (failed) return sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "aclop operator %s: %s", call->type.c_str(), error);
  if (call->made) call->made->outputs = call->outputs;
  return ACL_SUCCESS;
}

// `made`, of a caller that will wait for the stream: is asked for where an output's size is not known before.
int execute(const char* type, int input_count, const aclTensorDesc* const input_desc[],
            const aclDataBuffer* const inputs[], int output_count, const aclTensorDesc* const output_desc[],
            const aclDataBuffer* const outputs[], const aclopAttr* attributes, void* stream,
            const std::shared_ptr<Made>& made = nullptr) {
  if (!table() || !table()->proto(type)) return sim_unimplemented((std::string("the aclop operator ") + type).c_str());
  auto call = std::make_unique<Call>();
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

  for (int i = 0; i < output_count; ++i) {
    const ge_tensor inferred = call->outputs[size_t(i)];
    ge_tensor& told = call->outputs[size_t(i)];
    if (int code = describe(*call, "output", i, output_desc[i], outputs[i], &told)) return code;
    if (int code = keep_apart(*call, "an output", output_desc[i], outputs[i], true, &told)) return code;
    if (outputs[i]) call->written.push_back(*outputs[i]);
    bool same = inferred.rank == ge_unknown_rank || inferred.rank == told.rank;
    for (int d = 0; same && d < inferred.rank; ++d)
      same = inferred.dims[d] == ge_unknown_dim || inferred.dims[d] == told.dims[d];
    const auto one = [](const ge_tensor& tensor) {
      return tensor.rank >= 0 &&
             std::all_of(tensor.dims, tensor.dims + tensor.rank, [](int64_t dim) { return dim == 1; });
    };
    same = same || (one(inferred) && one(told));  // a scalar and one element are the same to the operator
    if (!same || inferred.dtype != told.dtype)
      return refuse(*call,
                    "output " + std::to_string(i) + " does not have the shape and dtype that the operator gives it");
    const int64_t* end = inferred.dims + std::max(inferred.rank, 0);
    if (made && std::find(inferred.dims, end, ge_unknown_dim) != end) made->asked = true, call->made = made;
  }
  const char* const name = call->type.c_str();  // as long as the task
  return sim_launch_about(stream, name, &kCall, run_call, call.release(),
                          [](void* pointer) { delete static_cast<Call*>(pointer); });
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

aclError aclopCompileAndExecuteV2(const char* type, int input_count, aclTensorDesc* input_desc[],
                                  aclDataBuffer* inputs[], int output_count, aclTensorDesc* output_desc[],
                                  aclDataBuffer* outputs[], aclopAttr* attributes, aclopEngineType, aclopCompileType,
                                  const char*, aclrtStream stream) {
  // The second form tells in its descriptions what sizes the outputs came to have, for which it waits.
  const auto made = std::make_shared<Made>();
  if (int code =
          execute(type, input_count, input_desc, inputs, output_count, output_desc, outputs, attributes, stream, made))
    return code;
  if (!made->asked) return ACL_SUCCESS;
  if (int code = sim_stream_synchronize(stream, -1)) return code;
  for (size_t i = 0; i < made->outputs.size(); ++i) {
    const ge_tensor& output = made->outputs[i];
    output_desc[i]->dims.assign(output.dims, output.dims + output.rank);
  }
  return ACL_SUCCESS;
}

}  // extern "C"
