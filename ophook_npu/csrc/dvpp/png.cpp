// libacl_dvpp: PNG. Its pixels are decoded by libpng where the machine has it.
#include <cstring>

#include "dvpp/codecs.h"
#include "dvpp/tasks.h"

namespace {

using namespace sim::dvpp;

constexpr uint32_t kPngWidthUnit = 128, kPngHeightUnit = 16;

// What libpng's simplified interface reads into, by its manual (section V).
struct PngImage {
  void* opaque = nullptr;
  uint32_t version = 1, width = 0, height = 0, format = 0, flags = 0, colormap_entries = 0, warning_or_error = 0;
  char message[64] = {};
};
constexpr uint32_t kRgba = 3;

struct Png {
  Library library{"libpng16.so.16"};
  int (*begin)(PngImage*, const void*, size_t) = library["png_image_begin_read_from_memory"];
  int (*finish)(PngImage*, const void*, void*, int32_t, void*) = library["png_image_finish_read"];
  void (*free)(PngImage*) = library["png_image_free"];
  bool there() const { return begin && finish && free; }
  static const Png& all() {
    static const auto* found = new Png;
    return *found;
  }
};

struct PngFile {
  uint32_t width = 0, height = 0;
  int components = 0;
};

// The signature, and the header that follows it.
const char* parse_png(const uint8_t* data, size_t size, PngFile* out) {
  const auto four = [&](size_t at) {
    return uint32_t(data[at]) << 24 | uint32_t(data[at + 1]) << 16 | uint32_t(data[at + 2]) << 8 | data[at + 3];
  };
  if (size < 33 || memcmp(data, "\x89PNG\r\n\x1a\n", 8) != 0 || memcmp(data + 12, "IHDR", 4) != 0)
    return "it is no PNG, or not its beginning";
  out->width = four(16), out->height = four(20);
  constexpr int kComponents[] = {1, 0, 3, 0, 2, 0, 4};  // grey, RGB, grey with alpha, RGB with alpha
  const uint8_t depth = data[24], colour = data[25];
  out->components = colour < 7 ? kComponents[colour] : 0;
  if (!out->components) return "it has neither grey nor RGB, with alpha or without";
  if (depth != 8) return "its samples have not 8 bits";
  if (out->width < 32 || out->height < 32 || out->width > 4096 || out->height > 4096)
    return "it is not between 32 by 32 and 4096 by 4096";
  return nullptr;
}

int read_png(const char* caller, const void* data, uint32_t size, PngFile* out) {
  if (!data || !size) return ACL_INVALID(caller, "data %p of %u bytes", data, size);
  if (sim_memory_device(data, nullptr) >= 0)
    return ACL_INVALID(caller, "data has to be host memory: %s", sim_memory_text(data, size));
  const char* why = parse_png(static_cast<const uint8_t*>(data), size, out);
  return why ? ACL_INVALID(caller, "a chip does not decode these %u bytes: %s", size, why) : int(ACL_SUCCESS);
}

// RGB_888 of all, RGBA_8888 of what has alpha; null: neither was asked for.
const Layout* png_result(const char* caller, int code, const PngFile& file, acldvppPixelFormat wanted) {
  const bool alpha = file.components % 2 == 0;
  if (wanted == PIXEL_FORMAT_UNKNOWN) wanted = alpha ? PIXEL_FORMAT_RGBA_8888 : PIXEL_FORMAT_RGB_888;
  if (wanted == PIXEL_FORMAT_RGB_888 || (alpha && wanted == PIXEL_FORMAT_RGBA_8888)) return layout(wanted);
  sim_fail(code, "%s: format %d from a PNG of %d components; allowed: RGB_888, RGBA_8888 of one with alpha, UNKNOWN",
           caller, int(wanted), file.components);
  return nullptr;
}

int run_png_decode(const Decode& task) {
  constexpr auto kCall = "acldvppPngDecodeAsync";
  if (int code = still_there(kCall, "data", task.data, task.size)) return code;
  PngFile file;
  if (const char* why = parse_png(task.data, task.size, &file))
    return sim_fail(ACL_ERROR_RT_AICPU_EXCEPTION, "%s: a chip does not decode these %u bytes: %s", kCall, task.size,
                    why);
  const Layout* to = png_result(kCall, ACL_ERROR_RT_AICPU_EXCEPTION, file, task.to.format);
  if (!to) return ACL_ERROR_RT_AICPU_EXCEPTION;
  Picture written = task.to;
  written.format = to->format, written.width = file.width, written.height = file.height;
  if (int code = place(kCall, *to, kPngWidthUnit * uint32_t(to->unit), kPngHeightUnit, written)) return code;

  const Png& png = Png::all();
  PngImage image;
  std::vector<uint8_t> pixels(size_t(file.width) * file.height * 4);
  bool read = png.begin(&image, task.data, task.size) != 0;
  image.format = kRgba;
  read = read && png.finish(&image, nullptr, pixels.data(), 0, nullptr);
  if (!read) sim_fail(ACL_ERROR_RT_AICPU_EXCEPTION, "%s: %s", kCall, image.message);
  png.free(&image);
  if (!read) return ACL_ERROR_RT_AICPU_EXCEPTION;
  for (size_t row = 0; row < file.height; ++row)
    for (size_t column = 0; column < file.width; ++column)
      memcpy(static_cast<uint8_t*>(written.data) + row * written.width_stride + column * size_t(to->unit),
             pixels.data() + (row * file.width + column) * 4, size_t(to->unit));
  tell(written, *task.told);
  return ACL_SUCCESS;
}

}  // namespace

