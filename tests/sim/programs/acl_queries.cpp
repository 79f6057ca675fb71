// What CANN's pages say of functions that ask for something: events, kinds of memory, advice on managed memory, tasks
// of models. One check after the other; the first that fails ends the program with its line.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "acl_check.h"

namespace {

uint32_t events_left() {
  uint32_t count = 0;
  OK(aclrtGetEventAvailNum(&count));
  return count;
}

void events() {
  CHECK(events_left() == 65536);
  aclrtEvent plain = nullptr, limited = nullptr;
  OK(aclrtCreateEvent(&plain));
  CHECK(events_left() == 65536);  // it takes none before it is recorded
  OK(aclrtCreateEventWithFlag(&limited, ACL_EVENT_SYNC));
  CHECK(events_left() == 65535);
  uint32_t one = 0, other = 0;
  OK(aclrtGetEventId(plain, &one));
  OK(aclrtGetEventId(limited, &other));
  CHECK(one != other);
  std::vector<aclrtEvent> all(65535);
  for (aclrtEvent& event : all) OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  aclrtEvent none = nullptr;
  CHECK(aclrtCreateEventWithFlag(&none, ACL_EVENT_SYNC) == ACL_ERROR_RT_NO_EVENT_RESOURCE && !none);
  OK(aclrtCreateEventWithFlag(&none, ACL_EVENT_TIME_LINE));
  for (aclrtEvent event : all) OK(aclrtDestroyEvent(event));
  CHECK(events_left() == 65535);
  OK(aclrtDestroyEvent(limited));
  CHECK(aclrtGetEventId(limited, &one) == ACL_ERROR_RT_INVALID_HANDLE && events_left() == 65536);
}

void settings() {
  uint32_t ms = 0;
  OK(aclrtGetOpExecuteTimeout(&ms));
  CHECK(ms == 1091000);
  OK(aclrtSetOpExecuteTimeOut(30));
  OK(aclrtGetOpExecuteTimeout(&ms));
  CHECK(ms == 30000);
  OK(aclrtSetOpExecuteTimeOutWithMs(450));
  OK(aclrtGetOpExecuteTimeout(&ms));
  CHECK(ms == 450);
  OK(aclrtSetOpExecuteTimeOut(0));
  OK(aclrtSetTsDevice(ACL_TS_ID_AICORE));
  CHECK(aclrtSetTsDevice(ACL_TS_ID_RESERVED) == ACL_ERROR_RT_PARAM_INVALID);
  aclrtCntNotify counted = nullptr;  // Ascend 950 alone has them
  CHECK(aclrtCntNotifyCreate(&counted, 0) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  size_t size = 9;
  CHECK(aclrtFunctionGetAvailDynUbufPerBlock(&ms, 0, &size) != ACL_SUCCESS);
}

void memory(aclrtStream stream) {
  int* given = device<int>({1, 2});
  int on_host = 0;
  void* reserved = nullptr;
  OK(aclrtReserveMemAddress(&reserved, kPage, 0, nullptr, 0));
  uint32_t yes = 9;
  void* both[] = {given + 1, reserved};
  OK(aclrtCheckMemType(both, 2, ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_RSVD, &yes, 0));
  CHECK(yes == 1);
  OK(aclrtCheckMemType(both, 2, ACL_RT_MEM_TYPE_DEV, &yes, 0));
  CHECK(yes == 0);
  void* host_too[] = {given, &on_host};
  OK(aclrtCheckMemType(host_too, 2, ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_RSVD, &yes, 0));
  CHECK(yes == 0);
  CHECK(aclrtCheckMemType(both, 2, 1, &yes, 0) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtCheckMemType(both, 2, ACL_RT_MEM_TYPE_DEV, &yes, 1) == ACL_ERROR_RT_PARAM_INVALID);

  size_t size = 0;
  OK(aclrtCmoGetDescSize(&size));
  void* fetch = nullptr;
  OK(aclrtMalloc(&fetch, size, ACL_MEM_MALLOC_NORMAL_ONLY));
  OK(aclrtCmoSetDesc(fetch, given, 8));
  OK(aclrtCmoAsyncWithDesc(fetch, ACL_RT_CMO_TYPE_PREFETCH, stream, nullptr));
  OK(aclrtSynchronizeStream(stream));
  CHECK(aclrtCmoAsyncWithDesc(fetch, ACL_RT_CMO_TYPE_WRITEBACK, stream, nullptr) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);

  CHECK(aclrtMemP2PMap(given, 8, 1, 0) != ACL_SUCCESS);  // before the devices exchange data
  OK(aclrtDeviceEnablePeerAccess(1, 0));
  OK(aclrtMemP2PMap(given, 8, 1, 0));
  CHECK(aclrtMemP2PMap(&on_host, 4, 1, 0) == ACL_ERROR_RT_PARAM_INVALID);
}

int advised(aclrtMemManagedRangeAttribute what, const void* pointer, size_t size) {
  int value = 77;
  OK(aclrtMemManagedGetAttr(what, pointer, size, &value, sizeof value));
  return value;
}

void managed(aclrtStream stream) {
  void* memory = nullptr;
  OK(aclrtMemAllocManaged(&memory, 3 * kPage, 1));
  char* second = static_cast<char*>(memory) + kPage;
  const aclrtMemManagedLocation host{ACL_MEM_LOCATIONTYPE_HOST, 5}, one{ACL_MEM_LOCATIONTYPE_DEVICE, 1};
  CHECK(advised(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, kPage) == 0);
  CHECK(advised(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, kPage) == -2);
  OK(aclrtMemManagedAdvise(memory, 2 * kPage, ACL_MEM_ADVISE_SET_READ_MOSTLY, host));
  CHECK(advised(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, 2 * kPage) == 1);
  CHECK(advised(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, 3 * kPage) == 0);
  OK(aclrtMemManagedAdvise(second, kPage, ACL_MEM_ADVISE_UNSET_READ_MOSTLY, host));
  CHECK(advised(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, kPage + 1) == 0);
  OK(aclrtMemManagedAdvise(memory, kPage, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
  OK(aclrtMemManagedAdvise(second, kPage, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, one));
  CHECK(advised(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, kPage) == -1);
  CHECK(advised(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, second, kPage) == 1);
  CHECK(advised(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, 2 * kPage) == -2);
  CHECK(advised(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, second, kPage) == ACL_MEM_LOCATIONTYPE_DEVICE);
  CHECK(advised(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, second, kPage) == 1);
  OK(aclrtMemManagedAdvise(memory, 3 * kPage, ACL_MEM_ADVISE_SET_ACCESSED_BY, one));
  OK(aclrtMemManagedAdvise(memory, kPage, ACL_MEM_ADVISE_SET_ACCESSED_BY, host));
  int by[4] = {}, type = 0;
  OK(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, kPage, by, sizeof by));
  CHECK(by[0] == -1 && by[1] == 1 && by[2] == -2 && by[3] == -2);
  CHECK(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, kPage, by, 8) ==
        ACL_ERROR_RT_PARAM_INVALID);
  const void* ranges[] = {memory, second, second + kPage};
  size_t sizes[] = {kPage, kPage, kPage}, begins[] = {0, 2};
  aclrtMemManagedLocation places[] = {one, host};
  OK(aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 3, places, begins, 2, 0, stream));
  aclrtMemManagedRangeAttribute asked[] = {ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
                                           ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE};
  void* answers[] = {by, &type};
  size_t rooms[] = {4, 4};
  OK(aclrtMemManagedGetAttrs(asked, 2, memory, 2 * kPage, answers, rooms));
  CHECK(by[0] == 1 && type == ACL_MEM_LOCATIONTYPE_DEVICE);
  OK(aclrtMemManagedGetAttrs(asked, 2, second + kPage, kPage, answers, rooms));
  CHECK(by[0] == -1 && type == ACL_MEM_LOCATIONTYPE_HOST);
  begins[1] = 3;
  CHECK(aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 3, places, begins, 2, 0, stream) ==
        ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtMemManagedGetAttrs(asked, 2, by, 4, answers, rooms) == ACL_ERROR_RT_PARAM_INVALID);
}

