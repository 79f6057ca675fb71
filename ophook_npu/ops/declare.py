"""``Operator``: everything that a custom operator is, said once.

From it come the registrations with torch (``_register.py``), torchair's converter (``_ge.py``), the C++ kernel, YAML
and
prototypes (``export``), and the checks that all of them agree (``check.py``).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

from ophook_npu.errors import OphookError
from ophook_npu.ops.rules import Rule
from ophook_npu.plural import counted

# schema type -> GE attribute type; a Scalar is a real number there, and a double in aclnn, as msopgen makes them
ATTRIBUTE_TYPES = {
    "int": "Int", "float": "Float", "number": "Float", "bool": "Bool", "str": "Str", "ScalarType": "DataType",
    "List[int]": "ListInt", "List[float]": "ListFloat", "List[bool]": "ListBool",
}  # fmt: skip
# a schema's default for a ScalarType is a number of torch's
_SCALAR_TYPES = {
    0: torch.uint8, 1: torch.int8, 2: torch.int16, 3: torch.int32, 4: torch.int64, 5: torch.float16, 6: torch.float32,
    7: torch.float64, 11: torch.bool, 15: torch.bfloat16,
}  # fmt: skip
_TENSORS = ("Tensor", "Optional[Tensor]", "List[Tensor]", "List[Optional[Tensor]]")
# Names that torch's own functions take where it passes an operator's arguments on by name: those of an operator that
# writes (functionalization), and those given by keyword (vmap, FX).
_TAKEN_WRITING = ("mode", "_mutable_op")
_TAKEN_KEYWORDS = ("self", "op", "interpreter", "keyset")
_NAME = re.compile(r"^[A-Za-z_]\w*::[A-Za-z_]\w*$")
_IDENTIFIER = re.compile(r"^[A-Za-z_]\w*$")


@dataclass(frozen=True)
class Operator:
    """A custom operator.

    Args:
        schema: with namespace, such as ``"npu::npu_add_custom(Tensor x, Tensor y) -> Tensor"``. Arguments that are
            written to are marked ``Tensor(a!)``; such an operator returns ``()``.
        cpu: computes it on CPU tensors; parameters named like the schema's, with its defaults.
        outputs: a name (as in GE and aclnn) and a shape rule for each result; the rule is None where ``fake`` says it.
        fake: makes empty results of the right shape and dtype, where no named rule says it.
        dtypes: arguments that have one dtype together, and which: ``{"x y": (torch.float16, torch.float32)}``.
        shapes: what shapes must agree, one pattern for each argument: ``{"x": "... d", "gamma": "d"}``. Equal names are
            equal sizes, ``...`` is any number of dimensions, the same ones wherever it stands. An optional tensor and
            each of a list are held against the plain ones.
        derivatives: as in derivatives.yaml, for operators whose gradient is ``"grad"``; or else
        backward, setup_context: as for `torch.library.register_autograd`.
        vmap: ``"broadcast"`` (elementwise over broadcast arguments), ``"loop"`` (right for any operator, and slow),
            a function as for `torch.library.register_vmap`, or None: vmap is refused.
        autocast: what floating-point arguments are cast to under autocast: ``"float32"``, ``"lower"`` (autocast's own
            dtype) or None (nothing is cast).
        ge: the operator type in Ascend's graph engine, whose REG_OP prototype has the schema's tensors as inputs,
            ``outputs`` as outputs and ``attributes``; None: there is none, and aclnn neither.
        attributes: GE attribute -> argument; by default every argument that is no tensor, under its own name.
        aclnn: the function's name, ``aclnn`` + ``ge`` by default.
        max_elements: of any argument or result; None: no limit.
        examples: makes sets of arguments, on the CPU, that checks run with.
        summary: one line for exported files.
        needs: other declarations, registered with this one; a gradient may call them.

    Raises:
        OphookError: the schema does not parse, or the parts contradict each other.
    """

    schema: str
    cpu: Callable[..., Any]
    examples: Callable[[], Sequence[tuple[Any, ...]]]
    outputs: Mapping[str, Rule | None] = field(default_factory=dict)
    fake: Callable[..., Any] | None = None
    dtypes: Mapping[str, Sequence[torch.dtype]] = field(default_factory=dict)
    shapes: Mapping[str, str] = field(default_factory=dict)
    derivatives: Mapping[str, str] = field(default_factory=dict)
    backward: Callable[..., Any] | None = None
    setup_context: Callable[..., Any] | None = None
    vmap: str | Callable[..., Any] | None = "loop"
    autocast: str | None = None
    ge: str | None = None
    attributes: Mapping[str, str] | None = None
    aclnn: str | None = None
    max_elements: int | None = None
    summary: str = ""
    needs: Callable[[], Sequence[Operator]] | None = None

    def __post_init__(self) -> None:
        validate(self)

    @cached_property
    def parsed(self) -> Any:
        """torch's own view of the schema."""
        match = _NAME.match(self.schema.split("(", 1)[0])
        if not match:
            raise OphookError(
                self.schema, "the schema has no namespace and name", allowed="namespace::name(Tensor x, …) -> Tensor"
            )
        try:
            return torch._C.parse_schema(self.schema)
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[0]
            raise OphookError(
                self.qualname, f"the schema {self.schema!r} does not parse: {reason}",
                allowed="torch's schema language", todo="compare it with entries of native_functions.yaml",
            ) from None  # fmt: skip

    @property
    def qualname(self) -> str:
        """``npu::npu_add_custom``."""
        return self.schema.split("(", 1)[0]

    @property
    def namespace(self) -> str:
        """``npu``."""
        return self.qualname.split("::")[0]

    @property
    def name(self) -> str:
        """``npu_add_custom``."""
        return self.qualname.split("::")[1]

    @property
    def packet(self) -> Any:
        """``torch.ops.npu.npu_add_custom``, which is there once the operator is registered."""
        return getattr(getattr(torch.ops, self.namespace), self.name)

    @property
    def arguments(self) -> Sequence[Any]:
        """The arguments of the schema, as torch parsed them."""
        arguments: Sequence[Any] = self.parsed.arguments
        return arguments

    @cached_property
    def tensors(self) -> tuple[str, ...]:
        """Names of the arguments that are tensors, optional tensors or lists of them."""
        return tuple(a.name for a in self.arguments if str(a.real_type) in _TENSORS)

    @cached_property
    def mutated(self) -> tuple[str, ...]:
        """Names of the arguments that the operator writes to."""
        return tuple(a.name for a in self.arguments if a.alias_info is not None and a.alias_info.is_write)

    @cached_property
    def ge_attributes(self) -> dict[str, str]:
        """GE attribute -> argument."""
        if self.attributes is not None:
            return dict(self.attributes)
        return {a.name: a.name for a in self.arguments if a.name not in self.tensors}

    @property
    def aclnn_name(self) -> str | None:
        """``aclnnAddCustom``; ``None`` if neither ``aclnn`` nor ``ge`` is declared."""
        return self.aclnn or (f"aclnn{self.ge}" if self.ge else None)

    def argument(self, name: str) -> Any:
        """The schema's argument of this name."""
        return next(a for a in self.arguments if a.name == name)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Every argument by name, defaults filled in."""
        values = dict(zip((a.name for a in self.arguments), args, strict=False))
        values.update(kwargs)
        for a in self.arguments:
            values[a.name] = _as_dtype(a, values.get(a.name, a.default_value))
        return values


def default_of(argument: Any) -> Any:
    """A schema argument's default, that of a ScalarType as a dtype; None where there is none."""
    return _as_dtype(argument, argument.default_value)


