// libacl_tdt_channel: data between host and device by the name of a channel. CANN's page "Tensor data transfer". What a
// graph prints (torchair.ops.npu_print) comes as texts, one item of a dataset each; what a program sends, as it sent
// it.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "acl/acl_tdt.h"
#include "acl/refuse.h"
#include "core/channel.h"
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

constexpr char kMark[] = "\1ophook tensors";  // no text begins so

void put(std::string& to, const void* from, size_t size) { to.append(static_cast<const char*>(from), size); }
template <typename T>
void put(std::string& to, T value) {
  put(to, &value, sizeof value);
}
template <typename T>
T get(const char*& from) {
  T value;
  memcpy(&value, from, sizeof value);
  from += sizeof value;
  return value;
}

std::string packed(const acltdtDataset& dataset) {
  std::string all(kMark, sizeof kMark);
  put(all, uint64_t(dataset.items.size()));
  for (const acltdtDataItem* item : dataset.items) {
    put(all, int32_t(item->kind)), put(all, int32_t(item->dtype)), put(all, uint64_t(item->dims.size()));
    put(all, item->dims.data(), item->dims.size() * sizeof(int64_t));
    put(all, uint64_t(item->size));
    put(all, item->data, item->size);
  }
  return all;
}

void unpack(const char* text, size_t size, acltdtDataset* dataset) {
  dataset->items.clear();
  dataset->received.clear();
  const auto add = [&]() -> acltdtDataItem& {
    dataset->received.push_back(std::make_unique<acltdtDataItem>());
    dataset->items.push_back(dataset->received.back().get());
    return *dataset->received.back();
  };
  if (size < sizeof kMark || memcmp(text, kMark, sizeof kMark)) {
    acltdtDataItem& item = add();
    item.own.assign(text, size);
    item.data = item.own.data(), item.size = size;
    return;
  }
  const char* at = text + sizeof kMark;
  for (auto left = get<uint64_t>(at); left; --left) {
    acltdtDataItem& item = add();
    item.kind = acltdtTensorType(get<int32_t>(at)), item.dtype = aclDataType(get<int32_t>(at));
    item.dims.resize(get<uint64_t>(at));
    for (int64_t& dim : item.dims) dim = get<int64_t>(at);
    item.size = get<uint64_t>(at);
    item.own.assign(at, item.size);
    item.data = item.own.data();
    at += item.size;
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
