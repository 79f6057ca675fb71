"""Every kind of argument and result through every route: the generated kernel, torchair and npugraph_ex."""

import subprocess
from pathlib import Path

import pytest

from ophook_npu.ops import packages
from ophook_npu.ops.export import files, ge
from ophook_npu.ops.load import load

pytestmark = pytest.mark.slow

ROUTES = ("prototype", "aclnn", "torchair static", "torchair dynamic", "npugraph_ex")

OPERATORS = '''
"""Operators with every kind of argument: all at once, written to by keyword, two written to, and one for autocast."""
import torch
from ophook_npu.ops import Operator, broadcast, reduced, same_as

HALVES = (torch.float16, torch.float32, torch.bfloat16)


def mixed(x, bias, rest, weights, alpha=1, *, dims, flip=False, mode="sum"):
    total = x.float() * float(alpha)
    for weight, one in zip(weights, rest):
        total = total + weight * one.float()
    if bias is not None:
        total = total + bias.float()
    if flip:
        total = total.flip(dims)
    if mode == "square":
        total = total.square()
    return total.to(x.dtype).contiguous(), total.sum(-1, keepdim=True)


def mixed_examples():
    x, one, two, bias = (torch.randn(3, 4) for _ in range(4))
    return [
        (x, None, [one, two], [0.5, -1.25], 2, [0]),
        (x, bias, [one], [0.1], 1.5, [0, 1], True, "square"),
        (x.half(), bias.half(), [one.half(), two.half(), x.half()], [1.0, 2.0, 3.0], True, [1], True),
        (x, bias, [], [], 1, []),
    ]


MIXED = Operator(
    "mylib::mixed(Tensor x, Tensor? bias, Tensor[] rest, float[] weights, Scalar alpha=1, *, int[] dims, "
    "bool flip=False, str mode='sum') -> (Tensor, Tensor)",
    mixed,
    mixed_examples,
    outputs={"y": same_as("x"), "total": reduced("x", -1, dtype=torch.float32)},
    dtypes={"x bias rest": HALVES},
    shapes={"x": "n d", "bias": "n d", "rest": "n d"},
    ge="Mixed",
)


def into(x, scales, *, out):
    out.copy_(x * sum(scales))


INTO = Operator(
    "mylib::into(Tensor x, float[] scales, *, Tensor(a!) out) -> ()",
    into,
    lambda: [(torch.randn(2, 3), [0.5, 1.0], torch.zeros(2, 3)), (torch.randn(4).half(), [2.0], torch.zeros(4).half())],
    dtypes={"x out": HALVES},
    shapes={"x": "...", "out": "..."},
    vmap=None,
    ge="Into",
)


def both(cache, count, update, dtype=torch.float32):
    cache.add_(update)
    count.add_(1 if dtype == torch.float32 else 2)


BOTH = Operator(
    "mylib::both_written(Tensor(a!) cache, Tensor(b!) count, Tensor update, ScalarType dtype=6) -> ()",
    both,
    lambda: [
        (torch.randn(2, 3), torch.zeros(2), torch.randn(2, 3)),
        (torch.randn(3), torch.zeros(()), torch.randn(3), torch.int32),
    ],
    dtypes={"cache count update": HALVES},
    shapes={"cache": "... d", "count": "...", "update": "... d"},
    ge="BothWritten",
)


def lowered(x, y):
    return (x * y).contiguous()


LOWERED = Operator(
    "mylib::lowered(Tensor x, Tensor y) -> Tensor",
    lowered,
    lambda: [(torch.randn(2, 3), torch.randn(3)), (torch.randn(2).half(), torch.randn(2).half())],
    outputs={"z": broadcast("x", "y")},
    dtypes={"x y": HALVES},
    vmap="broadcast",
    autocast="lower",
    ge="Lowered",
)
'''

ACLNN = """
#include <ATen/ops/add.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/square.h>
#include <ATen/ops/sum.h>
#include "opapi/aclnn.h"
using namespace sim::aclnn;
namespace {
at::Tensor mixed(const at::Tensor& x, const at::Tensor& bias, const std::vector<at::Tensor>& rest,
                 const std::vector<float>& weights, double alpha, const std::vector<int64_t>& dims, bool flip,
                 const std::string& mode) {
  at::Tensor total = at::mul(x.to(at::kFloat), alpha);
  for (size_t i = 0; i < rest.size(); ++i) total = at::add(total, at::mul(rest[i].to(at::kFloat), weights.at(i)));
  if (bias.defined()) total = at::add(total, bias.to(at::kFloat));
  if (flip) total = at::flip(total, dims);
  return mode == "square" ? at::square(total) : total;
}
double sum(const std::vector<float>& scales) {
  double total = 0;
  for (float scale : scales) total += scale;
  return total;
}
}
ACLNN(Mixed,
      (In,x, In,bias, List,rest, Floats,weights, double,alpha, Ints,dims, bool,flip, Text,mode, Out,y, Out,total),
      like(y, x); TORCH_CHECK(weights.size() == rest.size(), "as many weights as tensors"),
      at::Tensor made = mixed(x, bias, rest, weights, alpha, dims, flip, mode);
      write(y, made.to(x.scalar_type())); write(total, at::sum(made, {-1}, true)))
ACLNN(Into, (In,x, Ref,out, Floats,scales), like(out, x), write(out, at::mul(x, sum(scales))))
ACLNN(BothWritten, (Ref,cache, Ref,count, In,update, Dtype,dtype), like(update, cache),
      cache.add_(update); count.add_(dtype == at::kFloat ? 1 : 2))
ACLNN(Lowered, (In,x, In,y, Out,z), broadcast(z, {x, y}), write(z, at::mul(x, y)))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "kinds_operators.py").write_text(OPERATORS)
    (folder / "kinds_aclnn.cpp").write_text(ACLNN)
    for op in load(str(folder / "kinds_operators.py")):
        (folder / f"{ge.file_stem(op)}_proto.cpp").write_text(ge.inference(op))
        assert files(op)  # every file has a form for it
    return folder


@pytest.fixture(scope="module")
def package(folder: Path) -> Path:
    return packages.simulate(folder)


@pytest.fixture
def run(run_python, package: Path):
    """Run Python with the package of these operators."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return run_python(*arguments, COLUMNS="250", ASCEND_CUSTOM_OPP_PATH=str(package), **environment)

    return run


