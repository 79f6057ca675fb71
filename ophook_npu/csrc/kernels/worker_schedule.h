// Attention and feed-forward workers that exchange tokens: what one finds in the context that describes both, a record
// in device memory whose buffers are named by their addresses.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// The sum of what the experts gave for each token, (tokens, chosen + 1, hidden) of the context's micro batch, each
// times its scale (tokens, chosen), and of the shared expert's, which is the last.
void combined_like(const at::Tensor& context, const at::Tensor& scales, const at::Tensor& layer, int64_t hidden,
                   int64_t schedule, const at::Tensor& out, const at::Tensor& next);
void combine(const at::Tensor& context, const at::Tensor& scales, const at::Tensor& layer, const at::Tensor& out,
             const at::Tensor& next);

}  // namespace sim::kernels
