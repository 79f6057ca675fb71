"""The source route's scripts over a stand-in torch_npu tree: control flow, failures included.

Paths have spaces and Chinese letters throughout. Nothing is compiled: ci/build.sh here is a few lines of shell, and
says what it was given. torch is a stand-in too, since only its version and its ABI flag are asked for.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import op_plugin_trees as trees
import pytest

from ophook_npu.errors import OphookError
from ophook_npu.patch import branch, traces

REPOSITORY = Path(__file__).resolve().parents[3]
SCRIPTS = REPOSITORY / "scripts"
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"

GENERATE = r"""
set -e
CDIR="$(cd "$(dirname "$0")"; pwd -P)"
cd "$CDIR"
echo "generate $1 $2 (task of $(command -v "$1"))"
aten=torch_npu/csrc/aten
plugin=third_party/op-plugin/op_plugin
mkdir -p $aten
if [ "$MODE" = traceback ]; then
    echo "Traceback (most recent call last):"
    echo "ValueError: 'v1' is not in list"
    exit 0
fi
if [ "$MODE" = generate-fails ]; then echo "boom"; exit 7; fi
sig="npu_add_custom(Tensor x, Tensor y) -> Tensor"
[ "$MODE" = dropped ] && sig="npu_other(Tensor x) -> Tensor"
grep -q "npu_add_custom" $plugin/config/op_plugin_functions.yaml
echo "m.def(\"$sig\");" >$aten/CustomRegisterSchema.cpp
echo 'm.impl("npu_add_custom", f);' >$aten/RegisterNPU.cpp
echo "at::Tensor npu_add_custom(const at::Tensor & x);" >$plugin/OpApiInterface.h
echo "return op_api::npu_add_custom(x);" >$plugin/OpInterface.cpp
mkdir -p $plugin/config/v2r13
cat $plugin/config/op_plugin_functions.yaml 1<>$plugin/config/v2r13/op_plugin_functions.yaml # no O_TRUNC, as upstream
echo "namespace op_api {" >$plugin/ops/opapi/StructKernelNpuOpApi_0.cpp
"""

BUILD = r"""
set -e
SUPPORTED_PY_VERSION=(@PYTHON@)
case "$1" in --python=*) ;; *) echo "ERROR Unsupported parameters: ${1}"; exit 1 ;; esac
    # --disable_rpc)
cd "$(dirname "$0")/.."
echo "arguments: $*"
echo "environment: $DISABLE_INSTALL_TORCHAIR $MAX_JOBS $_GLIBCXX_USE_CXX11_ABI $TORCH_DEVICE_BACKEND_AUTOLOAD"
echo "help: $OPHOOK_PRECOMPILE $OPHOOK_UNITY $OPHOOK_OPTIMIZE $PYTHONHASHSEED $CMAKE_TOOLCHAIN_FILE"
mkdir -p build dist
echo run >>build/runs
echo "[1/4] Building CXX object a.o"
if [ "$MODE" = compile-fails ]; then echo "a.cpp:3:1: error: expected ;"; exit 2; fi
if [ "$MODE" = clashes ] && ! grep -q two.cpp "$OPHOOK_ALONE" 2>/dev/null; then
    unit=CMakeFiles/torch_npu.dir/Unity/unity_ops_1_cxx.cxx
    mkdir -p "build/$(dirname $unit)"
    printf '#include "/t/one.cpp"\n#include "/t/two.cpp"\n' >build/$unit
    echo "/t/two.cpp:3:1: error: redefinition of x"
    echo "make[2]: *** [CMakeFiles/torch_npu.dir/build.make:9: $unit.o] Error 1"
    exit 2