def _as_dtype(argument: Any, value: Any) -> Any:
    return _SCALAR_TYPES[value] if isinstance(value, int) and str(argument.real_type) == "ScalarType" else value


def validate(op: Operator) -> None:
    def refuse(what: str, allowed: str | None = None, todo: str | None = None) -> OphookError:
        return OphookError(op.qualname, what, allowed=allowed, todo=todo)

    names = [a.name for a in op.arguments]
    _check_fields(op, refuse)
    _check_types(op, refuse)
    _check_aliases(op, refuse)
    _check_signature(op, refuse)
    for group, allowed in op.dtypes.items():
        for name in group.split():
            if name not in op.tensors:
                raise refuse(f"dtypes names {name!r}, which is not a tensor of the schema", ", ".join(op.tensors))
        if not allowed or not all(isinstance(dtype, torch.dtype) for dtype in allowed):
            raise refuse(f"dtypes of {group!r} are {allowed!r}", "one or more of torch's dtypes")
    returns = len(op.parsed.returns)
    if len(op.outputs) != returns:
        raise refuse(
            f"outputs names {counted(len(op.outputs), 'result')}, the schema has {returns}", "one name for each result"
        )
    for output, rule in op.outputs.items():
        if not _IDENTIFIER.match(output):
            raise refuse(f"the output's name {output!r} is no identifier", "letters, digits, _")
        if rule is None:
            if op.fake is None:
                raise refuse(
                    f"the shape of {output} is said nowhere", "a rule in outputs, or fake=", "see ophook_npu.ops.rules"
                )
            continue
        for name in rule.of:
            if name not in op.tensors:
                raise refuse(f"the rule of {output} names {name!r}", ", ".join(op.tensors))
        for name in rule.numbers():
            if name not in names or str(op.argument(name).real_type) != "int":
                raise refuse(f"the rule of {output} names {name!r} as an int", "an int argument of the schema")
    for name, pattern in op.shapes.items():
        words = pattern.split()
        if (
            name not in op.tensors
            or not all(w == "..." or _IDENTIFIER.match(w) for w in words)
            or words.count("...") > 1
        ):
            raise refuse(f"shapes[{name!r}] is {pattern!r}", "a tensor argument; names, and ... at most once")
    _check_ge(op, refuse)
    if (op.backward is None) != (op.setup_context is None):
        raise refuse("backward and setup_context come together", "both or neither")
    if op.derivatives and op.backward:
        raise refuse("derivatives next to backward", "one of the two")
    for name, formula in op.derivatives.items():
        if name not in op.tensors or formula != "grad":
            raise refuse(
                f"derivative {name!r}: {formula!r}", "a tensor argument and 'grad'", "give any other as backward="
            )
    if op.mutated and (op.backward or op.derivatives):
        raise refuse("an operator that writes to its arguments has no gradient in torch.library", "no backward")
    if not (op.vmap in (None, "loop", "broadcast") or callable(op.vmap)):
        raise refuse(f"vmap={op.vmap!r}", "'broadcast', 'loop', a function, or None")
    keyword = [name for name in op.tensors if op.argument(name).kwarg_only]
    for what, given in {"vmap": op.vmap, "derivatives": op.derivatives, "backward": op.backward}.items():
        if keyword and given:
            raise refuse(
                f"{keyword[0]} is a tensor given by keyword, for which torch.library has no rule of {what}",
                f"{what}={'{}' if what == 'derivatives' else None}", f"put {keyword[0]} before the * in the schema",
            )  # fmt: skip
    if op.autocast not in (None, "float32", "lower"):
        raise refuse(f"autocast={op.autocast!r}", "'float32', 'lower', or None")


