"""Custom operator libraries are found in CANN's order, by the real torch_npu."""

import subprocess
from pathlib import Path

import pytest

from ophook_npu import sim, toolchain
from ophook_npu.npu.installed import require
from ophook_npu.sim.build import CSRC

# aclnnAddCustom as another vendor would ship it, told apart by what it computes.
SOURCE = """
#include <ATen/ops/add.h>
#include "opapi/aclnn.h"
using namespace sim::aclnn;
ACLNN(AddCustom, (In,x, In,y, Out,z), broadcast(z, {{x, y}}), at::add_out(z, x, y, {alpha}))
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

    def build(alpha: int) -> Path:
        folder = tmp_path_factory.mktemp(f"vendor{alpha}")
        (folder / "op_api" / "lib").mkdir(parents=True)
        source = folder / "op.cpp"
        source.write_text(SOURCE.format(alpha=alpha))
        command = [
            *toolchain.compiler(), "-std=c++20", "-O1", "-fPIC", "-shared", f"-I{CSRC}",
            *(f"-isystem{path}" for path in system),
            str(source), "-o", str(folder / "op_api" / "lib" / "libcust_opapi.so"),
            f"-L{lib64}", "-l:libopapi.so", "-l:libophook_sim_core.so",
            f"-L{torch.path / 'lib'}", "-ltorch_cpu", "-lc10",
        ]  # fmt: skip
        subprocess.run(command, check=True)
        return folder

    return build(10), build(100)


def test_without_any_the_simulators_own_is_used(run_sim) -> None:
    assert run_sim(CALL, ASCEND_CUSTOM_OPP_PATH="").stdout.split() == ["2.0"]


def test_custom_opp_path_comes_before_vendors(run_sim, vendor) -> None:
    assert run_sim(CALL, ASCEND_CUSTOM_OPP_PATH=str(vendor[0])).stdout.split() == ["11.0"]


def test_the_first_folder_of_the_path_wins_and_a_missing_one_is_passed_over(run_sim, vendor) -> None:
    path = f"/nonexistent:{vendor[1]}:{vendor[0]}"
    assert run_sim(CALL, ASCEND_CUSTOM_OPP_PATH=path).stdout.split() == ["101.0"]


def test_doctor_finds_the_same_libraries_in_the_same_order(vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    from ophook_npu.npu import doctor

    monkeypatch.setenv("ASCEND_CUSTOM_OPP_PATH", f"{vendor[1]}:{vendor[0]}")
    found = [f for f in doctor.examine() if f.topic == "custom operators"]
    assert [f.status for f in found] == ["ok", "ok", "ok"], found
    assert [str(vendor[1]) in found[0].text, str(vendor[0]) in found[1].text, "vendors/ophook" in found[2].text] == [
        True
    ] * 3
