"""A kernel that runs at once, for `ophook-npu op new`: tiling and Ascend C for what the new package computes at first.

Results are the sum of the tensors with broadcasting, in fp32 and rounded once; tensors that are written to are counted
up. The author replaces the kernel's ``Compute``; attributes are in the tiling data.
"""

from __future__ import annotations

from ophook_npu.ops._ge import attribute_type
from ophook_npu.ops.declare import Operator
from ophook_npu.ops.export.ge import file_stem, outputs

_OURS = {"rows", "inner", "tile", "tilesPerRow", "dims", "extent", "stride", "dense", "elements"}
_FIELDS = {"Int": ("int64_t", "GetInt"), "Float": ("float", "GetFloat"), "Bool": ("uint32_t", "GetBool")}


def fits(op: Operator) -> bool:
    """Whether such a kernel can be written: no lists of tensors."""
    return op.ge is not None and all(str(op.argument(name).real_type) != "List[Tensor]" for name in op.tensors)


def _plain(op: Operator) -> list[str]:
    return [name for name in op.tensors if str(op.argument(name).real_type) == "Tensor"]


def _attributes(op: Operator) -> list[tuple[str, str, str]]:
    """(C++ type, field, statement that sets it) of every attribute that is one number."""
    found = []
    for index, name in enumerate(op.ge_attributes):
        kind = attribute_type(op, name)
        if kind not in _FIELDS:
            continue
        cpp, get = _FIELDS[kind]
        field = f"{name}Value" if name in _OURS else name
        found.append((cpp, field, f"    data.set_{field}(*context->GetAttrs()->{get}({index}));\n"))
    return sorted(found, key=lambda row: row[0] != "int64_t")


def tiling_header(op: Operator) -> str:
    """``op_host/<name>_tiling.h``."""
    guard, count = f"{file_stem(op).upper()}_TILING_H", len(_plain(op))
    if op.mutated:
        rows = [f"TILING_DATA_FIELD_DEF_ARR(uint64_t, {len(op.mutated)}, elements);"]
        rows += ["TILING_DATA_FIELD_DEF(uint64_t, tile);   // elements in the local memory at once"]
    else:
        rows = [
            "TILING_DATA_FIELD_DEF(uint64_t, rows);  // of the result, seen as rows of its last dimension",
            "TILING_DATA_FIELD_DEF(uint64_t, inner); // elements of a row",
            "TILING_DATA_FIELD_DEF(uint64_t, tile);  // elements in the local memory at once",
            "TILING_DATA_FIELD_DEF(uint64_t, tilesPerRow);",
            "TILING_DATA_FIELD_DEF(uint64_t, dims);  // before the last one",
            "TILING_DATA_FIELD_DEF_ARR(uint64_t, 8, extent);",
            f"TILING_DATA_FIELD_DEF_ARR(uint64_t, {8 * count}, stride); // of every input, 0 where it broadcasts",
        ]
    attributes = _attributes(op)
    rows += [f"TILING_DATA_FIELD_DEF({cpp}, {field});" for cpp, field, _ in attributes]
    if not op.mutated:
        rows.append(f"TILING_DATA_FIELD_DEF_ARR(uint32_t, {count}, dense); // 0: one value for the whole row")
    body = "".join(f"    {row}\n" for row in rows)
    return (
        f"// What host tiling tells the kernel.\n#ifndef {guard}\n#define {guard}\n\n"
        '#include "register/tilingdata_base.h"\n\nnamespace optiling {\n'
        f"BEGIN_TILING_DATA_DEF({op.ge}TilingData)\n{body}END_TILING_DATA_DEF;\n\n"
        f"REGISTER_TILING_DATA_CLASS({op.ge}, {op.ge}TilingData)\n}} // namespace optiling\n\n#endif // {guard}\n"
    )


