// What the host tells the kernel. Mc2InitTiling comes first.
#pragma once

#include "kernel_tiling/kernel_tiling.h"

struct GroupDemoSizes {
    int64_t mode, length, tiles, blocks;
};

class GroupDemoTiling {
public:
    AscendC::tiling::Mc2InitTiling init;
    AscendC::tiling::Mc2CcTiling first, second;
    GroupDemoSizes sizes;
};
