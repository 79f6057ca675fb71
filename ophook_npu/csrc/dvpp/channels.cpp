// libacl_dvpp: memory, and channels.
#include <atomic>

#include "acl/device_memory.h"
#include "core/pages_api.h"
#include "dvpp/tasks.h"

namespace sim::dvpp {

std::shared_ptr<Channel> channel_for(const char* caller, const void* handle, acldvppChannelMode mode) {
  auto channel = find<Channel>(caller, handle);
  if (!channel) return nullptr;
  if (channel->created && (!channel->mode || (channel->mode & mode))) return channel;
  if (!channel->created) ACL_INVALID(caller, "the channel has not been created (acldvppCreateChannel)");
  else
    ACL_INVALID(caller, "the channel's mode is %u; it needs one with %d (acldvppSetChannelDescMode)", channel->mode,
                int(mode));
  return nullptr;
}

void touch(sim_listener* listener, bool writes, const Picture& picture, const Rect& part) {
  const Layout& format = *layout(picture.format);
  for (int second = 0; second <= int(format.second()); ++second) {
    const uint32_t x = second ? uint32_t(format.x) : 1, y = second ? uint32_t(format.y) : 1;
    const size_t unit = second ? 2 : size_t(format.unit), stride = rows_of(format, picture, second).stride;
    const auto* begin = static_cast<const uint8_t*>(picture.data);
    if (second) begin += size_t(picture.width_stride) * picture.height_stride;
    const int64_t sizes[] = {int64_t((part.height + y - 1) / y), int64_t((part.width + x - 1) / x * unit)};
    const int64_t strides[] = {int64_t(stride), 1};
    listener->touch(listener, writes, begin + part.top / y * stride + part.left / x * unit, 1, sizes, strides, 2);
  }
}

int still_there(const char* caller, const char* what, const void* data, size_t size) {
  const char* problem = sim_memory_problem(what, data, size);
  return problem ? sim_fail(ACL_ERROR_RT_AICPU_EXCEPTION, "%s: %s", caller, problem) : int(ACL_SUCCESS);
}
int still_there(const char* caller, const char* what, const Picture& picture) {
  const uint64_t bytes = bytes_of(*layout(picture.format), picture.width_stride, picture.height_stride);
  return still_there(caller, what, picture.data, size_t(bytes));
}

int place(const char* caller, const Layout& layout, uint32_t width_unit, uint32_t height_unit, Picture& picture) {
  const uint32_t line = picture.width * uint32_t(layout.unit);
  if (!picture.width_stride) picture.width_stride = aligned(line, width_unit);
  if (!picture.height_stride) picture.height_stride = aligned(picture.height, height_unit);
  const uint64_t needed = bytes_of(layout, picture.width_stride, picture.height_stride);
  if (picture.width_stride < line || picture.height_stride < picture.height || picture.size < needed)
    return sim_fail(ACL_ERROR_RT_AICPU_EXCEPTION,
                    "%s: %u by %u as %s into strides %u and %u and %u bytes; these strides need %llu", caller,
                    picture.width, picture.height, layout.name, picture.width_stride, picture.height_stride,
                    picture.size, static_cast<unsigned long long>(needed));
  return still_there(caller, "the output picture", picture);
}

void tell(const Picture& written, Picture& told) {
  told.format = written.format;
  told.width = written.width, told.height = written.height;
  told.width_stride = written.width_stride, told.height_stride = written.height_stride;
}

}  // namespace sim::dvpp

using namespace sim::dvpp;

extern "C" {

// hiascend.com, "acldvppMalloc" (CANN 9.1.0): the next multiple of 32 bytes and 32 more, of huge pages.
aclError acldvppMalloc(void** out, size_t size) {
  ACL_INVALID_IF(!out || !size, "devPtr %p, size %zu; neither may be 0", static_cast<void*>(out), size);
  constexpr size_t kHuge = size_t(2) << 20;
  size_t reach = sim::acl::rounded(size, 32);
  if (reach <= SIZE_MAX - 32) reach += 32;
  return sim_malloc_pages(__func__, __builtin_return_address(0), size, reach, sim::acl::rounded(reach, kHuge), out);
}
aclError acldvppFree(void* pointer) {
  if (!pointer) return sim::acl::missing(__func__, "devPtr", ACL_ERROR_INVALID_PARAM);
  return sim_free(pointer);
}

aclError acldvppCreateChannel(acldvppChannelDesc* handle) {
  static std::atomic<uint64_t> channels{0};
  DESCRIBED(Channel, channel, handle);
  if (int code = sim_require_device(__func__)) return code;
  ACL_INVALID_IF(channel->created, "the channel was created before");
  channel->id = channels++;
  channel->created = true;
  return ACL_SUCCESS;
}
aclError acldvppDestroyChannel(acldvppChannelDesc* handle) {
  DESCRIBED(Channel, channel, handle);
  ACL_INVALID_IF(!channel->created, "the channel has not been created");
  channel->created = false;
  return ACL_SUCCESS;
}

}  // extern "C"
