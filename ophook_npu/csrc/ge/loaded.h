// A graph that is ready to run: compiled, once for each gear where it has gears, with the memory that it runs in. A
// session has one for each of its graphs, and an offline model is one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "execute.h"
#include "gears.h"

namespace gesim {

struct Loaded {
  Gears gears;
  std::vector<std::shared_ptr<Compiled>> compiled;  // one by gear, or one
  Memory memory;
  std::shared_ptr<Compiled> uploaded;  // whose constants are in the memory for them

  // Each returns "" or the reason.
  std::string compile(const Graph& graph);
  // Takes the device memory that the caller did not give, uploads the constants where others are there, and launches.
  std::string run(const std::shared_ptr<Compiled>& one, void* stream, const std::vector<ge::Tensor>& inputs,
                  std::vector<ge::Tensor>& outputs);
  // The first half of it.
  std::string upload(const std::shared_ptr<Compiled>& one, void* stream);

  // The one that was compiled for these inputs; null and the reason where there is none.
  std::shared_ptr<Compiled> fitting(const std::vector<ge::Tensor>& inputs, std::string& problem) const;
  size_t const_size() const;
  size_t feature_size() const;
  // What is known of an output; with gears, in the one where it is largest.
  const ge_tensor& output(size_t index) const;
};

}  // namespace gesim