extern "C" {

aclError acldvppPngGetImageInfo(const void* data, uint32_t size, uint32_t* width, uint32_t* height,
                                int32_t* components) {
  PngFile file;
  if (int code = read_png(__func__, data, size, &file)) return code;
  if (width) *width = file.width;
  if (height) *height = file.height;
  if (components) *components = file.components;
  return ACL_SUCCESS;
}
aclError acldvppPngPredictDecSize(const void* data, uint32_t size, acldvppPixelFormat format, uint32_t* out) {
  PngFile file;
  if (!out) return sim::acl::missing(__func__, "decSize", ACL_ERROR_INVALID_PARAM);
  if (int code = read_png(__func__, data, size, &file)) return code;
  const Layout* to = png_result(__func__, ACL_ERROR_INVALID_PARAM, file, format);
  if (!to) return ACL_ERROR_INVALID_PARAM;
  *out = aligned(file.width, kPngWidthUnit) * uint32_t(to->unit) * aligned(file.height, kPngHeightUnit);
  return ACL_SUCCESS;
}
aclError acldvppPngDecodeAsync(acldvppChannelDesc* handle, const void* data, uint32_t size, acldvppPicDesc* output,
                               aclrtStream stream) {
  if (!channel_for(__func__, handle, DVPP_CHNMODE_PNGD)) return ACL_ERROR_INVALID_PARAM;
  DESCRIBED(Picture, to, output);
  ACL_INVALID_IF(!data || !size || !to->data, "data %p of %u bytes into %p; none may be 0", data, size, to->data);
  const Layout* format = layout(to->format);
  const uint32_t unit = kPngWidthUnit * uint32_t(format ? format->unit : 1);
  ACL_INVALID_IF(to->width_stride % unit || to->height_stride % kPngHeightUnit,
                 "strides %u and %u; allowed: multiples of %u and %u", to->width_stride, to->height_stride, unit,
                 kPngHeightUnit);
  if (!Png::all().there()) return no_codec(__func__, "libpng16.so.16", "libpng16-16");
  return sim::acl::launch<decoded<run_png_decode, Decode>>(stream, __func__,
                                                           Decode{static_cast<const uint8_t*>(data), size, *to, to});
}

}  // extern "C"
