"""Shape rules and attributes of graph operators: what is unknown stays unknown, what is misspelled is named."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import interfaces
import numpy as np
import pytest
import test_ge_descent
import test_pairs
import torch
import torch_npu
import torchair
from interfaces import Node, Refused

CALLS = Path(__file__).with_name("ge_calls.txt")
SOURCES = Path(torch_npu.__file__).parent / "dynamo" / "torchair" / "_ge_concrete_graph"


@functools.cache
def calls() -> list[tuple[str, str, str]]:
    """One call or more of each operator: its type, its arguments, its tensors."""
    made = [(one.type, one.inputs, one.tensors) for one in test_pairs.pairs()[0]]
    lines = [line for line in CALLS.read_text().splitlines() if not line.startswith("#")]
    made += [tuple(part.strip() for part in line.split("|")) for line in lines]  # type: ignore[misc]
    made += test_ge_descent.calls()
    there = {of for of, _, _ in made}
    for of in sorted({*interfaces.types()} - {*interfaces.functions()}):
        ports = interfaces.prototype(of)[0]
        if of not in there and not any(port[-1] in "?*" for port in ports):
            made.append((of, ", ".join("x" for _ in ports), "x=real(4, 6)"))
        elif of not in there:
            made.append(
                (of, ", ".join("[x, x]" if port[-1] == "*" else "n" for port in ports), "x=real(4, 6), n=number(1.0)")
            )
    return made


def arguments_of(
    of: str, arguments: str, tensors: str, dtype: torch.dtype = torch.float32
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The inputs and the attributes of a call."""
    helpers: dict[str, Any] = {**test_pairs.tensors(dtype), "torch": torch, "dtype": dtype}
    told = {**helpers, **eval(f"dict({tensors})", helpers), "call": lambda *inputs, **attributes: (inputs, attributes)}
    return eval(f"call({arguments})", told)


def node(of: str, *call: Any) -> Node:
    inputs, attributes = arguments_of(of, *call)
    return Node(of, *inputs, **attributes)


@functools.cache
def known() -> dict[tuple[Any, ...], list[tuple[int, list[int] | None]]]:
    """What is inferred of each call where everything is known."""
    found = {}
    for call in calls():
        errors = []
        # Some take 16 bits only; where a call is made of a prototype, the operator takes numbers of another kind.
        kinds = ("flags(4, 6)", "whole(4, 6)", "torch.complex(single(4, 6), single(4, 6))")
        others = [(*call[:2], f"x={kind}") for kind in kinds if call[2] == "x=real(4, 6)"]
        for other in (call, (*call, torch.float16), *others):
            try:
                found[other] = node(*other).infer()
                break
            except Refused as error:
                errors.append(str(error))
        else:
            raise AssertionError(f"{call}: {errors}")
    return found


def less_known(call: Node) -> Iterator[str]:
    """Makes parts of the inputs unknown, one after the other, and says what."""
    everything = [type(one).from_buffer_copy(one) for one in call.given]
    for i, whole in enumerate(everything):
        if whole.dtype == 28:  # absent
            continue
        for dim in range(whole.rank):
            call.given[i].data, call.given[i].dims[dim] = None, -1
            yield f"dimension {dim} of input {i}"
            call.given[i] = type(whole).from_buffer_copy(whole)
        call.given[i].data = None
        yield f"the values of input {i}"
        call.given[i].rank = -1
        yield f"the rank of input {i}"
        call.given[i] = type(whole).from_buffer_copy(whole)
    for one in call.given:
        one.data = None
        one.dims[: max(one.rank, 0)] = [-1] * max(one.rank, 0)
    yield "all dimensions"
    for one in call.given:
        one.rank = -1 if one.dtype != 28 else one.rank
    yield "all ranks"


def fits(found: tuple[int, list[int] | None], whole: tuple[int, list[int] | None]) -> bool:
    """Whether what is inferred of less can still become what is inferred of everything."""
    if found[0] != whole[0] or found[1] is None or whole[1] is None:
        return found[0] == whole[0]
    return len(found[1]) == len(whole[1]) and all(a in (-1, b) for a, b in zip(found[1], whole[1], strict=True))


def test_each_operator_has_a_call() -> None:
    """Those that are functions of libopapi are in test_ge_functions.py."""
    assert {call[0] for call in known()} | {*interfaces.functions()} == {*interfaces.types()}


def test_what_is_unknown_stays_unknown() -> None:
    wrong, tried = [], 0
    for call, whole in known().items():
        less = node(*call)
        for what in less_known(less):
            tried += 1
            try:
                found = less.infer()
            except Refused as error:
                wrong.append(f"{call[0]} without {what}: {error}")
                continue
            if not all(map(fits, found, whole)):
                wrong.append(f"{call[0]} without {what}: {found}, and {whole} of everything")
    assert not wrong, f"{len(wrong)} of {tried}\n" + "\n".join(wrong)
    assert tried > 2000


