// Runs a custom operator of a graph by its AI CPU kernel, as its package has it: op_impl/cpu/config/*.json tells the
// library, op_impl/cpu/aicpu_kernel/impl holds it (csrc/aicpu).
#pragma once

#include <string>
#include <vector>

#include "compiled.h"

namespace gesim {

// Whether a package's configuration has the type.
bool aicpu_exists(const std::string& type);

// Whether its kernel tells the shapes of its outputs (opInfo.subTypeOfInferShape=3).
bool aicpu_tells_shapes(const std::string& type);

// Puts the kernel on `stream`, all tensors in device memory. A kernel that tells shapes is waited for, and
// they are written into `outputs`; `failed` gets the code of what the stream failed with. Returns "" or the reason.
std::string aicpu_launch(const Node& node, const std::vector<ge_tensor>& inputs, std::vector<ge_tensor>& outputs,
                         void* stream, int* failed = nullptr);

}  // namespace gesim
