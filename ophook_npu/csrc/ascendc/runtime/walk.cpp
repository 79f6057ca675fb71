// How vector instructions walk over their operands: masks, repeats and strides, and what they read behind a buffer.
#include <algorithm>

#include "vector.h"

namespace ophook::rt {

// A tensor without a buffer is one that the kernel made of an address: it ends where the kernel says.
uint64_t Behind::end(const Local& tensor) const {
  return tensor.buffer >= 0 ? op_.core.end_of(tensor) : uint64_t(tensor.offset) + tensor.bytes;
}

uint64_t Behind::own(const Local& tensor, uint64_t first, uint64_t bytes) const {
  if (far_.empty()) return bytes;
  const uint64_t begin = tensor.offset + first, stop = end(tensor);
  return begin < stop ? std::min(bytes, stop - begin) : 0;
}

std::vector<uint8_t>* Behind::far(const Local& tensor) {
  for (auto& [one, known] : far_)
    if (one.offset == tensor.offset && one.buffer == tensor.buffer && one.dtype == tensor.dtype) return &known;
  return nullptr;
}

uint8_t* Operation::known_behind(const Local& tensor) const {
  std::vector<uint8_t>* const far = behind->far(tensor);
  return far ? far->data() : nullptr;
}

bool Behind::reads(const Local& tensor, uint64_t first, uint64_t bytes, const char* role) {
  LocalMemory& memory = op_.core.memory->at(tensor.memory);
  const uint64_t last = tensor.offset + first + bytes, stop = end(tensor);
  if (last <= stop || last > memory.size() || tensor.memory != Memory::ub)
    return op_.inside(tensor, first, bytes, role);
  op_.core.report(Kind::beyond_buffer, op_.call, op_.at,
                  text("%s: bytes %llu to %llu of a tensor of %u bytes", role, (unsigned long long)first,
                       (unsigned long long)(first + bytes), tensor.bytes),
                  op_.core.describe(tensor));
  if (!op_.core.launch.checks()) return true;
  std::vector<uint8_t>* known = far(tensor);
  if (!known) {
    const uint8_t* const own = memory.written(tensor.offset, 0);
    const uint64_t count = stop > tensor.offset ? stop - tensor.offset : 0;
    known = &far_.emplace_back(tensor, std::vector<uint8_t>(own, own + count)).second;
  }
  if (known->size() < first + bytes) known->resize(first + bytes);
  return true;
}

// An iteration reads 256 bytes and writes them; the device begins the next one meanwhile. What that one reads should be
// no earlier one's result. Where an operand stays where it is, from one to the next, sums are made so.
void Walk::rereads(const Operand& to, const Operand& from) {
  if (to.tensor->memory != from.tensor->memory || !to.step.repeat || !from.step.repeat) return;
  const bool in_place = to.tensor->offset == from.tensor->offset && to.size == from.size &&
                        to.step.block == from.step.block && to.step.repeat == from.step.repeat;
  if (in_place && to.step.repeat * kBlock >= 256) return;  // each iteration has its own elements
  const bool in_a_row = cover_.kind == Cover::kCount;
  const uint32_t lanes = 256 / widest_, unit = kBlock / widest_;
  const uint64_t repeats = in_a_row ? (cover_.low + lanes - 1) / lanes : cover_.repeat;
  auto begin = [&](const Operand& o, uint64_t repeat, uint32_t lane) {
    if (in_a_row) return o.tensor->offset + (repeat * lanes + lane) * o.size;
    const uint64_t per_block = kBlock / o.size;
    return o.tensor->offset + (repeat * o.step.repeat + lane / per_block * o.step.block) * kBlock +
           lane % per_block * o.size;
  };
  const uint64_t bytes = unit * uint64_t{std::max(to.size, from.size)};
  if (begin(to, repeats, lanes) + bytes <= from.tensor->offset ||
      begin(from, repeats, lanes) + bytes <= to.tensor->offset)
    return;
  std::vector<uint64_t> written(op_.core.memory->at(to.tensor->memory).size() / kBlock + 1);  // by which iteration
  for (uint64_t repeat = 0; repeat < repeats; ++repeat) {
    auto each = [&](const Operand& o, auto visit) {
      for (uint32_t lane = 0; lane < lanes; lane += unit) {
        const bool on = in_a_row                       ? repeat * lanes + lane < cover_.low
                        : cover_.kind == Cover::kLanes ? lane < cover_.low
                                                       : (lane < 64 ? cover_.low >> lane : cover_.high >> (lane - 64)) &
                                                             ((uint64_t{1} << unit) - 1);
        if (on) visit(written[std::min<uint64_t>(begin(o, repeat, lane) / kBlock, written.size() - 1)]);
      }
    };
    uint64_t earlier = 0;
    each(from, [&](uint64_t& by) { earlier = std::max(earlier, by); });
    if (earlier)
      return op_.core.report(Kind::iterations_overlap, op_.call, op_.at,
                             text("iteration %llu of 256 bytes reads of %s what iteration %llu wrote",
                                  (unsigned long long)repeat, from.role, (unsigned long long)earlier - 1),
                             op_.core.describe(*from.tensor));
    each(to, [&](uint64_t& by) { by = repeat + 1; });
  }
}

void Walk::apart() {
  if (!good_ || !op_.core.launch.checks()) return;
  for (int i = 1; i < count_; ++i)
    if (operands_[i].tensor != operands_[0].tensor) rereads(operands_[0], operands_[i]);
}

Walk::Walk(Operation& op, const Operand* operands, int count, Cover cover)
    : op_(op), behind_(op), operands_(operands), count_(count), cover_(cover) {
  good_ = check();
}

Cover meant(Core& c, Cover cover) {
  if (cover.fixed) return cover;
  switch (cover.kind) {
    case Cover::kPreset: cover.kind = Cover::kBits, cover.low = c.mask_low, cover.high = c.mask_high; break;
    case Cover::kCount: c.mask_by_count = false, c.mask_low = c.mask_high = ~uint64_t{0}; break;
    case Cover::kBits: c.mask_low = cover.low, c.mask_high = cover.high; break;
    case Cover::kLanes: {
      auto bits = [](uint64_t n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; };
      c.mask_low = c.mask_by_count ? cover.low : bits(cover.low);
      c.mask_high = bits(cover.low > 64 && !c.mask_by_count ? cover.low - 64 : 0);
    }
  }
  if (c.mask_by_count) cover.kind = Cover::kCount;
  cover.fixed = true;
  return cover;
}

// 掩码.md: a mask beyond a repeat's elements is one of all of them.
void cut(const Operation& op, Cover& cover, uint32_t lanes) {
  op.core.report(Kind::mask_cut, op.call, op.at,
                 text("the mask covers %llu elements; a repeat has %u", (unsigned long long)cover.low, lanes));
  cover.low = lanes;
}

bool Walk::check() {
  Core& c = op_.core;
  if (!has_unit(c, true, op_.call, op_.at)) return false;
  for (int i = 0; i < count_; ++i) {
    const Operand& o = operands_[i];
    widest_ = std::max(widest_, o.size);
    if (!c.usable(*o.tensor, op_.call, op_.at)) return false;
    if (o.tensor->memory != Memory::ub) {
      c.report(Kind::position, op_.call, op_.at, text("%s is not in UB", o.role), c.describe(*o.tensor));
      return false;
    }
    if (!op_.aligned(*o.tensor, kBlock, o.role)) return false;
  }
  c.settle();
  const bool preset = cover_.kind == Cover::kPreset, told = cover_.kind == Cover::kCount;
  cover_ = meant(c, cover_);
  if (cover_.kind == Cover::kCount && !told) {
    // Counter mode steps from repeat to repeat as the normal one does.
    bool in_a_row = true;
    for (int i = 0; i < count_; ++i) {
      const Step& step = operands_[i].step;
      in_a_row &= step.block == 1 && step.repeat * kBlock == 256 / widest_ * operands_[i].size;
    }
    if (!in_a_row) {
      most_ = cover_.low, cover_.repeat = static_cast<uint32_t>((most_ + 256 / widest_ - 1) / (256 / widest_));
      cover_.kind = Cover::kLanes, cover_.low = 256 / widest_;
    }
  }
  if (cover_.kind == Cover::kCount) {
    total_ = cover_.low;
    one_.count = static_cast<uint32_t>(cover_.low);
    for (int i = 0; i < count_; ++i)
      if (!reaches(operands_[i], 0, cover_.low)) return false;
    c.launch.counters.elements += total_;
    return true;
  }
  const uint32_t lanes = 256 / widest_;
  if (cover_.kind == Cover::kLanes) {
    if (cover_.low > lanes) cut(op_, cover_, lanes);
    if (cover_.low == 0) return true;
  } else if (lanes <= 64) {
    if (!preset && (cover_.high || (lanes < 64 && cover_.low >> lanes))) {
      c.report(
          Kind::mask, op_.call, op_.at,
          text("the mask has bits of elements beyond the first %u, which are all that an instruction takes", lanes));
      return false;
    }
    if (lanes < 64) cover_.low &= (uint64_t{1} << lanes) - 1;
    cover_.high = 0;
  }
  collect();
  return true;
}

void Walk::collect() {
  const uint32_t lanes = 256 / widest_, unit = kBlock / widest_;  // units of the widest type's block
  auto on = [&](uint32_t lane) {
    if (cover_.kind == Cover::kLanes) return lane < cover_.low;
    return bool((lane < 64 ? cover_.low >> lane : cover_.high >> (lane - 64)) & 1);
  };
  auto place = [&](const Operand& o, uint32_t repeat, uint32_t lane) {
    const uint32_t per_block = kBlock / o.size;
    return uint64_t(repeat) * o.step.repeat * kBlock + uint64_t(lane / per_block) * o.step.block * kBlock +
           lane % per_block * o.size;
  };
  for (uint32_t repeat = 0; repeat < cover_.repeat; ++repeat)
    for (uint32_t lane = 0; lane < lanes;) {
      if (!on(lane) || uint64_t(repeat) * lanes + lane >= most_) {
        ++lane;
        continue;
      }
      uint32_t end = lane + 1;
      while (end < lanes && end % unit != 0 && on(end) && uint64_t(repeat) * lanes + end < most_) ++end;
      Run run{};
      run.count = end - lane;
      run.first = uint64_t(repeat) * lanes + lane;
      for (int i = 0; i < count_; ++i) run.offsets[i] = place(operands_[i], repeat, lane);
      bool joined = !runs_.empty() && runs_.back().first + runs_.back().count == run.first;
      for (int i = 0; joined && i < count_; ++i)
        joined = runs_.back().offsets[i] + uint64_t(runs_.back().count) * operands_[i].size == run.offsets[i];
      if (joined) runs_.back().count += run.count;
      else runs_.push_back(run);
      total_ += run.count;
      lane = end;
    }
  op_.core.launch.counters.elements += total_;
  for (const Run& run : runs_)
    for (int i = 0; i < count_; ++i)
      if (!reaches(operands_[i], run.offsets[i], run.count)) {
        runs_.clear();
        return;
      }
}

void carry(Operation& op, const Operand* operands, int count, const Run& run) {
  if (!op.core.launch.checks()) return;
  const uint32_t size = operands[0].size;
  uint8_t* to = op.kept(*operands[0].tensor) + run.offsets[0];
  bool all = true;
  for (int i = 1; i < count; ++i)
    all &= all_written(op.written(*operands[i].tensor) + run.offsets[i], uint64_t(run.count) * operands[i].size);
  if (all) {
    std::memset(to, 1, uint64_t(run.count) * size);
    return;
  }
  std::vector<uint8_t> known(run.count, 1);
  for (int i = 1; i < count; ++i) {
    const uint8_t* from = op.written(*operands[i].tensor) + run.offsets[i];
    for (uint32_t e = 0; e < run.count; ++e)
      for (uint32_t byte = 0; byte < operands[i].size; ++byte) known[e] &= from[e * operands[i].size + byte];
  }
  for (uint32_t e = 0; e < run.count; ++e) std::memset(to + e * size, known[e], size);
}

void set_mask_bits(uint64_t high, uint64_t low) { core().mask_high = high, core().mask_low = low; }
void read_mask_bits(uint64_t& high, uint64_t& low) { high = core().mask_high, low = core().mask_low; }
void set_mask(bool by_count, uint64_t high, uint64_t low, bool mode_only) {
  Core& c = core();
  c.mask_by_count = by_count;
  if (!mode_only) c.mask_high = high, c.mask_low = low;
}

void Walk::clamp(const Run& run) {
  const Local& to = *operands_[0].tensor;
  if (to.dtype != Dtype::f16 && to.dtype != Dtype::bf16) return;
  const uint16_t infinity = to.dtype == Dtype::f16 ? 0x7c00 : 0x7f80;
  uint8_t* const data = op_.data(to) + run.offsets[0];
  for (uint32_t e = 0; e < run.count; ++e) {
    uint16_t bits;
    std::memcpy(&bits, data + e * 2, 2);
    if ((bits & infinity) != infinity) continue;
    bits = bits & 0x7fff & ~infinity ? 0 : static_cast<uint16_t>((bits & 0x8000) | (infinity - 1));
    std::memcpy(data + e * 2, &bits, 2);
  }
}

}  // namespace ophook::rt
