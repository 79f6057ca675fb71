"""C++ programs as CANN documents them: headers, names of libraries, `examples/aclnn_client`, what clients link to."""

from __future__ import annotations

import configparser
import ctypes
import math
import os
import platform
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu import sim, soc, toolchain
from ophook_npu.npu.installed import torch_npu_wheel
from ophook_npu.sim import headers
from ophook_npu.sim.build import CSRC
from ophook_npu.sim.operators import api, refusals
from ophook_npu.sim.variables import CANN_VERSIONS, home
from ophook_npu.toolchain import exported

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "aclnn_client"
PROGRAMS = Path(__file__).parent / "programs"
PLAIN = {name: os.environ[name] for name in ("HOME", "OPHOOK_NPU_CACHE", "CXX") if name in os.environ}
PLAIN["PATH"] = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
SUM = "21 42 63 84 105 126 on Ascend910B4\n"
SUMS = "".join(f"device {device} has 1 102 203 304\n" for device in range(2))


@pytest.fixture(scope="module")
def root() -> Path:
    active = sim.active()
    assert active is not None
    return active


def _compile(root: Path, source: Path, to: Path, *flags: str) -> str:
    place = [f"-I{root / 'include'}", f"-L{root / 'lib64'}"]
    command = [*toolchain.compiler(), "-std=c++17", "-O0", str(source), *place, *flags, "-o", str(to)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stderr[-3000:]
    return str(to)


def _run(*command: str, devices: int = 1) -> str:
    start = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", "--soc", "Ascend910B4"]
    start += ["--devices", str(devices), "--", *command]
    done = subprocess.run(start, capture_output=True, text=True, env=PLAIN, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


def test_copies_that_check_their_destination(root: Path, tmp_path: Path) -> None:
    source = Path(__file__).parent / "programs" / "checked_copies.cpp"
    flags = ("-Wno-format-truncation", f"-Wl,-rpath,{root / 'lib64'}", "-lc_sec")
    program = _compile(root, source, tmp_path / "copies", *flags)
    assert subprocess.run([program], capture_output=True, text=True, check=False).stdout == "0 failures\n"


def test_the_example_compiles_with_gcc_and_runs(root: Path, tmp_path: Path) -> None:
    """Linked to the libraries that CANN splits its functions over; ``run`` starts it, and so does ``set_env.sh``."""
    libraries = ("-lacl_rt", "-lnnopbase", "-lopapi_math", "-lopapi_nn", "-lopapi_transformer")
    program = _compile(root, EXAMPLE / "add.cpp", tmp_path / "add", *libraries)
    assert _run(program) == SUM
    script = f"source {root}/set_env.sh && {program}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=PLAIN, timeout=200)
    assert (done.returncode, done.stdout) == (0, SUM), done.stderr


@pytest.mark.parametrize("name", ["acl_pages", "acl_queries"])
def test_the_runtime_does_what_its_pages_say(root: Path, tmp_path: Path, name: str) -> None:
    source = Path(__file__).parent / "programs" / f"{name}.cpp"
    program = _compile(root, source, tmp_path / name, "-lacl_rt", "-lacl_tdt_channel", "-lacl_tdt_queue")
    assert _run(program, devices=1 + (name == "acl_queries")) == "all of it\n"


def test_what_the_headers_of_c_declare_the_libraries_have(root: Path) -> None:
    """Each function: simulated, or refused by its name; without its symbol a program would not even be linked."""
    declared = re.compile(r"^(?:ACL_FUNC_VISIBILITY|extern)\s[^;{}()]*?\b(acl\w+|Hccl\w+)\s*\(", re.MULTILINE)
    texts = [
        path.read_text(errors="replace")
        for folder in ("acl", "hccl")
        for path in (root / "include" / folder).glob("*.h")
    ]
    names = {name for text in texts for name in declared.findall(text)}
    libraries = [str(path) for path in (root / "lib64").glob("lib*.so")]
    symbols = subprocess.run(["nm", "-D", "--defined-only", *libraries], capture_output=True, text=True, check=False)
    defined = set(re.findall(r" T (\w+)", symbols.stdout))
    assert len(names) > 500 and not names - defined, sorted(names - defined)


def test_a_program_loads_and_launches_its_own_kernel(root: Path, tmp_path: Path) -> None:
    programs = Path(__file__).parent / "programs"
    binary = tmp_path / "increase.o"
    command = [str(root / "bin" / "bisheng"), "-shared", str(programs / "asc" / "increase.asc"), "-o", str(binary)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stderr
    program = _compile(root, programs / "loaded_kernel.cpp", tmp_path / "loaded", "-lacl_rt")
    assert _run(program, str(binary)) == "1139, 3 parameters, the last has 4 bytes at 16, 0 failures\n"


# The libraries that pages name for these classes, those of older releases, and objects with g++'s older strings.
@pytest.mark.parametrize(
    "flags",
    [
        ("-lmetadef", "-lopp_registry", "-lplatform"),
        ("-lexe_graph", "-lregister", "-ltiling_api", "-lc_sec", "-lgraph_base", "-lplatform"),
        ("-D_GLIBCXX_USE_CXX11_ABI=0", "-lopp_registry", "-lgraph_base", "-lplatform"),
    ],
)
def test_an_author_tests_tiling_and_inference(root: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    """The operator's source is compiled into the test, and the same operator comes out of the package's library."""
    where = (f"-I{CSRC / 'vendor' / 'op_host'}", f"-I{root / 'pkg_inc'}", f"-Wl,-rpath,{root / 'lib64'}")
    program = _compile(root, PROGRAMS / "tiling_unit_test.cpp", tmp_path / "test", *where, *flags, "-ldl")
    library = root / "opp" / "vendors" / "ophook" / "op_impl" / "cpu" / "libophook_op_host.so"
    alone = subprocess.run([program, str(library), "Ascend910B4"], capture_output=True, text=True, env={}, timeout=60)
    assert alone.returncode == 0, alone.stdout + alone.stderr
    own, theirs, misfit, named, of_theirs, *more = alone.stdout.splitlines()
    assert re.fullmatch(r"own: 40 blocks, 240 bytes \d+, 1 workspace of 0", own)
    assert (named, of_theirs, theirs) == (own, theirs, own.replace("own", "theirs"))
    assert [misfit, *more] == ["no broadcast: refused", "inferred: 3x5 of type 27", "by value: key 6"]
    assert _run(program, str(library)) == alone.stdout  # the processor of the device


def test_a_tiling_function_comes_out_of_a_library(root: Path, tmp_path: Path) -> None:
    """A package's, which has a registry of its own, or one that its author linked to that of programs."""
    libraries = ("-ltiling_api", "-lc_sec", "-lgraph_base", "-lregister", "-lunified_dlog", "-lplatform")
    here = f"-Wl,-rpath,{root / 'lib64'}"
    program = _compile(root, PROGRAMS / "tiling_guide.cpp", tmp_path / "guide", *libraries, here)
    shared = ("-shared", "-fPIC", "-D_GLIBCXX_USE_CXX11_ABI=0", here, "-lopp_registry")
    mine = _compile(root, CSRC / "vendor" / "op_host" / "add_custom.cpp", tmp_path / "libmine.so", *shared)
    (tmp_path / "empty.cpp").touch()
    empty = _compile(root, tmp_path / "empty.cpp", tmp_path / "libempty.so", "-shared")
    for library in (root / "opp" / "vendors" / "ophook" / "op_impl" / "cpu" / "libophook_op_host.so", Path(mine)):
        done = subprocess.run([program, str(library)], capture_output=True, text=True, env={}, timeout=60)
        assert (done.returncode, done.stdout) == (0, "tiled, 8 blocks\nrefused, 0 blocks\n"), done.stderr
    done = subprocess.run([program, empty], capture_output=True, text=True, env={}, timeout=60)
    assert done.returncode == 1 and "registers no operators; link it with -lexe_graph or" in done.stderr


def test_the_folder_has_the_names_that_the_package_of_the_runtime_installs(root: Path) -> None:
    listed = (Path(__file__).parent / "toolkit_names.txt").read_text().splitlines()
    told = [line.split(": ") for line in listed if line and not line.startswith("#")]
    names = [
        (place.startswith("-"), f"{place.removeprefix('-')}/{name}") for place, all_ in told for name in all_.split()
    ]
    assert len(names) > 60 and len(dict(names)) == 2
    wrong = [name for absent, name in names if (root / name).exists() == absent]
    assert not wrong, wrong


def test_each_soc_has_its_platform_file(root: Path) -> None:
    """Where the page of atc's --aicore_num has it, and where build scripts read AIC_version."""
    folder = root / home(CANN_VERSIONS[0]) / f"{platform.machine()}-linux" / "data" / "platform_config"
    assert sorted(path.stem for path in folder.iterdir()) == sorted(soc.names())
    told = configparser.ConfigParser()
    told.read(folder / "Ascend910B4.ini")
    assert dict(told["version"]) == {
        "soc_version": "Ascend910B4", "short_soc_version": "Ascend910B", "aic_version": "AIC-C-220",
        "npuarch": "2201",
    }  # fmt: skip
    assert told["SoCInfo"]["cube_core_cnt"] == "20" and told["SoCInfo"]["vector_core_cnt"] == "40"
    assert told["AICoreSpec"]["ub_size"] == "196608" and told["AICoreMemoryRates"]["l2_rate"] == "110"
    instructions = dict(line.split("|") for line in told["AICoreintrinsicDtypeMap"].values())
    assert instructions["Intrinsic_fix_pipe_l0c2out"] == "f32,s32,f16"
    assert "Intrinsic_fix_pipe_l0c2ub" not in instructions


def test_a_component_has_headers_and_libraries_where_programs_look(root: Path, tmp_path: Path) -> None:
    """In the folder of each release, as in the CMake of the vendor's samples: DDK_PATH, NPU_HOST_LIB, INSTALL_DIR."""
    toolkit = root / home(CANN_VERSIONS[0])
    for component in ("runtime", "compiler", "acllib", "atc", "fwkacllib", f"{platform.machine()}-linux"):
        assert (toolkit / component / "include" / "acl" / "acl.h").exists(), component
        for folder in ("lib64", "lib64/stub"):
            assert (toolkit / component / folder / "libascendcl.so").samefile(root / "lib64" / "libascendcl.so")
    for place in (toolkit, toolkit / f"{platform.machine()}-linux"):
        for folder in ("devlib", f"devlib/linux/{platform.machine()}"):
            assert (place / folder / "libascend_hal.so").samefile(root / "lib64" / "libascend_hal.so")
    for package in ("runtime", "metadef", "opbase", "asc-devkit", "bisheng-compiler"):  # operators' builds ask for them
        assert (toolkit / "share" / "info" / package / "version.info").read_text() == "Version=8.5.0\n"
    for name in ("runtime_camodel", "npu_drv_camodel", "pem_davinci"):  # what run.sh -r sim links to
        assert (toolkit / "tools" / "simulator" / "Ascend910B4" / "lib" / f"lib{name}.so").exists()
    runtime = toolkit / "runtime"
    flags = [f"-I{runtime / 'include'}", f"-L{runtime / 'lib64' / 'stub'}", "-lascendcl", "-lacl_cblas"]
    source = tmp_path / "init.cpp"
    source.write_text('#include "acl/acl.h"\n#include "acl/ops/acl_cblas.h"\nint main() { return aclInit(nullptr); }\n')
    command = [*toolchain.compiler(), str(source), *flags, "-o", str(tmp_path / "init")]
    subprocess.run(command, check=True, timeout=100)
    assert _run(str(tmp_path / "init")) == ""


def test_the_list_of_functions_says_which_are_refused(root: Path) -> None:
    told = api(root)
    assert told["aclrtMalloc"] == ("simulated", "") and told["aclmdlBundleUnload"] == ("refused", "acl_mdl.h")
    library = ctypes.CDLL(str(root / "lib64" / "libascendcl.so"))
    assert library.aclmdlBundleUnload(0) == 200001
    assert told["acldvppMalloc"] == ("simulated", "") and told["aclvdecSendFrame"] == ("refused", "acl_dvpp.h")
    assert sum(state == "simulated" for state, _ in told.values()) > 400


def test_one_process_adds_up_over_two_devices(root: Path, tmp_path: Path) -> None:
    program = _compile(root, EXAMPLE / "allreduce.cpp", tmp_path / "allreduce", "-lacl_rt", "-lhccl")
    assert _run(program, devices=2) == SUMS
    start = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", "--devices", "1", "--", program]
    alone = subprocess.run(start, capture_output=True, text=True, env=PLAIN, timeout=200)
    assert alone.returncode == 1 and "HcclCommInitAll: no device 1" in alone.stderr


def test_every_header_is_c_and_declares_what_the_library_has(root: Path, tmp_path: Path) -> None:
    """As C, where a name that C++ alone forgives would not pass, in one compilation; and no function is left out."""
    written = sorted((root / "include" / "aclnnop").glob("*.h"))
    every = "".join(f"#include <aclnnop/{path.name}>\n" for path in written)
    every += "#include <aclnnop/level2/aclnn_gemm.h>\n"
    for name, std, more in (("all.c", "c11", ""), ("all.cpp", "c++17", "#include <hccl/hccl.h>\n")):
        (tmp_path / name).write_text(every + more)
        command = [*toolchain.compiler(), "-x", "c" if name == "all.c" else "c++", f"-std={std}", "-fsyntax-only"]
        command += [f"-I{root / 'include'}", str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-3000:]
    declared = {name for path in written for name in re.findall(r"(\w+)GetWorkspaceSize\(", path.read_text())}
    there = {name.removesuffix("GetWorkspaceSize") for name in exported(root / "lib64" / "libopapi.so")
             if name.endswith("GetWorkspaceSize")}  # fmt: skip
    assert len(there) > 600 and there <= declared


def test_numbers_of_half_precision_in_cpp(root: Path, tmp_path: Path) -> None:
    (tmp_path / "half.cpp").write_text(
        "#include <aclnn/opdev/bfloat16.h>\n#include <aclnn/opdev/fp16_t.h>\n#include <cstdio>\n#include <vector>\n"
        "int main() {\n"
        "  std::vector<op::fp16_t> numbers = {1.0, 0, 2.5f, op::fp16_t(65504)};\n"
        '  for (op::fp16_t one : numbers) std::printf("%g:%04x ", static_cast<float>(one), one.val);\n'
        "  op::fp16_t sum = op::fp16_t(8) + op::fp16_t(0.1);\n"  # rounded, as the device's Adds does
        "  sum *= op::fp16_t(2);\n"
        "  const op::bfloat16 product = op::bfloat16(1.0078125f) * op::bfloat16(3);\n"
        '  std::printf("%g %g %04x", float(sum), float(product), op::bfloat16(0.1).value);\n'
        "}\n"
    )
    program = _compile(root, tmp_path / "half.cpp", tmp_path / "half", "-lascendcl", f"-Wl,-rpath,{root / 'lib64'}")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "1:3c00 0:0000 2.5:4100 65504:7bff 16.2031 3.03125 3dcd"), done.stderr


def test_a_program_asks_for_its_processor_and_writes_into_the_log(root: Path, tmp_path: Path) -> None:
    (tmp_path / "asks.cpp").write_text(
        "#include <aclnn/opdev/platform.h>\n#include <acl/acl.h>\n#include <cstdio>\n"
        'extern "C" void DlogRecord(int module, int level, const char* format, ...) __attribute__((weak));\n'
        'extern "C" void DlogFlush();\n'
        "int main() {\n"
        "  if (aclInit(nullptr) || aclrtSetDevice(0) || !DlogRecord) return 1;\n"
        "  const auto& now = op::GetCurrentPlatformInfo();\n"
        '  DlogRecord(63, 3, "%s of %d", "one", 2), DlogFlush();\n'
        "  const bool known = now.Valid() && now.GetSocVersion() == op::SocVersion::ASCEND910_93;\n"
        '  std::printf("%d %s %u %u %d", known, now.GetSocLongVersion().c_str(), now.GetCubeCoreNum(),\n'
        "              now.GetVectorCoreNum(), int(now.GetBlockSize()));\n"
        "}\n"
    )
    links = ("-lascendcl", "-lascendalog", f"-Wl,-rpath,{root / 'lib64'}")
    program = _compile(root, tmp_path / "asks.cpp", tmp_path / "asks", *links)
    environ = {**os.environ, "OPHOOK_SIM_SOC": "Ascend910_9382"}
    done = subprocess.run([program], env=environ, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "1 Ascend910_9382 24 48 32"), done
    assert "[ERROR] one of 2" in done.stderr


def test_a_functions_header_is_named_as_the_function_but_for_what_data_says() -> None:
    assert headers.header_of("aclnnAddRmsNormCast") == "aclnn_add_rms_norm_cast.h"
    assert headers.header_of("aclnnUpsampleNearest2d") == "aclnn_upsample_nearest2d.h"
    assert headers.exceptions()["aclnnInplaceAdds"] == "aclnn_add.h"
    assert headers.of_row("(In, self, int64_t, default, Out, out)") == (
        ("const aclTensor*", "self"), ("int64_t", "default_"), ("aclTensor*", "out"))  # fmt: skip


# ---- functions of ACL's headers ----


def _declared(folder: Path) -> set[str]:
    found = set()
    for header in folder.rglob("*.h"):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(errors="replace"), flags=re.DOTALL)
        text = re.sub(r"\\\n", "", text)
        text = re.sub(r'^\s*#.*$|extern\s*"C"\s*\{|\w*DEPRECATED\w*\("[^)]*"\)', "", text, flags=re.MULTILINE)
        for statement in re.sub(r"\{[^{}]*\}", "{}", text).split(";"):
            match = re.match(r"^}?\s*.*?[\s*]((?:acl|Hccl)\w+)\s*\((.*)\)(?:\s*\w+)?$", " ".join(statement.split()))
            if match and "typedef" not in statement and "{" not in statement:
                found.add(match[1])
    return found


def test_every_function_of_acls_headers_is_there_or_torch_npu_asks_whether_it_is(root: Path) -> None:
    """A program that names one it does not call can be linked. What torch_npu looks up by name, and uses if it is
    there, must not be there only to refuse.
    """
    wheel = torch_npu_wheel()
    assert wheel is not None
    declared = _declared(wheel.path / "include" / "third_party" / "acl" / "inc" / "acl")
    names = {name for path in (root / "lib64").glob("*.so") for name in exported(path)}
    refused = {name for _, _, name in refusals(CSRC / "acl" / "refused" / "refused.inc")}
    asked: set[bytes] = set()
    for library in wheel.path.rglob("*.so"):
        asked |= set(re.findall(rb"(?<=\0)acl\w+(?=\0)", library.read_bytes()))
    assert len(declared) > 500
    assert {name for name in declared - names if name.encode() not in asked} == set()
    assert not refused & {name.decode() for name in asked}


@pytest.fixture(scope="module")
def runtime() -> ctypes.CDLL:
    library = ctypes.CDLL("libascendcl.so")
    library.aclGetRecentErrMsg.restype = ctypes.c_char_p
    library.aclFloat16ToFloat.restype = ctypes.c_float
    library.aclFloat16ToFloat.argtypes = [ctypes.c_uint16]
    library.aclFloatToFloat16.restype = ctypes.c_uint16
    library.aclFloatToFloat16.argtypes = [ctypes.c_float]
    library.aclDataTypeSize.restype = ctypes.c_size_t
    assert library.aclInit(None) == 0 and library.aclrtSetDevice(0) == 0
    return library


def test_half_precision_numbers_convert_as_python_has_them(runtime: ctypes.CDLL) -> None:
    for bits in range(0, 1 << 16, 7):
        (value,) = struct.unpack("<e", struct.pack("<H", bits))
        found = runtime.aclFloat16ToFloat(bits)
        if math.isnan(value):
            assert math.isnan(found) and math.isnan(runtime.aclFloat16ToFloat(runtime.aclFloatToFloat16(found)))
        else:
            assert struct.pack("<f", found) == struct.pack("<f", value)
            assert runtime.aclFloatToFloat16(found) == bits
    between = [
        0.0,
        1e-9,
        2.0**-25,
        2.0**-25 * 1.01,
        3 * 2.0**-25,
        6.1e-5,
        0.1,
        1 + 2**-11,
        1 + 3 * 2**-11,
        2047.5,
        65519.9,
    ]
    for value in (*between, *(-one for one in between)):
        (single,) = struct.unpack("<f", struct.pack("<f", value))
        assert runtime.aclFloatToFloat16(single) == struct.unpack("<H", struct.pack("<e", single))[0], value
    assert runtime.aclFloatToFloat16(65520.0) == 0x7C00 and runtime.aclFloatToFloat16(-1e9) == 0xFC00


def test_data_types_have_their_sizes(runtime: ctypes.CDLL) -> None:
    sizes = {0: 4, 1: 2, 2: 1, 3: 4, 9: 8, 10: 8, 11: 8, 12: 1, 16: 8, 17: 16, 27: 2, 29: 1}
    sizes |= dict.fromkeys(range(34, 42), 1)  # float8, float6 and float4
    sizes |= {-1: 0, 13: 0, 9999: 0}  # undefined, a string, no data type
    assert {dtype: runtime.aclDataTypeSize(dtype) for dtype in sizes} == sizes


def test_contexts_are_made_used_and_destroyed(runtime: ctypes.CDLL) -> None:
    default, made, now = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert runtime.aclrtGetCurrentContext(ctypes.byref(default)) == 0
    assert runtime.aclrtCreateContext(ctypes.byref(made), 0) == 0 and made.value != default.value
    assert runtime.aclrtGetCurrentContext(ctypes.byref(now)) == 0 and now.value == made.value
    assert runtime.aclrtSetCurrentContext(default) == 0
    assert runtime.aclrtGetCurrentContext(ctypes.byref(now)) == 0 and now.value == default.value
    assert runtime.aclrtSetCurrentContext(made) == 0 and runtime.aclrtDestroyContext(made) == 0
    assert runtime.aclrtSetCurrentContext(made) == 107000 and runtime.aclrtDestroyContext(made) == 107000
    assert runtime.aclrtDestroyContext(default) == 107000, "the device's own"
    assert runtime.aclrtCreateContext(ctypes.byref(made), 99) != 0
    assert runtime.aclrtGetCurrentContext(ctypes.byref(now)) == 0 and now.value == default.value


def test_a_stream_of_another_context_takes_nothing(run_sim) -> None:
    """CANN compares contexts in what gives a stream something to do; a synchronization or a query may come from any."""
    done = run_sim(
        """
import ctypes
acl, pointer, size = ctypes.CDLL("libascendcl.so"), ctypes.c_void_p, ctypes.c_size_t
stream, own, context, default, event, block = (pointer() for _ in range(6))
def tried(stream):
    return {acl.aclrtMemsetAsync(block, size(64), 0, size(64), stream), acl.aclrtRecordEvent(event, stream),
            acl.aclrtStreamWaitEvent(stream, event), acl.aclrtMemcpyAsync(block, size(8), block, size(8), 3, stream)}
assert acl.aclInit(None) == acl.aclrtSetDevice(0) == acl.aclrtCreateStream(ctypes.byref(stream)) == 0
assert acl.aclrtCreateEvent(ctypes.byref(event)) == acl.aclrtMalloc(ctypes.byref(block), size(64), 0) == 0
assert acl.aclrtGetCurrentContext(ctypes.byref(default)) == 0
assert tried(stream) == {0}
assert acl.aclrtSetDevice(1) == 0
assert tried(stream) == {107003} == {acl.aclrtDestroyStream(stream)}
assert acl.aclrtSynchronizeStream(stream) == 0 == acl.aclrtStreamQuery(stream, ctypes.byref(ctypes.c_int()))
assert acl.aclrtCreateContext(ctypes.byref(context), 0) == acl.aclrtCreateStream(ctypes.byref(own)) == 0
assert tried(own) == {0} and tried(stream) == {107003} and tried(None) == {0}
assert acl.aclrtSetCurrentContext(default) == 0 and tried(own) == {107003} and tried(stream) == {0}
assert acl.aclrtDestroyStream(stream) == 0
""",
        "--devices",
        "2",
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_last_reset_of_a_device_ends_its_streams(run_sim) -> None:
    """CANN counts: each aclrtSetDevice is one use more, each aclrtResetDevice one less; ...Force ends all of them. One
    too many fails. In a process of its own: this one's device is torch_npu's.
    """
    done = run_sim("""
import ctypes
acl = ctypes.CDLL("libascendcl.so")
stream = ctypes.c_void_p()
assert acl.aclInit(None) == 0 and acl.aclrtResetDevice(0) == 107002
def alive(): return acl.aclrtSynchronizeStream(stream) == 0
for end in (acl.aclrtResetDevice, acl.aclrtResetDeviceForce):
    assert [acl.aclrtSetDevice(0) for _ in range(3)] == [0] * 3
    assert acl.aclrtCreateStream(ctypes.byref(stream)) == 0
    assert acl.aclrtResetDevice(0) == 0 and alive()
    assert acl.aclrtResetDevice(0) == 0 and alive()
    assert end(0) == 0 and not alive()
    assert acl.aclrtResetDevice(0) == 107002 and acl.aclrtResetDeviceForce(0) == 107002
    assert [acl.aclrtSetDevice(0) for _ in range(3)] == [0] * 3
    assert acl.aclrtResetDeviceForce(0) == 0 and acl.aclrtResetDevice(0) == 107002
assert acl.aclrtResetDevice(99) == 107001
print("counted")
""")
    assert done.stdout == "counted\n", done.stderr


def test_rows_are_copied_with_their_pitch(runtime: ctypes.CDLL) -> None:
    device, to_device, to_host = ctypes.c_void_p(), 1, 2
    assert runtime.aclrtMalloc(ctypes.byref(device), ctypes.c_size_t(64), 0) == 0
    back = ctypes.create_string_buffer(12)
    size = ctypes.c_size_t
    copy = runtime.aclrtMemcpy2d
    assert runtime.aclrtMemset(device, size(64), ord("."), size(64)) == 0
    assert copy(device, size(16), b"abcdef", size(2), size(2), size(3), to_device) == 0
    assert copy(back, size(4), device, size(16), size(4), size(3), to_host) == 0
    assert back.raw == b"ab..cd..ef.."
    assert copy(device, size(1), b"abcdef", size(2), size(2), size(3), to_device) == 107000, "rows over each other"
    assert runtime.aclrtFree(device) == 0


# ---- tensors and executors ----


class _Opapi:
    """libopapi's functions, and the device memory of a test."""

    def __init__(self, runtime: ctypes.CDLL) -> None:
        self.runtime, self.library = runtime, ctypes.CDLL("libopapi.so")
        for name in ("aclCreateTensor", "aclCreateScalar", "aclCreateTensorList"):
            getattr(self.library, name).restype = ctypes.c_void_p

    def memory(self, *values: float) -> ctypes.c_void_p:
        found, size = ctypes.c_void_p(), ctypes.c_size_t(4 * len(values))
        assert self.runtime.aclrtMalloc(ctypes.byref(found), size, 0) == 0
        assert self.runtime.aclrtMemcpy(found, size, struct.pack(f"{len(values)}f", *values), size, 1) == 0
        return found

    def values(self, memory: ctypes.c_void_p, count: int) -> tuple[float, ...]:
        host, size = ctypes.create_string_buffer(4 * count), ctypes.c_size_t(4 * count)
        assert self.runtime.aclrtMemcpy(host, size, memory, size, 2) == 0
        return struct.unpack(f"{count}f", host.raw)

    def tensor(self, memory: ctypes.c_void_p, *sizes: int) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.library.aclCreateTensor(*self.description(sizes), memory))

    def description(self, sizes: tuple[int, ...]) -> tuple[object, ...]:
        dims = (ctypes.c_int64 * len(sizes))(*sizes)
        rank = ctypes.c_uint64(len(sizes))
        return (dims, rank, 0, None, ctypes.c_int64(0), 2, dims, rank)


def test_a_tensor_tells_what_it_is_and_is_made_anew(runtime: ctypes.CDLL) -> None:
    opapi = _Opapi(runtime)
    library, memory = opapi.library, opapi.memory(*range(6))
    tensor = opapi.tensor(memory, 2, 3)

    def asked(name: str) -> list[int]:
        values, count = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
        assert getattr(library, name)(tensor, ctypes.byref(values), ctypes.byref(count)) == 0
        return values[: count.value]

    assert (asked("aclGetViewShape"), asked("aclGetViewStrides")) == ([2, 3], [3, 1])
    assert asked("aclGetStorageShape") == [2, 3]
    assert library.aclInitTensor(tensor, *opapi.description((6,)), memory) == 0
    assert asked("aclGetStorageShape") == [6]
    assert (asked("aclGetViewShape"), asked("aclGetViewStrides")) == ([6], [1])
    kind, offset, address = ctypes.c_int(-2), ctypes.c_int64(-2), ctypes.c_void_p()
    assert library.aclGetDataType(tensor, ctypes.byref(kind)) == 0 and kind.value == 0
    assert library.aclGetFormat(tensor, ctypes.byref(kind)) == 0 and kind.value == 2
    assert library.aclGetViewOffset(tensor, ctypes.byref(offset)) == 0 and offset.value == 0
    assert library.aclGetRawTensorAddr(tensor, ctypes.byref(address)) == 0 and address.value == memory.value
    assert library.aclGetViewOffset(None, ctypes.byref(offset)) == 161001
    assert library.aclDestroyTensor(tensor) == 0
    assert library.aclGetDataType(tensor, ctypes.byref(kind)) == 161002, "it is gone"
    assert runtime.aclrtFree(memory) == 0


def test_an_executor_runs_again_on_other_memory(runtime: ctypes.CDLL) -> None:
    """What was launched before a tensor moved runs with the address that it had."""
    opapi = _Opapi(runtime)
    library = opapi.library
    first, second, added = opapi.memory(1, 2), opapi.memory(10, 20), opapi.memory(5, 5)
    results = [opapi.memory(0, 0) for _ in range(2)]
    x, y, out = opapi.tensor(first, 2), opapi.tensor(added, 2), opapi.tensor(results[0], 2)
    one = ctypes.c_void_p(library.aclCreateScalar(ctypes.byref(ctypes.c_float(1)), 0))
    stream, executor, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    assert runtime.aclrtCreateStream(ctypes.byref(stream)) == 0
    phase = (x, y, one, out, ctypes.byref(size), ctypes.byref(executor))
    assert library.aclnnAddGetWorkspaceSize(*phase) == 0
    move = library.aclSetInputTensorAddr
    index = ctypes.c_size_t(0)
    assert move(executor, index, x, second) == 161002, "it is not repeatable"
    assert library.aclSetAclOpExecutorRepeatable(executor) == 0
    assert library.aclnnAdd(None, size, executor, stream) == 0
    assert move(executor, index, x, second) == 0
    assert library.aclSetOutputTensorAddr(executor, index, out, results[1]) == 0
    assert library.aclnnAdd(None, size, executor, stream) == 0
    assert runtime.aclrtSynchronizeStream(stream) == 0
    assert [opapi.values(one, 2) for one in results] == [(6, 7), (15, 25)]
    other = opapi.tensor(first, 2)
    # A tensor moves without an executor too: what is asked for next finds it there.
    assert move(None, index, x, first) == 561103 and b"no executor" in runtime.aclGetRecentErrMsg()
    assert move(executor, index, None, first) == 561103 and b"no tensor" in runtime.aclGetRecentErrMsg()
    again = ctypes.c_void_p()
    assert library.aclnnAddGetWorkspaceSize(*phase[:-1], ctypes.byref(again)) == 0
    assert library.aclnnAdd(None, size, again, stream) == 0 and runtime.aclrtSynchronizeStream(stream) == 0
    assert opapi.values(results[1], 2) == (6, 7)
    assert move(executor, index, other, second) == 161002 and b"was not passed" in runtime.aclGetRecentErrMsg()
    assert library.aclDestroyAclOpExecutor(executor) == 0
    for tensor in (x, y, out, other):
        assert library.aclDestroyTensor(tensor) == 0
    assert library.aclDestroyScalar(one) == 0 and runtime.aclrtDestroyStream(stream) == 0
    for memory in (first, second, added, *results):
        assert runtime.aclrtFree(memory) == 0
