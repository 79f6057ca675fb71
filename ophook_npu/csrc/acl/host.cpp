// libascendcl: what C++ clients call and torch_npu does not: conversions, data buffers, forms of runtime functions that
// newer ones replace.
#include <cmath>

#include "acl/device_memory.h"
#include "acl/operator_description.h"
#include "acl/refuse.h"

using sim::acl::given;

namespace {

// Rows of `width` bytes, `pitch` bytes apart, span this many.
size_t span(size_t pitch, size_t width, size_t height) { return height ? (height - 1) * pitch + width : 0; }

// Calls copy(to, room, from) for each row.
template <typename Copy>
int each_row(const char* caller, void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
             size_t height, Copy copy) {
  if (width > to_pitch || width > from_pitch)
    return RT_INVALID(caller, "rows of %zu bytes, %zu and %zu bytes apart", width, to_pitch, from_pitch);
  for (size_t row = 0; row < height; ++row)
    if (int code = copy(static_cast<char*>(to) + row * to_pitch, span(to_pitch, width, height - row),
                        static_cast<const char*>(from) + row * from_pitch))
      return code;
  return ACL_SUCCESS;
}

}  // namespace

extern "C" {

// ---- data types ----
size_t aclDataTypeSize(aclDataType dtype) {
  switch (dtype) {
    case ACL_BOOL:
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_INT4:  // CANN's answer for less than a byte
    case ACL_UINT1:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
    case ACL_FLOAT6_E3M2:
    case ACL_FLOAT6_E2M3:
    case ACL_FLOAT4_E2M1:
    case ACL_FLOAT4_E1M2: return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16: return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32: return 4;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64: return 8;
    case ACL_COMPLEX128: return 16;
    default: return 0;  // undefined, strings, and what is no data type
  }
}

float aclFloat16ToFloat(aclFloat16 value) {
  const int exponent = value >> 10 & 31, fraction = value & 1023;
  float size = exponent == 31 ? (fraction ? NAN : INFINITY)
               : exponent     ? std::ldexp(float(1024 + fraction), exponent - 25)
                              : std::ldexp(float(fraction), -24);
  return std::copysign(size, value & 0x8000 ? -1.0f : 1.0f);
}

// To the nearest, ties to even.
aclFloat16 aclFloatToFloat16(float value) {
  const auto sign = aclFloat16(std::signbit(value) ? 0x8000 : 0);
  const float size = std::fabs(value);
  if (std::isnan(value)) return aclFloat16(sign | 0x7e00);
  if (size >= 65520.0f) return aclFloat16(sign | 0x7c00);
  int exponent = 0;
  std::frexp(size, &exponent);
  const int step = std::max(exponent - 11, -24);  // the last place has the value 2^step
  const auto count = int(std::nearbyint(std::ldexp(size, -step)));
  if (size == 0) return sign;
  // A count that was rounded up to 2048 makes the next exponent by itself.
  return aclFloat16(sign | (step == -24 ? count : ((step + 24) << 10) + count));
}

// ---- data buffers ----
aclError aclUpdateDataBuffer(aclDataBuffer* buffer, void* data, size_t size) {
  ACL_INVALID_IF(!buffer, "null pointer");
  *buffer = {data, size};
  return ACL_SUCCESS;
}
void* aclGetDataBufferAddr(const aclDataBuffer* buffer) { return given(__func__, buffer) ? buffer->data : nullptr; }
size_t aclGetDataBufferSizeV2(const aclDataBuffer* buffer) { return given(__func__, buffer) ? buffer->size : 0; }
uint32_t aclGetDataBufferSize(const aclDataBuffer* buffer) { return uint32_t(aclGetDataBufferSizeV2(buffer)); }

// ---- where the program runs ----
aclError aclrtGetRunMode(aclrtRunMode* mode) {
  ACL_INVALID_IF(!mode, "null pointer");
  *mode = ACL_HOST;
  return ACL_SUCCESS;
}
aclError aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) {  // of ACL's interface
  ACL_INVALID_IF(!major || !minor || !patch, "null pointer");
  *major = ACL_MAJOR_VERSION, *minor = ACL_MINOR_VERSION, *patch = ACL_PATCH_VERSION;
  return ACL_SUCCESS;
}

// ---- memory ----
aclError aclrtMallocCached(void** out, size_t size, aclrtMemMallocPolicy policy) {
  return sim::acl::take("aclrtMallocCached", __builtin_return_address(0), size, policy, out);
}
SIM_API aclError aclrtMallocWithCfg(void** out, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig*) {
  return sim::acl::take("aclrtMallocWithCfg", __builtin_return_address(0), size, policy, out);
}
// Device memory is seen by both sides at once.
aclError aclrtMemFlush(void* pointer, size_t) { return given(__func__, pointer) ? 0 : ACL_ERROR_INVALID_PARAM; }
aclError aclrtMemInvalidate(void* pointer, size_t) { return given(__func__, pointer) ? 0 : ACL_ERROR_INVALID_PARAM; }
aclError aclrtMemcpy2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
  return each_row(
      __func__, to, to_pitch, from, from_pitch, width, height,
      [&](char* row, size_t room, const char* source) { return aclrtMemcpy(row, room, source, width, kind); });
}
aclError aclrtMemcpy2dAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                            aclrtMemcpyKind kind, aclrtStream stream) {
  return each_row(__func__, to, to_pitch, from, from_pitch, width, height,
                  [&](char* row, size_t room, const char* source) {
                    return aclrtMemcpyAsync(row, room, source, width, kind, stream);
                  });
}

// ---- models ----
SIM_API aclError aclmdlRIExecute(aclmdlRI model, int32_t timeout_ms) {
  void* stream = nullptr;
  if (int code = sim_stream_create(&stream)) return code;
  int code = sim_model_execute(model, stream);
  if (!code) code = sim_stream_synchronize(stream, timeout_ms);
  const int destroyed = sim_stream_destroy(stream);
  return code ? code : destroyed;
}

}  // extern "C"