_PLATFORM = """\
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    uint64_t localBytes = 0;
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, localBytes);
    const uint64_t cores = platform.GetCoreNumAiv();
    // Elements that fit: {bytes} bytes each in all buffers together; a multiple of one vector instruction.
    const uint64_t limit = (localBytes - 8 * 1024) / {bytes} / 128 * 128;
"""
_BROADCAST = """\
    const gert::Shape* shapes[] = {{{shapes}}};
    size_t rank = 0;
    for (const gert::Shape* shape : shapes) {{
        rank = std::max(rank, shape->GetDimNum());
    }}
    if (rank > 8) {{
        return ge::GRAPH_FAILED;
    }}
    uint64_t extent[8] = {{1, 1, 1, 1, 1, 1, 1, 1}};
    uint64_t stride[8 * {count}] = {{}};
    uint32_t dense[{count}] = {{}};
    // Extents of every input at one rank, the shorter shapes with ones before them.
    auto at = [rank](const gert::Shape& shape, size_t dim) {{
        const size_t missing = rank - shape.GetDimNum();
        return dim < missing ? uint64_t(1) : static_cast<uint64_t>(shape.GetDim(dim - missing));
    }};
    for (size_t dim = 0; dim < rank; ++dim) {{
        for (const gert::Shape* shape : shapes) {{
            if (at(*shape, dim) != 1) {{
                extent[dim] = at(*shape, dim);
            }}
        }}
    }}
    for (size_t i = 0; i < {count}; ++i) {{
        uint64_t size = 1;
        for (size_t dim = rank; dim-- > 0;) {{
            stride[i * 8 + dim] = at(*shapes[i], dim) == 1 ? 0 : size;
            size *= at(*shapes[i], dim);
        }}
        dense[i] = rank == 0 || at(*shapes[i], rank - 1) == extent[rank - 1] ? 1 : 0;
    }}
    const uint64_t inner = rank == 0 ? 1 : extent[rank - 1];
    uint64_t rows = 1;
    for (size_t dim = 0; dim + 1 < rank; ++dim) {{
        rows *= extent[dim];
    }}
{platform}    const uint64_t share = std::min(inner, (rows * inner + cores - 1) / cores);
    const uint64_t tile = std::min(limit, (std::max<uint64_t>(share, 1) + 127) / 128 * 128);
    const uint64_t work = rows * ((inner + tile - 1) / tile);
    {type}TilingData data;
    data.set_rows(rows);
    data.set_inner(inner);
    data.set_tile(tile);
    data.set_tilesPerRow((inner + tile - 1) / tile);
    data.set_dims(rank == 0 ? 0 : rank - 1);
    data.set_extent(extent);
    data.set_stride(stride);
    data.set_dense(dense);
"""
_IN_PLACE = """\
{platform}    uint64_t elements[] = {{{sizes}}};
    uint64_t most = 1;
    for (const uint64_t count : elements) {{
        most = std::max(most, count);
    }}
    const uint64_t tile = std::min(limit, ((most + cores - 1) / cores + 127) / 128 * 128);
    const uint64_t work = (most + tile - 1) / tile;
    {type}TilingData data;
    data.set_elements(elements);
    data.set_tile(tile);
"""


def tiling(op: Operator) -> str:
    """The tiling function, for `ascendc.op_host`."""
    plain = _plain(op)
    if op.mutated:
        # Two buffers of the type and one of float; sizes are those of the mutated tensors.
        sizes = ", ".join(
            f"static_cast<uint64_t>(context->GetRequiredInputShape({op.tensors.index(n)})->GetStorageShape()"
            ".GetShapeSize())"
            for n in op.mutated
        )
        body = _IN_PLACE.format(platform=_PLATFORM.format(bytes=4 * 4 + 4), sizes=sizes, type=op.ge)
    else:
        shapes = ", ".join(f"&context->GetRequiredInputShape({op.tensors.index(n)})->GetStorageShape()" for n in plain)
        # Every input: two buffers of its type and one of float; every result two of its type; the sum one of float.
        size = 3 * 4 * len(plain) + 2 * 4 * len(outputs(op)) + 4
        platform = _PLATFORM.format(bytes=size)
        body = _BROADCAST.format(shapes=shapes, count=len(plain), platform=platform, type=op.ge)
    body += "".join(statement for _, _, statement in _attributes(op))
    return (
        "static ge::graphStatus TilingFunc(gert::TilingContext* context)\n{\n" + body
        + "    data.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());\n"
        "    context->GetRawTilingData()->SetDataSize(data.GetDataSize());\n"
        "    // Nothing to do still launches one core, which returns.\n"
        "    context->SetBlockDim(static_cast<uint32_t>(std::max<uint64_t>(1, std::min<uint64_t>(cores, work))));\n"
        "    context->GetWorkspaceSizes(1)[0] = 0;\n    return ge::GRAPH_SUCCESS;\n}\n"
    )  # fmt: skip


