// Resampling and patches of images.
#include "kernels/pooling.h"
#include "kernels/scatter.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

// torch_npu says 0 or -1 for a scale that was not given. One that was given counts as in torch, also where it does not
// make the output's size; but 1 stands in for none where it does not. axis counts from the last dimension.
std::optional<double> scale(double value, at::IntArrayRef input, at::IntArrayRef output, size_t axis) {
  SIM_CHECK(input.size() > axis + 2 && output.size() > axis, "an image of shape ", input, " and sizes ", output,
            " do not belong together");
  const double size = double(input[input.size() - 1 - axis]);
  const bool given = value > 0 && (value != 1 || int64_t(size) == output[output.size() - 1 - axis]);
  return given ? std::optional<double>(value) : std::nullopt;
}

// A batch of images of other sizes. These functions take no batch without a channel: their checks ask for one.
void with_channels(at::IntArrayRef self, bool and_batch = false) {
  SIM_CHECK(self.size() < 2 || (self[1] > 0 && (!and_batch || self[0] > 0)), "an image of shape ", self,
            " without elements");
}
void resampled(const at::Tensor& out, at::IntArrayRef self, at::IntArrayRef size, size_t axes) {
  SIM_CHECK(self.size() == axes + 2 && size.size() == axes, "an image of shape ", self, " and sizes ", size,
            " do not belong together; ", axes, " of them expected");
  for (size_t i = 0; i < axes; ++i)
    SIM_CHECK(self[i + 2] > 0 && size[i] > 0, "an image of shape ", self, " and sizes ", size, "; none may be empty");
  Dims sizes = self.vec();
  std::copy(size.begin(), size.end(), sizes.last(axes));
  shape(out, sizes);
}
void resampled_from(const at::Tensor& grad, at::IntArrayRef self, at::IntArrayRef size, const at::Tensor& out) {
  shape(out, self), resampled(grad, self, size, size.size());
}

// What a grid points into.
void with_places(const at::Tensor& self) {
  SIM_CHECK(self.dim() < 4 || (self.size(-1) && self.size(-2)), "an image of shape ", self.sizes(),
            "; height and width may not be 0");
}

// Coordinates for images of `size` (N, C, …).
void grid_of(const at::Tensor& out, const at::Tensor& theta, const Dims& size) {
  SIM_CHECK(size.size() == 4 || size.size() == 5, "4 or 5 sizes expected, got ", at::IntArrayRef(size));
  const int64_t axes = int64_t(size.size()) - 2;
  shape(theta, {size[0], axes, axes + 1});
  Dims sizes{size[0]};
  sizes.insert(sizes.end(), size.begin() + 2, size.end());
  sizes.push_back(axes);
  shape(out, sizes);
}

// (batch, channels · a window's elements, windows) of images (batch, channels, height, width), both perhaps without the
// batch.
void unfolded(const at::Tensor& out, const at::Tensor& image, const Dims& kernel, const Dims& dilation,
              const Dims& padding, const Dims& stride) {
  SIM_CHECK(image.dim() == 3 || image.dim() == 4, "an image of shape ", image.sizes(), "; 3 or 4 dimensions expected");
  for (int64_t size : image.sizes().slice(image.dim() - 3))
    SIM_CHECK(size > 0, "an image of shape ", image.sizes(), "; only the batch may be empty");
  int64_t windows = 1;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = of_each(dilation, i, 1) * (of_each(kernel, i, 1) - 1) + 1;
    const int64_t room = image.size(int64_t(i) - 2) + 2 * of_each(padding, i, 0) - reach;
    SIM_CHECK(room >= 0, "a window over ", reach, " elements in an image of shape ", image.sizes());
    windows *= divided(room, of_each(stride, i, 1)) + 1;
  }
  Dims sizes{image.size(-3) * of_each(kernel, 0, 1) * of_each(kernel, 1, 1), windows};
  if (image.dim() == 4) sizes.insert(sizes.begin(), image.size(0));
  shape(out, sizes);
}
void folded(const at::Tensor& out, const at::Tensor& self, const Dims& size, const Dims& kernel, const Dims& dilation,
            const Dims& padding, const Dims& stride) {
  SIM_CHECK(out.dim() == self.dim() + 1 && size.size() == 2 && out.sizes().slice(out.dim() - 2) == size,
            "the output has shape ", out.sizes(), " for sizes ", at::IntArrayRef(size));
  unfolded(self, out, kernel, dilation, padding, stride);
}

}  // namespace

