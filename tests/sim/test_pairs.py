"""Operators that both interfaces of libopapi have give the same bits: one kernel computes both. The examples are in
pairs.txt; those of operators that have only tensors are made from their signatures.
"""

from __future__ import annotations

import ctypes
import functools
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import interfaces
import pytest
import torch
from interfaces import Refused

pytestmark = pytest.mark.numbers

FILE = Path(__file__).with_name("pairs.txt")
DTYPES = (torch.float16, torch.bfloat16, torch.float32)


class Example(NamedTuple):
    function: str  # without "aclnn"
    arguments: str
    results: str
    type: str
    inputs: str
    tensors: str


def parse(line: str) -> Example:
    left, right, tensors = (part.strip() for part in line.split("|"))
    results, _, graph = right.partition("=")
    calls = [re.fullmatch(r"(\w+)\((.*)\)", call.strip()) for call in (left, graph)]
    assert calls[0] and calls[1], line
    return Example(calls[0][1], calls[0][2], results.strip(), calls[1][1], calls[1][2], tensors)


@functools.cache
def table() -> tuple[list[Example], dict[str, str]]:
    """The examples, and the functions that are not compared, with the reason."""
    lines = [line for line in FILE.read_text().splitlines() if line and not line.startswith("#")]
    spared = dict(line.removeprefix("! ").split(": ", 1) for line in lines if line.startswith("! "))
    return [parse(line) for line in lines if not line.startswith("! ")], spared


# ---- the pairs -------------------------------------------------------------------------------------------------------
def family(name: str) -> str:
    """What an operator's name says, without versions and the words in which the interfaces differ."""
    name = name.lower().replace("backward", "grad").removeprefix("reduce")
    if name.startswith("foreach"):
        return re.sub(r"v\d$", "", name)
    return re.sub(r"(v\d(?=grad$)|(?<=grad)v\d$|v\d$|tensor$)", "", name)


@functools.cache
def functions() -> list[str]:
    interfaces.libraries()
    library = next(
        line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith("/libopapi.so")
    )
    told = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return sorted(re.findall(r" aclnn(\w+)Parameters$", told, re.M))


def plain(function: str, of: str) -> Example | None:
    """An example for operators that have tensors, lists of tensors and a number, and one result."""
    kinds, (inputs, outputs, attributes) = interfaces.parameters(f"aclnn{function}"), interfaces.prototype(of)
    if attributes or len(outputs) != 1 or len(kinds) != len(inputs) + 1:
        return None
    if kinds[-1] == "Out" and {*kinds[:-1]} == {"In"} and not any(port[-1] in "?*" for port in inputs):
        made = "real(7, 5)"
    elif kinds[-1] == "List" and kinds[0] == "List":
        made = "[real(3, 5), real(4)]"
    else:
        return None
    names, values, tensors = [f"x{i}" for i in range(len(inputs))], [], []
    for name, kind, port in zip(names, kinds[:-1], inputs, strict=True):
        many = port == "scalars"
        values.append({"Num": "2.0", "Nums": "[2.0, 0.5]"}.get(kind, name))
        alone = "numbers(2.0, 0.5)" if many else "number(2.0)"
        tensors.append(f"{name}={made if port[-1] == '*' or kinds[-1] == 'Out' else alone}")
    return Example(function, ", ".join([*values, "y"]), "y", of, ", ".join(names), ", ".join(tensors))


@functools.cache
def pairs() -> tuple[list[Example], list[str]]:
    """All examples, and what one name says should be compared and is not."""
    examples, spared = table()
    lacking: list[str] = []
    by_family: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    own = sorted({*interfaces.types()} - {*interfaces.functions()})  # types that are functions compute as these do
    for side, names in enumerate((functions(), own)):
        for name in names:
            by_family[family(name)][side].append(name)
    made = []
    for mine, theirs in by_family.values():
        if not mine or not theirs:
            continue
        written = [(one.function, one.type) for one in examples if one.function in mine or one.type in theirs]
        for function in mine:
            if function in spared or any(function == one for one, _ in written):
                continue
            found = [one for of in theirs if (one := plain(function, of))]
            made += found
            written += [(one.function, one.type) for one in found]
            if not found:
                lacking.append(f"aclnn{function}, which graphs have as {' and '.join(theirs)}")
        if not any(function in spared for function in mine):
            lacking += [
                f"{of}, which eager mode has as {' and '.join(mine)}"
                for of in theirs
                if of not in [one for _, one in written]
            ]
    return examples + made, lacking


