#ifndef OPHOOK_ACLNN_KERNELS_CAST_H_
#define OPHOOK_ACLNN_KERNELS_CAST_H_
#include "ophook_l0.h"
#endif
