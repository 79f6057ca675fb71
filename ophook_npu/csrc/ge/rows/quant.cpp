// Quantization by scales that are given, and by those of the rows.
#include "ge/rows/rows.h"
#include "kernels/activation_quant.h"
#include "kernels/calibration.h"
#include "kernels/quant.h"

namespace sim::ge_table {
namespace {

void quantized_rule(Shaper& s) {
  s.only("dst_type", kInt8);
  s.out(kInt8, s.shape(0));
}
void ascend_quant_rule(Shaper& s) {
  quantized_rule(s);
  if (s.complete()) quant::quantizable(s[0], s[1], s[2], s.integer("axis"), s.text("round_mode"), s.output(0));
}
at::Tensor ascend_quant(const Args& a) {
  const at::Tensor scaled = quant::scaled(a[0], a[1], a[2], a.flag("sqrt_mode"), a.integer("axis"));
  return quant::saturated(quant::rounded(scaled, a.text("round_mode")), a.output(0));
}

// A scale for each row; the second form also gives an offset.
void dynamic_rule(Shaper& s) {
  quantized_rule(s);
  s.only("is_symmetrical", 0.0);
  s.only("quant_mode", "pertoken");
  s.only("dst_type_max", 0.0);
  Shape rows = s.shape(0);
  if (rows && rows->size() < 2) throw Refused("x has rows, it is " + s.describe(0));
  if (rows) rows->pop_back();
  for (size_t i = 1; i < s.outputs(); ++i) s.out(i, kFloat, rows);
}
Results dynamic(const Args& a) {
  const at::Tensor offset = a.outputs() > 2 ? a.output(2) : at::Tensor();
  const quant::Dynamically of{.self = a[0], .smooth = a[1], .group_index = a[2]};
  const quant::Steps to{.out = a.output(0), .scale = a.output(1), .offset = offset};
  quant::dynamic_like(of, to), quant::dynamic_quant(of, to);
  return offset.defined() ? Results{a.output(0), a.output(1), offset} : Results{a.output(0), a.output(1)};
}

void encoded_rule(Shaper& s) {
  const int64_t mode = s.integer("round_mode");
  if (mode != 0 && mode != 1) throw Refused("round_mode " + std::to_string(mode) + "; allowed: 0, 1");
  s.out(kInt64, s.has(1) ? broadcast_shapes(s.shape(0), s.shape(1), s) : s.shape(0));
}

// The scale that loses least of the data.
void calibration_rule(Shaper& s) {
  s.only("quant_bits", 8.0);
  if (s.reals("search_range").size() != 2 || !(s.real("search_step") > 0))
    throw Refused("search_range needs 2 values, search_step one above 0");
  if (s.dtype(3) != kInt32) throw Refused("its cumsum must be int32, it is " + s.describe(3));
  one_number(s, 1, 3);
  for (size_t i : {0, 1}) s.out(i, kFloat, s.shape(1));
}
}  // namespace

const Family quant_rows = {
    ROW(AscendQuantV2, "x scale offset? -> y | sqrt_mode:Bool=false round_mode:String=round dst_type:Int=2 axis:Int=-1",
        ascend_quant_rule, ascend_quant(a)),
    {"DynamicQuant", "x smooth_scales? group_index? -> y scale | dst_type:Int=2", dynamic_rule, dynamic},
    {"DynamicQuantV2",
     "x smooth_scales? group_index? -> y scale offset | dst_type:Int=2 is_symmetrical:Bool=false "
     "quant_mode:String=pertoken dst_type_max:Float=0.0",
     dynamic_rule, dynamic},
    ROW(TransQuantParamV2, "scale offset? -> y | round_mode:Int=0", encoded_rule,
        quant::encoded(a[0], a[1], a.integer("round_mode") == 1)),
    EACH_OF(IFMR,
            "data data_min data_max cumsum -> scale offset | min_percentile:Float max_percentile:Float "
            "search_range:ListFloat search_step:Float with_offset:Bool quant_bits:Int=8",
            calibration_rule,
            kernels::calibrated(a[0], a[1], a[2], a[3],
                                {.least_percentile = a.real("min_percentile"),
                                 .most_percentile = a.real("max_percentile"),
                                 .first = a.reals("search_range")[0],
                                 .last = a.reals("search_range")[1],
                                 .step = a.real("search_step"),
                                 .with_offset = a.flag("with_offset")})),
};

}  // namespace sim::ge_table
