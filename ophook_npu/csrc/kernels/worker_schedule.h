// Attention and feed-forward workers that exchange tokens through windows, memory of each that others write. What a
// worker finds there is told by a context, a record in device memory whose buffers are named by their addresses.
#pragma once

#include <chrono>

#include "kernels/devices.h"

namespace sim::kernels {

// As long as a task waits for what another device has to do; then it fails.
using Patience = std::chrono::seconds;
void context_like(const at::Tensor& context);

// ---- waiting for what others write ---------------------------------------------------------------------------------
// Both end early, and change nothing, where the context's run flag is or becomes 0.
// Until the experts' results for all tokens of the next micro batch are there; it is then the context's.
void await_results(const at::Tensor& context, Patience patience);
// Until all sessions' tokens of the micro batch whose turn it is are there. The context's lists then have a session
// each, and its turn is the next micro batch's.
void await_tokens(const at::Tensor& context, int64_t group_size, Patience patience);

// ---- what came -----------------------------------------------------------------------------------------------------
// The sum of what the experts gave for each token, (tokens, chosen + 1, hidden) of the context's micro batch, each
// times its scale (tokens, chosen), and of the shared expert's, which is the last.
void combined_like(const at::Tensor& context, const at::Tensor& scales, const at::Tensor& layer, int64_t hidden,
                   int64_t schedule, const at::Tensor& out, const at::Tensor& next);
void combine(const at::Tensor& context, const at::Tensor& scales, const at::Tensor& layer, const at::Tensor& out,
             const at::Tensor& next);

// The tokens of all sessions in the order of their experts, and where each came from. Behind the last of them the
// outputs keep what they had: the page does not say what a device leaves there.
struct Batch {
  const at::Tensor &rows, &groups;  // groups: each expert that has tokens, and how many
  const at::Tensor &sessions, &micro_batches, &tokens, &choices;
  const at::Tensor &scale, &count;
};
void batch_like(const at::Tensor& context, int64_t experts, const Dims& most, int64_t dtype, int64_t schedule,
                int64_t layers, const Batch& out);
void batch(const at::Tensor& context, bool schedule, Patience patience, const Batch& out);

// ---- writing into others' windows ----------------------------------------------------------------------------------
// Windows begin with a table of int32, and go on with tokens at the next multiple of 512 bytes. That of a feed-forward
// worker has for each attention worker and micro batch a flag, the layer and the experts' numbers; that of an attention
// worker a flag for each result.
struct Outgoing {
  const at::Tensor &x, &session, &micro_batch, &layer;
  const at::Tensor& experts;  // of each token
  const at::Tensor& places;   // of each expert: how many copies it has, and device and number of each
  const at::Tensor &scales, &active;
};
struct Tables {
  const Dims &info, &data;
};
void to_experts_like(const Devices& devices, const Outgoing& tokens, int64_t ranks, const Tables& tables,
                     const Dims& returning, int64_t experts, int64_t quantization);
void to_experts(Devices& devices, const Outgoing& tokens, const Tables& tables, int64_t experts, int64_t quantization);

struct Results {
  const at::Tensor &x, &sessions, &micro_batches, &tokens, &choices, &count;
  const at::Tensor& ranks;  // of the sessions; undefined: their own numbers
};
void to_attention_like(const Devices& devices, const Results& results, int64_t ranks, const Tables& tables);
void to_attention(Devices& devices, const Results& results, const Tables& tables);

}  // namespace sim::kernels
