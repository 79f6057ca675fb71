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

#define OPHOOK_ACLNN_CODES(CODE)                            \
  CODE(ACLNN_SUCCESS, 0)                                    \
  CODE(ACLNN_ERR_PARAM_NULLPTR, 161001)                     \
  CODE(ACLNN_ERR_PARAM_INVALID, 161002)                     \
  CODE(ACLNN_ERR_RUNTIME_ERROR, 361001)                     \
  CODE(ACLNN_ERR_INNER, 561000)                             \
  CODE(ACLNN_ERR_INNER_INFERSHAPE_ERROR, 561001)            \
  CODE(ACLNN_ERR_INNER_TILING_ERROR, 561002)                \
  CODE(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, 561003)           \
  CODE(ACLNN_ERR_INNER_CREATE_EXECUTOR, 561101)             \
  CODE(ACLNN_ERR_INNER_NOT_TRANS_EXECUTOR, 561102)          \
  CODE(ACLNN_ERR_INNER_NULLPTR, 561103)                     \
  CODE(ACLNN_ERR_INNER_WRONG_ATTR_INFO_SIZE, 561104)        \
  CODE(ACLNN_ERR_INNER_KEY_CONFILICT, 561105)               \
  CODE(ACLNN_ERR_INNER_KEY_CONFLICT, 561105)                \
  CODE(ACLNN_ERR_INNER_INVALID_IMPL_MODE, 561106)           \
  CODE(ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND, 561107)          \
  CODE(ACLNN_ERR_INNER_LOAD_JSON_FAILED, 561108)            \
  CODE(ACLNN_ERR_INNER_JSON_VALUE_NOT_FOUND, 561109)        \
  CODE(ACLNN_ERR_INNER_JSON_FORMAT_INVALID, 561110)         \
  CODE(ACLNN_ERR_INNER_JSON_DTYPE_INVALID, 561111)          \
  CODE(ACLNN_ERR_INNER_OPP_KERNEL_PKG_NOT_FOUND, 561112)    \
  CODE(ACLNN_ERR_INNER_OP_FILE_INVALID, 561113)             \
  CODE(ACLNN_ERR_INNER_ATTR_NUM_OUT_OF_BOUND, 561114)       \
  CODE(ACLNN_ERR_INNER_ATTR_LEN_NOT_ENOUGH, 561115)         \
  CODE(ACLNN_ERR_INNER_INPUT_NUM_IN_JSON_TOO_LARGE, 561116) \
  CODE(ACLNN_ERR_INNER_INPUT_JSON_IS_NULL, 561117)          \
  CODE(ACLNN_ERR_INNER_STATIC_WORKSPACE_INVALID, 561118)    \
  CODE(ACLNN_ERR_INNER_STATIC_BLOCK_DIM_INVALID, 561119)
#ifdef __cplusplus  // numbers: C++ may take one for a truth value, which an enumerator warns of
#define OPHOOK_ACLNN_CODE(name, number) constexpr aclnnStatus name = number;
OPHOOK_ACLNN_CODES(OPHOOK_ACLNN_CODE)
#else
#define OPHOOK_ACLNN_CODE(name, number) name = number,
enum { OPHOOK_ACLNN_CODES(OPHOOK_ACLNN_CODE) };
#endif
#undef OPHOOK_ACLNN_CODE

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
