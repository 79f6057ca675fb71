#include "dvpp/layouts.h"

namespace sim::dvpp {

namespace {

constexpr auto kGrey = Colours::kGrey;
constexpr auto kYuv = Colours::kYuv;
constexpr auto kRgb = Colours::kRgb;

#define FORMAT(name) PIXEL_FORMAT_##name, "PIXEL_FORMAT_" #name
// clang-format off
constexpr Layout kLayouts[] = {
    // format                       colours unit x  y   Y or R      U or G      V or B     alpha
    {FORMAT(YUV_400),                kGrey, 1, 1, 1, {{0, 0, 1}, {0, 0, 0}, {0, 0, 0}}},
    {FORMAT(YUV_SEMIPLANAR_420),     kYuv,  1, 2, 2, {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {FORMAT(YVU_SEMIPLANAR_420),     kYuv,  1, 2, 2, {{0, 0, 1}, {1, 1, 2}, {1, 0, 2}}},
    {FORMAT(YUV_SEMIPLANAR_422),     kYuv,  1, 2, 1, {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {FORMAT(YVU_SEMIPLANAR_422),     kYuv,  1, 2, 1, {{0, 0, 1}, {1, 1, 2}, {1, 0, 2}}},
    {FORMAT(YUV_SEMIPLANAR_440),     kYuv,  1, 1, 2, {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {FORMAT(YVU_SEMIPLANAR_440),     kYuv,  1, 1, 2, {{0, 0, 1}, {1, 1, 2}, {1, 0, 2}}},
    {FORMAT(YUV_SEMIPLANAR_444),     kYuv,  1, 1, 1, {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {FORMAT(YVU_SEMIPLANAR_444),     kYuv,  1, 1, 1, {{0, 0, 1}, {1, 1, 2}, {1, 0, 2}}},
    {FORMAT(YUYV_PACKED_422),        kYuv,  2, 2, 1, {{0, 0, 2}, {0, 1, 4}, {0, 3, 4}}},
    {FORMAT(UYVY_PACKED_422),        kYuv,  2, 2, 1, {{0, 1, 2}, {0, 0, 4}, {0, 2, 4}}},
    {FORMAT(YVYU_PACKED_422),        kYuv,  2, 2, 1, {{0, 0, 2}, {0, 3, 4}, {0, 1, 4}}},
    {FORMAT(VYUY_PACKED_422),        kYuv,  2, 2, 1, {{0, 1, 2}, {0, 2, 4}, {0, 0, 4}}},
    {FORMAT(YUV_PACKED_444),         kYuv,  3, 1, 1, {{0, 0, 3}, {0, 1, 3}, {0, 2, 3}}},
    {FORMAT(RGB_888),                kRgb,  3, 1, 1, {{0, 0, 3}, {0, 1, 3}, {0, 2, 3}}},
    {FORMAT(BGR_888),                kRgb,  3, 1, 1, {{0, 2, 3}, {0, 1, 3}, {0, 0, 3}}},
    {FORMAT(ARGB_8888),              kRgb,  4, 1, 1, {{0, 1, 4}, {0, 2, 4}, {0, 3, 4}}, 0},
    {FORMAT(ABGR_8888),              kRgb,  4, 1, 1, {{0, 3, 4}, {0, 2, 4}, {0, 1, 4}}, 0},
    {FORMAT(RGBA_8888),              kRgb,  4, 1, 1, {{0, 0, 4}, {0, 1, 4}, {0, 2, 4}}, 3},
    {FORMAT(BGRA_8888),              kRgb,  4, 1, 1, {{0, 2, 4}, {0, 1, 4}, {0, 0, 4}}, 3},
};
// clang-format on

}  // namespace

const Layout* layout(acldvppPixelFormat format) {
  for (const Layout& one : kLayouts)
    if (one.format == format) return &one;
  return nullptr;
}

bool on_310p() { return acl::on("Ascend310P"); }

int check_format(const char* caller, const char* what, const Picture& picture) {
  if (layout(picture.format)) return ACL_SUCCESS;
  return sim_fail(ACL_ERROR_API_NOT_SUPPORT,
                  "%s is not implemented by the simulator with a %s of format %d (acldvppPixelFormat); it has YUV_400, "
                  "semiplanar and packed YUV, RGB_888, BGR_888 and those of RGB with alpha in 8 bits",
                  caller, what, int(picture.format));
}

int check_memory(const char* caller, const char* what, const Picture& picture) {
  const uint64_t needed = bytes_of(*layout(picture.format), picture.width_stride, picture.height_stride);
  if (!picture.data) return ACL_INVALID(caller, "the %s has no memory (acldvppSetPicDescData)", what);
  if (picture.size >= needed) return ACL_SUCCESS;
  return ACL_INVALID(caller, "the %s has %u bytes (acldvppSetPicDescSize); %s with strides %u and %u needs %llu", what,
                     picture.size, layout(picture.format)->name, picture.width_stride, picture.height_stride,
                     static_cast<unsigned long long>(needed));
}

int check_picture(const char* caller, const char* what, const Picture& picture, bool result) {
  if (int code = check_format(caller, what, picture)) return code;
  const Layout& format = *layout(picture.format);
  const uint32_t most_width = result ? 4096 : 8192, most_height = result && on_310p() ? 4096 : 8192;
  if (picture.width < 10 || picture.height < 6 || picture.width > most_width || picture.height > most_height)
    return ACL_INVALID(caller, "the %s is %u wide and %u high; allowed: 10 by 6 to %u by %u", what, picture.width,
                       picture.height, most_width, most_height);
  if (picture.width % uint32_t(format.x) || picture.height % uint32_t(format.y))
    return ACL_INVALID(caller, "the %s is %u wide and %u high; %s needs multiples of %d and %d", what, picture.width,
                       picture.height, format.name, format.x, format.y);
  const uint32_t row = picture.width * uint32_t(format.unit);
  const uint32_t unit = on_310p() ? 16u * uint32_t(format.unit) : 1u;
  if (picture.width_stride < row || picture.width_stride % unit || (format.x == 2 && picture.width_stride % 2))
    return ACL_INVALID(caller, "widthStride %u of the %s; allowed for %s, %u wide: multiples of %u from %u on",
                       picture.width_stride, what, format.name, picture.width, unit, row);
  if (on_310p() && (picture.width_stride < 32 || picture.width_stride > 16384 || picture.height_stride > 16384))
    return ACL_INVALID(caller, "strides %u and %u of the %s; allowed: 32 to 16384, and up to 16384",
                       picture.width_stride, picture.height_stride, what);
  if (picture.height_stride < picture.height || picture.height_stride % uint32_t(format.y))
    return ACL_INVALID(caller, "heightStride %u of the %s; allowed for %s, %u high: multiples of %d from there on",
                       picture.height_stride, what, format.name, picture.height, format.y);
  return check_memory(caller, what, picture);
}

}  // namespace sim::dvpp
