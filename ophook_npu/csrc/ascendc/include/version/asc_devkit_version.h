// The release of Ascend C that kernels ask for: that of the default CANN (sim/variables.py).
#pragma once

#define ASC_DEVKIT_MAJOR 8
#define ASC_DEVKIT_MINOR 5
#define ASC_DEVKIT_PATCH 0
#define ASC_DEVKIT_VERSION_NUM 80500000
