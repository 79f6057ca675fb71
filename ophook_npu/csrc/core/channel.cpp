#include "channel.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "fault.h"
#include "forever.h"
#include "handles.h"
#include "runtime.h"
#include "state.h"

namespace {

struct Channel {
  std::pair<int, std::string> place;  // device and name
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> texts;
  size_t capacity = 0;
  bool closed = false;
};

struct Open {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, std::string>, std::shared_ptr<Channel>> by_place;
};

// Never destroyed: torchair closes its channel from a static destructor.
Open& open_channels() { return sim::forever<Open>(); }

int find(const char* caller, const void* handle, std::shared_ptr<Channel>* out) {
  *out = sim::Handles<Channel>::all().find(const_cast<void*>(handle));
  return *out ? int(sim::kOk) : sim_fail(sim::kInvalidParam, "%s: %p is no channel", caller, handle);
}

// Until something can be done, or the channel is closed.
template <typename Ready>
void wait(Channel& channel, std::unique_lock<std::mutex>& lock, int timeout_ms, Ready can) {
  const auto ready = [&] { return can() || channel.closed; };
  if (timeout_ms < 0) channel.changed.wait(lock, ready);
  else channel.changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), ready);
}

// How a task waits for what the host does.
template <typename Ready>
int wait_as_task(int device, const char* channel, std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                 Ready ready) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const uint64_t aborts = sim_abort_count(device);
  while (true) {
    // The limit may be set while it waits, and nothing tells it of that or of an abort: it looks now and then.
    const uint64_t limit = sim_task_limit_ms();
    if (changed.wait_for(lock, std::chrono::milliseconds(limit ? std::min<uint64_t>(limit, 100) : 100), ready))
      return sim::kOk;
    if (sim_abort_count(device) != aborts)
      return sim_fail(sim::kDeviceTaskAbort, "the tasks of device %d are aborted", device);
    if (limit && Clock::now() - begin >= std::chrono::milliseconds(limit))
      return sim_fail(sim::kAicpuTimeout, "nothing came through the channel '%s' of device %d in %llu ms", channel,
                      device, (unsigned long long)limit);
  }
}

// The caller holds the channel's mutex.
int oldest_of(Channel& channel, char** text, size_t* size) {
  if (channel.texts.empty()) return sim::kQueueEmpty;
  const std::string oldest = std::move(channel.texts.front());
  channel.texts.pop_front();
  channel.changed.notify_all();
  *text = static_cast<char*>(std::malloc(oldest.size() + 1));
  if (!*text) return sim_fail(sim::kOutOfMemory, "acltdtReceiveTensor: the host has no %zu bytes", oldest.size());
  std::memcpy(*text, oldest.c_str(), oldest.size() + 1);
  *size = oldest.size();
  return sim::kOk;
}

}  // namespace

void* sim_channel_open(int device, const char* name, size_t capacity) {
  if (device < 0 || device >= sim_device_count() || !name || capacity < 2 || capacity > 8192) {
    sim_fail(sim::kInvalidParam,
             "acltdtCreateChannelWithCapacity: device %d, name %s, capacity %zu; allowed: one of %d devices, a name, 2 "
             "to 8192",
             device, name ? name : "null", capacity, sim_device_count());
    return nullptr;
  }
  auto channel = std::make_shared<Channel>();
  channel->place = {device, name};
  channel->capacity = capacity;
  std::lock_guard lock(open_channels().mutex);
  if (!open_channels().by_place.emplace(channel->place, channel).second) {
    sim_fail(sim::kInvalidParam, "acltdtCreateChannelWithCapacity: device %d has a channel %s already", device, name);
    return nullptr;
  }
  open_channels().changed.notify_all();
  return sim::Handles<Channel>::all().add(channel);
}

int sim_channel_close(void* handle) {
  std::shared_ptr<Channel> channel = sim::Handles<Channel>::all().take(handle);
  if (!channel) return sim_fail(sim::kInvalidParam, "acltdtDestroyChannel: %p is no channel", handle);
  {
    std::lock_guard lock(open_channels().mutex);
    open_channels().by_place.erase(channel->place);
  }
  std::lock_guard lock(channel->mutex);
  channel->closed = true;
  channel->changed.notify_all();
  return sim::kOk;
}

void sim_channel_send(int device, const char* name, const char* text, size_t size) {
  std::shared_ptr<Channel> channel;
  {
    std::lock_guard lock(open_channels().mutex);
    auto found = open_channels().by_place.find({device, name});
    if (found == open_channels().by_place.end()) return;
    channel = found->second;
  }
  std::lock_guard lock(channel->mutex);
  channel->texts.emplace_back(text, size);
  channel->changed.notify_all();
}

int sim_channel_receive(const void* handle, int timeout_ms, char** text, size_t* size) {
  FIND(Channel, channel, find, "acltdtReceiveTensor", handle);
  std::unique_lock lock(channel->mutex);
  wait(*channel, lock, timeout_ms, [&] { return !channel->texts.empty(); });
  return oldest_of(*channel, text, size);
}

int sim_channel_take(int device, const char* name, char** text, size_t* size) {
  Open& all = open_channels();
  std::shared_ptr<Channel> channel;
  {
    const auto begin = std::chrono::steady_clock::now();
    std::unique_lock lock(all.mutex);
    const int code = wait_as_task(device, name, all.changed, lock, [&] {
      const auto found = all.by_place.find({device, name});
      if (found != all.by_place.end()) channel = found->second;
      return channel || std::chrono::steady_clock::now() - begin >= std::chrono::minutes(1);
    });
    if (code) return code;
    if (!channel)
      return sim_fail(sim::kQueueEmpty, "device %d has no channel '%s' (acltdtCreateChannel), for a minute now", device,
                      name);
  }
  std::unique_lock lock(channel->mutex);
  if (const int code = wait_as_task(device, name, channel->changed, lock,
                                    [&] { return !channel->texts.empty() || channel->closed; }))
    return code;
  const int code = oldest_of(*channel, text, size);
  return code == sim::kQueueEmpty ? sim_fail(code, "the channel '%s' was stopped, and is empty", name) : code;
}

int sim_channel_put(const void* handle, int timeout_ms, const char* data, size_t size) {
  FIND(Channel, channel, find, "acltdtSendTensor", handle);
  std::unique_lock lock(channel->mutex);
  wait(*channel, lock, timeout_ms, [&] { return channel->texts.size() < channel->capacity; });
  if (channel->closed) return sim_fail(sim::kInvalidParam, "acltdtSendTensor: the channel was stopped");
  if (channel->texts.size() >= channel->capacity) return sim::kQueueFull;
  channel->texts.emplace_back(data, size);
  channel->changed.notify_all();
  return sim::kOk;
}

int sim_channel_size(const void* handle, size_t* size) {
  FIND(Channel, channel, find, "acltdtQueryChannelSize", handle);
  std::lock_guard lock(channel->mutex);
  *size = channel->texts.size();
  return sim::kOk;
}

int sim_channel_empty(void* handle, int stop) {
  FIND(Channel, channel, find, stop ? "acltdtStopChannel" : "acltdtCleanChannel", handle);
  std::lock_guard lock(channel->mutex);
  if (stop) channel->closed = true;
  else channel->texts.clear();
  channel->changed.notify_all();
  return sim::kOk;
}
