// Symbols that torch_npu or torchair need in order to load, for features that are not simulated. Each fails and names
// itself; none returns success. The C ABI lets one parameterless body answer for any argument list, so this file must
// not include the headers that declare them.
#include "core/sim.h"

#define UNIMPLEMENTED(name) \
  extern "C" SIM_API int name() { return sim_unimplemented(#name); }

// operator dump
// Saturation mode only (see aclrtSetDeviceSatMode). A torch_npu that is built without optimisation links to these two.
UNIMPLEMENTED(aclrtGetOverflowStatus)
UNIMPLEMENTED(aclrtResetOverflowStatus)
UNIMPLEMENTED(aclmdlInitDump)
UNIMPLEMENTED(aclmdlSetDump)
UNIMPLEMENTED(aclmdlFinalizeDump)
UNIMPLEMENTED(aclopStartDumpArgs)
UNIMPLEMENTED(aclopStopDumpArgs)
// kernels loaded as binaries
UNIMPLEMENTED(aclrtBinaryLoadFromData)
UNIMPLEMENTED(aclrtBinaryGetFunction)
UNIMPLEMENTED(aclrtGetFunctionAddr)
UNIMPLEMENTED(rtDevBinaryRegister)
UNIMPLEMENTED(rtFunctionRegister)
UNIMPLEMENTED(rtGetC2cCtrlAddr)
UNIMPLEMENTED(rtKernelLaunch)
// memory shared between processes
UNIMPLEMENTED(aclrtDeviceGetBareTgid)
UNIMPLEMENTED(aclrtMemExportToShareableHandle)
UNIMPLEMENTED(aclrtMemImportFromShareableHandle)
UNIMPLEMENTED(aclrtMemSetPidToShareableHandle)
// profiling
UNIMPLEMENTED(MsprofGetHashId)
UNIMPLEMENTED(MsprofRegisterCallback)
UNIMPLEMENTED(MsprofReportAdditionalInfo)
UNIMPLEMENTED(MsprofReportApi)
UNIMPLEMENTED(MsprofReportCompactInfo)
UNIMPLEMENTED(MsprofSysCycleTime)
