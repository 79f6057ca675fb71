"""Run by test_misfits.py: calls each type of the graph engine named on its input, then with one input or attribute
changed at a time.

Prints a line of JSON when it is through with one: {"name", "tried", "late": [[port or attribute, was, came, error],
…]}, of which "late" are those that inference takes and that do not run.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
import interfaces
import test_ge_rules
from interfaces import Node, Refused
from misfits import other_sizes, other_values

Call = tuple[tuple[Any, ...], dict[str, Any]]
NUMBERS = 1 << 22  # of a result; more is not computed


def resized(given: torch.Tensor, sizes: tuple[int, ...]) -> torch.Tensor:
    """Of the same numbers, from the start again where there are more."""
    flat, count = given.flatten() if given.numel() else torch.zeros(1, dtype=given.dtype), math.prod(sizes)
    return flat.repeat(-(-count // flat.numel()))[:count].reshape(sizes)


def other_numbers(given: torch.Tensor) -> Iterator[torch.Tensor]:
    """Of a few whole numbers, which may be sizes, axes or places."""
    for at in range(given.numel() if given.dtype in (torch.int32, torch.int64) and given.numel() <= 8 else 0):
        for value in (-1, 0, 7, 100):
            changed = given.clone()
            changed.view(-1)[at] = value
            yield changed


def changed(of: str, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> Iterator[tuple[str, Any, Any, Call]]:
    ports = interfaces.prototype(of)[0]
    for at, given in enumerate(inputs):
        first = given[0] if isinstance(given, list) and given else given
        if not isinstance(first, torch.Tensor):
            continue
        port = ports[at].rstrip("?*")

        def of_first(other: torch.Tensor, at: int = at, given: Any = given) -> Call:
            whole = [other, *given[1:]] if isinstance(given, list) else other
            return (*inputs[:at], whole, *inputs[at + 1 :]), attributes

        for sizes in other_sizes(tuple(first.shape)):
            yield port, [*first.shape], [*sizes], of_first(resized(first, sizes))
        for other in other_numbers(first):
            yield f"{port} values", first.tolist(), other.tolist(), of_first(other)
    for name, was in attributes.items():
        numbers = type(was) is int or (isinstance(was, list) and {int} == {*map(type, was)})
        if name != "results" and (numbers or isinstance(was, str)):
            for came in other_values(was):
                yield name, was, came, (inputs, {**attributes, name: came})


def late(of: str, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> str | None:
    """What a kernel refuses that inference took."""
    node = Node(of, *inputs, **attributes)
    try:
        told = node.infer()
    except Refused:
        return None
    if any(sizes is None or -1 in sizes or math.prod(sizes) > NUMBERS for _, sizes in told):
        return None
    try:
        node.run()
    except Refused as error:
        return str(error)
    except KeyError:  # of a data type that torch does not have
        pass
    return None


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # For what waits: there is nobody to wait for.
    assert ctypes.CDLL("libascendcl.so").aclrtSetOpExecuteTimeOutWithMs(1) == 0
    calls: dict[str, list[Call]] = {}
    for call in test_ge_rules.known():
        calls.setdefault(call[0], []).append(test_ge_rules.arguments_of(*call))
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        of, tried, found = line.strip(), 0, []
        for inputs, attributes in calls.get(of, [])[:2]:
            if late(of, inputs, attributes):
                continue
            for name, was, came, (other, more) in changed(of, inputs, attributes):
                tried += 1
                if error := late(of, other, more):
                    found.append([name, was, came, error])
        print(json.dumps({"name": of, "tried": tried, "late": found}), file=answers, flush=True)


if __name__ == "__main__":
    main()
