// libascendcl: AIPP of offline models: what it is, and its parameters where a run says them. hicann/ge,
// docs/zh/api/graph_engine_api/c/acl, and the checks of api/acl/acl_model/model/{acl_aipp,aipp_param_check}.cpp there.
#include <cmath>

#include "acl/offline.h"
#include "acl/tasks.h"
#include "ge/aipp_parameters.h"

struct aclmdlAIPP {
  sim::aipp::Common common{};
  std::vector<sim::aipp::Image> images;
};

namespace sim::acl::offline {
namespace {

constexpr uint16_t kHalfOne = 0x3c00;
constexpr int64_t kWidestPadded = 1080;  // on every product, though atc takes wider ones on some
constexpr int kMaxMatrix = 32676, kMinMatrix = -32677;

struct Number {
  const char* name;
  double value, least, most;
};
int within(const char* caller, std::initializer_list<Number> numbers) {
  for (const Number& one : numbers)
    if (!(one.value >= one.least && one.value <= one.most))
      return ACL_INVALID(caller, "%s is %g; allowed: %g to %g", one.name, one.value, one.least, one.most);
  return ACL_SUCCESS;
}
#define AIPP_NUMBER(name, least, most) \
  Number { #name, double(name), double(least), double(most) }

// Sets what `change` sets in the parameters, where the numbers are allowed.
template <typename Change>
int set_common(const char* caller, aclmdlAIPP* of, std::initializer_list<Number> numbers, Change change) {
  if (!of) return missing(caller, "aippParmsSet", ACL_ERROR_INVALID_PARAM);
  if (int code = within(caller, numbers)) return code;
  change(of->common);
  return ACL_SUCCESS;
}
// The same of one image.
template <typename Change>
int set_image(const char* caller, aclmdlAIPP* of, uint64_t index, std::initializer_list<Number> numbers,
              Change change) {
  if (!of) return missing(caller, "aippParmsSet", ACL_ERROR_INVALID_PARAM);
  if (index >= of->images.size())
    return ACL_INVALID(caller, "batchIndex is %llu; allowed: below %zu, the batch size", (unsigned long long)index,
                       of->images.size());
  if (int code = within(caller, numbers)) return code;
  change(of->images[index]);
  return ACL_SUCCESS;
}
// The same of what can be on or off: the numbers count where it is on.
template <typename Change>
int set_switch(const char* caller, aclmdlAIPP* of, uint64_t index, int8_t on, int8_t aipp::Image::* member,
               std::initializer_list<Number> numbers, Change change) {
  const int code =
      set_image(caller, of, index, {AIPP_NUMBER(on, 0, 1)}, [&](aipp::Image& image) { image.*member = on; });
  return code || !on ? code : set_image(caller, of, index, numbers, change);
}

int index_of(const char* caller, const Offline& model, size_t index) {
  if (index < model.about().input_count) return ACL_SUCCESS;
  return ACL_INVALID(caller, "input %zu of %zu", index, model.about().input_count);
}

struct Size {
  int64_t width, height;
};
Size result_of(const aipp::Common& common, const aipp::Image& image) {
  Size size{common.width, common.height};
  if (image.crops) size = {image.width, image.height};
  if (image.scales) size = {image.scaled[2], image.scaled[3]};
  if (image.pads)
    size = {size.width + image.padding_left + image.padding_right,
            size.height + image.padding_top + image.padding_bottom};
  return size;
}

uint64_t bytes_of(const aclmdlAIPP& of) {
  const uint64_t pixels = uint64_t(of.common.width) * uint64_t(of.common.height) * of.images.size();
  switch (of.common.format) {
    case ACL_YUV420SP_U8: return pixels * 3 / 2;
    case ACL_XRGB8888_U8: return pixels * 4;
    case ACL_RGB888_U8: return pixels * 3;
    default: return pixels;
  }
}

int check_image(const char* caller, const aipp::Common& common, const aipp::Image& image, size_t index) {
  if (image.scales) return ACL_INVALID(caller, "image %zu is scaled, which no product supports", index);
  if (image.pads && result_of(common, image).width > kWidestPadded)
    return ACL_INVALID(caller, "image %zu has a width of %lld with its padding; allowed: %lld", index,
                       (long long)result_of(common, image).width, (long long)kWidestPadded);
  if (!image.crops) return ACL_SUCCESS;
  if (image.left + image.width > common.width || image.top + image.height > common.height)
    return ACL_INVALID(caller, "of image %zu, %d by %d at %d, %d are cut out of %d by %d (width by height)", index,
                       image.width, image.height, image.left, image.top, common.width, common.height);
  if (common.format == ACL_YUV420SP_U8 && (image.left % 2 || image.top % 2))
    return ACL_INVALID(caller, "image %zu is cut at %d, %d; of YUV420SP_U8 both have to be even", index, image.left,
                       image.top);
  return ACL_SUCCESS;
}

int check_parameters(const char* caller, const aclmdlAIPP& given) {
  const aipp::Common& common = given.common;
  if (common.format < ACL_YUV420SP_U8 || common.format > ACL_YUV400_U8)
    return ACL_INVALID(caller, "the image format is %d%s; allowed: 1 to 4", common.format,
                       common.format ? "" : ", none was set (aclmdlSetAIPPInputFormat)");
  if (common.format == ACL_YUV400_U8 && common.converts)
    return ACL_INVALID(caller, "YUV400_U8 has no colors to convert");
  if (!common.width || !common.height)
    return ACL_INVALID(caller, "the images' size was not set (aclmdlSetAIPPSrcImageSize)");
  if (common.format == ACL_YUV420SP_U8 && (common.width % 2 || common.height % 2))
    return ACL_INVALID(caller, "images of %d by %d; of YUV420SP_U8 both have to be even", common.width, common.height);
  const Size first = result_of(common, given.images[0]);
  for (size_t i = 0; i < given.images.size(); ++i) {
    if (int code = check_image(caller, common, given.images[i], i)) return code;
    const Size one = result_of(common, given.images[i]);
    if (one.width != first.width || one.height != first.height)
      return ACL_INVALID(caller, "image %zu becomes %lld by %lld, the first one %lld by %lld", i, (long long)one.width,
                         (long long)one.height, (long long)first.width, (long long)first.height);
  }
  return ACL_SUCCESS;
}

// What the images become is what the network reads: of gears, the largest.
int check_result(const char* caller, const Offline& model, size_t image, const aclmdlAIPP& given) {
  const om_tensor& port = model.about().inputs[image];
  if (bytes_of(given) > port.size)
    return ACL_INVALID(caller, "the images have %llu bytes; allowed: max_src_image_size, %llu",
                       (unsigned long long)bytes_of(given), (unsigned long long)port.size);
  const auto info = std::make_unique<aclAippInfo>();
  model.aipp(image, info.get());
  const aclmdlIODims& dims = info->outDims[std::min(model.largest_gear(), info->shapeCount - 1)].srcDims;
  const size_t height = info->srcFormat == ACL_FORMAT_NHWC ? 1 : 2;
  const Size made = result_of(given.common, given.images[0]);
  if (int64_t(given.images.size()) == dims.dims[0] && made.height == dims.dims[height] &&
      made.width == dims.dims[height + 1])
    return ACL_SUCCESS;
  return ACL_INVALID(caller, "%zu images become %lld by %lld, the network reads %lld of %lld by %lld",
                     given.images.size(), (long long)made.height, (long long)made.width, (long long)dims.dims[0],
                     (long long)dims.dims[height], (long long)dims.dims[height + 1]);
}

int set_input(const char* caller, uint32_t id, aclmdlDataset* dataset, size_t index, const aclmdlAIPP* given) {
  if (!dataset || !given) return missing(caller, dataset ? "aippParmsSet" : "dataset", ACL_ERROR_INVALID_PARAM);
  FIND(Offline, model, find_model, caller, id);
  if (int code = index_of(caller, *model, index)) return code;
  const om_tensor& port = model->about().inputs[index];
  if (port.aipp != om_aipp_parameters)
    return ACL_INVALID(caller, "input %zu, %s, has no parameters of dynamic AIPP", index, port.name);
  if (int code = check_result(caller, *model, port.aipp_with, *given)) return code;
  if (int code = check_parameters(caller, *given)) return code;
  const aclDataBuffer* const buffer = index < dataset->blobs.size() ? dataset->blobs[index].buffer : nullptr;
  if (!buffer || !buffer->data) return ACL_INVALID(caller, "the dataset has no memory for input %zu", index);
  const size_t images = given->images.size() * sizeof(aipp::Image);
  if (buffer->size < sizeof given->common + images)
    return sim_fail(ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID, "%s: input %zu has %zu bytes; %zu are written", caller,
                    index, size_t(buffer->size), sizeof given->common + images);
  char* const to = static_cast<char*>(buffer->data);
  if (int code = aclrtMemcpy(to, buffer->size, &given->common, sizeof given->common, ACL_MEMCPY_HOST_TO_DEVICE))
    return code;
  return aclrtMemcpy(to + sizeof given->common, buffer->size - sizeof given->common, given->images.data(), images,
                     ACL_MEMCPY_HOST_TO_DEVICE);
}

}  // namespace

extern "C" {

// ---- what a model has ----
SIM_API aclError aclmdlGetAippType(uint32_t id, size_t index, aclmdlInputAippType* type, size_t* attached) {
  if (!type || !attached) return missing(__func__, type ? "dynamicAttachedDataIndex" : "type", ACL_ERROR_INVALID_PARAM);
  FIND(Offline, model, find_model, __func__, id);
  if (int code = index_of(__func__, *model, index)) return code;
  const om_tensor& port = model->about().inputs[index];
  static_assert(int(om_static_aipp) == ACL_DATA_WITH_STATIC_AIPP && int(om_aipp_parameters) == ACL_DYNAMIC_AIPP_NODE);
  *type = aclmdlInputAippType(port.aipp);
  *attached = port.aipp == om_dynamic_aipp ? port.aipp_with : ACL_INVALID_NODE_INDEX;
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlGetFirstAippInfo(uint32_t id, size_t index, aclAippInfo* info) {
  if (!info) return missing(__func__, "aippInfo", ACL_ERROR_INVALID_PARAM);
  FIND(Offline, model, find_model, __func__, id);
  if (int code = index_of(__func__, *model, index)) return code;
  const int32_t type = model->about().inputs[index].aipp;
  if (type != om_static_aipp && type != om_dynamic_aipp)
    return sim_fail(ACL_ERROR_GE_AIPP_NOT_EXIST, "%s: input %zu of model %u has no AIPP", __func__, index, id);
  model->aipp(index, info);
  return ACL_SUCCESS;
}

// ---- parameters ----
SIM_API aclmdlAIPP* aclmdlCreateAIPP(uint64_t batch) {
  if (!batch || batch > INT8_MAX) {
    ACL_INVALID(__func__, "batchSize is %llu; allowed: 1 to %d", (unsigned long long)batch, INT8_MAX);
    return nullptr;
  }
  auto* made = new aclmdlAIPP;
  made->common.batch = int8_t(batch);
  made->images.resize(batch);
  for (aipp::Image& image : made->images) std::fill(std::begin(image.factor), std::end(image.factor), kHalfOne);
  return made;
}
SIM_API aclError aclmdlDestroyAIPP(const aclmdlAIPP* of) { return destroyed(__func__, "aippParmsSet", of); }
SIM_API aclError aclmdlGetAippDataSize(uint64_t batch, size_t* size) {
  if (!size) return missing(__func__, "size", ACL_ERROR_INVALID_PARAM);
  ACL_INVALID_IF(!batch || batch > (SIZE_MAX - sizeof(aipp::Common)) / sizeof(aipp::Image), "batchSize is %llu",
                 (unsigned long long)batch);
  *size = sizeof(aipp::Common) + batch * sizeof(aipp::Image);
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlSetAIPPInputFormat(aclmdlAIPP* of, aclAippInputFormat format) {
  return set_common(__func__, of, {AIPP_NUMBER(format, ACL_YUV420SP_U8, ACL_RAW24)}, [&](aipp::Common& common) {
    common.format = uint8_t(format);  // which of them there are is said when the parameters are used
  });
}
SIM_API aclError aclmdlSetAIPPCscParams(aclmdlAIPP* of, int8_t on, int16_t r0c0, int16_t r0c1, int16_t r0c2,
                                        int16_t r1c0, int16_t r1c1, int16_t r1c2, int16_t r2c0, int16_t r2c1,
                                        int16_t r2c2, uint8_t out0, uint8_t out1, uint8_t out2, uint8_t in0,
                                        uint8_t in1, uint8_t in2) {
  const int code =
      set_common(__func__, of, {AIPP_NUMBER(on, 0, 1)}, [&](aipp::Common& common) { common.converts = on; });
  if (code || !on) return code;
  const int16_t matrix[] = {r0c0, r0c1, r0c2, r1c0, r1c1, r1c2, r2c0, r2c1, r2c2};
  for (const int16_t number : matrix)
    if (int code = within(__func__, {{"a number of the matrix", double(number), kMinMatrix, kMaxMatrix}})) return code;
  std::copy(std::begin(matrix), std::end(matrix), of->common.matrix);
  const uint8_t output[] = {out0, out1, out2}, input[] = {in0, in1, in2};
  std::copy(std::begin(output), std::end(output), of->common.output_bias);
  std::copy(std::begin(input), std::end(input), of->common.input_bias);
  return ACL_SUCCESS;
}
SIM_API aclError aclmdlSetAIPPRbuvSwapSwitch(aclmdlAIPP* of, int8_t on) {
  return set_common(__func__, of, {AIPP_NUMBER(on, 0, 1)}, [&](aipp::Common& common) { common.swapped = on; });
}
SIM_API aclError aclmdlSetAIPPAxSwapSwitch(aclmdlAIPP* of, int8_t on) {
  return set_common(__func__, of, {AIPP_NUMBER(on, 0, 1)}, [&](aipp::Common& common) { common.alpha_first = on; });
}
SIM_API aclError aclmdlSetAIPPSrcImageSize(aclmdlAIPP* of, int32_t width, int32_t height) {
  return set_common(__func__, of, {AIPP_NUMBER(width, 2, 4096), AIPP_NUMBER(height, 1, 4096)},
                    [&](aipp::Common& common) { common.width = width, common.height = height; });
}
SIM_API aclError aclmdlSetAIPPScfParams(aclmdlAIPP* of, int8_t on, int32_t in_width, int32_t in_height,
                                        int32_t out_width, int32_t out_height, uint64_t index) {
  const int32_t sizes[] = {in_width, in_height, out_width, out_height};
  return set_switch(__func__, of, index, on, &aipp::Image::scales,
                    {AIPP_NUMBER(in_width, 16, 4096), AIPP_NUMBER(in_height, 16, 4096),
                     AIPP_NUMBER(out_width, 16, 1920), AIPP_NUMBER(out_height, 16, 4096)},
                    [&](aipp::Image& image) { std::copy(std::begin(sizes), std::end(sizes), image.scaled); });
}
SIM_API aclError aclmdlSetAIPPCropParams(aclmdlAIPP* of, int8_t on, int32_t left, int32_t top, int32_t width,
                                         int32_t height, uint64_t index) {
  return set_switch(
      __func__, of, index, on, &aipp::Image::crops,
      {AIPP_NUMBER(left, 0, 4095), AIPP_NUMBER(top, 0, 4095), AIPP_NUMBER(width, 1, 4096),
       AIPP_NUMBER(height, 1, 4096)},
      [&](aipp::Image& image) { image.left = left, image.top = top, image.width = width, image.height = height; });
}
SIM_API aclError aclmdlSetAIPPPaddingParams(aclmdlAIPP* of, int8_t on, int32_t top, int32_t bottom, int32_t left,
                                            int32_t right, uint64_t index) {
  return set_switch(
      __func__, of, index, on, &aipp::Image::pads,
      {AIPP_NUMBER(top, 0, 32), AIPP_NUMBER(bottom, 0, 32), AIPP_NUMBER(left, 0, 32), AIPP_NUMBER(right, 0, 32)},
      [&](aipp::Image& image) {
        image.padding_top = top, image.padding_bottom = bottom;
        image.padding_left = left, image.padding_right = right;
      });
}
SIM_API aclError aclmdlSetAIPPDtcPixelMean(aclmdlAIPP* of, int16_t mean0, int16_t mean1, int16_t mean2, int16_t mean3,
                                           uint64_t index) {
  const int16_t means[] = {mean0, mean1, mean2, mean3};
  return set_image(
      __func__, of, index,
      {AIPP_NUMBER(mean0, 0, 255), AIPP_NUMBER(mean1, 0, 255), AIPP_NUMBER(mean2, 0, 255), AIPP_NUMBER(mean3, 0, 255)},
      [&](aipp::Image& image) { std::copy(std::begin(means), std::end(means), image.mean); });
}
SIM_API aclError aclmdlSetAIPPDtcPixelMin(aclmdlAIPP* of, float min0, float min1, float min2, float min3,
                                          uint64_t index) {
  const float least[] = {min0, min1, min2, min3};
  return set_image(
      __func__, of, index,
      {AIPP_NUMBER(min0, 0, 255), AIPP_NUMBER(min1, 0, 255), AIPP_NUMBER(min2, 0, 255), AIPP_NUMBER(min3, 0, 255)},
      [&](aipp::Image& image) { std::transform(std::begin(least), std::end(least), image.least, aclFloatToFloat16); });
}
SIM_API aclError aclmdlSetAIPPPixelVarReci(aclmdlAIPP* of, float factor0, float factor1, float factor2, float factor3,
                                           uint64_t index) {
  const float factors[] = {factor0, factor1, factor2, factor3};
  return set_image(__func__, of, index,
                   {AIPP_NUMBER(factor0, -65504, 65504), AIPP_NUMBER(factor1, -65504, 65504),
                    AIPP_NUMBER(factor2, -65504, 65504), AIPP_NUMBER(factor3, -65504, 65504)},
                   [&](aipp::Image& image) {
                     std::transform(std::begin(factors), std::end(factors), image.factor, aclFloatToFloat16);
                   });
}

// ---- and where they go ----
SIM_API aclError aclmdlSetInputAIPP(uint32_t id, aclmdlDataset* dataset, size_t index, const aclmdlAIPP* given) {
  return set_input(__func__, id, dataset, index, given);
}
SIM_API aclError aclmdlSetAIPPByInputIndex(uint32_t id, aclmdlDataset* dataset, size_t index, const aclmdlAIPP* given) {
  if (!given) return missing(__func__, "aippParmsSet", ACL_ERROR_INVALID_PARAM);
  ACL_INVALID_IF(!dataset || index >= dataset->blobs.size(), "the dataset has no input %zu", index);
  FIND(Offline, model, find_model, __func__, id);
  if (int code = index_of(__func__, *model, index)) return code;
  const om_tensor& port = model->about().inputs[index];
  if (port.aipp != om_dynamic_aipp)
    return sim_fail(ACL_ERROR_FAILURE, "%s: input %zu, %s, has no dynamic AIPP", __func__, index, port.name);
  return set_input(__func__, id, dataset, port.aipp_with, given);
}

}  // extern "C"
}  // namespace sim::acl::offline
