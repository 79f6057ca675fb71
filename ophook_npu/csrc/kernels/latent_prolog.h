// What goes before latent attention: queries and keys out of tokens, by products with low rank between, the keys into
// their caches. Weights and tokens may be whole numbers with scales, and so may what comes out.
#pragma once

#include <string>

#include "kernels/tensors.h"

namespace sim::latent_prolog {

struct Inputs {
  const at::Tensor& x;                                // (…, width)
  const at::Tensor &down, &up, &absorbed, &key_down;  // (width, rank), (rank, heads * (depth + rope)), (heads, depth,
                                                      // key rank), (width, key rank + rope)
  const at::Tensor &gamma, &key_gamma, &sin, &cos, &index;
  const at::Tensor &key_cache, &rope_cache;
  const at::Tensor &x_scale, &down_scale, &up_scale, &key_down_scale;  // where the product is of whole numbers
  const at::Tensor &key_scale, &rope_scale;                            // where a cache holds them
  const at::Tensor& smooth;                                            // undefined: 1
};
struct Settings {
  double eps, key_eps;
  const std::string& mode;  // PA_BSND, PA_NZ
  double query_factor = 1, key_factor = 1;
};
struct Outputs {
  const at::Tensor &query, &rope, &query_scale;
  at::Tensor normal{}, normal_scale{};  // what goes up again; undefined: not asked
  int64_t unused = 1;                   // elements of a scale that is not asked
};
void check(const Inputs& in, const Settings& how, const Outputs& out);
void run(const Inputs& in, const Settings& how, const Outputs& out);

// Settings of the third form that choose among the above, which the tensors' types tell already, and others.
void check_modes(int64_t weights, int64_t keys, int64_t queries, int64_t together, int64_t scales);

}  // namespace sim::latent_prolog