fi
if [ "$MODE" = hangs ]; then touch build/hanging; sleep 60; fi
echo "[4/4] Linking"
[ "$MODE" = no-wheel ] && exit 0
part=torch_npu/dynamo/torchair/__init__.py
[ "$MODE" = no-torchair ] && part=torch_npu/x.py
python@PYTHON@ - "$part" <<'EOF'
import sys, zipfile
with zipfile.ZipFile("dist/torch_npu-99.0-py3-none-any.whl", "w") as z:
    for name in ("torch_npu/__init__.py", sys.argv[1]):
        z.writestr(name, "made = 99\n")
    info = "torch_npu-99.0.dist-info"
    z.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: torch_npu\nVersion: 99.0\n")
    z.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr(f"{info}/RECORD", "")
EOF
[ "$MODE" = two-wheels ] && cp dist/torch_npu-99.0-py3-none-any.whl dist/torch_npu-98.0-py3-none-any.whl
exit 0
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "Ascend 算子's"
    folder.mkdir()
    return folder


@pytest.fixture
def tree(place: Path) -> Path:
    """A torch_npu tree that upstream's own scripts would recognise, small."""
    tree = place / "py torch"
    trees.current(tree / "third_party/op-plugin")
    for name, content in {
        "generate_code.sh": GENERATE,
        "ci/build.sh": BUILD.replace("@PYTHON@", PYTHON),
        "setup.py": "",
        "version.txt": "2.13.0\n",
        "CMakeLists.txt": "set(CMAKE_CXX_STANDARD 17)\n",
        ".gitmodules": '[submodule "op"]\n\tpath = third_party/op-plugin\n',
    }.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(content)
    return tree


def _package(site: Path, name: str, version: str, text: str) -> None:
    """An installed package, as pip leaves it."""
    info = site / f"{name}-{version}.dist-info"
    files = {
        site / name / "__init__.py": text,
        info / "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        info / "WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        info / "INSTALLER": "pip\n",
    }
    record = "".join(f"{path.relative_to(site)},,\n" for path in [*files, info / "RECORD"])
    for path, content in {**files, info / "RECORD": record}.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)


@pytest.fixture
def venv(place: Path) -> Path:
    """A virtual environment of its own that sees this one's packages: what is installed into it stays in it."""
    venv = place / "v env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    # The stand-in for the tree needs none of the room that a real build needs: the disk here need not have it.
    usage = "type(shutil.disk_usage('/'))(10**12, 0, 10**12)"
    room = f"import shutil; shutil.disk_usage = (lambda usage: lambda folder: usage)({usage})"
    (site / "parent.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n{REPOSITORY}\n{room}\n")
    _package(
        site, "torch", "2.13.0+cpu", "__version__ = '2.13.0+cpu'\ndef compiled_with_cxx11_abi():\n    return True\n"
    )
    _package(site, "torch_npu", "2.13.0", "made = 'upstream'\n")
    return venv


