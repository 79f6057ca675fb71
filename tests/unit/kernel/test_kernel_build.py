"""How a kernel is compiled: with our headers in their precompiled form, where its source reads them first."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from ophook_npu import toolchain
from ophook_npu.kernel import build

INCLUDED = '#include "kernel_operator.h"\n'


@pytest.mark.parametrize(
    ("text", "precompiled"),
    [
        (INCLUDED, True),
        ("// A kernel.\n\n/* Of\n two lines. */\n#include <kernel_operator.h>\n", True),
        ("#define ASCENDC_CUBE_ONLY\n" + INCLUDED, False),
        ('#include "tiling.h"\n' + INCLUDED, False),
        ('#include "kernel_operator_of_ours.h"\n', False),
        ("", False),
    ],
)
def test_headers_that_a_source_reads_first_are_precompiled(
    text: str, precompiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPHOOK_NPU_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "runtime", lambda: tmp_path / "libruntime.so")
    ran: list[Sequence[str]] = []

    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        Path(command[-1]).touch()  # behind -o
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(toolchain, "run", run)
    source = tmp_path / "kernel.cpp"
    source.write_text(text)
    made = [build.kernel(source, {"DTYPE_X": dtype}, "", [tmp_path]) for dtype in ("half", "float")]
    assert made[0] != made[1] and all(path.is_file() for path in made)
    kernels = [command for command in ran if "c++-header" not in command]
    assert len(kernels) == 2 and len(ran) - len(kernels) == precompiled  # once for both
    assert all(("kernel_operator.h" in command) == precompiled for command in kernels)
