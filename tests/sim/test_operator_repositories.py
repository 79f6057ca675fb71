"""Projects whose own build calls op_build and compiles its libraries, with own aclnn functions (opdev): as the
repositories of CANN's operators do it.
"""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ophook_npu import sim
from ophook_npu.sim.opc import _hosts
from ophook_npu.sim.variables import apply, environment

PROJECT = Path(__file__).parents[2] / "op_plugin_patch" / "ascendc"

OPERATORS = """
cmake_minimum_required(VERSION 3.16)
project(operators)
set(ASCEND_DIR $ENV{ASCEND_HOME_PATH})
list(APPEND CMAKE_MODULE_PATH ${ASCEND_DIR}/include/ge/cmake)
find_package(ASC REQUIRED HINTS ${ASCEND_DIR}/@MACHINE-linux/tikcpp/ascendc_kernel_cmake)
find_package(GenerateEsPackage MODULE REQUIRED)
set(CMAKE_CXX_STANDARD 17)
add_compile_options(-D_GLIBCXX_USE_CXX11_ABI=0 -fPIC)
set(autogen ${CMAKE_BINARY_DIR}/autogen/exc)
file(MAKE_DIRECTORY ${autogen})
link_directories(${ASCEND_DIR}/lib64)
include_directories(${ASCEND_DIR}/include ${ASCEND_DIR}/include/aclnn)

npu_op_code_gen(SRC op_host/add_custom.cpp PACKAGE opbuild_gen OUT_DIR ${autogen}
    OPTIONS OPS_PROTO_SEPARATE 1 OPS_PROJECT_NAME aclnnExc OPS_ACLNN_GEN 0)
file(GLOB written ${autogen}/*.ini)
message(STATUS "written: ${written}")
add_custom_target(generated
    COMMAND env OPS_PROTO_SEPARATE=1 OPS_PROJECT_NAME=aclnnExc OPS_ACLNN_GEN=0
        ${ASCEND_DIR}/tools/opbuild/op_build ${autogen}/libascend_all_ops.so ${autogen}
    COMMAND ${ASCEND_DIR}/bin/op_package kernels ${autogen} ${CMAKE_SOURCE_DIR}/op_kernel ascend910b
        ${CMAKE_BINARY_DIR}/kernels)
set(package packages/vendors/mine_math)
install(DIRECTORY ${CMAKE_BINARY_DIR}/kernels/ DESTINATION ${package}/op_impl/ai_core/tbe/kernel/ascend910b)
install(FILES op_api/aclnn_sum_of_both.h DESTINATION ${package}/op_api/include)

npu_op_library(cust_opapi ACLNN)
target_sources(cust_opapi PRIVATE op_api/aclnn_sum_of_both.cpp)
npu_op_library(cust_opmaster TILING)
target_sources(cust_opmaster PRIVATE op_host/add_custom.cpp)
add_library(ophost SHARED $<TARGET_OBJECTS:cust_opmaster>)
target_link_libraries(ophost PRIVATE cust_opmaster)
target_link_libraries(cust_opmaster PRIVATE adump_headers)
npu_op_library(cust_proto GRAPH op_host/add_custom.cpp)
add_es_library_and_whl(ES_LINKABLE_AND_ALL_TARGET es_math OPP_PROTO_TARGET cust_proto
    OUTPUT_PATH ${CMAKE_BINARY_DIR}/es)
npu_op_package(cann-ops-mine TYPE RUN CONFIG ENABLE_SOURCE_PACKAGE True ENABLE_BINARY_PACKAGE True
    INSTALL_PATH ${CMAKE_BINARY_DIR}/out VENDOR_NAME mine_math ENABLE_DEFAULT_PACKAGE_NAME_RULE False)
npu_op_package_add(cann-ops-mine LIBRARY cust_opapi cust_opmaster cust_proto)
"""
HEADER = """
#pragma once
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_util.h"
extern "C" {
ACLNN_API aclnnStatus aclnnSumOfBothGetWorkspaceSize(const aclTensor* x, const aclTensor* y, aclTensor* out,
                                                     uint64_t* size, aclOpExecutor** executor);
ACLNN_API aclnnStatus aclnnSumOfBoth(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream);
ACLNN_API aclnnStatus aclnnNothingGetWorkspaceSize(const aclTensor* x, uint64_t* size, aclOpExecutor** executor);
}
"""
OWN_API = """
#include "aclnn_sum_of_both.h"
#include "aclnn_kernels/cast.h"
#include "aclnn_kernels/common/op_error_check.h"
#include "aclnn_kernels/contiguous.h"
#include "opdev/make_op_executor.h"
#include "opdev/op_dfx.h"
#include "opdev/op_executor.h"
#include "opdev/op_log.h"

using namespace op;

namespace l0op {
const aclTensor* Add(const aclTensor* self, const aclTensor* other, aclOpExecutor* executor);
const aclTensor* Muls(const aclTensor* self, float alpha, aclOpExecutor* executor);
const aclTensor* ReduceSumOp(const aclTensor* x, const aclIntArray* axes, bool keep, aclOpExecutor* executor);
const aclTensor* UnsqueezeNd(const aclTensor* x, int64_t dim, aclOpExecutor* executor);
const aclTensor* PickViewAsContiguous(const aclTensor*, aclOpExecutor*) { return nullptr; }  // in place of CANN's
OP_TYPE_REGISTER(AddCustom);
static const aclTensor* Sum(const aclTensor* x, const aclTensor* y, aclOpExecutor* executor) {
  L0_DFX(Sum, x, y);
  auto out = executor->AllocTensor(x->GetViewShape(), x->GetDataType());
  auto ret = ADD_TO_LAUNCHER_LIST_AICORE(AddCustom, OP_INPUT(x, y), OP_OUTPUT(out));
  OP_CHECK(ret == ACLNN_SUCCESS, OP_LOGE(ret, "AddCustom cannot be launched."), return nullptr);
  return out;
}
static const aclTensor* Negative(const aclTensor* x, aclOpExecutor* executor) {  // the package has no such kernel
  auto out = executor->AllocTensor(x->GetViewShape(), x->GetDataType());
  return ADD_TO_LAUNCHER_LIST_AICORE(Neg, OP_INPUT(x), OP_OUTPUT(out)) == ACLNN_SUCCESS ? out : nullptr;
}
}  // namespace l0op

aclnnStatus aclnnSumOfBothGetWorkspaceSize(const aclTensor* x, const aclTensor* y, aclTensor* out, uint64_t* size,
                                           aclOpExecutor** executor) {
  L2_DFX_PHASE_1(aclnnSumOfBoth, DFX_IN(x, y), DFX_OUT(out));
  OP_CHECK_NULL(x, return ACLNN_ERR_PARAM_NULLPTR);
  OP_CHECK_DTYPE_NOT_SUPPORT(x, {DataType::DT_FLOAT}, return ACLNN_ERR_PARAM_INVALID);
  auto uniqueExecutor = CREATE_EXECUTOR();
  FVector<float> ones(y->Numel(), 1);  // numbers of the host, which the kernel reads on the device
  auto host = uniqueExecutor->ConvertToTensor(ones.data(), ones.size(), DataType::DT_FLOAT);
  auto one = l0op::Sum(l0op::Reshape(host, y->GetViewShape(), uniqueExecutor.get()), y, uniqueExecutor.get());
  auto sum = l0op::Sum(l0op::Contiguous(x, uniqueExecutor.get()), one, uniqueExecutor.get());
  CHECK_RET(sum != nullptr, ACLNN_ERR_INNER_NULLPTR);
  auto negative = l0op::Negative(sum, uniqueExecutor.get());
  CHECK_RET(negative != nullptr, ACLNN_ERR_INNER_NULLPTR);
  auto half = l0op::Muls(l0op::UnsqueezeNd(negative, 0, uniqueExecutor.get()), 0.5f, uniqueExecutor.get());
  const int64_t first = 0;
  auto axes = uniqueExecutor->AllocIntArray(&first, 1);
  auto whole = l0op::ReduceSumOp(l0op::Add(half, half, uniqueExecutor.get()), axes, false, uniqueExecutor.get());
  CHECK_RET(whole != nullptr && whole->GetViewShape() == negative->GetViewShape(), ACLNN_ERR_INNER_NULLPTR);
  auto cast = l0op::Cast(whole, out->GetDataType(), uniqueExecutor.get());
  CHECK_RET(l0op::ViewCopy(cast, out, uniqueExecutor.get()) != nullptr, ACLNN_ERR_INNER_NULLPTR);
  *size = uniqueExecutor->GetWorkspaceSize();
  uniqueExecutor.ReleaseTo(executor);
  return ACLNN_SUCCESS;
}
aclnnStatus aclnnSumOfBoth(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream) {
  L2_DFX_PHASE_2(aclnnSumOfBoth);
  return CommonOpExecutorRun(workspace, size, executor, stream);
}
aclnnStatus aclnnNothingGetWorkspaceSize(const aclTensor* x, uint64_t*, aclOpExecutor**) {
  auto uniqueExecutor = CREATE_EXECUTOR();
  auto executor = uniqueExecutor.get();
  return ADD_TO_LAUNCHER_LIST_AICORE(NoSuchOperator, OP_INPUT(x), OP_OUTPUT(x));
}
"""
MAIN = """
#include <cstdio>
#include <vector>

#include "acl/acl.h"
#include "aclnn_sum_of_both.h"

int main() {
  const int64_t dims[] = {16, 32}, turned[] = {1, 16}, rows[] = {32, 1};
  const size_t count = 512, bytes = count * sizeof(float);
  using Floats = std::vector<float>;
  Floats host[2] = {Floats(count), Floats(count, 2)};
  std::vector<int32_t> result(count);
  for (size_t i = 0; i < count; ++i) host[0][i] = float(i);
  void* device[3];
  aclTensor* tensor[3];
  aclrtStream stream;
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  int failed = aclInit(nullptr) | aclrtSetDevice(0) | aclrtCreateStream(&stream);
  for (int i = 0; i < 3; ++i) {
    failed |= aclrtMalloc(&device[i], bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    if (i < 2) failed |= aclrtMemcpy(device[i], bytes, host[i].data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    const aclDataType type = i < 2 ? ACL_FLOAT : ACL_INT32;
    tensor[i] = aclCreateTensor(dims, 2, type, i ? rows : turned, 0, ACL_FORMAT_ND, dims, 2, device[i]);
  }
  failed |= aclnnSumOfBothGetWorkspaceSize(tensor[0], tensor[1], tensor[2], &size, &executor);
  void* workspace = nullptr;
  failed |= size ? aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST) : 1;
  failed |= aclnnSumOfBoth(workspace, size, executor, stream) | aclrtSynchronizeStream(stream);
  failed |= aclrtMemcpy(result.data(), bytes, device[2], bytes, ACL_MEMCPY_DEVICE_TO_HOST);
  int wrong = 0;
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 32; ++k) wrong += result[i * 32 + k] != -(k * 16 + i + 3);
  std::printf("failed %d, wrong %d\\n", failed, wrong);
  std::printf("%d", aclnnSumOfBothGetWorkspaceSize(tensor[2], tensor[1], tensor[2], &size, &executor));
  std::printf(" %s\\n", aclGetRecentErrMsg());
  std::printf("%d", aclnnNothingGetWorkspaceSize(tensor[0], &size, &executor));
  std::printf(" %s\\n", aclGetRecentErrMsg());
}
"""


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environ = dict(os.environ)
    apply(environ, environment(sim.active() or sim.build()))
    environ |= {"ASCEND_OPP_PATH": str(folder / "opp"), "MAKEFLAGS": ""}
    command = ["bash", "-ec", script]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=600, check=False)


