// Joining, splitting, repeating and reordering.
#include "kernels/index.h"
#include "kernels/shape.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void of_length(const at::Tensor& out, const at::Tensor& self, int64_t dim, int64_t length) {
  shape(out, kernels::taken_sizes(self, dim, {length}));
}

void each_once(const at::Tensor& self, const Dims& dims) {
  Dims seen;
  for (int64_t dim : dims) {
    seen.push_back(wrap(dim, self));
    SIM_CHECK(std::count(seen.begin(), seen.end(), seen.back()) == 1, "dimension ", dim, " is there twice");
  }
}

void repeated_each(const at::Tensor& out, const at::Tensor& self, int64_t repeats) {
  shape(out, {self.numel() * repeats});
}

void repeated_each(const at::Tensor& out, const at::Tensor& self, int64_t repeats, int64_t dim) {
  of_length(out, self, dim, self.size(dim) * repeats);
}

// A tensor without dimensions counts as one with a single element, and an empty one of one dimension as none.
void joined_like(const at::Tensor& out, const Tensors& parts, int64_t dim) {
  Dims sizes{0};
  bool any = false;
  for (const at::Tensor& part : parts) {
    if (part.dim() == 1 && part.size(0) == 0) continue;
    Dims each = part.dim() ? Dims(part.sizes().vec()) : Dims{1};
    const size_t at = size_t(c10::maybe_wrap_dim(dim, int64_t(each.size())));
    if (any) {
      SIM_CHECK(each.size() == sizes.size(), "tensors of shapes ", sizes, " and ", part.sizes(), " are not joined");
      std::swap(each[at], sizes[at]);
      const int64_t before = each[at];
      each[at] = sizes[at];
      SIM_CHECK(each == sizes, "tensors of shapes ", sizes, " and ", part.sizes(), " are not joined");
      each[at] += before;
    }
    sizes = each, any = true;
  }
  holds(out, sizes);
}

void stacked_like(const at::Tensor& out, const Tensors& parts, int64_t dim) {
  for (const at::Tensor& part : parts) like(part, parts.front());
  Dims sizes = parts.front().sizes().vec();
  sizes.insert(sizes.begin() + c10::maybe_wrap_dim(dim, int64_t(sizes.size()) + 1), int64_t(parts.size()));
  holds(out, sizes);
}

// Each part's dimension is cut into chunks, which fill up with zeros; they stand side by side.
void chunks_like(const at::Tensor& out, const Tensors& parts, int64_t dim, int64_t chunks) {
  SIM_CHECK(chunks > 0, chunks, " chunks");
  const int64_t at = wrap(dim, parts.front());
  int64_t width = 0;
  for (const at::Tensor& part : parts) {
    SIM_CHECK(part.dim() > at, "a tensor of shape ", part.sizes(), " has no dimension ", dim);
    width += (part.size(at) + chunks - 1) / chunks * c10::multiply_integers(part.sizes().slice(size_t(at) + 1));
  }
  Dims sizes = parts.front().sizes().slice(0, size_t(at)).vec();
  sizes.insert(sizes.end(), {chunks, width});
  shape(out, sizes);
}

void parts_like(const at::Tensor& self, const Dims& sizes, int64_t dim, const Tensors& out) {
  SIM_CHECK(sizes.size() == out.size(), sizes.size(), " sizes and ", out.size(), " outputs");
  const int64_t at = wrap(dim, self);
  int64_t all = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    Dims part = self.sizes().vec();
    part[at] = sizes[i], all += sizes[i];
    shape(out[i], part);
  }
  SIM_CHECK(all == self.size(at), "parts ", sizes, " of ", self.sizes(), " along dimension ", dim);
}

void repeated(const at::Tensor& out, const at::Tensor& self, const Dims& repeats) {
  SIM_CHECK(int64_t(repeats.size()) >= self.dim(), repeats.size(), " repeats for a tensor of shape ", self.sizes());
  Dims sizes = repeats;
  auto each = sizes.last(size_t(self.dim()));
  for (const int64_t size : self.sizes()) *each++ *= size;
  holds(out, sizes);
}

