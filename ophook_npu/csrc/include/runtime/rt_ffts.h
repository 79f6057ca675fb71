// Of the runtime below AscendCL what programs with kernels of cube and vector cores call: where the flags between the
// two lie, which a kernel takes and gives to SetSyncBaseAddr.
#ifndef OPHOOK_RUNTIME_RT_FFTS_H_
#define OPHOOK_RUNTIME_RT_FFTS_H_
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
typedef int32_t rtError_t;
rtError_t rtGetC2cCtrlAddr(uint64_t* addr, uint32_t* len);
#ifdef __cplusplus
}
#endif
#endif
