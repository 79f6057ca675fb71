"""A package of `ophook-npu kernel build`: torch.ops.npu.npu_add_custom runs its own Ascend C kernel, eagerly and in
graphs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu import sim, toolchain
from ophook_npu.errors import OphookError

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "op_plugin_patch" / "ascendc"

_LOADED = """
def kernels():
    maps = open("/proc/self/maps").read().split()
    return sorted({word.rsplit("/", 1)[1] for word in maps if "/op_impl/cpu/" in word})
"""
_EAGER = (
    _LOADED
    + """
import torch
from ophook_npu.ops import npu_add_custom
assert not kernels()
for dtype in (torch.float16, torch.float32, torch.bfloat16, torch.int32):
    x = torch.arange(-40, 60).reshape(4, 25).to(dtype)
    y = torch.arange(25).to(dtype)
    assert torch.equal(npu_add_custom(x.npu(), y.npu()).cpu(), x + y)
    assert torch.equal(npu_add_custom(x.npu().t(), y.npu()[:4]).cpu(), x.t() + y[:4])
    z = npu_add_custom(x.npu(), x.npu())
    assert torch.equal(z.cpu(), x + x)
print(*kernels())
"""
)
# One process: the package's kernel, one that Python loads, the vendor package's; whichever comes first.
_TOGETHER = """
import torch
from ophook_npu import kernel
from ophook_npu.ops import npu_add_custom, npu_swiglu_custom
from ophook_npu.sim.build import CSRC
x = torch.randn(4, 6)
swiglu = kernel.load(CSRC / "vendor", "SwigluCustom")
assert torch.allclose(swiglu(x), npu_swiglu_custom(x), atol=1e-5)
assert torch.equal(npu_add_custom(x.npu(), x.npu()).cpu(), x + x)
assert torch.allclose(npu_swiglu_custom(x.npu()).cpu(), npu_swiglu_custom(x), atol=1e-5)
assert torch.allclose(swiglu(x), npu_swiglu_custom(x), atol=1e-5)
print("add_custom_1.so")
"""
# What runs kernels is compiled when the first one is to run: here into an empty cache, by a compiler that fails.
_COMPILED_LATE = """
import os
import torch
from ophook_npu.ops import npu_add_custom
x = torch.ones(4).npu()
assert torch.equal((x + x).cpu(), torch.full((4,), 2.0))
os.environ.update(OPHOOK_NPU_CACHE=os.environ["OTHER_CACHE"], CXX="false", TASK_QUEUE_ENABLE="0")
for _ in range(2):
    try:
        npu_add_custom(x, x)
    except RuntimeError as error:
        print("told" if "could not be compiled; next: ophook-npu sim build" in str(error) else error)
print(*(x + x).tolist())
"""
_GRAPH = (
    _LOADED
    + """
import torch, torchair
from ophook_npu.ops import npu_add_custom
x, y = torch.randn(33, 257), torch.randn(257)
model = torch.compile(lambda x, y: npu_add_custom(x, y) * 2, backend=torchair.get_npu_backend())
assert torch.equal(model(x.npu(), y.npu()).cpu(), (x + y) * 2)
print(*kernels())
"""
)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from ophook_npu.sim.packages import build

    folder = tmp_path_factory.mktemp("package") / "vendor"
    made = [path.relative_to(folder).as_posix() for path in build(PROJECT, folder)]
    assert "op_api/lib/libcust_opapi.so" in made
    assert {"op_impl/cpu/add_custom_3.so", "op_impl/cpu/add_custom_3.o"} <= set(made)
    return folder


@pytest.mark.parametrize("code", [_EAGER, _GRAPH, _TOGETHER], ids=["eager", "graph", "together"])
def test_the_projects_own_kernel_runs(run_sim, package: Path, code: str) -> None:
    done = run_sim(code, ASCEND_CUSTOM_OPP_PATH=str(package))
    assert done.returncode == 0 and "add_custom_1.so" in done.stdout, done.stdout + done.stderr
    assert "leaves what was there" not in done.stderr, done.stderr


def test_headers_may_lie_elsewhere(tmp_path: Path) -> None:
    for name in ("op_host", "op_kernel"):
        shutil.copytree(PROJECT / name, tmp_path / "project" / name)
    (tmp_path / "headers").mkdir()
    header = tmp_path / "project" / "op_host" / "add_custom_tiling.h"
    header.rename(tmp_path / "headers" / header.name)
    command = [sys.executable, "-m", "ophook_npu", "kernel", "build", str(tmp_path / "project")]
    command += ["--out", str(tmp_path / "package"), "-I", str(tmp_path / "headers")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "libcust_opapi.so" in done.stdout, done.stdout + done.stderr


_LISTS = """
import ctypes, torch, torch_npu
own, base, base_stream = ctypes.CDLL(LIBRARY), ctypes.CDLL("libnnopbase.so"), ctypes.CDLL("libascendcl.so")
for function in (base.aclCreateTensor, base.aclCreateTensorList, base.aclCreateBoolArray):
    function.restype = ctypes.c_void_p