def environment(mode: str = "") -> dict[str, str]:
    keep = {name: value for name, value in os.environ.items() if name not in ("MAX_JOBS", "_GLIBCXX_USE_CXX11_ABI")}
    return {**keep, "MODE": mode, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def route(venv: Path, *arguments: object, mode: str = "") -> subprocess.CompletedProcess[str]:
    command = ["bash", str(SCRIPTS / "source_route.sh"), "--venv", str(venv), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(mode), cwd=venv.parent, timeout=900)


def logs(venv: Path) -> str:
    return "".join(p.read_text() for p in sorted(venv.glob("ophook-logs/*/*.log")))


def torch_npu_version(venv: Path) -> str:
    code = "import importlib.metadata as m; print(m.version('torch_npu'))"
    done = subprocess.run([venv / "bin/python", "-c", code], capture_output=True, text=True)
    return done.stdout.strip() or "none"


def kill(run: subprocess.Popen[bytes]) -> None:
    """Kill a run with its children, and wait until all are gone: until then they hold its locks."""
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    with contextlib.suppress(ProcessLookupError):
        for _ in range(100):
            os.killpg(run.pid, 0)
            time.sleep(0.1)


def test_until_install_and_back(tree: Path, venv: Path) -> None:
    before = trees.snapshot(tree / "third_party/op-plugin")
    assert torch_npu_version(venv) == "2.13.0"
    done = route(venv, "--torch-npu-dir", tree, "--jobs", 1, "--until", "install")
    assert done.returncode == 0, done.stdout + done.stderr + logs(venv)
    assert "[6/6] install the wheel" in done.stdout
    assert "1 of 4 files" in done.stdout
    build = (tree / "build/ophook-build.log").read_text()
    assert f"arguments: --python={PYTHON} --disable_rpc" in build
    assert "environment: FALSE 1 1 0" in build
    toolchain = tree / "build/ophook-cmake/toolchain.cmake"
    assert toolchain.read_text() == (SCRIPTS / "source_cmake/toolchain.cmake").read_text()
    assert f"help: 0 0  0 {toolchain}\n" in build
    assert f"generate python{PYTHON} 2.13.0 (task of {venv / 'bin'}" in logs(venv)
    assert torch_npu_version(venv) == "99.0"

    again = route(venv, "--torch-npu-dir", tree, "--jobs", 1, "--until", "install", "--fast")
    assert again.returncode == 0, "a second run must succeed"
    assert f"help: 1 1 -O0 0 {toolchain}\n" in (tree / "build/ophook-build.log").read_text()
    restore = ["bash", str(SCRIPTS / "source_restore.sh"), str(venv / "bin/python"), str(venv / "ophook-previous")]
    back = subprocess.run(restore, capture_output=True, text=True, env=environment())
    assert back.returncode == 0, back.stderr
    assert torch_npu_version(venv) == "2.13.0"
    (module,) = venv.glob("lib/python*/site-packages/torch_npu/__init__.py")
    assert module.read_text() == "made = 'upstream'\n"
    gone = subprocess.run(restore, capture_output=True, text=True, env=environment())
    assert gone.returncode == 1 and "nothing was replaced" in gone.stderr

    revert = [sys.executable, "-m", "ophook_npu", "patch", "revert", "--op-plugin", str(tree / "third_party/op-plugin")]
    assert "restored byte for byte" in subprocess.run(revert, capture_output=True, text=True, check=True).stdout
    after = trees.snapshot(tree / "third_party/op-plugin")
    assert {path: after[path] for path in before} == before


def test_sources_that_clash_are_compiled_alone_without_another_call(tree: Path, venv: Path) -> None:
    done = route(venv, "--torch-npu-dir", tree, "--jobs", 1, "--until", "build", "--fast", mode="clashes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "does not compile next to others: 1 source\n" in done.stdout and "/t/two.cpp" in done.stdout
    assert (tree / "build/ophook-alone.txt").read_text() == "/t/two.cpp\n"
    assert (tree / "build/runs").read_text() == "run\nrun\n"
    assert "redefinition" in (tree / "build/ophook-build.log.1").read_text()
    # Without --fast nothing is compiled together, so an error is an error.
    (tree / "build/ophook-alone.txt").unlink()
    failed = route(venv, "--torch-npu-dir", tree, "--jobs", 1, "--until", "build", mode="clashes")
    assert failed.returncode != 0 and "redefinition of x" in failed.stdout + logs(venv)


def committed(tree: Path) -> None:
    """Make repositories of tree and op-plugin, as upstream's are.

    Some generated files are ignored, the code generation changes a tracked one, and one is the user's own.
    """
    plugin = tree / "third_party/op-plugin"
    (plugin / "test").mkdir()
    (plugin / "test/unsupported_ops_info.yaml").write_text("base:\n")
    (tree / ".gitignore").write_text("build\ndist\ntorch_npu/csrc/aten/RegisterNPU.cpp\n")
    with (tree / "generate_code.sh").open("a") as file:
        file.write("echo more >>third_party/op-plugin/test/unsupported_ops_info.yaml\nchmod +x setup.py\n")
    for folder in (plugin, tree):
        git(folder, "init", "--quiet")
        git(folder, "add", "-A")
        git(folder, "commit", "--quiet", "-m", "all")
    (tree / "notes.txt").write_text("mine")


def undo(tree: Path, venv: Path) -> subprocess.CompletedProcess[str]:
    return route(venv, "--torch-npu-dir", tree, "--undo")


def test_undo_puts_everything_back(tree: Path, venv: Path) -> None:
    committed(tree)
    before = trees.snapshot(tree)
    for _ in range(2):
        done = route(venv, "--torch-npu-dir", tree, "--jobs", 1, "--until", "install")
        assert done.returncode == 0, done.stdout + done.stderr + logs(venv)
    assert torch_npu_version(venv) == "99.0"
    assert trees.snapshot(tree) != before
    back = undo(tree, venv)
    assert back.returncode == 0, back.stdout + back.stderr
    assert "restored byte for byte" in back.stdout
    assert "not as committed, and not this route's: 1, ./notes.txt the first" in back.stdout
    assert torch_npu_version(venv) == "2.13.0"
    assert trees.snapshot(tree) == before
    assert git(tree, "status", "--porcelain", "--ignored").split() == ["??", "notes.txt"]
    assert undo(tree, venv).returncode == 0, "nothing to do is no failure"


def test_undo_after_a_failed_and_a_killed_run(tree: Path, venv: Path) -> None:
    committed(tree)
    before = trees.snapshot(tree)
    assert route(venv, "--torch-npu-dir", tree, "--until", "build", mode="compile-fails").returncode == 1
    command = ["bash", str(SCRIPTS / "source_route.sh"), "--venv", str(venv), "--torch-npu-dir", str(tree)]
    with subprocess.Popen(
        [*command, "--until", "build"], env=environment("hangs"), stdout=subprocess.PIPE, start_new_session=True
    ) as running:
        until = time.monotonic() + 60
        while not (tree / "build/hanging").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert (tree / "build/hanging").exists()
        kill(running)
    back = undo(tree, venv)
    assert back.returncode == 0, back.stdout + back.stderr
    assert trees.snapshot(tree) == before


def test_what_the_user_makes_during_the_build_is_not_the_builds(tree: Path) -> None:
    committed(tree)
    with (tree / ".gitignore").open("a") as file:
        file.write("*.log\n.venv\n")
    git(tree, "commit", "--quiet", "-am", "ignore more")
    before = trees.snapshot(tree)
    traces.begin(tree)
    mine = [".venv/bin/python", "today.log", "torch_npu/mine.cpp"]
    for name in [*mine, "build/a.o", "dist/x.whl", "third_party/op-plugin/lib/stub.so"]:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
    traces.end(tree, build=True)
    assert traces.restore(tree) == []
    added = {name for name, (content, _) in trees.snapshot(tree).items() if content != b"<folder>"} - before.keys()
    assert added == set(mine)


def test_undo_leaves_what_others_changed_and_names_it(tree: Path, venv: Path) -> None:
    committed(tree)
    assert route(venv, "--torch-npu-dir", tree, "--until", "codegen").returncode == 0
    schema = tree / "torch_npu/csrc/aten/CustomRegisterSchema.cpp"
    schema.write_text(schema.read_text() + "// mine\n")
    information = tree / "third_party/op-plugin/test/unsupported_ops_info.yaml"
    information.write_text("mine\n")
    (tree / "torch_npu/mine.cpp").write_text("int mine;\n")
    back = undo(tree, venv)
    assert back.returncode == 1
    assert "left in place: torch_npu/csrc/aten/CustomRegisterSchema.cpp: changed since it was generated" in back.stdout
    assert "unsupported_ops_info.yaml: changed since the build changed it" in back.stdout
    assert schema.read_text().endswith("// mine\n") and information.read_text() == "mine\n"
    assert (tree / "torch_npu/mine.cpp").exists()
    assert not (tree / "torch_npu/csrc/aten/RegisterNPU.cpp").exists()


@pytest.mark.parametrize(
    ("mode", "until", "texts"),
    [
        ("traceback", "codegen", ["FAILED", "ValueError: 'v1' is not in list"]),
        ("dropped", "codegen", ["FAILED", "exited 0 but its output is wrong"]),
        ("generate-fails", "codegen", ["FAILED", "code generation failed (exit status 7)"]),
        ("compile-fails", "build", ["FAILED", "a.cpp:3:1: error: expected ;", "the build failed (exit status 2)"]),
        ("no-wheel", "build", ["FAILED", "holds 0 wheels"]),
        ("two-wheels", "build", ["FAILED", "holds 2 wheels"]),
        ("no-torchair", "build", ["FAILED", "contains no torch_npu/dynamo/torchair/"]),
    ],
)
def test_failures_name_step_log_and_next(tree: Path, venv: Path, mode: str, until: str, texts: list[str]) -> None:
    if mode == "traceback":  # upstream's way: stale files of an earlier run are in place
        assert route(venv, "--torch-npu-dir", tree, "--jobs", 1, "--until", "codegen").returncode == 0
    done = route(venv, "--torch-npu-dir", tree, "--jobs", 1, "--until", "install", mode=mode)
    assert done.returncode == 1
    for text in texts:
        assert text in done.stdout, done.stdout
    assert "\nstep:  " in done.stdout and "\nlog:   " in done.stdout and "\nnext:  " in done.stdout
    assert torch_npu_version(venv) == "2.13.0"
    ran = (tree / "build/runs").exists()
    assert ran == (until == "build"), "no compiling before the generated code is right"
    if mode in ("generate-fails", "two-wheels"):
        repaired = route(venv, "--torch-npu-dir", tree, "--jobs", 1, "--until", until)
        assert repaired.returncode == 0, repaired.stdout


def test_what_upstream_writes_over_has_no_tail_of_the_old(tree: Path, venv: Path) -> None:
    """With an operator less, the file that was generated for it is longer than the one to come."""
    config = tree / "third_party/op-plugin/op_plugin/config"
    arguments = ["--torch-npu-dir", tree, "--until", "codegen"]
    assert route(venv, *arguments).returncode == 0
    generated = config / "v2r13/op_plugin_functions.yaml"
    with generated.open("a") as file:
        file.write("  - func: npu_gone(Tensor self) -> Tensor\n    op_api: v2.13\n")
    done = route(venv, *arguments)
    assert done.returncode == 0, done.stdout
    assert generated.read_text() == (config / "op_plugin_functions.yaml").read_text()


def test_killed_while_building_goes_on(tree: Path, venv: Path) -> None:
    command = ["bash", str(SCRIPTS / "source_route.sh"), "--venv", str(venv), "--torch-npu-dir", str(tree)]
    command += ["--until", "build", "--jobs", "1"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment("hangs"), start_new_session=True
    )
    try:
        for _ in range(600):
            if (tree / "build/hanging").exists():
                break
            time.sleep(0.1)
        else:
            pytest.fail("the build never began")
        busy = route(venv, "--torch-npu-dir", tree, "--until", "patch")
        assert busy.returncode == 1 and "another run is working on" in busy.stderr
    finally:
        kill(process)
    done = route(venv, "--torch-npu-dir", tree, "--until", "build", "--jobs", 1)
    assert done.returncode == 0, done.stdout


def test_until_stops_there(tree: Path, venv: Path) -> None:
    done = route(venv, "--torch-npu-dir", tree, "--until", "patch")
    assert done.returncode == 0, done.stdout
    assert "[3/3] patch op-plugin" in done.stdout
    assert not (tree / "torch_npu").exists()


def test_dry_run_shows_diff_and_commands_and_does_nothing(tree: Path, venv: Path) -> None:
    before = trees.snapshot(tree)
    done = route(venv, "--torch-npu-dir", tree, "--dry-run", "--jobs", 3)
    assert done.returncode == 0, done.stderr
    assert "+  - func: npu_add_custom(Tensor x, Tensor y) -> Tensor" in done.stdout
    for text in ("generate_code.sh", "ci/build.sh", "pip install --no-deps", "test_ops_custom_register_in_graph.py"):
        assert text in done.stdout
    assert trees.snapshot(tree) == before
    assert not (venv / "ophook-logs").exists()


def test_dry_run_on_a_fresh_machine(place: Path) -> None:
    """No virtual environment, no tree: the commands with names for what only they could tell."""
    done = route(place / "venv", "--torch-npu-dir", place / "tree", "--dry-run")
    assert done.returncode == 0, done.stderr
    for text in ("setup_venv.sh", "BRANCH-OF-THE-INSTALLED-TORCH", "TORCH-VERSION", "--python=3.X", "ABI-OF-TORCH"):
        assert text in done.stdout
    assert list(place.iterdir()) == []


def test_a_tree_that_cannot_be_built_is_left_unbuilt(tree: Path, venv: Path) -> None:
    (tree / "version.txt").write_text("1.11.0\n")
    done = route(venv, "--torch-npu-dir", tree, "--until", "build", "--jobs", 1)
    assert done.returncode == 1
    assert "this tree builds for 1.11.0" in logs(venv)
    assert not (tree / "torch_npu").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--until", "link"], "--until link; allowed: clone patch codegen build install test"),
        (["--jobs", "0"], "--jobs 0; allowed: a positive number"),
        (["--jobs", "many"], "--jobs many"),
        (["--python", "3"], "--python 3; allowed"),
        (["--device", "gpu"], "--device gpu; allowed: auto, sim, npu"),
        (["--branch"], "--branch needs a value"),
        (["--frob"], "unknown option --frob"),
    ],
)
def test_wrong_use(place: Path, arguments: list[str], text: str) -> None:
    done = route(place / "venv", *arguments)
    assert done.returncode == 2
    assert text in done.stderr
    assert not (place / "venv").exists()


