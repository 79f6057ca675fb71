// Models of ONNX as a graph.
#pragma once
#include <map>

#include "graph/ascend_string.h"
#include "graph/graph.h"

namespace ge {
GE_FUNC_HOST_VISIBILITY graphStatus aclgrphParseONNX(const char_t* model_file,
                                                     const std::map<AscendString, AscendString>& parser_params,
                                                     Graph& graph);
GE_FUNC_HOST_VISIBILITY graphStatus aclgrphParseONNXFromMem(const char_t* buffer, size_t size,
                                                            const std::map<AscendString, AscendString>& parser_params,
                                                            Graph& graph);
}  // namespace ge
