// What every header of aclnn functions stands on: their result and its codes.
#ifndef OPHOOK_ACLNN_BASE_H_
#define OPHOOK_ACLNN_BASE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

typedef int32_t aclnnStatus;

#include "aclnn/acl_meta.h"

enum {
  ACLNN_SUCCESS = 0,
  ACLNN_ERR_PARAM_NULLPTR = 161001,
  ACLNN_ERR_PARAM_INVALID = 161002,
  ACLNN_ERR_RUNTIME_ERROR = 361001,
  ACLNN_ERR_INNER = 561000,
  ACLNN_ERR_INNER_INFERSHAPE_ERROR = 561001,
  ACLNN_ERR_INNER_TILING_ERROR = 561002,
  ACLNN_ERR_INNER_FIND_KERNEL_ERROR = 561003,
  ACLNN_ERR_INNER_CREATE_EXECUTOR = 561101,
  ACLNN_ERR_INNER_NOT_TRANS_EXECUTOR = 561102,
  ACLNN_ERR_INNER_NULLPTR = 561103
};

#ifdef __cplusplus
constexpr aclnnStatus OK = 0;

extern "C" {
#endif

aclnnStatus aclnnInit(const char* configPath);
aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif
#endif
