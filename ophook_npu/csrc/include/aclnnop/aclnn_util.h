// What headers of operators' own aclnn functions mark them with.
#ifndef OPHOOK_ACLNNOP_ACLNN_UTIL_H_
#define OPHOOK_ACLNNOP_ACLNN_UTIL_H_

#include "acl/acl_base.h"

#define ACLNN_API __attribute__((visibility("default")))

#endif
