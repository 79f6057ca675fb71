// libacl_tdt_channel: data between host and device by the name of a channel. CANN's page "Tensor data transfer". What a
// graph prints (torchair.ops.npu_print) comes as texts, one item of a dataset each; what a program sends, as it sent
// it.
#include <cstdlib>
#include <memory>
#include <vector>

#include "acl/acl_tdt.h"
#include "acl/refuse.h"
#include "core/channel.h"
#include "core/channel_items.h"
#include "core/runtime.h"

struct acltdtDataItem {
  acltdtTensorType kind = ACL_TENSOR_DATA_TENSOR;
  aclDataType dtype = ACL_STRING;
  std::vector<int64_t> dims;
  void* data = nullptr;
  size_t size = 0;
  std::string own;  // what was received
};

struct acltdtDataset {
  std::vector<acltdtDataItem*> items;
  std::vector<std::unique_ptr<acltdtDataItem>> received;
  std::string name;
};

using sim::acl::given;

namespace {

std::string packed(const acltdtDataset& dataset) {
  std::vector<sim::ChannelItem> items;
  for (const acltdtDataItem* item : dataset.items)
    items.push_back({item->kind, item->dtype, item->dims, item->data, item->size});
  return sim::packed(items);
}

void unpack(const char* text, size_t size, acltdtDataset* dataset) {
  dataset->items.clear();
  dataset->received.clear();
  for (const sim::ChannelItem& from : sim::unpacked(text, size)) {
    acltdtDataItem& item = *dataset->received.emplace_back(std::make_unique<acltdtDataItem>());
    item = {acltdtTensorType(from.kind),
            aclDataType(from.dtype),
            from.dims,
            nullptr,
            from.size,
            {static_cast<const char*>(from.data), from.size}};
    item.data = item.own.data();
    dataset->items.push_back(&item);
  }
}

}  // namespace

