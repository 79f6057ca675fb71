"""Sample projects' ways to run a kernel: as a function of the program on the CPU, or by ACLRT_LAUNCH_KERNEL."""

import os
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from ophook_npu import sim, toolchain
from ophook_npu.sim import twin
from ophook_npu.sim.variables import apply, environment

PROJECT = Path(__file__).parent / "programs" / "invocation"
RIGHT = "the same, {} vector cores: 7 6 6"


def in_toolkit(command: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    root = sim.active()
    assert root is not None and shutil.which("cmake"), "cmake is what the tests are about"
    # By this name CMake finds the compiler that made what is in the cache, and the library of kernels with it.
    environ = {"CXX": shlex.join(toolchain.compiler())} | os.environ | more
    apply(environ, environment(root))
    return subprocess.run(
        ["bash", "-ec", command],
        cwd=folder,
        env=environ | more,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def built(tmp_path: Path, mode: str, kind: str, soc: str) -> Path:
    said = f"-DRUN_MODE={mode} -DKIND={kind} -DSOC_VERSION={soc} -DCMAKE_INSTALL_PREFIX={tmp_path}/out"
    done = in_toolkit(f"cmake -S {PROJECT} -B build {said} && cmake --build build && cmake --install build", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    return tmp_path / "build" / "run"


def test_a_kernel_runs_as_a_function_on_the_processor_of_its_target(tmp_path: Path) -> None:
    program = built(tmp_path, "cpu", "SHARED", "ascend910B1")
    done = subprocess.run([program], env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=False)
    # Ascend910B1 has 48, whatever runs the tests. Barriers may be left out there.
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, RIGHT.format(48), ""), done
    done = in_toolkit(str(program), tmp_path, OPHOOK_KERNEL_STRICT="1")
    assert "pipe V reads what pipe MTE2 writes" in done.stderr and RIGHT.format(48) in done.stdout, done
    done = in_toolkit(f"{program} more", tmp_path)
    assert done.returncode == 1 and "of device memory that belong to no argument" in done.stderr, done
    assert done.stderr.endswith("2 of 2 kernel launches had errors\n"), done.stderr


@pytest.mark.parametrize(("kind", "soc", "cores"), [("STATIC", "Ascend910B4", 40), ("SHARED", "Ascend950PR_9589", 64)])
def test_a_kernel_is_launched_from_a_source_that_a_host_compiler_compiles(
    kind: str, soc: str, cores: int, tmp_path: Path
) -> None:
    program = built(tmp_path, "npu", kind, soc)
    done = in_toolkit(str(program), tmp_path, OPHOOK_SIM_SOC=soc)
    assert (done.returncode, done.stdout.strip()) == (0, f"status 0\n{RIGHT.format(cores)}"), done
    assert (tmp_path / "out" / "include" / "kernels" / "aclrtlaunch_scaled.h").is_file()
    assert len(list((tmp_path / "build" / "lib").glob("libkernels.*"))) == 1
    assert "status 507015" in in_toolkit(f"{program} more", tmp_path, OPHOOK_SIM_SOC=soc).stdout


_FILLED = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void filled(GM_ADDR y, __gm__ float* z, float value) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  AscendC::GlobalTensor<float> to;
  to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), 1);
  to.SetValue(0, value);
  to.SetGlobalBuffer(z, 1);
  to.SetValue(0, value + 1);
  AscendC::DataCacheCleanAndInvalid<float, AscendC::CacheLine::SINGLE_CACHE_LINE>(to);
}
extern "C" void fill(%s y, double* z, float value, void* stream) { filled<<<1, nullptr, stream>>>(y, z, value); }
"""


def test_a_launch_in_a_source_of_a_library_takes_pointers_to_anything(tmp_path: Path) -> None:
    lists = PROJECT.joinpath("CMakeLists.txt").read_text().partition("add_executable")[0].replace("scaled", "filled")
    (tmp_path / "CMakeLists.txt").write_text(lists.replace("-DHAVE_WORKSPACE -DHAVE_TILING", ""))
    (tmp_path / "filled.cpp").write_text(_FILLED % "void*")
    build = "cmake -S . -B build -DRUN_MODE=npu -DKIND=SHARED -DSOC_VERSION=Ascend910B4 && cmake --build build"
    done = in_toolkit(build, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert in_toolkit("nm -D build/lib/libkernels.so", tmp_path).stdout.count(" T fill\n") == 1
    (tmp_path / "filled.cpp").write_text(_FILLED % "const void*")  # nor does a function with void* take it
    done = in_toolkit(build, tmp_path)
    assert done.returncode != 0 and "invalid conversion from ‘const void*’" in done.stdout + done.stderr, done
    # A compiler's own launch is a call of the kernel, by C++'s rules.
    (tmp_path / "filled.cpp").write_text(_FILLED % "void*")
    done = in_toolkit("bisheng -x asc -c filled.cpp -o filled.o", tmp_path)
    assert done.returncode != 0 and "invalid conversion from ‘void*’" in done.stderr, done


def test_the_compiler_makes_archives_and_takes_the_processor_and_the_mode(tmp_path: Path) -> None:
    source = f"-x asc -DOFFSETS=1 {PROJECT / 'scaled.cpp'}"
    archive = "bisheng -lib --npu-soc=Ascend950PR_9589 {} -o libkernels.a && nm -g --defined-only libkernels.a"
    assert " T aclrtlaunch_scaled" in in_toolkit(archive.format(source), tmp_path).stdout
    done = in_toolkit(f"bisheng --run-mode=chip -c {source}", tmp_path)
    assert done.returncode == 1 and "--run-mode=chip; allowed: npu, sim, cpu" in " ".join(done.stderr.split()), done
    scale = PROJECT.parent / "asc" / "scale.asc"  # it launches with <<<…>>>
    done = in_toolkit(f"bisheng --run-mode=cpu -include cpu_debug_launch.h {scale} -o scale && ./scale", tmp_path)
    assert done.returncode == 0 and "wrong 0, cube cores 4, vector cores 8" in done.stdout, done


def test_the_hosts_compiler_links_what_holds_kernels(tmp_path: Path) -> None:
    """CANN's libascendc_runtime.a is what such an object needs; with --shared the driver links by itself."""
    scale, toolkit = PROJECT.parent / "asc" / "scale.asc", "-L$ASCEND_HOME_PATH/lib64 -lascendcl -lruntime"
    linked = f"bisheng -c {scale} -o scale.o && g++ scale.o {toolkit} -lascendc_runtime -o scale && ./scale"
    # A driver that gets the library as well has its functions once.
    linked += f" && bisheng scale.o {toolkit} -lascendc_runtime -o both && ./both | tail -1"
    done = in_toolkit(linked, tmp_path)
    assert done.returncode == 0 and done.stdout.count("wrong 0, cube cores 4, vector cores 8") == 2, done
    source = tmp_path / "flags.cpp"
    source.write_text(
        "#if __NPU_ARCH__ != ARCH\n#error\n#endif\n#include <runtime/rt_ffts.h>\n"
        'extern "C" int flags() { uint64_t at = 0; uint32_t bytes = 0; return rtGetC2cCtrlAddr(&at, &bytes) || !at; }\n'
    )
    used = "bisheng -xcce --cce-aicore-arch=dav-c310-vec -DARCH=3510 -fsyntax-only -c flags.cpp"
    used += f" && bisheng -xasc --shared -DARCH=2201 flags.cpp {toolkit} -o libflags.so"
    used += " && python -c 'import ctypes; print(ctypes.CDLL(\"./libflags.so\").flags())'"
    done = in_toolkit(used, tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "0"), done


