// What CANN's pages say of the runtime, one check after the other; the first that fails ends the program with its line.
// Started again with a file's name it is the second process, which imports what the first exports there.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_rt_memory_soma.h"
#include "acl/acl_tdt.h"
#include "acl/acl_tdt_queue.h"
#include "acl_check.h"

namespace {

struct Shown {  // to the second process
  char memory[65], notify[65];
  aclrtIpcEventHandle event;
  uint64_t physical;
};

aclrtPhysicalMemProp properties() {
  aclrtPhysicalMemProp all{};
  all.memAttr = ACL_HBM_MEM_HUGE;
  all.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  return all;
}

int second(const char* path) {
  Shown shown;
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&shown), sizeof shown);
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  void* memory = nullptr;
  OK(aclrtIpcMemImportByKey(&memory, shown.memory, 0));
  CHECK(host(static_cast<int*>(memory), 2) == std::vector<int>({7, 8}));
  const int nine = 9;
  OK(aclrtMemcpy(memory, sizeof nine, &nine, sizeof nine, ACL_MEMCPY_HOST_TO_DEVICE));
  aclrtNotify notify = nullptr;
  CHECK(aclrtNotifyImportByKey(&notify, shown.notify, 0) != ACL_SUCCESS);  // its list of processes is empty
  aclrtEvent event = nullptr;
  OK(aclrtIpcOpenEventHandle(shown.event, &event));
  OK(aclrtStreamWaitEvent(stream, event));
  OK(aclrtSynchronizeStream(stream));
  aclrtDrvMemHandle handle = nullptr;
  OK(aclrtMemImportFromShareableHandle(shown.physical, 0, &handle));
  void* mapped = nullptr;
  OK(aclrtReserveMemAddress(&mapped, kPage, 0, nullptr, 0));
  OK(aclrtMapMem(mapped, kPage, 0, handle, 0));
  CHECK(host(static_cast<int*>(mapped), 1)[0] == 5);
  OK(aclrtUnmapMem(mapped));
  OK(aclrtReleaseMemAddress(mapped));
  OK(aclrtFreePhysical(handle));
  OK(aclrtIpcMemClose(shown.memory));
  CHECK(aclrtIpcMemClose(shown.memory) == ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtDestroyEvent(event));
  return 0;
}

void errors() {
  CHECK(aclrtMemcpy(nullptr, 1, nullptr, 1, ACL_MEMCPY_HOST_TO_HOST) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtGetLastError(ACL_RT_THREAD_LEVEL) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL) == ACL_SUCCESS);
  aclrtErrorInfo info;
  OK(aclrtGetErrorVerbose(0, &info));
  CHECK(info.errorType == ACL_RT_NO_ERROR && aclrtGetErrorVerbose(99, &info) == ACL_ERROR_RT_INVALID_DEVICEID);
}

void tasks(aclrtStream stream) {
  float* sum = device<float>({1, 2, 3});
  OK(aclrtReduceAsync(sum, device<float>({4, 1, 0}), 12, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream, nullptr));
  OK(aclrtReduceAsync(sum, device<float>({0, 9, 1}), 12, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX, ACL_FLOAT, stream, nullptr));
  OK(aclrtSynchronizeStream(stream));
  CHECK(host(sum, 3) == std::vector<float>({5, 9, 3}));
  CHECK(aclrtReduceAsync(sum, sum, 8, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_DOUBLE, stream, nullptr) ==
        ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  std::vector<std::vector<int32_t>> drawn;
  for (int i = 0; i < 2; ++i) {
    aclrtRandomNumTaskInfo info{};
    info.dataType = ACL_INT32;
    info.randomNumFuncParaInfo.funcType = ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS;
    const auto set = [](aclrtRandomParaInfo& to, uint64_t value) {
      std::memcpy(to.valueOrAddr, &value, 8), to.size = 8;
    };
    set(info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.min, 10);
    set(info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.max, 20);
    set(info.randomSeed, 3), set(info.randomNum, 1000);
    info.randomResultAddr = device(std::vector<int32_t>(1000));
    info.randomCounterAddr = device<uint64_t>({0, 0});
    OK(aclrtRandomNumAsync(&info, stream, nullptr));
    OK(aclrtSynchronizeStream(stream));
    drawn.push_back(host(static_cast<int32_t*>(info.randomResultAddr), 1000));
  }
  CHECK(drawn[0] == drawn[1]);
  long total = 0;
  for (const int32_t one : drawn[0]) {
    CHECK(one >= 10 && one < 20);
    total += one;
  }
  CHECK(total > 14000 && total < 15000);
}

aclrtStream persistent() {
  aclrtStream stream = nullptr;
  OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_PERSISTENT));
  return stream;
}

