// The wheel's header, and functions of CANN's that programs call which build graphs and convert models.
#pragma once
#include <cstdio>

#include "ge/ge_api_types.h"
#include "ge/ge_ir_build_model.h"
#include "ge/ge_ir_build_wheel.h"

namespace ge {
inline graphStatus aclgrphDumpGraph(const Graph&, const char*, const size_t) {
  std::fputs("[simulated Ascend] aclgrphDumpGraph: graphs are not written to files\n", stderr);
  return GRAPH_FAILED;
}
}  // namespace ge
