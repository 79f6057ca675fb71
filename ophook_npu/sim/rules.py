"""What each aclnn function accepts on each product, as CANN's published pages say it: data, not code.

The tables are in ``csrc/rules/*.rules``: text, one function a block, one parameter a line, columns separated by tabs::

    aclnnAdd    ops-math/math/add/docs/aclnnAdd&aclnnInplaceAdd.md    Ascend910B Ascend910_93 Ascend950
            out    aclTensor*  out  required    FLOAT FLOAT16 …  ND  0-8  shape_of_broadcast=self,other

A column with ``-`` says nothing: such a rule refuses nothing. Where products differ, the column names them:
``Ascend950:FLOAT FLOAT16|*:FLOAT`` (``*``: the others). ``scripts/device_rules.py`` writes the files from the pages.
``by_hand.rules`` corrects them, each function after a comment with the reason: a column with ``=`` is as on the page,
and a function with the name of its page in place of a ``=`` is there whole. ``shapes=561002`` behind a function's
families: its page gives this code to wrong shapes, and 161002 to data types only; ``invalid=561002``: also to these.
``shapes.txt`` says how the shapes of a function's tensors relate, in the patterns of ``csrc/kernels/pattern.h``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ophook_npu.errors import OphookError

FAMILIES = ("Ascend910B", "Ascend910_93", "Ascend950", "Ascend310P", "Ascend310B")
"""The product families that the tables distinguish. A SoC belongs to the one whose name it starts with."""
INFERENCE_ONLY = ("Ascend310P", "Ascend310B")
"""Those that nobody trains on, of which `port` speaks only where one of them is simulated."""

DATA_TYPES = (
    "FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE", "INT4", "INT8", "INT16", "INT32", "INT64", "UINT1", "UINT8", "UINT16",
    "UINT32", "UINT64", "BOOL", "STRING", "COMPLEX32", "COMPLEX64", "COMPLEX128", "HIFLOAT8", "FLOAT8_E5M2",
    "FLOAT8_E4M3FN", "FLOAT8_E8M0", "FLOAT6_E3M2", "FLOAT6_E2M3", "FLOAT4_E2M1", "FLOAT4_E1M2",
)  # fmt: skip
"""The names of ``aclDataType`` without their prefix, with CANN's BFLOAT16 for ACL_BF16."""

FORMATS = (
    "ND", "NCHW", "NHWC", "HWCN", "NCDHW", "NDHWC", "NCL", "NC1HWC0", "NDC1HWC0", "FRACTAL_Z", "FRACTAL_NZ",
    "FRACTAL_NZ_C0_16", "FRACTAL_NZ_C0_32", "FRACTAL_NZ_C0_2", "FRACTAL_NZ_C0_4", "FRACTAL_NZ_C0_8",
)  # fmt: skip
"""The names of ``aclFormat`` without their prefix."""

PRIVATE_FORMATS = FORMATS[FORMATS.index("NC1HWC0") :]
"""Those that lay the elements out in blocks."""

KINDS = (
    ("BOOL",),
    ("INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64"),
    ("FLOAT16", "FLOAT", "DOUBLE", "BFLOAT16"),
    ("COMPLEX32", "COMPLEX64", "COMPLEX128"),
)
"""The data types that CANN converts by itself: each kind to itself and to those behind it."""


def can_cast(one: str, other: str) -> bool:
    """Whether CANN converts a result of one data type into an output of another, by its page on conversion."""
    level = [next((place for place, kind in enumerate(KINDS) if name in kind), -1) for name in (one, other)]
    return one == other or (-1 not in level and level[0] <= level[1])


INVALID, TILING = 161002, 561002
"""The code of wrong arguments, and of those that only the operator's tiling function finds, in the first phase too."""

FOLDER = Path(__file__).resolve().parent.parent / "csrc" / "rules"
BY_HAND = FOLDER / "by_hand.rules"
SHAPES = FOLDER / "shapes.txt"


