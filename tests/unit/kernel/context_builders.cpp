// Tests of tiling and inference functions as their authors write them, with the builders that metadef's pages describe.
// Exit status: 1 with the first line that is not so, or 0.
#include <cstring>
#include <iostream>
#include <map>

#include "base/context_builder/context_holder.h"
#include "base/context_builder/op_infer_datatype_context_builder.h"
#include "base/context_builder/op_infer_shape_context_builder.h"
#include "base/context_builder/op_infer_shape_range_context_builder.h"
#include "base/context_builder/op_kernel_run_context_builder.h"
#include "base/context_builder/op_tiling_context_builder.h"
#include "base/context_builder/op_tiling_parse_context_builder.h"
#include "exe_graph/runtime/kernel_context.h"
#include "exe_graph/runtime/tiling_parse_context.h"
#include "platform/platform_infos_def.h"
#include "register/op_def_registry.h"
#include "register/op_impl_registry.h"

#define SAY(condition) \
  if (!(condition)) return __LINE__

using namespace gert;

namespace {

struct ScaleTiling {
  int64_t rows;
  int32_t blocks;
  float factor;
};
struct ScaleCompileInfo {
  uint32_t cores = 0;
  uint64_t ub = 0;
};

ge::graphStatus parse_scale(TilingParseContext* context) {
  auto* info = context->GetCompiledInfo<ScaleCompileInfo>();
  const platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
  if (!info) return ge::GRAPH_FAILED;
  info->cores = platform.GetCoreNumAiv();
  platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, info->ub);
  return ge::GRAPH_SUCCESS;
}
ge::graphStatus tile_scale(TilingContext* context) {
  const auto* info = context->GetCompileInfo<ScaleCompileInfo>();
  const StorageShape* x = context->GetRequiredInputShape(0);
  const float* factor = context->GetAttrs()->GetFloat(0);
  if (!info || !x || !factor || x->GetStorageShape().GetDimNum() != 2) return ge::GRAPH_FAILED;
  if (context->GetInputDesc(0)->GetDataType() != ge::DT_FLOAT) return ge::GRAPH_FAILED;
  auto* tiling = context->GetTilingData<ScaleTiling>();
  size_t* workspaces = context->GetWorkspaceSizes(1);
  if (!tiling || !workspaces) return ge::GRAPH_FAILED;
  *tiling = {x->GetStorageShape().GetDim(0), int32_t(info->cores), *factor};
  workspaces[0] = info->ub;
  context->SetTilingKey(context->GetOptionalInputShape(1) ? 2 : 1);
  return context->SetBlockDim(info->cores);
}
ge::graphStatus infer_scale(InferShapeContext* context) {
  *context->GetOutputShape(0) = *context->GetInputShape(0);
  return ge::GRAPH_SUCCESS;
}

class Scale : public ops::OpDef {
 public:
  explicit Scale(const char* name) : OpDef(name) {
    Input("x").ParamType(ops::REQUIRED).DataType({ge::DT_FLOAT});
    Output("y").ParamType(ops::REQUIRED).DataType({ge::DT_FLOAT});
    SetInferShape(infer_scale);
    AICore().SetTiling(tile_scale).AddConfig("ascend910b");
  }
};
OP_ADD(Scale);
IMPL_OP_OPTILING(Other).Tiling(tile_scale, 512).TilingParse<ScaleCompileInfo>(parse_scale);
IMPL_OP_INFERDATATYPE(Other)
    .InferOutDataTypeSameWithFirstInput()
    .PrivateAttr("mode")
    .PrivateAttr("axes", std::vector<int64_t>{1, 2})
    .PrivateAttr("scale", 0.5F)
    .HostInputs({1})
    .TilingInputsDataDependency({2})
    .NullableOutputs({0})
    .OutputShapeDependOnCompute({1});

StorageShape shape_of(std::initializer_list<int64_t> dims) { return StorageShape(dims, dims); }

