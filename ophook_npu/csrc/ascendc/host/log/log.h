// Messages of the host side, on standard error.
#pragma once

#include <cstdio>

#define OPHOOK_LOG(level, operator_name, format, ...) std::fprintf(stderr, "[%s] " format "\n", level, ##__VA_ARGS__)
#define OP_LOGE(name, format, ...) OPHOOK_LOG("ERROR", name, format, ##__VA_ARGS__)
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
