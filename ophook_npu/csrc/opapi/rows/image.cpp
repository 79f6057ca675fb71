// Resampling, padding and patches of images.
#include "kernels/mx_quant.h"
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

// grad has the shape that self has after padding, two numbers for each of the last `axes` dimensions, the last one
// first.
void padded_like(const at::Tensor& grad, const at::Tensor& self, const Dims& pad, int64_t axes) {
  SIM_CHECK(int64_t(pad.size()) == 2 * axes && (self.dim() == axes + 1 || self.dim() == axes + 2), "a tensor of shape ",
            self.sizes(), " and paddings ", at::IntArrayRef(pad), " do not belong together");
  Dims sizes = self.sizes().vec();
  for (size_t i = 0; i < pad.size(); ++i) sizes[sizes.size() - 1 - i / 2] += pad[i];
  shape(grad, sizes);
}

}  // namespace

ACLNN(UpsampleNearest1d, (In, self, Ints, size, Out, out), when_run(),
      write(out, at::upsample_nearest1d(wide(self), size)))
ACLNN(UpsampleNearest1dV2, (In, self, Ints, size, float, s, Out, out), when_run(),
      write(out, at::upsample_nearest1d(wide(self), size, scale(s, self.sizes(), size, 0))))
ACLNN(UpsampleNearest2d, (In, self, Ints, size, Out, out), when_run(),
      write(out, at::upsample_nearest2d(wide(self), size)))
ACLNN(UpsampleNearest2dV2, (In, self, Ints, size, float, h, float, w, Out, out), when_run(),
      write(out,
            at::upsample_nearest2d(wide(self), size, scale(h, self.sizes(), size, 1), scale(w, self.sizes(), size, 0))))
ACLNN(UpsampleNearest3d, (In, self, Ints, size, double, d, double, h, double, w, Out, out), when_run(),
      write(out, at::upsample_nearest3d(wide(self), size, scale(d, self.sizes(), size, 2),
                                        scale(h, self.sizes(), size, 1), scale(w, self.sizes(), size, 0))))
ACLNN(UpsampleNearestExact1d, (In, self, Ints, size, double, s, Out, out), when_run(),
      write(out, at::_upsample_nearest_exact1d(wide(self), size, scale(s, self.sizes(), size, 0))))
ACLNN(UpsampleNearestExact2d, (In, self, Ints, size, double, h, double, w, Out, out), when_run(),
      write(out, at::_upsample_nearest_exact2d(wide(self), size, scale(h, self.sizes(), size, 1),
                                               scale(w, self.sizes(), size, 0))))
ACLNN(UpsampleNearestExact3d, (In, self, Ints, size, double, d, double, h, double, w, Out, out), when_run(),
      write(out, at::_upsample_nearest_exact3d(wide(self), size, scale(d, self.sizes(), size, 2),
                                               scale(h, self.sizes(), size, 1), scale(w, self.sizes(), size, 0))))
ACLNN(UpsampleLinear1d, (In, self, Ints, size, bool, corners, double, s, Out, out), when_run(),
      write(out, at::upsample_linear1d(wide(self), size, corners, scale(s, self.sizes(), size, 0))))
ACLNN(UpsampleBilinear2d, (In, self, Ints, size, bool, corners, double, h, double, w, Out, out), when_run(),
      write(out, at::upsample_bilinear2d(wide(self), size, corners, scale(h, self.sizes(), size, 1),
                                         scale(w, self.sizes(), size, 0))))
ACLNN(UpsampleBilinear2dAA, (In, self, Ints, size, bool, corners, double, h, double, w, Out, out), when_run(),
      write(out, at::_upsample_bilinear2d_aa(wide(self), size, corners, scale(h, self.sizes(), size, 1),
                                             scale(w, self.sizes(), size, 0))))
ACLNN(UpsampleBicubic2d, (In, self, Ints, size, bool, corners, double, h, double, w, Out, out), when_run(),
      write(out, at::upsample_bicubic2d(wide(self), size, corners, scale(h, self.sizes(), size, 1),
                                        scale(w, self.sizes(), size, 0))))
ACLNN(UpsampleBicubic2dAA, (In, self, Ints, size, bool, corners, double, h, double, w, Out, out), when_run(),
      write(out, at::_upsample_bicubic2d_aa(wide(self), size, corners, scale(h, self.sizes(), size, 1),
                                            scale(w, self.sizes(), size, 0))))
