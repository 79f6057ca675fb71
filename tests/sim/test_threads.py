"""Threads of Ascend 950 (SIMT): what they compute, and what is found in them."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from ophook_npu import sim
from ophook_npu.errors import OphookError
from ophook_npu.sim import program
from ophook_npu.sim.variables import apply, environment

PROGRAMS = Path(__file__).parent / "programs" / "asc"
FAULTS = PROGRAMS / "thread_faults.asc"
OF_THREADS = ("--npu-arch=dav-3510", "--enable-simt", "-x", "asc")


def ran(program: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, **variables}
    apply(environ, environment(sim.active() or sim.build(), soc="Ascend950PR_9589"))
    command = [str(program), *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=200, check=False)


def made(folder: Path, source: Path) -> Path:
    return program.compile([*OF_THREADS, str(source), "-o", str(folder / source.stem)])


def test_blocks_warps_groups_and_atomic_operations(tmp_path: Path) -> None:
    done = ran(made(tmp_path, PROGRAMS / "threads.asc"))
    parts = ("places", "sums", "warps", "atomics", "last block", "flags", "groups", "mixed")
    said = [f"thread {thread} of block {block}: 5" for block in (0, 1) for thread in (0, 1)]
    assert done.stdout.splitlines() == [*(f"{part} 0" for part in parts), *said, "status 0"], done


def test_functions_of_numbers(tmp_path: Path) -> None:
    done = ran(made(tmp_path, PROGRAMS / "thread_numbers.asc"))
    assert done.returncode == 0 and re.search(r"^[1-9]\d+ compared, 0 wrong$", done.stdout, re.MULTILINE), done


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("faults"), FAULTS)


@pytest.mark.parametrize(
    ("fault", "finding"),
    [
        ("beyond", "reads 4 bytes of no device memory, 0 bytes after the end of argument 1 [global_bounds]"),
        ("null_pointer", "writes 4 bytes at the null pointer [global_bounds]"),
        ("beyond_shared", "writes 4 bytes at byte 128 of UB, which are in no array of the block [local_bounds]"),
        ("beyond_dynamic", "writes 4 bytes at byte 0 of UB, which are in no array of the block [local_bounds]"),
        ("never_written", "reads 4 bytes at byte 0 of UB, which nobody wrote [uninitialized]"),
        (
            "no_barrier",
            "reads what thread 31 writes, and nothing makes it wait for that: byte 124 of UB [missing_sync_threads]",
        ),
        (
            "early_return",
            "asc_syncthreads: 1 of 64 threads have ended and never come here, thread 7 the last of them; a device"
            " hangs [deadlock]",
        ),
        ("same_place", "writes what thread 0 writes as well, another value: element 0 of argument 2 [threads_overlap]"),
        (
            "other_block",
            "reads what block 0 writes, and nothing makes it wait for that: element 0 of argument 1"
            " [missing_block_order]",
        ),
        ("bound", "bound: 64 threads; __launch_bounds__ allows 32 (1024 where it is not there) [parameter]"),
        (
            "inactive",
            "asc_shfl_down: lane 4 takes the value of lane 8, which is not active here [uninitialized]",
        ),
        ("forever", "thread 0 reads in a loop what no other thread changes [deadlock]"),
        ("wide_atomic", "asc_atomic_add: 64 bits in UB; allowed: in global memory alone [data_type]"),
        ("width", "asc_shfl: width=5; allowed: multiples of 2 up to 32 [parameter]"),
    ],
)
def test_a_fault_is_told_with_its_line(faults: Path, fault: str, finding: str) -> None:
    done = ran(faults, fault)
    marked = [i for i, line in enumerate(FAULTS.read_text().splitlines(), 1) if f"// FAULT {fault}: " in line]
    lines = [line for line in done.stderr.splitlines() if line.endswith(finding)]
    assert lines and lines[0].startswith(f"thread_faults.asc:{marked[0]}: "), done.stderr
    assert done.stdout == "status 507015\n"


def test_what_is_right_is_not_told(faults: Path) -> None:
    assert ran(faults, "right").stdout == "status 0\n"
    # Lanes of a warp go in step; who takes no branch needs no barrier.
    assert ran(faults, "in_a_warp").stdout == "status 0\n"


def test_step_of_a_warp_is_told_where_it_is_asked_for(faults: Path, tmp_path: Path) -> None:
    told = tmp_path / "reports"
    ran(faults, "in_a_warp", OPHOOK_KERNEL_STRICT="1", OPHOOK_KERNEL_REPORT=str(told))
    assert '"kind":"missing_warp_sync","severity":"strict"' in told.read_text()


def test_a_launch_that_no_device_takes_fails_at_once(faults: Path) -> None:
    done = ran(faults, "too_many")
    assert "too_many<<<…>>>: 4096 threads in a block; allowed: 1 to 2048" in done.stderr


def test_ub_is_what_the_system_and_the_least_cache_leave(faults: Path) -> None:
    assert ran(faults, "most_ub").stdout == "status 0\n"
    assert "221188 bytes of dynamic UB; allowed: up to 221184" in ran(faults, "more_ub").stderr


def test_threads_need_their_option_and_their_product(tmp_path: Path) -> None:
    source = PROGRAMS / "thread_faults.asc"
    with pytest.raises(OphookError, match="has 4 values; allowed: blocks, l2ctrl, stream; with --enable-simt also"):
        program.compile(["--npu-arch=dav-3510", "-x", "asc", str(source), "-o", str(tmp_path / "no")])
    with pytest.raises(OphookError, match="threads of SIMT are Ascend 950's"):
        program.compile(["--npu-arch=dav-2201", "--enable-simt", "-x", "asc", str(source), "-o", str(tmp_path / "no")])
    lone = tmp_path / "lone.asc"
    lone.write_text("__ubuf__ int counter;\n__global__ void k(int* x) { counter = *x; }\nint main() {}\n")
    with pytest.raises(OphookError, match="counter: a variable of UB outside of functions is not simulated"):
        program.compile([*OF_THREADS, str(lone), "-o", str(tmp_path / "no")])
