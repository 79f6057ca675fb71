"""The developer build of a checkout, on a tree of a few lines."""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ophook_npu import toolchain
from ophook_npu.elf import exported
from ophook_npu.errors import OphookError
from ophook_npu.sim import developer, libraries
from ophook_npu.sim.developer import Developer
from ophook_npu.toolchain import Library


@pytest.fixture(autouse=True)
def without_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(libraries.FLAGS, raising=False)  # CI has -Werror there


@pytest.fixture
def csrc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of two libraries: the second, of two folders over a common header, uses the first."""
    monkeypatch.setenv("OPHOOK_NPU_CACHE", str(tmp_path / "cache"))
    csrc = tmp_path / "checkout" / "package" / "csrc"
    (tmp_path / "checkout" / ".git").mkdir(parents=True)
    for folder in ("core", "kernels", "rows"):
        (csrc / folder).mkdir(parents=True)
    texts = {
        "prefix.h": "#pragma once\n#include <vector>\n",
        "core/core.cpp": 'extern "C" int core() { return 1; }\n',
        "kernels/norm.h": "#pragma once\nint norm();\n",
        "kernels/norm.cpp": '#include "kernels/norm.h"\nint norm() { return 2; }\n',
        "kernels/sort.cpp": "int sort() { return 3; }\n",
        "rows/norm.cpp": '#include "kernels/norm.h"\nextern "C" int core();\n'
        'extern "C" int row() { return norm() + core(); }\n',
        "rows/sort.cpp": 'extern "C" int other() { return int(std::vector<int>(4).size()); }\n',
    }
    for name, text in texts.items():
        (csrc / name).write_text(text)
    monkeypatch.setattr(developer, "CSRC", csrc)
    monkeypatch.setattr(developer, "CHECKOUT", tmp_path / "checkout")
    return csrc


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Every command of the compiler."""
    commands: list[Sequence[str]] = []
    run = toolchain.run
    monkeypatch.setattr(toolchain, "run", lambda command: commands.append(command) or run(command))
    return commands


def described(csrc: Path) -> list[Library]:
    flags = ("-O1", "-fPIC", f"-I{csrc}")
    sources = tuple(path for folder in ("kernels", "rows") for path in sorted((csrc / folder).glob("*.cpp")))
    return [
        Library("libcore.so", (csrc / "core" / "core.cpp",), flags),
        Library("librows.so", sources, flags, ("libcore.so",), ("-Wl,-rpath,$ORIGIN",), prefix=csrc / "prefix.h",
                unit=4000, glue=(csrc / "rows",)),
    ]  # fmt: skip


def build(csrc: Path, root: Path, made: list[Library] | None = None) -> Path:
    made = described(csrc) if made is None else made
    toolchain.build(made, root, include_roots=[csrc], stamp="test", keep_linked=True)
    return root / "lib64"


def did(ran: list[Sequence[str]]) -> list[str]:
    """What the commands made, in words; and forgets them."""
    found = [
        "precompiled" if "c++-header" in command
        else f"linked {Path(command[command.index('-o') + 1]).name}" if "-shared" in command
        else "/".join(Path(command[command.index("-c") + 1]).parts[-2:])
        for command in ran
    ]  # fmt: skip
    ran.clear()
    return sorted(found)


def test_only_what_a_change_touches_is_compiled_and_linked(
    csrc: Path, ran: list[Sequence[str]], tmp_path: Path
) -> None:
    def again(name: str) -> list[str]:
        build(csrc, tmp_path / name, Developer().changed(described(csrc)))
        return did(ran)

    everything = ["core/core.cpp", "kernels/norm.cpp", "kernels/sort.cpp", "rows/norm.cpp", "rows/sort.cpp"]
    assert again("first") == sorted([*everything, "linked libcore.so", "linked librows.so", "precompiled"])
    assert again("nothing") == []
    (csrc / "kernels" / "norm.h").write_text("#pragma once\nint norm(); // changed\n")
    assert again("header") == ["kernels/norm.cpp", "linked librows.so", "rows/norm.cpp"]
    (csrc / "kernels" / "sort.cpp").write_text("int sort() { return 4; }\n")
    assert again("kernel") == ["kernels/sort.cpp", "linked librows.so"]
    (csrc / "core" / "core.cpp").write_text('extern "C" int core() { return 10; }\n')
    assert again("below") == ["core/core.cpp", "linked libcore.so"]  # it exports what it did
    assert ctypes.CDLL(str(tmp_path / "below" / "lib64" / "librows.so")).row() == 12
    (csrc / "core" / "core.cpp").write_text('extern "C" int core() { return 10; }\nint more() { return 1; }\n')
    assert again("exports") == ["core/core.cpp", "linked libcore.so", "linked librows.so"]
    (csrc / "prefix.h").write_text("#pragma once\n#include <vector>\n#include <string>\n")
    assert "precompiled" in again("prefix")


def test_both_builds_export_the_same(csrc: Path, tmp_path: Path) -> None:
    users, developers = build(csrc, tmp_path / "a"), build(csrc, tmp_path / "b", Developer().changed(described(csrc)))
    for name in ("libcore.so", "librows.so"):
        assert sorted(exported(users / name)) == sorted(exported(developers / name)) != []


def test_what_a_library_exports_is_what_nm_says(csrc: Path, tmp_path: Path) -> None:
    library = build(csrc, tmp_path / "a") / "librows.so"
    told = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True)
    assert exported(library) == sorted(line.split()[-1] for line in told.stdout.splitlines()) != []
    for cut in (b"", library.read_bytes()[:100]):
        library.write_bytes(cut)
        with pytest.raises(OphookError, match="cannot be read as an ELF file"):
            exported(library)


