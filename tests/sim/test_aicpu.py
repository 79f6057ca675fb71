"""AI CPU operators of a project's own: built by the compilers of the toolkit, found in their package, run in graphs and
by type; and what a device says of a kernel that fails.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ophook_npu import sim, toolchain
from ophook_npu.errors import OphookError
from ophook_npu.sim import program as programs
from ophook_npu.sim.variables import apply, environment

Run = Callable[..., subprocess.CompletedProcess[str]]

PROJECT = Path(__file__).parent / "programs" / "aicpu"
INFO = {
    "engine": "DNN_VM_AICPU", "flagPartial": "False", "computeCost": "100", "flagAsync": "False",
    "opKernelLib": "CUSTAICPUKernel", "kernelSo": "libcust_aicpu_kernels.so", "functionName": "RunCpuKernel",
    "userDefined": "True",
}  # fmt: skip
CONFIG = {
    "Weigh": {"opInfo": INFO, "input0": {"name": "x", "type": "DT_FLOAT"}},
    "Number": {"opInfo": {**INFO, "flagSupportBlockDim": "True", "blockDimByIndex": "0"}},
    "Positive": {"opInfo": {**INFO, "subTypeOfInferShape": "3"}},
    "Own": {"opInfo": {**INFO, "subTypeOfInferShape": "4"}},
}


def compiled(*command: str | Path) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def root() -> Path:
    return sim.active() or sim.build()


@pytest.fixture(scope="module")
def package(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As the CMake files of the vendor's projects put one together."""
    package = tmp_path_factory.mktemp("opp") / "customize"
    kernels, config = package / "op_impl/cpu/aicpu_kernel/impl", package / "op_impl/cpu/config"
    for folder in (kernels, config, package / "op_proto"):
        folder.mkdir(parents=True)
    (config / "cust_aicpu_kernel.json").write_text(json.dumps(CONFIG, indent=4))
    cross, built_in = root / "toolkit/toolchain/hcc/bin/aarch64-target-linux-gnu-g++", root / "opp/built-in"
    object_, aicpu = kernels.parent / "kernels.o", built_in / "op_impl/aicpu/aicpu_kernel"
    compiled(cross, "-std=c++11", "-fPIC", f"-I{aicpu / 'inc'}", "-c", PROJECT / "kernels.cc", "-o", object_)
    archive = aicpu / "lib" / "Ascend" / "libcpu_kernels_context.a"
    links = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-Wl,-Bsymbolic", "-s"]
    compiled(cross, "-fPIC", "-shared", "-o", kernels / "libcust_aicpu_kernels.so", object_, *links)
    flags = ["-std=c++11", "-w", "-fPIC", "-shared", "-D_GLIBCXX_USE_CXX11_ABI=0", f"-I{root / 'compiler' / 'include'}"]
    library = package / "op_proto" / "libcust_op_proto.so"
    compiled(*toolchain.compiler(), *flags, PROJECT / "proto.cc", root / "lib64/libgraph.so", "-o", library)
    return package


@pytest.fixture(scope="module")
def program(root: Path, package: Path) -> Path:
    out = package.parent / "run"
    links = [f"-L{root / 'lib64'}", "-lgraph", "-lge_runner", "-lascendcl", "-lacl_op_compiler", "-lgraph_base"]
    flags = ["-std=c++17", "-w", f"-I{root / 'include'}"]
    compiled(*toolchain.compiler(), *flags, PROJECT / "run.cc", *links, "-o", out)
    return out