// What a test tells of its processor.
void tell(fe::PlatFormInfos& platform, uint32_t cores, uint64_t ub) {
  std::map<std::string, std::string> soc{{"ai_core_cnt", std::to_string(cores)}};
  std::map<std::string, std::string> core{{"ub_size", std::to_string(ub)}, {"ubblock_size", "32"}};
  std::map<std::string, std::string> version{{"Short_SoC_version", "Ascend950"}, {"NpuArch", "3510"}};
  platform.SetPlatformRes("SoCInfo", soc);
  platform.SetPlatformRes("AICoreSpec", core);
  platform.SetPlatformRes("version", version);
  platform.SetCoreNumByCoreType("AICore");
}

// One call of Scale, with and without its optional input.
int a_tiling_test() {
  fe::PlatFormInfos platform;
  SAY(platform.Init());
  Tensor x(shape_of({30, 8}), {ge::FORMAT_ND, ge::FORMAT_ND, {}}, kOnHost, ge::DT_FLOAT, nullptr);
  Tensor mask(shape_of({8}), {ge::FORMAT_ND, ge::FORMAT_ND, {}}, kOnHost, ge::DT_FLOAT, nullptr);
  Tensor y(shape_of({30, 8}), {ge::FORMAT_ND, ge::FORMAT_ND, {}}, kOnHost, ge::DT_FLOAT, nullptr);
  ScaleCompileInfo info;
  {
    const OpImplFunctionsV2* found = OpImplRegistry::GetInstance().GetOpImpl("Other");
    OpKernelContextBuilder parse;
    auto holder =
        parse.OpType("Other").OpName("other").IONum(0, 0).Inputs({nullptr, &platform}).Outputs({&info}).Build();
    SAY(holder.GetContext());
    tell(*reinterpret_cast<TilingParseContext*>(holder.GetContext())->GetPlatformInfo(), 40, 253952);
    SAY(found && found->tiling_parse && found->tiling_parse(holder.GetContext()) == ge::GRAPH_SUCCESS);
    SAY(info.cores == 40 && info.ub == 253952 && found->max_tiling_data_size == 512);
  }
  const auto found = OpImplRegistry::GetInstance().GetOpImpl("Scale");
  SAY(found && found->tiling == tile_scale && found->infer_shape == infer_scale && !found->tiling_parse);
  SAY(!OpImplRegistry::GetInstance().GetOpImpl("None"));
  for (const bool masked : {false, true}) {
    auto memory = gert::TilingData::CreateCap(64);
    auto* data = reinterpret_cast<TilingData*>(memory.get());
    auto sizes = ContinuousVector::Create<size_t>(16);
    auto* workspace = reinterpret_cast<ContinuousVector*>(sizes.get());
    OpTilingContextBuilder builder;
    std::vector<Tensor*> inputs{&x};
    if (masked) inputs.push_back(&mask);
    builder.OpType("Scale").OpName("scale_0").IOInstanceNum({1, masked ? 1U : 0U}, {1});
    builder.InputTensors(inputs).OutputTensors({&y}).CompileInfo(&info).PlatformInfo(&platform);
    builder.AppendAttr(2.5F).TilingData(data).Workspace(workspace);
    auto holder = builder.Build();
    TilingContext* context = holder.GetContext();
    SAY(context && context->GetPlatformInfo() == &platform && context->GetCompileInfo() == &info);
    SAY(found->tiling(context) == ge::GRAPH_SUCCESS);
    SAY(context->GetBlockDim() == 40 && context->GetTilingKey() == (masked ? 2 : 1));
    SAY(workspace->GetSize() == 1 && context->GetWorkspaceNum() == 1 && context->GetWorkspaceSizes(1)[0] == 253952);
    SAY(!context->GetWorkspaceSizes(17) && context->GetRawTilingData() == data && data->GetDataSize() == 16);
    const auto* written = static_cast<const ScaleTiling*>(data->GetData());
    SAY(written->rows == 30 && written->blocks == 40 && written->factor == 2.5F);
    SAY(!std::strcmp(context->GetNodeName(), "scale_0") && !std::strcmp(context->GetNodeType(), "Scale"));
    SAY(context->GetIrInputInstanceNum(1) == size_t(masked) && context->GetComputeNodeInputNum() == inputs.size());
  }
  return 0;
}

int freed = 0;

