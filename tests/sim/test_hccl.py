"""Several processes, a simulated NPU each, over torch_npu's own HCCL process group."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

import pytest

Launch = Callable[..., subprocess.CompletedProcess[str]]


# Three on two machines: some are connected by Unix sockets, others over the network.
@pytest.mark.parametrize(("program", "ranks"), [("collectives.py", 2), ("hosts.py", 3)])
def test_collectives(launch: Launch, program: str, ranks: int) -> None:
    done = launch(program, ranks, ON_HOSTS="collectives.py")
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(ranks):
        for part in ("reductions", "movements", "messages", "grouped_sends", "groups", "captured"):
            assert f"rank {rank}: {part} passed" in done.stdout


def test_torch_npus_other_backend(launch: Launch) -> None:
    done = launch("lccl_collectives.py", 3)
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(3):
        for part in ("collectives", "groups", "training"):
            assert f"rank {rank}: {part} passed" in done.stdout


def test_torchs_symmetric_memory(launch: Launch) -> None:
    done = launch("symmetric_memory.py", 3, NPU_SHMEM_SYMMETRIC_SIZE="2m")
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(3):
        for part in ("peers", "messages", "room"):
            assert f"rank {rank}: {part} passed" in done.stdout


def fused(launch: Launch, ranks: int, soc: str, *parts: str) -> None:
    done = launch("fused_collectives.py", ranks, "--soc", soc)
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(ranks):
        for part in parts:
            assert f"rank {rank}: {part} passed" in done.stdout


def test_products_and_experts_over_devices(launch: Launch) -> None:
    fused(launch, 2, "Ascend910B4", "products", "quantized_products", "mistakes", "experts", "barrier")
    fused(
        launch, 2, "Ascend910_9391", "rows_and_columns", "quantized_rows_and_columns", "scaled_experts", "shared_expert"
    )


@pytest.mark.slow
def test_grouped_products_over_the_eight_devices_that_they_ask_for(launch: Launch) -> None:
    fused(launch, 8, "Ascend910_9391", "grouped_products")


def test_workers_write_into_each_others_windows(launch: Launch) -> None:
    done = launch("workers.py", 4, "--soc", "Ascend910_9391")
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(4):
        for part in ("tokens_to_experts", "quantized_tokens_to_experts", "mistakes", "there_and_back"):
            assert f"rank {rank}: {part} passed" in done.stdout


def test_collectives_in_torchairs_graphs(launch: Launch) -> None:
    done = launch("compiled_collectives.py", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(2):
        for part in (
            "dynamic=False", "dynamic=True", "uneven", "messages", "gathered", "scattered", "in pieces", "products",
            "experts",
        ):  # fmt: skip
            assert f"rank {rank}: {part} passed" in done.stdout


def test_parallel_training_has_the_losses_of_one_cpu(launch: Launch) -> None:
    done = launch("parallel_training.py", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(2):
        for kind in ("DDP", "FSDP", "fully_shard", "tensor parallel"):
            assert f"rank {rank}: {kind} passed" in done.stdout


def test_mistakes_are_named_on_every_rank(launch: Launch) -> None:
    done = launch("wrong_collectives.py", 2, HCCL_EXEC_TIMEOUT="3", OPHOOK_SIM_HCCL_CONNECT_TIMEOUT="5")
    assert done.returncode == 0, done.stdout + done.stderr
    said = {
        line.split(": ", 2)[1] + line.split(": ", 2)[0][-1]: line for line in done.stdout.splitlines() if "rank" in line
    }
    for rank in (0, 1):
        assert "HcclAllReduce (sum) of float32" in said[f"another_collective{rank}"]
        assert "HcclBroadcast of float32 from rank 0" in said[f"another_collective{rank}"]
        assert "(sum)" in said[f"another_reduction{rank}"] and "(max)" in said[f"another_reduction{rank}"]
        assert re.search(r"sends 419430[48] bytes, .* expects 419430[48]", said[f"another_size{rank}"])
        assert "of float32" in said[f"another_dtype{rank}"] and "of int32" in said[f"another_dtype{rank}"]
        assert "send to each other and neither receives" in said[f"both_send{rank}"]
        assert "after 3 s still waiting for rank 1" in said[f"too_late{rank}"]
        assert "EI0002: The wait execution of the Notify register times out" in said[f"too_late{rank}"]
    assert "rank 1 did not come within 5 s" in said["absent0"]
    assert "rank 1 is gone" in said["gone0"]
