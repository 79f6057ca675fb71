// One of the headers of the runtime that sources of operators name.
#pragma once

#include "runtime/rt.h"
