#include "kernels/activation_quant.h"

#include "kernels/block_quant.h"
#include "kernels/groups.h"
#include "kernels/mx_quant.h"
#include "kernels/norm.h"
#include "kernels/norm_quant.h"
#include "kernels/quant.h"

namespace sim::quant {

static void known_rounding(const std::string& mode) {
  constexpr std::string_view known[] = {"round", "rint", "ceil", "floor", "trunc"};
  SIM_CHECK(std::find(std::begin(known), std::end(known), mode) != std::end(known), "round mode ", mode,
            " is not simulated; allowed: round, ceil, floor, trunc");
}

at::Tensor rounded(const at::Tensor& value, const std::string& mode) {
  known_rounding(mode);
  if (mode == "round" || mode == "rint") return value.round();
  if (mode == "ceil") return value.ceil();
  if (mode == "floor") return value.floor();
  return value.trunc();
}

// Values for one dimension of self, so that they broadcast.
static at::Tensor along(const at::Tensor& values, const at::Tensor& self, int64_t axis) {
  if (values.dim() > 1 || values.numel() == 1) return wide(values);
  Dims sizes(self.dim(), 1);
  sizes[wrap(axis, self)] = values.numel();
  return wide(values).reshape(sizes);
}

at::Tensor scaled(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& offset, bool square,
                  int64_t axis) {
  auto factor = along(scale, self, axis);
  auto value = wide(self).mul(factor);
  if (square) value = value.mul(factor);
  return offset.defined() ? value.add(along(offset, self, axis)) : value;
}

void write_static(const at::Tensor& out, const at::Tensor& value, const std::string& mode) {
  if (mx::of_whole_numbers(out)) return write_quantized(out, rounded(value, mode));
  write(out, mx::stepped(value, out));
}

void quantizable(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& offset, int64_t axis,
                 const std::string& mode, const at::Tensor& out) {
  known_rounding(mode);
  mx::stepped_like(out, self);
  SIM_CHECK(mx::of_whole_numbers(out) || mode == "round", "round mode ", mode,
            "; allowed for y of floating point: round", mx::is_hifloat8(out) ? " (hybrid is not simulated)" : "");
  const int64_t dims = std::max<int64_t>(self.dim(), 1), place = axis < 0 ? axis + dims : axis;
  SIM_CHECK(place >= std::max<int64_t>(dims - 2, 0) && place < dims, "axis ", axis,
            "; the last two dimensions are allowed");
  const int64_t size = self.dim() ? self.size(axis) : 1;
  SIM_CHECK(scale.numel() == 1 || scale.numel() == size, scale.numel(), " scales for a dimension of size ", size);
  SIM_CHECK(!offset.defined() || offset.numel() == scale.numel(), "offset ", offset.sizes(), " for scale ",
            scale.sizes(), "; one for each scale is expected");
  for (const at::Tensor& each : {scale, offset})
    if (each.dim() > 1) into(self, {each});
}

// ---- dynamic -----------------------------------------------------------------------------------------------------
static at::Tensor rows_of(const at::Tensor& self) { return wide(self).reshape({-1, self.size(-1)}); }

// Each group of rows by its own row of smooth; rows that no group has stay.
static at::Tensor smoothed(const at::Tensor& self, const at::Tensor& smooth, const at::Tensor& group_index) {
  auto rows = rows_of(self);
  if (!smooth.defined()) return rows;
  if (!group_index.defined()) return rows.mul(wide(smooth));
  rows = rows.clone();
  for (const groups::Group& group : groups::of(group_index, groups::kEnds, rows.size(0)))
    rows.narrow(0, group.start, group.count).mul_(wide(smooth)[group.expert]);
  return rows;
}

// A channel is a row of the transpose.
static at::Tensor with_rows(const at::Tensor& x, const std::string& mode) {
  return mode == "perchannel" ? x.transpose(-1, -2) : x;
}

void dynamic_like(const Dynamically& of, const Steps& to) {
  of_dtype("x", of.self, {at::kHalf, at::kBFloat16});
  SIM_CHECK(of.self.dim() > 1, "x must have 2 dimensions or more, it has shape ", of.self.sizes());
  const bool by_token = of.mode == "pertoken", by_tensor = of.mode == "pertensor";
  SIM_CHECK(by_token || by_tensor || of.mode == "perchannel", "quantMode ", of.mode,
            "; allowed: pertoken, pertensor, perchannel");
  SIM_CHECK(by_token || !of.group_index.defined(), "groupIndex with quantMode ", of.mode);
  SIM_CHECK(of.most >= 0 && of.most <= 32768, "dstTypeMax ", of.most, "; allowed: 0 to 32768");
  mx::stepped_like(to.out, of.self);
  const at::Tensor rows = with_rows(of.self, of.mode);
  for (const at::Tensor& each : {to.scale, to.offset})
    shape(each, by_tensor ? at::IntArrayRef{1} : rows.sizes().slice(0, rows.dim() - 1));
  if (!of.smooth.defined()) return;
  same_dtype({of.self, of.smooth});
  if (of.group_index.defined()) shape(of.smooth, {of.group_index.numel(), of.self.size(-1)});
  else shape(of.smooth, {rows.size(-1)});
}

static void write_dynamic(const Dynamic& result, const Steps& to) {
  write(to.out, mx::stepped(result.value, to.out).reshape(to.out.sizes()));
  write(to.scale, result.scale.reshape(to.scale.sizes()));
  if (to.offset.defined()) write(to.offset, result.offset.reshape(to.offset.sizes()));
}

void dynamic_quant(const Dynamically& of, const Steps& to) {
  const at::Tensor x = with_rows(of.self, of.mode);
  auto rows = smoothed(x, of.smooth, of.group_index);
  if (of.mode == "pertensor") rows = rows.reshape({1, -1});
  const bool told = of.most > 0 && mx::is_hifloat8(to.out);
  const double top = told ? of.most : mx::largest_of(to.out), least = told ? -of.most : mx::least_of(to.out);
  auto result = to.offset.defined() ? asymmetric(rows, top, least) : symmetric(rows, top);
  result.value = with_rows(result.value.reshape(x.sizes()), of.mode);
  write_dynamic(result, to);
}

void group_like(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& group_index,
                const at::Tensor& offset, const at::Tensor& out) {
  quantized_like(out, self), shape(scale, {group_index.numel(), self.size(-1)});
  groups::listed(group_index, groups::kEnds), counted("offset", offset, {1});
}

void group_quant(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& group_index,
                 const at::Tensor& offset, const at::Tensor& out) {
  auto rows = smoothed(self, scale, group_index);
  write_quantized(out, offset.defined() ? rows.add(wide(offset).reshape({})) : rows);
}

// One number for each group, or one for each of its columns.
static void of_groups(const char* name, const at::Tensor& values, int64_t groups, int64_t columns) {
  const bool fits = !values.defined() || values.sizes() == at::IntArrayRef{groups} ||
                    values.sizes() == at::IntArrayRef{groups, columns};
  SIM_CHECK(fits, name, " ", values.sizes(), " for ", groups, " groups; (", groups, ") or (", groups, ", ", columns,
            ") expected");
}

void halved(const SwigluRows& of, const std::string& mode, const Steps& to) {
  SIM_CHECK(mode == "static" || mode == "dynamic", "quant_mode ", mode, "; allowed: static, dynamic");
  SIM_CHECK(mode == "dynamic" || of.smooth.defined(), "static quantization needs smooth_scales");
  of_dtype("y", to.out, {at::kChar});
  SIM_CHECK(to.out.size(-1) != of.self.size(-1) / 4, "an output of 4 bits (shape ", to.out.sizes(), " for ",
            of.self.sizes(), ") is not simulated");
  Dims sizes = of.self.sizes().vec();
  sizes.back() /= 2;
  shape(to.out, sizes);
  if (mode == "dynamic") by_row(to.scale, of.self);
  groups::listed(of.group_index, of.kind);
  const int64_t groups = of.group_index.defined() ? of.group_index.numel() : 1;
  of_groups("smooth_scales", of.smooth, groups, sizes.back());
  if (mode == "static") of_groups("offsets", of.offsets, groups, sizes.back());
}

void swiglu_quant(const SwigluRows& of, bool left, bool dynamic, const Steps& to) {
  auto value = Swiglu{left}(rows_of(of.self));
  auto quantize = [&](at::Tensor rows, int64_t group) {
    if (of.smooth.defined()) rows.mul_(of.smooth[group]);
    if (!dynamic && of.offsets.defined()) rows.add_(of.offsets[group]);
  };
  if (of.group_index.defined())
    for (const groups::Group& group : groups::of(of.group_index, of.kind, value.size(0)))
      quantize(value.narrow(0, group.start, group.count), group.expert);
  else quantize(value, 0);
  if (!dynamic) return write_quantized(to.out, value.reshape(to.out.sizes()));
  // This operator gives the factor that quantizes, the other dynamic ones its inverse.
  auto factor = value.abs().amax(-1).reciprocal().mul(largest(to.out));
  write_quantized(to.out, value.mul(factor.unsqueeze(-1)).reshape(to.out.sizes()));
  write(to.scale, factor.reshape(to.scale.sizes()));
}

// ---- after a product of integers and swiglu ------------------------------------------------------------------------
// Of values for each group, or for the only one.
static at::Tensor of_group(const at::Tensor& all, int64_t group) { return all.dim() > 1 ? all[group] : all; }
static void columns_of_groups(const char* name, const at::Tensor& values, int64_t groups, int64_t columns) {
  const bool fits = !values.defined() || values.sizes() == at::IntArrayRef{groups, columns} ||
                    (groups == 1 && values.sizes() == at::IntArrayRef{columns});
  SIM_CHECK(fits, name, " ", values.sizes(), "; (", groups, ", ", columns,
            groups == 1 ? ") or one dimension less" : ")", " expected");
}

void dequant_swiglu_like(const Products& of, int64_t dtype, int64_t dim, int64_t swiglu_mode, const Steps& to) {
  const bool whole = to.out.scalar_type() == at::kChar;
  const mx::Format format = whole ? mx::Format{.code = 2, .in_byte = 1} : mx::format_of(to.out);
  SIM_CHECK(dtype == format.code, "dstType ", dtype, " for an output of data type ", format.code);
  const bool small = format.in_byte == 2;
  const std::initializer_list<std::string> more{"round", "floor", "ceil", "trunc"};
  SIM_CHECK(of.round_mode.empty() || of.round_mode == "rint" ||
                (small && std::find(more.begin(), more.end(), of.round_mode) != more.end()),
            "roundMode ", of.round_mode, "; allowed: rint", small ? ", round, floor, ceil, trunc" : "");
  SIM_CHECK(of.mode == "static" || of.mode == "dynamic", "quant_mode ", of.mode, "; allowed: static, dynamic");
  SIM_CHECK(dim == -1 || dim == of.self.dim() - 1, "activate_dim ", dim, " is not simulated; allowed: the last");
  SIM_CHECK(swiglu_mode == 0 || swiglu_mode == 1, "swiglu_mode ", swiglu_mode, "; allowed: 0, 1");
  SIM_CHECK(of.self.scalar_type() != at::kInt || of.weight_scale.defined(), "x of int32 needs weight_scale");
  SIM_CHECK(!of.group_index.defined() || of.group_index.dim() == 1, "group_index (groups) expected, got ",
            of.group_index.sizes());
  Dims sizes = of.self.sizes().vec();
  sizes.back() /= 2;
  whole ? shape(to.out, sizes) : mx::out_like(to.out, sizes);
  if (of.mode == "dynamic") by_row(to.scale, of.self);
  else idle(to.scale, outer_sizes(of.self));
  const int64_t groups = of.group_index.defined() ? of.group_index.numel() : 1;
  if (of.self.scalar_type() == at::kInt) {
    columns_of_groups("weight_scale", of.weight_scale, groups, of.self.size(-1));
    counted("activation_scale", of.row_scale, outer_sizes(of.self));
    columns_of_groups("bias", of.bias, groups, of.self.size(-1));
  }
  if (of.mode == "dynamic") return columns_of_groups("quant_scale", of.quant_scale, groups, sizes.back());
  of_groups("quant_scale", of.quant_scale, groups, sizes.back());
  of_groups("quant_offset", of.quant_offset, groups, sizes.back());
}

void dequant_swiglu_quant(const Products& of, const Swiglu& swiglu, const Steps& to) {
  auto rows = of.self.reshape({-1, of.self.size(-1)});
  const bool dynamic = of.mode == "dynamic", whole = of.self.scalar_type() == at::kInt;
  auto steps = to.out.reshape({-1, to.out.size(-1)});
  auto factors = of.row_scale.defined() ? wide(of.row_scale).reshape({-1, 1}) : at::Tensor();
  const auto groups = of.group_index.defined() ? groups::of(of.group_index, groups::kCounts, rows.size(0))
                                               : std::vector<groups::Group>{{0, 0, rows.size(0)}};
  for (const auto& [group, start, count] : groups) {
    if (!count) continue;
    auto value = rows.narrow(0, start, count);
    if (whole)
      value = with_bias_dequantized(value, of_group(of.weight_scale, group),
                                    factors.defined() ? factors.narrow(0, start, count) : factors,
                                    of.bias.defined() ? of_group(of.bias, group) : of.bias);
    value = swiglu(wide(value));
    if (dynamic) {
      if (of.quant_scale.defined()) value = value.mul(of_group(of.quant_scale, group));
      auto result = symmetric(value, mx::largest_of(to.out));
      value = result.value;
      to.scale.reshape({-1}).narrow(0, start, count).copy_(result.scale);
    } else {
      if (of.quant_scale.defined()) value = value.div(of.quant_scale[group]);
      if (of.quant_offset.defined()) value = value.add(of.quant_offset[group]);
    }
    mx::write_stepped(steps.narrow(0, start, count), value, of.round_mode);
  }
}

// ---- after a sum and its normalization -----------------------------------------------------------------------------
// Of the dimensions that gamma has.
static at::Tensor normalized(const Summands& of, const at::Tensor& sum) {
  const auto result = kernels::add_rms_norm(of.a, of.b, of.gamma, of.eps);
  write(sum, result.sum.to(sum.scalar_type()));
  return result.y;
}

static at::Tensor shifted(const at::Tensor& value, const at::Tensor& beta) {
  return beta.defined() ? value.add(wide(beta)) : value;
}

static void set_default(Checked<bool>& mask, const at::Tensor& smooth1, const at::Tensor& smooth2) {
  if (mask.empty()) mask = {true, smooth1.defined() && smooth2.defined()};
}

// The rows may be merged into one dimension.
static void dynamic_rows_like(const at::Tensor& out, const at::Tensor& x, const at::Tensor& scale) {
  SIM_CHECK(x.dim() > 1, "x1 has two dimensions at least, its shape is ", x.sizes());
  Dims sizes = x.sizes().vec();
  if (out.dim() == 2) sizes = Dims{c10::multiply_integers(outer_sizes(x)), x.size(-1)};
  mx::stepped_like(out, sizes), by_row(scale, x);
}

void add_rms_norm_dynamic_like(const at::Tensor& x, Checked<bool> mask, const QuantizedResult& first,
                               const QuantizedResult& second) {
  SIM_CHECK(!mask.empty() || first.scale.defined() || !second.scale.defined(),
            "smoothScale2Optional without the first");
  set_default(mask, first.scale, second.scale);
  SIM_CHECK(mask.size() == 2 && (mask[0] || mask[1]), "outputMask asks for neither of the two results");
  SIM_CHECK((mask[0] || !first.scale.defined()) && (mask[1] || !second.scale.defined()),
            "a smoothScale of a result that outputMask leaves out");
  SIM_CHECK_DTYPE(!mask[0] || !mask[1] || first.out.scalar_type() == second.out.scalar_type(), "y1Out is ",
                  first.out.scalar_type(), " and y2Out ", second.out.scalar_type(), "; allowed: the same");
  for (const QuantizedResult* each : {&first, &second})
    if (mask[each == &second]) dynamic_rows_like(each->out, x, each->out_scale);
}

void add_rms_norm_dynamic(const Summands& of, Checked<bool> mask, const QuantizedResult& first,
                          const QuantizedResult& second, const at::Tensor& sum) {
  set_default(mask, first.scale, second.scale);
  const auto value = shifted(normalized(of, sum), of.beta);
  for (const QuantizedResult* each : {&first, &second})
    if (mask[each == &second])
      write_dynamic(symmetric(smooth(value, each->scale), mx::largest_of(each->out)), {each->out, each->out_scale});
}

void add_rms_norm_like(const at::Tensor& x, const QuantizedResult& first, const QuantizedResult& second) {
  mx::stepped_like(first.out, x);
  if (given(second.out)) mx::stepped_like(second.out, x);
}

void add_rms_norm_quant(const Summands& of, bool divide, const QuantizedResult& first, const QuantizedResult& second,
                        const at::Tensor& sum, const at::Tensor& norm) {
  const auto normal = normalized(of, sum), value = shifted(normal, of.beta);
  write(norm, normal);
  auto quantize = [&](const at::Tensor& out, const at::Tensor& scale, const at::Tensor& zero) {
    write(out, mx::stepped(steps_of(value, scale, zero, divide), out));
  };
  quantize(first.out, first.scale, first.zero);
  // Without a scale of its own the pages say nothing of the second result; op-plugin's tests for an Ascend950 have it
  // with the scale 1.
  if (given(second.out)) quantize(second.out, second.scale.defined() ? second.scale : at::ones({1}), second.zero);
}

}  // namespace sim::quant
