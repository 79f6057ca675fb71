// libacl_dvpp: what descriptions are made of, set to and asked for. Each family of functions is a few rows.
#include <cstring>

#include "dvpp/described.h"

namespace {

using namespace sim::dvpp;
using sim::Handles;

// By the pages of CANN 9.1 Ascend 950 has none of it.
template <typename T>
void* made(const char* caller, std::shared_ptr<T> what = std::make_shared<T>()) {
  if (!sim::acl::on("Ascend950")) return Handles<T>::all().add(std::move(what));
  sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: %s does not have it", caller, sim_current_soc()->name);
  return nullptr;
}

template <typename T>
int destroyed(const char* caller, void* handle) {
  return Handles<T>::all().take(handle) ? int(ACL_SUCCESS) : unknown<T>(caller, handle);
}

template <typename T, typename V>
int set(const char* caller, void* handle, V T::* member, V value) {
  const auto found = find<T>(caller, handle);
  if (!found) return ACL_ERROR_INVALID_PARAM;
  (*found).*member = value;
  return ACL_SUCCESS;
}

template <typename T, typename V>
V get(const char* caller, const void* handle, V T::* member) {
  const auto found = find<T>(caller, handle);
  return found ? (*found).*member : V{};
}

// Of one of three tables.
template <typename T, typename V, typename Length>
int table(const char* caller, const void* handle, std::array<std::array<V, 256>, 3> T::* member, uint32_t dim, V** data,
          Length* length) {
  const auto found = find<T>(caller, handle);
  if (!found) return ACL_ERROR_INVALID_PARAM;
  auto& tables = (*found).*member;
  if (dim >= tables.size() || !data || !length)
    return ACL_INVALID(caller, "dim %u of %zu, data %p, len %p; no pointer may be null", dim, tables.size(),
                       static_cast<void*>(data), static_cast<void*>(length));
  *data = tables[dim].data();
  *length = Length(tables[dim].size());
  return ACL_SUCCESS;
}

int value_of(const char* caller, uint32_t index) {
  if (index < 4) return ACL_SUCCESS;
  return ACL_INVALID(caller, "index %u; allowed: 0 to 3", index);
}

// A parameter of a channel is a member.
struct Parameter {
  void* value = nullptr;
  size_t size = 0;
};
Parameter parameter(Channel& channel, acldvppChannelDescParamType type) {
  switch (type) {
    case ACL_DVPP_CSC_MATRIX_UINT32: return {&channel.matrix, sizeof channel.matrix};
    case ACL_DVPP_MODE_UINT32: return {&channel.mode, sizeof channel.mode};
    case ACL_DVPP_CHANNEL_ID_UINT64: return {&channel.id, sizeof channel.id};
    case ACL_DVPP_CHANNEL_HEIGHT_UINT32: return {&channel.height, sizeof channel.height};
    case ACL_DVPP_CHANNEL_WIDTH_UINT32: return {&channel.width, sizeof channel.width};
    case ACL_DVPP_JPEGD_PRECISION_MODE_ENUM: return {&channel.precision, sizeof channel.precision};
  }
  return {};
}

int no_parameter(const char* caller, int type, size_t length, size_t size) {
  if (!size) return ACL_INVALID(caller, "paramType %d; allowed: those of acldvppChannelDescParamType", type);
  return ACL_INVALID(caller, "length %zu of paramType %d, which has %zu bytes; no pointer may be null", length, type,
                     size);
}

// What a channel's values may be: the pages of acldvppChannelMode, acldvppCscMatrix, acldvppJpegdPrecisionMode and
// acldvppChannelDescParamType.
int check(const char* caller, const Channel& channel) {
  constexpr uint32_t kModes = DVPP_CHNMODE_VPC | DVPP_CHNMODE_JPEGD | DVPP_CHNMODE_JPEGE | DVPP_CHNMODE_PNGD;
  if (channel.mode & ~kModes)
    return ACL_INVALID(caller, "mode %u; allowed: sums of those of acldvppChannelMode", channel.mode);
  if (channel.matrix > ACL_DVPP_CSC_MATRIX_BT2020_NARROW)
    return ACL_INVALID(caller, "matrix %u; allowed: those of acldvppCscMatrix", channel.matrix);
  if (channel.precision < 0 || channel.precision > ACL_YUVOUT_ALIGN_DOWN_COMPAT)
    return ACL_INVALID(caller, "%d; allowed: those of acldvppJpegdPrecisionMode", channel.precision);
  if (channel.height > 8192 || channel.width > 8192)
    return ACL_INVALID(caller, "%u by %u; allowed: up to 8192 by 8192", channel.width, channel.height);
  return ACL_SUCCESS;
}

int change(const char* caller, void* handle, acldvppChannelDescParamType type, size_t length, const void* value) {
  const auto channel = find<Channel>(caller, handle);
  if (!channel) return ACL_ERROR_INVALID_PARAM;
  Channel changed = *channel;
  const Parameter place = parameter(changed, type);
  if (!place.size || place.size != length || !value) return no_parameter(caller, type, length, place.size);
  if (channel->created && type == ACL_DVPP_MODE_UINT32)
    return ACL_INVALID(caller, "the channel has been created; its mode is set before");
  memcpy(place.value, value, length);
  if (int code = check(caller, changed)) return code;
  *channel = changed;
  return ACL_SUCCESS;
}

}  // namespace

