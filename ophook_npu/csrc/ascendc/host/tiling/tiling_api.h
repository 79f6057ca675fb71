// In the place of the header of this name that operator projects include.
#pragma once

#include "../details/advanced_tiling.h"
#include "../details/hccl_tiling.h"
#include "../details/matmul_tiling.h"

namespace optiling {
using namespace std;  // tilings that include this write map and vector
}
