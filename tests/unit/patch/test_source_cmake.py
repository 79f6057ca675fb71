"""What scripts/source_cmake does to torch_npu's build, over a small project. Nothing is compiled."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from ophook_npu.patch import configured
from ophook_npu.patch.unity import members

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not on PATH")

TOOLCHAIN = Path(__file__).resolve().parents[3] / "scripts/source_cmake/toolchain.cmake"

# As torch's CMake package does it, where it is built with CUDA: without a toolkit and without the target, the end.
PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(TORCHNPU CXX C)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
if(WITH_CUDA AND NOT TARGET torch::cudart)
  message(FATAL_ERROR "cannot find the CUDA libraries")
endif()
add_library(torch_cpu SHARED IMPORTED)
set_target_properties(torch_cpu PROPERTIES IMPORTED_LOCATION /lib/libtorch_cpu.so INTERFACE_COMPILE_DEFINITIONS USE_RPC)
add_library(torch_cpu_library INTERFACE IMPORTED)
add_library(torch_cuda_library INTERFACE IMPORTED)
set_target_properties(torch_cuda_library PROPERTIES INTERFACE_COMPILE_DEFINITIONS USE_NCCL)
add_library(torch SHARED IMPORTED)
set_target_properties(torch PROPERTIES IMPORTED_LOCATION /lib/libtorch.so
  INTERFACE_LINK_LIBRARIES "torch_cpu_library;torch_cuda_library")
add_library(torch_npu SHARED kernel.cpp plain.c)
target_link_libraries(torch_npu PUBLIC torch)
"""
OTHER = "cmake_minimum_required(VERSION 3.18)\nproject(AscendAdapter2 CXX)\nadd_library(torch_npu SHARED kernel.cpp)\n"


