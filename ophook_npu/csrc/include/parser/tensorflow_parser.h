// Models of TensorFlow as a graph.
#pragma once
#include <map>

#include "graph/ascend_string.h"
#include "graph/graph.h"

namespace ge {
// Refused: models of TensorFlow are not simulated.
GE_FUNC_HOST_VISIBILITY graphStatus aclgrphParseTensorFlow(const char_t* model_file,
                                                           const std::map<AscendString, AscendString>& parser_params,
                                                           Graph& graph);
}  // namespace ge