std::vector<aclmdlRITask> tasks_of(aclrtStream stream) {
  uint32_t count = 0;
  OK(aclmdlRIGetTasksByStream(stream, nullptr, &count));
  std::vector<aclmdlRITask> tasks(count);
  OK(aclmdlRIGetTasksByStream(stream, tasks.data(), &count));
  return tasks;
}

// Copies on two streams, the second after an event of the first; then the first copy runs no more.
void tasks_of_models(aclrtStream stream) {
  aclrtStream side = nullptr;
  aclrtEvent event = nullptr, back = nullptr;
  OK(aclrtCreateStream(&side));
  OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
  OK(aclrtCreateEventWithFlag(&back, ACL_EVENT_SYNC));
  int *from = device<int>({3, 4}), *to = device<int>({0, 0});
  aclmdlRI model = nullptr;
  OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  OK(aclrtMemcpyAsync(to, 4, from, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtStreamWaitEvent(side, event));
  OK(aclrtMemcpyAsync(to + 1, 4, from + 1, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, side));
  OK(aclrtRecordEvent(back, side));
  OK(aclrtStreamWaitEvent(stream, back));
  OK(aclmdlRICaptureEnd(stream, &model));
  uint32_t count = 0, id = 0;
  OK(aclmdlRIGetStreams(model, nullptr, &count));
  CHECK(count == 2);
  std::vector<aclrtStream> streams(count);
  count = 1;
  CHECK(aclmdlRIGetStreams(model, streams.data(), &count) == ACL_ERROR_RT_PARAM_INVALID);
  count = 2;
  OK(aclmdlRIGetStreams(model, streams.data(), &count));
  int32_t number = -1, first = -1;
  OK(aclrtStreamGetId(streams[0], &number));
  OK(aclrtStreamGetId(stream, &first));
  CHECK(number == first);
  const auto tasks = tasks_of(streams[0]);
  aclmdlRITaskType type;
  OK(aclmdlRITaskGetType(tasks[0], &type));
  CHECK(type == ACL_MODEL_RI_TASK_DEFAULT);
  OK(aclmdlRITaskGetType(tasks[1], &type));
  CHECK(type == ACL_MODEL_RI_TASK_EVENT_RECORD);
  OK(aclmdlRITaskGetSeqId(tasks[1], &id));
  CHECK(id == 1 && tasks == tasks_of(streams[0]) && !tasks_of(streams[1]).empty());
  OK(aclmdlRITaskDisable(tasks[0]));
  OK(aclmdlRIExecuteAsync(model, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK(host(to, 2) == std::vector<int>({3, 4}));  // it is not updated yet
  OK(aclmdlRIUpdate(model));
  OK(aclrtMemset(to, 8, 0, 8));
  OK(aclmdlRIExecuteAsync(model, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK(host(to, 2) == std::vector<int>({0, 4}));
  OK(aclmdlRIDestroy(model));
  CHECK(aclmdlRITaskGetType(tasks[0], &type) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclmdlRIGetTasksByStream(streams[0], nullptr, &count) == ACL_ERROR_RT_PARAM_INVALID);

  aclrtStream bound = nullptr;
  OK(aclrtCreateStreamWithConfig(&bound, 0, ACL_STREAM_PERSISTENT));
  OK(aclmdlRIBuildBegin(&model, 0));
  OK(aclmdlRIBindStream(model, bound, ACL_MODEL_STREAM_FLAG_HEAD));
  OK(aclrtValueWrite(from, 1, 0, bound));
  OK(aclmdlRIEndTask(model, bound));
  CHECK(aclmdlRIGetStreams(model, nullptr, &count) == ACL_ERROR_RT_PARAM_INVALID);  // it is not finished
  OK(aclmdlRIBuildEnd(model, nullptr));
  count = 1;
  OK(aclmdlRIGetStreams(model, streams.data(), &count));
  CHECK(streams[0] == bound && tasks_of(bound).size() == 2);
  OK(aclmdlRITaskGetType(tasks_of(bound)[0], &type));
  CHECK(type == ACL_MODEL_RI_TASK_VALUE_WRITE);
}

}  // namespace

int main() {
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  events();
  settings();
  memory(stream);
  managed(stream);
  tasks_of_models(stream);
  std::printf("all of it\n");
  return 0;
}
