// What threads read and write. The compiler calls a function before each access (-fsanitize=thread, without its
// library), which is given the address: here each is looked at.
#include <dlfcn.h>

#include <cstdio>
#include <mutex>
#include <set>

#include "access.h"
#include "simt.h"

namespace ophook::rt {

// ---- where in the source ----

At place_of(const void* pc) {
  static std::mutex mutex;
  static std::map<const void*, At> known;
  static std::set<std::string> files;
  std::lock_guard<std::mutex> lock(mutex);
  const auto [it, fresh] = known.try_emplace(pc, At{nullptr, 0});
  if (!fresh) return it->second;
  Dl_info info{};
  if (!dladdr(pc, &info) || !info.dli_fname) return it->second;
  std::string quoted;
  for (const char* p = info.dli_fname; *p; ++p) *p == '\'' ? quoted += "'\\''" : quoted += *p;
  const auto offset = reinterpret_cast<uintptr_t>(pc) - 1 - reinterpret_cast<uintptr_t>(info.dli_fbase);
  const std::string command = text("addr2line -i -e '%s' 0x%llx", quoted.c_str(), (unsigned long long)offset);
  std::FILE* told = popen(command.c_str(), "r");  // of binutils, which a compiler needs, too
  if (!told) return it->second;
  char line[4096];
  while (std::fgets(line, sizeof line, told)) {
    std::string file = line;
    const size_t colon = file.rfind(':');
    if (colon == std::string::npos) continue;
    const int number = std::atoi(file.c_str() + colon + 1);
    file.resize(colon);
    if (number <= 0 || file.find("csrc/ascendc/") != std::string::npos) continue;  // ours: who calls it is meant
    it->second = {files.insert(file).first->c_str(), number};
    break;
  }
  pclose(told);
  return it->second;
}

std::string Simt::who(uint32_t stamp) const {
  const uint32_t thread = SimtCell::thread(stamp);
  const int block = core.launch.simt->block(SimtCell::interval(stamp));
  std::string said = "several threads";
  if (thread != SimtCell::kMany && thread < threads.size()) said = "thread " + shown(threads[thread].index);
  return block == core.index ? said : text("block %d", block);
}

void Simt::told(Kind kind, const void* pc, const At* where, std::string what, const uint8_t* data) {
  const At at = where ? *where : place_of(pc);
  std::string buffer;
  if (data >= ub_ && data < ub_end_) {
    buffer = text("byte %zu of UB", size_t(data - ub_));
  } else if (const Argument* a = core.launch.memory.find(data)) {
    const auto element = uint64_t(a->element);
    buffer = text("element %llu of %s", (unsigned long long)(uint64_t(data - a->data) / element), a->name.c_str());
  }
  core.report(kind, "thread", at, what + (buffer.empty() ? "" : ": " + buffer));
}

// ---- one access ----

bool Simt::in_ub(const uint8_t* data, uint32_t bytes, bool write, bool atomic, At where) {
  const auto offset = uint32_t(data - ub_);
  LocalMemory& memory = core.memory->at(Memory::ub);
  if (offset < buffer_ || offset + bytes > buffer_end_) {
    const Buffer* inside = nullptr;
    for (const Buffer& b : core.given_away())
      if (b.memory == Memory::ub && offset >= b.offset && offset + bytes <= b.offset + b.bytes) inside = &b;
    if (inside) {
      buffer_ = inside->offset, buffer_end_ = inside->offset + inside->bytes;
    } else if (whole || !core.given_away().empty() || data + bytes > ub_end_) {
      core.report(Kind::local_bounds, "thread", where,
                  text("%s %u bytes at byte %u of UB, which are in no array of the block", write ? "writes" : "reads",
                       bytes, offset));
      return false;
    }
  }
  uint8_t* const written = memory.written(offset, bytes);
  touched_[offset / kBlock] |= write ? 2 : 1;
  touched_[(offset + bytes - 1) / kBlock] |= write ? 2 : 1;
  if (write && !atomic) {
    std::memset(written, 1, bytes);
  } else if (core.launch.checks() && !all_written(written, bytes)) {
    core.report(Kind::uninitialized, "thread", where,
                text("reads %u bytes at byte %u of UB, which nobody wrote", bytes, offset));
    std::memset(written, 1, bytes);  // once
  }
  return true;
}

bool Simt::in_global(uint8_t* data, uint32_t bytes, bool write, At where) {
  Argument* const a = core.launch.memory.find(data, bytes);
  const char* const does = write ? "writes" : "reads";
  if (!a || data >= a->data + a->allocated) {
    core.report(Kind::global_bounds, "thread", where,
                data ? text("%s %u bytes of no device memory%s", does, bytes, near(core.launch, data, bytes).c_str())
                     : text("%s %u bytes at the null pointer", does, bytes));
    return false;
  }
  const auto first = uint64_t(data - a->data), last = first + bytes;
  if (last > a->bytes) {
    const bool padded = last <= a->allocated && last <= (a->bytes + 31) / 32 * 32;
    const auto element = uint64_t(a->element);
    core.report(padded ? Kind::global_padding : Kind::global_bounds, "thread", where,
                text("%s element %llu of %s, which has %llu", does, (unsigned long long)(first / element),
                     a->name.c_str(), (unsigned long long)(a->bytes / element)));
    return padded;
  }
  if (write && !writable(core, *a, "thread", where)) return false;
  argument_ = a->data, argument_end_ = a->data + a->bytes, argument_written_ = !a->is_input() && a->role != 4;
  return true;
}

void Simt::race(const uint8_t* data, uint32_t bytes, bool write, bool atomic, const void* pc, const At* where) {
  SimtShadow& shadow = *core.launch.simt;
  const auto mine = uint32_t(current - threads.data());
  const uint32_t stamp = SimtCell::stamp(interval_, mine, atomic);
  const uint8_t* const end = data + bytes;
  const bool in_ub = data >= ub_ && data < ub_end_;
  // Who made its work visible to others, as the other one did, may have agreed on who comes first.
  auto meets = [&](uint32_t other) {
    if (!other) return false;
    const uint32_t when = SimtCell::interval(other), who = SimtCell::thread(other);
    if (when == interval_)
      return who != mine && !(current->fenced == when && who < threads.size() && threads[who].fenced == when);
    const int block = shadow.block(when);
    return !in_ub && block >= 0 && block != core.index &&
           !(shadow.fenced[size_t(block)] && shadow.fenced[size_t(core.index)]);
  };
  // Lanes of one warp go in step, while none of them takes another branch.
  auto kind = [&](uint32_t other) {
    if (SimtCell::interval(other) != interval_) return Kind::missing_block_order;
    return SimtCell::thread(other) / warpSize == mine / warpSize ? Kind::missing_warp_sync : Kind::missing_sync_threads;
  };
  SimtShadow::Page* page = nullptr;
  uint64_t at = 0;  // in the page
  for (const uint8_t* p = data; p < end; p += page->unit, at += page->unit) {
    if (!page || at >= SimtShadow::kPage) {
      page = &shadow.page(p, uint32_t(end - p));
      at = reinterpret_cast<uintptr_t>(p) % SimtShadow::kPage;
    }
    SimtCell& cell = page->cells[at / page->unit];
    if ((write ? cell.write : cell.read) == stamp) continue;
    // A plain read of what atomic operations change, as of a flag, takes what is there.
    if (meets(cell.write) && !(SimtCell::atomic(cell.write) && (atomic || !write))) {
      if (!write)
        told(kind(cell.write), pc, where,
             text("reads what %s writes, and nothing makes it wait for that", who(cell.write).c_str()), p);
      else if (bytes <= sizeof current->doubtful.before && !atomic && !current->doubtful.data) {
        auto& doubt = current->doubtful;
        doubt.data = const_cast<uint8_t*>(data), doubt.bytes = bytes, doubt.other = cell.write, doubt.pc = pc;
        std::memcpy(doubt.before, data, bytes);
      }
    } else if (write && !atomic && meets(cell.read)) {
      told(kind(cell.read), pc, where,
           text("writes what %s reads, and nothing makes it wait for that", who(cell.read).c_str()), p);
    }
    if (write) {
      cell.write = stamp;
    } else if (SimtCell::interval(cell.read) != interval_ || !cell.read || SimtCell::thread(cell.read) == mine) {
      cell.read = stamp;
    } else {
      cell.read = SimtCell::stamp(interval_, SimtCell::kMany, false);
    }
  }
}

// The write is done by now: where it changed nothing, both wrote the same.
void Simt::settle() {
  auto& doubt = current->doubtful;
  if (!doubt.data) return;
  uint8_t* const data = std::exchange(doubt.data, nullptr);
  if (!std::memcmp(data, doubt.before, doubt.bytes)) return;
  told(Kind::threads_overlap, doubt.pc, nullptr,
       text("writes what %s writes as well, another value", who(doubt.other).c_str()), data);
}

// The function's arguments, which the core's own stack or the launch holds, and where the thread stands, which the
// compiler tells of where it does not optimize.
bool Simt::given(const uint8_t* data) const {
  const auto within = [data](const void* begin, size_t bytes) {
    return data >= begin && data < static_cast<const uint8_t*>(begin) + bytes;
  };
  for (const OphookIndex* one : {&threadIdx, &blockIdx, &blockDim, &gridDim})
    if (within(one, sizeof *one)) return true;
  return within(body_.data, body_.bytes) || core.place->fiber->holds(data);
}

void Simt::access(const void* address, uint32_t bytes, bool write, bool atomic, const void* pc, const At* where) {
  auto* const data = static_cast<uint8_t*>(const_cast<void*>(address));
  SimtThread& thread = *current;
  if (thread.fiber->holds(data) || given(data)) return;
  if (thread.doubtful.data) settle();
  step(pc);
  if (data >= ub_ && data < ub_end_) {
    // Places are looked up where something is wrong alone: the whole runs again with its place.
    const At at = where ? *where : At{nullptr, 0};
    const auto offset = uint32_t(data - ub_);
    const bool plain =
        offset >= buffer_ && offset + bytes <= buffer_end_ &&
        (write || !core.launch.checks() || all_written(core.memory->at(Memory::ub).written(offset, bytes), bytes));
    if (!in_ub(data, bytes, write, atomic, plain || where ? at : place_of(pc))) abandon();
  } else if (data < argument_ || data + bytes > argument_end_ || (write && !argument_written_)) {
    const At at = where ? *where : core.launch.memory.holds(data, bytes) ? At{nullptr, 0} : place_of(pc);
    if (!in_global(data, bytes, write, at)) abandon();
  }
  if (core.launch.checks()) race(data, bytes, write, atomic, pc, where);
  if (write) changed();
  else idles(1);
}

void SimtShadow::refine(Page& page) {
  std::vector<SimtCell> cells(kPage);
  for (size_t i = 0; i < kPage; ++i) cells[i] = page.cells[i / page.unit];
  page.cells.swap(cells);
  page.unit = 1;
}

void SimtShadow::make_room() {
  fold();
  pages_.clear();
  cells_ = 0, last_page_ = ~uint64_t{0};
}

// What of the launch's arguments threads read and wrote, for those who look at the whole of it.
void SimtShadow::fold() {
  for (const auto& [number, page] : pages_) {
    const auto* const begin = reinterpret_cast<const uint8_t*>(number * kPage);
    const size_t count = page.cells.size();
    for (const bool write : {false, true})
      for (size_t i = 0, e; i < count; i = e + 1) {
        auto used = [&](size_t at) { return write ? page.cells[at].write : page.cells[at].read; };
        for (e = i; e < count && used(e); ++e) continue;
        if (e == i) continue;
        const uint8_t *from = begin + i * page.unit, *to = begin + e * page.unit;
        for (Argument& a : launch_.memory.arguments) {
          const uint8_t* const first = std::max<const uint8_t*>(from, a.data);
          const uint8_t* const last = std::min<const uint8_t*>(to, a.data + a.bytes);
          if (first >= last) continue;
          Touch touch;
          touch.end = uint64_t(last - a.data), touch.core = 0;
          (write ? a.writes : a.reads).add(uint64_t(first - a.data), touch, true, [](uint64_t, const Touch&) {});
        }
      }
  }
}

// ---- past the data cache ----

void simt_uncached(const void* address, uint32_t bytes, bool write, At at) {
  Simt* const s = simt();
  if (!s) return;
  s->access(address, bytes, write, true, __builtin_return_address(0), &at);
  s->fence();
  if (!write) s->idles(64);
}
void Simt::fetch(const uint8_t* address, At where) {
  if (address >= ub_ && address < ub_end_)
    core.report(Kind::position, "asc_dcci", where, "the address is in UB; allowed: global memory");
  fence();
  idles(64);
}

void simt_only(const char* call, bool whole, At at) {
  Simt* const s = simt();
  if (!s || s->whole == whole) return;
  s->core.report(Kind::parameter, call, at,
                 whole ? "called by asc_vf_call; allowed: in kernels that are launched with their threads"
                       : "in a kernel that is launched with its threads; allowed: in functions that asc_vf_call calls");
  s->abandon();
}

bool simt_in(Space space, const void* address) {
  Simt* const s = simt();
  if (!s || !address) return false;
  const auto* p = static_cast<const uint8_t*>(address);
  if (space == Space::ubuf) return s->core.memory->at(Memory::ub).holds(p);
  if (space == Space::local) return s->current->fiber->holds(p);
  return !simt_in(Space::ubuf, p) && !simt_in(Space::local, p) && s->core.launch.memory.find(p);
}
const void* simt_base(Space space) {
  Simt* const s = simt();
  if (!s || space == Space::global) return nullptr;
  return space == Space::ubuf ? s->core.memory->at(Memory::ub).data(0, 0) : s->current->fiber->stack();
}

}  // namespace ophook::rt

