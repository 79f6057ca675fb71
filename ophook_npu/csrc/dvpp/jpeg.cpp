// libacl_dvpp: JPEG. Its pixels are decoded and encoded by libturbojpeg where the machine has it.
#include <algorithm>
#include <cstring>

#include "dvpp/codecs.h"
#include "dvpp/jpeg_file.h"
#include "dvpp/planes.h"
#include "dvpp/tasks.h"

namespace {

using namespace sim::dvpp;

// The functions of libturbojpeg that are used here, by its documentation (turbojpeg.h, 1.4 to 3).
struct Turbo {
  Library library{"libturbojpeg.so.0"};
  void* (*begin_decoding)() = library["tjInitDecompress"];
  void* (*begin_encoding)() = library["tjInitCompress"];
  int (*end)(void*) = library["tjDestroy"];
  char* (*reason)(void*) = library["tjGetErrorStr2"];
  int (*header)(void*, const unsigned char*, unsigned long, int*, int*, int*, int*) = library["tjDecompressHeader3"];
  int (*decode)(void*, const unsigned char*, unsigned long, unsigned char**, int, int*, int,
                int) = library["tjDecompressToYUVPlanes"];
  int (*encode)(void*, const unsigned char**, int, const int*, int, int, unsigned char**, unsigned long*, int,
                int) = library["tjCompressFromYUVPlanes"];
  void (*release)(unsigned char*) = library["tjFree"];
  bool there() const {
    return begin_decoding && begin_encoding && end && reason && header && decode && encode && release;
  }
  static const Turbo& all() {
    static const auto* found = new Turbo;
    return *found;
  }
};
int no_turbo(const char* caller) { return no_codec(caller, "libturbojpeg.so.0", "libturbojpeg0"); }

// What a JPEG of this sampling is as a picture: how many pixels share their colours, and the format of the same.
struct Sampling {
  acldvppJpegFormat format;
  int x, y, code;  // libturbojpeg's
  acldvppPixelFormat own, other;
};
constexpr Sampling kSamplings[] = {
    {ACL_JPEG_CSS_444, 1, 1, 0, PIXEL_FORMAT_YVU_SEMIPLANAR_444, PIXEL_FORMAT_YUV_SEMIPLANAR_444},
    {ACL_JPEG_CSS_422, 2, 1, 1, PIXEL_FORMAT_YVU_SEMIPLANAR_422, PIXEL_FORMAT_YUV_SEMIPLANAR_422},
    {ACL_JPEG_CSS_420, 2, 2, 2, PIXEL_FORMAT_YVU_SEMIPLANAR_420, PIXEL_FORMAT_YUV_SEMIPLANAR_420},
    {ACL_JPEG_CSS_440, 1, 2, 4, PIXEL_FORMAT_YVU_SEMIPLANAR_440, PIXEL_FORMAT_YUV_SEMIPLANAR_440},
    {ACL_JPEG_CSS_GRAY, 1, 1, 3, PIXEL_FORMAT_YUV_400, PIXEL_FORMAT_YUV_400},
};
const Sampling* sampling_of(acldvppJpegFormat format) {
  for (const Sampling& one : kSamplings)
    if (one.format == format) return &one;
  return nullptr;
}

constexpr uint32_t kJpegWidthUnit = 64, kJpegHeightUnit = 16;

// What is decoded to: as the file is sampled, or YUV420SP. Null: not that, and the reason is told.
const Layout* jpeg_result(const char* caller, int code, const JpegFile& file, acldvppPixelFormat wanted) {
  const Sampling* own = sampling_of(file.format);
  if (file.why || !own) {
    sim_fail(code, "%s: a chip does not decode this JPEG: %s", caller, file.why ? file.why : "its sampling");
    return nullptr;
  }
  if (file.width < 32 || file.height < 32 || file.width > 8192 || file.height > 8192) {
    sim_fail(code, "%s: the JPEG is %u by %u; allowed: 32 by 32 to 8192 by 8192", caller, file.width, file.height);
    return nullptr;
  }
  if (wanted == PIXEL_FORMAT_UNKNOWN) wanted = own->own;
  const bool fits = wanted == own->own || wanted == own->other || wanted == PIXEL_FORMAT_YUV_SEMIPLANAR_420 ||
                    wanted == PIXEL_FORMAT_YVU_SEMIPLANAR_420;
  if (fits) return layout(wanted);
  sim_fail(code, "%s: format %d from a JPEG of acldvppJpegFormat %d; allowed: %d, %d, 1, 2 and 10000", caller,
           int(wanted), int(file.format), int(own->other), int(own->own));
  return nullptr;
}

// A file in host memory.
int read_jpeg(const char* caller, const void* data, uint32_t size, JpegFile* out) {
  if (!data || !size) return ACL_INVALID(caller, "data %p of %u bytes", data, size);
  if (sim_memory_device(data, nullptr) >= 0)
    return ACL_INVALID(caller, "data has to be host memory: %s", sim_memory_text(data, size));
  if (parse(static_cast<const uint8_t*>(data), size, out)) return ACL_SUCCESS;
  return ACL_INVALID(caller, "these %u bytes are no JPEG, or not its beginning", size);
}

int describe(const char* caller, const JpegFile& file, uint32_t* width, uint32_t* height, int32_t* components) {
  if (file.why) return sim_fail(ACL_ERROR_UNSUPPORTED_JPEG, "%s: a chip does not decode it: %s", caller, file.why);
  if (width) *width = file.width;
  if (height) *height = file.height;
  if (components) *components = file.components;
  return ACL_SUCCESS;
}

// As a camera that was held so has seen it: Exif's orientation.
Image turned(const Image& image, int orientation) {
  if (orientation == 1) return image;
  const bool swaps = orientation > 4;
  Image result{image.colours, swaps ? image.y : image.x, swaps ? image.x : image.y, {}};
  for (int i = 0; i < image.components(); ++i) {
    const Plane& from = image.plane[i];
    Plane& to = result.plane[i] = swaps ? Plane(from.height, from.width) : from;
    const bool right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    for (int row = 0; row < to.height; ++row)
      for (int column = 0; column < to.width; ++column) {
        const int x = swaps ? row : column, y = swaps ? column : row;
        to.at(column, row) = from.at(right ? from.width - 1 - x : x, below ? from.height - 1 - y : y);
      }
  }
  return result;
}

int decode_jpeg(const char* caller, const uint8_t* data, size_t size, const JpegFile& file, Image* out) {
  const Turbo& turbo = Turbo::all();
  const Sampling& own = *sampling_of(file.format);
  const int width = int(file.width), height = int(file.height);
  *out = Image{file.format == ACL_JPEG_CSS_GRAY ? Colours::kGrey : Colours::kYuv, own.x, own.y, {}};
  // It writes whole groups, of four by four pixels at most.
  const int stride = int(aligned(file.width, 4)), rows = int(aligned(file.height, 4));
  std::vector<uint8_t> bytes(size_t(stride) * size_t(rows) * size_t(out->components()));
  unsigned char* planes[3] = {};
  int strides[3] = {};
  for (int i = 0; i < out->components(); ++i) {
    planes[i] = bytes.data() + size_t(stride) * size_t(rows) * size_t(i);
    strides[i] = stride;
  }
  void* decoder = turbo.begin_decoding();
  int its_width = 0, its_height = 0, its_sampling = 0, colours = 0, code = ACL_SUCCESS;
  if (turbo.header(decoder, data, size, &its_width, &its_height, &its_sampling, &colours))
    code = sim_fail(ACL_ERROR_RT_AICPU_EXCEPTION, "%s: %s", caller, turbo.reason(decoder));
  else if (its_width != width || its_height != height || its_sampling != own.code)
    code =
        sim_fail(ACL_ERROR_RT_AICPU_EXCEPTION, "%s: the JPEG is %d by %d of sampling %d to libturbojpeg, not %d by %d",
                 caller, its_width, its_height, its_sampling, width, height);
  else if (turbo.decode(decoder, data, size, planes, 0, strides, 0, 0))
    code = sim_fail(ACL_ERROR_RT_AICPU_EXCEPTION, "%s: %s", caller, turbo.reason(decoder));
  turbo.end(decoder);
  for (int i = 0; i < out->components() && !code; ++i) {
    const int x = i ? own.x : 1, y = i ? own.y : 1;
    Plane& plane = out->plane[i] = Plane((width + x - 1) / x, (height + y - 1) / y);
    for (int row = 0; row < plane.height; ++row)
      for (int column = 0; column < plane.width; ++column)
        plane.at(column, row) = planes[i][size_t(row) * size_t(stride) + size_t(column)];
  }
  return code;
}

struct JpegDecode : Decode {
  int precision;
};

int run_jpeg_decode(const JpegDecode& task) {
  constexpr auto kCall = "acldvppJpegDecodeAsync";
  if (int code = still_there(kCall, "data", task.data, task.size)) return code;
  JpegFile file;
  if (!parse(task.data, task.size, &file))
    return sim_fail(ACL_ERROR_RT_AICPU_EXCEPTION, "%s: these %u bytes are no JPEG", kCall, task.size);
  const Layout* to = jpeg_result(kCall, ACL_ERROR_RT_AICPU_EXCEPTION, file, task.to.format);
  if (!to) return ACL_ERROR_RT_AICPU_EXCEPTION;
  Image image;
  if (int code = decode_jpeg(kCall, task.data, task.size, file, &image)) return code;
  image = turned(image, file.orientation);

  Picture written = task.to;
  written.format = to->format;
  written.width = file.orientation > 4 ? file.height : file.width;
  written.height = file.orientation > 4 ? file.width : file.height;
  const bool more = task.precision == ACL_YUVOUT_ALIGN_UP;
  if (written.width % uint32_t(to->x)) written.width = more ? written.width + 1 : written.width - 1;
  if (written.height % uint32_t(to->y)) written.height = more ? written.height + 1 : written.height - 1;
  if (int code = place(kCall, *to, kJpegWidthUnit, kJpegHeightUnit, written)) return code;
  // Cut or padded to even sides, then with the groups of the result.
  for (int i = 0; i < image.components(); ++i) {
    const int x = i ? image.x : 1, y = i ? image.y : 1;
    Plane cut((int(written.width) + x - 1) / x, (int(written.height) + y - 1) / y);
    for (int row = 0; row < cut.height; ++row)
      for (int column = 0; column < cut.width; ++column)
        cut.at(column, row) =
            image.plane[i].at(std::min(column, image.plane[i].width - 1), std::min(row, image.plane[i].height - 1));
    image.plane[i] = std::move(cut);
  }
  image = converted(image, *to, int(written.width), int(written.height), Filter::kBilinear, 0);
  store(*to, written, {0, 0, written.width, written.height}, image);
  tell(written, *task.told);
  return ACL_SUCCESS;
}

struct JpegEncode {
  Picture from;
  uint8_t* data;
  uint32_t* size;
  uint32_t room;
  int quality;
  void touch(sim_listener* listener) const {
    sim::dvpp::touch(listener, false, from, {0, 0, from.width, from.height});
    sim::touch(listener, true, data, room);
  }
};

int run_encode(const JpegEncode& task) {
  constexpr auto kCall = "acldvppJpegEncodeAsync";
  if (int code = still_there(kCall, "the input picture", task.from)) return code;
  if (int code = still_there(kCall, "data", task.data, task.room)) return code;
  const Turbo& turbo = Turbo::all();
  const Layout& format = *layout(task.from.format);
  const Image image = load(format, task.from, {0, 0, task.from.width, task.from.height});
  const unsigned char* planes[3];
  int strides[3];
  for (int i = 0; i < 3; ++i) planes[i] = image.plane[i].bytes.data(), strides[i] = image.plane[i].width;
  void* encoder = turbo.begin_encoding();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const int failed = turbo.encode(encoder, planes, int(task.from.width), strides, int(task.from.height),
                                  format.y == 2 ? 2 : 1, &bytes, &size, task.quality, 0);
  int code = failed ? sim_fail(ACL_ERROR_RT_AICPU_EXCEPTION, "%s: %s", kCall, turbo.reason(encoder)) : int(ACL_SUCCESS);
  if (!code && size > task.room)
    code = sim_fail(ACL_ERROR_RT_AICPU_EXCEPTION, "%s: the JPEG has %lu bytes, and there is room for %u", kCall, size,
                    task.room);
  if (!code) {
    memcpy(task.data, bytes, size);
    *task.size = uint32_t(size);
  }
  turbo.release(bytes);
  turbo.end(encoder);
  return code;
}

// hiascend.com, "Functions and Restrictions" of JPEGE (CANN 9.1.0). Without a channel: not the strides, of which the
// size that is predicted does not depend.
int check_input(const char* caller, const Picture& picture, const Channel* channel) {
  const Layout* format = layout(picture.format);
  const bool packed = format && format->unit == 2;
  if (!packed && picture.format != PIXEL_FORMAT_YUV_SEMIPLANAR_420 && picture.format != PIXEL_FORMAT_YVU_SEMIPLANAR_420)
    return ACL_INVALID(caller, "format %d; allowed: YUV420SP and packed YUV422 (1, 2 and 7 to 10)",
                       int(picture.format));
  const uint32_t most_width = channel ? channel->width : 8192, most_height = channel ? channel->height : 8192;
  if (picture.width < 32 || picture.height < 32 || picture.width > most_width || picture.height > most_height ||
      picture.width % 2 || picture.height % uint32_t(format->y))
    return ACL_INVALID(caller,
                       "%u wide and %u high; allowed: 32 by 32 to %u by %u, even where the format shares colours",
                       picture.width, picture.height, most_width, most_height);
  if (!channel) return ACL_SUCCESS;
  if (picture.width_stride < picture.width * uint32_t(format->unit) || picture.width_stride % 16)
    return ACL_INVALID(caller, "widthStride %u; allowed: multiples of 16 from %u on", picture.width_stride,
                       picture.width * uint32_t(format->unit));
  if (picture.height_stride != picture.height && picture.height_stride != aligned(picture.height, kJpegHeightUnit))
    return ACL_INVALID(caller, "heightStride %u; allowed: %u, and the next multiple of 16", picture.height_stride,
                       picture.height);
  return ACL_SUCCESS;
}

}  // namespace

