"""What the first phase of CANN itself takes of numbers, of how many an array has, and of sizes, as rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from first_phase import Taken

from ophook_npu.sim.rules import Parameter


def with_numbers(
    one: Parameter, own: str, taken: Mapping[str, Taken | None], families: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """The relations of a parameter, which the check calls ``own``, with what its check limits on each product."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for family, phase in taken.items():
        for name, left in (phase.numbers if phase and phase.types else {}).items():
            of, bracket, at = name.rstrip("]").partition("[")
            if of == own:
                lists = found.setdefault("sizes" if at else "length" if bracket else "values", {})
                spans = (f"{at}:{span}" if at else span for span in str(left).split(","))
                lists[family] = (*lists.get(family, ()), *spans)
    told: dict[str, tuple[str, ...]] = {}
    for key, lists in found.items():
        lists = {family: names for family in families if (names := lists.get(family, one.relations.get(key, ())))}
        alike = len(lists) == len(families) and len(set(lists.values())) == 1
        by_family = {f"{key}:{family}": names for family, names in lists.items()}
        told |= {key: next(iter(lists.values()))} if alike else by_family
    return told | {key: names for key, names in one.relations.items() if key not in found}
