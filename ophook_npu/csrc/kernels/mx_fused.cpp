#include "kernels/mx_fused.h"

#include "kernels/activation.h"
#include "kernels/groups.h"
#include "kernels/norm.h"
#include "kernels/norm_quant.h"
#include "kernels/pattern.h"

namespace sim::mx {

// ---- after a normalization -----------------------------------------------------------------------------------------
static Dims row_sizes(const at::Tensor& x) {
  Dims sizes = x.sizes().vec();
  sizes.back() = 1;
  return sizes;
}

static void gamma_like(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta) {
  quant::over_the_last(x, gamma);
  SIM_CHECK(gamma.dim() == 1, "gamma has shape ", gamma.sizes(), "; one dimension is expected");
  if (beta.defined()) like(beta, gamma), same_dtype({gamma, beta});
}

void norm_like(const quant::Summands& of, int64_t dtype, const How& how, const NormResults& to) {
  gamma_like(of.a, of.gamma, of.beta);
  SIM_CHECK(of.gamma.scalar_type() == at::kFloat || of.gamma.scalar_type() == of.a.scalar_type(), "gamma of ",
            of.gamma.scalar_type(), " for x of ", of.a.scalar_type());
  without_range(how.algorithm);
  quant_like(of.a, -1, dtype, how, to.out, to.scale);
  to.with_rstd ? shape(to.rstd, row_sizes(of.a)) : idle(to.rstd, row_sizes(of.a));
}

// The normal itself is quantized, in float: the pages name no data type between.
void norm_quant(const quant::Summands& of, const How& how, const NormResults& to) {
  auto x = of.b.defined() ? wide(of.a).add(wide(of.b)) : wide(of.a);
  if (to.sum.defined()) write(to.sum, x.to(to.sum.scalar_type()));
  const auto result = kernels::rms_norm(x, wide(of.gamma), of.eps);
  quant(of.beta.defined() ? result.y.add(wide(of.beta)) : result.y, -1, how, to.out, to.scale);
  if (to.with_rstd) write_asked(to.rstd, result.rstd);
}

void rms_norm_like(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& scale, const at::Tensor& out,
                   const at::Tensor& rstd) {
  quant::over_the_last(x, gamma);
  SIM_CHECK(scale.numel() == 1 || scale.numel() == x.size(-1), scale.numel(), " scales for ", x.sizes());
  stepped_like(out, x);
  if (rstd.defined()) shape(rstd, row_sizes(x));
}

void rms_norm_quant(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps, bool divide,
                    const quant::QuantizedResult& to, const at::Tensor& rstd) {
  const auto result = kernels::rms_norm(wide(x), wide(gamma).reshape({-1}), eps);
  auto value = beta.defined() ? result.y.add(wide(beta).reshape({-1})) : result.y;
  write(to.out, stepped(quant::steps_of(value, to.scale, to.zero, divide), to.out));
  write_asked(rstd, result.rstd);
}

void rms_norm_backward_like(const at::Tensor& grad, const at::Tensor& x, const std::string& mode,
                            const at::Tensor& out) {
  SIM_CHECK(mode == "static", "quantMode ", mode, "; allowed: static");
  same_dtype({x, grad}), of_dtype("dxOut", out, {at::kChar, at::kFloat});
}

void rms_norm_backward_quant(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& rstd,
                             const at::Tensor& gamma, bool divide, const quant::QuantizedResult& to,
                             const at::Tensor& out_gamma) {
  const auto result = kernels::rms_norm_backward(grad, x, rstd, gamma);
  write(to.out, stepped(quant::steps_of(result.x, to.scale, to.zero, divide), to.out));
  write(out_gamma, result.weight);
}

// ---- after a gated unit --------------------------------------------------------------------------------------------
static at::Tensor half_of_x(const at::Tensor& x, int64_t dim) {
  SIM_CHECK(x.dim() >= 2 && x.size(dim) % 2 == 0, "dimension ", dim, " of x ", x.sizes(), " has to be even");
  return x.narrow(dim, 0, x.size(dim) / 2);
}

static int64_t list_of(const GatedRows& of) { return of.kind == 0 ? groups::kCounts : groups::kEnds; }

void swiglu_like(const GatedRows& of, int64_t swiglu_mode, double limit, int64_t dtype, const How& how,
                 const at::Tensor& out, const at::Tensor& scale) {
  const int64_t last = of.x.dim() - 1, unit = wrap(of.dim, of.x), along = wrap(of.axis, of.x);
  SIM_CHECK(unit >= last - 1 && along >= last - 1, "activateDim ", of.dim, " and axis ", of.axis,
            "; allowed: the last two dimensions");
  SIM_CHECK(swiglu_mode == 0 || (swiglu_mode == 1 && unit == last), "swigluMode ", swiglu_mode,
            "; allowed: 0, and 1 along the last dimension");
  SIM_CHECK(swiglu_mode == 0 || limit > 0, "clampLimit ", limit, " is not above 0");
  SIM_CHECK(of.kind == 0 || of.kind == 1, "groupMode ", of.kind, "; allowed: 0 (counts), 1 (ends)");
  groups::listed(of.group_index, list_of(of));
  without_range(how.algorithm);
  const at::Tensor half = half_of_x(of.x, unit);
  if (!of.group_index.defined() || along == last) return quant_like(half, of.axis, dtype, how, out, scale);
  SIM_CHECK(unit == last, "activateDim ", of.dim, " and axis ", of.axis, " with groups are not simulated");
  grouped_like(half, of.group_index, dtype, how, out, scale);
}

// Behind the last group nothing is written.
void swiglu_quant(const GatedRows& of, const quant::Swiglu& swiglu, const How& how, const at::Tensor& out,
                  const at::Tensor& scale) {
  auto value = swiglu(wide(of.x).movedim(of.dim, -1)).movedim(-1, of.dim);
  if (!of.group_index.defined()) return quant(value, of.axis, how, out, scale);
  const int64_t list = list_of(of);
  if (wrap(of.axis, of.x) != of.x.dim() - 1) return grouped_quant(value, of.group_index, list, how, out, scale);
  auto rows = [](const at::Tensor& all, int64_t own) { return all.flatten(0, all.dim() - own - 1); };
  auto all = rows(value, 1);
  int64_t count = 0;
  for (const auto& group : groups::of(of.group_index, list, all.size(0))) count = group.start + group.count;
  quant(all.narrow(0, 0, count), -1, how, rows(out, 1).narrow(0, 0, count), rows(scale, 2).narrow(0, 0, count));
}

void swiglu_dual_like(const at::Tensor& x, const at::Tensor& ends, int64_t dtype, const How& how, const TwoAxes& to) {
  SIM_CHECK(x.dim() == 2, "x with 2 dimensions expected, got ", x.sizes());
  SIM_CHECK(how.top == 0, "maxDtypeValue ", how.top, "; allowed: 0");
  without_range(how.algorithm);
  dual_like(half_of_x(x, -1), ends, dtype, how, to);
}

at::Tensor swiglu(const at::Tensor& x, bool left) { return quant::Swiglu{left}(wide(x)); }

void swiglu_backward_like(const at::Tensor& x, const at::Tensor& grad, const at::Tensor& ends, int64_t dtype,
                          const How& how, const TwoAxes& to) {
  SIM_CHECK(x.dim() >= 2 && x.size(-1) % 64 == 0, "the last dimension of x ", x.sizes(), " is no multiple of 64");
  SIM_CHECK(how.algorithm == kCeil && dtype == 36 && how.top == 0, "scaleAlg ", how.algorithm, ", dstDtype ", dtype,
            ", maxDtypeValue ", how.top, "; allowed: 1, 36, 0");
  like(grad, half_of_x(x, -1)), same_dtype({x, grad});
  dual_like(x, ends, dtype, how, to);
}

// Each half of the result is that half's gradient, whichever of them is activated.
at::Tensor swiglu_backward(const at::Tensor& x, const at::Tensor& grad, bool left) {
  auto turned = [&](const at::Tensor& all) { return left ? all : all.roll(all.size(-1) / 2, -1); };
  return turned(kernels::swiglu_backward(grad, turned(x), -1));
}

constexpr double kLeast = 1e-4;  // of a block's largest magnitude
constexpr int64_t kWide = 128;   // blocks with scales of float

static kernels::ClippedSwiglu clipped(double limit) {
  return {-1, 1, limit > 0 ? limit : std::numeric_limits<double>::infinity(), 0, false};
}

void swiglu_tokens_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& static_scale, int64_t dtype,
                        const Tokens& how, const at::Tensor& out, const at::Tensor& scale) {
  const bool mx = how.quant_mode == 1;
  SIM_CHECK(mx || how.quant_mode == 0, "quantMode ", how.quant_mode, " is not simulated; allowed: 0, 1");
  SIM_CHECK(x.dim() >= 2 && x.size(-1) >= 256 && x.size(-1) % 256 == 0, "the last dimension of x ", x.sizes(),
            " is no multiple of 256");
  SIM_CHECK(how.block == 0 || how.block == (mx ? 32 : kWide), "blockSize ", how.block, "; allowed: 0, ",
            mx ? 32 : kWide);
  SIM_CHECK(!mx || how.powers, "roundScale false with quantMode 1");
  SIM_CHECK(!how.with_origin, "outputOrigin true with quantMode ", how.quant_mode);
  refuse_if_given({static_scale}, "scaleOptional with this quantMode");
  kernels::token_weights(x, weight, how.limit);
  const Format format = format_of(out);
  SIM_CHECK(dtype == format.code && (mx || format.in_byte == 1), "dstType ", dtype, " for an output of data type ",
            format.code, " and quantMode ", how.quant_mode);
  const at::Tensor half = half_of_x(x, -1);
  out_like(out, half.sizes());
  if (mx) return scale_like(scale, half, -1, 32);
  shapes<"*rows _ -> *rows =blocks">({divided(half.size(-1), kWide)}, half, scale);
  of_dtype("yScaleOut", scale, {at::kFloat});
}

