// The cube unit itself, and the way out of it: L0C to device memory, converted.
#include "ascendc/cube.h"

#include <cmath>

#include "arithmetic.h"
#include "fractal.h"

namespace ophook::rt {
namespace {

constexpr uint64_t kTile = 16 * 16 * 4;  // bytes of a fractal in L0C

struct Product {
  Dtype a, b, c;
};
// The public table of Atlas A2 and A3.
constexpr Product kProducts[] = {
    {Dtype::f16, Dtype::f16, Dtype::f32}, {Dtype::bf16, Dtype::bf16, Dtype::f32}, {Dtype::f32, Dtype::f32, Dtype::f32},
    {Dtype::i8, Dtype::i8, Dtype::i32},   {Dtype::i4, Dtype::i4, Dtype::i32},
};

bool has_product(Operation& op, const Local& c, const Local& a, const Local& b, const Local* bias) {
  std::string allowed;
  for (const Product& p : kProducts) {
    const bool same = p.a == a.dtype && p.b == b.dtype && p.c == c.dtype;
    if (same && (!bias || bias->dtype == c.dtype)) return true;
    allowed += text("%s%s x %s -> %s", allowed.empty() ? "" : ", ", name_of(p.a), name_of(p.b), name_of(p.c));
  }
  op.core.report(
      Kind::data_type, "Mmad", op.at,
      text("%s x %s -> %s%s; allowed: %s, a bias of the result's type", name_of(a.dtype), name_of(b.dtype),
           name_of(c.dtype), bias ? text(" with a bias of %s", name_of(bias->dtype)).c_str() : "", allowed.c_str()));
  return false;
}

// `count` values of a tensor from byte `from` on, as T.
template <typename T>
void values_of(Operation& op, const Local& tensor, uint64_t from, uint32_t count, T* out) {
  const uint8_t* data = op.data(tensor) + from;
  if constexpr (std::is_same_v<T, float>) factors(op.core, tensor.dtype, data, out, count);
  else if (tensor.dtype == Dtype::i4)
    for (uint32_t e = 0; e < count; ++e) out[e] = lower_first(data, e);
  else
    for (uint32_t e = 0; e < count; ++e) out[e] = static_cast<int8_t>(data[e]);
}
// Which of `rows` rows of `depth` elements in fractals were loaded: all of each block of 32 bytes, or the part that
// counts. What comes of others is nobody's value. Only who takes that out is told: a tile may have more rows than a
// matrix.
template <typename Step>
std::vector<uint8_t> loaded(Operation& op, const Local& tensor, uint32_t rows, uint32_t depth, uint32_t c0,
                            uint64_t bytes, const char* what, Step step) {
  std::vector<uint8_t> known(rows, 1);
  if (!op.core.launch.checks() || all_written(op.written(tensor), bytes)) return known;
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t k = 0; k < depth && known[r]; k += c0) {
      const uint64_t part = (uint64_t(std::min(c0, depth - k)) * kBlock + c0 - 1) / c0;
      known[r] = all_written(op.written(tensor) + step(r, k / c0), part);
    }
  if (std::find(known.begin(), known.end(), 0) != known.end())
    op.core.not_loaded = text("; %s of %s in line %d was not loaded whole", what, op.call, op.at.line);
  return known;
}

void missing(Operation& op, const Local& tensor, const char* what, const std::string& why = "") {
  op.core.report(Kind::uninitialized, op.call, op.at,
                 text("%s has elements that were never loaded or computed%s", what, why.c_str()),
                 op.core.describe(tensor));
}

// Fractals of 32 bytes along k; kDirectionAlign rounds k of float up to 16.
uint64_t depth_of(const Local& a, const AscendC::MmadParams& p) {
  const uint32_t c0 = kBlock / size_of(a.dtype) * (a.dtype == Dtype::i4 ? 2 : 1),
                 to = p.kDirectionAlign && a.dtype == Dtype::f32 ? 16 : c0;
  return (p.k + to - 1) / to * to / c0;
}

template <typename T>
void compute(Operation& op, const Local& c, const Local& a, const Local& b, const Local* bias, bool from_c1,
             const AscendC::MmadParams& p, bool sparse) {
  const uint64_t k1 = depth_of(a, p), n1 = (p.n + 15) / 16, m1 = (p.m + 15) / 16;
  const uint32_t c0 = kBlock / size_of(a.dtype) * (a.dtype == Dtype::i4 ? 2 : 1);
  // A matrix of one row is a vector in L0A: its elements are in a row.
  const bool vector = p.m == 1 && !sparse;
  const uint32_t right_depth = sparse ? p.k / 2 : p.k;
  const uint64_t right_k1 = sparse ? (right_depth + c0 - 1) / c0 : k1;
  auto in_a = [&](uint32_t r, uint64_t k) {
    return vector ? k * kBlock : (r / 16 * k1 + k) * kFractal + r % 16 * kBlock;
  };
  auto in_b = [&](uint32_t r, uint64_t k) { return (k * n1 + r / 16) * kFractal + r % 16 * kBlock; };
  if (!from_c1) op.core.not_loaded.clear();
  const auto rows = loaded(op, a, p.m, p.k, c0, vector ? k1 * kBlock : m1 * k1 * kFractal, "the left matrix", in_a);
  const auto columns_known = loaded(op, b, p.n, right_depth, c0, right_k1 * n1 * kFractal, "the right matrix", in_b);
  auto all = [](const std::vector<uint8_t>& known) { return std::find(known.begin(), known.end(), 0) == known.end(); };
  const bool whole = all(rows) && all(columns_known);
  std::vector<T> left(size_t(p.m) * p.k);
  for (uint32_t r = 0; r < p.m; ++r)
    for (uint32_t k = 0; k < p.k; k += c0)
      values_of(op, a, in_a(r, k / c0), std::min(c0, p.k - k), left.data() + size_t(r) * p.k + k);
  std::vector<T> right(size_t(p.k) * kColumns), partial(size_t(p.m) * kColumns);
  T fractal[16 * 64];
  for (uint64_t block = 0; block < n1; ++block) {
    const auto columns = static_cast<uint32_t>(std::min<uint64_t>(kColumns, p.n - block * kColumns));
    if (sparse) std::fill(right.begin(), right.end(), T(0));
    for (uint32_t k = 0; k < right_depth; k += c0) {
      const uint64_t at = in_b(uint32_t(block) * 16, k / c0);
      values_of(op, b, at, 16 * c0, fractal);
      const uint32_t count = std::min(c0, right_depth - k);
      if (sparse) {
        const uint8_t* const index = op.core.sparse.data() + (b.offset + at) / 4;
        for (uint32_t j = 0; j < columns; ++j)
          for (uint32_t e = 0; e < count; e += 2) {
            const uint32_t bits = index[j * 8 + e / 4] >> e % 4 * 2;
            const TwoOfFour places = sparse_pair(bits & 3, bits >> 2 & 3);
            if (places.first < 0)
              return op.core.report(Kind::parameter, op.call, op.at,
                                    text("the index has the pair %u, %u; allowed: 0 to 2", bits & 3, bits >> 2 & 3));
            T* const four = right.data() + size_t(k + e) * 2 * kColumns + j;
            four[places.first * kColumns] += fractal[j * c0 + e];
            if (e + 1 < count) four[places.second * kColumns] += fractal[j * c0 + e + 1];
          }
        continue;
      }
      for (uint32_t e = 0; e < count; ++e)
        for (uint32_t j = 0; j < kColumns; ++j) right.data()[size_t(k + e) * kColumns + j] = fractal[j * c0 + e];
    }
    // In L0C a block of columns is a row of the matrix after the other. Columns beyond the last one stay as they are.
    const uint64_t first = block * m1 * 16 * 64;
    T* const out = reinterpret_cast<T*>(op.data(c) + first);
    uint8_t* const written = op.written(c) + first;
    T* const sums = columns == kColumns ? out : partial.data();
    const T* const start = bias ? reinterpret_cast<const T*>(op.data(*bias)) + block * kColumns : nullptr;
    for (uint32_t i = 0; i < p.m; ++i) {
      T* const row = sums + size_t(i) * kColumns;
      if (start) std::copy_n(start, columns, row);
      else if (!from_c1) std::fill_n(row, kColumns, T(0));
      else if (row != out + size_t(i) * kColumns) std::copy_n(out + size_t(i) * kColumns, columns, row);
    }
    add_product(left.data(), p.k, right.data(), p.k, p.m, sums);
    if (sums != out)
      for (uint32_t i = 0; i < p.m; ++i) std::copy_n(sums + size_t(i) * kColumns, columns, out + size_t(i) * kColumns);
    // What begins with nobody's value is nobody's; a column beyond the bias, too.
    for (uint32_t i = 0; i < p.m; ++i) {
      uint8_t* const row = written + i * 64;
      if (!from_c1)
        bias ? void(std::memcpy(row, op.written(*bias) + block * 64, columns * 4))
             : void(std::memset(row, 1, columns * 4));
      for (uint32_t j = 0; !whole && j < columns; ++j)
        if (!rows[i] || !columns_known[block * kColumns + j]) std::memset(row + j * 4, 0, 4);
    }
  }
}

}  // namespace

