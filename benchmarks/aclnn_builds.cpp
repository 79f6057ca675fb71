// One eager aclnn call, as torch_npu makes it, in the libopapi of two builds of the simulator, alternating in one
// process: aclnnAdd of 64 floats, and the same without phase 2. CPU time of all threads.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "measure.h"

namespace {

struct Build {
  explicit Build(const char* path) {
    // Deep binding: each build calls its own functions, whatever is there besides.
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library) fprintf(stderr, "%s\n", dlerror()), exit(1);
    auto find = [&](const char* name, auto& out) { out = reinterpret_cast<std::decay_t<decltype(out)>>(dlsym(library, name)); };
    find("aclCreateTensor", tensor);
    find("aclCreateScalar", scalar);
    find("aclDestroyTensor", drop_tensor);
    find("aclDestroyScalar", drop_scalar);
    find("aclDestroyAclOpExecutor", drop_executor);
    find("aclnnAddGetWorkspaceSize", first);
    find("aclnnAdd", second);
  }
  void* (*tensor)(const int64_t*, uint64_t, int, const int64_t*, int64_t, int, const int64_t*, uint64_t, void*);
  void* (*scalar)(void*, int);
  int (*drop_tensor)(const void*);
  int (*drop_scalar)(const void*);
  int (*drop_executor)(void*);
  int (*first)(const void*, const void*, const void*, void*, uint64_t*, void**);
  int (*second)(void*, uint64_t, void*, void*);
};

}  // namespace

int main(int, char** arguments) {
  const Build builds[] = {Build(arguments[1]), Build(arguments[2])};
  require(aclInit(nullptr), "aclInit");
  require(aclrtSetDevice(0), "aclrtSetDevice");
  aclrtStream stream;
  require(aclrtCreateStream(&stream), "aclrtCreateStream");
  const int64_t sizes[] = {8, 8}, strides[] = {8, 1}, elements = 64;
  void* memory[3];
  for (void*& block : memory) {
    require(aclrtMalloc(&block, 256, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    require(aclrtMemset(block, 256, 0, 256), "aclrtMemset");
  }
  float one = 1;
  auto call = [&](const Build& build, bool whole) {
    void* made[3];
    for (int i = 0; i < 3; ++i)
      made[i] = build.tensor(sizes, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, &elements, 1, memory[i]);
    void* alpha = build.scalar(&one, ACL_FLOAT);
    uint64_t workspace;
    void* executor;
    require(build.first(made[0], made[1], alpha, made[2], &workspace, &executor), "phase 1");
    if (whole) require(build.second(nullptr, workspace, executor, stream), "phase 2");
    else build.drop_executor(executor);
    for (void* tensor : made) build.drop_tensor(tensor);
    build.drop_scalar(alpha);
  };
  for (const bool whole : {true, false}) {
    std::vector<double> times[2];
    for (int round = 0; round < 101; ++round)
      for (int which : {0, 1}) {
        const int calls = 1000;
        const double start = cpu_us();
        for (int i = 0; i < calls; ++i) call(builds[which], whole);
        require(aclrtSynchronizeStream(stream), "synchronize");
        times[which].push_back((cpu_us() - start) / calls);
      }
    for (auto& each : times) {
      std::nth_element(each.begin(), each.begin() + each.size() / 2, each.end());
      printf("%f ", each[each.size() / 2]);
    }
  }
}
