// One of the headers of the runtime that sources of operators name: AscendCL has what is simulated of it.
#pragma once

#include "acl/acl_rt.h"
#include "runtime/rt_ffts.h"
