"""What the first phase of CANN itself takes, by product, as `first_phase` follows it: data types, formats, more than
eight dimensions, null pointers, which data types or formats must be the same and which data types can be converted.
There the check decides, whatever the page says.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from device_numbers import with_numbers
from first_phase import EVERY, EVERY_FORMAT, Sources, Taken, follow
from first_phase.definitions import as_defined
from first_phase.ends import flattens, idle
from first_phase.values import RANKS, format_of

from ophook_npu.sim.rules import DATA_TYPES, FORMATS, KINDS, PRIVATE_FORMATS, Function, Parameter, can_cast

TENSORS = ("aclTensor*", "aclTensorList*")
_TYPED = (*TENSORS, "aclScalar*", "aclDataType")
_FEW = 4  # of so many pointers that may be null each two are tried together
_FORMAT_OF_A_CLASS = re.compile(r"\bCheckFormat\s*\([^;{)]*\)\s*(?:const\s*)?override")
_OLDER = "Ascend310P"
_NEWER = ("FLOAT8", "FLOAT6", "FLOAT4", "HIFLOAT8")  # which Ascend950 has first
# What every result converts to; a float to whole numbers as well, but that no call of the simulator does yet.
_CONVERTED = tuple(name for kind in KINDS[2:] for name in kind if name != "COMPLEX32")
_MOST = frozenset(range(9))
_NULL, _INVALID = "ACLNN_ERR_PARAM_NULLPTR", "ACLNN_ERR_PARAM_INVALID"
_PUBLIC = EVERY_FORMAT - frozenset(PRIVATE_FORMATS)


@functools.cache
def _sources(tree: Path) -> Sources:
    return Sources(tree)


def _settled(sources: Sources, function: str, family: str) -> Taken | None:
    """What a first phase takes; followed again with what is left, because a comparison may come before the list."""
    taken = follow(sources, function, family)
    again = taken and taken.types and follow(sources, function, family, types=taken.types, formats=taken.formats)
    return again if again and again.types else None


class Followed:
    """One function's first phase on each product that has it and where it can be followed."""

    def __init__(self, tree: Path, function: Function) -> None:
        self.sources, self.function = _sources(tree), function
        callee = self.sources.find(f"{function.name}GetWorkspaceSize", None)
        self.own_name = dict(
            zip([one.name for one in function.parameters], [name for name, _ in callee.parameters][:-2], strict=False)
            if callee and len(callee.parameters) == len(function.parameters) + 2
            else ()
        )
        families = function.families if self.own_name else ()
        found = {family: _settled(self.sources, function.name, family) for family in families}
        self.taken = {family: taken for family, taken in found.items() if taken}
        text = callee.file.path.read_text(errors="replace") if callee else ""
        # A check that a class of several has, which is not followed: what it asks of formats is not known.
        self.by_class = bool(callee) and any(
            _FORMAT_OF_A_CLASS.search(path.read_text(errors="replace"))
            for path in sorted(callee.file.path.parent.glob("*.*"))
            if path.suffix in (".h", ".cpp")
        )
        self.by_rank = "FORMAT_NC" in text and "GetDimNum" in text
        self.wide = {family: follow(self.sources, function.name, family, whole=False) for family in self.taken}

    def flattens(self) -> bool:
        callee = self.sources.find(f"{self.function.name}GetWorkspaceSize", None)
        return bool(callee) and self.everywhere() and flattens(self.sources, callee, set())

    def converts_to(self, one: Parameter) -> bool:
        """Whether this output is what a cast makes, to whatever data type it has."""
        own = self.own_name[one.name]
        callee = self.sources.find(f"{self.function.name}GetWorkspaceSize", None)
        text = callee.file.path.read_text(errors="replace") if callee else ""
        return bool(re.search(rf"\bCast\([^;]*?\b{own}->GetDataType\(\)\s*,", text))

    def everywhere(self) -> bool:
        return bool(self.taken) and len(self.taken) == len(self.function.families)

    def types(self, one: Parameter, family: str) -> frozenset[str]:
        """Data types that the check may take: of an unclear one what the page has of them."""
        taken = self.taken[family]
        return taken.types.get(self.own_name[one.name], EVERY)

    def refuses(
        self,
        family: str,
        types: Mapping[str, frozenset[str]] | None = None,
        nulls: Mapping[str, frozenset[bool]] | None = None,
        formats: Mapping[str, frozenset[str]] | None = None,
        whole: bool = True,
    ) -> Taken | None:
        """The result where no way succeeds under these limits, else None."""
        every = {**self.taken[family].types, **(types or {})}
        taken = follow(self.sources, self.function.name, family, types=every, nulls=nulls, formats=formats, whole=whole)
        return taken if taken and not taken.types else None

    def one_by_one(self, one: Parameter, family: str, types: frozenset[str]) -> frozenset[str]:
        """Those that are taken alone: where others decide with it, what is joined on the way says less."""
        own = self.own_name[one.name]
        usual = sorted(types & {*(name for kind in KINDS for name in kind), *one.dtypes.get(family, ())})
        if not self.refuses(family, types={own: frozenset(("STRING",))}):
            return types
        return frozenset(name for name in usual if not self.refuses(family, types={own: frozenset((name,))}))

    def _never_null(self, *several: str) -> bool:
        nulls = dict.fromkeys(several, frozenset((True,)))
        return self.everywhere() and all(self.refuses(family, nulls=nulls) for family in self.taken)

    @functools.cached_property
    def needed(self) -> frozenset[str]:
        """The pointers of which none may be null."""
        pointers = [self.own_name[one.name] for one in self.function.parameters if one.kind.endswith("*")]
        return frozenset(name for name in pointers if self._never_null(name))

    def if_null(self, *several: Parameter) -> str:
        """The code on every product where all these are null; empty where that is taken somewhere."""
        null = [self.own_name[one.name] for one in several]
        if not (self.needed & {*null} if len(null) == 1 else self._never_null(*null)):
            return ""
        # What else is needed has its own code: the places that return one only where these are null are theirs.
        given = {name: frozenset((False,)) for name in self.needed}
        absent = given | dict.fromkeys(null, frozenset((True,)))
        own, codes = set(), set()
        for family, taken in self.taken.items():
            with_them, without = (
                follow(self.sources, self.function.name, family, types=taken.types, nulls=nulls)
                for nulls in (given, absent)
            )
            if with_them and without:
                own |= {code for _, code in without.returned - with_them.returned}
                codes |= without.codes
        return next((code for found in (own, codes) for code in (_NULL, _INVALID) if code in found), "")

    def always(
        self,
        one: Parameter,
        other: Parameter,
        agree: Callable[[str, str], bool],
        whole: bool = True,
        families: Iterable[str] = (),
    ) -> bool:
        """Whether the second's data types that do not agree with the first's are refused, and there are such."""
        if not self.everywhere():
            return False
        first, second = self.own_name[one.name], self.own_name[other.name]
        given = dict.fromkeys((first, second), frozenset((False,)))  # a comparison may wait for both to be there
        tried = 0
        for family in families or self.taken:
            for name in sorted(_usual(one, family, self.types(one, family))):
                others = {kind for kind in _usual(other, family, self.types(other, family)) if not agree(name, kind)}
                if not others:
                    continue
                tried += 1
                types = {first: frozenset((name,)), second: frozenset(others)}
                if not self.refuses(family, types=types, nulls=given, whole=whole):
                    return False
        # Of two that are never taken together nothing is told.
        return tried > 0 and not any(self.refuses(at, nulls=given, whole=whole) for at in families or self.taken)

    def formats(self, one: Parameter) -> dict[str, frozenset[str]]:
        """The formats that the check takes, by product; empty where that is unclear on one, or it must be null."""
        own = self.own_name.get(one.name, "")
        if not self.everywhere() or any(format_of(own) in taken.unclear for taken in self.taken.values()):
            return {}
        found = {family: taken.formats.get(own, EVERY_FORMAT) for family, taken in self.taken.items()}
        return found if all(found.values()) else {}

    def formats_of(self, one: Parameter, rank: int) -> dict[str, tuple[str, ...]]:
        """The formats of so many dimensions by product, where the check has fewer of them."""
        own = self.own_name[one.name]
        found = {}
        for family, taken in self.taken.items() if self.by_rank and self.everywhere() else ():
            if rank not in taken.ranks.get(own, frozenset()):
                continue
            ranked = follow(
                self.sources, self.function.name, family, types=taken.types, ranks={own: frozenset((rank,))}
            )
            formats = ranked.formats.get(own, EVERY_FORMAT) if ranked and ranked.types else EVERY_FORMAT
            if formats < taken.formats.get(own, EVERY_FORMAT):
                found[family] = tuple(name for name in FORMATS if name in formats)
        return found

    def unseen_if_empty(self, one: Parameter, same: str = "") -> tuple[str, ...]:
        """What of this parameter an empty tensor leaves unlooked at; ``same``: whose data type it must have else."""
        own = self.own_name[one.name]
        found = [
            column
            for column in ("types", "formats", "ranks")
            if any(
                wide is None or getattr(wide, column).get(own) != getattr(self.taken[family], column).get(own)
                for family, wide in self.wide.items()
            )
        ]
        other = next((other for other in self.function.parameters if other.name == same), None)
        if other and not self.always(other, one, lambda a, b: a == b, whole=False):
            found.append("same")
        return tuple("dtypes" if column == "types" else column for column in found)

    def one_format(self, one: Parameter, other: Parameter) -> bool:
        """Whether the second must have the first's format on each product."""
        left, right = self.formats(one), self.formats(other)
        own = self.own_name
        return bool(left and right) and all(
            self.refuses(
                family, formats={own[one.name]: frozenset((name,)), own[other.name]: right[family] - frozenset((name,))}
            )
            for family in left
            for name in sorted(left[family], key=FORMATS.index)
        )


