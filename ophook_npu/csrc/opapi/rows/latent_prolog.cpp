// What goes before latent attention.
#include "kernels/latent_prolog.h"

#include "opapi/aclnn.h"

using namespace sim::aclnn;
namespace prolog = sim::latent_prolog;

#define INPUTS                                                                                                     \
  (prolog::Inputs{NAMED(x, down, up, absorbed, key_down, gamma, key_gamma, sin, cos, index, key_cache, rope_cache, \
                        x_scale, down_scale, up_scale, key_down_scale, key_scale, rope_scale, smooth)})
#define OUTPUTS (prolog::Outputs{NAMED(query, rope, query_scale, normal, normal_scale), .unused = 0})
#define WEIGHTS In, x, In, down, In, up, In, absorbed, In, key_down, In, gamma, In, key_gamma, In, sin, In, cos
#define SCALES_OF_WEIGHTS \
  In, x_scale, In, down_scale, In, up_scale, In, key_down_scale, In, key_scale, In, rope_scale, In, smooth
#define EPSILONS double, eps, double, key_eps, Text, mode
// The first form writes no scale of its query.
#define PROLOG(name, result_scale, ...)                                                                     \
  ACLNN(name,                                                                                               \
        (WEIGHTS, In, index, Ref, key_cache, Ref, rope_cache, SCALES_OF_WEIGHTS, EPSILONS, Out, query, Out, \
         rope, ##__VA_ARGS__),                                                                              \
        prolog::check(INPUTS, {eps, key_eps, mode}, {query, rope, result_scale}),                           \
        prolog::run(INPUTS, {eps, key_eps, mode}, {query, rope, result_scale}))
PROLOG(MlaProlog, at::Tensor())
PROLOG(MlaPrologV2WeightNz, query_scale, Out, query_scale)
// The parameters as op-plugin passes them to the CANN that is simulated: an earlier one had queryNormFlag besides, and
// the page's prototype is of that.
ACLNN(MlaPrologV3WeightNz,
      (WEIGHTS, Ref, key_cache, Ref, rope_cache, In, index, SCALES_OF_WEIGHTS, In, lengths, In, clip, EPSILONS, int64_t,
       weight_mode, int64_t, key_mode, int64_t, query_mode, int64_t, together, int64_t, scales_together, int64_t, tile,
       double, query_factor, double, key_factor, Out, query, Out, rope, Out, query_scale, Out, normal, Out,
       normal_scale),
      (refuse_if_given({lengths, clip}, "actual_seq_len or k_nope_clip_alpha"),
       prolog::check_modes(weight_mode, key_mode, query_mode, together, scales_together),
       prolog::check(INPUTS, {eps, key_eps, mode, query_factor, key_factor}, OUTPUTS)),
      prolog::run(INPUTS, {eps, key_eps, mode, query_factor, key_factor}, OUTPUTS))
