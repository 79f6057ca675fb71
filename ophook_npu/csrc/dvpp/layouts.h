// How the formats of pictures lie in memory, and what a product asks of their sizes.
#pragma once

#include "dvpp/described.h"

namespace sim::dvpp {

enum class Colours { kGrey, kYuv, kRgb };

// One of Y, U, V or R, G, B: in the first plane or the second, where in it, and how far apart.
struct Component {
  int plane, offset, step;
};

struct Layout {
  acldvppPixelFormat format;
  const char* name;
  Colours colours;
  int unit;  // bytes of a pixel in the first plane
  int x, y;  // pixels that share their U and V
  Component component[3];
  int alpha = -1;  // where it is in a pixel
  int components() const { return colours == Colours::kGrey ? 1 : 3; }
  bool second() const { return component[1].plane; }
};

// Null where the format is not simulated.
const Layout* layout(acldvppPixelFormat format);

struct Rect {
  uint32_t left, top, width, height;
};

inline uint32_t aligned(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

// Bytes of a picture with these strides: the formula of the pages.
inline uint64_t bytes_of(const Layout& layout, uint64_t width_stride, uint64_t height_stride) {
  const uint64_t first = width_stride * height_stride;
  return first + (layout.second() ? 2 * first / uint64_t(layout.x * layout.y) : 0);
}

// Where a component of a picture begins, and the bytes from row to row.
struct Rows {
  uint8_t* begin;
  size_t stride;
};
inline Rows rows_of(const Layout& layout, const Picture& picture, int index) {
  const Component& component = layout.component[index];
  auto* begin = static_cast<uint8_t*>(picture.data);
  if (component.plane) begin += size_t(picture.width_stride) * picture.height_stride;
  return {begin + component.offset,
          component.plane ? 2 * size_t(picture.width_stride) / size_t(layout.x) : size_t(picture.width_stride)};
}

bool on_310p();

// What the pages of VPC ask of a picture; `result`: of one that is written. hiascend.com, "VPC Restrictions"
// (CANN 9.1.0): tables 1 to 4.
int check_picture(const char* caller, const char* what, const Picture& picture, bool result);
// That the format is simulated, and that the memory is there and large enough.
int check_format(const char* caller, const char* what, const Picture& picture);
int check_memory(const char* caller, const char* what, const Picture& picture);

}  // namespace sim::dvpp
