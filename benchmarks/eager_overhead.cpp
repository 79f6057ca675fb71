// What the simulator adds to an operator: aclnnAddCustom through libcust_opapi.so, libopapi.so and a stream's thread against
// at::add_out on the same memory. CPU time of all threads, so that work moved to another thread still counts.
#include <ATen/ops/add.h>
#include <ATen/ops/from_blob.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "measure.h"
#include "opapi/aclnn.h"

extern "C" aclTensor* aclCreateTensor(const int64_t*, uint64_t, aclDataType, const int64_t*, int64_t, aclFormat, const int64_t*,
                                      uint64_t, void*);
extern "C" int aclDestroyTensor(const aclTensor*);
extern "C" aclScalar* aclCreateScalar(void*, aclDataType);
extern "C" int aclnnAddGetWorkspaceSize(const aclTensor*, const aclTensor*, const aclScalar*, aclTensor*, uint64_t*,
                                        aclOpExecutor**);
extern "C" int aclnnAdd(void*, uint64_t, aclOpExecutor*, aclrtStream);

namespace {

using Phase1 = int (*)(const aclTensor*, const aclTensor*, aclTensor*, uint64_t*, aclOpExecutor**);
using Phase2 = int (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

}  // namespace

int main(int, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  auto phase1 = reinterpret_cast<Phase1>(dlsym(library, "aclnnAddCustomGetWorkspaceSize"));
  auto phase2 = reinterpret_cast<Phase2>(dlsym(library, "aclnnAddCustom"));
  require(aclInit(nullptr), "aclInit");
  require(aclrtSetDevice(0), "aclrtSetDevice");
  aclrtStream stream;
  require(aclrtCreateStream(&stream), "aclrtCreateStream");
  const int64_t sizes[] = {8, 2048}, strides[] = {2048, 1}, elements = 8 * 2048;
  void* memory[3];
  for (void*& block : memory) {
    require(aclrtMalloc(&block, elements * 2, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    require(aclrtMemset(block, elements * 2, 0, elements * 2), "aclrtMemset");
  }
  at::Tensor tensors[3];
  for (int i = 0; i < 3; ++i) tensors[i] = at::from_blob(memory[i], sizes, at::kHalf);

  auto simulated = [&] {
    aclTensor* made[3];
    for (int i = 0; i < 3; ++i) made[i] = aclCreateTensor(sizes, 2, ACL_FLOAT16, strides, 0, ACL_FORMAT_ND, &elements, 1, memory[i]);
    uint64_t workspace;
    aclOpExecutor* executor;
    require(phase1(made[0], made[1], made[2], &workspace, &executor), "phase 1");
    require(phase2(nullptr, workspace, executor, stream), "phase 2");
    for (aclTensor* tensor : made) aclDestroyTensor(tensor);
  };
  aclTensor* kept[3];
  for (int i = 0; i < 3; ++i) kept[i] = aclCreateTensor(sizes, 2, ACL_FLOAT16, strides, 0, ACL_FORMAT_ND, &elements, 1, memory[i]);
  float one = 1;
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  auto add = [&] {
    uint64_t workspace;
    aclOpExecutor* executor;
    require(aclnnAddGetWorkspaceSize(kept[0], kept[1], alpha, kept[2], &workspace, &executor), "aclnnAdd, phase 1");
    require(aclnnAdd(nullptr, workspace, executor, stream), "aclnnAdd, phase 2");
  };
  auto plain = [&] { at::add_out(tensors[2], tensors[0], tensors[1]); };

  const int calls = 2000, rounds = 31;
  std::vector<double> with, without, phases;
  for (int round = 0; round < rounds; ++round) {
    double start = cpu_us();
    for (int i = 0; i < calls; ++i) simulated();
    require(aclrtSynchronizeStream(stream), "synchronize");
    with.push_back((cpu_us() - start) / calls);
    start = cpu_us(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < calls; ++i) add();
    phases.push_back((cpu_us(CLOCK_THREAD_CPUTIME_ID) - start) / calls);
    require(aclrtSynchronizeStream(stream), "synchronize");
    start = cpu_us();
    for (int i = 0; i < calls; ++i) plain();
    without.push_back((cpu_us() - start) / calls);
  }
  auto median = [](std::vector<double>& values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
  };
  printf("%f %f %f\n", median(with), median(without), median(phases));
}
