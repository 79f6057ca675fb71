// Instructions that move elements within local memory.
#include <algorithm>

#include "ascendc/reduce.h"
#include "vector.h"

namespace ophook::rt {
namespace {

// One element of `size` bytes, with what is known about it.
void move(Operation& op, const Local& dst, uint64_t to, const Local& src, uint64_t from, uint32_t size) {
  std::memmove(op.data(dst) + to, op.data(src) + from, size);
  std::memmove(op.written(dst) + to, op.written(src) + from, size);
}
bool ready(Operation& op, const Local& dst, const Local& src) {
  return op.core.usable(dst, op.call, op.at) && op.core.usable(src, op.call, op.at) &&
         op.aligned(dst, kBlock, "the destination") && op.aligned(src, kBlock, "the source");
}

}  // namespace

void gather(Local dst, Local src, Local offsets, uint32_t base, Cover cover, Step d, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, "Gather", at);
  if (!has_type(op.call, dst.dtype, kMoved, kMovedOf950, at)) return c.stop();
  const uint32_t size = size_of(dst.dtype);
  if (!ready(op, dst, src) || !c.usable(offsets, "Gather", at)) return;
  const Operand operands[] = {{&dst, d, size, true, "the destination"}};
  Walk walk(op, operands, 1, cover);
  const uint64_t bytes = walk.end() * 4;
  if (!op.inside(offsets, 0, bytes, "the offsets")) return;
  op.reads(offsets, 0, bytes);
  bool known = true, good = true;
  walk.each([&](const Run& run) {
    if (known && c.launch.checks() && !all_written(op.written(offsets) + run.first * 4, run.count * 4ull)) {
      c.report(Kind::uninitialized, "Gather", at, "the offsets were never computed", c.describe(offsets));
      known = false;
    }
    // An iteration has read its elements and their places before it writes: kernels gather in place.
    const uint32_t lanes = 256 / size;
    for (uint32_t begin = 0; begin < run.count && good; begin += lanes) {
      const uint32_t count = std::min(lanes, run.count - begin);
      uint8_t values[256], there[256];
      for (uint32_t e = 0; e < count; ++e) {
        uint32_t offset;
        std::memcpy(&offset, op.data(offsets) + (run.first + begin + e) * 4, 4);
        const uint64_t from = uint64_t(base) + offset;
        good = op.inside(src, from, size, "the source");
        if (good && from % size) {
          c.report(Kind::alignment, "Gather", at,
                   text("offset %u is no multiple of the element's %u bytes", offset, size));
          good = false;
        }
        if (!good) return;
        op.reads(src, from, size);
        std::memcpy(values + e * size, op.data(src) + from, size);
        std::memcpy(there + e * size, op.written(src) + from, size);
      }
      const uint64_t to = run.offsets[0] + uint64_t(begin) * size;
      std::memcpy(op.data(dst) + to, values, count * size);
      std::memcpy(op.written(dst) + to, there, count * size);
    }
  });
}

void gather_blocks(Local dst, Local src, Local offsets, uint32_t repeats, uint32_t dst_block, uint32_t dst_repeat,
                   At at) {
  Core& c = core();
  Operation op(c, Pipe::V, "Gatherb", at);
  if (!repeats || !ready(op, dst, src) || !c.usable(offsets, "Gatherb", at)) return;
  const uint64_t index_bytes = repeats * 32ull;
  if (!op.aligned(dst, kBlock, "the destination") || !op.aligned(src, kBlock, "the source") ||
      !op.aligned(offsets, kBlock, "the offsets") || !op.inside(offsets, 0, index_bytes, "the offsets"))
    return;
  op.reads(offsets, 0, index_bytes);
  if (c.launch.checks() && !all_written(op.written(offsets), index_bytes))
    c.report(Kind::uninitialized, "Gatherb", at, "the offsets were never computed", c.describe(offsets));
  for (uint32_t i = 0; i < repeats * 8; ++i) {
    uint32_t from;
    std::memcpy(&from, op.data(offsets) + i * 4, 4);
    const uint64_t to = (uint64_t(i / 8) * dst_repeat + uint64_t(i % 8) * dst_block) * kBlock;
    if (from % kBlock) {
      c.report(Kind::alignment, "Gatherb", at, text("offset %u is no multiple of 32 bytes", from));
      return;
    }
    if (!op.inside(src, from, kBlock, "the source") || !op.inside(dst, to, kBlock, "the destination")) return;
    op.reads(src, from, kBlock);
    op.writes(dst, to, kBlock);
    move(op, dst, to, src, from, kBlock);
  }
}