def test_a_source_for_the_debugger_is_compiled_over_the_same_header(
    csrc: Path, ran: list[Sequence[str]], tmp_path: Path
) -> None:
    build(csrc, tmp_path / "a", Developer().changed(described(csrc)))
    did(ran)
    build(csrc, tmp_path / "b", Developer(("kernels/norm.cpp",)).changed(described(csrc)))
    (compiled,) = (command for command in ran if "-c" in command)
    assert did(ran) == ["kernels/norm.cpp", "linked librows.so"]
    assert "-g" in compiled and "-O0" in compiled
    taken = subprocess.run([*compiled, "-Winvalid-pch", "-Werror", "-H"], capture_output=True, text=True)
    assert re.search(r"^! .*prefix.h.gch", taken.stderr, re.M), taken.stderr


def test_warnings_are_seen(csrc: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (csrc / "kernels" / "sort.cpp").write_text("#warning look here\nint sort() { return 3; }\n")
    build(csrc, tmp_path / "a")
    assert capfd.readouterr().err == ""  # a user can do nothing about it
    build(csrc, tmp_path / "b", Developer().changed(described(csrc)))
    assert "sort.cpp:1:2: warning: #warning look here" in capfd.readouterr().err


@pytest.mark.parametrize("developed", [False, True])
def test_a_command_that_failed_can_be_run_again(csrc: Path, tmp_path: Path, developed: bool) -> None:
    broken = csrc / "rows" / "norm.cpp"
    text = broken.read_text()
    broken.write_text(text + "int x = nowhere;\n")
    made = Developer().changed(described(csrc)) if developed else described(csrc)
    with pytest.raises(OphookError) as caught:
        build(csrc, tmp_path / "a", made)
    command = re.search(r"command: (.*)", caught.value.what)
    assert command

    def again() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command[1], shell=True, capture_output=True, text=True, cwd="/")

    assert "nowhere" in again().stderr
    broken.write_text(text)
    assert (again().returncode, again().stderr) == (0, "")


def test_editors_are_told_how_each_source_is_compiled(csrc: Path) -> None:
    developer.write_commands(described(csrc))
    told = json.loads((developer.CHECKOUT / "compile_commands.json").read_text())
    sources = sorted(str(path) for path in csrc.rglob("*.cpp"))
    assert sorted(entry["file"] for entry in told) == sources
    for entry in told:
        assert subprocess.run([*entry["arguments"], "-o", "/dev/null"], cwd=entry["directory"]).returncode == 0


def test_a_checkout_has_a_developer_build_until_it_has_none(csrc: Path) -> None:
    assert developer.here() is None
    developer.begin([])
    assert developer.here() == Developer()
    with pytest.raises(OphookError, match=r"no source kernels/nothing.cpp; allowed: a .cpp below csrc"):
        developer.begin(["kernels/nothing.cpp"])
    developer.begin(["kernels/norm.cpp"])
    assert developer.here() == Developer(("kernels/norm.cpp",))
    developer.end()
    assert developer.here() is None
    (developer.CHECKOUT / ".git").rmdir()
    with pytest.raises(OphookError, match="no git checkout"):
        developer.begin([])


def test_only_the_newest_developer_builds_are_kept(csrc: Path, tmp_path: Path) -> None:
    developer.begin([])
    store = tmp_path / "cache" / "sim"
    roots = [store / f"{developer.prefix()}-{index}" for index in range(6)]
    others = [store / "0123", store / "dev-01234567-0"]
    for age, root in enumerate([*roots, *others]):
        root.mkdir()
        os.utime(root, (0, 10_000 - age))
    os.utime(roots[4])  # a program may run on it
    developer.remove_older(roots[5])
    assert [root.name[-1] for root in roots if root.exists()] == ["0", "4", "5"]
    developer.end()
    assert not any(root.exists() for root in roots) and all(root.exists() for root in others)


def test_more_flags_reach_the_compiler_and_the_linker(monkeypatch: pytest.MonkeyPatch) -> None:
    from ophook_npu.npu.installed import Wheel

    wheels = Wheel("torch", "2.13.0", Path("/torch")), Wheel("torch_npu", "2.13.0", Path("/torch_npu"))
    plain = libraries.libraries(*wheels)
    monkeypatch.setenv(libraries.FLAGS, "-g '-DA=1 2'")
    for one, more in zip(plain, libraries.libraries(*wheels), strict=True):
        assert more.flags == (*one.flags, "-g", "-DA=1 2") and more.link_flags[-2:] == ("-g", "-DA=1 2")
        assert more.talks and not one.talks


def test_warnings_are_errors_where_that_is_asked_for(csrc: Path, ran: list[Sequence[str]], tmp_path: Path) -> None:
    def strict() -> list[Library]:
        return [replace(one, flags=(*one.flags, "-Werror"), talks=True) for one in described(csrc)]

    build(csrc, tmp_path / "a", strict())
    did(ran)
    build(csrc, tmp_path / "b")
    assert did(ran) == []  # the same objects
    (csrc / "kernels" / "sort.cpp").write_text("#warning look here\nint sort() { return 3; }\n")
    with pytest.raises(OphookError, match="look here"):
        build(csrc, tmp_path / "c", strict())
    build(csrc, tmp_path / "d", [replace(one, talks=False) for one in strict()])  # who is shown none is stopped by none
