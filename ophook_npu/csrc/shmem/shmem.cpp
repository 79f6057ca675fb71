// libshmem: memory that every device of a machine has at the same place of its heap, as far as torch_npu's symmetric
// memory asks for it. Heaps are device memory that the ranks share by key; their keys go around by HCCL.
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "core/sim.h"
#include "hccl/hccl.h"

extern "C" HcclResult ophook_hccl_of_machine(const char* name, const char* told, uint32_t ranks, uint32_t rank,
                                             HcclComm* out);

namespace {

constexpr int kParameter = -1, kValue = -2, kInner = -4, kNotInitialized = -5;
enum Start { kByAddress = 1, kByUniqueId = 8 };
constexpr size_t kAlignment = 512, kKey = 128;

struct UniqueId {
  int32_t version, rank, ranks;
  char text[32];  // the caller's has more behind it, and later versions more members
};
struct Attributes {
  int32_t rank, ranks;
  char address[64];
  uint64_t bytes;
  struct {
    int32_t version, engine;
    uint32_t limits[3];  // seconds
    int32_t socket;
  } options;
  const UniqueId* id;
};
constexpr int32_t kVersion = 1 << 16;

struct Heap {
  uint32_t rank = 0;
  size_t bytes = 0;
  HcclComm comm = nullptr;
  char* memory = nullptr;
  std::vector<std::string> keys;
  std::vector<char*> of_rank;      // as this process has it
  std::map<size_t, size_t> taken;  // offset, bytes
  ~Heap() {
    for (size_t i = 0; i < keys.size(); ++i)
      if (!keys[i].empty()) aclrtIpcMemClose(keys[i].c_str());
    if (memory) aclrtFree(memory);
    if (comm) HcclCommDestroy(comm);
  }
  bool has(const void* pointer) const { return pointer >= memory && pointer < memory + bytes; }
};
std::mutex mutex;
Heap* heap = nullptr;  // a process that ends leaves it, as it leaves its devices

// Each rank's key to all; nobody goes on before all of them have it. Codes are ACL's and HCCL's.
int all_keys(Heap& h, uint32_t ranks) {
  char own[kKey] = {};
  if (int code = aclrtIpcMemGetExportKey(h.memory, h.bytes, own, sizeof own, 1)) return code;
  h.keys.assign(ranks, "");
  h.keys[h.rank] = own;
  aclrtStream stream = nullptr;
  void *mine = nullptr, *every = nullptr;
  std::vector<char> found(ranks * kKey);
  int code = aclrtCreateStream(&stream);
  if (!code) code = aclrtMalloc(&mine, kKey, ACL_MEM_MALLOC_NORMAL_ONLY);
  if (!code) code = aclrtMalloc(&every, found.size(), ACL_MEM_MALLOC_NORMAL_ONLY);
  if (!code) code = aclrtMemcpy(mine, kKey, own, kKey, ACL_MEMCPY_HOST_TO_DEVICE);
  if (!code) code = HcclAllGather(mine, every, kKey, HCCL_DATA_TYPE_INT8, h.comm, stream);
  if (!code) code = aclrtSynchronizeStream(stream);
  if (!code) code = aclrtMemcpy(found.data(), found.size(), every, found.size(), ACL_MEMCPY_DEVICE_TO_HOST);
  for (uint32_t rank = 0; rank < ranks && !code; ++rank) {
    void* there = h.memory;
    if (rank != h.rank) {
      const std::string key = &found[rank * kKey];
      if ((code = aclrtIpcMemImportByKey(&there, key.c_str(), 1))) break;
      h.keys[rank] = key;
    }
    h.of_rank.push_back(static_cast<char*>(there));
  }
  if (!code) code = HcclBarrier(h.comm, stream);
  if (!code) code = aclrtSynchronizeStream(stream);
  if (mine) aclrtFree(mine);
  if (every) aclrtFree(every);
  if (stream) aclrtDestroyStream(stream);
  return code;
}

// The address at another rank; null where it is none of the heap's.
char* there(const char* call, const void* pointer, int rank) {
  std::lock_guard lock(mutex);
  if (!heap) return sim_fail(kNotInitialized, "%s: aclshmemx_init_attr was not called", call), nullptr;
  if (rank < 0 || size_t(rank) >= heap->of_rank.size())
    return sim_fail(kValue, "%s: pe %d; allowed: 0 to %zu", call, rank, heap->of_rank.size() - 1), nullptr;
  if (!heap->has(pointer)) return sim_fail(kValue, "%s: %p is not in symmetric memory", call, pointer), nullptr;
  return heap->of_rank[size_t(rank)] + (static_cast<const char*>(pointer) - heap->memory);
}

}  // namespace

