// What aclInit and aclFinalize have to do with dumps of operators.
#pragma once

#include <string>

namespace sim::acl {

int dump_as_told(const std::string& settings);  // by aclInit's file, which need not speak of dumps
void end_dump();

}  // namespace sim::acl