_KERNEL = """\
// {title}
//
// {what}

#include "kernel_operator.h"

namespace {{

constexpr int32_t kBuffers = 2;

template <typename T>
class {type} {{
    using Float = AscendC::LocalTensor<float>;
    using InQueue = AscendC::TQue<AscendC::QuePosition::VECIN, kBuffers>;
    using OutQueue = AscendC::TQue<AscendC::QuePosition::VECOUT, kBuffers>;

public:
    __aicore__ inline {type}() {{}}

    __aicore__ inline void Init({parameters}, const {type}TilingData* data, AscendC::TPipe* pipe)
    {{
        data_ = data;
        const uint32_t narrow = static_cast<uint32_t>(data->tile * sizeof(T));
        const uint32_t wide = static_cast<uint32_t>(data->tile * sizeof(float));
{init}    }}

{process}
private:
{compute}
    // One tile from device memory, as float.
    __aicore__ inline Float Load(InQueue& queue, AscendC::TBuf<AscendC::QuePosition::VECCALC>& buffer,
        AscendC::GlobalTensor<T>& from, uint64_t offset, uint32_t length)
    {{
        AscendC::LocalTensor<T> tile = queue.template AllocTensor<T>();
        AscendC::DataCopyExtParams copy{{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0}};
        AscendC::DataCopyPadExtParams<T> pad{{false, 0, 0, static_cast<T>(0)}};
        AscendC::DataCopyPad(tile, from[offset], copy, pad);
        queue.EnQue(tile);
        tile = queue.template DeQue<T>();
        Float wide = buffer.template Get<float>();
        if constexpr (AscendC::IsSameType<T, float>::value) {{
            AscendC::Muls(wide, tile, 1.0f, length);
        }} else {{
            AscendC::Cast(wide, tile, AscendC::RoundMode::CAST_NONE, length);
        }}
        AscendC::PipeBarrier<PIPE_V>();
        queue.FreeTensor(tile);
        return wide;
    }}

    __aicore__ inline void Store(
        OutQueue& queue, AscendC::GlobalTensor<T>& to, uint64_t offset, const Float& value, uint32_t length)
    {{
        AscendC::LocalTensor<T> tile = queue.template AllocTensor<T>();
        AscendC::PipeBarrier<PIPE_V>();
        if constexpr (AscendC::IsSameType<T, float>::value) {{
            AscendC::Muls(tile, value, 1.0f, length);
        }} else {{
            AscendC::Cast(tile, value, AscendC::RoundMode::CAST_RINT, length);
        }}
        queue.EnQue(tile);
        tile = queue.template DeQue<T>();
        AscendC::DataCopyExtParams copy{{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0}};
        AscendC::DataCopyPad(to[offset], tile, copy);
        queue.FreeTensor(tile);
    }}
{helpers}
    const {type}TilingData* data_ = nullptr;
{members}}};

}} // namespace

extern "C" __global__ __aicore__ void {stem}({arguments}, GM_ADDR workspace, GM_ADDR tiling)
{{
{unused}    (void)workspace;
    GET_TILING_DATA(data, tiling);
    AscendC::TPipe pipe;
    {type}<DTYPE_{first}> op;
    op.Init({given}, &data, &pipe);
    op.Process();
}}
"""
_PROCESS = """\
    __aicore__ inline void Process()
    {{
        const uint64_t tiles = data_->rows * data_->tilesPerRow;
        const uint64_t cores = static_cast<uint64_t>(AscendC::GetBlockNum());
        const uint64_t core = static_cast<uint64_t>(AscendC::GetBlockIdx());
        for (uint64_t i = tiles * core / cores; i < tiles * (core + 1) / cores; ++i) {{
            const uint64_t row = i / data_->tilesPerRow;
            const uint64_t begin = i % data_->tilesPerRow * data_->tile;
            const uint64_t left = data_->inner - begin;
            const uint32_t length = static_cast<uint32_t>(left < data_->tile ? left : data_->tile);
{loads}            Float result = sum_.Get<float>();
            Compute(result, {tiles}, length);
{stores}        }}
    }}
"""
_SPREAD = """
    // One tile of input number `index`: read, or one value for the whole row where it broadcasts along it.
    __aicore__ inline Float LoadRow(InQueue& queue, AscendC::TBuf<AscendC::QuePosition::VECCALC>& buffer,
        AscendC::GlobalTensor<T>& from, uint32_t index, uint64_t row, uint64_t begin, uint32_t length)
    {
        uint64_t offset = 0;
        for (uint64_t dim = data_->dims; dim-- > 0;) {
            offset += row % data_->extent[dim] * data_->stride[index * 8 + dim];
            row /= data_->extent[dim];
        }
        if (data_->dense[index] != 0) {
            return Load(queue, buffer, from, offset + begin, length);
        }
        Float wide = buffer.template Get<float>();
        const T value = from.GetValue(offset);
        if constexpr (AscendC::IsSameType<T, bfloat16_t>::value) {
            AscendC::Duplicate(wide, AscendC::ToFloat(value), length);
        } else {
            AscendC::Duplicate(wide, static_cast<float>(value), length);
        }
        AscendC::PipeBarrier<PIPE_V>();
        return wide;
    }
"""
_COUNT_UP = """
    __aicore__ inline void Update(
        InQueue& in, OutQueue& out, AscendC::GlobalTensor<T>& tensor, uint64_t elements)
    {
        const uint64_t tiles = (elements + data_->tile - 1) / data_->tile;
        const uint64_t cores = static_cast<uint64_t>(AscendC::GetBlockNum());
        const uint64_t core = static_cast<uint64_t>(AscendC::GetBlockIdx());
        for (uint64_t i = tiles * core / cores; i < tiles * (core + 1) / cores; ++i) {
            const uint64_t begin = i * data_->tile;
            const uint64_t left = elements - begin;
            const uint32_t length = static_cast<uint32_t>(left < data_->tile ? left : data_->tile);
            Float value = Load(in, sum_, tensor, begin, length);
            Compute(value, length);
            Store(out, tensor, begin, value, length);
        }
    }
"""
_REPLACE = "    // Replace this body by what the operator computes, as in operator.py: one tile, in fp32.\n"


