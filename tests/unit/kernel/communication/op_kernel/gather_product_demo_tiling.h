#pragma once

#include "kernel_tiling/kernel_tiling.h"

class GatherProductDemoTiling {
public:
    AscendC::tiling::Mc2InitTiling init;
    AscendC::tiling::Mc2CcTiling gather;
    TCubeTiling own, tile; // all rows of this rank, and those of one round
    int64_t rounds;
};
