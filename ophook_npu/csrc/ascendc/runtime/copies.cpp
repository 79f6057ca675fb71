// DataCopy, DataCopyPad and scalar access.
#include <algorithm>
#include <vector>

#include "access.h"
#include "arithmetic.h"
#include "ascendc/enums.h"
#include "numbers.h"
#include "simt.h"
#include "server.h"

namespace ophook::rt {

namespace {

bool block_aligned(Operation& op, const char* what, uint64_t bytes) {
  if (!op.core.launch.checks() || bytes % kBlock == 0) return true;
  op.core.report(Kind::alignment, op.call, op.at,
                 text("%s of %llu bytes is no multiple of 32", what, (unsigned long long)bytes));
  return false;
}

uint64_t whole(uint64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

bool counts(Operation& op, const Blocks& b, bool padded) {
  if (!op.core.launch.checks()) return true;
  const uint64_t longest = padded ? (1u << 21) - 1 : 65535ull * 32;
  if (b.count > 4095)
    op.core.report(Kind::parameter, op.call, op.at, text("blockCount is %u; allowed: 1 to 4095", b.count));
  if (b.length > longest)
    op.core.report(
        Kind::parameter, op.call, op.at,
        text("a piece has %llu bytes; allowed: up to %llu", (unsigned long long)b.length, (unsigned long long)longest));
  return true;
}

}  // namespace

void copy_in(const char* call, Local to, Global from, Blocks b, const Padding* pad, At at) {
  Core& c = core();
  number_tile(c, at);
  comm::looks_at(c, call, from.data, b.length, at);
  const bool to_l1 = to.memory == Memory::l1;
  Operation op(c, Pipe::MTE2, call, at);
  if (!c.usable(to, call, at)) return;
  if (to.memory != Memory::ub && !to_l1) {
    c.report(Kind::position, call, at, "a copy from device memory goes to UB or L1", c.describe(to));
    return;
  }
  if (to_l1 ? !fills_l1(c, to, call, at) : !has_unit(c, true, call, at)) return;
  ++c.launch.counters.copies;
  if (!b.length || !b.count) return;
  counts(op, b, pad != nullptr);
  if (!op.aligned(to, kBlock, "the destination")) return;
  const uint32_t element = size_of(to.dtype);
  // isPad says where the value comes from, not whether there is padding.
  const uint64_t left = pad && !b.compact ? uint64_t(pad->left) * element : 0;
  const uint64_t right = pad && !b.compact ? uint64_t(pad->right) * element : 0;
  if (!pad && !block_aligned(op, "a length", b.length)) {
    ++c.launch.counters.unaligned;
    b.length = b.length / kBlock * kBlock;
    if (!b.length) return;
  }
  if (pad && (left > kBlock || right > kBlock))
    c.report(Kind::parameter, call, at,
             text("padding of %u and %u elements; allowed: up to 32 bytes on each side", pad->left, pad->right));
  if (pad && pad->is_pad && element == 8 && pad->value)
    c.report(Kind::parameter, call, at,
             text("paddingValue is %lld for a type of 64 bits; allowed: 0", static_cast<long long>(pad->value)));
  if (b.length % kBlock) ++c.launch.counters.unaligned;
  // In local memory every piece takes whole blocks, or all of them together do.
  const uint64_t step = b.compact ? b.length : whole(left + b.length + right) + b.to_gap;
  const uint64_t span = whole((b.count - 1) * step + left + b.length + right);
  if (!op.inside(to, 0, span, "the destination")) return;
  const bool fills_up = pad && (left || right || b.length % kBlock);
  const bool plain = !fills_up && !c.launch.checks() && !c.launch.options.on_wait;
  for (uint32_t i = 0; i < b.count; ++i) {
    const uint8_t* source = from.data + i * (b.length + b.from_gap);
    const uint64_t usable = op.from_device(source, b.length);
    const bool ends = !b.compact || i + 1 == b.count;
    const uint64_t piece = !b.compact ? step - b.to_gap : ends ? span - i * step : b.length;
    c.launch.counters.copied_in += usable;
    if (plain) {
      std::memcpy(op.data(to) + i * step, source, usable);
      continue;
    }
    op.fills(to, i * step, piece, source, left ? 0 : usable);
    const auto holes = op.holes(source, usable);
    // Without a value, and where only the end of a block is filled up, the bytes are nobody's.
    const bool filled = pad && (b.compact ? ends : left || right) && (pad->is_pad || c.pad_value);
    // DataCopyPad's page: where neither side is padded, what fills up the block is the piece's first element.
    const bool repeats = pad && !b.compact && !left && !right && usable >= element;
    const bool first_known = holes.empty() || holes[0].first >= element;
    const uint64_t value = !filled ? 0 : pad->is_pad ? pad->value : *c.pad_value;
    uint8_t* target = op.data(to) + i * step;
    const uint64_t length = b.length;
    when_due(op, [=] {
      std::memcpy(target + left, source, usable);
      for (uint64_t e = length; repeats && e + element <= piece; e += element) std::memcpy(target + e, source, element);
      for (uint64_t e = 0; filled && e < piece; e += element)
        if (e < left || e >= left + length) std::memcpy(target + e, &value, element);
    });
    if (!c.launch.checks()) continue;
    uint8_t* written = op.written(to) + i * step;
    when_due(op, [=] {
      std::memset(written, 0, piece);
      std::memset(written + left, 1, usable);
      for (const auto& [begin, end] : holes) std::memset(written + left + begin, 0, end - begin);
      if (repeats && piece > length) std::memset(written + length, first_known, (piece - length) / element * element);
      for (uint64_t e = 0; filled && e < piece; e += element)
        if (e < left || e >= left + length) std::memset(written + e, 1, element);
    });
  }
}

Dimensions& dimensions() { return core().dimensions; }

void copy_dimensions(const char* call, Local to, Global from, uint32_t element, const Dimensions& all, At at) {
  Core& c = core();
  number_tile(c, at);
  Operation op(c, Pipe::MTE2, call, at);
  if (!c.usable(to, call, at) || !has_unit(c, true, call, at) || !op.aligned(to, kBlock, "the destination")) return;
  ++c.launch.counters.copies;
  uint64_t count = 1, last = 0;
  uint32_t whole[Dimensions::kMost];
  for (int d = 0; d < Dimensions::kMost; ++d) {
    if (!all.size[d] || all.size[d] >= 1u << 20)
      return c.report(Kind::parameter, call, at,
                      text("dimension %d has %u elements; allowed: 1 to 1048575", d, all.size[d]));
    whole[d] = all.before[d] + all.size[d] + all.behind[d];
    count *= whole[d], last += (whole[d] - 1) * all.to_step[d];
  }
  if (!op.inside(to, 0, (last + 1) * element, "the destination")) return;
  struct One {
    uint64_t to;
    const uint8_t* from;  // none: the value
    bool known;
  };
  std::vector<One> elements(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t rest = i, target = 0, source = 0;
    bool inside = true;
    for (int d = 0; d < Dimensions::kMost; ++d) {
      const int64_t place = int64_t(rest % whole[d]), at_source = place - all.before[d];
      rest /= whole[d];
      inside &= at_source >= 0 && at_source < int64_t(all.size[d]);
      target += uint64_t(place) * all.to_step[d];
      source += uint64_t(std::clamp<int64_t>(at_source, 0, all.size[d] - 1)) * all.from_step[d];
    }
    One& one = elements[i] = {target * element, from.data + source * element, true};
    if (!inside && all.constant) one.from = nullptr;
    const uint64_t usable = one.from ? op.from_device(one.from, element) : 0;
    op.fills(to, one.to, element, one.from, usable);
    if (one.from && usable < element) return;  // it was told
    if (one.from) one.known = op.initialized(one.from, element);
    c.launch.counters.copied_in += usable;
  }
  uint8_t *const data = op.data(to), *const written = op.written(to);
  const uint64_t value = all.value;
  when_due(op, [=] {
    for (const One& one : elements) {
      std::memcpy(data + one.to, one.from ? one.from : reinterpret_cast<const uint8_t*>(&value), element);
      std::memset(written + one.to, one.known, element);
    }
  });
}

void copy_out(const char* call, Global to, Local from, Blocks b, bool padded, At at) {
  Core& c = core();
  const bool from_cube = from.memory == Memory::l0c;
  Operation op(c, from_cube ? Pipe::FIX : Pipe::MTE3, call, at);
  if (!c.usable(from, call, at)) return;
  if (from.memory != Memory::ub && from.memory != Memory::l1) {
    c.report(Kind::position, call, at, "a copy to device memory comes from UB or L1; Fixpipe has L0C",
             c.describe(from));
    return;
  }
  if (!has_unit(c, from.memory == Memory::ub, call, at)) return;
  ++c.launch.counters.copies;
  if (!b.length || !b.count) return;
  if (!can_combine(c, call, at)) return c.stop();
  counts(op, b, padded);
  if (!op.aligned(from, kBlock, "the source")) return;
  if (!padded && !block_aligned(op, "a length", b.length)) {
    ++c.launch.counters.unaligned;
    b.length = b.length / kBlock * kBlock;
    if (!b.length) return;
  }
  if (b.length % kBlock) ++c.launch.counters.unaligned;
  const uint64_t step = b.compact ? b.length : whole(b.length) + b.from_gap;
  if (!op.inside(from, 0, whole((b.count - 1) * step + b.length), "the source")) return;
  for (uint32_t i = 0; i < b.count; ++i) {
    uint8_t* target = to.data + i * (b.length + b.to_gap);
    op.reads(from, i * step, b.length);
    if (c.atomic_kind() && !op.initialized(target, b.length))
      c.report(Kind::uninitialized, call, at, "an atomic operation on device memory that was never written");
    const uint8_t* source = op.data(from) + i * step;
    op.same = op.holds(target, source, b.length);
    const uint64_t usable = op.to_device(target, b.length);
    c.launch.counters.copied_out += usable;
    const uint8_t* written = op.written(from) + i * step;
    Core* owner = &c;
    const int kind = c.atomic_kind();
    const Dtype dtype = c.atomic_dtype;
    const Local tensor = from;
    when_due(op, [=] {
      if (owner->launch.checks() && usable) leaves_uncomputed(*owner, call, at, target, written, usable, tensor);
      if (kind == 0) std::memcpy(target, source, usable);
      else combine(kind, dtype, target, source, usable);
    });
  }
}

bool leaves_l0c(Local from) { return from.memory == Memory::l0c && core().launch.options.both_units; }

void copy_local(const char* call, Local to, Local from, Blocks b, At at, bool relu) {
  Core& c = core();
  Pipe pipe = Pipe::V;
  if (from.memory == Memory::l1) pipe = Pipe::MTE1;
  if (from.memory == Memory::ub && to.memory == Memory::l1) pipe = Pipe::MTE3;
  const bool table = to.memory == Memory::bt, parameters = to.memory == Memory::fb;
  if (parameters) pipe = Pipe::FIX;
  Operation op(c, pipe, call, at);
  if (!c.usable(to, call, at) || !c.usable(from, call, at)) return;
  const bool product = leaves_l0c(from) && to.memory == Memory::ub;
  if (!product &&
      !(table || parameters ? from.memory == Memory::l1
                            : (to.memory == Memory::ub || to.memory == Memory::l1) && from.memory == Memory::ub)) {
    c.report(Kind::position, call, at, "DataCopy has no such route; LoadData has L1 to L0A and L0B", c.describe(from));
    return;
  }
  if (!has_unit(c, from.memory == Memory::ub, call, at)) return;
  const uint32_t unit = table ? 64 : parameters ? 128 : kBlock;
  if (!b.length || !b.count) return;
  if (!op.aligned(to, unit, "the destination") || !op.aligned(from, kBlock, "the source")) return;
  if (c.launch.checks() && b.length % unit) {
    c.report(Kind::alignment, call, at,
             text("a length of %llu bytes is no multiple of %u", (unsigned long long)b.length, unit));
    return;
  }
  const bool widens = from.dtype == Dtype::f16 && to.dtype == Dtype::f32;
  if (widens && !table)
    return c.report(Kind::data_type, call, at, "half becomes float on the way to the bias table (C2) alone");
  const uint64_t there = b.length * (widens ? 2 : 1), to_step = there + b.to_gap, from_step = b.length + b.from_gap;
  if (!op.inside(to, 0, (b.count - 1) * to_step + there, "the destination")) return;
  if (!op.inside(from, 0, (b.count - 1) * from_step + b.length, "the source")) return;
  c.launch.counters.moved += b.count * b.length;
  for (uint32_t i = 0; i < b.count; ++i) {
    op.reads(from, i * from_step, b.length);
    op.writes(to, i * to_step, there);
    uint8_t *const data = op.data(to) + i * to_step, *const written = op.written(to) + i * to_step;
    const uint8_t *const read = op.data(from) + i * from_step, *const known = op.written(from) + i * from_step;
    if (widens) {
      wide(Dtype::f16, read, reinterpret_cast<float*>(data), b.length / 2);
      for (uint64_t e = 0; e < there; ++e) written[e] = known[e / 2];
      continue;
    }
    std::memmove(data, read, b.length);
    std::memmove(written, known, b.length);
    const uint32_t size = size_of(from.dtype);
    for (uint64_t e = 0; relu && e < b.length; e += size)
      if (scalar_at(from.dtype, data + e).real < 0) std::memset(data + e, 0, size);
  }
}

void copy_product(Local to, Local from, Blocks b, int mode, int scale, bool relu, At at) {
  if (mode != int(AscendC::BlockMode::BLOCK_MODE_MATRIX) || scale)
    return core().report(Kind::parameter, "DataCopy", at,
                         scale ? "factors on the way from L0C to UB (deqScale) are not simulated; allowed: DEQ_NONE"
                               : "from L0C to UB only whole matrices are simulated: BLOCK_MODE_MATRIX");
  copy_local("DataCopy", to, from, b, at, relu);
}

void pad_value(uint64_t bits) { core().pad_value = bits; }
CopyLoops& copy_loops(bool in) { return in ? core().loops_in : core().loops_out; }

void atomic(int kind, Dtype dtype) {
  if (kind >= 0) core().atomic_operation = kind;
  if (kind <= 0 || dtype != Dtype::other) core().atomic_dtype = dtype;
}
Dtype atomic_type() { return core().atomic_kind() ? core().atomic_dtype : Dtype::other; }

void read_local(const char* call, Local tensor, uint64_t index, uint32_t size, void* out, At at) {
  Core& c = core();
  std::memset(out, 0, size);
  if (!c.usable(tensor, call, at)) return;
  Operation op(c, Pipe::S, call, at);
  const uint64_t first = index * size;
  if (!op.inside(tensor, first, size, "the element")) return;
  op.reads(tensor, first, size);
  c.settle();
  const uint8_t* known = op.written(tensor) + first;
  // A word of a mask's bits may have some of elements that nobody computed.
  if (c.launch.checks() && !all_written(known, size))
    c.report(only_tails(known, size) ? Kind::uncomputed_tail : Kind::uninitialized, call, at,
             text("element %llu was never written", (unsigned long long)index), c.describe(tensor));
  std::memcpy(out, op.data(tensor) + first, size);
}

void write_local(const char* call, Local tensor, uint64_t index, uint32_t size, const void* value, At at) {
  Core& c = core();
  if (!c.usable(tensor, call, at)) return;
  Operation op(c, Pipe::S, call, at);
  const uint64_t first = index * size;
  if (!op.inside(tensor, first, size, "the element")) return;
  op.writes(tensor, first, size);
  std::memcpy(op.data(tensor) + first, value, size);
  std::memset(op.written(tensor) + first, 1, size);
}

namespace {
uint64_t line_of(const uint8_t* data) { return reinterpret_cast<uintptr_t>(data) / CacheLines::kBytes; }
// Whether a scalar read finds what is in device memory now. What the line's writers had done before they wrote it back
// is over then.
bool fetch_line(Core& c, const uint8_t* data) {
  const uint64_t line = line_of(data);
  if (!c.cache.fetch(line)) return false;
  const auto found = c.launch.written_back.find(line);
  if (found != c.launch.written_back.end()) learn(c, found->second);
  return true;
}
}  // namespace

void read_global(const char* call, Global tensor, uint64_t index, uint32_t size, void* out, At at) {
  Core& c = core();
  const uint8_t* data = tensor.data + index * size;
  comm::looks_at(c, call, data, size, at);
  Operation op(c, Pipe::S, call, at);
  std::memset(out, 0, size);
  const bool fetches = fetch_line(c, data);
  const uint64_t usable = op.from_device(data, size, !fetches);
  if (usable && !op.initialized(data, usable))
    c.report(Kind::uninitialized, call, at, "reads device memory that was never written");
  std::memcpy(out, data, usable);
}

void write_global(const char* call, Global tensor, uint64_t index, uint32_t size, const void* value, At at) {
  Core& c = core();
  Operation op(c, Pipe::S, call, at);
  uint8_t* data = tensor.data + index * size;
  op.same = op.holds(data, static_cast<const uint8_t*>(value), size);
  std::memcpy(data, value, op.to_device(data, size));
  if (c.launch.checks()) c.cache.dirty.insert(line_of(data));
}

// A line that a core writes back tells the core that fetches it what was done before.
void cache_clean(Global tensor, bool whole, At at) {
  if (Simt* const threads = simt()) return threads->fetch(tensor.data, at);
  Core& c = core();
  c.settle_all();
  c.begin(Pipe::S, "DataCacheCleanAndInvalid", at);
  CacheLines& cache = c.cache;
  auto write_back = [&](uint64_t line) { merge(c.launch.written_back[line], message_of(c, Pipe::S, at)); };
  const uint64_t line = line_of(tensor.data);
  if (whole) {
    for (const uint64_t each : cache.dirty) write_back(each);
    cache.dirty.clear();
  } else if (cache.dirty.erase(line)) {
    write_back(line);
  }
  if (whole) cache.all_fresh = true, cache.fetched.clear();
  else cache.fresh.insert(line);
  if (!whole)
    comm::looks_at(c, "DataCacheCleanAndInvalid", reinterpret_cast<const uint8_t*>(line), CacheLines::kBytes, at);
  yield_core();  // who waits for another core's value calls this in a loop
}

namespace {
// The bytes past the cache: any core may use them at any time, so only their place is checked.
uint64_t uncached(Core& c, const char* call, const Global& tensor, uint32_t size, At at, Argument** out) {
  Argument* a = *out = c.launch.memory.find(tensor.data, size);
  if (a && uint64_t(tensor.data - a->data) + size <= std::max(a->bytes, a->allocated)) return size;
  c.report(Kind::global_bounds, call, at, text("%u bytes of device memory that belong to no argument", size));
  return 0;
}
}  // namespace

void read_global_uncached(const char* call, Global tensor, uint32_t size, void* out, At at) {
  Core& c = core();
  c.settle_all();
  comm::looks_at(c, call, tensor.data, size, at);
  yield_core();
  c.begin(Pipe::S, call, at);
  Argument* a;
  std::memset(out, 0, size);
  std::memcpy(out, tensor.data, uncached(c, call, tensor, size, at, &a));
}

void write_global_uncached(const char* call, Global tensor, uint32_t size, const void* value, At at) {
  Core& c = core();
  const uint32_t seq = c.begin(Pipe::S, call, at);
  Argument* a;
  if (!uncached(c, call, tensor, size, at, &a)) return;
  if (!writable(c, *a, call, at)) return;
  std::memcpy(tensor.data, value, size);
  if (!c.launch.checks() || !a->tracked()) return;
  Touch touch;  // atomic: what others do to it is no conflict
  touch.end = uint64_t(tensor.data - a->data) + size, touch.core = c.index, touch.phase = c.phase, touch.atomic = true;
  touch.seq = seq, touch.pipe = Pipe::S, touch.at = at;
  a->writes.add(uint64_t(tensor.data - a->data), touch, true, [](uint64_t, const Touch&) {});
}

uint16_t* store_type() { return &core().store_type; }
void store_added(const char* call, Global to, const void* value, At at) {
  constexpr Dtype kTypes[] = {Dtype::other, Dtype::f32, Dtype::f16, Dtype::i16, Dtype::i32, Dtype::i8, Dtype::bf16};
  Core& c = core();
  uint8_t sum[8];
  const uint32_t size = size_of(to.dtype);
  if (!c.store_type || c.store_type >= std::size(kTypes) || kTypes[c.store_type] != to.dtype)
    return c.report(Kind::data_type, call, at,
                    text("%s; the type that stores add was set to %s", name_of(to.dtype),
                         c.store_type && c.store_type < std::size(kTypes) ? name_of(kTypes[c.store_type]) : "none"));
  read_global_uncached(call, to, size, sum, at);  // no other core runs before the write
  combine(1, to.dtype, sum, static_cast<const uint8_t*>(value), size);
  write_global_uncached(call, to, size, sum, at);
}

// Copies of the vector core itself: it waits for those before, and what comes after waits for it.
void fill_global(const char* call, Global to, uint64_t count, uint32_t size, const void* value, At at) {
  Core& c = core();
  if (!has_unit(c, true, call, at)) return;
  c.settle_all();
  Operation op(c, Pipe::MTE3, call, at);
  for (int q = 0; q < kPipes; ++q) op.limits[q] = op.seq;
  op.same = true;
  for (uint64_t i = 0; i < count && op.same; ++i)
    op.same = op.holds(to.data + i * size, static_cast<const uint8_t*>(value), size);
  const uint64_t usable = op.to_device(to.data, count * size);
  for (uint64_t i = 0; i < usable / size; ++i) std::memcpy(to.data + i * size, value, size);
  c.launch.counters.copied_out += usable;
}

}  // namespace ophook::rt
