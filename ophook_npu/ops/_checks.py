"""What must hold of an operator's arguments, in the words that its exported NPU kernel uses too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from ophook_npu.ops.declare import Operator


def tensors_of(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [item for item in value if isinstance(item, torch.Tensor)]
    return []


def listed(names: list[str] | tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def dtype_names(dtypes: Any) -> str:
    return ", ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)


def checker(op: Operator) -> Callable[..., None]:
    """A function of the operator's arguments that raises RuntimeError where devices or dtypes are wrong."""
    position = {a.name: i for i, a in enumerate(op.arguments)}
    groups = [
        (tuple((name, position[name]) for name in group.split()), frozenset(allowed), tuple(allowed))
        for group, allowed in op.dtypes.items()
    ]
    every = tuple((name, position[name]) for name in op.tensors)

    def pairs(names: tuple[tuple[str, int], ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        for name, index in names:
            value = args[index] if index < len(args) else kwargs.get(name)
            if isinstance(value, torch.Tensor):
                yield name, value
            elif value is not None:
                yield from ((f"{name}[{i}]", tensor) for i, tensor in enumerate(tensors_of(value)))

    def holds(args: tuple[Any, ...]) -> bool:
        """The same for nothing but tensors, where all is well: what a call costs."""
        device = args[plain[0]].device
        for i in plain:
            if args[i].device != device:
                return False
        for indices, allowed in alike:
            dtype = args[indices[0]].dtype
            if dtype not in allowed:
                return False
            for i in indices:
                if args[i].dtype != dtype:
                    return False
        return True

    plain = [index for _, index in every]
    alike = [(tuple(index for _, index in names), allowed) for names, allowed, _ in groups]
    only_tensors = bool(plain) and all(str(op.argument(name).real_type) == "Tensor" for name, _ in every)
    needed = max(plain, default=-1) + 1

    def check(*args: Any, **kwargs: Any) -> None:
        if only_tensors and len(args) >= needed and holds(args):
            return
        device, first = None, ""
        for name, tensor in pairs(every, args, kwargs):
            if device is None:
                device, first = tensor.device, name
            elif tensor.device != device:
                together = "both" if len(every) == 2 else "all"
                raise RuntimeError(
                    f"[{op.name}] {first} is on {device}, {name} is on {tensor.device}; allowed: {together} on one "
                    "device; next: move one of them with .to()"
                )
        for names, allowed, in_order in groups:
            dtype, first = None, ""
            for name, tensor in pairs(names, args, kwargs):
                if dtype is None:
                    dtype, first = tensor.dtype, name
                elif tensor.dtype != dtype:
                    together = "both" if len(names) == 2 else "all"
                    raise RuntimeError(
                        f"[{op.name}] {first} has dtype {dtype}, {name} has dtype {tensor.dtype}; allowed: one dtype "
                        f"for {together}; next: convert one of them with .to()"
                    )
            if dtype is not None and dtype not in allowed:
                who = [name for name, _ in names]
                verb = "has" if len(who) == 1 else "have"
                raise RuntimeError(f"[{op.name}] {listed(who)} {verb} dtype {dtype}; allowed: {dtype_names(in_order)}")

    return check


def shape_checker(op: Operator) -> Callable[..., None] | None:
    """A function of the arguments that raises RuntimeError where shapes do not agree as the declaration wants; or
    None."""
    if not op.shapes:
        return None
    position = {a.name: i for i, a in enumerate(op.arguments)}
    plain, others = split_shapes(op)

    def check(*args: Any, **kwargs: Any) -> None:
        shapes = [(args[i] if i < len(args) else kwargs[name]).shape for name, i in indexed]
        known: dict[str, Any] = {}
        if not _agree(shapes, words, known):
            refuse(shapes)
        for name, pattern in others.items():
            value = args[position[name]] if position[name] < len(args) else kwargs.get(name)
            for tensor in tensors_of(value):
                if not _agree([tensor.shape], [pattern], dict(known)):
                    refuse([*shapes, tensor.shape], name)

    indexed = [(name, position[name]) for name in plain]
    words = list(plain.values())

    def refuse(shapes: list[torch.Size], *more: str) -> None:
        names = [*plain, *more]
        parts = ", ".join(f"{name} has shape {list(shape)}" for name, shape in zip(names, shapes, strict=True))
        raise RuntimeError(f"[{op.name}] {parts}; allowed: {shapes_allowed(op)}")

    return check


def split_shapes(op: Operator) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The patterns' words: of plain tensors, which are always there and say what each word is; and of the others."""
    plain = {n: p.split() for n, p in op.shapes.items() if str(op.argument(n).real_type) == "Tensor"}
    return plain, {n: p.split() for n, p in op.shapes.items() if n not in plain}


def number_checker(op: Operator) -> Callable[..., None] | None:
    """A function of the arguments that raises RuntimeError where a Scalar is complex, which aclnn and GE refuse."""
    numbers = [a.name for a in op.arguments if str(a.real_type) == "number"]
    if not numbers or op.ge is None:
        return None

    def check(*args: Any, **kwargs: Any) -> None:
        values = op.bind(args, kwargs)
        for name in numbers:
            if isinstance(values[name], complex):
                raise RuntimeError(f"[{op.name}] {name} is {values[name]}; allowed: a real number")

    return check


def shapes_allowed(op: Operator) -> str:
    return ", ".join(f"{name} [{', '.join(pattern.split())}]" for name, pattern in op.shapes.items())


def _agree(shapes: list[torch.Size], patterns: list[list[str]], known: dict[str, Any]) -> bool:
    """Whether shapes fit patterns where ``known`` words are; adds what it learns to them."""
    for shape, words in zip(shapes, patterns, strict=True):
        if len(shape) < len(words) - 1 if "..." in words else len(shape) != len(words):
            return False
        before = words.index("...") if "..." in words else len(words)
        after = len(shape) - (len(words) - before - 1) if "..." in words else len(shape)
        sizes = [*shape[:before], *([shape[before:after]] if "..." in words else []), *shape[after:]]
        for word, size in zip(words, sizes, strict=True):
            if known.setdefault(word, size) != size:
                return False
    return True


def size_checker(op: Operator) -> Callable[..., None]:
    """A function of the arguments that raises RuntimeError where one of them, or a result, has too many elements."""
    limit = op.max_elements
    assert limit is not None
    rules = [(name, rule) for name, rule in op.outputs.items() if rule is not None]
    names = [a.name for a in op.arguments]

    def check(*args: Any, **kwargs: Any) -> None:
        shape: torch.Size | None = None
        differ = False
        for name, arg in zip(names, args, strict=False):
            if isinstance(arg, torch.Tensor):
                mine = arg.shape
                if mine == shape:
                    continue
                if arg.numel() > limit:
                    refuse(name, mine)
                # Results of equal shapes are no larger, whatever the rule.
                differ = differ or shape is not None
                shape = mine
        if differ:
            values = op.bind(args, kwargs)
            for name, rule in rules:
                result = rule.shape(op.name, values)
                if torch.Size(result).numel() > limit:
                    refuse("the result" if len(rules) == 1 else name, result)

    def refuse(name: str, shape: Any) -> None:
        raise RuntimeError(
            f"[{op.name}] {name} has shape {list(shape)}, more than {limit} elements; "
            "allowed: at most that many; next: split the tensor"
        )

    return check
