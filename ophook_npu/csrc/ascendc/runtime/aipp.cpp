// LoadImageToLocal: a part of an image becomes a feature map in L1, whose pixels have 32 bytes, or four channels.
#include "ascendc/aipp.h"

#include <algorithm>

#include "fractal.h"
#include "numbers.h"

namespace ophook::rt {
namespace {

using Format = AscendC::AippInputFormat;
using Params = AscendC::LoadImageToLocalParams;

bool is_yuv(Format format) { return format == Format::YUV420SP_U8 || format == Format::YUV400_U8; }
int channels_of(Format format) { return format == Format::YUV400_U8 ? 1 : 3; }
uint64_t bytes_of(Format format) {  // of a pixel in the first plane
  return format == Format::XRGB8888_U8 ? 4 : format == Format::RGB888_U8 ? 3 : 1;
}

// The channels of pixel (x, y) as they are in memory, those that are swapped where they belong.
void pixel(const ImageFunctions& f, const Params& p, uint64_t x, uint64_t y, int* channels) {
  const uint8_t* at = f.planes[0].data + (y * p.srcHorizSize + x) * bytes_of(f.format);
  if (f.format == Format::YUV420SP_U8) {
    const uint8_t* colors = f.planes[1].data + y / 2 * p.srcHorizSize + x / 2 * 2;
    channels[0] = *at, channels[1] = colors[f.swap.isSwapUV], channels[2] = colors[!f.swap.isSwapUV];
    return;
  }
  if (f.format == Format::XRGB8888_U8 && f.swap.isSwapAX) ++at;
  for (int i = 0; i < channels_of(f.format); ++i) channels[i] = at[i];
  if (!is_yuv(f.format) && f.swap.isSwapRB) std::swap(channels[0], channels[2]);
}

// As the pages of AIPP have it: what is taken from YUV before, and added to YUV behind.
void convert_colors(const ImageFunctions& f, int* v) {
  const auto& c = f.colors;
  if (!c.isEnableCsc) return;
  const int in[] = {c.cscBiasIn0, c.cscBiasIn1, c.cscBiasIn2}, out[] = {c.cscBiasOut0, c.cscBiasOut1, c.cscBiasOut2};
  const int rows[3][3] = {{c.cscMatrixR0C0, c.cscMatrixR0C1, c.cscMatrixR0C2},
                          {c.cscMatrixR1C0, c.cscMatrixR1C1, c.cscMatrixR1C2},
                          {c.cscMatrixR2C0, c.cscMatrixR2C1, c.cscMatrixR2C2}};
  const bool yuv = is_yuv(f.format);
  int result[3];
  for (int i = 0; i < 3; ++i) {
    int sum = 0;
    for (int j = 0; j < 3; ++j) sum += rows[i][j] * (v[j] - (yuv ? in[j] : 0));
    result[i] = std::clamp((sum >> 8) + (yuv ? 0 : out[i]), 0, 255);
  }
  std::copy_n(result, 3, v);
}

float convert_type(const ImageFunctions& f, int value, int channel) {
  const auto& c = f.conversion;
  const int mean[] = {c.dtcMeanCh0, c.dtcMeanCh1, c.dtcMeanCh2};
  if (f.dtype == Dtype::i8) return float(std::clamp(value - mean[channel], -128, 127));
  const half least[] = {c.dtcMinCh0, c.dtcMinCh1, c.dtcMinCh2}, factor[] = {c.dtcVarCh0, c.dtcVarCh1, c.dtcVarCh2};
  return (float(value - mean[channel]) - float(least[channel])) * float(factor[channel]);
}

// Which column or row of the part a place of the padding shows; -1: a constant.
int64_t shown(uint32_t mode, int64_t place, int64_t size) {
  if (place >= 0 && place < size) return place;
  if (mode == 0) return -1;
  if (mode == 1) return place < 0 ? 0 : size - 1;
  return place < 0 ? -1 - place : 2 * size - 1 - place;  // the nearest block in a mirror
}

bool allowed(Operation& op, const ImageFunctions& f, const Params& p, uint64_t rows) {
  const auto refuse = [&](std::string why) {
    op.core.report(Kind::parameter, op.call, op.at, std::move(why));
    return false;
  };
  const struct {
    const char* name;
    uint64_t value, least, most;
  } ranges[] = {{"horizSize", p.horizSize, 2, 4095},         {"vertSize", f.single_line ? 2u : p.vertSize, 2, 4095},
                {"horizStartPos", p.horizStartPos, 0, 4095}, {"vertStartPos", p.vertStartPos, 0, 4095},
                {"srcHorizSize", p.srcHorizSize, 2, 4095},   {"topPadSize", p.topPadSize, 0, 32},
                {"botPadSize", p.botPadSize, 0, 32},         {"leftPadSize", p.leftPadSize, 0, 32},
                {"rightPadSize", p.rightPadSize, 0, 32}};
  for (const auto& one : ranges)
    if (!within(op, one.name, one.value, one.least, one.most)) return false;
  const bool planes = f.format == Format::YUV420SP_U8;
  if (p.horizStartPos % 2) return refuse("horizStartPos is odd; allowed: even numbers");
  if (planes && (p.vertStartPos % 2 || p.srcHorizSize % 2))
    return refuse("of YUV420SP vertStartPos and srcHorizSize are even");
  if (!f.padding && (p.topPadSize || p.botPadSize))
    return refuse("padding of constants (paddingMode 0) is to the left and right alone");
  if (f.padding == 3 &&
      (std::max(p.leftPadSize, p.rightPadSize) > p.horizSize || std::max(p.topPadSize, p.botPadSize) > rows))
    return refuse("a block of the image is no larger than the part that is loaded");
  return true;
}

}  // namespace

void set_image_functions(const ImageFunctions& f, At at) {
  constexpr const char* kCall = "SetAippFunctions";
  Core& c = core();
  if (!has_unit(c, false, kCall, at)) return;
  const auto refuse = [&](const char* why) {
    c.report(Kind::parameter, kCall, at, why);
    c.stop();
  };
  const bool known = f.format == Format::YUV420SP_U8 || f.format == Format::YUV400_U8 ||
                     f.format == Format::RGB888_U8 || f.format == Format::XRGB8888_U8;
  if (!known) refuse("it is no AippInputFormat");
  if (f.padding > 3) refuse("paddingMode: allowed: 0 to 3");
  if (f.padding == 2) refuse("paddingMode 2 is not simulated: which block is copied is in a picture of its page alone");
  if (f.colors.isEnableCsc && f.format == Format::YUV400_U8) refuse("YUV400 has no colors to convert");
  const uint32_t unit = f.format == Format::XRGB8888_U8 ? 4 : f.format == Format::YUV420SP_U8 ? 2 : 1;
  for (const Global& plane : f.planes)
    if (reinterpret_cast<uintptr_t>(plane.data) % unit)
      c.report(Kind::alignment, kCall, at, text("an image of this format begins at multiples of %u bytes", unit));
  c.picture = std::make_shared<ImageFunctions>(f);
}

void load_picture(Local to, const Params& p, At at) {
  constexpr const char* kCall = "LoadImageToLocal";
  Core& c = core();
  number_tile(c, at);
  Operation op(c, Pipe::MTE2, kCall, at);
  if (!has_unit(c, false, kCall, at) || !c.usable(to, kCall, at) ||
      !placed(op, to, to.memory == Memory::l1, "the destination", "L1 (A1, B1)") ||
      !op.aligned(to, kBlock, "the destination"))
    return;
  if (!c.picture) return c.report(Kind::parameter, kCall, at, "SetAippFunctions was not called");
  const ImageFunctions f = *std::static_pointer_cast<ImageFunctions>(c.picture);
  const uint64_t rows = f.single_line ? 1 : p.vertSize;
  if (!allowed(op, f, p, rows)) return;
  const uint32_t size = size_of(f.dtype), channels = f.four_channels ? 4 : kBlock / size;
  if (to.dtype != f.dtype)
    return c.report(Kind::data_type, kCall, at,
                    text("%s; SetAippFunctions said %s", name_of(to.dtype), name_of(f.dtype)));
  const uint64_t width = uint64_t(p.leftPadSize) + p.horizSize + p.rightPadSize,
                 height = uint64_t(p.topPadSize) + rows + p.botPadSize, bytes = width * height * channels * size;
  ++c.launch.counters.copies;
  if (!op.inside(to, 0, bytes, "the destination")) return;
  const bool planes = f.format == Format::YUV420SP_U8;
  bool known = true;
  for (uint64_t y = p.vertStartPos; y < p.vertStartPos + rows; ++y)
    for (int i = 0; i < (planes && y % 2 == 0 ? 2 : 1); ++i) {
      const uint64_t step = i ? 1 : bytes_of(f.format);
      const uint8_t* row = f.planes[i].data + ((i ? y / 2 : y) * p.srcHorizSize + p.horizStartPos) * step;
      const uint64_t length = i ? (p.horizSize + 1u) / 2 * 2 : p.horizSize * step;
      if (op.from_device(row, length) < length) return;
      known &= op.initialized(row, length);
      c.launch.counters.copied_in += length;
    }
  op.fills(to, 0, bytes);
  uint8_t *const data = op.data(to), *const written = op.written(to);
  when_due(op, [=] {
    const int own = channels_of(f.format);
    const auto put = [&](uint64_t place, uint32_t channel, float value) {
      put_scalar(f.dtype, {value, int64_t(value)}, data + (place * channels + channel) * size);
    };
    for (uint64_t y = 0; y < height; ++y)
      for (uint64_t x = 0; x < width; ++x) {
        const uint64_t place = y * width + x;
        const int64_t from_x = shown(f.padding, int64_t(x) - p.leftPadSize, p.horizSize),
                      from_y = shown(f.padding, int64_t(y) - p.topPadSize, int64_t(rows));
        int values[3] = {};
        if (from_x >= 0 && from_y >= 0) {
          pixel(f, p, p.horizStartPos + uint64_t(from_x), p.vertStartPos + uint64_t(from_y), values);
          convert_colors(f, values);
        }
        for (int i = 0; i < own; ++i)
          put(place, uint32_t(i), from_x < 0 || from_y < 0 ? f.border[i] : convert_type(f, values[i], i));
        for (uint32_t i = uint32_t(own); i < channels; ++i) put(place, i, f.more);
      }
    std::memset(written, known, bytes);
  });
}

}  // namespace ophook::rt
