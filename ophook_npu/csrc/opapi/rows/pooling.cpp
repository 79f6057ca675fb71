// Pooling of lines, planes and volumes.
#include "kernels/members.h"
#include "kernels/pooling.h"
#include "kernels/scatter.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;

namespace {

// Only the batch may be empty.
void of_planes(const at::Tensor& images) {
  const int64_t first = std::max<int64_t>(images.dim() - 3, 0);
  SIM_CHECK(c10::multiply_integers(images.sizes().slice(size_t(first))) != 0, "images of shape ", images.sizes(),
            "; planes, height and width of 0 are not allowed");
}

// Of an average over `dims` dimensions: one number or one for each, and of strides perhaps none.
void averaged_by(size_t dims, const Dims& stride, const Dims& padding) {
  const auto fits = [&](const Dims& of) { return of.size() == 1 || of.size() == dims; };
  SIM_CHECK(fits(padding) && (stride.empty() || fits(stride)), "strides ", stride, " and paddings ", padding,
            " for windows of ", dims, " dimensions");
}

// The gradient of a pooling: `grad` has the result's shape.
void pooled_from(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& out, const kernels::Window& window) {
  like(out, self), shape(grad, kernels::pooled_sizes(self.sizes(), window));
}

// The gradient of an adaptive pooling over the last `dims` dimensions.
void adapted_from(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& out, int64_t dims) {
  like(out, self);
  const int64_t outer = self.dim() - dims;
  SIM_CHECK((outer == 1 || outer == 2) && grad.dim() == self.dim(), "gradOutput ", grad.sizes(), " for self ",
            self.sizes(), "; ", dims + 1, " or ", dims + 2, " dimensions of both are allowed");
}

// The places of a maximum are numbers of INT32 where an Ascend950 may have INT64.
void placed_in_32_bits(const at::Tensor& self, int64_t dims) {
  const int64_t places = c10::multiply_integers(self.sizes().slice(size_t(self.dim() - dims)));
  SIM_CHECK(places <= INT32_MAX || product_is("Ascend950"), "self ", self.sizes(), " has ", places,
            " places in one image; allowed: up to ", INT32_MAX);
}

// Of an average what is before them is one for both; of a maximum CANN does not look.
void averaged_from(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& out, int64_t dims) {
  adapted_from(grad, self, out, dims);
  const auto outer = size_t(self.dim() - dims);
  SIM_CHECK(grad.sizes().slice(0, outer) == self.sizes().slice(0, outer), "gradOutput ", grad.sizes(), " for self ",
            self.sizes());
}

// Of one average for all places CANN fills and multiplies, in DOUBLE as well; its operator for more has none.
void for_one_place(const at::Tensor& grad) {
  if (grad.scalar_type() == at::kDouble) shape(grad, kernels::last_replaced(grad.sizes(), {1, 1, 1}));
}

// out has `size` in the place of self's last dimensions.
void resized(const at::Tensor& out, const at::Tensor& self, const Dims& size, size_t dims) {
  SIM_CHECK(size.size() == dims, dims, " sizes expected, got ", at::IntArrayRef(size));
  shape(out, kernels::last_replaced(self.sizes(), size));
}

// For each place of a window one bit for each result of a plane, in whole blocks, and one block more.
void masks(const at::Tensor& mask, const at::Tensor& out, const Dims& kernel) {
  const int64_t blocks = (out.size(-2) * out.size(-1) + 15) / 16 + 1;
  shape(mask, kernels::last_replaced(out.sizes(), {of_each(kernel, 0, 1) * of_each(kernel, 1, 1), blocks * 32}));
}

void write_masked(const at::Tensor& out, const at::Tensor& mask, const kernels::Maxima& result) {
  write(out, result.y);
  kernels::write_places(mask, result.places);
}

void one_step(const Dims& dilation) {
  for (const int64_t each : dilation) SIM_CHECK(each == 1, "dilations ", dilation, "; allowed: 1");
}

// What is padded is half a window at most, and only an Ascend950 leaves steps out within a window.
void of_volumes(const Dims& kernel, const Dims& padding, const Dims& dilation) {
  for (size_t i = 0; i < 3; ++i)
    SIM_CHECK(of_each(padding, i, 0) <= of_each(kernel, i, 1) / 2, "padding ", padding, " for windows of ", kernel);
  if (!product_is("Ascend950")) one_step(dilation);
}

// (batch, channels, 1, …)
void one_each(const at::Tensor& out, const at::Tensor& self) {
  SIM_CHECK(self.dim() >= 4 && self.dim() <= 8, "a tensor of shape ", self.sizes(), "; 4 to 8 dimensions expected");
  reduced(out, self, sim::last_dims(self.dim() - 2), true);
}

}  // namespace

// maximum
#define WINDOWS Ints, kernel, Ints, stride, Ints, padding, Ints, dilation, bool, ceil_mode
#define OVER(axes) (kernels::Window{.dims = axes, .size = kernel, NAMED(stride, padding, dilation, ceil_mode)})
ACLNN(MaxPool2dWithMask, (In, self, WINDOWS, Out, out, Out, mask),
      (of_planes(self), shape(out, kernels::pooled_sizes(self.sizes(), OVER(2))), masks(mask, out, kernel)),
      write_masked(out, mask, kernels::maxima(self, OVER(2))))
ACLNN(MaxPool2dWithMaskBackward, (In, grad, In, self, In, mask, WINDOWS, Out, out),
      (of_planes(self), pooled_from(grad, self, out, OVER(2))),
      write(out, kernels::maxima_backward_masked(grad, self, OVER(2), mask)))
