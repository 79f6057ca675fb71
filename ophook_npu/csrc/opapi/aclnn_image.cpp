// Resampling, padding and patches of images.
#include "opapi/aclnn.h"

#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/_upsample_bicubic2d_aa_backward.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/_upsample_bilinear2d_aa_backward.h>
#include <ATen/ops/_upsample_nearest_exact1d.h>
#include <ATen/ops/_upsample_nearest_exact1d_backward.h>
#include <ATen/ops/_upsample_nearest_exact2d.h>
#include <ATen/ops/_upsample_nearest_exact2d_backward.h>
#include <ATen/ops/_upsample_nearest_exact3d.h>
#include <ATen/ops/_upsample_nearest_exact3d_backward.h>
#include <ATen/ops/affine_grid_generator.h>
#include <ATen/ops/channel_shuffle.h>
#include <ATen/ops/col2im.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/grid_sampler_2d.h>
#include <ATen/ops/grid_sampler_2d_backward.h>
#include <ATen/ops/grid_sampler_3d.h>
#include <ATen/ops/grid_sampler_3d_backward.h>
#include <ATen/ops/im2col.h>
#include <ATen/ops/reflection_pad1d.h>
#include <ATen/ops/reflection_pad1d_backward.h>
#include <ATen/ops/reflection_pad2d.h>
#include <ATen/ops/reflection_pad2d_backward.h>
#include <ATen/ops/reflection_pad3d.h>
#include <ATen/ops/reflection_pad3d_backward.h>
#include <ATen/ops/replication_pad1d.h>
#include <ATen/ops/replication_pad1d_backward.h>
#include <ATen/ops/replication_pad2d.h>
#include <ATen/ops/replication_pad2d_backward.h>
#include <ATen/ops/replication_pad3d.h>
#include <ATen/ops/replication_pad3d_backward.h>
#include <ATen/ops/upsample_bicubic2d.h>
#include <ATen/ops/upsample_bicubic2d_backward.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_bilinear2d_backward.h>
#include <ATen/ops/upsample_linear1d.h>
#include <ATen/ops/upsample_linear1d_backward.h>
#include <ATen/ops/upsample_nearest1d.h>
#include <ATen/ops/upsample_nearest1d_backward.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/upsample_nearest2d_backward.h>
#include <ATen/ops/upsample_nearest3d.h>
#include <ATen/ops/upsample_nearest3d_backward.h>
#include <ATen/ops/upsample_trilinear3d.h>
#include <ATen/ops/upsample_trilinear3d_backward.h>

using namespace sim::aclnn;

namespace {

// A scale that was not given arrives as 0 or less.
std::optional<double> scale(double value) { return value > 0 ? std::optional<double>(value) : std::nullopt; }

}  // namespace

// clang-format off
ACLNN(UpsampleNearest1d,       (In,self, Ints,size, Out,out),                                                               when_run(), write(out, at::upsample_nearest1d(self, size)))
ACLNN(UpsampleNearest1dV2,     (In,self, Ints,size, float,s, Out,out),                                                      when_run(), write(out, at::upsample_nearest1d(self, size, scale(s))))
ACLNN(UpsampleNearest2d,       (In,self, Ints,size, Out,out),                                                               when_run(), write(out, at::upsample_nearest2d(self, size)))
ACLNN(UpsampleNearest2dV2,     (In,self, Ints,size, float,h, float,w, Out,out),                                             when_run(), write(out, at::upsample_nearest2d(self, size, scale(h), scale(w))))
ACLNN(UpsampleNearest3d,       (In,self, Ints,size, double,d, double,h, double,w, Out,out),                                 when_run(), write(out, at::upsample_nearest3d(self, size, scale(d), scale(h), scale(w))))
ACLNN(UpsampleNearestExact1d,  (In,self, Ints,size, double,s, Out,out),                                                     when_run(), write(out, at::_upsample_nearest_exact1d(self, size, scale(s))))
ACLNN(UpsampleNearestExact2d,  (In,self, Ints,size, double,h, double,w, Out,out),                                           when_run(), write(out, at::_upsample_nearest_exact2d(self, size, scale(h), scale(w))))
ACLNN(UpsampleNearestExact3d,  (In,self, Ints,size, double,d, double,h, double,w, Out,out),                                 when_run(), write(out, at::_upsample_nearest_exact3d(self, size, scale(d), scale(h), scale(w))))
ACLNN(UpsampleLinear1d,        (In,self, Ints,size, bool,corners, double,s, Out,out),                                       when_run(), write(out, at::upsample_linear1d(self, size, corners, scale(s))))
ACLNN(UpsampleBilinear2d,      (In,self, Ints,size, bool,corners, double,h, double,w, Out,out),                             when_run(), write(out, at::upsample_bilinear2d(self, size, corners, scale(h), scale(w))))
ACLNN(UpsampleBilinear2dAA,    (In,self, Ints,size, bool,corners, double,h, double,w, Out,out),                             when_run(), write(out, at::_upsample_bilinear2d_aa(wide(self), size, corners, scale(h), scale(w))))
ACLNN(UpsampleBicubic2d,       (In,self, Ints,size, bool,corners, double,h, double,w, Out,out),                             when_run(), write(out, at::upsample_bicubic2d(self, size, corners, scale(h), scale(w))))
ACLNN(UpsampleBicubic2dAA,     (In,self, Ints,size, bool,corners, double,h, double,w, Out,out),                             when_run(), write(out, at::_upsample_bicubic2d_aa(wide(self), size, corners, scale(h), scale(w))))
ACLNN(UpsampleTrilinear3d,     (In,self, Ints,size, bool,corners, double,d, double,h, double,w, Out,out),                   when_run(), write(out, at::upsample_trilinear3d(self, size, corners, scale(d), scale(h), scale(w))))

