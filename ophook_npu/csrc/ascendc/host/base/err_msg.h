// Errors that CANN's own operators report by a code, for which a table of CANN's has words. They are left out here: the
// code, and names with their values.
#pragma once

#include <cstdio>
#include <vector>

#define REPORT_INNER_ERR_MSG(code, format, ...) std::fprintf(stderr, "[ERROR] %s: " format "\n", code, ##__VA_ARGS__)
#define REPORT_PREDEFINED_ERR_MSG(code, names, values) ophook_report(code, names, values)
// Words for codes of a library of the project's own: left out as well.
#define REG_FORMAT_ERROR_MSG(text, size) [[maybe_unused]] static const bool ophook_error_words = ((text), (size), true)

inline void ophook_report(const char* code, const std::vector<const char*>& names,
                          const std::vector<const char*>& values) {
  std::fprintf(stderr, "[ERROR] %s\n", code);
  for (size_t i = 0; i < names.size() && i < values.size(); ++i)
    std::fprintf(stderr, "  %s: %s\n", names[i], values[i]);
}