void set_hf32(bool on) { core().hf32 = on; }
void set_hf32_ties(Ties ties) { core().hf32_ties = int(ties); }

void factors(const Core& core, Dtype dtype, const void* from, float* to, size_t count) {
  wide(dtype, from, to, count);
  if (!core.hf32 || dtype != Dtype::f32) return;
  // HF32: a sign, 8 bits of exponent, 11 behind the point (HF32.md: an Ascend950, whose cube unit is not simulated, has
  // 10). What is rounded up to infinity is infinite.
  constexpr uint32_t kDropped = 12, kHalf = 1u << (kDropped - 1);
  for (size_t e = 0; e < count; ++e) {
    const auto bits = __builtin_bit_cast(uint32_t, to[e]);
    if ((bits & 0x7f800000u) == 0x7f800000u) continue;
    uint32_t more = kHalf;  // ties away from zero
    if (core.hf32_ties == int(Ties::to_zero)) more = kHalf - 1;
    else if (core.hf32_ties == int(Ties::to_even)) more = kHalf - 1 + (bits >> kDropped & 1);
    to[e] = __builtin_bit_cast(float, (bits + more) & ~((1u << kDropped) - 1));
  }
}

// L0C is the only memory that holds results. So a tensor that was only declared is its beginning: kernels rely on that.
static Local results_of(Local tensor) {
  if (tensor.bytes || tensor.position || tensor.buffer >= 0) return tensor;
  const Dtype dtype = tensor.dtype;
  tensor = local_told(int(AscendC::TPosition::CO1), 0, 0), tensor.dtype = dtype;
  return tensor;
}