ACLNN(UpsampleTrilinear3d, (In, self, Ints, size, bool, corners, double, d, double, h, double, w, Out, out), when_run(),
      write(out, at::upsample_trilinear3d(wide(self), size, corners, scale(d, self.sizes(), size, 2),
                                          scale(h, self.sizes(), size, 1), scale(w, self.sizes(), size, 0))))

ACLNN(UpsampleNearest1dBackward, (In, grad, Ints, size, Ints, input, double, s, Out, out), shape(out, input),
      write(out, at::upsample_nearest1d_backward(wide(grad), size, input, scale(s, input, size, 0))))
ACLNN(UpsampleNearest2dBackward, (In, grad, Ints, size, Ints, input, double, h, double, w, Out, out), shape(out, input),
      write(out, at::upsample_nearest2d_backward(wide(grad), size, input, scale(h, input, size, 1),
                                                 scale(w, input, size, 0))))
ACLNN(UpsampleNearest3dBackward, (In, grad, Ints, size, Ints, input, double, d, double, h, double, w, Out, out),
      shape(out, input),
      write(out, at::upsample_nearest3d_backward(wide(grad), size, input, scale(d, input, size, 2),
                                                 scale(h, input, size, 1), scale(w, input, size, 0))))
ACLNN(UpsampleNearestExact1dBackward, (In, grad, Ints, size, Ints, input, double, s, Out, out), shape(out, input),
      write(out, at::_upsample_nearest_exact1d_backward(wide(grad), size, input, scale(s, input, size, 0))))
ACLNN(UpsampleNearestExact2dBackward, (In, grad, Ints, size, Ints, input, double, h, double, w, Out, out),
      shape(out, input),
      write(out, at::_upsample_nearest_exact2d_backward(wide(grad), size, input, scale(h, input, size, 1),
                                                        scale(w, input, size, 0))))
ACLNN(UpsampleNearestExact3dBackward, (In, grad, Ints, size, Ints, input, double, d, double, h, double, w, Out, out),
      shape(out, input),
      write(out, at::_upsample_nearest_exact3d_backward(wide(grad), size, input, scale(d, input, size, 2),
                                                        scale(h, input, size, 1), scale(w, input, size, 0))))
ACLNN(UpsampleLinear1dBackward, (In, grad, Ints, size, Ints, input, bool, corners, double, s, Out, out),
      shape(out, input),
      write(out, at::upsample_linear1d_backward(wide(grad), size, input, corners, scale(s, input, size, 0))))
ACLNN(UpsampleBilinear2dBackward, (In, grad, Ints, size, Ints, input, bool, corners, double, h, double, w, Out, out),
      shape(out, input),
      write(out, at::upsample_bilinear2d_backward(wide(grad), size, input, corners, scale(h, input, size, 1),
                                                  scale(w, input, size, 0))))
ACLNN(UpsampleBilinear2dBackwardV2, (In, grad, Ints, size, Ints, input, bool, corners, double, h, double, w, Out, out),
      shape(out, input),
      write(out, at::upsample_bilinear2d_backward(wide(grad), size, input, corners, scale(h, input, size, 1),
                                                  scale(w, input, size, 0))))
ACLNN(UpsampleBilinear2dAABackward, (In, grad, Ints, size, Ints, input, bool, corners, double, h, double, w, Out, out),
      shape(out, input),
      write(out, at::_upsample_bilinear2d_aa_backward(wide(grad), size, input, corners, scale(h, input, size, 1),
                                                      scale(w, input, size, 0))))
ACLNN(UpsampleBicubic2dBackward, (In, grad, Ints, size, Ints, input, bool, corners, double, h, double, w, Out, out),
      shape(out, input),
      write(out, at::upsample_bicubic2d_backward(wide(grad), size, input, corners, scale(h, input, size, 1),
                                                 scale(w, input, size, 0))))
ACLNN(UpsampleBicubic2dAAGrad, (In, grad, Ints, size, Ints, input, bool, corners, double, h, double, w, Out, out),
      shape(out, input),
      write(out, at::_upsample_bicubic2d_aa_backward(wide(grad), size, input, corners, scale(h, input, size, 1),
                                                     scale(w, input, size, 0))))
ACLNN(UpsampleTrilinear3dBackward,
      (In, grad, Ints, size, Ints, input, bool, corners, double, d, double, h, double, w, Out, out), shape(out, input),
      write(out, at::upsample_trilinear3d_backward(wide(grad), size, input, corners, scale(d, input, size, 2),
                                                   scale(h, input, size, 1), scale(w, input, size, 0))))

ACLNN(AffineGrid, (In, theta, Ints, size, bool, corners, Out, out), when_run(),
      write(out, at::affine_grid_generator(wide(theta), size, corners)))
