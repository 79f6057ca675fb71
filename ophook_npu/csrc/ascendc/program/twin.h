// Kernels as functions of a host program: ICPU_RUN_KF and what goes with it, under the names of the vendor's headers
// for runs on the CPU (tikicpulib.h, cpu_debug_launch.h). Each launch runs at once, core by core and with all checks;
// what it finds goes to standard error, and the program then ends with status 1 where it would have ended with 0.
#pragma once

#include "kernel_operator.h"
#include "launch.h"
#include "securec.h"

enum class KernelMode { MIX_MODE = 0, AIC_MODE, AIV_MODE };

#pragma GCC visibility push(hidden)
namespace ophook::program {

// The processor that the target names which the program links, tikicpulib::Ascend910B1.
#ifdef OPHOOK_TWIN_SOC
constexpr const char* kTwin = OPHOOK_TWIN_SOC;
#else
constexpr const char* kTwin = nullptr;
#endif

void* gm_alloc(const char* soc, size_t size);
void gm_free(void* pointer);
void set_kernel_mode(KernelMode mode);
void set_tiling_key(uint64_t key);
void run_twin(const char* soc, const char* kernel, uint64_t blocks, Bound work);

}  // namespace ophook::program
#pragma GCC visibility pop

namespace AscendC {

using ::KernelMode;
// Memory that kernels and the program share, set to 0; nullptr where there is none left.
inline void* GmAlloc(size_t size) { return ::ophook::program::gm_alloc(::ophook::program::kTwin, size); }
inline void GmFree(void* pointer) { ::ophook::program::gm_free(pointer); }
// Which cores the kernels of later calls run on. Without it they run on both kinds.
inline void SetKernelMode(KernelMode mode) { ::ophook::program::set_kernel_mode(mode); }

}  // namespace AscendC

#define ICPU_SET_TILING_KEY(key) ::ophook::program::set_tiling_key(key)
#define ICPU_RUN_KF(kernel, blocks, ...)                                 \
  ::ophook::program::run_twin(::ophook::program::kTwin, #kernel, blocks, \
                              {[&] { (kernel)(__VA_ARGS__); }, ::ophook::program::pointers_in(__VA_ARGS__)})
