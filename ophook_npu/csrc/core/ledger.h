// What a process has in use on each device, where npu-smi can read it: one small file for each process, in a folder
// that only this user may enter. The process holds a lock on its file while it lives, however it ends.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "device.h"

namespace sim {

struct Ledger {
  char magic[8];  // kLedgerMagic
  char soc[32];
  int32_t pid;
  int32_t devices;
  uint64_t capacity;                        // bytes of each device
  std::atomic<uint64_t> opened;             // bit d: the process has set device d
  std::atomic<uint64_t> used[kMaxDevices];  // bytes
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "the file is read while it is written");

constexpr char kLedgerMagic[8] = "ophook2";
constexpr char kUnfinished[] = ".new-";  // a name that begins so is not locked yet

// This process's own. Published with the first call.
Ledger& ledger();
// Says which machine the numbers are about; before the first call of ledger().
void describe_ledger(const char* soc, int devices, uint64_t capacity);

// The folder, made if it is not there; empty where there can be none, or somebody else has it.
inline std::string ledger_folder() {
  const char* told = getenv("OPHOOK_SIM_LEDGER");
  std::string folder = told && *told ? told : "/dev/shm/ophook-npu-" + std::to_string(getuid());
  struct stat found;
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return "";
  if (lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return "";
  return found.st_uid == getuid() && (found.st_mode & 022) == 0 ? folder : "";
}

// Calls see(const Ledger&) for each process that lives, and removes what dead ones left.
template <typename See>
void each_ledger(const std::string& folder, See see) {
  DIR* directory = folder.empty() ? nullptr : opendir(folder.c_str());
  if (!directory) return;
  while (const dirent* entry = readdir(directory)) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    std::string path = folder + "/" + entry->d_name;
    int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) continue;
    struct stat status;
    bool unfinished = !strncmp(entry->d_name, kUnfinished, strlen(kUnfinished));
    bool young = fstat(file, &status) == 0 && time(nullptr) - status.st_mtime < 60;
    if (flock(file, LOCK_SH | LOCK_NB) == 0) {
      if (!(unfinished && young)) unlink(path.c_str());
    } else if (!unfinished) {
      Ledger seen;
      if (pread(file, static_cast<void*>(&seen), sizeof seen, 0) == ssize_t(sizeof seen) &&
          !memcmp(seen.magic, kLedgerMagic, sizeof seen.magic))
        see(seen);
    }
    close(file);
  }
  closedir(directory);
}

}  // namespace sim
