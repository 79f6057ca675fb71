#include "offline.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "acl/error_codes/ge_error_codes.h"
#include "core/om_file.h"
#include "core/sim.h"
#include "loaded.h"
#include "offline_aipp.h"
#include "registry.h"
#include "tasks.h"

namespace {

constexpr int kNotSimulated = 200001;  // ACL_ERROR_API_NOT_SUPPORT
constexpr int kInvalid = 100000;       // ACL_ERROR_INVALID_PARAM
constexpr int kFailure = 500002;       // ACL_ERROR_GE_FAILURE: what CANN makes of a check that fails within its engine
constexpr int64_t kAligned = 64;       // bytes that a buffer may lack: CANN aligns what it asks for
constexpr int64_t kNoLimit = -1;
constexpr std::pair<const char*, int32_t> kFormats[] = {{"NCHW", 0},  {"NHWC", 1},   {"ND", 2},
                                                        {"HWCN", 16}, {"NDHWC", 27}, {"NCDHW", 30}};
constexpr std::pair<const char*, int> kGearKinds[] = {{"batch", om_batch}, {"image", om_image}, {"dims", om_dims}};

template <typename Table>
int looked_up(const Table& table, const std::string& key, int otherwise) {
  const auto found =
      std::find_if(std::begin(table), std::end(table), [&](const auto& one) { return key == one.first; });
  return found == std::end(table) ? otherwise : found->second;
}

std::map<std::string, std::string> read_text(const std::string& text) {
  std::map<std::string, std::string> out;
  for (const std::string& line : gesim::split(text, '\n'))
    if (const size_t equal = line.find('='); equal != std::string::npos)
      out[line.substr(0, equal)] = line.substr(equal + 1);
  return out;
}

int say(int code, const std::string& reason, char* error, size_t capacity) {
  std::snprintf(error, capacity, "%s", reason.c_str());
  return code;
}

}  // namespace

struct om_model {
  struct Port {
    std::string name;
    std::vector<int64_t> dims, range;
    std::vector<int64_t> stored;  // where it is an image: as it lies in memory
    gesim::AippInput aipp;
  };

  gesim::Graph graph;
  gesim::Loaded loaded;
  std::mutex mutex;  // while it is launched
  std::vector<Port> inputs, outputs;
  std::vector<om_tensor> input_views, output_views;
  std::vector<int64_t> gears;
  std::string soc;
  om_description description{};
  std::map<size_t, std::shared_ptr<void>> rooms;  // by input: memory for images whose buffer is smaller than a tensor

  // What the engine reads of images whose size a run says. Returns "" or the reason.
  std::string roomy(void* stream, size_t index, const om_buffer& given, void** out);
  const ge_tensor& known(const gesim::Compiled& one, size_t index) const {
    const gesim::Edge& edge = one.outputs[index];
    return one.known[edge.node][edge.port].tensor;
  }

  // The text says which numbers are limits of the dimensions of an input: "1,8,3,3,1,-1".
  void describe_inputs(const std::map<std::string, std::string>& text);
  void describe_outputs(const std::map<std::string, std::string>& text);
  void describe_gears(const std::map<std::string, std::string>& text);
  size_t input_of(int node) const;
};

namespace {

om_tensor view(const om_model::Port& port, int32_t dtype, int32_t format, uint64_t size) {
  return {port.name.c_str(),
          dtype,
          format,
          port.dims == std::vector<int64_t>{-2} ? -1 : int32_t(port.dims.size()),
          port.dims.data(),
          port.range.empty() ? nullptr : port.range.data(),
          size,
          port.stored.empty() ? port.dims.data() : port.stored.data(),
          port.aipp.type,
          SIZE_MAX};
}

uint64_t size_of(const ge_tensor& tensor) { return uint64_t(std::max<int64_t>(gesim::byte_size(tensor), 0)); }

}  // namespace

