"""A declaration written out as the files that torch_npu's and CANN's builds want."""

from __future__ import annotations

from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.ops.declare import Operator
from ophook_npu.ops.export import ascendc, cpp, ge, yaml_entries
from ophook_npu.ops.export.kernel import kernel
from ophook_npu.ops.export.registration import registration

__all__ = ["files", "out_of_tree", "write"]


def out_of_tree(op: Operator) -> dict[str, str]:
    """Path -> text of what the NPU kernel outside torch_npu is built from.

    Raises:
        OphookError: something in the declaration has no form in C++.
    """
    return {
        cpp.kernel_file(op): kernel(op),
        "extension/register.cpp": registration(op),
        "extension/aclnn_once.h": Path(__file__).with_name("aclnn_once.h").read_text(encoding="utf-8"),
    }


def files(op: Operator, torch_npu: str | None = None) -> dict[str, str]:
    """Path -> text of every exported file. ``torch_npu``: the first version that the YAML entry is for; all by default.

    Raises:
        OphookError: something in the declaration has no form in C++.
    """
    sources = out_of_tree(op)  # refuses first
    stem = ge.file_stem(op)
    derivatives = yaml_entries.derivatives(op)
    return {
        "op_plugin_functions.yaml": yaml_entries.functions(op, torch_npu),
        **({"derivatives.yaml": derivatives} if derivatives else {}),
        **sources,
        f"ascendc/{stem}.json": ascendc.msopgen(op),
        f"ascendc/op_host/{stem}.cpp": ascendc.op_host(op),
        f"ascendc/op_host/{stem}_tiling.h": ascendc.tiling_header(op),
        f"ascendc/op_proto/{stem}_proto.h": ge.header(op),
        f"ascendc/op_proto/{stem}_proto.cpp": ge.inference(op),
    }


def write(op: Operator, out: Path, torch_npu: str | None = None) -> list[Path]:
    """Write the files into the folder ``out``, which is made; returns their paths.

    Raises:
        OphookError: as `files`, or one of them is there already with other content.
    """
    texts = files(op, torch_npu)
    for name, text in texts.items():
        if (out / name).exists() and (out / name).read_text(encoding="utf-8") != text:
            raise OphookError(
                f"op export {op.qualname}", f"{out / name} is there with other content", todo="name another folder"
            )
    for name, text in texts.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")
    return [out / name for name in texts]
