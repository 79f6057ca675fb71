"""Shapes, tensors, contexts and strings of the host side, in a program that uses each as its page describes it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ophook_npu import toolchain
from ophook_npu.kernel import build
from ophook_npu.soc import CSRC

SOURCE = Path(__file__).parent / "host_interface.cpp"


def test_it_does_what_its_pages_say(tmp_path: Path) -> None:
    host = CSRC / "ascendc" / "host"
    command = [*toolchain.compiler(), "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    command += [f"-I{host}", f"-I{build.forwards()}", str(SOURCE)]
    built = subprocess.run([*command, "-o", str(tmp_path / "a")], capture_output=True, text=True, timeout=200)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(tmp_path / "a")], capture_output=True, text=True, timeout=60)
    lines = SOURCE.read_text().splitlines()
    assert done.returncode == 0, done.stderr + "".join(lines[int(n) - 1] for n in done.stderr.split() if n.isdigit())
