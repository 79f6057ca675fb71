// What the host side of an operator is given, used as metadef's pages describe it. Exit status: the first line that is
// not so, or 0.
#include <cstring>
#include <map>

#include "exe_graph/runtime/infer_shape_range_context.h"
#include "exe_graph/runtime/tiling_context.h"
#include "graph/operator.h"
#include "graph/utils/type_utils.h"
#include "register/tilingdata_base.h"
#include "register/op_impl_registry.h"
#include "tiling/platform/platform_ascendc.h"
#include "tiling/tiling_api.h"
#include "tiling/matrix/matmul_tilingdata.h"
#include "tiling/softmax/softmax_tiling_intf.h"
#include "tiling/math/log_tiling.h"
#include "utils/log/asc_cpu_log.h"

BEGIN_TILING_DATA_DEF(Inner)
TILING_DATA_FIELD_DEF(int64_t, wide);
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(Outer)
TILING_DATA_FIELD_DEF(int32_t, first);
TILING_DATA_FIELD_DEF_STRUCT(Inner, inner);
TILING_DATA_FIELD_DEF_ARR(int16_t, 2, last);
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(Narrow)
TILING_DATA_FIELD_DEF_ARR(uint32_t, 13, words);
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(OfNarrow)
TILING_DATA_FIELD_DEF(uint32_t, first);
TILING_DATA_FIELD_DEF_STRUCT(Narrow, narrow);
TILING_DATA_FIELD_DEF(uint32_t, last);
END_TILING_DATA_DEF;

#define SAY(condition) \
  if (!(condition)) return __LINE__

using namespace gert;

