#ifndef OPHOOK_ACLNN_KERNELS_TRANSDATA_H_
#define OPHOOK_ACLNN_KERNELS_TRANSDATA_H_
#include "ophook_l0.h"
#endif
