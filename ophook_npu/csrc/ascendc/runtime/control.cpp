// The control register of a core, as the pages of its functions list its bits. Bit 60 says whether a conversion of
// registers to whole numbers saturates by its own SatMode (`reg_saturates`), and bit 48 of an Atlas A2 or A3 whether
// half and bfloat16_t do. What else is computed here does not depend on it: a value is taken if it is the one that
// stands there at first, or the one that says what is computed.
#include "ascendc/cube.h"
#include "core.h"

namespace ophook::rt {
namespace {

struct Bits {
  int first, last;
  bool of_950_alone;
  int64_t usual, computed;
  const char* what;
};
// Of the whole register: floats do not saturate, and masks are numbers of elements.
constexpr uint64_t kSaturates = uint64_t{1} << 48, kCounts = uint64_t{1} << 56;
constexpr Bits kBits[] = {
    {6, 8, true, 0, 0, "SetAtomicAdd, SetAtomicMax and SetAtomicMin choose atomic copies here"},
    {9, 10, true, 0, 0, "SetAtomicAdd, SetAtomicMax and SetAtomicMin choose atomic copies here"},
    {45, 45, true, 0, 0, "products of fp8_e4m3fn_t as hifloat8_t are not simulated"},
    {48, 48, false, 0, 1, ""},
    {50, 50, true, 0, 0, "NaN that conversions to 8 bits keep are not simulated"},
    {53, 53, true, 0, 0, "whole numbers that saturate in arithmetic are not simulated"},
    {59, 59, true, 0, 0, "conversions to whole numbers that cut what overflows are not simulated"},
    {60, 60, true, 1, 0, ""},
};

const Bits* bits(const Core& c, int first, int last) {
  for (const Bits& one : kBits)
    if (one.first == first && one.last == last && (!one.of_950_alone || c.launch.options.architecture == 310))
      return &one;
  return nullptr;
}
int64_t mask(const Bits& of) { return (int64_t(1) << (of.last - of.first + 1)) - 1; }

}  // namespace

void set_control(const char* call, int first, int last, const int64_t* value, At at) {
  Core& c = core();
  const Bits* of = bits(c, first, last);
  if (!of) return refuse(call, text("bits %d to %d of the control register have no page", first, last).c_str(), at);
  if (value && *value != of->usual && *value != of->computed)
    return refuse(call,
                  text("value %lld of bits %d to %d: %s", static_cast<long long>(*value), first, last,
                       *value & ~mask(*of) ? "it has more bits than that" : of->what)
                      .c_str(),
                  at);
  const int64_t set = (value ? *value : of->usual) ^ of->usual;  // kept as what differs from what is usual
  c.control = (c.control & ~(mask(*of) << first)) | set << first;
  if (first == 48 && c.launch.options.architecture != 310) c.clamps = value && !*value, c.saturates = !value || !*value;
}

int64_t control(const char* call, int first, int last, At at) {
  const Core& c = core();
  const Bits* of = bits(c, first, last);
  if (of) return (c.control >> first & mask(*of)) ^ of->usual;
  refuse(call, text("bits %d to %d of the control register have no page", first, last).c_str(), at);
  return 0;
}

namespace {
void saturate(Core& c, bool on) {
  c.saturates = c.clamps = on;
  c.control = int64_t((uint64_t(c.control) & ~kSaturates) | (on ? 0 : kSaturates));
}
}  // namespace

// The whole register of an Atlas A2: how products round factors of float (46, 47), whether floats go beyond what their
// type holds (48), whether masks are counts (56), and whether conversions cut what overflows (59).
constexpr uint64_t kRounds = uint64_t{1} << 46, kTies = uint64_t{1} << 47, kCuts = uint64_t{1} << 59;
uint64_t control_register() {
  const Core& c = core();
  return (c.hf32 ? kRounds : 0) | (c.hf32_ties == int(Ties::to_zero) ? kTies : 0) | (c.saturates ? 0 : kSaturates) |
         (c.mask_by_count ? kCounts : 0) | (c.cuts ? kCuts : 0);
}
void set_control_register(const char* call, uint64_t value, At at) {
  if (value & ~(kRounds | kTies | kSaturates | kCounts | kCuts))
    return refuse(call, "of the control register only bits 46, 47, 48, 56 and 59 are simulated", at);
  Core& c = core();
  c.hf32 = value & kRounds;
  if (bool(value & kTies) != (c.hf32_ties == int(Ties::to_zero)))
    c.hf32_ties = int(value & kTies ? Ties::to_zero : Ties::to_even);
  if (const bool on = !(value & kSaturates); on != c.saturates) saturate(c, on);
  c.mask_by_count = value & kCounts;
  c.cuts = value & kCuts;
}

int64_t& flags_address() { return core().flags_address; }

void saturation(bool of_casts, bool on, At at) {
  if (!of_casts) saturate(core(), on);
  else if (!on) refuse("SetSaturationFlag", "conversions that cut what overflows are not simulated: they saturate", at);
}
bool saturation(bool of_casts) { return of_casts || core().saturates; }

}  // namespace ophook::rt
