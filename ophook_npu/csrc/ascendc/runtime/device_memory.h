// Device memory as a kernel may use it: its arguments, and who wrote and read which part of them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "ascendc/runtime.h"
#include "launch.h"

namespace ophook::rt {

struct Touch {
  uint64_t end = 0;
  int core = -1, phase = 0;
  bool atomic = false;
  uint32_t seq = 0;   // of the newest operation
  uint32_t told = 0;  // up to here the core had told others what is over
  Pipe pipe = Pipe::S;
  bool merged = false;
  At at{nullptr, 0};
};

class Spans {
 public:
  // Adds [begin, touch.end) and calls visit for every older span that it meets.
  template <typename F>
  void add(uint64_t begin, const Touch& touch, bool merge, F visit);
  // Forgets [begin, end), with a visit(begin, touch) of every span that it meets.
  template <typename F>
  void cut(uint64_t begin, uint64_t end, F visit);
  template <typename F>
  void meet(uint64_t begin, uint64_t end, F visit) const;
  bool covers(uint64_t begin, uint64_t end) const;
  // Calls visit(begin, end) for every part of [begin, end) that no span covers.
  template <typename F>
  void gaps(uint64_t begin, uint64_t end, F visit) const;
  // Calls visit(begin, end) for each part of it without a gap.
  template <typename F>
  void each(F visit) const;
  bool empty() const { return spans_.empty(); }

 private:
  std::map<uint64_t, Touch> spans_;
};

struct Argument {
  std::string name;
  uint8_t* data = nullptr;
  uint64_t bytes = 0, allocated = 0;
  int role = 0, element = 1;
  Spans writes, reads;
  std::map<int, Spans> repeated;  // by core: what it wrote with the values that were there
  Spans uncomputed;               // written with what was never computed; Touch::seq is a place in Launch::uncomputed
  bool read_back = false;         // the kernel read what it had written
  bool is_input() const { return role == 0 || role == ASCENDC_GIVEN; }
  bool tracked() const { return (role >= 1 && role <= 3) || role == ASCENDC_FILLED || role == ASCENDC_ANY; }
};

class DeviceMemory {
 public:
  std::deque<Argument> arguments;  // one that is found later moves none of the others
  int (*allocation)(const void* address, void** begin, size_t* bytes) = nullptr;  // of ascendc_launch
  int (*reach)(const void* address, size_t bytes) = nullptr;                      // as well
  // The argument that [data, data + bytes) begins in, or NULL.
  // The argument that holds these bytes, else the one that holds the first. Inputs may be views of one memory: of those
  // that begin in the same place, only the longer one holds a long read.
  Argument* find(const void* data, uint64_t bytes = 1);
  bool holds(const void* data, uint64_t bytes) {
    const Argument* a = find(data, bytes);
    return a && uint64_t(static_cast<const uint8_t*>(data) - a->data) + bytes <= a->bytes;
  }

 private:
  size_t last_ = 0;
};

template <typename F>
void Spans::meet(uint64_t begin, uint64_t end, F visit) const {
  auto it = spans_.upper_bound(begin);
  if (it != spans_.begin()) --it;
  for (; it != spans_.end() && it->first < end; ++it)
    if (it->second.end > begin) visit(it->first, it->second);
}

template <typename F>
void Spans::add(uint64_t begin, const Touch& touch, bool merge, F visit) {
  const uint64_t end = touch.end;
  auto it = spans_.upper_bound(begin);
  if (it != spans_.begin()) {
    auto before = std::prev(it);
    Touch& old = before->second;
    const bool nothing_after = it == spans_.end() || it->first >= end;
    if (merge && old.end == begin && nothing_after && old.core == touch.core && old.phase == touch.phase &&
        old.atomic == touch.atomic && old.pipe == touch.pipe && (old.seq > touch.told || old.seq == touch.seq)) {
      old.merged |= old.seq != touch.seq;  // of one operation there is nothing lost
      old.end = end, old.seq = touch.seq, old.at = touch.at;
      return;
    }
  }
  cut(begin, end, visit);
  spans_.insert_or_assign(begin, touch);
}

template <typename F>
void Spans::cut(uint64_t begin, uint64_t end, F visit) {
  auto it = spans_.upper_bound(begin);
  if (it != spans_.begin() && std::prev(it)->second.end > begin) --it;
  while (it != spans_.end() && it->first < end) {
    const uint64_t old_begin = it->first;
    const Touch old = it->second;
    visit(old_begin, old);
    it = spans_.erase(it);
    if (old_begin < begin) {
      Touch left = old;
      left.end = begin;
      spans_.emplace(old_begin, left);
    }
    if (old.end > end) it = spans_.emplace(end, old).first;
  }
}

template <typename F>
void Spans::gaps(uint64_t begin, uint64_t end, F visit) const {
  uint64_t at = begin;
  meet(begin, end, [&](uint64_t first, const Touch& touch) {
    if (first > at) visit(at, first);
    at = std::max(at, touch.end);
  });
  if (at < end) visit(at, end);
}

template <typename F>
void Spans::each(F visit) const {
  uint64_t from = 0, to = 0;
  for (const auto& [begin, touch] : spans_) {
    if (begin > to) {
      if (to > from) visit(from, to);
      from = begin;
    }
    to = std::max(to, touch.end);
  }
  if (to > from) visit(from, to);
}

inline bool Spans::covers(uint64_t begin, uint64_t end) const {
  auto it = spans_.upper_bound(begin);
  if (it == spans_.begin()) return begin >= end;
  --it;
  while (begin < end) {
    if (it == spans_.end() || it->first > begin || it->second.end <= begin) return false;
    begin = it->second.end;
    ++it;
  }
  return true;
}

inline Argument* DeviceMemory::find(const void* data, uint64_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  auto holds = [p](const Argument& a, uint64_t size, uint64_t wanted) {
    return p >= a.data && p < a.data + size && wanted <= size - uint64_t(p - a.data);
  };
  bytes = std::max<uint64_t>(bytes, 1);
  if (last_ < arguments.size() && holds(arguments[last_], arguments[last_].bytes, bytes)) return &arguments[last_];
  for (const uint64_t wanted : {bytes, uint64_t(1)}) {
    size_t i = 0;
    for (Argument& a : arguments) {
      if (holds(a, a.bytes, wanted)) return last_ = i, &a;
      ++i;
    }
  }
  for (Argument& a : arguments)  // in its padding
    if (holds(a, std::max<uint64_t>(a.allocated, 1), 1)) return &a;
  void* begin = nullptr;
  size_t size = 0;
  if (!allocation || !allocation(data, &begin, &size)) return nullptr;
  Argument found;
  found.name = "an allocation of " + std::to_string(size) + " bytes";
  found.data = static_cast<uint8_t*>(begin), found.bytes = found.allocated = size, found.role = ASCENDC_ANY;
  arguments.push_back(std::move(found));
  return &arguments[last_ = arguments.size() - 1];
}

}  // namespace ophook::rt
