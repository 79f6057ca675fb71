// Adds two tensors on an Ascend, by CANN's C++ interface alone: no Python, no torch_npu.
#include <acl/acl.h>
#include <aclnnop/aclnn_add.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

// Says what failed, and ends the program.
static void check(int code, const char* what) {
  if (code == 0) return;
  const char* reason = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s: error %d: %s\n", what, code, reason ? reason : "no message");
  std::exit(1);
}
#define CHECK(call) check(call, #call)

// A tensor of the device, with the memory that it lies in.
struct Tensor {
  explicit Tensor(const std::vector<float>& values, std::vector<int64_t> shape) : bytes(values.size() * sizeof(float)) {
    CHECK(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(memory, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    tensor = aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.data(), 0, ACL_FORMAT_ND, shape.data(),
                             shape.size(), memory);
  }
  ~Tensor() {
    aclDestroyTensor(tensor);
    aclrtFree(memory);
  }
  std::vector<float> values() const {
    std::vector<float> found(bytes / sizeof(float));
    CHECK(aclrtMemcpy(found.data(), bytes, memory, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    return found;
  }
  size_t bytes;
  void* memory = nullptr;
  aclTensor* tensor = nullptr;
};

int main() {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  aclrtContext context = nullptr;
  CHECK(aclrtCreateContext(&context, 0));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  {
    Tensor x({1, 2, 3, 4, 5, 6}, {2, 3}), y({10, 20, 30, 40, 50, 60}, {2, 3}), sum(std::vector<float>(6), {2, 3});
    float two = 2;
    aclScalar* alpha = aclCreateScalar(&two, ACL_FLOAT);

    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    CHECK(aclnnAddGetWorkspaceSize(x.tensor, y.tensor, alpha, sum.tensor, &bytes, &executor));
    void* workspace = nullptr;
    if (bytes) CHECK(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclnnAdd(workspace, bytes, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));

    for (float value : sum.values()) std::printf("%g ", value);
    std::printf("on %s\n", aclrtGetSocName());
    if (workspace) CHECK(aclrtFree(workspace));
    aclDestroyScalar(alpha);
  }
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtDestroyContext(context));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
}
