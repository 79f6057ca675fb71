// Who called: the Python frames of the calling thread, or the C++ ones where there is no Python in the process.
#pragma once

#include <string>
#include <vector>

namespace sim::order {

struct Caller {
  std::vector<int> frames;  // the innermost first; each a place that was seen before, or is new
};

// With nothing locked that another thread wants while it holds Python's lock.
Caller whoever_calls();
// "file.py:12 function": those of the program first, where there are any; three at most.
std::vector<std::string> shown(const Caller& caller);

}  // namespace sim::order
