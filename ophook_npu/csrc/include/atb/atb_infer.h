// All of the simulated ATB.
#ifndef OPHOOK_ATB_ATB_INFER_H_
#define OPHOOK_ATB_ATB_INFER_H_

#include "context.h"
#include "infer_op_params.h"
#include "operation.h"
#include "svector.h"
#include "types.h"
#include "utils.h"

#endif
