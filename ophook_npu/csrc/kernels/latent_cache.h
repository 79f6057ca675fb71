// What latent attention keeps of each token: a part that is normalized and a part that carries its position, in caches
// of rows or of pages, also quantized; and rotary embedding by a table of positions.
#pragma once

#include <string>

#include "kernels/tensors.h"

namespace sim::latent_cache {

struct Tokens {
  const at::Tensor &kv, &gamma, &cos, &sin, &index;  // kv (sequences, 1, tokens, both parts)
};
struct Caches {
  const at::Tensor &rope, &normal;
  const at::Tensor &rope_scale, &normal_scale, &rope_offset, &normal_offset;  // undefined: as they are
};
void cached_like(const Tokens& tokens, const Caches& caches, const std::string& mode);
// Writes both caches; the parts before they were quantized: with its position, normalized.
Tensors cache(const Tokens& tokens, const Caches& caches, double eps, const std::string& mode);

// x (tokens, heads * depth); cos_sin (positions, cosines and then sines of half the rotated numbers each). With
// positions (3, tokens) the sections of the angles have one of the three each.
void rotated_like(const at::Tensor& positions, const at::Tensor& x, const at::Tensor& cos_sin, const Dims& sections,
                  int64_t depth, const at::Tensor& out);
at::Tensor rotated(const at::Tensor& positions, const at::Tensor& x, const at::Tensor& cos_sin, const Dims& sections,
                   int64_t depth, bool halves);

}  // namespace sim::latent_cache
