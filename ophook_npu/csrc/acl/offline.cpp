// libascendcl: offline models (.om) are loaded and run. hicann/ge, docs/zh/api/graph_engine_api/c/acl, and the checks
// of api/acl/acl_model/model there, whose codes these are.
#include "acl/offline.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>

#include "acl/tasks.h"
#include "core/forever.h"

namespace sim::acl::offline {
namespace {

// The graph engine's part, which needs libopapi and with it torch: loaded by the first model.
struct Engine {
  SIM_FOUND(sim_engine_symbol, ophook_om_open, open);
  SIM_FOUND(sim_engine_symbol, ophook_om_close, close);
  SIM_FOUND(sim_engine_symbol, ophook_om_describe, describe);
  SIM_FOUND(sim_engine_symbol, ophook_om_output_dims, output_dims);
  SIM_FOUND(sim_engine_symbol, ophook_om_load, load);
  SIM_FOUND(sim_engine_symbol, ophook_om_run, run);
  SIM_FOUND(sim_engine_symbol, ophook_om_aipp, aipp);
};

const Engine* engine() {
  static const Engine found;
  return found.open && found.run ? &found : nullptr;
}

std::mutex mutex;
std::map<uint32_t, std::shared_ptr<Offline>>& loaded() {
  return sim::forever<std::map<uint32_t, std::shared_ptr<Offline>>>();
}

struct Memory {
  void* work = nullptr;
  size_t work_size = 0;
  void* weights = nullptr;
  size_t weights_size = 0;
};

int load(const char* caller, std::shared_ptr<Offline> model, const Memory& memory, uint32_t* id) {
  if (int code = sim_require_device(caller)) return code;
  int32_t compatible = 1;
  if (const char* soc = model->about().soc; *soc)
    if (int code = aclrtCheckArchCompatibility(soc, &compatible)) return code;
  if (!compatible)
    return sim_fail(ACL_ERROR_GE_FAILURE, "%s: the model was converted for %s, which is another family than %s", caller,
                    model->about().soc, sim_current_soc()->name);
  if (int code = sim_stream_create(&model->stream)) return code;
  char error[1024] = "";
  if (int code = engine()->load(model->model, model->stream, memory.work, memory.work_size, memory.weights,
                                memory.weights_size, error, sizeof error))
    return sim_fail(code, "%s: %s", caller, error);
  if (int code = sim_stream_synchronize(model->stream, -1)) return code;
  static uint32_t last = 0;
  std::lock_guard lock(mutex);
  loaded()[*id = ++last] = std::move(model);
  return ACL_SUCCESS;
}

int load_file(const char* caller, const char* path, const Memory& memory, uint32_t* id) {
  FIND(Offline, model, read_model_file, caller, path);
  return load(caller, std::move(model), memory, id);
}

int load_bytes(const char* caller, const void* bytes, size_t size, const Memory& memory, uint32_t* id) {
  FIND(Offline, model, read_model, caller, bytes, size);
  return load(caller, std::move(model), memory, id);
}

// `waits`: the memory of outputs that have none is taken here.
int execute(const char* caller, uint32_t id, const aclmdlDataset* input, aclmdlDataset* output, aclrtStream stream,
            bool waits) {
  if (!input || !output) return missing(caller, input ? "output" : "input", ACL_ERROR_INVALID_PARAM);
  FIND(Offline, model, find_model, caller, id);
  const om_description& about = model->about();
  bool described = !about.is_static;
  const auto buffers = [&](const aclmdlDataset& of, std::vector<om_buffer>& out) {
    for (const aclmdlDataset::Blob& blob : of.blobs) {
      if (!blob.buffer) return ACL_INVALID(caller, "a data buffer is null");
      om_buffer made{blob.buffer->data, blob.buffer->size, -1, {}, 0};
      if (&of == input && blob.desc && blob.desc->dims.size() <= std::size(made.dims)) {
        described = true;
        made.rank = int32_t(blob.desc->dims.size());
        std::copy(blob.desc->dims.begin(), blob.desc->dims.end(), made.dims);
      }
      out.push_back(made);
    }
    return int(ACL_SUCCESS);
  };
  std::vector<om_buffer> in, out;
  if (int code = buffers(*input, in)) return code;
  if (int code = buffers(*output, out)) return code;
  if (in.size() == about.input_count)
    for (size_t i = 0; i < in.size(); ++i) {
      const om_tensor& port = about.inputs[i];
      for (int32_t dim = 0; port.range && in[i].rank == port.rank && dim < port.rank; ++dim)
        if (const int64_t least = port.range[2 * dim], most = port.range[2 * dim + 1];
            in[i].dims[dim] < least || (most >= 0 && in[i].dims[dim] > most))
          return ACL_INVALID(caller, "dimension %d of input %zu is %lld; allowed: %lld to %lld", dim, i,
                             (long long)in[i].dims[dim], (long long)least, (long long)most);
    }
  if (!waits)
    for (size_t i = 0; i < out.size(); ++i)
      if (!out[i].data && (i >= about.output_count || about.outputs[i].size))
        return sim_fail(ACL_ERROR_GE_PARAM_INVALID, "%s: output %zu has no memory; only a run that waits takes some",
                        caller, i);
  char error[1024] = "";
  const size_t gear = input->gear.value_or(model->largest_gear());
  if (int code =
          engine()->run(model->model, stream, gear, in.data(), in.size(), out.data(), out.size(), error, sizeof error))
    return sim_fail(code, "%s: model %u: %s", caller, id, error);
  for (size_t i = 0; i < out.size(); ++i) {
    aclmdlDataset::Blob& blob = output->blobs[i];
    if (!blob.buffer->data) *blob.buffer = {out[i].data, out[i].size};
    if (described)
      blob.desc.reset(
          aclCreateTensorDesc(aclDataType(out[i].dtype), out[i].rank, out[i].dims, aclFormat(about.outputs[i].format)));
  }
  return ACL_SUCCESS;
}

// The buffer that a gear is written into, and the gear.
int set_gear(const char* caller, uint32_t id, aclmdlDataset* dataset, size_t index, int kind,
             const std::vector<uint64_t>& given, const std::vector<uint64_t>& numbers) {
  if (!dataset) return missing(caller, "dataset", ACL_ERROR_INVALID_PARAM);
  if (std::find(given.begin(), given.end(), 0) != given.end()) return ACL_INVALID(caller, "a size is 0");
  if (index >= dataset->blobs.size() || !dataset->blobs[index].buffer || !dataset->blobs[index].buffer->data)
    return ACL_INVALID(caller, "the dataset has no memory for input %zu", index);
  FIND(Offline, model, find_model, caller, id);
  const om_description& about = model->about();
  const std::optional<size_t> gear = about.gear_kind == kind ? model->gear_of(numbers) : std::nullopt;
  if (!gear) {
    std::string allowed;
    for (size_t i = 0; i < about.gear_count * about.gear_width; ++i)
      allowed += (!i ? "" : i % about.gear_width ? "," : "; ") + std::to_string(about.gears[i]);
    return sim_fail(ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID, "%s: model %u has no such gear; it has: %s", caller, id,
                    about.gear_kind == kind ? allowed.c_str() : "none of this kind");
  }
  const aclDataBuffer& buffer = *dataset->blobs[index].buffer;
  const size_t width = buffer.size >= numbers.size() * sizeof(uint64_t) ? sizeof(uint64_t) : sizeof(uint32_t);
  if (buffer.size < numbers.size() * sizeof(uint32_t))
    return sim_fail(ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID, "%s: input %zu has %zu bytes; %zu are written", caller,
                    index, buffer.size, numbers.size() * sizeof(uint32_t));
  for (size_t i = 0; i < numbers.size(); ++i)
    if (int code = aclrtMemcpy(static_cast<char*>(buffer.data) + i * width, width, &numbers[i], width,
                               ACL_MEMCPY_HOST_TO_DEVICE))
      return code;
  dataset->gear = model->gear = gear;
  return ACL_SUCCESS;
}

}  // namespace

Offline::~Offline() {
  if (stream) sim_stream_destroy(stream);
  engine()->close(model);
}

const om_description& Offline::about() const { return *engine()->describe(model); }

int Offline::output_dims(size_t one, size_t index, int64_t sizes[16]) const {
  return engine()->output_dims(model, one, index, sizes);
}

void Offline::aipp(size_t input, aclAippInfo* out) const { engine()->aipp(model, input, out); }

size_t Offline::largest_gear() const {
  const om_description& all = about();
  size_t largest = 0;
  const auto size = [&](size_t gear) {
    double product = 1;
    for (size_t i = 0; i < all.gear_width; ++i) product *= double(all.gears[gear * all.gear_width + i]);
    return product;
  };
  for (size_t gear = 1; gear < all.gear_count; ++gear)
    if (size(gear) > size(largest)) largest = gear;
  return largest;
}

std::optional<size_t> Offline::gear_of(const std::vector<uint64_t>& numbers) const {
  const om_description& all = about();
  if (numbers.size() != all.gear_width) return std::nullopt;
  for (size_t gear = 0; gear < all.gear_count; ++gear)
    if (std::equal(numbers.begin(), numbers.end(), all.gears + gear * all.gear_width,
                   [](uint64_t one, int64_t other) { return int64_t(one) == other; }))
      return gear;
  return std::nullopt;
}

int read_model(const char* caller, const void* bytes, size_t size, std::shared_ptr<Offline>* out) {
  if (!bytes) return missing(caller, "model", ACL_ERROR_INVALID_PARAM);
  if (!size) return ACL_INVALID(caller, "modelSize is 0");
  if (!engine())
    return sim_fail(ACL_ERROR_GE_EXEC_NOT_INIT, "%s: libge_runner.so and libopapi.so are not there", caller);
  char error[1024] = "";
  om_model* read = nullptr;
  if (int code = engine()->open(bytes, size, &read, error, sizeof error))
    return sim_fail(code, "%s: %s", caller, error);
  *out = std::make_shared<Offline>(read);
  return ACL_SUCCESS;
}

int read_model_file(const char* caller, const char* path, std::shared_ptr<Offline>* out) {
  if (!path) return missing(caller, "modelPath", ACL_ERROR_INVALID_PARAM);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::string bytes(file ? size_t(std::max<std::streamoff>(file.tellg(), 0)) : 0, '\0');
  file.seekg(0).read(bytes.data(), std::streamsize(bytes.size()));
  if (!file || bytes.empty())
    return sim_fail(ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID, "%s: %s cannot be read, or is empty", caller, path);
  return read_model((std::string(caller) + ": " + path).c_str(), bytes.data(), bytes.size(), out);
}

int find_model(const char* caller, uint32_t id, std::shared_ptr<Offline>* out) {
  std::lock_guard lock(mutex);
  const auto found = loaded().find(id);
  if (found == loaded().end())
    return sim_fail(ACL_ERROR_GE_EXEC_MODEL_ID_INVALID, "%s: no model %u is loaded", caller, id);
  *out = found->second;
  return ACL_SUCCESS;
}

namespace {

template <typename Handle, typename Attr>
int set_option(const char* caller, Handle* handle, Attr attr, const void* value, size_t size, size_t width) {
  if (!handle || !value) return missing(caller, handle ? "attrValue" : "handle", ACL_ERROR_INVALID_PARAM);
  if (size != width) return ACL_INVALID(caller, "valueSize %zu for attribute %d; allowed: %zu", size, int(attr), width);
  uint64_t number = 0;
  memcpy(&number, value, size);
  handle->values[attr] = number;
  return ACL_SUCCESS;
}

}  // namespace

extern "C" {

// ---- loading ----
SIM_API aclError aclmdlLoadFromFile(const char* path, uint32_t* id) {
  if (!id) return missing(__func__, "modelId", ACL_ERROR_INVALID_PARAM);
  return load_file(__func__, path, {}, id);
}
SIM_API aclError aclmdlLoadFromFileWithMem(const char* path, uint32_t* id, void* work, size_t work_size, void* weights,
                                           size_t weights_size) {
  if (!id) return missing(__func__, "modelId", ACL_ERROR_INVALID_PARAM);
  return load_file(__func__, path, {work, work_size, weights, weights_size}, id);
}
SIM_API aclError aclmdlLoadFromMem(const void* model, size_t size, uint32_t* id) {
  if (!id) return missing(__func__, "modelId", ACL_ERROR_INVALID_PARAM);
  return load_bytes(__func__, model, size, {}, id);
}
SIM_API aclError aclmdlLoadFromMemWithMem(const void* model, size_t size, uint32_t* id, void* work, size_t work_size,
                                          void* weights, size_t weights_size) {
  if (!id) return missing(__func__, "modelId", ACL_ERROR_INVALID_PARAM);
  return load_bytes(__func__, model, size, {work, work_size, weights, weights_size}, id);
}
SIM_API aclError aclmdlUnload(uint32_t id) {
  FIND(Offline, model, find_model, __func__, id);
  std::lock_guard lock(mutex);
  loaded().erase(id);
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlQuerySize(const char* path, size_t* work, size_t* weights) {
  if (!work || !weights) return missing(__func__, work ? "weightSize" : "workSize", ACL_ERROR_INVALID_PARAM);
  FIND(Offline, model, read_model_file, __func__, path);
  *work = model->about().work_size, *weights = model->about().weight_size;
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlQuerySizeFromMem(const void* bytes, size_t size, size_t* work, size_t* weights) {
  if (!work || !weights) return missing(__func__, work ? "weightSize" : "workSize", ACL_ERROR_INVALID_PARAM);
  FIND(Offline, model, read_model, __func__, bytes, size);
  *work = model->about().work_size, *weights = model->about().weight_size;
  return ACL_SUCCESS;
}

// ---- loading by a configuration ----
SIM_API aclmdlConfigHandle* aclmdlCreateConfigHandle() { return new aclmdlConfigHandle; }
SIM_API aclError aclmdlDestroyConfigHandle(aclmdlConfigHandle* handle) { return destroyed(__func__, "handle", handle); }
SIM_API aclError aclmdlSetConfigOpt(aclmdlConfigHandle* handle, aclmdlConfigAttr attr, const void* value, size_t size) {
  const bool narrow = attr == ACL_MDL_PRIORITY_INT32 || attr == ACL_MDL_WITHOUT_GRAPH_INT32;
  if (int code = set_option(__func__, handle, attr, value, size, narrow ? sizeof(int32_t) : sizeof(uint64_t)))
    return code;
  if (attr == ACL_MDL_PATH_PTR) {  // copied; the other addresses are kept as they are
    const char* path = static_cast<const char*>(handle->address(attr));
    if (!path) return missing(__func__, "the model's path", ACL_ERROR_INVALID_PARAM);
    handle->path = path;
  }
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlLoadWithConfig(const aclmdlConfigHandle* handle, uint32_t* id) {
  if (!handle || !id) return missing(__func__, handle ? "modelId" : "handle", ACL_ERROR_INVALID_PARAM);
  const auto type = (*handle)[ACL_MDL_LOAD_TYPE_SIZET];
  const bool from_file = type == ACL_MDL_LOAD_FROM_FILE || type == ACL_MDL_LOAD_FROM_FILE_WITH_MEM;
  const bool from_memory = type == ACL_MDL_LOAD_FROM_MEM || type == ACL_MDL_LOAD_FROM_MEM_WITH_MEM;
  if (type == ACL_MDL_LOAD_FROM_FILE_WITH_Q || type == ACL_MDL_LOAD_FROM_MEM_WITH_Q)
    return sim_unimplemented("aclmdlLoadWithConfig with queues");
  ACL_INVALID_IF(!from_file && !from_memory, "ACL_MDL_LOAD_TYPE_SIZET is %llu; allowed: 1 to 6",
                 (unsigned long long)type);
  ACL_INVALID_IF(
      from_file ? handle->path.empty() : !handle->address(ACL_MDL_MEM_ADDR_PTR) || !(*handle)[ACL_MDL_MEM_SIZET],
      "load type %llu needs %s", (unsigned long long)type,
      from_file ? "ACL_MDL_PATH_PTR" : "ACL_MDL_MEM_ADDR_PTR and ACL_MDL_MEM_SIZET");
  Memory memory;
  if (type == ACL_MDL_LOAD_FROM_FILE_WITH_MEM || type == ACL_MDL_LOAD_FROM_MEM_WITH_MEM)
    memory = {handle->address(ACL_MDL_WORKSPACE_ADDR_PTR), (*handle)[ACL_MDL_WORKSPACE_SIZET],
              handle->address(ACL_MDL_WEIGHT_ADDR_PTR), (*handle)[ACL_MDL_WEIGHT_SIZET]};
  if (from_file) return load_file(__func__, handle->path.c_str(), memory, id);
  return load_bytes(__func__, handle->address(ACL_MDL_MEM_ADDR_PTR), (*handle)[ACL_MDL_MEM_SIZET], memory, id);
}

// ---- running ----
SIM_API aclmdlExecConfigHandle* aclmdlCreateExecConfigHandle() { return new aclmdlExecConfigHandle; }
SIM_API aclError aclmdlDestroyExecConfigHandle(const aclmdlExecConfigHandle* handle) {
  return destroyed(__func__, "handle", handle);
}
SIM_API aclError aclmdlSetExecConfigOpt(aclmdlExecConfigHandle* handle, aclmdlExecConfigAttr attr, const void* value,
                                        size_t size) {
  const bool narrow = attr == ACL_MDL_STREAM_SYNC_TIMEOUT || attr == ACL_MDL_EVENT_SYNC_TIMEOUT;
  return set_option(__func__, handle, attr, value, size, narrow ? sizeof(int32_t) : sizeof(uint64_t));
}
SIM_API aclError aclmdlExecute(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output) {
  FIND(Offline, model, find_model, __func__, id);
  if (int code = execute(__func__, id, input, output, model->stream, true)) return code;
  return sim_stream_synchronize(model->stream, -1);
}
SIM_API aclError aclmdlExecuteV2(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output, aclrtStream stream,
                                 const aclmdlExecConfigHandle* handle) {
  if (!handle) return missing(__func__, "handle", ACL_ERROR_INVALID_PARAM);
  const auto timeout = handle->values.find(ACL_MDL_STREAM_SYNC_TIMEOUT);
  if (int code = execute(__func__, id, input, output, stream, true)) return code;
  return sim_stream_synchronize(stream, timeout == handle->values.end() ? -1 : int32_t(timeout->second));
}
SIM_API aclError aclmdlExecuteAsync(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output,
                                    aclrtStream stream) {
  return execute(__func__, id, input, output, stream, false);
}
SIM_API aclError aclmdlExecuteAsyncV2(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output,
                                      aclrtStream stream, const aclmdlExecConfigHandle* handle) {
  if (!handle) return missing(__func__, "handle", ACL_ERROR_INVALID_PARAM);
  return execute(__func__, id, input, output, stream, false);
}

// ---- gears ----
SIM_API aclError aclmdlSetDynamicBatchSize(uint32_t id, aclmdlDataset* dataset, size_t index, uint64_t batch) {
  return set_gear(__func__, id, dataset, index, om_batch, {batch}, {batch});
}
SIM_API aclError aclmdlSetDynamicHWSize(uint32_t id, aclmdlDataset* dataset, size_t index, uint64_t height,
                                        uint64_t width) {
  return set_gear(__func__, id, dataset, index, om_image, {height, width}, {height, width});
}
// All dimensions of all inputs, one after the other; those that are -1 in the model choose the gear.
SIM_API aclError aclmdlSetInputDynamicDims(uint32_t id, aclmdlDataset* dataset, size_t index,
                                           const aclmdlIODims* dims) {
  if (!dataset || !dims) return missing(__func__, dataset ? "dims" : "dataset", ACL_ERROR_INVALID_PARAM);
  ACL_INVALID_IF(!dims->dimCount || dims->dimCount > ACL_MAX_DIM_CNT, "dimCount is %zu; allowed: 1 to %d",
                 dims->dimCount, ACL_MAX_DIM_CNT);
  FIND(Offline, model, find_model, __func__, id);
  const om_description& about = model->about();
  std::vector<uint64_t> chosen;
  size_t at = 0;
  for (size_t i = 0; i < about.input_count - (about.gear_count > 0); ++i)
    for (int32_t dim = 0; dim < about.inputs[i].rank; ++dim, ++at)
      if (about.inputs[i].dims[dim] < 0 && at < dims->dimCount) chosen.push_back(uint64_t(dims->dims[at]));
  if (at != dims->dimCount)
    return sim_fail(ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID, "%s: %zu dimensions; the inputs have %zu", __func__,
                    dims->dimCount, at);
  return set_gear(__func__, id, dataset, index, om_dims, {}, chosen);
}

}  // extern "C"
}  // namespace sim::acl::offline
