"""Every operator that ships, and one that a user starts, on every route: what `ophook-npu op check` finds on the
simulator."""

import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu.ops import _OPERATORS
from ophook_npu.sim.packages import build

NPU = [name for name in _OPERATORS if name.startswith("npu_")]
ROUTES = ("prototype", "aclnn", "torchair static", "torchair dynamic", "npugraph_ex")


@pytest.fixture
def op_check(run_python):
    """A process for each: torchair cannot be used in one that used npugraph_ex."""

    def check(target: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return run_python("-m", "ophook_npu", "op", "check", target, *options, COLUMNS="200", **environment)

    return check


def statuses(text: str) -> dict[str, str]:
    rows = [line.split("│") for line in text.splitlines() if line.startswith("│")]
    return {row[1].strip(): row[2].strip() for row in rows if row[1].strip()}


@pytest.mark.parametrize("name", NPU)
def test_npu_operators_agree_on_every_route(op_check, name: str) -> None:
    result = op_check(name)
    found = statuses(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr[-2000:]
    assert {found[route] for route in ("kernel", *ROUTES)} == {"pass"}


@pytest.mark.parametrize("name", ["crop", "numpy_sin", "numpy_matmul"])
def test_operators_without_a_kernel_run_through_the_cpu(op_check, name: str) -> None:
    result = op_check(name, "--only", "schema", "--only", "aclnn")
    assert result.returncode == 0 and statuses(result.stdout)["aclnn"] == "pass", result.stdout + result.stderr[-2000:]
    assert "runs on the CPU, with copies both ways: it has no aclnn function" in result.stderr


@pytest.mark.slow
def test_a_new_package_passes_on_every_route(op_check, tmp_path: Path) -> None:
    schema = "(Tensor x, Tensor y, float scale=2.0) -> Tensor"
    package = tmp_path / "npu_scale_custom"
    made = subprocess.run(
        [sys.executable, "-m", "ophook_npu", "op", "new", "npu::npu_scale_custom", "--schema", schema,
         "--out", str(package)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    declared = str(package / "npu_scale_custom" / "operator.py")
    installed = tmp_path / "installed"
    build(package / "npu_scale_custom" / "ascendc", installed)
    result = op_check(declared, ASCEND_CUSTOM_OPP_PATH=str(installed))
    assert result.returncode == 0, result.stdout + result.stderr[-2000:]
    assert {statuses(result.stdout)[route] for route in ROUTES} == {"pass"}

    without = op_check(declared, "--only", "schema", "--only", "aclnn")
    assert without.returncode == 1
    assert (
        "no kernel is registered" in without.stdout
        or "no installed operator package has aclnnScaleCustom" in without.stdout
    )


def test_a_cpu_implementation_that_raises_is_named(run_sim) -> None:
    code = """
import torch
from ophook_npu.ops import Operator, register, same_as
def cpu(x):
    raise ValueError("no luck")
op = register(Operator("mylib::unlucky(Tensor x) -> Tensor", cpu, list, outputs={"y": same_as("x")}))
op(torch.ones(2).npu())
"""
    result = run_sim(code)
    assert result.returncode == 1
    assert "[unlucky] its CPU implementation, which runs for npu:0 here, raised ValueError: no luck" in result.stderr


def test_bad_arguments_are_refused_by_the_kernel_in_the_same_words(run_sim) -> None:
    code = """
import torch
from ophook_npu import ops
norm, glu, update = (ops.register(f"npu_{n}_custom") for n in ("rms_norm", "swiglu", "cache_update"))
def refused(op, *args):
    told = []
    for device in ("cpu", "npu"):
        try:
            op(*(a.to(device) if isinstance(a, torch.Tensor) else a for a in args))
        except RuntimeError as error:
            told.append(str(error).splitlines()[0].split("; next")[0])
        else:
            raise SystemExit(f"{op} accepts {args} on {device}")
    print(told[0] == told[1] or told, told[0])
refused(norm, torch.ones(2, 3), torch.ones(4))
refused(glu, torch.ones(2, 3), -1)
refused(glu, torch.ones(2, 4), 2)
refused(update, torch.ones(2, 3), torch.tensor([0]), torch.ones(2, 3))
"""
    result = run_sim(code)
    assert result.returncode == 0, result.stderr[-2000:]
    lines = [line for line in result.stdout.splitlines() if line.startswith(("True", "["))]
    assert [line.split(" ", 1)[0] for line in lines] == ["True"] * 4, result.stdout
    assert lines[0].endswith("x has shape [2, 3], gamma has shape [4]; allowed: x [..., d], gamma [d]")


def test_another_schema_is_refused_before_the_library_is_loaded(run_sim) -> None:
    """The library's static initializers cannot raise through dlopen: the process would end."""
    code = """
import torch, torch_npu
from ophook_npu import ops
from ophook_npu.errors import OphookError
from ophook_npu.ops.extension import build
library = str(build())
torch.library.define("npu::npu_add_custom", "(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor")
for _ in range(2):
    try:
        ops.register("npu_add_custom")
    except OphookError as error:
        print(error)
print(library in open("/proc/self/maps").read())
"""
    result = run_sim(code)
    assert result.returncode == 0, result.stderr[-2000:]
    *refusals, loaded = result.stdout.splitlines()
    assert len(refusals) == 2 and loaded == "False"
    for line in refusals:
        assert "torch already has npu::npu_add_custom(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor" in line


def test_a_kernel_that_torch_npu_has_already_is_used(run_sim) -> None:
    code = """
import torch, torch_npu
from ophook_npu import ops
library = torch.library.Library("npu", "FRAGMENT")
library.define("npu_add_custom(Tensor x, Tensor y) -> Tensor")
library.impl("npu_add_custom", lambda x, y: x - y, "PrivateUse1")
add = ops.npu_add_custom
one = torch.ones(2)
print(add(one.npu(), one.npu()).tolist(), add(one, one).tolist(), "libophook_npu" in open("/proc/self/maps").read())
"""
    result = run_sim(code)
    assert result.stdout.splitlines()[-1] == "[0.0, 0.0] [2.0, 2.0] False", result.stdout + result.stderr[-2000:]


def test_torch_npu_may_be_imported_after_the_operator(run_sim) -> None:
    code = """
import os, sys
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import torch
from ophook_npu import ops
one = torch.ones(2)
assert ops.npu_add_custom(one, one).tolist() == [2.0, 2.0] and "torch_npu" not in sys.modules
import torch_npu
print(ops.npu_add_custom(one.npu(), one.npu()))
"""
    result = run_sim(code, anew=True)  # it imports torch without torch_npu
    assert result.stdout.splitlines()[-1] == "tensor([2., 2.], device='npu:0')", result.stdout + result.stderr[-2000:]
