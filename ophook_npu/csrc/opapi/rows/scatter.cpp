// Slices taken and put by index, and gradients that are such a move.
#include "kernels/members.h"
#include "kernels/scatter.h"

#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void unpool_like(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& found, const Dims& size,
                 const at::Tensor& out) {
  like(found, self), like(out, self);
  const size_t outer = size_t(grad.dim()) - std::min(size_t(grad.dim()), size.size());
  SIM_CHECK(grad.dim() == self.dim() && grad.sizes().slice(outer) == size &&
                grad.sizes().slice(0, outer) == self.sizes().slice(0, outer),
            "gradOutput ", grad.sizes(), " for self ", self.sizes(), " and outputSize ", size);
}

void scatter_list_like(const Tensors& list, const at::Tensor& indices, const at::Tensor& updates,
                       const std::string& reduction, int64_t axis) {
  SIM_CHECK(reduction.empty() || reduction == "update", "reduce ", reduction, "; allowed: update");
  SIM_CHECK(updates.dim() && updates.size(0) == int64_t(list.size()) && indices.dim() &&
                indices.size(0) == int64_t(list.size()),
            "updates ", updates.sizes(), " and indices ", indices.sizes(), " for ", list.size(), " tensors");
  SIM_CHECK(indices.dim() == 1 || (indices.dim() == 2 && indices.size(1) == 2), "indices ", indices.sizes());
  const int64_t at = wrap(axis, updates);
  SIM_CHECK(at > 0, "axis ", axis, " is that of the list");
  for (const at::Tensor& each : list) {
    SIM_CHECK(each.dim() + 1 == updates.dim(), "a tensor ", each.sizes(), " for updates ", updates.sizes());
    for (int64_t dim = 1; dim < updates.dim(); ++dim)
      SIM_CHECK(dim == at ? updates.size(dim) <= each.size(dim - 1) : updates.size(dim) == each.size(dim - 1),
                "a tensor ", each.sizes(), " for updates ", updates.sizes(), " along axis ", axis);
  }
}

// "ab,bc->ac"
void summed_like(const at::Tensor& out, const Tensors& tensors, const std::string& equation) {
  const size_t arrow = equation.find("->");
  SIM_CHECK(arrow != std::string::npos && equation.find('.') == std::string::npos, "equation ", equation,
            "; one with an arrow and without an ellipsis expected");
  std::array<int64_t, 128> size_of;
  size_of.fill(-1);
  Dims sizes;
  int64_t tensor = 0, dim = 0;
  for (size_t i = 0; i < equation.size(); ++i) {
    const char letter = equation[i];
    if (letter == ',') ++tensor, dim = 0;
    if (!std::isalpha(static_cast<unsigned char>(letter))) continue;
    int64_t& size = size_of[size_t(letter)];
    if (i > arrow) {
      sizes.push_back(size);
      continue;
    }
    SIM_CHECK(tensor < int64_t(tensors.size()) && dim < tensors[size_t(tensor)].dim(), "equation ", equation, " for ",
              tensors.size(), " tensors, of which it takes one for more dimensions than it has");
    const int64_t given = tensors[size_t(tensor)].size(dim++);
    SIM_CHECK(size < 0 || size == 1 || given == 1 || size == given, "dimension ", std::string(1, letter), " of ",
              equation, " has sizes ", size, " and ", given);
    size = size == -1 || size == 1 ? given : size;
  }
  SIM_CHECK(tensor + 1 == int64_t(tensors.size()), "equation ", equation, " for ", tensors.size(), " tensors");
  shape(out, sizes);
}

}  // namespace

ACLNN(ExpandIntoJaggedPermute, (In, permute, In, input_offset, In, output_offset, int64_t, size, Out, out),
      (shape(out, {size}), shape(output_offset, {permute.numel() + 1}), shape(permute, {permute.numel()}),
       shape(input_offset, {input_offset.numel()})),
      write(out, kernels::expanded_ranges(permute, input_offset, output_offset, size)))
ACLNN(MaxUnpool2dBackward, (In, grad, In, self, In, found, Ints, size, Out, out),
      (kept(out, grad), unpool_like(grad, self, found, size, out)),
      write(out, kernels::max_unpool_backward(grad, found, 2)))
ACLNN(MaxUnpool3dBackward, (In, grad, In, self, In, found, Ints, size, Ints, stride, Ints, padding, Out, out),
      (kept(out, grad), unpool_like(grad, self, found, size, out));
      SIM_CHECK(size.size() == 3 && stride.size() == 3 && padding.size() == 3, "outputSize ", at::IntArrayRef(size),
                ", stride ", at::IntArrayRef(stride), ", padding ", at::IntArrayRef(padding), "; three each expected"),
      write(out, kernels::max_unpool_backward(grad, found, 3)))
ACLNN(ScatterNdUpdate, (Ref, self, In, indices, In, updates), kernels::slices_like(self, indices, updates),
      kernels::put_slices(self, indices, updates))
ACLNN(ScatterNd, (In, self, In, indices, In, updates, Out, out), kernels::slices_like(self, indices, updates),
      write(out, kernels::scattered_slices(self, indices, updates)))
ACLNN(ScatterList, (List, list, In, indices, In, updates, In, mask, Text, reduction, int64_t, axis),
      scatter_list_like(list, indices, updates, reduction, axis), kernels::put_rows(list, indices, updates, mask, axis))
// No page: op-plugin passes the places in order, the number of each value's, and what it filled with zeros.
ACLNN(CoalesceSparse, (In, unique, In, places, In, indices, In, values, Ref, new_indices, Ref, new_values),
      kernels::coalesced_like(places, indices, values, new_indices, new_values),
      kernels::coalesced(places, indices, values, new_indices, new_values))
ACLNN(TfScatterAdd, (Ref, self, In, indices, In, updates), kernels::add_slices_like(self, indices, updates),
      kernels::add_slices(self, indices, updates))
ACLNN(ChamferDistanceBackward,
      (In, first, In, second, In, nearest_second, In, nearest_first, In, grad_first, In, grad_second, Out, out_first,
       Out, out_second),
      ,
      kernels::write_members({out_first, out_second},
                             kernels::chamfer_backward(first, second, nearest_second, nearest_first, grad_first,
                                                       grad_second)))
ACLNN(Einsum, (List, tensors, Text, equation, Out, out),
      (kept(out, tensors.front()), summed_like(out, tensors, equation)), write(out, at::einsum(equation, tensors)))
// rows combined with updates in place
#define COMBINE_ROWS(Op, how)                                                                                 \
  ACLNN(Op, (Ref, self, In, indices, In, updates, bool, locking), kernels::rows_like(self, indices, updates), \
        write(self, kernels::combined_rows(self, indices, updates, kernels::Combined::how)))
COMBINE_ROWS(ScatterMul, product)
COMBINE_ROWS(ScatterDiv, quotient)
COMBINE_ROWS(ScatterMax, most)
COMBINE_ROWS(ScatterMin, least)
