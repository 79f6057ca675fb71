"""Custom operator libraries are found in CANN's order, by the real torch_npu."""

import subprocess
from pathlib import Path

import pytest

from ophook_npu import sim, toolchain
from ophook_npu.npu.installed import require
from ophook_npu.sim.build import CSRC

# aclnnAddCustom as another vendor would ship it, told apart by what it computes: x + alpha * y.
SOURCE = """
#include <ATen/ops/add.h>
#include "opapi/aclnn.h"
using namespace sim::aclnn;
// Visible, so that the compiler does not take it for granted: a copy of this library has another number here.
extern "C" __attribute__((visibility("default"))) const char alpha_text[];
const char alpha_text[] = "alpha=010";
ACLNN(AddCustom, (In,x, In,y, Out,z),
      TORCH_CHECK(x.scalar_type() != at::kInt, "no integers in this package"); broadcast(z, {x, y}),
      at::add_out(z, x, y, std::atoi(alpha_text + 6)))
"""
CALL = """
import torch, torch_npu
from ophook_npu import ops
print(ops.npu_add_custom(torch.ones(2).npu(), torch.ones(2).npu())[0].item())
"""


@pytest.fixture(scope="module")
def vendor(tmp_path_factory: pytest.TempPathFactory):
    """A vendor package whose aclnnAddCustom computes x + alpha * y: its folder."""
    torch, torch_npu = require()
    system = (torch_npu.path / "include" / "third_party" / "acl" / "inc", torch.path / "include")
    lib64 = sim.build() / "lib64"

    def folder(alpha: int) -> Path:
        made = tmp_path_factory.mktemp(f"vendor{alpha}")
        (made / "op_api" / "lib").mkdir(parents=True)
        return made

    first, second = folder(10), folder(100)
    source, library = first / "op.cpp", Path("op_api", "lib", "libcust_opapi.so")
    source.write_text(SOURCE)
    command = [
        *toolchain.compiler(), "-std=c++20", "-O1", "-fPIC", "-shared", f"-I{CSRC}",
        *(f"-isystem{path}" for path in system),
        str(source), "-o", str(first / library),
        f"-L{lib64}", "-l:libopapi.so", "-l:libophook_sim_core.so",
        f"-L{torch.path / 'lib'}", "-ltorch_cpu", "-lc10",
    ]  # fmt: skip
    subprocess.run(command, check=True)
    compiled = (first / library).read_bytes()
    assert compiled.count(b"alpha=010") == 1
    (second / library).write_bytes(compiled.replace(b"alpha=010", b"alpha=100"))
    return first, second


def test_without_any_the_simulators_own_is_used(run_sim) -> None:
    assert run_sim(CALL, ASCEND_CUSTOM_OPP_PATH="").stdout.split() == ["2.0"]


def test_custom_opp_path_comes_before_vendors(run_sim, vendor) -> None:
    assert run_sim(CALL, ASCEND_CUSTOM_OPP_PATH=str(vendor[0])).stdout.split() == ["11.0"]


def test_the_first_folder_of_the_path_wins_and_a_missing_one_is_passed_over(run_sim, vendor) -> None:
    path = f"/nonexistent:{vendor[1]}:{vendor[0]}"
    assert run_sim(CALL, ASCEND_CUSTOM_OPP_PATH=path).stdout.split() == ["101.0"]


def test_doctor_finds_the_same_libraries_in_the_same_order(vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    from ophook_npu import doctor

    monkeypatch.setenv("ASCEND_CUSTOM_OPP_PATH", f"{vendor[1]}:{vendor[0]}")
    found = [f for f in doctor.examine() if f.topic == "custom operators"]
    assert [f.status for f in found] == ["ok", "ok", "ok"], found
    assert [str(vendor[1]) in found[0].text, str(vendor[0]) in found[1].text, "vendors/ophook" in found[2].text] == [
        True
    ] * 3


@pytest.mark.parametrize("task_queue", ["0", "1", "2"])
def test_what_the_first_phase_refuses_is_raised_with_the_librarys_reason(run_sim, vendor, task_queue: str) -> None:
    code = """
import torch, torch_npu
from ophook_npu import ops
x = torch.ones(2, dtype=torch.int32).npu()
try:
    ops.npu_add_custom(x, x)
    torch.npu.synchronize()
except RuntimeError as error:
    print(error)
"""
    result = run_sim(code, ASCEND_CUSTOM_OPP_PATH=str(vendor[0]), TASK_QUEUE_ENABLE=task_queue)
    assert "the operator library refuses the call, error 161002" in result.stdout + result.stderr, result.stderr
    assert "no integers in this package" in result.stdout + result.stderr


@pytest.mark.parametrize("task_queue", ["0", "1", "2"])
def test_many_calls_in_flight_keep_their_own_tensors(run_sim, vendor, task_queue: str) -> None:
    """Arguments and results of unequal shapes, dropped by Python before the queue reaches them."""
    code = """
import torch, torch_npu
from ophook_npu import ops
add, total, expected = ops.npu_add_custom, 0, 0
for n in range(1, 400):
    total = add(add(torch.full((n,), 1.0).npu(), torch.full((1,), 1.0).npu()).sum(), torch.ones(()).npu()) + total
    expected += 11.0 * n + 10.0
print(total.item() == expected, total.item(), expected)
"""
    result = run_sim(code, ASCEND_CUSTOM_OPP_PATH=str(vendor[0]), TASK_QUEUE_ENABLE=task_queue)
    assert result.stdout.startswith("True"), result.stdout + result.stderr
