// Functions of features that are not simulated: torch_npu or torchair need some of them in order to load, C++ clients
// link to others without calling them. Each fails and names itself; none returns success. The C ABI lets one
// parameterless body answer for any argument list, so this file must not include the headers that declare them.
#include <cstdio>
#include <string_view>

#include "core/sim.h"

static bool there_is(std::string_view product) {
  const sim_soc* soc = sim_current_soc();
  return !soc || std::string_view(soc->name).starts_with(product);
}
static int not_here(const char* name) {
  constexpr int kFeatureNotSupported = 207000;
  return sim_fail(kFeatureNotSupported, "%s: %s does not have it", name, sim_current_soc()->name);
}

#define UNIMPLEMENTED(name) \
  extern "C" SIM_API int name() { return sim_unimplemented(#name); }
// torch_npu looks at no code of these, so the program would go on without a word.
#define UNIMPLEMENTED_ALOUD(name, effect)                                                                     \
  extern "C" SIM_API int name() {                                                                             \
    static const int said = fprintf(stderr, "[simulated Ascend] %s is not implemented: %s\n", #name, effect); \
    return (void)said, sim_unimplemented(#name);                                                              \
  }
#define REFUSED(name) UNIMPLEMENTED(name)
// By CANN's pages only products of this name have it: on others it fails as it does there.
#define REFUSED_ELSEWHERE(name, soc) \
  extern "C" SIM_API int name() { return there_is(soc) ? sim_unimplemented(#name) : not_here(#name); }
#define REFUSED_AS(type, value, name) \
  extern "C" SIM_API type name() { return sim_unimplemented(#name), value; }
#define REFUSED_POINTER(name) REFUSED_AS(void*, nullptr, name)
#define REFUSED_NUMBER(name) REFUSED_AS(unsigned long, 0ul, name)
#define REFUSED_UNDEFINED(name) REFUSED_AS(int, -1, name)  // an enumerator's "undefined"
#define REFUSED_NOTHING(name) \
  extern "C" SIM_API void name() { sim_unimplemented(#name); }

#include "acl/refused/refused.inc"

// parameters of operators: no page says what the files hold
UNIMPLEMENTED_ALOUD(aclopStartDumpArgs,
                    "no parameters of operators are written, and no kernel is compiled for one shape")
UNIMPLEMENTED(aclopStopDumpArgs)
// kernels loaded as binaries
UNIMPLEMENTED(aclrtGetFunctionAddr)
UNIMPLEMENTED(rtDevBinaryRegister)
UNIMPLEMENTED(rtFunctionRegister)
UNIMPLEMENTED(rtKernelLaunch)
UNIMPLEMENTED(rtDevBinaryUnRegister)
UNIMPLEMENTED(rtKernelLaunchWithFlagV2)
UNIMPLEMENTED(rtKernelLaunchWithHandleV2)
UNIMPLEMENTED(rtLaunch)
UNIMPLEMENTED(rtRegisterAllKernel)
// profiling
UNIMPLEMENTED(MsprofGetHashId)
UNIMPLEMENTED(MsprofRegisterCallback)
UNIMPLEMENTED(MsprofReportAdditionalInfo)
UNIMPLEMENTED(MsprofReportApi)
UNIMPLEMENTED(MsprofReportCompactInfo)
UNIMPLEMENTED(MsprofSysCycleTime)
