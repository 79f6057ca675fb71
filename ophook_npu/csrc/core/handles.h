// Handles that the libraries above hold. A handle is looked up and never read: what it points to may be gone, or may
// never have been ours. Who found one keeps it alive while it is used, whatever other threads destroy meanwhile.
#pragma once

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
    return found;
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
  std::mutex mutex_;
  std::unordered_map<void*, std::shared_ptr<T>> known_;
};

}  // namespace sim