// ---- what the compiler calls ----

using ophook::rt::simt;
#define OPHOOK_ACCESSES(bytes)                                                            \
  OPHOOK_RT void __tsan_read##bytes(void* p) {                                            \
    if (auto* s = simt()) s->access(p, bytes, false, false, __builtin_return_address(0)); \
  }                                                                                       \
  OPHOOK_RT void __tsan_write##bytes(void* p) {                                           \
    if (auto* s = simt()) s->access(p, bytes, true, false, __builtin_return_address(0));  \
  }                                                                                       \
  OPHOOK_RT void __tsan_unaligned_read##bytes(void* p) {                                  \
    if (auto* s = simt()) s->access(p, bytes, false, false, __builtin_return_address(0)); \
  }                                                                                       \
  OPHOOK_RT void __tsan_unaligned_write##bytes(void* p) {                                 \
    if (auto* s = simt()) s->access(p, bytes, true, false, __builtin_return_address(0));  \
  }
// Host code of the same source counts its references, and the like.
#define OPHOOK_ATOMICS(bits, type)                                                                           \
  OPHOOK_RT type __tsan_atomic##bits##_load(const volatile type* p, int) { return __atomic_load_n(p, 5); }   \
  OPHOOK_RT void __tsan_atomic##bits##_store(volatile type* p, type v, int) { __atomic_store_n(p, v, 5); }   \
  OPHOOK_RT type __tsan_atomic##bits##_exchange(volatile type* p, type v, int) {                             \
    return __atomic_exchange_n(p, v, 5);                                                                     \
  }                                                                                                          \
  OPHOOK_FETCH(bits, type, add)                                                                              \
  OPHOOK_FETCH(bits, type, sub)                                                                              \
  OPHOOK_FETCH(bits, type, and)                                                                              \
  OPHOOK_FETCH(bits, type, or)                                                                               \
  OPHOOK_FETCH(bits, type, xor)                                                                              \
  OPHOOK_FETCH(bits, type, nand)                                                                             \
  OPHOOK_RT int __tsan_atomic##bits##_compare_exchange_strong(volatile type* p, type* c, type v, int, int) { \
    return __atomic_compare_exchange_n(p, c, v, 0, 5, 5);                                                    \
  }                                                                                                          \
  OPHOOK_RT int __tsan_atomic##bits##_compare_exchange_weak(volatile type* p, type* c, type v, int, int) {   \
    return __atomic_compare_exchange_n(p, c, v, 1, 5, 5);                                                    \
  }                                                                                                          \
  OPHOOK_RT type __tsan_atomic##bits##_compare_exchange_val(volatile type* p, type c, type v, int, int) {    \
    __atomic_compare_exchange_n(p, &c, v, 0, 5, 5);                                                          \
    return c;                                                                                                \
  }