void gather_mask(Local dst, Local src, const Local* pattern, int builtin, bool reduce_mode, uint32_t mask,
                 uint32_t block, uint32_t repeats, uint32_t repeat_stride, uint32_t pattern_stride, uint64_t* count,
                 At at) {
  Core& c = core();
  Operation op(c, Pipe::V, "GatherMask", at);
  if (!has_type(op.call, dst.dtype, kMoved, "i8 u8 f16 bf16 i16 u16 i32 u32 f32", at)) return c.stop();
  const uint32_t size = size_of(dst.dtype), per_block = kBlock / size;
  *count = c.gathered = 0;
  if (!ready(op, dst, src) || (pattern && !c.usable(*pattern, "GatherMask", at))) return;
  if (!pattern && (builtin < 1 || builtin > 7)) {
    c.report(Kind::parameter, "GatherMask", at, text("pattern %d; allowed: 1 to 7", builtin));
    return;
  }
  if (mask == kMaskOfCore) {
    reduce_mode = c.mask_by_count, mask = uint32_t(c.mask_low);
  } else {  // by its page the function ends counter mode; what it counted with is in the registers then
    c.mask_by_count = false;
    if (reduce_mode) c.mask_low = c.mask_high = ~uint64_t{0};
  }
  const uint32_t lanes = reduce_mode ? mask : 256 / size;
  Behind behind(op);
  for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
    for (uint32_t e = 0; e < lanes; ++e) {
      const uint64_t bit = uint64_t(repeat) * pattern_stride * kBlock * 8 + e;
      bool keep;
      if (pattern) {
        if (!op.inside(*pattern, bit / 8, 1, "the pattern")) return;
        op.reads(*pattern, bit / 8, 1);
        keep = op.data(*pattern)[bit / 8] >> bit % 8 & 1;
      } else if (builtin <= 2) {
        keep = e % 2 == uint32_t(builtin - 1);
      } else if (builtin <= 6) {
        keep = e % 4 == uint32_t(builtin - 3);
      } else {
        keep = true;
      }
      if (!keep) continue;
      const uint64_t from =
          uint64_t(repeat) * repeat_stride * kBlock + uint64_t(e / per_block) * block * kBlock + e % per_block * size;
      if (!behind.reads(src, from, size, "the source") || !op.inside(dst, *count * size, size, "the destination"))
        return;
      op.reads(src, from, behind.own(src, from, size));
      op.writes(dst, *count * size, size);
      move(op, dst, *count * size, src, from, size);
      c.gathered = ++*count;
    }
  }
}
uint64_t last_gathered() { return core().gathered; }

void broadcast_blocks(Local dst, Local src, uint32_t repeat, uint32_t dst_block, uint32_t dst_repeat, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, "Brcb", at);
  if (!has_type(op.call, dst.dtype, kMoved, kMovedOf950, at)) return c.stop();
  const uint32_t size = size_of(dst.dtype);
  if (!ready(op, dst, src)) return;
  Behind behind(op);
  for (uint32_t r = 0; r < repeat; ++r) {
    uint8_t values[8 * 8], known[8 * 8];  // all are read before any is written
    for (uint32_t b = 0; b < 8; ++b) {
      const uint64_t from = (uint64_t(r) * 8 + b) * size;
      if (!behind.reads(src, from, size, "the source")) return;
      op.reads(src, from, behind.own(src, from, size));
      std::memcpy(values + b * size, op.data(src) + from, size);
      std::memcpy(known + b * size, op.written(src) + from, size);
    }
    for (uint32_t b = 0; b < 8; ++b) {
      const uint64_t to = (uint64_t(r) * dst_repeat + uint64_t(b) * dst_block) * kBlock;
      if (!op.inside(dst, to, kBlock, "the destination")) return;
      op.writes(dst, to, kBlock);
      for (uint32_t e = 0; e < kBlock; e += size) {
        std::memcpy(op.data(dst) + to + e, values + b * size, size);
        std::memcpy(op.written(dst) + to + e, known + b * size, size);
      }
    }
  }
}