@dataclass(frozen=True)
class Parameter:
    """One parameter of the first phase.

    ``kind`` is its C type without ``const`` (``aclTensor*``); ``direction`` is ``in``, ``out`` or ``inout``.
    ``required``: a null pointer is refused with 161001. ``dtypes`` and ``formats`` are by family, in CANN's names; a
    family that is missing is not limited. ``ranks`` are the numbers of dimensions that are allowed, None for any.
    ``relations`` tie it to other parameters by name: ``dtype`` and ``shape`` (the same as), ``shape_of_broadcast``
    (has the broadcast shape of the two), ``either`` (one of the two must be given: 161001), ``cast`` (what is
    computed in the data type of these can be converted to this one's, `can_cast`), ``format`` (has the format of
    these), ``idle`` (where one of these is empty, the first phase succeeds before it compares shapes).
    ``dtype:Ascend910B`` is so on that family alone (`related` gives both). ``checked`` names the columns (``dtypes``,
    ``null``, ``ranks``, ``formats``, ``values``) in which CANN's own check says otherwise than the page, and decides;
    without it a list of formats refuses private ones only. ``formats_of_5`` lists the formats of a tensor of five
    dimensions, where they are fewer, and ``formats_of_5:Ascend950`` those on that family; ``formats_of_INT8`` those
    of a data type. ``free_if_empty`` names what is not looked at where a tensor that has this relation is empty:
    ``dtypes``, ``formats``, ``ranks``, ``same`` (relations of data types). ``asked`` names the flag without which
    nobody looks at an output, and with which it is needed. ``columns`` are the data types, in order, that stand with
    those of other parameters at the same place: those of a call, of a list its first tensor's, have to be of one
    place. Four name nothing: ``any_format`` (no check looks at it, private ones are taken), ``contiguous`` (no view
    with other strides), ``null_is_invalid`` (its check answers null with 161002) and ``tiled`` (its storage is in
    tiles of FRACTAL_NZ, whatever its format). ``values`` are all that a number or a text may be: numbers as ``2``, or
    ``1..64``, ``1..``, ``>0..1`` (more than 0, 1 at most) and ``0..<1``. ``length`` says so of how many an array has,
    and ``sizes`` of the sizes of a tensor or the numbers of an array: ``1:4,2:1..`` is four at 1, and at 2 one at
    least. All three may be by family, ``values:Ascend950``.
    """

    name: str
    kind: str
    direction: str = "in"
    required: bool = False
    dtypes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    formats: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ranks: tuple[int, ...] | None = None
    relations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def related(self, key: str, family: str) -> tuple[str, ...]:
        """The parameters that it is tied to in this way on a family."""
        return (*self.relations.get(key, ()), *self.relations.get(f"{key}:{family}", ()))


@dataclass(frozen=True)
class Function:
    """A function and the page that its rules were read from (``repository/path``).

    ``families`` have it, ``absent`` are those that the page says have it not; of others the page says nothing.
    ``shape_code`` is the first phase's answer to a wrong shape or number of dimensions that no check of CANN's
    compares, ``invalid_code`` to whatever else is wrong, but for null pointers. ``shapes`` is a pattern of its
    tensors, in the order of the parameters, or several with ``|`` between: one of them has to fit.
    """

    name: str
    page: str
    families: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    absent: tuple[str, ...] = ()
    shape_code: int = INVALID
    invalid_code: int = INVALID
    shapes: str = ""


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


_CODES = {"shapes": "shape_code", "invalid": "invalid_code"}


def _codes(function: Function) -> str:
    told = {key: getattr(function, name) for key, name in _CODES.items()}
    return " ".join(f"{key}={code}" for key, code in told.items() if code != INVALID)


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
                    *([codes] if (codes := _codes(function)) else []),
                ]
            )
        )
        for one in function.parameters:
            dtypes, formats = (_by_family(values, function.families) for values in (one.dtypes, one.formats))
            columns = [
                "", one.name, one.kind, one.direction, "required" if one.required else "-", dtypes, formats,
                _ranks(one.ranks),
                " ".join(f"{key}={','.join(names)}" if names else key for key, names in one.relations.items()) or "-",
            ]  # fmt: skip
            lines.append("\t".join(columns))
    return "\n".join(lines) + "\n"


def read(path: Path, known: Mapping[str, Function] | None = None) -> Iterator[Function]:
    """The functions of one table; those that it corrects are in ``known``.

    Raises:
        OphookError: a line has not the form that the module's description gives.
    """
    function: Function | None = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        columns = line.split("\t")
        try:
            if columns[0]:
                if function:
                    yield function
                function = _head(columns, (known or {}).get(columns[0]))
            else:
                assert function is not None
                function = _with(function, columns)
        except (ValueError, AssertionError, KeyError) as error:
            raise OphookError("rules", f"{path.name}, line {number} cannot be read: {line!r} ({error})") from error
    if function:
        yield function


