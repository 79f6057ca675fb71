// What ACL's headers of torch_npu 2.13 declare and those of older wheels do not: the simulator is built against either.
// An older torch_npu calls none of it; C++ programs need the newer headers.
#pragma once

#include "acl/acl.h"

#ifdef ACL_STREAM_DEVICE_USE_ONLY
#define OPHOOK_NEWER_ACL 1  // what takes many types that older headers lack is left out there
#else
#define ACL_STREAM_DEVICE_USE_ONLY 0x00000020U
#ifndef ACL_STREAM_CPU_SCHEDULE
#define ACL_STREAM_CPU_SCHEDULE 0x00000010U
#endif

constexpr auto ACL_MEM_HUGE1G = aclrtMemAttr(14), ACL_MEM_P2P_HUGE1G = aclrtMemAttr(17);

typedef void (*aclrtOpExceptionCallback)(aclrtExceptionInfo* exceptionInfo, void* userData);
constexpr int ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US = 8;
enum aclrtFuncAttribute { ACL_FUNC_ATTR_KERNEL_TYPE = 1, ACL_FUNC_ATTR_KERNEL_RATIO = 2 };
enum aclrtKernelType {
  ACL_KERNEL_TYPE_AICORE = 0,
  ACL_KERNEL_TYPE_CUBE = 1,
  ACL_KERNEL_TYPE_VECTOR = 2,
  ACL_KERNEL_TYPE_MIX = 3,
};

enum aclrtMemSharedHandleType { ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT = 1, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC = 2 };
struct aclrtMemFabricHandle {
  uint8_t data[128];
};
#ifndef ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_HCCS
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_HCCS 1
enum aclrtIpcMemAttrType { ACL_RT_IPC_MEM_ATTR_ACCESS_LINK };
#endif

constexpr auto ACL_STREAM_ATTR_PRIORITY = aclrtStreamAttr(5);
constexpr uint32_t ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE = 1;
enum aclrtStreamState { ACL_RT_STREAM_STATE_CREATE_POST = 1, ACL_RT_STREAM_STATE_DESTROY_PRE };
typedef void (*aclrtStreamStateCallback)(aclrtStream stm, aclrtStreamState state, void* args);

enum aclrtDeviceState {
  ACL_RT_DEVICE_STATE_SET_PRE = 0,
  ACL_RT_DEVICE_STATE_SET_POST,
  ACL_RT_DEVICE_STATE_RESET_PRE,
  ACL_RT_DEVICE_STATE_RESET_POST,
};
typedef void (*aclrtDeviceStateCallback)(int32_t deviceId, aclrtDeviceState state, void* args);
enum aclrtDeviceTaskAbortStage { ACL_RT_DEVICE_TASK_ABORT_PRE = 0, ACL_RT_DEVICE_TASK_ABORT_POST };
typedef int32_t (*aclrtDeviceTaskAbortCallback)(int32_t deviceId, aclrtDeviceTaskAbortStage stage, uint32_t timeout,
                                                void* args);
enum aclRegisterCallbackType { ACL_REG_TYPE_ACL_MODEL };
typedef aclError (*aclInitCallbackFunc)(const char* configStr, size_t len, void* userData);
typedef aclError (*aclFinalizeCallbackFunc)(void* userData);
#endif

#ifndef ACL_EVENT_WAIT_EXTERNAL  // 2.10.0.post7 has the rest
typedef void* aclmdlRICondHandle;
enum aclmdlRICondHandleFlag { ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT = 1 };
enum aclmdlRICondTaskType {
  ACL_MODEL_RI_COND_TYPE_IF = 0,
  ACL_MODEL_RI_COND_TYPE_WHILE = 1,
  ACL_MODEL_RI_COND_TYPE_SWITCH = 2,
};
struct aclmdlRICondTaskParams {
  aclmdlRICondHandle handle;
  aclmdlRICondTaskType type;
  uint32_t size;
  aclmdlRI* modelRIArray;
};
#endif
