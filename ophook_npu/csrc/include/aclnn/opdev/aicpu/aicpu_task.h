#ifndef OPHOOK_ACLNN_OPDEV_AICPU_TASK_H_
#define OPHOOK_ACLNN_OPDEV_AICPU_TASK_H_
#include "../ophook_opdev.h"
#endif
