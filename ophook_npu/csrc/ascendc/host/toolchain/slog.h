// Messages that the host code of operators writes by CANN's functions: errors and warnings, on standard error.
#pragma once

#include <stdarg.h>
#include <stdio.h>

enum { DLOG_DEBUG, DLOG_INFO, DLOG_WARN, DLOG_ERROR, DLOG_NULL, DLOG_EVENT = 16 };

// Whose message it is. Numbers are ours: nothing here reads them.
// clang-format off
enum {
  SLOG, IDEDD, IDEDH, HCCL, FMK, DVPP, RUNTIME, CCE, HDC, DRV, DEVMM, KERNEL, HCCP, TEFUSION, PROFILING, AICPU, TDT, FE,
  GE, ASCENDCL, PROCMGR, TBE, FV, TUNE, FFTS, OP, UDF, ATRACE
};
// clang-format on

static inline int CheckLogLevel(int module_id, int level) {
  (void)module_id;
  return level == DLOG_WARN || level == DLOG_ERROR;
}

static inline void DlogRecord(int module_id, int level, const char* format, ...) {
  if (!CheckLogLevel(module_id, level)) return;
  fputs(level == DLOG_ERROR ? "[ERROR] " : "[WARNING] ", stderr);
  va_list values;
  va_start(values, format);
  vfprintf(stderr, format, values);
  va_end(values);
  fputc('\n', stderr);
}

#define dlog_error(module, ...) DlogRecord(module, DLOG_ERROR, __VA_ARGS__)
#define dlog_warn(module, ...) DlogRecord(module, DLOG_WARN, __VA_ARGS__)
#define dlog_info(module, ...) DlogRecord(module, DLOG_INFO, __VA_ARGS__)
#define dlog_debug(module, ...) DlogRecord(module, DLOG_DEBUG, __VA_ARGS__)
#define dlog_event(module, ...) DlogRecord(module, DLOG_EVENT, __VA_ARGS__)
#define Dlog(module, level, ...) DlogRecord(module, level, __VA_ARGS__)
#define DlogSub(module, submodule, level, ...) ((void)(submodule), DlogRecord(module, level, __VA_ARGS__))
