"""``ophook-npu env`` and the simulator's ``set_env.sh``: what a shell is given, and what it is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.npu import autoload
from ophook_npu.sim import variables
from ophook_npu.sim.build import SETENV

PLAIN = {"HOME": os.environ.get("HOME", "/"), "PATH": "/usr/bin:/bin", "NO_COLOR": "1", "COLUMNS": "200"}


def cli(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ophook_npu", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**PLAIN, **environment}, timeout=120)


def evaluated(text: str, shell: str = "bash", **environment: str) -> dict[str, str]:
    """The environment of a shell after it has evaluated the text."""
    script = 'eval "$TEXT"; unset TEXT; env -0'
    result = subprocess.run([shell, "-c", script], capture_output=True, env={**PLAIN, **environment, "TEXT": text})
    pairs = (entry.split("=", 1) for entry in result.stdout.decode().split("\0") if "=" in entry)
    return {key: value for key, value in pairs if key not in ("SHLVL", "_", "PWD", "OLDPWD")}


def test_cpu_sets_what_a_plain_program_needs_and_nothing_else() -> None:
    result = cli("env", "--cpu")
    assert (result.returncode, result.stdout) == (0, "export TORCH_DEVICE_BACKEND_AUTOLOAD=0\n")
    assert cli("env", "--device", "cpu").stdout == result.stdout


def test_cpu_takes_the_simulator_out_of_the_shell(tmp_path: Path) -> None:
    inside = dict(PLAIN, LD_LIBRARY_PATH="/mine")
    variables.apply(inside, variables.environment(tmp_path, soc="Ascend910B1", devices=2, memory=1 << 30))
    assert inside["LD_LIBRARY_PATH"] == f"{tmp_path}/cann/lib64:/mine" and inside["PATH"].startswith(f"{tmp_path}/bin:")
    after = evaluated(cli("env", "--cpu", **inside).stdout, **inside)
    expected = {**PLAIN, "LD_LIBRARY_PATH": "/mine", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    assert {key: value for key, value in after.items() if key in expected or key.startswith(("ASC", "OPH"))} == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cpu", "--devices", "2"], "--devices describes a simulated device, and this is for the cpu"),
        (["--cpu", "--device", "sim"], "--cpu and --device sim"),
        (["--device", "npu"], "no Ascend NPU here"),
        (["--device", "gpu"], "unknown device 'gpu'"),
        (["--soc", "Ascend910B9"], "unknown SoC"),
        (["--devices", "65"], "65 devices asked for"),
        (["--cann", "7.0.0"], "CANN 7.0.0 is not simulated"),
        (["--cpu", "--cann", "9.0.0"], "--cann describes a simulated device, and this is for the cpu"),
    ],
)
def test_a_refusal_makes_eval_fail_and_set_nothing(options: list[str], message: str, tmp_path: Path) -> None:
    result = cli("env", *options, CXX="no-such-compiler", OPHOOK_NPU_CACHE=str(tmp_path))
    assert result.returncode == 2 and message in result.stderr
    assert result.stdout == "false\n"
    status = subprocess.run(["bash", "-c", f'eval "{result.stdout}"; echo $?'], capture_output=True, text=True)
    assert status.stdout == "1\n"


def test_a_build_that_fails_makes_eval_fail(tmp_path: Path) -> None:
    result = cli("env", "--device", "sim", CXX="no-such-compiler", OPHOOK_NPU_CACHE=str(tmp_path))
    assert result.returncode == 2 and "no C++ compiler" in result.stderr
    assert result.stdout == "false\n"


def test_what_is_printed_survives_any_shell_and_any_value() -> None:
    before, after = {"GONE": "1", "SAME": "x"}, {"SAME": "x", "NEW": """a b"c'd$HOME`ls`\n#!\\""", "EMPTY": ""}
    text = variables.exports(before, after)
    for shell in [name for name in ("bash", "sh", "dash", "zsh") if shutil.which(name)]:
        found = evaluated(text, shell, **before)
        assert {key: found.get(key) for key in ("GONE", "SAME", "NEW", "EMPTY")} == {"GONE": None, **after}, shell