def test_dimensions_that_are_computed() -> None:
    for of, dtype, rows in (("SignBitsPack", torch.float32, 2), ("SignBitsUnpack", torch.uint8, 4)):
        made = Node(of, torch.zeros(16, dtype=dtype), size=rows)
        made.given[0].data, made.given[0].dims[0] = None, -1
        assert made.infer()[0][1] == [rows, -1]
    made = Node("ConcatD", [torch.zeros(4, 6), torch.zeros(2, 6)], concat_dim=0)
    made.given[1].data, made.given[1].rank = None, -1
    assert made.infer()[0][1] == [-1, 6]
    with pytest.raises(Refused, match="would have -1 elements along dimension 0"):
        Node("Fill", torch.tensor([-1, 2]), torch.ones(1)).infer()
    with pytest.raises(Refused, match=r"shape \[5\] beside \[2, 6\], expected \(\*n, k\)"):
        Node("LayerNormV4", torch.ones(2, 6), torch.tensor([5])).infer()


def as_base(call: tuple[str, str, str]) -> list[torch.Tensor]:
    """What the type without the D makes of a call, whose attributes are inputs there."""
    of = call[0].removesuffix("D")
    inputs, attributes = arguments_of(*call)
    given = dict(zip(interfaces.prototype(call[0])[0], inputs, strict=False))
    given |= {name: value if torch.is_tensor(value) else torch.tensor(value) for name, value in attributes.items()}
    ports, _, kinds = interfaces.prototype(of)
    rest = {name: value for name, value in attributes.items() if name in {*kinds, "results"}}
    return interfaces.graph(of, *(given[port.rstrip("?*")] for port in ports), **rest)


def test_types_that_end_in_d_are_the_others() -> None:
    text = (Path(interfaces.__file__).parents[2] / "ophook_npu/csrc/ge/rows/as_inputs.cpp").read_text()
    types = {f"{name}D" for name in re.findall(r"AS_INPUTS\((\w+), ", text)} - {"typeD"}
    tried = [call for call in calls() if call[0] in types]
    assert {call[0] for call in tried} == types and len(types) > 15
    for call in tried:
        inputs, attributes = arguments_of(*call)
        for got, wanted in zip(interfaces.graph(call[0], *inputs, **attributes), as_base(call), strict=True):
            torch.testing.assert_close(got, wanted, rtol=0, atol=0)


# Shapes of the inputs, -1 for what is unknown and None for a rank; what is inferred, or what is wrong with them.
SHAPES = (
    ("BatchMatMul", [(2, 1, 3, 4), (5, 4, 6)], [[2, 5, 3, 6]]),
    ("BatchMatMul", [(-1, 3, 4), (5, 4, 6)], [[5, 3, 6]]),
    ("BatchMatMul", [(-1, 3, 4), (1, 4, 6)], [[-1, 3, 6]]),
    ("BatchMatMul", [(7, 3, -1), (-1, 4, -1)], [[7, 3, -1]]),
    ("BatchMatMul", [None, (5, 4, 6)], [None]),
    (
        "BatchMatMul",
        [(2, 3, 4), (5, 4, 6)],
        r"\[5, 4, 6\] do not fit \(…, m, k\), \(…, k, n\)",
    ),
    ("BatchMatMul", [(2, 3, 4), (2, 5, 6)], "do not fit"),
    ("BatchMatMul", [(4,), (4, 6)], "do not fit"),
    ("MatMul", [(3, -1), (4, 6), (6,)], [[3, 6]]),
    ("MatMul", [(3, 4), None], [[3, -1]]),
    ("MatMul", [(3, 4), (4, 6), (5,)], "do not fit"),
    ("MatMul", [(2, 3, 4), (4, 6)], "do not fit"),
    ("SoftmaxCrossEntropyWithLogits", [(4, 1), (1, 6)], [[4], [4, 6]]),
    ("SoftmaxCrossEntropyWithLogits", [(4, 5), (4, 6)], "do not fit"),
    ("BatchNormGradV3", [(2, 3, 5), (2, -1, 5), *[(3,)] * 5], [[2, 3, 5], [3], [3]]),
    ("BatchNormGradV3", [(2, 3), (2, 3, 5), *[(3,)] * 5], "do not fit"),
    ("RmsNorm", [(4, -1, 6), (5, -1)], [[4, 5, 6], [4, 1, 1]]),
    ("RmsNorm", [(4, 6), (5,)], r"shape \[5\] beside \[4, 6\], expected \(\*n, k\)"),
    ("RmsNorm", [(-1, 6), (5,)], r"\[-1, 6\] and float32\[5\] do not fit \(\*b, \*n, k\), \(\*n, k\)"),
)


