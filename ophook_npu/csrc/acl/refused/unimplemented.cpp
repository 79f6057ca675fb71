// Functions of features that are not simulated: torch_npu or torchair need some of them in order to load, C++ clients
// link to others without calling them. Each fails and names itself; none returns success.
#include <cstdio>

#include "core/refused.h"

#define UNIMPLEMENTED(...) REFUSED(__VA_ARGS__)
// torch_npu looks at no code of these, so the program would go on without a word.
#define UNIMPLEMENTED_ALOUD(name, effect)                                                                     \
  extern "C" SIM_API int name() {                                                                             \
    static const int said = fprintf(stderr, "[simulated Ascend] %s is not implemented: %s\n", #name, effect); \
    return (void)said, sim_unimplemented(#name);                                                              \
  }

#include "acl/refused/refused.inc"

// parameters of operators: no page says what the files hold
UNIMPLEMENTED_ALOUD(aclopStartDumpArgs,
                    "no parameters of operators are written, and no kernel is compiled for one shape")
UNIMPLEMENTED(aclopStopDumpArgs)
// kernels loaded as binaries
UNIMPLEMENTED(aclrtGetFunctionAddr, rtDevBinaryRegister, rtFunctionRegister, rtKernelLaunch, rtDevBinaryUnRegister,
              rtKernelLaunchWithFlagV2, rtKernelLaunchWithHandleV2, rtLaunch, rtRegisterAllKernel)
// profiling
UNIMPLEMENTED(MsprofGetHashId, MsprofRegisterCallback, MsprofReportAdditionalInfo, MsprofReportApi,
              MsprofReportCompactInfo, MsprofSysCycleTime)