void transposed_like(const at::Tensor& out, const at::Tensor& self, const Dims& perm, const Dims& sizes,
                     bool transpose_first) {
  SIM_CHECK(self.numel() == int64_t(c10::multiply_integers(sizes)), "a tensor of shape ", self.sizes(), " as ", sizes);
  if (transpose_first) return shape(out, sizes);  // then perm is the order of self's dimensions
  SIM_CHECK(perm.size() == sizes.size(), "an order ", perm, " of the shape ", sizes);
  Dims turned;
  for (const int64_t dim : perm) turned.push_back(sizes[size_t(c10::maybe_wrap_dim(dim, int64_t(sizes.size())))]);
  shape(out, turned);
}

// Its sizes may be split up. How long ranges of one length are, CANN's tiling reads from the sizes.
void gathered_ranges(const at::Tensor& out, const at::Tensor& grad, const at::Tensor& repeats, int64_t dim) {
  const int64_t along = wrap(dim, grad);
  SIM_CHECK(repeats.dim() <= 1, "repeats has shape ", repeats.sizes(), "; one dimension is expected");
  if (repeats.numel() == 1) {
    const bool whole = out.numel() && grad.numel() && grad.numel() % out.numel() == 0;
    SIM_CHECK(whole && grad.size(along) % (grad.numel() / out.numel()) == 0, "a gradient of shape ", grad.sizes(),
              " is not of whole ranges for a result of shape ", out.sizes());
    return;
  }
  Dims sizes = grad.sizes().vec();
  sizes[size_t(along)] = repeats.numel();
  SIM_CHECK(out.numel() == int64_t(c10::multiply_integers(sizes)), "the output has shape ", out.sizes(),
            ", expected one of as many elements as ", sizes);
}

void write_parts(const Tensors& out, const Tensors& parts) {
  for (size_t i = 0; i < out.size(); ++i) write(out[i], parts[i]);
}

void rolled(const at::Tensor& self, const Dims& shifts, const Dims& dims) {
  SIM_CHECK(shifts.size() == std::max<size_t>(dims.size(), 1), shifts.size(), " shifts for ", dims.size(),
            " dims; allowed: one each, or one shift and no dims");
  SIM_CHECK(self.dim() || dims.empty(), "dims for a tensor without dimensions");
  for (int64_t dim : dims) wrap(dim, self);
}

// Of a vector the matrix with it on a diagonal, of a matrix the diagonal.
void diagonal_like(const at::Tensor& out, const at::Tensor& self, int64_t diagonal) {
  SIM_CHECK(self.dim() == 1 || self.dim() == 2, "a vector or a matrix expected, got ", self.sizes());
  if (self.dim() == 1) return shape(out, Dims(2, self.numel() + std::abs(diagonal)));
  const int64_t rows = self.size(0) + std::min<int64_t>(diagonal, 0),
                columns = self.size(1) - std::max<int64_t>(diagonal, 0);
  shape(out, {std::max<int64_t>(0, std::min(rows, columns))});
}

}  // namespace

// joining, repeating, reordering
ACLNN(Cat, (List, tensors, int64_t, dim, Out, out), (kept(out, tensors.front()), joined_like(out, tensors, dim)),
      write(out, kernels::joined(tensors, dim)))
ACLNN(Stack, (List, tensors, int64_t, dim, Out, out), (kept(out, tensors.front()), stacked_like(out, tensors, dim)),
      write(out, at::stack(tensors, dim)))
ACLNN(ChunkCat, (List, tensors, int64_t, dim, int64_t, chunks, Out, out), chunks_like(out, tensors, dim, chunks),
      write(out, kernels::chunks_joined(tensors, dim, chunks).to(out.scalar_type())))
