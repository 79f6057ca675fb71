"""The simulator as a wheel: where it is installed and fits nothing is compiled, and no compiler is needed."""

import base64
import csv
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from environments import Environment

from ophook_npu import __version__

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]
TOOLS = ("g++", "gcc", "c++", "cc", "clang++", "clang", "cpp", "ld", "as", "nm", "readelf", "objdump", "strip", "ar")


def write(out: Path) -> Path:
    command = [sys.executable, "-m", "ophook_npu", "sim", "wheel", "--out", str(out)]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Our package from this checkout and the wheel."""
    made = Environment(tmp_path_factory.mktemp("venv") / "venv")
    (made.site / "checkout.pth").write_text(f"{CHECKOUT}\n")
    shutil.copy(Path(sys.executable).with_name("ophook-npu"), made.folder / "bin")
    script = made.folder / "bin" / "ophook-npu"
    script.write_text("\n".join([f"#!{made.python}", *script.read_text().splitlines()[1:]]) + "\n")
    made.install(wheel)
    return made


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty cache, and a PATH on which each of TOOLS only says that it was called."""
    tools, called = tmp_path / "tools", tmp_path / "called"
    tools.mkdir()
    for name in TOOLS:
        (tools / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {called}\necho "{name} 0.1"\n[ "$1" = --version ]\n')
        (tools / name).chmod(0o755)
    return {"PATH": f"{tools}:/usr/bin:/bin", "OPHOOK_NPU_CACHE": str(tmp_path / "cache"), "CALLED": str(called)}


def test_its_metadata_and_record_are_right(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        info = next(name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name)
        read = {name: archive.read(name) for name in archive.namelist()}
    rows = list(csv.reader(read.pop(f"{info}/RECORD").decode().splitlines()))
    assert {row[0] for row in rows} == {*read, f"{info}/RECORD"}
    for name, digest, size in rows:
        if name in read:
            actual = base64.urlsafe_b64encode(hashlib.sha256(read[name]).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={actual}", len(read[name]))
    name, version, *tag = wheel.name.removesuffix(".whl").split("-")
    assert info == f"{name}-{version}.dist-info" and version.startswith(f"{__version__}+torch")
    assert tag[:2] == [f"cp{sys.version_info.major}{sys.version_info.minor}", "none"]
    assert tag[2].endswith(f"linux_{platform.machine()}") or tag[2].startswith("manylinux_")  # as auditwheel says
    assert f"Tag: {'-'.join(tag)}" in read[f"{info}/WHEEL"].decode()
    metadata = read[f"{info}/METADATA"].decode()
    assert f"Version: {version}\n" in metadata and f"Requires-Dist: ophook-npu=={__version__}\n" in metadata


def test_nothing_in_it_names_a_place_of_this_machine(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            assert os.fsencode(CHECKOUT) not in archive.read(name), name
            assert os.fsencode(sys.prefix) not in archive.read(name), name


def test_the_same_libraries_give_the_same_file(wheel: Path, tmp_path: Path) -> None:
    assert write(tmp_path).read_bytes() == wheel.read_bytes()


def test_the_demonstration_runs_without_a_compiler(
    installed: Environment, bare: dict[str, str], tmp_path: Path
) -> None:
    bare["CXX"] = "no-such-compiler"
    result = installed.run("ophook-npu", "demo", "mine", "--device", "sim", cwd=tmp_path, **bare)
    assert result.returncode == 0, result.stdout + result.stderr
    (row,) = (line for line in result.stdout.splitlines() if "simulated Ascend910B4" in line)
    assert [cell.strip() for cell in row.split("│")[1:7]] == [
        "extension", "simulated Ascend910B4", "pass", "pass", "pass", "0",
    ]  # fmt: skip
    assert not Path(bare["CALLED"]).exists(), Path(bare["CALLED"]).read_text()
    assert "compil" not in result.stderr
    assert not (tmp_path / "cache" / "objects").exists()
    libraries = [path.resolve() for path in (tmp_path / "cache").rglob("*.so")]
    assert [path for path in libraries if not path.is_relative_to(installed.site)] == []  # links to the wheel's
    # Its files are to be changed: what is there stays, and is what runs.
    (tmp_path / "mine" / "test_ops_custom.py").write_text("raise SystemExit(3)\n")
    changed = installed.run("ophook-npu", "demo", "mine", "--device", "sim", cwd=tmp_path, **bare)
    assert changed.returncode == 2 and "eager ended with 3" in changed.stderr, changed.stdout + changed.stderr


def test_a_cpp_program_outside_the_package_runs_by_each_way_to_its_libraries(
    installed: Environment, tmp_path: Path
) -> None:
    """Compiled against the installed wheel's toolkit; found by ``run``, ``set_env.sh``, or a path in the program."""
    tools = {"PATH": f"{installed.folder / 'bin'}:{os.environ['PATH']}", "OPHOOK_NPU_CACHE": str(tmp_path / "cache")}
    shell = f"""set -e
eval "$(ophook-npu env --device sim)"
link="-I$ASCEND_TOOLKIT_HOME/include -L$ASCEND_TOOLKIT_HOME/lib64 -lascendcl -lnnopbase -lopapi"
g++ -std=c++17 -O0 {CHECKOUT}/examples/aclnn_client/add.cpp $link -o add
g++ -std=c++17 -O0 {CHECKOUT}/examples/aclnn_client/add.cpp $link -Wl,-rpath,$ASCEND_TOOLKIT_HOME/lib64 -o with_path
echo "$ASCEND_TOOLKIT_HOME" > toolkit
./add"""
    sums = "21 42 63 84 105 126 on Ascend910B4\n"

    def run(script: str, **variables: str) -> str:
        environ = {"HOME": os.environ.get("HOME", "/"), **variables}
        command = ["bash", "-c", script]
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run(shell, **tools) == sums
    toolkit = Path((tmp_path / "toolkit").read_text().strip())
    assert (toolkit / "lib64" / "libopapi.so").resolve().is_relative_to(installed.site)
    assert run("ophook-npu run --device sim -- ./add", **tools) == sums
    assert run(f"source {toolkit}/set_env.sh && ./add", PATH=os.defpath) == sums
    assert run("./with_path", PATH=os.defpath) == sums


def test_hooks_and_observers_in_cpp_need_no_compiler(
    installed: Environment, bare: dict[str, str], tmp_path: Path
) -> None:
    program = (
        "from ophook_npu.npu import autoload; autoload.settle()\n"
        "import torch\n"
        "from ophook_npu import observe\n"
        "from ophook_npu.hooks import _host_device\n"
        "with observe.Stats(via='record_function') as stats:\n"
        "    torch.ones(4) + 1\n"
        "print(_host_device.ensure(), stats.seen > 0, torch.ones(2).to('hostdev') + 1)\n"
    )
    result = installed.run("python", "-c", program, cwd=tmp_path, **bare)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("hostdev True tensor([2., 2.]"), result.stdout + result.stderr
    assert not Path(bare["CALLED"]).exists()


def test_doctor_misses_no_compiler(installed: Environment, bare: dict[str, str], tmp_path: Path) -> None:
    (Path(bare["PATH"].split(":")[0]) / "g++").unlink()
    bare["CXX"] = "no-such-compiler"
    result = installed.run("ophook-npu", "doctor", "--json", cwd=tmp_path, **bare)
    found = [f for f in json.loads(result.stdout)["findings"] if f["topic"] == "compiler"]
    assert [f["status"] for f in found] == ["note"], found
    assert "ophook-npu-sim" in found[0]["text"]


def facts(installed: Environment) -> Path:
    return installed.site / "ophook_npu_sim" / "ophook-sim.json"


@pytest.mark.parametrize(
    "part, what, value, said",
    [
        ("made", "torch", "2.12.0+cpu", "torch is 2.13.0+cpu, it was made for 2.12.0+cpu"),
        ("made", "torch_npu", "2.12.0", "torch_npu is 2.13.0, it was made for 2.12.0"),
        ("made", "C++ ABI", "before cxx11", "C++ ABI is cxx11, it was made for before cxx11"),
        ("made", "machine", "aarch64", "machine is x86_64, it was made for aarch64"),
        ("made", "glibc", "9.1", "it was made for 9.1 or later"),
        ("recipes", "sim", "another", "the simulator's sources are not those it was made of"),
    ],
)
def test_what_does_not_fit_is_said_and_then_built(
    installed: Environment, bare: dict[str, str], tmp_path: Path, part: str, what: str, value: str, said: str
) -> None:
    whole = facts(installed).read_text()
    changed = json.loads(whole)
    changed[part][what] = value
    facts(installed).write_text(json.dumps(changed))
    try:
        result = installed.run("ophook-npu", "sim", "build", cwd=tmp_path, COLUMNS="500", **bare)
    finally:
        facts(installed).write_text(whole)
    assert "the installed ophook-npu-sim does not fit: " in result.stderr and said in result.stderr
    assert result.returncode != 0 and " -c " in Path(bare["CALLED"]).read_text()  # with what is no compiler


def test_what_does_not_fit_is_said_where_there_is_no_compiler(
    installed: Environment, bare: dict[str, str], tmp_path: Path
) -> None:
    whole = facts(installed).read_text()
    facts(installed).write_text(whole.replace('"torch": "2.', '"torch": "1.'))
    try:
        result = installed.run(
            "ophook-npu", "run", "--", "-c", "1", cwd=tmp_path, **{**bare, "CXX": "none", "COLUMNS": "500"}
        )
    finally:
        facts(installed).write_text(whole)
    assert "it was made for 1." in result.stderr and "no C++ compiler: none is not on PATH" in result.stderr


def test_a_library_that_was_changed_is_refused(installed: Environment, bare: dict[str, str], tmp_path: Path) -> None:
    library = installed.site / "ophook_npu_sim" / "sim" / "lib64" / "libopapi.so"
    kept = library.read_bytes()
    first = installed.run("ophook-npu", "sim", "build", cwd=tmp_path, **bare)
    assert first.returncode == 0, first.stderr
    library.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    try:
        for cache in (bare["OPHOOK_NPU_CACHE"], str(tmp_path / "new")):  # one that knows it, and one that does not
            bare["OPHOOK_NPU_CACHE"] = cache
            result = installed.run("ophook-npu", "run", "--device", "sim", "--", "-c", "1", cwd=tmp_path, **bare)
            assert result.returncode != 0 and "lib64/libopapi.so was changed" in result.stderr, result.stderr
    finally:
        library.write_bytes(kept)
