"""Building C++ on the user's machine: caching, concurrency, errors."""

import ctypes
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ophook_npu import pace, toolchain
from ophook_npu.errors import OphookError
from ophook_npu.toolchain import Library


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPHOOK_NPU_CACHE", str(tmp_path / "cache"))
    toolchain.compiler.cache_clear()
    yield tmp_path / "cache"
    toolchain.compiler.cache_clear()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    source = tmp_path / "src"
    source.mkdir()
    (source / "answer.h").write_text("#define ANSWER 42\n")
    (source / "a.cpp").write_text('#include "answer.h"\nextern "C" int answer() { return ANSWER; }\n')
    (source / "b.cpp").write_text('extern "C" int other() { return 1; }\n')
    return source


def build(project: Path, root: Path, flags: tuple[str, ...] = ("-fPIC",)) -> int:
    library = Library("libanswer.so", (project / "a.cpp", project / "b.cpp"), flags)
    return toolchain.build([library], root, include_roots=[project], stamp="test")


def test_a_change_rebuilds_what_includes_it(project: Path, tmp_path: Path) -> None:
    assert build(project, tmp_path / "one") == 2
    assert ctypes.CDLL(str(tmp_path / "one/lib64/libanswer.so")).answer() == 42
    assert build(project, tmp_path / "two") == 0
    (project / "answer.h").write_text("#define ANSWER 43\n")
    assert build(project, tmp_path / "three") == 1
    assert ctypes.CDLL(str(tmp_path / "three/lib64/libanswer.so")).answer() == 43
    assert build(project, tmp_path / "four", ("-fPIC", "-DX")) == 2


