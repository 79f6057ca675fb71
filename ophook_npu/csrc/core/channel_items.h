// What goes through a channel (core/channel.h): the items of a dataset one behind the other, or a text.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace sim {

// As acltdtTensorType and aclDataType number them.
constexpr int32_t kTensorItem = 0, kEndOfSequence = 1, kTextType = 13;

struct ChannelItem {
  int32_t kind, dtype;
  std::vector<int64_t> dims;
  const void* data;
  size_t size;
};

constexpr char kItemsMark[] = "\1ophook tensors";  // no text begins so

inline std::string packed(const std::vector<ChannelItem>& items) {
  std::string all(kItemsMark, sizeof kItemsMark);
  const auto put = [&](const void* from, size_t size) { all.append(static_cast<const char*>(from), size); };
  for (const ChannelItem& item : items) {
    const uint64_t sizes[] = {uint64_t(item.kind), uint64_t(item.dtype), item.dims.size(), item.size};
    put(sizes, sizeof sizes);
    put(item.dims.data(), item.dims.size() * sizeof(int64_t));
    put(item.data, item.size);
  }
  return all;
}

// Their data lies in the text.
inline std::vector<ChannelItem> unpacked(const char* text, size_t size) {
  if (size < sizeof kItemsMark || memcmp(text, kItemsMark, sizeof kItemsMark))
    return {{kTensorItem, kTextType, {}, text, size}};
  std::vector<ChannelItem> items;
  for (const char* at = text + sizeof kItemsMark; at < text + size;) {
    uint64_t sizes[4];
    memcpy(sizes, at, sizeof sizes);
    ChannelItem& item = items.emplace_back();
    item.kind = int32_t(sizes[0]), item.dtype = int32_t(sizes[1]), item.size = sizes[3];
    item.dims.resize(sizes[2]);
    memcpy(item.dims.data(), at += sizeof sizes, sizes[2] * sizeof(int64_t));
    item.data = at += sizes[2] * sizeof(int64_t);
    at += item.size;
  }
  return items;
}

}  // namespace sim
