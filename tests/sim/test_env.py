"""``eval "$(ophook-npu env)"`` and ``set_env.sh``: what works in that shell; ``run`` starts compiled programs too."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu import sim, toolchain
from ophook_npu.npu.installed import torch_npu_wheel
from ophook_npu.sim.variables import CANN_VERSIONS

PLAIN = {name: os.environ[name] for name in ("HOME", "OPHOOK_NPU_CACHE", "CXX") if name in os.environ}
PLAIN["PATH"] = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
PROGRAM = r"""
#include <acl/acl.h>
#include <csignal>
#include <cstdio>
#include <cstring>
int main(int count, char** arguments) {
  uint32_t devices = 0;
  if (aclInit(nullptr) || aclrtGetDeviceCount(&devices)) return 1;
  printf("%s: %u of %s\n", count > 1 ? arguments[1] : "", devices, aclrtGetSocName());
  fflush(stdout);
  if (count > 1 && !strcmp(arguments[1], "die")) raise(SIGTERM);
  return 5;
}
"""


def shell(script: str, name: str = "bash", cwd: Path | None = None) -> str:
    command = [name, "-c", f"set -e\n{script}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=PLAIN, cwd=cwd)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A compiled program that is linked like any ACL program, and finds its libraries by LD_LIBRARY_PATH."""
    folder, root, wheel = tmp_path_factory.mktemp("program"), sim.active(), torch_npu_wheel()
    assert root is not None and wheel is not None
    (folder / "a.cpp").write_text(PROGRAM)
    include = wheel.path / "include" / "third_party" / "acl" / "inc"
    libraries = [f"-L{root / 'lib64'}", "-lascendcl", f"-Wl,-rpath-link,{root / 'lib64'}"]
    command = [*toolchain.compiler(), str(folder / "a.cpp"), f"-I{include}", *libraries, "-o", str(folder / "a.out")]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return str(folder / "a.out")


def test_run_starts_a_compiled_program_which_keeps_status_and_signals(program: str) -> None:
    start = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", "--soc", "Ascend910B2", "--", program]
    done = subprocess.run([*start, "x"], capture_output=True, text=True, env=PLAIN)
    assert (done.returncode, done.stdout) == (5, "x: 1 of Ascend910B2\n"), done.stderr
    assert subprocess.run([*start, "die"], capture_output=True, env=PLAIN).returncode == -signal.SIGTERM


def test_a_shell_that_evaluated_env(program: str, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("import torch\ndef test_it(): assert torch.npu.device_count() == 3\n")
    printed = shell(
        f"""
        eval "$(ophook-npu env --devices 3)"
        once="$LD_LIBRARY_PATH $PATH"
        eval "$(ophook-npu env)"
        [ "$once" = "$LD_LIBRARY_PATH $PATH" ] && echo no more entries
        {program} mine || echo status $?
        pytest -q test_it.py | tail -n 1
        python -c 'import torch; print(torch.ones(2).npu().sum().item())'
        ophook-npu run -- npu-smi info -l | head -n 1
        eval "$(ophook-npu env --cpu)"
        env | grep -E '^(ASCEND|OPHOOK_SIM)' || echo gone
        python -c 'import torch; print(hasattr(torch, "npu"))'
        """,
        cwd=tmp_path,
    )
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert lines[:3] == ["no more entries", "mine: 3 of Ascend910B4", "status 5"]
    assert lines[3].startswith("1 passed") and lines[4:] == ["2.0", "Total Count : 3", "gone", "False"]


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_set_env_does_what_env_does(name: str, program: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    root = sim.active()
    wanted = shell('eval "$(ophook-npu env)"; env', name).splitlines()
    given = shell(f'source "{root}/set_env.sh"; env', name).splitlines()
    assert {line for line in given if not line.startswith("_=")} == {x for x in wanted if not x.startswith("_=")}
    assert "x: 1 of Ascend910B4" in shell(f'source "{root}/set_env.sh"; {program} x || true', name)
    again = f'source "{root}/set_env.sh"; source "$ASCEND_HOME_PATH/set_env.sh"; env'
    assert {x for x in shell(again, name).splitlines() if not x.startswith("_=")} == {
        x for x in wanted if not x.startswith("_=")
    }


@pytest.mark.parametrize("release", CANN_VERSIONS)
def test_torch_says_which_release_of_cann_is_simulated(release: str) -> None:
    program = "import torch; print(torch.version.cann, torch.npu.utils.get_cann_version())"
    assert shell(f"ophook-npu run --device sim --cann {release} -- -c '{program}'") == f"{release} {release}\n"


def test_standard_output_is_only_exports() -> None:
    for line in shell("ophook-npu env --soc Ascend910B1 --memory 1024 --sync").splitlines():
        assert line.startswith(("export ", "unset TORCH_DEVICE_BACKEND_AUTOLOAD")), line


def test_little_of_the_room_for_late_thread_local_variables_is_taken() -> None:
    """A library whose thread-local variables lie in the static block takes from a room of 512 bytes, which OpenMP's
    libraries need, too; with 1360 bytes taken a program that imported several of them failed.
    """
    root = sim.active()
    assert root is not None
    taken = 0
    for library in {path.resolve() for path in (root / "lib64").glob("*.so")}:
        command = ["readelf", "-lWd", library]
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        if "STATIC_TLS" in told:
            taken += sum(int(line.split()[5], 16) for line in told.splitlines() if line.split()[:1] == ["TLS"])
    assert 0 < taken <= 448


@pytest.mark.parametrize(("before", "then"), [(50_000, 500_000), (70_000, 70_000)])
def test_threads_that_look_again_and_again_rest_longer(before: int, then: int) -> None:
    """But for a slack that somebody has set; a program's children and its threads have it, too."""
    look = "print(open('/proc/self/timerslack_ns').read())"
    script = (
        f"import ctypes, os, sys; ctypes.CDLL(None).prctl(29, ctypes.c_ulong({before}))\n"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    run = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", "--", "-c", look]
    done = subprocess.run([sys.executable, "-c", script, *run], capture_output=True, text=True, timeout=200, check=True)
    assert int(done.stdout) == then
