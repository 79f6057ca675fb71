"""Custom operator packages of a user's own in graphs: found as CANN finds them, run through their aclnn functions."""

import ast
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch_npu

from ophook_npu import toolchain
from ophook_npu.sim.build import CSRC, location

ACL = Path(torch_npu.__file__).parent / "include" / "third_party" / "acl" / "inc"
TORCH = Path(torch.__file__).parent

PROTO = """
#include "graph/operator_reg.h"
namespace ge {
REG_OP(ScaleShift)
    .INPUT(x, TensorType::ALL()).OPTIONAL_INPUT(bias, TensorType::ALL()).DYNAMIC_INPUT(extra, TensorType::ALL())
    .OUTPUT(y, TensorType::ALL()).OUTPUT(total, TensorType::ALL())
    .REQUIRED_ATTR(alpha, Float).ATTR(times, Int, 3).ATTR(negate, Bool, false).ATTR(axes, ListInt, {})
    .ATTR(mode, String, "plain")
    .OP_END_FACTORY_REG(ScaleShift);
IMPLEMT_COMMON_INFERFUNC(Infer) {
  TensorDesc x = op.GetInputDescByName("x"), total = x;
  float alpha = 0;
  if (op.GetAttr("alpha", alpha) != GRAPH_SUCCESS) return GRAPH_FAILED;
  total.SetShape(Shape(std::vector<int64_t>{}));
  op.UpdateOutputDesc("y", x);
  return op.UpdateOutputDesc("total", total);
}
COMMON_INFER_FUNC_REG(ScaleShift, Infer);
REG_OP(Address).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL()).OP_END_FACTORY_REG(Address);
IMPLEMT_COMMON_INFERFUNC(Same) {
  const InferenceContextPtr resources = op.GetInferenceContext();
  if (!resources->GetInputHandleShapesAndTypes().empty() || resources->GetResourceContext("key")) return GRAPH_FAILED;
  return op.UpdateOutputDesc("y", op.GetInputDescByName("x"));
}
COMMON_INFER_FUNC_REG(Address, Same);
}
"""

ACLNN = """
#include <ATen/TensorOperators.h>
#include "opapi/aclnn.h"
using namespace sim::aclnn;
namespace {
at::Tensor shifted(const at::Tensor& x, const at::Tensor& bias, const std::vector<at::Tensor>& extra, double alpha,
                   int64_t times, bool negate, const std::vector<int64_t>& axes, const std::string& mode) {
  at::Tensor y = x * alpha * times;
  if (bias.defined()) y = y + bias;
  for (const at::Tensor& one : extra) y = y + one;
  if (negate) y = -y;
  for (int64_t axis : axes) y = y.flip(axis);
  return mode == "square" ? y * y : y;
}
}
ACLNN(ScaleShift, (In,x, In,bias, List,extra, double,alpha, int64_t,times, bool,negate, Ints,axes, Text,mode,
                   Out,y, Out,total), like(y, x),
      y.copy_(shifted(x, bias, extra, alpha, times, negate, axes, mode)); total.copy_(y.sum()))
// Where the memory of its argument and its result begins: so many bytes after a multiple of 512, and 1000.
ACLNN(Address, (In,x, Out,y), like(y, x),
      y.fill_(int64_t(1000 + reinterpret_cast<uintptr_t>(x.data_ptr()) % 512 +
                      reinterpret_cast<uintptr_t>(y.data_ptr()) % 512)))
"""

