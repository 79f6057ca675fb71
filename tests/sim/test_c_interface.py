"""The C interface: registers, copies and locks of Ascend 950, an Atlas A2's cube unit; and what has to be refused."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.sim import program

SOURCE = Path(__file__).parent / "programs" / "asc" / "c_registers.asc"


CUBE = SOURCE.with_name("c_cube.asc")
OF_950 = ("--soc", "Ascend950PR_9589", str(SOURCE))


def kernel_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ophook_npu", "kernel", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_each_kind_of_function_computes_what_its_page_says() -> None:
    done = kernel_run(*OF_950)
    assert (done.returncode, done.stdout.strip()) == (0, f"status 0, wrong{' 0' * 14}"), done.stdout + done.stderr


@pytest.fixture(scope="module")
def faults() -> subprocess.CompletedProcess[str]:
    """All of them, compiled once."""
    return kernel_run(*OF_950, "1", "2", "3", "4")


@pytest.mark.parametrize(
    ("fault", "line", "told"),
    [
        ("1", "asc_loadalign(a, x);", "LoadAlign: the source begins at byte"),
        ("2", "asc_storealign(out, b, at", "StoreAlign: the destination: bytes 0 to 256 of a tensor of"),
        ("3", "asc_lock(PIPE_V, 0);", "Lock: mutex 0 is still locked, since line"),
        ("4", "asc_loadalign(a, x + i * step);", "LoadAlign: pipe V reads what pipe MTE2 writes"),
    ],
)
def test_a_fault_is_told_with_the_line_of_the_call(
    faults: subprocess.CompletedProcess[str], fault: str, line: str, told: str
) -> None:
    lines = [number for number, text in enumerate(SOURCE.read_text().splitlines(), 1) if line in text]
    ended = faults.stdout.splitlines()
    assert faults.returncode == 3 and len(ended) == 4 and ended[int(fault) - 1].startswith("status 507015"), faults
    assert any(f"c_registers.asc:{number}: error: {told}" in faults.stderr for number in lines), faults.stderr


def test_the_cube_unit_of_an_atlas_a2_multiplies_and_quantizes() -> None:
    done = kernel_run(str(CUBE))
    assert (done.returncode, done.stdout.strip()) == (0, "status 0, wrong 0 0 0"), done.stdout + done.stderr
    done = kernel_run(str(CUBE), "fault")
    line = next(number for number, text in enumerate(CUBE.read_text().splitlines(), 1) if "asc_mmad(" in text)
    assert done.returncode == 3 and f"c_cube.asc:{line}: error: Mmad: pipe M reads what pipe MTE1 writes" in done.stderr


def test_types_and_repeats_mix_as_their_pages_list_them() -> None:
    done = kernel_run(str(SOURCE.with_name("c_mixed.asc")))
    assert (done.returncode, done.stdout.strip()) == (0, "status 0, wrong 0 0"), done.stdout + done.stderr


def test_registers_that_are_set_are_read_and_bursts_go_out() -> None:
    source = SOURCE.with_name("c_settings.asc")
    done = kernel_run(str(source))
    told = "status 0, copied 2 4 6 0 0 18 20 0, found 1 0 4656 2 6 0 256 1"
    assert (done.returncode, done.stdout.strip()) == (0, told), done.stdout + done.stderr
    done = kernel_run(str(source), "fault")
    line = next(number for number, text in enumerate(source.read_text().splitlines(), 1) if "asc_shiftleft(" in text)
    said = f"c_settings.asc:{line}: error: ShiftLeft: a shift by 33; allowed: 0 to 32"
    assert done.returncode == 3 and said in done.stderr, done.stderr


DECLARED = """
#include "c_api/asc_simd.h"
void f(__ubuf__ float* at, __ubuf__ int4b_t* four, vector_float f, vector_half h, vector_int8_t b, vector_bfloat16_t bf,
       vector_uint16_t u, vector_bool mask) {
"""


WRONG = (
    "asc_exp(b, b, mask)",  # half and float
    "asc_min_scalar(bf, bf, bf, mask)",  # asc_max_scalar has bfloat16_t
    "asc_ne(mask, bf, bf, mask)",
    "asc_add(f, h, f, mask)",
    "asc_loadalign_upsample(f, at)",  # of 8 and 16 bits
    "asc_loadalign(h, at)",
    "asc_storealign_intlv(at, f, f)",  # the page has no float
    "asc_gather(f, f, u)",
    "asc_copy_gm2ub_align(at, at, 1, 32, 0, 0, 0, 0)",  # an Atlas A2's
    "asc_add_relu(at, at, at, 64)",  # an Atlas A2's
)


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is told of all of them, five in a source: of no more errors a line is shown."""
    told = ""
    for at in range(0, len(WRONG), 5):
        source = tmp_path_factory.mktemp("wrong") / "wrong.asc"
        source.write_text(DECLARED + "".join(f"  {call};\n" for call in WRONG[at : at + 5]) + "}\n")
        with pytest.raises(OphookError) as error:
            program.compile(["--npu-arch=dav-3510", "-fsyntax-only", "-c", str(source)])
        told += str(error.value)
    return told


@pytest.mark.parametrize("call", WRONG)
def test_what_no_page_lists_does_not_compile(refused: str, call: str) -> None:
    assert re.search(rf"error: .*\b{call.partition('(')[0]}\b", refused), refused


@pytest.mark.parametrize("name", ["asc_half2int4x2_rn", "asc_e4m32float", "asc_mmad", "asc_sync_intra_wait"])
def test_what_is_not_simulated_is_named_with_its_page(name: str, tmp_path: Path) -> None:
    source = tmp_path / "absent.asc"
    source.write_text(f"{DECLARED}  {name}(f, f, mask);\n}}\n")
    with pytest.raises(OphookError, match=f"{name}.* is documented .*and not implemented here"):
        program.compile(["--npu-arch=dav-3510", "-fsyntax-only", "-c", str(source)])