def numbers(values):
    return (ctypes.c_int64 * len(values))(*values)
def made(t):
    rank, begin = ctypes.c_uint64(t.dim()), ctypes.c_void_p(t.data_ptr())
    sizes, strides = numbers(t.shape), numbers(t.stride())
    dtype = {torch.float32: 0, torch.int32: 3, torch.int64: 9}[t.dtype]
    return base.aclCreateTensor(sizes, rank, dtype, strides, ctypes.c_int64(0), 2, sizes, rank, begin)
def listed(tensors):
    all = (ctypes.c_void_p * len(tensors))(*map(made, tensors))
    return ctypes.c_void_p(base.aclCreateTensorList(all, ctypes.c_uint64(len(all))))
x = [torch.arange(30.).reshape(5, 6).npu(), torch.arange(14.).npu()[::2], torch.arange(1.).npu()]
y = [torch.zeros(5, 6).npu(), torch.zeros(14).npu()[::2], torch.ones(1).npu()]
size, executor = ctypes.c_uint64(), ctypes.c_void_p()
stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)
def first(*lists):
    return own.aclnnDivGetWorkspaceSize(*lists, ctypes.byref(size), ctypes.byref(executor))
assert first(listed(x), listed(y)) == 0
assert own.aclnnDiv(None, size, executor, stream) == 0
assert all(torch.equal(b.cpu(), a.cpu() / 4) for a, b in zip(x[:2], y)) and y[2].item() == 1
other = ctypes.CDLL(OTHER)
for dtype, begin in ((torch.float32, 2), (torch.int32, (7 << 16) + 7)):
    a, b = torch.arange(16).to(dtype).npu(), torch.zeros(4, 4, dtype=dtype).npu()
    flags = ctypes.c_void_p(base.aclCreateBoolArray((ctypes.c_bool * 2)(True, False), ctypes.c_uint64(2)))
    both = [ctypes.c_void_p(made(one)) for one in (a, b)]
    given = both[0], True, flags, both[1]
    assert other.aclnnAccumulateGetWorkspaceSize(*given, ctypes.byref(size), ctypes.byref(executor)) == 0
    assert other.aclnnAccumulate(None, size, executor, stream) == 0
    assert torch.equal(b.cpu().flatten(), a.cpu() + begin), b
last = ctypes.CDLL(LAST)
changed, at = torch.zeros(4, dtype=torch.int32).npu(), torch.tensor([2], dtype=torch.int32).npu()
both = [ctypes.c_void_p(made(one)) for one in (changed, at)]
assert last.aclnnFillIndexGetWorkspaceSize(*both, ctypes.byref(size), ctypes.byref(executor)) == 0
assert last.aclnnFillIndex(None, size, executor, stream) == 0 and changed.tolist() == [0, 0, 7, 0], changed
spread = ctypes.CDLL(SPREAD)
for function in (base.aclCreateIntArray, base.aclCreateScalar, base.aclCreateScalarList):
    function.restype = ctypes.c_void_p
def scalar(value, dtype):
    return base.aclCreateScalar(ctypes.byref(value), dtype)
