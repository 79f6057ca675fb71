"""The check of the generated code: what upstream does silently must be found."""

from __future__ import annotations

from pathlib import Path

import op_plugin_trees as trees
import pytest

from ophook_npu import patch
from ophook_npu.errors import OphookError

SIGNATURE = "npu_add_custom(Tensor x, Tensor y) -> Tensor"
ATEN = "torch_npu/csrc/aten"


@pytest.fixture
def built(tmp_path: Path) -> tuple[Path, patch.Layout, patch.Operator]:
    """A torch_npu tree with the operator applied and the code that upstream generates for it."""
    tree = tmp_path / "pytorch"
    root = trees.current(tree / "third_party/op-plugin")
    op = patch.load_operator(trees.operator(tmp_path / "op"))
    patch.apply(root, [op], "2.13", autograd=True)
    files = {
        f"{ATEN}/CustomRegisterSchema.cpp": f'TORCH_LIBRARY_FRAGMENT(npu, m) {{\n  m.def("{SIGNATURE}", tags_0);\n}}\n',
        f"{ATEN}/RegisterNPU.cpp": 'm.impl("npu_add_custom",\nTORCH_FN(wrapper_NPU__npu_add_custom));\n',
        f"{ATEN}/VariableType_0.cpp": 'm.impl("npu_add_custom",\n TORCH_FN(VariableType::npu_add_custom)\n);\n',
        "third_party/op-plugin/op_plugin/OpApiInterface.h": "at::Tensor npu_add_custom(const at::Tensor & x);\n",
        "third_party/op-plugin/op_plugin/OpInterface_3.cpp": "{ return op_api::npu_add_custom(x, y); }\n",
        "third_party/op-plugin/op_plugin/ops/opapi/StructKernelNpuOpApi_0.cpp": "namespace op_api {\n}\n",
    }
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    return tree, patch.find_layout(root, "2.13"), op


def failing(tree: Path, layout: patch.Layout, op: patch.Operator, log: str | None = "") -> dict[str, str]:
    findings = patch.check_generated(tree, layout, op, log=log, autograd=True)
    return {one.what: one.detail for one in findings if not one.ok}


def test_all_there(built: tuple[Path, patch.Layout, patch.Operator]) -> None:
    assert failing(*built) == {}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (f"{ATEN}/RegisterNPU.cpp", "PrivateUse1 kernel"),
        (f"{ATEN}/VariableType_0.cpp", "autograd"),
        ("third_party/op-plugin/op_plugin/OpApiInterface.h", "declaration"),
        ("third_party/op-plugin/op_plugin/OpInterface_3.cpp", "call"),
        ("third_party/op-plugin/op_plugin/ops/opapi/StructKernelNpuOpApi_0.cpp", "structured kernels"),
        ("third_party/op-plugin/op_plugin/ops/opapi/npu_add_customKernel.cpp", "kernel"),
    ],
)
@pytest.mark.parametrize("gone", [True, False])
def test_each_missing_piece(built: tuple[Path, patch.Layout, patch.Operator], name: str, what: str, gone: bool) -> None:
    (built[0] / name).unlink() if gone else (built[0] / name).write_text("// nothing\n")
    assert list(failing(*built)) == [what]


def test_dropped_or_other_schema(built: tuple[Path, patch.Layout, patch.Operator]) -> None:
    schema = built[0] / ATEN / "CustomRegisterSchema.cpp"
    schema.write_text("TORCH_LIBRARY_FRAGMENT(npu, m) {}\n")
    assert failing(*built)["schema"].startswith("0 m.def")
    schema.write_text('m.def("npu_add_custom(Tensor x) -> Tensor");\n')
    assert "npu_add_custom(Tensor x) -> Tensor" in failing(*built)["schema"]


@pytest.mark.parametrize(
    "log",
    [
        "ok\nTraceback (most recent call last):\n  File\nValueError: 'v1.11' is not in list\nok\n",
        "x\nRuntimeError: npu_add_custom has multiple definitions in op_plugin_functions.yaml\n",
        "ValueError: duplicate operator npu_add_custom for dispatch key NPU\n",
        "acl/acl.h: No such file or directory\n",
    ],
)
def test_complaints_in_the_log(built: tuple[Path, patch.Layout, patch.Operator], log: str) -> None:
    """Upstream exits 0 after these, with the files of an earlier run in place."""
    found = failing(*built, log=log)
    assert list(found) == ["log"]
    assert found["log"] in log


def test_structured_entry_needs_its_generated_kernel(tmp_path: Path) -> None:
    keys = "    op_api: all_version\n    gen_opapi:\n      exec: aclnnAddCustom\n"
    op = patch.load_operator(trees.operator(tmp_path / "op", keys=keys, kernel=False))
    tree = tmp_path / "pytorch"
    root = trees.current(tree / "third_party/op-plugin")
    (tree / ATEN).mkdir(parents=True)
    (tree / ATEN / "CustomRegisterSchema.cpp").write_text(f'm.def("{SIGNATURE}");\nm.impl("npu_add_custom", f);\n')
    (root / "op_plugin/OpApiInterface.h").write_text("at::Tensor npu_add_custom(const at::Tensor & x);\n")
    (root / "op_plugin/OpInterface.cpp").write_text("return op_api::npu_add_custom(x);\n")
    struct = root / "op_plugin/ops/opapi/StructKernelNpuOpApi.cpp"
    struct.write_text("namespace op_api {\n}\n")
    layout = patch.find_layout(root, "2.13")
    assert [f.what for f in patch.check_generated(tree, layout, op) if not f.ok] == ["structured kernel"]
    struct.write_text("namespace op_api {\nat::Tensor npu_add_custom(const at::Tensor& x) {}\n}\n")
    assert all(f.ok for f in patch.check_generated(tree, layout, op))


def test_never_generated(built: tuple[Path, patch.Layout, patch.Operator]) -> None:
    (built[0] / ATEN / "CustomRegisterSchema.cpp").unlink()
    with pytest.raises(OphookError, match="the code was not generated"):
        patch.check_generated(*built)
