"""torchair.ops.npu_print: what a graph prints comes from the device to the program's standard error."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest

HEAD = """
import torch, torch_npu, torchair
from torchair.ops import npu_print
torch._logging.set_logs(all=50)

def graph(program, *inputs, dynamic=False):
    compiled = torch.compile(program, backend=torchair.get_npu_backend(), fullgraph=True, dynamic=dynamic)
    results = [compiled(*(tensor.npu() for tensor in inputs))]
    torch.npu.synchronize()
    return results
"""


@pytest.fixture
def printed(run_sim: Any) -> Any:
    """The lines of standard error between two marks that a graph prints itself."""

    def printed(program: str) -> str:
        begin, end = (f"graph(lambda x: npu_print('{mark}', x), torch.ones(1))\n" for mark in ("<begin>", "<end>"))
        done = run_sim(HEAD + begin + program + end)
        assert done.returncode == 0, done.stderr[-3000:]
        found = re.search(r"^<begin> \[1\]\n(.*)^<end> \[1\]$", done.stderr, re.MULTILINE | re.DOTALL)
        assert found, done.stderr[-3000:]
        return found[1]

    return printed


def test_values_shapes_and_data_types(printed: Any) -> None:
    text = printed(
        """
def program(x, y, flag):
    npu_print("x", x, 3, "y", y)
    npu_print(x * 2, tensor_detail=True)
    npu_print("flag", flag, tensor_detail=True)
    npu_print((x / 3).bfloat16(), (x - 1).half(), y.to(torch.int8))
graph(program, torch.tensor([[0.0, 1.0], [2.25, 3.0]]), torch.arange(10), torch.tensor(True))
"""
    )
    # What does not depend on each other is printed in the order in which the engine runs it.
    assert sorted(re.split(r"\n(?! )", text.rstrip("\n"))) == sorted(
        [
            "x [[0 1]\n [2.25 3]] 3 y [0 1 2 ... 7 8 9]",
            "tensor([[0 2]\n [4.5 6]], shape=[2 2], dtype=torch.float32)",
            "flag tensor(1, shape=[], dtype=torch.bool)",
            "[[0 0.333984375]\n [0.75 1]] [[-1 0]\n [1.25 2]] [0 1 2 ... 7 8 9]",
        ]
    )


def test_how_much_of_a_tensor_is_printed(printed: Any) -> None:
    text = printed(
        """
def program(x):
    npu_print(x, summarize_size=1)
    npu_print(x, summarize_size=2)
    npu_print(x, summarize_size=-1)
graph(program, torch.arange(25).reshape(5, 5))
"""
    )
    rows = [" ".join(map(str, row)) for row in numpy.arange(25).reshape(5, 5)]
    everything = "[" + "\n ".join(f"[{row}]" for row in rows) + "]\n"
    short = "[[0 1 ... 3 4]\n [5 6 ... 8 9]\n ...\n [15 16 ... 18 19]\n [20 21 ... 23 24]]\n"
    assert text == "[[0 ... 4]\n ...\n [20 ... 24]]\n" + short + everything


def test_extreme_numbers(printed: Any) -> None:
    text = printed(
        """
def program(x, y, z):
    npu_print(x, summarize_size=-1)
    npu_print(y, summarize_size=-1)
    npu_print(z, summarize_size=-1)
graph(program, torch.tensor([float("inf"), float("-inf"), float("nan"), 1e-45, -0.5]),
      torch.tensor([2**63 - 1, -(2**63), 2**53 + 1]), torch.empty(0, 3))
"""
    )
    assert text == (
        "[inf -inf nan 1.40129846e-45 -0.5]\n[9223372036854775807 -9223372036854775808 9007199254740993]\n[]\n"
    )


def test_each_run_prints_in_order_and_a_dynamic_graph_its_own_shapes(printed: Any) -> None:
    text = printed(
        """
def program(x):
    y = x + 1
    npu_print("first", y)
    z = y.sum()
    npu_print("second", z, tensor_detail=True)
    return z
backend = torchair.get_npu_backend()
compiled = torch.compile(program, backend=backend, fullgraph=True, dynamic=True)
for n in (2, 3, 4):
    compiled(torch.ones(n).npu())
torch.npu.synchronize()
"""
    )
    assert text == "".join(
        f"first [{' '.join(['2'] * n)}]\nsecond tensor({2 * n}, shape=[], dtype=torch.float32)\n" for n in (2, 3, 4)
    )


def test_a_memory_that_is_used_again_does_not_change_what_was_printed(printed: Any) -> None:
    """The text is made on the stream, before what comes later in the graph writes there."""
    text = printed(
        """
def program(x):
    for step in range(6):
        x = x * 2
        npu_print(step, x)
    return x
graph(program, torch.ones(3))
"""
    )
    assert text == "".join(f"{step} [{2 ** (step + 1)} {2 ** (step + 1)} {2 ** (step + 1)}]\n" for step in range(6))


def test_a_data_type_that_cannot_be_printed(run_sim: Any) -> None:
    done = run_sim(HEAD + "graph(lambda x: npu_print(x), torch.ones(2, dtype=torch.complex64))")
    assert done.returncode != 0
    assert re.search(r"\(StringFormat\): its input 'x0' has a data type that cannot be printed", done.stderr), (
        done.stderr
    )
