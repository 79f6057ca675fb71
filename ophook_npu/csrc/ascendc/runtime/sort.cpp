// Sorting. Of equal values the one with the smaller place comes first.
#include "ascendc/sort.h"

#include <numeric>

#include "arithmetic.h"
#include "numbers.h"
#include "vector.h"

namespace ophook::rt {
namespace {

constexpr uint64_t kPair = 8, kGroup = 32;

bool ready(Operation& op, const Local& tensor, uint64_t bytes, const char* role) {
  Core& c = op.core;
  if (!c.usable(tensor, op.call, op.at) || !op.aligned(tensor, kBlock, role) || !op.inside(tensor, 0, bytes, role))
    return false;
  if (tensor.memory == Memory::ub) return true;
  c.report(Kind::position, op.call, op.at, text("%s is not in UB", role), c.describe(tensor));
  return false;
}

bool sortable(Operation& op, Dtype dtype, int32_t repeats) {
  if (dtype != Dtype::f16 && dtype != Dtype::f32) {
    op.core.report(Kind::data_type, op.call, op.at, text("%s; allowed: half, float", name_of(dtype)));
    op.core.stop();
  }
  if (repeats >= 0 && repeats <= 255) return repeats > 0;
  op.core.report(Kind::repeat, op.call, op.at, text("repeat is %d; allowed: 0 to 255", repeats));
  return false;
}

// False where nothing was computed: what comes of a group that is behind a matrix's last row is nobody's.
bool known(Operation& op, const Local& values, uint64_t first, uint64_t bytes) {
  const uint8_t* const written = op.written(values) + first;
  if (!op.core.launch.checks() || all_written(written, bytes)) return true;
  const bool any = std::memchr(written, 1, bytes) != nullptr;
  if (any)
    op.core.report(Kind::uninitialized, op.call, op.at, "sorts values that were never computed",
                   op.core.describe(values));
  return any;
}

float value_at(Dtype dtype, const uint8_t* at) {
  float value;
  wide(dtype, at, &value, 1);
  return value;
}

}  // namespace

void sort(const char* call, Local dst, Local values, Local indices, const Local* work, int32_t repeats, bool whole,
          At at) {
  Core& c = core();
  Operation op(c, Pipe::V, call, at);
  const uint32_t size = size_of(dst.dtype);
  if (!sortable(op, dst.dtype, repeats)) return;
  const uint64_t count = uint64_t(repeats) * kGroup;
  if (!ready(op, dst, count * kPair, "the destination") || !ready(op, values, count * size, "the values") ||
      !ready(op, indices, count * 4, "the indices"))
    return;
  if (work && !ready(op, *work, count * kPair, "the temporary tensor")) return;
  op.reads(values, 0, count * size);
  op.reads(indices, 0, count * 4);
  if (work) op.writes(*work, 0, count * kPair);
  op.writes(dst, 0, count * kPair);
  std::vector<float> numbers(count);
  wide(dst.dtype, op.data(values), numbers.data(), count);
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  const uint64_t group = whole ? count : kGroup;
  for (uint64_t first = 0; first < count; first += group)
    std::stable_sort(order.begin() + int64_t(first), order.begin() + int64_t(first + group),
                     [&](uint32_t a, uint32_t b) { return numbers[a] > numbers[b]; });
  // The destination may be where the values are. An index goes along, computed or not: kernels fill up the values of
  // their last group alone, and drop what comes last.
  std::vector<uint8_t> pairs(count * kPair), written(count * kPair, 1);
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(&pairs[i * kPair], op.data(values) + order[i] * size, size);
    std::memcpy(&pairs[i * kPair + 4], op.data(indices) + order[i] * 4, 4);
    std::memcpy(&written[i * kPair + 4], op.written(indices) + order[i] * 4, 4);
  }
  for (uint64_t first = 0; first < count; first += group)
    if (!known(op, values, first * size, group * size)) std::memset(&written[first * kPair], 0, group * kPair);
  std::memcpy(op.data(dst), pairs.data(), pairs.size());
  std::memcpy(op.written(dst), written.data(), written.size());
}