int what_a_tiling_context_tells() {
  const uint8_t byte[1] = {9};
  Tensor x(shape_of({1, 2}), {ge::FORMAT_NCDHW, ge::FORMAT_RESERVED, {}}, kOnHost, ge::DT_FLOAT,
           const_cast<uint8_t*>(byte));
  TensorV2 strided(shape_of({3, 4}), {ge::FORMAT_ND, ge::FORMAT_ND, {}}, kOnHost, ge::DT_FLOAT16, nullptr, nullptr,
                   Stride({8, 1}), 5);
  Tensor y(shape_of({6}), {ge::FORMAT_ND, ge::FORMAT_ND, {}}, kOnHost, ge::DT_FLOAT, nullptr);
  const auto sizes = ContinuousVector::Create<size_t>(8);
  auto* workspace = reinterpret_cast<ContinuousVector*>(sizes.get());
  fe::PlatFormInfos platform;
  int info = 0;
  const Dim3 block(2, 3), grid(7);
  OpTilingContextBuilder builder;
  builder.OpName("tmp").OpType("DIY").IONum(2, 1).IOInstanceNum({1}, {1});
  builder.AppendAttr(int64_t{1}).AppendAttr(true).AppendAttr(0.3F).AppendAttr(ge::AscendString("my_info"));
  builder.AppendAttr(std::vector<bool>{true, false, true}).AppendAttr(std::vector<int64_t>{1, 2, 3});
  builder.AppendAttr(std::vector<float>{0.1F, 2.5F}).AppendAttr(std::vector<ge::AscendString>{"123", "234"});
  builder.AppendAttr(std::vector<std::vector<int64_t>>{{1, 2, 3}, {4, 5}});
  builder.TilingDataSize(100).Workspace(workspace).CompileInfo(&info).PlatformInfo(&platform);
  builder.Deterministic(1).DeterministicLevel(2).SimtBlockDim(&block).SimtGridDim(&grid);
  builder.InputTensors({&x, &strided}).OutputTensors({&y});
  auto holder = builder.Build();
  TilingContext* context = holder.GetContext();
  SAY(context && context->GetInputTensor(0) == &x && context->GetInputTensor(0)->GetAddr() == byte);
  SAY(context->GetComputeNodeInfo()->GetIrInputsNum() == 2 && context->GetInputDesc(0)->IsExist());
  SAY(context->GetInputDesc(0)->GetOriginFormat() == ge::FORMAT_NCDHW);
  SAY(context->GetOutputShape(0)->GetStorageShape() == Shape({6}));
  SAY(context->GetWorkspaceSizes(8) == workspace->GetData() && context->GetRawTilingData()->GetCapacity() == 100);
  SAY(context->GetDeterministic() == 1 && context->GetDeterministicLevel() == 2);
  SAY(context->GetSimtBlockDim() == &block && context->GetSimtGridDim()->x == 7 && context->GetSimtGridDim()->z == 1);
  SAY(context->SetSimtBlockDim(Dim3(9)) == ge::GRAPH_SUCCESS && context->GetSimtBlockDim()->x == 9 && block.x == 2);
  SAY(context->GetDynUBufSize() == 0 && !context->SetDynUBufSize(1024) && context->GetDynUBufSize() == 1024);
  SAY(!context->SetAicpuNumBlocks(5) && context->GetAicpuNumBlocks() == 5);
  SAY(!context->InputIsView(0) && context->InputIsView(1) && *context->GetInputStride(1) == Stride({8, 1}));
  SAY(context->GetInputOffset(0) == -1 && context->GetDynamicInputOffset(1, 0) == 5 && !context->OutputIsView(0));
  SAY(!context->GetExtendInfo() && !context->GetKernelName() && !context->GetKernelType());
  const RuntimeAttrs* attrs = context->GetAttrs();
  SAY(attrs->GetAttrNum() == 9 && *attrs->GetInt(0) == 1 && *attrs->GetBool(1) && *attrs->GetFloat(2) == 0.3F);
  SAY(!std::strcmp(attrs->GetStr(3), "my_info") && attrs->GetListInt(5)->GetData()[2] == 3);
  SAY(!attrs->GetAttrPointer<TypedContinuousVector<bool>>(4)->GetData()[1] && attrs->GetListFloat(6)->GetSize() == 2);
  SAY(static_cast<const int64_t*>(attrs->GetListListInt(8)->Get(1)->GetData())[1] == 5 && !attrs->GetTensor(0));

  TilingData* data = context->GetRawTilingData();
  SAY(!data->AppendConvertedAttrVal(attrs, 5, AttrDataType::kListInt64, AttrDataType::kListInt32));
  SAY(data->GetDataSize() == 12 && static_cast<const int32_t*>(data->GetData())[2] == 3);
  SAY(!data->AppendConvertedAttrVal(attrs, 6, AttrDataType::kListFloat32, AttrDataType::kListFloat16));
  SAY(data->GetDataSize() == 16 && static_cast<const uint16_t*>(data->GetData())[7] == 0x4100);
  SAY(!data->AppendConvertedAttrVal(attrs, 2, AttrDataType::kFloat32, AttrDataType::kBfloat16));
  SAY(static_cast<const uint16_t*>(data->GetData())[8] == 0x3e9a && data->GetDataSize() == 18);
  SAY(!data->AppendConvertedAttrVal(attrs, 3, AttrDataType::kString, AttrDataType::kString));
  SAY(data->GetDataSize() == 25 && !std::memcmp(static_cast<const char*>(data->GetData()) + 18, "my_info", 7));
  SAY(data->AppendConvertedAttrVal(attrs, 3, AttrDataType::kString, AttrDataType::kInt32) == ge::GRAPH_FAILED);
  SAY(data->AppendConvertedAttrVal(attrs, 9, AttrDataType::kInt64, AttrDataType::kInt32) == ge::GRAPH_FAILED);

  auto mine = gert::TilingData::CreateCap(8);
  {
    auto other = builder.TilingData(reinterpret_cast<TilingData*>(mine.get()), [](void*) { ++freed; }).Build();
    auto moved = std::move(other);
    SAY(!other.GetContext() && moved.GetContext() && freed == 0);
  }
  SAY(freed == 1);
  return 0;
}

