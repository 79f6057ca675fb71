// Threads of Ascend 950: each on a stack of its own, one at a time. The lanes of a warp go in step from one access to
// memory to the next, those behind first, until all of them wait or have ended; then another warp goes. What the lanes
// do together takes place where all wait, of those that stand in the first such place of the source.
#include "simt.h"

#include <chrono>

#include "access.h"
#include "ascendc/enums.h"

__thread OphookIndex threadIdx, blockIdx, blockDim, gridDim;

namespace ophook::rt {
namespace {

thread_local Simt* running = nullptr;
constexpr uint32_t kUsualBound = 1024, kLanes = warpSize;
// A thread that reads so often and changes nothing lets others run; where none changes anything for so many rounds,
// they wait for what never comes.
constexpr uint32_t kIdle = 4096, kRounds = 20000;
constexpr size_t kKept = kSimtThreads;

// Stacks that no thread has, for the next launch of this thread of the host. A pointer: the room for thread-local
// variables of libraries is small.
thread_local std::unique_ptr<std::vector<std::unique_ptr<Fiber>>> fibers;

dim3 at_of(uint64_t index, const dim3& sizes) {
  return dim3(unsigned(index % sizes.x), unsigned(index / sizes.x % sizes.y), unsigned(index / sizes.x / sizes.y));
}

// The blocks as the kernel sees them; `kernel`: how it was launched, where it is one of threads.
dim3 blocks_of(const Launch& launch, const SimtLaunch* kernel) {
  return kernel ? kernel->blocks : dim3(unsigned(launch.blocks * launch.subs));
}
void set(OphookIndex& index, const dim3& to) { index = {to.x, to.y, to.z}; }

template <typename T>
T value_of(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

Simt* simt() { return running; }

void simt_main() {
  Simt& s = *running;
  try {
    s.body_.call(s.body_.data);
  } catch (const Stopped&) {
    s.stopped_ = true;
  }
  s.settle();
  s.current->state = SimtThread::kDone;
  ++s.changes_;
}

Simt::Simt(Core& c, const SimtLaunch* kernel, dim3 sizes, SimtBody body, At where)
    : core(c),
      at(where),
      whole(kernel),
      sizes_(sizes),
      block_(at_of(uint64_t(c.block) * uint64_t(c.launch.subs) + uint64_t(c.sub), blocks_of(c.launch, kernel))),
      blocks_(blocks_of(c.launch, kernel)),
      body_(body) {
  threads.reserve(total(sizes));
  for (uint64_t i = 0; i < total(sizes); ++i) threads.emplace_back(at_of(i, sizes));
  LocalMemory& ub = c.memory->at(Memory::ub);
  ub_ = ub.data(0, 0), ub_end_ = ub_ + ub.size();
  touched_.assign(ub.size() / kBlock, 0);
  if (!c.launch.simt) c.launch.simt = std::make_shared<SimtShadow>(c.launch);
  c.launch.simt->fenced.resize(c.launch.cores.size());
  interval_ = c.launch.simt->next(c.index);
}

std::string Simt::shown(const dim3& t) const {
  return sizes_.y > 1 || sizes_.z > 1 ? text("(%u, %u, %u)", t.x, t.y, t.z) : text("%u", t.x);
}

Simt::~Simt() {
  for (SimtThread& each : threads)
    if (each.fiber) forget(each);
}

void Simt::forget(SimtThread& thread) {
  thread.fiber->restart();
  if (fibers->size() < kKept) fibers->push_back(std::move(thread.fiber));
  thread.fiber.reset();
}

void Simt::enter(SimtThread& thread) {
  if (!thread.fiber) {
    if (!fibers) fibers = std::make_unique<std::vector<std::unique_ptr<Fiber>>>();
    if (fibers->empty()) {
      thread.fiber = std::make_unique<Fiber>(simt_main);
    } else {
      thread.fiber = std::move(fibers->back());
      fibers->pop_back();
    }
  }
  Simt* const outer = std::exchange(running, this);
  current = &thread;
  set(threadIdx, thread.index), set(blockIdx, block_), set(blockDim, sizes_), set(gridDim, blocks_);
  thread.fiber->enter();
  running = outer;
  current = nullptr;
  if (thread.state != SimtThread::kDone) return;
  if (stopped_) forget(thread);  // it may have left in the middle
  else fibers->push_back(std::move(thread.fiber));
}

void Simt::wait(SimtThread::State state, At where) {
  settle();
  SimtThread& mine = *current;
  mine.state = state, mine.at = where;
  mine.fiber->leave();
}

void Simt::abandon() {
  SimtThread& mine = *current;
  stopped_ = true;
  mine.state = SimtThread::kDone;
  mine.fiber->leave();
  __builtin_unreachable();
}

void Simt::idles(uint32_t how) {
  if ((current->idle += how) < kIdle) return;
  current->idle = 0;
  wait(SimtThread::kSpins, {nullptr, 0});
}

void Simt::fence() {
  current->fenced = interval_;
  core.launch.simt->fenced[size_t(core.index)] = true;
}

void Simt::step(const void* pc) {
  SimtThread& mine = *current;
  mine.pc = pc;
  if (alone_) return;
  mine.state = SimtThread::kAccess;
  mine.fiber->leave();
}

// Until each of its lanes waits at a barrier, spins or has ended.
void Simt::run_warp(size_t first) {
  const size_t end = std::min(first + kLanes, threads.size());
  while (!stopped_) {
    for (size_t i = first; i < end && !stopped_; ++i) {
      SimtThread& t = threads[i];
      if (t.state == SimtThread::kNew || t.state == SimtThread::kReady) enter(t);
    }
    size_t meets = 0, spins = 0, live = 0;
    const void* behind = nullptr;
    for (size_t i = first; i < end; ++i) {
      const SimtThread& t = threads[i];
      live += t.state != SimtThread::kDone, meets += t.state == SimtThread::kMeets;
      spins += t.state == SimtThread::kSpins;
      if (t.state == SimtThread::kAccess && (!behind || t.pc < behind)) behind = t.pc;
    }
    alone_ = live == 1;
    if (behind) {
      for (size_t i = first; i < end && !stopped_; ++i)
        if (threads[i].state == SimtThread::kAccess && threads[i].pc == behind) enter(threads[i]);
    } else if (meets && (!spins || impatient_)) {
      meet(first);
    } else {
      break;
    }
  }
  alone_ = false;
}

// All threads are at the barrier: they go on. False where some have ended.
bool Simt::release() {
  size_t ended = 0;
  const SimtThread *done = nullptr, *waits = nullptr;
  for (const SimtThread& t : threads) {
    if (t.state == SimtThread::kDone) ++ended, done = &t;
    else waits = &t;
    if (t.state == SimtThread::kBarrier && t.group_count) {
      core.report(Kind::deadlock, "sync", t.at,
                  text("thread %s waits for its group of %u threads, of which some never come here",
                       shown(t.index).c_str(), t.group_count));
      return false;
    }
  }
  if (ended) {
    core.report(Kind::deadlock, "asc_syncthreads", waits->at,
                text("%zu of %zu threads have ended and never come here, thread %s the last of them; a device hangs",
                     ended, threads.size(), shown(done->index).c_str()));
    return false;
  }
  interval_ = core.launch.simt->next(core.index);
  for (SimtThread& t : threads) t.state = SimtThread::kReady;
  return true;
}

// Those groups of several warps go on of which all threads are there.
bool Simt::release_groups() {
  bool released = false;
  for (size_t i = 0; i < threads.size(); ++i) {
    const SimtThread& t = threads[i];
    if (t.state != SimtThread::kBarrier || !t.group_count || t.group != i) continue;
    const auto begin = threads.begin() + ptrdiff_t(i), end = begin + t.group_count;
    const uint32_t group = t.group, count = t.group_count;
    if (!std::all_of(begin, end, [&](const SimtThread& one) {
          return one.state == SimtThread::kBarrier && one.group == group && one.group_count == count;
        }))
      continue;
    for (auto one = begin; one != end; ++one) one->state = SimtThread::kReady;
    released = true;
  }
  if (released) interval_ = core.launch.simt->next(core.index), ++changes_;
  return released;
}

void Simt::stuck() {
  const auto one =
      std::find_if(threads.begin(), threads.end(), [](const SimtThread& t) { return t.state == SimtThread::kSpins; });
  core.report(Kind::deadlock, "thread", one->pc ? place_of(one->pc) : at,
              text("thread %s reads in a loop what no other thread changes", shown(one->index).c_str()));
}

void Simt::run() {
  uint64_t seen = changes_;
  uint32_t rounds = 0;
  while (!stopped_) {
    for (size_t first = 0; first < threads.size() && !stopped_; first += kLanes) run_warp(first);
    if (stopped_) break;
    size_t done = 0, spinning = 0;
    for (const SimtThread& t : threads) done += t.state == SimtThread::kDone, spinning += t.state == SimtThread::kSpins;
    if (done == threads.size()) break;
    if (release_groups()) continue;
    if (!spinning) {
      if (!release()) stopped_ = true;
      continue;
    }
    rounds = changes_ == seen ? rounds + 1 : 0;
    seen = changes_;
    impatient_ = rounds > kRounds / 2;  // who reads in a loop waits for those that wait for it
    if (rounds > kRounds) {
      stuck();
      stopped_ = true;
      break;
    }
    for (SimtThread& t : threads)
      if (t.state == SimtThread::kSpins) t.state = SimtThread::kReady;
    Simt* const mine = std::exchange(running, nullptr);
    yield_core();  // what it waits for may be another block's
    running = mine;
  }
  // On the pipes of the core it is one operation.
  Operation op(core, Pipe::V, "asc_vf_call", at);
  Local ub;
  ub.bytes = uint32_t(ub_end_ - ub_);
  for (const int what : {1, 2})
    for (size_t b = 0, e; b < touched_.size(); b = e + 1) {
      for (e = b; e < touched_.size() && touched_[e] & what; ++e) continue;
      if (e == b) continue;
      if (what == 1) op.reads(ub, b * kBlock, (e - b) * kBlock);
      else op.writes(ub, b * kBlock, (e - b) * kBlock);
    }
  const uint64_t most = ub.bytes - kSimtCache;
  if (core.used[int(Memory::ub)] > most)
    core.report(Kind::local_capacity, "asc_vf_call", at,
                text("%u bytes of UB are taken; threads leave %llu at most, of %u, to others than the data cache",
                     core.used[int(Memory::ub)], (unsigned long long)most, ub.bytes));
  if (stopped_) core.stop();
}

// ---- what a warp does together ----

// The lanes that stand in the first place of the source do it: those behind it wait for them.
void Simt::meet(size_t first) {
  const size_t end = std::min(first + kLanes, threads.size());
  const SimtThread* earliest = nullptr;
  for (size_t i = first; i < end; ++i)
    if (threads[i].state == SimtThread::kMeets && (!earliest || threads[i].at.line < earliest->at.line))
      earliest = &threads[i];
  const auto what = earliest->what;
  const At where = earliest->at;
  uint32_t active = 0;
  for (size_t i = first; i < end; ++i) {
    const SimtThread& t = threads[i];
    if (t.state == SimtThread::kMeets && t.what == what && t.at.line == where.line && t.at.file == where.file)
      active |= 1u << (i - first);
  }
  auto each = [&](auto visit) {
    for (size_t i = first; i < end; ++i)
      if (active >> (i - first) & 1) visit(threads[i], int64_t(i - first));
  };
  switch (what) {
    case Meet::active:
    case Meet::ballot: {
      uint32_t mask = 0;
      each([&](SimtThread& t, int64_t lane) {
        if (what == Meet::active || value_of<int32_t>(t.brings)) mask |= 1u << lane;
      });
      const uint32_t both[2] = {mask, active};
      each([&](SimtThread& t, int64_t) { std::memcpy(t.takes, both, sizeof both); });
      break;
    }
    case Meet::add:
    case Meet::max:
    case Meet::min: {
      // A tree of neighbours, so that sums of floats are rounded as documented.
      uint8_t values[kLanes][16];
      uint32_t there = active;
      each([&](SimtThread& t, int64_t lane) { std::memcpy(values[lane], t.brings, t.bytes); });
      const auto how = what == Meet::add ? Atomic::add : what == Meet::max ? Atomic::max : Atomic::min;
      for (uint32_t step = 1; step < kLanes; step *= 2)
        for (uint32_t lane = 0; lane < kLanes; lane += 2 * step) {
          if (!(there >> (lane + step) & 1)) continue;
          if (there >> lane & 1) simt_combine(how, earliest->dtype, values[lane], values[lane + step], nullptr);
          else std::memcpy(values[lane], values[lane + step], 16), there |= 1u << lane;
        }
      each([&](SimtThread& t, int64_t) { std::memcpy(t.takes, values[0], t.bytes); });
      break;
    }
    case Meet::gather:
      each([&](SimtThread& t, int64_t) {
        if (const uint32_t missing = uint32_t(t.lane) & ~active)
          core.report(Kind::deadlock, t.call, where,
                      text("lane %d of the group is not here; allowed: all threads of a group come to the same call",
                           __builtin_ctz(missing)));
        each([&](const SimtThread& other, int64_t lane) {
          std::memcpy(t.everybody + lane * 16, other.brings, other.bytes);
        });
      });
      break;
    default:
      each([&](SimtThread& t, int64_t lane) {
        const int64_t group = lane / t.width * t.width, last = std::min<int64_t>(group + t.width, kLanes) - 1;
        int64_t from = lane;
        if (what == Meet::shfl) from = group + ((t.lane % t.width) + t.width) % t.width;
        else if (what == Meet::shfl_up) from = lane - t.lane < group ? lane : lane - t.lane;
        else if (what == Meet::shfl_down) from = lane + t.lane > last ? lane : lane + t.lane;
        else from = (lane ^ t.lane) > last ? lane : lane ^ t.lane;
        if (from >= 0 && from < int64_t(kLanes) && active >> from & 1) {
          std::memcpy(t.takes, threads[first + size_t(from)].brings, t.bytes);
          return;
        }
        std::memset(t.takes, 0xff, sizeof t.takes);  // a register that nobody wrote
        core.report(
            Kind::uninitialized, t.call, where,
            text("lane %lld takes the value of lane %lld, which is not active here", (long long)lane, (long long)from));
      });
  }
  ++changes_;
  each([&](SimtThread& t, int64_t) { t.state = SimtThread::kReady; });
}

void simt_meet(Meet what, const char* call, Dtype dtype, const void* value, uint32_t bytes, int64_t lane, int32_t width,
               void* result, At at) {
  Simt* const s = running;
  if (!s) return refuse(call, "it is for threads of SIMT: call it in a __simt_vf__ function", at);
  const bool shuffles = what <= Meet::shfl_xor;
  if (shuffles && (width <= 0 || width > warpSize || width % 2)) {
    s->core.report(Kind::parameter, call, at, text("width=%d; allowed: multiples of 2 up to 32", width));
    s->abandon();
  }
  if (what == Meet::shfl_xor && (lane < 0 || lane >= width)) {
    s->core.report(Kind::parameter, call, at,
                   text("lane_mask=%lld; allowed: 0 to width - 1, %d", (long long)lane, width - 1));
    s->abandon();
  }
  SimtThread& t = *s->current;
  t.what = what, t.call = call, t.dtype = dtype, t.bytes = bytes, t.lane = lane, t.width = width;
  if (value) std::memcpy(t.brings, value, bytes);
  s->wait(SimtThread::kMeets, at);
  std::memcpy(result, t.takes, bytes);
}

void simt_gather(const char* call, const void* value, uint32_t bytes, void* everybody, uint32_t lanes, At at) {
  if (running) running->current->everybody = static_cast<uint8_t*>(everybody);
  uint8_t none[16];
  simt_meet(Meet::gather, call, Dtype::other, value, bytes, lanes, warpSize, none, at);
}

void simt_tile(uint32_t first, uint32_t count, At at) {
  SimtThread& mine = *running->current;
  mine.group = first, mine.group_count = count;
  running->wait(SimtThread::kBarrier, at);
  mine.group_count = 0;
}
void simt_bring(const void* value, uint32_t bytes) { std::memcpy(running->current->brings, value, bytes); }
void simt_brought(uint32_t thread, void* value, uint32_t bytes) {
  std::memcpy(value, running->threads[thread].brings, bytes);
}

// ---- calls of kernels ----

namespace {
void call(const SimtLaunch* kernel, dim3 threads, SimtBody body, At at) {
  Core& c = core();
  if (running) refuse("asc_vf_call", "a thread cannot start others", at);
  if (!has_unit(c, true, "asc_vf_call", at)) return;
  if (c.launch.options.architecture != 310)
    refuse("asc_vf_call", "threads of SIMT are Ascend 950's: compile with --npu-arch=dav-3510", at);
  if (!total(threads) || total(threads) > kSimtThreads)
    refuse("asc_vf_call",
           text("dim3(%u, %u, %u): %llu threads; allowed: 1 to %u", threads.x, threads.y, threads.z,
                (unsigned long long)total(threads), kSimtThreads)
               .c_str(),
           at);
  Simt(c, kernel, threads, body, at).run();
}
}  // namespace

void simt_call(dim3 threads, SimtBody body, At at) { call(nullptr, threads, body, at); }
void simt_kernel(const char* name, const SimtLaunch& launch, SimtBody body) {
  simt_dynamic(launch.dynamic);
  call(&launch, launch.threads, body, {name, 0});
}

void simt_dynamic(uint64_t bytes) { core().launch.dynamic_ub = bytes; }
void* simt_dynamic_array() {
  Core& c = core();
  const auto bytes = c.launch.dynamic_ub;
  if (bytes) return local_array(int(AscendC::TPosition::VECCALC), bytes, "extern __ubuf__", {nullptr, 0});
  return c.memory->at(Memory::ub).data(0, 0) + (c.used[int(Memory::ub)] + kBlock - 1) / kBlock * kBlock;
}

void simt_bound(uint64_t most, const char* function, At at) {
  if (!running) refuse(function, "it is a function of threads: launch it with them, or by asc_vf_call", at);
  const uint64_t have = running->threads.size();
  if (!most) most = kUsualBound;
  if (have <= most) return;
  running->core.report(Kind::parameter, function, at,
                       text("%llu threads; __launch_bounds__ allows %llu (1024 where it is not there)",
                            (unsigned long long)have, (unsigned long long)most));
  running->abandon();
}

void simt_barrier(At at) {
  if (!running) refuse("asc_syncthreads", "it is for threads of SIMT: call it in a __simt_vf__ function", at);
  running->wait(SimtThread::kBarrier, at);
}
void simt_fence(bool of_block) {
  if (running && !of_block) running->fence();
}
uint64_t simt_clock() {
  return uint64_t(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace ophook::rt
