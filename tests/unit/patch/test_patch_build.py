"""Preflight, the wheel that came out and the one it replaces, and the progress line."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from ophook_npu import patch
from ophook_npu.errors import OphookError
from ophook_npu.patch import progress, wheel
from ophook_npu.patch.preflight import jobs_for, preflight, probe

VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A torch_npu tree that preflight accepts, as far as the tree is concerned."""
    tree = tmp_path / "pytorch"
    (tree / "ci").mkdir(parents=True)
    (tree / "generate_code.sh").write_text("set -e\ncd $CDIR\n")
    (tree / "setup.py").write_text("")
    (tree / "ci/build.sh").write_text(f"SUPPORTED_PY_VERSION=(3.9 {VERSION})\n")
    (tree / "CMakeLists.txt").write_text("set(CMAKE_CXX_STANDARD 20)\n")
    (tree / "version.txt").write_text(f"# versions\n2.1.0\n{'.'.join(version('torch').split('.')[:2])}.0.post1\n")
    modules = ["third_party/op-plugin", "third_party/fmt", "third_party/googletest", "third_party/torchair/torchair"]
    (tree / ".gitmodules").write_text("".join(f'[submodule "{m}"]\n\tpath = {m}\n\turl = x\n' for m in modules))
    for module in modules:
        (tree / module).mkdir(parents=True)
        if "googletest" not in module:
            (tree / module / "file").write_text("x")
    return tree


def failing(tree: Path, python: str = sys.executable, jobs: int | None = 1) -> dict[str, patch.Finding]:
    return {one.what: one for one in preflight(tree, python, jobs) if not one.ok}


# What depends on the machine and not on the tree is tested by itself below.
MACHINE = {"memory", "disk", "cmake", "tools", "compiler", "packages", "python on PATH"}


def test_a_good_tree(tree: Path) -> None:
    assert set(failing(tree)) <= MACHINE


@pytest.mark.parametrize("name", ["generate_code.sh", "setup.py", "ci/build.sh"])
def test_no_tree(tree: Path, name: str) -> None:
    (tree / name).unlink()
    with pytest.raises(OphookError, match=f"is no torch_npu tree: {name} is missing"):
        preflight(tree, sys.executable)


def test_missing_submodule(tree: Path) -> None:
    (tree / "third_party/torchair/torchair/file").unlink()
    found = failing(tree)["submodules"]
    assert found.detail == "missing: third_party/torchair/torchair"
    assert found.todo == f"git -C {tree} submodule update --init --recursive -- third_party/torchair/torchair"


def git(folder: Path, *arguments: str) -> str:
    options = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", "-C", str(folder), *options, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def clone_of_two_commits(folder: Path) -> tuple[str, str]:
    """Makes ``folder`` a repository at the second of two commits. Returns both."""
    git(folder, "init", "--quiet")
    commits = []
    for content in ("1", "2"):
        (folder / "number").write_text(content)
        git(folder, "add", "-A")
        git(folder, "commit", "--quiet", "-m", content)
        commits.append(git(folder, "rev-parse", "HEAD"))
    return commits[0], commits[1]


def test_a_submodule_at_another_commit(tree: Path) -> None:
    path = "third_party/op-plugin"
    old, new = clone_of_two_commits(tree / path)
    git(tree, "init", "--quiet")
    git(tree, "update-index", "--add", "--cacheinfo", f"160000,{old},{path}")
    git(tree, "commit", "--quiet", "-m", "tree")
    found = failing(tree)["commits"]
    assert found.detail == f"{path} is at {new[:10]}, the tree pins {old[:10]}"
    assert found.todo == f"git -C {tree} submodule update -- {path}, or pass --allow-dirty to build with it"
    wanted = {one.what: one for one in preflight(tree, sys.executable, 1, other_commits=True)}["commits"]
    assert wanted.ok and wanted.detail == found.detail
    git(tree / path, "checkout", "--quiet", old)
    assert "commits" not in failing(tree)


