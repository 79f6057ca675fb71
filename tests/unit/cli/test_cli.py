"""The command line's own behaviour: errors, exit status, doctor."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ophook_npu


def cli(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", **environment}
    if "TORCH_DEVICE_BACKEND_AUTOLOAD" not in environment:  # which these tests themselves need: a user has not set it
        environ.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    return subprocess.run(
        [sys.executable, "-m", "ophook_npu", *arguments], capture_output=True, text=True, env=environ, timeout=120
    )


def test_version() -> None:
    result = cli("--version")
    assert (result.returncode, result.stdout) == (0, f"ophook-npu {ophook_npu.__version__}\n")


def test_the_help_has_every_command_in_one_group_and_on_one_line() -> None:
    from ophook_npu import cli as package

    text = cli("--help", COLUMNS="80").stdout
    lines = [line.strip("│ ").split()[0] for line in text.splitlines() if line.startswith("│ ") and "--" not in line]
    assert lines == [name for names in package._PANELS.values() for name in names]
    assert all(f"╭─ {panel} ─" in text for panel in package._PANELS)


def test_missing_script_is_named() -> None:
    result = cli("run", "--", "nowhere.py")
    assert result.returncode == 2
    assert "error [run] no such script: nowhere.py" in result.stderr and "allowed: a Python file" in result.stderr


def test_unknown_soc_names_the_nearest() -> None:
    from ophook_npu import soc
    from ophook_npu.errors import OphookError

    with pytest.raises(
        OphookError, match=r"unknown SoC 'Ascend910B5', did you mean Ascend910B4\?; allowed: Ascend910B1, "
    ):
        soc.check("Ascend910B5")
    assert soc.check(soc.DEFAULT) == "Ascend910B4"


@pytest.mark.parametrize(
    ("devices", "memory", "message"), [(0, None, "0 devices asked for; allowed: 1 to 64"), (1, -5, "-5 bytes")]
)
def test_impossible_machine_is_refused(devices: int, memory: int | None, message: str) -> None:
    from ophook_npu.errors import OphookError
    from ophook_npu.sim import variables

    with pytest.raises(OphookError, match=message):
        variables.environment(Path("/x"), devices=devices, memory=memory)


def test_run_on_the_cpu_passes_arguments_output_and_status_through() -> None:
    code = "import sys; print(sys.argv[1:]); print('err', file=sys.stderr); sys.exit(7)"
    result = cli("run", "--device", "cpu", "--", "-c", code, "--soc", "a b", "")
    assert (result.returncode, result.stdout, result.stderr) == (7, "['--soc', 'a b', '']\n", "err\n")


def test_run_dies_of_the_programs_signal() -> None:
    result = cli("run", "--device", "cpu", "--", "-c", "import os, signal; os.kill(os.getpid(), signal.SIGUSR1)")
    assert result.returncode == -10


def test_run_reads_standard_input(tmp_path: Path) -> None:
    (tmp_path / "echo me.py").write_text("import sys; print(sys.stdin.read().upper())")
    command = [sys.executable, "-m", "ophook_npu", "run", "--device", "cpu", "--", str(tmp_path / "echo me.py")]
    assert subprocess.run(command, input="abc", capture_output=True, text=True).stdout == "ABC\n"


def test_doctor_as_json() -> None:
    result = cli("doctor", "--json")
    report = json.loads(result.stdout)
    topics = {finding["topic"] for finding in report["findings"]}
    assert {"python", "torch", "torch_npu", "compiler", "cache", "place", "simulator", "custom operators"} <= topics
    assert (result.returncode == 0) == report["healthy"]


def test_doctor_names_what_is_wrong(tmp_path: Path) -> None:
    result = cli("doctor", "--json", CXX="no-such-compiler", ASCEND_HOME_DIR=str(tmp_path / "gone"))
    assert result.returncode == 1
    failed = {f["topic"]: f for f in json.loads(result.stdout)["findings"] if f["status"] == "fail"}
    assert "no-such-compiler is not on PATH" in failed["compiler"]["text"] and failed["compiler"]["todo"]
    assert "is not a folder" in failed["place"]["text"]


def vendors(opp: Path, *names: str, listed: str) -> None:
    for name in names:
        (opp / "vendors" / name / "op_api" / "lib").mkdir(parents=True)
    (opp / "vendors" / "config.ini").write_text(f"load_priority={listed}\n")


def test_doctor_follows_the_search_for_custom_operators(tmp_path: Path) -> None:
    opp = tmp_path / "opp"
    vendors(opp, "first", "second", "forgotten", listed="first,second")
    (opp / "vendors" / "first" / "op_api" / "lib" / "libcust_opapi.so").write_text("not a library")
    result = cli("doctor", "--json", ASCEND_OPP_PATH=str(opp), ASCEND_CUSTOM_OPP_PATH=str(tmp_path / "mine"))
    texts = [f["text"] for f in json.loads(result.stdout)["findings"] if f["topic"] == "custom operators"]
    assert any("forgotten is installed but not in load_priority" in text for text in texts)
    assert any("mine/op_api/lib/libcust_opapi.so does not exist (ASCEND_CUSTOM_OPP_PATH)" in text for text in texts)
    assert any("first/op_api/lib/libcust_opapi.so cannot be loaded" in text for text in texts)
    assert any("second/op_api/lib/libcust_opapi.so does not exist" in text for text in texts)


def test_search_order_is_torch_npus(tmp_path: Path) -> None:
    from ophook_npu.doctor import custom_library_folders

    vendors(tmp_path, "b", "a", listed="b,a")
    environ = {"ASCEND_CUSTOM_OPP_PATH": "/x:/y", "ASCEND_OPP_PATH": str(tmp_path)}
    folders = [folder.parent.parent for folder, _ in custom_library_folders(environ)]
    assert folders == [Path("/x"), Path("/y"), tmp_path / "vendors/b", tmp_path / "vendors/a"]
