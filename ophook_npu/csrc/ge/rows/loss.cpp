// Losses with their gradients.
#include "ge/rows/rows.h"
#include "kernels/gated.h"
#include "kernels/loss.h"

namespace sim::ge_table {
namespace {

// ---- softmax cross entropy with labels that are a distribution --------------------------------------------------
void cross_entropy_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.out(pattern<"#batch #classes, #batch #classes -> batch, batch classes">);
}

// ---- connectionist temporal classification ----------------------------------------------------------------------
// op-plugin hands over blank + classes * (length of the longest target); log_alpha is as wide as that length asks for,
// rounded up to 8.
Dim classes_of(const Call& call, size_t log_probs) {
  Shape shape = call.shape(log_probs);
  if (shape && (shape->size() != 3 || shape->back() <= 0))
    throw Refused("its log_probs are (time, batch, classes), not " + call.describe(log_probs));
  return shape ? shape->back() : unknown;
}
kernels::CtcPaths paths_of(const Args& a, size_t first) {
  return {.log_probs = a[first],
          .targets = a[first + 1],
          .inputs = a.need(first + 2),
          .labels = a.need(first + 3),
          .blank = (a.integer("blank") % classes_of(a, first)).size(),
          .zero_infinity = a.flag("zero_infinity")};
}
void ctc_rule(Shaper& s) {
  s.match(pattern<"t b c, *_, b, b -> t">);
  const Dim longest = s.integer("blank") / classes_of(s, 0);
  const Shape log_probs = s.shape(0);
  const Dim batch = log_probs ? (*log_probs)[1] : unknown, time = log_probs ? (*log_probs)[0] : unknown;
  s.out(0, s.dtype(0), known({batch}));
  s.out(1, s.dtype(0), known({batch, time, (2 * longest + 1 + 7) / 8 * 8}));
}
void ctc_grad_rule(Shaper& s) {
  for (const size_t i : {0, 5})
    if (const Shape x = s.shape(1); x && x->size() == 3 && numbers_in(s, i) != (*x)[1])
      throw Refused(s.describe(i) + " for log_probs " + s.describe(1));
  s.out(pattern<"*_, t b c, *_, b, b, *_, b t _ -> t b c :1">);
}
at::Tensor ctc_grad(const Args& a) {
  return kernels::ctc_backward(a[0].reshape({-1}), paths_of(a, 1), {.loss = a[5].reshape({-1}), .log_alpha = a[6]});
}

void ctc_of_logits_rule(Shaper& s) {
  s.only("ctc_merge_repeated", 1.0);
  s.match(pattern<"t b c, n 2, n, b -> b">);
  const Shape x = s.shape(0);
  s.out(0, s.dtype(0), known({x ? (*x)[1] : unknown}));
  s.out(1, s.dtype(0), x);
}
void greedy_rule(Shaper& s) {
  s.match(pattern<"t b c, b -> b">);
  const Shape x = s.shape(0);
  s.out(0, kInt64, known({unknown, 2}));
  s.out(1, kInt64, known({unknown}));
  s.out(2, kInt64, Dims{2});
  s.out(3, s.dtype(0), known({x ? (*x)[1] : unknown, 1}));
}
// A label for each step but the last.
void transducer_rule(Shaper& s) {
  s.out(pattern<"b t u c, b _, b, b -> b, b t u c">);
  const Shape acts = s.shape(0), labels = s.shape(1);
  if (acts && labels && (*acts)[2].known() && (*labels)[1].known() && (*labels)[1] + 1 < (*acts)[2])
    throw Refused("its labels " + s.describe(1) + " are fewer than the steps of " + s.describe(0));
}

// The greater of both sizes, without the last.
Values places_of_both(const Call& call) {
  const Values one = call.values(2), other = call.values(5);
  if (!one || !other) return std::nullopt;
  if (one->size() != other->size() || one->empty()) throw Refused(c10::str("sequences in ", *one, " and in ", *other));
  Dims out;
  for (size_t i = 0; i + 1 < one->size(); ++i) out.push_back(std::max((*one)[i], (*other)[i]));
  return out;
}
void edits_rule(Shaper& s) {
  s.match(pattern<"n rank, n, rank, m rank, m, rank -> n">);
  require_same_dtype(s, 1, 2);
  if (s.dtype(4) != s.dtype(1)) throw Refused("sequences of " + s.describe(1) + " and of " + s.describe(4));
  const Shape lengths = s.shape(2);
  const Values sizes = places_of_both(s);
  if (sizes) return s.out(kFloat, Shape(*sizes));
  const bool known_rank = lengths && (*lengths)[0].known() && (*lengths)[0] >= 1;
  s.out(kFloat, known_rank ? known(Sizes(size_t((*lengths)[0].size() - 1), unknown)) : std::nullopt);
}

// ---- losses by a reduction that aclnn's functions do not have so ---------------------------------------------------
int64_t reduction_of(const Call& call) {
  constexpr std::string_view names[] = {"none", "mean", "sum"};
  const std::string given = call.text("reduction");
  const auto found = std::find(std::begin(names), std::end(names), given);
  if (found == std::end(names)) throw Refused("reduction '" + given + "' is none of none, mean and sum");
  return found - std::begin(names);
}
// A weight for each class may be left out.
void nll_shape(Shaper& s) {
  const bool each = reduction_of(s) == 0;
  const Shape x = s.shape(0);
  if (x && x->size() == 1) one_number(s, 1, 2);
  s.match(x && x->size() == 1 ? pattern<"c, *one, c? -> c"> : pattern<"n c, n, c? -> n">);
  s.out(0, s.dtype(0), each ? s.shape(1) : Shape(Dims{}));
  s.out(1, s.dtype(0), Dims{});
}
void nll_grad_shape(Shaper& s) {
  const Shape x = s.shape(0);
  if (x && x->size() == 1) one_number(s, 2, 3);
  else s.match(reduction_of(s) == 0 ? pattern<"n c, n, n, c?, *_ -> n c"> : pattern<"n c, *_, n, c?, *_ -> n c">);
  same(s);
}

at::Tensor nll_grad(const Args& a) {
  return kernels::nll_backward(a[1], a[0], a[2], a[3], reduction_of(a), a.integer("ignore_index"), a[4]);
}

// What is a target is of the targets' type.
void margin_rule(Shaper& s) {
  Shape shape = s.shape(0);
  if (shape && (shape->empty() || shape->size() > 2))
    throw Refused("its input has 1 or 2 dimensions, it is " + s.describe(0));
  s.match(pattern<"*x, *x -> *x">);
  s.out(0, s.dtype(0),
        reduction_of(s) != 0 ? Shape(Dims{})
        : shape              ? known({shape->size() > 1 ? (*shape)[0] : 1})
                             : std::nullopt);
  s.out(1, s.dtype(1), s.shape(1));
}

}  // namespace