ACLNN(UpsampleNearest1d, (In, self, Ints, size, Out, out), resampled(out, self.sizes(), size, 1),
      write(out, at::upsample_nearest1d(wide(self), size)))
ACLNN(UpsampleNearest2d, (In, self, Ints, size, Out, out), (kept(out, self), resampled(out, self.sizes(), size, 2)),
      write(out, at::upsample_nearest2d(wide(self), size)))
// The scales along the axes, of an image of such sizes.
#define ALONG_1(input) scale(w, input, size, 0)
#define ALONG_2(input) scale(h, input, size, 1), scale(w, input, size, 0)
#define ALONG_3(input) scale(d, input, size, 2), scale(h, input, size, 1), scale(w, input, size, 0)
#define SCALES_1(type) type, w
#define SCALES_2(type) type, h, type, w
#define SCALES_3(type) type, d, type, h, type, w
#define NEAREST(Op, axes, type, more_checks, fn)                   \
  ACLNN(Op, (In, self, Ints, size, SCALES_##axes(type), Out, out), \
        (more_checks, resampled(out, self.sizes(), size, axes)),   \
        write(out, at::fn(wide(self), size, ALONG_##axes(self.sizes()))))
NEAREST(UpsampleNearest1dV2, 1, float, with_channels(self.sizes()), upsample_nearest1d)
NEAREST(UpsampleNearest2dV2, 2, float, kept(out, self), upsample_nearest2d)
NEAREST(UpsampleNearest3d, 3, double, (kept(out, self), with_channels(self.sizes())), upsample_nearest3d)
NEAREST(UpsampleNearestExact1d, 1, double, (kept(out, self), with_channels(self.sizes(), true)),
        _upsample_nearest_exact1d)
NEAREST(UpsampleNearestExact2d, 2, double, when_run(), _upsample_nearest_exact2d)
NEAREST(UpsampleNearestExact3d, 3, double, with_channels(self.sizes()), _upsample_nearest_exact3d)
#define INTERPOLATED(Op, axes, more_checks, fn)                                     \
  ACLNN(Op, (In, self, Ints, size, bool, corners, SCALES_##axes(double), Out, out), \
        (more_checks, resampled(out, self.sizes(), size, axes)),                    \
        write(out, at::fn(wide(self), size, corners, ALONG_##axes(self.sizes()))))
INTERPOLATED(UpsampleLinear1d, 1, with_channels(self.sizes()), upsample_linear1d)
INTERPOLATED(UpsampleBilinear2d, 2, when_run(), upsample_bilinear2d)
INTERPOLATED(UpsampleBilinear2dAA, 2, with_channels(self.sizes(), true), _upsample_bilinear2d_aa)
INTERPOLATED(UpsampleBicubic2d, 2, when_run(), upsample_bicubic2d)
INTERPOLATED(UpsampleBicubic2dAA, 2, when_run(), _upsample_bicubic2d_aa)
INTERPOLATED(UpsampleTrilinear3d, 3, with_channels(self.sizes()), upsample_trilinear3d)

#define NEAREST_BACKWARD(Op, axes, fn)                                            \
  ACLNN(Op, (In, grad, Ints, size, Ints, input, SCALES_##axes(double), Out, out), \
        resampled_from(grad, input, size, out), write(out, at::fn(wide(grad), size, input, ALONG_##axes(input))))
NEAREST_BACKWARD(UpsampleNearest1dBackward, 1, upsample_nearest1d_backward)
NEAREST_BACKWARD(UpsampleNearest2dBackward, 2, upsample_nearest2d_backward)
NEAREST_BACKWARD(UpsampleNearest3dBackward, 3, upsample_nearest3d_backward)
NEAREST_BACKWARD(UpsampleNearestExact1dBackward, 1, _upsample_nearest_exact1d_backward)
NEAREST_BACKWARD(UpsampleNearestExact2dBackward, 2, _upsample_nearest_exact2d_backward)
NEAREST_BACKWARD(UpsampleNearestExact3dBackward, 3, _upsample_nearest_exact3d_backward)
#define INTERPOLATED_BACKWARD(Op, axes, fn)                                                      \
  ACLNN(Op, (In, grad, Ints, size, Ints, input, bool, corners, SCALES_##axes(double), Out, out), \
        resampled_from(grad, input, size, out),                                                  \
        write(out, at::fn(wide(grad), size, input, corners, ALONG_##axes(input))))
INTERPOLATED_BACKWARD(UpsampleLinear1dBackward, 1, upsample_linear1d_backward)
INTERPOLATED_BACKWARD(UpsampleBilinear2dBackward, 2, upsample_bilinear2d_backward)
INTERPOLATED_BACKWARD(UpsampleBilinear2dBackwardV2, 2, upsample_bilinear2d_backward)
INTERPOLATED_BACKWARD(UpsampleBilinear2dAABackward, 2, _upsample_bilinear2d_aa_backward)
INTERPOLATED_BACKWARD(UpsampleBicubic2dBackward, 2, upsample_bicubic2d_backward)
INTERPOLATED_BACKWARD(UpsampleBicubic2dAAGrad, 2, _upsample_bicubic2d_aa_backward)
INTERPOLATED_BACKWARD(UpsampleTrilinear3dBackward, 3, upsample_trilinear3d_backward)

ACLNN(AffineGrid, (In, theta, Ints, size, bool, corners, Out, out), grid_of(out, theta, size),
      write(out, at::affine_grid_generator(wide(theta), size, corners)))
#define GRID_SAMPLER(axes)                                                                                             \
  ACLNN(GridSampler##axes##D, (In, self, In, grid, int64_t, interpolation, int64_t, padding, bool, corners, Out, out), \
        with_places(self),                                                                                             \
        write(out, at::grid_sampler_##axes##d(wide(self), wide(grid), interpolation, padding, corners)))               \
  ACLNN(GridSampler##axes##DBackward,                                                                                  \
        (In, grad, In, self, In, grid, int64_t, interpolation, int64_t, padding, bool, corners, Bools, mask, Out, out, \
         Out, out_grid),                                                                                               \
        ,                                                                                                              \
        write({out, out_grid}, at::grid_sampler_##axes##d_backward(wide(grad), wide(self), wide(grid), interpolation,  \
                                                                   padding, corners, {true, true})))
GRID_SAMPLER(2)
GRID_SAMPLER(3)
ACLNN(Resize, (In, self, Floats, scales, Text, mode, Out, out),
      SIM_CHECK(mode == "nearest" || mode == "bilinear", "mode ", mode, "; allowed: nearest, bilinear");
      shape(out, kernels::resized_sizes(self, scales)),
      mode == "nearest" ? write(out, at::upsample_nearest2d(wide(self), out.sizes().slice(2)))
                        : write(out, at::upsample_bilinear2d(wide(self), out.sizes().slice(2), false)))
ACLNN(ThreeInterpolateBackward, (In, grad, In, places, In, weight, int, m, Out, out),
      kernels::three_points_like(grad, places, weight, m, out),
      write(out, kernels::three_points_backward(grad, places, weight, m).reshape(out.sizes())))
ACLNN(ChannelShuffle, (In, self, int64_t, groups, Out, out), kept(out, self);
      SIM_CHECK(groups > 0 && self.dim() > 2 && self.size(1) % groups == 0, "groups ", groups, " of ", self.sizes()),
      write(out, at::channel_shuffle(self.contiguous(), groups)))
ACLNN(Im2col, (In, self, Ints, kernel, Ints, dilation, Ints, padding, Ints, stride, Out, out),
      (kept(out, self), unfolded(out, self, kernel, dilation, padding, stride)),
      write(out, at::im2col(self, kernel, dilation, padding, stride)))
ACLNN(Im2colBackward, (In, self, Ints, size, Ints, kernel, Ints, dilation, Ints, padding, Ints, stride, Out, out),
      folded(out, self, size, kernel, dilation, padding, stride),
      write(out, at::col2im(self, size, kernel, dilation, padding, stride)))