def test_torchair_without_its_own_submodules(tree: Path) -> None:
    torchair = tree / "third_party/torchair/torchair"
    (torchair / ".gitmodules").write_text('[submodule "s"]\n\tpath = third_party/secure_c\n')
    found = failing(tree)["torchair"]
    assert found.detail == "without third_party/secure_c, which its build would download midway"
    assert found.todo == f"git -C {torchair} submodule update --init --recursive"
    (torchair / "third_party/secure_c").mkdir(parents=True)
    (torchair / "third_party/secure_c/securec.h").write_text("")
    assert "torchair" not in failing(tree)


def test_without_tensorpipe_it_is_said_what_is_left_out(tree: Path) -> None:
    with (tree / ".gitmodules").open("a") as file:
        file.write('[submodule "t"]\n\tpath = third_party/Tensorpipe\n')
    (said,) = (one for one in preflight(tree, sys.executable, 1) if one.what == "RPC")
    assert said.ok and "Tensorpipe is absent" in said.detail


def test_acl_src_may_be_gone_once_its_headers_were_moved(tree: Path) -> None:
    with (tree / ".gitmodules").open("a") as file:
        file.write('[submodule "r"]\n\tpath = third_party/acl_src/runtime\n')
    assert failing(tree)["submodules"].detail == "missing: third_party/acl_src/runtime"
    (tree / "third_party/acl/inc/acl").mkdir(parents=True)
    (tree / "third_party/acl/inc/acl/acl.h").write_text("")
    assert "submodules" not in failing(tree)


def test_unsupported_python(tree: Path) -> None:
    (tree / "ci/build.sh").write_text("SUPPORTED_PY_VERSION=(3.6 3.7)\n")
    assert failing(tree)["python"].todo == "use one of 3.6, 3.7"
    (tree / "ci/build.sh").write_text("true\n")
    assert "no SUPPORTED_PY_VERSION" in failing(tree)["python"].detail


def test_python_that_does_not_run(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(OphookError, match="does not run"):
        preflight(tree, str(tmp_path / "python"))


def test_python_not_on_path(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/sbin")
    found = failing(tree)
    assert found["python on PATH"].todo == f"put {Path(sys.executable).parent} first on PATH"
    assert found["cmake"].detail == "not on PATH"
    assert found["compiler"].detail == "no g++ on PATH"
    assert found["tools"].detail == "missing: make, git, bash"
    assert found["tools"].todo == "install make git bash"


@pytest.mark.parametrize(
    ("version", "cuda", "detail"),
    [
        ("3.17.9", None, "none of 3.18 or newer"),
        ("3.20.1", None, ""),
        ("3.20.1", "12.8", "cmake 3.20.1; this torch is built with CUDA 12.8, which needs 3.21 or newer"),
        ("3.25.1", "12.8", ""),
    ],
)
def test_cmake(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, cuda: str | None, detail: str
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "cmake").write_text(f"#!/bin/sh\necho cmake version {version}\n")
    (tools / "cmake").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    real = probe(sys.executable)
    monkeypatch.setattr(
        sys.modules["ophook_npu.patch.preflight"], "probe", lambda python: dataclasses.replace(real, cuda=cuda)
    )
    found = failing(tree).get("cmake")
    assert (found.detail if found else "") == detail


def test_disk(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tree)._replace(free=2_000_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    found = failing(tree)["disk"]
    assert (found.detail, found.todo) == ("2 GB free, 10 needed", f"make room on the disk of {tree}")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=11_000_000_000))
    assert "disk" not in failing(tree)


def test_torch_that_the_tree_does_not_build_for(tree: Path) -> None:
    (tree / "version.txt").write_text("2.1.0\n")
    assert failing(tree)["torch"].todo == "this tree builds for 2.1.0; take another --branch"
    (tree / "version.txt").unlink()
    (tree / "setup.py").write_text("VERSION = '1.11.0.post7'\n")
    assert "1.11.0.post7" in failing(tree)["torch"].todo


def test_abi_flag_against_torch(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = "1" if probe(sys.executable).abi else "0"
    other = "0" if built == "1" else "1"
    monkeypatch.setenv("_GLIBCXX_USE_CXX11_ABI", other)
    assert failing(tree)["C++ ABI"].todo == f"export _GLIBCXX_USE_CXX11_ABI={built}"
    monkeypatch.setenv("_GLIBCXX_USE_CXX11_ABI", built)
    assert "C++ ABI" not in failing(tree)


def test_compiler_too_old(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "g++-4"
    old.write_text("#!/bin/sh\necho \"error: unrecognized command line option '$1'\" >&2\nexit 1\n")
    old.chmod(0o755)
    monkeypatch.setenv("CXX", str(old))
    found = failing(tree)["compiler"]
    assert "unrecognized command line option '-std=c++20'" in found.detail
    assert found.todo == "install a compiler that knows C++20"


def test_memory_for_the_jobs(tree: Path) -> None:
    found = failing(tree, jobs=1_000_000)["memory"]
    assert "1000000 jobs need" in found.detail and found.todo.startswith("pass --jobs ")
    assert [jobs_for(memory, 16) for memory in (4, 6, 8.5, 30, 1000)] == [1, 1, 2, 16, 16]


def test_a_path_that_upstream_does_not_quote(tree: Path, tmp_path: Path) -> None:
    spaced = tmp_path / "my trees"
    spaced.mkdir()
    moved = tree.rename(spaced / "pytorch")
    assert failing(moved)["path"].todo == "move it to a path without spaces"
    (moved / "generate_code.sh").write_text('cd "$CDIR"\n')
    assert "path" not in failing(moved)


# ---- wheels -------------------------------------------------------------------------------------------------------


def make_wheel(dist: Path, name: str, *files: str) -> Path:
    dist.mkdir(exist_ok=True)
    with zipfile.ZipFile(dist / name, "w") as archive:
        for file in files:
            archive.writestr(file, "x")
    return dist / name


GOOD = "torch_npu-2.13.0-cp311-cp311-linux_x86_64.whl"


def test_the_one_wheel(tmp_path: Path) -> None:
    made = make_wheel(tmp_path / "dist", GOOD, "torch_npu/dynamo/torchair/__init__.py")
    assert wheel.find(tmp_path / "dist") == made


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], "holds 0 wheels (none)"),
        ([GOOD, GOOD.replace("2.13", "2.12")], "holds 2 wheels"),
        (["other-1-py3-none-any.whl"], "is no torch_npu wheel"),
        ([GOOD], "contains no torch_npu/dynamo/torchair/"),
    ],
)
def test_wrong_wheels(tmp_path: Path, names: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dist").mkdir()
    for name in names:
        make_wheel(tmp_path / "dist", name, "torch_npu/__init__.py")
    assert wheel.main(["find", str(tmp_path / "dist")]) == 1
    assert text in capsys.readouterr().err


def test_damaged_wheel(tmp_path: Path) -> None:
    (tmp_path / GOOD).write_text("no zip")
    with pytest.raises(OphookError, match="is damaged"):
        wheel.find(tmp_path)


def test_an_installed_package_is_kept_and_comes_back_the_same(tmp_path: Path) -> None:
    """With a package that pip installed here, since torch_npu may be absent; it is installed again elsewhere."""
    kept = wheel.keep(tmp_path / "kept", "typer")
    assert kept is not None
    assert wheel.keep(tmp_path / "kept", "typer") == kept
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--target",
        str(tmp_path / "to"),
    ]
    subprocess.run([*command, str(kept)], check=True, capture_output=True)
    import typer

    here, there = Path(typer.__file__).parent, tmp_path / "to" / "typer"
    files = [p.relative_to(here) for p in here.rglob("*.py")]
    assert files
    assert all((there / f).read_bytes() == (here / f).read_bytes() for f in files)


def test_nothing_to_keep(tmp_path: Path) -> None:
    assert wheel.keep(tmp_path, "no-such-distribution") is None
    assert list(tmp_path.iterdir()) == []


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert wheel.main([]) == 2
    assert "usage" in capsys.readouterr().err


