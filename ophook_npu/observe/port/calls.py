"""Every operator call of the program: where it comes from, what the device said of it, whether the host waited."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor

from ophook_npu.hooks import Hook
from ophook_npu.hooks._call import Proceed
from ophook_npu.hooks._hook import plan
from ophook_npu.observe._describe import tensors
from ophook_npu.observe._observer import Observer
from ophook_npu.observe.port import rescue
from ophook_npu.observe.port.device import NOTHING, Device, Seen
from ophook_npu.observe.port.where import NOWHERE, Finder, Where

_Tensor = torch.Tensor
_NO_DEVICE = ("cpu", "meta")
_MOVES = {torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default}
COLLECTIVES = ("c10d", "_c10d_functional")
"""The namespaces of operators that ranks run together."""
_COPIES = {torch.ops.aten.clone.default, torch.ops.aten.contiguous.default}


class Tally:
    """Of calls that look the same and come from one place."""

    __slots__ = ("bytes", "count", "failed", "moves", "together", "waited", "way")

    def __init__(self, op: Any) -> None:
        self.moves = op in _MOVES or op in _COPIES
        self.together = getattr(op, "namespace", "") in COLLECTIVES
        self.count = 0
        self.waited = 0  # calls in which the host waited for the device
        self.bytes = 0  # of the tensors that a copy moved
        self.way = ""  # of a move: to_host, pageable, blocking, narrowed
        self.failed: str | None = None


class _Thread(threading.local):
    def __init__(self) -> None:
        self.fallbacks: list[tuple[str, int]] = []
        self.away = False  # the calls are not the program's


class Calls(Observer):
    """Counts calls by operator, signature (data types, ranks, layout) and place.

    What the device says of a call (:class:`Seen`) follows from its signature, so it is asked once for each.

    Attributes:
        tallies: by (operator, signature, place).
        fallbacks: by (operator that ran on the CPU, place): how often, and bytes that crossed the bus.
        seen_of: what the device said, by (operator, signature).
        devices: whether anything ran on an accelerator.
    """

    NAME = "port"

    def __init__(self, device: Device | None, finder: Finder, go_on: bool = True) -> None:
        self._device, self._finder, self._go_on = device, finder, go_on
        self._thread = _Thread()
        self._lock = threading.Lock()
        self.tallies: dict[Any, Tally] = {}
        # The same by identity of operator and place, whose hashes cost more than the rest of the look-up.
        self._found: dict[Any, Tally] = {}
        self.fallbacks: dict[tuple[str, Where], list[int]] = defaultdict(lambda: [0, 0])
        self.seen_of: dict[Any, Seen] = {}
        self.total = 0
        super().__init__()
        self._sensors = _sensor(self._fell_back)

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
        signature: list[Any] = []
        add = signature.append
        device = None
        for value in (*args, *kwargs.values()) if kwargs else args:
            kind = type(value)
            if kind is _Tensor or isinstance(value, _Tensor):
                if isinstance(value, FakeTensor):
                    return proceed(*args, **kwargs)
                where = value.device.type
                device = device or (None if where in _NO_DEVICE else where)
                add((value.dtype, value.dim(), where, value.layout is not torch.strided or value.is_contiguous()))
            elif kind is list:
                for one in value[:4]:
                    if isinstance(one, _Tensor):
                        device = device or (None if one.device.type in _NO_DEVICE else one.device.type)
                        add((one.dtype, one.dim(), one.device.type, one.is_contiguous()))
            elif kind is torch.dtype or kind is torch.device or kind is torch.memory_format:
                named = value.type if kind is torch.device else "cpu"
                device = device or (None if named in _NO_DEVICE else named)
                add(value)
        if device is None:
            # On the CPU: as with the program as it is, unless the program never went to a device.
            result = proceed(*args, **kwargs)
            self._count((op, "cpu"), NOWHERE, 0)
            return result
        place = self._finder.here()
        made = (op, tuple(signature))
        at = (id(op), made[1], id(place))
        tally = self._found.get(at)
        asks = tally is None and self._device is not None and made not in self.seen_of
        local.fallbacks.clear()
        waits = self._device.waits() if self._device is not None else 0
        failed = None
        if asks:
            self._device.watch()  # type: ignore[union-attr]
        try:
            result = proceed(*args, **kwargs)
        except (RuntimeError, NotImplementedError) as error:
            failed = str(error)
            if not self._go_on or not rescue.is_refusal(error):
                raise
            try:
                result = rescue.on_cpu(op, args, kwargs, error)
            except BaseException:
                self._count(made, place, 0).failed = failed
                raise
        finally:
            if asks:
                self.seen_of[made] = self._device.seen()  # type: ignore[union-attr]
        waited = self._device.waits() - waits if self._device is not None else 0
        if place.phase == "forward":
            self._finder.remember(place)
        waits_here = int(waited > 0 and failed is None and not local.fallbacks)
        if tally is None:
            tally = self._found[at] = self._count(made, place, waits_here)
        else:
            with self._lock:
                self.total += 1
                tally.count += 1
                tally.waited += waits_here
        if tally.together:
            tally.bytes += _size(_unique(args, kwargs))
        elif tally.moves:
            _note_move(tally, op, args, kwargs, result)
        if failed is not None:
            tally.failed = failed
        for name, size in local.fallbacks:
            with self._lock:
                entry = self.fallbacks[name, place]
                entry[0] += 1
                entry[1] += size
        return result

    def _count(self, made: Any, place: Where, waited: int) -> Tally:
        key = (*made, place)
        with self._lock:
            self.total += 1
            tally = self.tallies.get(key)
            if tally is None:
                tally = self.tallies[key] = Tally(key[0])
            tally.count += 1
            tally.waited += waited
        return tally

    def _fell_back(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        """torch_npu has no kernel for ``op``: its own fallback runs it on the CPU."""
        there = _size(t for t in _unique(args, kwargs) if t.device.type != "cpu")
        result = proceed(*args, **kwargs)
        size = there + _size({id(t): t for t in tensors(result)}.values())  # out= arguments go there and back
        self._thread.fallbacks.append((op._name, size))
        return result

    def counted(self) -> int:
        return self.total

    def clear(self) -> None:
        super().clear()
        self.tallies.clear()
        self._found.clear()
        self.fallbacks.clear()
        self.total = 0

    def seen_in(self, key: Any) -> Seen:
        """What the device said of the calls of a tally."""
        return self.seen_of.get(key[:2], NOTHING)

    def __enter__(self) -> Calls:
        if self._sensors is not None:
            self._sensors.__enter__()
        super().__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        self.hook.__exit__()
        if self._sensors is not None:
            self._sensors.__exit__()

    def remove(self) -> None:
        """Gives back what it holds."""
        self.hook.remove()
        if self._sensors is not None:
            self._sensors.remove()


def _size(of: Iterable[torch.Tensor]) -> int:
    return sum(t.numel() * t.element_size() for t in of)


def _unique(args: Any, kwargs: Any) -> list[torch.Tensor]:
    return list({id(t): t for t in tensors(*args, *kwargs.values())}.values())


def _note_move(tally: Tally, op: Any, args: Any, kwargs: Any, result: Any) -> None:
    source = args[1] if op is torch.ops.aten.copy_.default else args[0]
    if not isinstance(result, _Tensor) or not isinstance(source, _Tensor):
        return
    tally.bytes += result.numel() * result.element_size()
    if op not in _MOVES:
        return
    here, there = source.device.type, result.device.type
    if here != "cpu" and there == "cpu":
        tally.way = "to_host"
    elif here == "cpu" and there != "cpu":
        tally.way = "blocking" if source.is_pinned() else "pageable"
    if kwargs.get("dtype") is torch.float64 and result.dtype is torch.float32 and there != "cpu":
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


def _sensor(around: Any) -> Hook | None:
    """Sees the operators without a kernel, also where kernels of others call them."""
    accelerator = torch.accelerator.current_accelerator(check_available=False)
    if accelerator is None or accelerator.type != "npu":
        return None
    targets = without_kernel()
    if not targets:
        return None
    counted = lambda: 0  # noqa: E731
    return Hook(
        *plan(
            targets, around=around, counted=counted, via="impl_override", on_miss="ignore", devices=[accelerator.type]
        )
    )
