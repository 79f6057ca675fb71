#include "kernels/deformable.h"

#include <cmath>

#include "kernels/conv.h"

namespace sim::kernels {
namespace {

at::Tensor plain(const at::Tensor& tensor, at::ScalarType dtype = at::kFloat) { return tensor.to(dtype).contiguous(); }

// The four points around (x, y) that lie in the plane, each with its share and the share's derivatives.
struct Corner {
  int64_t row, column;
  float share, by_x, by_y;
};
template <typename See>
void each_corner(float x, float y, int64_t height, int64_t width, See see) {
  if (!(x > -1 && y > -1 && x < float(width) && y < float(height))) return;
  const float left = std::floor(x), top = std::floor(y), right_share = x - left, low_share = y - top;
  for (const int down : {0, 1})
    for (const int over : {0, 1}) {
      const int64_t row = int64_t(top) + down, column = int64_t(left) + over;
      if (row < 0 || row >= height || column < 0 || column >= width) continue;
      const float of_x = over ? right_share : 1 - right_share, of_y = down ? low_share : 1 - low_share;
      see(Corner{row, column, of_x * of_y, (over ? 1 : -1) * of_y, (down ? 1 : -1) * of_x});
    }
}

struct Sizes {
  int64_t batches, keys, heads, channels, queries, levels, points;
};
Sizes numbers_of(const DeformableAttention& of) {
  return {of.value.size(0), of.value.size(1), of.value.size(2), of.value.size(3),
          of.where.size(1), of.where.size(3), of.where.size(4)};
}

// One of the keys around a point that a query samples.
struct Sample {
  int64_t out, at, key;  // where the result's channels begin, which of all points, where the key's channels begin
  int64_t height, width;
  Corner corner;
};
template <typename See>
void each_sample(const DeformableAttention& of, See see) {
  const Sizes n = numbers_of(of);
  const auto shapes = plain(of.shapes, at::kLong), starts = plain(of.starts, at::kLong), where = plain(of.where);
  const auto* shape = shapes.const_data_ptr<int64_t>();
  const auto* start = starts.const_data_ptr<int64_t>();
  const auto* place = where.const_data_ptr<float>();
  int64_t at = 0;
  for (int64_t batch = 0; batch < n.batches; ++batch)
    for (int64_t query = 0; query < n.queries; ++query)
      for (int64_t head = 0; head < n.heads; ++head)
        for (int64_t level = 0; level < n.levels; ++level)
          for (int64_t point = 0; point < n.points; ++point, ++at) {
            const int64_t height = shape[2 * level], width = shape[2 * level + 1];
            const int64_t out = ((batch * n.queries + query) * n.heads + head) * n.channels;
            const float x = place[2 * at] * float(width) - 0.5f, y = place[2 * at + 1] * float(height) - 0.5f;
            each_corner(x, y, height, width, [&](const Corner& corner) {
              // Only what is read counts: a device does not look at the level's size.
              const int64_t key = start[level] + corner.row * width + corner.column;
              SIM_CHECK(key >= 0 && key < n.keys, "level ", level, ", ", height, " x ", width, " from ", start[level],
                        " on, asks for key ", key, " of ", n.keys);
              see(Sample{out, at, ((batch * n.keys + key) * n.heads + head) * n.channels, height, width, corner});
            });
          }
}

int64_t steps_over(int64_t size, int64_t before, int64_t after, int64_t kernel, int64_t dilation, int64_t stride) {
  return divided(size + before + after - ((kernel - 1) * dilation + 1), stride) + 1;
}

}  // namespace

void check_deformable(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& offset, const at::Tensor& bias,
                      const DeformableConvolution& how, const at::Tensor& out, const at::Tensor& samples) {
  SIM_CHECK(x.dim() == 4 && weight.dim() == 4, "x ", x.sizes(), " and weight ", weight.sizes(),
            "; four dimensions each are expected");
  SIM_CHECK(how.kernel.size() == 2 && how.stride.size() == 4 && how.padding.size() == 4 && how.dilation.size() == 4,
            "kernelSize, stride, padding and dilation have ", how.kernel.size(), ", ", how.stride.size(), ", ",
            how.padding.size(), " and ", how.dilation.size(), " numbers; allowed: 2, 4, 4, 4");
  for (const Dims* each : {&how.stride, &how.dilation})
    SIM_CHECK((*each)[0] == 1 && (*each)[1] == 1 && (*each)[2] > 0 && (*each)[3] > 0, "stride ", how.stride,
              " and dilation ", how.dilation, "; allowed: 1, 1, and two above 0");
  const int64_t rows = how.kernel[0], columns = how.kernel[1];
  SIM_CHECK(rows > 0 && columns > 0 && rows * columns <= 2048, "kernelSize ", how.kernel,
            "; both are above 0, their product is at most 2048");
  SIM_CHECK(how.groups > 0 && x.size(1) % how.groups == 0 && weight.size(0) % how.groups == 0, "groups ", how.groups,
            " for ", x.size(1), " and ", weight.size(0), " channels");
  SIM_CHECK(how.offset_groups > 0 && x.size(1) % how.offset_groups == 0, "deformableGroups ", how.offset_groups,
            " for ", x.size(1), " channels");
  shape(weight, {weight.size(0), x.size(1) / how.groups, rows, columns});
  const int64_t height = steps_over(x.size(2), how.padding[0], how.padding[1], rows, how.dilation[2], how.stride[2]);
  const int64_t width = steps_over(x.size(3), how.padding[2], how.padding[3], columns, how.dilation[3], how.stride[3]);
  SIM_CHECK(height > 0 && width > 0, "a kernel ", how.kernel, " does not fit into ", x.sizes());
  shape(offset, {x.size(0), 3 * how.offset_groups * rows * columns, height, width});
  if (bias.defined()) shape(bias, {weight.size(0)});
  shape(out, {x.size(0), weight.size(0), height, width});
  if (samples.defined()) shape(samples, {x.size(0), x.size(1), height * rows, width * columns});
}

namespace {

// A place of the kernel at one of the result's, which all channels of an offset group read alike. The offsets' channels
// are three blocks: all x, all y, all masks, each (offset group, row, column of the kernel).
struct Tap {
  int64_t batch, first, last;   // which channels
  int64_t by_x, by_y, by_mask;  // places in the offsets
  float x, y, mask;
  int64_t sample;  // the place in a channel's plane of samples
};
template <typename See>
void each_tap(const at::Tensor& offset, int64_t channels, const DeformableConvolution& how, See see) {
  const int64_t height = offset.size(2), width = offset.size(3), rows = how.kernel[0], columns = how.kernel[1];
  const int64_t of_group = channels / how.offset_groups, taps = how.offset_groups * rows * columns;
  const auto* shift = offset.const_data_ptr<float>();
  for (int64_t n = 0; n < offset.size(0); ++n)
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t group = tap / (rows * columns), row = tap / columns % rows, column = tap % columns;
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j) {
          const auto place = [&](int64_t block) {
            return ((n * 3 * taps + block * taps + tap) * height + i) * width + j;
          };
          see(Tap{n, group * of_group, (group + 1) * of_group, place(0), place(1), place(2),
                  float(j * how.stride[3] + column * how.dilation[3] - how.padding[2]) + shift[place(0)],
                  float(i * how.stride[2] + row * how.dilation[2] - how.padding[0]) + shift[place(1)], shift[place(2)],
                  (i * rows + row) * width * columns + j * columns + column});
        }
    }
}