flags = ctypes.c_void_p(base.aclCreateBoolArray((ctypes.c_bool * 2)(False, True), ctypes.c_uint64(2)))
size_array = ctypes.c_void_p(base.aclCreateIntArray(numbers([2, 3]), ctypes.c_uint64(2)))
by = ctypes.c_void_p(scalar(ctypes.c_double(1.5), 11))
both = (ctypes.c_void_p * 2)(scalar(ctypes.c_float(3), 0), scalar(ctypes.c_int64(4), 9))
plus = ctypes.c_void_p(base.aclCreateScalarList(both, ctypes.c_uint64(2)))
no_flags, size_tensor = None, torch.tensor([2, 3]).npu()
for name, given_size, given_flags, expected in (
    ("", size_array, flags, 110.0), ("", size_array, no_flags, 10.0), ("Tensor", size_tensor, no_flags, -10.0),
):
    x1, y1 = torch.tensor([2.0]).npu(), torch.zeros(2, 3).npu()
    given_size = ctypes.c_void_p(made(given_size)) if name else given_size
    given = [ctypes.c_void_p(made(x1)), given_size, by, plus, given_flags, ctypes.c_void_p(made(y1))]
    function = getattr(spread, f"aclnnSpread{name}GetWorkspaceSize")
    assert function(*given, ctypes.byref(size), ctypes.byref(executor)) == 0, base.aclGetRecentErrMsg
    assert spread.aclnnSpread(None, size, executor, stream) == 0
    assert torch.equal(y1.cpu(), torch.full((2, 3), expected)) and x1.tolist() == [-1], (name, y1, x1)
x1, y1 = torch.tensor([2.0]).npu(), torch.full((2, 4), 7.0).npu()  # the kernel writes six of them
given = [ctypes.c_void_p(made(x1)), size_array, by, plus, no_flags, ctypes.c_void_p(made(y1))]
assert spread.aclnnSpreadGetWorkspaceSize(*given, ctypes.byref(size), ctypes.byref(executor)) == 0
assert spread.aclnnSpread(None, size, executor, stream) == 0 and y1.flatten().tolist() == [10.0] * 6 + [7.0] * 2
x1, y1 = torch.tensor([2.0]).npu(), torch.zeros(2, 3).npu()  # a graph has tensors alone
tensors = x1, size_tensor, torch.tensor([1.5]).npu(), torch.tensor([3, 4], dtype=torch.int32).npu()
given = [*(ctypes.c_void_p(made(one)) for one in tensors), None, ctypes.c_void_p(made(y1))]
assert spread.ophook_graph_Spread(*given, ctypes.byref(size), ctypes.byref(executor)) == 0
assert spread.aclnnSpread(None, size, executor, stream) == 0 and y1.flatten().tolist() == [10.0] * 6, y1
for numbers_in, expected in (
    ([1.0, -1, 2, -2, 3, -3, 4, 5], [[1.0, 2, 3, 4, 5]]), ([1.0, -1, 2, -2, 3, -3], [1.0, 2, 3]), ([1.0] * 4, None)
):
    x1 = torch.tensor(numbers_in).npu()
    y1 = torch.zeros(len(numbers_in)).npu()
    out = ctypes.c_void_p(made(y1))
    given = [ctypes.c_void_p(made(x1)), out]
    assert spread.aclnnKeepPositiveGetWorkspaceSize(*given, ctypes.byref(size), ctypes.byref(executor)) == 0
    assert spread.aclnnKeepPositive(None, size, executor, stream) == 0
    failed = base_stream.aclrtSynchronizeStream(stream)
    if not expected:
        print("tells no shape", failed != 0)
        break
    dims, rank = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
    assert failed == 0, (failed, ctypes.cast(base.aclGetRecentErrMsg, ctypes.CFUNCTYPE(ctypes.c_char_p))())
    assert base.aclGetViewShape(out, ctypes.byref(dims), ctypes.byref(rank)) == 0
    sizes = list(dims[: rank.value])
    assert y1.cpu().flatten()[: len(torch.tensor(expected).flatten())].reshape(sizes).tolist() == expected, sizes
