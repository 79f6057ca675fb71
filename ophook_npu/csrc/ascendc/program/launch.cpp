#include "ascendc/program/launch.h"

#include <link.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "aicpu/guard.h"
#include "ascendc/program/binary.h"
#include "ascendc/include/ascendc/simt.h"
#include "ascendc/runtime/options.h"
#include "core/order_api.h"

extern "C" __attribute__((visibility("hidden"))) int ophook_printf(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = ophook::rt::print_list(true, format, arguments);
  va_end(arguments);
  return length;
}

namespace ophook::program {

// What sim/program.py writes for a source that is compiled for each kind of core.
struct OfCube {
  const char* type;
  Call call;
};
extern "C" __attribute__((weak, visibility("hidden"))) const OfCube __start_ophook_cube[], __stop_ophook_cube[];

namespace {

constexpr int kAicoreException = 507015;  // ACL_ERROR_RT_AICORE_EXCEPTION
constexpr int kAicpuException = 507018;   // ACL_ERROR_RT_AICPU_EXCEPTION
constexpr uint64_t kMostBlocks = 65535;

std::map<std::string, int>& kinds() {
  static std::map<std::string, int> all;
  return all;
}

struct Known {
  Bound (*bind)(const void* const* arguments);
  std::vector<size_t> sizes;
  std::vector<uint64_t> keys;
  bool any_key;
  ophook_binary_kernel told;
};
std::map<std::string, Known>& named() {
  static std::map<std::string, Known> all;
  return all;
}

struct Task {
  const char* name;
  uint64_t blocks;
  Bound work;
  uint64_t tiling_key = 0;
  int kind = -1;  // a call's of the twin; -1: as the kernel's text says, wherever that stands
};

void entry(Task* task) { task->work.run(); }

int kind_of(const Task& task) {
  if (task.kind >= 0) return task.kind;
  const auto found = kinds().find(task.name);
  return found == kinds().end() ? 0 : found->second;
}

// One line of JSON a launch, for `ophook-npu kernel run`; without it what is wrong goes to standard error.
void tell(const Task& task, const char* report, const char* summary) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (report) {
    if (std::FILE* file = std::fopen(std::getenv("OPHOOK_KERNEL_REPORT"), "a")) {
      std::fprintf(file, "{\"kernel\":\"%s\",\"blocks\":%llu,\"report\":%s}\n", task.name,
                   (unsigned long long)task.blocks, report);
      std::fclose(file);
      return;
    }
  }
  if (*summary) std::fprintf(stderr, "[simulated Ascend] the kernel %s has errors:\n%s\n", task.name, summary);
}

// How many bytes of registered memory of the host begin there.
size_t registered(const void* pointer) {
  if (!sim_memory_reach(pointer, 1)) return 0;
  size_t low = 1, high = 2;
  while (sim_memory_reach(pointer, high)) low = high, high *= 2;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (sim_memory_reach(pointer, middle) ? low : high) = middle;
  }
  return low;
}

// What `<<<>>>` launches belongs to no operator, so it has no group: as on a device, GetHcclContext gives nothing.
constexpr ascendc_wires kNoGroups{[](const void*, ascendc_group*) { return 0; },
                                  [](const void*, uint32_t, int) -> void* { return nullptr; },
                                  [](const void*, const ascendc_collective*, char*, size_t) { return 1; }};

thread_local const Task* running = nullptr;

// `__gm__` variables of a kernel's source lie in the library that holds it, which is one that needs the runtime of
// kernels, by its name or its path: the part of it that is mapped around one.
struct Mapped {
  uintptr_t address, begin = 0, end = 0;
};
bool holds_kernels(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* first = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    const char* names = nullptr;
    for (const auto* entry = first; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    for (const auto* entry = first; names && entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_NEEDED && std::strstr(names + entry->d_un.d_val, "libophook_ascendc.so")) return true;
  }
  return false;
}
int look(dl_phdr_info* info, size_t, void* argument) {
  auto& mapped = *static_cast<Mapped*>(argument);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = begin + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && mapped.address >= begin && mapped.address < end)
      return holds_kernels(*info) ? (mapped.begin = begin, mapped.end = end, 1) : -1;
  }
  return 0;
}

