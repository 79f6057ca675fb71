#ifndef OPHOOK_ACLNN_OPDEV_FRAMEWORK_OP_H_
#define OPHOOK_ACLNN_OPDEV_FRAMEWORK_OP_H_
#include "ophook_opdev.h"
#endif
