"""The part of the kernel that checks arguments as `ophook_npu.ops._checks` does, in the same words."""

from __future__ import annotations

from typing import Any

from ophook_npu.errors import OphookError
from ophook_npu.ops._checks import listed, shapes_allowed, split_shapes
from ophook_npu.ops.declare import Operator
from ophook_npu.ops.export.cpp import SCALAR_TYPES, parameters, type_of


def _each(op: Operator, name: str, lines: list[str]) -> list[str]:
    """``lines`` about ``{t}``, for a tensor, an optional one where it is given, or each one of a list."""
    kind = type_of(op, name)
    if kind == "Tensor":
        return [line.format(t=name) for line in lines]
    if kind == "Optional[Tensor]":
        inner = [f"    {line.format(t=f'{name}.value()')}" for line in lines]
        return [f"if ({name}.has_value() && {name}->defined()) {{", *inner, "}"]
    inner = [f"    {line.format(t='one')}" for line in lines]
    return [f"for (const at::Tensor& one : {name}) {{", *inner, "}"]


def first_tensor(op: Operator, names: Any) -> str:
    """A tensor that is always there; the others are compared with it."""
    found: list[str] = [name for name in names if type_of(op, name) == "Tensor"]
    if not found:
        raise OphookError(
            f"op export {op.qualname}",
            f"none of {', '.join(names)} is a plain Tensor",
            allowed="one that is always given",
        )
    return found[0]


def check_function(op: Operator) -> str:
    lines: list[str] = []
    first = first_tensor(op, op.tensors)
    together = "both" if len(op.tensors) == 2 else "all"
    for name in op.tensors:
        if name != first:
            lines += _each(op, name, [
                f'TORCH_CHECK({first}.device() == {{t}}.device(), "[{op.name}] {first} is on ", {first}.device(),',
                f'    ", {name} is on ", {{t}}.device(), "; allowed: {together} on one device; '
                'next: move one of them with .to()");',
            ])  # fmt: skip
    lines += [
        f'TORCH_CHECK({first}.device().type() == c10::DeviceType::PrivateUse1, "[{op.name}] {first} is on ",',
        f'    {first}.device(), "; allowed: npu");',
    ]
    for group, allowed in op.dtypes.items():
        names = group.split()
        lead = first_tensor(op, names) if any(type_of(op, n) == "Tensor" for n in names) else None
        together = "both" if len(names) == 2 else "all"
        kinds = ", ".join(SCALAR_TYPES[d] for d in allowed)
        for name in names:
            if lead is not None and name != lead:
                lines += _each(op, name, [
                    f'TORCH_CHECK({lead}.scalar_type() == {{t}}.scalar_type(), "[{op.name}] {lead} has dtype ",',
                    f'    {lead}.scalar_type(), ", {name} has dtype ", {{t}}.scalar_type(),',
                    f'    "; allowed: one dtype for {together}; next: convert one of them with .to()");',
                ])  # fmt: skip
        verb = "has" if len(names) == 1 else "have"
        for name in [lead] if lead is not None else names:
            scalar_types = ", ".join(f"at::k{SCALAR_TYPES[d]}" for d in allowed)
            lines += _each(op, name, [
                f"TORCH_CHECK(is_one_of({{t}}.scalar_type(), {{{{{scalar_types}}}}}),",
                f'    "[{op.name}] {listed(names)} {verb} dtype ", {{t}}.scalar_type(), "; allowed: {kinds}");',
            ])  # fmt: skip
    if op.shapes:
        lines += _shape_lines(op)
    if op.max_elements is not None:
        for name in op.tensors:
            lines += _each(op, name, [f'check_elements("{name}", {{t}}.sizes());'])
    tensors = ", ".join(p.replace("at::Tensor& ", "const at::Tensor& ", 1) if p.startswith("at::") else p
                        for a, p in zip(op.arguments, parameters(op), strict=True) if a.name in op.tensors)  # fmt: skip
    body = "".join(f"    {line}\n" for line in lines)
    return f"void check_arguments({tensors})\n{{\n{body}}}\n\n"


def _shape_lines(op: Operator) -> list[str]:
    """One condition over all plain tensors: ranks first, then every word that stands twice. Then each of the others."""
    plain, others = split_shapes(op)
    known: dict[str, str] = {}
    ranks, equal = [], []
    for name, words in plain.items():
        rank, same = _conditions(name, words, known)
        ranks.append(rank)
        equal += same
    said = [f', {name} has shape ", {name}.sizes()' for name in plain]
    lines = _refusal(op, [*ranks, *equal], said) if plain else []
    for name, words in others.items():
        rank, same = _conditions("{t}", words, dict(known))
        lines += _each(op, name, _refusal(op, [rank, *same], [*said, f', {name} has shape ", {{t}}.sizes()']))
    return lines


def _conditions(tensor: str, words: list[str], known: dict[str, str]) -> tuple[str, list[str]]:
    """That ``tensor`` has the rank, and the equalities with ``known`` words, to which this adds."""
    dots = "..." in words
    rank = f"{tensor}.dim() >= {len(words) - 1}" if dots else f"{tensor}.dim() == {len(words)}"
    before = words.index("...") if dots else len(words)
    equal = []
    for i, word in enumerate(words):
        if word == "...":
            size = f"{tensor}.sizes().slice({before}, {tensor}.dim() - {len(words) - 1})"
        else:
            size = f"{tensor}.size({i if i < before else i - len(words)})"
        if word in known:
            equal.append(f"{known[word]} == {size}")
        else:
            known[word] = size
    return rank, equal


def _refusal(op: Operator, conditions: list[str], said: list[str]) -> list[str]:
    shapes = ', "'.join(said)[2:]
    first, *others = conditions
    return [
        f"TORCH_CHECK({first}{'' if others else ','}",
        *(f"    && {condition}" for condition in others[:-1]),
        *([f"    && {others[-1]},"] if others else []),
        f'    "[{op.name}] {shapes},',
        f'    "; allowed: {shapes_allowed(op)}");',
    ]
