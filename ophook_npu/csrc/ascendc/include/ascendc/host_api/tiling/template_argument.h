// Tiling keys by template, as the kernel sees them: the build writes one call of the kernel's template for each
// selection, from what the host side registered. Here are only the numbers that both sides name.
#pragma once

#include "../../template_numbers.h"

#define ASCENDC_TPL_ARGS_DECL(...) static_assert(true)
#define ASCENDC_TPL_SEL(...) static_assert(true)
#ifndef ASCENDC_TPL_AIV_ONLY  // the host's header has them as macros, and a source may include both
// What a parameter for the kind of cores is compared with.
enum : uint8_t {
  ASCENDC_TPL_AIV_ONLY,
  ASCENDC_TPL_AIC_ONLY,
  ASCENDC_TPL_MIX_AIV_1_0,
  ASCENDC_TPL_MIX_AIC_1_0,
  ASCENDC_TPL_MIX_AIC_1_1,
  ASCENDC_TPL_MIX_AIC_1_2
};
#endif
