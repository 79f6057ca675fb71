// Tensors made of values: filling, counting, padding.
#include "kernels/mx_quant.h"
#include "kernels/shape.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

// A step leads from the start to the end, in the output's kind of numbers. CANN does not compare how many numbers that
// gives with the output.
template <typename Number>
void leads(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step) {
  const auto from = start.to<Number>(), to = end.to<Number>(), by = step.to<Number>();
  SIM_CHECK(by != 0, "step ", step.toDouble(), " is 0 in the output's data type");
  SIM_CHECK(by > 0 ? from <= to : from >= to, "a step of ", step.toDouble(), " does not lead from ", start.toDouble(),
            " to ", end.toDouble());
}

void leads(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, const at::Tensor& out) {
  if (at::isIntegralType(out.scalar_type(), true)) leads<int64_t>(start, end, step);
  else if (out.scalar_type() == at::kDouble) leads<double>(start, end, step);
  else leads<float>(start, end, step);
}

// As many as there are of both: a longer output keeps its end, in any shape.
void write_first(const at::Tensor& out, const at::Tensor& numbers) {
  if (out.numel() == numbers.numel()) return write(out, numbers.view(out.sizes()));
  const int64_t count = std::min(out.numel(), numbers.numel());
  const at::Tensor all = out.flatten().clone();
  all.slice(0, 0, count).copy_(numbers.slice(0, 0, count));
  write(out, all.view(out.sizes()));
}

void has_diagonal(const at::Tensor& self) {
  SIM_CHECK(self.dim() >= 2, "two dimensions or more expected, got ", self.sizes());
  SIM_CHECK(self.dim() == 2 || std::all_of(self.sizes().begin(), self.sizes().end(),
                                           [&](int64_t size) { return size == self.size(0); }),
            "more than two dimensions, and not of one length: ", self.sizes());
}

// The shape that self has after padding, two numbers a dimension, the last dimension first.
Dims padded_sizes(at::IntArrayRef self, const Dims& pad) {
  SIM_CHECK(pad.size() % 2 == 0 && pad.size() <= 2 * self.size(), "a tensor of shape ", self, " and paddings ",
            at::IntArrayRef(pad), " do not belong together");
  Dims sizes = self.vec();
  for (size_t i = 0; i < pad.size(); ++i) sizes[sizes.size() - 1 - i / 2] += pad[i];
  return sizes;
}

// The same where the last `axes` dimensions are padded, behind one or two others, of which only a batch may be empty.
// `channels`: they count here as well.
void padded_like(const at::Tensor& padded, const at::Tensor& self, const Dims& pad, int64_t axes,
                 bool channels = true) {
  SIM_CHECK(int64_t(pad.size()) == 2 * axes && (self.dim() == axes + 1 || self.dim() == axes + 2), "a tensor of shape ",
            self.sizes(), " and paddings ", at::IntArrayRef(pad), " do not belong together");
  const at::IntArrayRef image = self.sizes().slice(size_t(self.dim() - axes - (channels ? 1 : 0)));
  SIM_CHECK(std::find(image.begin(), image.end(), 0) == image.end(), "a tensor of shape ", self.sizes(),
            "; only a batch may be empty");
  shape(padded, padded_sizes(self.sizes(), pad));
}
// What is put around an image is less of it than there is.
void reflected_like(const at::Tensor& padded, const at::Tensor& self, const Dims& pad, int64_t axes,
                    bool channels = true) {
  padded_like(padded, self, pad, axes, channels);
  for (size_t i = 0; i < pad.size(); ++i)
    SIM_CHECK(pad[i] < self.size(-1 - int64_t(i / 2)), "a tensor of shape ", self.sizes(), " and paddings ",
              at::IntArrayRef(pad), "; allowed: less than the dimension that is padded");
}

void expanded(const at::Tensor& self, const Dims& sizes) {
  const int64_t before = int64_t(sizes.size()) - self.dim();
  SIM_CHECK(before >= 0, sizes.size(), " sizes for a tensor of shape ", self.sizes());
  for (int64_t dim = 0; dim < self.dim(); ++dim)
    SIM_CHECK(self.size(dim) == 1 || self.size(dim) == sizes[size_t(before + dim)], "a tensor of shape ", self.sizes(),
              " is not expanded to ", sizes);
}

