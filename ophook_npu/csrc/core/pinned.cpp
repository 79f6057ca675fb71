// Pinned memory of the host while a copy uses it: whoever touches it before having waited for the copy is found by the
// protection of its pages.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trap.h"
#include "memory.h"
#include "order_state.h"
#include "stream.h"

namespace sim::order {
namespace {

const uintptr_t kPage = uintptr_t(sysconf(_SC_PAGESIZE));

// With the mutex held, as all below.
void protect(State& all, uintptr_t begin, uintptr_t end) {
  for (uintptr_t from = begin, to; from < end; from = to) {  // as many pages at once as have the same protection
    int allowed = PROT_READ | PROT_WRITE;
    to = end;
    for (const InUse& use : all.in_use) {
      if (use.open || use.pages_end <= from) continue;
      if (from < use.pages) {
        to = std::min(to, use.pages);
        continue;
      }
      to = std::min(to, use.pages_end);
      allowed = use.copy.access->writes ? int(PROT_NONE) : allowed & ~PROT_WRITE;
    }
    mprotect(reinterpret_cast<void*>(from), to - from, allowed);
  }
}

void drop(State& all, const std::vector<InUse>& over) {
  for (const InUse& use : over) {
    protect(all, use.pages, use.pages_end);
    // Another copy of the same memory may go by this address, and be under way.
    retire(reinterpret_cast<uintptr_t>(use.second), use.pages_end - use.pages, Bare::unmapped);
  }
}

struct sigaction faults_before;

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto where = reinterpret_cast<uintptr_t>(info->si_addr);
  const bool writes = wrote(context).value_or(false);
  const Stream* stream = Stream::here();
  const Task* function = stream ? stream->host_function : nullptr;  // other tasks are ordered otherwise
  const bool of_host = !stream || function;
  if (of_host) called();
  bool ours = sim_is_pinned(info->si_addr) != 0;  // or was until now
  State& all = state();
  std::lock_guard lock(all.mutex);
  for (InUse& use : all.in_use) {
    if (where < use.pages || use.pages_end <= where) continue;
    ours = true;
    if (use.open) continue;
    use.open = true;
    const bool ordered =
        function && (at(use.before, stream->line.index) >= function->count || before(use.copy, *function->clock));
    if (of_host && !ordered && use.begin <= where && where < use.end) {
      const auto host = std::make_shared<const Access>(Access{function ? all.name(function->name) : kOwnCode,
                                                              function ? stream->id : -1,
                                                              writes || !use.copy.access->writes,
                                                              {1},
                                                              1,
                                                              here()});
      tell(all, *use.copy.access, *host, where, where + 1, false);
    }
    protect(all, use.pages, use.pages_end);
  }
  // Who was asked before is asked about everything else: the access is repeated.
  if (!ours) sigaction(signal, &faults_before, nullptr);
}

}  // namespace

void give_back(State& all) {
  std::vector<InUse> over;
  std::erase_if(all.in_use, [&](const InUse& use) {
    if (!before(use.copy, all.host.clock)) return false;
    over.push_back(use);
    return true;
  });
  drop(all, over);
}

void give_back_all(State& all) {
  const auto over = std::move(all.in_use);
  all.in_use.clear();
  drop(all, over);
}

void use_pinned(State& all, uintptr_t begin, size_t size, const Epoch& copy, const Clock& clock) {
  static const bool once = [] {
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, &faults_before) == 0;
  }();
  if (!once) return;
  const uintptr_t pages = begin / kPage * kPage, end = (begin + size + kPage - 1) / kPage * kPage;
  // With an old size of 0 a shared mapping is made a second time; memory that has none is not looked at. It has the
  // protection that the first has now.
  void* second = mremap(reinterpret_cast<void*>(pages), 0, end - pages, MREMAP_MAYMOVE);
  if (second == MAP_FAILED) return;
  mprotect(second, end - pages, PROT_READ | PROT_WRITE);
  all.in_use.push_back({begin, begin + size, copy, clock, pages, end, static_cast<char*>(second)});
  protect(all, pages, end);
}

void freed_host(const char* by, const void* pointer, size_t size) {
  called();
  const auto begin = reinterpret_cast<uintptr_t>(pointer);
  State& all = state();
  std::lock_guard lock(all.mutex);
  std::vector<InUse> over;
  std::erase_if(all.in_use, [&](const InUse& use) {
    if (use.end <= begin || begin + size <= use.begin) return false;
    const auto host = std::make_shared<const Access>(Access{all.name(by), -1, true, {int64_t(size)}, 1, here()});
    tell(all, *use.copy.access, *host, use.begin, use.end, false);
    over.push_back(use);
    return true;
  });
  drop(all, over);
  all.shadow.forget(begin, begin + size);
}

}  // namespace sim::order

using namespace sim;

void* sim_order_second_address(const void* pointer, size_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(pointer);
  if (order::on()) {
    order::State& all = order::state();
    std::lock_guard lock(all.mutex);
    for (const order::InUse& use : all.in_use)
      if (use.begin <= begin && begin + size <= use.end) return use.second + (begin - use.pages);
  }
  return const_cast<void*>(pointer);
}
