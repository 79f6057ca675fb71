// libascendcl: what a program asks about offline models, and the datasets of their runs.
#include <cstring>

#include "acl/offline.h"
#include "acl/tasks.h"

namespace sim::acl::offline {
namespace {

enum class Side { input, output };

const char* name_of(Side side) { return side == Side::input ? "input" : "output"; }

struct Ports {
  const om_tensor* first;
  size_t count;
  const om_tensor* begin() const { return first; }
  const om_tensor* end() const { return first + count; }
};

Ports ports(const om_description& about, Side side) {
  return side == Side::input ? Ports{about.inputs, about.input_count} : Ports{about.outputs, about.output_count};
}

// Null, with the reason, where there is none.
const om_description* about_of(const char* caller, const aclmdlDesc* desc) {
  if (desc && desc->model) return &desc->model->about();
  ACL_INVALID(caller, "modelDesc %s", desc ? "describes nothing yet (aclmdlGetDesc)" : "is null");
  return nullptr;
}
const om_description* about_of(const char* caller, const aclmdlDesc* desc, const char* what, const void* out) {
  if (out) return about_of(caller, desc);
  missing(caller, what, ACL_ERROR_INVALID_PARAM);
  return nullptr;
}
const om_tensor* port(const char* caller, const aclmdlDesc* desc, Side side, size_t index) {
  const om_description* about = about_of(caller, desc);
  if (!about) return nullptr;
  const Ports all = ports(*about, side);
  if (index < all.count) return all.first + index;
  ACL_INVALID(caller, "%s %zu of %zu", name_of(side), index, all.count);
  return nullptr;
}

// A name that does not fit into aclmdlIODims stands for the real one.
std::string shown_name(const aclmdlDesc& desc, Side side, size_t index, const om_tensor& tensor) {
  if (strlen(tensor.name) < ACL_MAX_TENSOR_NAME_LEN) return tensor.name;
  return "acl_modelId_" + std::to_string(desc.id) + "_" + name_of(side) + "_" + std::to_string(index);
}

void write_dims(const std::string& name, const int64_t* sizes, int32_t rank, aclmdlIODims* out) {
  *out = {};
  name.copy(out->name, sizeof out->name - 1);
  out->dimCount = size_t(std::max(rank, 0));
  std::copy_n(sizes, out->dimCount, out->dims);
}

// `stored`: of an image, as it lies in memory.
int dims(const char* caller, const aclmdlDesc* desc, Side side, size_t index, aclmdlIODims* out, bool stored = false) {
  if (!out) return missing(caller, "dims", ACL_ERROR_INVALID_PARAM);
  const om_tensor* tensor = port(caller, desc, side, index);
  if (!tensor) return ACL_ERROR_INVALID_PARAM;
  const int64_t unknown_rank = -2;
  const bool known = tensor->rank >= 0;
  write_dims(shown_name(*desc, side, index, *tensor), known ? stored ? tensor->stored : tensor->dims : &unknown_rank,
             known ? tensor->rank : 1, out);
  return ACL_SUCCESS;
}

int index_of(const char* caller, const aclmdlDesc* desc, Side side, const char* name, size_t* index) {
  if (!name) return missing(caller, "name", ACL_ERROR_INVALID_PARAM);
  const om_description* about = about_of(caller, desc, "index", index);
  if (!about) return ACL_ERROR_INVALID_PARAM;
  const Ports all = ports(*about, side);
  const om_tensor* found =
      std::find_if(all.begin(), all.end(), [&](const om_tensor& one) { return !strcmp(one.name, name); });
  if (found == all.end()) return ACL_INVALID(caller, "the model has no %s %s", name_of(side), name);
  *index = size_t(found - all.begin());
  return ACL_SUCCESS;
}

int described(aclmdlDesc* desc, uint32_t id, std::shared_ptr<Offline> model) {
  desc->id = id;
  desc->model = std::move(model);
  return ACL_SUCCESS;
}

}  // namespace

extern "C" {

// ---- descriptions ----
SIM_API aclmdlDesc* aclmdlCreateDesc() { return new aclmdlDesc; }
SIM_API aclError aclmdlDestroyDesc(aclmdlDesc* desc) { return destroyed(__func__, "modelDesc", desc); }
SIM_API aclError aclmdlGetDesc(aclmdlDesc* desc, uint32_t id) {
  if (!desc) return missing(__func__, "modelDesc", ACL_ERROR_INVALID_PARAM);
  FIND(Offline, model, find_model, __func__, id);
  return described(desc, id, std::move(model));
}
SIM_API aclError aclmdlGetDescFromFile(aclmdlDesc* desc, const char* path) {
  if (!desc) return missing(__func__, "modelDesc", ACL_ERROR_INVALID_PARAM);
  FIND(Offline, model, read_model_file, __func__, path);
  return described(desc, 0, std::move(model));
}
SIM_API aclError aclmdlGetDescFromMem(aclmdlDesc* desc, const void* bytes, size_t size) {
  if (!desc) return missing(__func__, "modelDesc", ACL_ERROR_INVALID_PARAM);
  FIND(Offline, model, read_model, __func__, bytes, size);
  return described(desc, 0, std::move(model));
}
SIM_API size_t aclmdlGetNumInputs(aclmdlDesc* desc) {
  return desc && desc->model ? desc->model->about().input_count : 0;
}
SIM_API size_t aclmdlGetNumOutputs(aclmdlDesc* desc) {
  return desc && desc->model ? desc->model->about().output_count : 0;
}
// What is told of one tensor; `otherwise` where there is none of this number.
#define OF_PORT(T, Name, Desc, member, otherwise)                        \
  SIM_API T aclmdlGetInput##Name(Desc* desc, size_t index) {             \
    const om_tensor* tensor = port(__func__, desc, Side::input, index);  \
    return tensor ? T(tensor->member) : otherwise;                       \
  }                                                                      \
  SIM_API T aclmdlGetOutput##Name(Desc* desc, size_t index) {            \
    const om_tensor* tensor = port(__func__, desc, Side::output, index); \
    return tensor ? T(tensor->member) : otherwise;                       \
  }
