"""The host side's interface, in programs that use it as its pages describe it: shapes, tensors, contexts and strings; and
what builds contexts for tests of an operator.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ophook_npu import toolchain
from ophook_npu.kernel import build
from ophook_npu.soc import CSRC

HOST = CSRC / "ascendc" / "host"
REGISTRY = ("-DOPHOOK_PROGRAM_REGISTRY", str(HOST / "registry.cpp"), str(HOST / "templates.cpp"))


@pytest.mark.parametrize(("name", "more"), [("host_interface", ()), ("context_builders", REGISTRY)])
def test_it_does_what_its_pages_say(tmp_path: Path, name: str, more: tuple[str, ...]) -> None:
    source = Path(__file__).parent / f"{name}.cpp"
    command = [*toolchain.compiler(), "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    command += [f"-I{HOST}", f"-I{build.forwards()}", str(source), *more]
    built = subprocess.run([*command, "-o", str(tmp_path / "a")], capture_output=True, text=True, timeout=200)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(tmp_path / "a")], capture_output=True, text=True, timeout=60)
    lines = source.read_text().splitlines()
    assert done.returncode == 0, done.stderr + "".join(lines[int(n) - 1] for n in done.stderr.split() if n.isdigit())
