// Lines of a report: JSON's quotes, and text that is written as a whole.
#pragma once

#include <string>

namespace sim {

std::string quoted(const std::string& text);
void write_all(int file, const std::string& text);
void append(const char* path, const std::string& text);  // nothing where the file cannot be written

}  // namespace sim
