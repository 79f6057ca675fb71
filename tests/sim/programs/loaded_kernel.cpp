// A program that loads a kernel of its own and launches it in each way that CANN's page has: x[0] += *by + more.
#include <cstdio>
#include <cstring>

#include "acl/acl.h"

int failures = 0;
#define OK(call)                                                                                            \
  do {                                                                                                      \
    if (const int code = (call)) std::printf("%s: %d %s\n", #call, code, aclGetRecentErrMsg()), ++failures; \
  } while (0)

int main(int, char** arguments) {
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  void *x = nullptr, *by = nullptr;
  OK(aclrtMalloc(&x, 32, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMalloc(&by, 32, ACL_MEM_MALLOC_HUGE_FIRST));
  int32_t value = 0, five = 5, more = 100;
  OK(aclrtMemset(x, 32, 0, 32));
  OK(aclrtMemcpy(by, 4, &five, 4, ACL_MEMCPY_HOST_TO_DEVICE));
  aclrtBinHandle binary = nullptr;
  aclrtFuncHandle kernel = nullptr;
  OK(aclrtBinaryLoadFromFile(arguments[1], nullptr, &binary));
  OK(aclrtBinaryGetFunction(binary, "increase", &kernel));
  if (aclrtBinaryGetFunction(binary, "other", &kernel) != ACL_ERROR_RT_PARAM_INVALID) ++failures;

  // A list with a placeholder: its memory goes to the device with the launch.
  aclrtArgsHandle list = nullptr;
  aclrtParamHandle first, second, third;
  int32_t* held = nullptr;
  OK(aclrtKernelArgsInit(kernel, &list));
  OK(aclrtKernelArgsAppend(list, &x, sizeof x, &first));
  OK(aclrtKernelArgsAppendPlaceHolder(list, &second));
  OK(aclrtKernelArgsAppend(list, &more, sizeof more, &third));
  OK(aclrtKernelArgsGetPlaceHolderBuffer(list, second, 4, reinterpret_cast<void**>(&held)));
  *held = 7;
  if (aclrtLaunchKernelWithConfig(kernel, 1, stream, nullptr, list, nullptr) == 0) ++failures;  // it is not finished
  OK(aclrtKernelArgsFinalize(list));
  OK(aclrtLaunchKernelWithConfig(kernel, 1, stream, nullptr, list, nullptr));  // 107
  more = 0;
  OK(aclrtKernelArgsParaUpdate(list, third, &more, sizeof more));
  OK(aclrtKernelArgsFinalize(list));
  OK(aclrtLaunchKernelWithConfig(kernel, 1, stream, nullptr, list, nullptr));  // 7

  void* each[] = {&x, &by, &more};
  OK(aclrtLaunchKernelWithArgsArray(kernel, 1, stream, nullptr, each));  // 5
  struct {
    void *x, *by;
    int32_t more, value;
  } packed{x, nullptr, 1000, 20};
  aclrtPlaceHolderInfo place{8, 20};
  OK(aclrtLaunchKernelWithHostArgs(kernel, 1, stream, nullptr, &packed, sizeof packed, &place, 1));  // 1020
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtMemcpy(&value, 4, x, 4, ACL_MEMCPY_DEVICE_TO_HOST));
  size_t count = 0, offset = 0, size = 0;
  size_t dynamic = 9;
  OK(aclrtFunctionGetAvailDynUbufPerBlock(kernel, 0, &dynamic));
  if (dynamic || aclrtFunctionGetAvailDynUbufPerBlock(kernel, 1, &dynamic) == 0) ++failures;
  OK(aclrtFunctionGetParamCount(kernel, &count));
  OK(aclrtFunctionGetParamInfo(kernel, 2, &offset, &size));
  OK(aclrtBinaryUnLoad(binary));
  std::printf("%d, %zu parameters, the last has %zu bytes at %zu, %d failures\n", value, count, size, offset, failures);
  return failures;
}
