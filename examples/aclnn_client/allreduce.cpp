// Adds up what two Ascends hold, by HCCL: one process, a communicator for each device.
#include <acl/acl.h>
#include <hccl/hccl.h>

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

constexpr int kDevices = 2;
constexpr size_t kCount = 4, kBytes = kCount * sizeof(float);

struct Rank {
  aclrtStream stream = nullptr;
  void *sent = nullptr, *received = nullptr;
};

int main() {
  CHECK(aclInit(nullptr));
  int32_t devices[kDevices] = {0, 1};
  HcclComm comms[kDevices] = {};
  CHECK(HcclCommInitAll(kDevices, devices, comms));

  Rank ranks[kDevices];
  for (int device = 0; device < kDevices; ++device) {
    Rank& rank = ranks[device];
    CHECK(aclrtSetDevice(device));
    CHECK(aclrtCreateStream(&rank.stream));
    CHECK(aclrtMalloc(&rank.sent, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc(&rank.received, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    std::vector<float> values;
    for (size_t i = 0; i < kCount; ++i) values.push_back(device ? 100.f * i : i + 1);
    CHECK(aclrtMemcpy(rank.sent, kBytes, values.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  }
  // A call only starts the work: one thread can serve all devices.
  for (int device = 0; device < kDevices; ++device) {
    CHECK(aclrtSetDevice(device));
    CHECK(HcclAllReduce(ranks[device].sent, ranks[device].received, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                        comms[device], ranks[device].stream));
  }
  for (int device = 0; device < kDevices; ++device) {
    Rank& rank = ranks[device];
    CHECK(aclrtSetDevice(device));
    CHECK(aclrtSynchronizeStream(rank.stream));
    std::vector<float> values(kCount);
    CHECK(aclrtMemcpy(values.data(), kBytes, rank.received, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
    std::printf("device %d has", device);
    for (float value : values) std::printf(" %g", value);
    std::printf("\n");
    CHECK(HcclCommDestroy(comms[device]));
    CHECK(aclrtFree(rank.sent));
    CHECK(aclrtFree(rank.received));
    CHECK(aclrtDestroyStream(rank.stream));
    CHECK(aclrtResetDeviceForce(device));  // whatever was set how often
  }
  CHECK(aclFinalize());
}
