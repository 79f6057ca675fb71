// Lines that an AI CPU kernel writes into CANN's log.
#pragma once

#include "cpu_context.h"

namespace aicpu {

class AICPU_VISIBILITY CustCpuKernelUtils {
 public:
#define OPHOOK_AICPU_LOG(name) \
  static void name(const CpuKernelContext& ctx, const char* fmt, ...) __attribute__((format(printf, 2, 3)));
  OPHOOK_AICPU_LOG(CustLogDebug)
  OPHOOK_AICPU_LOG(CustLogInfo)
  OPHOOK_AICPU_LOG(CustLogWarning)
  OPHOOK_AICPU_LOG(CustLogError)
#undef OPHOOK_AICPU_LOG
};

}  // namespace aicpu

#define OPHOOK_AICPU_LINE(name, ctx, fmt, ...) \
  aicpu::CustCpuKernelUtils::name(ctx, "[%s:%d] " fmt, __FILE__, __LINE__, ##__VA_ARGS__)
#define CUST_KERNEL_LOG_DEBUG(ctx, fmt, ...) OPHOOK_AICPU_LINE(CustLogDebug, ctx, fmt, ##__VA_ARGS__)
#define CUST_KERNEL_LOG_INFO(ctx, fmt, ...) OPHOOK_AICPU_LINE(CustLogInfo, ctx, fmt, ##__VA_ARGS__)
#define CUST_KERNEL_LOG_WARNING(ctx, fmt, ...) OPHOOK_AICPU_LINE(CustLogWarning, ctx, fmt, ##__VA_ARGS__)
#define CUST_KERNEL_LOG_ERROR(ctx, fmt, ...) OPHOOK_AICPU_LINE(CustLogError, ctx, fmt, ##__VA_ARGS__)