print(first(None, listed(y)), ctypes.cast(base.aclGetRecentErrMsg, ctypes.CFUNCTYPE(ctypes.c_char_p))().decode())
"""


def test_lists_initial_values_and_no_outputs(run_sim, tmp_path: Path) -> None:
    """Whatever an operator infers: who calls aclnn gives the outputs' shapes, and what is in them."""
    from ophook_npu.sim.packages import build

    kernels = ROOT / "tests" / "unit" / "kernel"
    shutil.copytree(kernels / "div", tmp_path / "part")
    source = tmp_path / "part" / "op_kernel" / "div.cpp"
    text, place = source.read_text(), "    AscendC::GlobalTensor<DTYPE_X> source, result;\n"
    assert place in text
    text = text.replace(place, "    if (count == 1) continue;\n" + place)  # what is there stays there
    copy = "DataCopyPad(values, from, bytes, AscendC::DataCopyPadExtParams<T>{false, 0, 0, 0});"
    assert copy in text
    source.write_text(text.replace(copy, "DataCopy(values, from, whole / sizeof(T));"))  # into the padding
    build(tmp_path / "part", tmp_path / "div")
    shutil.copytree(kernels / "accumulate", tmp_path / "project")
    source = tmp_path / "project" / "op_host" / "accumulate.cc"
    lines = source.read_text().splitlines(keepends=True)
    text = "".join(line for line in lines if "lists" not in line)  # lists of lists are refused
    inferred = "*context->GetOutputShape(0) = *context->GetInputShape(0);\n      return ge::GRAPH_SUCCESS;"
    assert inferred in text
    source.write_text(text.replace(inferred, "return ge::GRAPH_FAILED;"))
    source = tmp_path / "project" / "op_kernel" / "accumulate.cpp"
    text, place = source.read_text(), "  queue.FreeTensor(tensor);\n"
    assert place in text
    source.write_text(text.replace(place, f"{place}  from.SetValue(0, from.GetValue(0));\n"))  # an input
    build(tmp_path / "project", tmp_path / "accumulate")
    build(kernels / "changes", tmp_path / "changes")  # it has no output
    build(kernels / "given", tmp_path / "given")  # its function takes arrays and scalars
    names = ("div", "accumulate", "changes", "given")
    built = [str(tmp_path / name / "op_api/lib/libcust_opapi.so") for name in names]
    done = run_sim(f"LIBRARY, OTHER, LAST, SPREAD = {built}\n{_LISTS}")
    header = (tmp_path / "given" / "op_api/include/aclnn_spread.h").read_text()
    for array, flags, which in (("IntArray", "BoolArray", ""), ("Tensor", "Tensor", "Tensor")):
        given = f"aclTensor* xRef, const acl{array}* size, const aclScalar* by, const aclScalarList* plus"
        text = f"aclnnSpread{which}GetWorkspaceSize({given}, const acl{flags}* flagsOptional, const aclTensor* out, "
        assert text in header, header
    assert "161002" in done.stdout and "x must be given" in done.stdout, done.stdout + done.stderr
    assert "tells no shape True" in done.stdout, done.stdout
    assert "the kernel of Spread does what a device takes, and may be wrong: " in done.stderr, done.stderr
    assert "SetValue: x is an input [input_changed]" in done.stderr, done.stderr


_CALLS = """
import ctypes, torch, torch_npu
own, base, acl = ctypes.CDLL(LIBRARY), ctypes.CDLL("libnnopbase.so"), ctypes.CDLL("libascendcl.so")
base.aclCreateTensor.restype, acl.aclGetRecentErrMsg.restype = ctypes.c_void_p, ctypes.c_char_p
def made(t):
    sizes, one = (ctypes.c_int64 * 1)(t.numel()), (ctypes.c_int64 * 1)(1)
    begin, rank = ctypes.c_void_p(t.data_ptr()), ctypes.c_uint64(1)
    return ctypes.c_void_p(base.aclCreateTensor(sizes, rank, 3, one, ctypes.c_int64(0), 2, sizes, rank, begin))
size, executor = ctypes.c_uint64(), ctypes.c_void_p()
stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)
"""
_BEYOND = """
whole = torch.arange(4096, dtype=torch.int32).npu()
torch.npu.synchronize()
for index in (2, 3):
    changed, at = torch.zeros(4, dtype=torch.int32).npu(), whole[index : index + 1]
    assert own.aclnnFillIndexGetWorkspaceSize(made(changed), made(at), ctypes.byref(size), ctypes.byref(executor)) == 0
    assert own.aclnnFillIndex(None, size, executor, stream) == 0
    failed = acl.aclrtSynchronizeStream(stream)
    print(failed, changed.tolist(), whole[:4].tolist(), failed and acl.aclGetRecentErrMsg())
"""