void copy_blocks(Local dst, Local src, Cover cover, Step d, Step s, At at) {
  Operation op(core(), Pipe::V, "Copy", at);
  if (!has_type(op.call, dst.dtype, kMoved, "b8 i8 u8 f16 bf16 i16 u16 i32 u32 f32 i64 u64 ?", at))
    return op.core.stop();
  if (d.repeat > 4095 || s.repeat > 4095)
    return op.core.report(Kind::stride, op.call, at,
                          text("dstRepeatSize is %u, srcRepeatSize %u; allowed: 0 to 4095", d.repeat, s.repeat));
  const uint32_t size = size_of(dst.dtype);
  auto walk = [&](Local to, Step d, Local from, Step s, Cover all) {
    const Operand operands[] = {{&to, d, size, true, "the destination"}, {&from, s, size, false, "the source"}};
    Walk(op, operands, 2, all).each([&](const Run& run) {
      move(op, to, run.offsets[0], from, run.offsets[1], run.count * size);
    });
  };
  if (!op.core.mask_by_count || cover.kind == Cover::kCount) return walk(dst, d, src, s, cover);
  // Unlike others' in counter mode, each repeat has so many elements.
  for (uint32_t r = 0; r < cover.repeat; ++r) {
    auto of = [r](Local t, uint64_t step) {
      const auto skipped = uint32_t(std::min<uint64_t>(r * step * kBlock, t.bytes));
      t.offset += skipped, t.bytes -= skipped;
      return t;
    };
    walk(of(dst, d.repeat), {d.block, 8 * d.block}, of(src, s.repeat), {s.block, 8 * s.block}, cover);
  }
}

void ramp(const char* call, Local dst, Scalar first, Scalar step, Cover cover, Step d, At at) {
  Operation op(core(), Pipe::V, call, at);
  if (!has_type(call, dst.dtype, "i16 f16 i32 f32", "i8 i16 f16 i32 f32 i64", at)) return op.core.stop();
  const uint32_t size = size_of(dst.dtype);
  const Operand operands[] = {{&dst, d, size, true, "the destination"}};
  Walk walk(op, operands, 1, cover);
  walk.each([&](const Run& run) {
    std::memset(op.written(dst) + run.offsets[0], 1, uint64_t(run.count) * size);
    for (uint32_t e = 0; e < run.count; ++e) {
      uint8_t* to = op.data(dst) + run.offsets[0] + uint64_t(e) * size;
      const auto i = int64_t(run.first + e);
      const int64_t whole = first.whole + i * step.whole;
      const float value = float(first.real + double(i) * step.real);
      const uint16_t bits = half_bits(value);
      if (dst.dtype == Dtype::f32) std::memcpy(to, &value, 4);
      else if (dst.dtype == Dtype::f16) std::memcpy(to, &bits, 2);
      else std::memcpy(to, &whole, size);
    }
  });
}

// A square of 16 by 16 elements of 2 bytes.
void transpose16(Local dst, Local src, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, "Transpose", at);
  if (size_of(dst.dtype) != 2) {
    c.report(Kind::data_type, "Transpose", at, text("%s; allowed: int16_t, uint16_t, half", name_of(dst.dtype)));
    c.stop();
  }
  if (!ready(op, dst, src) || !op.inside(dst, 0, 512, "the destination") || !op.inside(src, 0, 512, "the source"))
    return;
  op.reads(src, 0, 512);
  op.writes(dst, 0, 512);
  uint8_t values[512], known[512];
  std::memcpy(values, op.data(src), 512), std::memcpy(known, op.written(src), 512);
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t j = 0; j < 16; ++j) {
      std::memcpy(op.data(dst) + (j * 16 + i) * 2, values + (i * 16 + j) * 2, 2);
      std::memcpy(op.written(dst) + (j * 16 + i) * 2, known + (i * 16 + j) * 2, 2);
    }
}

}  // namespace ophook::rt