void mmad(Local c, Local a, Local b, const Local* bias, const AscendC::MmadParams& p, At at, bool sparse) {
  Core& owner = core();
  c = results_of(c);
  if (p.unitFlag) owner.join(Pipe::M, owner.snapshot(Pipe::FIX));
  const char* const call = sparse ? "MmadWithSparse" : "Mmad";
  Operation op(owner, Pipe::M, call, at);
  if (!has_unit(owner, false, call, at)) return;
  const Local* const operands[] = {&c, &a, &b, bias};
  for (const Local* each : operands)
    if (each && !owner.usable(*each, call, at)) return;
  if (!placed(op, c, c.memory == Memory::l0c, "the result", "L0C (CO1)") ||
      !placed(op, a, a.memory == Memory::l0a, "the left matrix", "L0A (A2)") ||
      !placed(op, b, b.memory == Memory::l0b, "the right matrix", "L0B (B2)"))
    return;
  if (bias && !placed(op, *bias, bias->memory == Memory::bt, "the bias", "the bias table (C2)")) return;
  if (!has_product(op, c, a, b, bias)) return owner.stop();
  if (!op.aligned(c, sparse ? 1024 : 64, "the result") || !op.aligned(a, 512, "the left matrix") ||
      !op.aligned(b, 512, "the right matrix") || (bias && !op.aligned(*bias, 64, "the bias")))
    return;
  if (!within(op, "m", p.m, 0, 4095) || !within(op, "n", p.n, 0, 4095) || !within(op, "k", p.k, 0, 4095)) return;
  if (!p.m || !p.n || !p.k) return;
  if (sparse && p.k % 4) return owner.report(Kind::parameter, call, at, text("k is %u; allowed: multiples of 4", p.k));
  if (sparse && owner.sparse.empty())
    return owner.report(Kind::parameter, call, at, "LoadDataWithSparse has loaded no index");
  Local table;  // what cmatrixSource adds without a bias among the arguments: the bias table from its beginning
  if (p.cmatrixSource && !p.cmatrixInitVal && !bias) {
    table.bytes = owner.launch.sizes.bytes[int(Memory::bt)], table.memory = Memory::bt, table.dtype = c.dtype;
    bias = &table;
  }
  const bool accumulate = !bias && (p.isBias || !p.cmatrixInitVal);
  const uint64_t k1 = depth_of(a, p), n1 = (p.n + 15) / 16, m1 = (p.m + 15) / 16;
  const uint64_t right_k1 = sparse ? (p.k / 2 + kBlock - 1) / kBlock : k1;
  const uint64_t left = p.m == 1 && !sparse ? k1 * kBlock : m1 * k1 * kFractal, right = right_k1 * n1 * kFractal,
                 out = m1 * n1 * kTile;
  if (!op.inside(a, 0, left, "the left matrix") || !op.inside(b, 0, right, "the right matrix") ||
      !op.inside(c, 0, out, "the result"))
    return;
  if (bias && !op.inside(*bias, 0, p.n * 4ull, "the bias")) return;
  owner.settle();
  op.reads(a, 0, left), op.reads(b, 0, right);
  if (bias) op.reads(*bias, 0, p.n * 4ull);
  if (accumulate) op.reads(c, 0, out);
  op.writes(c, 0, out);
  owner.launch.counters.elements += uint64_t(p.m) * p.n * p.k;
  if (c.dtype == Dtype::i32) compute<int32_t>(op, c, a, b, bias, accumulate, p, sparse);
  else compute<float>(op, c, a, b, bias, accumulate, p, sparse);
}

