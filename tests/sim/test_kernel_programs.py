"""Programs that launch their own kernels: `kernel run`, the compiler driver, and the language in CMake."""

import csv
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu import sim
from ophook_npu.errors import OphookError
from ophook_npu.sim import program
from ophook_npu.sim.variables import apply, environment

SOURCE = Path(__file__).parent / "programs" / "asc" / "scale.asc"
# The first two calls have no namespace.
PRINTED = "[AIV Block 0/1] printf(\n[AIV Block 0/1] 1, half 0.500000\ndoubled 8 numbers"
RIGHT = "status 0, wrong 0, cube cores 4, vector cores 8"  # what the second kernel counted, doubled


def kernel_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ophook_npu", "kernel", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_a_program_runs_and_gets_its_arguments() -> None:
    done = kernel_run(str(SOURCE), "5")
    assert (done.returncode, done.stdout.strip()) == (0, f"{PRINTED}\n{RIGHT}"), done.stderr


def test_a_program_of_the_c_interface_declares_its_memory_as_arrays() -> None:
    source = SOURCE.with_name("c_interface.asc")
    done = kernel_run(str(source))
    assert (done.returncode, done.stdout.strip()) == (0, f"status 0, wrong{' 0' * 8}"), done
    done = kernel_run("-DFAULT", str(source))
    told = "c_interface.asc:{}: error: Adds: the destination: bytes 0 to 1056 of a tensor of 1024 bytes"
    lines = source.read_text().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if "N + 8" in text)
    assert done.returncode and told.format(line) in done.stderr and "the array at" in done.stderr, done.stderr


def test_a_source_of_the_compilers_own_intrinsics_needs_no_header() -> None:
    done = kernel_run(str(SOURCE.with_name("intrinsics.cce")))
    assert (done.returncode, done.stdout.strip()) == (0, "status 0, wrong 0"), done.stdout + done.stderr


