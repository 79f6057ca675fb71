// The input "ascend_dynamic_aipp_data" of a model with dynamic AIPP: what aclmdlSetInputAIPP writes into it and the
// operator Aipp reads. hicann/ge, docs/zh/user_guides/atc_tools/AIPP/aipp_config_example.md.
#pragma once

#include <cstdint>

namespace sim::aipp {

constexpr int kChannels = 4;  // that have parameters

struct Common {
  uint8_t format;
  int8_t converts, swapped, alpha_first, batch;
  int8_t unused[3];
  int32_t width, height;
  int16_t matrix[9];
  int16_t unused2[3];
  uint8_t output_bias[3], input_bias[3];
  int8_t unused3[18];
};
static_assert(sizeof(Common) == 64);

// Of one image. Behind `Common` there is one for each.
struct Image {
  int8_t crops, scales, pads, rotates;
  int8_t unused[4];
  int32_t left, top, width, height;
  int32_t scaled[4];  // width and height before and after
  int32_t padding_top, padding_bottom, padding_left, padding_right;
  int16_t mean[kChannels];
  uint16_t least[kChannels], factor[kChannels];  // float16
  int8_t unused2[16];
};
static_assert(sizeof(Image) == 96);

}  // namespace sim::aipp
