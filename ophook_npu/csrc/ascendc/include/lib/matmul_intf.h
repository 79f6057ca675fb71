// In the place of the header of this name that kernels include.
#pragma once

#include "../ascendc/matmul.h"
