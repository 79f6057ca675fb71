// Run by test_order.py: two processes with one piece of memory (aclrtIpcMemImportByKey, or an imported handle that is
// mapped), of which each uses a part in its own way. Each case has a wrong way and a right one; argv says which.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "acl/acl.h"
#include "hccl/hccl.h"

#define OK(call)                                                                \
  do {                                                                          \
    const auto code = (call);                                                   \
    if (code) {                                                                 \
      std::fprintf(stderr, "line %d: %s gave %d\n", __LINE__, #call, int(code)); \
      std::_Exit(3);                                                            \
    }                                                                           \
  } while (0)

namespace {

constexpr size_t kBytes = size_t{2} << 20, kPart = 4096;  // of each case
int other;  // a socket to the other process
bool first;
aclrtStream stream;
char *memory, *own;  // what both have; what one has
aclrtEvent event;
HcclComm comm;

template <typename T>
void tell(const T& what) {
  if (write(other, &what, sizeof what) != sizeof what) std::_Exit(4);
}
template <typename T = char>
T hear() {
  T what{};
  if (read(other, &what, sizeof what) != sizeof what) std::_Exit(5);
  return what;
}
void meet() {
  tell('x');
  hear();
}

void writes() { OK(aclrtMemsetAsync(memory, 64, 1, 64, stream)); }
void reads() { OK(aclrtMemcpyAsync(own, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, stream)); }
void collective() { OK(HcclAllReduce(own + 4096, own + 8192, 16, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream)); }
void passes(bool sends) {
  if (sends) OK(HcclSend(own + 4096, 16, HCCL_DATA_TYPE_FP32, 1, comm, stream));
  else OK(HcclRecv(own + 4096, 16, HCCL_DATA_TYPE_FP32, 0, comm, stream));
}
void waits() { OK(aclrtSynchronizeStream(stream)); }

void message(bool right) {  // by the hosts alone, of which one waits for its stream before, or does not
  if (first) {
    writes();
    if (right) waits();
    tell('x'), hear();
  } else {
    hear(), reads(), tell('x');
  }
}

void an_event(bool right) {
  if (first) {
    writes();
    OK(aclrtRecordEvent(event, stream));
    tell('x'), hear();
  } else {
    hear();
    if (right) OK(aclrtStreamWaitEvent(stream, event));
    reads(), tell('x');
  }
}

// The second process is ahead: it launches what follows the collective before the first launches what comes before it.
void a_collective(bool right) {
  if (first) {
    hear();
    if (right) writes();
    collective();
    if (!right) writes();
    tell('x');
  } else {
    collective(), reads(), tell('x'), hear();
  }
}

void a_message_of_hccl(bool right) {
  if (first) {
    if (right) writes();
    passes(true);
    if (!right) writes();
    tell('x'), hear();
  } else {
    passes(false), reads(), hear(), tell('x');
  }
}

// A graph's collective comes with the other's in each replay.
void a_replay(bool right) {
  aclmdlRI model = nullptr;
  OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
  if (first && right) writes();
  collective();
  if (!first) reads();
  if (first && !right) writes();
  OK(aclmdlRICaptureEnd(stream, &model));
  OK(aclmdlRIExecuteAsync(model, stream));
  meet();
  waits();
  OK(aclmdlRIDestroy(model));
}

// Two parts that do not meet, against one that does.
void parts(bool right) {
  if (first) writes();
  else OK(aclrtMemsetAsync(memory + (right ? 64 : 63), 64, 2, 64, stream));
  meet();
}

void by_the_host(bool right) {
  if (first) {
    writes();
    if (right) waits();
    tell('x'), hear();
  } else {
    char got[64];
    hear();
    OK(aclrtMemcpy(got, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST));
    tell('x');
  }
}

constexpr struct {
  const char* name;
  void (*run)(bool right);
} kCases[] = {{"message", message},   {"an_event", an_event}, {"a_collective", a_collective},
              {"a_message_of_hccl", a_message_of_hccl}, {"a_replay", a_replay}, {"parts", parts},
              {"by_the_host", by_the_host}};

struct Key {
  char text[65];
};

char* by_key() {
  void* shared = nullptr;
  if (first) {
    Key key;
    OK(aclrtMalloc(&shared, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtIpcMemGetExportKey(shared, kBytes, key.text, sizeof key.text, 1));
    tell(key);
  } else {
    OK(aclrtIpcMemImportByKey(&shared, hear<Key>().text, 0));
  }
  return static_cast<char*>(shared);
}

char* by_handle() {
  aclrtDrvMemHandle handle = nullptr;
  void* shared = nullptr;
  OK(aclrtReserveMemAddress(&shared, kBytes, 0, nullptr, 0));
  if (first) {
    aclrtPhysicalMemProp all{};
    all.memAttr = ACL_HBM_MEM_HUGE;
    all.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    uint64_t number = 0;
    OK(aclrtMallocPhysical(&handle, kBytes, &all, 0));
    OK(aclrtMapMem(shared, kBytes, 0, handle, 0));
    OK(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 1, &number));
    tell(number);
  } else {
    OK(aclrtMemImportFromShareableHandle(hear<uint64_t>(), 1, &handle));
    OK(aclrtMapMem(shared, kBytes, 0, handle, 0));
  }
  return static_cast<char*>(shared);
}

void prepare(const std::string& how) {
  void* room = nullptr;
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(first ? 0 : 1));
  OK(aclrtCreateStream(&stream));
  OK(aclrtMalloc(&room, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  own = static_cast<char*>(room);
  memory = how == "key" ? by_key() : by_handle();
  HcclRootInfo root;
  aclrtIpcEventHandle handle;
  if (first) {
    OK(HcclGetRootInfo(&root));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    OK(aclrtIpcGetEventHandle(event, &handle));
    tell(root), tell(handle);
  } else {
    root = hear<HcclRootInfo>(), handle = hear<aclrtIpcEventHandle>();
    OK(aclrtIpcOpenEventHandle(handle, &event));
  }
  OK(HcclCommInitRootInfo(2, &root, first ? 0 : 1, &comm));
}

}  // namespace

int main(int, char** argv) {
  const bool right = std::string(argv[2]) == "right";
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 6;
  const pid_t child = fork();
  first = child != 0, other = ends[first];
  close(ends[!first]);
  prepare(argv[1]);
  for (const auto& [name, run] : kCases) {
    if (first) std::puts(name);
    run(right);
    waits();
    meet();
    memory += kPart;
  }
  std::fflush(stdout);
  int status = 0;
  if (first && (waitpid(child, &status, 0) != child || status)) return 7;
  return 0;
}