class Build:
    def __init__(self, folder: Path, project: str = PROJECT) -> None:
        self.source = folder / "source tree"
        self.source.mkdir()
        (self.source / "CMakeLists.txt").write_text(project)
        (self.source / "kernel.cpp").write_text("int kernel() { return 1; }\n")
        (self.source / "plain.c").write_text("int plain(void) { return 1; }\n")
        self.torch = folder / "torch"
        (self.torch / "lib").mkdir(parents=True)
        self.build = folder / "build"

    def configure(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        keep = {k: v for k, v in os.environ.items() if not k.startswith("OPHOOK_") and k != "CMAKE_GENERATOR"}
        command = ["cmake", "-S", str(self.source), "-B", str(self.build), "-DCMAKE_BUILD_TYPE=Release"]
        return subprocess.run(
            [*command, f"-DPYTORCH_INSTALL_DIR={self.torch}", *arguments],
            env={**keep, "CMAKE_TOOLCHAIN_FILE": str(TOOLCHAIN), **environment},
            capture_output=True,
            text=True,
            timeout=300,
        )

    def command(self, name: str) -> str:
        commands = json.loads((self.build / "compile_commands.json").read_text())
        (found,) = (one["command"] for one in commands if one["file"].endswith(name))
        return found


@pytest.fixture
def build(tmp_path: Path) -> Build:
    return Build(tmp_path)


def test_headers_are_compiled_once_and_the_last_optimisation_counts(build: Build) -> None:
    done = build.configure(OPHOOK_PRECOMPILE="1", OPHOOK_OPTIMIZE="-O0")
    assert done.returncode == 0, done.stderr
    command = build.command("kernel.cpp")
    assert "cmake_pch.hxx" in command
    assert command.rindex(" -O0") > command.rindex(" -O2")
    (header,) = build.build.rglob("cmake_pch.hxx")
    text = header.read_text()
    assert "#include <ATen/ATen.h>" in text and "#include <torch/library.h>" in text
    # A C source must not be given C++ headers.
    assert "cmake_pch" not in build.command("plain.c")


def test_one_source_more_leaves_the_flags_of_the_others_as_they_are(build: Build) -> None:
    """Every object depends on flags.make."""
    flags = []
    for number in range(2):
        assert build.configure("-G", "Unix Makefiles", OPHOOK_PRECOMPILE="1", OPHOOK_UNITY="1").returncode == 0
        flags.append((build.build / "CMakeFiles/torch_npu.dir/flags.make").read_text())
        (build.source / "another.cpp").write_text(f"int another() {{ return {number}; }}\n")
        project = build.source / "CMakeLists.txt"
        project.write_text(
            project.read_text().replace("SHARED kernel.cpp plain.c", "SHARED kernel.cpp another.cpp plain.c")
        )
    assert flags[0] == flags[1] and "cmake_pch.hxx" in flags[0]
    assert "cmake_pch.hxx" in build.command("another.cpp")


def test_nothing_is_changed_unless_asked_for(build: Build) -> None:
    assert build.configure().returncode == 0
    command = build.command("kernel.cpp")
    assert "cmake_pch" not in command and "-O0" not in command and "-DUSE_NCCL" in command


def test_a_torch_with_cuda_needs_no_toolkit_and_its_cuda_part_is_left_out(build: Build) -> None:
    (build.torch / "lib/libtorch_cuda.so").write_text("")
    done = build.configure("-DWITH_CUDA=ON")
    assert done.returncode == 0, done.stderr
    assert "its CUDA part is left out" in done.stdout
    command = build.command("kernel.cpp")
    assert "-DUSE_RPC" in command and "USE_NCCL" not in command


KERNELS = "third_party/op-plugin/op_plugin/ops/opapi"


def units(build: Build) -> dict[str, list[str]]:
    """Name of each unity unit, and the names of its sources."""
    return {
        unit.name: [Path(name).name for name in members(unit)] for unit in sorted(build.build.rglob("unity_*_cxx.cxx"))
    }


def test_kernels_are_compiled_a_few_at_a_time(tmp_path: Path) -> None:
    glob = f'file(GLOB KERNELS "${{CMAKE_SOURCE_DIR}}/{KERNELS}/*.cpp")\n'
    build = Build(
        tmp_path, PROJECT.replace("add_library(torch_npu SHARED", f"{glob}add_library(torch_npu SHARED ${{KERNELS}}")
    )
    folder = build.source / KERNELS
    folder.mkdir(parents=True)
    names = [f"Kernel{number}.cpp" for number in range(200)]
    for name in names:
        (folder / name).write_text("")
    assert build.configure().returncode == 0
    assert units(build) == {}
    assert build.configure(OPHOOK_UNITY="1").returncode == 0
    first = units(build)
    assert sorted(chain.from_iterable(first.values())) == sorted(names) and len(first) <= 64
    # Another operator, and one that does not compile next to others: no other unit changes.
    (folder / "NewKernel.cpp").write_text("")
    alone = tmp_path / "alone.txt"
    alone.write_text(f"{folder / names[7]}\n")
    done = build.configure(OPHOOK_UNITY="1", OPHOOK_ALONE=str(alone))
    assert done.returncode == 0 and "200 kernels are compiled a few at a time, 1 by themselves" in done.stdout
    second = units(build)
    assert build.command(names[7]) and build.command("kernel.cpp")
    assert sum(first.get(name) != second.get(name) for name in first.keys() | second.keys()) <= 2
    assert {name: [s for s in second.get(name, []) if s != "NewKernel.cpp"] for name in first} == {
        name: [s for s in sources if s != names[7]] for name, sources in first.items()
    }


def test_static_objects_of_kernels_are_made_after_those_of_the_core(tmp_path: Path) -> None:
    """As upstream's kernels ask the core for the version of CANN while the library is loaded."""
    glob = f'file(GLOB KERNELS "${{CMAKE_SOURCE_DIR}}/{KERNELS}/*.cpp")\n'
    build = Build(
        tmp_path,
        PROJECT[: PROJECT.index("target_link_libraries")].replace(
            "add_library(torch_npu SHARED kernel.cpp", f"{glob}add_library(torch_npu SHARED kernel.cpp ${{KERNELS}}"
        )
        + 'file(WRITE "${CMAKE_BINARY_DIR}/main.cpp" "int main();\\nextern int seen;\\nint main() { return seen; }")\n'
        + 'add_executable(program "${CMAKE_BINARY_DIR}/main.cpp")\ntarget_link_libraries(program PRIVATE torch_npu)\n',
    )
    folder = build.source / KERNELS
    folder.mkdir(parents=True)
    (build.source / "kernel.cpp").write_text('#include <stdlib.h>\nint version = getenv("PATH") ? 7 : 8;\n')
    (folder / "Asks.cpp").write_text("extern int version;\nint seen = version;\n")
    done = build.configure(OPHOOK_UNITY="1", OPHOOK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr
    made = subprocess.run(["cmake", "--build", str(build.build)], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    assert units(build)
    assert subprocess.run([build.build / "program"]).returncode == 7


def test_torchair_is_compiled_without_optimisation_and_through_ccache(tmp_path: Path) -> None:
    build = Build(tmp_path, OTHER.replace("add_library", 'set(CMAKE_CXX_FLAGS "-O2 -DNDEBUG")\nadd_library'))
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ccache").write_text('#!/bin/sh\nexec "$@"\n')
    (tools / "ccache").chmod(0o755)
    done = build.configure(
        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", OPHOOK_OPTIMIZE="-O0", PATH=f"{tools}:{os.environ['PATH']}"
    )
    assert done.returncode == 0, done.stderr
    command = build.command("kernel.cpp")
    assert command.rindex(" -O0") > command.rindex(" -O2")
    # compile_commands.json leaves the launcher out.
    (rules,) = build.build.rglob("torch_npu.dir/build.make")
    assert f"{tools}/ccache /" in rules.read_text()


def test_another_project_is_left_alone(tmp_path: Path) -> None:
    build = Build(tmp_path, OTHER.replace("AscendAdapter2", "Another"))
    done = build.configure("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", OPHOOK_PRECOMPILE="1", OPHOOK_OPTIMIZE="-O0")
    assert done.returncode == 0, done.stderr
    assert "cmake_pch" not in build.command("kernel.cpp") and "-O0" not in build.command("kernel.cpp")


def test_the_users_own_toolchain_file_stays_in_force(build: Build, tmp_path: Path) -> None:
    (tmp_path / "mine.cmake").write_text("set(CMAKE_CXX_FLAGS_INIT -DMINE)\n")
    done = build.configure(OPHOOK_PRECOMPILE="1", OPHOOK_NEXT_TOOLCHAIN_FILE=str(tmp_path / "mine.cmake"))
    assert done.returncode == 0, done.stderr
    command = build.command("kernel.cpp")
    assert "-DMINE" in command and "cmake_pch.hxx" in command


def test_a_build_that_another_checkout_configured(build: Build, tmp_path: Path) -> None:
    """cmake keeps the path of its first run; the checkout at that path may have moved, or be gone."""
    other = tmp_path / "other checkout/source_cmake"
    shutil.copytree(TOOLCHAIN.parent, other)
    old = str(other / TOOLCHAIN.name)
    assert build.configure(OPHOOK_OPTIMIZE="-O0", CMAKE_TOOLCHAIN_FILE=old).returncode == 0
    shutil.rmtree(other.parent)
    assert build.configure(OPHOOK_OPTIMIZE="-O0").returncode != 0
    for _ in range(2):
        brought = configured.bring(TOOLCHAIN.parent, build.build)
        assert build.build in brought.parents
        done = build.configure(OPHOOK_OPTIMIZE="-O1", CMAKE_TOOLCHAIN_FILE=str(brought))
        assert done.returncode == 0, done.stderr
        assert build.command("kernel.cpp").rindex(" -O1") > build.command("kernel.cpp").rindex(" -O2")
    assert old not in (build.build / "CMakeCache.txt").read_text()


def test_a_build_that_was_configured_without(build: Build) -> None:
    """As upstream's own script does it."""
    assert build.configure(CMAKE_TOOLCHAIN_FILE="").returncode == 0
    brought = configured.bring(TOOLCHAIN.parent, build.build)
    done = build.configure(OPHOOK_OPTIMIZE="-O0", CMAKE_TOOLCHAIN_FILE=str(brought))
    assert done.returncode == 0, done.stderr
    assert build.command("kernel.cpp").rindex(" -O0") > build.command("kernel.cpp").rindex(" -O2")


def test_what_was_generated_again_gets_its_old_time(build: Build, tmp_path: Path) -> None:
    """Between upstream's second code generation and make."""
    folder = tmp_path / "tree/torch_npu/csrc"
    folder.mkdir(parents=True)
    generated = folder / "RegisterNPU.cpp"
    generated.write_text("1")
    os.utime(generated, (1_000_000_000, 1_000_000_000))
    state = tmp_path / "times.json"
    subprocess.run(
        [sys.executable, "-m", "ophook_npu.patch.rebuild", "remember", str(tmp_path / "tree"), str(state)], check=True
    )
    generated.write_text("1")
    done = build.configure(OPHOOK_TIMES=str(state), OPHOOK_PYTHON=sys.executable)
    assert "ophook: the same as before: 1 generated file\n" in done.stdout
    assert generated.stat().st_mtime == 1_000_000_000
