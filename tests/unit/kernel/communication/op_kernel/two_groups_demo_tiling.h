#pragma once

#include "kernel_tiling/kernel_tiling.h"

class TwoGroupsDemoTiling {
public:
    AscendC::tiling::Mc2InitTiling init;
    AscendC::tiling::Mc2CcTiling exchange, gather;
    int64_t length;
};
