// Functions that acl's headers declare and nothing simulates: a program that calls one hears its name, and one that
// does not is linked. Older headers declare some of them otherwise, or not at all, so they have names of their own
// here.
#include "core/sim.h"
#include "core/state.h"

#define ABSENT(function)                              \
  SIM_API int absent_##function() __asm__(#function); \
  int absent_##function() { return sim_fail(sim::kFeatureNotSupported, #function " is not simulated"); }

extern "C" {

ABSENT(aclGenGraphAndDumpForOp)  // acl_op_compiler.h
ABSENT(aclDestroyGraphDumpOpt)
ABSENT(aclrtDeviceGetUuid)  // acl_rt.h
ABSENT(aclrtGetMemUsageInfo)
ABSENT(aclskOptimize)  // super_kernel.h
ABSENT(aclskScopeBegin)
ABSENT(aclskScopeEnd)
SIM_API void* absent_aclCreateGraphDumpOpt() __asm__("aclCreateGraphDumpOpt");
void* absent_aclCreateGraphDumpOpt() {
  sim_fail(sim::kFeatureNotSupported, "aclCreateGraphDumpOpt is not simulated");
  return nullptr;
}

}  // extern "C"
