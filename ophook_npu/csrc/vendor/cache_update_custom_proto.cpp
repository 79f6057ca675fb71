// CacheUpdateCustom's REG_OP prototype with its shape and dtype inference, as its operator project registers them.
// Made by `ophook-npu op export npu::npu_cache_update_custom` from the operator's declaration.
#include <algorithm>

#include "graph/operator_reg.h"

namespace ge {

REG_OP(CacheUpdateCustom)
    .INPUT(cache, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32}))
    .INPUT(index, TensorType({DT_INT32, DT_INT64}))
    .INPUT(updates, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32}))
    .OUTPUT(cache, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32}))
    .OP_END_FACTORY_REG(CacheUpdateCustom);

IMPLEMT_COMMON_INFERFUNC(CacheUpdateCustomInfer) {
  TensorDesc cache = op.GetInputDescByName("cache");
  TensorDesc index = op.GetInputDescByName("index");
  TensorDesc updates = op.GetInputDescByName("updates");
  const DataType cache_types[] = {DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32};
  if (std::count(std::begin(cache_types), std::end(cache_types), cache.GetDataType()) == 0) {
    return GRAPH_FAILED;
  }
  if (updates.GetDataType() != cache.GetDataType()) return GRAPH_FAILED;
  const DataType index_types[] = {DT_INT32, DT_INT64};
  if (std::count(std::begin(index_types), std::end(index_types), index.GetDataType()) == 0) {
    return GRAPH_FAILED;
  }
  if (op.UpdateOutputDesc("cache", cache) != GRAPH_SUCCESS) return GRAPH_FAILED;
  return GRAPH_SUCCESS;
}
COMMON_INFER_FUNC_REG(CacheUpdateCustom, CacheUpdateCustomInfer);

}  // namespace ge
