// How the Hccl objects of a kernel reach the communicator of its ranks: what libhccl gives to the runtime of kernels.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ascendc_group {
  char name[129];  // HcclGetCommName; "" for a kernel that runs without ranks
  uint32_t rank, ranks;
  uint32_t product;   // 2 and 3: Atlas A2 and A3; 950; 0: whatever lists a function
  uint32_t patience;  // seconds that a rank waits for the others
  uint64_t window;    // bytes of each window
} ascendc_group;

// What every rank does at once. The blocks of the ranks lie one after the other in `from` and `to`.
typedef struct ascendc_collective {
  uint32_t command, dtype, op;  // HcclCMDType, HcclDataType, HcclReduceOp
  const void* from;
  void* to;
  uint64_t count;                   // elements, as HCCL's function of this name counts them
  const uint64_t *sent, *received;  // of all-to-all with lists: elements to and from each rank
} ascendc_collective;

typedef struct ascendc_wires {
  // Not 0 if `context` is one; what it is goes to `out`.
  int (*group)(const void* context, ascendc_group* out);
  // The window of a rank as this process has it; NULL where it has none.
  void* (*window)(const void* context, uint32_t rank, int out);
  // Returns when the collective is over: 0, or not 0 with the reason.
  int (*run)(const void* context, const ascendc_collective* collective, char* reason, size_t capacity);
} ascendc_wires;

#ifdef __cplusplus
}
#endif