ACLNN(UpsampleNearest1dBackward,      (In,grad, Ints,size, Ints,input, double,s, Out,out),                                  shape(out, input), write(out, at::upsample_nearest1d_backward(wide(grad), size, input, scale(s))))
ACLNN(UpsampleNearest2dBackward,      (In,grad, Ints,size, Ints,input, double,h, double,w, Out,out),                        shape(out, input), write(out, at::upsample_nearest2d_backward(wide(grad), size, input, scale(h), scale(w))))
ACLNN(UpsampleNearest3dBackward,      (In,grad, Ints,size, Ints,input, double,d, double,h, double,w, Out,out),              shape(out, input), write(out, at::upsample_nearest3d_backward(wide(grad), size, input, scale(d), scale(h), scale(w))))
ACLNN(UpsampleNearestExact1dBackward, (In,grad, Ints,size, Ints,input, double,s, Out,out),                                  shape(out, input), write(out, at::_upsample_nearest_exact1d_backward(wide(grad), size, input, scale(s))))
ACLNN(UpsampleNearestExact2dBackward, (In,grad, Ints,size, Ints,input, double,h, double,w, Out,out),                        shape(out, input), write(out, at::_upsample_nearest_exact2d_backward(wide(grad), size, input, scale(h), scale(w))))
ACLNN(UpsampleNearestExact3dBackward, (In,grad, Ints,size, Ints,input, double,d, double,h, double,w, Out,out),              shape(out, input), write(out, at::_upsample_nearest_exact3d_backward(wide(grad), size, input, scale(d), scale(h), scale(w))))
ACLNN(UpsampleLinear1dBackward,       (In,grad, Ints,size, Ints,input, bool,corners, double,s, Out,out),                    shape(out, input), write(out, at::upsample_linear1d_backward(wide(grad), size, input, corners, scale(s))))
ACLNN(UpsampleBilinear2dBackward,     (In,grad, Ints,size, Ints,input, bool,corners, double,h, double,w, Out,out),          shape(out, input), write(out, at::upsample_bilinear2d_backward(wide(grad), size, input, corners, scale(h), scale(w))))
ACLNN(UpsampleBilinear2dBackwardV2,   (In,grad, Ints,size, Ints,input, bool,corners, double,h, double,w, Out,out),          shape(out, input), write(out, at::upsample_bilinear2d_backward(wide(grad), size, input, corners, scale(h), scale(w))))
ACLNN(UpsampleBilinear2dAABackward,   (In,grad, Ints,size, Ints,input, bool,corners, double,h, double,w, Out,out),          shape(out, input), write(out, at::_upsample_bilinear2d_aa_backward(wide(grad), size, input, corners, scale(h), scale(w))))
ACLNN(UpsampleBicubic2dBackward,      (In,grad, Ints,size, Ints,input, bool,corners, double,h, double,w, Out,out),          shape(out, input), write(out, at::upsample_bicubic2d_backward(wide(grad), size, input, corners, scale(h), scale(w))))
ACLNN(UpsampleBicubic2dAAGrad,        (In,grad, Ints,size, Ints,input, bool,corners, double,h, double,w, Out,out),          shape(out, input), write(out, at::_upsample_bicubic2d_aa_backward(wide(grad), size, input, corners, scale(h), scale(w))))
ACLNN(UpsampleTrilinear3dBackward,    (In,grad, Ints,size, Ints,input, bool,corners, double,d, double,h, double,w, Out,out), shape(out, input), write(out, at::upsample_trilinear3d_backward(wide(grad), size, input, corners, scale(d), scale(h), scale(w))))