// Behind the last group nothing is written.
at::Tensor first_half(const at::Tensor& x) {
  SIM_CHECK(x.dim() && x.size(-1) % 2 == 0, "the last dimension of ", x.sizes(), " has an odd size");
  return x.narrow(-1, 0, x.size(-1) / 2);
}

void swiglu_tokens(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& group_index, const Tokens& how,
                   const at::Tensor& out, const at::Tensor& scale) {
  const auto value = kernels::swiglu_of_tokens(x, weight, group_index, how.limit);
  const int64_t rows = value.size(0);
  auto own = out.flatten(0, -2).narrow(0, 0, rows);
  if (how.quant_mode == 1)
    return quant(value, -1, {"", kCeil, 0, kLeast}, own, scale.flatten(0, -3).narrow(0, 0, rows));
  auto blocks = value.unflatten(-1, {-1, kWide});
  auto most = at::where(blocks.isfinite(), blocks, at::zeros_like(blocks)).abs().amax(-1, true).clamp_min(kLeast);
  auto factor = most.div(format_of(out).largest);
  if (how.powers) factor = factor.log2().ceil().exp2();
  auto scaled = blocks.div(factor);
  write(own, stepped(at::where(scaled.isfinite(), scaled, blocks).flatten(-2), out));
  write(scale.flatten(0, -2).narrow(0, 0, rows), factor.squeeze(-1));
}