# ---- progress -----------------------------------------------------------------------------------------------------


def test_time_left_of_ninja_and_make() -> None:
    p = progress.Progress(0)
    assert p.text(5) == "preparing, 0:05 passed"
    assert not p.feed("gcc …\n", 6)
    assert p.feed("[100/400] Building CXX object a.o\n", 10)
    assert p.text(10) == "100 of 400 files, 0:10 passed"
    p.feed("[200/400] Building\n", 70)
    assert p.text(70) == "200 of 400 files, 1:10 passed, about 2:00 left"
    m = progress.Progress(0)
    m.feed("[ 40%] Building CXX object a.o\n", 100)  # a resumed build starts where it stopped
    m.feed("[ 60%] Linking\n", 3700)
    assert m.text(3700) == "60%, 1:01:40 passed, about 2:00:00 left"


def building(name: str) -> str:
    return f"[ 12%] Building CXX object CMakeFiles/torch_npu.dir/{name}.o\n"


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """One file as large as 18 others with their headers; in the folder of the build, as CMake writes it."""
    listed = []
    for name, size in {"a.cpp": 0, "b.cpp": 0, "huge.cpp": 17 * progress.HEADERS, "c.cpp": 0}.items():
        (tmp_path / name).write_text("x" * size)
        command = f"c++ -O2 -o ../CMakeFiles/torch_npu.dir/{name}.o -c {tmp_path / name}"
        listed.append({"directory": str(tmp_path / "part"), "file": str(tmp_path / name), "command": command})
    (tmp_path / "compile_commands.json").write_text(json.dumps(listed))
    return tmp_path / "compile_commands.json"


def test_time_left_goes_by_the_files_sizes(commands: Path) -> None:
    p = progress.Progress(0, commands, jobs=1)
    assert p.feed(building("a.cpp"), 10)
    assert p.text(10) == "0 of 4 files, 0:10 passed"
    assert not p.feed("[100%] Building CXX object other/of/torchair.cpp.o\n", 15)
    assert not p.feed("[ 40%] Built target fmt\n", 15)
    assert p.feed(building("b.cpp"), 20)
    # One of 21 weights in 10 s, so 20 more; make's count would say 30 s.
    assert p.text(20) == "1 of 4 files, 0:20 passed, about 3:20 left"
    p.feed(building("huge.cpp"), 30)
    p.feed(building("c.cpp"), 210)
    assert p.text(210) == "3 of 4 files, 3:30 passed, about 0:10 left"


def test_what_an_interrupted_build_compiled_is_not_counted(commands: Path) -> None:
    done = commands.parent / "CMakeFiles/torch_npu.dir"
    done.mkdir(parents=True)
    for name in ("a.cpp", "huge.cpp"):
        (done / f"{name}.o").write_text("")
    p = progress.Progress(0, commands, jobs=1)
    p.feed(building("b.cpp"), 10)
    assert p.text(10) == "0 of 2 files, 0:10 passed"
    p.feed(building("huge.cpp"), 20)  # it had become stale
    assert p.text(20).startswith("1 of 3 files, 0:20 passed")


@pytest.mark.parametrize("text", ["", "{", '[{"file": "x"}]'])
def test_without_usable_commands_the_builds_own_count_has_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / "compile_commands.json").write_text(text)
    p = progress.Progress(0, tmp_path / "compile_commands.json")
    assert p.feed(building("a.cpp"), 10)
    assert p.text(10) == "12%, 0:10 passed"


def test_everything_is_logged_and_a_pipe_gets_plain_lines(tmp_path: Path) -> None:
    lines = ["configure\n", "[1/2] a\n", "warning: x\n", "[2/2] b\n"]
    out = io.StringIO()
    progress.follow(lines, tmp_path / "log", out, every=0)
    assert (tmp_path / "log").read_text() == "".join(lines)
    assert out.getvalue().splitlines()[-1].startswith("  2 of 2 files")
    assert "\r" not in out.getvalue()