def test_every_route_agrees(run, folder: Path) -> None:
    result = run("-m", "ophook_npu", "op", "check", str(folder / "kinds_operators.py"))
    assert result.returncode == 0, result.stdout + result.stderr[-3000:]
    rows = [[cell.strip() for cell in line.split("│")[1:3]] for line in result.stdout.splitlines() if "│" in line]
    for route in ROUTES:
        assert [status for name, status in rows if name == route] == ["pass"] * 4, result.stdout


PROGRAM = """
import sys, torch, torch_npu
sys.path.insert(0, {folder!r})
from kinds_operators import INTO, LOWERED, MIXED
from ophook_npu.ops import register
mixed, into, lowered = (register(op) for op in (MIXED, INTO, LOWERED))
x = torch.randn(3, 4)
"""


@pytest.mark.parametrize("task_queue", ["0", "1", "2"])
def test_lists_of_floats_of_calls_in_flight(run, folder: Path, task_queue: str) -> None:
    """Each call has its own list: the values, the length and the memory."""
    program = (
        PROGRAM
        + """
results = []
for n in range(200):
    weights = [float(n), 0.5, *range(n % 3)]
    rest = [x] * len(weights)
    results.append((mixed(x.npu(), None, [r.npu() for r in rest], weights, 0, dims=[])[0], x * sum(weights)))
print(all(torch.allclose(got.cpu(), expected, rtol=1e-4, atol=1e-4) for got, expected in results))
"""
    )
    result = run("-c", program.format(folder=str(folder)), TASK_QUEUE_ENABLE=task_queue)
    assert result.stdout.splitlines()[-1] == "True", result.stdout + result.stderr[-2000:]


def test_autocast_on_npu(run, folder: Path) -> None:
    program = (
        PROGRAM
        + """
y = torch.randn(4)
with torch.autocast("npu", dtype=torch.float16):
    got = lowered(x.npu(), y.npu())
    compiled = torch.compile(lambda x, y: lowered(x, y), backend="aot_eager", fullgraph=True)(x.npu(), y.npu())
assert got.dtype == compiled.dtype == torch.float16
torch.testing.assert_close(got.cpu(), x.half() * y.half())
torch.testing.assert_close(compiled.cpu(), x.half() * y.half())
assert lowered(x.npu(), y.npu()).dtype == torch.float32
with torch.autocast("npu", dtype=torch.bfloat16):
    assert lowered(x.npu(), y.npu()).dtype == torch.bfloat16
print("cast")
"""
    )
    result = run("-c", program.format(folder=str(folder)))
    assert result.stdout.splitlines()[-1:] == ["cast"], result.stdout + result.stderr[-2000:]


def test_a_complex_scalar_is_refused_by_name_on_every_device(run, folder: Path) -> None:
    program = (
        PROGRAM
        + """
for device in ("cpu", "npu", "meta"):
    try:
        mixed(x.to(device), None, [], [], 1j, dims=[])
    except RuntimeError as error:
        print(str(error).splitlines()[0])
"""
    )
    result = run("-c", program.format(folder=str(folder)))
    lines = [line for line in result.stdout.splitlines() if line.startswith("[mixed]")]
    assert len(lines) == 3, result.stdout + result.stderr[-2000:]
    assert all("alpha is" in line and line.endswith("; allowed: a real number") for line in lines), lines


def test_shapes_of_optional_tensors_and_lists_are_refused_in_the_same_words(run, folder: Path) -> None:
    program = (
        PROGRAM
        + """
for bias, rest in ((torch.ones(4), []), (None, [x, torch.ones(3, 5)]), (torch.ones(2, 4), [torch.ones(1)])):
    for device in ("cpu", "npu"):
        try:
            mixed(x.to(device), bias if bias is None else bias.to(device), [r.to(device) for r in rest],
                  [1.0] * len(rest), dims=[])
        except RuntimeError as error:
            print(str(error).splitlines()[0])
"""
    )
    result = run("-c", program.format(folder=str(folder)))
    lines = [line for line in result.stdout.splitlines() if line.startswith("[mixed]")]
    assert len(lines) == 6, result.stdout + result.stderr[-2000:]
    assert lines[::2] == lines[1::2]
    assert lines[0] == ("[mixed] x has shape [3, 4], bias has shape [4]; allowed: x [n, d], bias [n, d], rest [n, d]")
    assert "rest has shape [3, 5]" in lines[2] and "bias has shape [2, 4]" in lines[4]