@pytest.mark.parametrize(("of", "given", "found"), SHAPES)
def test_shapes_are_matched_by_name(of: str, given: list[tuple[int, ...] | None], found: Any) -> None:
    made = Node(of, *(torch.zeros([max(size, 1) for size in one or ()]) for one in given))
    for tensor, shape in zip(made.given, given, strict=False):
        tensor.data, tensor.rank = None, -1 if shape is None else len(shape)
        tensor.dims[: len(shape or ())] = list(shape or ())
    if isinstance(found, str):
        with pytest.raises(Refused, match=found):
            made.infer()
    else:
        assert [shape for _, shape in made.infer()] == found


# ---- attributes ------------------------------------------------------------------------------------------------------
def glu(name: str, kind: int, **value: Any) -> list[tuple[int, list[int] | None]]:
    made = Node("GLU", torch.zeros(6, 4), dim=0)
    made.attrs[0] = interfaces._GeAttr(name=name.encode(), kind=kind, **value)
    return made.infer()


def test_an_attribute_is_known_by_name_and_kind() -> None:
    assert glu("dim", 0, i=0) == [(0, [3, 4])]
    assert glu("_op_exec_never_timeout", 2, i=1) == [(0, [6, 2])]  # the engine's own
    for kind, said, value in ((1, "Float", {"f": 1.0}), (3, "String", {"s": b"1"}), (2, "Bool", {"i": 1})):
        with pytest.raises(Refused, match=f"its attribute 'dim' is {said}, it has to be Int"):
            glu("dim", kind, **value)
    with pytest.raises(Refused, match=r"it is given an attribute 'dimm'; it has dim \(Int\)"):
        glu("dimm", 0, i=0)


of_this_wheel = pytest.mark.torch_npu("2.13", "its torchair has other operators")


@functools.cache
def prototypes() -> dict[str, str]:
    """Those of the installed torchair, by type."""
    text = "".join((SOURCES / name).read_text() for name in ("auto_generated_ge_raw_ops.py", "ge_apis.py"))
    return dict(re.findall(r'"""REG_OP\((\w+)\)(.*?)"""', text, re.S))


@of_this_wheel
def test_prototypes_have_torchairs_attributes() -> None:
    """What torchair writes to a node is known by this name and in this kind."""
    fields = {
        "i": "Int",
        "f": "Float",
        "b": "Bool",
        "s": "String",
        "dt": "Type",
        "list.i": "ListInt",
        "list.f": "ListFloat",
    }
    wrong, there = [], {*interfaces.types()}
    for body in re.split(r"^def ", (SOURCES / "auto_generated_ge_raw_ops.py").read_text(), flags=re.M):
        named = re.search(r'op\.type = "(\w+)"', body)
        if not named or named[1] not in there:
            continue
        kinds = interfaces.prototype(named[1])[2]
        for name, field in re.findall(r'op\.attr\["([a-zA-Z]\w*)"\]\.(list\.\w|\w+)', body):
            if field in fields and kinds.get(name) != fields[field]:
                wrong.append(f"{named[1]}: torchair writes {name} as {fields[field]}, the table has {kinds.get(name)}")
    assert not wrong, "\n".join(wrong)


# ---- through torchair ------------------------------------------------------------------------------------------------
IN_GRAPHS = {
    "swiglu_backward": (torch.ops.npu.npu_swiglu_backward, "real(4, 8), real(4, 16), -1"),
    "replication_pad1d": (torch.ops.aten.replication_pad1d, "real(2, 3, 5), [1, 2]"),
    "scatter_update": (torch.ops.npu.scatter_update, "real(3, 6, 4), int64(0, 4, 2), real(3, 2, 4), 1"),
    "masked_softmax": (
        torch.ops.npu.npu_masked_softmax_with_rel_pos_bias,
        "real(1, 2, 3, 4, 4), real(1, 2, 1, 4, 4), real(1, 1, 3, 4, 4), 0.5, 0",
    ),
    "init_routing": (
        torch.ops.npu.npu_moe_init_routing, "real(5, 4), torch.arange(10).int().view(5, 2), whole(5, 2).int(), 3"
    ),
    "finalize_routing": (
        torch.ops.npu.npu_moe_finalize_routing,
        "real(4, 4), real(2, 4), real(2, 4), real(3, 4), real(2, 2), int32(3, 1, 2, 0), whole(2, 2, below=3).int()",
    ),
    "finalize_routing_v2": (
        torch.ops.npu.npu_moe_finalize_routing, "real(4, 4), None, None, None, None, int32(3, 1, 2, 0), None, 2, 2"
    ),
    "gating": (lambda *given: torch.ops.npu.npu_moe_gating_top_k(*given)[:2], "real(5, 8), 2"),
    "dynamic_quant": (torch.ops.npu.npu_dynamic_quant, "real(4, 8)"),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_GRAPHS)
