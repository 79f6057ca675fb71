// The C interface of libophook_ascendc.so: how Python and vendor packages run a kernel.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wires.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ascendc_memory {  // one argument of the kernel
  const char* name;
  void* data;
  uint64_t bytes;
  uint64_t allocated;  // from data on; more than bytes where the allocation is padded
  int32_t role;        // 0 input, 1 output, 2 read and written, 3 workspace, 4 tiling,
                       // 5 data is itself an integer, 6 a float in its lower half
  int32_t element;     // size of an element in bytes
} ascendc_memory;

// The role of an output that its caller may have filled: what a kernel leaves of it is told, and is no error.
#define ASCENDC_FILLED 8
// That of an input which its caller may want changed: a write to it is told, and is no error.
#define ASCENDC_GIVEN 9
// That of memory which a kernel got the address of: read, written, or its workspace.
#define ASCENDC_ANY 7

typedef struct ascendc_options {
  int32_t checks;        // 0: bounds of local memory only
  int32_t strict;        // findings of the level `strict`, too
  int32_t on_wait;       // copies take effect when something waits for them
  int32_t architecture;  // of architectures.inc
  int32_t kind;          // 0 vector cores only, 1 one cube with two vector cores, 2 one cube with one, 3 cubes only
  uint64_t ub, l1, l0a, l0b, l0c, bt, fb;  // sizes of the local memories in bytes
  int32_t timeline;                        // 1: the report has an estimate of when each operation runs
  // 1: compiled for a run on the CPU, which carries out one instruction after the other, and whose kernels may leave
  // out what makes pipes wait: that is of the level `strict` then.
  int32_t sequential;
  int32_t both_units;  // a core has a cube and a vector unit: whatever its kind, a kernel runs on cores of one kind
} ascendc_options;

typedef struct ascendc_launch {
  void* entry;  // the kernel's function
  const ascendc_memory* arguments;
  int32_t argument_count;
  int32_t block_dim;
  uint64_t tiling_key;
  ascendc_options options;
  char* summary;  // NULL, or where the first errors go as text
  size_t summary_capacity;
  void* cube_entry;  // NULL, or the function as it was compiled for cube cores
  // NULL, or what finds the allocation of device memory that holds an address which no argument holds: not 0 if there
  // is one.
  int (*allocation)(const void* address, void** begin, size_t* bytes);
  // NULL, or what is told, at the end, of the device memory that the kernel read and wrote.
  void (*touched)(int writes, const void* address, uint64_t bytes);
  // NULL, or the ranks that it communicates with, and what GetHcclContext gives for each group of the operator.
  const ascendc_wires* wires;
  const void* const* contexts;
  size_t context_count;
  // NULL, or whether a kernel can reach these bytes: what it reads behind its arguments is nobody's then, and no error.
  int (*reach)(const void* address, size_t bytes);
} ascendc_launch;

typedef struct ascendc_counters {
  uint64_t copied_in, copied_out, copies, elements, instructions, unaligned,
      moved;         // moved: bytes between local memories
  uint64_t used[7];  // the most that one core took of each local memory, in the order of ascendc_options
} ascendc_counters;

// Runs the kernel on every core. Returns 0; 1 where an error was found. *report is JSON, the caller's to free() with
// ascendc_release; without `report`, and in a program of `kernel run`, what the kernel prints goes to standard output.
__attribute__((visibility("default"))) int ascendc_run(const ascendc_launch* launch, char** report);
__attribute__((visibility("default"))) void ascendc_release(char* report);
// A signal that ends this process writes first where it was: a line "library offset" for each call, in hexadecimal.
__attribute__((visibility("default"))) void ascendc_tell_crashes(int fd);
// ASCENDC_LAYOUT as the runtime was compiled: a package may bring one of another version.
#define ASCENDC_LAYOUT ((uint64_t)sizeof(ascendc_launch) << 32 | (uint64_t)sizeof(ascendc_memory))
__attribute__((visibility("default"))) uint64_t ascendc_layout(void);

#ifdef __cplusplus
}
namespace ophook::rt {
using Options = ascendc_options;
using Counters = ascendc_counters;
}  // namespace ophook::rt
#endif