void merge_sorted(Local dst, const Local* lists, const uint16_t* lengths, uint16_t valid, int32_t repeats, bool suspend,
                  uint32_t* taken, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, "MrgSort", at);
  for (int i = 0; i < 4; ++i) taken[i] = c.merged[i] = 0;
  if (!sortable(op, dst.dtype, repeats)) return;
  if (valid != 3 && valid != 7 && valid != 15) {
    c.report(Kind::parameter, "MrgSort", at,
             text("validBit is %u; allowed: 3, 7 and 15, for two, three and four lists", valid));
    return;
  }
  const int count = valid == 3 ? 2 : valid == 7 ? 3 : 4;
  uint64_t total = 0;
  bool alike = count == 4;
  for (int i = 0; i < count; ++i) {
    total += lengths[i];
    alike &= lengths[i] == lengths[0] && (!i || lists[i].offset == lists[i - 1].offset + lengths[i] * kPair);
    if (lengths[i] > 4095)
      c.report(Kind::parameter, "MrgSort", at, text("list %d has %u elements; allowed: up to 4095", i, lengths[i]));
  }
  if (repeats > 1 && (!alike || suspend)) {
    c.report(Kind::parameter, "MrgSort", at,
             "more than one repeat needs four lists of one length, one after the other, and no suspension");
    return;
  }
  const uint64_t step = total * kPair;  // from one repeat's lists to the next one's
  if (!ready(op, dst, step * uint64_t(repeats), "the destination")) return;
  for (int i = 0; i < count; ++i) {
    const uint64_t bytes = repeats > 1 ? step * uint64_t(repeats - 1) + lengths[i] * kPair : lengths[i] * kPair;
    if (!lengths[i]) continue;
    if (!c.usable(lists[i], "MrgSort", at) || !op.aligned(lists[i], kPair, "a list") ||
        !op.inside(lists[i], 0, bytes, "a list"))
      return;
    if (dst.offset < lists[i].offset + bytes && lists[i].offset < dst.offset + step * uint64_t(repeats))
      return c.report(Kind::overlap, "MrgSort", at, text("the destination lies over list %d", i));
  }
  for (int32_t r = 0; r < repeats; ++r) {
    uint32_t next[4] = {};
    uint64_t out = uint64_t(r) * step;
    for (int i = 0; i < count; ++i) {
      op.reads(lists[i], uint64_t(r) * step, lengths[i] * kPair);
      for (uint32_t e = 0; e < lengths[i] && c.launch.checks(); ++e)
        if (const uint8_t* w = op.written(lists[i]) + uint64_t(r) * step + e * kPair;
            !all_written(w, size_of(dst.dtype))) {
          c.report(Kind::uninitialized, "MrgSort", at, text("list %d: value %u was never computed", i, e),
                   c.describe(lists[i]));
          break;
        }
    }
    op.writes(dst, out, step);
    std::vector<uint8_t> pairs, written;
    while (true) {
      int best = -1;
      float most = 0;
      bool exhausted = false;
      for (int i = 0; i < count; ++i) {
        if (next[i] == lengths[i]) {
          exhausted |= lengths[i] > 0;
          continue;
        }
        const float value = value_at(dst.dtype, op.data(lists[i]) + uint64_t(r) * step + next[i] * kPair);
        if (best < 0 || value > most) best = i, most = value;
      }
      if (best < 0 || (suspend && exhausted)) break;
      const uint64_t from = uint64_t(r) * step + next[best]++ * kPair;
      const uint8_t *pair = op.data(lists[best]) + from, *of_it = op.written(lists[best]) + from;
      pairs.insert(pairs.end(), pair, pair + kPair);
      written.insert(written.end(), of_it, of_it + kPair);
    }
    std::memcpy(op.data(dst) + out, pairs.data(), pairs.size());
    std::memcpy(op.written(dst) + out, written.data(), written.size());
    for (int i = 0; i < 4; ++i) taken[i] = c.merged[i] = next[i];
  }
}

