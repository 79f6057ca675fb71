#pragma once
#include <cstdint>

struct Tiling {
  uint64_t ready;
  uint32_t each;
};
struct Arguments {
  uint32_t total, blocks;
  Tiling* tiling;
  int fault;
};
