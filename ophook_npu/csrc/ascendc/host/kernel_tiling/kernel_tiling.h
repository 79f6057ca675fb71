// In the place of the header of this name: structures that host and kernel share.
#pragma once

#include "../../include/kernel_tiling/kernel_tiling.h"
