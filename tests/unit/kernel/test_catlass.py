"""Kernels as CATLASS writes them, which are C++ for the device's compiler alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from ophook_npu import toolchain
from ophook_npu.errors import OphookError
from ophook_npu.kernel import Entry
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import KINDS, OUTPUT, Argument

SOURCE = Path(__file__).parent / "catlass.cpp"


def cores(macros: dict[str, str]) -> np.ndarray:
    z = Block((48,), 0)
    report = Entry(SOURCE, name="cores", macros=macros).run([Argument("z", z, OUTPUT)], 1)
    assert not report.findings, [str(finding) for finding in report.findings]
    return z.array(False).reshape(3, 16)


WANTED = np.arange(16) + np.array([[10], [20], [20]])


def test_each_kind_of_core_has_its_own() -> None:
    np.testing.assert_array_equal(cores({}), WANTED)


def test_host_code_in_a_header_of_kernels() -> None:
    """CATLASS's kernels include AscendCL and launch by template arguments; here nobody calls that part."""
    np.testing.assert_array_equal(cores({"HOST": "1"}), WANTED)


def test_a_specialization_within_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """GCC before 14 does not take it, and the error says what does: clang, where there is one."""
    try:
        found = cores({"SPECIALIZED": "1"})
    except OphookError as error:
        assert "explicit specialization in non-namespace scope" in error.what and "OPHOOK_KERNEL_CXX=clang++" in (
            error.todo or ""
        )
    else:
        np.testing.assert_array_equal(found, WANTED)
    clang = shutil.which("clang++") or shutil.which("clang++-16")
    if clang:
        monkeypatch.setattr(toolchain, "kernel_compiler", lambda: (clang,))
        np.testing.assert_array_equal(cores({"SPECIALIZED": "1"}), WANTED)


PRODUCT = "Mmad(LocalTensor<float>(), LocalTensor<half>(), LocalTensor<half>(), MmadParams());"
SUM = "Add(LocalTensor<float>(), LocalTensor<float>(), LocalTensor<float>(), 8);"
OBJECT = """
using Side = MatmulType<TPosition::GM, CubeFormat::ND, half>;
Matmul<Side, Side, Side> mm;
TCubeTiling cubeTiling;
REGIST_MATMUL_OBJ(GetTPipePtr(), GetSysWorkSpacePtr(), mm, &cubeTiling);
"""


@pytest.mark.parametrize(
    ("body", "header", "kind"),
    [
        (PRODUCT, "", "AIC_ONLY"),
        (
            "product();",
            f"inline void product() {{ {PRODUCT} }}",
            "AIC_ONLY",
        ),  # in a header, which the text does not tell
        ("sum();", f"inline void sum() {{ {SUM} }} inline void product() {{ {PRODUCT} }}", "AIV_ONLY"),  # not called
        (f"if ASCEND_IS_AIV {{ {SUM} }}", "", "AIV_ONLY"),
        (f"{PRODUCT} if ASCEND_IS_AIV {{ {SUM} }}", "", "MIX_AIC_1_2"),
        (f"{PRODUCT} sum();", f"inline void sum() {{ {SUM} }}", "MIX_AIC_1_2"),
        (OBJECT, "", "MIX_AIC_1_2"),
        (f"KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1); {PRODUCT}", "", "MIX_AIC_1_1"),
    ],
)
def test_the_cores_that_a_kernel_needs(tmp_path: Path, body: str, header: str, kind: str) -> None:
    head = '#include "kernel_operator.h"\n#include "lib/matmul_intf.h"\nusing namespace AscendC;\n'
    (tmp_path / "own.h").write_text(header + "\n")
    text = f'{head}#include "own.h"\nextern "C" __global__ __aicore__ void kernel(GM_ADDR x) {{ {body} }}\n'
    (tmp_path / "kernel.cpp").write_text(text)
    assert Entry(tmp_path / "kernel.cpp", name="kernel").kind == KINDS[kind]


@pytest.mark.parametrize(("part", "kind"), [("", "AIC_ONLY"), ("void operator()<AscendC::AIV>(P p);", "MIX_AIC_1_2")])
def test_of_a_source_that_asks_for_its_core_the_text_tells(tmp_path: Path, part: str, kind: str) -> None:
    (tmp_path / "kernel.cpp").write_text(f"constexpr int of = g_coreType;\nMmad(c, a, b, p); {part}")
    assert Entry(tmp_path / "kernel.cpp", name="kernel").kind == KINDS[kind]
