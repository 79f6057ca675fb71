#include "vector.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "arithmetic.h"
#include "ascendc/enums.h"
#include "ascendc/flexible.h"
#include "cast.h"
#include "fractal.h"
#include "numbers.h"

namespace ophook::rt {
namespace {

constexpr const char* kShort[] = {"f16", "f32", "bf16", "i8",  "u8", "i16", "u16", "i32",
                                  "u32", "i64", "u64",  "f64", "b8", "i4",  "?"};

constexpr bool listed(std::string_view list, Dtype dtype) {
  const std::string_view name = kShort[int(dtype)];
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}
struct Rule {
  const char* name;
  char kind;
  const char* types_220;
  const char* types_310;
  // A bit of each type that is listed: the compiler reads the lists, not each call.
  uint32_t bits_220 = bits_of(types_220), bits_310 = bits_of(types_310);
  static constexpr uint32_t bits_of(const char* types) {
    uint32_t bits = 0;
    for (int d = 0; d < int(std::size(kShort)); ++d) bits |= uint32_t{listed(types, Dtype(d))} << d;
    return bits;
  }
};
constexpr Rule kRules[] = {
#define VECTOR_OP(name, kind, a2, a5) {#name, kind, a2, a5},
#include "ascendc/vector_ops.inc"
#undef VECTOR_OP
};
std::string long_names(const char* list) {
  std::string names;
  for (int d = 0; d < int(Dtype::other); ++d)
    if (listed(list, Dtype(d))) names += (names.empty() ? "" : ", ") + std::string(name_of(Dtype(d)));
  return names;
}

bool has_type(const Rule& rule, Dtype dtype, At at) {
  const uint32_t bits = core().launch.options.architecture == 310 ? rule.bits_310 : rule.bits_220;
  return bits >> int(dtype) & 1 || rt::has_type(rule.name, dtype, rule.types_220, rule.types_310, at);
}

// Of an element of which some bytes were computed, a shift computes those that come from them alone; what it fills up
// with is known, but for a sign.
void carry_shifted(Operation& op, const Operand* operands, const Run& run, bool left, int64_t by) {
  if (!op.core.launch.checks()) return;
  const int size = int(operands[0].size);
  const int64_t shift = std::clamp<int64_t>(by, 0, size * 8);
  const Dtype type = operands[1].tensor->dtype;
  const bool sign = !left && (type == Dtype::i8 || type == Dtype::i16 || type == Dtype::i32 || type == Dtype::i64);
  uint8_t* to = op.kept(*operands[0].tensor) + run.offsets[0];
  const uint8_t* from = op.written(*operands[1].tensor) + run.offsets[1];
  std::array<uint8_t, 8> known;
  for (uint32_t e = 0; e < run.count; ++e, to += size, from += size) {
    for (int byte = 0; byte < size; ++byte) {
      const int64_t first = byte * 8 + (left ? -shift : shift);  // bits of the source, of which some may be outside
      known[size_t(byte)] = 1;
      for (const int64_t bit : {first, first + 7}) {
        const int64_t of = bit < 0 ? -1 : bit / 8;
        if (of >= 0 && of < size) known[size_t(byte)] &= from[of];
        if (of >= size && sign) known[size_t(byte)] &= from[size - 1];
      }
    }
    std::copy_n(known.begin(), size, to);
  }
}

// An Atlas A2 or A3 combines lanes of 16 bits: n numbers of another size are n lanes, 2n bytes. For 32 bits the pages
// of And and Or say so; no page has 8 bits, but published kernels combine masks so.
bool in_lanes_of_16_bits(Op code, Dtype dtype, const Cover& cover) {
  const bool other = dtype == Dtype::u8 || dtype == Dtype::i8 || dtype == Dtype::u32 || dtype == Dtype::i32;
  return (code == Op::And || code == Op::Or) && other && cover.kind == Cover::kCount &&
         core().launch.options.architecture != 310;
}

// Of an element of which a part was computed, such as the mask of a tail, the operations on bits compute that part.
void carry_bytes(Operation& op, const Operand* operands, int count, Run run) {
  Operand bytes[4];
  for (int i = 0; i < count; ++i) bytes[i] = operands[i], bytes[i].size = 1;
  run.count *= operands[0].size;
  carry(op, bytes, count, run);
}

void elementwise(Op code, Local dst, const Local* sources, int source_count, const Step* steps, Scalar scalar,
                 Cover cover, At at) {
  Core& c = core();
  const Rule& rule = kRules[int(code)];
  Operation op(c, Pipe::V, rule.name, at);
  const bool lanes = in_lanes_of_16_bits(code, dst.dtype, cover);
  Local wide[2];
  if (lanes) {
    for (int i = 0; i < source_count; ++i) wide[i] = sources[i], wide[i].dtype = Dtype::u16;
    dst.dtype = Dtype::u16, sources = wide;
  }
  if (!has_type(rule, dst.dtype, at)) return c.stop();
  const bool shifts = code == Op::ShiftLeft || code == Op::ShiftRight;
  const int64_t bits_of = size_of(dst.dtype) * 8;
  if ((shifts || code == Op::ShiftRightRounded) &&
      (scalar.whole < 0 || (scalar.whole > bits_of && c.launch.options.architecture != 310)))
    return c.report(Kind::parameter, rule.name, at,
                    text("a shift by %lld; allowed: 0 to %lld", static_cast<long long>(scalar.whole),
                         static_cast<long long>(bits_of)));
  Local as_bits;
  if (code == Op::Not && (dst.dtype == Dtype::f16 || dst.dtype == Dtype::f32)) {
    dst.dtype = dst.dtype == Dtype::f16 ? Dtype::u16 : Dtype::u32;
    as_bits = sources[0], as_bits.dtype = dst.dtype, sources = &as_bits;
  }
  const bool mixed = sources[0].dtype != dst.dtype;  // Axpy, MulAddDst: float += half
  Function function = mixed ? nullptr : function_of(code, dst.dtype);
  if (!mixed && !function) {
    c.report(Kind::no_checks, rule.name, at, text("%s of %s is not computed here", rule.name, name_of(dst.dtype)));
    return c.stop();
  }
  Operand operands[4];
  int n = 0;
  operands[n++] = {&dst, steps[0], size_of(dst.dtype), true,
                   lanes ? "the destination, in lanes of 16 bits," : "the destination"};
  for (int i = 0; i < source_count; ++i)
    operands[n++] = {&sources[i], steps[i + 1], size_of(sources[i].dtype), false,
                     i ? "the second source" : "the source"};
  if (rule.kind == 'x' || rule.kind == 'y')
    operands[n++] = {&dst, steps[0], size_of(dst.dtype), false, "the destination"};
  const bool bits = code == Op::And || code == Op::Or || code == Op::Not;
  Walk walk(op, operands, n, cover);
  walk.apart();
  walk.computes();
  walk.each([&](const Run& run) {
    const uint8_t* a = op.data(sources[0]) + run.offsets[1];
    const uint8_t* b = source_count > 1 ? op.data(sources[1]) + run.offsets[2] : nullptr;
    if (shifts) carry_shifted(op, operands, run, code == Op::ShiftLeft, scalar.whole);
    else if (bits) carry_bytes(op, operands, n, run);
    else carry(op, operands, n, run);
    uint8_t* const to = op.data(dst) + run.offsets[0];
    auto compute = [&](uint8_t* d, const uint8_t* s, const uint8_t* t, uint32_t count) {
      if (mixed && t) multiply_add_half_to_float(d, s, t, count);
      else if (mixed) axpy_half_to_float(d, s, scalar, count);
      else function(d, s, t, scalar, count);
    };
    const uint32_t out = operands[0].size, in = operands[1].size, lanes = 256 / out;
    auto lies_over = [&](const uint8_t* from) {
      return from && from != to && from < to + uint64_t(run.count) * out && to < from + uint64_t(run.count) * in;
    };
    if (!lies_over(a) && !lies_over(b)) return compute(to, a, b, run.count);
    for (uint32_t e = 0; e < run.count; e += lanes) {  // an iteration has read before it writes
      const uint32_t count = std::min(lanes, run.count - e);
      uint8_t first[256], second[256];
      std::memcpy(first, a + e * in, count * in);
      if (b) std::memcpy(second, b + e * in, count * in);
      compute(to + e * out, first, b ? second : nullptr, count);
    }
  });
}

}  // namespace

bool has_type(const char* call, Dtype dtype, const char* types_220, const char* types_310, At at) {
  Core& c = core();
  const char* types = c.launch.options.architecture == 310 ? types_310 : types_220;
  if (listed(types, dtype)) return true;
  c.report(Kind::data_type, call, at,
           text("%s has no %s on this SoC; it has %s", call, name_of(dtype), long_names(types).c_str()));
  return false;
}

bool can_combine(Core& c, const char* call, At at) {
  constexpr const char* kTypes = "i8 i16 f16 bf16 i32 f32";
  if (!c.atomic_kind() || listed(kTypes, c.atomic_dtype)) return true;
  c.report(Kind::data_type, call, at,
           text("atomic copies have no %s; they have %s", name_of(c.atomic_dtype), long_names(kTypes).c_str()));
  return false;
}

void unary(Op code, Local dst, Local src, Cover cover, Step d, Step s, At at) {
  const Step steps[] = {d, s};
  elementwise(code, dst, &src, 1, steps, {}, cover, at);
}
void binary(Op code, Local dst, Local a, Local b, Cover cover, Step d, Step sa, Step sb, At at) {
  const Step steps[] = {d, sa, sb};
  const Local sources[] = {a, b};
  elementwise(code, dst, sources, 2, steps, {}, cover, at);
}
void with_scalar(Op code, Local dst, Local src, Scalar scalar, Cover cover, Step d, Step s, At at) {
  const Step steps[] = {d, s};
  elementwise(code, dst, &src, 1, steps, scalar, cover, at);
}

bool first_element(const char* call, Local tensor, Local dst, Scalar& value, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, call, at);
  const uint32_t size = size_of(tensor.dtype);
  if (!c.usable(tensor, call, at) || !op.inside(tensor, 0, size, "the scalar")) return false;
  if (tensor.memory != Memory::ub) {
    c.report(Kind::position, call, at, "the scalar is not in UB", c.describe(tensor));
    return false;
  }
  if (dst.memory == tensor.memory && tensor.offset < dst.offset + dst.bytes && dst.offset < tensor.offset + size) {
    c.report(Kind::overlap, call, at, "the scalar is an element of the destination");
    return false;
  }
  op.reads(tensor, 0, size);
  if (c.launch.checks() && !all_written(op.written(tensor), size))
    c.report(Kind::uninitialized, call, at, "the scalar was never computed", c.describe(tensor));
  value = scalar_at(tensor.dtype, op.data(tensor));
  return true;
}

