// Boxes of detection models: overlaps, and pooling of regions.
#include "kernels/boxes.h"

#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void write_penalized(const at::Tensor& out, const at::Tensor& aspect, const kernels::Generalized& result) {
  write(out, result.overlap.reshape(out.sizes()));
  write(aspect, result.aspect.reshape(out.sizes()));
}

}  // namespace

// One row a box; the graph's operator has one row a ground truth, and leaves eps out of what the two share: op-plugin's
// tests of either tell them apart.
ACLNN(Iou, (In, boxes, In, truths, Text, mode, float, eps, bool, aligned, Out, out),
      kernels::overlaps_like(boxes, truths, mode, eps, aligned, out),
      write(out, aligned ? kernels::overlaps(boxes, truths, eps, mode == "iof", true, true)
                         : kernels::overlaps(boxes, truths, eps, mode == "iof", false, true).t()))
ACLNN(CIoU, (In, boxes, In, truths, bool, centred, bool, cross, Text, mode, Out, out, Out, aspect),
      kernels::penalized_like(boxes, truths, cross, mode, out, aspect),
      write_penalized(out, aspect,
                      kernels::generalized_overlaps(boxes, truths, centred, cross,
                                                    kernels::Penalty::distance_and_aspect)))
// These two have no page: torch_npu says what it passes, and the graph's operators are the same.
ACLNN(ROIAlign,
      (In, features, In, rois, float, scale, int64_t, height, int64_t, width, int64_t, samples, int64_t, end_mode, Out,
       out),
      kernels::regions_like(rois, {scale, height, width, samples, end_mode == 1}, end_mode, features, out),
      write(out, kernels::roi_align(features, rois, {scale, height, width, samples, end_mode == 1})))
ACLNN(ROIAlignBackward,
      (In, grad, In, rois, Ints, sizes, int64_t, width, int64_t, height, float, scale, int64_t, samples, int64_t,
       end_mode, Out, out),
      (shape(out, sizes),
       kernels::regions_like(rois, {scale, height, width, samples, end_mode == 1}, end_mode, out, grad)),
      write(out, kernels::roi_align_backward(grad, rois, {scale, height, width, samples, end_mode == 1}, sizes)))