def test_graphs_equal_eager_mode(name: str) -> None:
    op, arguments = IN_GRAPHS[name]
    made = eval(f"[{arguments}]", {**test_pairs.tensors(torch.float16), "torch": torch})
    given = [one.npu() if isinstance(one, torch.Tensor) else one for one in made]
    torch._dynamo.reset()
    compiled = torch.compile(lambda *inputs: op(*inputs), backend=torchair.get_npu_backend(), dynamic=False)
    torch.testing.assert_close(compiled(*given), op(*given))


def test_transforms_of_the_last_dimensions() -> None:
    """By the table: torchair's own converter of them permutes real parts by too few axes."""
    x = torch.complex(torch.randn(3, 4, 6), torch.randn(3, 4, 6))
    torch.testing.assert_close(interfaces.graph("FFT", x)[0], torch.fft.fft(x))
    torch.testing.assert_close(interfaces.graph("FFT2D", x)[0], torch.fft.fft2(x))


@of_this_wheel
def test_the_epsilon_of_group_norm_with_silu_is_the_converters_as_docs_results_says() -> None:
    x = (1e-2 * torch.randn(2, 4, 6)).npu()  # small: epsilon matters

    def norm(epsilon: float | None) -> Any:
        given = () if epsilon is None else (epsilon,)
        return lambda x: torch_npu.npu_group_norm_silu(x, None, None, 2, *given)[0]

    def in_graph(epsilon: float | None) -> torch.Tensor:
        torch._dynamo.reset()
        return torch.compile(norm(epsilon), backend=torchair.get_npu_backend(), dynamic=False)(x)

    torch.testing.assert_close(norm(None)(x), norm(1e-5)(x))
    for epsilon in (None, 1e-5, 1e-4):  # a value that equals the default does not reach the converter
        torch.testing.assert_close(in_graph(epsilon), norm(1e-4)(x))
    torch.testing.assert_close(in_graph(2e-5), norm(2e-5)(x))
    assert not torch.allclose(norm(1e-5)(x), norm(1e-4)(x))


@of_this_wheel
def test_transforms_do_not_compile_as_docs_results_says() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(torch.fft.fft2, backend=torchair.get_npu_backend(), dynamic=False)
    with pytest.raises(RuntimeError, match=r"its permutation has 3 axes, its input is float32\[3, 4, 6, 2\]"):
        compiled(torch.complex(torch.randn(3, 4, 6), torch.randn(3, 4, 6)).npu())


@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("mode", ["constant", "reflect", "symmetric", "edge", "circular"])
def test_paddings(mode: str, contiguous: bool) -> None:
    x, pads = torch.arange(20.0).view(4, 5), [1, 2, 3, 0]
    numpys: Any = {"circular": "wrap"}.get(mode, mode)
    want = torch.from_numpy(np.pad(x.numpy(), [(1, 2), (3, 0)], numpys))
    paddings = torch.tensor(pads if contiguous else pads[::2] + pads[1::2])
    assert torch.equal(interfaces.graph("PadV3", x, paddings, mode=mode, paddings_contiguous=contiguous)[0], want)
    if mode in ("reflect", "symmetric"):
        assert torch.equal(interfaces.graph("MirrorPad", x, torch.tensor(pads), mode=mode.upper())[0], want)


def test_a_padding_by_another_mode_is_refused() -> None:
    with pytest.raises(Refused, match="mode 'wrap'; allowed: constant, reflect"):
        interfaces.graph("PadV3", torch.ones(3), torch.tensor([1, 1]), mode="wrap")


# ---- what torchair's converters ask for -----------------------------------------------------------------------------
@of_this_wheel
def test_the_table_has_all_that_converters_ask_for() -> None:
    sources = [path.read_text() for path in (SOURCES / "ge_converter").rglob("*.py")]
    asked = {of for text in sources for of in re.findall(r"\bge\.([A-Z]\w+)\(", text) if of in prototypes()}
    asked |= {of for text in sources for of in re.findall(r'\bop_type="([A-Z]\w+)"', text)}
    assert len(asked) > 350 and not asked - {*interfaces.types(), "Const"}