void scale_and_cast(const char* call, Local dst, Local src, Scalar scalar, int64_t count, At at) {
  constexpr float kMost = 65504;
  Core& c = core();
  Operation op(c, Pipe::V, call, at);
  const Operand operands[] = {{&dst, {}, 2, true, "the destination"}, {&src, {}, 4, false, "the source"}};
  Walk walk(op, operands, 2, {Cover::kCount, uint64_t(count), 0, 1});
  constexpr int mode = int(AscendC::RoundMode::CAST_ROUND);
  const Convert convert = conversion(Dtype::f32, Dtype::f16, mode, c.launch.options.architecture);
  walk.each([&](const Run& run) {
    carry(op, operands, 2, run);
    std::vector<float> products(run.count);
    std::memcpy(products.data(), op.data(src) + run.offsets[1], run.count * sizeof(float));
    for (float& product : products) {
      product *= float(scalar.real);
      product = product != product ? 0 : std::clamp(product, -kMost, kMost);  // how a chip comes
    }
    convert.run(products.data(), op.data(dst) + run.offsets[0], run.count, mode);
  });
}

void duplicate(Local dst, Scalar value, Cover cover, Step d, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, "Duplicate", at);
  constexpr Rule rule{"Duplicate", 's', "f16 bf16 i16 u16 i32 u32 f32",
                      "b8 i8 u8 f16 bf16 i16 u16 i32 u32 f32 i64 u64"};
  if (!has_type(rule, dst.dtype, at)) return c.stop();
  const uint32_t size = size_of(dst.dtype);
  uint64_t bits = 0;
  const float real = static_cast<float>(value.real);
  switch (dst.dtype) {
    case Dtype::f32: std::memcpy(&bits, &real, 4); break;
    case Dtype::f16: bits = half_bits(real); break;
    case Dtype::bf16: bits = bfloat16_bits(real); break;
    default: std::memcpy(&bits, &value.whole, 8);
  }
  const Operand operands[] = {{&dst, d, size, true, "the destination"}};
  Walk walk(op, operands, 1, cover);
  walk.each([&](const Run& run) {
    uint8_t* to = op.data(dst) + run.offsets[0];
    if (size == 4) std::fill_n(reinterpret_cast<uint32_t*>(to), run.count, uint32_t(bits));
    else if (size == 2) std::fill_n(reinterpret_cast<uint16_t*>(to), run.count, uint16_t(bits));
    else
      for (uint32_t e = 0; e < run.count; ++e) std::memcpy(to + e * size, &bits, size);
    carry(op, operands, 1, run);
  });
}