extern "C" {

aclError acldvppJpegGetImageInfo(const void* data, uint32_t size, uint32_t* width, uint32_t* height,
                                 int32_t* components) {
  JpegFile file;
  if (int code = read_jpeg(__func__, data, size, &file)) return code;
  return describe(__func__, file, width, height, components);
}
aclError acldvppJpegGetImageInfoV2(const void* data, uint32_t size, uint32_t* width, uint32_t* height,
                                   int32_t* components, acldvppJpegFormat* format) {
  JpegFile file;
  if (int code = read_jpeg(__func__, data, size, &file)) return code;
  if (int code = describe(__func__, file, width, height, components)) return code;
  if (format) *format = file.format;
  return ACL_SUCCESS;
}
// Width rounded up to 64 and height to 16, and what the format takes: the formulas of JPEGD's page.
aclError acldvppJpegPredictDecSize(const void* data, uint32_t size, acldvppPixelFormat format, uint32_t* out) {
  JpegFile file;
  if (!out) return sim::acl::missing(__func__, "decSize", ACL_ERROR_INVALID_PARAM);
  if (int code = read_jpeg(__func__, data, size, &file)) return code;
  const Layout* to =
      jpeg_result(__func__, file.why ? ACL_ERROR_UNSUPPORTED_JPEG : ACL_ERROR_INVALID_PARAM, file, format);
  if (!to) return file.why ? ACL_ERROR_UNSUPPORTED_JPEG : ACL_ERROR_INVALID_PARAM;
  const bool turns = file.orientation > 4;
  *out = uint32_t(bytes_of(*to, aligned(turns ? file.height : file.width, kJpegWidthUnit),
                           aligned(turns ? file.width : file.height, kJpegHeightUnit)));
  return ACL_SUCCESS;
}
// The page says only that more is predicted than is needed: this is what libturbojpeg says a JPEG has at most.
aclError acldvppJpegPredictEncSize(const acldvppPicDesc* input, const acldvppJpegeConfig* settings, uint32_t* out) {
  DESCRIBED(Picture, picture, input);
  DESCRIBED(JpegSettings, level, settings);
  if (!out) return sim::acl::missing(__func__, "size", ACL_ERROR_INVALID_PARAM);
  if (int code = check_input(__func__, *picture, nullptr)) return code;
  *out = aligned(picture->width, 16) * aligned(picture->height, 16) * 4 + 2048;
  return ACL_SUCCESS;
}
aclError acldvppJpegDecodeAsync(acldvppChannelDesc* handle, const void* data, uint32_t size, acldvppPicDesc* output,
                                aclrtStream stream) {
  const auto channel = channel_for(__func__, handle, DVPP_CHNMODE_JPEGD);
  if (!channel) return ACL_ERROR_INVALID_PARAM;
  DESCRIBED(Picture, to, output);
  ACL_INVALID_IF(!data || !size || !to->data, "data %p of %u bytes into %p; none may be 0", data, size, to->data);
  ACL_INVALID_IF(to->width_stride % kJpegWidthUnit || to->height_stride % kJpegHeightUnit,
                 "strides %u and %u; allowed: multiples of %u and %u", to->width_stride, to->height_stride,
                 kJpegWidthUnit, kJpegHeightUnit);
  if (to->format != PIXEL_FORMAT_UNKNOWN)
    if (int code = check_format(__func__, "output picture", *to)) return code;
  if (!Turbo::all().there()) return no_turbo(__func__);
  return sim::acl::launch<decoded<run_jpeg_decode, JpegDecode>>(
      stream, __func__, JpegDecode{{static_cast<const uint8_t*>(data), size, *to, to}, channel->precision});
}
aclError acldvppJpegEncodeAsync(acldvppChannelDesc* handle, acldvppPicDesc* input, const void* data, uint32_t* size,
                                acldvppJpegeConfig* settings, aclrtStream stream) {
  const auto channel = channel_for(__func__, handle, DVPP_CHNMODE_JPEGE);
  if (!channel) return ACL_ERROR_INVALID_PARAM;
  DESCRIBED(Picture, from, input);
  DESCRIBED(JpegSettings, level, settings);
  ACL_INVALID_IF(!data || !size || !*size, "data %p, size %p; neither may be null, and there has to be room", data,
                 static_cast<void*>(size));
  if (int code = check_input(__func__, *from, channel.get())) return code;
  if (int code = check_memory(__func__, "input picture", *from)) return code;
  if (!Turbo::all().there()) return no_turbo(__func__);
  auto* room = static_cast<uint8_t*>(const_cast<void*>(data));
  return sim::acl::launch<run_encode>(stream, __func__,
                                      JpegEncode{*from, room, size, *size, level->level ? int(level->level) : 100});
}

}  // extern "C"
