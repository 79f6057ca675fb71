// Models of Caffe as a graph.
#pragma once
#include <map>

#include "graph/ascend_string.h"
#include "graph/graph.h"

namespace ge {
GE_FUNC_HOST_VISIBILITY graphStatus aclgrphParseCaffe(const char_t* model_file, const char_t* weights_file,
                                                      const std::map<AscendString, AscendString>& parser_params,
                                                      Graph& graph);
}  // namespace ge
