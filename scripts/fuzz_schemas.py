#!/usr/bin/env python3
"""Run operators that have no samples with arguments drawn from their schemas, on the CPU and on the simulated Ascend.

usage: scripts/fuzz_schemas.py [--seed 0] [--programs 100] [--examples 20] [--only N] [--match OP] [--graphs EVERY]
                               [--strict-memory] [--check-order] [--out FILE]

torch's operators that have a kernel for npu and no sample in `torch.testing._internal`, and torch_npu's own that
`ophook_npu.observe.references` has a formula for. A program N is an operator with as many --examples of arguments,
which Hypothesis draws by the seed and the number, of those that the CPU takes: data types and numbers of dimensions as
the rules of the aclnn function of that name have them, shapes that mostly go together, empty ones among them, the
layouts and aliases of `scripts/fuzz.py`, and numbers, texts and lists by what the schema calls them. Runs, verdicts and
options are those of `scripts/fuzz.py`; what differs Hypothesis makes smaller, and it is told as a call. Known
differences stand in scripts/fuzz_known.txt.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import itertools
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import fuzz
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky, Unsatisfiable

from ophook_npu.sim import rules

SIZES = (2, 3, 1, 4, 6, 8, 0)
FLOATS = (1.0, 0.5, 2.0, 0.0, -1.0, 1e-5)
WHOLE = (1, 2, 0, -1, 3, 4)
TEXTS = {
    "approximate": ("none", "tanh"),
    "reduction": ("mean", "sum", "none"),
    "rotary_mode": ("half", "interleave"),
    "input_layout": ("BSH", "BNSD", "BSND", "SBH"),
    "layout": ("BSND",),
}
DTYPES = {"FLOAT": "float32", "FLOAT16": "float16", "BFLOAT16": "bfloat16", "INT64": "int64", "INT32": "int32"}
DTYPES |= {"BOOL": "bool", "UINT8": "uint8", "INT8": "int8", "INT16": "int16", "COMPLEX64": "complex64"}
_INDEX = re.compile(r"ind(ex|ices)|offsets|target$|labels|lengths|repeats|group_(list|index)")
_MASK = re.compile(r"mask|finished")
_SHAPE = re.compile(r"^size|(?<!kernel)_size|shape")
# No programs: what gives other numbers each time, takes numbers of formats or of data types, computes nothing, or
# leaves memory as it was (resize_).
_LEFT_OUT = re.compile(
    r"rand|dropout|rrelu|lstm|gru|set_|resize|record_stream|is_pinned|overrideable|_out$|format_cast|dtype_cast"
)
_MOST = 12  # arguments: more of them do not meet by chance


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor that is drawn: its numbers come from its shape."""

    shape: tuple[int, ...]
    dtype: str
    layout: str = fuzz.LAYOUTS[0]

    def __repr__(self) -> str:
        layout = "" if self.layout == fuzz.LAYOUTS[0] else f" {self.layout}"
        return f"<{self.dtype}{list(self.shape)}{layout}>"

    def made(self, torch: Any, place: int) -> Any:
        numbers = torch.Generator().manual_seed(place + 1)
        dtype = getattr(torch, self.dtype)
        if dtype.is_floating_point or dtype.is_complex:
            return torch.randn(self.shape, generator=numbers, dtype=torch.float32).to(dtype)
        return torch.randint(0, 2 if dtype == torch.bool else 3, self.shape, generator=numbers).to(dtype)


@dataclasses.dataclass(frozen=True)
class Laid:
    """A tensor on the CPU, and how it will lie in memory."""

    tensor: Any
    layout: str