// Two int4b_t are a byte: instructions walk over pairs.
static void cast_pairs(Local dst, Local src, int mode, Cover cover, Step d, Step s, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, "Cast", at);
  const bool to_pairs = dst.dtype == Dtype::i4;
  const Dtype other = to_pairs ? src.dtype : dst.dtype;
  const Convert convert =
      conversion(to_pairs ? other : Dtype::i8, to_pairs ? Dtype::i8 : other, mode, c.launch.options.architecture);
  if (other != Dtype::f16 || !convert.run) {
    c.report(other != Dtype::f16 ? Kind::data_type : Kind::rounding, "Cast", at,
             text("%s to %s%s; allowed: half to int4b_t and int4b_t to half", name_of(src.dtype), name_of(dst.dtype),
                  other != Dtype::f16 ? "" : text(" with %s", rounding_name(mode)).c_str()));
    return c.stop();
  }
  cover = meant(c, cover);
  if (cover.kind == Cover::kBits) {  // a bit for each pair
    uint64_t pairs = 0;
    for (int i = 0; i < 64; ++i) {
      const uint64_t two = (i < 32 ? cover.low >> 2 * i : cover.high >> (2 * i - 64)) & 3;
      if (two == 1 || two == 2)
        return c.report(Kind::mask, "Cast", at, "the mask has one element of a pair that is a byte"), c.stop();
      pairs |= uint64_t(two != 0) << i;
    }
    cover.low = pairs, cover.high = 0;
  } else {
    if (cover.low % 2)
      return c.report(Kind::mask, "Cast", at,
                      text("%llu elements; two int4b_t are a byte", (unsigned long long)cover.low)),
             c.stop();
    cover.low /= 2;
  }
  const Operand operands[] = {{&dst, d, to_pairs ? 1u : 4u, true, "the destination"},
                              {&src, s, to_pairs ? 4u : 1u, false, "the source"}};
  Walk walk(op, operands, 2, cover);
  walk.each([&](const Run& run) {
    carry(op, operands, 2, run);
    const uint8_t* from = op.data(src) + run.offsets[1];
    uint8_t* to = op.data(dst) + run.offsets[0];
    std::vector<int8_t> whole(run.count * 2u);
    if (to_pairs) {
      convert.run(from, whole.data(), whole.size(), mode);
      for (int8_t& value : whole) value = std::clamp<int8_t>(value, -8, 7);
      for (uint32_t e = 0; e < run.count; ++e) to[e] = uint8_t((whole[2 * e] & 15) | (whole[2 * e + 1] & 15) << 4);
    } else {
      for (size_t e = 0; e < whole.size(); ++e) whole[e] = int8_t(int8_t(uint8_t(from[e / 2] >> e % 2 * 4) << 4) >> 4);
      convert.run(whole.data(), to, whole.size(), mode);
    }
  });
}