int allocation(const void* pointer, void** begin, size_t* bytes) {
  if (sim_memory_block(pointer, begin, bytes) >= 0) return 1;
  *begin = const_cast<void*>(pointer);
  if ((*bytes = registered(pointer))) return 1;
  Mapped mapped{reinterpret_cast<uintptr_t>(pointer)};
  if (dl_iterate_phdr(look, &mapped) <= 0) return 0;
  // An array of the host's that was handed over is none.
  for (const Pointer& given : running->work.pointers) {
    const auto address = reinterpret_cast<uintptr_t>(given.address);
    if (!given.device && address >= mapped.begin && address < mapped.end) return 0;
  }
  *begin = reinterpret_cast<void*>(mapped.begin);
  return (*bytes = mapped.end - mapped.begin) > 0;
}

int run(void* argument) {
  auto* task = static_cast<Task*>(argument);
  running = task;
  std::vector<ascendc_memory> memory{{"launch", task, 0, 0, 5, 1}};
  std::vector<std::string> names;
  names.reserve(task->work.pointers.size());
  for (const Pointer& pointer : task->work.pointers) {
    size_t left = 0;
    names.push_back("argument " + std::to_string(&pointer - task->work.pointers.data() + 1));
    if (sim_memory_device(pointer.address, &left) < 0 && !(left = registered(pointer.address))) {
      if (!pointer.device) continue;
      sim_fail(kAicoreException,
               "the kernel %s: %s, %p, was freed before the kernel ran; wait for the stream before aclrtFree",
               task->name, names.back().c_str(), pointer.address);
      std::fprintf(stderr, "%s\n", sim_error_message());
      return kAicoreException;
    }
    memory.push_back(
        {names.back().c_str(), const_cast<void*>(pointer.address), left, left, ASCENDC_ANY, pointer.element});
  }
  char summary[2048] = "";
  char* report = nullptr;
  ascendc_options options = rt::options_of(*sim_current_soc(), kind_of(*task));
  if (task->kind >= 0) options.sequential = 1;
  const ascendc_launch launch{reinterpret_cast<void*>(&entry),
                              memory.data(),
                              int32_t(memory.size()),
                              int32_t(task->blocks),
                              task->tiling_key,
                              options,
                              summary,
                              sizeof summary,
                              nullptr,
                              allocation,
                              sim_order_touched,
                              &kNoGroups,
                              nullptr,
                              0};
  const int failed = ascendc_run(&launch, std::getenv("OPHOOK_KERNEL_REPORT") ? &report : nullptr);
  tell(*task, report, summary);
  ascendc_release(report);
  return failed ? sim_fail(kAicoreException, "the kernel %s has errors:\n%s", task->name, summary) : 0;
}

}  // namespace

Call of_cube(const char* type) {
  for (const OfCube* one = __start_ophook_cube; one != __stop_ophook_cube; ++one)
    // Between the lists of two objects the linker may leave room.
    if (one->type && !std::strcmp(one->type, type)) return one->call;
  return nullptr;
}

Declared::Declared(const char* kernel, int kind) {
  if (kind >= 0) kinds()[kernel] = kind;  // else its text does not say, here: vector cores, if it does nowhere
}

Named::Named(const char* kernel, Bound (*bind)(const void* const* arguments), std::vector<size_t> sizes) {
  named()[kernel] = {bind, std::move(sizes), {}, true, {}};
}
Named::Named(const char* kernel, Bound (*bind)(const void* const* arguments), std::vector<size_t> sizes,
             std::vector<uint64_t> keys) {
  named()[kernel] = {bind, std::move(sizes), std::move(keys), false, {}};
}

