#ifndef OPHOOK_ACLNN_OPDEV_OP_DFX_H_
#define OPHOOK_ACLNN_OPDEV_OP_DFX_H_
#include "ophook_opdev.h"
#endif
