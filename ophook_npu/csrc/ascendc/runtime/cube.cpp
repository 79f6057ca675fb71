// The way into the cube unit: device memory to L1, L1 to L0A and L0B, constants.
#include "ascendc/cube.h"

#include <optional>

#include "fractal.h"

namespace ophook::rt {

bool within(Operation& op, const char* name, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return true;
  op.core.report(Kind::parameter, op.call, op.at,
                 text("%s is %llu; allowed: %llu to %llu", name, (unsigned long long)value, (unsigned long long)least,
                      (unsigned long long)most));
  return false;
}
bool placed(Operation& op, const Local& tensor, bool right, const char* role, const char* where) {
  if (right) return true;
  op.core.report(Kind::position, op.call, op.at, text("%s is not in %s", role, where), op.core.describe(tensor));
  return false;
}

namespace {

bool aligned_for(Operation& op, const Local& tensor, const char* role) {
  constexpr uint32_t to[] = {32, 32, 512, 512, 64, 64, 64};  // by Memory
  return op.aligned(tensor, to[int(tensor.memory)], role);
}

// Bytes of one piece of local memory, with what is known about each.
struct Bytes {
  uint8_t *data, *written;
};
Bytes bytes_of(Operation& op, const Local& tensor, uint64_t first) {
  return {op.data(tensor) + first, op.written(tensor) + first};
}
void move(Bytes to, Bytes from, uint64_t count) {
  std::memcpy(to.data, from.data, count);
  std::memcpy(to.written, from.written, count);
}

bool input_of_cube(Operation& op, const Local& to, const Local* from) {
  if (!has_unit(op.core, false, op.call, op.at) || !op.core.usable(to, op.call, op.at)) return false;
  if (from && (!op.core.usable(*from, op.call, op.at) ||
               !placed(op, *from, from->memory == Memory::l1, "the source", "L1 (A1, B1)")))
    return false;
  const bool l0 = to.memory == Memory::l0a || to.memory == Memory::l0b;
  if (!placed(op, to, l0 || (!from && to.memory == Memory::l1), "the destination",
              from ? "L0A or L0B (A2, B2)" : "L1, L0A or L0B"))
    return false;
  return aligned_for(op, to, "the destination") && (!from || aligned_for(op, *from, "the source"));
}

// Where each of an instruction's pieces begins in its source: srcStride further on than the last one, or with addrMode
// before it.
struct Course {
  int64_t first, step, last;
  int64_t at(int64_t i) const { return first + i * step; }
  uint64_t lowest() const { return uint64_t(step < 0 ? at(last) : first); }
  uint64_t span() const { return uint64_t(std::abs(step) * last); }
  bool begins(Operation& op) const {
    if (at(last) >= 0) return true;
    op.core.report(Kind::parameter, op.call, op.at, "with addrMode 1 the last piece lies before the source");
    return false;
  }
};
template <typename Params>
Course course_of(const Params& p, uint64_t unit) {
  const int64_t step = int64_t(p.srcStride * unit);
  return {int64_t(p.startIndex * unit), p.addrMode ? -step : step, p.repeatTimes - 1};
}

}  // namespace

// A row of `dValue` elements becomes blocks of 32 bytes, each in its column of fractals; the last block is filled with
// 0.
void nd_to_nz(Local to, Global from, const AscendC::Nd2NzParams& p, At at) {
  Core& c = core();
  number_tile(c, at);
  Operation op(c, Pipe::MTE2, "DataCopy", at);
  const bool into_ub = to.memory == Memory::ub;  // which the vendor's own makes of copies
  if (into_ub ? !has_unit(c, true, "DataCopy", at) : !fills_l1(c, to, "DataCopy", at)) return;
  if (!c.usable(to, "DataCopy", at) ||
      !placed(op, to, into_ub || to.memory == Memory::l1, "the destination", "L1 (A1, B1) or UB (VECIN)") ||
      !aligned_for(op, to, "the destination"))
    return;
  const uint32_t size = size_of(to.dtype), c0 = kBlock / size;
  if (!within(op, "ndNum", p.ndNum, 0, 4095) || !within(op, "nValue", p.nValue, 0, 16384) ||
      !within(op, "dValue", p.dValue, 0, 65535))
    return;
  if (!p.ndNum || !p.nValue || !p.dValue) return;
  const uint64_t row = uint64_t(p.dValue) * size, columns = (p.dValue + c0 - 1) / c0;
  // The pages say from 1 on. Of a single row or column no step is taken, and programs that run on devices say 0.
  const bool rows = p.nValue > 1;
  if (!within(op, "srcDValue", p.srcDValue, rows, 65535) ||
      !within(op, "dstNzC0Stride", p.dstNzC0Stride, columns > 1, 16384) ||
      !within(op, "dstNzNStride", p.dstNzNStride, rows, 16384))
    return;
  ++c.launch.counters.copies;
  const uint64_t matrix = uint64_t(p.dstNzMatrixStride) * size;
  if (p.ndNum > 1 && matrix % kBlock) {
    c.report(Kind::alignment, "DataCopy", at,
             text("dstNzMatrixStride of %u elements is no multiple of 32 bytes", p.dstNzMatrixStride));
    return;
  }
  const uint64_t last =
      (p.ndNum - 1) * matrix + ((columns - 1) * p.dstNzC0Stride + uint64_t(p.nValue - 1) * p.dstNzNStride + 1) * kBlock;
  if (!op.inside(to, 0, last, "the destination")) return;
  for (uint32_t nd = 0; nd < p.ndNum; ++nd)
    for (uint32_t n = 0; n < p.nValue; ++n) {
      const uint8_t* source = from.data + (uint64_t(nd) * p.srcNdMatrixStride + uint64_t(n) * p.srcDValue) * size;
      const uint64_t usable = op.from_device(source, row), known = op.initialized(source, usable);
      c.launch.counters.copied_in += usable;
      const uint64_t first = nd * matrix + uint64_t(n) * p.dstNzNStride * kBlock,
                     step = uint64_t(p.dstNzC0Stride) * kBlock;
      // Rows that lie side by side are written column by column.
      const bool beside = p.dstNzNStride == 1;
      for (uint64_t column = 0; column < columns && (!beside || n == 0); ++column)
        op.fills(to, first + column * step, beside ? p.nValue * uint64_t(kBlock) : kBlock);
      const Bytes target = bytes_of(op, to, first);
      when_due(op, [=] {
        for (uint64_t column = 0; column < columns; ++column) {
          const uint64_t begin = column * kBlock,
                         part = begin < usable ? std::min<uint64_t>(kBlock, usable - begin) : 0;
          uint8_t* block = target.data + column * step;
          if (part == kBlock) {
            std::memcpy(block, source + begin, kBlock);
          } else {
            std::memset(block, 0, kBlock);
            std::memcpy(block, source + begin, part);
          }
          std::memset(target.written + column * step, known != 0, kBlock);
        }
      });
    }
}

void load_fractals(Local to, const Local* local, const Global* global, const AscendC::LoadData2DParams& p, At at) {
  Core& c = core();
  Operation op(c, local ? Pipe::MTE1 : Pipe::MTE2, "LoadData", at);
  if (!input_of_cube(op, to, local)) return;
  const uint32_t size = size_of(to.dtype);
  const bool to_l1 = to.memory == Memory::l1;  // where ifTranspose means nothing, and addrMode something
  if (p.addrMode && !to_l1)
    return c.report(Kind::parameter, "LoadData", at,
                    text("addrMode %u; allowed: 0, but for device memory to L1", p.addrMode));
  if (p.ifTranspose && !to_l1 && (size != 2 || !local)) {
    c.report(Kind::data_type, "LoadData", at,
             text("ifTranspose with %s%s; allowed: types of 2 bytes, from L1; LoadDataWithTranspose has the others",
                  name_of(to.dtype), local ? "" : " from device memory"));
    return;
  }
  if (to.dtype == Dtype::i4 && !local)
    return c.report(Kind::data_type, "LoadData", at, "int4b_t from device memory; allowed: from L1");
  if (!p.repeatTimes) return;
  const uint64_t to_step = (uint64_t(p.dstGap) + 1) * kFractal;
  const Course course = course_of(p, kFractal);
  if (local) c.launch.counters.moved += p.repeatTimes * kFractal;
  if (!op.inside(to, 0, (p.repeatTimes - 1) * to_step + kFractal, "the destination")) return;
  if (!course.begins(op) || (local && !op.inside(*local, course.lowest(), course.span() + kFractal, "the source")))
    return;
  for (uint32_t i = 0; i < p.repeatTimes; ++i) {
    op.writes(to, i * to_step, kFractal);
    const Bytes target = bytes_of(op, to, i * to_step);
    if (global) {
      const uint8_t* source = global->data + course.at(i);
      const uint64_t usable = op.from_device(source, kFractal), known = op.initialized(source, usable);
      c.launch.counters.copied_in += usable;
      when_due(op, [=] {
        std::memcpy(target.data, source, usable);
        std::memset(target.written, known != 0, usable);
      });
      continue;
    }
    op.reads(*local, course.at(i), kFractal);
    const Bytes source = bytes_of(op, *local, course.at(i));
    const bool transposed = p.ifTranspose;
    when_due(op, [=] {
      if (!transposed) return move(target, source, kFractal);
      for (uint32_t r = 0; r < 16; ++r)
        for (uint32_t e = 0; e < 16; ++e)
          move({target.data + (e * 16 + r) * 2, target.written + (e * 16 + r) * 2},
               {source.data + (r * 16 + e) * 2, source.written + (r * 16 + e) * 2}, 2);
    });
  }
}

// Squares of 64 by 64 elements of 4 bits (four fractals, one above the other), 32 by 32 of 1 byte (two), or 16 by 16 of
// 2 bytes (one) or 4 bytes (two side by side) are transposed and cut into fractals again.
void load_transposed(Local to, Local from, const AscendC::LoadData2dTransposeParams& p, At at) {
  Core& c = core();
  Operation op(c, Pipe::MTE1, "LoadDataWithTranspose", at);
  if (!input_of_cube(op, to, &from)) return;
  const uint32_t size = size_of(to.dtype);
  const bool pairs = to.dtype == Dtype::i4;
  if (size > 4) {
    c.report(Kind::data_type, "LoadDataWithTranspose", at,
             text("%s; allowed: int4b_t and types of 1, 2 and 4 bytes", name_of(to.dtype)));
    return;
  }
  if (pairs && to.memory != Memory::l0b)
    return c.report(Kind::data_type, "LoadDataWithTranspose", at, "int4b_t to L0A; allowed: to L0B");
  if (!p.repeatTimes) return;
  const uint32_t fractals = pairs ? 4 : size == 2 ? 1 : 2, side = pairs ? 64 : size == 1 ? 32 : 16, c0 = kBlock / size;
  const uint64_t square = uint64_t(fractals) * kFractal;
  const Course course = course_of(p, square);
  const uint64_t to_step = (uint64_t(p.dstGap) + 1) * kFractal, second = (uint64_t(p.dstFracGap) + 1) * kFractal;
  if (!course.begins(op) || !op.inside(from, course.lowest(), course.span() + square, "the source")) return;
  if (!op.inside(to, 0, (p.repeatTimes - 1) * to_step + (fractals - 1) * second + kFractal, "the destination")) return;
  c.launch.counters.moved += p.repeatTimes * square;
  for (uint32_t i = 0; i < p.repeatTimes; ++i) {
    op.reads(from, course.at(i), square);
    for (uint32_t f = 0; f < fractals; ++f) op.writes(to, i * to_step + f * second, kFractal);
    const Bytes target = bytes_of(op, to, i * to_step), source = bytes_of(op, from, course.at(i));
    when_due(op, [=] {
      // Where element (r, e) of a square stands in its fractals.
      auto place = [&](uint32_t r, uint32_t e, uint64_t gap) {
        const uint32_t fractal = size == 1 ? r / 16 : e / c0;
        return fractal * gap + uint64_t(r % 16) * kBlock + uint64_t(e % c0) * size;
      };
      if (pairs) {  // two elements in a byte, the lower one first
        auto byte_of = [&](uint32_t r, uint32_t e, uint64_t gap) {
          return r / 16 * gap + uint64_t(r % 16) * kBlock + e / 2;
        };
        for (uint32_t r = 0; r < side; ++r)
          for (uint32_t e = 0; e < side; ++e) {
            const uint64_t a = byte_of(r, e, kFractal), b = byte_of(e, r, second);
            const uint8_t value = uint8_t(source.data[a] >> (e % 2 * 4)) & 15;
            target.data[b] = r % 2 ? uint8_t((target.data[b] & 15) | value << 4) : value;
            target.written[b] = uint8_t(source.written[a] && (r % 2 == 0 || target.written[b]));
          }
        return;
      }
      for (uint32_t r = 0; r < side; ++r)
        for (uint32_t e = 0; e < side; ++e) {
          const uint64_t a = place(r, e, kFractal), b = place(e, r, second);
          move({target.data + b, target.written + b}, {source.data + a, source.written + a}, size);
        }
    });
  }
}

// Fractals of L1 one after the other, and the index of each, 128 bytes, into a buffer of its own beside L0B.
void load_sparse(Local to, Local from, Local index, const AscendC::LoadData2DParams& p, At at) {
  Core& c = core();
  Operation op(c, Pipe::MTE1, "LoadDataWithSparse", at);
  if (!input_of_cube(op, to, &from) || !c.usable(index, op.call, at)) return;
  if (!placed(op, to, to.memory == Memory::l0b, "the destination", "L0B (B2)") ||
      !placed(op, index, index.memory == Memory::l1, "the index", "L1 (B1)") || !op.aligned(index, kBlock, "the index"))
    return;
  if (!p.repeatTimes) return;
  constexpr uint64_t kIndex = kFractal / 4;
  const uint64_t first = p.startIndex, count = p.repeatTimes;
  if (!op.inside(from, first * kFractal, count * kFractal, "the source") ||
      !op.inside(index, first * kIndex, count * kIndex, "the index") ||
      !op.inside(to, 0, count * kFractal, "the destination"))
    return;
  op.reads(from, first * kFractal, count * kFractal), op.reads(index, first * kIndex, count * kIndex),
      op.writes(to, 0, count * kFractal);
  c.launch.counters.moved += count * (kFractal + kIndex);
  if (c.sparse.empty()) c.sparse.resize(c.launch.sizes.bytes[int(Memory::l0b)] / 4);
  const Bytes source = bytes_of(op, from, first * kFractal), target = bytes_of(op, to, 0),
              pairs = bytes_of(op, index, first * kIndex);
  uint8_t* const beside = c.sparse.data() + to.offset / 4;
  when_due(op, [=] {
    move(target, source, count * kFractal);
    for (uint64_t i = 0; i < count * kIndex; ++i) {
      beside[i] = pairs.data[i];
      if (!pairs.written[i]) std::memset(target.written + i * 4, 0, 4);  // a value without its place is none
    }
  });
}

// Into L0A by rows of fractals; into L0B, where the image's rows are the depth, transposed.
void load_image(Local to, Local from, const AscendC::LoadData3DParamsV2<uint64_t>& p, At at) {
  Core& c = core();
  Operation op(c, Pipe::MTE1, "LoadData", at);
  if (!input_of_cube(op, to, &from)) return;
  const uint32_t size = size_of(to.dtype), c0 = kBlock / size;
  const bool right = to.memory == Memory::l0b;
  auto refuse = [&](const std::string& what) { c.report(Kind::parameter, "LoadData", at, what); };
  const uint32_t filter_w = p.filterW + (p.filterSizeW ? 256u : 0u), filter_h = p.filterH + (p.filterSizeH ? 256u : 0u);
  if (!p.l1H || !p.l1W || !p.channelSize || !p.kExtension || !p.mExtension || !filter_w || !filter_h)
    return;  // the page: nothing is done
  if (p.enSmallK || p.fMatrixCtrl) return refuse("enSmallK or fMatrixCtrl is set; allowed: false");
  const bool turned = p.enTranspose || right;  // L0B is transposed whatever it says
  if (turned && size != 2 && size != 4)
    return refuse(text("%s with %s; allowed: types of 2 and 4 bytes", right ? "an image to L0B" : "enTranspose to L0A",
                       name_of(to.dtype)));
  if (!within(op, "l1H", p.l1H, 0, 32767) || !within(op, "l1W", p.l1W, 0, 32767) ||
      !within(op, "strideW", p.strideW, 1, 63) || !within(op, "strideH", p.strideH, 1, 63) ||
      !within(op, "dilationFilterW", p.dilationFilterW, 1, 255) ||
      !within(op, "dilationFilterH", p.dilationFilterH, 1, 255))
    return;
  const uint32_t packed = to.dtype == Dtype::i4 ? 2 : 1, block_elements = c0 * packed;
  if (p.channelSize % block_elements)
    return refuse(text("channelSize is %u; implemented: multiples of %u", p.channelSize, block_elements));
  if (p.kStartPt % block_elements)
    return refuse(text("kStartPt is %u; allowed: multiples of %u", p.kStartPt, block_elements));
  // The page asks for a multiple of 16 of mExtension as well, which PTO's own tests do without on devices.
  if (!within(op, "mStartPt", p.mStartPt, 0, 32767)) return;
  const int64_t span_w = int64_t(filter_w - 1) * p.dilationFilterW + 1,
                span_h = int64_t(filter_h - 1) * p.dilationFilterH + 1;
  const int64_t room_w = int64_t(p.l1W) + p.padList[0] + p.padList[1] - span_w,
                room_h = int64_t(p.l1H) + p.padList[2] + p.padList[3] - span_h;
  if (room_w < 0 || room_h < 0) return refuse("the filter is larger than the image with its padding");
  const uint64_t places_w = uint64_t(room_w / p.strideW + 1), places = places_w * uint64_t(room_h / p.strideH + 1);
  const uint64_t columns = uint64_t(p.channelSize) * filter_w * filter_h;
  // Repeated parts are one matrix: of more rows, or of more columns.
  const ImageSettings& set = *image_settings();
  const auto& repeat = set.repeat;
  if (!repeat.repeatTime) return;
  const bool wider = repeat.repeatMode == 1;
  const uint32_t blocks = (p.kExtension + block_elements - 1) / block_elements, whole_columns = blocks * block_elements;
  // A part of the last fractal is loaded with all of it.
  if (p.kExtension != whole_columns && p.kStartPt + whole_columns != columns)
    return refuse(text("kExtension is %u; allowed: multiples of %u, but for what ends in the last fractal",
                       p.kExtension, block_elements));
  const uint64_t last = uint64_t(p.kStartPt) + whole_columns +
                        (wider ? (repeat.repeatTime - 1ull) * repeat.repeatStride * block_elements : 0);
  if (last > columns)
    return refuse(
        text("columns up to %llu of a matrix of %llu", (unsigned long long)last, (unsigned long long)columns));
  if (repeat.repeatTime > 1 && !wider && p.mExtension % 16)
    return refuse(text("mExtension is %u with repeats; allowed: multiples of 16", p.mExtension));
  const uint32_t across = blocks * (wider ? repeat.repeatTime : 1u);
  const uint32_t rows = p.mExtension * (wider ? 1u : repeat.repeatTime);
  const uint64_t image = uint64_t(p.l1H) * p.l1W * kBlock, source_bytes = p.channelSize / block_elements * image;
  // A fractal is 16 rows by c0 columns of what is written: the image's matrix, or that matrix transposed.
  const uint32_t down = turned ? (across * block_elements + 15) / 16 : (rows + 15) / 16;
  const uint32_t deep = turned ? (rows + c0 - 1) / c0 : across;
  const uint64_t bytes = uint64_t(down) * deep * kFractal;
  const uint64_t boundary = set.boundary;
  if (boundary && from.offset >= boundary)
    return refuse(text("the source begins at byte %u of L1, beyond the boundary %llu", from.offset,
                       (unsigned long long)boundary));
  Local whole = from;  // what the boundary leaves of L1 is read in turn
  if (boundary) whole.offset = 0, whole.bytes = uint32_t(boundary), whole.buffer = -1;
  const bool turns = boundary && from.offset + source_bytes > boundary;
  const Local& read = turns ? whole : from;
  const uint64_t start = turns ? from.offset : 0;
  // Where in the image a block of the matrix is: -1 in the padding.
  const auto block_at = [=](uint32_t m, uint32_t k) -> int64_t {
    const uint64_t place = uint64_t(p.mStartPt) + m / p.mExtension * repeat.repeatStride * 16ull + m % p.mExtension;
    const uint64_t block = p.kStartPt / block_elements + k / blocks * uint64_t(repeat.repeatStride) + k % blocks;
    const uint64_t in_filter = block % (filter_w * filter_h), plane = block / (filter_w * filter_h);
    const int64_t x =
        int64_t(place % places_w) * p.strideW - p.padList[0] + int64_t(in_filter % filter_w) * p.dilationFilterW;
    const int64_t y =
        int64_t(place / places_w) * p.strideH - p.padList[2] + int64_t(in_filter / filter_w) * p.dilationFilterH;
    if (place >= places || x < 0 || y < 0 || x >= p.l1W || y >= p.l1H) return -1;
    const uint64_t at_block = start + plane * image + (uint64_t(y) * p.l1W + uint64_t(x)) * kBlock;
    return int64_t(turns ? at_block % boundary : at_block);
  };
  // A kernel that takes some rows of an image has a tensor that begins there, and then the image ends behind it.
  uint64_t first = turns ? 0 : source_bytes, end = turns ? boundary : 0;
  for (uint32_t m = 0; m < (turns ? 0 : rows); ++m)
    for (uint32_t k = 0; k < across; ++k)
      if (const int64_t at_block = block_at(m, k); at_block >= 0)
        first = std::min(first, uint64_t(at_block)), end = std::max(end, uint64_t(at_block) + kBlock);
  if (first < end && !op.inside(read, first, end - first, "the source")) return;
  if (!op.inside(to, 0, bytes, "the destination")) return;
  if (first < end) op.reads(read, first, end - first);
  op.writes(to, 0, bytes);
  c.launch.counters.moved += bytes;
  const Bytes source = bytes_of(op, read, 0), target = bytes_of(op, to, 0);
  const uint64_t value = p.padValue;
  when_due(op, [=] {
    uint8_t padding[kBlock];
    for (uint32_t i = 0; i < kBlock; i += size) std::memcpy(padding + i, &value, size);
    uint8_t known[kBlock];
    std::memset(known, 1, kBlock);
    for (uint32_t m = 0; m < rows; ++m)
      for (uint32_t k = 0; k < across; ++k) {
        const int64_t at_block = block_at(m, k);
        const Bytes piece =
            at_block >= 0 ? Bytes{source.data + at_block, source.written + at_block} : Bytes{padding, known};
        if (!turned) {
          const uint64_t to_byte = (uint64_t(m / 16) * across + k) * kFractal + m % 16 * kBlock;
          move({target.data + to_byte, target.written + to_byte}, piece, kBlock);
          continue;
        }
        for (uint32_t e = 0; e < c0; ++e) {
          const uint32_t row = k * c0 + e;  // L0A has its fractals by rows, L0B by columns
          const uint64_t fractal = right ? uint64_t(m / c0) * down + row / 16 : uint64_t(row / 16) * deep + m / c0;
          const uint64_t to_byte = fractal * kFractal + row % 16 * kBlock + m % c0 * size;
          move({target.data + to_byte, target.written + to_byte}, {piece.data + e * size, piece.written + e * size},
               size);
        }
      }
  });
}

void fill_blocks(Local to, uint64_t bits, uint32_t repeat, uint32_t blocks, uint32_t gap, At at) {
  Core& c = core();
  const bool l1 = to.memory == Memory::l1;
  Operation op(c, l1 ? Pipe::MTE2 : Pipe::MTE1, "InitConstValue", at);
  if (!input_of_cube(op, to, nullptr)) return;
  const uint64_t unit = l1 ? kBlock : kFractal, piece = blocks * unit, step = piece + gap * unit;
  if (!repeat || !blocks || !op.inside(to, 0, (repeat - 1) * step + piece, "the destination")) return;
  const uint32_t size = size_of(to.dtype);
  for (uint32_t i = 0; i < repeat; ++i) {
    op.writes(to, i * step, piece);
    const Bytes target = bytes_of(op, to, i * step);
    when_due(op, [=] {
      for (uint64_t at_byte = 0; at_byte < piece; at_byte += size) std::memcpy(target.data + at_byte, &bits, size);
      std::memset(target.written, 1, piece);
    });
  }
}

template <typename T>
static T* settings(std::shared_ptr<void>& kept) {
  if (!kept) kept = std::make_shared<T>();
  return static_cast<T*>(kept.get());
}
FixpipeSettings* fixpipe_settings() { return settings<FixpipeSettings>(core().fixpipe); }
ImageSettings* image_settings() { return settings<ImageSettings>(core().image); }
void forget_image() { image_settings()->value = image_settings()->boundary = 0; }

}  // namespace ophook::rt
