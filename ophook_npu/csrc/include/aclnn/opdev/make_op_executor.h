#ifndef OPHOOK_ACLNN_OPDEV_MAKE_OP_EXECUTOR_H_
#define OPHOOK_ACLNN_OPDEV_MAKE_OP_EXECUTOR_H_
#include "ophook_opdev.h"
#endif
