#include "kernels/suppression.h"

#include <algorithm>

namespace sim::kernels {
namespace {

struct Rectangle {
  float low[2], high[2];
  float area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

float overlap_of(const Rectangle& a, const Rectangle& b) {
  float shared = 1;
  for (int i : {0, 1}) shared *= std::max(std::min(a.high[i], b.high[i]) - std::max(a.low[i], b.low[i]), 0.0f);
  return shared / std::max(a.area() + b.area() - shared, 1e-12f);
}

std::vector<Rectangle> rectangles(const at::Tensor& boxes) {
  const at::Tensor values = boxes.to(at::kFloat).contiguous();
  const auto* of = values.const_data_ptr<float>();
  std::vector<Rectangle> out;
  for (int64_t i = 0; i < values.size(0); ++i, of += 4) out.push_back({{of[0], of[1]}, {of[2], of[3]}});
  return out;
}

Dims chosen(const std::vector<Rectangle>& boxes, const at::Tensor& scores, const Suppression& how) {
  const at::Tensor values = scores.to(at::kFloat).contiguous(), order = at::argsort(values, true, 0, true);
  const auto* score = values.const_data_ptr<float>();
  const auto* place = order.const_data_ptr<int64_t>();
  const auto least = float(how.least_score), most = float(how.most_overlap);
  Dims kept;
  for (int64_t i = 0; i < order.numel() && int64_t(kept.size()) < how.count && score[place[i]] > least; ++i)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](int64_t better) { return overlap_of(boxes[size_t(place[i])], boxes[size_t(better)]) > most; }))
      kept.push_back(place[i]);
  return kept;
}

}  // namespace

Dims chosen_boxes(const at::Tensor& boxes, const at::Tensor& scores, const Suppression& how) {
  std::vector<Rectangle> all = rectangles(boxes);
  for (Rectangle& box : all)
    for (int i : {0, 1})
      if (box.low[i] > box.high[i]) std::swap(box.low[i], box.high[i]);
  return chosen(all, scores, how);
}

Chosen chosen_and_padded(const at::Tensor& boxes, const at::Tensor& scores, const Suppression& how, int64_t size) {
  Dims places = chosen_boxes(boxes, scores, how);
  const at::Tensor count = at::scalar_tensor(int64_t(places.size()), at::kInt);
  places.resize(size_t(size), 0);
  return {at::tensor(places, at::kInt), count};
}

static at::Tensor with_corners(const at::Tensor& boxes) {
  const at::Tensor middle = boxes.slice(-1, 0, 2), half = boxes.slice(-1, 2, 4) / 2;
  return at::concat({middle - half, middle + half}, -1);
}

at::Tensor chosen_of_each(const at::Tensor& boxes, const at::Tensor& scores, const Suppression& how, bool centred) {
  const at::Tensor corners = centred ? with_corners(boxes) : boxes;
  Dims out;
  for (int64_t batch = 0; batch < scores.size(0); ++batch)
    for (int64_t of = 0; of < scores.size(1); ++of)
      for (int64_t place : chosen_boxes(corners[batch], scores[batch][of], how))
        for (int64_t number : {batch, of, place}) out.push_back(number);
  return at::tensor(out, at::kInt).reshape({-1, 3});
}

// The device's tests keep boxes whose corners are the wrong way round; such a box shares nothing with another.
ClassifiedBoxes chosen_by_class(const at::Tensor& given, const at::Tensor& scores, const Suppression& of_class,
                                int64_t total, bool boxes_last) {
  const at::Tensor boxes = boxes_last ? given.permute({0, 3, 1, 2}) : given;
  const int64_t batches = scores.size(0), classes = scores.size(2);
  ClassifiedBoxes out{at::zeros({batches, total, 4}, boxes.options()), at::zeros({batches, total}, scores.options()),
                      at::zeros({batches, total}, boxes.options()), at::zeros({batches}, at::kInt)};
  struct Candidate {
    float score;
    int64_t of, place;
  };
  for (int64_t batch = 0; batch < batches; ++batch) {
    const auto boxes_of = [&](int64_t of) { return boxes[batch].select(1, boxes.size(2) == 1 ? 0 : of); };
    std::vector<Candidate> all;
    for (int64_t of = 0; of < classes; ++of) {
      const at::Tensor own = scores[batch].select(1, of).to(at::kFloat).contiguous();
      for (int64_t place : chosen(rectangles(boxes_of(of)), own, of_class))
        all.push_back({own.const_data_ptr<float>()[place], of, place});
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
    const int64_t count = std::min(total, int64_t(all.size()));
    for (int64_t i = 0; i < count; ++i) {
      const Candidate& one = all[size_t(i)];
      out.boxes[batch][i].copy_(boxes_of(one.of)[one.place]);
      out.scores[batch][i].fill_(one.score);
      out.classes[batch][i].fill_(one.of);
    }
    out.counts[batch].fill_(count);
  }
  return out;
}

}  // namespace sim::kernels
