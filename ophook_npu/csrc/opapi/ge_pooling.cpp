// Pooling and normalisation of planes, (batch, channels, height, width), as convolutional networks use them for inference.
#include "aclnn.h"
#include "ge_rows.h"

namespace sim::ge_table {
namespace {

using aclnn::wide;

// Height and width of an attribute with a value for each of four dimensions.
std::vector<int64_t> plane(const Call& call, const char* attr) {
  const std::vector<int64_t> all = call.integers(attr);
  if (all.size() != 4 || all[0] != 1 || all[1] != 1) throw Refused(std::string(attr) + " needs 4 values, the first two 1");
  return {all[2], all[3]};
}

std::vector<int64_t> paddings(const Call& call) {
  const std::vector<int64_t> pads = call.integers("pads", {0, 0, 0, 0});
  if (pads.size() != 4 || pads[0] != pads[1] || pads[2] != pads[3])
    throw Refused("pads needs 4 values; paddings that differ in front and behind are not simulated");
  return {pads[0], pads[2]};
}

void average_rule(Shaper& s) {
  s.only("data_format", "NCHW");
  s.only("padding_mode", "CALCULATED");
  if (s.flag("global_pooling")) throw Refused("global_pooling is not simulated");
  const auto kernel = plane(s, "ksize"), strides = plane(s, "strides"), pads = paddings(s);
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
  return at::avg_pool2d(wide(a[0]), plane(a, "ksize"), plane(a, "strides"), paddings(a), a.flag("ceil_mode"), !a.flag("exclusive", true),
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
