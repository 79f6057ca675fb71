// Quantization by scales that are given.
#include "ge/rows/rows.h"
#include "kernels/activation_quant.h"

namespace sim::ge_table {
namespace {

void quantized_rule(Shaper& s) {
  constexpr int32_t kInt8 = 2;
  s.only("dst_type", kInt8);
  s.out(kInt8, s.shape(0));
}
at::Tensor ascend_quant(const Args& a) {
  quant::quantizable(a[0], a[1], a.integer("axis"), a.text("round_mode"), a.output(0));
  const at::Tensor scaled = quant::scaled(a[0], a[1], a[2], a.flag("sqrt_mode"), a.integer("axis"));
  return quant::saturated(quant::rounded(scaled, a.text("round_mode")), a.output(0));
}

}  // namespace

const Family quant_rows = {
    ROW(AscendQuantV2, "x scale offset? -> y | sqrt_mode:Bool=false round_mode:String=round dst_type:Int=2 axis:Int=-1",
        quantized_rule, ascend_quant(a)),
};

}  // namespace sim::ge_table