void swiglu_tokens_backward_like(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                 const at::Tensor& origin, const at::Tensor& out, const at::Tensor& out_weight) {
  like(grad, half_of_x(x, -1)), same_dtype({grad, x, out}), like(out, x);
  if (origin.defined()) like(origin, grad), same_dtype({grad, origin});
  SIM_CHECK(!weight.defined() || (origin.defined() && weight.numel() * grad.size(-1) == grad.numel()),
            "weight needs yOrigin, and an element for each row of gradY ", grad.sizes());
  if (weight.defined() && given(out_weight)) like(out_weight, weight);
}

void swiglu_tokens_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& origin, const at::Tensor& group_index, double limit,
                            const at::Tensor& out, const at::Tensor& out_weight) {
  auto slope = wide(grad).flatten(0, -2), rows = wide(x).flatten(0, -2);
  auto weighted = weight.defined() ? slope.mul(weight.reshape({-1, 1})) : slope;
  auto result = kernels::clipped_swiglu_backward(weighted, rows, group_index, clipped(limit));
  if (limit > 0) {  // nothing goes back from a bound either
    Tensors halves = rows.chunk(2, -1);
    result = result.mul(at::concat({halves[0].lt(limit), halves[1].abs().lt(limit)}, -1));
  }
  write(out, result.reshape(x.sizes()));
  if (!weight.defined() || !given(out_weight)) return;
  auto sums = slope.mul(wide(origin).flatten(0, -2)).sum(-1);
  if (group_index.defined()) sums = sums.mul(at::arange(sums.size(0), at::kLong).lt(group_index.sum()));
  write(out_weight, sums.reshape(out_weight.sizes()));
}

void gelu_like(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& offset, const std::string& mode,
               const std::string& round_mode, const at::Tensor& out, const at::Tensor& out_scale) {
  SIM_CHECK(round_mode == "rint", "roundMode ", round_mode, "; allowed: rint");
  SIM_CHECK(mode == "dynamic" || scale.defined(), "static quantization needs inputScaleOptional");
  SIM_CHECK(!scale.defined() || scale.numel() == 1 || scale.numel() == x.size(-1), "inputScaleOptional ", scale.sizes(),
            " for ", x.sizes());
  SIM_CHECK(scale.defined() || !offset.defined(), "inputOffsetOptional needs inputScaleOptional");
  if (offset.defined()) like(offset, scale), same_dtype({offset, scale});
  stepped_like(out, x);
  if (mode == "dynamic") shape(out_scale, x.sizes().slice(0, x.dim() - 1));
}

