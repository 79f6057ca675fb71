// libhcomm: the half of HCCL's interface that newer CANN versions moved here, as far as torch_npu looks for it.
// It fails as libhccl does (hccl/communicator.h).
#include "core/sim.h"
#include "hccl/hccl_types.h"

extern "C" {
HcclResult ophook_hccl_group_start();
HcclResult ophook_hccl_group_end();

SIM_API HcclResult HcclGroupStart() { return ophook_hccl_group_start(); }
SIM_API HcclResult HcclGroupEnd() { return ophook_hccl_group_end(); }
}
