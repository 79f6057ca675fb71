// Pictures as planes of bytes, and what VPC does with them. Arithmetic alone: no handles, no memory of a device.
#pragma once

#include "dvpp/layouts.h"

namespace sim::dvpp {

struct Plane {
  int width = 0, height = 0;
  std::vector<uint8_t> bytes;
  Plane() = default;
  Plane(int columns, int rows, uint8_t value = 0) : width(columns), height(rows) {
    bytes.assign(size_t(columns) * size_t(rows), value);
  }
  uint8_t& at(int column, int row) { return bytes[size_t(row) * size_t(width) + size_t(column)]; }
  uint8_t at(int column, int row) const { return bytes[size_t(row) * size_t(width) + size_t(column)]; }
};

// Y, U and V, where x by y pixels share U and V; or R, G and B; or Y alone.
struct Image {
  Colours colours = Colours::kGrey;
  int x = 1, y = 1;
  Plane plane[3];
  int components() const { return colours == Colours::kGrey ? 1 : 3; }
};

Image load(const Layout& layout, const Picture& picture, const Rect& from);
void store(const Layout& layout, const Picture& picture, const Rect& to, const Image& image);

enum class Filter { kBilinear, kNearest };
// In these colours, and this size. Bilinear as OpenCV has it: pixel i of n is at (i + 0.5) * from / n - 0.5 of the
// source, and what lies outside is its edge. Nearest: at i * from / n, rounded down. Where U and V of YUV become RGB
// they are those of the pixel's group; where RGB becomes YUV they are the group's mean.
Image converted(const Image& image, const Layout& to, int width, int height, Filter filter, uint32_t matrix);

// With a border around it; the values of BORDER_CONSTANT are those of the image's own colours.
Image bordered(const Image& image, const Border& border);

}  // namespace sim::dvpp
