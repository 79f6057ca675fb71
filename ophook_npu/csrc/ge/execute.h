// Execution of a compiled graph: every node is launched on the caller's stream, nothing is waited for, except where a
// shape depends on values that only the device has.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiled.h"
#include "session.h"

namespace gesim {

// Device memory for a graph; size 0 where there is none. What the engine took itself it also gives back, and not before
// the kernels that are queued have run: `owner` travels with them.
struct Region {
  void* base = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> owner;
};

struct Memory {
  Region constants, features;
  std::shared_ptr<ge::Allocator> allocator;  // of the stream; the simulated device's own where NULL
};

// Uploads the constants to `memory.constants`, on the stream. Returns "" or the reason.
std::string upload_constants(const std::shared_ptr<Compiled>& graph, void* stream, const Memory& memory);

// Launches the graph. Outputs without data get memory of the allocator. Returns "" or the reason.
std::string execute(const std::shared_ptr<Compiled>& graph, void* stream, const Memory& memory,
                    const std::vector<ge::Tensor>& inputs, std::vector<ge::Tensor>& outputs);

}  // namespace gesim