def written(kind: Any) -> str:
    """A schema type as one writes it: ``float?`` for ``Optional[float]``."""
    text = str(kind)
    match = re.fullmatch(r"(Optional|List)\[(.*)\]", text)
    if match:
        return written(match[2]) + ("?" if match[1] == "Optional" else "[]")
    return "Scalar" if text == "number" else text


def _check_fields(op: Operator, refuse: Callable[..., OphookError]) -> None:
    for kind, function in {"cpu": op.cpu, "examples": op.examples, "fake": op.fake or op.cpu}.items():
        if not callable(function):
            raise refuse(f"{kind} is {function!r}", "a function")
    if not isinstance(op.outputs, Mapping) or not all(
        rule is None or isinstance(rule, Rule) for rule in op.outputs.values()
    ):
        raise refuse(f"outputs is {op.outputs!r}", 'a name and a rule, or None, for each result: {"y": same_as("x")}')
    for group, allowed in op.dtypes.items():
        if not isinstance(allowed, Sequence):
            raise refuse(f"dtypes of {group!r} are {allowed!r}", "a tuple of torch's dtypes")


def _check_types(op: Operator, refuse: Callable[..., OphookError]) -> None:
    for i, result in enumerate(op.parsed.returns):
        if str(result.type) != "Tensor":
            raise refuse(f"result {i} is {written(result.type)}", "Tensor", "return it as a tensor without dimensions")
    for a in op.arguments:
        if (op.mutated and a.name in _TAKEN_WRITING) or (a.kwarg_only and a.name in _TAKEN_KEYWORDS):
            raise refuse(f"an argument is called {a.name!r}, a name that torch itself uses", "any other name")


