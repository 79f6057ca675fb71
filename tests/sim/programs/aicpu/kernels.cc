// AI CPU operators, as a project of the vendor's has them in cpukernel/impl.
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "cpu_attr_value.h"
#include "cpu_kernel.h"
#include "cpu_kernel_utils.h"
#include "cpu_tensor.h"
#include "cpu_tensor_shape.h"
#include "cpu_types.h"
#include "cust_cpu_utils.h"

namespace aicpu {

// y = (x·w)·factor + the sum of plus, or without where flag is false.
class WeighKernel : public CpuKernel {
 public:
  uint32_t Compute(CpuKernelContext& ctx) override {
    if (ctx.GetInputsSize() != 2 || ctx.GetOutputsSize() != 1 || ctx.Input(2) || ctx.GetAttr("none")) return 3;
    const Tensor &x = *ctx.Input(0), &w = *ctx.Input(1), &y = *ctx.Output(0);
    const std::string mode = ctx.GetAttr("mode")->GetString();
    CUST_KERNEL_LOG_WARNING(ctx, "%s with mode %s", ctx.GetOpType().c_str(), mode.c_str());
    if (mode == "throw") throw std::runtime_error("it was told to");
    volatile int64_t nothing = 0;
    if (mode == "divide") return uint32_t(x.NumElements() / nothing);
    if (x.GetDataType() != DT_FLOAT) return 7;
    if (x.GetDataSize() != uint64_t(x.CalcDataSizeByShape())) return 4;
    if (GetSizeByDataType(DT_STRING) != -1 || GetSizeByDataType(DT_BF16) != 2) return 5;
    const float factor = ctx.GetAttr("factor")->GetFloat();
    float plus = 0;
    for (const int64_t one : ctx.GetAttr("plus")->GetListInt()) plus += one;
    if (!ctx.GetAttr("flag")->GetBool()) plus = 0;
    auto from = static_cast<const float*>(x.GetData()), by = static_cast<const float*>(w.GetData());
    auto to = static_cast<float*>(y.GetData());
    const int64_t part = std::max<int64_t>(1, x.NumElements() / CpuKernelUtils::GetCPUNum(ctx));
    if (CpuKernelUtils::ParallelFor(ctx, 0, part, [](int64_t, int64_t) {}) == 0) return 6;
    return CpuKernelUtils::ParallelFor(ctx, x.NumElements(), part, [&](int64_t begin, int64_t end) {
      if (mode == "astray" && end == x.NumElements()) *reinterpret_cast<volatile int*>(nothing + 64) = 1;
      if (mode == "late" && end == x.NumElements()) throw std::runtime_error("in the last part");
      for (int64_t i = begin; i < end; ++i) to[i] = from[i] * by[i] * factor + plus;
    });
  }
};
const char* WEIGH = "Weigh";
REGISTER_CPU_KERNEL(WEIGH, WeighKernel);

// Each element is the number of the block that wrote it, behind how many there are.
class NumberKernel : public CpuKernel {
 public:
  uint32_t Compute(CpuKernelContext& ctx) override {
    AttrValue *id = ctx.GetAttr("block_id"), *count = ctx.GetAttr("block_num");
    const int64_t block = id ? id->GetInt() : 0, blocks = count ? count->GetInt() : 1;
    const int64_t total = ctx.Output(0)->GetTensorShape()->NumElements();
    for (int64_t i = total * block / blocks; i < total * (block + 1) / blocks; ++i)
      static_cast<int32_t*>(ctx.Output(0)->GetData())[i] = int32_t(100 * blocks + block);
    return 0;
  }
};
const char* NUMBER = "Number";
REGISTER_CPU_KERNEL(NUMBER, NumberKernel);

// The positive elements: only it knows how many there are.
class PositiveKernel : public CpuKernel {
 public:
  uint32_t Compute(CpuKernelContext& ctx) override {
    auto x = static_cast<const float*>(ctx.Input(0)->GetData());
    auto y = static_cast<float*>(ctx.Output(0)->GetData());
    const float* end = x + ctx.Input(0)->NumElements();
    const int64_t count = std::copy_if(x, end, y, [](float one) { return one > 0; }) - y;
    const int64_t more = ctx.GetAttr("most")->GetInt();
    auto shape = ctx.Output(0)->GetTensorShape();
    if (!shape->GetUnknownRank()) return 8;
    shape->SetDimSizes({more ? more : count});
    return 0;
  }
};
const char* POSITIVE = "Positive";
REGISTER_CPU_KERNEL(POSITIVE, PositiveKernel);

}  // namespace aicpu
