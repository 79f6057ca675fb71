// What a kernel includes for clock(): here it is the host's.
#pragma once

#include <ctime>

#include "../../kernel_operator.h"
