// Functions of CANN's math operators that the aclnn functions of its other repositories call (level0/*.h, which each
// repository has for itself): the operator of that type, with the shapes of its own inference.
#include <tuple>

#include "include/aclnn_kernels/ophook_l0.h"

#define L0_API __attribute__((visibility("default")))

// An operator with one output of a data type.
#define L0_LAUNCH(type, like, dtype, ...)                                                                      \
  aclTensor* out = executor->AllocTensor(dtype, (like)->GetStorageFormat(), (like)->GetOriginalFormat());      \
  return INFER_SHAPE(type, L0_FIRST(__VA_ARGS__), OP_OUTPUT(out) L0_REST(__VA_ARGS__)) ||                      \
                 ADD_TO_LAUNCHER_LIST_AICORE(type, L0_FIRST(__VA_ARGS__), OP_OUTPUT(out) L0_REST(__VA_ARGS__)) \
             ? nullptr                                                                                         \
             : out
#define L0_FIRST(inputs, ...) inputs
#define L0_REST(inputs, ...) __VA_OPT__(, ) __VA_ARGS__

#define L0_UNARY(name)                                                           \
  L0_API const aclTensor* name(const aclTensor* self, aclOpExecutor* executor) { \
    L0_LAUNCH(name, self, self->GetDataType(), OP_INPUT(self));                  \
  }
#define L0_BINARY(name, dtype)                                                                           \
  L0_API const aclTensor* name(const aclTensor* self, const aclTensor* other, aclOpExecutor* executor) { \
    L0_LAUNCH(name, self, dtype, OP_INPUT(self, other));                                                 \
  }
#define L0_ARITHMETIC(name) L0_BINARY(name, op::PromoteType(self->GetDataType(), other->GetDataType()))
#define L0_COMPARE(name) L0_BINARY(name, ge::DT_BOOL)
#define L0_REDUCE(name, type, dtype)                                                                                 \
  L0_API const aclTensor* name(const aclTensor* self, const aclIntArray* axes, bool keep, aclOpExecutor* executor) { \
    const aclTensor* over = executor->ConvertToTensor(axes, ge::DT_INT64);                                           \
    L0_LAUNCH(type, self, dtype, OP_INPUT(self, over), OP_ATTR(keep));                                               \
  }