using Name = const char*;
OF_PORT(size_t, SizeByIndex, aclmdlDesc, size, 0)
OF_PORT(Name, NameByIndex, const aclmdlDesc, name, "")
OF_PORT(aclFormat, Format, const aclmdlDesc, format, ACL_FORMAT_UNDEFINED)
OF_PORT(aclDataType, DataType, const aclmdlDesc, dtype, ACL_DT_UNDEFINED)
SIM_API aclError aclmdlGetInputDims(const aclmdlDesc* desc, size_t index, aclmdlIODims* out) {
  return dims(__func__, desc, Side::input, index, out);
}
SIM_API aclError aclmdlGetInputDimsV2(const aclmdlDesc* desc, size_t index, aclmdlIODims* out) {
  return dims(__func__, desc, Side::input, index, out, true);
}
SIM_API aclError aclmdlGetInputDimsRange(const aclmdlDesc* desc, size_t index, aclmdlIODimsRange* out) {
  if (!out) return missing(__func__, "dimsRange", ACL_ERROR_INVALID_PARAM);
  const om_tensor* tensor = port(__func__, desc, Side::input, index);
  if (!tensor) return ACL_ERROR_INVALID_PARAM;
  *out = {};
  out->rangeCount = tensor->range ? size_t(std::max(tensor->rank, 0)) : 0;
  for (size_t i = 0; i < out->rangeCount; ++i)
    for (size_t end : {0, 1}) out->range[i][end] = tensor->range[2 * i + end];
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlGetOutputDims(const aclmdlDesc* desc, size_t index, aclmdlIODims* out) {
  return dims(__func__, desc, Side::output, index, out);
}
SIM_API aclError aclmdlGetCurOutputDims(const aclmdlDesc* desc, size_t index, aclmdlIODims* out) {
  if (int code = dims(__func__, desc, Side::output, index, out)) return code;
  const Offline& model = *desc->model;
  if (!model.about().is_static)
    return sim_fail(ACL_ERROR_API_NOT_SUPPORT,
                    "%s: the model's shapes are dynamic; aclmdlGetDatasetTensorDesc tells them", __func__);
  if (!model.gear) return ACL_SUCCESS;
  int64_t sizes[16];
  const int rank = model.output_dims(*model.gear, index, sizes);
  write_dims(shown_name(*desc, Side::output, index, model.about().outputs[index]), sizes, rank, out);
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlGetInputIndexByName(const aclmdlDesc* desc, const char* name, size_t* index) {
  return index_of(__func__, desc, Side::input, name, index);
}
SIM_API aclError aclmdlGetOutputIndexByName(const aclmdlDesc* desc, const char* name, size_t* index) {
  return index_of(__func__, desc, Side::output, name, index);
}
SIM_API const char* aclmdlGetTensorRealName(const aclmdlDesc* desc, const char* name) {
  if (!desc || !desc->model || !name) return nullptr;
  for (const Side side : {Side::input, Side::output}) {
    const Ports all = ports(desc->model->about(), side);
    for (const om_tensor& tensor : all)
      if (!strcmp(tensor.name, name) || shown_name(*desc, side, size_t(&tensor - all.first), tensor) == name)
        return tensor.name;
  }
  return nullptr;
}

// ---- gears ----
SIM_API aclError aclmdlGetDynamicBatch(const aclmdlDesc* desc, aclmdlBatch* out) {
  const om_description* about = about_of(__func__, desc, "batch", out);
  if (!about) return ACL_ERROR_INVALID_PARAM;
  *out = {};
  if (about->gear_kind != om_batch) return ACL_SUCCESS;
  out->batchCount = std::min<size_t>(about->gear_count, ACL_MAX_BATCH_NUM);
  std::copy_n(about->gears, out->batchCount, out->batch);
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlGetDynamicHW(const aclmdlDesc* desc, size_t, aclmdlHW* out) {
  const om_description* about = about_of(__func__, desc, "hw", out);
  if (!about) return ACL_ERROR_INVALID_PARAM;
  *out = {};
  if (about->gear_kind != om_image) return ACL_SUCCESS;
  out->hwCount = std::min<size_t>(about->gear_count, ACL_MAX_HW_NUM);
  std::copy_n(about->gears, 2 * out->hwCount, &out->hw[0][0]);
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc* desc, size_t, size_t* count) {
  const om_description* about = about_of(__func__, desc, "gearCount", count);
  if (!about) return ACL_ERROR_INVALID_PARAM;
  *count = about->gear_kind == om_dims ? about->gear_count : 0;
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlGetInputDynamicDims(const aclmdlDesc* desc, size_t, aclmdlIODims* out, size_t count) {
  const om_description* about = about_of(__func__, desc, "dims", out);
  if (!about) return ACL_ERROR_INVALID_PARAM;
  const size_t there = about->gear_kind == om_dims ? about->gear_count : 0;
  ACL_INVALID_IF(count < there, "room for %zu gears, the model has %zu", count, there);
  for (size_t gear = 0; gear < there; ++gear) {
    std::vector<int64_t> all;
    size_t next = 0;
    for (size_t i = 0; i + 1 < about->input_count; ++i)
      for (int32_t dim = 0; dim < about->inputs[i].rank; ++dim)
        all.push_back(about->inputs[i].dims[dim] < 0 ? about->gears[gear * about->gear_width + next++]
                                                     : about->inputs[i].dims[dim]);
    write_dims("", all.data(), int32_t(std::min<size_t>(all.size(), ACL_MAX_DIM_CNT)), &out[gear]);
  }
  return ACL_SUCCESS;
}

// ---- datasets ----
SIM_API aclmdlDataset* aclmdlCreateDataset() { return new aclmdlDataset; }
SIM_API aclError aclmdlDestroyDataset(const aclmdlDataset* dataset) { return destroyed(__func__, "dataset", dataset); }
SIM_API aclError aclmdlAddDatasetBuffer(aclmdlDataset* dataset, aclDataBuffer* buffer) {
  if (!dataset || !buffer) return missing(__func__, dataset ? "dataBuffer" : "dataset", ACL_ERROR_INVALID_PARAM);
  dataset->blobs.push_back({buffer, nullptr});
  return ACL_SUCCESS;
}
SIM_API size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset* dataset) { return dataset ? dataset->blobs.size() : 0; }
SIM_API aclDataBuffer* aclmdlGetDatasetBuffer(const aclmdlDataset* dataset, size_t index) {
  return dataset && index < dataset->blobs.size() ? dataset->blobs[index].buffer : nullptr;
}
SIM_API aclError aclmdlSetDatasetTensorDesc(aclmdlDataset* dataset, aclTensorDesc* desc, size_t index) {
  if (!dataset) return missing(__func__, "dataset", ACL_ERROR_INVALID_PARAM);
  ACL_INVALID_IF(index >= dataset->blobs.size(), "buffer %zu of %zu", index, dataset->blobs.size());
  auto& kept = dataset->blobs[index].desc;
  kept.reset(desc ? aclCreateTensorDesc(desc->dtype, int(desc->dims.size()), desc->dims.data(), desc->format)
                  : nullptr);
  return ACL_SUCCESS;
}
SIM_API aclTensorDesc* aclmdlGetDatasetTensorDesc(const aclmdlDataset* dataset, size_t index) {
  return dataset && index < dataset->blobs.size() ? dataset->blobs[index].desc.get() : nullptr;
}

}  // extern "C"
}  // namespace sim::acl::offline
