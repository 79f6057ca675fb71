"""Calls that are generated from csrc/rules/shapes.txt: those that fit, and those with one size that does not."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from test_rules import Caller, accepted, caller, calls_of, made, told  # noqa: F401

from ophook_npu.sim import rules

FUNCTIONS = [function for function in rules.table().values() if function.shapes]
OTHERWISE = {"aclnnGroupNorm": {"HxW": "20"}}  # what else goes with the sizes


def tensors(function: rules.Function, pattern: str) -> Iterator[tuple[int, list[str]]]:
    """The place of each parameter that has a shape, with a name for each of its dimensions: two stand for many."""
    place = 0
    for part in re.split(r",|->", pattern):
        kinds = ("aclIntArray*",) if "[" in part else ("aclTensor*", "aclTensorList*")
        while function.parameters[place].kind not in kinds:
            place += 1
        names: list[str] = []
        for word in re.sub(r":\w+|[][?#]", "", part).split():
            many = {"*": word[1:], "1": "1"}.get(word[0]) if "*" in word else None
            names += [many] * 2 if many in ("1", "_") else [f"{many}.{i}" for i in (0, 1)] if many else [word]
        yield place, names
        place += 1


def call_that_fits(function: rules.Function, family: str, pattern: str) -> list[str]:
    sizes: dict[str, int] = {"_": 5}
    dtypes = [dtype for dtype, _ in accepted(function, family)]
    call = [OTHERWISE.get(function.name, {}).get(one.name, "") for one in function.parameters]
    parameters = [one.name for one in function.parameters]
    for place, names in tensors(function, pattern):
        for name in names:
            if name.startswith("="):
                sizes[name[1:]] = 1
                call[parameters.index(name[1:])] = "1"
            elif not name.isdigit():
                sizes.setdefault(name, len(sizes) + 1)
        call[place] = written(function, place, dtypes[place], of(names, sizes))
    return call


def of(names: list[str], sizes: dict[str, int]) -> list[int]:
    return [int(name) if name.isdigit() else sizes[name.lstrip("=")] for name in names]


def written(function: rules.Function, place: int, dtype: str, sizes: list[int]) -> str:
    tensor = told((dtype, tuple(sizes)))
    numbers = f"({','.join(map(str, sizes))})"
    return {"aclIntArray*": numbers, "aclTensorList*": f"{{{tensor}}}"}.get(function.parameters[place].kind, tensor)


def sizes_in(text: str) -> list[int]:
    return [int(size) for size in text.strip("{}()").rstrip("]").rpartition("[")[2].split(",") if size]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.name)
def test_a_call_fits_and_one_with_another_size_does_not(caller: Caller, function: rules.Function) -> None:  # noqa: F811
    family = function.families[0]
    before = caller.library.ophook_rules_family(rules.FAMILIES.index(family))
    tried = 0
    try:
        for pattern in function.shapes.split("|"):
            call = call_that_fits(function, family, pattern)
            code, message = caller(function, made(caller, function, family, call))
            generated = not code
            if code:  # where more must hold: of a call that is known to fit, the last dimensions
                known = [made(caller, function, family, one) for one in calls_of(function, family)]
                fits = [not caller(function, arguments)[0] for arguments in known]
                assert any(fits), (call, code, message)
                call = list(calls_of(function, family))[fits.index(True)]
            all_tensors = list(tensors(function, pattern))
            used = Counter(name for _, names in all_tensors for name in names)
            for place, names in all_tensors:
                for at in range(len(names))[0 if generated else -1 :]:
                    name, dtype = names[at], call[place].lstrip("{").partition("[")[0]
                    if call[place] == "null" or name == "_" or (used[name] == 1 and not re.match("[=0-9]", name)):
                        continue
                    sizes = sizes_in(call[place])
                    sizes[at if generated else -1] += 1
                    wrong = [*call[:place], written(function, place, dtype, sizes), *call[place + 1 :]]
                    code, message = caller(function, made(caller, function, family, wrong))
                    assert code in (function.shape_code, rules.INVALID), (wrong, code, message)
                    tried += 1
    finally:
        caller.library.ophook_rules_family(before)
    assert tried


def test_every_line_is_read_by_the_library_too(caller: Caller) -> None:  # noqa: F811
    """A line that only Python can read would be skipped: its function would take any shapes."""
    assert len(FUNCTIONS) > 20
    assert {one.name for one in FUNCTIONS} == {name for names, _ in rules.shapes(rules.SHAPES) for name in names}
