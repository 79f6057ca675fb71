// Windows: memory of a rank that others write when they like to, without a call of its own that meets theirs. The pages
// are a file's (memfd), which the ranks that it is exchanged with open through /proc; the links say which (link.h).
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "communicator.h"
#include "core/order_api.h"
#include "here.h"
#include "types.h"

namespace sim::hccl {

Window::Window(void* memory, uint64_t size) : memory_(static_cast<char*>(memory)), size_(size) {
  if (sim_share_memory("HcclCommRegister", memory, size, &file_, &offset_))
    throw std::runtime_error(sim_error_message());
  sim_order_share(memory, size, told().inode, offset_);
}

Window::Window(uint64_t size) : file_(memfd_create("ophook-window", MFD_CLOEXEC)), mapped_size_(size), size_(size) {
  mapped_ = file_ >= 0 && !ftruncate(file_, off_t(size))
                ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0)
                : MAP_FAILED;
  if (mapped_ == MAP_FAILED) {
    if (file_ >= 0) close(file_);
    throw std::runtime_error("a window of " + std::to_string(size) + " bytes: " + std::strerror(errno));
  }
  memory_ = static_cast<char*>(mapped_);
  sim_order_share(memory_, size_, told().inode, 0);
}

Window::Window(const Told& told) : mapped_size_(told.offset + told.size), size_(told.size) {
  const std::string path = "/proc/" + std::to_string(told.process) + "/fd/" + std::to_string(told.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat about{};
  // A process of this number can be another one where ranks do not have one /proc.
  const bool the_one = file >= 0 && !fstat(file, &about) && about.st_ino == told.inode && told.size <= mapped_size_ &&
                       mapped_size_ <= uint64_t(about.st_size);
  const int error = file < 0 ? errno : ESTALE;
  mapped_ = the_one ? mmap(nullptr, mapped_size_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  if (file >= 0) close(file);
  if (mapped_ == MAP_FAILED)
    throw std::runtime_error("HcclCommExchangeMem: the window of process " + std::to_string(told.process) +
                             " cannot be mapped: " + std::strerror(error));
  memory_ = static_cast<char*>(mapped_) + told.offset;
  sim_order_share(memory_, size_, told.inode, told.offset);
}

Window::~Window() {
  if (file_ >= 0) close(file_);
  if (!mapped_ || mapped_ == MAP_FAILED) return;
  sim_order_unshare(memory_, size_);
  munmap(mapped_, mapped_size_);
}

Window::Told Window::told() const {
  struct stat about{};
  fstat(file_, &about);
  return {getpid(), file_, about.st_ino, offset_, size_};
}

namespace {

std::shared_ptr<Window> window_of(Communicator& comm, uint32_t rank) {
  std::lock_guard lock(comm.windows_mutex);
  const auto found = comm.windows.find(rank);
  return found == comm.windows.end() ? nullptr : found->second;
}

void keep(Communicator& comm, uint32_t rank, std::shared_ptr<Window> window) {
  std::lock_guard lock(comm.windows_mutex);
  comm.windows[rank] = std::move(window);
}

}  // namespace

Windows exchange_windows(Communicator& comm, const Window& window, const std::vector<uint32_t>& peers) {
  Window::Told own = window.told();
  std::vector<Window::Told> others(peers.size());
  const Tag tag{kExchangeWindows, HCCL_DATA_TYPE_UINT8};
  const auto meet = [&](uint64_t size) {
    std::vector<Piece> sends, receives;
    for (size_t i = 0; i < peers.size(); ++i) {
      sends.push_back({tag, peers[i], &own, size});
      receives.push_back({tag, peers[i], &others[i], size});
    }
    comm.link->exchange(std::move(sends), std::move(receives), comm.timeout);
  };
  meet(sizeof own);
  Windows found;
  for (size_t i = 0; i < peers.size(); ++i) found[peers[i]] = std::make_shared<Window>(others[i]);
  meet(0);
  return found;
}

namespace {

// The window, which holds so many bytes from there on.
std::shared_ptr<Window> room_in(const Comm& comm, uint32_t rank, uint64_t offset, uint64_t bytes) {
  in_group(comm, rank, "rank");
  auto window = window_of(*comm, rank);
  need(bool(window), HCCL_E_NOT_FOUND,
       "rank " + std::to_string(rank) + " has exchanged no window with rank " + std::to_string(comm->rank) +
           " (HcclCommRegister, HcclCommExchangeMem)");
  need(offset <= window->size() && bytes <= window->size() - offset, HCCL_E_PARA,
       std::to_string(bytes) + " bytes at " + std::to_string(offset) + " of the " + std::to_string(window->size()) +
           " that the window of rank " + std::to_string(rank) + " has");
  return window;
}

}  // namespace
}  // namespace sim::hccl

using namespace sim::hccl;

extern "C" {

SIM_API HcclResult HcclCommRegister(HcclComm handle, void* memory, uint64_t size, void** out, uint32_t flag) {
  return entry("HcclCommRegister", handle, [&](const Comm& comm) {
    need(out, HCCL_E_PTR, "a pointer is null");
    need(!flag, HCCL_E_PARA, "flag " + std::to_string(flag) + "; allowed: 0");
    device_memory(memory, size, "addr");
    need(size, HCCL_E_PARA, "a window of 0 bytes");
    need(!window_of(*comm, comm->rank), HCCL_E_NOT_SUPPORT, "a second window of a communicator is not simulated");
    // The pages are exchanged for others.
    need(!sim_synchronize_device(-1), HCCL_E_RUNTIME, "what ran on the device before failed");
    try {
      auto window = std::make_shared<Window>(memory, size);
      *out = window.get();
      keep(*comm, comm->rank, std::move(window));
    } catch (const std::runtime_error& problem) {
      throw Refused{HCCL_E_MEMORY, problem.what()};
    }
    return HCCL_SUCCESS;
  });
}

SIM_API HcclResult HcclCommDeregister(HcclComm handle, void* window) {
  return entry("HcclCommDeregister", handle, [&](const Comm& comm) {
    std::lock_guard lock(comm->windows_mutex);
    const auto own = comm->windows.find(comm->rank);
    need(own != comm->windows.end() && own->second.get() == window, HCCL_E_PARA, "unknown window");
    comm->windows.erase(own);
    return HCCL_SUCCESS;
  });
}

SIM_API HcclResult HcclCommExchangeMem(HcclComm handle, void* window, uint32_t* peers, uint32_t count) {
  return entry("HcclCommExchangeMem", handle, [&](const Comm& comm) {
    const auto own = window_of(*comm, comm->rank);
    need(own && own.get() == window, HCCL_E_PARA, "unknown window");
    need(peers || !count, HCCL_E_PTR, "peerRanks is null");
    std::vector<uint32_t> others;
    for (uint32_t i = 0; i < count; ++i) {
      in_group(comm, peers[i], "peerRanks");
      need(comm->runs(peers[i]), HCCL_E_NOT_SUPPORT, "rank " + std::to_string(peers[i]) + " does not run");
      need(!comm->link->remote(peers[i]), HCCL_E_NOT_SUPPORT,
           "a window of rank " + std::to_string(peers[i]) + ", which is on another machine, is not simulated");
      if (peers[i] != comm->rank) others.push_back(peers[i]);
    }
    // Between collectives, which use the same links.
    need(!sim_synchronize_device(-1), HCCL_E_RUNTIME, "what ran on the device before failed");
    const Here here;
    return launch(
        comm, nullptr, "HcclCommExchangeMem", {},
        [&](Communicator& c) {
          for (auto& [rank, found] : exchange_windows(c, *own, others)) keep(c, rank, std::move(found));
        },
        false);
  });
}

SIM_API HcclResult ophook_hccl_put(HcclComm handle, uint32_t rank, uint64_t offset, const void* from, uint64_t bytes) {
  return entry("a write into a window", handle, [&](const Comm& comm) {
    const auto window = room_in(comm, rank, offset, bytes);
    if (bytes) std::memcpy(window->memory() + offset, from, bytes);
    sim_order_put(window->memory() + offset, bytes);
    return HCCL_SUCCESS;
  });
}

SIM_API HcclResult ophook_hccl_raise(HcclComm handle, uint32_t rank, uint64_t offset) {
  return entry("a write into a window", handle, [&](const Comm& comm) {
    const auto window = room_in(comm, rank, offset, sizeof(int32_t));
    auto* flag = reinterpret_cast<int32_t*>(window->memory() + offset);
    need(reinterpret_cast<uintptr_t>(flag) % alignof(int32_t) == 0, HCCL_E_PARA, "a flag at an odd address");
    std::atomic_ref(*flag).store(1, std::memory_order_release);
    return HCCL_SUCCESS;
  });
}

}  // extern "C"
