#include "kernels/anchors.h"

namespace sim::kernels {

at::Tensor responsible_anchors(const at::Tensor& boxes, const AnchorGrid& grid) {
  const at::Tensor box = boxes.to(at::kFloat);
  const auto cell = [&](int64_t low, int64_t step, int64_t cells) {
    const at::Tensor middle = (box.select(1, low) + box.select(1, low + 2)) * 0.5;
    return at::floor(middle / step).clamp(0, cells - 1).to(at::kLong);
  };
  const at::Tensor flags = at::zeros({grid.rows * grid.columns}, at::kByte);
  flags.index_fill_(0, cell(1, grid.step_y, grid.rows) * grid.columns + cell(0, grid.step_x, grid.columns), 1);
  return flags.unsqueeze(1).expand({-1, grid.anchors}).reshape({-1});
}

// mmdetection's GridAssigner, whose arguments the operator's are; the order matters.
at::Tensor assigned_truths(const at::Tensor& assigned, const at::Tensor& responsible, const AnchorOverlaps& overlaps,
                           int64_t truths, const Assignment& how) {
  const at::Tensor answers = responsible.to(at::kBool), largest_of_truth = wide(overlaps.largest_of_truth);
  at::Tensor out = at::where(wide(overlaps.largest).gt(how.least_overlap).logical_and(answers),
                             overlaps.best_truth.to(wide(assigned).scalar_type()) + 1, wide(assigned));
  for (int64_t i = 0; i < std::min(truths, overlaps.all.size(0)); ++i) {
    if (!(largest_of_truth[i].item<double>() > how.least_overlap_of_truth)) continue;
    if (how.all_best) {
      out.masked_fill_(wide(overlaps.all[i]).eq(largest_of_truth[i]).logical_and(answers), i + 1);
      continue;
    }
    const int64_t best = overlaps.best_anchor[i].item<int>();
    SIM_CHECK(best >= 0 && best < out.numel(), "truth ", i, " has anchor ", best, " of ", out.numel(), " as its best");
    if (answers[best].item<bool>()) out[best].fill_(i + 1);
  }
  return out;
}

}  // namespace sim::kernels
