#include "acl/blocks.h"

#include <array>
#include <cstring>

namespace sim::acl {
namespace {

constexpr size_t kOfImage = 4, kOfBlocks = 4;

int64_t blocks_of(int64_t size, int64_t block) { return block > 0 ? (size + block - 1) / block : 0; }

// Where n, c, h and w stand; nothing for other formats.
const std::array<size_t, kOfImage>* places_of(aclFormat format) {
  static constexpr std::array<size_t, kOfImage> kNhwc = {0, 3, 1, 2}, kHwcn = {3, 2, 0, 1};
  return format == ACL_FORMAT_NHWC ? &kNhwc : format == ACL_FORMAT_HWCN ? &kHwcn : nullptr;
}

std::string text(const std::vector<int64_t>& sizes) {
  std::string result = "[";
  for (const int64_t size : sizes) result += (result.size() > 1 ? ", " : "") + std::to_string(size);
  return result + "]";
}

// Whether the storage is what the format makes of the sizes.
bool fits(const aclTensorDesc& desc) {
  const std::vector<int64_t>&sizes = desc.dims, &storage = desc.storage_dims;
  switch (desc.storage_format) {
    case ACL_FORMAT_FRACTAL_NZ: {
      if (sizes.size() < 2 || storage.size() != sizes.size() + 2) return false;
      const size_t batches = sizes.size() - 2;
      return std::equal(sizes.begin(), sizes.end() - 2, storage.begin()) &&
             storage[batches] == blocks_of(sizes[batches + 1], storage[batches + 3]) &&
             storage[batches + 1] == blocks_of(sizes[batches], storage[batches + 2]);
    }
    case ACL_FORMAT_NC1HWC0:
      return desc.format == ACL_FORMAT_NCHW && sizes.size() == kOfImage && storage.size() == kOfImage + 1 &&
             storage[0] == sizes[0] && storage[1] == blocks_of(sizes[1], storage[4]) && storage[2] == sizes[2] &&
             storage[3] == sizes[3];
    case ACL_FORMAT_FRACTAL_Z:
      return desc.format == ACL_FORMAT_NCHW && sizes.size() == kOfImage && storage.size() == kOfBlocks &&
             storage[0] == blocks_of(sizes[1], storage[3]) * sizes[2] * sizes[3] &&
             storage[1] == blocks_of(sizes[0], storage[2]);
    default: return false;
  }
}

}  // namespace

bool lies_in_other_order(const aclTensorDesc& desc) { return places_of(desc.format) && desc.dims.size() == kOfImage; }

aclTensorDesc in_nchw(const aclTensorDesc& desc) {
  aclTensorDesc result = desc;
  if (!lies_in_other_order(desc)) return result;
  result.storage_format = desc.format, result.storage_dims = desc.dims;
  result.format = ACL_FORMAT_NCHW, result.in_other_order = true;
  for (size_t i = 0; i < kOfImage; ++i) result.dims[i] = desc.dims[(*places_of(desc.format))[i]];
  return result;
}

std::vector<int64_t> from_nchw(aclFormat format, const std::vector<int64_t>& sizes) {
  const auto* places = places_of(format);
  std::vector<int64_t> result = sizes;
  if (places && sizes.size() == kOfImage)
    for (size_t i = 0; i < kOfImage; ++i) result[(*places)[i]] = sizes[i];
  return result;
}

bool in_blocks(const aclTensorDesc& desc) {
  return desc.in_other_order || (desc.storage_format != desc.format && desc.storage_dims != desc.dims);
}

std::string problem_of_blocks(const aclTensorDesc& desc) {
  if (desc.in_other_order) return "";
  if (desc.storage_format != ACL_FORMAT_FRACTAL_NZ && desc.storage_format != ACL_FORMAT_NC1HWC0 &&
      desc.storage_format != ACL_FORMAT_FRACTAL_Z)
    return "has the private format " + std::to_string(desc.storage_format) +
           ", which is not simulated; allowed: 3 (NC1HWC0), 4 (FRACTAL_Z), 29 (FRACTAL_NZ)";
  if (!fits(desc))
    return "of format " + std::to_string(desc.format) + " and sizes " + text(desc.dims) +
           " does not lie in private format " + std::to_string(desc.storage_format) + " as " + text(desc.storage_dims);
  return "";
}

Blocks::Blocks(const aclTensorDesc& desc)
    : format_(desc.storage_format), sizes_(desc.dims), storage_(desc.storage_dims), item_(aclDataTypeSize(desc.dtype)) {
  for (const int64_t size : sizes_) elements_ *= size;
  for (const int64_t size : storage_) elements_in_blocks_ *= size;
}

template <typename F>
void Blocks::each(F move) const {
  int64_t at = 0;
  if (format_ == ACL_FORMAT_FRACTAL_NZ) {
    const size_t batches = sizes_.size() - 2;
    const int64_t rows = sizes_[batches], columns = sizes_[batches + 1];
    const int64_t all_rows = storage_[batches + 1] * storage_[batches + 2], c0 = storage_[batches + 3];
    const int64_t matrix = storage_[batches] * all_rows * c0;
    const int64_t count = rows && columns ? elements_ / (rows * columns) : 0;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) move(at++, i * matrix + (c / c0 * all_rows + r) * c0 + c % c0);
    return;
  }
  if (const auto* places = places_of(format_)) {
    std::array<int64_t, kOfImage> steps{1, 1, 1, 1};  // of each dimension of the storage
    for (size_t i = kOfImage - 1; i > 0; --i) steps[i - 1] = steps[i] * storage_[i];
    const auto step = [&](size_t dim) { return steps[(*places)[dim]]; };
    for (int64_t n = 0; n < sizes_[0]; ++n)
      for (int64_t c = 0; c < sizes_[1]; ++c)
        for (int64_t y = 0; y < sizes_[2]; ++y)
          for (int64_t x = 0; x < sizes_[3]; ++x) move(at++, n * step(0) + c * step(1) + y * step(2) + x * step(3));
    return;
  }
  const bool image = format_ == ACL_FORMAT_NC1HWC0;
  const int64_t c0 = storage_.back(), c1 = blocks_of(sizes_[1], c0), h = sizes_[2], w = sizes_[3];
  const int64_t all_n = image ? 0 : storage_[1] * storage_[2];
  for (int64_t n = 0; n < sizes_[0]; ++n)
    for (int64_t c = 0; c < sizes_[1]; ++c)
      for (int64_t y = 0; y < h; ++y)
        for (int64_t x = 0; x < w; ++x) {
          const int64_t block = image ? ((n * c1 + c / c0) * h + y) * w + x : (c / c0 * h + y) * w + x;
          move(at++, (image ? block : block * all_n + n) * c0 + c % c0);
        }
}

void Blocks::take_apart(const void* blocks, void* plain) const {
  each([&](int64_t to, int64_t from) {
    std::memcpy(static_cast<char*>(plain) + size_t(to) * item_, static_cast<const char*>(blocks) + size_t(from) * item_,
                item_);
  });
}

void Blocks::put_together(const void* plain, void* blocks) const {
  std::memset(blocks, 0, bytes_in_blocks());
  each([&](int64_t from, int64_t to) {
    std::memcpy(static_cast<char*>(blocks) + size_t(to) * item_, static_cast<const char*>(plain) + size_t(from) * item_,
                item_);
  });
}

}  // namespace sim::acl