static bool is_whole(Dtype dtype) {
  return with_whole(dtype, [](auto) {});
}
// Whether one of the floats is beyond what the whole numbers of `to` are, or none.
static bool overflows(Dtype from, const uint8_t* data, uint64_t count, Dtype to) {
  bool found = false;
  with_whole(to, [&](auto type) {
    using Limits = std::numeric_limits<decltype(type)>;
    for (uint64_t e = 0; e < count && !found; ++e) {
      const double value = real_at(from, data + e * size_of(from));
      found = !(value > double(Limits::min()) - 1 && value < double(Limits::max()) + 1);
    }
  });
  return found;
}

void cast(Local dst, Local src, int mode, Cover cover, Step d, Step s, At at) {
  if (dst.dtype == Dtype::i4 || src.dtype == Dtype::i4) return cast_pairs(dst, src, mode, cover, d, s, at);
  Core& c = core();
  Operation op(c, Pipe::V, "Cast", at);
  const Convert convert = conversion(src.dtype, dst.dtype, mode, c.launch.options.architecture);
  if (!convert.run) {
    c.report(convert.known ? Kind::rounding : Kind::data_type, "Cast", at,
             text("%s to %s%s; allowed: %s", name_of(src.dtype), name_of(dst.dtype),
                  convert.known ? text(" with %s", rounding_name(mode)).c_str() : "", convert.allowed.c_str()));
    return c.stop();
  }
  const Operand operands[] = {{&dst, d, size_of(dst.dtype), true, "the destination"},
                              {&src, s, size_of(src.dtype), false, "the source"}};
  Walk walk(op, operands, 2, cover);
  walk.apart();
  walk.computes();
  const bool scales = src.dtype == Dtype::i32 && dst.dtype == Dtype::f16;
  if (scales && !c.has_deq_scale) {
    c.report(Kind::parameter, "Cast", at, "int32_t to half multiplies by what SetDeqScale set, and it was not called");
    return;
  }
  // With bit 59 of the control register whole numbers lose what overflows, also those that floats become.
  const Convert wide = conversion(src.dtype, Dtype::i32, mode, c.launch.options.architecture);
  const bool cuts = c.cuts;
  const bool narrows = cuts && is_whole(src.dtype) && size_of(dst.dtype) < size_of(src.dtype) && is_whole(dst.dtype);
  walk.each([&](const Run& run) {
    carry(op, operands, 2, run);
    if (narrows) {
      for (uint32_t e = 0; e < run.count; ++e)
        std::memcpy(op.data(dst) + run.offsets[0] + e * size_of(dst.dtype),
                    op.data(src) + run.offsets[1] + e * size_of(src.dtype), size_of(dst.dtype));
      return;
    }
    if (cuts && !is_whole(src.dtype) && overflows(src.dtype, op.data(src) + run.offsets[1], run.count, dst.dtype)) {
      const uint32_t in = size_of(src.dtype), out = size_of(dst.dtype);
      if (out == 4 || !wide.run || overflows(src.dtype, op.data(src) + run.offsets[1], run.count, Dtype::i32))
        return c.report(Kind::parameter, "Cast", at,
                        "infinity, NaN, or more than 32 bits, with bit 59 of the control register, is not simulated");
      for (uint32_t e = 0; e < run.count; ++e) {
        int32_t whole;
        wide.run(op.data(src) + run.offsets[1] + e * in, &whole, 1, mode);
        std::memcpy(op.data(dst) + run.offsets[0] + e * out, &whole, out);
      }
      return;
    }
    if (scales) {
      for (uint32_t e = 0; e < run.count; ++e) {
        int32_t value;
        std::memcpy(&value, op.data(src) + run.offsets[1] + e * 4, 4);
        const uint16_t bits = half_bits(float(value) * c.deq_scale);
        std::memcpy(op.data(dst) + run.offsets[0] + e * 2, &bits, 2);
      }
      return;
    }
    const uint8_t* const from = op.data(src) + run.offsets[1];
    uint8_t* const to = op.data(dst) + run.offsets[0];
    const uint32_t in = size_of(src.dtype), out = size_of(dst.dtype);
    if (from + uint64_t(run.count) * in <= to || to + uint64_t(run.count) * out <= from)
      return convert.run(from, to, run.count, mode);
    // One over the other: what an iteration of 256 bytes reads, it has read before it writes.
    const uint32_t lanes = 256 / std::max(in, out);
    for (uint64_t e = 0; e < run.count; e += lanes) {
      uint8_t taken[256];
      const auto count = std::min<uint64_t>(lanes, run.count - e);
      std::memcpy(taken, from + e * in, count * in);
      convert.run(taken, to + e * out, count, mode);
    }
  });
}