int what_is_not_described() {
  int info = 0;
  Tensor x;
  OpTilingContextBuilder no_counts, no_info, too_few, too_many, bare;
  SAY(!no_counts.CompileInfo(&info).Build().GetContext());
  SAY(!no_info.IONum(1, 0).InputTensors({&x}).Build().GetContext());
  SAY(!too_many.IONum(1, 0).InputTensors({&x, &x}).CompileInfo(&info).Build().GetContext());
  const auto part = too_few.IONum(3, 1).InputTensors({&x, nullptr}).InputTensors({}).CompileInfo(&info).Build();
  SAY(part.GetContext() && part.GetContext()->GetInputTensor(0) == &x && !part.GetContext()->GetInputShape(1));
  SAY(!part.GetContext()->GetRequiredInputTensor(2) && !part.GetContext()->GetOutputShape(0));
  SAY(part.GetContext()->GetInputDesc(2)->GetDataType() == ge::DT_UNDEFINED);
  const auto holder = bare.IONum(1, 0).InputTensors({&x}).CompileInfo(&info).Build();
  SAY(holder.GetContext() && !holder.GetContext()->GetPlatformInfo() && !holder.GetContext()->GetWorkspaceSizes(1));
  SAY(!holder.GetContext()->GetRawTilingData() && !holder.GetContext()->GetTilingData<int>());
  SAY(!holder.GetContext()->GetSimtBlockDim());
  OpInferDataTypeContextBuilder hole;
  const auto open = hole.IONum(2, 0).InputTensorDesc(1, ge::DT_INT8, ge::FORMAT_ND, ge::FORMAT_ND).Build();
  SAY(open.GetContext()->GetInputDataType(1) == ge::DT_INT8);
  SAY(open.GetContext()->GetInputDataType(0) == ge::DT_UNDEFINED);
  SAY(!hole.InputTensorDesc(2, ge::DT_INT8, ge::FORMAT_ND, ge::FORMAT_ND).Build().GetContext());
  Range<Tensor> half;
  OpInferShapeRangeContextBuilder open_range;
  SAY(!open_range.IONum(1, 0).InputTensorsRange({&half}).Build().GetContext());
  return 0;
}

