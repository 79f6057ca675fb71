// In the place of the header of this name that kernels include.
#pragma once

#if defined(__CCE_AICORE__) && __CCE_AICORE__ == 310
#error "matrix products of Ascend950 (dav-3510) are not simulated: its cube unit has other layouts in L0A and L0B"
#endif
#include "../ascendc/matmul.h"