uint32_t enqueue(const char* kernel, uint64_t blocks, void* stream, Bound work, int architecture) {
  sim_init();
  const sim_soc* soc = sim_current_soc();
  const bool newer = soc && rt::options_of(*soc, 0).architecture == 310;
  auto task = std::make_unique<Task>(Task{kernel, blocks, std::move(work)});
  for (Pointer& pointer : task->work.pointers) pointer.device = sim_memory_device(pointer.address, nullptr) >= 0;
  int failed;
  if (!blocks || blocks > kMostBlocks)
    failed = sim_fail(107000, "%s<<<%llu, …>>>: that many blocks; allowed: 1 to %llu", kernel,
                      (unsigned long long)blocks, (unsigned long long)kMostBlocks);
  else if (architecture && newer != (architecture == 310))
    failed = sim_fail(107000, "%s was compiled with --npu-arch=%s; the device is an %s", kernel,
                      newer ? "dav-2201" : "dav-3510", soc ? soc->name : "unknown one");
  else
    failed = sim_launch_telling_later(stream, kernel, run, task.release(),
                                      [](void* argument) { delete static_cast<Task*>(argument); });
  // Few programs look at a launch's result: the device's compiler prints, and so does this.
  if (failed) std::fprintf(stderr, "%s\n", sim_error_message());
  return uint32_t(failed);
}

uint32_t enqueue_threads(const char* kernel, const rt::SimtLaunch& sizes, void* stream, Bound work, int architecture) {
  sim_init();
  const sim_soc* soc = sim_current_soc();
  const uint64_t threads = rt::total(sizes.threads), most = soc ? rt::options_of(*soc, 0).ub - rt::kSimtCache : 0;
  int failed = 0;
  if (!threads || threads > rt::kSimtThreads)
    failed = sim_fail(107000, "%s<<<…>>>: %llu threads in a block; allowed: 1 to %u", kernel,
                      (unsigned long long)threads, rt::kSimtThreads);
  else if (sizes.dynamic > most)
    failed = sim_fail(107000, "%s<<<…>>>: %llu bytes of dynamic UB; allowed: up to %u", kernel,
                      (unsigned long long)sizes.dynamic, unsigned(most));
  if (!failed) return enqueue(kernel, rt::total(sizes.blocks), stream, std::move(work), architecture);
  std::fprintf(stderr, "%s\n", sim_error_message());
  return uint32_t(failed);
}

uint32_t enqueue_cpu(const char* kernel, uint64_t blocks, void* stream, std::function<uint32_t()> work) {
  struct CpuTask {
    const char* kernel;
    std::function<uint32_t()> work;
    static int run(void* self) {
      const CpuTask& task = *static_cast<CpuTask*>(self);
      const auto fail = [&](const std::string& why) {
        return sim_fail(kAicpuException, "the AI CPU kernel %s: %s", task.kernel, why.c_str());
      };
      try {
        uint32_t status = 0;
        aicpu::guarded([&] { status = task.work(); });
        return status ? fail("it returned " + std::to_string(status)) : 0;
      } catch (const std::exception& error) {
        return fail(error.what());
      } catch (...) {
        return fail("it throws something that is no std::exception");
      }
    }
  };
  sim_init();
  const int failed =
      blocks ? sim_launch(stream, kernel, CpuTask::run, new CpuTask{kernel, std::move(work)},
                          [](void* self) { delete static_cast<CpuTask*>(self); })
             : sim_fail(107000, "%s<<<0, …>>>: no blocks; allowed: 1, as more do nothing more on an AI CPU", kernel);
  if (failed) std::fprintf(stderr, "%s\n", sim_error_message());
  return uint32_t(failed);
}

int run_now(const char* kernel, uint64_t blocks, int kind, uint64_t tiling_key, Bound work) {
  Task task{kernel, blocks, std::move(work), tiling_key, kind};
  return run(&task);
}

}  // namespace ophook::program

const ophook_binary_kernel* ophook_binary_find(const char* name) {
  using namespace ophook::program;
  if (!name && named().size() != 1) return nullptr;
  const auto found = name ? named().find(name) : named().begin();
  if (found == named().end()) return nullptr;
  const auto kind = kinds().find(found->first);
  Known& known = found->second;
  known.told = {found->first.c_str(), kind == kinds().end() ? 0 : kind->second,    known.sizes.data(),
                known.sizes.size(),   known.any_key ? nullptr : known.keys.data(), known.keys.size()};
  return &known.told;
}

int ophook_binary_launch(const char* name, uint64_t blocks, uint64_t tiling_key, const void* const* arguments) {
  using namespace ophook::program;
  const auto found = named().find(name);
  if (found == named().end()) return sim_fail(kAicoreException, "no kernel %s", name);
  Task task{found->first.c_str(), blocks, found->second.bind(arguments), tiling_key};
  return run(&task);
}