// The convolution of the samples, of which each is read once.
Convolution over_samples(const DeformableConvolution& how) {
  return {how.kernel, {0, 0}, {1, 1}, false, {0, 0}, how.groups};
}

at::Tensor samples_of(const at::Tensor& given, const at::Tensor& given_offset, const DeformableConvolution& how) {
  const auto x = plain(given), offset = plain(given_offset);
  const int64_t channels = x.size(1), height = x.size(2), width = x.size(3);
  auto samples = at::zeros({x.size(0), channels, offset.size(2) * how.kernel[0], offset.size(3) * how.kernel[1]});
  const int64_t size = samples.size(2) * samples.size(3);
  const auto* from = x.const_data_ptr<float>();
  auto* to = samples.mutable_data_ptr<float>();
  each_tap(offset, channels, how, [&](const Tap& tap) {
    for (int64_t c = tap.batch * channels + tap.first; c < tap.batch * channels + tap.last; ++c) {
      const auto* plane = from + c * height * width;
      float sum = 0;
      each_corner(tap.x, tap.y, height, width,
                  [&](const Corner& corner) { sum += corner.share * plane[corner.row * width + corner.column]; });
      to[c * size + tap.sample] = sum * tap.mask;
    }
  });
  return samples;
}

SampleGradients samples_backward(const at::Tensor& grad, const at::Tensor& given, const at::Tensor& given_offset,
                                 const DeformableConvolution& how) {
  const auto x = plain(given), offset = plain(given_offset), slopes = plain(grad);
  const int64_t channels = x.size(1), height = x.size(2), width = x.size(3);
  const int64_t size = slopes.size(2) * slopes.size(3);
  SampleGradients result{at::zeros(x.sizes()), at::zeros(offset.sizes())};
  const auto* from = x.const_data_ptr<float>();
  const auto* slope = slopes.const_data_ptr<float>();
  auto* to_x = result.x.mutable_data_ptr<float>();
  auto* to_offset = result.offset.mutable_data_ptr<float>();
  each_tap(offset, channels, how, [&](const Tap& tap) {
    for (int64_t c = tap.batch * channels + tap.first; c < tap.batch * channels + tap.last; ++c) {
      const float at_sample = slope[c * size + tap.sample];
      each_corner(tap.x, tap.y, height, width, [&](const Corner& corner) {
        const int64_t place = (c * height + corner.row) * width + corner.column;
        to_x[place] += at_sample * tap.mask * corner.share;
        to_offset[tap.by_x] += at_sample * tap.mask * corner.by_x * from[place];
        to_offset[tap.by_y] += at_sample * tap.mask * corner.by_y * from[place];
        to_offset[tap.by_mask] += at_sample * corner.share * from[place];
      });
    }
  });
  return result;
}