namespace {

constexpr Conversion kConversions[] = {
    {NoQuant, Dtype::f32, Dtype::f32, false},      {NoQuant, Dtype::i32, Dtype::i32, false},
    {F322F16, Dtype::f32, Dtype::f16, false},      {F322BF16, Dtype::f32, Dtype::bf16, false},
    {DEQF16, Dtype::i32, Dtype::f16, false},       {VDEQF16, Dtype::i32, Dtype::f16, false},
    {QF322B8_PRE, Dtype::f32, Dtype::i8, true},    {QF322B8_PRE, Dtype::f32, Dtype::u8, true},
    {VQF322B8_PRE, Dtype::f32, Dtype::i8, true},   {VQF322B8_PRE, Dtype::f32, Dtype::u8, true},
    {REQ8, Dtype::i32, Dtype::i8, true},           {REQ8, Dtype::i32, Dtype::u8, true},
    {VREQ8, Dtype::i32, Dtype::i8, true},          {VREQ8, Dtype::i32, Dtype::u8, true},
    {SHIFTS322S16, Dtype::i32, Dtype::i16, false}, {VSHIFTS322S16, Dtype::i32, Dtype::i16, false},
};
const char* name_of(QuantMode_t mode) {
#define NAMED(name, number) \
  case number: return #name;
  switch (int(mode)) { OPHOOK_QUANT_MODES(NAMED) }
#undef NAMED
  return "?";
}

}  // namespace

const Conversion* conversion_of(Operation& op, QuantMode_t mode, Dtype from, Dtype to) {
  std::string allowed;
  for (const Conversion& c : kConversions) {
    if (c.mode == mode && c.from == from && c.to == to) return &c;
    if (c.mode == mode) allowed += text("%s%s to %s", allowed.empty() ? "" : ", ", name_of(c.from), name_of(c.to));
  }
  op.core.report(
      Kind::data_type, op.call, op.at,
      text("%s to %s with quantPre %s; allowed: %s", name_of(from), name_of(to), name_of(mode), allowed.c_str()));
  return nullptr;
}

void convert(const Conversion& how, const uint8_t* from, uint64_t factor, bool relu, uint8_t* to) {
  if (how.mode == NoQuant) {
    std::memcpy(to, from, 4);
    int32_t bits;
    std::memcpy(&bits, from, 4);
    if (relu && bits < 0) std::memset(to, 0, 4);  // the sign is the first bit of both types
    return;
  }
  float value;
  int32_t whole;
  std::memcpy(&value, from, 4), std::memcpy(&whole, from, 4);
  // Bits 32 to 35: by how many places less one. For int16_t PTO's tests expect that; for others bit 36 asks for it.
  auto shifted = [&] {
    const int32_t shift = whole >> ((factor >> 32 & 15) + 1);
    return int16_t(std::min<int32_t>(std::max<int32_t>(shift, INT16_MIN), INT16_MAX));
  };
  if (how.to == Dtype::i16) {
    const auto cut = relu && whole < 0 ? int16_t(0) : shifted();
    return static_cast<void>(std::memcpy(to, &cut, 2));
  }
  if (how.from == Dtype::i32) value = factor >> 36 & 1 ? float(shifted()) : float(whole);
  if (relu && value < 0) value = 0;
  if (how.eight) {
    *to = converted_to_eight(value, factor, factor >> 46 & 1, true);
    return;
  }
  if (how.mode != F322F16 && how.mode != F322BF16) value *= __builtin_bit_cast(float, uint32_t(factor) & 0xffffe000u);
  narrow(how.to, &value, to, 1);
}

