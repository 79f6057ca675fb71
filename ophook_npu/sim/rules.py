"""What each aclnn function accepts on each product, as CANN's published pages say it: data, not code.

The tables are in ``csrc/rules/*.rules``: text, one function a block, one parameter a line, columns separated by tabs::

    aclnnAdd    ops-math/math/add/docs/aclnnAdd&aclnnInplaceAdd.md    Ascend910B Ascend910_93 Ascend950
            self    aclTensor*  in  required    FLOAT FLOAT16 …  ND  0-8  strided  broadcasts=other promotes=other

A column with ``-`` says nothing: such a rule refuses nothing. Where products differ, the column names them:
``Ascend950:FLOAT FLOAT16|*:FLOAT`` (``*``: the others). ``scripts/device_rules.py`` writes the files from the pages;
``by_hand.rules`` has what pages say only in words, in the same form, and replaces the function's block as a whole.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ophook_npu.errors import OphookError

FAMILIES = ("Ascend910B", "Ascend910_93", "Ascend950")
"""The product families that the tables distinguish. A SoC belongs to the one whose name it starts with."""

DATA_TYPES = (
    "FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE", "INT4", "INT8", "INT16", "INT32", "INT64", "UINT1", "UINT8", "UINT16",
    "UINT32", "UINT64", "BOOL", "STRING", "COMPLEX32", "COMPLEX64", "COMPLEX128", "HIFLOAT8", "FLOAT8_E5M2",
    "FLOAT8_E4M3FN", "FLOAT8_E8M0", "FLOAT6_E3M2", "FLOAT6_E2M3", "FLOAT4_E2M1", "FLOAT4_E1M2",
)  # fmt: skip
"""The names of ``aclDataType`` without their prefix, with CANN's BFLOAT16 for ACL_BF16."""

FOLDER = Path(__file__).resolve().parent.parent / "csrc" / "rules"


@dataclass(frozen=True)
class Parameter:
    """One parameter of the first phase.

    ``kind`` is its C type without ``const`` (``aclTensor*``); ``direction`` is ``in``, ``out`` or ``inout``.
    ``required``: a null pointer is refused with 161001. ``dtypes`` and ``formats`` are by family, in CANN's names; a
    family that is missing is not limited. ``ranks`` are the numbers of dimensions that are allowed, None for any.
    ``strided`` says whether the tensor may be non-contiguous, None where the page does not say. ``relations`` tie it to
    other parameters by name: ``dtype`` and ``shape`` (the same as), ``promotes`` and ``broadcasts`` (with),
    ``from_promotion`` (what the two promote to can be cast to it) and ``shape_of_broadcast`` (has the broadcast shape
    of the two).
    """

    name: str
    kind: str
    direction: str = "in"
    required: bool = False
    dtypes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    formats: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ranks: tuple[int, ...] | None = None
    strided: bool | None = None
    relations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Function:
    """A function and the page that its rules were read from (``repository/path``).

    ``families`` have it, ``absent`` are those that the page says have it not; of others the page says nothing.
    """

    name: str
    page: str
    families: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    absent: tuple[str, ...] = ()


def _by_family(values: Mapping[str, tuple[str, ...]], families: tuple[str, ...]) -> str:
    if not values:
        return "-"
    lists = {family: " ".join(values[family]) if family in values else "-" for family in families}
    if len(set(lists.values())) == 1:
        return next(iter(lists.values()))
    common = max(lists.values(), key=lambda one: sum(other == one for other in lists.values()))
    special = [f"{family}:{words}" for family, words in lists.items() if words != common]
    return "|".join([*special, f"*:{common}"])


