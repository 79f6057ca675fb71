// What a graph puts onto its stream: kernels, texts and copies, each with what it keeps until it has run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiled.h"

namespace gesim {

using Keep = std::shared_ptr<const void>;

// A node with its tensors. `on_device`, by input: false where its value lies on the host, or was not given.
struct NodeTask {
  std::shared_ptr<Compiled> graph;
  int node;
  std::vector<ge_tensor> inputs = {}, outputs = {};
  std::vector<bool> on_device = {};
  std::vector<Keep> keep = {};
};
struct Copy {
  void* to;
  const void* from;
  size_t size;
  bool from_host = false;
};

// Each returns "" or the reason.
std::string launch_kernel(void* stream, NodeTask task);
std::string launch_print(void* stream, int device, NodeTask task);
// `where` is what a failure says first.
std::string launch_copy(void* stream, const char* name, std::string where, const Copy& copy, std::vector<Keep> keep);
std::string last_error();

}  // namespace gesim
