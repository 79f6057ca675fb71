// Messages of a tiling function, by the page of ASC_CPU_LOG: with their place, as CANN's log has them. On standard
// error, like the other messages of host code.
#pragma once

#include "slog.h"

#define OPHOOK_CPU_LOG(level, format, ...) \
  DlogRecord(OP, level, "[%s:%d][%s] " format, __FILE__, __LINE__, __func__, ##__VA_ARGS__)
#define ASC_CPU_LOG_ERROR(format, ...) OPHOOK_CPU_LOG(DLOG_ERROR, format, ##__VA_ARGS__)
#define ASC_CPU_LOG_WARNING(format, ...) OPHOOK_CPU_LOG(DLOG_WARN, format, ##__VA_ARGS__)
#define ASC_CPU_LOG_INFO(format, ...) OPHOOK_CPU_LOG(DLOG_INFO, format, ##__VA_ARGS__)
#define ASC_CPU_LOG_DEBUG(format, ...) OPHOOK_CPU_LOG(DLOG_DEBUG, format, ##__VA_ARGS__)