void set_dequantization(uint64_t parameters) { core().dequantization = parameters; }
void set_dequantization(Local table, const uint64_t* parameters) {
  constexpr uint32_t kBytes = 16 * sizeof(uint64_t);
  Core& c = core();
  const At at{nullptr, 0};
  if (!c.usable(table, "SetDeqScale", at)) return;
  Operation op(c, Pipe::S, "SetDeqScale", at);
  if (!op.inside(table, 0, kBytes, "the table")) return;
  std::memcpy(op.data(table), parameters, kBytes);
  std::memset(op.written(table), 1, kBytes);
  c.dequantization_table = table;
}

void dequantize(Local dst, Local src, bool by_table, bool upper, Cover cover, Step d, Step s, At at) {
  constexpr const char* kCall = "CastDequant";
  Core& c = core();
  if (by_table ? !c.dequantization_table : !c.dequantization)
    return c.report(Kind::parameter, kCall, at,
                    by_table
                        ? "with isVecDeq it takes the tensor that SetDeqScale filled, and there is none"
                        : "without isVecDeq it takes what SetDeqScale(scale, offset, signMode) set, and nothing did");
  Operation op(c, Pipe::V, kCall, at);
  const Operand operands[] = {{&dst, d, 2, true, "the destination"}, {&src, s, 2, false, "the source"}};
  Walk walk(op, operands, 2, cover);
  const bool has_sign = dst.dtype == Dtype::i8;
  bool same_sign = true;
  uint64_t each[16];
  if (by_table) std::memcpy(each, op.data(*c.dequantization_table), sizeof each);
  else std::fill_n(each, 16, *c.dequantization);
  walk.each([&](const Run& run) {
    for (uint32_t e = 0; e < run.count; ++e) {
      const uint64_t from = run.offsets[1] + e * 2, slot = run.offsets[0] + e * 2, lane = slot % kBlock / 2;
      const uint64_t to = slot / kBlock * kBlock + (upper ? 16 : 0) + lane, by = each[lane];
      int16_t value;
      std::memcpy(&value, op.data(src) + from, 2);
      same_sign &= bool(by >> 46 & 1) == has_sign;
      op.data(dst)[to] = converted_to_eight(float(value), by, has_sign);
      op.written(dst)[to] = op.written(src)[from] & op.written(src)[from + 1];
    }
  });
  if (!same_sign)
    c.report(Kind::parameter, kCall, at,
             "the signMode that SetDeqScale was given is not that of the destination's type");
}