def run(program: Path, package: Path, *what: str, **more: str) -> str:
    environ = dict(os.environ)
    apply(environ, environment(sim.active() or sim.build()))
    environ |= {"ASCEND_CUSTOM_OPP_PATH": str(package), **more}
    done = subprocess.run([program, *what], env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_graph_that_a_program_builds_runs_them(program: Path, package: Path) -> None:
    assert run(program, package, "weigh").endswith("-2.5 -1 1.5 5 \n")


def test_a_graph_takes_the_shape_that_a_kernel_tells(program: Path, package: Path) -> None:
    assert run(program, package, "positive").endswith("-1 -3 -4 \n")


OFFLINE = """
import subprocess
import acl, numpy, torch, torch_npu, torchair
library = torch.library.Library("user", "DEF")
library.define("weigh(Tensor x, Tensor w) -> Tensor")
library.impl("weigh", lambda x, w: torch.empty_like(x), "Meta")

@torchair.register_fx_node_ge_converter(torch.ops.user.weigh.default)
def convert(x, w, meta_outputs=None):
    return torchair.ge.custom_op("Weigh", inputs={"x": x, "w": w}, outputs=["y"])

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.ops.user.weigh(x + 1, x) * 2

x = torch.arange(4.0)
torchair.dynamo_export(x.npu(), model=Model(), export_path="out", dynamic=False)
command = ["atc", "--framework=1", "--model=out/export.air", "--output=model", "--soc_version=Ascend910B4"]
subprocess.run(command, check=True)
model, _ = acl.mdl.load_from_file("model.om")
given, made = acl.mdl.create_dataset(), acl.mdl.create_dataset()
tensors = [x.npu(), torch.zeros(4).npu()]
for of, tensor in zip((given, made), tensors):
    acl.mdl.add_dataset_buffer(of, acl.create_data_buffer(tensor.data_ptr(), 16))
torch.npu.synchronize()
print(acl.mdl.execute(model, given, made), tensors[1].cpu().tolist(), ((x + 1) * x * 2 + 3) * 2)
"""


def test_an_offline_model_runs_them_in_the_data_types_of_the_model(run_sim: Run, package: Path, tmp_path: Path) -> None:
    """The converter computes in float16 where AI cores can."""
    told = run_sim(f"import os\nos.chdir({str(tmp_path)!r})\n{OFFLINE}", ASCEND_CUSTOM_OPP_PATH=str(package))
    assert "\n0 [6.0, 14.0, 30.0, 54.0] tensor([ 6., 14., 30., 54.])\n" in told.stdout, told.stdout + told.stderr


def test_one_runs_by_its_type(program: Path, package: Path) -> None:
    told = run(program, package, "Weigh", "plain")
    assert told == "launched 0 done 0 shape 8\n5 11 21 35 53 75 101 131 \n"
    assert run(program, package, "Weigh", "host") == told
    told = run(program, package, "Positive", "")
    assert told == "launched 0 done 0 shape 4\n1 3 5 7 \n"


def test_one_that_may_be_cut_is_run_for_each_block(program: Path, package: Path) -> None:
    """There are six AI CPUs. Its inference says nothing, so its output is what the program describes."""
    told = run(program, package, "Number", "")
    assert told == "launched 0 done 0 shape 8\n600 601 602 602 603 604 605 605 \n"


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (("Weigh", "whole"), "the AI CPU kernel of Weigh (Weigh): Compute returned 7"),
        (("Weigh", "throw"), "the AI CPU kernel of Weigh (Weigh): it throws: it was told to"),
        (("Weigh", "late"), "the AI CPU kernel of Weigh (Weigh): it throws: in the last part"),
        (("Weigh", "astray"), "the AI CPU kernel of Weigh (Weigh): it uses an address where no memory is"),
        (("Weigh", "divide"), "the AI CPU kernel of Weigh (Weigh): it divides by 0"),
    ],
)
def test_a_kernel_that_fails_is_an_exception_of_the_device(
    program: Path, package: Path, what: tuple[str, str], why: str
) -> None:
    """It is launched, and the stream says so later; the program goes on."""
    told = run(program, package, *what)
    assert told.startswith("launched 0 done 507018 ") and why in told


def test_a_shape_without_room_is_refused(program: Path, package: Path) -> None:
    told = run(program, package, "Positive", "many")
    assert told.startswith("launched 507018 ")
    assert "it tells the shape float32[9] of output 0, which has room for float32[8]" in told