# ---- what the examples' tensors are ----------------------------------------------------------------------------------
def tensors(dtype: torch.dtype) -> dict[str, Callable[..., torch.Tensor]]:
    chance = torch.Generator().manual_seed(7)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=chance)

    def whole(*shape: int, below: int = 4) -> torch.Tensor:
        return torch.randint(0, below, shape, generator=chance)

    def labels(*shape: int, below: int) -> torch.Tensor:
        """From 1 on, each in turn."""
        count = torch.Size(shape).numel()
        return (torch.randperm(below - 1, generator=chance).repeat(count)[:count] + 1).reshape(shape)

    def ints(of: torch.dtype) -> Callable[..., torch.Tensor]:
        return lambda *values: torch.tensor(values, dtype=of)

    return {
        "real": lambda *shape: (drawn(*shape) * 1.5).to(dtype),
        "positive": lambda *shape: (drawn(*shape).abs() + 0.25).to(dtype),
        "ascending": lambda count: drawn(count).sort().values.to(dtype),
        "number": lambda value: torch.tensor([value], dtype=dtype),
        "numbers": lambda *values: torch.tensor(values, dtype=dtype),
        "single": drawn,
        "single_positive": lambda *shape: drawn(*shape).abs() + 0.25,
        "single_log": lambda *shape: drawn(*shape).log_softmax(-1),
        "single_number": lambda value: torch.tensor([value]),
        "whole": whole,
        "labels": labels,
        "flags": lambda *shape: drawn(*shape) > 0,
        "octets": lambda count: whole(count, below=256).to(torch.uint8),
        "int32": ints(torch.int32),
        "int64": ints(torch.int64),
        "single_numbers": lambda *values: torch.tensor(values),
        "flags_of": lambda mask: (mask.unsqueeze(-1) >> torch.arange(8, dtype=torch.uint8)).bitwise_and(1).reshape(-1),
        # x against y, each row with each: (x, y, columns)
        "rows": lambda x, count: x.unsqueeze(1).expand(-1, count, -1).contiguous(),
        "columns": lambda y, count: y.unsqueeze(0).expand(count, -1, -1).contiguous(),
        "over": lambda x, count: x.unsqueeze(-1).expand(-1, -1, count).contiguous(),
    }  # fmt: skip


def many(value: Any, make: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    return [make(one) for one in value] if isinstance(value, list) else make(value)


def bits(value: torch.Tensor) -> torch.Tensor:
    return value.reshape(-1).contiguous().view(torch.uint8)


def compare(example: Example, dtype: torch.dtype) -> str:
    """What differs between the two calls; nothing where every bit agrees.

    Raises:
        Refused: one of the two does not take the type.
    """
    helpers: dict[str, Any] = {**tensors(dtype), "torch": torch, "dtype": dtype}
    given = eval(f"dict({example.tensors})", helpers)

    def copies() -> dict[str, Any]:
        return {name: many(value, torch.clone) for name, value in given.items()}

    results = eval(
        f"call({example.inputs})", {**helpers, **copies(), "call": functools.partial(interfaces.graph, example.type)}
    )
    outputs, names = interfaces.prototype(example.type)[1], [name.strip() for name in example.results.split(",")]
    expected: dict[str, Any] = dict(zip(names, results if not outputs[0].endswith("*") else [results], strict=True))
    mine = {name: many(value, lambda one: torch.full_like(one, 77)) for name, value in expected.items()} | copies()

    def as_int64(value: torch.Tensor) -> torch.Tensor:
        name = next(name for name, one in mine.items() if one is value)
        mine[name] = torch.full(value.shape, 77)
        return mine[name]

    call = functools.partial(interfaces.aclnn, f"aclnn{example.function}")
    eval(f"call({example.arguments})", {**helpers, **mine, "call": call, "as_int64": as_int64})
    told = []
    for name, value in expected.items():
        if not re.search(rf"\b{name}\b", example.arguments):
            continue
        for one, other in zip(
            *([side] if isinstance(side, torch.Tensor) else side for side in (mine[name], value)), strict=True
        ):
            if not torch.equal(bits(one.to(other.dtype)), bits(other)):
                share = (one.to(other.dtype) != other).double().mean().item()
                most = (one.double() - other.double()).abs().max()
                told.append(f"{name}: {share:.0%} of {other.numel()} elements differ, by {most:.3g}")
    return "; ".join(told)


@pytest.fixture(autouse=True)
def _without_rules() -> Iterator[None]:
    """What a device refuses is the business of test_rules.py; here it is what both compute."""
    enforce = interfaces.libraries()[0].ophook_enforce_rules
    before = enforce(0)
    yield
    enforce(before)


# ---- the tests -------------------------------------------------------------------------------------------------------
def test_each_pair_has_an_example() -> None:
    assert pairs()[1] == []
    assert len(pairs()[0]) > 200


def test_what_is_not_compared_is_there() -> None:
    assert sorted(set(table()[1]) - set(functions())) == []


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_both_interfaces_give_the_same_bits(dtype: torch.dtype) -> None:
    wrong = []
    for example in pairs()[0]:
        if dtype != DTYPES[-1] and not re.search(r"\b(real|positive|ascending|numbers?)\(", example.tensors):
            continue
        try:
            told = compare(example, dtype)
        except Refused as error:
            told = "" if example in taken() else f"refused: {error}"
        if told:
            wrong.append(f"aclnn{example.function} and {example.type}: {told}")
    assert not wrong, "\n".join(wrong)


@functools.cache
def taken() -> set[Example]:
    """The examples that both interfaces take in some type: those may refuse another."""

    def works(example: Example, dtype: torch.dtype) -> bool:
        try:
            compare(example, dtype)
        except Refused:
            return False
        return True

    return {example for example in pairs()[0] if any(works(example, dtype) for dtype in DTYPES)}


def test_a_difference_is_seen() -> None:
    example = Example("Muls", "x, 2.0, y", "y", "Muls", "x, value=2.5", "x=real(3, 5)")
    assert compare(example, torch.float32).startswith("y: 100% of 15 elements differ")
    assert ctypes.CDLL("libopapi.so").ophook_ge_proto(b"NoSuchType") == 0