def test_a_source_for_one_kind_of_core_is_compiled_for_it_alone(tmp_path: Path) -> None:
    root = sim.active() or sim.build()
    source = str(SOURCE.with_name("one_kind.cce"))
    made = program.compile(["-xcce", "--cce-aicore-arch=dav-c220-vec", source, "-o", str(tmp_path / "ones")])
    environ = dict(os.environ)
    apply(environ, environment(root))
    done = subprocess.run([str(made)], env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "status 0, sum 8\n", done
    with pytest.raises(OphookError, match="counted"):
        program.compile(["-xcce", "--cce-aicore-arch=dav-c220-cube", "-c", source, "-o", str(tmp_path / "none.o")])


@pytest.mark.parametrize("option", ["-O2", "-fno-rtti"])
def test_a_source_that_asks_for_its_core_is_compiled_for_each(option: str, tmp_path: Path) -> None:
    root = sim.active() or sim.build()
    made = program.compile([option, str(SOURCE.with_name("core_kinds.asc")), "-o", str(tmp_path / "kinds")])
    environ = dict(os.environ)
    apply(environ, environment(root))
    done = subprocess.run([str(made)], env=environ, capture_output=True, text=True, timeout=120, check=False)
    program.compile([option, "-fsyntax-only", "-c", str(SOURCE.with_name("core_kinds.asc"))])
    # The cube core's number, and those of its two vector cores; each with how many of its kind a block has.
    assert done.stdout == "status 0: 1101 2201 2201\nstatus 0: 1102 2202 2202\nstarted 1\n", done


@pytest.mark.parametrize("option", ["-O2", "-O0"])
def test_instructions_tell_on_which_cores_a_kernel_runs(option: str, tmp_path: Path) -> None:
    root = sim.active() or sim.build()
    made = program.compile([option, str(SOURCE.with_name("instructions.asc")), "-o", str(tmp_path / "told")])
    environ = dict(os.environ)
    apply(environ, environment(root))
    done = subprocess.run([str(made)], env=environ, capture_output=True, text=True, timeout=120, check=False)
    # Two cube cores, two vector cores, two vector cores for each of two cube cores, two vector cores.
    wanted = ["1 1 0 0 0", "1 1 0 0 0", "1 1 1 1 0", "1 1 0 0 0"]
    assert (done.stdout, done.stderr) == ("".join(f"status 0: {line}\n" for line in wanted), ""), done


@pytest.mark.parametrize("soc", ["Ascend910B4", "Ascend950PR_9589"])
def test_a_function_of_the_host_and_one_of_the_ai_core_may_have_one_name(soc: str) -> None:
    done = kernel_run("--soc", soc, str(SOURCE.with_name("sides.asc")))
    assert (done.returncode, done.stdout) == (0, "status 0, AI core 106 8 10, host 6 7\n"), done
    done = kernel_run("-DTWICE", "--soc", soc, str(SOURCE.with_name("sides.asc")))
    assert done.returncode and "redefinition of" in done.stderr, done


REGISTERS = SOURCE.with_name("registers.asc")
OF_950 = ("--soc", "Ascend950PR_9589", str(REGISTERS))


def test_registers_of_ascend_950_compute_what_their_pages_say() -> None:
    done = kernel_run(*OF_950)
    assert (done.returncode, done.stdout.strip()) == (0, f"status 0, wrong{' 0' * 12}"), done.stdout + done.stderr


@pytest.fixture(scope="module")
def faults() -> subprocess.CompletedProcess[str]:
    """Both, compiled once."""
    return kernel_run(*OF_950, "1", "2")


@pytest.mark.parametrize(
    ("fault", "line", "told"),
    [
        ("1", "Reg::LoadAlign(a, x);", "LoadAlign: the source begins at byte 1537 of local memory, no multiple of 32"),
        ("2", "Reg::StoreAlign(out + i * 64, b, all);", "StoreAlign: the destination: bytes 0 to 256 of a tensor of"),
    ],
)
def test_what_registers_may_not_reach_is_told_with_its_line(
    faults: subprocess.CompletedProcess[str], fault: str, line: str, told: str
) -> None:
    lines = [number for number, text in enumerate(REGISTERS.read_text().splitlines(), 1) if line in text]
    ended = faults.stdout.splitlines()
    assert faults.returncode == 3 and len(ended) == 2 and ended[int(fault) - 1].startswith("status 507015"), faults
    assert any(f"registers.asc:{number}: error: {told}" in faults.stderr for number in lines), faults.stderr


WRONG = {
    "Reg::Sub<float, Reg::MaskMergeMode::MERGING>(f, f, f, mask)": "Sub: this merge mode is not supported",
    "Reg::Exp(i, i, mask)": "Exp has not this data type",
    "Reg::Add<half>(f, f, f, mask)": "Add: T is the registers' data type",
    "Reg::Cast(u, f, mask)": "Cast has not this pair of data types",
    "Reg::LoadAlign<float, Reg::LoadDist::DIST_DINTLV_B32>(f, at)": "this distribution fills two registers",
    "AscendC::Mmad(f, f, f, {})": "Mmad",  # the cube unit is another one
}


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is told of all of them, three in a source: of no more than five errors a line is shown."""
    told = ""
    for at in range(0, len(WRONG), 3):
        source = tmp_path_factory.mktemp("wrong") / "wrong.asc"
        source.write_text(
            '#include "kernel_operator.h"\nnamespace Reg = AscendC::Reg;\n'
            "void f(float* at, Reg::RegTensor<float> f, Reg::RegTensor<int32_t> i, Reg::RegTensor<uint16_t> u) {\n"
            "  auto mask = Reg::CreateMask<float>();\n"
            + "".join(f"  {call};\n" for call in list(WRONG)[at : at + 3])
            + "}\n"
        )
        with pytest.raises(OphookError) as error:
            program.compile(["--npu-arch=dav-3510", "-fsyntax-only", "-c", str(source)])
        told += str(error.value)
    return told


@pytest.mark.parametrize("call", WRONG)
def test_what_registers_cannot_do_does_not_compile(refused: str, call: str) -> None:
    assert re.search(f"error: .*{re.escape(WRONG[call])}", refused), refused


def test_a_kernel_runs_on_the_product_that_it_was_compiled_for(tmp_path: Path) -> None:
    root = sim.active() or sim.build()
    made = program.compile(["--npu-arch=dav-2201", str(SOURCE), "-o", str(tmp_path / "scale")])
    environ = dict(os.environ)
    apply(environ, environment(root, soc="Ascend950PR_9589"))
    done = subprocess.run([str(made)], env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode and "was compiled with --npu-arch=dav-2201; the device is an Ascend950PR_9589" in done.stderr


def test_a_program_is_checked_like_a_project(tmp_path: Path) -> None:
    shutil.copy(SOURCE, tmp_path)
    command = [sys.executable, "-m", "ophook_npu", "kernel", "check", str(tmp_path)]  # a folder of programs
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "scale: 3 runs, 0 failed; 0 errors, 0 others" in done.stdout, done
    (result,) = program.check(SOURCE)
    assert (result.operator, result.failed) == ("scale", False)
    assert [case.label for case in result.outcomes] == ["launch 1 of scale", "launch 2 of who", "launch 3 of doubled"]
    with pytest.raises(OphookError, match="chooses its cores itself"):
        program.check(SOURCE, cores=2)


def test_a_fault_is_told_with_its_line_and_fails_the_stream() -> None:
    done = kernel_run("-DFAULT", str(SOURCE))
    line = next(i for i, text in enumerate(SOURCE.read_text().splitlines(), 1) if "AscendC::Muls" in text)
    assert done.returncode == 3 and done.stdout.startswith("status 507015"), done
    assert f"scale.asc:{line}: error: Muls: pipe V reads what pipe MTE2 writes" in done.stderr
    # The program does not wait for what it launches after the failure.
    assert re.search(r"\d launch(es)?; 1 error, 0 others", done.stderr), done.stderr


def test_a_plain_access_to_no_memory_and_a_full_stack_fail_the_stream_and_not_the_program(tmp_path: Path) -> None:
    source = tmp_path / "astray.asc"
    source.write_text("""
#include <cstdio>
#include "acl/acl.h"
#include "kernel_operator.h"
int deeper(int n, volatile int* p) {
  volatile char room[4096];
  room[0] = n;
  return n ? deeper(n - 1, p) + room[0] : *p;
}
extern "C" __global__ __aicore__ void store(GM_ADDR at, uint64_t beyond) {
  AscendC::TPipe pipe;  // has a destructor, which no signal may leave out
  if (beyond == 1) *reinterpret_cast<volatile int*>(at) = deeper(1000, reinterpret_cast<volatile int*>(at));
  if (AscendC::GetBlockIdx() == 1) *reinterpret_cast<__gm__ int32_t*>(beyond ? beyond : uint64_t(at)) = 7;
}
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtStream stream;
  aclrtCreateStream(&stream);
  void* memory;
  aclrtMalloc(&memory, 512, ACL_MEM_MALLOC_HUGE_FIRST);
  for (const uint64_t beyond : {0, 64, 1, 0}) {
    store<<<3, nullptr, stream>>>(static_cast<uint8_t*>(memory), beyond);
    printf("%d ", aclrtSynchronizeStream(stream));
  }
  int32_t value = 0;
  aclrtMemcpy(&value, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST);
  printf("%d\\n", value);
}
""")
    done = kernel_run(str(source))
    assert (done.returncode, done.stdout) == (1, "0 507015 507015 0 7\n"), done
    assert "the kernel uses the address 0x40, where no memory is" in done.stderr
    assert "the kernel uses up its stack" in done.stderr


def test_what_is_freed_before_a_kernel_runs_fails_the_stream() -> None:
    done = kernel_run("-DFREED", str(SOURCE))
    # What other streams print before or after it, as their kernels run on.
    assert done.returncode == 3 and re.search("^status 507015", done.stdout, re.M), done
    assert "scale: argument 1, 0x" in done.stderr and "was freed before the kernel ran" in done.stderr, done.stderr


def test_a_language_holds_for_the_sources_behind_it(tmp_path: Path) -> None:
    (tmp_path / "kernel.cpp").write_text(
        """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void answer(GM_ADDR z) { *reinterpret_cast<__gm__ int32_t*>(z) = 42; }