def test_applied_twice_or_over_another_simulator_it_does_not_pile_up(tmp_path: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin"}
    for name in ("one", "two", "two"):
        variables.apply(environ, variables.environment(tmp_path / name))
    assert environ["PATH"] == f"{tmp_path}/two/bin:/usr/bin:/bin"
    assert environ["LD_LIBRARY_PATH"] == f"{tmp_path}/two/cann/lib64"
    variables.take_out(environ)
    assert environ == {"PATH": "/usr/bin:/bin"}


def test_devices_of_the_shell_hold_until_others_are_asked_for(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("OPHOOK_SIM_DEVICES", "4")
    assert variables.environment(tmp_path)["OPHOOK_SIM_DEVICES"] == "4"
    assert variables.environment(tmp_path, devices=1)["OPHOOK_SIM_DEVICES"] == "1"
    monkeypatch.setenv("OPHOOK_SIM_DEVICES", "many")
    with pytest.raises(OphookError, match="OPHOOK_SIM_DEVICES=many; allowed: 1 to 64"):
        variables.environment(tmp_path)


def test_tritons_interpreter_is_chosen_unless_the_shell_chose(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert variables.environment(tmp_path)["TRITON_INTERPRET"] == "1"
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    assert variables.environment(tmp_path)["TRITON_INTERPRET"] == "0"


@pytest.fixture(params=["plain", "with space"])
def root(request, tmp_path: Path) -> Path:
    folder = tmp_path / request.param
    (folder / "lib64").mkdir(parents=True)
    (folder / "lib64" / "libascendcl.so").touch()
    (folder / "set_env.sh").write_text(variables.set_env_script())
    return folder


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_set_env_finds_its_folder_and_sets_what_run_sets(root: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    source = f'set -eu; cd "{root.parent}"; source "./{root.name}/set_env.sh"'
    given = {"LD_LIBRARY_PATH": f"/a:{root}/cann/lib64:/b", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    expected = {**PLAIN, **given}
    del expected["TORCH_DEVICE_BACKEND_AUTOLOAD"]
    variables.apply(expected, variables.environment(root))
    for repeated in (source, f"{source}; {source}"):
        assert evaluated(repeated, shell, **given).items() >= expected.items(), repeated
    assert autoload.VARIABLE not in evaluated(source, shell, **given)


def test_setenv_bash_is_the_same_below_bin_and_in_the_folder_of_a_release(root: Path) -> None:
    (root / "bin").mkdir()
    (root / "bin" / "setenv.bash").write_text(SETENV)
    toolkit = root / "cann-8.5.0"
    toolkit.mkdir()
    for name in ("bin", "set_env.sh"):
        (toolkit / name).symlink_to(Path("..") / name)
    for folder in (root, toolkit):
        given = evaluated(f'set -eu; source "{folder}/bin/setenv.bash"', "bash")
        assert given["ASCEND_INSTALL_PATH"] == given["ASCEND_HOME_PATH"] == str(toolkit)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not on PATH")
def test_set_env_under_sh_needs_to_be_told_where_it_is(root: Path) -> None:
    told = evaluated(f'. "{root}/set_env.sh"', "sh", OPHOOK_SIM_ROOT=str(root))
    assert told["LD_LIBRARY_PATH"] == f"{root}/cann/lib64" and told["PATH"] == f"{root}/bin:/usr/bin:/bin"
    command = ["sh", "-c", f'. "{root}/set_env.sh"; echo "$? ${{ASCEND_HOME_PATH:-}}"']
    if Path("/bin/sh").resolve().name == "dash":
        lost = subprocess.run(command, capture_output=True, text=True, env=PLAIN, cwd="/")
        assert lost.stdout == "1 \n" and "no simulated Ascend at '/'" in lost.stderr


def test_on_an_ascend_host_it_is_canns_own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ophook_npu.cli import run
    from ophook_npu.npu import place

    script = f'export ASCEND_HOME_PATH={tmp_path} ASCEND_OPP_PATH="{tmp_path}/opp 1"\n'
    (tmp_path / "set_env.sh").write_text(script + f'export LD_LIBRARY_PATH="{tmp_path}/lib64:$LD_LIBRARY_PATH"\n')
    monkeypatch.setattr(place, "detect", lambda *_: place.Host(tmp_path, (), ("/dev/davinci0",), None, None))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/mine")
    monkeypatch.delenv("ASCEND_OPP_PATH", raising=False)
    text = run._exports("auto", None, None, None, False, None)
    found = evaluated(text, LD_LIBRARY_PATH="/mine")
    assert found["ASCEND_OPP_PATH"] == f"{tmp_path}/opp 1" and found["LD_LIBRARY_PATH"] == f"{tmp_path}/lib64:/mine"
    assert not any(name.startswith("OPHOOK_SIM") for name in found) and "PATH=" not in text.replace("_PATH=", "")
    with pytest.raises(OphookError, match="--soc describes a simulated device, and this is for the npu"):
        run._exports("auto", "Ascend910B1", None, None, False, None)


def test_the_release_of_cann_is_kept_and_taken_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPHOOK_SIM_CANN", raising=False)
    assert "OPHOOK_SIM_CANN" not in variables.environment(tmp_path)
    environ = dict(PLAIN)
    variables.apply(environ, variables.environment(tmp_path, cann="9.0.0"))
    assert environ["OPHOOK_SIM_CANN"] == "9.0.0" and environ["ASCEND_HOME_PATH"] == f"{tmp_path}/cann-9.0.0"
    variables.take_out(environ)
    assert "OPHOOK_SIM_CANN" not in environ and "ASCEND_HOME_PATH" not in environ
    monkeypatch.setenv("OPHOOK_SIM_CANN", "9.0.0")
    assert variables.environment(tmp_path)["OPHOOK_SIM_CANN"] == "9.0.0"