ACLNN(GridSampler2D, (In, self, In, grid, int64_t, interpolation, int64_t, padding, bool, corners, Out, out),
      when_run(), write(out, at::grid_sampler_2d(wide(self), wide(grid), interpolation, padding, corners)))
ACLNN(GridSampler3D, (In, self, In, grid, int64_t, interpolation, int64_t, padding, bool, corners, Out, out),
      when_run(), write(out, at::grid_sampler_3d(wide(self), wide(grid), interpolation, padding, corners)))
ACLNN(GridSampler2DBackward,
      (In, grad, In, self, In, grid, int64_t, interpolation, int64_t, padding, bool, corners, Bools, mask, Out, out,
       Out, out_grid),
      like(out, self),
      write({out, out_grid}, at::grid_sampler_2d_backward(wide(grad), wide(self), wide(grid), interpolation, padding,
                                                          corners, {true, true})))
ACLNN(GridSampler3DBackward,
      (In, grad, In, self, In, grid, int64_t, interpolation, int64_t, padding, bool, corners, Bools, mask, Out, out,
       Out, out_grid),
      like(out, self),
      write({out, out_grid}, at::grid_sampler_3d_backward(wide(grad), wide(self), wide(grid), interpolation, padding,
                                                          corners, {true, true})))
ACLNN(ChannelShuffle, (In, self, int64_t, groups, Out, out), like(out, self),
      write(out, at::channel_shuffle(self.contiguous(), groups)))
ACLNN(Im2col, (In, self, Ints, kernel, Ints, dilation, Ints, padding, Ints, stride, Out, out), when_run(),
      write(out, at::im2col(self, kernel, dilation, padding, stride)))
ACLNN(Im2colBackward, (In, self, Ints, size, Ints, kernel, Ints, dilation, Ints, padding, Ints, stride, Out, out),
      when_run(), write(out, at::col2im(self, size, kernel, dilation, padding, stride)))

ACLNN(ConstantPadNd, (In, self, Ints, pad, Num, value, Out, out), sim::mx::pad_like(self, pad),
      sim::mx::pad(out, self, pad, value))
ACLNN(ReflectionPad1d, (In, self, Ints, pad, Out, out), when_run(), write(out, at::reflection_pad1d(self, pad)))
ACLNN(ReflectionPad2d, (In, self, Ints, pad, Out, out), when_run(), write(out, at::reflection_pad2d(self, pad)))
ACLNN(ReflectionPad3d, (In, self, Ints, pad, Out, out), when_run(), write(out, at::reflection_pad3d(self, pad)))
ACLNN(ReplicationPad1d, (In, self, Ints, pad, Out, out), when_run(), write(out, at::replication_pad1d(self, pad)))
ACLNN(ReplicationPad2d, (In, self, Ints, pad, Out, out), when_run(), write(out, at::replication_pad2d(self, pad)))
ACLNN(ReplicationPad3d, (In, self, Ints, pad, Out, out), when_run(), write(out, at::replication_pad3d(self, pad)))
ACLNN(ReflectionPad1dBackward, (In, grad, In, self, Ints, pad, Out, out),
      (like(out, self), padded_like(grad, self, pad, 1)),
      write(out, at::reflection_pad1d_backward(wide(grad), wide(self), pad)))
ACLNN(ReflectionPad2dBackward, (In, grad, In, self, Ints, pad, Out, out),
      (like(out, self), padded_like(grad, self, pad, 2)),
      write(out, at::reflection_pad2d_backward(wide(grad), wide(self), pad)))
ACLNN(ReflectionPad3dBackward, (In, grad, In, self, Ints, pad, Out, out),
      (like(out, self), padded_like(grad, self, pad, 3)),
      write(out, at::reflection_pad3d_backward(wide(grad), wide(self), pad)))
ACLNN(ReplicationPad1dBackward, (In, grad, In, self, Ints, pad, Out, out),
      (like(out, self), padded_like(grad, self, pad, 1)),
      write(out, at::replication_pad1d_backward(wide(grad), wide(self), pad)))
ACLNN(ReplicationPad2dBackward, (In, grad, In, self, Ints, pad, Out, out),
      (like(out, self), padded_like(grad, self, pad, 2)),
      write(out, at::replication_pad2d_backward(wide(grad), wide(self), pad)))
ACLNN(ReplicationPad3dBackward, (In, grad, In, self, Ints, pad, Out, out),
      (like(out, self), padded_like(grad, self, pad, 3)),
      write(out, at::replication_pad3d_backward(wide(grad), wide(self), pad)))