at::Tensor channels_second(const at::Tensor& x) { return x.permute({0, 3, 1, 2}); }
at::Tensor channels_last(const at::Tensor& x) { return x.permute({0, 2, 3, 1}); }

}  // namespace

at::Tensor deformed_samples(const at::Tensor& x, const at::Tensor& offset, const DeformableConvolution& how) {
  return channels_last(samples_of(channels_second(x), channels_second(offset), how));
}

SampleGradients deformed_samples_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& offset,
                                          const DeformableConvolution& how) {
  const auto of = samples_backward(channels_second(grad), channels_second(x), channels_second(offset), how);
  return {channels_last(of.x), channels_last(of.offset)};
}

Deformed deformable_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& offset,
                                const at::Tensor& bias, const DeformableConvolution& how) {
  const auto samples = samples_of(x, offset, how);
  return {convolution(samples, weight, bias, over_samples(how)), samples};
}

DeformedGradients deformable_convolution_backward(const at::Tensor& x, const at::Tensor& grad,
                                                  const at::Tensor& samples, const at::Tensor& weight,
                                                  const at::Tensor& offset, const DeformableConvolution& how) {
  const auto of = convolution_backward(grad, samples, weight, {grad.size(1)}, over_samples(how), {true, true, true});
  const auto inputs = samples_backward(of.x, x, offset, how);
  return {inputs.x, of.weight, inputs.offset, of.bias};
}

void check_deformable(const DeformableAttention& of, const at::Tensor& out) {
  SIM_CHECK(of.value.dim() == 4 && of.where.dim() == 6, "value ", of.value.sizes(), " and location ", of.where.sizes(),
            "; four and six dimensions are expected");
  const Sizes n = numbers_of(of);
  shape(of.shapes, {n.levels, 2});
  SIM_CHECK(of.starts.dim() == 1 && of.starts.numel() >= n.levels, "levelStartIndex ", of.starts.sizes(), " for ",
            n.levels, " levels");
  shape(of.where, {n.batches, n.queries, n.heads, n.levels, n.points, 2});
  shape(of.weight, {n.batches, n.queries, n.heads, n.levels, n.points});
  shape(out, {n.batches, n.queries, n.heads * n.channels});
}

at::Tensor deformable_attention(const DeformableAttention& of) {
  const Sizes n = numbers_of(of);
  const auto value = plain(of.value), weight = plain(of.weight);
  auto out = at::zeros({n.batches, n.queries, n.heads * n.channels});
  const auto* from = value.const_data_ptr<float>();
  const auto* share = weight.const_data_ptr<float>();
  auto* to = out.mutable_data_ptr<float>();
  each_sample(of, [&](const Sample& sample) {
    const float part = share[sample.at] * sample.corner.share;
    for (int64_t c = 0; c < n.channels; ++c) to[sample.out + c] += part * from[sample.key + c];
  });
  return out;
}

DeformableGradients deformable_attention_backward(const DeformableAttention& of, const at::Tensor& given) {
  const Sizes n = numbers_of(of);
  const auto value = plain(of.value), weight = plain(of.weight), grad = plain(given);
  DeformableGradients result{at::zeros(of.value.sizes()), at::zeros(of.where.sizes()), at::zeros(of.weight.sizes())};
  const auto* from = value.const_data_ptr<float>();
  const auto* share = weight.const_data_ptr<float>();
  const auto* slope = grad.const_data_ptr<float>();
  auto* to_value = result.value.mutable_data_ptr<float>();
  auto* to_where = result.where.mutable_data_ptr<float>();
  auto* to_weight = result.weight.mutable_data_ptr<float>();
  each_sample(of, [&](const Sample& sample) {
    float sum = 0;
    for (int64_t c = 0; c < n.channels; ++c) {
      sum += slope[sample.out + c] * from[sample.key + c];
      to_value[sample.key + c] += share[sample.at] * sample.corner.share * slope[sample.out + c];
    }
    to_weight[sample.at] += sample.corner.share * sum;
    to_where[2 * sample.at] += share[sample.at] * sample.corner.by_x * sum * float(sample.width);
    to_where[2 * sample.at + 1] += share[sample.at] * sample.corner.by_y * sum * float(sample.height);
  });
  return result;
}

}  // namespace sim::kernels
