// A unit test of an operator's host side, as its author writes it: the operator's source is a part of it, and the same
// operator comes out of an installed package's library: tiling_unit_test LIBRARY [SOC]. It prints what it found.
#include <cstdio>
#include <cstring>
#include <memory>

#include "add_custom.cpp"

#include "base/context_builder/op_infer_datatype_context_builder.h"
#include "base/context_builder/op_infer_shape_context_builder.h"
#include "base/context_builder/op_tiling_context_builder.h"
#include "base/registry/op_impl_space_registry_v2.h"
#include "platform/platform_infos_def.h"
#include "register/op_impl_registry.h"
#include "tiling/context/context_builder.h"

namespace {

// An operator that is registered otherwise, for its tiling alone.
ge::graphStatus tile_by_value(gert::TilingContext* context) {
  const gert::Tensor* axis = context->GetInputTensor(0);
  if (!axis || !axis->GetData<int64_t>()) return ge::GRAPH_FAILED;
  return context->SetTilingKey(uint64_t(*axis->GetData<int64_t>()));
}
IMPL_OP(TiledByValue).Tiling(tile_by_value).TilingInputsDataDependency({0}).InferOutDataTypeSameWithFirstInput();

std::string tile(gert::OpImplKernelRegistry::TilingKernelFunc function, gert::TilingContext* context) {
  if (!function || !context) return "nothing to call";
  if (function(context) != ge::GRAPH_SUCCESS) return "refused";
  const auto* data = static_cast<const uint8_t*>(context->GetRawTilingData()->GetData());
  uint64_t sum = 0;
  for (size_t i = 0; i < context->GetRawTilingData()->GetDataSize(); ++i) sum = sum * 31 + data[i];
  return std::to_string(context->GetBlockDim()) + " blocks, " +
         std::to_string(context->GetRawTilingData()->GetDataSize()) + " bytes " + std::to_string(sum) + ", " +
         std::to_string(context->GetWorkspaceNum()) + " workspace of " +
         std::to_string(context->GetWorkspaceSizes(1)[0]);
}

gert::StorageShape both(std::initializer_list<int64_t> dims) { return gert::StorageShape(dims, dims); }
const gert::StorageFormat kPlain(ge::FORMAT_ND, ge::FORMAT_ND, {});

// The builders of metadef, with tensors and a processor of the test's own.
std::string with_tensors(gert::OpImplKernelRegistry::TilingKernelFunc function, const gert::StorageShape& second) {
  gert::Tensor x(both({64, 1000}), kPlain, gert::kOnHost, ge::DT_FLOAT16, nullptr);
  gert::Tensor y(second, kPlain, gert::kOnHost, ge::DT_FLOAT16, nullptr);
  gert::Tensor z(both({64, 1000}), kPlain, gert::kOnHost, ge::DT_FLOAT16, nullptr);
  fe::PlatFormInfos platform;
  std::map<std::string, std::string> soc{{"ai_core_cnt", "20"}, {"vector_core_cnt", "40"}};
  std::map<std::string, std::string> core{{"ub_size", "196608"}};
  platform.Init();
  platform.SetPlatformRes("SoCInfo", soc), platform.SetPlatformRes("AICoreSpec", core);
  int info = 0;
  auto workspace = gert::ContinuousVector::Create<size_t>(4);
  gert::OpTilingContextBuilder builder;
  auto holder = builder.OpType("AddCustom")
                    .OpName("test")
                    .IONum(2, 1)
                    .InputTensors({&x, &y})
                    .OutputTensors({&z})
                    .CompileInfo(&info)
                    .PlatformInfo(&platform)
                    .TilingDataSize(4096)
                    .Workspace(reinterpret_cast<gert::ContinuousVector*>(workspace.get()))
                    .Build();
  return tile(function, holder.GetContext());
}

// The guide's builder, with a processor by its name.
std::string with_descriptions(gert::OpImplKernelRegistry::TilingKernelFunc function, const char* soc) {
  auto data = gert::TilingData::CreateCap(4096);
  auto workspace = gert::ContinuousVector::Create<size_t>(4);
  auto holder = context_ascendc::ContextBuilder()
                    .NodeIoNum(2, 1)
                    .IrInstanceNum({1, 1})
                    .SetOpNameType("test", "AddCustom")
                    .AddInputTd(0, ge::DT_FLOAT16, ge::FORMAT_ND, ge::FORMAT_ND, both({64, 1000}))
                    .AddInputTd(1, ge::DT_FLOAT16, ge::FORMAT_ND, ge::FORMAT_ND, both({1000}))
                    .AddOutputTd(0, ge::DT_FLOAT16, ge::FORMAT_ND, ge::FORMAT_ND, both({64, 1000}))
                    .TilingData(data.get())
                    .Workspace(reinterpret_cast<gert::ContinuousVector*>(workspace.get()))
                    .AddPlatformInfo(soc)
                    .BuildTilingContext();
  return holder ? tile(function, holder->GetContext<gert::TilingContext>()) : "not built";
}

std::string inferred() {
  gert::Tensor x(both({3, 1}), kPlain, ge::DT_FLOAT), y(both({5}), kPlain, ge::DT_FLOAT);
  gert::OpInferShapeContextBuilder shapes;
  auto shape = shapes.OpType("AddCustom")
                   .OpName("test")
                   .IONum(2, 1)
                   .InputTensors({&x, &y})
                   .OutputTensorDesc(0, ge::DT_FLOAT, ge::FORMAT_ND, ge::FORMAT_ND)
                   .Build();
  gert::OpInferDataTypeContextBuilder types;
  auto type = types.OpType("AddCustom")
                  .OpName("test")
                  .IONum(2, 1)
                  .InputTensorDesc(0, ge::DT_BF16, ge::FORMAT_ND, ge::FORMAT_ND)
                  .InputTensorDesc(1, ge::DT_BF16, ge::FORMAT_ND, ge::FORMAT_ND)
                  .OutputTensorDesc(0, ge::FORMAT_ND, ge::FORMAT_ND)
                  .Build();
  const auto* found = gert::OpImplRegistry::GetInstance().GetOpImpl("AddCustom");
  if (found->infer_shape(shape.GetContext()) != ge::GRAPH_SUCCESS) return "no shape";
  if (found->infer_datatype(type.GetContext()) != ge::GRAPH_SUCCESS) return "no type";
  const gert::Shape& z = *shape.GetContext()->GetOutputShape(0);
  return std::to_string(z.GetDim(0)) + "x" + std::to_string(z.GetDim(1)) + " of type " +
         std::to_string(type.GetContext()->GetOutputDataType(0));
}

}  // namespace