extern "C" void start(void* stream, uint8_t* z) { answer<<<1, nullptr, stream>>>(z); }
"""
    )
    (tmp_path / "main.cpp").write_text(
        """#include <cstdint>
#include "acl/acl.h"
#ifdef __CCE__
#error this one is the host's alone
#endif
extern "C" void start(void* stream, uint8_t* z);
int main() {
  int32_t answer = 0;
  void* z = nullptr;
  aclInit(nullptr), aclrtSetDevice(0), aclrtMalloc(&z, 32, ACL_MEM_MALLOC_HUGE_FIRST);
  start(nullptr, static_cast<uint8_t*>(z));
  if (aclrtSynchronizeStream(nullptr)) return 1;
  aclrtMemcpy(&answer, 4, z, 4, ACL_MEMCPY_DEVICE_TO_HOST);
  return answer;
}
"""
    )
    kernel, main = str(tmp_path / "kernel.cpp"), str(tmp_path / "main.cpp")
    program.compile(["-x", "cce", kernel, "-x", "c++", main, "-lascendcl", "-o", str(tmp_path / "both")])
    assert subprocess.run([str(tmp_path / "both")], timeout=60).returncode == 42
    program.compile(["-xasc", kernel, "-x", "none", main, "-lascendcl", "-o", str(tmp_path / "none")])
    assert subprocess.run([str(tmp_path / "none")], timeout=60).returncode == 42


def test_the_name_of_a_kernel_is_its_launch_to_other_sources(tmp_path: Path) -> None:
    (tmp_path / "kernel.asc").write_text(
        """#include "kernel_operator.h"
