// Boxes of detection models: overlaps, regression targets, suppression, pooling of regions.
#pragma once

#include "kernels/pattern.h"
#include "kernels/tensors.h"

namespace sim::kernels {

inline constexpr Text kPairs{"n 4, n 4 -> n 1"};             // boxes by their overlap
inline constexpr Text kColumnPairs{"4 n, 4 n -> 1 n, 1 n"};  // of which a row is a coordinate
inline constexpr Text kPooledRegions{"_ channels _ _, n 5 -> n channels =height =width"};

// Each of `boxes` (N, 4) against each of `truths` (M, 4), as (M, N): what they share over both together or, of_truth,
// over the truth; `pairs`: each box against the truth of its place, as (N, 1). eps makes every box wider and higher,
// and with `wider` what they share as well. Every step is rounded to the boxes' type, as on the device.
at::Tensor overlaps(const at::Tensor& boxes, const at::Tensor& truths, double eps, bool of_truth, bool pairs,
                    bool wider);
void overlaps_like(const at::Tensor& boxes, const at::Tensor& truths, const std::string& mode, bool pairs,
                   const at::Tensor& out);

// Overlaps of boxes (4, N) and (4, M), as corners or, `centred`, as centre and size: pair by pair, or each with each.
enum class Penalty { enclosing, distance, distance_and_aspect };
struct Generalized {
  at::Tensor overlap, aspect;  // the difference of the angles whose tangents are width over height; of the last penalty
};
Generalized generalized_overlaps(const at::Tensor& boxes, const at::Tensor& truths, bool centred, bool each,
                                 Penalty penalty);
// Of boxes as centre and size, pair by pair; without the aspect's penalty.
struct OverlapGradients {
  at::Tensor boxes, truths;
};
OverlapGradients generalized_overlaps_backward(const at::Tensor& grad, const at::Tensor& boxes,
                                               const at::Tensor& truths, Penalty penalty);
void penalized_like(const at::Tensor& boxes, const at::Tensor& truths, const std::string& mode, const at::Tensor& out,
                    const at::Tensor& aspect);

// ---- regression targets ------------------------------------------------------------------------------------------
// Of boxes (N, 4) whose far edge belongs to them. means and stds have four values; limits are height and width, or
// none.
at::Tensor encode_boxes(const at::Tensor& anchors, const at::Tensor& truths, const std::vector<float>& means,
                        const std::vector<float>& stds);
at::Tensor decode_boxes(const at::Tensor& anchors, const at::Tensor& deltas, const std::vector<float>& means,
                        const std::vector<float>& stds, double ratio_clip, const Dims& limits);
// (B, 5, N): corners and an angle in degrees, whose tangent the target is of.
at::Tensor encode_rotated(const at::Tensor& anchors, const at::Tensor& truths);
at::Tensor decode_rotated(const at::Tensor& anchors, const at::Tensor& deltas);
at::Tensor encode_yolo(const at::Tensor& anchors, const at::Tensor& truths, const at::Tensor& stride);

// Of boxes (N, 4 or more), the best first: which of them overlap none that stays before them by more than this.
at::Tensor unsuppressed(const at::Tensor& boxes, double most);

// All of them without what comes after the score, their places, and a byte for each: 1 stays.
struct Suppressed {
  at::Tensor boxes, places, mask;
};
Suppressed suppressed(const at::Tensor& boxes, double most);

// ---- regions (M, 5): the image's number and the corners ------------------------------------------------------------
struct Regions {
  double scale;
  int64_t height, width, samples;  // of the result; 0 samples: as many as the region has pixels
  bool far_edge = false;           // it belongs to the region
  bool aligned = false;            // pixels have their numbers at their centres, and a region may be smaller than one
};
// `end_mode`, of the device: 0 as given; 1 the far edge belongs to the region; 2 and 3 aligned, as PyTorch and as
// mmdetection have it, which is one thing.
Regions ending(Regions how, int64_t end_mode);
void regions_like(const at::Tensor& rois, const Regions& how, const at::Tensor& features, const at::Tensor& pooled);
void pooled_like(const at::Tensor& rois, const Regions& how, const at::Tensor& features, const at::Tensor& pooled);
at::Tensor with_images(const at::Tensor& rois, const at::Tensor& images);  // (M, 4) and (M)
at::Tensor roi_align(const at::Tensor& features, const at::Tensor& rois, const Regions& how);
at::Tensor roi_align_backward(const at::Tensor& grad, const at::Tensor& rois, const Regions& how,
                              at::IntArrayRef sizes);

// The largest number of each cell, and its place in the plane; 0 and -1 of a cell without pixels.
struct RegionMaxima {
  at::Tensor y, places;
};
RegionMaxima roi_maxima(const at::Tensor& features, const at::Tensor& rois, int64_t height, int64_t width,
                        double scale_y, double scale_x);
// x with the sums of what came to the places that are named, in their stead.
at::Tensor roi_maxima_backward(const at::Tensor& grad, const at::Tensor& rois, const at::Tensor& places,
                               const at::Tensor& x);

// Whether corners (n, 4) lie in an image of (height, width, ratio), whose pixels end at ratio times its sizes less 1.
at::Tensor within_image(const at::Tensor& corners, const at::Tensor& image);

}  // namespace sim::kernels
