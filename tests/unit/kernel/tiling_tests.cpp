// A test of a tiling function as the guide of asc-devkit has it. Exit status: 1 with the first line that is not so, or
// 0.
#include <cstring>
#include <fstream>
#include <iostream>

#include "exe_graph/runtime/storage_shape.h"
#include "platform/platform_info.h"
#include "tiling/context/context_builder.h"

#define SAY(condition) \
  if (!(condition)) return __LINE__

// The device's, which here is none.
void ophook_program_soc(ascendc_soc*) {}

namespace {

int info = 0;
ge::graphStatus tile(gert::TilingContext* context) {
  const platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
  const gert::Tensor* axes = context->GetDynamicInputTensor(1, 1);
  if (!axes || !axes->GetData<int32_t>()) return ge::GRAPH_FAILED;
  *context->GetTilingData<int32_t>() = axes->GetData<int32_t>()[1];
  context->GetWorkspaceSizes(1)[0] = 77;
  return context->SetBlockDim(platform.GetCoreNumAiv());
}

int tiling() {
  const gert::StorageShape x{{2, 3}, {2, 3}}, axes{{2}, {2}};
  const std::vector<float> halves{1, 1.0009765625F, 65520, -2.5e-8F, 0.1F, 3};
  int32_t numbers[] = {4, 5};
  std::ofstream("axes.bin", std::ios::binary).write(reinterpret_cast<char*>(numbers), sizeof numbers);
  auto param = gert::TilingData::CreateCap(4096);
  auto sizes = gert::ContinuousVector::Create<size_t>(16);
  auto* workspace = reinterpret_cast<gert::ContinuousVector*>(sizes.get());
  context_ascendc::ContextBuilder builder;
  (void)builder.NodeIoNum(2, 1).IrInstanceNum({1, 2}).SetOpNameType("name", "Type");
  (void)builder.AddInputTd(0, ge::DT_FLOAT16, ge::FORMAT_ND, ge::FORMAT_ND, x, const_cast<float*>(halves.data()));
  (void)builder.AddInputTd(1, ge::DT_INT32, ge::FORMAT_ND, ge::FORMAT_ND, axes, numbers);
  (void)builder.AddInputTd(2, ge::DT_INT32, ge::FORMAT_ND, ge::FORMAT_ND, axes, std::string("axes.bin"));
  (void)builder.AddOutputTd(0, ge::DT_BF16, ge::FORMAT_ND, ge::FORMAT_NCHW, x);
  (void)builder.AddAttr("a", 1).AddAttr("b", true).AddAttr("c", "text").AddAttr("d", 1.5F);
  (void)builder.AddAttr("e", std::vector<int64_t>{7, 8}).AddAttr("f", std::vector<std::vector<int64_t>>{{1}, {2, 3}});
  (void)builder.TilingData(param.get()).Workspace(workspace).CompileInfo(&info).AddPlatformInfo("Ascend910B4");
  auto holder = builder.BuildTilingContext();
  SAY(holder && !holder->GetContext<gert::TilingParseContext>());
  auto* context = holder->GetContext<gert::TilingContext>();
  SAY(context && context->GetCompileInfo() == &info && holder->MutableComputeNodeInfo()->GetIrInputsNum() == 2);
  const auto* written = context->GetInputTensor(0)->GetData<uint16_t>();
  SAY(written[0] == 0x3c00 && written[1] == 0x3c01 && written[2] == 0x7c00 && written[3] == 0x8000);
  SAY(written[4] == 0x2e66 && context->GetOutputDesc(0)->GetStorageFormat() == ge::FORMAT_NCHW);
  SAY(*context->GetAttrs()->GetInt(0) == 1 && !std::strcmp(context->GetAttrs()->GetStr(2), "text"));
  SAY(tile(context) == ge::GRAPH_SUCCESS && context->GetBlockDim() == 40 && workspace->GetSize() == 1);
  const auto* data = reinterpret_cast<gert::TilingData*>(param.get());
  SAY(data->GetDataSize() == 4 && *static_cast<const int32_t*>(data->GetData()) == 5);

  SAY(!context_ascendc::ContextBuilder(builder).AddAttr("a", 2).BuildTilingContext());
  SAY(!context_ascendc::ContextBuilder(builder).NodeIoNum(3, 1).BuildTilingContext());
  const std::string nowhere = "nowhere.bin";
  SAY(!context_ascendc::ContextBuilder(builder)
           .AddInputTd(2, ge::DT_INT32, ge::FORMAT_ND, ge::FORMAT_ND, axes, nowhere)
           .BuildTilingContext());
  auto unknown = context_ascendc::ContextBuilder(builder).AddPlatformInfo("Ascend7").BuildTilingContext();
  SAY(unknown && !unknown->GetContext<gert::TilingContext>()->GetPlatformInfo());
  auto absent = context_ascendc::ContextBuilder(builder).AddPlatformInfo(nullptr).BuildTilingContext();
  SAY(absent && !absent->GetContext<gert::TilingContext>()->GetPlatformInfo());
  return 0;
}

int parsing() {
  fe::PlatFormInfos platform;
  auto holder = context_ascendc::ContextBuilder().Inputs({nullptr, &platform}).Outputs({&info}).BuildKernelRunContext();
  SAY(holder && !holder->GetContext<gert::TilingContext>());
  auto* context = holder->GetContext<gert::TilingParseContext>();
  SAY(context->GetPlatformInfo() == &platform && !context->GetCompiledJson());
  SAY(static_cast<void*>(*context->GetOutputPointer<void**>(0)) == &info);
  SAY(holder->GetContext<gert::KernelContext>()->GetInputNum() == 2 && holder->MutableComputeNodeInfo());
  return 0;
}

int libraries() {
  const context_ascendc::OpTilingRegistry registry;
  SAY(!registry.LoadTilingLibrary("nowhere.so") && !registry.LoadTilingLibrary(nullptr));
  const context_ascendc::TilingFunc found = registry.GetTilingFunc("AddCustom");
  SAY(!found && !registry.GetTilingFunc(nullptr));
  SAY(!gert::DefaultOpImplSpaceRegistryV2::GetInstance().GetSpaceRegistry());

  fe::PlatFormInfos platform;
  fe::OptionalInfos optional;
  fe::PlatformInfoManager& all = fe::PlatformInfoManager::Instance();
  SAY(all.InitializePlatformInfo() == 0 && all.GetPlatformInfos("Ascend7", platform, optional) != 0);
  SAY(all.GetPlatformInfos("Ascend910B4", platform, optional) == 0 && platform.ub == 196608);
  std::string line;
  SAY(platform.GetPlatformRes("AICoreSpec", "ubblock_size", line) && line == "32");
  fe::PlatformInfo older;
  fe::OptionalInfo named;
  SAY(all.GetPlatformInfoWithOutSocVersion(older, named) != 0);
  optional.SetSocVersion("Ascend910B4"), all.SetOptionalCompilationInfo(optional);
  SAY(all.GetPlatformInfoWithOutSocVersion(older, named) == 0 && older.soc_info.ai_core_cnt == 20);
  SAY(older.str_info.short_soc_version == "Ascend910B" && named.soc_version == "Ascend910B4");
  named.soc_version = "Ascend950", older.soc_info.ai_core_cnt = 64, all.platform_info_map_["Ascend950"] = older;
  all.SetOptionalCompilationInfo(named);
  older.soc_info.ai_core_cnt = 0;
  SAY(all.GetPlatformInfoWithOutSocVersion(older, named) == 0 && older.soc_info.ai_core_cnt == 64);
  return 0;
}

}  // namespace

int main() {
  for (int (*part)() : {tiling, parsing, libraries})
    if (const int line = part()) {
      std::cerr << line << "\n";
      return 1;
    }
  return 0;
}
