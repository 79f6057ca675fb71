// What the descriptions of acl_dvpp.h hold. A program has handles (core/handles.h); a task holds what it needs, so that
// a description may be destroyed before the task has run.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "acl/refuse.h"
#include "core/handles.h"
#include "include/acl/ops/acl_dvpp.h"

namespace sim::dvpp {

struct Channel {
  static constexpr auto kMaker = "acldvppCreateChannelDesc";
  uint64_t id = 0;
  uint32_t mode = 0, matrix = ACL_DVPP_CSC_MATRIX_BT601_WIDE, height = 8192, width = 8192;
  int32_t precision = ACL_YUVOUT_ALIGN_DOWN_COMPAT;
  bool created = false;
};

struct Picture {
  static constexpr auto kMaker = "acldvppCreatePicDesc";
  void* data = nullptr;
  uint32_t size = 0, width = 0, height = 0, width_stride = 0, height_stride = 0, ret_code = 0;
  acldvppPixelFormat format = PIXEL_FORMAT_YUV_400;
  bool of_batch = false;
};

struct Batch {
  static constexpr auto kMaker = "acldvppCreateBatchPicDesc";
  std::vector<std::shared_ptr<Picture>> pictures;
};

struct Region {
  static constexpr auto kMaker = "acldvppCreateRoiConfig";
  uint32_t left = 0, right = 0, top = 0, bottom = 0;
};

struct ResizeSettings {
  static constexpr auto kMaker = "acldvppCreateResizeConfig";
  uint32_t interpolation = 0;
};

struct JpegSettings {
  static constexpr auto kMaker = "acldvppCreateJpegeConfig";
  uint32_t level = 0;
};

struct Border {
  static constexpr auto kMaker = "acldvppCreateBorderConfig";
  acldvppBorderType type = BORDER_CONSTANT;
  std::array<double, 4> value{};
  uint32_t top = 0, bottom = 0, left = 0, right = 0;
};

struct Lut {
  static constexpr auto kMaker = "acldvppCreateLutMap";
  std::array<std::array<uint8_t, 256>, 3> tables{};
};

struct Histogram {
  static constexpr auto kMaker = "acldvppCreateHist";
  std::array<std::array<uint32_t, 256>, 3> counts{};
  uint32_t ret_code = 0;
};

struct Stream {
  static constexpr auto kMaker = "acldvppCreateStreamDesc";
  void* data = nullptr;
  uint32_t size = 0, ret_code = 0;
  acldvppStreamFormat format = H265_MAIN_LEVEL;
  uint64_t timestamp = 0;
  uint8_t eos = 0;
};

template <typename T>
int unknown(const char* caller, const void* handle) {
  if (!handle) return ACL_INVALID(caller, "the pointer that %s gives is null", T::kMaker);
  return ACL_INVALID(caller, "%p was not made by %s, or it was destroyed", handle, T::kMaker);
}

// Null, and the reason told, where there is none.
template <typename T>
std::shared_ptr<T> find(const char* caller, const void* handle) {
  auto found = handle ? Handles<T>::all().find(const_cast<void*>(handle)) : nullptr;
  if (!found) unknown<T>(caller, handle);
  return found;
}

}  // namespace sim::dvpp

// `name` is what the handle of the same name stands for; `return` of the code where it stands for nothing.
#define DESCRIBED(T, name, handle)                        \
  const auto name = sim::dvpp::find<T>(__func__, handle); \
  if (!name) return ACL_ERROR_INVALID_PARAM
