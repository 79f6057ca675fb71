#pragma once
#include <cstdint>
struct ScaleTemplateTilingData {
  uint32_t length;
};
