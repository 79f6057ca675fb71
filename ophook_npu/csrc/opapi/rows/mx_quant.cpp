// Numbers of 8 and 4 bits in blocks that share a scale, a power of two.
#include "kernels/mx_quant.h"
#include "kernels/groups.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
namespace groups = sim::groups;
namespace mx = sim::mx;

#define ALONG_ONE_AXIS(version, check, top, least, ...)                                                               \
  ACLNN(DynamicMxQuant##version,                                                                                      \
        (In, self, int64_t, axis, Text, mode, int64_t, dtype, int64_t, block, int64_t, algorithm, ##__VA_ARGS__, Out, \
         out, Out, scale),                                                                                            \
        (check, mx::quant_like(self, axis, dtype, {mode, algorithm, top, least, block}, out, scale)),                 \
        mx::quant(self, axis, {mode, algorithm, top, least, block}, out, scale))
ALONG_ONE_AXIS(, mx::without_range(algorithm), 0, 0)
ALONG_ONE_AXIS(V2, when_run(), top, 0, double, top)
ALONG_ONE_AXIS(V3, when_run(), top, least, double, top, double, least)
#define ALONG_TWO_AXES(version, check, top, ...)                                                                     \
  ACLNN(DynamicMxQuantWithDualAxis##version,                                                                         \
        (In, self, Text, mode, int64_t, dtype, int64_t, algorithm, ##__VA_ARGS__, Out, out1, Out, scale1, Out, out2, \
         Out, scale2),                                                                                               \
        (check, mx::dual_like(self, {}, dtype, {mode, algorithm, top}, {NAMED(out1, scale1, out2, scale2)})),        \
        mx::dual_quant(self, {}, {mode, algorithm, top}, {NAMED(out1, scale1, out2, scale2)}))
ALONG_TWO_AXES(, mx::without_range(algorithm), 0)
ALONG_TWO_AXES(V2, when_run(), top, double, top)
ACLNN(DynamicBlockMxQuant,
      (In, self, Text, mode, int64_t, dtype, int64_t, algorithm, double, top, Out, out, Out, scale1, Out, scale2),
      mx::square_like(self, dtype, {mode, algorithm, top}, {NAMED(out, scale1, scale2)}),
      mx::square_quant(self, {mode, algorithm, top}, {NAMED(out, scale1, scale2)}))
ACLNN(DynamicDualLevelMxQuant,
      (In, self, In, smooth, Text, mode, int64_t, block0, int64_t, block1, Out, out, Out, scale0, Out, scale1),
      mx::two_level_like(self, smooth, block0, {mode, mx::kFloor, 0, 0, block1}, {out, scale0, scale1}),
      mx::two_level_quant(self, smooth, block0, {mode, mx::kFloor, 0, 0, block1}, {out, scale0, scale1}))
ACLNN(GroupedDynamicMxQuant, (In, self, In, groups, Text, mode, int64_t, dtype, int64_t, block, Out, out, Out, scale),
      mx::grouped_like(self, groups, dtype, {mode, mx::kFloor, 0, 0, block}, out, scale),
      mx::grouped_quant(self, groups, groups::kEnds, {mode, mx::kFloor, 0, 0, block}, out, scale))
ACLNN(GroupedDynamicMxQuantV2,
      (In, self, In, groups, Text, mode, int64_t, dtype, int64_t, block, int64_t, algorithm, double, top, Out, out, Out,
       scale),
      mx::grouped_like(self, groups, dtype, {mode, algorithm, top, 0, block}, out, scale),
      mx::grouped_quant(self, groups, groups::kEnds, {mode, algorithm, top, 0, block}, out, scale))
ACLNN(GroupedDynamicMxQuantWithDualAxis,
      (In, self, In, groups, Text, mode, int64_t, algorithm, int64_t, dtype, double, top, Out, out1, Out, scale1, Out,
       out2, Out, scale2),
      SIM_CHECK(algorithm == mx::kCeil && top == 0 && (mode.empty() || mode == "rint"), "scaleAlg ", algorithm,
                ", maxDtypeValue ", top, ", roundMode ", mode, "; allowed: 1, 0, rint");
      mx::dual_like(self, groups, dtype, {"rint", algorithm}, {NAMED(out1, scale1, out2, scale2)}),
      mx::dual_quant(self, groups, {"rint", algorithm}, {NAMED(out1, scale1, out2, scale2)}))
ACLNN(MxToBlockMxQuant, (In, self, In, scale, int64_t, dtype, Out, out, Out, scale1, Out, scale2),
      mx::reblocked_like(self, scale, dtype, {NAMED(out, scale1, scale2)}),
      mx::reblocked(self, scale, {NAMED(out, scale1, scale2)}))
ACLNN(AntiMxQuant, (In, self, In, scale, int64_t, axis, int64_t, dtype, Out, out),
      mx::anti_like(self, scale, axis, dtype, out), write(out, mx::anti_quant(self, scale, axis)))
