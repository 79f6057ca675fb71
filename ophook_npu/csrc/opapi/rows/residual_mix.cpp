// Hyper-connections between layers. None has a page of CANN's: torch_npu's pages and op-plugin's calls are followed.
#include "kernels/residual_mix.h"

#include "kernels/needed.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;

// innerPrecise 1: products of HF32. Of the gradient nothing says which products those are: there all are of float.
ACLNN(MhcPre,
      (In, x, In, phi, In, alpha, In, bias, In, gamma, double, norm_eps, double, eps, Out, in, Out, post, Out, res, Out,
       inverse_norm, Out, products, Out, weights),
      kernels::mixing_like(x, {phi, alpha, bias, gamma, norm_eps, eps},
                           {in, post, res, inverse_norm, products, weights}),
      kernels::mix(x, {phi, alpha, bias, gamma, norm_eps, eps}, {in, post, res, inverse_norm, products, weights}))
ACLNN(MhcPreV2,
      (In, x, In, phi, In, alpha, In, bias, In, gamma, double, norm_eps, double, eps, int64_t, precise, Out, in, Out,
       post, Out, res, Out, inverse_norm, Out, products, Out, weights),
      SIM_CHECK(precise == 0 || precise == 1, "innerPrecise ", precise, "; allowed: 0, 1");
      kernels::mixing_like(x, {phi, alpha, bias, gamma, norm_eps, eps, precise == 1},
                           {in, post, res, inverse_norm, products, weights}),
      kernels::mix(x, {phi, alpha, bias, gamma, norm_eps, eps, precise == 1},
                   {in, post, res, inverse_norm, products, weights}))
#define MIXED {grad_in, grad_post, grad_res, inverse_norm, products, weights}
#define MIX_BACKWARD(version, check, ...)                                                                          \
  ACLNN(MhcPreBackward##version,                                                                                   \
        (In, x, In, phi, In, alpha, In, grad_in, In, grad_post, In, grad_res, In, inverse_norm, In, products, In,  \
         weights, In, post, In, gamma, In, more, float, eps, ##__VA_ARGS__, Out, to_x, Out, to_phi, Out, to_alpha, \
         Out, to_bias, Out, to_gamma),                                                                             \
        check;                                                                                                     \
        kernels::mixing_backward_like(x, {phi, alpha, {}, gamma, 0, eps}, MIXED, post, more,                       \
                                      {to_x, to_phi, to_alpha, to_bias, to_gamma}),                                \
        kernels::mixing_backward(x, {phi, alpha, {}, gamma, 0, eps}, MIXED, post, more,                            \
                                 {to_x, to_phi, to_alpha, to_bias, to_gamma}))
MIX_BACKWARD(, when_run())
MIX_BACKWARD(V2, SIM_CHECK(precise == 0 || precise == 1, "innerPrecise ", precise, "; allowed: 0, 1"), int64_t, precise)
ACLNN(MhcPost, (In, x, In, res, In, layer, In, post, Out, out),
      SIM_NEEDED(res.defined() || product_is("Ascend950"), "hRes is null; on an Ascend950 alone it may be"),
      write(out, kernels::connected({x, res, layer, post})))
ACLNN(MhcPostBackward,
      (In, grad, In, x, In, res, In, layer, In, post, Out, to_x, Out, to_res, Out, to_layer, Out, to_post), ,
      kernels::connection_backward(grad, {x, res, layer, post}, {to_x, to_res, to_layer, to_post}))
ACLNN(Sinkhorn, (In, cost, MaybeNum, least, Out, out),
      SIM_CHECK(cost.dim() == 2 && cost.size(1) <= 4096, "costs of shape ", cost.sizes());
      like(out, cost), write(out, kernels::balanced(cost, least ? least->toDouble() : 1e-4)))
ACLNN(MhcSinkhorn, (In, x, float, eps, int64_t, iterations, Out, out, Out, norms, Out, sums),
      kernels::sinkhorn_like(x, iterations, out, norms, sums), kernels::sinkhorn(x, eps, iterations, out, norms, sums))
ACLNN(MhcSinkhornBackward, (In, grad, In, norms, In, sums, Out, out),
      kernels::sinkhorn_backward_like(grad, norms, sums, out),
      if (grad.numel()) write(out, kernels::sinkhorn_backward(grad, norms, sums)))