void om_model::describe_inputs(const std::map<std::string, std::string>& text) {
  const gesim::Compiled& first = *loaded.compiled[0];
  const bool geared = !loaded.gears.sizes.empty();
  for (const int node : first.inputs) {
    Port port;
    if (node >= 0) {
      port.name = first.graph.nodes[node].name;
      port.dims = graph.nodes[node].output_desc[0].dims;
      for (const auto& [name, dims] : loaded.gears.inputs)
        if (name == port.name) port.dims = dims;
      const auto limits = text.find("range:" + port.name);
      if (limits != text.end())
        for (const std::string& number : gesim::split(limits->second, ','))
          port.range.push_back(std::atoll(number.c_str()));
      else if (!geared)
        for (const int64_t size : port.dims)
          port.range.insert(port.range.end(), {size < 0 ? 0 : size, size < 0 ? kNoLimit : size});
      port.aipp = gesim::aipp_of(first.graph, node);
      if (port.aipp.type == om_static_aipp) port.stored = port.dims;
      port.dims = gesim::image_dims(port.aipp, port.dims);
    }
    inputs.push_back(std::move(port));
  }
  if (geared) inputs.push_back({"ascend_mbatch_shape_data", {int64_t(description.gear_width)}, {}});
  for (size_t i = 0; i < first.inputs.size(); ++i) {
    const int node = first.inputs[i];
    uint64_t size = 0;
    for (const auto& one : loaded.compiled)
      if (node >= 0) size = std::max(size, size_of(one->known[node][0].tensor));
    // The engine's bytes are a multiple of the network's pixels; what was asked for may be less.
    if (inputs[i].aipp.type == om_dynamic_aipp) size = gesim::most_bytes(inputs[i].aipp);
    input_views.push_back(view(inputs[i], node < 0 ? -1 : first.known[node][0].tensor.dtype,
                               node < 0 ? 2 : looked_up(kFormats, graph.nodes[node].output_desc[0].layout, 2), size));
    if (inputs[i].aipp.other >= 0) input_views.back().aipp_with = input_of(inputs[i].aipp.other);
  }
  if (geared) input_views.push_back(view(inputs.back(), ge::DT_INT32, 2, sizeof(int32_t) * description.gear_width));
}

// The tensor of such images holds the largest that fit into the network's pixels; the caller's buffer may be as small
// as the images are.
std::string om_model::roomy(void* stream, size_t index, const om_buffer& given, void** out) {
  uint64_t most = 0;
  for (const auto& one : loaded.compiled) most = std::max(most, size_of(one->known[one->inputs[index]][0].tensor));
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<void>& room = rooms[index];
  void* taken = nullptr;
  if (!room && sim_malloc_by("aclmdlExecute", nullptr, most, most, &taken)) return gesim::last_error();
  if (!room) room = std::shared_ptr<void>(taken, [](void* pointer) { sim_free(pointer); });
  *out = room.get();
  return gesim::launch_copy(stream, "MemcpyD2D", "input " + std::to_string(index),
                            {room.get(), given.data, size_t(std::min(given.size, most))}, {});
}

void om_model::describe_outputs(const std::map<std::string, std::string>& text) {
  const auto names = text.find("outputs");
  const std::vector<std::string> told =
      names == text.end() ? std::vector<std::string>() : gesim::split(names->second, ';');
  const gesim::Compiled& first = *loaded.compiled[0];
  for (size_t i = 0; i < first.outputs.size(); ++i) {
    const gesim::Edge& edge = first.outputs[i];
    const ge_tensor& tensor = loaded.output(i);
    outputs.push_back(
        {i < told.size() ? told[i] : first.graph.nodes[edge.node].name + ":" + std::to_string(edge.port),
         tensor.rank < 0 ? std::vector<int64_t>{-2} : std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank),
         {}});
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    output_views.push_back(view(outputs[i], loaded.output(i).dtype, 2, size_of(loaded.output(i))));
}

size_t om_model::input_of(int node) const {
  const std::vector<int>& all = loaded.compiled[0]->inputs;
  return size_t(std::find(all.begin(), all.end(), node) - all.begin());
}