namespace {
int freed = 0, shared = 0;
ge::graphStatus manage(TensorAddress address, TensorOperateType operation, void** out) {
  if (operation == kGetTensorAddress) *out = static_cast<uint8_t*>(address) + 8;
  freed += operation == kFreeTensor, shared += operation == kPlusShareCount;
  return ge::GRAPH_SUCCESS;
}

int shapes() {
  Shape shape({3, 256, 7});
  SAY(shape.GetDimNum() == 3 && shape.GetDim(2) == 7 && shape.GetShapeSize() == 3 * 256 * 7 && !shape.IsScalar());
  SAY(shape.GetDim(Shape::kMaxDimNum) == Shape::kInvalidDimValue && Shape().IsScalar());
  shape.AppendDim(2).SetDim(0, 1);
  SAY(shape == Shape({1, 256, 7, 2}) && shape != Shape({1, 256, 7}) && shape[3] == 2);
  for (int i = 0; i < 30; ++i) shape.AppendDim(1);
  SAY(shape.GetDimNum() == Shape::kMaxDimNum);
  SAY(Stride({3, 1}).AppendStride(2) == Stride({3, 1, 2}) && Stride({3}).GetStride(25) == Stride::kInvalidStrideValue);
  StorageShape both({8, 3}, {1, 8, 16});
  SAY(both.GetOriginShape() == Shape({8, 3}) && both.GetShape() == Shape({1, 8, 16}));
  both.MutableShape().SetDim(0, 2);
  SAY(both == StorageShape({8, 3}, {2, 8, 16}) && both != StorageShape());

  const ExpandDimsType rule("1001"), same(int64_t(4) << 56 | 9), longer("10000");
  Shape of({3, 256, 5}), expanded;
  SAY(rule.GetFullSize() == 4 && rule.IsExpandIndex(0) && !rule.IsExpandIndex(1) && rule == same);
  SAY(rule.Expand(of, expanded) == ge::GRAPH_SUCCESS && expanded == Shape({1, 3, 256, 1, 5}));
  SAY(longer.Expand(of, expanded) == ge::GRAPH_FAILED && ExpandDimsType("1000").Expand(of) == ge::GRAPH_SUCCESS);
  SAY(of == Shape({1, 3, 256, 5}));

  int least = 0, most = 9, another = 9;
  SAY(Range<int>(&least, &most) == Range<int>(&least, &another) && !(Range<int>(&least) == Range<int>(&most)));
  return 0;
}

int tensors() {
  uint8_t memory[64] = {};
  {
    TensorData one(memory, manage, 40, kOnHost), other(memory);
    SAY(one.GetAddr() == memory + 8 && other.GetAddr() == memory && !one.IsSharedWith(other));
    SAY(other.ShareFrom(one) == ge::GRAPH_SUCCESS && one.IsSharedWith(other) && other.GetSize() == 40);
    TensorAddrManager manager = nullptr;
    SAY(one.Release(manager) == memory && manager == manage && !one.GetAddr());
    SAY(TensorPlacementUtils::IsOnHost(other.GetPlacement()) && !TensorPlacementUtils::IsOnDevice(kFollowing));
  }
  SAY(freed == 1 && shared == 1);
  Tensor tensor{{{8, 3}, {16, 3}}, {ge::FORMAT_ND, ge::FORMAT_FRACTAL_NZ, {}}, kFollowing, ge::DT_FLOAT16, nullptr};
  SAY(tensor.GetShapeSize() == 48 && tensor.GetSize() == 96 && tensor.GetAddr() == &tensor + 1);
  SAY(tensor.GetOriginFormat() == ge::FORMAT_ND && tensor.GetFormat().GetStorageFormat() == ge::FORMAT_FRACTAL_NZ);
  size_t total = 0;
  const auto holder = Tensor::CreateFollowing(6, ge::DT_INT32, total);
  auto* following = reinterpret_cast<Tensor*>(holder.get());
  SAY(total == sizeof(Tensor) + 24 && following->GetSize() == 24 && following->GetDataType() == ge::DT_INT32);
  SAY(static_cast<void*>(following->GetData<int32_t>()) == holder.get() + sizeof(Tensor));

  const auto list = ContinuousVector::Create<int64_t>(3);
  auto* numbers = reinterpret_cast<TypedContinuousVector<int64_t>*>(list.get());
  SAY(numbers->GetCapacity() == 3 && numbers->SetSize(2) == ge::GRAPH_SUCCESS && numbers->GetSize() == 2);
  SAY(numbers->SetSize(4) == ge::GRAPH_FAILED && static_cast<void*>(numbers->MutableData()) == list.get() + 16);
  SAY(!ContinuousVector::Create<int64_t>(SIZE_MAX));
  alignas(8) uint8_t bytes[256];
  auto* lists = reinterpret_cast<ContinuousVectorVector*>(bytes);
  lists->Init(2);
  SAY(lists->Add<int64_t>(2)->SetSize(2) == ge::GRAPH_SUCCESS && lists->Add<int64_t>(1) && !lists->Add<int64_t>(1));
  SAY(lists->GetSize() == 2 && lists->Get(0)->GetSize() == 2 && lists->Get(1)->GetCapacity() == 1 && !lists->Get(2));

  const auto buffer = TilingData::CreateCap(12);
  auto* data = reinterpret_cast<TilingData*>(buffer.get());
  const int32_t seven = 7, two[] = {1, 2};
  SAY(data->Append(seven) == ge::GRAPH_SUCCESS && data->Append(two, 3) == ge::GRAPH_FAILED);
  *data << two[1];
  SAY(data->GetDataSize() == 8 && static_cast<int32_t*>(data->GetData())[1] == 2 && !data->Expand(5));
  SAY(data->Expand(4) == buffer.get() + sizeof(TilingData) + 8);

  Outer outer;
  int64_t raw[3] = {};
  const int16_t two_more[] = {7, 8};
  outer.set_first(3);
  outer.SetDataPtr(raw);
  SAY(raw[0] == 3 && outer.GetDataSize() == sizeof raw);
  OfNarrow of_narrow;  // each structure is filled up to 8 bytes, and begins at a multiple of them
  of_narrow.set_last(7);
  uint32_t words[18] = {};
  of_narrow.SaveToBuffer(words, sizeof words);
  SAY(of_narrow.narrow.GetDataSize() == 56 && of_narrow.GetDataSize() == sizeof words && words[16] == 7);
  outer.inner.set_wide(-5), outer.set_last(two_more);
  SAY(raw[1] == -5 && reinterpret_cast<int16_t*>(raw)[9] == 8);
  return 0;
}

int contexts() {
  Node node;
  for (const int64_t size : {5, 6, 7}) {
    StorageShape shape({size}, {size});
    node.add(node.inputs, Tensor(shape, StorageFormat(), kOnHost, ge::DT_FLOAT, nullptr));
    node.input_descs.emplace_back().SetDataType(ge::DT_FLOAT);
  }
  node.add(node.outputs, Tensor(StorageShape(), StorageFormat(), ge::DT_UNDEFINED)), node.output_descs.resize(1);
  node.ir_inputs = {{0}, {}, {1, 2}}, node.ir_outputs = {{0}};
  node.input_places = {0, 1, 2}, node.output_places = {0};
  std::vector<AttrValue> attrs(4);
  attrs[0].kind = AttrValue::kInts, attrs[0].wholes = {4, 5};
  attrs[1].kind = AttrValue::kIntLists, attrs[1].wholes = {1, 2, 3}, attrs[1].lengths = {2, 1};
  attrs[2].kind = AttrValue::kText, attrs[2].text = "mean";
  attrs[3].kind = AttrValue::kBools, attrs[3].wholes = {1, 0};
  node.attrs = RuntimeAttrs(attrs);

  TilingContext tiling(node);
  SAY(!tiling.SetAicpuBlockDim(6) && tiling.GetAicpuBlockDim() == 6);
  SAY(tiling.GetDynamicInputShape(2, 1)->GetShape() == Shape({7}) && !tiling.GetOptionalInputShape(1));
  SAY(tiling.GetIrInputInstanceInfo(2)->GetInstanceStart() == 1 && tiling.GetDynamicInputDesc(2, 0)->IsExist());
  SAY(!tiling.GetInputStride(0) && tiling.GetInputOffset(0) == -1 && !tiling.InputIsView(0));
  SAY(tiling.GetTilingCond() == -1 && tiling.SetTilingCond(3) == ge::GRAPH_SUCCESS && tiling.GetTilingCond() == 3);
  SAY(!tiling.NeedAtomic() && tiling.SetNeedAtomic(true) == ge::GRAPH_SUCCESS && tiling.NeedAtomic());
  SAY(tiling.SetSimdNumBlocks(5) == ge::GRAPH_SUCCESS && tiling.GetBlockDim() == 5);
  *tiling.GetTilingData<int64_t>() = 9;
  SAY(tiling.GetRawTilingData()->GetDataSize() == 8);
  const RuntimeAttrs* given = tiling.GetAttrs();
  SAY(given->GetListInt(0)->GetSize() == 2 && given->GetListInt(0)->GetData()[1] == 5 && !given->GetListFloat(0));
  SAY(given->GetAttrPointer<ContinuousVector>(0) == given->GetListInt(0) && !given->GetAttrPointer<int64_t>(4));
  SAY(static_cast<const void*>(given->GetBool(0)) == given->GetListInt(0) && !given->GetBool(4));
  const ContinuousVector* second = given->GetListListInt(1)->Get(1);
  SAY(second->GetSize() == 1 && *static_cast<const int64_t*>(second->GetData()) == 3);
  SAY(!std::strcmp(given->GetStr(2), "mean") && given->GetInt(2));
  SAY(given->GetAttrPointer<TypedContinuousVector<bool>>(3)->GetData()[0]);

  InferDataTypeContext types(node);
  SAY(types.SetOutputDataType(0, types.GetDynamicInputDataType(2, 0)) == ge::GRAPH_SUCCESS);
  SAY(types.GetOutputDataType(0) == ge::DT_FLOAT && tiling.GetOutputDesc(0)->GetDataType() == ge::DT_FLOAT);
  InferShapeRangeContext range(node);
  SAY(range.GetInputShapeRange(1)->GetMax() == range.GetDynamicInputShapeRange(2, 0)->GetMin());
  range.GetOutputShapeRange(0)->GetMax()->AppendDim(4), range.GetOutputShapeRange(0)->GetMin()->AppendDim(2);
  SAY(node.outputs[0]->GetOriginShape() == Shape({2}) && !range.GetInputTensorRange(3));
  InferFormatContext format(node);
  format.GetRequiredOutputFormat(0)->SetStorageFormat(ge::FORMAT_NHWC);
  SAY(node.outputs[0]->GetStorageFormat() == ge::FORMAT_NHWC && !format.GetOptionalInputFormat(1));
  SAY(OpCheckContext(node).GetInputShape(2)->GetShape() == Shape({7}) && !OpCheckContext(node).GetOutputShape(-1));
  return 0;
}

int graph_engine() {
  SAY(ge::GetSizeByDataType(ge::DT_INT4) == 1004 && ge::GetSizeByDataType(ge::DT_STRING) == -1);
  SAY(ge::GetSizeInBytes(3, ge::DT_INT4) == 2 && ge::GetSizeInBytes(-1, ge::DT_INT8) == -1);
  int32_t sum = 0;
  SAY(ge::AddOverflow(int64_t{1} << 31, 0, sum) && !ge::MulOverflow(6, 7u, sum) && sum == 42);
  SAY(ge::IntegerChecker<uint8_t>::Compat(255) && !ge::IntegerChecker<uint8_t>::Compat(-1));
  const int32_t format = ge::GetFormatFromSubAndC0(ge::FORMAT_FRACTAL_Z, 300, 5);
  SAY(ge::GetPrimaryFormat(format) == ge::FORMAT_FRACTAL_Z && ge::GetSubFormat(format) == 300);
  SAY(ge::GetC0Value(format) == 16 && ge::HasSubFormat(format) && !ge::HasC0Format(ge::FORMAT_ND));
  SAY(ge::TypeUtils::SerialStringToDataType("DT_UINT32") == ge::DT_UINT32 && ge::DT_FLOAT4_E1M2 == 41);
  SAY(ge::TypeUtils::SerialStringToFormat("NHWC") == ge::FORMAT_NHWC && ge::FORMAT_FRACTAL_NZ_C0_8 == 54);
  SAY(ge::TypeUtils::DataFormatToFormat(std::string("FRACTAL_Z")) == ge::FORMAT_RESERVED);
  SAY(ge::TypeUtils::FormatToAscendString(ge::FORMAT_NCL) == "NCL");
  std::map<ge::AscendString, int> ordered{{"b", 2}, {"a", 1}};
  SAY(ordered.begin()->second == 1 && ge::AscendString("abcd", 3).GetLength() == 3);
  SAY(ge::AscendString("abc").Find("c") == 2);

  ge::Operator op("one", "Add");
  (void)op.UpdateInputDesc("x", ge::TensorDesc(ge::Shape({8, 2}), ge::FORMAT_NHWC, ge::DT_INT8));
  op.SetAttr("axis", int64_t{2});
  int64_t axis = 0;
  float wrong = 0;
  SAY(op.GetAttr("axis", axis) == ge::GRAPH_SUCCESS && axis == 2 && op.GetAttr("axis", wrong) == ge::GRAPH_FAILED);
  SAY(op.GetInputDesc(0).GetShape().GetDim(0) == 8 && op.GetInputDescByName("x").GetDataType() == ge::DT_INT8);
  return 0;
}

int platform() {
  fe::PlatFormInfos infos;
  infos.soc = "Ascend910B4", infos.ub = 192 * 1024;
  platform_ascendc::PlatformAscendC asked(&infos);
  uint64_t bytes = 0;
  asked.ReserveLocalMemory(platform_ascendc::ReservedSize::RESERVED_SIZE_32K);
  asked.ReserveLocalMemory(platform_ascendc::ReservedSize::RESERVED_SIZE_16K);
  asked.GetCoreMemSize(platform_ascendc::CoreMemType::UB, bytes);
  SAY(bytes == 176 * 1024 - 256 && asked.GetVecRegLen() == 0);
  std::string text, size;
  SAY(infos.GetPlatformResWithLock("version", "Short_SoC_version", text) && text == "Ascend910B");
  SAY(infos.GetPlatformRes("AICoreSpec", "ub_size", size) && size == "196608");
  SAY(infos.GetPlatformRes("AICoreintrinsicDtypeMap", "Intrinsic_mmad", text) &&
      text.find("s8s4") == std::string::npos);
  SAY(!infos.GetPlatformRes("AICoreintrinsicDtypeMap", "Intrinsic_fix_pipe_l0c2ub", text) && text.empty());
  SAY(!infos.GetPlatformRes("AICoreintrinsicDtypeMap", "Intrinsic_none", text));
  uint64_t l2 = 0, hbm = 0;
  asked.GetCoreMemBw(platform_ascendc::CoreMemType::L2, l2),
      asked.GetCoreMemBw(platform_ascendc::CoreMemType::HBM, hbm);
  asked.GetCoreMemBw(platform_ascendc::CoreMemType::UB, bytes);
  SAY(l2 == 110 && hbm == 32 && bytes == 0);
  SAY(asked.CalcTschBlockDim(39, 20, 40) == 20 && asked.CalcTschNumBlocks(41, 20, 40) == 0);
  SAY(asked.CalcTschBlockDim(6, 1, 3) == 2 && asked.CalcTschBlockDim(2, 1, 1) == 2);
  SAY(asked.GetLibApiWorkSpaceSize() == 16 << 20 && asked.GetResCubeGroupWorkSpaceSize() == 1 << 20);
  ASC_CPU_LOG_INFO("nothing is printed for %s", "information");
  infos.soc = "Ascend310B1";
  SAY(asked.GetLibApiWorkSpaceSize() == 2 << 20);
  infos.soc = "Ascend910_9382";
  SAY(infos.GetPlatformRes("version", "Short_SoC_version", text) && text == "Ascend910_93");
  SAY(asked.GetSocVersion() == platform_ascendc::SocVersion::ASCEND910B);
  asked.GetCoreMemSize(platform_ascendc::CoreMemType::BT, bytes);
  SAY(bytes == 1024);
  asked.GetCoreMemSize(platform_ascendc::CoreMemType::FB, bytes);
  SAY(bytes == 7 * 1024);
  return 0;
}

int products() {
  matmul_tiling::MultiCoreMatmulTiling asked;
  asked.SetDim(40), asked.SetShape(1024, 640, 256), asked.SetOrgShape(1024, 640, 256), asked.SetFixSplit(-1, 160, -1);
  optiling::TCubeTiling found;
  SAY(asked.GetTiling(found) != -1 && found.get_baseN() == 160 && found.get_singleCoreN() % 160 == 0);
  // As the pages have it: -1 is the whole matrix's, a tile is no larger than what a core has, and a block that is turned on
  // its way to L0 is 16 deep, of float too.
  using namespace matmul_tiling;
  PlatformInfo processor{platform_ascendc::SocVersion::ASCEND910B, 512 << 10, 128 << 10, 192 << 10, 64 << 10, 64 << 10};
  MatmulApiTiling one(processor);
  AscendC::tiling::TCubeTiling t;
  one.SetAType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
  one.SetBType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
  one.SetShape(-1, 64, -1), one.SetOrgShape(48, 96, 24);
  SAY(one.GetTiling(t) != -1 && t.singleCoreM == 48 && t.singleCoreN == 64 && t.singleCoreK == 24 && t.baseK == 32);
  one.SetBType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT, true);
  SAY(one.GetTiling(t) != -1 && t.baseK == 24);
  one.SetFixSplit(64, -1, -1);
  SAY(one.GetTiling(t) == -1);
  one.SetFixSplit(16, 32, -1), one.SetMatmulConfigParams(1, false, ScheduleType::N_BUFFER_33);
  SAY(one.GetTiling(t) != -1 && t.stepM == 3 && t.stepKa == 1 && t.stepKb == 1 && t.depthA1 == 3);
  BatchMatmulTiling batch;
  batch.SetShape(64, 48, 32), batch.SetSingleShape(64, 48, 32), batch.SetOrgShape(64, 48, 32);
  batch.SetBatchInfoForNormal(2, 2, 64, 48, 32), batch.SetBatchNum(2);
  int32_t dim, m, n, batch_m, batch_n;
  SAY(batch.GetTiling(t) != -1 && t.BatchNum == 2 && batch.GetCoreNum(dim, m, n, batch_m, batch_n) == 0 && dim == 1);
  MultiCoreMatmulTiling range;
  range.SetDim(8), range.SetShape(256, 256, 64), range.SetOrgShape(256, 256, 64), range.SetSingleRange(256, 256, 64, 128, 128);
  SAY(range.GetTiling(t) != -1 && t.singleCoreM >= 128 && t.singleCoreN >= 128 && t.usedCoreNum == 4);
  range.SetSingleRange(256, 256, 32);
  SAY(range.GetTiling(t) == -1);
  MultiCoreMatmulTiling part;
  part.SetDim(8), part.SetShape(256, 256, 64), part.SetOrgShape(256, 256, 64), part.SetSingleShape(64, -1, -1);
  uint32_t most = 0, least = 0;
  const ge::Shape many({64, 128}), one_number({1});
  AscendC::GetSelectWithBytesMaskMaxMinTmpSize(many, one_number, 2, many, 1, false, most, least);
  SAY(least == AscendC::GetSelectMinTmpSize(many, one_number, 2, many, 1, false) && least > 0);
  SAY(most == AscendC::GetSelectMaxTmpSize(many, one_number, 2, many, 1, false) && most >= least);
  AscendC::GetArithProgressionMaxMinTmpSize(most, least);
  AscendC::tiling::ConfusionTransposeTiling turned;
  AscendC::GetConfusionTransposeOnlyTilingInfo(many, 1024, 2, turned);
  SAY(most == 0 && least == 0 && turned.param0 == 64 && turned.param1 == 128);
  SAY(part.GetTiling(t) != -1 && t.singleCoreM == 64 && t.singleCoreN == 256 && t.usedCoreNum == 4);
  return 0;
}

