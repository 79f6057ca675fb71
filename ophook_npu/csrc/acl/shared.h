// What a process shows to others of the same user: a page of memory with a name that fits into CANN's keys. Who opens
// it gets at the file of its owner through /proc, as long as the owner lives.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace sim::acl {

enum class Kind : uint32_t { memory = 1, physical, notify, event };

struct Page {
  char magic[8];
  Kind kind;
  int32_t owner;               // its process
  std::atomic<uint32_t> open;  // whom it is for: everybody, or
  std::atomic<int32_t> allowed[64];
  int32_t device, file;  // of the memory, in the owner
  uint64_t size, offset;
  std::atomic<uint64_t> expected, came;  // an event's records: launched, done
  std::atomic<uint32_t> set;             // a notify's
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "several processes use it");

class Shared {
 public:
  // Null, with a message, where the host has no memory for it.
  static std::shared_ptr<Shared> make(const char* caller, Kind kind, bool for_everybody);
  // The one that a key or handle names; null where there is none of this kind, or this process may not have it.
  static std::shared_ptr<Shared> open(const char* caller, const std::string& key, Kind kind);
  ~Shared();
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  std::string key() const;  // at most 64 characters
  // As one number: of the process and its file.
  uint64_t number() const { return uint64_t(uint32_t(page->owner)) << 32 | uint32_t(file_); }
  static std::string key_of(uint64_t number);
  int allow(const char* caller, const int32_t* processes, size_t count);
  // The owner's file, opened here; negative, with a message, where that failed.
  int open_file(const char* caller) const;

  Page* page = nullptr;

 private:
  Shared() = default;
  int file_ = -1;  // the page's own; in another process, its number there
  bool mine_ = false;
};

}  // namespace sim::acl