@pytest.mark.parametrize("strict", ["0", "1"])
def test_a_read_behind_a_tensor_is_told_and_is_an_error_where_it_is_used(run_sim, tmp_path: Path, strict: str) -> None:
    """A read behind the tensor, whose result nobody uses where the index is 2."""
    from ophook_npu.sim.packages import build

    shutil.copytree(ROOT / "tests" / "unit" / "kernel" / "changes", tmp_path / "project")
    source = tmp_path / "project" / "op_kernel" / "fill_index.cpp"
    text, place = source.read_text(), "  to.SetValue("
    assert place in text
    more = """
  AscendC::TPipe pipe;
  AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 256);
  const auto local = buffer.Get<int32_t>();
  AscendC::DataCopy(local, at, 64);
  AscendC::SetFlag<AscendC::HardEvent::MTE2_S>(EVENT_ID0);
  AscendC::WaitFlag<AscendC::HardEvent::MTE2_S>(EVENT_ID0);
  if (at.GetValue(0) == 3) to.SetValue(0, local.GetValue(50));
"""
    source.write_text(text.replace(place, more + place, 1))
    build(tmp_path / "project", tmp_path / "changes")
    library = str(tmp_path / "changes" / "op_api/lib/libcust_opapi.so")
    done = run_sim(f"LIBRARY = {library!r}\n{_CALLS}{_BEYOND}", OPHOOK_KERNEL_STRICT=strict)
    assert done.returncode == 0, done.stderr
    first, second, *_ = done.stdout.splitlines()
    if strict == "1":
        assert first.startswith("507015 ") and "[global_bounds]" in first, first
        return
    assert first.startswith("0 [0, 0, 7, 0]"), done.stdout + done.stderr
    assert "FillIndex does what a device takes" in done.stderr and "[beyond_argument]" in done.stderr, done.stderr
    assert second.startswith("507015 ") and "[uninitialized]" in second, second


_ABSENT = """
var, at, done = (torch.zeros(n, dtype=torch.int32).npu() for n in (4, 1, 8))
given = [made(var), None, made(at), None, made(done), ctypes.byref(size), ctypes.byref(executor)]
print(own.aclnnFillIndexGetWorkspaceSize(*given), acl.aclGetRecentErrMsg())
print(own.aclnnFillIndex(None, size, executor, stream), acl.aclrtSynchronizeStream(stream), done.tolist()[0])
given[4] = None
print(own.aclnnFillIndexGetWorkspaceSize(*given), acl.aclGetRecentErrMsg())
"""