def test_help_names_every_option(place: Path) -> None:
    done = route(place, "-h")
    assert done.returncode == 0
    for option in ("--torch-npu-dir", "--branch", "--python", "--jobs", "--until", "--dry-run", "--venv", "--autograd"):
        assert f"  {option}" in done.stdout


def test_another_python_than_the_environment_has(tree: Path, venv: Path) -> None:
    done = route(venv, "--torch-npu-dir", tree, "--until", "patch", "--python", "3.6")
    assert done.returncode == 1
    assert f"has Python {PYTHON}, --python asks for 3.6" in done.stdout


def test_two_runs_on_one_tree(tree: Path, venv: Path) -> None:
    descriptor = os.open(tree, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        done = route(venv, "--torch-npu-dir", tree, "--until", "patch")
    finally:
        os.close(descriptor)
    assert done.returncode == 1
    assert "another run is working on" in done.stderr


# ---- clone ----------------------------------------------------------------------------------------------------------


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    command = ["git", *identity, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def remote(tree: Path, place: Path) -> Path:
    """The stand-in tree as a repository with op-plugin as a submodule, at master and at v2.1.0."""
    plugin = (tree / "third_party/op-plugin").rename(place / "op-plugin.git")
    for folder in (plugin, tree):
        git(folder, "init", "-q", "-b", "master")
    git(plugin, "add", ".")
    git(plugin, "commit", "-qm", "op-plugin")
    (tree / ".gitmodules").unlink()
    git(tree, "add", ".")
    git(tree, "submodule", "add", "-q", str(plugin), "third_party/op-plugin")
    git(tree, "commit", "-qm", "torch_npu")
    git(tree, "branch", "v2.1.0")
    return tree


def clone(target: Path, remote: Path, *, branch: str = "", url: str = "") -> subprocess.CompletedProcess[str]:
    command = ["bash", str(SCRIPTS / "source_clone.sh"), str(target), sys.executable, branch, url or f"file://{remote}"]
    allow = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"}
    return subprocess.run(command, capture_output=True, text=True, env={**environment(), **allow})


def test_clone_with_submodules_then_taken_as_it_is(remote: Path, place: Path) -> None:
    target = place / "new tree"
    (place / "new tree.part").mkdir()  # left behind by a run that was killed
    done = clone(target, remote)
    assert done.returncode == 0, done.stderr
    assert "is built from branch master" in done.stdout
    assert (target / "third_party/op-plugin/gencode.sh").is_file()
    assert not (place / "new tree.part").exists()
    again = clone(target, remote, url="file:///nowhere")
    assert again.returncode == 0 and "taken as it is" in again.stdout, "no network is needed for a tree that is there"


def test_clone_of_a_named_branch(remote: Path, place: Path) -> None:
    target = place / "old"
    assert clone(target, remote, branch="v2.1.0").returncode == 0
    assert clone(target, remote, branch="v2.1.0").returncode == 0
    other = clone(target, remote, branch="v9.9.9")
    assert other.returncode == 1 and "is not at branch v9.9.9" in other.stderr


def test_clone_that_fails_leaves_no_tree(remote: Path, place: Path) -> None:
    done = clone(place / "t", remote, branch="no-such-branch")
    assert done.returncode != 0 and not (place / "t").exists()
    gone = clone(place / "t", remote, url="file:///nowhere")
    assert gone.returncode == 1 and "cannot be reached" in gone.stderr
    (place / "mine").mkdir()
    (place / "mine/file").write_text("x")
    taken = clone(place / "mine", remote)
    assert taken.returncode == 1 and "is no torch_npu tree" in taken.stderr


HEADS = ["a\trefs/heads/master", "b\trefs/heads/v2.1.0", "b\trefs/heads/v2.1.0-6.0.rc2", "c\trefs/heads/v2.7.1"]


@pytest.mark.parametrize(
    ("torch", "expected"), [("2.1.0", "v2.1.0"), ("2.7.1+cpu", "v2.7.1"), ("2.7.0", "v2.7.1"), ("2.13.0", "master")]
)
def test_branch_of_a_torch_version(torch: str, expected: str) -> None:
    assert branch.choose(torch, HEADS) == expected


@pytest.mark.parametrize(("torch", "text"), [("2.2.0", "no branch for torch 2.2.0"), ("main", "is no torch version")])
def test_no_branch(torch: str, text: str) -> None:
    with pytest.raises(OphookError, match=text):
        branch.choose(torch, HEADS)


# ---- the last step --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", [None, "test_ops_custom.py", "test_ops_custom_register_in_graph.py"])
def test_the_tests_run_outside_the_source_tree(place: Path, failing: str | None) -> None:
    """With stand-ins for `ophook_npu run` and the two scripts: the control flow only."""
    folder = place / "scripts"
    folder.mkdir()
    for name in ("test_ops_custom.py", "test_ops_custom_register_in_graph.py"):
        (folder / name).write_text(f"import os, sys\nprint('at', os.getcwd())\nsys.exit({int(name == failing)})\n")
    fake = place / "python"
    fake.write_text(f'#!/bin/bash\n[[ "$*" == *" -c "* ]] || exec {sys.executable} "${{@: -1}}"\n')
    fake.chmod(0o755)
    command = ["bash", str(SCRIPTS / "source_test.sh"), str(fake), "sim", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), cwd=place)
    assert done.returncode == (1 if failing else 0), done.stderr
    assert f"at {place}" not in done.stdout and "at /" in done.stdout
    assert "-m ophook_npu run --device sim -- " in done.stdout
