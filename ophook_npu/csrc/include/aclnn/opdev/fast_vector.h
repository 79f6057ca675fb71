#ifndef OPHOOK_ACLNN_OPDEV_FAST_VECTOR_H_
#define OPHOOK_ACLNN_OPDEV_FAST_VECTOR_H_
#include "ophook_opdev.h"
#endif
