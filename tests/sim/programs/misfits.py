"""Run by test_misfits.py: calls each function named on its input, then with one input or number changed at a time.

Prints a line of JSON when it is through with one: {"name", "ran", "tried", "late": [[parameter, was, came, error], …]},
of which "ran" says whether it has a call that runs.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from test_rules import FAMILY, TENSORS, Caller, calls_of, made

from ophook_npu.sim import rules

NUMBERS, WORKSPACE = 1 << 22, 64 << 20


def bytes_of(dtype: str) -> int:
    bits = "".join(filter(str.isdigit, dtype.partition("_")[0])) or {"BOOL": 8, "DOUBLE": 64}.get(dtype, 32)
    return -(-int(bits) // 8)


class Runner(Caller):
    """Calls both phases and waits; each tensor has memory of its own, which holds zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = torch.zeros(NUMBERS, dtype=torch.int64, device="npu:0")
        self.workspace = torch.zeros(WORKSPACE, dtype=torch.int8, device="npu:0")
        self.stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)
        self.next = self.memory.nbytes

    def place(self, dtype: str, sizes: tuple[int, ...]) -> int:
        start, between = self.next, 2 if min(sizes, default=0) < 0 else 1
        self.next += -(-math.prod(map(abs, sizes)) * bytes_of(dtype) * between // 64) * 64 + 64
        assert self.next < self.memory.nbytes, (dtype, sizes)
        return self.memory.data_ptr() + start

    def run(self, function: rules.Function, call: list[str]) -> tuple[int, str]:
        """0 or the code of phase 1, which is negative where the error came later; and the message."""
        ctypes.memset(self.memory.data_ptr(), 0, self.next)  # an operator of torch's would not run after an error
        self.next = 0
        self.tensors.clear()
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        first, second = getattr(self.library, f"{function.name}GetWorkspaceSize"), getattr(self.library, function.name)
        arguments = made(self, function, FAMILY, call)
        if code := first(*arguments, ctypes.byref(size), ctypes.byref(executor)):
            if executor:
                self.library.aclDestroyAclOpExecutor(executor)
            return code, self.said()
        assert size.value <= WORKSPACE, (function.name, size.value)
        code = second(ctypes.c_void_p(self.workspace.data_ptr()), size, executor, self.stream)
        return -(code or self.runtime.aclrtSynchronizeStream(self.stream)), self.said()

    def said(self) -> str:
        return (self.runtime.aclGetRecentErrMsg() or b"").decode(errors="replace")


def other_sizes(sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Longer and shorter by each of its dimensions, without the first, and with one more in front."""
    for at, size in enumerate(sizes):
        yield (*sizes[:at], size + 7, *sizes[at + 1 :])
        if size > 1:
            yield (*sizes[:at], size - 1, *sizes[at + 1 :])
    if sizes:
        yield sizes[1:]
    yield (1, *sizes)


def other_shapes(text: str) -> Iterator[str]:
    """Of a tensor, or of a list of tensors: another first one, one more and one less."""
    if text.startswith("{"):
        first, *rest = text.strip("{}").split(";")
        yield from (f"{{{';'.join([other, *rest])}}}" for other in other_shapes(first))
        yield f"{{{';'.join([first, *rest, first])}}}"
        if rest:
            yield f"{{{';'.join(rest)}}}"
        return
    dtype, _, sizes = text.rstrip("]").partition("[")
    for other in other_sizes(tuple(int(size) for size in sizes.split(",") if size)):
        yield f"{dtype}[{','.join(map(str, other))}]"


def other_values(given: Any) -> Iterator[Any]:
    """Of a whole number, a list of these or a name."""
    if isinstance(given, str):
        yield "nonsense"
    elif isinstance(given, int):
        yield from (given + 1, given - 1, -7, 100)
    else:
        for at, item in enumerate(given):
            yield from ([*given[:at], other, *given[at + 1 :]] for other in (0, -1, 7) if other != item)
        yield [*given, 1]
        if given:
            yield given[:-1]


def other_numbers(one: rules.Parameter, text: str) -> Iterator[str]:
    """Of a number, a list of numbers or a name, as calls have them."""
    if re.fullmatch(r"u?int\d*(_t)?", one.kind):
        yield from (str(other) for other in other_values(int(text or 0)) if other >= 0 or one.kind[0] != "u")
    elif one.kind == "aclIntArray*" and text not in ("", "null"):
        items = [int(item) for item in text.strip("()").split(",") if item]
        yield from (f"({','.join(map(str, other))})" for other in other_values(items))
    elif one.kind == "char*" and text not in ("", "null"):
        yield from (f'"{other}"' for other in other_values(text))


def misfits(runner: Runner, function: rules.Function) -> dict[str, object]:
    taken = (call for call in calls_of(function, FAMILY) if not runner.run(function, call)[0])
    call = next(taken, None)
    late, tried = [], 0
    for place, one in enumerate(function.parameters if call else ()):
        given = call[place]
        tensor = one.kind in TENSORS
        if tensor and (one.direction == "out" or given in ("", "null", "{}")):
            continue
        for text in other_shapes(given) if tensor else other_numbers(one, given):
            tried += 1
            code, said = runner.run(function, [*call[:place], text, *call[place + 1 :]])
            if code < 0:
                late.append([one.name, given, text, said])
    return {"name": function.name, "ran": call is not None, "tried": tried, "late": late}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # torch_npu writes there, too
    runner = Runner()
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(misfits(runner, rules.table()[line.strip()])), file=answers, flush=True)


if __name__ == "__main__":
    main()
