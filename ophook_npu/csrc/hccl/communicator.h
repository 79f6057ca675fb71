// What every call of HCCL does: find its communicator, check its arguments as far as one rank can, launch a task on the
// stream. The task checks itself against its peers when it runs (link.h).
//
// How libhccl fails: inside, what is wrong is thrown as Refused; entry() turns it into the HcclResult that the function
// returns, and leaves the reason with the function's name for aclGetRecentErrMsg. What ranks find out about each other
// when a task runs is the error of their streams, on every rank.
#pragma once

#include <atomic>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>

#include "core/sim.h"
#include "hccl/hccl.h"
#include "link.h"

namespace sim::hccl {

// Memory of a rank that the others write, as this process has it.
class Window {
 public:
  explicit Window(uint64_t size);  // memory of its own
  // Of a rank's own device memory: makes its pages such that other processes can map them. Throws std::runtime_error.
  Window(void* memory, uint64_t size);
  // What another rank told of its own.
  struct Told {
    int64_t process;
    int32_t file;
    uint64_t inode, offset, size;
  };
  explicit Window(const Told& told);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  Told told() const;
  char* memory() const { return memory_; }
  uint64_t size() const { return size_; }

 private:
  int file_ = -1;  // of the own
  size_t offset_ = 0;
  void* mapped_ = nullptr;  // of another rank's, or memory of its own
  size_t mapped_size_ = 0;
  char* memory_;
  uint64_t size_;
};

struct Communicator {
  // `members` are the ranks of the program that it has, `rank` is the place of this one among them.
  Communicator(const Meeting& meeting, const std::vector<uint32_t>& members, uint32_t rank);
  const uint32_t ranks, rank;
  const std::vector<uint32_t> members, twins;  // twins.h
  const Meeting meeting;                       // of this one
  bool runs(uint32_t peer) const { return twins[peer] == peer; }
  bool all_run() const;
  uint64_t stated = 0;  // by command, a bit: that what it gives is derived
  std::string name;
  int device = -1;               // in this process, which may have other ranks of the same name
  std::chrono::seconds timeout;  // of one collective
  uint64_t buffer;               // bytes of each of its two buffers (HCCL_BUFFSIZE)

  std::mutex mutex;  // of what follows
  std::unique_ptr<Link> link;
  uint32_t serial = 0;
  bool lost = false;     // a rank is gone
  uint32_t resumed = 0;  // how often

  std::atomic<bool> suspended{false};

  std::mutex windows_mutex;  // of what follows, by rank; a rank that writes meets no other
  std::map<uint32_t, std::shared_ptr<Window>> windows;
  std::shared_ptr<void> kernel_context;  // kernels.cpp
};
using Comm = std::shared_ptr<Communicator>;
using Windows = std::map<uint32_t, std::shared_ptr<Window>>;
// Tells the peers of a window of this rank and maps theirs. None goes on before its peers have mapped its own.
Windows exchange_windows(Communicator& comm, const Window& own, const std::vector<uint32_t>& peers);
// The communicator of this handle, or nullptr.
Comm find(HcclComm handle);
using Body = std::function<void(Communicator&)>;

// Leaves the reason with the core and returns `code`.
HcclResult refuse(HcclResult code, const char* function, const std::string& what);
// Calls `checked` with the communicator; what it throws as Refused is named after the function.
HcclResult entry(const char* function, HcclComm handle, const std::function<HcclResult(const Comm&)>& checked);

struct Refused {
  HcclResult code;
  std::string what;
};
void need(bool holds, HcclResult code, const std::string& what);
void not_on(std::initializer_list<const char*> families);  // products that a function's page leaves out
size_t sized(HcclDataType dtype);
void in_group(const Comm& comm, uint32_t rank, const char* what);

// A buffer that the caller gave, and what its function calls it.
struct Given {
  const char* name;
  char* memory;  // null for 0 bytes
  uint64_t bytes;
};
Given device_memory(const void* pointer, uint64_t bytes, const char* name);
// What a task reads and writes of the own device's memory.
struct Buffers {
  std::vector<Given> read, written;
  std::vector<std::string> pairs{};  // where it meets single ranks: by names that both give, a turn for each
};
// Runs `body` on the stream, or at once (here.h). `name` must live for ever.
HcclResult launch(const Comm& comm, aclrtStream stream, const char* name, Buffers buffers, Body body,
                  bool meets_all = true);  // every rank of the communicator launches it
// The same when the task comes to it: memory may have been freed since. Throws std::runtime_error.
void still_there(const char* function, std::initializer_list<Given> buffers);

}  // namespace sim::hccl
