"""scripts/test_cpus.sh: what it sets for each setting, its table, and the list of tests that compare numbers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cpu_dependent import FILES, OTHERS, compares_numbers

ROOT = Path(__file__).parents[3]


SET = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE")


def run(*options: str, script: Path = ROOT / "scripts" / "test_cpus.sh") -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if name not in SET}  # this test may run under it
    return subprocess.run(["bash", str(script), *options], capture_output=True, text=True, env=environ, timeout=60)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The script over a test.sh that only tells what it gets, and fails under one setting."""
    for name in ("test_cpus.sh", "lib.sh"):
        (tmp_path / "scripts" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "scripts" / name).write_text((ROOT / "scripts" / name).read_text())
    (tmp_path / "scripts" / "test.sh").write_text(
        'echo "$OMP_NUM_THREADS ${ATEN_CPU_CAPABILITY:--} ${ONEDNN_MAX_CPU_ISA:--} ${MKL_CBWR:--} $*"\n'
        'echo "inductor ${TORCHINDUCTOR_CACHE_DIR##*/}"\n'
        'echo "== 3 passed =="; [ "${ONEDNN_MAX_CPU_ISA:-}" = "" ]\n'
    )
    return tmp_path / "scripts" / "test_cpus.sh"


def test_settings_threads_and_table(script: Path) -> None:
    options = (
        "--venv",
        "/v",
        "--suites",
        "unit",
        "--settings",
        "default,mkl",
        "--threads",
        "1,2",
        "--numbers",
        "--",
        "-x",
    )
    done = run(*options, script=script)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if "--venv" in line]
    assert told == [
        f"{threads} {aten} - {mkl} --venv /v --all unit -m numbers and not slow -x"
        for aten, mkl in (("default", "-"), ("-", "COMPATIBILITY"))
        for threads in (1, 2)
    ]
    caches = [line for line in done.stdout.splitlines() if line.startswith("inductor ")]
    assert caches == ["inductor default"] * 2 + ["inductor mkl"] * 2
    table = done.stdout.splitlines()[-4:]
    assert [line.split()[:4] for line in table] == [
        [setting, threads, "unit", "passed"] for setting in ("default", "mkl") for threads in "12"
    ]
    assert all(line.endswith("3 passed") for line in table)


def test_a_failure_is_told_and_the_rest_still_runs(script: Path) -> None:
    done = run("--suites", "sim", "--settings", "plain,native", "--threads", "1", script=script)
    assert done.returncode == 1
    assert [line.split()[:4] for line in done.stdout.splitlines()[-2:]] == [
        ["plain", "1", "sim", "FAILED"],
        ["native", "1", "sim", "passed"],
    ]


def test_threads_of_a_process_say_nothing_of_how_many_processes_fit() -> None:
    def processes(**variables: str) -> str:
        command = ["bash", "-c", f"source {ROOT / 'scripts' / 'lib.sh'}; test_processes; threads_each 1"]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
        done = subprocess.run(command, capture_output=True, text=True, env={**environ, **variables}, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert processes() == processes(OMP_NUM_THREADS="1", OMP_THREAD_LIMIT="1") == processes(OMP_NUM_THREADS="64")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--settings", "sse"), "unknown setting sse; allowed: native, default"),
        (("--suites", "all"), "unknown suite all; allowed: unit, sim"),
        (("--threads", "two"), "--threads takes numbers, not two"),
        (("--fast",), "unknown option --fast"),
    ],
)
def test_wrong_use_is_refused_at_once(options: tuple[str, ...], told: str) -> None:
    done = run(*options)
    assert done.returncode == 2 and told in done.stderr and not done.stdout


@pytest.mark.parametrize("pattern", FILES)
def test_every_pattern_of_tests_that_compare_numbers_finds_some(pattern: str) -> None:
    assert any(map(compares_numbers, (ROOT / "tests").glob(pattern)))


def test_what_compares_no_numbers_is_left_out() -> None:
    for name in OTHERS:
        assert (ROOT / "tests" / name).is_file() and not compares_numbers(ROOT / "tests" / name)
