// An operator that communicates: `mode` says what its kernel does with the ranks of `group`.
#include <string>

#include "register/op_def_registry.h"
#include "tiling/hccl/hccl_tiling.h"
#include "tiling/platform/platform_ascendc.h"

#include "../op_kernel/group_demo_tiling.h"

namespace optiling {

static ge::graphStatus GroupDemoTilingFunc(gert::TilingContext* context)
{
    const gert::RuntimeAttrs* attrs = context->GetAttrs();
    GroupDemoTiling* tiling = context->GetTilingData<GroupDemoTiling>();
    const std::string group = attrs->GetStr(0);
    tiling->sizes = {*attrs->GetInt(1), *attrs->GetInt(2), *attrs->GetInt(3), *attrs->GetInt(4)};
    const int64_t command = *attrs->GetInt(5);
    const int64_t setting = *attrs->GetInt(7);
    static const char* const kAlgorithms[] = {"AllReduce=level0:doublering", "AllGather=level0:doublering",
                                              "ReduceScatter=level0:doublering",
                                              "AlltoAll=level0:fullmesh;level1:pairwise", "BatchWrite=level0:fullmesh"};
    const char* algorithm = kAlgorithms[command == HCCL_CMD_ALLREDUCE        ? 0
                                        : command == HCCL_CMD_ALLGATHER      ? 1
                                        : command == HCCL_CMD_REDUCE_SCATTER ? 2
                                        : command == HCCL_CMD_BATCH_WRITE    ? 4
                                                                             : 3];
    AscendC::Mc2CcTilingConfig config(group, static_cast<uint32_t>(command), algorithm, HCCL_REDUCE_SUM);
    if (setting == 1) {
        config.SetSkipLocalRankCopy(1);
        context->SetNeedAtomic(true);
    } else if (setting == 2) {
        config.SetQueueNum(2);
    } else if (setting == 3) {
        config.SetDebugMode(1);
    } else if (setting == 4) {
        config.SetGroupName("another");
    } else if (setting == 5 && config.SetDebugMode(5) == 0) {
        return ge::GRAPH_SUCCESS;
    } else if (setting == 6 && config.SetGroupName(std::string(129, 'g')) == 0) {
        return ge::GRAPH_SUCCESS;
    }
    if (config.GetTiling(tiling->init) != 0 || config.GetTiling(tiling->first) != 0) {
        return ge::GRAPH_FAILED;
    }
    config.SetOpType(HCCL_CMD_ALLGATHER);
    config.SetAlgConfig(kAlgorithms[1]);
    if (config.GetTiling(tiling->second) != 0) {
        return ge::GRAPH_FAILED;
    }
    context->SetBlockDim(static_cast<uint32_t>(*attrs->GetInt(4)));
    context->SetTilingKey(1);
    context->GetWorkspaceSizes(1)[0] = 1 << 20;
    return ge::GRAPH_SUCCESS;
}

} // namespace optiling

namespace ge {

static graphStatus InferShape(gert::InferShapeContext* context)
{
    gert::Shape* y = context->GetOutputShape(0);
    y->SetDimNum(1);
    y->SetDim(0, *context->GetAttrs()->GetInt(6));
    return GRAPH_SUCCESS;
}

} // namespace ge

namespace ops {

class GroupDemo : public OpDef {
public:
    explicit GroupDemo(const char* name) : OpDef(name)
    {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND}).InitValue(0);
        this->Attr("group").AttrType(REQUIRED).String();
        this->Attr("mode").AttrType(REQUIRED).Int();
        this->Attr("length").AttrType(REQUIRED).Int();
        this->Attr("tiles").AttrType(REQUIRED).Int();
        this->Attr("blocks").AttrType(REQUIRED).Int();
        this->Attr("command").AttrType(REQUIRED).Int();
        this->Attr("size").AttrType(REQUIRED).Int();
        this->Attr("setting").AttrType(REQUIRED).Int();
        this->SetInferShape(ge::InferShape);
        this->AICore().SetTiling(optiling::GroupDemoTilingFunc).AddConfig("ascend910b").AddConfig("ascend910_93");
        this->MC2().HcclGroup("group");
    }
};
OP_ADD(GroupDemo);

} // namespace ops
