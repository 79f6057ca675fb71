"""``ophook-npu run -- PROGRAM``: what is Python, what is any other program, and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu.cli._command import command
from ophook_npu.errors import OphookError

BIN = str(Path(sys.executable).parent)


def run(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    start = [sys.executable, "-m", "ophook_npu", "run", "--device", "cpu", "--", *arguments]
    environ = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", **environment}
    return subprocess.run(start, capture_output=True, text=True, env=environ, timeout=120, cwd=cwd)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"p.py": "#!/bin/sh\n", "sometool": "#!/bin/sh\n", "data": "x", "noshebang": "echo\n"}.items():
        (tmp_path / name).write_text(text)
    for name in ("p.py", "sometool", "noshebang"):
        (tmp_path / name).chmod(0o755)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").touch()
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize("arguments", [["-m", "x"], ["-c", "1"], ["-X", "dev", "p.py"], ["p.py", "a"], ["package"]])
def test_python_runs_python(folder: Path, arguments: list[str]) -> None:
    assert command(arguments, os.environ) == (sys.executable, [sys.executable, *arguments])


def test_anything_else_is_started_as_it_is(folder: Path) -> None:
    assert command(["./sometool", "-c"], os.environ) == ("./sometool", ["./sometool", "-c"])
    assert command([str(folder / "sometool")], os.environ)[0] == str(folder / "sometool")
    assert command(["sh", "-c", "true"], {"PATH": "/usr/bin:/bin"})[0] in ("/usr/bin/sh", "/bin/sh")
    # A virtual environment's own programs come first, on a PATH without them too.
    assert command(["python", "p.py"], {"PATH": "/usr/bin:/bin"})[0] == f"{BIN}/python"
    assert command(["sometool"], {"PATH": str(folder)})[0] == str(folder / "sometool")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("gone.py", "no such script: gone.py"),
        ("./gone", "no such program: ./gone"),
        ("gone", "no such program: gone is not on PATH"),
        ("sometool", "./sometool is a file here: say `./sometool`, or `python sometool`"),
        ("./data", "./data is neither named *.py nor executable"),
        ("./empty", "./empty is a folder without __main__.py"),
    ],
)
def test_neither_is_refused_with_what_to_do(folder: Path, program: str, message: str) -> None:
    with pytest.raises(OphookError) as refused:
        command([program], {"PATH": "/usr/bin:/bin"})
    assert message in str(refused.value)


def test_what_the_system_cannot_start_is_said(folder: Path) -> None:
    result = run("./noshebang", cwd=folder)
    assert result.returncode == 2
    assert "./noshebang cannot be started" in result.stderr and "such as `bash ./noshebang`" in result.stderr


def test_status_output_arguments_and_signal_are_the_programs_own() -> None:
    result = run("sh", "-c", 'echo "$1|$2" "$TORCH_DEVICE_BACKEND_AUTOLOAD"; exit 7', "name", "a b", "")
    assert (result.returncode, result.stdout, result.stderr) == (7, "a b| 0\n", "")
    assert run("sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM
