// Uses of device memory: tasks and copies while they run. Memory that is freed under them stays mapped until they are
// done, so that a program which frees too early gets an error or garbage, as on a device, and not a signal.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>

#include "trap.h"
#include "memory.h"
#include "state.h"

namespace sim {

std::atomic<uint64_t> memory_epoch{1};

namespace {

// A thread's use: the epoch in which it began, 0 where it uses none. Never freed, and taken over by later threads.
struct Use {
  std::atomic<uint64_t> since{0};
  std::atomic<bool> taken{true};
  Use* next = nullptr;
};
std::atomic<Use*> uses{nullptr};

Use* new_use() {
  for (Use* use = uses.load(); use; use = use->next)
    if (bool free = false; use->taken.compare_exchange_strong(free, true)) return use;
  auto* use = new Use;
  use->next = uses.load();
  while (!uses.compare_exchange_weak(use->next, use)) {
  }
  return use;
}

struct OfThread {
  Use* use = new_use();
  int depth = 0;
  ~OfThread() {
    use->since = 0;
    use->taken = false;
  }
};
OfThread& of_thread() {
  thread_local OfThread own;
  return own;
}

struct Retired {
  uint64_t epoch;
  uintptr_t begin;
  size_t size;
  Bare as;
};
// Never destroyed: streams' threads may outlive static destructors.
struct Waiting {
  std::mutex mutex;
  std::deque<Retired> ranges;
  std::atomic<bool> any{false};
  size_t kept = 0;
};
Waiting& waiting() {
  static auto* instance = new Waiting;
  return *instance;
}
constexpr size_t kMostKept = 16384;  // ranges of freed addresses that strict mode keeps unused

std::mutex opening;
std::atomic<int> users{0};

void bare(const Retired& range) {
  auto* memory = reinterpret_cast<void*>(range.begin);
  const bool keep = strict_memory() && waiting().kept < kMostKept && range.as == Bare::unmapped;
  waiting().kept += keep;
  if (keep || range.as == Bare::reserved)
    mmap(memory, range.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  else munmap(memory, range.size);
}

// Call with the mutex held.
void give_back_unused() {
  uint64_t oldest = UINT64_MAX;
  for (Use* use = uses.load(); use; use = use->next)
    if (const uint64_t since = use->since.load(); since && since < oldest) oldest = since;
  auto& ranges = waiting().ranges;
  while (!ranges.empty() && ranges.front().epoch <= oldest) {
    bare(ranges.front());
    ranges.pop_front();
  }
  waiting().any = !ranges.empty();
}

struct sigaction before;

void on_fault(int signal, siginfo_t* info, void* context) {
  char where[400], text[640], thread[16] = "";
  describe_memory(info->si_addr, 1, where, sizeof where, true);
  if (*where) {
    const auto writes = wrote(context);
    const char* did = !writes ? "used" : *writes ? "wrote" : "read";
    pthread_getname_np(pthread_self(), thread, sizeof thread);
    const int length = snprintf(text, sizeof text,
                                "[simulated Ascend] strict memory: the host %s device memory in thread %s: %s; copy it "
                                "with aclrtMemcpy\n",
                                did, thread, where);
    if (length > 0) [[maybe_unused]]
      const auto written = write(2, text, std::min(size_t(length), sizeof text - 1));
  }
  // The access is repeated when this returns, and goes to who was asked before.
  sigaction(signal, &before, nullptr);
}

}  // namespace

bool strict_memory() {
  static const bool on = switched_on("OPHOOK_SIM_STRICT_MEMORY");
  return on;
}

void report_stray_accesses() {
  if (!strict_memory()) return;
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &before);
}

bool memory_is_open() { return users.load() > 0; }

void retire(uintptr_t begin, size_t size, Bare as) {
  std::lock_guard lock(waiting().mutex);
  waiting().ranges.push_back({memory_epoch.fetch_add(1) + 1, begin, size, as});
  give_back_unused();
}

void mapped_again(uintptr_t begin, size_t size) {
  std::lock_guard lock(waiting().mutex);
  std::erase_if(waiting().ranges, [&](const Retired& range) {
    return range.as == Bare::reserved && range.begin < begin + size && begin < range.begin + range.size;
  });
}

}  // namespace sim

using namespace sim;

void sim_memory_open(void) {
  OfThread& own = of_thread();
  if (own.depth++ > 0) return;
  own.use->since.store(memory_epoch.load());
  if (!strict_memory()) return;
  std::lock_guard lock(opening);
  if (users++ == 0) protect_device_memory(true);
}

void sim_memory_close(void) {
  OfThread& own = of_thread();
  if (--own.depth > 0) return;
  if (strict_memory()) {
    std::lock_guard lock(opening);
    if (--users == 0) protect_device_memory(false);
  }
  own.use->since.store(0, std::memory_order_release);
  if (waiting().any.load(std::memory_order_relaxed)) {
    std::lock_guard lock(waiting().mutex);
    give_back_unused();
  }
}