extern "C" {

// Without TLS alone: its ranks find each other on this machine.
SIM_API int32_t aclshmemx_set_conf_store_tls(bool enable, const char*, uint32_t) {
  return enable ? sim_fail(kParameter, "aclshmemx_set_conf_store_tls: TLS is not simulated") : 0;
}

SIM_API int aclshmemx_get_uniqueid(UniqueId* id) {
  if (!id) return sim_fail(kParameter, "aclshmemx_get_uniqueid: uid is null");
  std::random_device random;
  *id = {kVersion, 0, 0, {}};
  std::snprintf(id->text, sizeof id->text, "%08x%08x%08x", random(), random(), random());
  return 0;
}

SIM_API int aclshmemx_set_attr_uniqueid_args(int rank, int ranks, int64_t bytes, UniqueId* id, Attributes* out) {
  if (!id || !out) return sim_fail(kParameter, "aclshmemx_set_attr_uniqueid_args: a pointer is null");
  if (id->version != kVersion)
    return sim_fail(kValue, "aclshmemx_set_attr_uniqueid_args: aclshmemx_get_uniqueid did not make the uid");
  *out = {rank, ranks, {}, uint64_t(bytes), {kVersion, 1, {120, 120, 120}, -1}, id};
  return 0;
}

SIM_API int aclshmemx_init_attr(int how, const Attributes* given) {
  constexpr const char* kName = "aclshmemx_init_attr";
  if (!given) return sim_fail(kParameter, "%s: attributes is null", kName);
  if (how != kByAddress && how != kByUniqueId)
    return sim_fail(kParameter, "%s: bootstrap flags %d; simulated: 1 and 8", kName, how);
  if (how == kByUniqueId && !given->id) return sim_fail(kParameter, "%s: comm_args is null", kName);
  if (given->ranks < 1 || given->rank < 0 || given->rank >= given->ranks || !given->bytes)
    return sim_fail(kValue, "%s: pe %d of %d with %llu bytes", kName, given->rank, given->ranks,
                    static_cast<unsigned long long>(given->bytes));
  std::lock_guard lock(mutex);
  if (heap) return sim_fail(kInner, "%s: symmetric memory is there already", kName);
  auto made = std::make_unique<Heap>();
  made->rank = uint32_t(given->rank);
  made->bytes = (given->bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::string told = std::string("shmem ") + (how == kByUniqueId ? given->id->text : given->address);
  if (ophook_hccl_of_machine(kName, told.c_str(), uint32_t(given->ranks), made->rank, &made->comm)) return kInner;
  void* memory = nullptr;
  if (aclrtMalloc(&memory, made->bytes, ACL_MEM_MALLOC_HUGE_FIRST)) return kInner;
  made->memory = static_cast<char*>(memory);
  if (all_keys(*made, uint32_t(given->ranks))) return kInner;
  heap = made.release();
  return 0;
}

SIM_API void* aclshmem_malloc(size_t bytes) {
  std::lock_guard lock(mutex);
  if (!heap) return sim_fail(kNotInitialized, "aclshmem_malloc: aclshmemx_init_attr was not called"), nullptr;
  if (!bytes) return nullptr;
  size_t offset = 0;
  for (const auto& [begin, size] : heap->taken) {
    if (begin - offset >= bytes) break;
    offset = (begin + size + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (offset > heap->bytes || bytes > heap->bytes - offset)
    return sim_fail(kInner, "aclshmem_malloc: %zu bytes; symmetric memory has %zu, in one piece none that long", bytes,
                    heap->bytes),
           nullptr;
  heap->taken[offset] = bytes;
  return heap->memory + offset;
}

SIM_API void aclshmem_free(void* pointer) {
  std::lock_guard lock(mutex);
  if (!pointer || !heap) return;
  if (!heap->has(pointer) || !heap->taken.erase(size_t(static_cast<char*>(pointer) - heap->memory)))
    sim_fail(kValue, "aclshmem_free: aclshmem_malloc did not give %p, or it is free", pointer);
}

SIM_API void* aclshmem_ptr(void* pointer, int rank) { return there("aclshmem_ptr", pointer, rank); }

SIM_API void aclshmemx_putmem_on_stream(void* to, void* from, size_t bytes, int32_t rank, aclrtStream stream) {
  if (char* target = there("aclshmemx_putmem_on_stream", to, rank))
    aclrtMemcpyAsync(target, bytes, from, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
}
SIM_API void aclshmemx_getmem_on_stream(void* to, void* from, size_t bytes, int32_t rank, aclrtStream stream) {
  if (const char* source = there("aclshmemx_getmem_on_stream", from, rank))
    aclrtMemcpyAsync(to, bytes, source, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
}

SIM_API int aclshmem_finalize() {
  std::lock_guard lock(mutex);
  if (!heap) return sim_fail(kNotInitialized, "aclshmem_finalize: aclshmemx_init_attr was not called");
  delete std::exchange(heap, nullptr);
  return 0;
}

}  // extern "C"
