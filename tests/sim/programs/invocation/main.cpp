#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "scaling.h"
#include "tiling/platform/platform_ascendc.h"
#ifdef ASCENDC_CPU_DEBUG
#include "tikicpulib.h"
extern "C" __global__ __aicore__ void scaled(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, Scaling scaling);
#else
#include "acl/acl.h"
#include "aclrtlaunch_scaled.h"
#endif

constexpr uint32_t kCount = 64, kBlocks = 2;
constexpr size_t kBytes = kCount * sizeof(float);

// More elements than there are, with an argument.
int main(int count, char**) {
  Scaling scaling{count > 1 ? 2 * kCount : kCount, 3.0f};
  std::vector<float> x(kCount, 2.0f), y(kCount), kept(kCount);
#ifdef ASCENDC_CPU_DEBUG
  auto* from = static_cast<uint8_t*>(AscendC::GmAlloc(kBytes));
  auto* to = static_cast<uint8_t*>(AscendC::GmAlloc(kBytes));
  auto* workspace = static_cast<uint8_t*>(AscendC::GmAlloc(kBytes));
  memcpy_s(from, kBytes, x.data(), kBytes);
  ICPU_SET_TILING_KEY(7);
  ICPU_RUN_KF(scaled, kBlocks, from, to, workspace, scaling);  // on both kinds of cores, as nobody chose one
  AscendC::SetKernelMode(KernelMode::AIV_MODE);
  ICPU_RUN_KF(scaled, kBlocks, from, to, workspace, scaling);
  std::memcpy(y.data(), to, kBytes);
  std::memcpy(kept.data(), workspace, kBytes);
  AscendC::GmFree(from), AscendC::GmFree(to), AscendC::GmFree(workspace);
#else
  void *from, *to, *workspace, *stream;
  const size_t system = platform_ascendc::PlatformAscendCManager::GetInstance()->GetLibApiWorkSpaceSize();
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtCreateStream(&stream);
  aclrtMalloc(&from, kBytes, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMalloc(&to, kBytes, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMalloc(&workspace, system + kBytes, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(from, kBytes, x.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE);
  ACLRT_LAUNCH_KERNEL(scaled)(kBlocks, stream, from, to, workspace, &scaling);
  std::printf("status %d\n", aclrtSynchronizeStream(stream));
  aclrtMemcpy(y.data(), kBytes, to, kBytes, ACL_MEMCPY_DEVICE_TO_HOST);
  aclrtMemcpy(kept.data(), kBytes, static_cast<char*>(workspace) + system, kBytes, ACL_MEMCPY_DEVICE_TO_HOST);
  aclrtDestroyStream(stream);
  aclFinalize();
#endif
  std::printf("%s, %u vector cores: %g %g %g\n", std::memcmp(y.data(), kept.data(), kBytes) ? "different" : "the same",
              platform_ascendc::PlatformAscendCManager::GetInstance()->GetCoreNumAiv(), y[0], y[8], y[63]);
}
