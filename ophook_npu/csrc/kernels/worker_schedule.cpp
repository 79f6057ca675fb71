#include "kernels/worker_schedule.h"

#include <cstring>

namespace sim::kernels {
namespace {

// As op-plugin's tests write it; what is not read here has no name.
struct Context {
  uint32_t sessions, micro_batches, tokens, chosen, experts, size_to_experts, size_to_attention;
  int32_t mode;
  int8_t reserved[96];
  int32_t running;
  int8_t waiting[124];
  uint64_t token_info, token_info_size, token_data, token_data_size;
  uint32_t micro_batch;
  int8_t rest[92];
};
static_assert(sizeof(Context) == 384);

}  // namespace

void combined_like(const at::Tensor& context, const at::Tensor& scales, const at::Tensor& layer, int64_t hidden,
                   int64_t schedule, const at::Tensor& out, const at::Tensor& next) {
  of_dtype("scheduleContext", context, {at::kChar});
  SIM_CHECK(context.is_contiguous() && context.numel() >= int64_t(sizeof(Context)), "scheduleContext has ",
            context.numel(), " bytes; at least ", sizeof(Context), " are expected");
  SIM_CHECK(schedule == 0, "needSchedule ", schedule, " is not simulated; allowed: 0");
  of_dtype("expertScales", scales, {at::kFloat});
  SIM_CHECK(scales.dim() == 2, "expertScales ", scales.sizes(), "; two dimensions are expected");
  of_dtype("layerId", layer, {at::kInt});
  one_element(layer), one_element(next);
  of_dtype("y", out, {at::kHalf, at::kBFloat16});
  shape(out, {scales.size(0), hidden});
}

void combine(const at::Tensor& context, const at::Tensor& scales, const at::Tensor& layer, const at::Tensor& out,
             const at::Tensor& next) {
  Context told;
  std::memcpy(&told, context.const_data_ptr(), sizeof told);
  SIM_CHECK(told.tokens == scales.size(0) && told.chosen == scales.size(1) + 1 && told.micro_batch < told.micro_batches,
            "the context has ", told.tokens, " tokens with ", told.chosen, " experts each and micro batch ",
            told.micro_batch, " of ", told.micro_batches, ", expertScales is ", scales.sizes());
  const int64_t rows = scales.size(0), chosen = scales.size(1), hidden = out.size(1),
                size = rows * (chosen + 1) * hidden;
  const auto bytes = uint64_t(size * out.element_size());
  void* data = reinterpret_cast<void*>(told.token_data);
  SIM_CHECK(bytes * told.micro_batches <= told.token_data_size, "the context's token data have ", told.token_data_size,
            " bytes; ", bytes * told.micro_batches, " are expected");
  const char* problem = sim_memory_problem("the context's token data", data, bytes * told.micro_batches);
  SIM_CHECK(!problem, problem);
  const auto given = at::from_blob(data, {int64_t(told.micro_batches), rows, chosen + 1, hidden}, out.options());
  const auto mine = wide(given[told.micro_batch]);
  write(out, (mine.narrow(1, 0, chosen) * scales.unsqueeze(-1)).sum(1) + mine.select(1, chosen));
  write(next, layer + 1);
}

}  // namespace sim::kernels
