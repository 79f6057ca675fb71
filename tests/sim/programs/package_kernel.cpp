// A program that loads the kernel of AddCustom out of a package of `kernel build`, tiles by itself, and launches it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"

#define OK(call)                                                                                              \
  do {                                                                                                        \
    if (const int code = (call)) std::printf("%s: %d %s\n", #call, code, aclGetRecentErrMsg()), std::exit(1); \
  } while (0)

struct Tiling {  // as op_host/add_custom_tiling.h lays it out
  uint64_t extent[8], x_stride[8], y_stride[8], inner, tile, tiles_per_row, total_tiles;
  uint32_t dims, x_dense, y_dense, reserved;
};

int main(int, char** arguments) {
  constexpr uint64_t kCount = 40;
  constexpr size_t kBytes = kCount * sizeof(int32_t);
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  void *x = nullptr, *y = nullptr, *z = nullptr, *workspace = nullptr;
  for (void** one : {&x, &y, &z}) OK(aclrtMalloc(one, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<int32_t> numbers(kCount);
  for (uint64_t i = 0; i < kCount; ++i) numbers[i] = int32_t(i);
  OK(aclrtMemcpy(x, kBytes, numbers.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  OK(aclrtMemcpy(y, kBytes, numbers.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));

  aclrtBinHandle binary = nullptr;
  aclrtFuncHandle kernel = nullptr, named = nullptr, other = nullptr;
  OK(aclrtBinaryLoadFromFile(arguments[1], nullptr, &binary));
  OK(aclrtBinaryGetFunctionByEntry(binary, 0, &kernel));
  OK(aclrtBinaryGetFunction(binary, "add_custom", &named));
  const int no_key = aclrtBinaryGetFunctionByEntry(binary, 7, &other);

  const auto launch = [&](uint64_t tile) {
    aclrtArgsHandle list = nullptr;
    aclrtParamHandle at;
    Tiling* tiling = nullptr;
    OK(aclrtKernelArgsInit(kernel, &list));
    for (void** one : {&x, &y, &z, &workspace}) OK(aclrtKernelArgsAppend(list, one, sizeof *one, &at));
    OK(aclrtKernelArgsAppendPlaceHolder(list, &at));
    OK(aclrtKernelArgsGetPlaceHolderBuffer(list, at, sizeof *tiling, reinterpret_cast<void**>(&tiling)));
    *tiling = {{}, {}, {}, kCount, tile, (kCount + tile - 1) / tile, (kCount + tile - 1) / tile, 0, 1, 1, 0};
    OK(aclrtKernelArgsFinalize(list));
    OK(aclrtLaunchKernelWithConfig(kernel, 2, stream, nullptr, list, nullptr));
    return aclrtSynchronizeStream(stream);
  };
  OK(launch(24));
  OK(aclrtMemcpy(numbers.data(), kBytes, z, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  int wrong = 0;
  for (uint64_t i = 0; i < kCount; ++i) wrong += numbers[i] != int32_t(2 * i);
  // A tile that is larger than the unified buffer: the kernel's checks see it, and the stream fails.
  const int failed = launch(1 << 20);
  std::printf("%d wrong, one handle: %d, key 7: %d, a tile too large: %d\n", wrong, named == kernel, no_key, failed);
}
