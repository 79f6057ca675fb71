// Transposing: 16 blocks by 16, and whole matrices.
#include "ascendc/transpose.h"

#include "vector.h"

namespace ophook::rt {

uint64_t* address_register(int number) { return core().address_registers[size_t(number) % 8].data(); }

Local local_of(const void* address, Dtype dtype) {
  Core& c = core();
  LocalMemory& ub = c.memory->at(Memory::ub);
  Local tensor;
  tensor.dtype = dtype;
  const auto* p = static_cast<const uint8_t*>(address);
  if (reinterpret_cast<uintptr_t>(p) < ub.size()) p = ub.data(0, 0) + reinterpret_cast<uintptr_t>(p);
  if (!ub.holds(p)) return tensor;  // empty, which is refused
  tensor.offset = uint32_t(p - ub.data(0, 0)), tensor.bytes = ub.size() - tensor.offset;
  return tensor;
}

// 16 rows of a block each: of 2 bytes 16 by 16 elements, of 4 bytes 16 by 8, which fill two rows of the result each,
// and of 1 byte 16 by 16 of either half of the blocks.
void trans_data(const Local* dst, const Local* src, Scatter p, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, "TransDataTo5HD", at);
  if (!has_unit(c, true, op.call, at)) return;
  const uint32_t size = size_of(src[0].dtype);
  if (size > 4) {
    c.report(Kind::data_type, op.call, at, text("%s; allowed: types of 1, 2 and 4 bytes", name_of(src[0].dtype)));
    return c.stop();
  }
  if (!p.repeat) return;  // as its page has it
  if (p.repeat > 255 || (p.repeat > 1 && !p.dst_step && !p.src_step)) {
    c.report(Kind::repeat, op.call, at,
             text("repeatTimes %u with steps of %u and %u blocks", p.repeat, p.dst_step, p.src_step));
    return;
  }
  const uint64_t begin = p.repeat == 1;  // a single one begins a step behind the addresses, by the same page
  for (int i = 0; i < 16; ++i)
    for (const Local* each : {&dst[i], &src[i]}) {
      if (!c.usable(*each, op.call, at) || !op.aligned(*each, kBlock, each == &dst[i] ? "a destination" : "a source"))
        return;
      const uint64_t step = each == &dst[i] ? p.dst_step : p.src_step;
      if (!op.inside(*each, 0, (begin + p.repeat - 1) * step * kBlock + kBlock,
                     each == &dst[i] ? "a destination" : "a source"))
        return;
    }
  c.settle();
  c.launch.counters.elements += uint64_t(p.repeat) * 16 * (size == 1 ? 16 : kBlock / size);
  for (uint32_t r = 0; r < p.repeat; ++r) {
    const uint64_t from = (begin + r) * p.src_step * kBlock, to = (begin + r) * p.dst_step * kBlock;
    uint8_t values[16][kBlock], known[16][kBlock];
    for (int i = 0; i < 16; ++i) {
      op.reads(src[i], from, kBlock);
      std::memcpy(values[i], op.data(src[i]) + from, kBlock);
      std::memcpy(known[i], op.written(src[i]) + from, kBlock);
    }
    for (int i = 0; i < 16; ++i) op.writes(dst[i], to, kBlock);
    const uint32_t columns = size == 4 ? 8 : 16;
    for (uint32_t i = 0; i < 16; ++i)
      for (uint32_t j = 0; j < columns; ++j) {
        const uint32_t row = size == 4 ? 2 * j + i / 8 : j,
                       place = size == 4 ? i % 8 * 4 : i * size + (size == 1 && p.dst_high ? 16 : 0);
        const uint32_t first = j * size + (size == 1 && p.src_high ? 16 : 0);
        std::memcpy(op.data(dst[row]) + to + place, values[i] + first, size);
        std::memcpy(op.written(dst[row]) + to + place, known[i] + first, size);
      }
  }
}

void transpose_matrix(const char* call, Local dst, Local src, const Local* work, uint32_t outer, uint32_t rows,
                      uint32_t columns, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, call, at);
  const uint32_t size = size_of(src.dtype);
  const uint64_t bytes = uint64_t(outer) * rows * columns * size;
  if (!bytes) {
    c.report(Kind::parameter, call, at,
             text("%u matrices of %u by %u elements: the tiling or the sizes are empty", outer, rows, columns));
    return;
  }
  const Operand operands[] = {{&dst, {}, size, true, "the destination"}, {&src, {}, size, false, "the source"}};
  Walk walk(op, operands, 2, {Cover::kCount, bytes / size, 0, 1});
  if (dst.offset < src.offset + bytes && src.offset < dst.offset + bytes) {
    c.report(Kind::overlap, call, at, "source and destination overlap");
    return;
  }
  if (!scratch(op, work, {{&dst, bytes}, {&src, bytes}})) return;
  walk.each([&](const Run&) {
    for (uint32_t o = 0; o < outer; ++o)
      for (uint32_t i = 0; i < rows; ++i)
        for (uint32_t j = 0; j < columns; ++j) {
          const uint64_t base = uint64_t(o) * rows * columns, from = (base + uint64_t(i) * columns + j) * size,
                         to = (base + uint64_t(j) * rows + i) * size;
          std::memcpy(op.data(dst) + to, op.data(src) + from, size);
          std::memcpy(op.written(dst) + to, op.written(src) + from, size);
        }
  });
}

void transpose_refuse(const char* call, int type, At at) {
  core().report(Kind::parameter, call, at,
                text("TransposeType %d is not on an Atlas A2 or A3; with a tiling there are 1 to 7, with "
                     "TransposeParamsExt TRANSPOSE_ND2ND_B16, TRANSPOSE_NCHW2NHWC and TRANSPOSE_NHWC2NCHW",
                     type));
  core().stop();
}

}  // namespace ophook::rt
