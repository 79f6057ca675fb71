#include "ledger.h"

#include <pthread.h>
#include <sys/mman.h>

#include <mutex>

namespace sim {
namespace {

Ledger unseen{};  // where there is no folder, and in forked children
std::atomic<Ledger*> current{nullptr};
std::mutex publishing;
int file = -1;
char path[512];

// A forked child has none of its parent's streams and cannot use its devices, as on hardware. It must not write into
// the parent's file, nor keep it locked.
void in_child() {
  Ledger* parents = current.load();
  if (!parents || parents == &unseen) return;
  unseen.opened = parents->opened.load();
  for (int device = 0; device < kMaxDevices; ++device) unseen.used[device] = parents->used[device].load();
  current = &unseen;
  close(file);
  path[0] = 0;
}

Ledger* publish() {
  std::string folder = ledger_folder();
  if (folder.empty()) return &unseen;
  each_ledger(folder, [](const Ledger&) {});
  std::string made = folder + "/" + kUnfinished + "XXXXXX";
  file = mkostemp(made.data(), O_CLOEXEC);
  if (file < 0) return &unseen;
  std::string name = folder + "/" + std::to_string(getpid()) + "-" + made.substr(made.size() - 6);
  void* memory = MAP_FAILED;
  // posix_fallocate: where the folder's file system is full, this fails here, and not at a later write.
  if (name.size() < sizeof path && flock(file, LOCK_EX | LOCK_NB) == 0 && posix_fallocate(file, 0, sizeof(Ledger)) == 0)
    memory = mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    unlink(made.c_str());
    close(file);
    return &unseen;
  }
  auto mine = static_cast<Ledger*>(memory);
  memcpy(mine->soc, unseen.soc, sizeof mine->soc);
  mine->pid = int32_t(getpid());
  mine->devices = unseen.devices;
  mine->capacity = unseen.capacity;
  memcpy(mine->magic, kLedgerMagic, sizeof mine->magic);
  if (rename(made.c_str(), name.c_str()) != 0) {
    unlink(made.c_str());
    munmap(memory, sizeof(Ledger));
    close(file);
    return &unseen;
  }
  strcpy(path, name.c_str());
  pthread_atfork(nullptr, nullptr, in_child);
  return mine;
}

__attribute__((destructor)) void remove_own_file() {
  if (path[0]) unlink(path);
}

}  // namespace

void describe_ledger(const char* soc, int devices, uint64_t capacity) {
  strncpy(unseen.soc, soc, sizeof unseen.soc - 1);
  unseen.devices = devices;
  unseen.capacity = capacity;
}

Ledger& ledger() {
  Ledger* mine = current.load(std::memory_order_acquire);
  if (mine) return *mine;
  std::lock_guard lock(publishing);
  mine = current.load();
  if (!mine) current = mine = publish();
  return *mine;
}

}  // namespace sim