def kernel(op: Operator) -> str:
    """``op_kernel/<name>.cpp``."""
    plain, results = _plain(op), outputs(op)
    used = list(op.mutated) if op.mutated else [*plain, *results]
    init, members = "", ""
    for name in used:
        init += f"        {name}Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>({name}Gm));\n"
        members += f"    AscendC::GlobalTensor<T> {name}Gm_;\n"
    for name in plain if not op.mutated else op.mutated:
        init += f"        pipe->InitBuffer({name}In_, kBuffers, narrow);\n"
        members += f"    InQueue {name}In_;\n"
    for name in results if not op.mutated else op.mutated:
        init += f"        pipe->InitBuffer({name}Out_, kBuffers, narrow);\n"
        members += f"    OutQueue {name}Out_;\n"
    for name in [*([] if op.mutated else [f"{n}Wide" for n in plain]), "sum"]:
        init += f"        pipe->InitBuffer({name}_, wide);\n"
        members += f"    AscendC::TBuf<AscendC::QuePosition::VECCALC> {name}_;\n"
    if op.mutated:
        calls = "".join(
            f"        Update({n}In_, {n}Out_, {n}Gm_, data_->elements[{i}]);\n" for i, n in enumerate(op.mutated)
        )
        process = f"    __aicore__ inline void Process()\n    {{\n{calls}    }}\n"
        compute = (
            _REPLACE + "    __aicore__ inline void Compute(const Float& value, uint32_t length)\n    {\n"
            "        AscendC::Adds(value, value, 1.0f, length);\n    }\n"
        )
        helpers, what = _COUNT_UP, "Tensors that are written to are counted up, in fp32 and rounded once."
    else:
        loads = "".join(
            f"            Float {n}Tile = LoadRow({n}In_, {n}Wide_, {n}Gm_, {i}, row, begin, length);\n"
            for i, n in enumerate(plain)
        )
        stores = "".join(
            f"            Store({n}Out_, {n}Gm_, row * data_->inner + begin, result, length);\n" for n in results
        )
        process = _PROCESS.format(loads=loads, stores=stores, tiles=", ".join(f"{n}Tile" for n in plain))
        sums = f"        AscendC::Muls(result, {plain[0]}, 1.0f, length);\n"
        if len(plain) > 1:
            sums = f"        AscendC::Add(result, {plain[0]}, {plain[1]}, length);\n"
        for n in plain[2:]:
            sums += "        AscendC::PipeBarrier<PIPE_V>();\n"
            sums += f"        AscendC::Add(result, result, {n}, length);\n"
        takes = ", ".join(f"const Float& {n}" for n in plain)
        compute = (
            f"{_REPLACE}    __aicore__ inline void Compute(const Float& result, {takes}, uint32_t length)\n"
            f"    {{\n{sums}    }}\n"
        )
        helpers, what = _SPREAD, "The sum of the tensors with broadcasting, in fp32 and rounded once."
    entry = [f"{n}Gm" for n in op.tensors]
    entry += [f"{n}Result" if n in op.mutated else f"{n}Gm" for n in results]
    unused = "".join(f"    (void){n};\n" for n in entry if n.removesuffix("Gm") not in used)
    return _KERNEL.format(
        title=f"The kernel of {op.ge}. `ophook-npu kernel check` on the folder above runs it on the CPU, with checks.",
        what=what, type=op.ge, stem=file_stem(op), first=plain[0].upper(), init=init, members=members,
        process=process, compute=compute, helpers=helpers, unused=unused,
        parameters=", ".join(f"GM_ADDR {n}Gm" for n in used), given=", ".join(f"{n}Gm" for n in used),
        arguments=", ".join(f"GM_ADDR {n}" for n in entry),
    )  # fmt: skip
