#ifndef OPHOOK_ACLNN_OPDEV_COMMON_TYPES_H_
#define OPHOOK_ACLNN_OPDEV_COMMON_TYPES_H_
#include "ophook_opdev.h"
#endif
