// What the porting report asks around one operator: which functions of this library the thread called, and what the
// rules of each product refuse of their arguments. A thread watches itself; others do not see it.
#pragma once

#include <string>

namespace sim::aclnn {

bool watching();
void watched(const std::string& line);

}  // namespace sim::aclnn
