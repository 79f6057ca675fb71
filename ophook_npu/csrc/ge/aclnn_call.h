// Runs a custom operator of a graph through its aclnn functions, as its package's op_api library exports them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiled.h"

namespace gesim {

// Whether a package registers the type's prototype and one exports aclnn<type>GetWorkspaceSize and aclnn<type>.
bool aclnn_exists(const std::string& type);

// Calls both phases on `stream`, with the arguments in the order that msopgen gives the functions: inputs, attributes,
// outputs. `workspace` returns device memory of that size, NULL where there is none. Returns "" or the reason.
std::string aclnn_launch(const Node& node, const std::vector<ge_tensor>& inputs, const std::vector<ge_tensor>& outputs,
                         void* stream, const std::function<void*(size_t)>& workspace);

}  // namespace gesim