void once_around(const at::Tensor& self, const Dims& pad) {
  for (size_t i = 0; i < pad.size(); ++i)
    SIM_CHECK(pad[i] >= 0 && pad[i] < self.size(-1 - int64_t(i) / 2), "padding ", pad[i], " of ", self.sizes());
}

}  // namespace

// fills, and tensors made of nothing
ACLNN(InplaceFillScalar, (Out, self, Num, value), when_run(), self.fill_(value))
ACLNN(InplaceFillTensor, (Out, self, In, value), one_element(value), self.fill_(value.reshape({})))
ACLNN(InplaceFillDiagonal, (Ref, self, Num, value, bool, wrap), has_diagonal(self), self.fill_diagonal_(value, wrap))
ACLNN(InplaceZero, (Out, self), when_run(), self.zero_())
ACLNN(InplaceOne, (Out, self), when_run(), self.fill_(1))
ACLNN(InplaceCopy, (Out, self, In, source), into(self, {source}), self.copy_(source))
ACLNN(Expand, (In, self, Ints, sizes, Out, out), (expanded(self, sizes), shape(out, sizes)),
      write(out, self.expand(sizes)))
ACLNN(Arange, (Num, start, Num, end, Num, step, Out, out), leads(start, end, step, out),
      write_first(out, at::arange(start, end, step, out.scalar_type())))
ACLNN(Range, (Num, start, Num, end, Num, step, Out, out), leads(start, end, step, out),
      write_first(out, at::range(start, end, step, out.scalar_type())))
ACLNN(Linspace, (Num, start, Num, end, int64_t, steps, Out, out),
      SIM_CHECK(!start.isComplex() && !end.isComplex(), "from ", start, " to ", end,
                "; complex numbers are not allowed");
      shape(out, {steps}), write(out, at::linspace(start, end, steps, out.scalar_type())))
ACLNN(LogSpace, (Num, start, Num, end, int64_t, steps, double, base, Out, out), shape(out, {steps}),
      write(out, at::logspace(start, end, steps, base, out.scalar_type())))
ACLNN(Eye, (int64_t, n, int64_t, m, Out, out), shape(out, {n, m}), write(out, at::eye(n, m, out.options())))

// padding
ACLNN(ConstantPadNd, (In, self, Ints, pad, Num, value, Out, out),
      (sim::mx::pad_like(self, pad), shape(out, padded_sizes(self.sizes(), sim::mx::stored_pads(self, pad)))),
      sim::mx::pad(out, self, pad, value))
#define CIRCULAR_PAD(axes)                                                                               \
  ACLNN(CircularPad##axes##d, (In, self, Ints, pad, Out, out),                                           \
        (same_dtype({self, out}), padded_like(out, self, pad, axes), once_around(self, pad)),            \
        write(out, kernels::padded_in_mode(self, kernels::from_the_front(pad, self.dim()), "circular"))) \
  ACLNN(CircularPad##axes##dBackward, (In, grad, In, self, Ints, pad, Out, out),                         \
        (like(out, self), padded_like(grad, self, pad, axes), once_around(self, pad)),                   \
        write(out, kernels::padded_backward(grad, kernels::from_the_front(pad, self.dim()), "circular")))
CIRCULAR_PAD(2)
CIRCULAR_PAD(3)
#define PAD(Op, fn, axes, fits, fits_backward)                                                          \
  ACLNN(Op, (In, self, Ints, pad, Out, out), fits(out, self, pad, axes), write(out, at::fn(self, pad))) \
  ACLNN(Op##Backward, (In, grad, In, self, Ints, pad, Out, out), fits_backward,                         \
        write(out, at::fn##_backward(wide(grad), wide(self), pad)))
PAD(ReflectionPad1d, reflection_pad1d, 1, reflected_like,
    (kept(out, grad), reflected_like(grad, self, pad, 1, self.dim() == 3)))
PAD(ReflectionPad2d, reflection_pad2d, 2, reflected_like, reflected_like(grad, self, pad, 2))
PAD(ReflectionPad3d, reflection_pad3d, 3, reflected_like, reflected_like(grad, self, pad, 3))
PAD(ReplicationPad1d, replication_pad1d, 1, padded_like, (kept(out, grad), padded_like(grad, self, pad, 1)))
PAD(ReplicationPad2d, replication_pad2d, 2, padded_like, padded_like(grad, self, pad, 2))
PAD(ReplicationPad3d, replication_pad3d, 3, padded_like, (kept(out, grad), padded_like(grad, self, pad, 3)))
