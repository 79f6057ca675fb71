"""An operator package whose kernel communicates (Hccl, MC2): ranks of a group call its aclnn functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu import sim, toolchain

PROJECT = Path(__file__).parents[1] / "unit" / "kernel" / "communication"
PROGRAM = "group_kernels.py"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> str:
    from ophook_npu.sim.packages import build

    folder = tmp_path_factory.mktemp("group") / "vendor"
    build(PROJECT, folder)
    return str(folder)


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_communicate_within_a_kernel(launch, package: str, ranks: int) -> None:
    done = launch(PROGRAM, ranks, GROUP_PACKAGE=package, ONLY="collectives")
    assert done.returncode == 0 and done.stdout.count("is done") == ranks, done.stdout + done.stderr


def test_a_product_of_rows_that_are_gathered_in_rounds(launch, package: str) -> None:
    done = launch(PROGRAM, 2, GROUP_PACKAGE=package, ONLY="products")
    assert done.returncode == 0 and done.stdout.count("is done") == 2, done.stdout + done.stderr


def test_devices_of_one_process_communicate(package: str, tmp_path: Path) -> None:
    """As the guide of fused operators has it: HcclCommInitAll, and a thread for each device."""
    root, program = sim.active(), tmp_path / "program"
    source = Path(__file__).parent / "programs" / "group_kernels.cpp"
    assert root is not None
    place = [f"-I{root / 'include'}", f"-L{root / 'lib64'}", "-lascendcl", "-lhccl", "-lnnopbase", "-ldl", "-lpthread"]
    command = [*toolchain.compiler(), "-std=c++17", "-O0", str(source), *place, "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    start = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", "--devices", "3", "--", str(program)]
    library = f"{package}/op_api/lib/libcust_opapi.so"
    done = subprocess.run([*start, library], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "".join(f"device {i}: 0 wrong\n" for i in range(3)), done.stdout + done.stderr


def test_what_only_an_atlas_a3_has(launch, package: str) -> None:
    done = launch(PROGRAM, 2, "--soc", "Ascend910_9391", GROUP_PACKAGE=package, ONLY="of_a3")
    assert done.returncode == 0 and done.stdout.count("is done") == 2, done.stdout + done.stderr


def test_what_does_not_fit_is_refused(launch, package: str) -> None:
    done = launch(PROGRAM, 2, GROUP_PACKAGE=package, ONLY="refused")
    assert done.returncode == 0 and done.stdout.count("is done") == 2, done.stdout + done.stderr


def test_a_rank_that_does_not_come_is_waited_for_as_long_as_hccl_waits(launch, package: str) -> None:
    done = launch(PROGRAM, 2, GROUP_PACKAGE=package, ONLY="late", HCCL_EXEC_TIMEOUT="2")
    assert "HcclAllReduce" in done.stdout and "rank 1" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("mode", [41, 42], ids=["object", "context"])
def test_a_flag_that_no_rank_raises_ends_the_kernel(launch, package: str, mode: int) -> None:
    done = launch(PROGRAM, 2, GROUP_PACKAGE=package, ONLY="looks", MODE=str(mode), HCCL_EXEC_TIMEOUT="2")
    what = "core 0 has looked at the input window of rank 0 for 2 s (HCCL_EXEC_TIMEOUT), and no rank has changed it"
    assert what in done.stdout, done.stdout + done.stderr
