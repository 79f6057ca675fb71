// What the calls of libacl_dvpp share: channels, and tasks over the memory of pictures.
#pragma once

#include "acl/tasks.h"
#include "dvpp/layouts.h"

namespace sim::dvpp {

// Null, and the reason told, where the handle is no channel that was created for this.
std::shared_ptr<Channel> channel_for(const char* caller, const void* handle, acldvppChannelMode mode);

// Tells that a task reads or writes this part of a picture.
void touch(sim_listener* listener, bool writes, const Picture& picture, const Rect& part);

// Why a task cannot use a picture's memory: a code, told. It may have been freed since the launch.
int still_there(const char* caller, const char* what, const Picture& picture);
int still_there(const char* caller, const char* what, const void* data, size_t size);

// A task that decodes a file in device memory.
struct Decode {
  const uint8_t* data;
  uint32_t size;
  Picture to;
  std::shared_ptr<Picture> told;
  void touch(sim_listener* listener) const {
    sim::touch(listener, false, data, size);
    sim::touch(listener, true, to.data, to.size);
  }
};
// `run`, whose result the description of the picture tells as well.
template <auto run, typename T>
int decoded(const T& task) {
  const int code = run(task);
  task.told->ret_code = uint32_t(code);
  return code;
}

// Where a decoder writes a picture whose size is known: strides of 0 become the next multiples of these units. A code,
// told, where the memory is too small or gone.
int place(const char* caller, const Layout& layout, uint32_t width_unit, uint32_t height_unit, Picture& picture);

// The caller's description gets what was decoded; its memory is the caller's affair.
void tell(const Picture& written, Picture& told);

}  // namespace sim::dvpp
