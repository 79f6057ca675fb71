#include "cast.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "arithmetic.h"

namespace ophook::rt {
namespace {

enum Mode { kNone, kRint, kFloor, kCeil, kRound, kTrunc, kOdd };
constexpr char kLetters[] = "NRFCATO";
constexpr const char* kRoundings[] = {"CAST_NONE",  "CAST_RINT",  "CAST_FLOOR", "CAST_CEIL",
                                      "CAST_ROUND", "CAST_TRUNC", "CAST_ODD",   "CAST_HYBRID"};

double to_whole(double value, int mode) {
  switch (mode) {
    case kFloor: return std::floor(value);
    case kCeil: return std::ceil(value);
    case kRound: return std::round(value);
    case kTrunc: return std::trunc(value);
    default: return std::nearbyint(value);
  }
}

// A float in a type with fewer bits of mantissa: `drop` of them go. `bits` is the float's pattern without its sign.
template <typename F>
uint16_t narrower(float value, int mode, F nearest, float (*back)(uint16_t)) {
  if (mode == kNone || mode == kRint || value != value) return nearest(value);
  uint16_t result = nearest(value);
  const bool negative = std::signbit(value);
  auto magnitude = [&](uint16_t bits) { return std::fabs(double(back(bits))); };
  const double exact = std::fabs(double(value));
  const uint16_t sign = result & 0x8000u;
  uint16_t down = result & 0x7fffu;  // the largest pattern not above the exact magnitude
  while (down && (magnitude(down) > exact || std::isinf(magnitude(down))) && !std::isinf(exact)) --down;
  if (magnitude(down) == exact || std::isinf(exact))
    return static_cast<uint16_t>(sign | (std::isinf(exact) ? result & 0x7fffu : down));
  const uint16_t up = static_cast<uint16_t>(down + 1);
  bool away = false;
  switch (mode) {
    case kFloor: away = negative; break;
    case kCeil: away = !negative; break;
    case kTrunc: away = false; break;
    case kOdd: away = !(down & 1); break;
    case kRound: {
      const double above =
          std::isinf(magnitude(up)) ? 2 * magnitude(down) - magnitude(static_cast<uint16_t>(down - 1)) : magnitude(up);
      away = exact - magnitude(down) >= above - exact;
      break;
    }
    default: break;
  }
  return static_cast<uint16_t>(sign | (away ? up : down));
}

template <Dtype dtype>
struct Type;
#define TYPE(name, cpp)      \
  template <>                \
  struct Type<Dtype::name> { \
    using T = cpp;           \
  }
TYPE(f32, float);
TYPE(i8, int8_t);
TYPE(u8, uint8_t);
TYPE(i16, int16_t);
TYPE(u16, uint16_t);
TYPE(i32, int32_t);
TYPE(u32, uint32_t);
TYPE(i64, int64_t);
TYPE(f16, uint16_t);
TYPE(bf16, uint16_t);
#undef TYPE

template <Dtype dtype>
double read(const void* from, size_t i) {
  const auto value = static_cast<const typename Type<dtype>::T*>(from)[i];
  if constexpr (dtype == Dtype::f16) return half_value(value);
  else if constexpr (dtype == Dtype::bf16) return bfloat16_value(value);
  else return double(value);
}

template <Dtype from_type, Dtype to_type>
void convert(const void* from, void* to, size_t count, int mode) {
  using T = typename Type<to_type>::T;
  auto* out = static_cast<T*>(to);
  constexpr bool from_whole = from_type != Dtype::f16 && from_type != Dtype::bf16 && from_type != Dtype::f32;
  if constexpr (to_type == Dtype::f16 || to_type == Dtype::bf16) {
    if constexpr (from_type == Dtype::f32)
      if (mode == kNone || mode == kRint) return narrow(to_type, static_cast<const float*>(from), to, count);
    for (size_t i = 0; i < count; ++i) {
      const float value = static_cast<float>(read<from_type>(from, i));
      if constexpr (to_type == Dtype::f16)
        out[i] = narrower(value, mode, half_bits, [](uint16_t b) { return half_value(b); });
      else out[i] = narrower(value, mode, bfloat16_bits, [](uint16_t b) { return bfloat16_value(b); });
    }
  } else if constexpr (to_type == Dtype::f32) {
    if constexpr (from_type == Dtype::f16 || from_type == Dtype::bf16)
      return wide(from_type, from, static_cast<float*>(to), count);
    if constexpr (from_type == Dtype::f32) {
      for (size_t i = 0; i < count; ++i) out[i] = float(to_whole(static_cast<const float*>(from)[i], mode));
    } else {
      for (size_t i = 0; i < count; ++i) {
        const auto whole = static_cast<const typename Type<from_type>::T*>(from)[i];
        float value = static_cast<float>(whole);
        if (mode != kNone && mode != kRint) {
          const long double exact = whole, got = value;
          const float up = std::nextafter(value, INFINITY), down = std::nextafter(value, -INFINITY);
          if (mode == kFloor && got > exact) value = down;
          if (mode == kCeil && got < exact) value = up;
          if (mode == kTrunc && std::fabs(got) > std::fabs(exact)) value = exact > 0 ? down : up;
          if (mode == kRound) {
            const float away = exact > 0 ? up : down;
            if (std::fabs((long double)away - exact) <= std::fabs(got - exact)) value = away;
          }
        }
        out[i] = value;
      }
    }
  } else if constexpr (from_whole) {
    for (size_t i = 0; i < count; ++i) {
      const int64_t value = int64_t(static_cast<const typename Type<from_type>::T*>(from)[i]);
      constexpr int64_t low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
      out[i] = T(value < low ? low : value > high ? high : value);
    }
  } else {
    // To whole numbers: rounded, then kept within the type's range; NaN is 0.
    constexpr double low = double(std::numeric_limits<T>::min()), high = double(std::numeric_limits<T>::max());
    for (size_t i = 0; i < count; ++i) {
      const double value = to_whole(read<from_type>(from, i), mode);
      out[i] = value != value  ? T(0)
               : value <= low  ? std::numeric_limits<T>::min()
               : value >= high ? std::numeric_limits<T>::max()
                               : T(value);
    }
  }
}

struct Pair {
  Dtype from, to;
  const char *modes_220, *modes_310;
  void (*run)(const void*, void*, size_t, int);
};
constexpr Pair kPairs[] = {
#define CONVERSION(from, to, modes_220, modes_310) \
  {Dtype::from, Dtype::to, modes_220, modes_310, convert<Dtype::from, Dtype::to>},
#include "conversions.inc"
#undef CONVERSION
};
constexpr const char* kTypes[] = {"half",     "float",    "bfloat16_t", "int8_t",   "uint8_t",
                                  "int16_t",  "uint16_t", "int32_t",    "uint32_t", "int64_t",
                                  "uint64_t", "double",   "bool",       "int4b_t",  "another type"};

}  // namespace

const char* rounding_name(int mode) { return mode >= 0 && mode < 8 ? kRoundings[mode] : "an unknown rounding mode"; }

Convert conversion(Dtype from, Dtype to, int mode, int architecture) {
  Convert result;
  for (const Pair& pair : kPairs) {
    const char* const modes = architecture == 310 ? pair.modes_310 : pair.modes_220;
    if (pair.from != from || !*modes || (architecture == 200 && (pair.from == Dtype::bf16 || pair.to == Dtype::bf16)))
      continue;
    if (pair.to != to) {
      result.allowed += (result.allowed.empty() ? "" : ", ") + std::string(kTypes[int(pair.to)]);
      continue;
    }
    result.known = true;
    if (mode >= 0 && mode < 7 && std::strchr(modes, kLetters[mode])) {
      result.run = pair.run;
      return result;
    }
    result.allowed.clear();
    for (const char* letter = modes; *letter; ++letter)
      result.allowed +=
          (result.allowed.empty() ? "" : ", ") + std::string(kRoundings[std::strchr(kLetters, *letter) - kLetters]);
    return result;
  }
  result.allowed = result.allowed.empty() ? "no conversion from this type" : "to " + result.allowed;
  return result;
}

}  // namespace ophook::rt
