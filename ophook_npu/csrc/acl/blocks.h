// Tensors in private formats, whose elements lie in blocks: operators by type see them as they are without blocks.
//   FRACTAL_NZ  (…, rows, columns)    as (…, columns / c0, rows / r0, r0, c0)
//   NC1HWC0     (n, c, h, w)          as (n, c / c0, h, w, c0)
//   FRACTAL_Z   (n, c, h, w)          as (c / c0 * h * w, n / n0, n0, c0)
//   NHWC, HWCN  (n, c, h, w)          as (n, h, w, c) and (h, w, c, n): images and filters of another order
// What reaches beyond the tensor is zero.
#pragma once

#include "acl/operator_description.h"

namespace sim::acl {

// An image or a filter of another order, described as one of NCHW that lies in that order; others as they are.
aclTensorDesc in_nchw(const aclTensorDesc& desc);
std::vector<int64_t> from_nchw(aclFormat format, const std::vector<int64_t>& sizes);
bool lies_in_other_order(const aclTensorDesc& desc);  // NHWC or HWCN, of four dimensions

// Whether the tensor lies in blocks.
bool in_blocks(const aclTensorDesc& desc);
// "", or why the simulator cannot take it apart.
std::string problem_of_blocks(const aclTensorDesc& desc);

class Blocks {
 public:
  explicit Blocks(const aclTensorDesc& desc);
  size_t bytes() const { return size_t(elements_) * item_; }  // without blocks
  size_t bytes_in_blocks() const { return size_t(elements_in_blocks_) * item_; }
  void take_apart(const void* blocks, void* plain) const;
  void put_together(const void* plain, void* blocks) const;

 private:
  // The place in the blocks of each element, in the order of the tensor.
  template <typename F>
  void each(F move) const;

  aclFormat format_;
  std::vector<int64_t> sizes_, storage_;
  size_t item_;
  int64_t elements_ = 1, elements_in_blocks_ = 1;
};

}  // namespace sim::acl
