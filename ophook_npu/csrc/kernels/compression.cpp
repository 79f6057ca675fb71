#include "kernels/compression.h"

namespace sim::compression {
namespace {

// The stream: a header; for each 64 bytes the bits that the largest of them needs; and that many planes of 64 bits. A
// byte is counted from the value that occurs most.
constexpr int64_t kHeader = 512, kBlock = 64, kBits = 8, kValues = 256;
constexpr int64_t kMark = 0x314D4953534E4148;  // "HANSSIM1"
constexpr int64_t kLeast = 32768, kPerCore = 8448;

at::Tensor bytes_of(const at::Tensor& numbers) { return numbers.contiguous().flatten().view(at::kByte); }
int64_t size_of(const at::Tensor& numbers) { return numbers.numel() * numbers.element_size(); }

at::Tensor by_count(const at::Tensor& counts) { return at::argsort(counts.flatten(), true, 0, true); }
at::Tensor numbers_to(int64_t end) { return at::arange(end, at::kByte); }

// Fills the tensor with the bytes from `start` on, and zeros behind the last.
void put(const at::Tensor& to, const at::Tensor& stream, int64_t start) {
  at::Tensor bytes = at::zeros({size_of(to)}, at::kByte);
  const int64_t count = std::min(bytes.numel(), std::max<int64_t>(stream.numel() - start, 0));
  if (count) bytes.narrow(0, 0, count).copy_(stream.narrow(0, start, count));
  to.copy_(bytes.view(to.scalar_type()).reshape(to.sizes()));
}

}  // namespace

void parts_like(const at::Tensor& numbers, const Parts& parts) {
  SIM_CHECK(numbers.numel() % kBlock == 0 && numbers.numel() >= kLeast, numbers.numel(),
            " numbers; allowed: multiples of 64 from 32768 on");
  same_dtype({numbers, parts.mantissa, parts.fixed, parts.rest});
  SIM_CHECK(parts.counts.numel() == kValues, "a pdf (1, 256) expected, got ", parts.counts.sizes());
  SIM_CHECK(size_of(parts.mantissa) == size_of(numbers) - numbers.numel(), "a mantissa of ",
            size_of(numbers) - numbers.numel(), " bytes expected, got ", parts.mantissa.sizes());
  SIM_CHECK(size_of(parts.fixed) >= kHeader, "fixed of ", size_of(parts.fixed), " bytes; allowed: 512 or more");
}

// The page writes mantissa for the second of the two that take the stream.
void encoded_like(const at::Tensor& numbers, const Parts& parts) {
  parts_like(numbers, parts);
  const int64_t room = size_of(parts.fixed) + size_of(parts.rest), count = numbers.numel();
  SIM_CHECK(room >= count + count / kBlock + kPerCore, "fixed and var of ", room, " bytes; ",
            count + count / kBlock + kPerCore, " or more expected");
}

void encode(const at::Tensor& numbers, bool count, const Parts& parts) {
  const int64_t size = int64_t(numbers.element_size());
  const at::Tensor bytes = bytes_of(numbers).reshape({-1, size}), top = bytes.select(1, size - 1).to(at::kLong);
  put(parts.mantissa, bytes.narrow(1, 0, size - 1).reshape({-1}), 0);
  if (count) parts.counts.copy_(at::bincount(top, {}, kValues).reshape(parts.counts.sizes()));
  at::Tensor ranks = at::empty({kValues}, at::kByte);
  ranks.index_copy_(0, by_count(parts.counts), numbers_to(kValues));
  const at::Tensor blocks = ranks.index_select(0, top).reshape({-1, 1, kBlock});
  const at::Tensor bits = blocks.bitwise_right_shift(numbers_to(kBits).unsqueeze(1)).bitwise_and(1);
  const at::Tensor planes =
      bits.unflatten(2, {-1, kBits}).bitwise_left_shift(numbers_to(kBits)).sum(-1, false, at::kByte);
  const at::Tensor widths = blocks.amax({1, 2}).unsqueeze(1).bitwise_right_shift(numbers_to(kBits)).gt(0).sum(1);
  const at::Tensor kept = numbers_to(kBits).lt(widths.unsqueeze(1));
  const at::Tensor body = planes.flatten(0, 1).index_select(0, kept.flatten().nonzero().squeeze(1)).flatten();
  at::Tensor header = at::zeros({kHeader / 8}, at::kLong);
  header[0].fill_(kMark), header[1].fill_(numbers.numel());
  const at::Tensor stream = at::concat({header.view(at::kByte), widths.to(at::kByte), body});
  put(parts.fixed, stream, 0);
  put(parts.rest, stream, size_of(parts.fixed));
}

void decode(const Parts& parts, const at::Tensor& numbers) {
  const int64_t size = int64_t(numbers.element_size()), blocks = numbers.numel() / kBlock;
  const at::Tensor stream = at::concat({bytes_of(parts.fixed), bytes_of(parts.rest)});
  const at::Tensor header = stream.narrow(0, 0, kHeader).view(at::kLong);
  SIM_CHECK(header[0].item<int64_t>() == kMark && header[1].item<int64_t>() == numbers.numel(), "these are not ",
            numbers.numel(), " numbers that this simulator compressed");
  const at::Tensor widths = stream.narrow(0, kHeader, blocks);
  const at::Tensor kept = numbers_to(kBits).lt(widths.unsqueeze(1)).flatten().nonzero().squeeze(1);
  const int64_t start = kHeader + blocks, count = kept.numel() * kBlock / kBits;
  SIM_CHECK(start + count <= stream.numel(), "the compressed numbers end before their last byte");
  at::Tensor planes = at::zeros({blocks * kBits, kBlock / kBits}, at::kByte);
  planes.index_copy_(0, kept, stream.narrow(0, start, count).reshape({-1, kBlock / kBits}));
  const at::Tensor bits =
      planes.unsqueeze(-1).bitwise_right_shift(numbers_to(kBits)).bitwise_and(1).reshape({blocks, kBits, kBlock});
  const at::Tensor ranks = bits.bitwise_left_shift(numbers_to(kBits).unsqueeze(1)).sum(1, false, at::kLong).flatten();
  const at::Tensor top = by_count(parts.counts).to(at::kByte).index_select(0, ranks).unsqueeze(1);
  put(numbers, at::concat({bytes_of(parts.mantissa).reshape({-1, size - 1}), top}, 1).flatten(), 0);
}

}  // namespace sim::compression
