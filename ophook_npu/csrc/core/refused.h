// Functions that fail and name themselves, as rows: what they return, and which they are. The C ABI lets one
// parameterless body answer for any argument list, so what includes this includes no header that declares them.
#pragma once

#include <string_view>
#include <type_traits>

#include "core/sim.h"

namespace sim {

// What a function that returns no code gives.
enum Undefined : int {};  // an enumerator
template <typename T>
constexpr T kNothing{};
template <>
constexpr Undefined kNothing<Undefined>{-1};

// `product`: by CANN's pages only products of this name have it; on others it fails as it does there.
template <typename T>
T refused(const char* name, std::string_view product) {
  constexpr int kFeatureNotSupported = 207000;
  const sim_soc* soc = sim_current_soc();
  const int code = !soc || std::string_view(soc->name).starts_with(product)
                       ? sim_unimplemented(name)
                       : sim_fail(kFeatureNotSupported, "%s: %s does not have it", name, soc->name);
  if constexpr (std::is_same_v<T, int>) return code;
  else return (void)code, kNothing<T>;
}

}  // namespace sim

#define REFUSED_EACH(type, product, name, ...)                                  \
  extern "C" SIM_API type name() { return sim::refused<type>(#name, product); } \
  __VA_OPT__(REFUSED_AGAIN REFUSED_PARENTHESES(type, product, __VA_ARGS__))
#define REFUSED_PARENTHESES ()
#define REFUSED_AGAIN() REFUSED_EACH
#define REFUSED_16(...) REFUSED_4(REFUSED_4(REFUSED_4(REFUSED_4(__VA_ARGS__))))
#define REFUSED_4(...) REFUSED_1(REFUSED_1(REFUSED_1(REFUSED_1(__VA_ARGS__))))
#define REFUSED_1(...) __VA_ARGS__
#define REFUSED_ROW(...) REFUSED_16(REFUSED_16(REFUSED_16(REFUSED_16(REFUSED_EACH(__VA_ARGS__)))))

#define REFUSED(...) REFUSED_ROW(int, "", __VA_ARGS__)
#define REFUSED_POINTER(...) REFUSED_ROW(void*, "", __VA_ARGS__)
#define REFUSED_NUMBER(...) REFUSED_ROW(unsigned long, "", __VA_ARGS__)
#define REFUSED_UNDEFINED(...) REFUSED_ROW(sim::Undefined, "", __VA_ARGS__)
#define REFUSED_ELSEWHERE(product, ...) REFUSED_ROW(int, product, __VA_ARGS__)
#define REFUSED_POINTER_ELSEWHERE(product, ...) REFUSED_ROW(void*, product, __VA_ARGS__)
#define REFUSED_NUMBER_ELSEWHERE(product, ...) REFUSED_ROW(unsigned long, product, __VA_ARGS__)
