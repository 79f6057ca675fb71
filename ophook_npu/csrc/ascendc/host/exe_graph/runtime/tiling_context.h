// In the place of the header of this name that operator projects include.
#pragma once

#include "../../../../include/securec.h"  // tilings call memset_s and include nothing for it
#include "../../details/contexts.h"
