"""Operators of graphs that are C++ of a user's own (graph/custom_op.h), in a package, with kernels that they launch."""

import platform
from pathlib import Path

import pytest

from ophook_npu.sim import program

SOURCE = Path(__file__).parent / "programs" / "asc" / "eager_operator.asc"
CALL = """
import sys
import torch, torch_npu, torchair
from torchair.ge import attr
library = torch.library.Library("user", "DEF")
library.define("repeat_rows(Tensor x, int times) -> Tensor")
library.impl("repeat_rows", lambda x, times: x.new_empty(x.shape[0] * times, *x.shape[1:]), "Meta")
op = torch.ops.user.repeat_rows.default

@torchair.register_fx_node_ge_converter(op)
def convert(x, times, meta_outputs=None):
    attrs = {} if times == 2 else {"times": attr.Int(times)}
    return torchair.ge.custom_op("RepeatRows", inputs={"x": x}, outputs=["y"], attrs=attrs)

times, dims = int(sys.argv[1]), [int(one) for one in sys.argv[2].split(",")]
backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
for dynamic in (False, True):
    torch._dynamo.reset()
    graph = torch.compile(lambda x: op(x * 3, times) + 1, backend=backend, fullgraph=True, dynamic=dynamic)
    for rows in (dims[0], dims[0] + 2):
        x = torch.randint(9, (rows, *dims[1:]), dtype=torch.int32)
        torch.testing.assert_close(graph(x.npu()).cpu(), torch.cat([x * 3 + 1] * 2))
print("all equal")
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    library = folder / "op_graph" / "lib" / "linux" / platform.machine() / "librepeat_rows.so"
    library.parent.mkdir(parents=True)
    program.compile(["-shared", str(SOURCE), "-o", str(library), "-l:libgert.so", "-l:libgraph.so"])
    return folder


@pytest.fixture
def call(run_python, package: Path):
    return lambda times, dims: run_python("-c", CALL, times, dims, ASCEND_CUSTOM_OPP_PATH=str(package))


def test_a_graph_runs_the_kernels_that_an_operator_launches(call) -> None:
    done = call("2", "3,4")
    assert done.stdout.endswith("all equal\n"), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("times", "dims", "told"),
    [
        ("5", "3,4", "its output 0 is int32[6, 4], its InferShape told int32[15, 4]"),
        ("2", "3,4,5", "its InferShape refuses the inputs"),
    ],
)
def test_what_contradicts_its_inference_is_refused(call, times: str, dims: str, told: str) -> None:
    done = call(times, dims)
    assert done.returncode and told in done.stderr, done.stdout + done.stderr
