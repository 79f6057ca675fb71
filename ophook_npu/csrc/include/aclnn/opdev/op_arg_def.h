#ifndef OPHOOK_ACLNN_OPDEV_OP_ARG_DEF_H_
#define OPHOOK_ACLNN_OPDEV_OP_ARG_DEF_H_
#include "ophook_opdev.h"
#endif