def test_one_that_allocates_its_outputs_is_refused_by_name(program: Path, package: Path) -> None:
    told = run(program, package, "Own", "")
    assert told.startswith("launched 100000 ") and "opInfo.subTypeOfInferShape=4), which is not simulated" in told


def test_a_library_of_another_machine_is_refused_with_the_compiler_to_take(
    program: Path, package: Path, tmp_path: Path
) -> None:
    other = tmp_path / "customize"
    subprocess.run(["cp", "-r", package, other], check=True)
    library = other / "op_impl/cpu/aicpu_kernel/impl/libcust_aicpu_kernels.so"
    image = bytearray(library.read_bytes())
    image[18:20] = (0xFEFE).to_bytes(2, "little")  # e_machine
    library.write_bytes(image)
    told = run(program, other, "Weigh", "plain")
    assert f"its AI CPU kernel cannot be loaded: {library} is compiled for another processor than the host's" in told
    assert "TOOLCHAIN_DIR=$ASCEND_HOME_PATH/toolkit" in told


def test_its_lines_are_in_the_log(program: Path, package: Path) -> None:
    told = run(program, package, "Weigh", "plain", ASCEND_LOG_PRINT_TO_STDOUT="1", ASCEND_GLOBAL_LOG_LEVEL="2")
    assert "[WARNING] AICPU" in told and "Weigh with mode plain" in told


# ---- kernels in files named .aicpu ----


def launched(program: Path, what: str) -> str:
    return run(program, program.parent, what)


@pytest.fixture(scope="module")
def tiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As the documents compile one: object by object."""
    folder = tmp_path_factory.mktemp("tiled")
    device = ["--cce-aicpu-L/usr/lib", "--cce-aicpu-laicpu_api"]
    kernel = programs.compile(["-O2", str(PROJECT / "tiling.aicpu"), *device, "-c", "-o", str(folder / "tiling.o")])
    main = programs.compile(["--npu-arch=dav-2201", str(PROJECT / "tiled.asc"), "-c", "-o", str(folder / "main.o")])
    return programs.compile([str(kernel), str(main), "-o", str(folder / "tiled")])


def test_a_kernel_of_an_ai_cpu_tells_an_ai_core_what_to_do(tiled: Path) -> None:
    assert launched(tiled, "0") == "each 8\ncpu 0 core 0 sum 16\n"
    assert launched(tiled, "3") == "cpu 0 core 0 sum 16\n"  # an instance of a template


def test_what_it_returns_and_asserts_fails_its_stream(tiled: Path) -> None:
    told = launched(tiled, "1")
    assert "[ASSERT]` of->fault != 1 ' at " in told and told.endswith("cpu 507018 core 0 sum 0\n")
    assert launched(tiled, "2").endswith("cpu 507018 core 0 sum 0\n")
    assert launched(tiled, "4").endswith("cpu 507018 core 0 sum 0\n")


def test_it_is_not_defined_where_it_is_launched(tmp_path: Path) -> None:
    source = tmp_path / "wrong.asc"
    source.write_text("#include <cstdint>\n__global__ __aicpu__ uint32_t here(void* of) { return of ? 0 : 1; }\n")
    with pytest.raises(OphookError, match=r"wrong.asc:2: the AI CPU kernel here is defined here; allowed: .*\.aicpu"):
        programs.compile([str(source), "-c", "-o", str(tmp_path / "wrong.o")])


def test_cmake_knows_their_language(tmp_path: Path, root: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nfind_package(ASC REQUIRED)\nfind_package(AICPU REQUIRED)\n"
        f"project(demo LANGUAGES ASC AICPU CXX)\nadd_executable(demo {PROJECT}/tiling.aicpu {PROJECT}/tiled.asc)\n"
        "target_compile_options(demo PRIVATE $<$<COMPILE_LANGUAGE:ASC>:--npu-arch=dav-2201>)\n"
    )
    environ = dict(os.environ)
    apply(environ, environment(root))
    for command in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"]):
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert launched(tmp_path / "build" / "demo", "0") == "each 8\ncpu 0 core 0 sum 16\n"
