// What aclInit and aclFinalize have to do with dumps of operators.
#pragma once

#include <string>

namespace sim::acl::dumps {

int as_told(const std::string& settings);  // by aclInit's file, which need not speak of dumps
void end();

}  // namespace sim::acl::dumps
