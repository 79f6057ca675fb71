"""An operator package whose kernel communicates (Hccl, MC2): ranks of a group call its aclnn functions."""

from __future__ import annotations

from pathlib import Path

import pytest

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


def test_what_only_an_atlas_a3_has(launch, package: str) -> None:
    done = launch(PROGRAM, 2, "--soc", "Ascend910_9391", GROUP_PACKAGE=package, ONLY="of_a3")
    assert done.returncode == 0 and done.stdout.count("is done") == 2, done.stdout + done.stderr


def test_what_does_not_fit_is_refused(launch, package: str) -> None:
    done = launch(PROGRAM, 2, GROUP_PACKAGE=package, ONLY="refused")
    assert done.returncode == 0 and done.stdout.count("is done") == 2, done.stdout + done.stderr


def test_a_rank_that_does_not_come_is_waited_for_as_long_as_hccl_waits(launch, package: str) -> None:
    done = launch(PROGRAM, 2, GROUP_PACKAGE=package, ONLY="late", HCCL_EXEC_TIMEOUT="2")
    assert "HcclAllReduce" in done.stdout and "rank 1" in done.stdout, done.stdout + done.stderr


def test_a_flag_that_no_rank_raises_ends_the_kernel(launch, package: str) -> None:
    done = launch(PROGRAM, 2, GROUP_PACKAGE=package, ONLY="looks", HCCL_EXEC_TIMEOUT="2")
    what = "core 0 has looked at the input window of rank 0 for 2 s (HCCL_EXEC_TIMEOUT), and no rank has changed it"
    assert what in done.stdout, done.stdout + done.stderr
