// Dropout with a mask that holds a byte an element.
#include "aclnn.h"
#include "ge_rows.h"
#include "random.h"

namespace sim::ge_table {
namespace {

// A byte for each element of a tensor of shape `shape`; callers may ask for more, in one dimension.
void mask_rule(Shaper& s) { s.out(kUint8, std::nullopt); }

// The same seeds give the same mask, as on the device.
at::Tensor byte_mask(const Args& a) {
  auto seed = static_cast<uint64_t>(a.integer("seed", 0)), offset = static_cast<uint64_t>(a.integer("seed2", 0));
  at::Tensor out = a.output(0);
  return aclnn::draw_kept(out.numel(), *a.number(1), seed, offset).to(at::kByte).reshape(out.sizes());
}

void dropout_rule(Shaper& s) {
  if (s.dtype(1) != kUint8) throw Refused("its mask must be uint8, it is " + s.describe(1));
  same(s);
}
at::Tensor dropout(const Args& a) {
  double keep = *a.number(2);
  at::Tensor x = aclnn::wide(a[0]);
  return keep == 0 ? at::zeros_like(x) : at::where(a[1].flatten().narrow(0, 0, x.numel()).reshape(x.sizes()).ne(0), x / keep, 0);
}

}  // namespace

const Table& random_rows() {
  static const Table table = {
      ROW(DropOutGenMaskV3, "shape prob -> y | seed:Int=0 seed2:Int=0", mask_rule, byte_mask(a))
      ROW(DropOutDoMaskV3,  "x mask keep_prob -> y", dropout_rule, dropout(a))
  };
  return table;
}

}  // namespace sim::ge_table
