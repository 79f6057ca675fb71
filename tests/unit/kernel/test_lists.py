"""An operator as others write them: it takes a list of tensors, and its kernel has the name of a function of C."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from ophook_npu.errors import OphookError
from ophook_npu.kernel import load, package_text
from ophook_npu.kernel.check import Checked, check
from ophook_npu.kernel.project import OpParameter, Project, Prototype

PROJECT = Path(__file__).parent / "div"
X = [np.arange(30, dtype=np.float32).reshape(5, 6), np.arange(7, dtype=np.float32)]


def test_a_list_of_tensors() -> None:
    kernel = load(PROJECT)
    for given in (X, [value.astype(np.float16) for value in X]):
        found = kernel(given)
        assert [value.dtype for value in found] == [value.dtype for value in given]
        for got, value in zip(found, given, strict=True):
            np.testing.assert_array_equal(got, value / 4)
        assert not [finding for finding in kernel.findings if finding.severity == "error"], kernel.findings


def test_a_list_may_be_longer_than_a_kernel_has_parameters() -> None:
    kernel, given = load(PROJECT), [X[1] + i for i in range(40)]
    for got, value in zip(kernel(given), given, strict=True):
        np.testing.assert_array_equal(got, value / 4)
    assert not [finding for finding in kernel.findings if finding.severity == "error"], kernel.findings


def test_a_key_may_have_a_structure_of_its_own(tmp_path: Path) -> None:
    """Registered as Div_3: the kernel's GET_TILING_DATA reads that one, whose members stand elsewhere."""
    shutil.copytree(PROJECT, tmp_path / "div")
    source = tmp_path / "div" / "op_host" / "div.cpp"
    text = source.read_text()
    own = """BEGIN_TILING_DATA_DEF(Other)
TILING_DATA_FIELD_DEF_ARR(float, 3, more);
TILING_DATA_FIELD_DEF(uint64_t, count);
TILING_DATA_FIELD_DEF(int64_t, total);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Div_3, Other)

static ge::graphStatus Tiling("""
    assert "static ge::graphStatus Tiling(" in text and "  DivTilingData tiling;\n" in text
    text = text.replace("static ge::graphStatus Tiling(", own)
    text = text.replace("  DivTilingData tiling;\n", "  Other tiling;\n  context->SetTilingKey(3);\n")
    source.write_text(text)
    kernel = load(tmp_path / "div")
    for got, value in zip(kernel(X), X, strict=True):
        np.testing.assert_array_equal(got, value / 4)
    source.write_text(text.replace("SetTilingKey(3)", "SetTilingKey(4)"))  # it has none
    other = load(tmp_path / "div")
    other(X)
    assert {finding.kind for finding in other.findings} == {"unwritten"} and not kernel.findings, other.findings


def test_types_may_share_a_kernel(tmp_path: Path) -> None:
    """DataTypeForBinQuery: one type takes another's kernel, where that is a choice of the operator's."""
    shutil.copytree(PROJECT.with_name("changes"), tmp_path / "changes")
    host, kernel = (tmp_path / "changes" / folder / "fill_index.cpp" for folder in ("op_host", "op_kernel"))
    text, types = host.read_text(), 'Input("index").ParamType(REQUIRED).DataType({ge::DT_INT32})'
    assert types in text
    more = types.replace("DT_INT32", "DT_INT32, ge::DT_UINT32, ge::DT_FLOAT")
    asked = ".DataTypeForBinQuery({ge::DT_INT32, ge::DT_INT32, ge::DT_INT8})"
    text = text.replace(types, more + asked).replace(
        ".DataType({ge::DT_INT32}).Format", ".DataTypeList({ge::DT_INT32}).Format"
    )
    host.write_text(text)
    text, place = kernel.read_text(), "  to.SetValue(at.GetValue(0), 7);"
    assert place in text
    kernel.write_text(
        text.replace(
            place, "  to.SetValue(0, ORIG_DTYPE_INDEX == DT_INT32 ? 3 : ORIG_DTYPE_INDEX == DT_FLOAT ? 1 : 2);"
        )
    )
    fill, var = load(tmp_path / "changes"), np.zeros(8, np.int32)
    for dtype, expected in ((np.int32, 3), (np.uint32, 3), (np.float32, 1)):
        fill(var, np.zeros(8, dtype))
        assert var[0] == expected, dtype
    host.write_text(host.read_text().replace("ge::DT_INT32, ge::DT_INT8})", "ge::DT_INT32})"))
    with pytest.raises(OphookError, match="index has 2 types for DataTypeForBinQuery; allowed: 3, as DataType has"):
        load(tmp_path / "changes")


@pytest.mark.parametrize(("given", "what"), [(X[0], "is one tensor; allowed: a list"), (None, "input x is missing")])
def test_what_is_no_list(given: np.ndarray | None, what: str) -> None:
    with pytest.raises(OphookError, match=what):
        load(PROJECT)(given)


