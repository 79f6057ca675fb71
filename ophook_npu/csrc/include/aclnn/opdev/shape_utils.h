#ifndef OPHOOK_ACLNN_OPDEV_SHAPE_UTILS_H_
#define OPHOOK_ACLNN_OPDEV_SHAPE_UTILS_H_
#include "ophook_opdev.h"
#endif
