"""Of many replaced operators, find the few that make a program go wrong."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from ophook_npu.errors import OphookError
from ophook_npu.hooks import hook
from ophook_npu.plural import counted, every

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
        return f"guilty: {', '.join(self.guilty)} (found in {counted(self.runs, 'run')})"


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
            device rather than replacements: :func:`bisect_device`.
        via: hook mechanism.
        all_guilty: after one guilty set, go on without it until the rest is innocent; so independent culprits are
            all found.
        progress: is told each step, in words.

    Raises:
        OphookError: the check fails without any replacement, or passes with all.
    """

    def wrong(names: list[str]) -> bool:
        with replaced({name: replacements[name] for name in names}, via):
            return not check(program())

    return search(list(replacements), wrong, REPLACED, all_guilty=all_guilty, progress=progress)


def bisect_device(
    program: Callable[[], Any],
    check: Callable[[Any], bool],
    operators: Iterable[str] | None = None,
    *,
    device: str = "cpu",
    via: str = "auto",
    all_guilty: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Bisection:
    """Finds which operators go wrong where ``program`` runs them (on an NPU, say) and right on ``device``.

    Args:
        program, check, via, all_guilty, progress: as for :func:`bisect`.
        operators: the suspects; by default those that a run of ``program`` calls, without views, copies between
            devices, random operators and factories. One that ``device`` has no kernel for stays where it is, with a
            warning.

    Raises:
        OphookError: the check passes although nothing is moved, or fails with all suspects moved.
    """
    suspects = list(called(program) if operators is None else operators)

    def wrong(left: list[str]) -> bool:
        moved = {name: on(device, operator(name)) for name in suspects if name not in left}
        with replaced(moved, via):
            return not check(program())

    return search(suspects, wrong, MOVED, all_guilty=all_guilty, progress=progress)


@dataclasses.dataclass(frozen=True)
class Words:
    """How a search talks about its suspects: what one is, what is done to it, and what it means if none or all are at
    fault.
    """

    one: str
    done: str
    none: str
    none_todo: str
    all: str
    all_todo: str


REPLACED = Words(
    "replacement",
    "replaced",
    "the check fails although nothing is replaced",
    "the fault is elsewhere, or random",
    "the check passes with {}",
    "check that the replaced operators are called",
)
MOVED = Words(
    "operator",
    "left in place",
    "the check fails even with {} moved",
    "the fault is elsewhere, random, or in an operator that cannot be moved (a warning names those)",
    "the check passes although nothing is moved",
    "there is nothing to find here",
)


def search(
    names: list[str],
    wrong: Callable[[list[str]], bool],
    words: Words = REPLACED,
    *,
    all_guilty: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Bisection:
    """The search of :func:`bisect`, for any kind of trial.

    Args:
        names: the suspects.
        wrong: whether the program goes wrong if these of them can do harm, and the others cannot.

    Raises:
        OphookError: nobody is guilty, or the program goes wrong without them.
    """
    runs = 0
    known: dict[frozenset[str], bool] = {}

    def counted(chosen: list[str]) -> bool:
        nonlocal runs
        if frozenset(chosen) in known:
            return known[frozenset(chosen)]
        runs += 1
        bad = known[frozenset(chosen)] = wrong(chosen)
        if progress is not None:
            progress(f"run {runs}: {len(chosen)} of {len(names)} {words.done}: {'wrong' if bad else 'right'}")
        return bad

    if counted([]):
        raise OphookError("bisect", words.none.format(every(len(names), words.one)), todo=words.none_todo)
    if not names or not counted(names):
        raise OphookError("bisect", words.all.format(every(len(names), words.one)), todo=words.all_todo)
    guilty: list[str] = []
    while True:
        guilty += minimal([name for name in names if name not in guilty], counted)
        rest = [name for name in names if name not in guilty]
        if not all_guilty or not rest or not counted(rest):
            return Bisection(guilty, runs)


@contextlib.contextmanager
def replaced(replacements: Mapping[str, Callable[..., Any]], via: str = "auto") -> Iterator[None]:
    """All of ``replacements`` in place of their operators."""
    with contextlib.ExitStack() as stack:
        hooks = [hook(name, replace=function, via=via) for name, function in replacements.items()]
        for one in hooks:
            stack.callback(one.remove)
            stack.enter_context(one)
        yield


def operator(name: str) -> Any:
    """The overload of this full name."""
    from ophook_npu.hooks import targets

    return targets.resolve(name if "." in name else f"{name}.default").ops[0]


def called(program: Callable[[], Any]) -> list[str]:
    """The operators that a run of ``program`` calls and that could be run elsewhere."""
    from ophook_npu.observe.stats import Stats

    with Stats() as stats:
        program()
    return [name for name in stats.by_operator if can_move(operator(name))]


def can_move(op: Any) -> bool:
    """Whether a call of ``op`` means the same on another device."""
    from ophook_npu.observe._operators import is_random, leaves_memory_unwritten, only_moves, takes_random_state

    takes = any("Tensor" in str(argument.type) for argument in op._schema.arguments)
    between_devices = op._schema.name.split("::")[1] in ("_to_copy", "copy_", "_copy_from", "_local_scalar_dense")
    random = is_random(op) or takes_random_state(op)
    stays = op.is_view or only_moves(op) or random or leaves_memory_unwritten(op)
    return takes and not between_devices and not stays


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

    In-place operators copy what was written back into their arguments. Where ``device`` has no kernel, the operator
    runs at home, and a warning says that this does not clear it.
    """
    import warnings

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
        try:
            results = run(*far_args, **far_kwargs)
        except NotImplementedError:
            warnings.warn(
                f"[bisect] {op} has no kernel on {device} for these arguments: it stays where it is, guilty or not",
                stacklevel=2,
            )
            return run(*args, **kwargs)
        if written(op):
            for tensor in given:
                tensor.copy_(moved[id(tensor)])
        back = {id(far): near for near in given for far in [moved[id(near)]]}
        return pytree.tree_map_only(torch.Tensor, lambda t: back[id(t)] if id(t) in back else t.to(home), results)

    return elsewhere