// In the dynamic mode the formula has no offset.
void gelu_quant(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& offset, const std::string& approximate,
                bool dynamic, const at::Tensor& out, const at::Tensor& out_scale) {
  auto value = at::gelu(wide(x), approximate);
  if (!dynamic) return write(out, stepped(quant::steps_of(value, scale, offset, false), out));
  quant::write_rows_quantized(out, out_scale, quant::smooth(value, scale));
}

// ---- with scales of float ------------------------------------------------------------------------------------------
void rint_alone(const std::string& mode, const at::Tensor& out) {
  SIM_CHECK(mode != "hybrid" || !is_hifloat8(out), "roundMode hybrid is not simulated: its steps are chosen at random");
  const char* only = is_hifloat8(out) ? "round" : "rint";
  SIM_CHECK(mode.empty() || mode == only, "roundMode ", mode, "; allowed: ", only);
}

void scaled_like(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& ends, const std::string& mode,
                 int64_t dtype, const at::Tensor& out, const at::Tensor& most) {
  const int64_t groups = ends.defined() ? ends.numel() : 1;
  groups::listed(ends, groups::kEnds);
  SIM_CHECK(!mode.empty(), "roundMode is empty");
  rint_alone(mode, out);
  SIM_CHECK(dtype == format_of(out).code, "dstType ", dtype, " for an output of data type ", format_of(out).code);
  shape(scale, {groups}), shape(most, {groups}), same_dtype({x, most});
  like(out, x);
}

void scaled_quant(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& ends, const at::Tensor& out,
                  const at::Tensor& most) {
  auto one = [&](const at::Tensor& rows, const at::Tensor& to, int64_t group) {
    write(to, stepped(wide(rows).mul(scale[group]), to));
    most[group].copy_(rows.numel() ? rows.abs().max() : at::zeros({}, most.options()));
  };
  if (!ends.defined()) return one(x, out, 0);
  for (const auto& [group, start, count] : groups::of(ends, groups::kEnds, x.size(0)))
    one(x.narrow(0, start, count), out.narrow(0, start, count), group);
}

void tiles_like(const at::Tensor& x, const at::Tensor& ends, const std::string& mode, int64_t kind, double top,
                const Tiles& how, const at::Tensor& out, const at::Tensor& scale) {
  SIM_CHECK(x.dim() == 2 || x.dim() == 3, "x ", x.sizes(), "; 2 or 3 dimensions are allowed");
  rint_alone(mode, out);
  SIM_CHECK(kind == 0, "groupListType ", kind, "; allowed: 0 (ends)");
  groups::listed(ends, groups::kEnds);
  SIM_CHECK(top == 0, "dstTypeMax ", top, "; allowed: 0");
  SIM_CHECK(how.least >= 0, "minScale ", how.least, " is below 0");
  const auto one_of = [](int64_t value, std::initializer_list<int64_t> allowed) {
    return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
  };
  SIM_CHECK(one_of(how.rows, {1, 128, 256, 512}) && one_of(how.columns, {64, 128, 192, 256}), "blocks of ", how.rows,
            " x ", how.columns, "; allowed: 1, 128, 256, 512 x 64, 128, 192, 256");
  like(out, x), format_of(out);
  shapes<"*b _ _ -> *b =rows =columns">(
      {divided(x.size(-2), how.rows) + ends.numel(), divided(x.size(-1) + how.columns - 1, how.columns)}, x, scale);
}

void tiles_quant(const at::Tensor& x, const at::Tensor& ends, const Tiles& how, const at::Tensor& out,
                 const at::Tensor& scale) {
  scale.zero_();
  for (const auto& [group, start, count] : groups::of(ends, groups::kEnds, x.size(-2))) {
    if (!count) continue;
    auto rows = wide(x.narrow(-2, start, count));
    auto factor = largest_in(largest_in(rows, -1, how.columns), -2, how.rows).div(format_of(out).largest);
    if (how.least > 0) factor = factor.clamp_max(1 / how.least);
    auto each = spread(spread(factor, -2, how.rows, count), -1, how.columns, x.size(-1));
    auto own = out.narrow(-2, start, count);
    write(own, stepped(over(rows, each), own));
    // As in blocks with powers of two, what a group needs that finds its place alone.
    write(scale.narrow(-2, start / how.rows + group, factor.size(-2)), factor);
  }
}

}  // namespace sim::mx