// What a caller sets: one size for all batches, a height and a width, or the sizes one by one. Those of an image that
// lies in memory in another shape are told for themselves.
void om_model::describe_gears(const std::map<std::string, std::string>& text) {
  if (loaded.gears.sizes.empty()) return;
  const auto found = text.find("gears"), told = text.find("gears.told");
  const std::string kind = found == text.end() ? "" : found->second;
  std::vector<std::vector<int64_t>> rows = loaded.gears.sizes;
  if (told != text.end()) {
    size_t next = 0;
    const std::vector<std::string> numbers = gesim::split(told->second, ',');
    for (std::vector<int64_t>& row : rows)
      for (int64_t& size : row)
        if (next < numbers.size()) size = std::atoll(numbers[next++].c_str());
  }
  description.gear_kind = looked_up(kGearKinds, kind, om_dims);
  description.gear_count = loaded.gears.sizes.size();
  description.gear_width = description.gear_kind == om_batch   ? 1
                           : description.gear_kind == om_image ? 2
                                                               : loaded.gears.sizes[0].size();
  for (const std::vector<int64_t>& sizes : rows)
    gears.insert(gears.end(), sizes.begin(), sizes.begin() + std::ptrdiff_t(description.gear_width));
  description.gears = gears.data();
}

extern "C" {

int ophook_om_open(const void* bytes, size_t size, om_model** model, char* error, size_t capacity) {
  const std::string_view content(static_cast<const char*>(bytes), size);
  sim::OmFile file;
  if (const std::string wrong = sim::read_om(content, file); !wrong.empty())
    return say(sim::is_om_of_cann(content) ? kNotSimulated : int(ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID),
               "the model " + wrong, error, capacity);
  if (file.kind != sim::OmKind::model)
    return say(ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID, "this is the model of a single operator, for aclopLoad",
               error, capacity);
  const auto text = read_text(std::string(file.text));
  auto made = std::make_unique<om_model>();
  std::string problem = gesim::parse_model(file.model.data(), file.model.size(), made->graph);
  if (problem.empty()) problem = gesim::read_gears(text, made->graph, made->loaded.gears);
  gesim::load_custom_protos();
  if (problem.empty()) problem = made->loaded.compile(made->graph);
  if (!problem.empty()) return say(ACL_ERROR_GE_LOAD_MODEL, problem, error, capacity);
  made->describe_gears(text);
  made->describe_inputs(text);
  made->describe_outputs(text);
  om_description& about = made->description;
  if (const auto soc = text.find("soc"); soc != text.end()) made->soc = soc->second;
  about.soc = made->soc.c_str();
  about.inputs = made->input_views.data(), about.input_count = made->input_views.size();
  about.outputs = made->output_views.data(), about.output_count = made->output_views.size();
  about.is_static = std::all_of(made->loaded.compiled.begin(), made->loaded.compiled.end(),
                                [](const auto& one) { return one->is_static; });
  about.work_size = made->loaded.feature_size(), about.weight_size = made->loaded.const_size();
  *model = made.release();
  return 0;
}

void ophook_om_close(om_model* model) { delete model; }

const om_description* ophook_om_describe(const om_model* model) { return &model->description; }

int ophook_om_output_dims(const om_model* model, size_t gear, size_t index, int64_t dims[16]) {
  const ge_tensor& tensor = model->known(*model->loaded.compiled[gear], index);
  std::copy_n(tensor.dims, std::max(tensor.rank, 0), dims);
  return tensor.rank;
}

void ophook_om_aipp(const om_model* model, size_t index, aclAippInfo* out) {
  gesim::describe_aipp(model->inputs[index].aipp, model->loaded.compiled, model->loaded.compiled[0]->inputs[index],
                       *out);
}

int ophook_om_load(om_model* model, void* stream, void* work, size_t work_size, void* weights, size_t weights_size,
                   char* error, size_t capacity) {
  struct Given {
    const char* what;
    void* base;
    size_t size, needed;
    gesim::Region& region;
  };
  for (const Given& one :
       {Given{"work", work, work_size, model->loaded.feature_size(), model->loaded.memory.features},
        {"weights", weights, weights_size, model->loaded.const_size(), model->loaded.memory.constants}}) {
    if (!one.base) continue;
    if (one.size < one.needed)
      return say(ACL_ERROR_GE_PARAM_INVALID,
                 std::string("the memory for ") + one.what + " has " + std::to_string(one.size) +
                     " bytes, the model needs " + std::to_string(one.needed),
                 error, capacity);
    one.region = {one.base, one.size, nullptr};
  }
  const std::string problem = model->loaded.upload(model->loaded.compiled[0], stream);
  return problem.empty() ? 0 : say(ACL_ERROR_GE_LOAD_MODEL, problem, error, capacity);
}

int ophook_om_run(om_model* model, void* stream, size_t gear, om_buffer* inputs, size_t input_count, om_buffer* outputs,
                  size_t output_count, char* error, size_t capacity) {
  const om_description& about = model->description;
  const auto compiled = model->loaded.compiled[gear];
  if (about.is_static ? input_count != about.input_count || output_count != about.output_count
                      : input_count < about.input_count || output_count != about.output_count)
    return say(about.is_static ? kFailure : kInvalid,
               std::to_string(input_count) + " inputs and " + std::to_string(output_count) +
                   " outputs were given, the model has " + std::to_string(about.input_count) + " and " +
                   std::to_string(about.output_count),
               error, capacity);
  // The buffers of a model with gears, or with dynamic AIPP, are not looked at; its kernels reach for what they need.
  const bool looks = about.gear_kind == om_no_gears &&
                     std::none_of(about.inputs, about.inputs + about.input_count,
                                  [](const om_tensor& one) { return one.aipp == om_aipp_parameters; });
  std::vector<ge::Tensor> in, out(output_count);
  for (size_t i = 0; i < compiled->inputs.size(); ++i) {
    in.emplace_back();
    if (compiled->inputs[i] < 0) continue;
    const ge_tensor& declared = compiled->known[compiled->inputs[i]][0].tensor;
    ge_tensor tensor = declared;
    if (inputs[i].rank >= 0) {
      tensor.rank = inputs[i].rank;
      std::copy_n(inputs[i].dims, inputs[i].rank, tensor.dims);
    }
    const int64_t needed = gesim::byte_size(tensor);
    if (needed < 0)
      return say(kInvalid,
                 "input " + std::to_string(i) + " is " + gesim::describe(tensor) +
                     "; aclmdlSetDatasetTensorDesc has to say its shape",
                 error, capacity);
    if (looks && int64_t(inputs[i].size) + kAligned < needed)
      return say(kFailure,
                 "input " + std::to_string(i) + " is " + gesim::describe(tensor) + ", " + std::to_string(needed) +
                     " bytes; its buffer has " + std::to_string(inputs[i].size),
                 error, capacity);
    ge::Tensor& made = in.back();
    made.SetDataType(static_cast<ge::DataType>(declared.dtype));
    made.SetShapeDimNum(size_t(tensor.rank));
    for (int32_t dim = 0; dim < tensor.rank; ++dim) made.SetShapeDim(size_t(dim), tensor.dims[dim]);
    made.SetPlacement(ge::kPlacementDevice);
    void* data = inputs[i].data;
    if (about.inputs[i].aipp == om_dynamic_aipp && int64_t(inputs[i].size) < needed)
      if (const std::string problem = model->roomy(stream, i, inputs[i], &data); !problem.empty())
        return say(ACL_ERROR_GE_INTERNAL_ERROR, problem, error, capacity);
    made.SetData(static_cast<uint8_t*>(data), size_t(needed), [](uint8_t*) {});
  }
  for (size_t i = 0; i < output_count; ++i) {
    if (!outputs[i].data) continue;
    // What a static model writes is known, and a buffer may lack what it was aligned by.
    const int64_t needed = gesim::byte_size(model->known(*compiled, i));
    if (looks && needed >= 0 && int64_t(outputs[i].size) + kAligned < needed)
      return say(kFailure,
                 "output " + std::to_string(i) + " is " + gesim::describe(model->known(*compiled, i)) + ", " +
                     std::to_string(needed) + " bytes; its buffer has " + std::to_string(outputs[i].size),
                 error, capacity);
    out[i].SetPlacement(ge::kPlacementDevice);
    out[i].SetData(static_cast<uint8_t*>(outputs[i].data),
                   std::max(size_t(outputs[i].size), size_t(std::max<int64_t>(needed, 0))), [](uint8_t*) {});
  }
  {
    std::lock_guard<std::mutex> lock(model->mutex);
    const std::string problem = model->loaded.run(compiled, stream, in, out);
    if (!problem.empty()) return say(kFailure, problem, error, capacity);
  }
  for (size_t i = 0; i < output_count; ++i) {
    om_buffer& buffer = outputs[i];
    buffer.rank = int32_t(out[i].GetShapeDimNum());
    for (int32_t dim = 0; dim < buffer.rank; ++dim) buffer.dims[dim] = out[i].GetShapeDim(size_t(dim));
    buffer.dtype = model->known(*compiled, i).dtype;
    if (buffer.data) continue;
    // The engine gives its memory back with the tensor; the caller's has to stay.
    ge_tensor tensor{};
    tensor.dtype = buffer.dtype, tensor.rank = buffer.rank;
    std::copy_n(buffer.dims, std::max(buffer.rank, 0), tensor.dims);
    buffer.size = size_of(tensor);
    if (sim_malloc_by("aclmdlExecute", nullptr, std::max<uint64_t>(buffer.size, 1), buffer.size, &buffer.data))
      return say(ACL_ERROR_GE_MEMORY_ALLOCATION, gesim::last_error(), error, capacity);
    const auto held = std::make_shared<ge::Tensor>(out[i]);
    const std::string problem = gesim::launch_copy(stream, "MemcpyD2D", "output " + std::to_string(i),
                                                   {buffer.data, held->GetData(), size_t(buffer.size)}, {held});
    if (!problem.empty()) return say(ACL_ERROR_GE_INTERNAL_ERROR, problem, error, capacity);
  }
  return 0;
}

const char* ophook_om_node(const om_model* model, size_t index, int32_t* dtypes, size_t capacity) {
  const gesim::Compiled& first = *model->loaded.compiled[0];
  if (index >= first.graph.nodes.size()) return nullptr;
  for (size_t i = 0; i < std::min(capacity, first.known[index].size()); ++i)
    dtypes[i] = first.known[index][i].tensor.dtype;
  return first.graph.nodes[index].name.c_str();
}

int ophook_om_retyped(const om_model* model, size_t index, const int32_t* inputs, size_t input_count, int32_t* outputs,
                      size_t output_count) {
  const gesim::Compiled& first = *model->loaded.compiled[0];
  const gesim::Node& node = first.graph.nodes[index];
  if (first.engine[index] == gesim::Engine::kAicpu) return 1;  // precision modes are about AI cores
  std::vector<ge_tensor> in, out(first.known[index].size());
  size_t given = 0;
  for (const gesim::Edge& edge : node.inputs) {
    in.emplace_back();
    if (edge.node < 0) {
      in.back().dtype = ge_absent;
      continue;
    }
    const gesim::Known& known = first.known[edge.node][edge.port];
    in.back() = known.tensor;
    if (given == input_count) return 1;
    // A value is read by its data type.
    if (known.tensor.dtype == inputs[given] && known.value) in.back().data = const_cast<uint8_t*>(known.value->data());
    in.back().dtype = inputs[given++];
  }
  if (given != input_count || !gesim::infer(first, int(index), in, out).empty()) return 1;
  for (size_t i = 0; i < std::min(output_count, out.size()); ++i) outputs[i] = out[i].dtype;
  return 0;
}

}  // extern "C"