int inference() {
  const StorageFormat format{ge::FORMAT_ND, ge::FORMAT_FRACTAL_NZ, {}};
  Tensor first{StorageShape({1, 2}, {2, 1}), format, ge::DT_FLOAT};
  Tensor second{StorageShape({3}, {3}), format, ge::DT_INT8};
  OpInferShapeContextBuilder shapes;
  auto held = shapes.OpType("Scale")
                  .OpName("s")
                  .IOInstanceNum({2}, {1})
                  .InputTensors({&first, &second})
                  .OutputTensorDesc(0, ge::DT_FLOAT, ge::FORMAT_ND, ge::FORMAT_NCHW)
                  .Build();
  InferShapeContext* context = held.GetContext();
  SAY(context && context->GetOutputShape(0)->GetDimNum() == 0 && !context->GetOutputShape(1));
  SAY(context->GetComputeNodeInfo()->GetOutputTdInfo(0)->GetStorageFormat() == ge::FORMAT_NCHW);
  SAY(context->GetInputDesc(1)->GetDataType() == ge::DT_INT8 && context->GetIrInputInstanceNum(0) == 2);
  SAY(infer_scale(context) == ge::GRAPH_SUCCESS && *context->GetOutputShape(0) == Shape({1, 2}));
  SAY(first.GetOriginShape() == Shape({1, 2}) && *context->GetDynamicInputShape(0, 1) == Shape({3}));

  OpInferDataTypeContextBuilder types;
  auto typed = types.OpType("Other")
                   .IONum(1, 2)
                   .InputTensorDesc(0, ge::DT_BF16, ge::FORMAT_ND, ge::FORMAT_ND)
                   .OutputTensorDesc(0, ge::FORMAT_ND, ge::FORMAT_ND)
                   .OutputTensorDesc(1, ge::FORMAT_ND, ge::FORMAT_ND)
                   .Build();
  const auto* found = OpImplRegistry::GetInstance().GetOpImpl("Other");
  SAY(typed.GetContext()->GetOutputDataType(1) == ge::DT_MAX);
  SAY(found->infer_datatype(typed.GetContext()) == ge::GRAPH_SUCCESS);
  SAY(typed.GetContext()->GetOutputDataType(0) == ge::DT_BF16 &&
      typed.GetContext()->GetOutputDataType(1) == ge::DT_BF16);
  SAY(found->IsHostInput(1) && !found->IsHostInput(0) && found->IsTilingInputDataDependency(2));
  SAY(found->IsNullableOutput(0) && found->IsOutputShapeDependOnCompute() && found->IsOutputShapeDependOnCompute(1));
  SAY(found->private_attrs.size() == 3 && !found->HasDataDependency() && found->HasHostInput());

  Tensor least{shape_of({1, 1}), format, ge::DT_INT8}, most{shape_of({10, 20}), format, ge::DT_INT8};
  Range<Tensor> range(&least, &most);
  OpInferShapeRangeContextBuilder ranges;
  auto ranged = ranges.IONum(1, 1)
                    .OutputTensorDesc(0, ge::DT_FLOAT16, ge::FORMAT_ND, ge::FORMAT_ND)
                    .InputTensorsRange({&range})
                    .Build();
  InferShapeRangeContext* between = ranged.GetContext();
  SAY(between && *between->GetInputShapeRange(0)->GetMax() == Shape({10, 20}));
  SAY(between->GetInputTensorRange(0)->GetMin() == &least && between->GetInputDesc(0)->GetDataType() == ge::DT_INT8);
  between->GetOutputShapeRange(0)->GetMin()->AppendDim(1), between->GetOutputShapeRange(0)->GetMax()->AppendDim(9);
  SAY(*between->GetOutputShapeRange(0)->GetMin() == Shape({1}) &&
      *between->GetOutputShapeRange(0)->GetMax() == Shape({9}));
  return 0;
}