def test_what_is_absent_keeps_its_place(run_sim, tmp_path: Path) -> None:
    """An optional input between two others, and an optional output: null pointers for the kernel."""
    from ophook_npu.sim.packages import build

    shutil.copytree(ROOT / "tests" / "unit" / "kernel" / "changes", tmp_path / "project")
    host, kernel = tmp_path / "project/op_host/fill_index.cpp", tmp_path / "project/op_kernel/fill_index.cpp"
    of = ".DataType({ge::DT_INT32}).Format({ge::FORMAT_ND});"
    for file, place, more in (
        (host, '    this->Input("index")', f'    this->Input("between").ParamType(OPTIONAL){of}\n'),
        (host, "    this->SetInferShape", f'    this->Output("rest").ParamType(OPTIONAL){of}\n'),
        (host, "    this->SetInferShape", f'    this->Output("done").ParamType(REQUIRED){of}\n'),
        (host, "  context->SetBlockDim(1);",
         "  if (context->GetInputShape(1) || !context->GetInputShape(2) || context->GetOutputShape(0)) {\n"
         "    return ge::GRAPH_FAILED;\n  }\n"),
        (kernel, "GM_ADDR index", "GM_ADDR between, "),
        (kernel, "GM_ADDR workspace", "GM_ADDR rest, GM_ADDR done, "),
        (kernel, "  dcci(var, 0);",
         "  for (int i = 0; i < 8; ++i) reinterpret_cast<__gm__ int32_t*>(done)[i] = between || rest ? 2 : 1;\n"),
    ):  # fmt: skip
        text = file.read_text()
        assert place in text
        file.write_text(text.replace(place, more + place, 1))
    build(tmp_path / "project", tmp_path / "absent")
    library = str(tmp_path / "absent" / "op_api/lib/libcust_opapi.so")
    done = run_sim(f"LIBRARY = {library!r}\n{_CALLS}{_ABSENT}")
    first, second, third, *_ = done.stdout.splitlines()
    assert first.startswith("0 ") and second == "0 0 1", done.stdout + done.stderr
    assert third.startswith("161002 ") and "done must be given" in third, third


_VERSIONS = """
var, at = torch.zeros(4, dtype=torch.int32).npu(), torch.full((1,), 2, dtype=torch.int32).npu()
last = [ctypes.byref(size), ctypes.byref(executor)]
for version, more in (("", []), ("V1", [made(at)]), ("V2", [made(at), ctypes.c_int64(9)])):
    assert getattr(own, f"aclnnFillIndex{version}GetWorkspaceSize")(made(var), made(at), *more, *last) == 0
    assert getattr(own, f"aclnnFillIndex{version}")(None, size, executor, stream) == 0
    assert acl.aclrtSynchronizeStream(stream) == 0
    print(var.tolist())
"""


def test_new_parameters_have_functions_of_their_own_and_a_config_changes_types(run_sim, tmp_path: Path) -> None:
    """Version, an attribute's GetName, OpAICoreConfig's Input, and a config that another source registers."""
    from ophook_npu.sim.packages import build

    shutil.copytree(ROOT / "tests" / "unit" / "kernel" / "changes", tmp_path / "project")
    host, kernel = tmp_path / "project/op_host/fill_index.cpp", tmp_path / "project/op_kernel/fill_index.cpp"
    more = """
    this->Input("also").ParamType(OPTIONAL).Version(1).DataType({ge::DT_INT32}).Format({ge::FORMAT_ND});
    OpAttrDef& by = this->Attr("by").AttrType(OPTIONAL).Int(7).Version(2);
    if (by.IsRequired() || std::string(by.GetName().GetString()) != "by") this->Input("wrong");
    OpAICoreConfig config, other;
    other.Input("index").DataType({ge::DT_FLOAT});
    config.Input("index").ParamType(REQUIRED).DataType({ge::DT_INT32}).Format({ge::FORMAT_ND});
    const OpAICoreConfig copied(config);
    other = copied;
    this->AICore().AddConfig("ascend910b", other);
"""
    text = host.read_text()
    of_index = 'Input("index").ParamType(REQUIRED).DataType({ge::DT_INT32})'
    plain = '    this->AICore().AddConfig("ascend910b");\n'
    assert of_index in text and plain in text
    text = text.replace(of_index, of_index.replace("INT32", "FLOAT")).replace(plain, more)
    by = "  context->GetRawTilingData()->Append(*context->GetAttrs()->GetInt(0));\n"
    text = text.replace("  context->SetBlockDim(1);", f"{by}  context->SetBlockDim(1);")
    host.write_text(text)
    (host.parent / "more.cpp").write_text("""#include "register/op_config_registry.h"
namespace ops {
REGISTER_OP_AICORE_CONFIG(FillIndex, ascend910b, []() { /* AddConfig stands before it */
  OpAICoreConfig config("ascend910b");
  config.Input("index").DataType({ge::DT_BF16});
  return config;
});
REGISTER_OP_AICORE_CONFIG(FillIndex, ascend310p, []() { return OpAICoreConfig("ascend310p"); });
}  // namespace ops
""")
    text = kernel.read_text().replace("GM_ADDR index, ", "GM_ADDR index, GM_ADDR also, ")
    told = "reinterpret_cast<__gm__ int64_t*>(tiling)[0] + (also ? 10 : 0)"
    kernel.write_text(text.replace("at.GetValue(0), 7", f"at.GetValue(0), int32_t({told})"))
    build(tmp_path / "project", tmp_path / "versions")
    library = str(tmp_path / "versions" / "op_api/lib/libcust_opapi.so")
    done = run_sim(f"LIBRARY = {library!r}\n{_CALLS}{_VERSIONS}")
    assert done.stdout.split("\n")[:3] == ["[0, 0, 7, 0]", "[0, 0, 17, 0]", "[0, 0, 19, 0]"], done.stdout + done.stderr
    header = (tmp_path / "versions" / "op_api/include/aclnn_fill_index.h").read_text()
    given = "const aclTensor* var, const aclTensor* index, const aclTensor* alsoOptional, uint64_t* workspaceSize"
    assert f"aclnnFillIndexV1GetWorkspaceSize({given}" in header, header
    host.write_text(host.read_text().replace("Version(2)", "Version(3)"))
    with pytest.raises(OphookError, match=r"Version 1, 3; allowed: 1, 2, … without a gap"):
        build(tmp_path / "project", tmp_path / "gap")


