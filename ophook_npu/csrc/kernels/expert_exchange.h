// Experts on several devices: tokens go to the devices that have their experts, and the results come back. Devices with
// a copy of the shared expert come first; the experts that are routed to follow, as many on each device as on another.
// Experts without a network (zero, copy, constant) have the numbers after theirs and are on no device.
#pragma once

#include "kernels/devices.h"

namespace sim::expert_exchange {

struct Layout {
  int64_t ranks, rank, experts;
  int64_t shared = 0, shared_ranks = 0;
  int64_t zeros = 0, copies = 0, constants = 0;

  int64_t on_each() const { return divided(experts, ranks - shared_ranks); }
  int64_t here() const { return rank < shared_ranks ? 1 : on_each(); }
  int64_t all() const { return experts + zeros + copies + constants; }
  // The device whose copy of the shared expert has this device's tokens.
  int64_t shared_rank() const { return remainder_of(rank, shared_ranks); }
};

// The tokens of a device: rows of x, the experts of each, and which of these choices count. An undefined tensor is
// absent, here and below.
struct Tokens {
  at::Tensor x, experts, active;
};

// ---- what must hold ------------------------------------------------------------------------------------------------
void layout_like(const Layout& layout, const Devices& devices, int64_t tp_ranks, int64_t shard_type,
                 const std::string& algorithm);
void tokens_like(const Layout& layout, const Tokens& tokens, const std::string& algorithm);

// ---- there ---------------------------------------------------------------------------------------------------------
enum Quantization : int64_t { kNone = 0, kDynamic = 2 };
// Where what came is written: rows in the order of the experts here, for each in the order of the devices.
struct Received {
  const at::Tensor &rows, &row_scale;
  const at::Tensor& sources;  // by_row: (device, token, choice) of each row; else the place of each choice among those
                              // of this device for the same expert
  const at::Tensor &expert_counts, &ends;  // ends: rows of each expert and device, summed up
  const at::Tensor& weights;               // of the rows
};
struct Sending {
  Tokens tokens;
  at::Tensor scales, weights;
  int64_t quantization, counts_kind;
  bool by_row;
};
void dispatch_like(const Layout& layout, const Sending& of, int64_t global_tokens, const Received& out);
void dispatch(Devices& devices, const Layout& layout, const Sending& of, const Received& out);

// ---- and back ------------------------------------------------------------------------------------------------------
// What experts without a network need: tokens as they were, and alpha x + beta v of each constant expert.
struct Special {
  at::Tensor x{}, alpha{}, beta{}, value{};
};
// tokens.x: what the experts here made of what dispatch gave them; shared: what the shared expert made of it.
struct Returning {
  Tokens tokens;
  at::Tensor sources, ends, weights, shared;
  Special special;
  bool by_row;
};
void combine_like(const Layout& layout, const Returning& of, int64_t quantization, const at::Tensor& out);
// The sum of each token's results, times their weights, and what the shared expert made of it on this device.
at::Tensor combine(Devices& devices, const Layout& layout, const Returning& of);

// That plus another tensor, and its norm: the norm, one over the root mean square, and the sum. The sum of the experts'
// results stays float; the page does not say where a device rounds before the norm.
void normalized_like(const at::Tensor& rest, const at::Tensor& gamma, int64_t tokens, int64_t width,
                     const at::Tensor& out, const at::Tensor& rstd, const at::Tensor& sum);
Tensors normalized(const at::Tensor& combined, const at::Tensor& rest, const at::Tensor& gamma, double eps);

// ---- none goes on before all have come -----------------------------------------------------------------------------
void barrier_like(const Devices& devices, int64_t ranks);
void wait_for_all(Devices& devices);

}  // namespace sim::expert_exchange