@dataclasses.dataclass(frozen=True)
class Program:
    number: int
    op: str
    arguments: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]
    form: str = fuzz.FORMS[0]

    def __str__(self) -> str:
        told = [*map(repr, self.arguments), *(f"{name}={value!r}" for name, value in self.named)]
        return f"{self.op}({', '.join(told)})"

    @property
    def layouts(self) -> tuple[str, ...]:
        return tuple(one.layout for one in _tensors([*self.arguments, *dict(self.named).values()]))


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, (list, tuple)):
        return [tensor for one in value for tensor in _tensors(one)]
    return [value] if isinstance(value, Tensor) else []


@functools.cache
def rules_of(name: str) -> rules.Parameter | None:
    """The first tensor of the aclnn function that has the operator's name."""
    words = re.sub(r"^npu_", "", name.strip("_")).split("_")
    function = rules.table().get("aclnn" + "".join(word[:1].upper() + word[1:] for word in words))
    return next((one for one in function.parameters if one.kind == "aclTensor*"), None) if function else None


@st.composite
def arguments_of(draw: Any, name: str, schema: Any) -> tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]:
    """Positional arguments, and those that have a name."""
    first = rules_of(name)
    taken = [DTYPES[one] for one in first.dtypes.get("Ascend910B", ()) if one in DTYPES] if first else []
    dtype = draw(st.sampled_from([*taken, *taken, "float32", "float16", "int32"]))
    ranks = [rank for rank in (first.ranks if first and first.ranks else range(5)) if rank < 6]
    rank = draw(st.sampled_from(ranks))
    base = tuple(draw(st.lists(st.sampled_from(SIZES), min_size=rank, max_size=rank)))
    drawn = {one.name: draw(argument_of(one, base, dtype)) for one in schema.arguments}
    drawn |= {one.name: f"torch.{dtype}" for one in schema.arguments if str(one.real_type) == "ScalarType"}
    positional = tuple(drawn[one.name] for one in schema.arguments if not one.kwarg_only)
    return positional, tuple((one.name, drawn[one.name]) for one in schema.arguments if one.kwarg_only)


def argument_of(one: Any, base: tuple[int, ...], dtype: str) -> st.SearchStrategy[Any]:
    value = value_of(one, one.type, base, dtype)
    # Most calls leave most of them out.
    return st.one_of(*[st.just(one.default_value)] * 3, value) if one.has_default_value() else value


def value_of(one: Any, kind: Any, base: tuple[int, ...], dtype: str) -> st.SearchStrategy[Any]:
    words = str(kind)
    if words.startswith("Optional["):
        inner = kind.getElementType()
        return st.just(None) if _unsaid(one, str(inner)) else st.one_of(value_of(one, inner, base, dtype), st.none())
    if words == "Tensor":
        return tensors(one.name, base, dtype)
    if words == "List[Tensor]":
        return st.lists(tensors(one.name, base, dtype), min_size=1, max_size=3)
    if words.startswith("List["):
        return lists(one, words, base)
    if words == "str":
        return st.sampled_from(TEXTS.get(one.name, ("none",)))
    if words == "bool":
        return st.booleans()
    if words == "float":
        return st.sampled_from(FLOATS)
    if words in ("Scalar", "number"):
        return st.sampled_from((*FLOATS, *WHOLE))
    if re.search(r"^dim|_dim$|axis", one.name) and base:
        return st.integers(-len(base), len(base) - 1)
    if re.search(r"group|heads|size|^[nN]$|^C$|^HxW$", one.name) and base:
        return st.sampled_from((*base, math.prod(base[2:]), *WHOLE))
    return st.sampled_from(WHOLE)


def _unsaid(one: Any, words: str) -> bool:
    return words in ("Generator", "Device", "Layout", "MemoryFormat", "Storage") or one.name in ("dtype", "pin_memory")


