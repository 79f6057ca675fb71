// What toolchain/slog.h holds, for programs that declare it themselves and link libascendalog.
#include <cstdio>

#define CheckLogLevel ophook_check_level
#define DlogRecord ophook_record
#include "ascendc/host/toolchain/slog.h"
#undef CheckLogLevel
#undef DlogRecord

#define OPHOOK_EXPORTED extern "C" __attribute__((visibility("default")))

OPHOOK_EXPORTED int CheckLogLevel(int module_id, int level) { return ophook_check_level(module_id, level); }

OPHOOK_EXPORTED void DlogRecord(int module_id, int level, const char* format, ...) {
  char message[1024];  // a line of CANN's log has as many
  va_list values;
  va_start(values, format);
  vsnprintf(message, sizeof message, format, values);
  va_end(values);
  ophook_record(module_id, level, "%s", message);
}

OPHOOK_EXPORTED void DlogFlush() { std::fflush(stderr); }
