// The older names of what base/err_msg.h has.
#pragma once

#include <string>
#include <vector>

#include "base/err_msg.h"

#define REPORT_INNER_ERROR(code, ...) REPORT_INNER_ERR_MSG(code, __VA_ARGS__)
#define REPORT_CALL_ERROR(code, ...) REPORT_INNER_ERR_MSG(code, __VA_ARGS__)
#define REPORT_ENV_ERROR(code, names, values) ophook_report_texts(code, names, values)
#define REPORT_INPUT_ERROR(code, names, values) ophook_report_texts(code, names, values)

inline void ophook_report_texts(const std::string& code, const std::vector<std::string>& names,
                                const std::vector<std::string>& values) {
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<const char*> found;
    for (const std::string& text : texts) found.push_back(text.c_str());
    return found;
  };
  ophook_report(code.c_str(), pointers(names), pointers(values));
}
