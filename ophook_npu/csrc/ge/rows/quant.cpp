// Quantization by scales that are given, and by those of the rows.
#include "ge/rows/rows.h"
#include "kernels/calibration.h"

namespace sim::ge_table {
namespace {

void in_8_bits(Shaper& s) {
  s.only("dst_type", kInt8);
  s.out(kInt8, s.shape(0));
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
    {"AscendQuantV2", "x scale offset? -> y | sqrt_mode:Bool=false round_mode:String=round dst_type:Int=2 axis:Int=-1",
     "aclnnAscendQuantV3", in_8_bits},
    {"DynamicQuant", "x smooth_scales? group_index? -> y scale | dst_type:Int=2", "aclnnDynamicQuantV2", in_8_bits},
    {"DynamicQuantV2",
     "x smooth_scales? group_index? -> y scale offset | dst_type:Int=2 is_symmetrical:Bool=false "
     "quant_mode:String=pertoken dst_type_max:Float=0.0",
     "aclnnDynamicQuantV2", in_8_bits},
    {"TransQuantParamV2", "scale offset? -> y | round_mode:Int=0", "aclnnTransQuantParamV3"},
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