int pointers() {
  const StorageShape shape{{10, 20}, {10, 20}};
  StorageShape held = shape;
  OpKernelContextBuilder builder;
  auto holder = builder.OpType("Add")
                    .OpName("add_1")
                    .IONum(1, 1)
                    .InputTensorDesc(0, ge::DT_FLOAT16, ge::FORMAT_ND, ge::FORMAT_FRACTAL_NZ)
                    .OutputTensorDesc(0, ge::DT_FLOAT16, ge::FORMAT_ND, ge::FORMAT_ND)
                    .Inputs({&held})
                    .Outputs({&held})
                    .Build();
  KernelContext* context = holder.GetContext();
  const auto* info = static_cast<const ComputeNodeInfo*>(context->GetComputeNodeExtend());
  SAY(info && !std::strcmp(info->GetNodeName(), "add_1") &&
      info->GetInputTdInfo(0)->GetOriginFormat() == ge::FORMAT_ND);
  SAY(context->GetInput(0)->GetPointer<StorageShape>() == &held && context->GetInputNum() == 1);
  SAY(context->GetOutputPointer<StorageShape>(0) == &held && *context->GetOutputPointer<void*>(0) == &held);
  SAY(!context->GetInput(1) && !context->GetInputPointer<int>(1) && context->GetInputValue<void*>(0) == &held);
  SAY(!std::strcmp(reinterpret_cast<ExtendedKernelContext*>(context)->GetNodeType(), "Add"));
  SAY(KernelContext::IsInlineSize(8) && !KernelContext::IsInlineSize(9));
  Chain chain;
  chain.SetWithDefaultDeleter(new int(7));
  SAY(chain.HasDeleter() && *chain.GetValue<int*>() == 7);
  chain.Set(nullptr, nullptr);
  SAY(!chain.HasDeleter());

  int compiled = 0;
  fe::PlatFormInfos platform;
  OpTilingParseContextBuilder parse;
  auto parsed = parse.IONum(0, 1)
                    .OutputTensorDesc(0, ge::DT_FLOAT, ge::FORMAT_ND, ge::FORMAT_ND)
                    .CompiledJson("{}")
                    .CompiledInfo(&compiled)
                    .PlatformInfo(&platform)
                    .Build();
  TilingParseContext* given = parsed.GetContext();
  SAY(!std::strcmp(given->GetCompiledJson(), "{}") && given->GetCompiledInfo<int>() == &compiled);
  SAY(given->GetPlatformInfo() == &platform &&
      *given->GetOutputPointer<void**>(0) == reinterpret_cast<void**>(&compiled));
  return 0;
}

int small_ones() {
  AnchorInstanceInfo anchor;
  anchor.SetInstanceStart(4), anchor.SetInstantiationNum(2);
  SAY(anchor.GetInstanceStart() == 4 && anchor.GetInstanceNum() == 2);
  size_t total = 0;
  const auto memory = TensorV2::CreateFollowing(32, ge::DT_INT8, total);
  auto* tensor = reinterpret_cast<TensorV2*>(memory.get());
  SAY(total == sizeof(TensorV2) + 32 && tensor->GetVersion() == kTensorV2 && tensor->GetSize() == 32);
  SAY(static_cast<Tensor*>(tensor)->GetAddr() == memory.get() + sizeof(TensorV2));
  tensor->MutableStride() = Stride({6, 1}), tensor->SetOffset(10);
  SAY(tensor->GetStride() == Stride({6, 1}) && tensor->GetOffset() == 10 && Tensor().GetVersion() == kTensorV1);
  fe::PlatFormInfos platform;
  tell(platform, 64, 1000);
  const platform_ascendc::PlatformAscendC asked(&platform);
  SAY(asked.GetCoreNumAiv() == 64 && asked.GetCoreNumAic() == 64 && asked.GetCurNpuArch() == NpuArch::DAV_3510);
  SAY(asked.GetSocVersion() == platform_ascendc::SocVersion::ASCEND950 && platform.GetCoreNum() == 64);
  std::string text;
  std::map<std::string, std::string> section;
  SAY(platform.GetPlatformRes("AICoreSpec", "ubblock_size", text) && text == "32");
  SAY(platform.GetPlatformRes("AICoreSpec", section) && section.size() == 2 && section["ub_size"] == "1000");
  return 0;
}

}  // namespace

int main() {
  for (int (*part)() :
       {a_tiling_test, what_a_tiling_context_tells, what_is_not_described, inference, pointers, small_ones})
    if (const int line = part()) {
      std::cerr << line << "\n";
      return 1;
    }
  return 0;
}
