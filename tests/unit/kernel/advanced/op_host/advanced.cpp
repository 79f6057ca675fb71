// The advanced functions' host side, as an operator calls it: x is (rows, width), `function` chooses what the kernel does.
#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"
#include "tiling/platform/platform_ascendc.h"
#include "platform/soc_spec.h"  // names that operator projects know these by
#include "graph/utils/type_utils.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(AdvancedTilingData)
TILING_DATA_FIELD_DEF(uint32_t, function);
TILING_DATA_FIELD_DEF(uint32_t, rows);
TILING_DATA_FIELD_DEF(uint32_t, width);  // rounded up to 32 bytes
TILING_DATA_FIELD_DEF(uint32_t, valid);
TILING_DATA_FIELD_DEF(uint32_t, k);
TILING_DATA_FIELD_DEF(uint32_t, temporary);
TILING_DATA_FIELD_DEF_STRUCT(SoftMaxTiling, softmax);
TILING_DATA_FIELD_DEF_STRUCT(LogSoftMaxTiling, logSoftmax);
TILING_DATA_FIELD_DEF_STRUCT(LayerNormTiling, layerNorm);
TILING_DATA_FIELD_DEF_STRUCT(RmsNormTiling, rmsNorm);
TILING_DATA_FIELD_DEF_STRUCT(TopkTiling, topk);
TILING_DATA_FIELD_DEF_STRUCT(ConfusionTransposeTiling, transpose);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Advanced, AdvancedTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext* context) {
  const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
  const uint32_t size = uint32_t(ge::GetSizeByDataType(context->GetInputDesc(0)->GetDataType()));
  const uint32_t rows = uint32_t(x.GetDim(0)), valid = uint32_t(x.GetDim(1)), unit = 32 / size, width = (valid + unit - 1) / unit * unit;
  const int64_t function = *context->GetAttrs()->GetInt(0), k = *context->GetAttrs()->GetInt(1);
  const auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
  if (platform.GetCurNpuArch() != NpuArch::DAV_2201 || platform.CalcTschNumBlocks(40, 20, 40) != 20) return ge::GRAPH_FAILED;
  uint32_t length = 0;
  if (ge::TypeUtils::DataTypeToSerialString(ge::DT_BF16) != "DT_BF16" || ge::TypeUtils::FormatToSerialString(ge::FORMAT_ND) != "ND" ||
      !ge::TypeUtils::GetDataTypeLength(ge::DT_INT64, length) || length != 8)
    return ge::GRAPH_FAILED;
  const ge::Shape two({rows, width}), three({1, rows, width, valid});
  AdvancedTilingData data;
  data.set_function(uint32_t(function)), data.set_rows(rows), data.set_width(width), data.set_valid(valid), data.set_k(uint32_t(k));
  uint32_t most = 0, least = 0, sums = 0, pairs = 0, transposed = 0;
  AscendC::GetLayerNormMaxMinTmpSize(three, size, false, most, least);
  AscendC::GetSumMaxMinTmpSize(valid, size, false, sums, sums);
  AscendC::GetConfusionTransposeMaxMinTmpSize(two, size, 7, transposed, transposed);
  if (function == 5 && !AscendC::GetTopKMaxMinTmpSize(platform, int32_t(width), int32_t(rows), false, false, AscendC::TopKMode::TOPK_NORMAL,
                                                      true, size, pairs, pairs))
    return ge::GRAPH_FAILED;
  // What an elementwise function wants, by its space and by its factor, which are to agree.
  uint32_t nodes = 0, extra = 0, whole = 0, step = 0;
  AscendC::GetTanhMaxMinTmpSize(two, size, false, whole, step);
  AscendC::GetTanhTmpBufferFactorSize(size, nodes, extra);
  if (!step || step > whole || whole < nodes * uint32_t(two.GetShapeSize()) * size + extra) return ge::GRAPH_FAILED;
  AscendC::GetRoundMaxMinTmpSize(platform, two, size, false, whole, step);
  AscendC::GetPowerMaxMinTmpSize(two, two, false, size, false, whole, step);
  AscendC::GetReduceSumMaxMinTmpSize(two, AscendC::TensorDataType(ge::DT_FLOAT), AscendC::ReducePattern::AR, true, false, whole, step);
  if (!AscendC::GetExpMaxMinTmpSize(two, size, false, whole, step)) return ge::GRAPH_FAILED;
  data.set_temporary(std::max({least, sums, pairs, transposed, AscendC::GetSoftMaxMinTmpSize(two, size, false),
                               AscendC::GetSoftMaxFlashV2MinTmpSize(two, size, size, true)}));
  AscendC::SoftMaxTilingFunc(two, size, data.get_temporary(), data.softmax);
  AscendC::LogSoftMaxTilingFunc(two, size, data.get_temporary(), data.logSoftmax);
  AscendC::GetLayerNormNDTilingInfo(three, data.get_temporary(), size, false, data.layerNorm);
  AscendC::GetRmsNormTilingInfo(ge::Shape({1, rows, width}), ge::Shape({1, rows, valid}), data.get_temporary(), size, data.rmsNorm);
  if (function == 5 && !AscendC::TopKTilingFunc(platform, int32_t(width), int32_t(rows), int32_t(k), size, false,
                                                AscendC::TopKMode::TOPK_NORMAL, true, data.topk))
    return ge::GRAPH_FAILED;
  AscendC::GetConfusionTransposeTilingInfo(two, data.get_temporary(), size, 7, data.transpose);
  data.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  char copy[4] = {1, 1, 1, 1};
  if (memset_s(copy, sizeof(copy), 0, sizeof(copy)) != EOK || copy[3]) return ge::GRAPH_FAILED;  // without an include, as in CANN
  context->GetRawTilingData()->SetDataSize(data.GetDataSize());
  context->SetBlockDim(1);
  context->GetWorkspaceSizes(1)[0] = 0;
  return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ops {
class Advanced : public OpDef {
 public:
  explicit Advanced(const char* name) : OpDef(name) {
    for (const char* input : {"x", "gamma", "beta"})
      this->Input(input).ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT16}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
    for (const char* output : {"y", "first", "second"})
      this->Output(output).ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT16}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->Output("index").ParamType(REQUIRED).DataType({ge::DT_INT32, ge::DT_INT32}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->Attr("function").AttrType(REQUIRED).Int();
    this->Attr("k").AttrType(OPTIONAL).Int(1);
    this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b");
  }
};
OP_ADD(Advanced);
}  // namespace ops
