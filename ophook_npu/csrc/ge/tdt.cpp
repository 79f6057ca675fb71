// libacl_tdt_channel: the device-to-host channel that carries a graph's PrintV2 output. The graph engine runs no
// PrintV2, so nothing is ever sent: opening a channel is refused by name, and without one there is nothing to read.
#include "acl/acl_tdt.h"
#include "core/sim.h"

#define REFUSE(name, result)  \
  {                           \
    sim_unimplemented(#name); \
    return result;            \
  }
constexpr aclError kUnsupported = 200001;  // ACL_ERROR_API_NOT_SUPPORT

extern "C" {

acltdtChannelHandle* acltdtCreateChannelWithCapacity(uint32_t, const char*, size_t)
    REFUSE(acltdtCreateChannelWithCapacity, nullptr) aclError acltdtDestroyChannel(acltdtChannelHandle*)
        REFUSE(acltdtDestroyChannel, kUnsupported) aclError
    acltdtReceiveTensor(const acltdtChannelHandle*, acltdtDataset*, int32_t)
        REFUSE(acltdtReceiveTensor, kUnsupported) acltdtDataset* acltdtCreateDataset()
            REFUSE(acltdtCreateDataset, nullptr) aclError acltdtDestroyDataset(acltdtDataset*)
                REFUSE(acltdtDestroyDataset, kUnsupported) size_t acltdtGetDatasetSize(const acltdtDataset*)
                    REFUSE(acltdtGetDatasetSize, 0) acltdtDataItem* acltdtGetDataItem(const acltdtDataset*, size_t)
                        REFUSE(acltdtGetDataItem, nullptr) void* acltdtGetDataAddrFromItem(const acltdtDataItem*)
                            REFUSE(acltdtGetDataAddrFromItem, nullptr) size_t
    acltdtGetDataSizeFromItem(const acltdtDataItem*) REFUSE(acltdtGetDataSizeFromItem, 0) aclDataType
    acltdtGetDataTypeFromItem(const acltdtDataItem*) REFUSE(acltdtGetDataTypeFromItem, ACL_DT_UNDEFINED) size_t
    acltdtGetDimNumFromItem(const acltdtDataItem*) REFUSE(acltdtGetDimNumFromItem, 0) aclError
    acltdtGetDimsFromItem(const acltdtDataItem*, int64_t*, size_t) REFUSE(acltdtGetDimsFromItem, kUnsupported)

}  // extern "C"
