"""run_op_plugin.sh and its steps, without what takes minutes: options, refusals, and how a failing step is told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(ROOT / "run_op_plugin.sh"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=60)


def test_help_explains_every_option() -> None:
    result = run("-h")
    assert result.returncode == 0
    for word in (
        "--device auto|sim|npu",
        "--route extension|source",
        "--soc",
        "--jobs",
        "--venv",
        "--clean",
        "ASCEND_HOME_DIR",
    ):
        assert word in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "gpu"], "--device gpu; allowed: auto, sim, npu"),
        (["--route", "wheel"], "--route wheel; allowed: extension, source"),
        (["--jobs", "many"], "--jobs many; allowed: a positive number"),
        (["--devcie", "sim"], "unknown option --devcie"),
        (["--venv"], "--venv needs a value"),
        (["--until", "patch", "--route", "extension"], "--until belongs to --route source"),
    ],
)
def test_wrong_use_exits_2_and_says_what_is_allowed(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.returncode == 2 and message in result.stderr


def fake_venv(folder: Path) -> Path:
    """A virtual environment that setup_venv.sh takes for complete and whose Python is this one."""
    venv = folder / "ve nv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").touch()
    (venv / "bin" / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (venv / "bin" / "python").chmod(0o755)
    told = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    summed = subprocess.run(["cksum"], input=told, capture_output=True, encoding="utf-8").stdout.strip()
    (venv / "ophook-complete").write_text(f"{summed} {ROOT}\nnpu\ntest\n")
    return venv


def test_half_installed_host_is_named_with_step_log_and_next(tmp_path: Path) -> None:
    venv = fake_venv(tmp_path)
    result = run("--venv", str(venv), ASCEND_HOME_DIR=str(tmp_path / "no cann"))
    assert result.returncode == 1
    assert "step:  check the host" in result.stdout and "next:  ophook-npu doctor, or --device sim" in result.stdout
    assert "no cann is not a folder" in result.stdout
    log = next(line for line in result.stdout.splitlines() if line.startswith("log:")).removeprefix("log:").strip()
    assert "is not a folder" in Path(log).read_text()


def test_a_folder_that_is_no_virtual_environment_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    for arguments in (["--clean"], []):
        result = run("--venv", str(tmp_path / "mine"), *arguments, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert result.returncode == 1 and "is not a virtual environment; nothing was removed" in result.stdout
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"


def test_unsuitable_python_is_named(tmp_path: Path) -> None:
    old = tmp_path / "python3.6"
    old.write_text(
        f'#!/bin/sh\n[ "$1" = -c ] && exit 1\n[ "$1" = --version ] && echo Python 3.6.9 || exec {sys.executable} "$@"\n'
    )
    old.chmod(0o755)
    result = run("--venv", str(tmp_path / "v"), "--route", "extension", PYTHON=str(old))
    assert (
        result.returncode == 1 and "Python 3.6.9 is too old; allowed: 3.10 or later; next: set PYTHON" in result.stdout
    )


def ascend_host(folder: Path) -> dict[str, str]:
    """Variables that make this machine look like an Ascend host to place.detect."""
    from ophook_npu.npu import place

    (folder / "cann" / "lib64").mkdir(parents=True)
    for name in place.LIBRARIES:
        (folder / "cann" / "lib64" / name).touch()
    return {"ASCEND_HOME_DIR": str(folder / "cann")}


def test_source_options_choose_the_source_route(tmp_path: Path) -> None:
    result = run("--venv", str(tmp_path / "v"), "--torch-npu-dir", str(tmp_path / "tree"), "--until", "nowhere")
    assert (
        result.returncode == 2 and "--until nowhere; allowed: clone patch codegen build install test" in result.stderr
    )


def test_cann_without_a_device_is_not_replaced_by_the_simulator(tmp_path: Path) -> None:
    result = run("--venv", str(tmp_path / "v"), **ascend_host(tmp_path))
    assert result.returncode == 1 and "there is no NPU" in result.stdout


def report(folder: Path, **results: dict[str, object]) -> subprocess.CompletedProcess[str]:
    import json

    for mode, found in results.items():
        (folder / f"{mode}.json").write_text(json.dumps({mode: found}))
    command = [sys.executable, "-m", "ophook_npu.demo.report", "--check", "extension", "sim", str(folder)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_report_fails_when_a_mode_failed_or_was_not_run(tmp_path: Path) -> None:
    good = {"passed": True, "max_error": 0.0, "seconds": 1.0}
    assert report(tmp_path, eager=good, torchair=good, npugraph_ex=good).returncode == 0
    bad = report(tmp_path, eager=good, torchair={**good, "passed": False}, npugraph_ex=good)
    assert bad.returncode == 1 and bad.stdout.startswith("torchair: ")
    (tmp_path / "npugraph_ex.json").unlink()
    absent = report(tmp_path, eager=good, torchair=good)
    assert absent.returncode == 1 and "npugraph_ex: was not run" in absent.stdout


def test_a_mode_that_fails_is_told_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from ophook_npu.demo import modes

    programs = {}
    for name, code in (("torchair", 3), ("eager", 0), ("npugraph_ex", 0)):
        programs[name] = [str(tmp_path / f"{name}.py"), "--of", name]
        (tmp_path / f"{name}.py").write_text(f"import sys; print(sys.argv[1:]); sys.exit({code})\n")
    monkeypatch.setattr(modes, "PROGRAMS", programs)
    assert modes.main("npu", str(tmp_path)) == 1
    *passed, failed, last = capfd.readouterr().out.splitlines()
    assert [str(tmp_path / "eager.json") in passed[0], str(tmp_path / "npugraph_ex.json") in passed[1]] == [True, True]
    assert str(tmp_path / "torchair.json") in failed
    assert last == f"torchair ended with 3; alone: ophook-npu run -- {tmp_path}/torchair.py --of torchair"
    del programs["torchair"]
    assert modes.main("npu", str(tmp_path)) == 0
