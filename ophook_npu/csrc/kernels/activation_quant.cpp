#include "kernels/activation_quant.h"

#include "kernels/mx_quant.h"
#include "kernels/norm.h"
#include "kernels/norm_quant.h"

namespace sim::quant {

at::Tensor rounded(const at::Tensor& value, const std::string& mode) {
  if (mode == "round" || mode == "rint") return value.round();
  if (mode == "ceil") return value.ceil();
  if (mode == "floor") return value.floor();
  SIM_CHECK(mode == "trunc", "round mode ", mode, " is not simulated; allowed: round, ceil, floor, trunc");
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

void quantizable(const at::Tensor& self, const at::Tensor& scale, int64_t axis, const std::string& mode,
                 const at::Tensor& out) {
  mx::stepped_like(out, self);
  SIM_CHECK(mx::of_whole_numbers(out) || mode == "round", "round mode ", mode,
            "; allowed for y of floating point: round", mx::is_hifloat8(out) ? " (hybrid is not simulated)" : "");
  const int64_t dims = std::max<int64_t>(self.dim(), 1), place = axis < 0 ? axis + dims : axis;
  SIM_CHECK(place >= std::max<int64_t>(dims - 2, 0) && place < dims, "axis ", axis,
            "; the last two dimensions are allowed");
  const int64_t size = self.dim() ? self.size(axis) : 1;
  SIM_CHECK(scale.numel() == 1 || scale.numel() == size, scale.numel(), " scales for a dimension of size ", size);
}

// ---- dynamic -----------------------------------------------------------------------------------------------------
static at::Tensor rows_of(const at::Tensor& self) { return wide(self).reshape({-1, self.size(-1)}); }

// Each group of rows by its own row of smooth; rows that no group has stay.
static at::Tensor smoothed(const at::Tensor& self, const at::Tensor& smooth, const at::Tensor& group_index) {
  auto rows = rows_of(self);
  if (!smooth.defined()) return rows;
  if (!group_index.defined()) return rows.mul(wide(smooth));
  rows = rows.clone();
  for (const Group& group : groups_of(group_index, kEnds, rows.size(0)))
    rows.narrow(0, group.start, group.count).mul_(wide(smooth)[group.expert]);
  return rows;
}

// A channel is a row of the transpose.
static at::Tensor with_rows(const at::Tensor& x, const std::string& mode) {
  return mode == "perchannel" ? x.transpose(-1, -2) : x;
}

void dynamic_like(const at::Tensor& self, const at::Tensor& smooth, const at::Tensor& group_index,
                  const std::string& mode, const at::Tensor& out, const at::Tensor& scale, const at::Tensor& offset,
                  double most) {
  of_dtype("x", self, {at::kHalf, at::kBFloat16});
  SIM_CHECK(self.dim() > 1, "x must have 2 dimensions or more, it has shape ", self.sizes());
  const bool by_token = mode == "pertoken", by_tensor = mode == "pertensor";
  SIM_CHECK(by_token || by_tensor || mode == "perchannel", "quantMode ", mode,
            "; allowed: pertoken, pertensor, perchannel");
  SIM_CHECK(by_token || !group_index.defined(), "groupIndex with quantMode ", mode);
  SIM_CHECK(most >= 0 && most <= 32768, "dstTypeMax ", most, "; allowed: 0 to 32768");
  mx::stepped_like(out, self);
  const at::Tensor rows = with_rows(self, mode);
  for (const at::Tensor& each : {scale, offset})
    shape(each, by_tensor ? at::IntArrayRef{1} : rows.sizes().slice(0, rows.dim() - 1));
  if (!smooth.defined()) return;
  same_dtype({self, smooth});
  if (group_index.defined()) shape(smooth, {group_index.numel(), self.size(-1)});
  else shape(smooth, {rows.size(-1)});
}

static void write_dynamic(const Dynamic& result, const at::Tensor& out, const at::Tensor& scale,
                          const at::Tensor& offset) {
  write(out, mx::stepped(result.value, out).reshape(out.sizes()));
  write(scale, result.scale.reshape(scale.sizes()));
  if (offset.defined()) write(offset, result.offset.reshape(offset.sizes()));
}

void dynamic_quant(const at::Tensor& self, const at::Tensor& smooth, const at::Tensor& group_index,
                   const std::string& mode, const at::Tensor& out, const at::Tensor& scale, const at::Tensor& offset,
                   double most) {
  const at::Tensor x = with_rows(self, mode);
  auto rows = smoothed(x, smooth, group_index);
  if (mode == "pertensor") rows = rows.reshape({1, -1});
  const bool told = most > 0 && mx::is_hifloat8(out);
  const double top = told ? most : mx::largest_of(out), least = told ? -most : mx::least_of(out);
  auto result = offset.defined() ? asymmetric(rows, top, least) : symmetric(rows, top);
  result.value = with_rows(result.value.reshape(x.sizes()), mode);
  write_dynamic(result, out, scale, offset);
}

void group_quant(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& group_index,
                 const at::Tensor& offset, const at::Tensor& out) {
  auto rows = smoothed(self, scale, group_index);
  write_quantized(out, offset.defined() ? rows.add(wide(offset)) : rows);
}

void halved(const at::Tensor& self, const std::string& mode, const at::Tensor& smooth, const at::Tensor& group_index,
            const at::Tensor& out, const at::Tensor& scale) {
  SIM_CHECK(mode == "static" || mode == "dynamic", "quant_mode ", mode, "; allowed: static, dynamic");
  SIM_CHECK(mode == "dynamic" || smooth.defined(), "static quantization needs smooth_scales");
  const int64_t groups = group_index.defined() ? group_index.numel() : 1;
  SIM_CHECK(!smooth.defined() || smooth.size(0) == groups, "smooth_scales ", smooth.sizes(), " for ", groups,
            " groups");
  of_dtype("y", out, {at::kChar});
  SIM_CHECK(out.size(-1) != self.size(-1) / 4, "an output of 4 bits (shape ", out.sizes(), " for ", self.sizes(),
            ") is not simulated");
  Dims sizes = self.sizes().vec();
  sizes.back() /= 2;
  shape(out, sizes);
  if (mode == "dynamic") by_row(scale, self);
}

void swiglu_quant(const at::Tensor& self, const at::Tensor& smooth, const at::Tensor& offsets,
                  const at::Tensor& group_index, bool left, bool dynamic, int64_t kind, const at::Tensor& out,
                  const at::Tensor& scale) {
  auto value = Swiglu{left}(rows_of(self));
  auto quantize = [&](at::Tensor rows, int64_t group) {
    if (smooth.defined()) rows.mul_(smooth[group]);
    if (!dynamic && offsets.defined()) rows.add_(offsets[group]);
  };
  if (group_index.defined())
    for (const Group& group : groups_of(group_index, kind, value.size(0)))
      quantize(value.narrow(0, group.start, group.count), group.expert);
  else quantize(value, 0);
  if (!dynamic) return write_quantized(out, value.reshape(out.sizes()));
  // This operator gives the factor that quantizes, the other dynamic ones its inverse.
  auto factor = value.abs().amax(-1).reciprocal().mul(largest(out));
  write_quantized(out, value.mul(factor.unsqueeze(-1)).reshape(out.sizes()));
  write(scale, factor.reshape(scale.sizes()));
}

// ---- after a product of integers and swiglu ------------------------------------------------------------------------
// Of values for each group, or for the only one.
static at::Tensor of_group(const at::Tensor& all, int64_t group) { return all.dim() > 1 ? all[group] : all; }

void dequant_swiglu_like(const at::Tensor& self, const at::Tensor& weight_scale, const std::string& mode, int64_t dtype,
                         const std::string& round_mode, const at::Tensor& group_index, int64_t dim, int64_t swiglu_mode,
                         const at::Tensor& out, const at::Tensor& scale) {
  const bool whole = out.scalar_type() == at::kChar;
  const mx::Format format = whole ? mx::Format{.code = 2, .in_byte = 1} : mx::format_of(out);
  SIM_CHECK(dtype == format.code, "dstType ", dtype, " for an output of data type ", format.code);
  const bool small = format.in_byte == 2;
  const std::initializer_list<std::string> more{"round", "floor", "ceil", "trunc"};
  SIM_CHECK(round_mode.empty() || round_mode == "rint" ||
                (small && std::find(more.begin(), more.end(), round_mode) != more.end()),
            "roundMode ", round_mode, "; allowed: rint", small ? ", round, floor, ceil, trunc" : "");
  SIM_CHECK(mode == "static" || mode == "dynamic", "quant_mode ", mode, "; allowed: static, dynamic");
  SIM_CHECK(dim == -1 || dim == self.dim() - 1, "activate_dim ", dim, " is not simulated; allowed: the last");
  SIM_CHECK(swiglu_mode == 0 || swiglu_mode == 1, "swiglu_mode ", swiglu_mode, "; allowed: 0, 1");
  SIM_CHECK(self.scalar_type() != at::kInt || weight_scale.defined(), "x of int32 needs weight_scale");
  SIM_CHECK(!group_index.defined() || group_index.dim() == 1, "group_index (groups) expected, got ",
            group_index.sizes());
  Dims sizes = self.sizes().vec();
  sizes.back() /= 2;
  whole ? shape(out, sizes) : mx::out_like(out, sizes);
  if (mode == "dynamic") by_row(scale, self);
}

void dequant_swiglu_quant(const at::Tensor& self, const at::Tensor& weight_scale, const at::Tensor& row_scale,
                          const at::Tensor& bias, const at::Tensor& quant_scale, const at::Tensor& quant_offset,
                          const at::Tensor& group_index, const Swiglu& swiglu, bool dynamic,
                          const std::string& round_mode, const at::Tensor& out, const at::Tensor& scale) {
  auto rows = self.reshape({-1, self.size(-1)});
  const bool whole = self.scalar_type() == at::kInt, early = bias.defined() && bias.scalar_type() == at::kInt;
  auto steps = out.reshape({-1, out.size(-1)});
  auto factors = row_scale.defined() ? wide(row_scale).reshape({-1, 1}) : at::Tensor();
  const auto groups =
      group_index.defined() ? groups_of(group_index, kCounts, rows.size(0)) : std::vector<Group>{{0, 0, rows.size(0)}};
  for (const auto& [group, start, count] : groups) {
    if (!count) continue;
    auto value = rows.narrow(0, start, count);
    if (whole) {
      value =
          (early ? value.add(of_group(bias, group)) : value).to(at::kFloat).mul(wide(of_group(weight_scale, group)));
      if (factors.defined()) value = value.mul(factors.narrow(0, start, count));
      if (bias.defined() && !early) value = value.add(wide(of_group(bias, group)));
    }
    value = swiglu(wide(value));
    if (dynamic) {
      if (quant_scale.defined()) value = value.mul(of_group(quant_scale, group));
      auto result = symmetric(value, mx::largest_of(out));
      value = result.value;
      scale.reshape({-1}).narrow(0, start, count).copy_(result.scale);
    } else {
      if (quant_scale.defined()) value = value.div(quant_scale[group]);
      if (quant_offset.defined()) value = value.add(quant_offset[group]);
    }
    mx::write_stepped(steps.narrow(0, start, count), value, round_mode);
  }
}

// ---- after a sum and its normalization -----------------------------------------------------------------------------
// Of the dimensions that gamma has.
static at::Tensor normalized(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, double eps,
                             const at::Tensor& sum) {
  const auto result = kernels::add_rms_norm(a, b, gamma, eps);
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

void add_rms_norm_dynamic_like(const at::Tensor& a, const at::Tensor& b, const at::Tensor& smooth1,
                               const at::Tensor& smooth2, Checked<bool> mask, const at::Tensor& out1,
                               const at::Tensor& out2, const at::Tensor& sum, const at::Tensor& scale1,
                               const at::Tensor& scale2) {
  like(b, a), like(sum, a);
  SIM_CHECK(!mask.empty() || smooth1.defined() || !smooth2.defined(), "smoothScale2Optional without the first");
  set_default(mask, smooth1, smooth2);
  SIM_CHECK(mask.size() == 2 && (mask[0] || mask[1]), "outputMask asks for neither of the two results");
  SIM_CHECK((mask[0] || !smooth1.defined()) && (mask[1] || !smooth2.defined()),
            "a smoothScale of a result that outputMask leaves out");
  SIM_CHECK_DTYPE(!mask[0] || !mask[1] || out1.scalar_type() == out2.scalar_type(), "y1Out is ", out1.scalar_type(),
                  " and y2Out ", out2.scalar_type(), "; allowed: the same");
  if (mask[0]) dynamic_rows_like(out1, a, scale1);
  if (mask[1]) dynamic_rows_like(out2, a, scale2);
}

void add_rms_norm_dynamic(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const at::Tensor& smooth1,
                          const at::Tensor& smooth2, const at::Tensor& beta, double eps, Checked<bool> mask,
                          const at::Tensor& out1, const at::Tensor& out2, const at::Tensor& sum,
                          const at::Tensor& scale1, const at::Tensor& scale2) {
  set_default(mask, smooth1, smooth2);
  const auto value = shifted(normalized(a, b, gamma, eps, sum), beta);
  if (mask[0]) write_dynamic(symmetric(smooth(value, smooth1), mx::largest_of(out1)), out1, scale1, {});
  if (mask[1]) write_dynamic(symmetric(smooth(value, smooth2), mx::largest_of(out2)), out2, scale2, {});
}

void add_rms_norm_like(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const at::Tensor& out1,
                       const at::Tensor& out2, const at::Tensor& sum, const at::Tensor& norm) {
  like(b, a), like(sum, a), like(norm, a), mx::stepped_like(out1, a);
  if (given(out2)) mx::stepped_like(out2, a);
  const int64_t outer = a.dim() - gamma.dim();
  SIM_CHECK(outer >= 0 && gamma.sizes() == a.sizes().slice(size_t(outer)), "gamma ", gamma.sizes(),
            " for the last dimensions of ", a.sizes());
}

void add_rms_norm_quant(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const at::Tensor& scale1,
                        const at::Tensor& scale2, const at::Tensor& zero1, const at::Tensor& zero2,
                        const at::Tensor& beta, double eps, bool divide, const at::Tensor& out1, const at::Tensor& out2,
                        const at::Tensor& sum, const at::Tensor& norm) {
  const auto normal = normalized(a, b, gamma, eps, sum), value = shifted(normal, beta);
  write(norm, normal);
  auto quantize = [&](const at::Tensor& out, const at::Tensor& scale, const at::Tensor& zero) {
    write(out, mx::stepped(steps_of(value, scale, zero, divide), out));
  };
  quantize(out1, scale1, zero1);
  // Without a scale of its own the pages say nothing of the second result; op-plugin's tests for an Ascend950 have it
  // with the scale 1.
  if (given(out2)) quantize(out2, scale2.defined() ? scale2 : at::ones({1}), zero2);
}

}  // namespace sim::quant
