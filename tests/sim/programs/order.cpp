// Two mistakes in C++, and with an argument none: for test_order.py.
#include <acl/acl.h>

#include <cstdio>

static void fill(void* memory, size_t size, aclrtStream stream) { aclrtMemsetAsync(memory, size, 1, size, stream); }

static void fetch(void* here, void* memory, size_t size, aclrtStream stream) {
  aclrtMemcpyAsync(here, size, memory, size, ACL_MEMCPY_DEVICE_TO_HOST, stream);
}

int main(int count, char**) {
  const bool ordered = count > 1;
  constexpr size_t kSize = 4096;
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtStream first, second;
  aclrtCreateStream(&first);
  aclrtCreateStream(&second);
  void *memory, *here;
  aclrtMalloc(&memory, kSize, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMallocHost(&here, kSize);
  fill(memory, kSize, first);
  if (ordered) {
    aclrtEvent event;
    aclrtCreateEvent(&event);
    aclrtRecordEvent(event, first);
    aclrtStreamWaitEvent(second, event);
  }
  fetch(here, memory, kSize, second);
  if (ordered) aclrtSynchronizeStream(second);
  std::printf("%d\n", static_cast<char*>(here)[5]);
  aclrtSynchronizeDevice();
  aclrtFree(memory);
  aclrtFreeHost(here);
}
