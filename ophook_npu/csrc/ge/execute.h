// Execution of a compiled graph: every node is launched on the caller's stream, nothing is waited for, except where a
// shape depends on values that only the device has.
#pragma once

#include <map>
#include <memory>
#include <mutex>
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

// What graphs of a session share, by name. There is memory for one when the first graph with it runs, and what is in it
// then is what aclrtMalloc leaves there: a graph of the program's assigns the first value.
class Variables {
 public:
  struct Variable {
    ge_tensor tensor;  // `data` on the device
    std::shared_ptr<const void> owner;
  };
  // Returns "" or why it is none.
  std::string find(const std::string& name, const ge_tensor& wanted, Variable& out);
  bool get(const std::string& name, Variable& out) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Variable> all_;
};

struct Memory {
  Region constants, features;
  std::shared_ptr<Variables> variables;      // of the session; an offline model has none
  std::shared_ptr<ge::Allocator> allocator;  // of the stream; the simulated device's own where NULL
};

// Uploads the constants to `memory.constants`, on the stream. Returns "" or the reason.
std::string upload_constants(const std::shared_ptr<Compiled>& graph, void* stream, const Memory& memory);

// Launches the graph. Outputs without data get memory of the allocator. Returns "" or the reason.
std::string execute(const std::shared_ptr<Compiled>& graph, void* stream, const Memory& memory,
                    const std::vector<ge::Tensor>& inputs, std::vector<ge::Tensor>& outputs);

}  // namespace gesim
