#pragma once
#include <cstdint>

struct Scaling {
  uint32_t count;
  float factor;
};
