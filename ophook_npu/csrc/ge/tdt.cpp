// libacl_tdt_channel: how torchair reads what a graph prints (torchair.ops.npu_print). Texts are all that comes: one
// item of a dataset each.
#include <cstdlib>
#include <memory>

#include "acl/acl_tdt.h"
#include "core/channel.h"
#include "core/sim.h"

struct acltdtDataItem {
  char* text = nullptr;
  size_t size = 0;
};

struct acltdtDataset {
  bool filled = false;
  acltdtDataItem item;

  void clear() {
    std::free(item.text);
    *this = {};
  }
};

namespace {

template <typename T>
bool given(const char* caller, const T* pointer) {
  if (!pointer) sim_fail(ACL_ERROR_INVALID_PARAM, "%s: null pointer", caller);
  return pointer;
}

}  // namespace

extern "C" {

acltdtChannelHandle* acltdtCreateChannelWithCapacity(uint32_t device, const char* name, size_t capacity) {
  return static_cast<acltdtChannelHandle*>(sim_channel_open(int(device), name, capacity));
}
aclError acltdtDestroyChannel(acltdtChannelHandle* channel) { return sim_channel_close(channel); }

acltdtDataset* acltdtCreateDataset() { return new acltdtDataset; }
aclError acltdtDestroyDataset(acltdtDataset* dataset) {
  if (!given("acltdtDestroyDataset", dataset)) return ACL_ERROR_INVALID_PARAM;
  dataset->clear();
  delete dataset;
  return ACL_SUCCESS;
}

aclError acltdtReceiveTensor(const acltdtChannelHandle* channel, acltdtDataset* dataset, int32_t timeout) {
  if (!given("acltdtReceiveTensor", dataset)) return ACL_ERROR_INVALID_PARAM;
  acltdtDataItem item;
  if (int code = sim_channel_receive(channel, timeout, &item.text, &item.size)) return code;
  dataset->clear();
  dataset->item = item;
  dataset->filled = true;
  return ACL_SUCCESS;
}

size_t acltdtGetDatasetSize(const acltdtDataset* dataset) {
  return given("acltdtGetDatasetSize", dataset) && dataset->filled ? 1 : 0;
}
acltdtDataItem* acltdtGetDataItem(const acltdtDataset* dataset, size_t index) {
  if (!given("acltdtGetDataItem", dataset)) return nullptr;
  if (dataset->filled && index == 0) return const_cast<acltdtDataItem*>(&dataset->item);
  sim_fail(ACL_ERROR_INVALID_PARAM, "acltdtGetDataItem: item %zu of %d", index, int(dataset->filled));
  return nullptr;
}
void* acltdtGetDataAddrFromItem(const acltdtDataItem* item) {
  return given("acltdtGetDataAddrFromItem", item) ? item->text : nullptr;
}
size_t acltdtGetDataSizeFromItem(const acltdtDataItem* item) {
  return given("acltdtGetDataSizeFromItem", item) ? item->size : 0;
}
aclDataType acltdtGetDataTypeFromItem(const acltdtDataItem* item) {
  return given("acltdtGetDataTypeFromItem", item) ? ACL_STRING : ACL_DT_UNDEFINED;
}
// A text has no dimensions.
size_t acltdtGetDimNumFromItem(const acltdtDataItem* item) {
  given("acltdtGetDimNumFromItem", item);
  return 0;
}
aclError acltdtGetDimsFromItem(const acltdtDataItem* item, int64_t*, size_t) {
  return given("acltdtGetDimsFromItem", item) ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

}  // extern "C"
