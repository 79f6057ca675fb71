// How an Ascend950 is to compute a function, as a kernel and its host side name it: rows of algorithms.inc and what has
// more than an algorithm. Without tensors, as the host side has none.
#pragma once
#if __cplusplus < 201703L
#pragma GCC system_header  // no warnings: projects of older releases compile their host side as C++11
#endif

#include <cstdint>
#include <type_traits>

namespace AscendC {

#define ALGORITHM(name, preset, float_alone, ...)    \
  enum class name##Algo{__VA_ARGS__};                \
  struct name##Config {                              \
    static constexpr uint32_t kOfFloat{float_alone}; \
    name##Algo algo = name##Algo(0);                 \
  };                                                 \
  inline constexpr name##Config preset{};
#include "algorithms.inc"
#undef ALGORITHM

constexpr uint32_t FMOD_ITERATION_NUM_MAX = 11;
enum class FmodAlgo { NORMAL = 0, ITERATION_COMPENSATION = 1 };
struct FmodConfig {
  static constexpr uint32_t kOfFloat = 0b10;
  FmodAlgo algo = FmodAlgo::NORMAL;
  uint32_t iterationNum = FMOD_ITERATION_NUM_MAX;
};
inline constexpr FmodConfig DEFAULT_FMOD_CONFIG{};

enum class TopKAlgo { RADIX_SELECT, MERGE_SORT };
enum class TopKOrder { UNSET, LARGEST, SMALLEST };
struct TopKConfig {
  TopKAlgo algo = TopKAlgo::MERGE_SORT;
  TopKOrder order = TopKOrder::UNSET;
  bool sorted = true;
};
inline constexpr TopKConfig defaultTopKConfig{};

enum class SortType { RADIX_SORT, MERGE_SORT };
struct SortConfig {
  SortType type = SortType::RADIX_SORT;
  bool isDescend = false, hasSrcIndex = false, hasDstIndex = false;
};
inline constexpr SortConfig DEFAULT_SORT_CONFIG{};

namespace algorithm_details {
// Whether the page has the algorithm for the data type.
template <typename T, typename Config>
constexpr bool takes(const Config& config) {
  return std::is_same<T, float>::value || !(Config::kOfFloat >> int(config.algo) & 1);
}
// Whether a product has configurations: another one takes none, not even the default by another name.
// That is told by its address, so a function has it by reference there; where it may be any, by value, which GCC 12
// needs for the constants of a class template (it ends in a fault of its own where overloads have references to them).
#if __NPU_ARCH__ == 3510
#define OPHOOK_CONFIG(type) type
#else
#define OPHOOK_CONFIG(type) const type&
#endif
constexpr bool configured(const void* config, const void* preset) {
#if __NPU_ARCH__ == 3510
  return true;
#else
  return config == preset;
#endif
}
}  // namespace algorithm_details

}  // namespace AscendC