ACLNN(SplitWithSize, (In, self, Ints, sizes, int64_t, dim, List, out),
      (kept(out.front(), self), parts_like(self, sizes, dim, out)), write_parts(out, kernels::split(self, sizes, dim)))
ACLNN(SplitTensor, (In, self, uint64_t, size, int64_t, dim, List, out),
      (kept(out.front(), self), parts_like(self, kernels::even_parts(self, int64_t(size), dim), dim, out)),
      write_parts(out, kernels::split(self, kernels::even_parts(self, int64_t(size), dim), dim)))
ACLNN(Flatten, (In, self, int64_t, axis, Out, out), shape(out, kernels::flat_sizes(self, axis)),
      write(out, self.reshape(kernels::flat_sizes(self, axis))))
ACLNN(Diag, (In, self, int64_t, diagonal, Out, out), diagonal_like(out, self, diagonal),
      write(out, at::diag(self, diagonal)))
ACLNN(DiagFlat, (In, self, int64_t, diagonal, Out, out),
      (kept(out, self), shape(out, Dims(2, self.numel() + std::abs(diagonal)))),
      write(out, at::diagflat(self, diagonal)))
ACLNN(Permute, (In, self, Ints, dims, Out, out), (kept(out, self), like(out, self.permute(dims))),
      write(out, self.permute(dims)))
ACLNN(Flip, (In, self, Ints, dims, Out, out), each_once(self, dims), write(out, at::flip(self, dims)))
ACLNN(Roll, (In, self, Ints, shifts, Ints, dims, Out, out), (kept(out, self), rolled(self, shifts, dims)),
      write(out, at::roll(self, shifts, dims)))
ACLNN(Repeat, (In, self, Ints, repeats, Out, out), repeated(out, self, repeats), write(out, self.repeat(repeats)))
ACLNN(RepeatInterleave, (In, self, In, repeats, int64_t, size, Out, out),
      (shape(out, {size}), one_or_each("repeats", repeats, self.numel())),
      write(out, kernels::repeated(self, repeats, std::nullopt, size)))
ACLNN(RepeatInterleaveWithDim, (In, self, In, repeats, int64_t, dim, int64_t, size, Out, out),
      (of_length(out, self, dim, size), one_or_each("repeats", repeats, self.size(dim))),
      write(out, kernels::repeated(self, repeats, dim, size)))
ACLNN(RepeatInterleaveInt, (In, self, int64_t, repeats, int64_t, size, Out, out), repeated_each(out, self, repeats),
      write(out, at::repeat_interleave(self, repeats)))
ACLNN(RepeatInterleaveIntWithDim, (In, self, int64_t, repeats, int64_t, dim, int64_t, size, Out, out),
      repeated_each(out, self, repeats, dim), write(out, at::repeat_interleave(self, repeats, dim)))
ACLNN(RepeatInterleaveTensor, (In, repeats, int64_t, size, Out, out), shape(out, {size}),
      write(out, kernels::repeated_places(repeats, size)))
ACLNN(RepeatInterleaveGrad, (In, grad, In, repeats, int64_t, dim, Out, out),
      (kept(out, grad), gathered_ranges(out, grad, repeats, dim)),
      write(out, kernels::repeat_interleave_backward(grad, repeats, dim, out.sizes())))
ACLNN(Tril, (In, self, int64_t, diagonal, Out, out), kept(out, self), at::tril_out(out, self, diagonal))
ACLNN(Triu, (In, self, int64_t, diagonal, Out, out), kept(out, self), at::triu_out(out, self, diagonal))
ACLNN(InplaceTril, (Ref, self, int64_t, diagonal), when_run(), self.tril_(diagonal))
ACLNN(InplaceTriu, (Ref, self, int64_t, diagonal), when_run(), self.triu_(diagonal))
ACLNN(ConfusionTranspose, (In, self, Ints, perm, Ints, sizes, bool, transpose_first, Out, out),
      transposed_like(out, self, perm, sizes, transpose_first),
      write(out, kernels::confusion_transposed(self, perm, sizes, transpose_first)))