def _usual(one: Parameter, family: str, types: frozenset[str]) -> frozenset[str]:
    """The types of a list; of one that lists none those that the page has, or that can be converted."""
    if "STRING" not in types:
        return types
    return types & frozenset(one.dtypes.get(family) or (kind for kind in EVERY if can_cast("BOOL", kind)))


def _same_types(followed: Followed) -> dict[str, str]:
    """By parameter: one before it whose data type it must have."""
    typed = [one for one in followed.function.parameters if one.kind in (*TENSORS, "aclDataType")]
    first = sorted(typed, key=lambda one: (not one.required, one.direction == "out"))
    return _before_it(first, lambda other, one: followed.always(other, one, lambda a, b: a == b))


def _before_it(several: list[Parameter], tied: Callable[[Parameter, Parameter], bool]) -> dict[str, str]:
    """By parameter: the first before it that it is tied to, and that is tied to none itself."""
    found: dict[str, str] = {}
    for place, one in enumerate(several):
        for other in several[:place]:
            if other.name not in found and tied(other, one):
                found[one.name] = other.name
                break
    return found


def _on_some(followed: Followed, same: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """By product and parameter: one before it whose data type it must have there, and not everywhere."""
    typed = [one for one in followed.function.parameters if one.kind == "aclTensor*" and one.name not in same]
    first = sorted(typed, key=lambda one: (not one.required, one.direction == "out"))
    found = {
        family: _before_it(
            first, lambda other, one, at=family: followed.always(other, one, lambda a, b: a == b, families=(at,))
        )
        for family in (followed.taken if len(followed.taken) > 1 else ())
    }
    return {family: names for family, names in found.items() if names}


def _same_shapes(followed: Followed, families: Iterable[str]) -> dict[str, str]:
    """By parameter: one before it whose shape it must have on these, whatever is empty or where nothing is."""
    typed = [one for one in followed.function.parameters if one.kind == "aclTensor*"]

    def tied(other: Parameter, one: Parameter) -> bool:
        if one.name in other.relations.get("shape", ()):
            return False  # the page says it the other way round
        pair = frozenset(followed.own_name[each.name] for each in (one, other))
        if not all(pair in followed.taken[family].shapes for family in families):
            return False
        wide = [followed.wide[family] for family in families]
        return all(one.related("idle", family) for family in families) or all(
            each and pair in each.shapes for each in wide
        )

    return _before_it(typed if followed.everywhere() else [], tied)


def _same_formats(followed: Followed) -> dict[str, str]:
    """By parameter: one before it whose format it must have, where that says more than their lists."""
    typed = [one for one in followed.function.parameters if one.kind == "aclTensor*"]
    found: dict[str, str] = {}
    for place, one in enumerate(typed):
        if all(len(formats) == 1 for formats in followed.formats(one).values()):
            continue
        for other in typed[:place]:
            if other.name not in found and followed.one_format(other, one):
                found[one.name] = other.name
                break
    return found


def _with_formats(followed: Followed, one: Parameter) -> tuple[Parameter, frozenset[str]]:
    """The parameter with the formats that the check takes, and what that changed."""
    taken = followed.formats(one)
    if not taken:
        return one, frozenset()
    if all(formats == EVERY_FORMAT for formats in taken.values()):
        if followed.by_class:
            return one, frozenset()
        return replace(one, relations={**one.relations, "any_format": ()}), frozenset()
    if all(formats == _PUBLIC for formats in taken.values()):
        public = {key: tuple(name for name in names if name in _PUBLIC) for key, names in one.formats.items()}
        return replace(one, formats={key: names for key, names in public.items() if names}), frozenset()
    limited = {family: formats for family, formats in taken.items() if formats != EVERY_FORMAT}
    lists = {family: tuple(name for name in FORMATS if name in formats) for family, formats in limited.items()}
    return replace(one, formats=lists), frozenset(("formats",))


def _casts(followed: Followed, one: Parameter, same: Mapping[str, str]) -> tuple[str, ...]:
    """The parameters whose data type must be one that converts to this output's."""
    if one.kind != "aclTensor*" or one.direction == "in" or one.name in same:
        return ()
    return tuple(
        other.name
        for other in followed.function.parameters
        if other is not one
        and other.kind in ("aclTensor*", "aclScalar*")
        and other.direction != "out"
        and followed.always(other, one, can_cast)
    )


def _listed(followed: Followed, one: Parameter, family: str, tied: bool = False) -> tuple[str, ...] | None:
    """The data types of one parameter on one product; None: as the page has them. ``tied``: to another's."""
    page = one.dtypes.get(family)
    if family not in followed.taken:
        return page
    check = followed.types(one, family)
    taken = followed.taken[family]
    asked = any(types != EVERY for types in taken.types.values())  # else there is no check that is read
    unclear = followed.own_name[one.name] in taken.unclear
    if check == EVERY and one.direction == "out" and asked and not unclear and not tied and page:
        new = [name for name in _CONVERTED if family != _OLDER or name != "BFLOAT16"]
        return tuple(dict.fromkeys((*page, *new))) if followed.converts_to(one) else page
    if check == EVERY:
        return page
    if one.kind != "aclScalar*" and ("STRING" in check or (unclear and not page)):
        check = followed.one_by_one(one, family, check)
        unclear = unclear and bool(page)
    if one.kind == "aclScalar*" and all(check & frozenset(kind) for kind in KINDS):
        return page  # of a scalar the kind is known, no more
    if "STRING" in check or unclear:
        return tuple(name for name in page if name in check) or page if page else None
    if family != "Ascend950":
        check = frozenset(name for name in check if name in (page or ()) or not name.startswith(_NEWER))
    order = [*(page or ()), *DATA_TYPES]
    return tuple(sorted(check, key=order.index)) or page


def with_idle(followed: Followed) -> Function:
    """The function with what ends its first phase before the shapes of its outputs are looked at."""
    function, own = followed.function, followed.own_name
    outputs = [one for one in function.parameters if one.direction == "out" and one.kind == "aclTensor*"]
    callee = followed.sources.find(f"{function.name}GetWorkspaceSize", None) if own else None
    if not callee or not outputs:
        return function
    inputs = frozenset(own[one.name] for one in function.parameters if one.direction == "in")
    found = {family: idle(followed.sources, callee, inputs, family) for family in function.families}
    named = {
        family: tuple(one.name for one in function.parameters if own[one.name] in names)
        for family, names in found.items()
    }
    if len(set(named.values())) == 1:
        named = {"": next(iter(named.values()))}
    relations = {f"idle:{family}".rstrip(":"): names for family, names in named.items() if names}
    return replace(
        function,
        parameters=tuple(
            replace(one, relations={**one.relations, **relations}) if one.kind == "aclTensor*" else one
            for one in function.parameters
        ),
    )


def with_older(tree: Path, function: Function) -> Function:
    """The function on the older product too, where its page says no and its check has other data types for it than for
    an Ascend910B: it was written for both, and torch_npu is published for both."""
    if _OLDER not in function.absent or "Ascend910B" not in function.families:
        return function
    older, newer = (_settled(_sources(tree), function.name, family) for family in (_OLDER, "Ascend910B"))
    # Where it takes all that an Ascend910B takes, no check is of it.
    if not older or not newer or not any(newer.types[name] - older.types[name] for name in newer.types):
        return function
    absent = tuple(family for family in function.absent if family != _OLDER)
    return replace(function, families=(*function.families, _OLDER), absent=absent)


def with_types(tree: Path, function: Function, family: str) -> Function:
    """The function with the data types of its check on one product, and nothing of how parameters hang together."""
    function = with_older(tree, function)
    if family not in function.families:
        return function
    followed = Followed(tree, replace(function, families=(family,)))
    parameters = [
        replace(one, dtypes={**one.dtypes, family: names})
        if one.kind in _TYPED and (names := _listed(followed, one, family))
        else one
        for one in function.parameters
    ]
    return replace(function, parameters=tuple(parameters))


def with_checks(tree: Path, function: Function) -> Function:
    """The function as its check has it, where that can be followed."""
    function = with_older(tree, function)
    if not _sources(tree).find(f"{function.name}GetWorkspaceSize", None):
        return as_defined(tree, function)
    followed = Followed(tree, function)
    function = followed.function = with_idle(followed)
    if not followed.taken:
        return function
    same, formats, shapes = _same_types(followed), _same_formats(followed), _same_shapes(followed, followed.taken)
    by_family = {
        "dtype": _on_some(followed, same),
        "shape": {at: _same_shapes(followed, (at,)) for at in followed.taken},
    }
    masked = any(one.kind == "aclBoolArray*" for one in function.parameters)
    parameters = []
    for one in function.parameters:
        told: set[str] = set()
        new = one
        # What is optional by its name may be null in calls that a check refuses for another reason, and an output that
        # a mask leaves out is asked for by no check.
        may_be_null = "ptional" in one.name or (one.direction == "out" and masked)
        code = followed.if_null(one) if one.kind.endswith("*") and not may_be_null else ""
        if code and not one.required:
            new = replace(new, required=True)
            told |= {"null"}
        if code == _INVALID:
            new = replace(new, relations={**new.relations, "null_is_invalid": ()})
        if one.kind in TENSORS:
            new, changed = _with_formats(followed, new)
            told |= changed
        relations = with_numbers(new, followed.own_name[one.name], followed.wide, function.families)
        if "values" in new.relations and {*new.relations["values"]} != {*relations.get("values", ())}:
            told |= {"values"}
        if one.kind in _TYPED:
            tied = one.name in same or bool(relations.get("dtype"))
            lists = {family: _listed(followed, one, family, tied) for family in function.families}
            dtypes = {family: names for family, names in lists.items() if names}
            if {key: set(value) for key, value in dtypes.items()} != {
                key: set(value) for key, value in one.dtypes.items() if key in function.families
            }:
                new = replace(new, dtypes=dtypes)
                told |= {"dtypes"}
            names = dict.fromkeys((*relations.pop("dtype", ()), *([same[one.name]] if one.name in same else [])))
            relations |= {"dtype": tuple(names)} if names else {}
        if one.kind in TENSORS:
            ranks = frozenset().union(*(taken.ranks[followed.own_name[one.name]] for taken in followed.taken.values()))
            if one.ranks and one.ranks[-1] == 8 and ranks == RANKS and followed.flattens():
                new = replace(new, ranks=None if one.ranks[0] == 0 else (*one.ranks, *range(9, len(RANKS))))
                told |= {"ranks"}
            # Of a list the check looks at one tensor, and others may have other ranks.
            if one.kind != "aclTensorList*" and followed.everywhere() and ranks and not ranks - _MOST:
                both = ranks & frozenset(one.ranks or _MOST) or ranks
                if tuple(sorted(both)) != one.ranks:
                    new = replace(new, ranks=tuple(sorted(both)))
                    told |= {"ranks"}
            if one.name in shapes:
                relations["shape"] = tuple(dict.fromkeys((*relations.get("shape", ()), shapes[one.name])))
            for key, on in by_family.items():
                for family, names in on.items():
                    if one.name in names and names[one.name] not in relations.get(key, ()):
                        relations[f"{key}:{family}"] = (names[one.name],)
            if one.name in formats:
                relations["format"] = (formats[one.name],)
            for rank in (3, 4, 5) if one.kind == "aclTensor*" else ():
                lists = followed.formats_of(one, rank)
                alike = len(lists) == len(function.families) and len(set(lists.values())) == 1
                for family, names in [("", next(iter(lists.values())))] if alike else lists.items():
                    relations[f"formats_of_{rank}:{family}".rstrip(":")] = names
            if free := followed.unseen_if_empty(one, same.get(one.name, "")):
                relations["free_if_empty"] = free
            if casts := _casts(followed, one, same):
                relations["cast"] = casts
        if told:
            relations["checked"] = tuple(sorted(told))
        if one.direction == "in" and not any(key.startswith("shape") for key in relations):
            relations = {key: names for key, names in relations.items() if not key.startswith("idle")}
        parameters.append(replace(new, relations=relations))
    return replace(function, parameters=tuple(parameters if masked else _with_either(followed, parameters)))


def _with_either(followed: Followed, parameters: list[Parameter]) -> list[Parameter]:
    """With pairs of which one must be given."""
    free = [one for one in parameters if one.kind.endswith("*") and not one.required and "either" not in one.relations]
    pairs: dict[str, str] = {}
    for place, one in enumerate(free if len(free) <= _FEW else ()):
        for other in free[:place]:
            if not {one.name, other.name} & {*pairs} and followed.if_null(one, other) == _NULL:
                pairs |= {one.name: other.name, other.name: one.name}
    return [
        replace(one, relations={**one.relations, "either": (pairs[one.name],)}) if one.name in pairs else one
        for one in parameters
    ]
