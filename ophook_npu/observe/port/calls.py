"""Every operator call of the program: where it comes from, what the device said of it, whether the host waited."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode

from ophook_npu.hooks import Hook
from ophook_npu.hooks._call import Proceed
from ophook_npu.hooks._hook import plan
from ophook_npu.observe._describe import tensors
from ophook_npu.observe._observer import Observer
from ophook_npu.observe.port import promises, rescue
from ophook_npu.observe.port.device import NOTHING, Device, Seen
from ophook_npu.observe.port.where import NOWHERE, Finder, Where

_Tensor = torch.Tensor
_NO_DEVICE = ("cpu", "meta")
_MOVES = {torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default}
COLLECTIVES = ("c10d", "_c10d_functional")
"""The namespaces of operators that ranks run together."""
_COPIES = {torch.ops.aten.clone.default, torch.ops.aten.contiguous.default}


_TENSOR, _LIST, _FAKE, _DEVICE, _OTHER = range(1, 6)


class _Sorts(dict[type, int]):
    """What an argument of a type tells; 0: nothing."""

    def __missing__(self, kind: type) -> int:
        if issubclass(kind, _Tensor):
            sort = _FAKE if issubclass(kind, FakeTensor) else _TENSOR
        elif kind is list:
            sort = _LIST
        elif kind is torch.device:
            sort = _DEVICE
        else:
            sort = _OTHER if kind in (torch.dtype, torch.memory_format) else 0
        self[kind] = sort
        return sort


_sorts = _Sorts()


def signature(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
    """Of a call's tensors (data type, rank, whether on the CPU, whether contiguous), and its data types and devices;
    ``None`` if all of it is on the CPU."""
    found: list[Any] = []
    device = False
    for value in (*args, *kwargs.values()):
        sort = _sorts[type(value)]
        for one in value[:4] if sort == _LIST else (value,):
            if _sorts[type(one)] == _TENSOR:
                on_cpu = one.is_cpu or one.is_meta
                device = device or not on_cpu
                found.append((one.dtype, one.dim(), on_cpu, one.layout is not torch.strided or one.is_contiguous()))
        if sort in (_DEVICE, _OTHER):
            device = device or (sort == _DEVICE and value.type not in _NO_DEVICE)
            found.append(value)
    return tuple(found) if device else None


class Tally:
    """Of calls that look the same and come from one place."""

    __slots__ = (
        "before",
        "bytes",
        "count",
        "failed",
        "fell",
        "inside",
        "key",
        "met",
        "moves",
        "on_cpu",
        "plain",
        "run",
        "together",
        "waited",
        "way",
    )

    def __init__(self, key: Any, inside: str = "") -> None:
        op = key[0]
        self.key = key
        self.inside = inside  # the function of torch's that makes the call, where the line does not make it itself
        self.on_cpu = key[1] == "cpu"
        self.moves = op in _MOVES or op in _COPIES
        self.together = getattr(op, "namespace", "") in COLLECTIVES
        self.run = op._op if type(op) is OpOverload else op  # what its call is, without a function in Python
        self.plain = not self.moves and not self.together  # its bytes are not counted
        self.count = 0
        self.before = 0  # of these, before the first module was called
        self.waited = 0  # calls in which the host waited for the device
        self.bytes = 0  # of the tensors that a copy moved
        self.way = ""  # of a move: to_host, pageable, blocking, narrowed
        self.fell = False  # torch_npu's fallback ran in it: its copies and waits are the fallback's
        self.failed: str | None = None
        self.met = ""  # what met where it failed, if the program is not to blame: see _met

    def add(self, other: Tally) -> None:
        """Those of another thread."""
        self.count += other.count
        self.before += other.before
        self.waited += other.waited
        self.bytes += other.bytes
        self.way = other.way or self.way
        self.fell = other.fell or self.fell
        self.failed = other.failed or self.failed
        self.met = other.met or self.met
        self.inside = other.inside or self.inside


class _Thread(threading.local):
    def __init__(self, everywhere: list[dict[Any, Tally]]) -> None:
        self.fallbacks: list[tuple[str, int]] = []  # of the running call
        # Each thread counts for itself, without a lock. By identity of operator and place, whose hashes cost more than
        # the rest of the look-up.
        self.tallies: dict[Any, Tally] = {}
        everywhere.append(self.tallies)
        self.away = False  # the calls are not the program's


class Calls(Observer):
    """Counts calls by operator, signature (data types, ranks, layout) and place.

    What the device says of a call (:class:`Seen`) follows from its signature, so it is asked once for each.

    Attributes:
        fallbacks: by (operator that ran on the CPU, place): how often, and bytes that crossed the bus.
        seen_of: what the device said, by (operator, signature).
        devices: whether anything ran on an accelerator.
    """

    NAME = "port"

    def __init__(self, device: Device | None, finder: Finder, go_on: bool = True) -> None:
        self._device, self._finder, self._go_on = device, finder, go_on
        self._waits: Callable[[], int] = (lambda: 0) if device is None else device.waits
        self._everywhere: list[dict[Any, Tally]] = []
        self._thread = _Thread(self._everywhere)
        self._look: Callable[..., Any] = finder.looks(_sorts.__getitem__) or self._look_here
        self._lock = threading.Lock()
        self._narrowed = False  # torch_npu gave float32 for float64
        self.refused_before: ValueError | None = None  # what Python said of the data types of the next such call
        # The program asks for no device, and the default reaches only what torch makes.
        self._by_default = torch.get_default_device().type != "cpu"
        self.fallbacks: dict[tuple[str, Where], list[int]] = defaultdict(lambda: [0, 0])
        self.seen_of: dict[Any, Seen] = {}
        super().__init__()
        self._sensors = _sensor(self._fell_back)
        self._asked_first: AbstractContextManager[Any] = _AskedFirst(self) if self._by_default else nullcontext()

    @contextmanager
    def looking_away(self) -> Iterator[None]:
        """Calls of this thread in the block are not the program's: they run uncounted."""
        before, self._thread.away = self._thread.away, True
        try:
            yield
        finally:
            self._thread.away = before

    def around(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        local = self._thread
        if local.away:
            return proceed(*args, **kwargs)
        at = self._look(op, args, kwargs)
        tally = local.tallies.get(at)
        if tally is None:
            if at is None:
                return proceed(*args, **kwargs)
            made = signature(args, kwargs)
            if made is None:
                tally = local.tallies[at] = Tally((op, "cpu", NOWHERE))
            else:
                tally = local.tallies[at] = Tally((op, made, self._finder.here()), self._finder.inside())
                if self._device is not None and (op, made) not in self.seen_of:
                    return self._asked(tally, args, kwargs, proceed)
        if tally.on_cpu:
            # As with the program as it is, unless the program never went to a device.
            tally.count += 1
            return proceed(*args, **kwargs)
        waits = self._waits()
        try:
            result = (tally.run if proceed is op else proceed)(*args, **kwargs)
        except (RuntimeError, NotImplementedError) as error:
            return self._failed(tally, args, kwargs, error)
        place = tally.key[2]
        self._finder.remember(place)
        tally.count += 1
        if local.fallbacks:
            tally.fell = True
            self._take_fallbacks(place)
        elif self._waits() != waits:
            tally.waited += 1
        if not tally.plain:
            _note_bytes(tally, op, args, kwargs, result)
            self._narrowed = self._narrowed or tally.way == "narrowed"
        return result

    def _look_here(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What tells one call from another, as :meth:`Finder.looks`, in Python."""
        if any(_sorts[type(value)] == _FAKE for value in (*args, *kwargs.values())):
            return None
        made = signature(args, kwargs)
        return (id(op),) if made is None else (id(op), made, id(self._finder.here()))

    def _asked(self, tally: Tally, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        """The first call of its signature: the device is asked what it says of it."""
        device, (op, made, _) = self._device, tally.key
        assert device is not None

        def watched(*args: Any, **kwargs: Any) -> Any:
            device.watch()
            try:
                result = proceed(*args, **kwargs)
            finally:
                self.seen_of[op, made] = device.seen()
            changed = promises.broken(op, args, kwargs, result)
            if changed:
                self.seen_of[op, made] = self.seen_of[op, made]._replace(changed=changed)
            return result

        return self.around(op, args, kwargs, watched)

    def _failed(self, tally: Tally, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
        """Runs on the CPU what the device refused; raises what is the program's own error."""
        op, _, place = tally.key
        try:
            met = self._met(args, kwargs)
            if not self._go_on or not (met or rescue.is_refusal(error)):
                raise error
            if met == "generator" and self._finder.inside():
                # A DataLoader's sampler, say: the line is nobody's to change, and the numbers stay with the host.
                return op(*args, **{**kwargs, "device": torch.device("cpu")})
            tally.count += 1
            tally.failed, tally.met = str(error), met
            result = rescue.on_cpu(op, args, kwargs, error)
        finally:
            self._thread.fallbacks.clear()
        self._finder.remember(place)
        return result

    def _met(self, args: Any, kwargs: Any) -> str:
        """``in_host_memory``: tensors there and on the device; ``generator``: one of the CPU, and a tensor on the
        device; ``mixed``: float64, and what torch_npu gave as float32 instead; or ``""``."""
        if self._by_default and rescue.apart(args, kwargs):
            return "in_host_memory"
        if self._by_default and getattr(kwargs.get("generator"), "device", None) == torch.device("cpu"):
            return "generator"
        return "mixed" if self.mixed(*args, **kwargs) else ""

    def mixed(self, *args: Any, **kwargs: Any) -> bool:
        """Whether float64 and float32 meet in a call, after torch_npu gave float32 for float64."""
        return self._narrowed and rescue.mixes(args, kwargs)

    def _take_fallbacks(self, place: Where) -> None:
        fallbacks = self._thread.fallbacks
        with self._lock:
            for name, size in fallbacks:
                entry = self.fallbacks[name, place]
                entry[0] += 1
                entry[1] += size
        fallbacks.clear()

    def begin(self) -> None:
        """What ran until now was not one of the program's steps, unless it comes again."""
        for mine in list(self._everywhere):
            for tally in list(mine.values()):
                tally.before = tally.count

    @property
    def tallies(self) -> dict[Any, Tally]:
        """Of all threads until now, by (operator, signature, place); made when asked."""
        found: dict[Any, Tally] = {}
        for mine in list(self._everywhere):
            for tally in list(mine.values()):
                if tally.count:  # of a call that raised there is none
                    found.setdefault(tally.key, Tally(tally.key)).add(tally)
        return found

    @property
    def total(self) -> int:
        return sum(tally.count for mine in list(self._everywhere) for tally in list(mine.values()))

    def _fell_back(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        """torch_npu has no kernel for ``op``: its own fallback runs it on the CPU."""
        there = _size(t for t in _unique(args, kwargs) if t.device.type != "cpu")
        result = proceed(*args, **kwargs)
        size = there + _size({id(t): t for t in tensors(result)}.values())  # out= arguments go there and back
        self._thread.fallbacks.append((op._name, size))
        return result

    def asked_first(self, func: Any, args: Any, kwargs: Any, error: Exception) -> Any:
        """The arguments as the device would have them, for a call that :meth:`around` sees nothing of; ``error`` is
        raised again where that is no way out."""
        name = getattr(func, "__name__", "")
        op = getattr(torch.ops.aten, name, None)
        writes = "out" in kwargs or name.endswith("_")
        met = "mixed" if self.mixed(*args, **kwargs) else self._met(args, kwargs)  # sizes of a batch stay on the host
        if not self._go_on or op is None or writes or met not in ("mixed", "in_host_memory"):
            raise error
        called = getattr(op, op.overloads()[0]), signature(args, kwargs), self._finder.here()
        tally = self._thread.tallies.setdefault(called, Tally(called, self._finder.inside()))
        tally.count += 1
        tally.failed, tally.met = str(error), met
        with self.looking_away():
            return rescue.as_on_device(args, kwargs)

    def counted(self) -> int:
        return self.total

    def clear(self) -> None:
        super().clear()
        for mine in self._everywhere:
            mine.clear()
        self.fallbacks.clear()

    def seen_in(self, key: Any) -> Seen:
        """What the device said of the calls of a tally."""
        return self.seen_of.get(key[:2], NOTHING)

    def __enter__(self) -> Calls:
        for one in self._sensors:
            one.__enter__()
        super().__enter__()
        self._asked_first.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        self._asked_first.__exit__(None, None, None)
        self.hook.__exit__()
        for one in reversed(self._sensors):
            one.__exit__()

    def remove(self) -> None:
        """Gives back what it holds."""
        self.hook.remove()
        for one in self._sensors:
            one.remove()


def _size(of: Iterable[torch.Tensor]) -> int:
    return sum(t.numel() * t.element_size() for t in of)


def _unique(args: Any, kwargs: Any) -> list[torch.Tensor]:
    return list({id(t): t for t in tensors(*args, *kwargs.values())}.values())


def _note_bytes(tally: Tally, op: Any, args: Any, kwargs: Any, result: Any) -> None:
    if tally.together:
        tally.bytes += _size(_unique(args, kwargs))
        return
    source = args[1] if op is torch.ops.aten.copy_.default else args[0]
    if not isinstance(result, _Tensor) or not isinstance(source, _Tensor):
        return
    tally.bytes += result.numel() * result.element_size()
    if op not in _MOVES:
        return
    if result.is_cpu:
        if not source.is_cpu:
            tally.way = "to_host"
        return
    if source.is_cpu:
        tally.way = "blocking" if source.is_pinned() else "pageable"
    if kwargs.get("dtype") is torch.float64 and result.dtype is torch.float32:
        tally.way = "narrowed"


def without_kernel(key: str = "PrivateUse1") -> list[OpOverload]:
    """The operators that the backend has no kernel for, and that are not made of others: they go to its fallback."""
    found = []
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    composite = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "CompositeExplicitAutogradNonFunctional")
    for name in torch._C._dispatch_get_all_op_names():
        space, _, rest = name.partition("::")
        if space != "aten" or has(name, key) or any(has(name, one) for one in composite):
            continue
        packet, _, overload = rest.partition(".")
        op = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
        if isinstance(op, OpOverload) and has(name, "CPU"):
            found.append(op)
    return found


def _sensor(around: Any) -> list[Hook]:
    """Sees the operators without a kernel, also where kernels of others call them."""
    accelerator = torch.accelerator.current_accelerator(check_available=False)
    if accelerator is None or accelerator.type != "npu":
        return []
    targets = without_kernel()
    return [_on_device(targets, around)] if targets else []


class _AskedFirst(TorchFunctionMode):
    """Functions of torch's that compare data types or devices before they call any operator: where float64 meets
    float32 by torch_npu's doing, or host memory the device, they run in float32 and on the device."""

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self._calls = calls

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        before = self._calls.refused_before
        try:
            if before is not None and self._calls.mixed(*args, **kwargs):
                self._calls.refused_before = None
                raise before
            return func(*args, **kwargs)
        except (RuntimeError, ValueError) as error:
            args, kwargs = self._calls.asked_first(func, args, kwargs, error)
        return func(*args, **kwargs)


def _on_device(targets: Any, around: Any) -> Hook:
    counted = lambda: 0  # noqa: E731
    return Hook(*plan(targets, around=around, counted=counted, via="impl_override", on_miss="ignore", devices=["npu"]))