#define MAX_POOL(Op, dims, check, check_backward)                                               \
  ACLNN(Op, (In, self, WINDOWS, Out, out, Out, found),                                          \
        (check, shape(out, kernels::pooled_sizes(self.sizes(), OVER(dims))), like(found, out)), \
        kernels::write_members({out, found}, kernels::maxima(self, OVER(dims))))                \
  ACLNN(Op##Backward, (In, grad, In, self, In, found, WINDOWS, Out, out),                       \
        (check_backward, pooled_from(grad, self, out, OVER(dims))),                             \
        write(out, kernels::maxima_backward(grad, self, OVER(dims), found)))
MAX_POOL(MaxPool2dWithIndices, 2, of_planes(self), of_planes(self))
MAX_POOL(MaxPool3dWithArgmax, 3, of_volumes(kernel, padding, dilation), when_run())
#define ADAPTIVE_MAX_POOL(dims)                                                      \
  ACLNN(AdaptiveMaxPool##dims##d, (In, self, Ints, size, Out, out, Out, found),      \
        (resized(out, self, size, dims), like(found, out)),                          \
        write({out, found}, at::adaptive_max_pool##dims##d(wide(self), size)))       \
  ACLNN(AdaptiveMaxPool##dims##dBackward, (In, grad, In, self, In, found, Out, out), \
        (adapted_from(grad, self, out, dims), placed_in_32_bits(self, dims)),        \
        write(out, kernels::adaptive_maxima_backward(grad, self, found, dims)))
ADAPTIVE_MAX_POOL(2)
ADAPTIVE_MAX_POOL(3)
ACLNN(MaxUnpool2d, (In, self, In, found, Ints, size, Out, out), (kept(out, self), resized(out, self, size, 2)),
      write(out, kernels::max_unpool(self, found, size)))
ACLNN(MaxUnpool3d, (In, self, In, found, Ints, size, Ints, stride, Ints, padding, Out, out),
      resized(out, self, size, 3), write(out, kernels::max_unpool(self, found, size)))

ACLNN(MaxPool,
      (In, self, Ints, kernel, Ints, stride, int64_t, auto_pad, Ints, padding, Ints, dilation, int64_t, ceil_mode, Out,
       out),
      SIM_CHECK(auto_pad == 0, "autoPad ", auto_pad, "; allowed: 0 (NOTSET)");
      SIM_CHECK(kernel.size() == 1 || kernel.size() == 2, "kernelShape has ", kernel.size(), " sizes; allowed: 1, 2");
      one_step(dilation);
      shape(out, kernels::padded_maxima_sizes(self.sizes(), {2, kernel, stride, padding, {}, ceil_mode != 0})),
      write(out, kernels::maxima_padded(self, {2, kernel, stride, padding, {}, ceil_mode != 0})))

// average
#define AVERAGED(axes) \
  (kernels::Window{.dims = axes, .size = kernel, NAMED(stride, padding), .dilation = {}, NAMED(ceil_mode)})
#define AVERAGE_POOL(dims, ...)                                                                                    \
  ACLNN(AvgPool##dims##d,                                                                                          \
        (In, self, Ints, kernel, Ints, stride, Ints, padding, bool, ceil_mode, bool, count_pad, int64_t,           \
         by, ##__VA_ARGS__, Out, out),                                                                             \
        (averaged_by(dims, stride, padding), shape(out, kernels::pooled_sizes(self.sizes(), AVERAGED(dims)))),     \
        write(out, kernels::average(self, AVERAGED(dims), count_pad, by)))                                         \
  ACLNN(AvgPool##dims##dBackward,                                                                                  \
        (In, grad, In, self, Ints, kernel, Ints, stride, Ints, padding, bool, ceil_mode, bool, count_pad, int64_t, \
         by, ##__VA_ARGS__, Out, out),                                                                             \
        pooled_from(grad, self, out, AVERAGED(dims)),                                                              \
        write(out, kernels::average_backward(grad, self.sizes(), AVERAGED(dims), count_pad, by)))
AVERAGE_POOL(2, Cube, mode)
AVERAGE_POOL(3)
ACLNN(GlobalAveragePool, (In, self, Out, out), one_each(out, self),
      write(out, at::mean(wide(self), sim::last_dims(self.dim() - 2), true)))
ACLNN(GlobalMaxPool, (In, self, Out, out), one_each(out, self),
      write(out, at::amax(self, sim::last_dims(self.dim() - 2), true)))
ACLNN(AdaptiveAvgPool2d, (In, self, Ints, size, Out, out), resized(out, self, size, 2),
      write(out, kernels::adaptive_average(self, size)))
ACLNN(AdaptiveAvgPool2dBackward, (In, grad, In, self, Out, out), averaged_from(grad, self, out, 2),
      write(out, kernels::adaptive_average_backward(grad, self.sizes())))
ACLNN(AdaptiveAvgPool3d, (In, self, Ints, size, Out, out), resized(out, self, size, 3),
      write(out, kernels::adaptive_average(self, size)))
ACLNN(AdaptiveAvgPool3dBackward, (In, grad, In, self, Out, out), averaged_from(grad, self, out, 3);
      SIM_CHECK(grad.numel() || !self.numel(), "gradOutput ", grad.sizes(), " has no elements");
      for_one_place(grad), write(out, at::_adaptive_avg_pool3d_backward(wide(grad), wide(self))))
