// Host code in a header of kernels, as CATLASS has it: it includes AscendCL, and launches what a template makes.
#pragma once
#include <acl/acl.h>

namespace adapters {
template <class T>
__global__ __aicore__ void adapter(T, uint64_t) {}
}  // namespace adapters

template <class T>
struct Device {
  aclError run(aclrtStream stream, uint32_t blocks) {
    adapters::adapter<T><<<blocks, nullptr, stream>>>(T(), 0);
    return ACL_SUCCESS;
  }
};
