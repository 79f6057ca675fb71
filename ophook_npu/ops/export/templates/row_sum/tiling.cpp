static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    const gert::Shape& x = context->GetRequiredInputShape(0)->GetStorageShape();
    if (x.GetDimNum() == 0) {
        return ge::GRAPH_FAILED;
    }
    const uint64_t width = static_cast<uint64_t>(x.GetDim(x.GetDimNum() - 1));
    uint64_t rows = 1;
    for (size_t dim = 0; dim + 1 < x.GetDimNum(); ++dim) {
        rows *= static_cast<uint64_t>(x.GetDim(dim));
    }
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    uint64_t localBytes = 0;
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, localBytes);
    const uint64_t cores = platform.GetCoreNumAiv();
    // An element takes two buffers of its type, one of float, and what ReduceSum works in.
    const uint64_t limit = (localBytes - 8 * 1024) / (2 * 4 + 4 + 4) / 128 * 128;
    RowSumCustomTilingData data;
    data.set_rows(rows);
    data.set_width(width);
    data.set_tile(std::min(limit, (std::max<uint64_t>(width, 1) + 127) / 128 * 128));
    data.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(data.GetDataSize());
    // Nothing to do still launches one core, which returns.
    context->SetBlockDim(static_cast<uint32_t>(std::max<uint64_t>(1, std::min(cores, rows))));
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}