_THREADS = """cmake_minimum_required(VERSION 3.16)
project(threads CXX)
set(CMAKE_CXX_STANDARD 17)
list(APPEND CMAKE_PREFIX_PATH $ENV{ASCEND_HOME_PATH}/tools/tikicpulib/lib/cmake)
find_package(tikicpulib REQUIRED)
add_executable(threads main.cpp %s)
target_link_libraries(threads PRIVATE tikicpulib::ascend950)
target_compile_options(threads PRIVATE $<$<BOOL:${PIPED}>:-pipe>)
"""
_CALLER = """#include <cstdio>
#include "tikicpulib.h"
extern "C" void reversed(GM_ADDR x, GM_ADDR y);
int main(int argc, char**) {
  assert(argc == 1);
  float* x = static_cast<float*>(AscendC::GmAlloc(512));
  float* y = static_cast<float*>(AscendC::GmAlloc(512));
  for (int i = 0; i < 128; ++i) x[i] = float(i);
  AscendC::SetKernelMode(KernelMode::AIV_MODE);
  ICPU_RUN_KF(reversed, 2, reinterpret_cast<GM_ADDR>(x), reinterpret_cast<GM_ADDR>(y));
  int wrong = 0;
  for (int i = 0; i < 128; ++i) wrong += y[i] != float(i / 64 * 64 + 63 - i % 64);
  std::printf("wrong %d\\n", wrong);
}
"""


def test_functions_of_threads_run_in_a_program_of_the_hosts_compiler(tmp_path: Path) -> None:
    kernel = Path(__file__).parents[1] / "unit" / "kernel" / "ascend950.cpp"
    (tmp_path / "CMakeLists.txt").write_text(_THREADS % kernel)
    (tmp_path / "main.cpp").write_text(_CALLER)
    how = "-DCMAKE_BUILD_TYPE=Release -DPIPED=ON"
    done = in_toolkit(f"cmake {how} -B build . && cmake --build build && ./build/threads", tmp_path)
    assert done.returncode == 0 and done.stdout.endswith("wrong 0\n"), done.stdout + done.stderr
    done = in_toolkit("exec ./build/threads more", tmp_path)
    assert done.returncode == -signal.SIGABRT and "Assertion `argc == 1' failed" in done.stderr, done


def test_each_processor_has_its_target() -> None:
    names = twin.names()
    assert {names[name] for name in ("Ascend910B3", "ascend910B3", "ascend910b3")} == {"Ascend910B3"}
    assert names["ascend950"] == names["Ascend950PR_9599"] == "Ascend950PR_9589"
