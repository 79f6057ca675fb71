// Compiling Ascend C while a program runs (libacl_rtc), by the pages of that interface.
#ifndef OPHOOK_ACL_RT_COMPILE_H_
#define OPHOOK_ACL_RT_COMPILE_H_

#include <stddef.h>

#include "acl/acl_base.h"

static const int ACL_ERROR_RTC_INVALID_PROG = 176000;
static const int ACL_ERROR_RTC_INVALID_INPUT = 176001;
static const int ACL_ERROR_RTC_INVALID_OPTION = 176002;
static const int ACL_ERROR_RTC_COMPILATION = 176003;
static const int ACL_ERROR_RTC_LINKING = 176004;
static const int ACL_ERROR_RTC_NO_NAME_EXPR_AFTER_COMPILATION = 176005;
static const int ACL_ERROR_RTC_NO_LOWERED_NAMES_BEFORE_COMPILATION = 176006;
static const int ACL_ERROR_RTC_NAME_EXPR_NOT_VALID = 176007;
static const int ACL_ERROR_RTC_PROG_CREATION_FAILURE = 276000;
static const int ACL_ERROR_RTC_OUT_OF_MEMORY = 276001;
static const int ACL_ERROR_RTC_FAILURE = 576000;

#ifdef __cplusplus
extern "C" {
#endif

typedef void* aclrtcProg;

ACL_FUNC_VISIBILITY aclError aclrtcCreateProg(aclrtcProg* prog, const char* src, const char* name, int numHeaders,
                                              const char** headers, const char** includeNames);
ACL_FUNC_VISIBILITY aclError aclrtcDestroyProg(aclrtcProg* prog);
ACL_FUNC_VISIBILITY aclError aclrtcAddNameExpr(aclrtcProg prog, const char* const nameExpression);
ACL_FUNC_VISIBILITY aclError aclrtcCompileProg(aclrtcProg prog, int numOptions, const char** options);
ACL_FUNC_VISIBILITY aclError aclrtcGetLoweredName(aclrtcProg prog, const char* nameExpression, const char** loweredName);
ACL_FUNC_VISIBILITY aclError aclrtcGetBinDataSize(aclrtcProg prog, size_t* binDataSizeRet);
ACL_FUNC_VISIBILITY aclError aclrtcGetBinData(aclrtcProg prog, char* binData);
ACL_FUNC_VISIBILITY aclError aclrtcGetCompileLogSize(aclrtcProg prog, size_t* logSizeRet);
ACL_FUNC_VISIBILITY aclError aclrtcGetCompileLog(aclrtcProg prog, char* log);

#ifdef __cplusplus
}
#endif

#endif
