// The wheel's header, and a function of CANN's that programs built of operators call.
#pragma once
#include <cstdio>

#include "ge/ge_ir_build_wheel.h"
#include "graph/graph.h"

namespace ge {
inline graphStatus aclgrphDumpGraph(const Graph&, const char*, const size_t) {
  std::fputs("[simulated Ascend] aclgrphDumpGraph: graphs are not written to files\n", stderr);
  return GRAPH_FAILED;
}
}  // namespace ge
