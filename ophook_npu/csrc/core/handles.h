// Handles that the libraries above hold. A handle is looked up and never read: what it points to may be gone, or may
// never have been ours. Who found one keeps it alive while it is used, whatever other threads destroy meanwhile.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace sim {

template <typename T>
class Handles {
 public:
  // Never destroyed: threads of ours may outlive static destructors at process exit.
  static Handles& all() {
    static auto* instance = new Handles;
    return *instance;
  }

  void* add(std::shared_ptr<T> what) {
    void* handle = what.get();
    std::lock_guard lock(mutex_);
    known_[handle] = std::move(what);
    return handle;
  }

  // Null if there is none.
  std::shared_ptr<T> find(void* handle) {
    std::lock_guard lock(mutex_);
    auto entry = known_.find(handle);
    return entry == known_.end() ? nullptr : entry->second;
  }

  // The same, and it is a handle no more. One caller alone gets it.
  std::shared_ptr<T> take(void* handle) {
    std::lock_guard lock(mutex_);
    auto entry = known_.find(handle);
    if (entry == known_.end()) return nullptr;
    std::shared_ptr<T> found = std::move(entry->second);
    known_.erase(entry);
    gone_[next_++ % gone_.size()] = {handle, found};
    return found;
  }

  // Whether it was one until lately.
  bool was(void* handle) {
    std::lock_guard lock(mutex_);
    if (!handle || known_.count(handle)) return false;
    for (const Gone& one : gone_)
      if (one.handle == handle) return true;
    return false;
  }

  template <typename Wanted>
  std::vector<std::shared_ptr<T>> where(Wanted wanted) {
    std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<T>> found;
    for (auto& [handle, what] : known_)
      if (wanted(*what)) found.push_back(what);
    return found;
  }

 private:
  // A weak pointer keeps the memory that std::make_shared took, so for a while the handle is not that of something new.
  struct Gone {
    void* handle = nullptr;
    std::weak_ptr<T> memory;
  };

  std::mutex mutex_;
  std::unordered_map<void*, std::shared_ptr<T>> known_;
  std::array<Gone, 64> gone_;
  size_t next_ = 0;
};

}  // namespace sim

// Declares what a handle stands for, as `find(…, &name)` gives it, or returns the code that says why it is none.
#define FIND(T, name, find, ...) \
  std::shared_ptr<T> name;       \
  if (const int code = find(__VA_ARGS__, &name)) return code
