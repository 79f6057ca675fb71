// Operators that a program loads as .om files, or compiles, and runs by their types.
#include "acl/single_operators.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <system_error>

#include "acl/error_codes/ge_error_codes.h"
#include "acl/operator_file.h"
#include "acl/refuse.h"
#include "core/handles.h"
#include "core/log.h"

struct aclopHandle {
  sim::acl::KeptOperator op;
  std::shared_ptr<const sim::acl::OperatorModel> model;
  bool has_own = false;  // what it stands for was told by who made it
  sim::acl::KeptOperator own;
};

namespace sim::acl {
namespace {

using Handles = sim::Handles<aclopHandle>;
namespace files = std::filesystem;
constexpr int kFolders = 3;  // one in the other, in which files are looked for

std::mutex folder_mutex;
bool folder_was_set = false;

// The graph engine takes a buffer with so many bytes, which are a multiple of 32 with 32 more.
constexpr size_t kAdded = 32;
size_t taken(size_t size) { return (size + 2 * kAdded - 1) / kAdded * kAdded; }

int problem_of_sizes(const char* caller, const Operator& op, const Memory& memory) {
  const auto problem = [&](const char* side, int count, const aclTensorDesc* const all[],
                           const aclDataBuffer* const buffers[]) {
    for (int i = 0; i < count; ++i) {
      if (all[i]->is_const || all[i]->dtype == ACL_DT_UNDEFINED) continue;
      if (const size_t needed = aclGetTensorDescSize(all[i]); taken(buffers[i]->size) < needed)
        return sim_fail(ACL_ERROR_GE_PARAM_INVALID, "%s of %s: the buffer of %s %d has %zu bytes, the tensor %zu",
                        caller, op.type, side, i, buffers[i]->size, needed);
    }
    return int(ACL_SUCCESS);
  };
  const int code = problem("input", op.input_count, op.inputs, memory.inputs);
  return code ? code : problem("output", op.output_count, op.outputs, memory.outputs);
}

int run_found(const char* caller, const Operator& op, const OperatorModel& model, const Memory& memory, void* stream,
              aclTensorDesc* const told[], KeptOperator* stands_for) {
  if (const int code = problem_of_sizes(caller, op, memory)) return code;
  if (stands_for) return execute(stands_for->view(), memory, stream, told);
  KeptOperator meant = model.stands_for(op);
  return execute(meant.view(), memory, stream, told);
}

int run(const char* caller, const Operator& op, const Memory& memory, void* stream, aclTensorDesc* const told[]) {
  if (const int code = problem_of(caller, op)) return code;
  if (all_empty(op)) return ACL_SUCCESS;
  if (const int code = problem_of(caller, op, memory)) return code;
  return run_single(caller, op, memory, stream, told);
}

// What cannot be read ends the call; what is no operator is left out, as CANN does.
int load_folder(const files::path& folder, int depth) {
  std::error_code error;
  std::vector<files::path> found;
  for (auto each = files::directory_iterator(folder, error); !error && each != files::directory_iterator();
       each.increment(error))
    found.push_back(each->path());
  if (error)
    return sim_fail(ACL_ERROR_READ_MODEL_FAILURE, "aclopSetModelDir: %s: %s", folder.c_str(), error.message().c_str());
  std::sort(found.begin(), found.end());
  for (const files::path& path : found) {
    if (files::is_directory(path, error)) {
      if (depth > 1)
        if (const int code = load_folder(path, depth - 1)) return code;
      continue;
    }
    if (path.extension() != ".om" || !files::is_regular_file(path, error)) continue;
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    if (!file) return sim_fail(ACL_ERROR_READ_MODEL_FAILURE, "aclopSetModelDir: %s cannot be read", path.c_str());
    if (load_operator(path.string(), content.data(), content.size()))
      if (const char* why = sim_error_message()) sim_log("ASCENDCL", sim_log_warning, "aclopSetModelDir", why);
  }
  return ACL_SUCCESS;
}

// The description of Cast and its attributes.
struct Cast {
  Cast(const aclTensorDesc* from, const aclTensorDesc* to, uint8_t truncate) : input(from), output(to) {
    attributes.values["dst_type"] = int64_t(to->dtype);
    if (cast_truncates()) attributes.values["truncate"] = truncate != 0;
  }
  Operator view() const { return {"Cast", 1, &input, 1, &output, &attributes}; }
  const aclTensorDesc *input, *output;
  aclopAttr attributes;
};

}  // namespace

int run_single(const char* caller, const Operator& op, const Memory& memory, void* stream, aclTensorDesc* const told[],
               KeptOperator* stands_for) {
  int code;
  const auto model = find_operator(caller, op, code);
  return model ? run_found(caller, op, *model, memory, stream, told, stands_for) : code;
}

int make_handle(const char* caller, const Operator& op, aclopHandle** handle, const KeptOperator* stands_for) {
  if (!handle) return ACL_INVALID(caller, "where the handle goes is null");
  if (const int code = problem_of(caller, op)) return code;
  if (const int code = problem_of_places(caller, op)) return code;
  int code;
  auto model = find_operator(caller, op, code);
  if (!model) return code;
  auto made = std::make_shared<aclopHandle>();
  made->op = KeptOperator(op), made->model = std::move(model);
  if (stands_for) made->has_own = true, made->own = *stands_for;
  *handle = static_cast<aclopHandle*>(Handles::all().add(std::move(made)));
  return ACL_SUCCESS;
}

}  // namespace sim::acl