extern "C" __global__ __vector__ void twice(GM_ADDR z, int32_t value) {
  *reinterpret_cast<__gm__ int32_t*>(z) = value * 2;
}
__global__ __vector__ void less(GM_ADDR z) { *reinterpret_cast<__gm__ int32_t*>(z) -= 1; }
extern "C" {
__global__ __vector__ void more(GM_ADDR z) { *reinterpret_cast<__gm__ int32_t*>(z) += AscendC::GetBlockNum(); }
}
"""
    )
    (tmp_path / "other.asc").write_text(
        """#include "kernel_operator.h"
extern "C" __global__ __vector__ void more(GM_ADDR z);
void launch(void* stream, uint8_t* z) { more<<<1, nullptr, stream>>>(z); }
"""
    )
    (tmp_path / "main.cpp").write_text(
        """#include <cstdint>
#include "acl/acl.h"
extern "C" void twice(uint32_t blocks, void* l2ctrl, aclrtStream stream, uint8_t* z, int32_t value);
void more(uint32_t blocks, void* l2ctrl, aclrtStream stream, uint8_t* z);
void less(uint32_t blocks, void* l2ctrl, aclrtStream stream, uint8_t* z);
void launch(void* stream, uint8_t* z);
int main() {
  int32_t answer = 0;
  void* z = nullptr;
  aclInit(nullptr), aclrtSetDevice(0), aclrtMalloc(&z, 32, ACL_MEM_MALLOC_HUGE_FIRST);
  twice(1, nullptr, nullptr, static_cast<uint8_t*>(z), 20);
  less(1, nullptr, nullptr, static_cast<uint8_t*>(z));
  more(1, nullptr, nullptr, static_cast<uint8_t*>(z));
  launch(nullptr, static_cast<uint8_t*>(z));
  if (aclrtSynchronizeStream(nullptr)) return 1;
  aclrtMemcpy(&answer, 4, z, 4, ACL_MEMCPY_DEVICE_TO_HOST);
  return answer + 1;
}
"""
    )
    sources = [str(tmp_path / name) for name in ("kernel.asc", "other.asc")]
    program.compile([*sources, "-x", "none", str(tmp_path / "main.cpp"), "-lascendcl", "-o", str(tmp_path / "main")])
    assert subprocess.run([str(tmp_path / "main")], timeout=60).returncode == 42


def test_cmake_knows_the_language(tmp_path: Path) -> None:
    root = sim.active()
    assert root is not None and shutil.which("cmake"), "cmake is what the test is about"
    shutil.copy(SOURCE, tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\n"
        "find_package(ASC REQUIRED)\n"
        "project(scale LANGUAGES ASC CXX)\n"
        "add_executable(demo scale.asc)\n"
        "target_compile_options(demo PRIVATE $<$<COMPILE_LANGUAGE:ASC>:--npu-arch=dav-2201>)\n"
        "target_link_libraries(demo PRIVATE tiling_api register platform m dl)\n"
    )
    environ = dict(os.environ)
    apply(environ, environment(root))
    script = "cmake -B build && cmake --build build && ./build/demo"
    done = subprocess.run(
        ["bash", "-ec", script], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0 and f"{PRINTED}\n{RIGHT}" in done.stdout, done.stdout + done.stderr


def test_cmake_takes_the_toolkits_compiler_for_c_and_cpp(tmp_path: Path) -> None:
    root = sim.active()
    assert root is not None
    (tmp_path / "one.c").write_text("#ifdef __cplusplus\n#error\n#endif\nint one(int class) { return class; }\n")
    (tmp_path / "main.cpp").write_text('extern "C" int one(int);\nint main() { return one(0); }\n')
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\n"
        f'set(TOOLS "$ENV{{ASCEND_HOME_PATH}}/{platform.machine()}-linux/ccec_compiler/bin")\n'
        'set(CMAKE_C_COMPILER "${TOOLS}/bisheng")\n'
        'set(CMAKE_CXX_COMPILER "${TOOLS}/bisheng")\n'
        "project(demo LANGUAGES C CXX)\n"
        "add_executable(demo one.c main.cpp)\n"
    )
    environ = dict(os.environ)
    apply(environ, environment(root))
    script = "cmake -B build && cmake --build build && ./build/demo"
    done = subprocess.run(
        ["bash", "-ec", script], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0 and "C compiler identification is GNU" in done.stdout, done.stdout + done.stderr


# A source that takes the compiler's names for absent, and a member that has the name of a type that its class used.
OF_CLANG = """
#ifndef EVENT_ID0
#define EVENT_ID0 0
#endif
#include "kernel_operator.h"
enum class KIND { ONE };
template <KIND kind>
struct Of {
  static constexpr bool KIND = kind == KIND::ONE;
  int64_t word = KIND;
};
extern "C" __global__ __aicore__ void f(GM_ADDR x) { *x = Of<KIND::ONE>().word; }
"""


def test_what_the_devices_compiler_takes_and_gcc_does_not(tmp_path: Path) -> None:
    source, made = tmp_path / "of_clang.asc", tmp_path / "of_clang.o"
    source.write_text(OF_CLANG)
    program.compile([str(source), "-c", "-o", str(made)])
    assert made.stat().st_size
    source.write_text(f"{OF_CLANG}\nint* g(const int* x) {{ return x; }}\n")  # an error that GCC may let pass, too
    with pytest.raises(OphookError, match=r"invalid conversion from .const int\*. to .int\*."):
        program.compile([str(source), "-c", "-o", str(made)])


def test_errors_name_the_line(tmp_path: Path) -> None:
    source = tmp_path / "wrong.asc"
    source.write_text('#include "kernel_operator.h"\n\n__global__ void f() {\n  AscendC::GetTPipePtr();\n}\n')
    with pytest.raises(OphookError, match=r"wrong\.asc:4:\d+: error: .GetTPipePtr. is not a member of .AscendC"):
        program.compile([str(source), "-c", "-o", str(tmp_path / "wrong.o")])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--npu-arch=dav-1", str(SOURCE)], "--npu-arch=dav-1.*dav-2201"),
        (["--cce-aicore-arch=dav-c100", str(SOURCE)], "--cce-aicore-arch=dav-c100.*dav-c220"),
        (["-cce-enable-plugin", "-cce-aicore-arch=dav-c100", str(SOURCE)], "--cce-aicore-arch=dav-c100.*dav-c220"),
        (["--enable-simt", str(SOURCE)], "SIMT"),
        (["-E", str(SOURCE)], "-E is not simulated"),
        (["-o"], "-o needs a value"),
        (["-O2"], "no input file"),
        (["missing.asc"], "no such file: missing.asc"),
    ],
)
def test_the_driver_refuses(arguments: list[str], message: str) -> None:
    with pytest.raises(OphookError, match=message):
        program.compile(arguments)


@pytest.mark.parametrize("profiler", [["msopprof"], ["msprof", "op"]])
def test_a_profile_says_what_each_kernel_moves_and_which_pipes_work(tmp_path: Path, profiler: list[str]) -> None:
    root = sim.active() or sim.build()
    made = program.compile([str(SOURCE), "--sanitizer", "-o", str(tmp_path / "scale")])
    environ = dict(os.environ)
    apply(environ, environment(root))
    command = [*profiler, f"--output={tmp_path / 'told'}", str(made), "5"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and RIGHT in done.stdout and "nothing was measured" in done.stdout, done
    (table,) = (tmp_path / "told").glob("OPPROF_*/PipeUtilization.csv")
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert rows and {"scale"} <= {row["Op Name"] for row in rows}, rows
    first = next(row for row in rows if row["Op Name"] == "scale")
    assert int(first["Bytes In"]) > 0 and float(first["Estimated Cycles"]) > 0
    assert 0 < float(first["MTE2 Ratio (Estimate)"]) <= 1
    refused = subprocess.run(
        ["msopprof", "--aic-metrics=Roofline", str(made)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode == 2 and "--aic-metrics is not simulated" in refused.stderr


_NO_GROUP = """
#include "acl/acl.h"
#include "kernel_operator.h"

__global__ __vector__ void joins(uint32_t unused)
{
    Mc2InitTiling tiling = {};
    AscendC::Hccl hccl;
    hccl.InitV2(AscendC::GetHcclContext<0>(), &tiling);
}

int main()
{
    aclInit(nullptr);
    aclrtSetDevice(0);
    joins<<<1, nullptr, nullptr>>>(0);
    return aclrtSynchronizeStream(nullptr);
}
"""


def test_a_kernel_of_a_program_has_no_group(tmp_path: Path) -> None:
    (tmp_path / "joins.asc").write_text(_NO_GROUP)
    done = kernel_run(str(tmp_path / "joins.asc"))
    told = "joins.asc:9: error: InitV2: the context is null: the operator's host side has no MC2().HcclGroup for it"
    assert done.returncode and told in done.stderr, done
