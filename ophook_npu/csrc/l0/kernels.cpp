// What aclnn_kernels/*.h declare: views where a view will do, copies, and two operators by their types. A conversion
// between private formats is refused.
#include "include/aclnn_kernels/transdata.h"

#define L0_API __attribute__((visibility("default")))

namespace l0op {

// Numbers that are known when the operator is noted, as ConvertToTensor makes them of an aclIntArray.
static bool is_constant(const char* name, const aclTensor* numbers) {
  if (numbers->GetPlacement() == gert::kOnHost && numbers->GetDataType() == ge::DT_INT64) return true;
  OP_LOGE(ACLNN_ERR_INNER, "%s: its numbers are on the device or no int64; of such it is not simulated", name);
  return false;
}

L0_API const aclTensor* Contiguous(const aclTensor* x, aclOpExecutor* executor) {
  return !x || op::IsContiguous(x) ? x : op::CopyToNpu(x, executor);
}
L0_API const aclTensor* PickViewAsContiguous(const aclTensor* x, aclOpExecutor* executor) {
  return Contiguous(x, executor);
}
L0_API const aclTensor* ViewCopy(const aclTensor* x, const aclTensor* y, aclOpExecutor* executor) {
  return op::CopyNpuToNpu(x, y, executor) == ACLNN_SUCCESS ? y : nullptr;
}
L0_API const aclTensor* ReViewToOut(const aclTensor* x, const aclTensor* y, aclOpExecutor* executor) {
  return ViewCopy(x, y, executor);
}

L0_API const aclTensor* Cast(const aclTensor* self, op::DataType type, aclOpExecutor* executor) {
  if (!self || self->GetDataType() == type) return self;
  aclTensor* out = executor->AllocTensor(self->GetStorageShape(), self->GetViewShape(), type, self->GetStorageFormat(),
                                         self->GetOriginalFormat());
  const aclnnStatus failed = ADD_TO_LAUNCHER_LIST_AICORE(Cast, OP_INPUT(self), OP_OUTPUT(out), OP_ATTR(int64_t(type)));
  return failed ? nullptr : out;
}
L0_API const aclTensor* CastOnlyForConvBackward(const aclTensor* self, op::DataType type, aclOpExecutor* executor) {
  return Cast(self, type, executor);
}

L0_API const aclTensor* Reshape(const aclTensor* x, const op::Shape& shape, aclOpExecutor* executor) {
  const aclTensor* whole = Contiguous(x, executor);
  if (!whole || whole->GetViewShape() == shape) return whole;
  if (whole->Numel() != shape.GetShapeSize()) {
    OP_LOGE(ACLNN_ERR_INNER, "Reshape: %lld elements do not become %lld", (long long)whole->Numel(),
            (long long)shape.GetShapeSize());
    return nullptr;
  }
  return executor->CreateView(whole, shape, whole->GetViewOffset());
}
L0_API const aclTensor* Reshape(const aclTensor* x, const aclIntArray* shape, aclOpExecutor* executor) {
  op::Shape dims;
  op::ToShape(shape->GetData(), shape->Size(), dims);
  for (size_t i = 0; i < dims.GetDimNum(); ++i)  // one size may follow from the others
    if (dims.GetDim(i) == -1) {
      const int64_t others = -dims.GetShapeSize();
      if (others) dims.SetDim(i, x->Numel() / others);
    }
  return Reshape(x, dims, executor);
}
L0_API const aclTensor* UnsafeReshape(const aclTensor* x, const op::Shape& shape, aclOpExecutor* executor) {
  return Reshape(x, shape, executor);
}

static const aclTensor* Transpose(const aclTensor* x, const int64_t* order, uint64_t count, aclOpExecutor* executor) {
  const op::Shape& shape = x->GetViewShape();
  const op::Strides strides = x->GetViewStrides();
  if (count != shape.GetDimNum()) {
    OP_LOGE(ACLNN_ERR_INNER, "Transpose: an order of %zu for %zu dimensions", size_t(count), shape.GetDimNum());
    return nullptr;
  }
  op::Shape turned;
  op::Strides steps;
  for (uint64_t i = 0; i < count; ++i) {
    const size_t from = size_t(order[i] < 0 ? order[i] + int64_t(count) : order[i]);
    turned.AppendDim(shape.GetDim(from)), steps.push_back(strides[from]);
  }
  return op::CopyToNpu(executor->CreateView(x, turned, x->GetStorageShape(), steps, x->GetViewOffset()), executor);
}
L0_API const aclTensor* Transpose(const aclTensor* x, const aclIntArray* order, aclOpExecutor* executor) {
  return Transpose(x, order->GetData(), order->Size(), executor);
}
L0_API const aclTensor* Transpose(const aclTensor* x, const aclTensor* y, const aclTensor* order,
                                  aclOpExecutor* executor) {
  if (!is_constant("Transpose", order)) return nullptr;
  const aclTensor* turned = Transpose(x, static_cast<const int64_t*>(order->GetData()), order->Numel(), executor);
  return turned ? ViewCopy(turned, y, executor) : nullptr;
}

L0_API const aclTensor* Slice(const aclTensor* x, const aclIntArray* offsets, const aclIntArray* sizes,
                              aclOpExecutor* executor) {
  const op::Strides strides = x->GetViewStrides();
  op::Shape shape;
  int64_t offset = x->GetViewOffset();
  for (uint64_t i = 0; i < sizes->Size(); ++i) {
    offset += (*offsets)[i] * strides[i];
    shape.AppendDim((*sizes)[i] < 0 ? x->GetViewShape().GetDim(i) - (*offsets)[i] : (*sizes)[i]);
  }
  return op::CopyToNpu(executor->CreateView(x, shape, x->GetStorageShape(), strides, offset), executor);
}
L0_API const aclTensor* Slice(const aclTensor* x, const aclTensor* y, const aclTensor* offset, const aclTensor* size,
                              aclOpExecutor* executor) {
  if (!is_constant("Slice", offset) || !is_constant("Slice", size)) return nullptr;
  const auto array = [&](const aclTensor* one) {
    return executor->AllocIntArray(static_cast<const int64_t*>(one->GetData()), uint64_t(one->Numel()));
  };
  const aclTensor* cut = Slice(x, array(offset), array(size), executor);
  return cut ? ViewCopy(cut, y, executor) : nullptr;
}

L0_API const aclTensor* Pad(const aclTensor* self, const aclTensor* paddings, aclOpExecutor* executor) {
  const op::Shape& shape = self->GetViewShape();
  if (!is_constant("Pad", paddings)) return nullptr;
  const auto* widths = static_cast<const int64_t*>(paddings->GetData());
  op::Shape wider;
  for (size_t i = 0; i < shape.GetDimNum(); ++i) wider.AppendDim(shape.GetDim(i) + widths[2 * i] + widths[2 * i + 1]);
  aclTensor* out = executor->AllocTensor(wider, self->GetDataType(), self->GetViewFormat());
  return ADD_TO_LAUNCHER_LIST_AICORE(Pad, OP_INPUT(self, paddings), OP_OUTPUT(out)) ? nullptr : out;
}

L0_API const aclTensor* ReFormat(const aclTensor* x, const op::Format& format, aclOpExecutor* executor) {
  if (!x) return x;
  const aclTensor* out = x;
  if (executor) {
    out = executor->CreateView(x, x->GetViewShape(), x->GetStorageShape(), x->GetViewStrides(), x->GetViewOffset());
    out->SetOriginalShape(x->GetOriginalShape());
  }
  out->SetViewFormat(format), out->SetOriginalFormat(format), out->SetStorageFormat(format);
  return out;
}
L0_API const aclTensor* TransData(const aclTensor* x, op::Format format, int64_t, aclOpExecutor*) {
  if (x->GetStorageFormat() == format) return x;
  OP_LOGE(ACLNN_ERR_INNER, "TransData to the format %d is not simulated", int(format));
  return nullptr;
}
L0_API const aclTensor* TransDataSpecial(const aclTensor* x, op::Format format, int64_t groups,
                                         aclOpExecutor* executor) {
  return TransData(x, format, groups, executor);
}

}  // namespace l0op
