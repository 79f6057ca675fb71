#ifndef OPHOOK_ACLNN_OPDEV_OBJECT_H_
#define OPHOOK_ACLNN_OPDEV_OBJECT_H_
#include "ophook_opdev.h"
#endif