namespace l0op {

L0_UNARY(Abs)
L0_UNARY(Exp)
L0_UNARY(Rsqrt)
L0_UNARY(ZerosLike)
L0_UNARY(OnesLike)

L0_ARITHMETIC(Add)
L0_ARITHMETIC(Sub)
L0_ARITHMETIC(Mul)
L0_ARITHMETIC(Div)
L0_ARITHMETIC(RealDiv)
L0_ARITHMETIC(Mod)
L0_ARITHMETIC(Pow)
L0_ARITHMETIC(Maximum)
L0_ARITHMETIC(Minimum)

L0_COMPARE(Equal)
L0_COMPARE(NotEqual)
L0_COMPARE(Less)
L0_COMPARE(Greater)
L0_COMPARE(LogicalAnd)
L0_COMPARE(LogicalOr)

L0_REDUCE(ReduceSumOp, ReduceSum, self->GetDataType())
L0_REDUCE(ReduceMean, ReduceMean, self->GetDataType())
L0_REDUCE(ReduceMin, ReduceMin, self->GetDataType())
L0_REDUCE(ReduceAny, ReduceAny, ge::DT_BOOL)
L0_API const aclTensor* ReduceMean(const aclTensor* self, const aclIntArray* axes, bool keep, bool noop_with_empty_axes,
                                   aclOpExecutor* executor) {
  const aclTensor* over = executor->ConvertToTensor(axes, ge::DT_INT64);
  L0_LAUNCH(ReduceMean, self, self->GetDataType(), OP_INPUT(self, over), OP_ATTR(keep, noop_with_empty_axes));
}

L0_API const aclTensor* Muls(const aclTensor* self, float alpha, aclOpExecutor* executor) {
  L0_LAUNCH(Muls, self, self->GetDataType(), OP_INPUT(self), OP_ATTR(alpha));
}
L0_API const aclTensor* Axpy(const aclTensor* self, const aclTensor* other, float alpha, aclOpExecutor* executor) {
  L0_LAUNCH(Axpy, self, self->GetDataType(), OP_INPUT(self, other), OP_ATTR(alpha));
}
L0_API const aclTensor* Log(const aclTensor* self, const float base, const float scale, const float shift,
                            aclOpExecutor* executor) {
  L0_LAUNCH(Log, self, self->GetDataType(), OP_INPUT(self), OP_ATTR(base, scale, shift));
}
L0_API const aclTensor* SelectV2(const aclTensor* condition, const aclTensor* x1, const aclTensor* x2,
                                 aclOpExecutor* executor) {
  L0_LAUNCH(SelectV2, x1, x1->GetDataType(), OP_INPUT(condition, x1, x2));
}
L0_API const aclTensor* MaskedFill(const aclTensor* self, const aclTensor* mask, const aclTensor* value,
                                   aclOpExecutor* executor) {
  L0_LAUNCH(MaskedFill, self, self->GetDataType(), OP_INPUT(self, mask, value));
}
L0_API const aclTensor* Cumsum(const aclTensor* self, const aclTensor* dim, bool exclusive, bool reverse,
                               aclOpExecutor* executor) {
  L0_LAUNCH(Cumsum, self, self->GetDataType(), OP_INPUT(self, dim), OP_ATTR(exclusive, reverse));
}
L0_API const aclTensor* Cumsum(const aclTensor* self, const aclTensor* dim, aclOpExecutor* executor) {
  return Cumsum(self, dim, false, false, executor);
}
L0_API const aclTensor* GatherElements(const aclTensor* self, const int64_t dim, const aclTensor* index,
                                       aclOpExecutor* executor) {
  L0_LAUNCH(GatherElements, self, self->GetDataType(), OP_INPUT(self, index), OP_ATTR(dim));
}
L0_API const aclTensor* GatherV2(const aclTensor* self, int64_t axis, const aclTensor* indices, aclOpExecutor* executor,
                                 int batch_dims, bool negative_index_support) {
  const aclTensor* along = executor->ConvertToTensor(&axis, 1, ge::DT_INT64);
  L0_LAUNCH(GatherV2, self, self->GetDataType(), OP_INPUT(self, indices, along),
            OP_ATTR(int64_t(batch_dims), false, negative_index_support));
}

L0_API const aclTensor* Fill(const aclTensor* dims, const aclTensor* value, const aclIntArray* shape,
                             aclOpExecutor* executor) {
  op::Shape sizes;
  op::ToShape(shape->GetData(), shape->Size(), sizes);
  aclTensor* out = executor->AllocTensor(sizes, value->GetDataType());
  return ADD_TO_LAUNCHER_LIST_AICORE(Fill, OP_INPUT(dims, value), OP_OUTPUT(out)) ? nullptr : out;
}
L0_API const aclTensor* BroadcastTo(const aclTensor* x, const aclTensor* y, const aclTensor* shape,
                                    aclOpExecutor* executor) {
  return ADD_TO_LAUNCHER_LIST_AICORE(BroadcastTo, OP_INPUT(x, shape), OP_OUTPUT(y)) ? nullptr : y;
}
L0_API const aclTensor* BroadcastTo(const aclTensor* x, const aclIntArray* shape, aclOpExecutor* executor) {
  op::Shape sizes;
  op::ToShape(shape->GetData(), shape->Size(), sizes);
  const size_t more = sizes.GetDimNum() - x->GetViewShape().GetDimNum();
  for (size_t i = more; i < sizes.GetDimNum(); ++i)  // -1 keeps a size
    if (sizes.GetDim(i) == -1) sizes.SetDim(i, x->GetViewShape().GetDim(i - more));
  const aclTensor* y = executor->AllocTensor(sizes, x->GetDataType(), x->GetViewFormat());
  return BroadcastTo(x, y, executor->ConvertToTensor(shape, ge::DT_INT64), executor);
}
L0_API const aclTensor* Expand(const aclTensor* self, const aclIntArray* shape, aclOpExecutor* executor) {
  return BroadcastTo(self, shape, executor);
}
L0_API const aclTensor* Arange(const aclScalar* start, const aclScalar* end, const aclScalar* step,
                               const aclTensor* out, const bool, aclOpExecutor* executor) {
  const auto number = [&](const aclScalar* one) { return executor->ConvertToTensor(one, out->GetDataType()); };
  const aclTensor* made = executor->AllocTensor(out->GetViewShape(), out->GetDataType(), out->GetViewFormat());
  return ADD_TO_LAUNCHER_LIST_AICORE(Range, OP_INPUT(number(start), number(end), number(step)), OP_OUTPUT(made))
             ? nullptr
             : made;
}
L0_API const aclTensor* TensorMove(const aclTensor* x, const aclTensor* y, aclOpExecutor* executor) {
  return ADD_TO_LAUNCHER_LIST_AICORE(TensorMove, OP_INPUT(x), OP_OUTPUT(y)) ? nullptr : y;
}
L0_API const aclTensor* TensorMoveAiCore(const aclTensor* x, const aclTensor* y, aclOpExecutor* executor) {
  return TensorMove(x, y, executor);
}

L0_API aclTensor* ConcatD(const aclTensorList* inputs, int64_t dim, op::DataType dtype, aclOpExecutor* executor) {
  const aclTensor* first = (*inputs)[0];
  L0_LAUNCH(ConcatD, first, dtype, OP_INPUT(inputs), OP_ATTR(dim, int64_t(inputs->Size())));
}
L0_API aclTensor* ConcatD(const aclTensorList* inputs, int64_t dim, aclOpExecutor* executor) {
  const aclTensor* first = (*inputs)[0];
  return ConcatD(inputs, dim, first->GetDataType(), executor);
}
L0_API const aclTensorList* SplitV(const aclTensor* self, const aclIntArray* sizes, int64_t dim,
                                   aclOpExecutor* executor) {
  std::vector<const aclTensor*> parts;
  for (const int64_t size : *sizes) {
    op::Shape shape = self->GetViewShape();
    shape.SetDim(size_t(dim < 0 ? dim + int64_t(shape.GetDimNum()) : dim), size);
    parts.push_back(executor->AllocTensor(shape, self->GetDataType(), self->GetViewFormat()));
  }
  const aclTensorList* out = executor->AllocTensorList(parts.data(), parts.size());
  const aclTensor* cuts = executor->ConvertToTensor(sizes, ge::DT_INT64);
  const aclTensor* along = executor->ConvertToTensor(&dim, 1, ge::DT_INT64);
  return ADD_TO_LAUNCHER_LIST_AICORE(SplitV, OP_INPUT(self, cuts, along), OP_OUTPUT(out),
                                     OP_ATTR(int64_t(sizes->Size())))
             ? nullptr
             : out;
}

L0_API const std::tuple<aclTensor*, aclTensor*> Sort(const aclTensor* self, int64_t dim, bool descending, bool stable,
                                                     op::DataType indices_type, aclOpExecutor* executor) {
  aclTensor* values = executor->AllocTensor(self->GetViewShape(), self->GetDataType(), self->GetViewFormat());
  aclTensor* indices = executor->AllocTensor(self->GetViewShape(), indices_type, self->GetViewFormat());
  if (ADD_TO_LAUNCHER_LIST_AICORE(Sort, OP_INPUT(self), OP_OUTPUT(values, indices), OP_ATTR(dim, descending, stable)))
    return {nullptr, nullptr};
  return {values, indices};
}
L0_API std::tuple<aclTensor*, aclTensor*> Topk(const aclTensor* self, int64_t k, int64_t dim, bool largest, bool sorted,
                                               op::DataType indices_type, aclOpExecutor* executor) {
  op::Shape shape = self->GetViewShape();
  if (const size_t rank = shape.GetDimNum()) shape.SetDim(size_t(dim < 0 ? dim + int64_t(rank) : dim), k);
  aclTensor* values = executor->AllocTensor(shape, self->GetDataType(), self->GetViewFormat());
  aclTensor* indices = executor->AllocTensor(shape, indices_type, self->GetViewFormat());
  const aclTensor* count = executor->ConvertToTensor(&k, 1, ge::DT_INT64);
  if (ADD_TO_LAUNCHER_LIST_AICORE(TopKV2, OP_INPUT(self, count), OP_OUTPUT(values, indices),
                                  OP_ATTR(sorted, dim, largest)))
    return {nullptr, nullptr};
  return {values, indices};
}

// Dimensions of size 1 that come and go: views.
L0_API const aclTensor* UnsqueezeNd(const aclTensor* x, const aclIntArray* dims, aclOpExecutor* executor) {
  const op::Shape& shape = x->GetViewShape();
  const size_t rank = shape.GetDimNum() + dims->Size();
  std::vector<bool> is_new(rank);
  for (const int64_t dim : *dims) is_new[size_t(dim < 0 ? dim + int64_t(rank) : dim)] = true;
  op::Shape wider;
  size_t from = 0;
  for (size_t i = 0; i < rank; ++i) wider.AppendDim(is_new[i] ? 1 : shape.GetDim(from++));
  return Reshape(x, wider, executor);
}
L0_API const aclTensor* UnsqueezeNd(const aclTensor* x, int64_t dim, aclOpExecutor* executor) {
  return UnsqueezeNd(x, executor->AllocIntArray(&dim, 1), executor);
}
L0_API const aclTensor* SqueezeNd(const aclTensor* x, const aclIntArray* dims, aclOpExecutor* executor) {
  const op::Shape& shape = x->GetViewShape();
  std::vector<bool> goes(shape.GetDimNum());
  for (const int64_t dim : *dims) goes[size_t(dim < 0 ? dim + int64_t(shape.GetDimNum()) : dim)] = true;
  op::Shape fewer;
  for (size_t i = 0; i < shape.GetDimNum(); ++i)
    if (!goes[i] || shape.GetDim(i) != 1) fewer.AppendDim(shape.GetDim(i));
  return Reshape(x, fewer, executor);
}
L0_API const aclTensor* SqueezeNd(const aclTensor* x, int64_t dim, aclOpExecutor* executor) {
  return SqueezeNd(x, executor->AllocIntArray(&dim, 1), executor);
}

}  // namespace l0op
