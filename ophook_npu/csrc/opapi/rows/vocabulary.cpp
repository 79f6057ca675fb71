// Cross entropy over a vocabulary that is sliced over devices, fused with the product that makes the logits: each
// device has the logits (batch, slice) of its slice; between the first two operators the caller reduces over the
// devices.
#include "kernels/vocabulary.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
using namespace sim::vocabulary;

#define MAX_SUM {NAMED(max, sum, predicted, mask), .masked_target = maskedTarget, NAMED(logits)}
ACLNN(FusedLinearOnlineMaxSum,
      (In, input, In, weight, In, target, int64_t, first, int64_t, last, Out, max, Out, sum, Out, predicted, Out, mask,
       Out, maskedTarget, Out, logits),
      (multiplies(input, weight), indices(first, last), max_sum_like({NAMED(input, weight, target)}, MAX_SUM)),
      max_sum({NAMED(input, weight, target)}, first, last, MAX_SUM))
// Its page takes no input and weight, CANN's own program hands them over; the formula has no use for them.
ACLNN(FusedCrossEntropyLossWithMaxSum,
      (In, max, In, sum, In, predicted, float, smoothing, In, input, In, weight, In, logits, Out, loss, Out, softmax),
      no_smoothing(smoothing),
      (write(loss, cross_entropy(sum, predicted)),
       logits.defined() ? write_asked(softmax, probabilities(logits, max, sum)) : void()))
#define SAVED {NAMED(mask), .masked_target = maskedTarget, NAMED(max, sum, softmax)}
ACLNN(FusedLinearCrossEntropyLossGrad,
      (In, grad, In, input, In, weight, In, mask, In, maskedTarget, float, smoothing, In, max, In, sum, In, softmax,
       Out, inputGrad, Out, weightGrad),
      (multiplies(input, weight), no_smoothing(smoothing), enough_saved(SAVED, input.size(0))),
      loss_grad(grad, input, weight, SAVED, inputGrad, weightGrad))
ACLNN(CrossEntropySumExpAndIndexLogit,
      (In, logits, In, target, In, max, int64_t, first, int64_t, last, Out, predicted, Out, sum, Out, exps, Out, place,
       Out, mask),
      slice_like(logits, target, max, first, last, {predicted, sum, exps, place, mask}),
      write_each({predicted, sum, exps, place, mask}, of_slice(logits, target, max, first, last)))
