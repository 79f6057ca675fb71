// Reductions, cumulative operators, sorting, counting and searching.
#include "kernels/arithmetic.h"
#include "kernels/members.h"
#include "kernels/reduce.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

// No dimensions named: all of them.
at::OptionalIntArrayRef dims_or_all(const Dims& dims) {
  return dims.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(dims);
}

void reduced_to(std::initializer_list<at::Tensor> outs, const at::Tensor& in, int64_t dim, bool keep_dim) {
  for (const at::Tensor& out : outs) reduced_late(out, in, {dim}, keep_dim);
}

// Of no elements: the output gets that number, whatever its shape is.
bool of_none(const at::Tensor& out, const at::Tensor& self, double value) {
  if (!self.numel()) out.fill_(value);
  return !self.numel();
}

// The counts share the values' space in size, and take their length.
void unique(const std::tuple<at::Tensor, at::Tensor, at::Tensor>& found, const Space& values, const at::Tensor& inverse,
            const Space& counts) {
  fit(values, std::get<0>(found));
  write_asked(inverse, std::get<1>(found));
  if (counts.memory.defined() && counts.memory.numel()) fit(counts, std::get<2>(found));
}

// 1000 is CANN's way to say that no dimension was named.
std::optional<int64_t> named(int64_t dim) { return dim == 1000 ? std::nullopt : std::optional<int64_t>(dim); }

void inverse_of(const at::Tensor& inverse, const at::Tensor& self, int64_t dim) {
  if (named(dim)) asked({inverse}, {self.size(dim)});
  else like(inverse, self);
}

void largest_of(const at::Tensor& out, const at::Tensor& self, int64_t k, int64_t dim) {
  Dims sizes = self.sizes().vec();
  if (const int64_t along = wrap(dim, self); self.dim()) sizes[size_t(along)] = k;
  holds(out, sizes);
}

void ordered(const at::Scalar& min, const at::Scalar& max) {
  const double low = min.toDouble(), high = max.toDouble();  // where they are one number, those of the tensor count
  SIM_CHECK((std::isinf(low) && low == high) || (std::isfinite(low) && std::isfinite(high) && low <= high), "min ", min,
            " and max ", max, "; finite numbers expected, the smaller first");
}

void reduced_unless(const at::Tensor& out, const at::Tensor& self, const Dims& dims, bool keep_dims, bool noop) {
  if (noop && dims.empty()) like(out, self);
  else reduced(out, self, dims, keep_dims);
}

// Nothing has no extreme: a dimension that goes has an element. An empty output is left as it is.
void of_some(const at::Tensor& self, const Dims& dims) {
  for (int64_t dim : dims)
    SIM_CHECK(!self.dim() || self.size(wrap(dim, self)), "dimension ", dim, " of ", self.sizes(), " has no element");
}

// How many numbers there are, the largest of them knows.
void counted(const at::Tensor& out, const at::Tensor& self, const at::Tensor& weights, int64_t minimum) {
  if (weights.defined()) like(weights, self);
  SIM_CHECK(out.dim() == 1 && out.numel() >= minimum, "the output has shape ", out.sizes(),
            ", expected one dimension of ", minimum, " elements at least");
}

}  // namespace

// reduction: the dimensions that `dims` names; all of them where it is empty
ACLNN(ReduceSum, (In, self, Ints, dims, bool, keep_dims, Dtype, dtype, Out, out),
      reduced_late(out, self, dims, keep_dims),
      of_none(out, self, 0) ? void() : write(out, at::sum(self, dims, keep_dims, out.scalar_type())))
ACLNN(ReduceNansum, (In, self, Ints, dims, bool, keep_dims, Dtype, dtype, Out, out),
      reduced_late(out, self, dims, keep_dims),
      of_none(out, self, 0) ? void() : write(out, at::nansum(self, dims_or_all(dims), keep_dims, out.scalar_type())))