// The older flash softmax, and which shapes are made of basic blocks.
int tilings() {
  const AscendC::TensorShape rows({8, 64});
  optiling::SoftMaxTiling registered;
  AscendC::tiling::SoftMaxTiling plain;
  AscendC::SoftMaxFlashTilingFunc(rows, 2, 4096, registered, true);
  AscendC::SoftMaxFlashTilingFunc(rows, 2, 4096, plain);
  SAY(registered.get_srcM() == 8 && plain.srcK == 64 && plain.outMaxK == 16);
  const uint32_t least = AscendC::GetSoftMaxFlashMinTmpSize(rows, 2, true, false);
  SAY(least > 0 && AscendC::GetSoftMaxFlashMaxTmpSize(rows, 2, true, false) >= least);
  uint32_t most = 0, of_scalar = 0, nodes = 1, extra = 1, min = 0;
  AscendC::GetPowerMaxMinTmpSize(rows, AscendC::TensorShape({1}), false, 4, false, most, min);
  AscendC::GetPowerMaxMinTmpSize(AscendC::TensorShape({1}), rows, false, 4, false, of_scalar, min);
  SAY(most == of_scalar && most >= 8 * 64 * 4);
  AscendC::GetLogTmpBufferFactorSize(2, nodes, extra);
  SAY(nodes == 0 && extra == 0);
  AscendC::GetLog2TmpBufferFactorSize(4, nodes, extra);
  SAY(nodes == 0 && extra == 0);
  AscendC::GetLog2TmpBufferFactorSize(2, nodes, extra);
  SAY(nodes > 0 && extra == 0);
  const AscendC::TensorShape basic({2, 4, 64}), short_rows({2, 4, 60}), few_rows({1, 4, 64}), long_rows({2, 4, 2048}), small({8, 4, 64});
  optiling::RmsNormTiling rms;
  optiling::DeepNormTiling deep;
  optiling::BatchNormTiling batch;
  SAY(AscendC::GetRmsNormTilingInfo(basic, basic, 4096, 2, rms, true));
  SAY(!AscendC::GetRmsNormTilingInfo(basic, short_rows, 4096, 2, rms, true));
  SAY(AscendC::GetRmsNormTilingInfo(basic, short_rows, 4096, 2, rms));
  SAY(!AscendC::GetDeepNormTilingInfo(few_rows, few_rows, 4096, 2, false, true, deep));
  SAY(!AscendC::GetDeepNormTilingInfo(long_rows, long_rows, 4096, 2, false, true, deep));
  SAY(!AscendC::GetBatchNormNDTilingInfo(basic, basic, 4096, 2, false, batch, true));
  SAY(AscendC::GetBatchNormNDTilingInfo(small, small, 4096, 2, false, batch, true));
  return 0;
}
}  // namespace

int main() {
  for (int (*part)() : {shapes, tensors, contexts, graph_engine, platform, products, tilings})
    if (const int line = part()) {
      std::cerr << line << "\n";
      return 1;
    }
  return 0;
}
