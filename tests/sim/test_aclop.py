"""Operators that torch_npu runs by type name (aclop), over the graph engine's table."""

import pytest
import torch
import torch_npu

X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: torch_npu.npu_broadcast(x[:1].contiguous(), (3, 4)), X[:1].expand(3, 4)),
        (lambda x: torch_npu.npu_reshape(x, (4, 3)), X.reshape(4, 3)),
        (lambda x: torch_npu.npu_slice(x, [0, 1], [2, 2]), X[0:2, 1:3]),
        (lambda x: torch_npu.npu_mish(x), torch.nn.functional.mish(X)),
    ],
    ids=["broadcast", "reshape", "slice", "mish"],
)
def test_by_type_name(call, expected: torch.Tensor) -> None:
    torch.testing.assert_close(call(X.npu()).cpu(), expected)


def test_a_type_that_is_not_in_the_table_is_named(run_sim) -> None:
    # In a process of its own: torch_npu does not run operators any more after one failed. Without its task queue, as a
    # `synchronize` that comes while the queue notes an error returns without it (docs/results.md).
    code = """
import torch, torch_npu
try:
    torch_npu.npu_ciou(torch.rand(4, 2).npu().requires_grad_(), torch.rand(4, 2).npu(), True, False).sum().backward()
    torch.npu.synchronize()
except RuntimeError as error:
    print(error)
"""
    said = run_sim(code, TASK_QUEUE_ENABLE="0").stdout
    assert "[simulated Ascend] the aclop operator CIoUGrad is not implemented by the simulator (" in said


def test_a_gradient_of_another_shape_is_refused_before_it_runs(run_sim) -> None:
    code = """
import torch, torch_npu
try:
    torch.ops.npu.npu_silu_backward(torch.rand(3).npu(), torch.rand(2, 3).npu(), torch.rand(2, 3).npu())
    torch.npu.synchronize()
except RuntimeError as error:
    print(error)
"""
    said = run_sim(code, TASK_QUEUE_ENABLE="0").stdout
    assert "SwishGrad" in said and "float32[3] and float32[2, 3] and float32[2, 3] do not fit" in said, said
    assert "507015" not in said
