#include "kernels/residual_mix.h"

#include "kernels/pattern.h"

namespace sim::kernels {
namespace {

// The sizes of x without its last `count` dimensions, and then `more`.
Dims sizes_with(const at::Tensor& x, int64_t count, std::initializer_list<int64_t> more) {
  Dims sizes = x.sizes().slice(0, size_t(x.dim() - count)).vec();
  sizes.insert(sizes.end(), more);
  return sizes;
}

void streams(const at::Tensor& x) {
  of_dtype("x", x, {at::kHalf, at::kBFloat16});
  SIM_CHECK(x.dim() == 3 || x.dim() == 4, "x ", x.sizes(), "; three or four dimensions are expected");
}

// n streams of d numbers, with what torch_npu's page allows of them.
void few_streams(const at::Tensor& x) {
  streams(x);
  const int64_t n = x.size(-2), d = x.size(-1);
  SIM_CHECK(n == 4 || n == 6 || n == 8, n, " streams; allowed: 4, 6, 8");
  SIM_CHECK(d >= 1 && d <= 16384 && d % 16 == 0, "streams of ", d, "; allowed: multiples of 16 up to 16384");
}

void single(const at::Tensor& tensor, at::IntArrayRef sizes, const char* name) {
  of_dtype(name, tensor, {at::kFloat});
  shape(tensor, sizes);
}

// How many rows of phi there are: pre and post, and res where `alpha` has a third number.
int64_t parts(const at::Tensor& alpha, int64_t n) { return 2 * n + (alpha.numel() == 3 ? n * n : 0); }

void mixing_inputs(const at::Tensor& x, const Mixing& by) {
  few_streams(x);
  const int64_t n = x.size(-2), d = x.size(-1);
  SIM_CHECK(by.alpha.dim() == 1 && (by.alpha.numel() == 2 || by.alpha.numel() == 3), "alpha ", by.alpha.sizes(),
            "; two or three numbers are expected");
  of_dtype("alpha", by.alpha, {at::kFloat});
  single(by.phi, {parts(by.alpha, n), n * d}, "phi");
  if (by.bias.defined()) single(by.bias, {parts(by.alpha, n)}, "bias");
  if (by.gamma.defined()) single(by.gamma, {n, d}, "gamma");
}

at::Tensor ten_bits(const at::Tensor& values) {
  const auto bits = values.contiguous().view(at::kInt);
  return bits.bitwise_right_shift(12).add(1).bitwise_right_shift(1).bitwise_left_shift(13).view(at::kFloat);
}

// The factor of each row of phi.
at::Tensor factor_of_rows(const at::Tensor& alpha, int64_t n) {
  Tensors each{alpha[0].expand({n}), alpha[1].expand({n})};
  if (alpha.numel() == 3) each.push_back(alpha[2].expand({n * n}));
  return at::concat(each);
}

}  // namespace

void mixing_like(const at::Tensor& x, const Mixing& by, const Mixed& out) {
  mixing_inputs(x, by);
  const int64_t n = x.size(-2), d = x.size(-1);
  shape(out.in, sizes_with(x, 2, {d}));
  SIM_CHECK(out.in.scalar_type() == x.scalar_type(), "hIn has another data type than x");
  single(out.post, sizes_with(x, 2, {n}), "hPost");
  if (by.alpha.numel() == 3) single(out.res, sizes_with(x, 2, {n, n}), "hRes");
  const bool asked = out.inverse_norm.defined();
  SIM_CHECK(out.products.defined() == asked && out.weights.defined() == asked,
            "invRms, hMix and hPre are all given, or none");
  if (!asked) return;
  single(out.inverse_norm, sizes_with(x, 2, {}), "invRms");
  single(out.products, sizes_with(x, 2, {by.phi.size(0)}), "hMix");
  single(out.weights, sizes_with(x, 2, {n}), "hPre");
}

void mix(const at::Tensor& x, const Mixing& by, const Mixed& out) {
  const int64_t n = x.size(-2);
  const auto values = wide(x), flat = values.flatten(-2);
  const auto scaled = by.gamma.defined() ? flat * by.gamma.flatten() : flat;
  const auto products = by.coarse ? at::matmul(ten_bits(scaled), ten_bits(by.phi).t()) : at::matmul(scaled, by.phi.t());
  const auto inverse_norm = at::rsqrt(flat.square().mean(-1, true) + by.norm_eps);
  const auto sums = products * inverse_norm * factor_of_rows(by.alpha, n) + by.bias;
  const auto weights = sums.narrow(-1, 0, n).sigmoid() + by.eps;
  write(out.in, (weights.unsqueeze(-1) * values).sum(-2));
  write(out.post, 2 * sums.narrow(-1, n, n).sigmoid());
  if (by.alpha.numel() == 3) write(out.res, sums.narrow(-1, 2 * n, n * n).unflatten(-1, {n, n}));
  else if (out.res.defined()) out.res.zero_();
  write(out.inverse_norm, inverse_norm.squeeze(-1));
  write(out.products, products);
  write(out.weights, weights);
}

void mixing_backward_like(const at::Tensor& x, const Mixing& by, const Mixed& of, const at::Tensor& post,
                          const at::Tensor& more, const MixingGradients& out) {
  mixing_inputs(x, by);
  SIM_CHECK(by.alpha.numel() == 3, "a gradient without hRes is not simulated");
  shapes<
      "*t n d, *t d?, *t n?, *t n?, *t n?, *t n n?, *t?, rows all, *t rows?, *t n d? -> *t n d, rows all, rows, n d">(
      x, of.in, of.post, of.weights, post, of.res, of.inverse_norm, by.phi, of.products, more, out.x, out.phi, out.bias,
      out.gamma);
  like(out.alpha, by.alpha);
}

void mixing_backward(const at::Tensor& x, const Mixing& by, const Mixed& of, const at::Tensor& post,
                     const at::Tensor& more, const MixingGradients& out) {
  const int64_t n = x.size(-2), rows = by.phi.size(0), all = x.size(-1) * n;
  const auto values = wide(x).reshape({-1, n, x.size(-1)}), flat = values.flatten(1);
  const auto in = wide(of.in).reshape({-1, 1, x.size(-1)}), weights = wide(of.weights).reshape({-1, n});
  const auto gated = wide(post).reshape({-1, n}), open = weights - by.eps;
  const auto inverse_norm = wide(of.inverse_norm).reshape({-1, 1}), products = wide(of.products).reshape({-1, rows});
  // of the sums, before the sigmoids
  const auto slopes =
      at::concat({(in * values).sum(-1) * open * (1 - open), wide(of.post).reshape({-1, n}) * gated * (1 - gated / 2),
                  wide(of.res).reshape({-1, n * n})},
                 1);
  const auto of_normed = slopes * factor_of_rows(by.alpha, n), of_products = of_normed * inverse_norm;
  const auto of_scaled = at::matmul(of_products, by.phi);
  const auto gamma = by.gamma.defined() ? by.gamma.flatten() : at::ones({all});
  // through the norm, which the sum of what is under its root moves
  const auto of_norm = (of_normed * products).sum(1, true) * inverse_norm.pow(3) / double(all);
  auto of_x = (of_scaled * gamma - of_norm * flat).reshape(values.sizes()) + weights.unsqueeze(-1) * in;
  if (more.defined()) of_x = of_x + wide(more).reshape(of_x.sizes());
  write(out.x, of_x.reshape(x.sizes()));
  write(out.phi, at::matmul(of_products.t(), flat * gamma));
  const auto of_factors = (slopes * products * inverse_norm).sum(0);
  write(out.alpha, at::stack({of_factors.narrow(0, 0, n).sum(), of_factors.narrow(0, n, n).sum(),
                              of_factors.narrow(0, 2 * n, n * n).sum()}));
  write(out.bias, slopes.sum(0));
  write(out.gamma, (by.gamma.defined() ? (flat * of_scaled).sum(0) : at::zeros({all})).reshape(out.gamma.sizes()));
}

// Stream j of the result takes res[i, j] of stream i: op-plugin's tests say which of the two is summed over.
at::Tensor connected(const Connection& of) {
  const auto x = wide(of.x), kept = of.res.defined() ? at::matmul(of.res.transpose(-1, -2), x) : x;
  return kept + of.post.unsqueeze(-1) * wide(of.layer).unsqueeze(-2);
}

void connection_backward(const at::Tensor& given, const Connection& of, const Connection& out) {
  const auto grad = wide(given), x = wide(of.x);
  write(out.x, of.res.defined() ? at::matmul(of.res, grad) : grad);
  if (of.res.defined()) write(out.res, at::matmul(x, grad.transpose(-1, -2)));
  else if (out.res.defined()) out.res.zero_();  // of what was not there
  write(out.layer, (of.post.unsqueeze(-1) * grad).sum(-2));
  write(out.post, (wide(of.layer).unsqueeze(-2) * grad).sum(-1));
}

// ---- Sinkhorn ------------------------------------------------------------------------------------------------------
namespace {

constexpr int64_t kAligned = 8, kCores = 64;  // a row's place, and the cores that share the tokens

void matrices(const at::Tensor& x) {
  of_dtype("x", x, {at::kFloat});
  const auto [n] = shapes<"*_ n n">(x);
  SIM_CHECK(x.dim() == 3 || x.dim() == 4, "matrices ", x.sizes(), "; three or four dimensions are expected");
  SIM_CHECK(n == 4 || n == 6 || n == 8, "matrices of ", n, "; allowed: 4, 6, 8");
}

// The tokens of one core lie together, each step's after the step before's; op-plugin's test of the gradient says how.
// A core that cannot hold its tokens at once takes them in several passes, and each has its steps together.
int64_t of_a_core(const at::Tensor& x) {
  const int64_t n = x.size(-1), tokens = x.numel() / (n * n), each = (tokens + kCores - 1) / kCores;
  constexpr int64_t kRoom = 126688;  // bytes of one of two buffers
  SIM_CHECK(each * (2 * n * n + 2 * n * kAligned + 2 * kAligned) * 4 <= kRoom, tokens,
            " tokens: steps that a core keeps in several passes are not simulated");
  return each;
}

void kept(const at::Tensor& x, int64_t iterations, const at::Tensor& norms, const at::Tensor& sums) {
  const int64_t n = x.size(-1), tokens = x.numel() / (n * n);
  SIM_CHECK(
      norms.numel() == 2 * iterations * tokens * n * kAligned && sums.numel() == 2 * iterations * tokens * kAligned,
      "normOut and sumOut have ", norms.numel(), " and ", sums.numel(),
      " elements; expected: ", 2 * iterations * tokens * n * kAligned, " and ", 2 * iterations * tokens * kAligned);
  SIM_CHECK(norms.is_contiguous() && sums.is_contiguous(), "normOut and sumOut have to be contiguous");
  of_a_core(x);
}

// The two memories by cores, as views: steps (2 · iterations, n, tokens, 8), and of each iteration the sums of rows
// (iterations, 8, tokens) and of columns (iterations, tokens, 8).
struct Steps {
  int64_t first, count;
  at::Tensor norms, rows, columns;
};
std::vector<Steps> by_cores(const at::Tensor& x, const at::Tensor& norms, const at::Tensor& sums) {
  const int64_t n = x.size(-1), tokens = x.numel() / (n * n), each = of_a_core(x);
  const int64_t iterations = norms.numel() / (2 * tokens * n * kAligned);
  const auto all_norms = norms.view(-1), all_sums = sums.view(-1);
  std::vector<Steps> result;
  for (int64_t first = 0; first < tokens; first += each) {
    const int64_t count = std::min(each, tokens - first), step = n * kAligned * 2 * iterations;
    const auto both = all_sums.narrow(0, first * 2 * iterations * kAligned, count * 2 * iterations * kAligned)
                          .view({iterations, 2, count * kAligned});
    result.push_back(
        {first, count, all_norms.narrow(0, first * step, count * step).view({2 * iterations, n, count, kAligned}),
         both.select(1, 0).unflatten(-1, {kAligned, count}), both.select(1, 1).unflatten(-1, {count, kAligned})});
  }
  return result;
}

}  // namespace

at::Tensor balanced(const at::Tensor& cost, double least) {
  constexpr double eps = 1e-8;
  const at::Tensor weights = at::exp(wide(cost));
  at::Tensor rows, columns = at::ones({cost.size(1)}, weights.options());
  double change = 1e9;
  for (int64_t step = 0; change > least; ++step) {
    SIM_CHECK(step < 20000, "the factors still change by ", change, " after ", step, " steps; the tolerance is ",
              least);
    rows = at::reciprocal((at::mv(weights, columns) + eps) * cost.size(0));
    const at::Tensor next = at::reciprocal((at::mv(weights.t(), rows) + eps) * cost.size(1));
    change = at::mean(at::abs(columns - next)).item<double>();
    columns = next;
  }
  return columns * weights * rows.unsqueeze(1);
}

void sinkhorn_like(const at::Tensor& x, int64_t iterations, const at::Tensor& out, const at::Tensor& norms,
                   const at::Tensor& sums) {
  matrices(x);
  single(out, x.sizes(), "output");
  SIM_CHECK(norms.defined() == sums.defined(), "normOut and sumOut are both given, or none");
  if (norms.defined()) kept(x, iterations, norms, sums);
}

void sinkhorn(const at::Tensor& x, double eps, int64_t iterations, const at::Tensor& out, const at::Tensor& norms,
              const at::Tensor& sums) {
  const int64_t n = x.size(-1);
  const auto first = at::softmax(x.reshape({-1, n, n}), -1);
  const bool asked = norms.defined();
  std::vector<Steps> cores;
  if (asked) {
    norms.zero_();
    cores = by_cores(x, norms, sums);
  }
  const auto keep = [&](int64_t step, const at::Tensor& value) {  // (tokens, n, n)
    for (const Steps& core : cores)
      core.norms[step].narrow(-1, 0, n).copy_(value.narrow(0, core.first, core.count).transpose(0, 1));
  };
  // What a row or a column lacks to 8 is 1 in the rows' sums, and 0 in the columns', as are the first rows'.
  const auto keep_sums = [&](int64_t iteration, const at::Tensor& rows, const at::Tensor& columns) {  // (tokens, n)
    for (const Steps& core : cores) {
      core.rows[iteration].fill_(1);
      core.columns[iteration].zero_();
      if (rows.defined()) core.rows[iteration].narrow(0, 0, n).copy_(rows.narrow(0, core.first, core.count).t());
      core.columns[iteration].narrow(-1, 0, n).copy_(columns.narrow(0, core.first, core.count));
    }
  };
  // The first step is kept without eps, as the gradient of the softmax needs it and op-plugin's test of it has it.
  keep(0, first);
  at::Tensor value = first + eps;
  for (int64_t i = 0; i < iterations; ++i) {
    at::Tensor rows;
    if (i) {
      rows = value.sum(-1, true) + eps;
      value = value / rows;
      keep(2 * i, value);
      rows = rows.squeeze(-1);
    }
    const auto columns = value.sum(-2, true) + eps;
    value = value / columns;
    keep(2 * i + 1, value);
    keep_sums(i, rows, columns.squeeze(-2));
  }
  write(out, value.reshape(x.sizes()));
}

static int64_t iterations_of(const at::Tensor& grad, const at::Tensor& norms) {
  return divided(norms.numel(), 2 * grad.numel() / grad.size(-1) * kAligned);
}

void sinkhorn_backward_like(const at::Tensor& grad, const at::Tensor& norms, const at::Tensor& sums,
                            const at::Tensor& out) {
  matrices(grad);
  like(out, grad);
  if (grad.numel()) kept(grad, iterations_of(grad, norms), norms, sums);
}

at::Tensor sinkhorn_backward(const at::Tensor& grad, const at::Tensor& norms, const at::Tensor& sums) {
  const int64_t n = grad.size(-1), iterations = iterations_of(grad, norms);
  const auto all = grad.reshape({-1, n, n});
  Tensors parts;
  for (const Steps& core : by_cores(grad, norms, sums)) {
    at::Tensor slope = all.narrow(0, core.first, core.count);
    // y = x / (the sum of x over dim + eps)
    const auto back = [&](int64_t step, int64_t dim, const at::Tensor& sum) {
      const auto norm = core.norms[step].narrow(-1, 0, n).transpose(0, 1);
      slope = (slope - (slope * norm).sum(dim, true)) / sum.unsqueeze(dim);
    };
    for (int64_t i = iterations; i-- > 0;) {
      back(2 * i + 1, -2, core.columns[i].narrow(-1, 0, n));
      if (i) back(2 * i, -1, core.rows[i].narrow(0, 0, n).t());
    }
    const auto soft = core.norms[0].narrow(-1, 0, n).transpose(0, 1);
    parts.push_back(soft * (slope - (slope * soft).sum(-1, true)));
  }
  return at::concat(parts).reshape(grad.sizes());
}

}  // namespace sim::kernels