#define MADE(Create, Destroy, Handle, T)                               \
  Handle* Create() { return static_cast<Handle*>(made<T>(__func__)); } \
  aclError Destroy(Handle* handle) { return destroyed<T>(__func__, handle); }
#define SET(Set, Handle, T, V, member) \
  aclError Set(Handle* handle, V value) { return set(__func__, handle, &T::member, value); }
#define GET(Get, Handle, T, V, member) \
  V Get(const Handle* handle) { return get(__func__, handle, &T::member); }
#define FIELD(Handle, T, Name, V, member)              \
  SET(acldvppSet##Name, acldvpp##Handle, T, V, member) \
  GET(acldvppGet##Name, acldvpp##Handle, T, V, member)

extern "C" {

// ---- channels ----
MADE(acldvppCreateChannelDesc, acldvppDestroyChannelDesc, acldvppChannelDesc, Channel)
GET(acldvppGetChannelDescChannelId, acldvppChannelDesc, Channel, uint64_t, id)
aclError acldvppSetChannelDescMode(acldvppChannelDesc* handle, uint32_t mode) {
  return change(__func__, handle, ACL_DVPP_MODE_UINT32, sizeof mode, &mode);
}
aclError acldvppSetChannelDescParam(acldvppChannelDesc* handle, acldvppChannelDescParamType type, size_t length,
                                    const void* value) {
  return change(__func__, handle, type, length, value);
}
aclError acldvppGetChannelDescParam(const acldvppChannelDesc* handle, acldvppChannelDescParamType type, size_t length,
                                    size_t* written, void* value) {
  DESCRIBED(Channel, channel, handle);
  const Parameter place = parameter(*channel, type);
  if (!place.size || place.size > length || !written || !value) return no_parameter(__func__, type, length, place.size);
  memcpy(value, place.value, place.size);
  *written = place.size;
  return ACL_SUCCESS;
}

// ---- pictures ----
acldvppPicDesc* acldvppCreatePicDesc() { return static_cast<acldvppPicDesc*>(made<Picture>(__func__)); }
aclError acldvppDestroyPicDesc(acldvppPicDesc* handle) {
  DESCRIBED(Picture, picture, handle);
  ACL_INVALID_IF(picture->of_batch, "it is one of a batch; acldvppDestroyBatchPicDesc ends them all");
  return destroyed<Picture>(__func__, handle);
}
FIELD(PicDesc, Picture, PicDescData, void*, data)
FIELD(PicDesc, Picture, PicDescSize, uint32_t, size)
FIELD(PicDesc, Picture, PicDescFormat, acldvppPixelFormat, format)
FIELD(PicDesc, Picture, PicDescWidth, uint32_t, width)
FIELD(PicDesc, Picture, PicDescHeight, uint32_t, height)
FIELD(PicDesc, Picture, PicDescWidthStride, uint32_t, width_stride)
FIELD(PicDesc, Picture, PicDescHeightStride, uint32_t, height_stride)
FIELD(PicDesc, Picture, PicDescRetCode, uint32_t, ret_code)

acldvppBatchPicDesc* acldvppCreateBatchPicDesc(uint32_t size) {
  constexpr uint32_t kMost = 256;  // regions and pictures that a call takes
  if (!size || size > kMost) {
    ACL_INVALID(__func__, "batchSize %u; allowed: 1 to %u", size, kMost);
    return nullptr;
  }
  auto batch = std::make_shared<Batch>();
  for (uint32_t i = 0; i < size; ++i) {
    auto picture = std::make_shared<Picture>();
    picture->of_batch = true;
    if (!made(__func__, picture)) return nullptr;
    batch->pictures.push_back(std::move(picture));
  }
  return static_cast<acldvppBatchPicDesc*>(made(__func__, std::move(batch)));
}
acldvppPicDesc* acldvppGetPicDesc(acldvppBatchPicDesc* handle, uint32_t index) {
  const auto batch = find<Batch>(__func__, handle);
  if (!batch) return nullptr;
  if (index < batch->pictures.size()) return reinterpret_cast<acldvppPicDesc*>(batch->pictures[index].get());
  ACL_INVALID(__func__, "index %u of %zu pictures", index, batch->pictures.size());
  return nullptr;
}
aclError acldvppDestroyBatchPicDesc(acldvppBatchPicDesc* handle) {
  const auto batch = Handles<Batch>::all().take(handle);
  if (!batch) return unknown<Batch>(__func__, handle);
  for (const auto& picture : batch->pictures) Handles<Picture>::all().take(picture.get());
  return ACL_SUCCESS;
}

// ---- regions ----
acldvppRoiConfig* acldvppCreateRoiConfig(uint32_t left, uint32_t right, uint32_t top, uint32_t bottom) {
  return static_cast<acldvppRoiConfig*>(made(__func__, std::make_shared<Region>(Region{left, right, top, bottom})));
}
aclError acldvppDestroyRoiConfig(acldvppRoiConfig* handle) { return destroyed<Region>(__func__, handle); }
aclError acldvppSetRoiConfig(acldvppRoiConfig* handle, uint32_t left, uint32_t right, uint32_t top, uint32_t bottom) {
  DESCRIBED(Region, region, handle);
  *region = {left, right, top, bottom};
  return ACL_SUCCESS;
}
SET(acldvppSetRoiConfigLeft, acldvppRoiConfig, Region, uint32_t, left)
SET(acldvppSetRoiConfigRight, acldvppRoiConfig, Region, uint32_t, right)
SET(acldvppSetRoiConfigTop, acldvppRoiConfig, Region, uint32_t, top)
SET(acldvppSetRoiConfigBottom, acldvppRoiConfig, Region, uint32_t, bottom)

// ---- settings ----
MADE(acldvppCreateResizeConfig, acldvppDestroyResizeConfig, acldvppResizeConfig, ResizeSettings)
aclError acldvppSetResizeConfigInterpolation(acldvppResizeConfig* handle, uint32_t interpolation) {
  ACL_INVALID_IF(interpolation > 5, "interpolation %u; allowed: 0 to 5", interpolation);
  return set(__func__, handle, &ResizeSettings::interpolation, interpolation);
}
GET(acldvppGetResizeConfigInterpolation, acldvppResizeConfig, ResizeSettings, uint32_t, interpolation)

MADE(acldvppCreateJpegeConfig, acldvppDestroyJpegeConfig, acldvppJpegeConfig, JpegSettings)
aclError acldvppSetJpegeConfigLevel(acldvppJpegeConfig* handle, uint32_t level) {
  ACL_INVALID_IF(level > 100, "level %u; allowed: 0 to 100", level);
  return set(__func__, handle, &JpegSettings::level, level);
}
GET(acldvppGetJpegeConfigLevel, acldvppJpegeConfig, JpegSettings, uint32_t, level)

MADE(acldvppCreateBorderConfig, acldvppDestroyBorderConfig, acldvppBorderConfig, Border)
FIELD(BorderConfig, Border, BorderConfigBorderType, acldvppBorderType, type)
FIELD(BorderConfig, Border, BorderConfigTop, uint32_t, top)
FIELD(BorderConfig, Border, BorderConfigBottom, uint32_t, bottom)
FIELD(BorderConfig, Border, BorderConfigLeft, uint32_t, left)
FIELD(BorderConfig, Border, BorderConfigRight, uint32_t, right)
aclError acldvppSetBorderConfigValue(acldvppBorderConfig* handle, uint32_t index, double value) {
  DESCRIBED(Border, border, handle);
  if (int code = value_of(__func__, index)) return code;
  border->value[index] = value;
  return ACL_SUCCESS;
}
double acldvppGetBorderConfigValue(const acldvppBorderConfig* handle, uint32_t index) {
  const auto border = find<Border>(__func__, handle);
  return border && !value_of(__func__, index) ? border->value[index] : 0;
}

MADE(acldvppCreateLutMap, acldvppDestroyLutMap, acldvppLutMap, Lut)
uint32_t acldvppGetLutMapDims(const acldvppLutMap* handle) { return find<Lut>(__func__, handle) ? 3 : 0; }
aclError acldvppGetLutMapData(const acldvppLutMap* handle, uint32_t dim, uint8_t** data, uint32_t* length) {
  return table(__func__, handle, &Lut::tables, dim, data, length);
}

MADE(acldvppCreateHist, acldvppDestroyHist, acldvppHist, Histogram)
aclError acldvppClearHist(acldvppHist* handle) {
  DESCRIBED(Histogram, histogram, handle);
  *histogram = {};
  return ACL_SUCCESS;
}
uint32_t acldvppGetHistDims(acldvppHist* handle) { return find<Histogram>(__func__, handle) ? 3 : 0; }
aclError acldvppGetHistData(acldvppHist* handle, uint32_t dim, uint32_t** data, uint16_t* length) {
  return table(__func__, handle, &Histogram::counts, dim, data, length);
}
uint32_t acldvppGetHistRetCode(acldvppHist* handle) { return get(__func__, handle, &Histogram::ret_code); }

// ---- streams of a video ----
MADE(acldvppCreateStreamDesc, acldvppDestroyStreamDesc, acldvppStreamDesc, Stream)
FIELD(StreamDesc, Stream, StreamDescData, void*, data)
FIELD(StreamDesc, Stream, StreamDescSize, uint32_t, size)
FIELD(StreamDesc, Stream, StreamDescFormat, acldvppStreamFormat, format)
FIELD(StreamDesc, Stream, StreamDescTimestamp, uint64_t, timestamp)
FIELD(StreamDesc, Stream, StreamDescRetCode, uint32_t, ret_code)
FIELD(StreamDesc, Stream, StreamDescEos, uint8_t, eos)

}  // extern "C"
