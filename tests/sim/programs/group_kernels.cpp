// All ranks in one process: a device and a thread each. argv[1] is the package's library.
#include <dlfcn.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "hccl/hccl.h"

namespace {

constexpr int kRanks = 3, kCount = 96, kAllReduce = 2;
using First = int (*)(const aclTensor*, char*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                      const aclTensor*, uint64_t*, aclOpExecutor**);
using Second = int (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

aclTensor* tensor(void* data) {
  const int64_t size = kCount, step = 1;
  return aclCreateTensor(&size, 1, ACL_FLOAT, &step, 0, ACL_FORMAT_ND, &size, 1, data);
}

int wrong(int rank, HcclComm comm, First first, Second second) {
  aclrtContext context = nullptr;
  aclrtStream stream = nullptr;
  if (aclrtCreateContext(&context, rank) || aclrtSetCurrentContext(context) || aclrtCreateStream(&stream)) return -1;
  char group[128] = {};
  if (HcclGetCommName(comm, group)) return -2;
  std::vector<float> values(kCount, float(rank + 1)), sums(kCount);
  void *x = nullptr, *y = nullptr, *workspace = nullptr;
  constexpr size_t kBytes = kCount * sizeof(float);
  if (aclrtMalloc(&x, kBytes, ACL_MEM_MALLOC_HUGE_FIRST) || aclrtMalloc(&y, kBytes, ACL_MEM_MALLOC_HUGE_FIRST)) return -3;
  if (aclrtMemcpy(x, kBytes, values.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE)) return -4;
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  if (first(tensor(x), group, 0, kCount, 1, 2, kAllReduce, kCount, 0, tensor(y), &size, &executor)) return -5;
  if (size && aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST)) return -6;
  if (second(workspace, size, executor, stream) || aclrtSynchronizeStream(stream)) {
    std::fprintf(stderr, "%s\n", aclGetRecentErrMsg());
    return -7;
  }
  if (aclrtMemcpy(sums.data(), kBytes, y, kBytes, ACL_MEMCPY_DEVICE_TO_HOST)) return -8;
  int off = 0;
  for (const float sum : sums) off += sum != kRanks * (kRanks + 1) / 2;
  HcclCommDestroy(comm);
  return off;
}

}  // namespace

int main(int, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_NOW);
  if (!library || aclInit(nullptr)) return 1;
  const auto first = reinterpret_cast<First>(dlsym(library, "aclnnGroupDemoGetWorkspaceSize"));
  const auto second = reinterpret_cast<Second>(dlsym(library, "aclnnGroupDemo"));
  HcclComm comms[kRanks];
  int32_t devices[kRanks] = {0, 1, 2};
  if (HcclCommInitAll(kRanks, devices, comms)) return 2;
  int found[kRanks];
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] { found[rank] = wrong(rank, comms[rank], first, second); });
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < kRanks; ++rank) std::printf("device %d: %d wrong\n", rank, found[rank]);
  return aclFinalize();
}