// A model of two streams: the first leaves to the second where the value is 1.
void built(aclrtStream stream) {
  aclmdlRI model = nullptr;
  int *value = device<int>({1}), *one = device<int>({1}), *out = device<int>({0, 0});
  const aclrtStream first = persistent(), other = persistent();
  CHECK(aclmdlRIBindStream(model, stream, 0) != ACL_SUCCESS);
  OK(aclmdlRIBuildBegin(&model, 0));
  OK(aclmdlRIBindStream(model, first, ACL_MODEL_STREAM_FLAG_HEAD));
  OK(aclmdlRIBindStream(model, other, ACL_MODEL_STREAM_FLAG_DEFAULT));
  OK(aclrtSwitchStream(value, ACL_RT_EQUAL, one, ACL_RT_SWITCH_INT32, other, nullptr, first));
  OK(aclrtMemcpyAsync(out, 4, one, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, first));
  OK(aclrtMemcpyAsync(out + 1, 4, one, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, other));
  OK(aclmdlRIEndTask(model, other));
  OK(aclmdlRIBuildEnd(model, nullptr));
  OK(aclmdlRIExecuteAsync(model, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK(host(out, 2) == std::vector<int>({0, 1}));
  OK(aclrtMemset(value, 4, 0, 4));
  OK(aclmdlRIExecute(model, -1));
  CHECK(host(out, 2) == std::vector<int>({1, 1}));
  OK(aclmdlRIUnbindStream(model, first));
  OK(aclmdlRISetName(model, "two streams"));
  char name[32];
  OK(aclmdlRIGetName(model, sizeof name, name));
  CHECK(!std::strcmp(name, "two streams"));
  OK(aclmdlRIDestroy(model));
}

// A loop in a captured model: its body counts the condition down, from what is there when the model begins.
void conditions(aclrtStream stream) {
  aclrtStream body = nullptr;
  OK(aclrtCreateStream(&body));
  int *one = device<int>({1}), *out = device<int>({0});
  uint64_t* zero = device<uint64_t>({0});
  OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
  aclmdlRICaptureStatus status;
  aclmdlRI model = nullptr, loop = nullptr;
  OK(aclmdlRICaptureGetInfo(stream, &status, &model));
  aclmdlRICondHandle condition = nullptr;
  uint64_t* variable = nullptr;
  OK(aclmdlRICondHandleCreate(model, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &condition));
  OK(aclmdlRICondHandleGetCondPtr(condition, &variable));
  OK(aclmdlRIAddCondTask({condition, ACL_MODEL_RI_COND_TYPE_WHILE, 1, &loop}, stream, 0));
  OK(aclmdlRICaptureToModelRIBegin(body, loop, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
  OK(aclrtReduceAsync(out, one, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, body, nullptr));
  OK(aclrtMemcpyAsync(variable, 8, zero, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, body));
  OK(aclmdlRICaptureEnd(body, &loop));
  OK(aclmdlRICaptureEnd(stream, &model));
  for (int i = 0; i < 3; ++i) OK(aclmdlRIExecute(model, -1));
  CHECK(host(out, 1)[0] == 3);
  OK(aclmdlRIDestroy(model));
}

// A model records an event that a stream outside waits for.
void outside(aclrtStream stream) {
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  OK(aclrtCreateStream(&other));
  OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  CHECK(aclrtRecordEventWithFlag(event, stream, ACL_EVENT_RECORD_EXTERNAL) != ACL_SUCCESS);
  int *from = device<int>({4}), *to = device<int>({0}), *last = device<int>({0});
  aclmdlRI model = nullptr;
  OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
  OK(aclrtMemcpyAsync(to, 4, from, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  OK(aclrtRecordEventWithFlag(event, stream, ACL_EVENT_RECORD_EXTERNAL));
  OK(aclmdlRICaptureEnd(stream, &model));
  OK(aclmdlRIExecuteAsync(model, stream));
  OK(aclrtStreamWaitEvent(other, event));
  OK(aclrtMemcpyAsync(last, 4, to, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, other));
  OK(aclrtSynchronizeStream(other));
  CHECK(host(last, 1)[0] == 4);
  OK(aclmdlRIDestroy(model));
}

void queues() {
  uint32_t from = 0, to = 0;
  OK(acltdtCreateQueue(nullptr, &from));
  OK(acltdtCreateQueue(nullptr, &to));
  acltdtQueueRoute* route = acltdtCreateQueueRoute(from, to);
  acltdtQueueRouteList* list = acltdtCreateQueueRouteList();
  OK(acltdtAddQueueRoute(list, route));
  OK(acltdtBindQueueRoutes(list));
  OK(acltdtEnqueueData(from, "abc", 4, nullptr, 0, -1, 0));
  char text[8];
  size_t size = 0;
  OK(acltdtDequeueData(to, text, sizeof text, &size, nullptr, 0, 1000));
  CHECK(size == 4 && !std::strcmp(text, "abc"));
  CHECK(acltdtDequeueData(to, text, sizeof text, &size, nullptr, 0, 1) == ACL_ERROR_RT_QUEUE_EMPTY);
  OK(acltdtUnbindQueueRoutes(list));
  OK(acltdtDestroyQueueRouteList(list));
  OK(acltdtDestroyQueueRoute(route));
  OK(acltdtDestroyQueue(from));
  CHECK(acltdtDestroyQueue(from) == ACL_ERROR_RT_PARAM_INVALID);

  std::vector<float> values = {1, 2};
  const int64_t dims[] = {1, 2};
  acltdtChannelHandle* channel = acltdtCreateChannelWithCapacity(0, "a channel", 2);
  acltdtDataset *sent = acltdtCreateDataset(), *came = acltdtCreateDataset();
  OK(acltdtAddDataItem(sent, acltdtCreateDataItem(ACL_TENSOR_DATA_TENSOR, dims, 2, ACL_FLOAT, values.data(), 8)));
  OK(acltdtSendTensor(channel, sent, 0));
  OK(acltdtSendTensor(channel, sent, 0));
  CHECK(acltdtSendTensor(channel, sent, 0) == ACL_ERROR_RT_QUEUE_FULL);
  OK(acltdtReceiveTensor(channel, came, 100));
  acltdtDataItem* item = acltdtGetDataItem(came, 0);
  CHECK(acltdtGetDimNumFromItem(item) == 2 && static_cast<float*>(acltdtGetDataAddrFromItem(item))[1] == 2);
  OK(acltdtQueryChannelSize(channel, &size));
  CHECK(size == 1);
  OK(acltdtDestroyChannel(channel));
}

void processes(aclrtStream stream, const char* self) {
  Shown shown{};
  int* memory = device<int>({0, 7, 8});
  OK(aclrtIpcMemGetExportKey(memory + 1, 8, shown.memory, 65, ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
  aclrtNotify notify = nullptr;
  OK(aclrtCreateNotify(&notify, 0));
  OK(aclrtNotifyGetExportKey(notify, shown.notify, 65, 0));
  aclrtEvent event = nullptr;
  OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
  CHECK(aclrtResetEvent(event, stream) != ACL_SUCCESS);
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtIpcGetEventHandle(event, &shown.event));
  auto all = properties();
  size_t page = 0;
  OK(aclrtMemGetAllocationGranularity(&all, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &page));
  CHECK(page == kPage);
  aclrtDrvMemHandle handle = nullptr;
  void* mapped = nullptr;
  OK(aclrtMallocPhysical(&handle, page, &all, 0));
  OK(aclrtReserveMemAddress(&mapped, page, 0, nullptr, 0));
  OK(aclrtMapMem(mapped, page, 0, handle, 0));
  const int five = 5;
  OK(aclrtMemcpy(mapped, 4, &five, 4, ACL_MEMCPY_HOST_TO_DEVICE));
  OK(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION,
                                     &shown.physical));
  CHECK(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 1, &shown.physical) ==
        ACL_ERROR_RT_PARAM_INVALID);
  const std::string path = std::string(self) + ".shown";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<char*>(&shown), sizeof shown);
  CHECK(std::system(("'" + std::string(self) + "' '" + path + "'").c_str()) == 0);
  CHECK(host(memory, 3) == std::vector<int>({0, 9, 8}));
  OK(aclrtIpcMemClose(shown.memory));
}

void streams() {
  aclrtStream stream = nullptr;
  uint32_t priority = 0, flags = 0;
  OK(aclrtCreateStreamWithConfig(&stream, 3, ACL_STREAM_FAST_SYNC));
  OK(aclrtStreamGetPriority(stream, &priority));
  OK(aclrtStreamGetFlags(stream, &flags));
  CHECK(priority == 3 && flags == ACL_STREAM_FAST_SYNC);
  int32_t number = 0;
  char package[] = "runtime";
  OK(aclsysGetVersionNum(package, &number));
  CHECK(number >= 8050000);
  OK(aclrtDestroyStream(stream));
}

uint64_t said(aclrtMemPool pool, aclrtMemPoolAttr attribute) {
  uint64_t value = 0;
  OK(aclrtMemPoolGetAttr(pool, attribute, &value));
  return value;
}

void pools(aclrtStream stream) {
  aclrtMemPoolProps wanted{
      ACL_MEM_ALLOCATION_TYPE_PINNED, ACL_MEM_HANDLE_TYPE_NONE, {0, ACL_MEM_LOCATION_TYPE_DEVICE}, 1 << 20, {0}};
  aclrtMemPool pool = nullptr;
  OK(aclrtMemPoolCreate(&pool, &wanted));
  wanted.reserved[0] = 1;
  CHECK(aclrtMemPoolCreate(&pool, &wanted) == ACL_ERROR_RT_PARAM_INVALID);
  void *first = nullptr, *second = nullptr, *again = nullptr;
  OK(aclrtMemPoolMallocAsync(&first, 1000, pool, stream));
  OK(aclrtMemPoolMallocAsync(&second, 2000, pool, stream));
  CHECK(said(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 3072);
  OK(aclrtMemsetAsync(first, 1000, 1, 1000, stream));
  OK(aclrtMemPoolFreeAsync(first, stream));
  CHECK(aclrtMemPoolFreeAsync(first, stream) == ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtMemPoolMallocAsync(&again, 500, pool, stream));
  OK(aclrtMemsetAsync(again, 500, 2, 500, stream));  // in place of the first, or elsewhere where that has gone
  OK(aclrtSynchronizeStream(stream));
  CHECK(host(static_cast<char*>(again), 500) == std::vector<char>(500, 2));
  OK(aclrtMemPoolFreeAsync(again, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK(said(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 2048);  // nothing is kept: the threshold is 0
  uint64_t threshold = 4096;
  OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
  OK(aclrtMemPoolFreeAsync(second, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK(said(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 2048);
  CHECK(said(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 0);
  CHECK(said(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH) == 3072);
  OK(aclrtMemPoolMallocAsync(&again, 1500, pool, stream));
  CHECK(again == second);
  CHECK(aclrtMemPoolMallocAsync(&first, 2 << 20, pool, stream) == ACL_ERROR_RT_MEMORY_ALLOCATION);
  OK(aclrtMemPoolFreeAsync(again, stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtMemPoolTrimTo(pool, 0));
  CHECK(said(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 0);
  uint64_t one = 1;
  CHECK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, &one) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &one) == ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtMemPoolDestroy(pool));
  CHECK(aclrtMemPoolDestroy(pool) == ACL_ERROR_RT_PARAM_INVALID);
}

// CANN's check asks these for the thread's context, too.
void threads_without_a_device() {
  int* memory = device<int>({1});
  std::thread([&] {
    void* host = nullptr;
    aclrtEvent event = nullptr;
    int value = 0;
    CHECK(aclrtMallocHost(&host, 64) == ACL_ERROR_RT_CONTEXT_NULL);
    CHECK(aclrtCreateEvent(&event) == ACL_ERROR_RT_CONTEXT_NULL);
    CHECK(aclrtMemcpy(&value, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_ERROR_RT_CONTEXT_NULL);
    CHECK(aclrtMemset(memory, 4, 0, 4) == ACL_ERROR_RT_CONTEXT_NULL);
    OK(aclrtSetDevice(0));
    OK(aclrtMemcpy(&value, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(value == 1);
  }).join();
}

void copies(aclrtStream stream) {
  int* from = device<int>({1, 2, 3});
  int* to = device<int>({0, 0, 0});
  size_t size = 0;
  CHECK(aclrtGetMemcpyDescSize(ACL_MEMCPY_DEVICE_TO_DEVICE, &size) == ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtGetMemcpyDescSize(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, &size));
  void* described = nullptr;
  OK(aclrtMalloc(&described, size, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtSetMemcpyDesc(described, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, from, to, 8, nullptr));
  OK(aclrtMemcpyAsyncWithDesc(described, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK(host(to, 3) == std::vector<int>({1, 2, 0}));

  void** places = device<void*>({from, to});
  const auto source = const_cast<const void**>(places);
  const auto inner = ACL_MEMCPY_INNER_DEVICE_TO_DEVICE;
  OK(aclrtMemcpyAsyncWithOffset(places + 1, 12, 8, source, 4, 4, inner, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK(host(to, 3) == std::vector<int>({1, 2, 2}));
  CHECK(aclrtMemcpyAsyncWithOffset(places + 1, 2, 0, source, 4, 0, inner, stream) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtMemcpyAsyncWithOffset(places, 4, 0, source, 4, 0, ACL_MEMCPY_HOST_TO_DEVICE, stream) ==
        ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtMemset(to + 2, 4, 0, 4));
  const int64_t sides[] = {2, 3}, unknown[] = {2, -1};
  aclTensorDesc* known = aclCreateTensorDesc(ACL_FLOAT16, 2, sides, ACL_FORMAT_ND);
  aclSetTensorDescName(known, "x");
  CHECK(aclGetTensorDescElementCount(known) == 6 && aclGetTensorDescSize(known) == 12);
  CHECK(std::string(aclGetTensorDescName(known)) == "x");
  aclDestroyTensorDesc(known);
  aclTensorDesc* open = aclCreateTensorDesc(ACL_FLOAT16, 2, unknown, ACL_FORMAT_ND);
  CHECK(aclGetTensorDescElementCount(open) == 0 && aclGetTensorDescElementCount(nullptr) == 0);
  aclDestroyTensorDesc(open);

  int values[] = {7, 8};
  void* targets[] = {to, to + 2};
  void* sources[] = {values, values + 1};
  size_t sizes[] = {4, 4}, begins[] = {0, 1};
  const aclrtMemLocation here{0, ACL_MEM_LOCATION_TYPE_HOST}, there{0, ACL_MEM_LOCATION_TYPE_DEVICE};
  aclrtMemcpyBatchAttr ways[] = {{there, here, {0}}, {here, there, {0}}};
  OK(aclrtMemcpyBatchV2(targets, sizes, sources, sizes, 2, ways, begins, 1));
  CHECK(host(to, 3) == std::vector<int>({7, 2, 8}));
  CHECK(aclrtMemcpyBatchV2(targets, sizes, sources, sizes, 2, ways, begins, 2) == ACL_ERROR_RT_PARAM_INVALID);
  values[1] = 9;
  OK(aclrtMemcpyBatchAsyncV2(targets, sizes, sources, sizes, 2, ways, begins, 1, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK(host(to, 3) == std::vector<int>({7, 2, 9}));
  size_t failed = 0;
  values[0] = 5;
  OK(aclrtMemcpyBatch(targets, sizes, sources, sizes, 2, ways, begins, 1, &failed));
  CHECK(host(to, 3) == std::vector<int>({5, 2, 9}) && failed == SIZE_MAX);
  CHECK(aclrtMemcpyBatchAsync(targets, sizes, sources, sizes, 2, ways, begins, 2, &failed, stream) != 0 && failed == 1);
}

void rights() {  // of handles that are mapped next to each other: each has its own
  auto all = properties();
  void* mapped = nullptr;
  OK(aclrtReserveMemAddress(&mapped, 2 * kPage, 0, nullptr, 0));
  for (size_t i = 0; i < 2; ++i) {
    aclrtDrvMemHandle handle = nullptr;
    OK(aclrtMallocPhysical(&handle, kPage, &all, 0));
    OK(aclrtMapMem(static_cast<char*>(mapped) + i * kPage, kPage, 0, handle, 0));
  }
  aclrtMemAccessDesc rights{};
  rights.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
  rights.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  OK(aclrtMemSetAccess(mapped, kPage, &rights, 1));
  OK(aclrtMemSetAccess(static_cast<char*>(mapped) + kPage, kPage, &rights, 1));
  CHECK(aclrtMemSetAccess(mapped, kPage / 2, &rights, 1) == ACL_ERROR_RT_PARAM_INVALID);
}

std::vector<int> heard;

void callbacks() {
  const auto begun = [](const char*, size_t length, void*) { return heard.push_back(100 + int(length)), aclError(0); };
  const auto ended = [](void*) { return heard.push_back(200), aclError(0); };
  OK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, begun, nullptr));
  CHECK(heard == std::vector<int>({100}));  // at once: aclInit was called before
  OK(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, ended, nullptr));
  OK(aclInit(nullptr));
  uint64_t left = 7;
  OK(aclFinalizeReference(&left));
  CHECK(left == 1 && heard == std::vector<int>({100, 100}));
  OK(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, begun));
  CHECK(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, begun) != ACL_SUCCESS);
  heard.clear();
  const auto device = [](int32_t, aclrtDeviceState state, void*) { heard.push_back(int(state)); };
  OK(aclrtRegDeviceStateCallback("here", device, nullptr));
  CHECK(aclrtRegDeviceStateCallback("here", device, nullptr) == ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtSetDevice(0));
  OK(aclrtResetDevice(0));
  CHECK(heard == std::vector<int>({ACL_RT_DEVICE_STATE_SET_PRE, ACL_RT_DEVICE_STATE_SET_POST,
                                   ACL_RT_DEVICE_STATE_RESET_PRE, ACL_RT_DEVICE_STATE_RESET_POST}));
  OK(aclrtRegDeviceStateCallback("here", nullptr, nullptr));
  heard.clear();
  const auto aborted = [](int32_t, aclrtDeviceTaskAbortStage stage, uint32_t timeout, void*) {
    return heard.push_back(int(stage) * 1000 + int(timeout)), 0;
  };
  OK(aclrtSetDeviceTaskAbortCallback("here", aborted, nullptr));
  OK(aclrtDeviceTaskAbort(0, 50));
  CHECK(heard == std::vector<int>({50, 1050}));
  OK(aclFinalizeReference(&left));
  CHECK(left == 0 && heard.back() == 200);
}

}  // namespace

int main(int count, char** arguments) {
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(0));
  if (count > 1) return second(arguments[1]);
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  errors();
  streams();
  tasks(stream);
  built(stream);
  conditions(stream);
  outside(stream);
  queues();
  pools(stream);
  threads_without_a_device();
  copies(stream);
  rights();
  processes(stream, arguments[0]);
  callbacks();
  std::printf("all of it\n");
  return 0;
}
