"""The host side's interface, in programs that use it as its pages describe it: shapes, tensors, contexts and strings,
and what builds contexts for tests of an operator.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ophook_npu import toolchain
from ophook_npu.kernel import build, socs
from ophook_npu.soc import CSRC

HOST = CSRC / "ascendc" / "host"
REGISTRY = ("-DOPHOOK_PROGRAM_REGISTRY", str(HOST / "registry.cpp"), str(HOST / "templates.cpp"))


PROGRAMS = [("host_interface", ()), ("context_builders", REGISTRY), ("tiling_tests", ("-ldl",))]


@pytest.mark.parametrize(("name", "more"), PROGRAMS)
def test_it_does_what_its_pages_say(tmp_path: Path, name: str, more: tuple[str, ...]) -> None:
    source = Path(__file__).parent / f"{name}.cpp"
    command = [*toolchain.compiler(), "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    command += [f"-I{HOST}", f"-I{build.forwards()}", str(source), *more]
    built = subprocess.run([*command, "-o", str(tmp_path / "a")], capture_output=True, text=True, timeout=200)
    assert built.returncode == 0, built.stderr
    platforms = tmp_path / "data" / "platform_config"
    platforms.mkdir(parents=True)
    (platforms / "Ascend910B4.ini").write_text(socs.platform_file("Ascend910B4"))
    where = {**os.environ, "ASCEND_HOME_PATH": str(tmp_path)}
    done = subprocess.run([str(tmp_path / "a")], capture_output=True, text=True, timeout=60, env=where, cwd=tmp_path)
    lines = source.read_text().splitlines()
    where_not = [lines[int(line) - 1] for line in done.stderr.splitlines() if line.isdigit()]
    assert done.returncode == 0, done.stderr + "".join(where_not)
