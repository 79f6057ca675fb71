"""Tables agree with what torch itself says about kernels, key by key."""

from __future__ import annotations

import builtins
import json
import subprocess
import sys

import pytest
import torch
import typer
from typer.testing import CliRunner

from ophook_npu import OphookError, dispatch
from ophook_npu.cli import dispatch as command_line

OPS = (
    "aten::add.Tensor",
    "aten::mm",
    "aten::matmul",
    "aten::linear",
    "aten::view",
    "aten::empty.memory_format",
    "aten::dropout",
)
C = torch._C


def has_a_python_name(key):
    try:
        return getattr(C.DispatchKey, key) == C._dispatch_key_parse(key)
    except (AttributeError, RuntimeError):
        return False


@pytest.mark.parametrize("op", OPS)
def test_every_row_is_what_torch_computes(op):
    table = dispatch.table(op)
    assert len(table) > 40
    for row in table:
        fallthrough = row.kind == "fallthrough"
        if not has_a_python_name(row.key):
            continue
        assert C._dispatch_has_kernel_for_dispatch_key(op, row.key) == (row.source == row.key)
        if row.source == row.key:
            assert (
                C._dispatch_kernel_for_dispatch_key_is_fallthrough(op, getattr(C.DispatchKey, row.key)) == fallthrough
            )
        if row.kind == "backend fallback":
            assert C._dispatch_has_backend_fallback(getattr(C.DispatchKey, row.key))
        if row.kind in ("composite explicit", "composite implicit", "autograd") and row.source != row.key:
            assert C._dispatch_is_alias_key(C._dispatch_key_parse(row.source))
            assert C._dispatch_has_kernel_for_dispatch_key(op, row.source)


def test_every_operator_of_torch_can_be_read():
    for name in C._dispatch_get_all_op_names():
        if name.startswith("aten::") and "scatter" in name:
            assert dispatch._table.Table(name).rows


def test_kinds_of_add_and_matmul():
    add, matmul = dispatch.table("aten::add"), dispatch.table(torch.ops.aten.matmul)
    assert add.op == "aten::add.Tensor" and "aten::add.out" in add.others
    assert add["CPU"].kind == "registered" and "RegisterCPU" in add["CPU"].file
    assert add["AutogradCPU"] == dispatch.Row("AutogradCPU", "autograd", "Autograd", add["AutogradCPU"].file)
    assert add["BackendSelect"].kind == "fallthrough"
    assert add["Python"].kind == "backend fallback"
    assert add["PrivateUse1"].source == "CompositeExplicitAutogradNonFunctional"
    assert matmul["CPU"].kind == "composite implicit" and matmul["CPU"].source == "CompositeImplicitAutograd"


def test_files_do_not_name_the_machine_that_built_torch():
    assert [row for row in dispatch.table("aten::mm") if row.file.startswith("/")] == []


def test_only_lists_keys_without_kernel_by_name():
    rows = dispatch.table("aten::mm").only(["cpu", "QuantizedCPU"])
    assert rows[0].key == "CPU"
    assert isinstance(rows[1], str) or rows[1].key == "QuantizedCPU"
    with pytest.raises(OphookError, match="no dispatch key 'FuncTorchBatchd'; allowed: FuncTorchBatched"):
        dispatch.table("aten::mm").only(["FuncTorchBatchd"])
    with pytest.raises(OphookError, match=r"\[dispatch aten::mm\] no kernel for Undefined|there is no dispatch key"):
        dispatch.table("aten::mm")["Nonsense"]


def test_unknown_operator_names_near_ones():
    with pytest.raises(OphookError, match="aten::addmm"):
        dispatch.table("aten::admm")
    with pytest.raises(OphookError, match="several operators"):
        dispatch.table("aten::*_backward")


def _is_here(row):
    """Before 2.10 torch does not know where a Python kernel was registered."""
    knows = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 10)
    return "test_table.py" in row.file if knows else row.file == "Python"


def test_diff_shows_exactly_what_a_registration_changed():
    before = dispatch.table("aten::mm")
    assert dispatch.diff(before, dispatch.table("aten::mm")) == []
    library = torch.library.Library("aten", "IMPL")
    library.impl("mm", lambda a, b: a, "PrivateUse1")
    try:
        changes = dispatch.diff(before, "aten::mm")
        assert [change.key for change in changes] == ["PrivateUse1"]
        assert changes[0].after.kind == "registered" and _is_here(changes[0].after)
    finally:
        library._destroy()
    assert dispatch.diff(before, "aten::mm") == []


def test_custom_operator_shows_its_file():
    library = torch.library.Library("dispatchtest", "DEF")
    try:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, "CPU")
        table = dispatch.table("dispatchtest::twice")
        assert table["CPU"].kind == "registered" and _is_here(table["CPU"])
        assert "CUDA" not in table
    finally:
        library._destroy()


def cli(*args):
    app = typer.Typer()
    app.callback()(lambda: None)
    command_line.register(app)
    return CliRunner().invoke(app, ["dispatch", *args])


def test_command_line_table_and_changes(tmp_path):
    rows = json.loads(cli("aten::add", "--json", "--keys", "CPU,Meta").stdout)["rows"]
    assert [row["key"] for row in rows] == ["CPU", "Meta"]
    text = cli("aten::add").stdout
    assert "AutogradCPU" in text and "RegisterCPU_0.cpp" in text and "other overloads" in text
    script = tmp_path / "hook.py"
    script.write_text(
        "import torch\nlibrary = torch.library.Library('aten', 'IMPL')\n"
        "library.impl('mm', lambda a, b: a, 'PrivateUse1')\nimport builtins; builtins.kept_by_test = library\n"
    )
    changed = json.loads(cli("aten::mm", "--after", str(script), "--json").stdout)
    builtins.kept_by_test._destroy()
    assert [change["key"] for change in changed] == ["PrivateUse1"]
    assert "CPU " in cli("aten::add", "--diff", "aten::mul").stdout


def test_command_line_why():
    why = json.loads(cli("aten::add", "--why", "requires_grad", "--json").stdout)
    assert why["agrees"] is True and why["chain"] == [["aten::add.Tensor", "AutogradCPU"], ["aten::add.Tensor", "CPU"]]
    failed = cli("aten::mm", "--why", "", "--args", "f32[2,3], f32[2,3]")
    assert failed.exit_code == 1 and "raised RuntimeError: mat1 and mat2 shapes" in failed.stdout


def test_command_line_as_a_program():
    wrong = subprocess.run([sys.executable, "-m", "ophook_npu", "dispatch", "aten::ad"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "aten::add" in wrong.stderr