def _check_aliases(op: Operator, refuse: Callable[..., OphookError]) -> None:
    for a in op.arguments:
        if a.alias_info is not None and not a.alias_info.is_write:
            raise refuse(
                f"{a.name} is aliased and not written to", "Tensor, or Tensor(a!)", "return a copy instead of a view"
            )
    if any(r.alias_info is not None for r in op.parsed.returns):
        raise refuse(
            "a result aliases an argument, which torch.compile cannot trace in a custom operator",
            "results of their own; () where an argument is written to", "return () and let callers use the argument",
        )  # fmt: skip
    if op.mutated and len(op.parsed.returns):
        raise refuse(f"it writes to {', '.join(op.mutated)} and returns a result", "one of the two", "return ()")


def _check_signature(op: Operator, refuse: Callable[..., OphookError]) -> None:
    functions = {"cpu": op.cpu} | ({"fake": op.fake} if op.fake else {})
    for kind, function in functions.items():
        parameters = inspect.signature(function).parameters
        expected = [a.name for a in op.arguments]
        if list(parameters) != expected:
            raise refuse(f"{kind} takes ({', '.join(parameters)})", f"({', '.join(expected)}), as in the schema")
        for a in op.arguments:
            default = parameters[a.name].default
            has = default is not inspect.Parameter.empty
            if has != a.has_default_value() or (has and default != default_of(a)):
                given = repr(default) if has else "no default"
                wanted = repr(default_of(a)) if a.has_default_value() else "no default"
                raise refuse(f"{kind} has {given} for {a.name}", f"{wanted}, as in the schema")


def _check_ge(op: Operator, refuse: Callable[..., OphookError]) -> None:
    if op.ge is None:
        if op.attributes is not None:
            raise refuse("attributes without a GE operator type", "ge='SomeType' next to them")
        return
    if not _IDENTIFIER.match(op.ge):
        raise refuse(f"the GE operator type is {op.ge!r}", "an identifier such as AddCustom")
    for attribute, name in op.ge_attributes.items():
        if name in op.tensors or name not in [a.name for a in op.arguments]:
            raise refuse(f"GE attribute {attribute} comes from {name!r}", "an argument that is no tensor")
        kind = str(op.argument(name).real_type)
        if kind not in ATTRIBUTE_TYPES:
            raise refuse(
                f"GE attribute {attribute}: argument {name} is {written(kind)}",
                ", ".join(map(written, ATTRIBUTE_TYPES)), "give it a default instead of ?" if "Opt" in kind else None,
            )  # fmt: skip
    left = [a.name for a in op.arguments if a.name not in op.tensors and a.name not in op.ge_attributes.values()]
    if left:
        raise refuse(f"{', '.join(left)} reaches no GE attribute", "every argument that is no tensor in attributes")
