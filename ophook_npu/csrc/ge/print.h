// StringFormat and PrintV2, the two operators that torchair.ops.npu_print makes. The engine has no tensors of strings:
// the text is made where StringFormat stands in the graph, and goes to the host from there.
#pragma once

#include <string>
#include <vector>

#include "ir.h"
#include "kernels.h"

namespace gesim {

// The prototype of an operator that the engine runs itself, in the table's form; null where it has none of this type.
const char* engine_proto(const std::string& type);

bool makes_text(const Node& node);
bool prints_text(const Node& node);

// Why such nodes cannot stand in a graph as they do; empty if they can. Texts can be printed, and nothing else.
std::string check_texts(const Graph& graph, int node);

// What StringFormat makes of these values, which lie where the host reads them.
std::string format_text(const Node& node, const std::vector<ge_tensor>& values);

}  // namespace gesim
