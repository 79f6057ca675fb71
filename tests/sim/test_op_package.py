"""Operator projects that CMake builds by npu_op_package: a file that installs a package, and libraries to link to."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ophook_npu import sim
from ophook_npu.sim.variables import apply, environment

PROJECT = Path(__file__).parents[2] / "op_plugin_patch" / "ascendc"

OPERATORS = """
cmake_minimum_required(VERSION 3.16)
project(operators)
find_package(ASC REQUIRED)
npu_op_package(mine TYPE @TYPE CONFIG ENABLE_SOURCE_PACKAGE True)
npu_op_kernel_sources(kernels OP_TYPE AddCustom KERNEL_FILE the_kernel.cpp)
file(GLOB hosts op_host/*.cpp)
file(GLOB own op_api/*)
file(COPY ${own} DESTINATION ${ASCEND_AUTOGEN_PATH})
npu_op_code_gen(SRC ${hosts} PACKAGE mine OUT_DIR ${ASCEND_AUTOGEN_PATH} @HOST)
file(GLOB written ${ASCEND_AUTOGEN_PATH}/aclnn_*.cpp)
npu_op_library(opapi ACLNN ${written})
npu_op_library(tiling TILING ${hosts})
npu_op_kernel_library(kernels SRC_BASE ${CMAKE_CURRENT_SOURCE_DIR}/op_kernel TILING_LIBRARY tiling)
npu_op_kernel_options(kernels ALL OPTIONS -g @KERNEL)
npu_op_package_add(mine LIBRARY tiling opapi kernels)
npu_op_package_add(mine FILES README.md PACKAGE_PATH doc)
if(own)
    npu_op_package_add(mine FILES op_api/aclnn_add_custom.h TYPE ACLNN)
endif()
"""
OWN_API = """
#include "aclnn_add_custom.h"
#include "aclnnInner_add_custom.h"
#include "aclnn/opdev/platform.h"
extern "C" {
aclnnStatus aclnnAddCustomGetWorkspaceSize(const aclTensor* x, const aclTensor* y, const aclTensor* z, uint64_t* size,
                                           aclOpExecutor** executor) {
  if (!op::GetCurrentPlatformInfo().Valid()) return 1;
  return aclnnInnerAddCustomGetWorkspaceSize(x, y, z, size, executor);
}
aclnnStatus aclnnAddCustom(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream) {
  return aclnnInnerAddCustom(workspace, size, executor, stream);
}
}
"""
OWN_HEADER = """
#pragma once
#include "aclnn/acl_meta.h"
#pragma GCC visibility push(default)
extern "C" {
aclnnStatus aclnnAddCustomGetWorkspaceSize(const aclTensor*, const aclTensor*, const aclTensor*, uint64_t*,
                                           aclOpExecutor**);
aclnnStatus aclnnAddCustom(void*, uint64_t, aclOpExecutor*, aclrtStream);
}
#pragma GCC visibility pop
"""
CALLER = """
cmake_minimum_required(VERSION 3.16)
project(caller)
find_package(mine REQUIRED)
add_executable(caller main.cpp)
target_link_libraries(caller PRIVATE nnopbase acl_rt mine::mine)
"""
MAIN = """
#include <cstdio>
#include <vector>

#include "acl/acl.h"
#include "aclnn_add_custom.h"

int main() {
  const int64_t dims[] = {8, 32}, strides[] = {32, 1};
  const size_t count = 256, bytes = count * sizeof(float);
  using Floats = std::vector<float>;
  Floats host[3] = {Floats(count, 1.5f), Floats(count, 2), Floats(count)};
  void* device[3];
  aclTensor* tensor[3];
  aclrtStream stream;
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  int failed = aclInit(nullptr) | aclrtSetDevice(0) | aclrtCreateStream(&stream);
  for (int i = 0; i < 3; ++i) {
    failed |= aclrtMalloc(&device[i], bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    failed |= aclrtMemcpy(device[i], bytes, host[i].data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    tensor[i] = aclCreateTensor(dims, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, dims, 2, device[i]);
  }
  failed |= aclnnAddCustomGetWorkspaceSize(tensor[0], tensor[1], tensor[2], &size, &executor);
  void* workspace = nullptr;
  if (size) failed |= aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST);
  failed |= aclnnAddCustom(workspace, size, executor, stream) | aclrtSynchronizeStream(stream);
  failed |= aclrtMemcpy(host[2].data(), bytes, device[2], bytes, ACL_MEMCPY_DEVICE_TO_HOST);
  int wrong = 0;
  for (const float one : host[2]) wrong += one != 3.5f;
  std::printf("failed %d, wrong %d\\n", failed, wrong);
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "operators"
    shutil.copytree(PROJECT, folder)
    (folder / "op_kernel" / "add_custom.cpp").rename(folder / "op_kernel" / "the_kernel.cpp")
    return folder


def write(project: Path, **values: str) -> None:
    text = OPERATORS
    for name in ("TYPE", "HOST", "KERNEL"):
        text = text.replace(f"@{name}", values.get(name, ""))
    (project / "CMakeLists.txt").write_text(text)


def shell(script: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environ = dict(os.environ)
    apply(environ, environment(sim.active() or sim.build()))
    # What is installed goes nowhere that other tests look.
    environ |= {"ASCEND_OPP_PATH": str(folder / "opp"), "MAKEFLAGS": ""} | more
    command = ["bash", "-ec", script]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=600, check=False)


def test_the_file_that_a_project_makes_installs_its_package(project: Path, tmp_path: Path) -> None:
    write(project, TYPE="RUN", KERNEL="-DMORE=2 --save-temp-files")
    (tmp_path / "opp" / "vendors").mkdir(parents=True)
    (tmp_path / "opp" / "vendors" / "config.ini").write_text("load_priority=other,mine\n")
    build = "cmake -S operators -B build && cmake --build build --target binary package && ./build/custom_opp_*.run"
    done = shell(build, tmp_path)
    assert done.returncode == 0 and done.stdout.endswith("SUCCESS\n"), done.stdout + done.stderr
    installed = tmp_path / "opp" / "vendors" / "mine"
    assert (installed / "op_api" / "lib" / "libcust_opapi.so").is_file() and (installed / "doc" / "README.md").is_file()
    header, prototypes = installed / "op_api/include/aclnn_add_custom.h", installed / "op_proto/inc/op_proto.h"
    assert "aclnnAddCustomGetWorkspaceSize(const aclTensor* x" in header.read_text()
    assert "REG_OP(AddCustom)" in prototypes.read_text()
    assert (installed.parent / "config.ini").read_text() == "load_priority=mine,other\n"
    done = shell("./build/custom_opp_*.run --install-path=elsewhere && . elsewhere/vendors/mine/bin/set_env.bash"
                 ' && test -d "${ASCEND_CUSTOM_OPP_PATH%%:*}/op_impl/cpu"', tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["STATIC", "SHARED", "SHARED with functions of its own"])
def test_a_program_links_to_the_library_of_a_project(kind: str, project: Path, tmp_path: Path) -> None:
    own = "own" in kind
    write(project, TYPE=kind.split()[0], HOST="COMPILE_OPTIONS -g -DGIVEN=1" if own else "")
    if own:
        host = next((project / "op_host").glob("*.cpp"))
        host.write_text(f"#if GIVEN != 1\n#error nothing was given\n#endif\n{host.read_text()}")
        (project / "op_api").mkdir()
        (project / "op_api" / "aclnn_add_custom.cpp").write_text(OWN_API)
        (project / "op_api" / "aclnn_add_custom.h").write_text(OWN_HEADER)
    caller = tmp_path / "caller"
    caller.mkdir()
    (caller / "CMakeLists.txt").write_text(CALLER)
    (caller / "main.cpp").write_text(MAIN)
    done = shell(
        "cmake -S operators -B build -DCMAKE_INSTALL_PREFIX=$PWD/installed"
        " && cmake --build build --target binary install"
        " && cmake -S caller -B called -DCMAKE_PREFIX_PATH=$PWD/installed && cmake --build called && called/caller",
        tmp_path,
        **({"OPS_PROJECT_NAME": "aclnnInner"} if own else {}),
    )
    assert done.stdout.endswith("failed 0, wrong 0\n"), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"TYPE": "ZIP"}, "npu_op_package(mine TYPE ZIP); allowed: RUN, SHARED, STATIC"),
        (
            {"TYPE": "RUN", "KERNEL": ")\nnpu_op_kernel_options(kernels AddCustom OPTIONS -DX"},
            "-DX for AddCustom alone is not simulated",
        ),
    ],
)
def test_what_is_not_simulated_is_named(values: dict[str, str], told: str, project: Path, tmp_path: Path) -> None:
    write(project, **values)
    done = shell("cmake -S operators -B build && cmake --build build --target binary", tmp_path)
    assert done.returncode and told in " ".join(done.stderr.split()), done.stderr
