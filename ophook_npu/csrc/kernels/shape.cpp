#include "kernels/shape.h"

namespace sim::kernels {

at::Tensor sliced(const at::Tensor& x, const std::vector<Slice>& slices, const Dims& dropped) {
  at::Tensor out = x;
  for (const Slice& one : slices) out = out.slice(one.dim, one.begin, one.end, one.step);
  for (const int64_t dim : dropped) out = out.squeeze(dim);
  return out;
}

at::Tensor cut_out(const at::Tensor& x, const Dims& begin, at::IntArrayRef sizes) {
  at::Tensor out = x;
  for (size_t i = 0; i < begin.size(); ++i) out = out.narrow(int64_t(i), begin[i], sizes[i]);
  return out;
}

Tensors split(const at::Tensor& x, at::IntArrayRef sizes, int64_t dim) { return at::split_with_sizes(x, sizes, dim); }

at::Tensor joined(const Tensors& parts, int64_t dim) { return at::cat(at::atleast_1d(parts), dim); }

at::Tensor chunks_joined(const Tensors& tensors, int64_t dim, int64_t chunks) {
  for (const at::Tensor& tensor : tensors)
    SIM_CHECK(tensor.dim() > wrap(dim, tensors.front()) && tensor.dim() > 0, "a tensor of shape ", tensor.sizes(),
              " has no dimension ", dim);
  return at::_chunk_cat(tensors, dim, chunks);
}

at::Tensor confusion_transposed(const at::Tensor& x, at::IntArrayRef perm, at::IntArrayRef sizes,
                                bool transpose_first) {
  return transpose_first ? x.permute(perm).reshape(sizes) : x.reshape(sizes).permute(perm);
}

at::Tensor strided_view(const at::Tensor& x, const Dims& sizes, const Dims& strides, int64_t offset) {
  int64_t last = offset;
  for (size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  SIM_CHECK(!c10::multiply_integers(sizes) || (offset >= 0 && last >= 0 && last < x.numel()),
            "its view leaves a tensor of shape ", x.sizes());
  return x.as_strided(sizes, strides, offset);
}

// ATen starts at the last dimension.
static Dims last_first(const Dims& pads, size_t first = 0) {
  Dims reversed;
  for (size_t i = pads.size() / 2; i-- > first;) reversed.insert(reversed.end(), {pads[2 * i], pads[2 * i + 1]});
  return reversed;
}

at::Tensor padded(const at::Tensor& x, const Dims& pads, const at::Scalar& value) {
  return at::constant_pad_nd(x, last_first(pads), value);
}

// ATen reflects the last dimensions of a tensor with batch and channels in front.
at::Tensor reflected(const at::Tensor& x, const Dims& pads) {
  size_t first = 0;
  while (first < pads.size() / 2 && !pads[2 * first] && !pads[2 * first + 1]) ++first;
  if (first == pads.size() / 2) return x;
  at::Tensor rows = x.flatten(0, int64_t(first) - (first ? 1 : 0));
  if (!first) rows = rows.unsqueeze(0);
  Dims sizes = x.sizes().vec();
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] += pads[2 * i] + pads[2 * i + 1];
  return at::pad(rows.unsqueeze(0), last_first(pads, first), "reflect").reshape(sizes);
}

at::Tensor repeat_interleave_backward(const at::Tensor& grad, const at::Tensor& repeats, int64_t dim) {
  Dims sizes = grad.sizes().vec();
  sizes[wrap(dim, grad)] = repeats.size(0);
  auto owners = at::repeat_interleave(repeats.to(at::kLong));
  return at::zeros(sizes, wide(grad).scalar_type()).index_add_(dim, owners, wide(grad));
}

}  // namespace sim::kernels
