// A test that has nothing but an operator's library: tiling_guide LIBRARY.
#include <cstdio>

#include "exe_graph/runtime/storage_shape.h"
#include "tiling/context/context_builder.h"

int main(int, char** arguments) {
  const gert::StorageShape shape({8, 2048}, {8, 2048});
  auto data = gert::TilingData::CreateCap(4096);
  auto sizes = gert::ContinuousVector::Create<size_t>(4096);
  auto* workspace = reinterpret_cast<gert::ContinuousVector*>(sizes.get());
  context_ascendc::OpTilingRegistry registry;
  if (!registry.LoadTilingLibrary(arguments[1])) return 1;
  const context_ascendc::TilingFunc tiling = registry.GetTilingFunc("AddCustom");
  if (tiling == nullptr) return 2;
  for (const ge::DataType second : {ge::DT_FLOAT, ge::DT_INT32}) {
    auto holder = context_ascendc::ContextBuilder()
                      .NodeIoNum(2, 1)
                      .IrInstanceNum({1, 1})
                      .AddInputTd(0, ge::DT_FLOAT, ge::FORMAT_ND, ge::FORMAT_ND, shape)
                      .AddInputTd(1, second, ge::FORMAT_ND, ge::FORMAT_ND, shape)
                      .AddOutputTd(0, ge::DT_FLOAT, ge::FORMAT_ND, ge::FORMAT_ND, shape)
                      .TilingData(data.get())
                      .Workspace(workspace)
                      .AddPlatformInfo("Ascend310P3")
                      .BuildTilingContext();
    auto* context = holder->GetContext<gert::TilingContext>();
    const bool tiled = tiling(context) == ge::GRAPH_SUCCESS;
    std::printf("%s, %u blocks\n", tiled ? "tiled" : "refused", context->GetBlockDim());
  }
  return 0;
}