def test_a_source_that_changes_while_it_is_compiled_leaves_no_object(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edited(command: Sequence[str]) -> object:
        if str(project / "a.cpp") in command:
            (project / "answer.h").write_text("#define ANSWER 44\n")
        return toolchain_run(command)

    toolchain_run = toolchain.run
    monkeypatch.setattr(toolchain, "run", edited)
    with pytest.raises(OphookError, match=r"a\.cpp, or a header of it, changed while it was compiled"):
        build(project, tmp_path / "one")
    monkeypatch.undo()
    monkeypatch.setenv("OPHOOK_NPU_CACHE", str(tmp_path / "cache"))
    (project / "answer.h").write_text("#define ANSWER 42\n")
    build(project, tmp_path / "two")
    assert ctypes.CDLL(str(tmp_path / "two/lib64/libanswer.so")).answer() == 42


def test_an_object_that_a_power_cut_emptied_is_compiled_again(project: Path, tmp_path: Path, cache: Path) -> None:
    build(project, tmp_path / "one")
    next((cache / "objects").glob("*.o")).write_bytes(b"")
    assert build(project, tmp_path / "two") == 1


def test_a_disk_that_is_full_is_named(
    project: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = tmp_path / "c++"
    full.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && exec echo none\necho "error: No space left on device" >&2; exit 1\n'
    )
    full.chmod(0o755)
    monkeypatch.setenv("CXX", str(full))
    with pytest.raises(OphookError, match=f"next: make room on the disks of {cache} and "):
        build(project, tmp_path / "one")


def test_a_moved_checkout_shares_its_objects(project: Path, tmp_path: Path) -> None:
    assert build(project, tmp_path / "one", ("-fPIC", f"-I{project}")) == 2
    moved = project.rename(tmp_path / "moved place")
    assert build(moved, tmp_path / "two", ("-fPIC", f"-I{moved}")) == 0


def test_compile_error_names_file_and_command(project: Path, tmp_path: Path) -> None:
    (project / "b.cpp").write_text("#include <no/such/header.h>\n")
    with pytest.raises(OphookError, match=r"\[compile\] b.cpp does not compile:(.|\n)*command: g\+\+") as caught:
        build(project, tmp_path / "one")
    assert "the header no/such/header.h is missing" in (caught.value.todo or "")
    assert not list((tmp_path / "cache" / "objects").glob("*.part"))


def test_undefined_symbol_is_a_link_error(project: Path, tmp_path: Path) -> None:
    (project / "b.cpp").write_text('extern "C" int nowhere(); extern "C" int other() { return nowhere(); }\n')
    with pytest.raises(OphookError, match=r"\[link\] libanswer.so does not link:(.|\n)*nowhere"):
        build(project, tmp_path / "one")


def test_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-g++ -m64")
    with pytest.raises(OphookError, match=r"no-such-g\+\+ is not on PATH; allowed: GCC 11.*next: install one"):
        toolchain.compiler()


def test_missing_header_of_a_wheel_is_named(tmp_path: Path) -> None:
    library = Library("libx.so", (), needs=(("torch-npu", tmp_path / "acl" / "acl.h"),))
    with pytest.raises(OphookError, match=r"acl.h is missing .*next: reinstall torch-npu"):
        toolchain.build([library], tmp_path, include_roots=[], stamp="")


def test_jobs_follow_max_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_JOBS", "3")
    assert toolchain.jobs() == 3
    monkeypatch.setenv("MAX_JOBS", "zero")
    assert 1 <= toolchain.jobs() <= (os.cpu_count() or 1)


def test_a_common_prefix_is_precompiled_for_many_files_and_not_left_behind(
    project: Path, tmp_path: Path, cache: Path
) -> None:
    (project / "prefix.h").write_text("#pragma once\n#include <vector>\n#define BASE 10\n")
    sources = []
    for index in range(5):
        path = project / f"s{index}.cpp"
        path.write_text(f'extern "C" int s{index}() {{ return BASE + int(std::vector<int>({index}).size()); }}\n')
        sources.append(path)
    library = Library("libmany.so", tuple(sources), ("-fPIC",), prefix=project / "prefix.h")

    def make(root: str) -> int:
        return toolchain.build([library], tmp_path / root, include_roots=[project], stamp="test")

    (cache / "prefix-killed").mkdir(parents=True)
    os.utime(cache / "prefix-killed", (0, 0))
    assert make("one") == 5
    loaded = ctypes.CDLL(str(tmp_path / "one/lib64/libmany.so"))
    assert [getattr(loaded, f"s{index}")() for index in range(5)] == [10, 11, 12, 13, 14]
    assert not list(cache.glob("prefix-*"))  # nor what a build that was killed left long ago
    sources[0].write_text(sources[0].read_text() + "// changed\n")
    assert make("two") == 1  # one file: the header is included as it is
    (project / "prefix.h").write_text("#pragma once\n#include <vector>\n#define BASE 20\n")
    assert make("three") == 5
    assert ctypes.CDLL(str(tmp_path / "three/lib64/libmany.so")).s0() == 20


def test_a_prefix_that_is_kept_serves_the_next_build(
    project: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "prefix.h").write_text("#pragma once\n#define BASE 10\n")
    ran: list[Sequence[str]] = []
    run = toolchain.run
    monkeypatch.setattr(toolchain, "run", lambda command: ran.append(command) or run(command))

    def make(name: str, stamp: str = "test") -> int:
        source = project / f"{name}.cpp"
        source.write_text(f'extern "C" int {name}() {{ return BASE; }}\n')
        flags = ("-fPIC", f"-ffile-prefix-map={tmp_path / name}=.")
        library = Library(f"lib{name}.so", (source,), flags, prefix=project / "prefix.h", keep_prefix=True)
        toolchain.build([library], tmp_path / name, include_roots=[project], stamp=stamp)
        return int(getattr(ctypes.CDLL(str(tmp_path / name / "lib64" / f"lib{name}.so")), name)())

    def precompiled() -> int:
        return sum("c++-header" in command for command in ran)

    assert [make("one"), make("two"), precompiled()] == [10, 10, 1]
    (kept,) = cache.glob("prefixes/*/prefix.h")
    (project / "prefix.h").write_text("#pragma once\n#define BASE 20\n")
    assert [make("three"), precompiled()] == [20, 2]
    assert kept.exists()  # somebody may compile with it now
    os.utime(kept.parent, (0, 0))
    assert [make("four", stamp="another torch"), precompiled()] == [20, 3]
    assert not kept.exists()
    for hours in range(10):  # six stay, one of which is an earlier one of the above
        folder = cache / "prefixes" / f"{hours}a"
        folder.mkdir()
        os.utime(folder, (time.time() - 3600 * hours,) * 2)
    make("five", stamp="another torch")
    assert sorted(path.name for path in (cache / "prefixes").glob("?a")) == ["0a", "1a", "2a", "3a", "4a"]


def test_a_prefix_that_does_not_compile_is_an_error(project: Path, tmp_path: Path) -> None:
    (project / "prefix.h").write_text("#error nope\n")
    sources = tuple((project / f"s{index}.cpp") for index in range(5))
    for index, path in enumerate(sources):
        path.write_text(f"int x{index};\n")
    library = Library("libx.so", sources, ("-fPIC",), prefix=project / "prefix.h")
    with pytest.raises(OphookError, match=r"\[compile\] prefix.h does not compile"):
        toolchain.build([library], tmp_path / "out", include_roots=[project], stamp="test")


@pytest.fixture
def many(project: Path) -> Library:
    """Six sources of 2 kB each."""
    sources = []
    for index in range(6):
        path = project / f"s{index}.cpp"
        path.write_text(f'extern "C" int s{index}() {{ return {index}; }}\n'.ljust(2000, "\n"))
        sources.append(path)
    return Library("libmany.so", tuple(sources), ("-fPIC",), unit=4000)


def test_seldom_used_sources_are_compiled_alike_in_units_of_their_own(many: Library) -> None:
    seldom = frozenset({many.sources[1], many.sources[4]})
    units = toolchain.units(replace(many, flags=("-fPIC", "-O1"), seldom=seldom))
    assert [[source.stem for source in unit.sources] for unit in units] == [["s0", "s2"], ["s3", "s5"], ["s1", "s4"]]
    assert [unit.flags[-1] for unit in units] == ["-O1", "-O1", "-Og"]
    first = replace(many, flags=("-O1",), seldom=seldom, glue=(many.sources[0], many.sources[1]))
    told = [([source.stem for source in unit.sources], "-O0" in unit.flags) for unit in toolchain.units(first)]
    assert told == [(["s2"], False), (["s3", "s5"], False), (["s4"], False), (["s0", "s1"], True)]  # glue comes last


def test_neighbouring_sources_are_compiled_as_units(many: Library, project: Path, tmp_path: Path, cache: Path) -> None:
    assert [len(unit.sources) for unit in toolchain.units(many)] == [2, 2, 2]

    def make(root: str) -> int:
        return toolchain.build([many], tmp_path / root, include_roots=[project], stamp="test")

    assert make("one") == 6
    assert len(list((cache / "objects").glob("*.o"))) == 3
    loaded = ctypes.CDLL(str(tmp_path / "one/lib64/libmany.so"))
    assert [getattr(loaded, f"s{index}")() for index in range(6)] == list(range(6))
    many.sources[3].write_text('extern "C" int s3() { return 30; }\n'.ljust(2000, "\n"))
    assert make("two") == 2  # its unit
    assert ctypes.CDLL(str(tmp_path / "two/lib64/libmany.so")).s3() == 30
    assert not list((cache / "objects").glob("unit-*"))


def test_the_source_at_fault_is_named_not_its_unit(many: Library, project: Path, tmp_path: Path) -> None:
    many.sources[3].write_text("int s3() { return nowhere; }\n".ljust(2000, "\n"))
    with pytest.raises(OphookError, match=r"\[compile\] s3\.cpp does not compile:\n.*nowhere.*declared"):
        toolchain.build([many], tmp_path, include_roots=[project], stamp="test")


def test_two_helpers_of_one_name_in_a_unit_are_explained(many: Library, project: Path, tmp_path: Path) -> None:
    for index in (2, 3):
        helper = f"namespace {{ int helper() {{ return {index}; }} }}\n"
        many.sources[index].write_text(f'{helper}extern "C" int s{index}() {{ return helper(); }}\n'.ljust(2000, "\n"))
    said = r"s3\.cpp does not compile:\n.*redefinition of .*helper.*\n.*give one of the two another name"
    with pytest.raises(OphookError, match=said):
        toolchain.build([many], tmp_path, include_roots=[project], stamp="test")


def test_progress_goes_from_nothing_to_all_and_the_time_left_to_zero(
    many: Library, project: Path, tmp_path: Path
) -> None:
    steps: list[pace.BuildStep] = []
    toolchain.build([many], tmp_path / "one", include_roots=[project], stamp="test", progress=steps.append)
    assert steps[0].done == pytest.approx(0, abs=0.01) and steps[0].left > 0
    assert steps[-1] == pace.BuildStep(1.0, 0.0)
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    steps.clear()
    toolchain.build([many], tmp_path / "two", include_roots=[project], stamp="test", progress=steps.append)
    assert steps == []  # nothing is compiled


def test_time_left_follows_the_pace_of_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(pace.time, "monotonic", lambda: now[0])
    clock = pace.Pace([10.0, 10.0, 20.0], lanes=1)
    assert clock.step() == pace.BuildStep(0.0, 40.0)
    with clock.job(0):
        now[0] = 5.0
        assert clock.step() == pace.BuildStep(0.125, 35.0)
        now[0] = 20.0  # twice as long as it should
    assert clock.step() == pace.BuildStep(0.25, 60.0)
    with clock.job(1):
        now[0] = 100.0  # far too long: about to end, and never less than nothing
        assert clock.step().left == 40.0