ACLNN(Mean, (In, self, Ints, dims, bool, keep_dims, Dtype, dtype, Out, out),
      (kept(out, self), reduced_late(out, self, dims, keep_dims)),
      of_none(out, self, NAN) ? void() : write(out, at::mean(self, dims, keep_dims, out.scalar_type())))
ACLNN(Prod, (In, self, Dtype, dtype, Out, out), reduced_late(out, self, {}, false),
      of_none(out, self, 1) ? void() : write(out, kernels::product(self, out.scalar_type())))
ACLNN(ProdDim, (In, self, int64_t, dim, bool, keep_dim, Dtype, dtype, Out, out), reduced_to({out}, self, dim, keep_dim),
      of_none(out, self, 1) ? void() : write(out, kernels::product(self, dim, keep_dim, out.scalar_type())))
#define EXTREME(Op, fn)                                                                                      \
  ACLNN(A##fn, (In, self, Ints, dims, bool, keep_dims, Out, out),                                            \
        (kept(out, self), of_some(self, dims), reduced(out, self, dims, keep_dims)),                         \
        self.numel() ? write(out, at::a##fn(self, dims, keep_dims)) : void())                                \
  ACLNN(Op, (In, self, Out, out), (kept(out, self), reduced_late(out, self, {}, false)),                     \
        self.numel() ? write(out, at::fn(self)) : void())                                                    \
  ACLNN(Op##Dim, (In, self, int64_t, dim, bool, keep_dim, Out, out, Out, indices),                           \
        (kept(out, self), reduced_to({out, indices}, self, dim, keep_dim)),                                  \
        self.numel() ? write({out, indices}, at::fn(self, dim, keep_dim)) : void())                          \
  ACLNN(Arg##Op, (In, self, int64_t, dim, bool, keep_dim, Out, out), reduced_to({out}, self, dim, keep_dim), \
        self.numel() ? write(out, at::arg##fn(self, dim, keep_dim)) : void())
EXTREME(Max, max)
EXTREME(Min, min)
ACLNN(Aminmax, (In, self, Ints, dims, bool, keep_dims, Out, min, Out, max),
      (reduced_late(min, self, dims, keep_dims), reduced_late(max, self, dims, keep_dims)),
      self.numel() ? kernels::write_members({min, max}, kernels::extremes(self, dims, keep_dims)) : void())
ACLNN(AminmaxAll, (In, self, Out, min, Out, max),
      (reduced_late(min, self, {}, false), reduced_late(max, self, {}, false)),
      self.numel() ? kernels::write_members({min, max}, kernels::extremes(self, {}, false)) : void())
ACLNN(AminmaxDim, (In, self, int64_t, dim, bool, keep_dim, Out, min, Out, max),
      reduced_to({min, max}, self, dim, keep_dim),
      self.numel() ? kernels::write_members({min, max}, kernels::extremes(self, {dim}, keep_dim)) : void())
ACLNN(All, (In, self, Ints, dims, bool, keep_dims, Out, out), reduced(out, self, dims, keep_dims),
      write(out, at::all(self, dims_or_all(dims), keep_dims)))
ACLNN(Any, (In, self, Ints, dims, bool, keep_dims, Out, out), reduced_late(out, self, dims, keep_dims),
      of_none(out, self, 0) ? void() : write(out, at::any(self, dims_or_all(dims), keep_dims)))
ACLNN(Std, (In, self, Ints, dims, int64_t, correction, bool, keep_dims, Out, out),
      (not_complex(self), reduced(out, self, dims, keep_dims)),
      write(out, kernels::deviation(self, dims, correction, keep_dims).std))
ACLNN(VarCorrection, (In, self, Ints, dims, int64_t, correction, bool, keep_dims, Out, out),
      (not_complex(self), reduced(out, self, dims, keep_dims)),
      write(out, at::var(self, dims_or_all(dims), at::Scalar(correction), keep_dims)))
ACLNN(VarMean, (In, self, Ints, dims, int64_t, correction, bool, keep_dims, Out, var, Out, mean),
      (not_complex(self), reduced(var, self, dims, keep_dims), like(mean, var)),
      write({var, mean}, at::var_mean(self, dims_or_all(dims), at::Scalar(correction), keep_dims)))
ACLNN(StdMeanCorrection, (In, self, Ints, dims, int64_t, correction, bool, keep_dims, Out, std, Out, mean),
      (not_complex(self), reduced(std, self, dims, keep_dims), like(mean, std)),
      kernels::write_members({std, mean}, kernels::deviation(self, dims, correction, keep_dims)))
ACLNN(LogSumExp, (In, self, Ints, dims, bool, keep_dims, Out, out), reduced(out, self, dims, keep_dims),
      write(out, at::logsumexp(self, dims, keep_dims)))
ACLNN(LinalgVectorNorm, (In, self, Num, ord, Ints, dims, bool, keep_dims, Dtype, dtype, Out, out),
      (not_complex(self), reduced(out, self, dims, keep_dims)),
      write(out, kernels::vector_norm(self, ord, dims_or_all(dims), keep_dims)))
ACLNN(Norm, (In, self, Num, p, Ints, dims, bool, keep_dims, Out, out), reduced(out, self, dims, keep_dims),
      write(out, kernels::vector_norm(self, p, dims_or_all(dims), keep_dims)))
#define MEDIAN(Op, fn)                                                             \
  ACLNN(Op, (In, self, Out, out), one_element(out), write(out, at::fn(self)))      \
  ACLNN(Op##Dim, (In, self, int64_t, dim, bool, keep_dim, Out, out, Out, indices), \
        (kept(out, self), reduced_to({out, indices}, self, dim, keep_dim)),        \
        write({out, indices}, at::fn(self, dim, keep_dim)))
MEDIAN(Median, median)
MEDIAN(NanMedian, nanmedian)
ACLNN(Kthvalue, (In, self, int64_t, k, int64_t, dim, bool, keep_dim, Out, out, Out, indices),
      reduced_to({out, indices}, self, dim, keep_dim);
      SIM_CHECK(k >= 1 && k <= (self.dim() ? self.size(dim) : 1), "k ", k, " of dimension ", dim, " of ", self.sizes()),
      write({out, indices}, at::kthvalue(self, k, dim, keep_dim)))

// No dimensions named: all of them or, `noop`, none.
#define OVER_ALL_OR_NONE(Op, fn)                                           \
  ACLNN(Op, (In, self, Ints, dims, bool, keep_dims, bool, noop, Out, out), \
        reduced_unless(out, self, dims, keep_dims, noop),                  \
        write(out, noop&& dims.empty() ? self : fn(self, dims, keep_dims)))
OVER_ALL_OR_NONE(MaxV2, at::amax)
OVER_ALL_OR_NONE(MeanV2, kernels::average_of)
OVER_ALL_OR_NONE(ReduceLogSum, kernels::log_of_sum)
ACLNN(Var, (In, self, Ints, dims, bool, unbiased, bool, keep_dims, Out, out), reduced(out, self, dims, keep_dims),
      write(out, at::var(self, dims_or_all(dims), at::Scalar(int64_t(unbiased)), keep_dims)))
ACLNN(GroupedBiasAddGrad, (In, grad, In, groups, Out, out), kernels::group_sums_like(grad, groups, out),
      write(out, kernels::group_sums(grad, groups, false)))
ACLNN(GroupedBiasAddGradV2, (In, grad, In, groups, int64_t, kind, Out, out),
      kernels::group_sums_like(grad, groups, out), write(out, kernels::group_sums(grad, groups, kind == 1)))

// cumulative
ACLNN(CumsumV2, (In, self, int64_t, dim, bool, exclusive, bool, reverse, Out, out), wrap(dim, self),
      write(out, kernels::running_sum(self, dim, {exclusive, reverse})))
ACLNN(InplaceCumprod, (Ref, self, Num, dim), wrap(dim.toLong(), self),
      write(self, kernels::running_product(self, dim.toLong(), self.scalar_type())))
ACLNN(ExpSegsum, (In, self, Out, out), kernels::segment_sums_like(self, out),
      write(out, kernels::exp_segment_sums(self)))
ACLNN(ExpSegsumBackward, (In, grad, In, result, Out, out), kernels::segment_sums_like(out, result),
      write(out, kernels::exp_segment_sums_backward(grad, result)))
ACLNN(Cumsum, (In, self, int64_t, dim, Dtype, dtype, Out, out), wrap(dim, self),
      write(out, at::cumsum(self, dim, out.scalar_type())))
ACLNN(Cumprod, (In, self, Num, dim, Dtype, dtype, Out, out), ,
      write(out, kernels::running_product(self, dim.toLong(), out.scalar_type())))
ACLNN(Cummax, (In, self, int64_t, dim, Out, out, Out, indices), (wrap(dim, self), kept(out, self)),
      write({out, indices}, at::cummax(self, dim)))
ACLNN(Cummin, (In, self, int64_t, dim, Out, out, Out, indices), (wrap(dim, self), kept(out, self)),
      write({out, indices}, at::cummin(self, dim)))

// sorting
ACLNN(Argsort, (In, self, int64_t, dim, bool, descending, Out, out), wrap(dim, self),
      write(out, at::argsort(self, /*stable=*/true, dim, descending)))
ACLNN(Sort, (In, self, bool, stable, int64_t, dim, bool, descending, Out, out, Out, indices),
      (wrap(dim, self), kept(out, self)),
      write({out, indices}, at::sort(self, std::optional<bool>(stable), dim, descending)))
ACLNN(Topk, (In, self, int64_t, k, int64_t, dim, bool, largest, bool, sorted, Out, out, Out, indices),
      (kept(out, self), largest_of(out, self, k, dim), largest_of(indices, self, k, dim)),
      write({out, indices}, at::topk(self, k, dim, largest, sorted)))

// counting and searching
ACLNN(Histc, (In, self, int64_t, bins, Num, min, Num, max, Out, out), (ordered(min, max), shape(out, {bins})),
      write(out, kernels::histogram(self, bins, min, max).to(out.scalar_type())))
ACLNN(Bincount, (In, self, In, weights, int64_t, minimum, Out, out), counted(out, self, weights, minimum);
      SIM_CHECK(minimum >= 0, "minlength ", minimum, "; allowed: 0 or more"),
      write(out, at::bincount(self, optional(weights), minimum)))
ACLNN(Unique, (In, self, bool, sorted, bool, inverted, Resized, values, Out, inverse),
      inverted ? like(inverse, self) : void(),
      unique(at::_unique2(self, sorted, true, false), values, inverted ? inverse : at::Tensor(), {}))
ACLNN(Unique2, (In, self, bool, sorted, bool, inverted, bool, counted, Resized, values, Out, inverse, Resized, counts),
      (inverted ? like(inverse, self) : void(), counted ? like(counts.memory, values.memory) : void()),
      unique(at::_unique2(self, sorted, true, true), values, inverted || counted ? inverse : at::Tensor(),
             counted ? counts : Space{}))
ACLNN(UniqueDim, (In, self, bool, sorted, bool, inverted, int64_t, dim, Resized, values, Out, inverse, Resized, counts),
      inverted ? shape(inverse, {self.size(dim)}) : void(),
      unique(at::unique_dim(self, dim, sorted, true, true), values, inverted ? inverse : at::Tensor(), counts))
ACLNN(UniqueConsecutive,
      (In, self, bool, inverted, bool, counted, int64_t, dim, Resized, values, Out, inverse, Resized, counts),
      inverted ? inverse_of(inverse, self, dim) : void(),
      unique(kernels::without_repeats(self, named(dim)), values, inverted ? inverse : at::Tensor(),
             counted ? counts : Space{}))
