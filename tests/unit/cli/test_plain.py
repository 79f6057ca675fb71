"""Every command works in a shell that has nothing set, where torch_npu is installed and CANN is not."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu.npu import autoload

PROGRAM = """
import importlib.util, torch
assert importlib.util.find_spec("torch_npu") is None
layer = torch.nn.Linear(4, 2)
print(layer(torch.ones(3, 4)).relu().sum() >= 0)
"""
REPLACEMENTS = """
from ophook_npu import original
REPLACEMENTS = {"aten::relu": lambda x: original()(x) - 9}
"""
# Commands in an order in which later ones find what earlier ones wrote.
COMMANDS = """
dispatch aten::add
dispatch aten::mm --why requires_grad
hooks guide
log --op aten::relu -- p.py
stats -- p.py
trace -- p.py
profile --json profile.json -- p.py
validate -- p.py
compare -- p.py
digest --to a.jsonl -- p.py
digest --to b.jsonl -- p.py
capture --op aten::relu --to calls --tests -- p.py
replay calls --repeat 1
bisect --replace mine.py --output -- p.py
op check npu_add_custom --only schema --only prototype
op export npu_add_custom --out exported
op new npu::npu_mine --schema "(Tensor x) -> Tensor" --out mine
env --cpu
doctor
""".strip().splitlines()

# One process for all of them: what is tried is not how they start, but whether they work without any variable.
DRIVER = """
import json, shlex, sys
from ophook_npu import cli
for line in json.loads(sys.argv[1]):
    sys.argv = ["ophook-npu", *shlex.split(line)]
    cli.app.registered_commands, cli.app.registered_groups = [], []  # main() registers them, once a process
    print(f"--- {line}", file=sys.stderr, flush=True)
    try:
        cli.main()
    except SystemExit as end:
        assert end.code in (0, None) or line == "doctor", (line, end.code)
print("all of them")
"""


def plain(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    names = ("HOME", "OPHOOK_NPU_CACHE", "CXX")
    environ = {name: os.environ[name] for name in names if name in os.environ}
    environ |= {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "COLUMNS": "200", **environment}
    return subprocess.run(arguments, cwd=cwd, capture_output=True, text=True, timeout=280, env=environ)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.py").write_text(PROGRAM)
    (tmp_path / "mine.py").write_text(REPLACEMENTS)
    return tmp_path


def test_every_command(folder: Path) -> None:
    result = plain(sys.executable, "-c", DRIVER, json.dumps(COMMANDS), cwd=folder)
    assert result.returncode == 0 and result.stdout.endswith("all of them\n"), result.stderr[-3000:]
    assert "guilty: aten::relu" in result.stdout
    assert json.loads((folder / "profile.json").read_text())
    align = plain("ophook-npu", "align", "a.jsonl", "a.jsonl", cwd=folder)
    assert align.returncode == 0, align.stderr


def test_the_list_of_commands_is_whole() -> None:
    """A new command is tried too, or stands here with the test that tries it."""
    import typer

    from ophook_npu import cli

    elsewhere = {
        "align": "above",
        "demo": "tests/unit/test_demo.py, tests/sim/test_wheel.py: builds and runs the simulator",
        "diagnose": "tests/unit/observe/test_diagnose.py",
        "run": "test_run_command.py, tests/sim/test_documents.py",
        "sim": "tests/sim/test_documents.py: builds the simulator",
        "patch": "tests/unit/patch/test_patch_cli.py",
        "port": "tests/sim/test_port.py: the simulator",
        "hooks matrix": "tests/unit/hooks/test_matrix.py; minutes",
        "op simulate": "tests/sim/test_ops_pages.py; compiles against the simulator",
        "kernel": "tests/unit/kernel, tests/sim/test_kernel_package.py: compile kernels",
    }
    app = typer.Typer()
    cli.register(app)
    for module, commands in cli._COMMANDS.items():
        alone = typer.Typer()
        importlib.import_module(f"ophook_npu.cli.{module}").register(alone)
        own = {one.name or one.callback.__name__ for one in alone.registered_commands}
        assert own | {one.name for one in alone.registered_groups} == {*commands}, module
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    for group in app.registered_groups:
        inside = [command.name or command.callback.__name__ for command in group.typer_instance.registered_commands]
        names += [group.name] if group.name in elsewhere else [f"{group.name} {name}" for name in inside]
    tried = {name for line in COMMANDS for name in names if line == name or line.startswith(f"{name} ")}
    assert set(names) - tried == set(elsewhere)


TORCH_NPU = importlib.util.find_spec("torch_npu") is not None


@pytest.mark.skipif(not TORCH_NPU, reason="without torch_npu, plain `import torch` works anyway")
def test_the_library_works_where_plain_torch_does_not(folder: Path) -> None:
    assert plain(sys.executable, "-c", "import torch", cwd=folder).returncode != 0
    code = """
import os, subprocess, sys
before = dict(os.environ)
import ophook_npu
assert dict(os.environ) == before
USE
import torch
assert not hasattr(torch, "npu")
subprocess.run([sys.executable, "-c", "import torch"], check=True)
"""
    for use in ("ophook_npu.ops.register('crop')", "from ophook_npu.ops import same_as"):
        done = plain(sys.executable, "-c", code.replace("USE", use), cwd=folder)
        assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.skipif(not TORCH_NPU, reason="without torch_npu there is nothing to say")
def test_doctor_says_what_plain_import_does_and_what_to_type(folder: Path) -> None:
    def found(**environment: str) -> list[dict[str, str]]:
        report = json.loads(plain("ophook-npu", "doctor", "--json", cwd=folder, **environment).stdout)
        return [finding for finding in report["findings"] if finding["topic"] == "import torch"]

    (said,) = found()
    assert said["status"] == "warn" and "asks for CANN" in said["text"]
    assert f"source {sys.prefix}/bin/activate" in said["todo"] and 'eval "$(ophook-npu env)"' in said["todo"]
    assert not found(TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    lines = plain("ophook-npu", "doctor", cwd=folder).stdout.splitlines()
    at = lines.index("import torch: in your shell:")  # whole lines, to be pasted
    assert lines[at + 1 : at + 3] == [f"source {sys.prefix}/bin/activate", 'eval "$(ophook-npu env)"']


def test_what_the_user_set_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autoload, "torch_npu_wheel", lambda: object())
    monkeypatch.setattr(autoload.place, "detect", lambda environ: autoload.place.Host(None, (), (), None, None))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    for value in ("0", "1"):
        environ = {"TORCH_DEVICE_BACKEND_AUTOLOAD": value}
        autoload.settle(environ)
        autoload.unsettle(environ)
        assert environ == {"TORCH_DEVICE_BACKEND_AUTOLOAD": value}
    environ = {}
    autoload.settle(environ)
    assert environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0" and autoload.fails(environ)
    autoload.unsettle(environ)
    assert environ == {}


def test_nothing_changes_on_an_ascend_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autoload, "torch_npu_wheel", lambda: object())
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    (tmp_path / "libhccl.so").touch()
    for environ in ({"ASCEND_HOME_PATH": str(tmp_path)}, {"LD_LIBRARY_PATH": f"/x:{tmp_path}"}):
        given = dict(environ)
        autoload.settle(environ)
        assert environ == given
