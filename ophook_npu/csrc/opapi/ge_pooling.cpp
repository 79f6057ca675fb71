// Pooling and normalisation of planes, (batch, channels, height, width), as convolutional networks use them for inference.
#include "aclnn.h"
#include "ge_rows.h"

namespace sim::ge_table {
namespace {

using aclnn::wide;

void average_rule(Shaper& s) {
  s.only("data_format", "NCHW");
  s.only("padding_mode", "CALCULATED");
  if (s.flag("global_pooling")) throw Refused("global_pooling is not simulated");
  const auto kernel = spatial(s, 2, "ksize", 1), strides = spatial(s, 2, "strides", 1), pads = equal_pads(s, 2);
  Shape shape = s.shape(0);
  if (shape && shape->size() != 4) throw Refused("its input has 4 dimensions, it is " + s.describe(0));
  for (size_t i = 0; shape && i < 2; ++i) {
    int64_t& size = (*shape)[i + 2];
    if (size < 0) continue;
    const int64_t before = size, up = s.flag("ceil_mode") ? strides[i] - 1 : 0;
    size = (before + 2 * pads[i] - kernel[i] + up) / strides[i] + 1;
    if (up && (size - 1) * strides[i] >= before + pads[i]) --size;  // no window starts behind the input
  }
  s.out(s.dtype(0), shape);
}

at::Tensor average(const Args& a) {
  const int64_t divisor = a.integer("divisor_override", 0);
  return at::avg_pool2d(wide(a[0]), spatial(a, 2, "ksize", 1), spatial(a, 2, "strides", 1), equal_pads(a, 2), a.flag("ceil_mode"), !a.flag("exclusive", true),
                        divisor ? std::optional<int64_t>(divisor) : std::nullopt);
}

void adaptive_rule(Shaper& s) {
  const auto size = s.integers("output_size");
  if (size.size() != 2) throw Refused("output_size needs 2 values, it has " + std::to_string(size.size()));
  Shape shape = s.shape(0);
  if (shape) {
    if (shape->size() < 3) throw Refused("its input has 3 or 4 dimensions, it is " + s.describe(0));
    std::copy(size.begin(), size.end(), shape->end() - 2);
  }
  s.out(s.dtype(0), shape);
}

at::Tensor normalize(const Args& a) {
  return at::batch_norm(wide(a[0]), wide(a[1]), wide(a[2]), wide(a[3]), wide(a[4]), false, 0, a.real("epsilon", 1e-5), false);
}

}  // namespace

const Table& pooling_rows() {
  static const Table table = {
      ROW(AvgPoolV2, "x -> y | ksize:ListInt strides:ListInt padding_mode:String=CALCULATED pads:ListInt={0,0,0,0} data_format:String=NCHW global_pooling:Bool=false ceil_mode:Bool=false exclusive:Bool=true divisor_override:Int=0", average_rule, average(a))
      ROW(AdaptiveAvgPool2d, "x -> y | output_size:ListInt", adaptive_rule, at::_adaptive_avg_pool2d(wide(a[0]), a.integers("output_size")))
      ROW(BNInfer, "x scale offset mean variance -> y | epsilon:Float", same, normalize(a))
  };
  return table;
}

}  // namespace sim::ge_table
