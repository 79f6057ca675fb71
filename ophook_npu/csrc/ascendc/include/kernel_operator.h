// Ascend C for the CPU: what an operator's kernel includes. Written from the vendor's public documentation of the
// interface. A call that is not here does not compile, and the compiler names it.
#pragma once

#include "ascendc/advanced.h"
#include "ascendc/copy.h"
#include "ascendc/enums.h"
#include "ascendc/hccl.h"
#include "ascendc/layout.h"
#include "ascendc/math.h"
#include "ascendc/normalize.h"
#include "ascendc/pipe.h"
#include "ascendc/quantize.h"
#include "ascendc/reduce.h"
#include "ascendc/scalar.h"
#include "ascendc/softmax.h"
#include "ascendc/sort.h"
#include "ascendc/std.h"
#include "ascendc/sync.h"
#include "ascendc/tensor.h"
#include "ascendc/tiling.h"
#include "ascendc/transpose.h"
#include "ascendc/types.h"
#include "ascendc/vector.h"
#include "ascendc/whole_functions.h"
#ifdef ASCENDC_CPU_DEBUG  // kernels print by it without its header
#include <iostream>
#endif
#if __NPU_ARCH__ == 3510  // its cube unit has other layouts in L0A and L0B, and is not simulated
#include "ascendc/copy_dimensions.h"
#include "ascendc/elementwise.h"
#include "ascendc/limits.h"
#include "ascendc/reg_older.h"
#include "ascendc/simt_older.h"
#else
#include "ascendc/aipp.h"
#include "ascendc/cube.h"
#include "ascendc/cube_groups.h"
#endif
#if __NPU_ARCH__ == 2201
#include "ascendc/cce.h"
#endif
