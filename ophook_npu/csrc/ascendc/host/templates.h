// What the library's C interface asks of its tiling keys by template.
#pragma once

#include <cstdint>
#include <string>

namespace ophook::host {
bool only_operator();  // the library registers one
// "" or why the key that the last tiling function set is none.
void forget_template_error();
std::string template_error(const std::string& op, uint64_t key);
// JSON: the operator's template arguments, and every key with their values; "{}" where it has none.
std::string templates_of(const std::string& op);
}  // namespace ophook::host
