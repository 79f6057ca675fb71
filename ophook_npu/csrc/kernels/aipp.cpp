#include "kernels/aipp.h"

#include <algorithm>

namespace sim::kernels {
namespace {

using Pixel = std::array<int64_t, 3>;

bool is_yuv(ImageFormat format) { return format == ImageFormat::yuv420sp || format == ImageFormat::yuv400; }

Pixel read(const uint8_t* image, const AippSource& source, int64_t y, int64_t x) {
  const int64_t place = y * source.width + x;
  Pixel pixel{};
  switch (source.format) {
    case ImageFormat::yuv400: return {image[place], 0, 0};
    case ImageFormat::yuv420sp: {  // a plane of Y, then one of U and V side by side for each two by two pixels
      const uint8_t* const colors = image + source.height * source.width + y / 2 * source.width + x / 2 * 2;
      pixel = {image[place], colors[0], colors[1]};
      if (source.swapped) std::swap(pixel[1], pixel[2]);
      return pixel;
    }
    case ImageFormat::rgb888: std::copy_n(image + 3 * place, 3, pixel.begin()); break;
    case ImageFormat::xrgb8888: std::copy_n(image + 4 * place + source.alpha_first, 3, pixel.begin()); break;
  }
  if (source.swapped) std::swap(pixel[0], pixel[2]);
  return pixel;
}

// The pages write ">> 8" alone. The device's kernel (hicann/ops-cv, image/aipp) rounds to the nearest and clips; a bias
// is taken off YUV and added to what is made of RGB.
Pixel converted(const Pixel& from, const AippSource& source) {
  const bool yuv = is_yuv(source.format);
  Pixel to;
  for (size_t row = 0; row < to.size(); ++row) {
    int64_t sum = 128;
    for (size_t i = 0; i < from.size(); ++i)
      sum += source.matrix[3 * row + i] * (from[i] - (yuv ? source.input_bias[i] : 0));
    to[row] = std::clamp<int64_t>((sum >> 8) + (yuv ? 0 : source.output_bias[row]), 0, 255);
  }
  return to;
}

// Every step is rounded to the result's type, as on the device.
void put(c10::Half& to, int64_t value, const AippImage& how, size_t channel) {
  to = (c10::Half(float(value - how.mean[channel])) - how.least[channel]) * how.factor[channel];
}
void put(uint8_t& to, int64_t value, const AippImage&, size_t) { to = uint8_t(value); }

template <typename T>
void compute(const uint8_t* image, const AippSource& source, const AippImage& how, T padding, const at::Tensor& out) {
  T* const first = out.data_ptr<T>();
  for (int64_t y = 0; y < out.size(1); ++y)
    for (int64_t x = 0; x < out.size(2); ++x) {
      const int64_t row = y - how.padding_top, column = x - how.padding_left;
      const bool inside = row >= 0 && row < how.height && column >= 0 && column < how.width;
      Pixel pixel{};
      if (inside) pixel = read(image, source, how.top + row, how.left + column);
      if (inside && source.converts) pixel = converted(pixel, source);
      for (int64_t channel = 0; channel < out.size(0); ++channel) {
        T& to = first[channel * out.stride(0) + y * out.stride(1) + x * out.stride(2)];
        if (inside) put(to, pixel[size_t(channel)], how, size_t(channel));
        else to = padding;
      }
    }
}

}  // namespace

int64_t AippSource::bytes() const {
  const int64_t pixels = height * width;
  switch (format) {
    case ImageFormat::yuv400: return pixels;
    case ImageFormat::yuv420sp: return pixels * 3 / 2;
    case ImageFormat::rgb888: return pixels * 3;
    case ImageFormat::xrgb8888: return pixels * 4;
  }
  return 0;
}

void aipp(const uint8_t* image, const AippSource& source, const AippImage& how, double padding, const at::Tensor& out) {
  if (out.scalar_type() == at::kHalf) compute(image, source, how, c10::Half(float(padding)), out);
  else compute(image, source, how, uint8_t(std::clamp(padding, 0.0, 255.0)), out);
}

}  // namespace sim::kernels
