// Messages of the host side, on standard error.
#pragma once

#include <cstdio>

#include "../base/err_msg.h"
#include "../toolchain/slog.h"

// Operators' host code has these two from here.
#ifndef likely
#define likely(x) __builtin_expect((x), 1)
#define unlikely(x) __builtin_expect((x), 0)
#endif

#define OPHOOK_LOG(level, operator_name, format, ...) std::fprintf(stderr, "[%s] " format "\n", level, ##__VA_ARGS__)
#define OP_LOGE(name, format, ...) OPHOOK_LOG("ERROR", name, format, ##__VA_ARGS__)
#define OP_LOGE_WITHOUT_REPORT OP_LOGE
#define OpLogSub(module, level, operator_name, ...) \
  (static_cast<void>(operator_name), DlogRecord(module, level, __VA_ARGS__))
#define OP_LOGW(name, format, ...) OPHOOK_LOG("WARNING", name, format, ##__VA_ARGS__)
#define OP_LOGI(name, ...) static_cast<void>(name)
#define OP_LOGD(name, ...) static_cast<void>(name)
#define OP_CHECK_NULL_WITH_CONTEXT(context, pointer) \
  if ((pointer) == nullptr) {                        \
    OP_LOGE(context, #pointer " is null");           \
    return ge::GRAPH_FAILED;                         \
  }
#define OP_CHECK_IF(condition, log, result) \
  if (condition) {                          \
    log;                                    \
    result;                                 \
  }
