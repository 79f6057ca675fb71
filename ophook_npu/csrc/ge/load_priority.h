// The packages that the text of a vendors/config.ini lists, most important first. The rules are those of
// ophook_npu/npu/vendors.py, which says them in words; tests/unit/npu/test_load_priority.py holds both to one table.
#pragma once

#include <algorithm>
#include <istream>
#include <sstream>
#include <string>
#include <vector>

namespace gesim {

struct LoadPriority {
  std::vector<std::string> names;
  std::vector<std::string> refused;  // what is not the name of a folder in vendors
};

inline bool is_folder_name(const std::string& name) {
  if (name == "." || name == "..") return false;
  return std::none_of(name.begin(), name.end(),
                      [](unsigned char c) { return c <= ' ' || c == 0x7f || c == '/' || c == '\\'; });
}

inline LoadPriority load_priority(std::istream& text) {
  const std::string key = "load_priority=", blanks = " \t\r";
  LoadPriority out;
  for (std::string line; std::getline(text, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    std::istringstream entries(line.substr(key.size()));
    for (std::string entry; std::getline(entries, entry, ',');) {
      size_t first = entry.find_first_not_of(blanks);
      if (first == std::string::npos) continue;
      std::string name = entry.substr(first, entry.find_last_not_of(blanks) + 1 - first);
      std::vector<std::string>& found = is_folder_name(name) ? out.names : out.refused;
      if (std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
    }
    break;
  }
  return out;
}

}  // namespace gesim
