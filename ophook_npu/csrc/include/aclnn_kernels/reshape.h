#ifndef OPHOOK_ACLNN_KERNELS_RESHAPE_H_
#define OPHOOK_ACLNN_KERNELS_RESHAPE_H_
#include "ophook_l0.h"
#endif
