// In the place of the header of this name that operator projects include.
#pragma once

#include "../details/npu_arch.h"
