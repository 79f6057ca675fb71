#ifndef OPHOOK_ACLNN_OPDEV_FORMAT_UTILS_H_
#define OPHOOK_ACLNN_OPDEV_FORMAT_UTILS_H_
#include "ophook_opdev.h"
#endif
