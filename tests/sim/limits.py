"""What the rules allow of a number, of an array and of sizes: numbers within them, and next to them."""

import re
from collections.abc import Iterable, Iterator, Mapping

from ophook_npu.sim import rules


def within(spans: Iterable[str], number: float) -> bool:
    """Whether a number is one of those that `rules.Parameter` writes as ``4``, ``1..64``, ``>0..1`` or ``0..<1``."""
    for span in spans:
        low, dots, high = span.partition("..")
        if not dots:
            if number == float(low):
                return True
            continue
        above = not low or (number > float(low[1:]) if low[0] == ">" else number >= float(low))
        below = not high or (number < float(high[1:]) if high[0] == "<" else number <= float(high))
        if above and below:
            return True
    return False


def ends(spans: Iterable[str]) -> list[float]:
    return [float(end) for span in spans for end in re.findall(r"-?[\d.e-]*\d", span.replace("..", " "))]


def inside(spans: tuple[str, ...], usual: float = 1) -> float:
    """The usual number, or the nearest end that is allowed."""
    near = {end + step for end in ends(spans) for step in (0, 1, -1)}
    by_distance = sorted(near, key=lambda number: (abs(number - usual), -number))
    return next(number for number in (usual, *by_distance) if not spans or within(spans, number))


def beyond(spans: tuple[str, ...], kind: str = "") -> Iterator[float]:
    """Numbers next to those that are allowed."""
    tried = (0, 1) if kind == "bool" else sorted({end + step for end in ends(spans) for step in (-1, 0, 1)})
    yield from (number for number in tried if spans and not within(spans, number))


def places(one: rules.Parameter, family: str) -> dict[int, tuple[str, ...]]:
    """What sizes or members may be, by their places."""
    found: dict[int, tuple[str, ...]] = {}
    for item in one.related("sizes", family):
        at, _, span = item.partition(":")
        found[int(at)] = (*found.get(int(at), ()), span)
    return found


def allowed_members(one: rules.Parameter, family: str) -> list[int]:
    count = int(inside(one.related("length", family)))
    at = places(one, family)
    return [int(inside(at.get(place, ()))) for place in range(max(count, 1) if at else count)]


def allowed_sizes(function: rules.Function, family: str, ranks: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    at = {one.name: places(one, family) if one.kind == "aclTensor*" else {} for one in function.parameters}
    found = {name: tuple(int(inside(at[name].get(place, ()))) for place in range(rank)) for name, rank in ranks.items()}
    for _ in range(3):
        for one in function.parameters:
            for other in (*one.related("shape", family), *one.related("shape_of_broadcast", family)):
                if len(found[one.name]) == len(found[other]):
                    found[one.name] = found[other] = tuple(map(max, found[one.name], found[other]))
    return found


def outside(one: rules.Parameter, family: str) -> Iterator[str]:
    """Numbers, members of an array, or a text, that are not allowed."""
    values, length = one.related("values", family), one.related("length", family)
    if one.kind == "char*":
        yield from ["none of these"] if values else []
        return
    for number in beyond(values, one.kind):
        yield f"FLOAT({number})" if one.kind == "aclScalar*" else f"{number:.17g}"
    if one.kind not in ("aclIntArray*", "aclBoolArray*"):
        return
    usual = allowed_members(one, family)
    for count in beyond(length):
        if count >= 0:
            yield f"({','.join(map(str, (usual * (int(count) + 1))[: int(count)]))})"
    for place, spans in places(one, family).items():
        for member in beyond(spans) if place < len(usual) else ():
            yield f"({','.join(str(int(member)) if at == place else str(own) for at, own in enumerate(usual))})"