def test_kernels_are_compiled_with_the_tilings_that_a_build_lays_out_as_built_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = tmp_path / "op_impl/built-in/ai_core/tbe/op_tiling/lib/linux/x86_64/liboptiling.so"
    built.parent.mkdir(parents=True)
    built.touch()
    monkeypatch.setenv("ASCEND_OPP_PATH", str(tmp_path))
    assert list(_hosts([])) == [built]


def test_own_functions_run_kernels_of_their_package_and_operators_of_the_table(tmp_path: Path) -> None:
    project = tmp_path / "operators"
    for folder in ("op_host", "op_kernel"):
        (project / folder).mkdir(parents=True)
        for source in (PROJECT / folder).glob("add_custom*"):
            shutil.copy(source, project / folder)
    (project / "op_api").mkdir()
    (project / "op_api" / "aclnn_sum_of_both.h").write_text(HEADER)
    (project / "op_api" / "aclnn_sum_of_both.cpp").write_text(OWN_API)
    (project / "CMakeLists.txt").write_text(OPERATORS.replace("@MACHINE", platform.machine()))
    (tmp_path / "main.cpp").write_text(MAIN)
    (tmp_path / "opp" / "vendors").mkdir(parents=True)
    build = "cmake --build build --target"
    steps = ("cmake -S operators -B build", f"{build} generated", f"{build} package", "./build/out/cann-ops-mine.run")
    done = shell(" && ".join(steps), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search("written: .*/autogen/exc/aic-ascend910b-ops-info.ini", done.stdout)
    objects = shell("cmake --build build --target ophost && nm -D build/libophost.so", tmp_path)
    assert "T ascendc_tiles" in objects.stdout, objects.stderr
    assert 'Self-extractable archive "cann-ops-mine.run" successfully created.' in done.stdout
    installed = tmp_path / "opp" / "vendors" / "mine_math"
    assert (installed / "op_impl/ai_core/tbe/op_tiling/liboptiling.so").is_file()
    own = installed / "op_api"
    run = f"g++ main.cpp -I{own}/include -I$ASCEND_HOME_PATH/include -L{own}/lib -L$ASCEND_HOME_PATH/lib64"
    done = shell(f"{run} -lcust_opapi -lascendcl -lnnopbase -Wl,-rpath={own}/lib -o main && ./main", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    computed, refused, unknown = done.stdout.splitlines()
    assert computed == "failed 0, wrong 0", done.stdout + done.stderr
    assert refused.startswith("161002 ") and "x has data type DT_INT32; allowed: [DT_FLOAT]" in refused
    assert unknown.startswith("561003 ") and "no kernel of the operator NoSuchOperator" in unknown
