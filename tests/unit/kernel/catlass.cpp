// How CATLASS writes kernels: with the compiler's own words for functions, and one function object for each kind of
// core.
#include "kernel_operator.h"
#ifdef HOST
#include "catlass_host.h"
#endif

#define DEVICE __forceinline__[aicore]
#define HOST_DEVICE __forceinline__[host, aicore]

template <class T>
HOST_DEVICE constexpr T min(const T& a, const T& b) {
  return a < b ? a : b;
}

struct Kernel {
  DEVICE Kernel() {}

  template <int32_t CORE_TYPE = g_coreType>
  DEVICE void operator()(__gm__ float* z) {
    AscendC::GlobalTensor<float> to;
    to.SetGlobalBuffer(z + 16 * (CORE_TYPE == AscendC::AIC ? 0 : 1 + AscendC::GetSubBlockIdx()), 16);
    for (uint32_t i = 0; i < min(uint32_t(16), uint32_t(20)); ++i) to(i) = float(CORE_TYPE * 10 + i);
    AscendC::DataCacheCleanAndInvalid<float, AscendC::CacheLine::ENTIRE_DATA_CACHE, AscendC::DcciDst::CACHELINE_OUT>(
        to);
  }
};

#ifdef SPECIALIZED
struct OneSided {
  template <int32_t CORE_TYPE = g_coreType>
  DEVICE void operator()(__gm__ float* z);

  template <>
  DEVICE void operator()<AscendC::AIC>(__gm__ float* z) {
    Kernel()(z);
  }

  template <>
  DEVICE void operator()<AscendC::AIV>(__gm__ float* z) {
    Kernel()(z);
  }
};
#else
using OneSided = Kernel;
#endif

template <int32_t CORE_TYPE>
DEVICE void cube_alone() {
  static_assert(CORE_TYPE == AscendC::AIC);  // of the other kind of core's part nothing is instantiated
}

extern "C" __global__ __aicore__ void cores(GM_ADDR z) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  if ASCEND_IS_AIC {
    cube_alone<g_coreType>();
  }
  OneSided()(reinterpret_cast<__gm__ float*>(z));
}