void cast_scalar(float value, Dtype to, void* out, int mode, At at) {
  Core& c = core();
  const Convert convert = conversion(Dtype::f32, to, mode, c.launch.options.architecture);
  if (convert.run) return convert.run(&value, out, 1, mode);
  c.report(Kind::rounding, "Cast", at,
           text("float to %s with %s; allowed: %s", name_of(to), rounding_name(mode), convert.allowed.c_str()));
  c.stop();
}

// Rounded to nearest even and kept within the type's range.
void binary_cast(const char* call, Op code, Local dst, Local a, Local b, Cover cover, Step d, Step sa, Step sb, At at) {
  Core& c = core();
  Operation op(c, Pipe::V, call, at);
  const Function function = function_of(code, a.dtype);
  const bool scales = a.dtype == Dtype::i32;
  if (scales && !c.has_deq_scale)
    return c.report(Kind::parameter, call, at, "it multiplies by what SetDeqScale set, and it was not called");
  const Operand operands[] = {{&dst, d, size_of(dst.dtype), true, "the destination"},
                              {&a, sa, size_of(a.dtype), false, "the source"},
                              {&b, sb, size_of(b.dtype), false, "the second source"}};
  Walk walk(op, operands, 3, cover);
  walk.computes();
  walk.apart();
  constexpr int mode = int(AscendC::RoundMode::CAST_RINT);
  const Convert convert =
      scales || a.dtype == Dtype::i16 ? Convert{} : conversion(a.dtype, dst.dtype, mode, c.launch.options.architecture);
  std::vector<uint8_t> between;
  walk.each([&](const Run& run) {
    carry(op, operands, 3, run);
    between.resize(size_t(run.count) * size_of(a.dtype));
    function(between.data(), op.data(a) + run.offsets[1], op.data(b) + run.offsets[2], {}, run.count);
    uint8_t* const to = op.data(dst) + run.offsets[0];
    if (convert.run) return convert.run(between.data(), to, run.count, mode);
    for (uint32_t e = 0; e < run.count; ++e) {
      if (scales) {
        int32_t sum;
        std::memcpy(&sum, between.data() + e * 4, 4);
        const uint16_t bits = half_bits(std::max(float(sum) * c.deq_scale, 0.0f));
        std::memcpy(to + e * 2, &bits, 2);
      } else {
        int16_t value;
        std::memcpy(&value, between.data() + e * 2, 2);
        to[e] = static_cast<uint8_t>(std::min<int>(value, 127));  // it is not below 0
      }
    }
  });
}

void set_deq_scale(float scale) { core().deq_scale = scale, core().has_deq_scale = true; }

}  // namespace ophook::rt
