"""What the operator tables refuse, and how they say it."""

from collections.abc import Callable

import pytest
import torch

ONE_OPERATOR = """
import torch, {imports}
x = torch.ones(2, 3, device="npu:0")
{call}
torch.npu.synchronize()
"""


def test_operator_that_no_table_has_is_refused_by_name(run_sim) -> None:
    number = "torch.ones(1, dtype=torch.int32).npu()"
    call = f"torch_npu.obfuscation_calculate({number}, x, {number})"  # no page says what it computes
    done = run_sim(ONE_OPERATOR.format(imports="torch_npu", call=call))
    assert done.returncode != 0
    assert "aclnnObfuscationCalculateV2" in done.stderr and "not in libopapi.so" in done.stderr


def test_aclop_operator_that_has_not_the_data_type_is_refused_at_the_call(run_sim) -> None:
    call = "cell = torch.nn.LSTMCell(3, 4).npu()\nfor p in cell.parameters(): p.data = p.data.cpu().double().npu()\n"
    done = run_sim(ONE_OPERATOR.format(imports="torch_npu", call=call + "cell(x.cpu().double().npu())"))
    assert done.returncode != 0
    assert "aclop operator DynamicRNNV2: input 0 is float64[1, 2, 3]; allowed: FLOAT, FLOAT16" in done.stderr


def test_aclop_operator_that_is_missing_is_named(run_sim) -> None:
    call = "torch_npu.npu_normalize_batch(torch.rand(2, 3, 6).npu(), torch.tensor([3, 6], dtype=torch.int32).npu(), 0)"
    done = run_sim(ONE_OPERATOR.format(imports="torch_npu", call=call))
    assert done.returncode != 0
    assert "NormalizeBatch is not implemented by the simulator" in done.stderr


@pytest.mark.parametrize(
    "call, message",
    [
        ("x.index_select(0, torch.tensor([5]).npu()).cpu()", "aclnnIndexSelect: index out of range in self"),
        (
            "x.gather(1, torch.tensor([[7]]).npu()).cpu()",
            "aclnnGather: index 7 is out of bounds for dimension 1 with size 3",
        ),
        (
            "torch.linalg.cholesky(-torch.eye(3).npu()).cpu()",
            "aclnnLinalgCholesky: linalg.cholesky: The factorization could not be completed",
        ),
        (
            "torch.nn.functional.embedding(torch.tensor([9]).npu(), x).cpu()",
            "aclnnEmbedding: index out of range in self",
        ),
        (
            "torch.multinomial(-x, 1).cpu()",
            "aclnnMultinomial: probability tensor contains either `inf`, `nan` or element < 0",
        ),
        (
            "torch.nn.functional.nll_loss(x, torch.tensor([0, 9]).npu()).cpu()",
            "aclnnNLLLoss: Target 9 is out of bounds",
        ),
    ],
)
def test_a_wrong_value_is_reported_by_the_operator_that_met_it(run_sim, call: str, message: str) -> None:
    done = run_sim(ONE_OPERATOR.format(imports="torch_npu", call=call))
    assert done.returncode != 0
    assert f"[simulated Ascend] {message}" in done.stderr


def test_whole_numbers_are_refused_where_the_device_has_none(run_sim) -> None:
    """torch_npu asks for the logit of integers in an integer tensor: no number could be right."""
    done = run_sim(ONE_OPERATOR.format(imports="torch_npu", call="torch.logit(torch.arange(3).npu()).cpu()"))
    assert done.returncode != 0
    assert "aclnnLogit: input has data type INT64; Ascend910B allows FLOAT, FLOAT16, BFLOAT16" in done.stderr


def test_the_check_of_these_tests_can_fail(same) -> None:
    x = torch.ones(3)
    with pytest.raises(AssertionError):
        same(lambda x: x + (1 if x.device.type == "npu" else 0), x)
    with pytest.raises(AssertionError, match="fall back to run on the CPU"):
        same(torch.special.bessel_j0, x)  # an operator that torch_npu has no NPU kernel for


def test_simulator_is_what_runs() -> None:
    import ctypes

    core = ctypes.CDLL("libophook_sim_core.so")  # the one that is loaded
    counters = (ctypes.c_uint64 * 4)()
    core.sim_read_counters(ctypes.byref(counters))
    before = counters[0]
    torch.ones(4, device="npu:0").exp().cpu()
    core.sim_read_counters(ctypes.byref(counters))
    assert counters[0] >= before + 2


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: torch.nn.functional.softshrink(x, -1.0), "aclnnSoftshrink: lambd is -1; .* allows at least 0"),
        (lambda x: x[:0].amax(0), r"aclnnAmax: dimension 0 of \[0, 3\] has no element"),
        (lambda x: x[:0].amin(-2), r"aclnnAmin: dimension -2 of \[0, 3\] has no element"),
        (lambda x: x.flip(0, 0), "aclnnFlip: dimension 0 is there twice"),
        (lambda x: torch.linspace(1j, 2, 3, device=x.device), "aclnnLinspace: .* complex numbers are not allowed"),
    ],
    ids=["softshrink", "amax", "amin", "flip", "linspace"],
)
def test_what_cann_checks_is_refused_at_the_call(call: Callable[[torch.Tensor], torch.Tensor], message: str) -> None:
    x = torch.ones(2, 3).npu()
    with pytest.raises(RuntimeError, match=rf"error code is 161002[\s\S]*{message}"):
        call(x)
    assert x[:0].amax(1).shape == (0,)