PROGRAM = """
import torch, torch_npu, torchair
from torchair.ge import attr
library = torch.library.Library("user", "DEF")
library.define("scale_shift(Tensor x, Tensor? bias, Tensor[] extra, float alpha) -> (Tensor, Tensor)")
library.impl("scale_shift", lambda x, bias, extra, alpha: (torch.empty_like(x), x.new_empty(())), "Meta")
op = torch.ops.user.scale_shift.default

@torchair.register_fx_node_ge_converter(op)
def convert(x, bias, extra, alpha, meta_outputs=None):
    return torchair.ge.custom_op(
        "ScaleShift", inputs={"x": x, "bias": bias, "extra": extra}, outputs=["y", "total"],
        attrs={
            "alpha": attr.Float(alpha), "negate": attr.Bool(True), "axes": attr.ListInt([1]),
            "mode": attr.Str("square"),
        })

backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
def f(x, bias, e, g): return op(x + 1, bias, [e, g], 0.5)
for dynamic in (False, True):
    torch._dynamo.reset()
    graph = torch.compile(f, backend=backend, fullgraph=True, dynamic=dynamic)
    for rows in (3, 5):
        for with_bias in (True, False):
            x, e, g = torch.randn(rows, 4), torch.randn(rows, 4), torch.randn(rows, 4)
            bias = torch.randn(rows, 4) if with_bias else None
            y, total = graph(x.npu(), bias.npu() if with_bias else None, e.npu(), g.npu())
            expected = ((x + 1) * 0.5 * 3 + (bias if with_bias else 0) + e + g).flip(1) ** 2
            torch.testing.assert_close(y.cpu(), expected)
            torch.testing.assert_close(total.cpu(), expected.sum())
print("all equal")
"""

ADDRESSES = """
import torch, torch_npu, torchair
library = torch.library.Library("user", "DEF")
library.define("address(Tensor x) -> Tensor")
library.impl("address", lambda x: torch.empty_like(x), "Meta")
op = torch.ops.user.address.default

@torchair.register_fx_node_ge_converter(op)
def convert(x, meta_outputs=None):
    return torchair.ge.custom_op("Address", inputs={"x": x}, outputs=["y"])

backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
def f(x):
    of_input, of_temporary = op(x), op(x + 1)
    return of_input, of_temporary, op(of_temporary * 2), op(x[1:] * 3), x - 1
for dynamic in (False, True):
    torch._dynamo.reset()
    graph = torch.compile(f, backend=backend, fullgraph=True, dynamic=dynamic)
    for count in (3, 77, 1000):
        outputs = graph(torch.arange(count).npu())
        for output in outputs[:-1]:
            assert output.unique().tolist() == [1000], (dynamic, count, output)
        assert [output.data_ptr() % 512 for output in outputs] == [0] * 5, (dynamic, count)
print("all aligned")
"""

IR = """
import torch, torch_npu, torchair
from torchair.core import _torchair
torchair.core._backend.initialize_graph_engine()
for type in ("ScaleShift", "Twice", "MatMulV2", "NoSuch", "AddCustom"):
    print(type, _torchair.get_registered_ir_def(type))
"""


