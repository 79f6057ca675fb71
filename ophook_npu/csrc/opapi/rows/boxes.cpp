// Boxes of detection models: overlaps, and pooling of regions.
#include "kernels/boxes.h"
#include "kernels/members.h"

#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void write_penalized(const at::Tensor& out, const at::Tensor& aspect, const kernels::Generalized& result) {
  write(out, result.overlap.reshape(out.sizes()));
  write(aspect, result.aspect.reshape(out.sizes()));
}

kernels::Regions as_torchvision(double scale, int64_t height, int64_t width, int64_t samples, bool aligned) {
  return {NAMED(scale, height, width, samples), .far_edge = false, .aligned = aligned};
}

}  // namespace

// One row a box; the graph's operator has one row a ground truth, and leaves eps out of what the two share: op-plugin's
// tests of either tell them apart.
ACLNN(Iou, (In, boxes, In, truths, Text, mode, float, eps, bool, aligned, Out, out),
      kernels::overlaps_like(boxes, truths, mode, aligned, out),
      write(out, aligned ? kernels::overlaps(boxes, truths, eps, mode == "iof", true, true)
                         : kernels::overlaps(boxes, truths, eps, mode == "iof", false, true).t()))
ACLNN(CIoU, (In, boxes, In, truths, bool, centred, bool, cross, Text, mode, Out, out, Out, aspect),
      kernels::penalized_like(boxes, truths, mode, out, aspect),
      write_penalized(out, aspect,
                      kernels::generalized_overlaps(boxes, truths, centred, cross,
                                                    kernels::Penalty::distance_and_aspect)))
// These two have no page: torch_npu says what it passes, and the graph's operators are the same.
ACLNN(ROIAlign,
      (In, features, In, rois, float, scale, int64_t, height, int64_t, width, int64_t, samples, int64_t, end_mode, Out,
       out),
      kernels::regions_like(rois, kernels::ending({scale, height, width, samples}, end_mode), features, out),
      write(out, kernels::roi_align(features, rois, kernels::ending({scale, height, width, samples}, end_mode))))
ACLNN(ROIAlignBackward,
      (In, grad, In, rois, Ints, sizes, int64_t, width, int64_t, height, float, scale, int64_t, samples, int64_t,
       end_mode, Out, out),
      (shape(out, sizes),
       kernels::regions_like(rois, kernels::ending({scale, height, width, samples}, end_mode), out, grad)),
      write(out,
            kernels::roi_align_backward(grad, rois, kernels::ending({scale, height, width, samples}, end_mode), sizes)))
// torchvision's regions, and those of the earlier form, whose images are told apart from them.
ACLNN(RoiAlign,
      (In, features, In, rois, In, images, Text, mode, int, height, int, width, int, samples, float, scale, Out, out),
      SIM_CHECK(mode == "avg", "mode ", mode, " is not simulated; allowed: avg");
      kernels::pooled_like(kernels::with_images(rois, images), {scale, height, width, samples, false}, features, out),
      write(out,
            kernels::roi_align(features, kernels::with_images(rois, images), {scale, height, width, samples, false})))
ACLNN(RoiAlignV2,
      (In, features, In, rois, int64_t, height, int64_t, width, float, scale, int64_t, samples, bool, aligned, Out,
       out),
      kernels::pooled_like(rois, as_torchvision(scale, height, width, samples, aligned), features, out),
      write(out, kernels::roi_align(features, rois, as_torchvision(scale, height, width, samples, aligned))))
ACLNN(RoiAlignV2Backward,
      (In, grad, In, rois, Ints, sizes, int64_t, height, int64_t, width, float, scale, int64_t, samples, bool, aligned,
       Out, out),
      (shape(out, sizes),
       kernels::pooled_like(rois, as_torchvision(scale, height, width, samples, aligned), out, grad)),
      write(out,
            kernels::roi_align_backward(grad, rois, as_torchvision(scale, height, width, samples, aligned), sizes)))
ACLNN(RoiPoolingWithArgMax,
      (In, features, In, rois, int64_t, height, int64_t, width, float, scale_y, float, scale_x, Out, out, Out, places),
      kernels::pooled_like(rois, {1, height, width, 0, true}, features, out);
      like(places, out),
      kernels::write_members({out, places}, kernels::roi_maxima(features, rois, height, width, scale_y, scale_x)))
ACLNN(RoiPoolingGradWithArgMax,
      (In, grad, Ref, out, In, rois, In, places, int64_t, height, int64_t, width, double, scale),
      (kernels::pooled_like(rois, {1, height, width, 0, true}, out, grad), like(places, grad)),
      write(out, kernels::roi_maxima_backward(grad, rois, places, out)))
