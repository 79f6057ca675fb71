// Tiling keys by template, as the kernel sees them: the build writes one call of the kernel's template for each
// selection, from what the host side registered. Here are only the numbers that both sides name.
#pragma once

#include "../../template_numbers.h"

#define ASCENDC_TPL_ARGS_DECL(...) static_assert(true)
#define ASCENDC_TPL_SEL(...) static_assert(true)
