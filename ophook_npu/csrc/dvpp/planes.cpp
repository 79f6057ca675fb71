#include "dvpp/planes.h"

#include <algorithm>
#include <cmath>

namespace sim::dvpp {

namespace {

// How many groups of `unit` pixels it takes.
int groups(int value, int unit) { return (value + unit - 1) / unit; }

uint8_t grey(double value) { return uint8_t(std::clamp(std::lround(value), 0l, 255l)); }

// Where a pixel of the result lies between two of the source.
struct Place {
  int first, second;
  float weight;  // of the second
};
std::vector<Place> places(int from, int to, Filter filter) {
  std::vector<Place> found(static_cast<size_t>(to));
  for (int i = 0; i < to; ++i) {
    if (filter == Filter::kNearest) {
      const int at = std::min(int(int64_t(i) * from / to), from - 1);
      found[size_t(i)] = {at, at, 0};
    } else {
      const double at = std::clamp((i + 0.5) * from / to - 0.5, 0.0, double(from - 1));
      const int first = int(at);
      found[size_t(i)] = {first, std::min(first + 1, from - 1), float(at - first)};
    }
  }
  return found;
}

Plane resized(const Plane& plane, int width, int height, Filter filter) {
  if (plane.width == width && plane.height == height) return plane;
  const auto columns = places(plane.width, width, filter), rows = places(plane.height, height, filter);
  Plane result(width, height);
  for (int row = 0; row < height; ++row) {
    const Place& down = rows[size_t(row)];
    for (int column = 0; column < width; ++column) {
      const Place& across = columns[size_t(column)];
      const auto between = [&](int line) {
        const float left = plane.at(across.first, line), right = plane.at(across.second, line);
        return left + (right - left) * across.weight;
      };
      const float above = between(down.first), below = between(down.second);
      result.at(column, row) = grey(above + (below - above) * down.weight);
    }
  }
  return result;
}

// The three standards by the parts that red and blue have in Y; the pages' matrices are these, rounded.
struct Matrix {
  double red, blue, low, range, chroma;
  explicit Matrix(uint32_t matrix) {
    constexpr double kRed[] = {0.299, 0.2126, 0.2627}, kBlue[] = {0.114, 0.0722, 0.0593};
    const bool narrow = matrix % 2;
    red = kRed[matrix / 2], blue = kBlue[matrix / 2];
    low = narrow ? 16 : 0, range = narrow ? 219 : 255, chroma = narrow ? 224 : 255;
  }
};

void to_rgb(const Image& from, Image& to, const Matrix& by) {
  const double green = 1 - by.red - by.blue;
  for (int row = 0; row < to.plane[0].height; ++row)
    for (int column = 0; column < to.plane[0].width; ++column) {
      const double y = (from.plane[0].at(column, row) - by.low) * 255 / by.range;
      double u = 0, v = 0;
      if (from.colours == Colours::kYuv) {
        u = (from.plane[1].at(column / from.x, row / from.y) - 128) * 255 / by.chroma;
        v = (from.plane[2].at(column / from.x, row / from.y) - 128) * 255 / by.chroma;
      }
      const double r = y + 2 * (1 - by.red) * v, b = y + 2 * (1 - by.blue) * u;
      to.plane[0].at(column, row) = grey(r);
      to.plane[1].at(column, row) = grey((y - by.red * r - by.blue * b) / green);
      to.plane[2].at(column, row) = grey(b);
    }
}

void to_yuv(const Image& from, Image& to, const Matrix& by) {
  const int width = from.plane[0].width, height = from.plane[0].height;
  const auto luma = [&](int column, int row) {
    return by.red * from.plane[0].at(column, row) + (1 - by.red - by.blue) * from.plane[1].at(column, row) +
           by.blue * from.plane[2].at(column, row);
  };
  for (int row = 0; row < height; ++row)
    for (int column = 0; column < width; ++column)
      to.plane[0].at(column, row) = grey(by.low + luma(column, row) * by.range / 255);
  if (to.colours == Colours::kGrey) return;
  for (int row = 0; row < to.plane[1].height; ++row)
    for (int column = 0; column < to.plane[1].width; ++column) {
      double u = 0, v = 0;
      int count = 0;
      for (int line = row * to.y; line < std::min((row + 1) * to.y, height); ++line)
        for (int one = column * to.x; one < std::min((column + 1) * to.x, width); ++one, ++count) {
          const double y = luma(one, line);
          u += (from.plane[2].at(one, line) - y) / (2 * (1 - by.blue));
          v += (from.plane[0].at(one, line) - y) / (2 * (1 - by.red));
        }
      to.plane[1].at(column, row) = grey(128 + u / count * by.chroma / 255);
      to.plane[2].at(column, row) = grey(128 + v / count * by.chroma / 255);
    }
}

// Which pixel of `size` a pixel outside stands for; -1: none.
int within(int at, int size, acldvppBorderType type) {
  if (at >= 0 && at < size) return at;
  if (type == BORDER_CONSTANT) return -1;
  if (type == BORDER_REPLICATE || size == 1) return std::clamp(at, 0, size - 1);
  const int edge = type == BORDER_REFLECT_101 ? 1 : 0;
  while (at < 0 || at >= size) at = at < 0 ? -at - 1 + edge : 2 * size - 1 - at - edge;
  return at;
}

}  // namespace

Image load(const Layout& layout, const Picture& picture, const Rect& from) {
  Image image{layout.colours, layout.x, layout.y, {}};
  for (int i = 0; i < layout.components(); ++i) {
    const int x = i ? layout.x : 1, y = i ? layout.y : 1;
    const int left = int(from.left) / x, top = int(from.top) / y;
    Plane& plane = image.plane[i] =
        Plane(groups(int(from.left + from.width), x) - left, groups(int(from.top + from.height), y) - top);
    const Rows rows = rows_of(layout, picture, i);
    for (int row = 0; row < plane.height; ++row) {
      const uint8_t* line = rows.begin + size_t(top + row) * rows.stride;
      for (int column = 0; column < plane.width; ++column)
        plane.at(column, row) = line[size_t(left + column) * size_t(layout.component[i].step)];
    }
  }
  return image;
}

void store(const Layout& layout, const Picture& picture, const Rect& to, const Image& image) {
  for (int i = 0; i < layout.components(); ++i) {
    const int x = i ? layout.x : 1, y = i ? layout.y : 1;
    const Rows rows = rows_of(layout, picture, i);
    const Plane& plane = image.plane[i];
    for (int row = 0; row < plane.height; ++row) {
      uint8_t* line = rows.begin + (size_t(to.top) / size_t(y) + size_t(row)) * rows.stride;
      for (int column = 0; column < plane.width; ++column)
        line[(size_t(to.left) / size_t(x) + size_t(column)) * size_t(layout.component[i].step)] = plane.at(column, row);
    }
  }
  if (layout.alpha < 0) return;
  auto* alpha = static_cast<uint8_t*>(picture.data) + layout.alpha;
  for (size_t row = to.top; row < size_t(to.top) + to.height; ++row)
    for (size_t column = to.left; column < size_t(to.left) + to.width; ++column)
      alpha[row * picture.width_stride + column * 4] = 0;
}

Image converted(const Image& image, const Layout& to, int width, int height, Filter filter, uint32_t matrix) {
  Image result{to.colours, to.x, to.y, {}};
  const bool same = (image.colours == Colours::kRgb) == (to.colours == Colours::kRgb);
  // YUV to RGB keeps its own groups until the colours are computed.
  const int x = same ? to.x : image.x, y = same ? to.y : image.y;
  Image sized{image.colours, x, y, {}};
  for (int i = 0; i < image.components(); ++i) {
    if (i && same && to.colours == Colours::kGrey) break;
    sized.plane[i] = resized(image.plane[i], i ? groups(width, x) : width, i ? groups(height, y) : height, filter);
  }
  for (int i = 0; i < result.components(); ++i) {
    if (same && i < image.components()) result.plane[i] = std::move(sized.plane[i]);
    else result.plane[i] = Plane(i ? groups(width, to.x) : width, i ? groups(height, to.y) : height, 128);
  }
  if (!same && to.colours == Colours::kRgb) to_rgb(sized, result, Matrix(matrix));
  if (!same && to.colours != Colours::kRgb) to_yuv(sized, result, Matrix(matrix));
  return result;
}

Image bordered(const Image& image, const Border& border) {
  Image result{image.colours, image.x, image.y, {}};
  for (int i = 0; i < image.components(); ++i) {
    const int x = i ? image.x : 1, y = i ? image.y : 1;
    const Plane& from = image.plane[i];
    const int left = int(border.left) / x, top = int(border.top) / y;
    const int width = groups(int(border.left + border.right) + image.plane[0].width, x);
    const int height = groups(int(border.top + border.bottom) + image.plane[0].height, y);
    Plane& to = result.plane[i] = Plane(width, height, grey(border.value[size_t(i)]));
    for (int row = 0; row < height; ++row)
      for (int column = 0; column < width; ++column) {
        const int across = within(column - left, from.width, border.type);
        const int down = within(row - top, from.height, border.type);
        if (across >= 0 && down >= 0) to.at(column, row) = from.at(across, down);
      }
  }
  return result;
}

}  // namespace sim::dvpp
