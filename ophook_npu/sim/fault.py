"""Faults on demand: what a user writes, read into what the simulator's core takes (csrc/core/fault.h).

One order is ``PLACE[@WHEN]=FAULT``: ``aclnnAdd@3=507015``, ``malloc@p=0.01=oom``, ``HcclAllReduce@rank1:5=kill``.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ophook_npu.errors import OphookError

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle

VARIABLE = "OPHOOK_SIM_FAULTS"
LOG = "OPHOOK_SIM_FAULT_LOG"
"""The variable with a file to which each fault that is made is appended as a JSON line."""

GRAMMAR = """\
PLACE[@WHEN[,WHEN]...]=FAULT

PLACE   aclnnAdd or a glob (aclnnForeach*) · task: any task of a stream · kernel:NAME · copy · malloc · stream · disk ·
        HcclAllReduce, Hccl* · link: messages between two ranks · version:cann, version:driver
WHEN    3: the third time · 3+: from then on · 3-5 · every=10 · p=0.01 · seed=7 · times=2 · after=2.5s ·
        step=5, step=5+, step=5-7: of the optimizer ·
        rank1, rank1:3 · rank0-1 (link: what rank 0 sends to rank 1) · device0 · restart=1, restart=any (torchrun's)
FAULT   a code: 507xxx fails the task, others are what the call returns; call:CODE and task:CODE say which ·
        hang · slow:4 (times as long) · flip, flip:BIT (of the result) · uce, uce:ADDRESS, ecc · oom · lost (device) ·
        full (disk) · kill, stop (process) · down, drop, double, delay:200ms (link) · a version (version:…)"""

_PHASE1 = "GetWorkspaceSize"
# Codes that an aclnn function answers in its first phase.
_FIRST_PHASE = range(161000, 162000), range(361000, 362000), range(561000, 562000)
_MESSAGES = {"down": "no_link", "drop": "drop", "double": "twice", "delay": "delay"}
_TASKS = {"hang": "hang", "slow": "slow", "flip": "flip", "uce": "memory", "ecc": "memory", "lost": "lost"}
_PROCESS = ("kill", "stop")
_NAME = re.compile(r"[A-Za-z_][\w*?\[\]:.-]*")


@dataclass(frozen=True)
class Order:
    """One fault that was ordered. ``fields`` is what the core reads."""

    text: str
    fields: dict[str, str] = field(default_factory=dict)

    def line(self) -> str:
        return "\t".join(f"{key}\t{value}" for key, value in (*self.fields.items(), ("text", self.text)))


def _wrong(text: str, at: int, what: str) -> OphookError:
    return OphookError("fault", f"{what}\n  {text}\n  {' ' * max(at, 0)}^", allowed="\n" + GRAMMAR)


def parse(text: str, seed: int | None = None) -> Order:
    """The order that ``text`` is.

    Args:
        seed: of the order's chance, where it says none itself.

    Raises:
        OphookError: it is none; the message shows where, and the grammar.
    """
    if "\t" in text or "\n" in text:
        raise _wrong(text.replace("\t", " ").replace("\n", " "), 0, "an order is one line, without tabs")
    which, equals, what = text.rpartition("=")
    # "p=0.01" at the end is a condition, and no fault.
    if not equals or re.search(r"(?:^|[@,])(p|seed|every|times|after|restart|step)$", which):
        raise _wrong(text, len(text), "which fault? there is no =FAULT at the end")
    place, at_sign, when = which.partition("@")
    fields: dict[str, str] = {}
    if seed is not None:
        fields["seed"] = str(seed)
    if at_sign:
        _conditions(text, len(place) + 1, when, fields)
    place = place.strip()
    if not _NAME.fullmatch(place.removeprefix("launch of kernel ")):
        raise _wrong(text, 0, f"{place!r} is no place")
    _fault(text, len(which) + 1, place, what.strip(), fields)
    if fields["kind"] in _MESSAGES.values():
        pass
    elif "peer" in fields:
        raise _wrong(text, len(place) + 1, "two ranks are for what happens to messages: down, drop, double, delay")
    return Order(text, fields)


def _conditions(text: str, at: int, when: str, fields: dict[str, str]) -> None:
    if not when:
        raise _wrong(text, at, "when? nothing stands behind the @")
    for word in when.split(","):
        _condition(text, at, word.strip(), fields)
        at += len(word) + 1


def _condition(text: str, at: int, word: str, fields: dict[str, str]) -> None:
    def put(**values: str) -> None:
        for key, value in values.items():
            if key in fields and key != "seed":
                raise _wrong(text, at, f"{word!r} says again what was said before")
            fields[key] = value

    if match := re.fullmatch(r"rank(\d+)(?:-(\d+))?(?::(.+))?", word):
        put(rank=match[1], **({"peer": match[2]} if match[2] else {}))
        if match[3]:
            _condition(text, at + match.start(3), match[3], fields)
    elif match := re.fullmatch(r"device(\d+)", word):
        put(device=match[1])
    elif match := re.fullmatch(r"(step=)?(\d+)(\+|-(\d+))?", word):
        first, last = int(match[2]), int(match[4] or match[2])
        if first == 0 or last < first:
            raise _wrong(text, at, "counts begin at 1, and a range does not go back")
        begin, end = ("step", "last_step") if match[1] else ("first", "last")
        put(**{begin: str(first)}, **({} if match[3] == "+" else {end: str(last)}))
    elif match := re.fullmatch(r"p=(\d*\.?\d+(?:e-?\d+)?)", word):
        if not 0 < float(match[1]) <= 1:
            raise _wrong(text, at + 2, "a probability is above 0 and at most 1")
        put(chance=match[1])
    elif match := re.fullmatch(r"(seed|every|times)=(\d+)", word):
        if match[1] != "seed" and match[2].strip("0") == "":
            raise _wrong(text, at, f"{match[1]} is 1 at least")
        put(**{{"times": "most"}.get(match[1], match[1]): match[2]})
    elif match := re.fullmatch(r"after=(\d+(?:\.\d+)?)(ms|s)", word):
        put(after=str(float(match[1]) / (1000 if match[2] == "ms" else 1)))
    elif match := re.fullmatch(r"restart=(\d+|any)", word):
        put(restart=match[1])
    else:
        raise _wrong(text, at, f"{word!r} says no time")


def _fault(text: str, at: int, place: str, what: str, fields: dict[str, str]) -> None:
    name, _, argument = what.partition(":")
    kernel = re.fullmatch(r"(?:launch of kernel |kernel:)(.+)", place)
    site, pattern = "task", kernel[1] if kernel else {"task": "*", "copy": "aclrtMemcpy*"}.get(place, place)
    if place.startswith("version:"):
        if place not in ("version:cann", "version:driver") or not re.fullmatch(r"[\w.]+", what):
            raise _wrong(text, at, "a version is of version:cann or version:driver, such as version:driver=24.1.0")
        fields.update(site="version", place=place.removeprefix("version:"), kind="version", word=what)
        return
    if name in _MESSAGES:
        if not (place == "link" or place.startswith("Hccl")):
            raise _wrong(text, at, f"{name} happens to messages: of link, or of a collective")
        fields.update(site="message", place="*" if place == "link" else pattern, kind=_MESSAGES[name])
        if fields.get("rank") is not None and "peer" not in fields:
            raise _wrong(text, text.find("rank"), "messages are between two ranks: rank0-1")
        if name == "delay":
            match = re.fullmatch(r"(\d+)(ms|s)", argument)
            if not match:
                raise _wrong(text, at, "how long? delay:200ms, delay:2s")
            fields["argument"] = str(int(match[1]) * (1 if match[2] == "ms" else 1000))
        elif argument:
            raise _wrong(text, at, f"{name} takes nothing behind a colon")
        return
    if place == "link":
        raise _wrong(text, at, "a link has the faults down, drop, double, delay:200ms")
    if place == "disk":
        if what not in ("full", *_PROCESS):
            raise _wrong(text, at, "disk has the faults full, kill and stop")
        fields.update(site=place, place="*", kind="fail" if what == "full" else what)
        return
    if place in ("malloc", "stream"):
        code = {"malloc": "207001", "stream": "207008"}[place]
        if name not in (*_PROCESS, "oom", code) or (place == "stream" and name == "oom"):
            faults = "oom, kill and stop" if place == "malloc" else "207008, kill and stop"
            raise _wrong(text, at, f"{place} has the faults {faults}")
        kind = name if name in _PROCESS else "fail"
        fields.update(site=place, place=place, kind=kind, **({"code": code} if kind == "fail" else {}))
        return
    fields.update(site=site, place=pattern)
    if name in _PROCESS and not argument:
        fields["kind"] = name
    elif name in _TASKS:
        fields["kind"] = _TASKS[name]
        _task_argument(text, at, name, argument, fields)
    elif match := re.fullmatch(r"(?:(call|task):)?(\d{1,6})", what):
        _code(text, at, match[1], int(match[2]), fields)
    elif name == "oom":
        raise _wrong(text, at, "oom is of malloc: malloc@3+=oom")
    else:
        raise _wrong(text, at, f"{what!r} is no fault")


def _task_argument(text: str, at: int, name: str, argument: str, fields: dict[str, str]) -> None:
    fields.update({"uce": {"code": "507053"}, "ecc": {"code": "507054"}, "lost": {"code": "507010"}}.get(name, {}))
    wanted = {"slow": r"x?(\d+)", "flip": r"(\d+)", "uce": r"(0x[0-9a-fA-F]+|\d+)", "ecc": r"(0x[0-9a-fA-F]+|\d+)"}
    if name == "slow" or argument:
        match = re.fullmatch(wanted.get(name, "(?!)"), argument)
        if not match:
            told = "how slow? slow:4 is four times as long" if name == "slow" else f"{name}:{argument} is no fault"
            raise _wrong(text, at, told)
        fields["argument"] = match[1]


def _code(text: str, at: int, phase: str | None, code: int, fields: dict[str, str]) -> None:
    if code == 0:
        raise _wrong(text, at, "0 is success, and no fault")
    fields.update(kind="fail", code=str(code))
    if phase == "task" or (phase is None and code // 1000 == 507):
        return
    fields["site"] = "call"
    place = fields["place"]
    if any(code in one for one in _FIRST_PHASE) and place.startswith("aclnn") and not place.endswith(_PHASE1):
        fields["place"] = place + _PHASE1


def read(path: Path) -> list[Order]:
    """The orders of a TOML file: ``faults = ["…", …]``, and perhaps ``seed = 7`` for those that say none.

    Raises:
        OphookError: it is no such file, or an order in it is none.
    """
    try:
        reader = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    except ImportError as error:
        raise OphookError("fault", f"no TOML before Python 3.11: {error}", todo="pip install tomli") from error
    try:
        given = reader.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise OphookError(
            "fault", f"{path}: {error}", allowed='TOML: seed = 7 and faults = ["aclnnAdd@3=507015"]'
        ) from error
    faults, seed = given.get("faults"), given.get("seed")
    texts = isinstance(faults, list) and all(isinstance(one, str) for one in faults)
    if set(given) - {"faults", "seed"} or not texts or not isinstance(seed, int | None) or isinstance(seed, bool):
        raise OphookError(
            "fault", f"{path} holds something else", allowed='seed = 7 and faults = ["aclnnAdd@3=507015"]'
        )
    assert isinstance(faults, list)
    return [parse(one, seed) for one in faults]


def orders(given: Iterable[str]) -> list[Order]:
    """What stands behind ``--fault``: orders, and names of TOML files."""
    out: list[Order] = []
    for one in given:
        out += read(Path(one)) if one.endswith(".toml") and "=" not in one else [parse(one)]
    return out


def lines(given: Iterable[str]) -> str:
    """The value of `VARIABLE` for these orders."""
    return "\n".join(one.line() for one in orders(given))


@dataclass
class Made:
    """What became of orders: how often each place came, and how often its fault was made."""

    seen: dict[str, int] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)


@contextmanager
def fault(*given: str) -> Iterator[Made]:
    """Make these faults within the block, in this process; counts begin with the block.

    Raises:
        OphookError: an order is none, or there is no simulator under this process.
    """
    from ophook_npu.sim.activate import active

    wanted = orders(given)
    root = active()
    if root is None:
        raise OphookError(
            "fault", "there is no simulator under this process", todo="ophook_npu.sim.enable(), or `ophook-npu run`"
        )
    core = _core(root)
    core.sim_error_message.restype = ctypes.c_char_p
    core.sim_fault_remove.argtypes = [ctypes.c_uint64]
    for name in ("sim_fault_made", "sim_fault_seen"):
        getattr(core, name).argtypes, getattr(core, name).restype = [ctypes.c_uint64], ctypes.c_uint64
    armed: list[tuple[Order, int]] = []
    told = Made()
    counting = count_steps(root) if any("step" in one.fields for one in wanted) else None
    try:
        for one in wanted:
            number = ctypes.c_uint64()
            if core.sim_fault_add(one.line().encode(), ctypes.byref(number)):
                raise OphookError("fault", core.sim_error_message().decode())
            armed.append((one, number.value))
        yield told
    finally:
        if counting is not None:
            counting.remove()
        for one, identity in armed:
            told.seen[one.text] = core.sim_fault_seen(identity)
            told.made[one.text] = core.sim_fault_made(identity)
            core.sim_fault_remove(identity)


def _core(root: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(root / "lib64" / "libophook_sim_core.so"))


def count_steps(root: Path) -> RemovableHandle:
    """Count the steps of every optimizer of the program, until the handle's ``remove``.

    After each the device is waited for: what was launched in a step then ran in it.
    """
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    core = _core(root)

    def counted(optimizer: object, args: object, kwargs: object) -> None:
        npu = getattr(torch, "npu", None)
        if npu is not None and npu.is_initialized():
            npu.synchronize()
        core.sim_fault_step()

    return register_optimizer_step_post_hook(counted)


def ordered() -> bool:
    """Whether faults were ordered for this process from its beginning."""
    return bool(os.environ.get(VARIABLE))
