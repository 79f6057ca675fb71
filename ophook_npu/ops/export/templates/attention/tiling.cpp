// One product of `tile` rows, by one core.
static bool Product(const platform_ascendc::PlatformAscendC& platform, ge::DataType left, ge::DataType to,
    bool transposed, uint64_t m, uint64_t n, uint64_t k, TCubeTiling& tiling)
{
    using matmul_tiling::CubeFormat;
    using matmul_tiling::TPosition;
    const auto type = static_cast<matmul_tiling::DataType>(left);
    matmul_tiling::MatmulApiTiling cube(platform);
    cube.SetAType(TPosition::GM, CubeFormat::ND, type);
    cube.SetBType(TPosition::GM, CubeFormat::ND, type, transposed);
    cube.SetCType(TPosition::GM, CubeFormat::ND, static_cast<matmul_tiling::DataType>(to));
    cube.SetShape(static_cast<int32_t>(m), static_cast<int32_t>(n), static_cast<int32_t>(k));
    cube.SetOrgShape(static_cast<int32_t>(m), static_cast<int32_t>(n), static_cast<int32_t>(k));
    cube.SetBufferSpace(-1, -1, -1);
    return cube.GetTiling(tiling) != -1;
}

static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    const gert::Shape& query = context->GetRequiredInputShape(0)->GetStorageShape();
    const gert::Shape& key = context->GetRequiredInputShape(1)->GetStorageShape();
    if (query.GetDimNum() != 3 || key.GetDimNum() != 3 || query.GetDim(2) != key.GetDim(2)) {
        return ge::GRAPH_FAILED;
    }
    const auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    uint64_t localBytes = 0;
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, localBytes);
    const uint64_t cores = platform.GetCoreNumAiv();
    const uint64_t heads = static_cast<uint64_t>(query.GetDim(0));
    const uint64_t rows = static_cast<uint64_t>(query.GetDim(1));
    const uint64_t keys = static_cast<uint64_t>(key.GetDim(1));
    const uint64_t depth = static_cast<uint64_t>(query.GetDim(2));
    // A row of scores is in the local memory as a whole: two of float, what the reductions work in, two of the result.
    if (keys * (2 * 4 + 4 + 2 * 4) > localBytes - 8 * 1024) {
        return ge::GRAPH_FAILED;
    }
    // As many rows as give every core something to do, at most 64.
    const uint64_t share = (heads * rows + cores - 1) / cores;
    const uint64_t tile = std::min<uint64_t>(64, std::max<uint64_t>(1, std::min(rows, share)));
    const uint64_t work = heads * ((rows + tile - 1) / tile);
    const uint64_t used = std::max<uint64_t>(1, std::min(cores, work));
    const ge::DataType type = context->GetInputDesc(0)->GetDataType();
    AttentionCustomTilingData data;
    if (work != 0 && keys != 0 && depth != 0 &&
        !(Product(platform, type, ge::DT_FLOAT, true, tile, keys, depth, data.scores) &&
            Product(platform, type, type, false, tile, depth, keys, data.result))) {
        return ge::GRAPH_FAILED;
    }
    data.set_heads(keys == 0 || depth == 0 ? 0 : heads);
    data.set_rows(rows);
    data.set_keys(keys);
    data.set_depth(depth);
    data.set_tile(tile);
    data.set_scale(*context->GetAttrs()->GetFloat(0));
    data.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(data.GetDataSize());
    context->SetBlockDim(static_cast<uint32_t>((used + 1) / 2)); // of one cube and two vector cores
    // Scores in float and weights in the type of the query, for each vector core.
    context->GetWorkspaceSizes(1)[0] = platform.GetLibApiWorkSpaceSize() + (used + 1) / 2 * 2 * tile * keys * 8;
    return ge::GRAPH_SUCCESS;
}