uint8_t converted_to_eight(float value, uint64_t factor, bool has_sign, bool by_nine) {
  const int32_t offset = int32_t(uint32_t(factor >> 37 & 0x1ff) << 23) >> 23;
  const float least = has_sign ? -128.0f : 0.0f, most = has_sign ? 127.0f : 255.0f;
  float rounded = std::nearbyint(value * __builtin_bit_cast(float, uint32_t(factor) & 0xffffe000u));
  if (by_nine) rounded = std::min(std::max(rounded, -256.0f), 255.0f);
  rounded += float(offset);
  return static_cast<uint8_t>(int32_t(rounded != rounded ? 0.0f : std::min(std::max(rounded, least), most)));
}

namespace {

// `local`: into L1, and `to` has its data type alone.
void fixpipe_into(Global to, const Local* local, Local from, const Local* scales, const AscendC::FixpipeParamsV220& p,
                  bool row_major, At at) {
  Core& c = core();
  if (p.unitFlag) c.join(Pipe::FIX, c.snapshot(Pipe::M));
  Operation op(c, Pipe::FIX, "Fixpipe", at);
  if (!has_unit(c, false, "Fixpipe", at) || !c.usable(from, "Fixpipe", at) ||
      (scales && !c.usable(*scales, "Fixpipe", at)))
    return;
  if (!placed(op, from, from.memory == Memory::l0c, "the source", "L0C (CO1)") || !op.aligned(from, 64, "the source"))
    return;
  if (scales && !placed(op, *scales, scales->memory == Memory::l1 || scales->memory == Memory::fb,
                        "the tensor of factors", "L1 (A1) or the buffer of C2PIPE2GM"))
    return;
  if (local && (!c.usable(*local, "Fixpipe", at) ||
                !placed(op, *local, local->memory == Memory::l1, "the destination", "L1 (A1, B1, C1)") ||
                !op.aligned(*local, kBlock, "the destination")))
    return;
  if (!p.nSize || !p.mSize || (row_major && !p.ndNum)) return;
  const Conversion* how = conversion_of(op, p.quantPre, from.dtype, to.dtype);
  if (!how || (!local && !can_combine(c, "Fixpipe", at))) return c.stop();
  if (local && p.quantPre == NoQuant)
    return c.report(Kind::parameter, "Fixpipe", at, "quantPre NoQuant to L1; allowed: conversions to 8 and 16 bits");
  if (by_column(p.quantPre) != (scales != nullptr)) {
    c.report(Kind::parameter, "Fixpipe", at,
             text("quantPre %s %s a tensor of factors", name_of(p.quantPre), scales ? "takes no" : "needs"));
    return;
  }
  if (!within(op, "nSize", p.nSize, 0, 4095) || !within(op, "mSize", p.mSize, 0, row_major ? 8192 : 65535)) return;
  const uint32_t size = size_of(to.dtype), n1 = (p.nSize + 15u) / 16;
  const bool splits = p.isChannelSplit && !local;
  if (!within(op, "dstStride", p.dstStride, 1, ~0u)) return;
  if (!row_major && p.nSize % (splits ? 8 : 16)) {
    c.report(Kind::parameter, "Fixpipe", at,
             text("nSize %u in NZ; allowed: multiples of %d", p.nSize, splits ? 8 : 16));
    return;
  }
  const uint32_t matrices = row_major ? p.ndNum : 1;
  if (n1 > 1 && p.srcStride < p.mSize) {
    c.report(Kind::stride, "Fixpipe", at,
             text("srcStride %u is less than mSize %u: columns of fractals would overlap; Mmad leaves m rounded up to "
                  "16 between them",
                  p.srcStride, p.mSize));
    return;
  }
  const uint64_t last = (matrices - 1ull) * p.srcNdStride * kTile + (uint64_t(n1 - 1) * p.srcStride + p.mSize) * 64;
  if (!op.inside(from, 0, last, "the source")) return;
  if (scales && !op.inside(*scales, 0, p.nSize * 8ull, "the factors")) return;
  ++c.launch.counters.copies;
  c.settle();
  if (scales) {
    op.reads(*scales, 0, p.nSize * 8ull);
    if (c.launch.checks() && !all_written(op.written(*scales), p.nSize * 8ull))
      missing(op, *scales, "the tensor of factors");
  }
  for (uint32_t nd = 0; nd < matrices; ++nd)
    for (uint32_t block = 0; block < n1; ++block)
      op.reads(from, uint64_t(nd) * p.srcNdStride * kTile + uint64_t(block) * p.srcStride * 64, p.mSize * 64ull);
  // Runs of elements that stay together in device memory: rows, or the rows of a fractal.
  const uint32_t c0 = row_major ? p.nSize : how->eight ? 32 : splits ? 8 : 16;
  if (splits && (row_major || to.dtype != Dtype::f32)) {
    c.report(Kind::parameter, "Fixpipe", at, "isChannelSplit is for float in NZ only");
    return;
  }
  bool known = true;
  std::vector<uint8_t> run(size_t(c0) * size);
  for (uint32_t nd = 0; nd < matrices; ++nd)
    for (uint32_t first = 0; first < p.nSize; first += c0) {
      const uint32_t count =
          row_major ? p.nSize : std::min<uint32_t>(c0, p.nSize - first);  // 16 bytes: a row by itself
      for (uint32_t i = 0; i < p.mSize; ++i) {
        std::vector<uint8_t> values(size_t(count) * size, 1);
        for (uint32_t e = 0; e < count; ++e) {
          const uint32_t j = first + e;
          const uint64_t place =
              uint64_t(nd) * p.srcNdStride * kTile + (uint64_t(j / 16) * p.srcStride + i) * 64 + j % 16 * 4;
          uint64_t factor = p.deqScalar;
          if (scales) std::memcpy(&factor, op.data(*scales) + j * 8ull, 8);
          if (!op.written(from)[place]) {
            if (local) std::memset(values.data() + size_t(e) * size, 0, size);  // whoever uses it is told
            else known = false;
          }
          convert(*how, op.data(from) + place, factor, p.reluEn, run.data() + size_t(e) * size);
        }
        const uint64_t offset = row_major ? (uint64_t(nd) * p.dstNdStride + uint64_t(i) * p.dstStride) * size
                                          : uint64_t(first / c0) * p.dstStride * kBlock + uint64_t(i) * count * size;
        if (local) {
          const uint64_t bytes = uint64_t(count) * size;
          if (!op.inside(*local, offset, bytes, "the destination")) return;
          op.writes(*local, offset, bytes);
          uint8_t *data = op.data(*local) + offset, *written = op.written(*local) + offset;
          when_due(op, [=] {
            std::memcpy(data, run.data(), bytes);
            std::memcpy(written, values.data(), bytes);
          });
          continue;
        }
        uint8_t* target = to.data + offset;
        if (c.atomic_kind() && !op.initialized(target, uint64_t(count) * size))
          c.report(Kind::uninitialized, "Fixpipe", at, "an atomic operation on device memory that was never written");
        op.same = op.holds(target, run.data(), uint64_t(count) * size);
        const uint64_t usable = op.to_device(target, uint64_t(count) * size);
        c.launch.counters.copied_out += usable;
        const int kind = c.atomic_kind();
        const Dtype dtype = c.atomic_dtype;
        when_due(op, [=] {
          if (kind == 0) std::memcpy(target, run.data(), usable);
          else combine(kind, dtype, target, run.data(), usable);
        });
      }
    }
  if (c.launch.checks() && !known) missing(op, from, "the source", c.not_loaded);
}

}  // namespace

void fixpipe(Global to, Local from, const Local* scales, const AscendC::FixpipeParamsV220& p, bool row_major, At at) {
  fixpipe_into(to, nullptr, results_of(from), scales, p, row_major, at);
}
void fixpipe_to_l1(Local to, Local from, const Local* scales, const AscendC::FixpipeParamsV220& p, At at) {
  fixpipe_into({nullptr, 0, to.dtype}, &to, results_of(from), scales, p, false, at);
}

}  // namespace ophook::rt