def test_a_list_for_one_tensor() -> None:
    add = load(Path(__file__).parents[3] / "op_plugin_patch" / "ascendc")
    with pytest.raises(OphookError, match="input x is a list of tensors; allowed: one tensor"):
        add(X, X[0])
    with pytest.raises(OphookError, match="inputs are x float64, y float64"):  # a list of numbers is one tensor
        add([0.5, 2.0], [1.0, 2.0])


def checked(folder: Path, reference: str) -> Checked:
    given = folder / "given.py"
    given.write_text(
        "import numpy as np\n"
        "def inputs():\n    return [([np.ones((3, 5), np.float32), np.ones(9, np.float32)],)]\n"
        f"def reference(x):\n    return {reference}\n"
    )
    (result,) = check(PROJECT, inputs=[given], declared=lambda prototype: [])
    return result


def test_results_of_a_list_are_compared(tmp_path: Path) -> None:
    right = checked(tmp_path, "[value / 4 for value in x]")
    assert [one.status for one in right.outcomes] == ["pass", "error"]
    assert (right.outcomes[1].label, right.outcomes[1].reason) == (
        "x DT_COMPLEX64, y DT_COMPLEX64", "kernels have no such type here"
    )  # fmt: skip
    wrong = checked(tmp_path, "[x[0] / 4, x[1]]")
    assert wrong.outcomes[0].status == "fail" and "output 1" in wrong.outcomes[0].reason


def test_an_operator_without_outputs_changes_its_inputs(tmp_path: Path) -> None:
    given = tmp_path / "inputs.py"
    given.write_text(
        "import numpy as np\n"
        "def inputs(): return [(np.zeros(4, np.int32), np.array([2], np.int32))]\n"
        "def reference(var, index): return np.array([0, 0, 7, 0], np.int32)\n"
    )
    project = Path(__file__).parent / "changes"
    (checked,) = check(project, inputs=[given], declared=lambda prototype: [])
    assert [(one.status, one.reason) for one in checked.outcomes] == [("pass", "")]


@pytest.mark.parametrize("count", [8, 6])
def test_a_kernel_tells_the_shape_of_an_output(count: int) -> None:
    keep = load(Path(__file__).parent / "given", "KeepPositive")
    x = np.array([1, -1, 2, -2, 3, -3, 4, 5], dtype=np.float32)[:count]
    expected = x[x > 0]
    np.testing.assert_array_equal(keep(x), expected[None] if count == 8 else expected)
    assert not keep.findings, keep.findings
    with pytest.raises(OphookError, match="tells no shape: its first word"):
        keep(x[:4])


@pytest.mark.parametrize(
    ("told", "what"),
    [
        ({"scalar": 1, "to_of": "gone"}, r'Op: x has To\("gone"\); allowed: x'),
        ({"values": True}, "x has ValueDepend and the data types float16; allowed: DT_FLOAT alone"),
    ],
)
def test_what_an_aclnn_function_cannot_take(told: dict[str, object], what: str) -> None:
    x = OpParameter("x", 1, (1,), **told)
    with pytest.raises(OphookError, match=what):
        package_text.refuse_others(Prototype("Op", (x,), (), (), ("ascend910b",), False))


CORE = "this->AICore().SetTiling(optiling::Tiling);"
CPU = 'this->AICPU().Engine("DNN_VM_AICPU").OpkernelLib("CUSTAICPUKernel").KernelSo("libx.so").FlagAsync(false);'


@pytest.mark.parametrize(
    ("cores", "more", "why"),
    [
        (True, CPU + 'this->HostCPU().ComputeCost("100").ExtendCfgInfo("a", "b").UserDefined(true);', ""),
        (True, "this->FormatMatchMode(FormatCheckOption::DEFAULT);", ""),
        (True, "this->FormatMatchMode(FormatCheckOption::STRICT);", "tiling is told FORMAT_ND of every tensor"),
        (False, CPU, "OpDef::AICPU: that AI CPUs run an OpDef's operator is not simulated"),
        (False, 'this->HostCPU().FunctionName("RunCpuKernel");', "OpDef::HostCPU: that the host runs an operator"),
    ],
)
def test_who_runs_an_operator(tmp_path: Path, cores: bool, more: str, why: str) -> None:
    shutil.copytree(PROJECT, tmp_path / "project")
    sources = (tmp_path / "project" / "op_host").glob("*.cpp")
    source = next(one for one in sources if CORE in one.read_text())
    text = source.read_text().replace(CORE, (CORE if cores else "") + more)
    source.write_text(text if cores else text.replace('this->AICore().AddConfig("ascend910b");', ""))
    if not why:
        np.testing.assert_array_equal(load(tmp_path / "project")(X)[0], X[0] / 4)
        return
    with pytest.raises(OphookError, match=re.escape(why)):
        load(tmp_path / "project")(X)
    with pytest.raises(OphookError, match=re.escape(why)):
        package_text.refuse_others(Project(tmp_path / "project").prototype())