def _head(columns: list[str], page: Function | None) -> Function:
    name, where, families, *codes = columns
    told: dict[str, Any] = {
        _CODES[key]: int(code) for key, code in (word.split("=") for word in " ".join(codes).split())
    }
    if where == "=":
        assert page is not None, "no page has it"
        assert families == "="
        return replace(page, **told)
    have = tuple(family for family in families.split() if family in FAMILIES)
    absent = tuple(family[1:] for family in families.split() if family.startswith("!"))
    return Function(name, where, have, (), absent, **told)


def _with(function: Function, columns: list[str]) -> Function:
    """The function with one more parameter, or with one corrected."""
    places = [place for place, one in enumerate(function.parameters) if one.name == columns[1]]
    page = function.parameters[places[0]] if places else None
    one = _parameter(columns, function.families, page)
    if not places:
        return replace(function, parameters=(*function.parameters, one))
    return replace(function, parameters=tuple(one if other is page else other for other in function.parameters))


def _parameter(columns: list[str], families: tuple[str, ...], page: Parameter | None) -> Parameter:
    _, name, kind, direction, required, dtypes, formats, ranks, relations = columns
    read: dict[str, tuple[str, Callable[[], Any]]] = {
        "kind": (kind, lambda: kind),
        "direction": (direction, lambda: direction),
        "required": (required, lambda: required == "required"),
        "dtypes": (dtypes, lambda: _from_column(dtypes, families)),
        "formats": (formats, lambda: _from_column(formats, families)),
        "ranks": (ranks, lambda: _from_ranks(ranks)),
        "relations": (relations, lambda: _from_relations(relations)),
    }
    told = {field: value() for field, (column, value) in read.items() if column != "="}
    if page is None:
        assert len(told) == len(read), f"no page has {name}"
        return Parameter(name=name, **told)
    return replace(page, **told)


def _from_relations(column: str) -> dict[str, tuple[str, ...]]:
    pairs = (item.partition("=") for item in column.split()) if column != "-" else ()
    return {key: tuple(names.split(",")) if names else () for key, _, names in pairs}


@functools.cache
def table() -> Mapping[str, Function]:
    """Every documented function by name, corrected by hand."""
    found: dict[str, Function] = {}
    for path in sorted(FOLDER.glob("*.rules"), key=lambda one: (one == BY_HAND, one.name)):
        found.update([(function.name, function) for function in read(path, found)])
    for names, text in shapes(SHAPES):
        found.update({name: replace(found[name], shapes=text) for name in names})
    return found


def shapes(path: Path) -> Iterator[tuple[list[str], str]]:
    """The lines of a file of shapes: the functions, and how the shapes of their tensors relate."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        names, tab, text = line.partition("\t")
        if line.startswith("#"):
            continue
        if not (tab and text and names):
            raise OphookError("rules", f"{path.name}, line {number} cannot be read: {line!r}")
        yield names.split(), text


def sources() -> list[str]:
    """Where the tables come from: repository and commit."""
    lines = (path.read_text().partition("\n")[0] for path in sorted(FOLDER.glob("*.rules")) if path != BY_HAND)
    return [line.removeprefix("# ") for line in lines]


def family(soc: str) -> str:
    """The product family of a SoC, in whatever letters: OpDefs name it ``ascend910b``.

    Raises:
        OphookError: no table distinguishes it.
    """
    found = [name for name in FAMILIES if soc.lower().startswith(name.lower())]
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
        "shapes": function.shapes,
        "codes": {"null": 161001, "shape": function.shape_code, "otherwise": function.invalid_code},
        "parameters": [
            {
                "name": one.name,
                "type": one.kind,
                "direction": one.direction,
                "required": one.required,
                "dtypes": {name: list(one.dtypes[name]) for name in families if name in one.dtypes},
                "formats": {name: list(one.formats[name]) for name in families if name in one.formats},
                "ranks": None if one.ranks is None else list(one.ranks),
                "relations": {key: list(names) for key, names in one.relations.items()},
            }
            for one in function.parameters
        ],
    }
