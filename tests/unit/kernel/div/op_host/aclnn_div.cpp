// An aclnn function of the project's own, which is no part of the host side that is compiled here.
#include "opdev/op_log.h"
