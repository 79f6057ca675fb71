"""Our headers take no more than the interface documents: a corpus of lines that must not compile, each by itself."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ophook_npu import toolchain
from ophook_npu.kernel import build
from ophook_npu.sim.build import CSRC

SOURCE = Path(__file__).parent / "refused.cpp"


def test_each_marked_line_is_an_error_and_no_other() -> None:
    lines = SOURCE.read_text().splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("// REFUSED")}
    command = [*toolchain.compiler(), "-std=c++20", "-w", "-fsyntax-only", "-fmax-errors=0"]
    command += [f"-I{CSRC / 'ascendc' / 'include'}", str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode and len(marked) > 20
    told = {int(number) for number in re.findall(rf"^{re.escape(str(SOURCE))}:(\d+):", done.stderr, re.MULTILINE)}
    assert told == marked, f"not refused: {sorted(marked - told)}; refused: {sorted(told - marked)}\n{done.stderr}"


@pytest.mark.parametrize("name", ["lib/conv/conv3d/conv3d_api.h", "lib/conv_backprop/conv3d_bp_filter_api.h"])
def test_headers_of_what_is_not_simulated_say_so(name: str) -> None:
    command = [*toolchain.compiler(), "-x", "c++", "-fsyntax-only", f"-I{build.forwards()}"]
    command += [f"-I{CSRC / 'ascendc' / 'include'}", "-"]
    done = subprocess.run(
        command, input=f"#include <{name}>\n", capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode and "Conv3D, Conv3DBackpropInput and Conv3DBackpropFilter are not simulated" in done.stderr
