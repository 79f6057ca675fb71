#include "acl/shared.h"
#include "acl/refuse.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

namespace sim::acl {
namespace {

constexpr char kMagic[8] = "ophook2";
constexpr char kForm[] = "ophook-%u-%u";

std::string path_of(int32_t owner, int file) {
  return "/proc/" + std::to_string(owner) + "/fd/" + std::to_string(file);
}

}  // namespace

std::shared_ptr<Shared> Shared::make(const char* caller, Kind kind, bool for_everybody) {
  std::shared_ptr<Shared> made(new Shared);
  made->file_ = memfd_create("ophook-shared", MFD_CLOEXEC);
  void* memory = MAP_FAILED;
  if (made->file_ >= 0 && ftruncate(made->file_, sizeof(Page)) == 0)
    memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, made->file_, 0);
  if (memory == MAP_FAILED) {
    sim_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: the host has no memory that processes share", caller);
    return nullptr;
  }
  made->page = new (memory) Page{};
  made->mine_ = true;
  made->page->kind = kind, made->page->owner = int32_t(getpid()), made->page->file = -1;
  made->page->open = for_everybody;
  memcpy(made->page->magic, kMagic, sizeof kMagic);
  return made;
}

std::shared_ptr<Shared> Shared::open(const char* caller, const std::string& key, Kind kind) {
  unsigned owner = 0, number = 0;
  char rest = 0;
  if (sscanf(key.c_str(), "ophook-%u-%u%c", &owner, &number, &rest) != 2) {
    RT_INVALID(caller, "the key was not exported on this machine");
    return nullptr;
  }
  const int file = ::open(path_of(int32_t(owner), int(number)).c_str(), O_RDWR | O_CLOEXEC);
  void* memory = file < 0 || lseek(file, 0, SEEK_END) < off_t(sizeof(Page))
                     ? MAP_FAILED
                     : mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  const auto* page = static_cast<Page*>(memory);
  if (memory == MAP_FAILED || memcmp(page->magic, kMagic, sizeof kMagic) || page->kind != kind ||
      page->owner != int32_t(owner)) {
    if (memory != MAP_FAILED) munmap(memory, sizeof(Page));
    RT_INVALID(caller, "process %u exports nothing of this kind under the key (any more)", owner);
    return nullptr;
  }
  std::shared_ptr<Shared> opened(new Shared);
  opened->page = static_cast<Page*>(memory);
  opened->file_ = int(number);
  bool allowed = opened->page->open;
  for (const auto& one : opened->page->allowed) allowed |= one == int32_t(getpid());
  if (allowed || opened->page->owner == int32_t(getpid())) return opened;
  sim_fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "%s: process %u did not allow process %d to import it", caller, owner,
           int(getpid()));
  return nullptr;
}

Shared::~Shared() {
  if (page && mine_) page->magic[0] = 0;  // who comes now finds nothing
  if (page) munmap(page, sizeof(Page));
  if (mine_ && file_ >= 0) close(file_);
}

std::string Shared::key() const { return key_of(number()); }

std::string Shared::key_of(uint64_t number) {
  char text[64];
  snprintf(text, sizeof text, kForm, unsigned(number >> 32), unsigned(number));
  return text;
}

int Shared::allow(const char* caller, const int32_t* processes, size_t count) {
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    while (next < std::size(page->allowed) && page->allowed[next] && page->allowed[next] != processes[i]) ++next;
    if (next == std::size(page->allowed))
      return RT_INVALID(caller, "more than %zu processes", std::size(page->allowed));
    page->allowed[next] = processes[i];
  }
  return ACL_SUCCESS;
}

int Shared::open_file(const char* caller) const {
  const int file = ::open(path_of(page->owner, page->file).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0)
    sim_fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "%s: the memory of process %d cannot be opened: %s", caller,
             int(page->owner), strerror(errno));
  return file;
}

}  // namespace sim::acl