def tensors(name: str, base: tuple[int, ...], dtype: str) -> st.SearchStrategy[Tensor]:
    """Of the shape of the program, of a part of it, of one that is like it, or of another."""
    likely = [*[base] * 8, base[-1:], base[:1], base[1:2], base[:-1], base[:2], (*base[:-2], *base[-2:][::-1])]
    likely += [(*base[:-1], 2 * base[-1]), (*base[:-1], base[-1] // 2), (*base[:-1], 1)] if base else []
    other = st.lists(st.sampled_from(SIZES), max_size=4).map(tuple)
    shapes = st.integers(0, 9).flatmap(lambda which: other if which == 9 else st.sampled_from(likely))
    if _INDEX.search(name):
        types = ("int64", "int64", "int32", dtype)
    elif _MASK.search(name):
        types = ("bool", "bool", "uint8", dtype)
    else:
        types = (dtype,) * 6 + ("float32", "float16")
    layouts = (fuzz.LAYOUTS[0],) * 6 + fuzz.LAYOUTS[1:] + fuzz.ALIASES
    return st.builds(Tensor, shapes, st.sampled_from(types), st.sampled_from(layouts))


def lists(one: Any, words: str, base: tuple[int, ...]) -> st.SearchStrategy[list[Any]]:
    if "bool" in words:
        count = one.N or 3
        return st.lists(st.booleans(), min_size=count, max_size=count)
    if "float" in words:
        return st.lists(st.sampled_from(FLOATS), min_size=1, max_size=3)
    if _SHAPE.search(one.name):
        return st.sampled_from([base, base[-1:], base[-2:], base[2:], (4, 4), (3,)]).map(list)
    if "perm" in one.name:
        return st.permutations(range(len(base)))
    likely = (0, 1, 0, 2, 0, -1) if "padding" in one.name else (1, 2, 1, 3, 2, 1, 2, 0, -1)
    counts = st.sampled_from([one.N] if one.N else [len(base), max(len(base) - 2, 1), 2 * len(base), 1])
    return counts.flatmap(lambda count: st.lists(st.sampled_from(likely), min_size=count, max_size=count))


class Different(Exception):
    """A bad verdict, for Hypothesis to make smaller."""


class Worker(fuzz.Worker):
    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(argparse.Namespace(match=""))
        self.options = options
        self.ops = [name for name in self.names() if options.match in name]
        self.known = {
            tuple(line.split()[:2]) for line in fuzz.KNOWN.read_text().splitlines() if line and line[0] != "#"
        }

    def names(self) -> list[str]:
        from ophook_npu.observe.references import reference_of

        torch = self.torch
        sampled = {name for op in self.ops for name in (op.name.split(".")[-1], op.aten_name, op.aten_backward_name)}
        of_all = torch._C._dispatch_has_computed_kernel_for_dispatch_key
        kernels = ((torch._C._dispatch_has_kernel_for_dispatch_key, "PrivateUse1"), (of_all, "CPU"))
        found = []
        for schema in torch._C._jit_get_all_schemas():
            space, _, name = schema.name.partition("::")
            full = f"{schema.name}.{schema.overload_name}".rstrip(".")
            if any(one.is_out for one in schema.arguments) or _LEFT_OUT.search(name) or len(schema.arguments) > _MOST:
                continue
            if space == "aten" and not name.startswith("_") and name.rstrip("_") not in sampled:
                # A kernel for npu alone has nothing to be compared with.
                if torch._C._dispatch_has_kernel(full) and all(has(full, key) for has, key in kernels):
                    found.append(full)
            elif space == "npu" and reference_of(schema.name):
                found.append(full)
        return sorted(set(found))

    def run(self, first: int) -> None:
        warnings.simplefilter("ignore")
        for number in range(first, self.options.programs):
            self.last: tuple[Program, str, str] | None = None
            try:
                self.examples(number, self.ops[number % len(self.ops)])
            except (Different, Flaky) as error:
                assert self.last is not None
                program, verdict, why = self.last
                self.tell(program, verdict, why if isinstance(error, Different) else f"not each time: {why}")
            except Unsatisfiable as error:
                self.tell(Program(number, self.ops[number % len(self.ops)], (), ()), "no program", str(error))

    def examples(self, number: int, name: str) -> None:
        schema = self.overload(name)._schema
        form = fuzz.FORMS[1] if schema.is_mutable else fuzz.FORMS[0]

        @seed(self.options.seed << 32 | number)
        @settings(
            max_examples=self.options.examples, database=None, deadline=None, report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck), phases=[Phase.generate, Phase.shrink],
        )  # fmt: skip
        @given(arguments_of(name.partition("::")[2].partition(".")[0], schema))
        def judged(drawn: Any) -> None:
            program = Program(number, name, *drawn, form)
            assume(self.taken(program))
            if self.is_bad(program):
                raise Different

        judged()

    def taken(self, program: Program) -> bool:
        """Whether it is a call that the CPU takes: what is drawn at random mostly is none."""
        self.graphs = {}
        self.tell(program, "runs", ends="no program")  # where it ends the process on the CPU
        with contextlib.suppress(fuzz.NoProgram):
            return self.outcome(program, "cpu")[0] == "done"
        return False

    def is_bad(self, program: Program) -> bool:
        """Tells what it is; of a bad one Hypothesis goes on to look for a smaller one, and the last is told."""
        self.tell(program, "runs")
        try:
            verdict, why = self.judge(program)
        except fuzz.NoProgram as error:
            verdict, why = "no program", fuzz.first_line(error)
        bad = verdict in fuzz.BAD and (program.op, verdict) not in self.known
        if bad:
            self.last = program, verdict, why
        elif self.last is None:
            self.tell(program, verdict, why)
        if self.ended:
            os._exit(0)  # the next operator in another process
        return bad

    def tell(self, program: Program, verdict: str, why: str = "", **more: str) -> None:
        told = {"number": program.number, "program": str(program), "op": program.op, "verdict": verdict, "why": why}
        print(json.dumps(told | {"graphs": self.graphs} | more), flush=True)

    def overload(self, name: str) -> Any:
        space, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        return getattr(getattr(getattr(self.torch.ops, space), packet), overload or "default")

    def function(self, name: str, device: str) -> Callable[..., Any]:
        from ophook_npu.observe.references import reference_of

        if name.startswith("aten::") or device == "npu":
            return self.overload(name)
        formula = reference_of(name.partition(".")[0])
        assert formula is not None
        return formula

    def call(self, program: Program, device: str, wide: bool = False) -> tuple[Callable[..., Any], fuzz.Arguments]:
        torch, moved, places = self.torch, [], itertools.count()

        def numbers(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return [numbers(one) for one in value]
            if isinstance(value, str) and value.startswith("torch."):  # a data type
                return getattr(torch, value.removeprefix("torch."))
            return Laid(value.made(torch, next(places)), value.layout) if isinstance(value, Tensor) else value

        def move(value: Any) -> Any:
            if isinstance(value, list):
                return [move(one) for one in value]
            if not isinstance(value, Laid):
                return value
            one = value.tensor.double() if wide and value.tensor.is_floating_point() else value.tensor
            shared = fuzz.share(torch, one, moved[0], value.layout) if value.layout in fuzz.ALIASES and moved else None
            moved.append(fuzz.lay(torch, one, value.layout, device) if shared is None else shared)
            return moved[-1]

        names = [one.name for one in self.overload(program.op)._schema.arguments]
        values = dict(zip(names, map(numbers, program.arguments), strict=False))
        values |= {name: numbers(value) for name, value in program.named}
        self.complete(program.op, values)
        function = self.function(program.op, device)

        def run(given: fuzz.Arguments) -> Any:
            torch.manual_seed(1)
            with torch.no_grad():
                return function(given.inputs[0], *given.inputs[1], **given.inputs[2])

        first, *rest = [move(values[name]) for name in names[: len(program.arguments)]]
        return run, fuzz.Arguments((first, rest, {name: move(values[name]) for name, _ in program.named}))

    def complete(self, op: str, values: dict[str, Any]) -> None:
        """A gradient gets what its function gives: one of the shape of the first result, and the other results."""
        space, _, name = op.partition(".")[0].partition("::")
        if not name.endswith("_backward") or not (forward := self.forward(space, name[: -len("_backward")], values)):
            return
        function, names, given = forward
        with self.torch.no_grad():
            first, *others = fuzz.flat(self.torch, function(*given))
        for name, value in values.items():
            if isinstance(value, Laid) and name not in names:
                if re.search(r"grad|^dy", name):
                    like = Tensor(tuple(first.shape), str(first.dtype).removeprefix("torch."))
                    values[name] = Laid(like.made(self.torch, 0), value.layout)
                elif others:
                    values[name] = Laid(others.pop(0), value.layout)

    def forward(self, space: str, name: str, values: dict[str, Any]) -> tuple[Callable[..., Any], set[str], Any] | None:
        """The function of a gradient, what it takes of the gradient's arguments, and all that it takes."""
        among = getattr(self.torch.ops, space)
        name = f"{name}_forward" if hasattr(among, f"{name}_forward") else name  # which gives what its gradient takes
        packet = getattr(among, name, None)
        for overload in packet.overloads() if packet is not None else ():
            arguments = [one for one in getattr(packet, overload)._schema.arguments if not one.kwarg_only]
            names = [one.name if one.name in values or one.name != "self" else "input" for one in arguments]
            known = [*zip(names, arguments, strict=True)]
            if all(
                name in values or one.has_default_value() or str(one.type) in ("float", "number") for name, one in known
            ):
                given = [
                    values.get(name, one.default_value if one.has_default_value() else 1e-5) for name, one in known
                ]
                plain = [one.tensor if isinstance(one, Laid) else one for one in given]
                return self.function(f"{space}::{name}.{overload}", "cpu"), set(names), plain
        return None

    def drops_out(self, program: Any) -> bool:
        return False

    def results(self, result: Any, arguments: fuzz.Arguments) -> list[Any]:
        """With a place for what is absent, and for what nobody documents."""
        places = [
            *(result if isinstance(result, (list, tuple)) else [result]),
            *fuzz.flat(self.torch, arguments.inputs),
        ]
        tensors = [one.detach().cpu() if isinstance(one, self.torch.Tensor) else one for one in places]
        return [one.to_dense() if isinstance(one, self.torch.Tensor) and one.is_sparse else one for one in tensors]

    def difference(self, program: Any, expected: list[Any], found: list[Any]) -> str:
        from ophook_npu.observe.references import Unspecified

        pairs = []
        for a, b in zip(expected, found, strict=False):
            if isinstance(a, Unspecified):
                a, b = (None, None) if a.value is None else (a.value, a.known_part(b))
            pairs.append((a, b) if isinstance(a, self.torch.Tensor) and b is not None else (self.torch.empty(0),) * 2)
        if len(expected) != len(found):
            return f"{len(found)} results instead of {len(expected)}"
        return super().difference(program, *map(list, zip(*pairs, strict=True)))

    def as_near(self, program: Any, place: int, cpu: Any, npu: Any) -> bool:
        exact = self.outcome(program, "cpu", wide=True)
        known = (
            cpu.layout == npu.layout == self.torch.strided
            and exact[0] == "done"
            and len(exact[1]) > place
            and isinstance(exact[1][place], self.torch.Tensor)
        )
        return known and super().as_near(program, place, cpu, npu)

    def smaller(self, program: Any, verdict: str, why: str) -> tuple[Any, str]:
        """Hypothesis does that."""
        return program, why


if __name__ == "__main__":
    fuzz.HERE = Path(__file__).resolve()
    examples = {"type": int, "default": 20, "help": "of each program's operator"}
    sys.exit(fuzz.main(Worker, __doc__, examples=examples))
