// liblcal: collectives between the devices of one machine, as torch_npu's backend lccl calls them (hccl/lcal_api.h).
// They are HCCL's, with HCCL's checks and codes: which calls LCAL itself refuses is written nowhere.
#include "hccl/lcal_api.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "core/sim.h"

extern "C" HcclResult ophook_hccl_of_machine(const char* name, const char* told, uint32_t ranks, uint32_t rank,
                                             HcclComm* out);

namespace {

// No rank is told of the others: what a job's environment says is the same for all, and each counts what it has made.
int joined(const char* name, int ranks, int rank, LcalCommPtr* out) {
  static std::mutex mutex;
  static std::map<int, int> made;
  std::string told = "lcal";
  for (const char* variable : {"LCAL_COMM_ID", "MASTER_PORT"})
    if (const char* value = std::getenv(variable)) told += std::string(" ") + value;
  {
    std::lock_guard lock(mutex);
    told += " " + std::to_string(ranks) + " " + std::to_string(made[ranks]++);
  }
  return ophook_hccl_of_machine(name, told.c_str(), uint32_t(ranks), uint32_t(rank), out);
}

}  // namespace

extern "C" {

SIM_API int LcalCommInitRankLocal(int ranks, int rank, LcalCommPtr* out) { return joined(__func__, ranks, rank, out); }
SIM_API int LcalCommInit(int rank, int ranks, LcalCommPtr* out) { return joined(__func__, ranks, rank, out); }
SIM_API int LcalCommInitAll(uint32_t count, int32_t* devices, LcalCommPtr* out) {
  return HcclCommInitAll(count, devices, out);
}
SIM_API int LcclAllReduce(void* from, void* to, int64_t count, HcclDataType dtype, HcclReduceOp how, LcalCommPtr comm,
                          aclrtStream stream) {
  return HcclAllReduce(from, to, uint64_t(count), dtype, how, comm, stream);
}
SIM_API int LcclAllGather(void* from, void* to, int64_t count, HcclDataType dtype, LcalCommPtr comm,
                          aclrtStream stream) {
  return HcclAllGather(from, to, uint64_t(count), dtype, comm, stream);
}
SIM_API int LcclReduceScatter(void* from, void* to, int64_t count, HcclDataType dtype, HcclReduceOp how,
                              LcalCommPtr comm, aclrtStream stream) {
  return HcclReduceScatter(from, to, uint64_t(count), dtype, how, comm, stream);
}
SIM_API int LcclBroadcast(void* buffer, int64_t count, HcclDataType dtype, int root, LcalCommPtr comm,
                          aclrtStream stream) {
  return HcclBroadcast(buffer, uint64_t(count), dtype, uint32_t(root), comm, stream);
}
SIM_API int LcclCommDestroy(LcalCommPtr comm) { return HcclCommDestroy(comm); }
}