_OTHER = """
import torch
from ophook_npu.ops import npu_add_custom
x = torch.ones(4).npu()
try:
    npu_add_custom(x, x)
    torch.npu.synchronize()
except RuntimeError as error:
    print(error)
"""


def test_a_runtime_of_another_version_is_refused(run_sim, package: Path, tmp_path: Path) -> None:
    """What it would make of our structures is unknown."""
    other = shutil.copytree(package, tmp_path / "other")
    source = tmp_path / "runtime.c"
    source.write_text("int ascendc_run(const void* launch, char** report) { return 0; }\n")
    library = other / "op_impl" / "cpu" / "libophook_ascendc.so"
    compiler = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libophook_ascendc.so", str(source), "-o", str(library)]
    subprocess.run(compiler, check=True, timeout=60)
    done = run_sim(_OTHER, ASCEND_CUSTOM_OPP_PATH=str(other), TASK_QUEUE_ENABLE="0")
    assert "were built by another version" in done.stdout, done.stderr


def test_another_folder_is_left_alone(tmp_path: Path) -> None:
    from ophook_npu.errors import OphookError
    from ophook_npu.sim.packages import build

    (tmp_path / "mine").write_text("")
    with pytest.raises(OphookError, match="is not empty and no such package"):
        build(PROJECT, tmp_path)


def test_a_program_loads_and_launches_its_kernel(package: Path, tmp_path: Path) -> None:
    """aclrtBinaryLoadFromFile takes what is in the package; the kernel runs with its checks."""
    root, program = sim.active(), tmp_path / "program"
    source = Path(__file__).parent / "programs" / "package_kernel.cpp"
    assert root is not None
    place = [f"-I{root / 'include'}", f"-L{root / 'lib64'}", "-lacl_rt"]
    command = [*toolchain.compiler(), "-std=c++17", "-O0", str(source), *place, "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    binary = package / "op_impl" / "cpu" / "add_custom_3.o"
    start = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", "--", str(program), str(binary)]
    done = subprocess.run(start, capture_output=True, text=True, timeout=200, check=False)
    assert done.stdout == "0 wrong, one handle: 1, key 7: 107000, a tile too large: 507015\n", done.stderr
    assert "InitBuffer: UB has 196608 bytes and InitBuffer has given away 4194304" in done.stderr


def test_what_runs_kernels_is_compiled_when_the_first_one_runs(run_sim, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o755)
    done = run_sim(_COMPILED_LATE, OTHER_CACHE=str(tmp_path / "cache"), TASK_QUEUE_ENABLE="0")
    assert done.stdout == "told\ntold\n2.0 2.0 2.0 2.0\n", done.stdout + done.stderr
    assert "false" in done.stderr and "compiler" in done.stderr, done.stderr