#define OPHOOK_FETCH(bits, type, op)                                               \
  OPHOOK_RT type __tsan_atomic##bits##_fetch_##op(volatile type* p, type v, int) { \
    return __atomic_fetch_##op(p, v, 5);                                           \
  }

extern "C" {
OPHOOK_RT void __tsan_init() {}
OPHOOK_RT void __tsan_func_entry(void*) {}
OPHOOK_RT void __tsan_func_exit() {}
OPHOOK_RT void __tsan_vptr_update(void**, void*) {}
OPHOOK_RT void __tsan_vptr_read(void**) {}
OPHOOK_ACCESSES(1)
OPHOOK_ACCESSES(2)
OPHOOK_ACCESSES(4)
OPHOOK_ACCESSES(8)
OPHOOK_ACCESSES(16)
OPHOOK_RT void __tsan_read_range(void* p, size_t bytes) {
  if (auto* s = simt()) s->access(p, uint32_t(bytes), false, false, __builtin_return_address(0));
}
OPHOOK_RT void __tsan_write_range(void* p, size_t bytes) {
  if (auto* s = simt()) s->access(p, uint32_t(bytes), true, false, __builtin_return_address(0));
}
OPHOOK_ATOMICS(8, uint8_t)
OPHOOK_ATOMICS(16, uint16_t)
OPHOOK_ATOMICS(32, uint32_t)
OPHOOK_ATOMICS(64, uint64_t)
OPHOOK_RT void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(5); }
OPHOOK_RT void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(5); }
}
