// Lines of a report: JSON's quotes, and text that is written as a whole.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace sim {

inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    char control[8];
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= ' ') out += c;
    else out.append(control, size_t(snprintf(control, sizeof control, "\\u%04x", unsigned(c))));
  }
  return out + '"';
}
void write_all(int file, const std::string& text);
void append(const char* path, const std::string& text);  // nothing where the file cannot be written

}  // namespace sim
