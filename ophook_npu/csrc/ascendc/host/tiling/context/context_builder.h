// In the place of the header of this name that tests of operators include.
#pragma once

#include "../../details/tiling_tests.h"