#define DIVERGENCE "reduction=reduction{none,mean,sum,batchmean}"
const Family loss_rows = {
    EACH_OF(SoftmaxCrossEntropyWithLogits, "features labels -> loss backprop", cross_entropy_rule,
            kernels::softmax_cross_entropy(a[0], a[1])),
    EACH_OF(SparseSoftmaxCrossEntropyWithLogits, "features labels -> loss backprop",
            (pattern<"batch classes, batch -> batch, batch classes">),
            kernels::softmax_cross_entropy_of_classes(a[0], a[1])),
    EACH_OF(CTCLossV2,
            "log_probs targets input_lengths target_lengths -> neg_log_likelihood log_alpha | blank:Int=0 "
            "reduction:String=mean zero_infinity:Bool=false",
            ctc_rule, kernels::ctc(paths_of(a, 0), a.output(1).size(2))),
    ROW(CTCLossV2Grad,
        "grad_out log_probs targets input_lengths target_lengths neg_log_likelihood log_alpha -> grad | blank:Int=0 "
        "reduction:String=mean zero_infinity:Bool=false",
        ctc_grad_rule, ctc_grad(a)),
    EACH_OF(CTCLoss,
            "inputs labels_indices labels_values sequence_length -> loss gradient | "
            "preprocess_collapse_repeated:Bool=false "
            "ctc_merge_repeated:Bool=true ignore_longer_outputs_than_inputs:Bool=false",
            ctc_of_logits_rule,
            kernels::ctc_of_logits(
                a[0], {a[1], a[2], a.flag("preprocess_collapse_repeated"), a.flag("ignore_longer_outputs_than_inputs")},
                a.need(3))),
    FITTED(CTCGreedyDecoder,
           "inputs sequence_length -> decoded_indices decoded_values decoded_shape log_probability | "
           "merge_repeated:Bool=false",
           greedy_rule, kernels::ctc_greedy(a[0], a.need(1), a.flag("merge_repeated"))),
    EACH_OF(RNNTLoss, "acts labels input_lengths label_lengths -> costs grads | blank_label:Int=0", transducer_rule,
            kernels::transducer(a[0], a[1], a.need(2), a.need(3), a.integer("blank_label"))),
    ROW(EditDistance,
        "hypothesis_indices hypothesis_values hypothesis_shape truth_indices truth_values truth_shape -> output | "
        "normalize:Bool=true",
        edits_rule, kernels::edits({a[0], a[1]}, {a[3], a[4]}, *places_of_both(a), a.flag("normalize"))),
    {"KLDiv", "x target -> y | reduction:String log_target:Bool=false", "aclnnKlDiv self=x " DIVERGENCE},
    {"KlDivLossGrad", "grad input target -> y | reduction:String=mean log_target:Bool=false",
     "aclnnKlDivBackward gradOutput=grad self=input " DIVERGENCE},
    EACH_OF(MultilabelMarginLoss, "x target -> y is_target | reduction:String=mean", margin_rule,
            kernels::multilabel_margin(a[0], a[1], reduction_of(a))),
    EACH_OF(NLLLoss, "x target weight? -> y total_weight | reduction:String=mean ignore_index:Int=-100", nll_shape,
            kernels::nll(a[0], a[1], a[2], reduction_of(a), a.integer("ignore_index"))),
    ROW(NLLLossGrad, "x y_grad target weight? total_weight -> x_grad | reduction:String=mean ignore_index:Int=-100",
        nll_grad_shape, nll_grad(a)),
};

}  // namespace sim::ge_table
