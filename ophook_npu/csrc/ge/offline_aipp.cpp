#include "offline_aipp.h"

#include <algorithm>
#include <cstring>

#include "acl/acl_mdl.h"

namespace gesim {
namespace {

constexpr int64_t kYuv420sp = 1;  // ACL's number
constexpr int64_t kBlock = 32;    // bytes of the channels of one pixel in NC1HWC0

int64_t whole(const Node& node, const std::string& name) {
  const Attr* const found = node.attr(name.c_str());
  return found ? found->i : 0;
}
float real(const Node& node, const std::string& name, float otherwise) {
  const Attr* const found = node.attr(name.c_str());
  return found ? found->f : otherwise;
}

int64_t bytes_of(int64_t dtype) {
  ge_tensor one{};
  one.dtype = int32_t(dtype);
  return byte_size(one);
}

size_t write(const char* name, const std::vector<int64_t>& sizes, int64_t dtype, aclmdlIODims& out) {
  out = {};
  std::strncpy(out.name, name, sizeof out.name - 1);
  out.dimCount = sizes.size();
  std::copy(sizes.begin(), sizes.end(), out.dims);
  int64_t bytes = bytes_of(dtype);
  for (const int64_t size : sizes) bytes *= size;
  return size_t(bytes);
}

void describe_colors(const Node& node, aclAippInfo& out) {
  out.cscSwitch = int8_t(whole(node, "csc_switch")), out.rbuvSwapSwitch = int8_t(whole(node, "rbuv_swap_switch"));
  out.axSwapSwitch = int8_t(whole(node, "ax_swap_switch"));
  int32_t* const matrix[] = {&out.matrixR0C0, &out.matrixR0C1, &out.matrixR0C2, &out.matrixR1C0, &out.matrixR1C1,
                             &out.matrixR1C2, &out.matrixR2C0, &out.matrixR2C1, &out.matrixR2C2};
  for (size_t i = 0; i < std::size(matrix); ++i)
    *matrix[i] = int32_t(whole(node, "matrix_r" + std::to_string(i / 3) + "c" + std::to_string(i % 3)));
  int32_t* const biases[][2] = {
      {&out.outputBias0, &out.inputBias0}, {&out.outputBias1, &out.inputBias1}, {&out.outputBias2, &out.inputBias2}};
  for (size_t i = 0; i < std::size(biases); ++i) {
    *biases[i][0] = int32_t(whole(node, "output_bias_" + std::to_string(i)));
    *biases[i][1] = int32_t(whole(node, "input_bias_" + std::to_string(i)));
  }
}

void describe_static(const Node& node, aclAippInfo& out) {
  out.inputFormat = aclAippInputFormat(whole(node, "input_format"));
  out.srcImageSizeW = int32_t(whole(node, "src_image_size_w"));
  out.srcImageSizeH = int32_t(whole(node, "src_image_size_h"));
  out.cropSwitch = int8_t(whole(node, "crop"));
  out.loadStartPosW = int32_t(whole(node, "load_start_pos_w"));
  out.loadStartPosH = int32_t(whole(node, "load_start_pos_h"));
  out.cropSizeW = int32_t(whole(node, "crop_size_w")), out.cropSizeH = int32_t(whole(node, "crop_size_h"));
  out.paddingSwitch = int8_t(whole(node, "padding"));
  out.leftPaddingSize = int32_t(whole(node, "left_padding_size"));
  out.rightPaddingSize = int32_t(whole(node, "right_padding_size"));
  out.topPaddingSize = int32_t(whole(node, "top_padding_size"));
  out.bottomPaddingSize = int32_t(whole(node, "bottom_padding_size"));
  describe_colors(node, out);
  int32_t* const means[] = {&out.meanChn0, &out.meanChn1, &out.meanChn2, &out.meanChn3};
  float* const least[] = {&out.minChn0, &out.minChn1, &out.minChn2, &out.minChn3};
  float* const factors[] = {&out.varReciChn0, &out.varReciChn1, &out.varReciChn2, &out.varReciChn3};
  for (size_t i = 0; i < std::size(means); ++i) {
    const std::string channel = "_chn_" + std::to_string(i);
    *means[i] = int32_t(whole(node, "mean" + channel));
    *least[i] = real(node, "min" + channel, 0), *factors[i] = real(node, "var_reci" + channel, 1);
  }
}

}  // namespace

AippInput aipp_of(const Graph& graph, int data) {
  for (const Node& node : graph.nodes) {
    if (node.type != "Aipp" || node.inputs.empty()) continue;
    const int image = node.inputs[0].node, parameters = node.inputs.size() > 1 ? node.inputs[1].node : -1;
    if (image == data) return {parameters < 0 ? om_static_aipp : om_dynamic_aipp, &node, parameters};
    if (parameters == data) return {om_aipp_parameters, &node, image};
  }
  return {};
}

std::vector<int64_t> image_dims(const AippInput& input, const std::vector<int64_t>& dims) {
  if (input.type == om_dynamic_aipp) return {dims[0], -1, -1, -1};  // an image's format and size are a run's
  if (input.type != om_static_aipp || whole(*input.aipp, "input_format") != kYuv420sp) return dims;
  return {dims[0], dims[1] < 0 ? dims[1] : dims[1] * 2 / 3, dims[2], 3};
}

uint64_t most_bytes(const AippInput& input) {
  return uint64_t(std::max<int64_t>(whole(*input.aipp, "max_src_image_size"), 0));
}

void describe_aipp(const AippInput& input, const std::vector<std::shared_ptr<Compiled>>& compiled, int data,
                   aclAippInfo& out) {
  const Node& node = *input.aipp;
  std::memset(&out, 0, sizeof out);
  if (input.type == om_static_aipp) describe_static(node, out);
  const Attr* const layout = node.attr("layout");
  const bool last = layout && layout->s == "NHWC";  // the channels
  out.srcFormat = last ? ACL_FORMAT_NHWC : ACL_FORMAT_NCHW;
  out.srcDatatype = aclDataType(whole(node, "src_type"));
  out.srcDimNum = 4;
  out.shapeCount = std::min<size_t>(compiled.size(), ACL_MAX_SHAPE_COUNT);
  const size_t index = size_t(&node - compiled[0]->graph.nodes.data());
  for (size_t gear = 0; gear < out.shapeCount; ++gear) {
    const ge_tensor& made = compiled[gear]->known[index][0].tensor;
    const std::vector<int64_t> sizes(made.dims, made.dims + made.rank);
    const int64_t channels = kBlock / bytes_of(made.dtype);
    aclAippDims& dims = out.outDims[gear];
    dims.srcSize = write(compiled[0]->graph.nodes[size_t(data)].name.c_str(), sizes, out.srcDatatype, dims.srcDims);
    // The pages: an image is NC1HWC0 behind AIPP.
    dims.aippOutSize = write("features", {sizes[0], 1, sizes[last ? 1 : 2], sizes[last ? 2 : 3], channels}, made.dtype,
                             dims.aippOutdims);
  }
}

}  // namespace gesim