def _from_column(column: str, families: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    rest = "-"
    for part in column.split("|"):
        family, colon, words = part.partition(":")
        if not colon:
            rest = part
        elif family == "*":
            rest = words
        elif words != "-":
            found[family] = tuple(words.split())
        else:
            found[family] = ()
    for family in families:
        found.setdefault(family, () if rest == "-" else tuple(rest.split()))
    return {family: words for family, words in found.items() if words}


def _ranks(ranks: tuple[int, ...] | None) -> str:
    if ranks is None:
        return "-"
    if len(ranks) > 2 and ranks == tuple(range(ranks[0], ranks[-1] + 1)):
        return f"{ranks[0]}-{ranks[-1]}"
    return " ".join(map(str, ranks))


def _from_ranks(column: str) -> tuple[int, ...] | None:
    if column == "-":
        return None
    first, dash, last = column.partition("-")
    return tuple(range(int(first), int(last) + 1)) if dash else tuple(map(int, column.split()))


def write(functions: Iterable[Function], source: str) -> str:
    """The text of a table; `read` gives the functions back."""
    lines = [f"# {source}"]
    for function in sorted(functions, key=lambda one: one.name):
        lines.append(
            "\t".join(
                [
                    function.name,
                    function.page,
                    " ".join([*function.families, *(f"!{name}" for name in function.absent)]) or "-",
                ]
            )
        )
        for one in function.parameters:
            dtypes, formats = (_by_family(values, function.families) for values in (one.dtypes, one.formats))
            columns = [
                "", one.name, one.kind, one.direction, "required" if one.required else "-", dtypes, formats,
                _ranks(one.ranks),
                {True: "strided", False: "contiguous", None: "-"}[one.strided],
                " ".join(f"{key}={','.join(names)}" for key, names in one.relations.items()) or "-",
            ]  # fmt: skip
            lines.append("\t".join(columns))
    return "\n".join(lines) + "\n"


def read(path: Path) -> Iterator[Function]:
    """The functions of one table.

    Raises:
        OphookError: a line has not the form that the module's description gives.
    """
    head: list[str] | None = None
    parameters: list[Parameter] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        columns = line.split("\t")
        try:
            if columns[0]:
                if head:
                    yield _function(head, parameters)
                head, parameters = columns, []
                _, _, _ = columns
            else:
                assert head is not None
                parameters.append(_parameter(columns, _families(head)))
        except (ValueError, AssertionError, KeyError) as error:
            raise OphookError("rules", f"{path.name}, line {number} cannot be read: {line!r} ({error})") from error
    if head:
        yield _function(head, parameters)


def _families(head: list[str]) -> tuple[str, ...]:
    return tuple(name for name in head[2].split() if name in FAMILIES)


def _function(head: list[str], parameters: list[Parameter]) -> Function:
    absent = tuple(name[1:] for name in head[2].split() if name.startswith("!"))
    return Function(head[0], head[1], _families(head), tuple(parameters), absent)


def _parameter(columns: list[str], families: tuple[str, ...]) -> Parameter:
    _, name, kind, direction, required, dtypes, formats, ranks, strided, relations = columns
    pairs = (item.split("=") for item in relations.split()) if relations != "-" else ()
    return Parameter(
        name, kind, direction, required == "required", _from_column(dtypes, families), _from_column(formats, families),
        _from_ranks(ranks), {"strided": True, "contiguous": False, "-": None}[strided],
        {key: tuple(names.split(",")) for key, names in pairs},
    )  # fmt: skip


@functools.cache
def table() -> Mapping[str, Function]:
    """Every documented function by name; what was added by hand comes last and wins."""
    found: dict[str, Function] = {}
    for path in sorted(FOLDER.glob("*.rules"), key=lambda one: (one.stem == "by_hand", one.name)):
        found.update((function.name, function) for function in read(path))
    return found


def sources() -> list[str]:
    """Where the tables come from: repository and commit."""
    lines = (path.open().readline().strip() for path in sorted(FOLDER.glob("*.rules")))
    return [line.removeprefix("# ") for line in lines]


def family(soc: str) -> str:
    """The product family of a SoC.

    Raises:
        OphookError: no table distinguishes it.
    """
    found = [name for name in FAMILIES if soc.startswith(name)]
    if not found:
        raise OphookError("rules", f"no rules for {soc}", allowed=", ".join(FAMILIES))
    return found[0]


def ranks_text(ranks: tuple[int, ...] | None) -> str:
    """Numbers of dimensions as a table has them: ``0-8``, ``1 3``, ``-`` for any."""
    return _ranks(ranks)


def as_json(function: Function, families: Iterable[str] = FAMILIES) -> dict[str, object]:
    """The rules as plain JSON values."""
    families = tuple(families)
    return {
        "function": function.name,
        "page": function.page,
        "families": [name for name in families if name in function.families],
        "absent": [name for name in families if name in function.absent],
        "parameters": [
            {
                "name": one.name,
                "type": one.kind,
                "direction": one.direction,
                "required": one.required,
                "dtypes": {name: list(one.dtypes[name]) for name in families if name in one.dtypes},
                "formats": {name: list(one.formats[name]) for name in families if name in one.formats},
                "ranks": None if one.ranks is None else list(one.ranks),
                "strided": one.strided,
                "relations": {key: list(names) for key, names in one.relations.items()},
            }
            for one in function.parameters
        ],
    }
