// A call that computes each element by itself, on tensors that lie in one private format: its kernel sees their
// storage, the padding of the last blocks too, and so does the row.
#pragma once

#include "opapi/places.h"

namespace sim::aclnn {

at::DimVector row_major(at::IntArrayRef sizes);  // the strides of a contiguous tensor
bool is_private(int format);                     // one that lays the elements out in blocks

class Stored {
 public:
  Stored(const Row& row, c10::ArrayRef<Given> parameters);
  // What the row sees: tensors of their storage's sizes. As it came where none lies in blocks, where they lie in
  // different ones, or where the function has an axis, sizes or the like, or no input, and an element's place matters.
  c10::ArrayRef<Given> parameters() const { return seen_.empty() ? given_ : c10::ArrayRef<Given>(seen_); }

 private:
  bool see(c10::ArrayRef<Given> parameters);

  c10::ArrayRef<Given> given_;
  GivenList seen_;
  std::vector<std::unique_ptr<aclTensor>> tensors_;
};

}  // namespace sim::aclnn