void split_pairs(Local values, Local indices, Local pairs, int32_t repeats, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, "Extract", at);
  const uint32_t size = size_of(values.dtype);
  if (!sortable(op, values.dtype, repeats)) return;
  const uint64_t count = uint64_t(repeats) * kGroup;
  if (!ready(op, values, count * size, "the values") || !ready(op, indices, count * 4, "the indices") ||
      !ready(op, pairs, count * kPair, "the source"))
    return;
  op.reads(pairs, 0, count * kPair);
  op.writes(values, 0, count * size);
  op.writes(indices, 0, count * 4);
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(op.data(values) + i * size, op.data(pairs) + i * kPair, size);
    std::memcpy(op.written(values) + i * size, op.written(pairs) + i * kPair, size);
    std::memcpy(op.data(indices) + i * 4, op.data(pairs) + i * kPair + 4, 4);
    std::memcpy(op.written(indices) + i * 4, op.written(pairs) + i * kPair + 4, 4);
  }
}

const uint32_t* last_merge() { return core().merged; }

std::vector<uint32_t> order_of(Dtype dtype, const uint8_t* elements, uint32_t count, bool largest, bool nan_first) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  const bool whole = with_whole(dtype, [&](auto type) {
    const auto value = [&](uint32_t i) { return element_at<decltype(type)>(elements + uint64_t(i) * sizeof type); };
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return largest ? value(a) > value(b) : value(a) < value(b); });
  });
  if (whole) return order;
  std::vector<float> values(count);
  wide(dtype, elements, values.data(), count);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const float x = values[a], y = values[b];
    if (x != x || y != y) return nan_first ? x != x && y == y : x == x && y != y;
    return largest ? x > y : x < y;
  });
  return order;
}

void sort_values(Local dst, const Local* dst_index, Local src, const Local* src_index, const Local* work,
                 uint32_t count, bool descending, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, "Sort", at);
  const uint32_t size = size_of(src.dtype), index_size = dst_index ? size_of(dst_index->dtype) : 4;
  Operand operands[4] = {{&dst, {}, size, true, "the destination"}, {&src, {}, size, false, "the source"}};
  int n = 2;
  if (dst_index) operands[n++] = {dst_index, {}, index_size, true, "the destination of the indices"};
  if (src_index) operands[n++] = {src_index, {}, index_size, false, "the source's indices"};
  if (!scratch(op, work, {{&dst, uint64_t(count) * size}, {&src, uint64_t(count) * size}})) return;
  Walk walk(op, operands, n, {Cover::kCount, count, 0, 1});
  walk.each([&](const Run& run) {
    for (int i = 0; i < n; ++i)
      if (c.launch.checks() && operands[i].tensor == &src &&
          !all_written(op.written(*operands[i].tensor), count * operands[i].size))
        c.report(Kind::uninitialized, "Sort", at, text("%s has elements that were never computed", operands[i].role),
                 c.describe(*operands[i].tensor));
    const std::vector<uint32_t> order = order_of(src.dtype, op.data(src), run.count, descending, descending);
    std::vector<uint8_t> values(uint64_t(count) * size), indices(uint64_t(count) * index_size);
    std::vector<uint8_t> written(indices.size(), 1);
    for (uint32_t i = 0; i < count; ++i) {
      std::memcpy(values.data() + uint64_t(i) * size, op.data(src) + uint64_t(order[i]) * size, size);
      const uint64_t from = order[i];
      std::memcpy(indices.data() + uint64_t(i) * index_size,
                  src_index ? op.data(*src_index) + from * index_size : reinterpret_cast<const uint8_t*>(&from),
                  index_size);
      if (src_index)
        std::memcpy(written.data() + uint64_t(i) * index_size, op.written(*src_index) + from * index_size, index_size);
    }
    std::memcpy(op.data(dst), values.data(), values.size());
    std::memset(op.written(dst), 1, values.size());
    if (!dst_index) return;
    std::memcpy(op.data(*dst_index), indices.data(), indices.size());
    std::memcpy(op.written(*dst_index), written.data(), written.size());
  });
}

}  // namespace ophook::rt