ACLNN(AffineGrid,            (In,theta, Ints,size, bool,corners, Out,out),                                                  when_run(),      write(out, at::affine_grid_generator(wide(theta), size, corners)))
ACLNN(GridSampler2D,         (In,self, In,grid, int64_t,interpolation, int64_t,padding, bool,corners, Out,out),             when_run(),      write(out, at::grid_sampler_2d(wide(self), wide(grid), interpolation, padding, corners)))
ACLNN(GridSampler3D,         (In,self, In,grid, int64_t,interpolation, int64_t,padding, bool,corners, Out,out),             when_run(),      write(out, at::grid_sampler_3d(wide(self), wide(grid), interpolation, padding, corners)))
ACLNN(GridSampler2DBackward, (In,grad, In,self, In,grid, int64_t,interpolation, int64_t,padding, bool,corners, Bools,mask, Out,out, Out,out_grid), like(out, self), write({out, out_grid}, at::grid_sampler_2d_backward(wide(grad), wide(self), wide(grid), interpolation, padding, corners, {true, true})))
ACLNN(GridSampler3DBackward, (In,grad, In,self, In,grid, int64_t,interpolation, int64_t,padding, bool,corners, Bools,mask, Out,out, Out,out_grid), like(out, self), write({out, out_grid}, at::grid_sampler_3d_backward(wide(grad), wide(self), wide(grid), interpolation, padding, corners, {true, true})))
ACLNN(ChannelShuffle,        (In,self, int64_t,groups, Out,out),                                                            like(out, self), write(out, at::channel_shuffle(self.contiguous(), groups)))
ACLNN(Im2col,                (In,self, Ints,kernel, Ints,dilation, Ints,padding, Ints,stride, Out,out),                     when_run(),      write(out, at::im2col(self, kernel, dilation, padding, stride)))
ACLNN(Im2colBackward,        (In,self, Ints,size, Ints,kernel, Ints,dilation, Ints,padding, Ints,stride, Out,out),          when_run(),      write(out, at::col2im(self, size, kernel, dilation, padding, stride)))

ACLNN(ConstantPadNd,            (In,self, Ints,pad, Num,value, Out,out),   when_run(),      write(out, at::constant_pad_nd(self, pad, value)))
ACLNN(ReflectionPad1d,          (In,self, Ints,pad, Out,out),              when_run(),      write(out, at::reflection_pad1d(self, pad)))
ACLNN(ReflectionPad2d,          (In,self, Ints,pad, Out,out),              when_run(),      write(out, at::reflection_pad2d(self, pad)))
ACLNN(ReflectionPad3d,          (In,self, Ints,pad, Out,out),              when_run(),      write(out, at::reflection_pad3d(self, pad)))
ACLNN(ReplicationPad1d,         (In,self, Ints,pad, Out,out),              when_run(),      write(out, at::replication_pad1d(self, pad)))
ACLNN(ReplicationPad2d,         (In,self, Ints,pad, Out,out),              when_run(),      write(out, at::replication_pad2d(self, pad)))
ACLNN(ReplicationPad3d,         (In,self, Ints,pad, Out,out),              when_run(),      write(out, at::replication_pad3d(self, pad)))
ACLNN(ReflectionPad1dBackward,  (In,grad, In,self, Ints,pad, Out,out),     like(out, self), write(out, at::reflection_pad1d_backward(wide(grad), wide(self), pad)))
ACLNN(ReflectionPad2dBackward,  (In,grad, In,self, Ints,pad, Out,out),     like(out, self), write(out, at::reflection_pad2d_backward(wide(grad), wide(self), pad)))
ACLNN(ReflectionPad3dBackward,  (In,grad, In,self, Ints,pad, Out,out),     like(out, self), write(out, at::reflection_pad3d_backward(wide(grad), wide(self), pad)))
ACLNN(ReplicationPad1dBackward, (In,grad, In,self, Ints,pad, Out,out),     like(out, self), write(out, at::replication_pad1d_backward(wide(grad), wide(self), pad)))
ACLNN(ReplicationPad2dBackward, (In,grad, In,self, Ints,pad, Out,out),     like(out, self), write(out, at::replication_pad2d_backward(wide(grad), wide(self), pad)))
ACLNN(ReplicationPad3dBackward, (In,grad, In,self, Ints,pad, Out,out),     like(out, self), write(out, at::replication_pad3d_backward(wide(grad), wide(self), pad)))
// clang-format on
