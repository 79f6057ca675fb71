"""Of many replaced operators, find the few that make a program go wrong."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ophook_npu.errors import OphookError
from ophook_npu.hooks import hook

Item = TypeVar("Item")


@dataclasses.dataclass
class Bisection:
    """What :func:`bisect` found.

    Attributes:
        guilty: the smallest set of operators with which alone the check fails; every one of them is needed for that.
        runs: how often the program ran.
    """

    guilty: list[str]
    runs: int

    def __str__(self) -> str:
        return f"guilty: {', '.join(self.guilty)} (found in {self.runs} runs)"


def bisect(
    program: Callable[[], Any],
    check: Callable[[Any], bool],
    replacements: Mapping[str, Callable[..., Any]],
    *,
    via: str = "auto",
    all_guilty: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Bisection:
    """Finds which replacements make ``program`` fail ``check``.

    Args:
        program: runs once and returns a result; it must do the same each time (seed it).
        check: whether the result is right.
        replacements: operator, as for :func:`ophook_npu.hook`, -> what runs instead. To suspect the operators of a
            device,
            let each replacement run the operator somewhere else and see which must not be moved back: see :func:`on`.
        via: hook mechanism.
        all_guilty: after one guilty set, go on without it until the rest is innocent; so independent culprits are
            all found.
        progress: is told each step, in words.

    Raises:
        OphookError: the check fails without any replacement, or passes with all.
    """
    runs = 0

    def wrong(names: Iterable[str]) -> bool:
        nonlocal runs
        runs += 1
        chosen = list(names)
        with contextlib.ExitStack() as stack:
            hooks = [hook(name, replace=replacements[name], via=via) for name in chosen]
            for one in hooks:
                stack.callback(one.remove)
                stack.enter_context(one)
            bad = not check(program())
        if progress is not None:
            progress(f"run {runs}: {len(chosen)} of {len(replacements)} replaced: {'wrong' if bad else 'right'}")
        return bad

    if wrong([]):
        raise OphookError(
            "bisect", "the check fails although nothing is replaced", todo="the fault is elsewhere, or random"
        )
    names = list(replacements)
    if not wrong(names):
        raise OphookError(
            "bisect",
            f"the check passes with all {len(names)} replacements",
            todo="check that the replaced operators are called",
        )
    guilty: list[str] = []
    while True:
        found = minimal([name for name in names if name not in guilty], wrong)
        guilty += found
        rest = [name for name in names if name not in guilty]
        if not all_guilty or not rest or not wrong(rest):
            return Bisection(guilty, runs)


def minimal(items: list[Item], wrong: Callable[[list[Item]], bool]) -> list[Item]:
    """A smallest part of ``items`` that is still ``wrong``: none of its members can be left out (delta debugging).

    ``wrong(items)`` must hold.
    """
    parts = 2
    while len(items) > 1:
        size = -(-len(items) // parts)
        chunks = [items[i : i + size] for i in range(0, len(items), size)]
        for index, chunk in enumerate(chunks):
            if wrong(chunk):
                items, parts = chunk, 2
                break
            others = [item for other in chunks[:index] + chunks[index + 1 :] for item in other]
            # With two parts the others are the next chunk, which is tried anyway.
            if len(chunks) > 2 and wrong(others):
                items, parts = others, max(parts - 1, 2)
                break
        else:
            if parts >= len(items):
                break
            parts = min(2 * parts, len(items))
    return items


def on(device: str, op: Any) -> Callable[..., Any]:
    """A replacement that runs ``op`` on ``device`` and brings the results back: for operators of an accelerator
    under suspicion.

    In-place operators copy what was written back into their arguments.
    """
    import torch
    from torch.utils import _pytree as pytree

    from ophook_npu.hooks import original
    from ophook_npu.observe._operators import written

    def elsewhere(*args: Any, **kwargs: Any) -> Any:
        run = original()
        given = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        home = given[0].device if given else torch.device("cpu")
        moved: dict[int, torch.Tensor] = {id(t): t.to(device) for t in given}
        far_args, far_kwargs = pytree.tree_map_only(torch.Tensor, lambda t: moved[id(t)], (args, kwargs))
        if "device" in far_kwargs:
            far_kwargs["device"] = torch.device(device)
        results = run(*far_args, **far_kwargs)
        if written(op):
            for tensor in given:
                tensor.copy_(moved[id(tensor)])
        back = {id(far): near for near in given for far in [moved[id(near)]]}
        return pytree.tree_map_only(torch.Tensor, lambda t: back[id(t)] if id(t) in back else t.to(home), results)

    return elsewhere
