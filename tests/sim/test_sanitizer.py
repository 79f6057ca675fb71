"""The toolkit's mssanitizer: what the checks of a program's kernels found, by tool, and memory that is never freed."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from ophook_npu import sim
from ophook_npu.sim import program, sanitizer
from ophook_npu.sim.variables import apply, environment

SOURCE = Path(__file__).parent / "programs" / "asc" / "sanitized.asc"
FINDINGS = Path(sanitizer.__file__).parents[1] / "csrc" / "ascendc" / "runtime" / "findings.inc"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program.compile([str(SOURCE), "-o", str(tmp_path_factory.mktemp("sanitized") / "demo")])


def run(*command: str) -> subprocess.CompletedProcess[str]:
    environ = dict(os.environ)
    apply(environ, environment(sim.active() or sim.build()))
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)


def sanitized(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run("mssanitizer", *arguments)


@pytest.mark.parametrize("tool", sorted(sanitizer.TOOLS))
def test_a_right_program_has_no_findings(demo: Path, tool: str) -> None:
    done = sanitized(str(demo), f"--tool={tool}", "--leak-check=yes")
    assert (done.returncode, done.stdout) == (0, f"2\nmssanitizer: {tool}: nothing found\n"), done.stderr


def test_a_tool_tells_its_findings_and_how_many_others_have(demo: Path, tmp_path: Path) -> None:
    done = sanitized("--tool=racecheck", f"--log-file={tmp_path / 'told'}", str(demo), "--", "fault")
    line = next(i for i, text in enumerate(SOURCE.read_text().splitlines(), 1) if "Adds(" in text)
    assert done.returncode == 3 and f"sanitized.asc:{line}: error: Adds" in done.stdout, done.stdout
    assert done.stdout.endswith("racecheck: 1 finding\n") and "[missing_sync]" in (tmp_path / "told").read_text()
    done = sanitized("-t", "memcheck", str(demo), "fault")
    assert "memcheck: nothing found\nmssanitizer: 1 other with --tool=racecheck\n" in done.stdout, done.stdout


def test_memory_that_is_never_freed_is_told(demo: Path) -> None:
    done = sanitized("--leak-check=yes", str(demo), "fault")
    assert "leak: 1024 bytes of device 0 are never freed (aclrtMalloc in demo)\n" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--check-unused-memory=yes", "x"], "--check-unused-memory=yes is not simulated; allowed: no"),
        (["x", "--tool=leaks"], "--tool leaks; allowed: memcheck, racecheck"),
        (["--full-backtrace=yes", "x"], "--full-backtrace is not simulated"),
        (["--tool=memcheck"], "no program"),
    ],
)
def test_what_is_not_simulated_is_named(arguments: list[str], told: str) -> None:
    done = sanitized(*arguments)
    assert done.returncode == 2 and told in done.stderr, done.stderr


def test_each_kind_of_a_tool_is_one_of_the_runtime() -> None:
    lines = [line for line in FINDINGS.read_text().splitlines() if line.startswith("FINDING")]
    kinds = {line.split("(")[1].split(",")[0] for line in lines}
    assert set().union(*sanitizer.TOOLS.values()) <= kinds


@pytest.mark.parametrize("tool", ["bisheng", "mssanitizer", "msopprof"])
def test_commands_of_the_toolkit_tell_their_version_and_usage(tool: str) -> None:
    said = run(tool, "--version")
    assert said.returncode == 0
    assert re.match(rf"{tool} version: \d+\.\d+\.\d+ \(simulated Ascend, ophook-npu\)\n", said.stdout)
    assert run(tool, "-h").stdout.startswith(f"usage: {tool} ")