int main(int count, char** arguments) {
  const char* soc = count > 2 ? arguments[2] : nullptr;
  const auto* own = gert::OpImplRegistry::GetInstance().GetOpImpl("AddCustom");
  const auto* other = gert::OpImplRegistry::GetInstance().GetOpImpl("TiledByValue");
  if (!own || !other || count < 2) return 1;
  auto libraries = std::make_shared<gert::OpImplSpaceRegistryV2>();
  if (libraries->AddSoToRegistry(gert::OppSoDesc({ge::AscendString(arguments[1])}, "vendor")) != ge::GRAPH_SUCCESS)
    return 2;
  gert::DefaultOpImplSpaceRegistryV2::GetInstance().SetSpaceRegistry(libraries);
  const auto* theirs = gert::DefaultOpImplSpaceRegistryV2::GetInstance().GetSpaceRegistry()->GetOpImpl("AddCustom");
  context_ascendc::OpTilingRegistry registry;
  if (!theirs || theirs->tiling == own->tiling || !registry.LoadTilingLibrary(arguments[1])) return 3;
  if (registry.GetTilingFunc("AddCustom") != theirs->tiling || registry.GetTilingFunc("TiledByValue")) return 4;
  std::printf("own: %s\n", with_tensors(own->tiling, both({1000})).c_str());
  std::printf("theirs: %s\n", with_tensors(theirs->tiling, both({1000})).c_str());
  std::printf("no broadcast: %s\n", with_tensors(theirs->tiling, both({7})).c_str());
  std::printf("own: %s\n", with_descriptions(own->tiling, soc).c_str());
  std::printf("theirs: %s\n", with_descriptions(theirs->tiling, soc).c_str());
  std::printf("inferred: %s\n", inferred().c_str());

  int64_t axis = 6;
  auto holder = context_ascendc::ContextBuilder()
                    .NodeIoNum(1, 0)
                    .IrInstanceNum({1})
                    .AddInputTd(0, ge::DT_INT64, ge::FORMAT_ND, ge::FORMAT_ND, both({1}), static_cast<void*>(&axis))
                    .BuildTilingContext();
  auto* context = holder->GetContext<gert::TilingContext>();
  if (other->tiling(context) != ge::GRAPH_SUCCESS || !other->IsTilingInputDataDependency(0)) return 5;
  std::printf("by value: key %llu\n", static_cast<unsigned long long>(context->GetTilingKey()));
  return 0;
}
