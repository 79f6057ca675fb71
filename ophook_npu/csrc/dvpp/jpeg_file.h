// What a JPEG file says of itself before its pixels.
#pragma once

#include <cstddef>

#include "dvpp/described.h"

namespace sim::dvpp {

struct JpegFile {
  uint32_t width = 0, height = 0;
  int32_t components = 0;
  acldvppJpegFormat format = ACL_JPEG_CSS_UNKNOWN;
  int orientation = 1;        // of Exif: 1 to 8
  const char* why = nullptr;  // a chip does not decode it
};

// False: it is no JPEG, or ends before its frame.
bool parse(const uint8_t* data, size_t size, JpegFile* out);

}  // namespace sim::dvpp
