#ifndef OPHOOK_ACLNN_KERNELS_PAD_H_
#define OPHOOK_ACLNN_KERNELS_PAD_H_
#include "ophook_l0.h"
#endif
