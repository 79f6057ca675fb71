"""What an operator's definition lists of its ports. A first phase that is generated from one takes the combinations of
data types that stand in one column of these lists, and no others; it asks for each port that is not optional."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ophook_npu.sim.rules import DATA_TYPES, FAMILIES, Function, Parameter

_PRODUCTS = {family.lower(): family for family in FAMILIES}
ADDED = re.compile(r"\bOP_ADD\(\s*(\w+)")
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LIST = re.compile(r"\bstd::vector<\s*(?:ge::)?DataType\s*>\s+(\w+)\s*=?\s*\{([^{}]*)\}")
_FUNCTION = re.compile(
    r"^    (?:explicit |OpAICoreConfig )?(\w+)\([^;{}]*\)[^;{}]*\{(.*?)^    \}", re.DOTALL | re.MULTILINE
)
_PORT = re.compile(r'\b(\w+)(?:->|\.)(Input|Output)\("(\w+)"\)([^;]*);')
_TYPES = re.compile(r"\.DataType\(\s*(?:\{([^{}]*)\}|(\w+))\s*\)")
_CONFIG = re.compile(r'\.AddConfig\(\s*"(\w+)"\s*(?:,\s*(\w+)\s*)?\)')
_MADE = re.compile(r"\bOpAICoreConfig\s+(\w+)\s*=\s*(\w+)\(")
_NAMES = {"BF16": "BFLOAT16"}


@dataclass(frozen=True)
class Port:
    """One input or output on one product; no ``types``: they are no list of columns. ``compared``: the types of a call
    have to be one of the columns, which nobody asks of what is optional, or where kernels are found by other types."""

    name: str
    output: bool
    required: bool
    types: tuple[str, ...] = ()
    compared: bool = False


def _types(rest: str, lists: Mapping[str, str]) -> tuple[str, ...]:
    found = _TYPES.search(rest)
    text = (found[1] if found[1] is not None else lists.get(found[2], "")) if found else ""
    names = [_NAMES.get(name, name) for name in re.findall(r"\bDT_(\w+)", text)]
    return tuple(names) if all(name in DATA_TYPES for name in names) else ()


def _ports(body: str, owner: str, lists: Mapping[str, str]) -> dict[tuple[str, bool], Port]:
    found = {}
    for variable, kind, name, rest in _PORT.findall(body):
        if variable == owner:
            required, types = "ParamType(REQUIRED)" in rest, _types(rest, lists)
            compared = bool(types) and (required or "ParamType(DYNAMIC)" in rest) and "ForBinQuery" not in body
            port = Port(name, kind == "Output", required, types, compared)
            found[name, port.output] = port
    return found


@functools.cache
def definitions(tree: Path) -> Mapping[str, Mapping[str, tuple[Port, ...]]]:
    """By operator and product: the inputs, and behind them the outputs."""
    found: dict[str, dict[str, tuple[Port, ...]]] = {}
    for path in sorted(tree.rglob("*_def.cpp")):
        source = _COMMENTS.sub("", path.read_text(errors="replace"))
        added = ADDED.search(source)
        if not added or "experimental" in path.parts:
            continue
        functions = dict(_FUNCTION.findall(source))
        body = functions.get(added[1], "")
        shared = dict(_LIST.findall(source.partition("public:")[0]))
        base = _ports(body, "this", shared | dict(_LIST.findall(body)))
        made = dict(_MADE.findall(body))
        for version, config in _CONFIG.findall(body):
            # A helper that makes the configuration has one of its own, whatever its name is there.
            text = functions.get(made.get(config, ""), body if config not in made else None)
            if version not in _PRODUCTS or text is None:
                continue
            own = _MADE.search(text) or re.search(r"\bOpAICoreConfig\s+(\w+)\s*;", text)
            owner = config if config not in made else own[1] if own else ""
            ports = base | _ports(text, owner, shared | dict(_LIST.findall(text)))
            found.setdefault(added[1], {})[_PRODUCTS[version]] = tuple(
                sorted(ports.values(), key=lambda port: port.output)
            )
    return found


_TENSORS = ("aclTensor*", "aclTensorList*")
_GIVEN_AS_NUMBERS = ("aclScalar*", "aclScalarList*", "aclIntArray*", "aclFloatArray*", "aclBoolArray*")


def _by_parameter(function: Function, ports: tuple[Port, ...]) -> dict[str, Port]:
    """The ports in the order of the prototype, which has what is updated in place once; empty where that is unclear."""
    inputs = [port for port in ports if not port.output]
    updated = {port.name for port in inputs}
    outputs = [port for port in ports if port.output and port.name not in updated]
    for kinds in (_TENSORS, (*_TENSORS, *_GIVEN_AS_NUMBERS)):
        given = [one for one in function.parameters if one.kind in kinds]
        if len(given) == len(inputs) + len(outputs):
            return {one.name: port for one, port in zip(given, [*inputs, *outputs], strict=True)}
    return {}


def _one_type(one: list[Port], other: list[Port]) -> bool:
    """Whether both have one data type in each column, on every product, and more than one to choose from."""
    pairs = [(left.types, right.types) for left, right in zip(one, other, strict=False)]
    same = bool(pairs) and len(one) == len(other) and all(left == right and left for left, right in pairs)
    return same and any(len(set(left)) > 1 for left, _ in pairs)


def as_defined(tree: Path, function: Function) -> Function:
    """The function as the definition has it that its first phase is generated from: data types, those that go
    together, and what must be given."""
    defined = definitions(tree).get(function.name.removeprefix("aclnn"), {})
    found = {
        family: _by_parameter(function, defined.get(family, ())) for family in function.families if family in defined
    }
    if not found or not all(found.values()):
        return function
    ports = {
        one.name: [names[one.name] for names in found.values() if one.name in names] for one in function.parameters
    }
    first = sorted(
        function.parameters,
        key=lambda one: (not all(port.required for port in ports[one.name]), one.direction == "out"),
    )
    tied: dict[str, str] = {}
    for place, one in enumerate(first):
        before = (other.name for other in first[:place] if other.name not in tied and other.kind == one.kind)
        if same := next((other for other in before if _one_type(ports[other], ports[one.name])), ""):
            tied[one.name] = same
    columns = {
        family: _columns(
            {one.name: names[one.name] for one in function.parameters if one.name in names and one.kind in _TENSORS},
            tied,
        )
        for family, names in found.items()
        if not any(_of_the_host(one, family, names[one.name]) for one in function.parameters if one.name in names)
    }
    return replace(
        function,
        parameters=tuple(
            _as_port(
                one,
                dict(zip(found, ports[one.name], strict=True)),
                tied.get(one.name, ""),
                {family: lists[one.name] for family, lists in columns.items() if one.name in lists},
            )
            if len(ports[one.name]) == len(found) and one.kind in _TENSORS
            else one
            for one in function.parameters
        ),
    )


def _of_the_host(one: Parameter, family: str, port: Port) -> bool:
    """Whether the page lists DOUBLE besides: it means a kernel of the host as well."""
    return "DOUBLE" in one.dtypes.get(family, ()) and "DOUBLE" not in port.types


def _columns(ports: Mapping[str, Port], tied: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The data types, column by column, of the parameters that hang together in another way than two that are one."""
    free = {
        name: port.types
        for name, port in ports.items()
        if port.compared and len(set(port.types)) > 1 and not (name in tied and ports[tied[name]].compared)
    }
    if len({len(types) for types in free.values()}) != 1:
        return {}
    columns = sorted(set(zip(*free.values(), strict=True)))
    if len(columns) == math.prod(len(set(types)) for types in free.values()):
        return {}
    return dict(zip(free, zip(*columns, strict=True), strict=True))


def _as_port(one: Parameter, ports: Mapping[str, Port], same: str, columns: Mapping[str, tuple[str, ...]]) -> Parameter:
    """The parameter with what its port says."""
    required = one.required or ("ptional" not in one.name and all(port.required for port in ports.values()))
    lists = {}
    for family, port in ports.items():
        page = one.dtypes.get(family, ())
        kept = (
            page if _of_the_host(one, family, port) or not port.types else [name for name in page if name in port.types]
        )
        lists[family] = tuple(dict.fromkeys((*kept, *port.types)))
    dtypes = {family: names for family, names in {**one.dtypes, **lists}.items() if names}
    told = [*(["dtypes"] if dtypes != one.dtypes else []), *(["null"] if required != one.required else [])]
    relations = dict(one.relations)
    if same:
        relations["dtype"] = tuple(dict.fromkeys((*relations.get("dtype", ()), same)))
    if len(columns) == len(ports) and len(set(columns.values())) == 1:
        relations["columns"] = next(iter(columns.values()))
    else:
        relations |= {f"columns:{family}": types for family, types in columns.items()}
    if told:
        relations["checked"] = tuple(told)
    return replace(one, required=required, dtypes=dtypes, relations=relations)