def compile_library(source: str, target: Path, flags: list[str]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    file = target.with_suffix(".cpp")
    file.write_text(source)
    command = [*toolchain.compiler(), "-shared", "-fPIC", f"-isystem{ACL}", str(file), "-o", str(target), *flags]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def add_proto(package: Path, source: str) -> Path:
    lib = location() / "lib64"
    folder = package / "op_proto" / "lib" / "linux" / platform.machine()
    flags = ["-std=c++17", "-D_GLIBCXX_USE_CXX11_ABI=0", "-Wno-deprecated-declarations", f"-L{lib}", "-l:libgraph.so"]
    compile_library(source, folder / "libcust_opsproto.so", flags)
    return package


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete package with the operator ScaleShift: every kind of input and attribute."""
    package = add_proto(tmp_path_factory.mktemp("opp") / "user", PROTO)
    aten = [f"-isystem{TORCH / 'include'}", f"-isystem{TORCH / 'include/torch/csrc/api/include'}"]
    links = [f"-L{location() / 'lib64'}", "-l:libopapi.so", f"-L{TORCH / 'lib'}", "-ltorch_cpu", "-lc10"]
    compile_library(ACLNN, package / "op_api" / "lib" / "libcust_opapi.so", ["-std=c++20", f"-I{CSRC}", *aten, *links])
    return package


Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_package_runs_in_static_and_dynamic_graphs(run_sim: Run, package: Path) -> None:
    result = run_sim(PROGRAM, ASCEND_CUSTOM_OPP_PATH=str(package))
    assert result.returncode == 0 and "all equal" in result.stdout, result.stderr


def test_inputs_outputs_and_temporaries_begin_at_multiples_of_512_bytes(run_sim: Run, package: Path) -> None:
    result = run_sim(ADDRESSES, ASCEND_CUSTOM_OPP_PATH=str(package))
    assert result.returncode == 0 and "all aligned" in result.stdout, result.stderr


def renamed(name: str) -> str:
    return f"""
#include "graph/operator_reg.h"
namespace ge {{
REG_OP(Twice).INPUT({name}, TensorType::ALL()).OUTPUT(y, TensorType::ALL()).OP_END_FACTORY_REG(Twice);
}}
"""


def broken(package: Path) -> Path:
    library = package / "op_proto" / "lib" / "linux" / platform.machine() / "libcust_opsproto.so"
    library.parent.mkdir(parents=True)
    library.write_text("this is no library")
    return package


def test_prototypes_by_package(run_sim: Run, package: Path, tmp_path: Path) -> None:
    """Kinds and types as torchair needs them; the first package wins; one that cannot be loaded stops no other."""
    bad = broken(tmp_path / "bad")
    second, first = (add_proto(tmp_path / name, renamed(name)) for name in ("second", "first"))
    result = run_sim(IR, ASCEND_CUSTOM_OPP_PATH=f"{bad}:{package}:{second}:{first}")
    assert result.returncode == 0, result.stderr
    told = dict(line.split(" ", 1) for line in result.stdout.splitlines())
    assert ast.literal_eval(told["ScaleShift"]) == (
        "SUCCESS",
        [("x", "required"), ("bias", "optional"), ("extra", "dynamic")],
        [("y", "required"), ("total", "required")],
        [
            ("alpha", "VT_FLOAT"),
            ("times", "VT_INT"),
            ("negate", "VT_BOOL"),
            ("axes", "VT_LIST_INT"),
            ("mode", "VT_STRING"),
        ],
    )
    assert ast.literal_eval(told["Twice"]) == ("SUCCESS", [("second", "required")], [("y", "required")], [])
    assert ast.literal_eval(told["MatMulV2"]) == (
        "SUCCESS",
        [("x1", "required"), ("x2", "required"), ("bias", "optional"), ("offset_w", "optional")],
        [("y", "required")],
        [("transpose_x1", "VT_BOOL"), ("transpose_x2", "VT_BOOL"), ("offset_x", "VT_INT")],
    )
    assert ast.literal_eval(told["NoSuch"]) == ("ERROR", [], [], [])
    assert f"op_proto library {bad / 'op_proto'}" in result.stderr and "cannot be loaded" in result.stderr


ONE_INPUT = """
import torch, torch_npu, torchair
library = torch.library.Library("user", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: torch.empty_like(x), "Meta")
@torchair.register_fx_node_ge_converter(torch.ops.user.twice.default)
def convert(x, meta_outputs=None):
    return torchair.ge.custom_op("Twice", inputs={"x": x}, outputs=["y"])
backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
try: torch.compile(torch.ops.user.twice.default, backend=backend, dynamic=False)(torch.ones(3).npu())
except RuntimeError as error: print(error)
"""


def test_a_prototype_without_a_kernel_is_refused_with_the_place_of_the_kernel(run_sim: Run, tmp_path: Path) -> None:
    result = run_sim(ONE_INPUT, ASCEND_CUSTOM_OPP_PATH=str(add_proto(tmp_path / "user", renamed("x"))))
    assert "(Twice): its op_proto library is loaded, but no library" in result.stdout, result.stdout + result.stderr
    assert "aclnnTwiceGetWorkspaceSize (op_api/lib/libcust_opapi.so)" in result.stdout


def test_without_its_package_add_custom_is_unregistered(run_sim: Run, tmp_path: Path) -> None:
    assert "\nAddCustom ('SUCCESS', [('x', 'required'), ('y', 'required')], " in "\n" + run_sim(IR).stdout
    result = run_sim(f"import os; os.environ['ASCEND_OPP_PATH'] = {str(tmp_path)!r}\n{IR}")
    assert "\nAddCustom ('ERROR', [], [], [])" in "\n" + result.stdout, result.stdout + result.stderr
