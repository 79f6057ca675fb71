#ifndef OPHOOK_ACLNN_OPDEV_POOL_ALLOCATOR_H_
#define OPHOOK_ACLNN_OPDEV_POOL_ALLOCATOR_H_
#include "ophook_opdev.h"
#endif