using namespace sim::acl;

extern "C" {

aclError aclopSetModelDir(const char* folder) {
  ACL_INVALID_IF(!folder, "the folder is null");
  std::error_code error;
  const files::path place = files::canonical(folder, error);
  if (error) return sim_fail(ACL_ERROR_READ_MODEL_FAILURE, "aclopSetModelDir: %s: %s", folder, error.message().c_str());
  std::lock_guard lock(folder_mutex);
  if (folder_was_set)
    return sim_fail(ACL_ERROR_REPEAT_INITIALIZE,
                    "aclopSetModelDir: %s: a folder was set before; load further files by aclopLoad", folder);
  if (const int code = load_folder(place, kFolders)) return code;
  folder_was_set = true;
  return ACL_SUCCESS;
}

aclError aclopLoad(const void* model, size_t size) {
  ACL_INVALID_IF(!model, "the model is null");
  ACL_INVALID_IF(!size, "a model of no bytes");
  return load_operator("aclopLoad: what it was given", model, size);
}

aclError aclopSetMaxOpQueueNum(uint64_t most) {
  ACL_INVALID_IF(!most, "0; allowed: 1 or more");
  keep_operators(most);
  return ACL_SUCCESS;
}

aclError aclopExecute(const char* type, int input_count, const aclTensorDesc* const input_desc[],
                      const aclDataBuffer* const inputs[], int output_count, const aclTensorDesc* const output_desc[],
                      aclDataBuffer* const outputs[], const aclopAttr* attributes, aclrtStream stream) {
  return run("aclopExecute", {type, input_count, input_desc, output_count, output_desc, attributes}, {inputs, outputs},
             stream, nullptr);
}

aclError aclopExecuteV2(const char* type, int input_count, aclTensorDesc* input_desc[], aclDataBuffer* inputs[],
                        int output_count, aclTensorDesc* output_desc[], aclDataBuffer* outputs[], aclopAttr* attributes,
                        aclrtStream stream) {
  return run("aclopExecuteV2", {type, input_count, input_desc, output_count, output_desc, attributes},
             {inputs, outputs}, stream, output_desc);
}

aclError aclopCreateHandle(const char* type, int input_count, const aclTensorDesc* const inputs[], int output_count,
                           const aclTensorDesc* const outputs[], const aclopAttr* attributes, aclopHandle** handle) {
  return make_handle("aclopCreateHandle", {type, input_count, inputs, output_count, outputs, attributes}, handle);
}

void aclopDestroyHandle(aclopHandle* handle) { Handles::all().take(handle); }

aclError aclopExecWithHandle(aclopHandle* handle, int input_count, const aclDataBuffer* const inputs[],
                             int output_count, aclDataBuffer* const outputs[], aclrtStream stream) {
  constexpr const char* kCaller = "aclopExecWithHandle";
  const auto found = Handles::all().find(handle);
  if (!found)
    return ACL_INVALID(kCaller, "the handle %s", handle ? "was destroyed, or is none of an operator" : "is null");
  KeptOperator kept = found->op;  // several threads may run it
  const Operator op = kept.view();
  Operator given = op;
  given.input_count = input_count, given.output_count = output_count;
  if (input_count < 0 || output_count < 0)
    return sim_fail(ACL_ERROR_INVALID_PARAM, "%s of %s: %d inputs and %d outputs", kCaller, op.type, input_count,
                    output_count);
  if (const int code = problem_of(kCaller, given, {inputs, outputs})) return code;
  if (output_count && std::all_of(outputs, outputs + output_count, [](const auto* one) { return !one->size; }))
    return ACL_SUCCESS;
  if (input_count != op.input_count)
    return sim_fail(ACL_ERROR_OP_INPUT_NOT_MATCH, "%s of %s: %d inputs, it was made for %d", kCaller, op.type,
                    input_count, op.input_count);
  if (output_count != op.output_count)
    return sim_fail(ACL_ERROR_OP_OUTPUT_NOT_MATCH, "%s of %s: %d outputs, it was made for %d", kCaller, op.type,
                    output_count, op.output_count);
  KeptOperator own = found->own;
  return run_found(kCaller, op, *found->model, {inputs, outputs}, stream, nullptr, found->has_own ? &own : nullptr);
}

aclError aclopCast(const aclTensorDesc* from, const aclDataBuffer* input, const aclTensorDesc* to,
                   aclDataBuffer* output, uint8_t truncate, aclrtStream stream) {
  ACL_INVALID_IF(!to, "the description of the output is null");
  const Cast cast(from, to, truncate);
  const aclDataBuffer* made = output;
  return run("aclopCast", cast.view(), {&input, &made}, stream, nullptr);
}

aclError aclopCreateHandleForCast(aclTensorDesc* from, aclTensorDesc* to, uint8_t truncate, aclopHandle** handle) {
  ACL_INVALID_IF(!to, "the description of the output is null");
  return make_handle("aclopCreateHandleForCast", Cast(from, to, truncate).view(), handle);
}

aclError aclopInferShape(const char* type, int input_count, aclTensorDesc* input_desc[], aclDataBuffer* inputs[],
                         int output_count, aclTensorDesc* output_desc[], aclopAttr* attributes) {
  const Operator op{type, input_count, input_desc, output_count, output_desc, attributes};
  if (const int code = problem_of("aclopInferShape", op)) return code;
  Operator without_outputs = op;
  without_outputs.output_count = 0;
  if (const int code = problem_of("aclopInferShape", without_outputs, {inputs, nullptr})) return code;
  // The values are the host's, whatever the descriptions say of the tensors that will be run.
  KeptOperator told(op);
  for (size_t i = 0; i < told.inputs.size(); ++i) {
    const bool here = inputs[i]->data && sim_memory_device(inputs[i]->data, nullptr) < 0;
    const bool whole = inputs[i]->size >= aclGetTensorDescSize(&told.inputs[i]);
    told.inputs[i].placement = here && whole ? ACL_MEMTYPE_HOST : ACL_MEMTYPE_DEVICE;
  }
  std::vector<aclTensorDesc> found;
  if (const int code = infer(told.view(), inputs, found)) return code;
  for (size_t i = 0; i < found.size(); ++i) {
    aclTensorDesc& output = *output_desc[i];
    output.dtype = found[i].dtype, output.dims = found[i].dims, output.ranges.clear();
    const bool known = std::all_of(output.dims.begin(), output.dims.end(), [](int64_t size) { return size >= 0; });
    if (!output.storage_told) output.storage_dims = output.dims;
    if (known || output.dims[0] == -2) continue;
    for (const int64_t size : output.dims) output.ranges.emplace_back(std::max<int64_t>(size, 0), size);
  }
  return ACL_SUCCESS;
}

// For the converter: whether the operator in a file can be compiled, as aclopCompile says.
SIM_API aclError ophook_check_operator(const void* file, size_t size) {
  OperatorModel model;
  bool generalized = false;
  int code = ACL_SUCCESS;
  const std::string problem = read_operator({static_cast<const char*>(file), size}, model, generalized, code);
  if (!problem.empty()) return sim_fail(code, "the operator %s", problem.c_str());
  KeptOperator meant = model.stands_for(model.view());
  return check(meant.view());
}

}  // extern "C"
