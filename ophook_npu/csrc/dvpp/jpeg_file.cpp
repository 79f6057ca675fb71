#include "dvpp/jpeg_file.h"

#include <cstring>

namespace sim::dvpp {

namespace {

uint32_t two(const uint8_t* at) { return uint32_t(at[0]) << 8 | at[1]; }

// TIFF's entry 0x0112 in the first directory of an Exif segment.
int orientation(const uint8_t* at, size_t size) {
  constexpr size_t kBegin = 6, kEntry = 12;
  if (size < kBegin + 8 || memcmp(at, "Exif\0\0", kBegin) != 0) return 1;
  const uint8_t* tiff = at + kBegin;
  const size_t left = size - kBegin;
  const bool little = tiff[0] == 'I';
  const auto number = [&](size_t offset, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t(tiff[offset + i]) << 8 * (little ? i : bytes - 1 - i);
    return value;
  };
  const uint64_t directory = number(4, 4);
  if (directory + 2 > left) return 1;
  const uint64_t entries = number(directory, 2);
  for (uint64_t entry = directory + 2, i = 0; i < entries && entry + kEntry <= left; ++i, entry += kEntry)
    if (number(entry, 2) == 0x0112) {
      const auto found = int(number(entry + 8, 2));
      return found >= 1 && found <= 8 ? found : 1;
    }
  return 1;
}

acldvppJpegFormat sampling(const uint8_t* factors, int components) {
  if (components == 1) return ACL_JPEG_CSS_GRAY;
  const auto across = [&](int i) { return factors[3 * i] >> 4; };
  const auto down = [&](int i) { return factors[3 * i] & 15; };
  if (components != 3 || factors[3] != factors[6] || !across(1) || !down(1)) return ACL_JPEG_CSS_UNKNOWN;
  if (across(0) % across(1) || down(0) % down(1)) return ACL_JPEG_CSS_UNKNOWN;
  switch (across(0) / across(1) * 10 + down(0) / down(1)) {
    case 11: return ACL_JPEG_CSS_444;
    case 21: return ACL_JPEG_CSS_422;
    case 22: return ACL_JPEG_CSS_420;
    case 12: return ACL_JPEG_CSS_440;
    case 41: return ACL_JPEG_CSS_411;
    default: return ACL_JPEG_CSS_UNKNOWN;
  }
}

}  // namespace

bool parse(const uint8_t* data, size_t size, JpegFile* out) {
  if (size < 4 || data[0] != 0xff || data[1] != 0xd8) return false;
  for (size_t at = 2; at + 4 <= size;) {
    if (data[at] != 0xff) return false;
    const uint8_t marker = data[at + 1];
    if (marker == 0xff || marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {  // filling, or without a length
      at += marker == 0xff ? 1 : 2;
      continue;
    }
    if (marker == 0xd9 || marker == 0xda) return false;  // pixels before a frame
    const size_t length = two(data + at + 2);
    const uint8_t* segment = data + at + 4;
    if (length < 2 || at + 2 + length > size) return false;
    if (marker == 0xe1) out->orientation = orientation(segment, length - 2);
    const bool frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame) {
      if (length < 8 || length < 8 + 3 * size_t(segment[5])) return false;
      out->height = two(segment + 1), out->width = two(segment + 3);
      out->components = segment[5];
      out->format = sampling(segment + 7, out->components);
      if (marker > 0xc1) out->why = marker == 0xc2 ? "it is progressive" : "it is not coded by Huffman, sequentially";
      else if (segment[0] != 8) out->why = "its samples have not 8 bits";
      else if (out->components != 1 && out->components != 3) out->why = "it has not 1 or 3 components";
      return out->width && out->height;
    }
    at += 2 + length;
  }
  return false;
}

}  // namespace sim::dvpp
