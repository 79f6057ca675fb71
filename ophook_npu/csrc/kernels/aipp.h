// AIPP: what a camera or a decoder gives becomes the input of a network. Cut out, converted to another color space,
// normalized, padded, in this order.
#pragma once

#include <array>

#include "kernels/tensors.h"

namespace sim::kernels {

enum class ImageFormat { yuv420sp = 1, xrgb8888, rgb888, yuv400 };  // ACL's numbers

// How images lie in memory, and what is done to the colors of all of them.
struct AippSource {
  ImageFormat format;
  int64_t height, width;
  bool swapped = false;      // red lies where blue is expected, V where U is
  bool alpha_first = false;  // of four bytes
  bool converts = false;
  std::array<int64_t, 9> matrix{};
  std::array<int64_t, 3> input_bias{}, output_bias{};

  int64_t bytes() const;  // of one image
};

// What is done to one image.
struct AippImage {
  int64_t top = 0, left = 0, height = 0, width = 0;  // the part that is used
  int64_t padding_top = 0, padding_left = 0;
  std::array<int64_t, 3> mean{};
  std::array<c10::Half, 3> least{}, factor{1, 1, 1};
};

// `out`: (channels, height, width), float16 or uint8, which is not normalized. The rows above and below the image and
// the columns beside it are `padding`.
void aipp(const uint8_t* image, const AippSource& source, const AippImage& how, double padding, const at::Tensor& out);

}  // namespace sim::kernels