extern "C" {

acltdtChannelHandle* acltdtCreateChannelWithCapacity(uint32_t device, const char* name, size_t capacity) {
  return static_cast<acltdtChannelHandle*>(sim_channel_open(int(device), name, capacity));
}
acltdtChannelHandle* acltdtCreateChannel(uint32_t device, const char* name) {
  constexpr size_t kUsual = 128;
  return acltdtCreateChannelWithCapacity(device, name, kUsual);
}
aclError acltdtDestroyChannel(acltdtChannelHandle* channel) { return sim_channel_close(channel); }
aclError acltdtStopChannel(acltdtChannelHandle* channel) { return sim_channel_empty(channel, 1); }
aclError acltdtCleanChannel(acltdtChannelHandle* channel) { return sim_channel_empty(channel, 0); }
aclError acltdtQueryChannelSize(const acltdtChannelHandle* channel, size_t* size) {
  return given(__func__, size) ? sim_channel_size(channel, size) : ACL_ERROR_INVALID_PARAM;
}

// ---- items: the caller's data, which a dataset does not own ----
acltdtDataItem* acltdtCreateDataItem(acltdtTensorType kind, const int64_t* dims, size_t rank, aclDataType dtype,
                                     void* data, size_t size) {
  const bool whole =
      kind == ACL_TENSOR_DATA_TENSOR || kind == ACL_TENSOR_DATA_SLICE_TENSOR || kind == ACL_TENSOR_DATA_END_TENSOR;
  if (kind < ACL_TENSOR_DATA_TENSOR || kind > ACL_TENSOR_DATA_END_TENSOR || (rank && !dims) ||
      (whole && size && !data)) {
    ACL_INVALID(__func__, "type %d, or a null pointer", int(kind));
    return nullptr;
  }
  auto* item = new acltdtDataItem;
  item->kind = kind, item->dtype = dtype, item->data = data, item->size = size;
  item->dims.assign(dims, dims + rank);
  return item;
}
aclError acltdtDestroyDataItem(acltdtDataItem* item) { return sim::acl::destroyed(__func__, "dataItem", item); }
acltdtTensorType acltdtGetTensorTypeFromItem(const acltdtDataItem* item) {
  return given(__func__, item) ? item->kind : ACL_TENSOR_DATA_UNDEFINED;
}
void* acltdtGetDataAddrFromItem(const acltdtDataItem* item) { return given(__func__, item) ? item->data : nullptr; }
size_t acltdtGetDataSizeFromItem(const acltdtDataItem* item) { return given(__func__, item) ? item->size : 0; }
aclDataType acltdtGetDataTypeFromItem(const acltdtDataItem* item) {
  return given(__func__, item) ? item->dtype : ACL_DT_UNDEFINED;
}
size_t acltdtGetDimNumFromItem(const acltdtDataItem* item) { return given(__func__, item) ? item->dims.size() : 0; }
aclError acltdtGetDimsFromItem(const acltdtDataItem* item, int64_t* dims, size_t rank) {
  if (!given(__func__, item) || (rank && !given(__func__, dims))) return ACL_ERROR_INVALID_PARAM;
  ACL_INVALID_IF(rank < item->dims.size(), "room for %zu; the item has %zu dimensions", rank, item->dims.size());
  std::copy(item->dims.begin(), item->dims.end(), dims);
  return ACL_SUCCESS;
}
aclError acltdtGetSliceInfoFromItem(const acltdtDataItem* item, size_t* slices, size_t* slice) {
  if (!given(__func__, item) || !given(__func__, slices) || !given(__func__, slice)) return ACL_ERROR_INVALID_PARAM;
  *slices = 0, *slice = 0;  // a simulated channel takes data of any size in one piece
  return ACL_SUCCESS;
}

// ---- datasets ----
acltdtDataset* acltdtCreateDataset() { return new acltdtDataset; }
aclError acltdtDestroyDataset(acltdtDataset* dataset) { return sim::acl::destroyed(__func__, "dataset", dataset); }
aclError acltdtAddDataItem(acltdtDataset* dataset, acltdtDataItem* item) {
  if (!given(__func__, dataset) || !given(__func__, item)) return ACL_ERROR_INVALID_PARAM;
  if (!dataset->received.empty())
    return sim_fail(ACL_ERROR_FEATURE_UNSUPPORTED, "%s: the dataset was received; items are added to others", __func__);
  dataset->items.push_back(item);
  return ACL_SUCCESS;
}
size_t acltdtGetDatasetSize(const acltdtDataset* dataset) {
  return given(__func__, dataset) ? dataset->items.size() : 0;
}
acltdtDataItem* acltdtGetDataItem(const acltdtDataset* dataset, size_t index) {
  if (!given(__func__, dataset)) return nullptr;
  if (index < dataset->items.size()) return dataset->items[index];
  ACL_INVALID(__func__, "item %zu of %zu", index, dataset->items.size());
  return nullptr;
}
const char* acltdtGetDatasetName(const acltdtDataset* dataset) {
  return given(__func__, dataset) ? dataset->name.c_str() : nullptr;
}

aclError acltdtSendTensor(const acltdtChannelHandle* channel, const acltdtDataset* dataset, int32_t timeout) {
  ACL_INVALID_IF(!dataset, "null pointer");
  ACL_INVALID_IF(timeout < -1, "timeout %d; allowed: -1 or more", timeout);
  const std::string all = packed(*dataset);
  return sim_channel_put(channel, timeout, all.data(), all.size());
}
aclError acltdtReceiveTensor(const acltdtChannelHandle* channel, acltdtDataset* dataset, int32_t timeout) {
  ACL_INVALID_IF(!dataset, "null pointer");
  char* text = nullptr;
  size_t size = 0;
  if (int code = sim_channel_receive(channel, timeout, &text, &size)) return code;
  unpack(text, size, dataset);
  std::free(text);
  return ACL_SUCCESS;
}

}  // extern "C"
