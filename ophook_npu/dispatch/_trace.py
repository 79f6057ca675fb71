"""Watch the dispatcher at work: every kernel it starts on this thread, at every key, calls and redispatches.

torch's own trace (``TORCH_SHOW_DISPATCH_TRACE``) is compiled only into debug builds. This one uses the Python
dispatcher: the key of highest priority, which survives redispatching, so that the C++ dispatcher asks Python about
each kernel before it starts it. The answer given here is always the kernel that would have run anyway, so the
program does what it always does.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from typing import Any, Literal

import torch
from torch._ops import OpOverload

from ophook_npu.dispatch import _keys
from ophook_npu.dispatch._table import Row, Table
from ophook_npu.errors import OphookError

_DispatchKey = torch._C.DispatchKey


@dataclasses.dataclass
class Step:
    """One kernel that the dispatcher started.

    Attributes:
        op: ``aten::add.Tensor``.
        key: the key that was chosen.
        row: the operator's table row for it.
        depth: how many kernels it runs inside of.
        how: ``call``: an operator was called anew · ``redispatch``: a kernel passed the same call on to lower keys ·
            ``unexplained``: the rules (:meth:`predicted`) would have chosen another key.
        args: argument name -> keys it brought, highest priority first.
        include, exclude: what the thread added and took out.
        considered: the keys of the call that are not fallthrough, highest priority first; the first is the predicted
            one.
        note: what else is known: the mode that was called, the autograd node that was recorded.
        error: the exception that left the kernel, or ``None``.
    """

    op: str
    key: str
    row: Row | None
    depth: int
    how: Literal["call", "redispatch", "unexplained"]
    args: dict[str, tuple[str, ...]]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    considered: tuple[str, ...]
    parent: Step | None = dataclasses.field(default=None, repr=False)
    note: str = ""
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        result = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("parent", "row")}
        result["row"] = dataclasses.asdict(self.row) if self.row else None
        return result


class Trace:
    """The kernels that were started inside ``with trace() as t:``, in order, as ``t.steps``.

    Only the thread of the block is watched, and the threads that run backward for it. Kernels that a kernel calls
    directly, without the dispatcher, are not steps; neither is the backend kernel below a ``BackendSelect`` kernel
    that computes the key set afresh (factory functions such as ``empty``): such a step's note names the key.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._tables: dict[str, Table] = {}
        self._local = threading.local()
        self._thread: int | None = None
        self._keep: list[Any] = []
        self._guard: Any = None

    def __enter__(self) -> Trace:
        if _active:
            raise OphookError(
                "dispatch.trace", "another trace is running in this process", todo="leave that block first"
            )
        _active.append(self)
        self._thread = threading.get_ident()
        # Answers that torch remembers from tracing or compiling would be taken without asking.
        for op in _loaded_overloads():
            op._dispatch_cache.clear()
        self._original = OpOverload._get_dispatch
        setattr(OpOverload, "_get_dispatch", _asked)  # noqa: B010  mypy refuses to assign to a method
        self._guard = torch._C._EnablePythonDispatcher()
        return self

    def __exit__(self, *exc: object) -> None:
        self._guard = None
        setattr(OpOverload, "_get_dispatch", self._original)  # noqa: B010
        _active.remove(self)
        self._keep.clear()

    @property
    def calls(self) -> list[Step]:
        """The steps that began a call, so one for each operator call."""
        return [step for step in self.steps if step.how != "redispatch"]

    def _watches(self) -> bool:
        return threading.get_ident() == self._thread or torch._C._current_graph_task_id() != -1

    def answer(self, op: OpOverload, key: Any) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            step = self._begin(op, key, args, kwargs)
            args = _number_as_tensor(op, args)
            self._local.top = step
            try:
                result = op._op_dk(_registered_under(self._table(op._name), key), *args, **kwargs)
            except BaseException as error:
                step.error = f"{type(error).__name__}: {error}"
                raise
            finally:
                self._local.top = step.parent
            _annotate(step, result)
            return result

        self._keep.append(run)  # the C++ side borrows it
        return run

    def _table(self, name: str) -> Table:
        if name not in self._tables:
            self._tables[name] = Table(name)
        return self._tables[name]

    def _begin(self, op: OpOverload, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Step:
        table = self._table(op._name)
        parent: Step | None = getattr(self._local, "top", None)
        include, exclude = _keys.tls()
        brought = _brought(op, args, kwargs)
        fresh = predicted(table, brought.values(), include, exclude)
        how: Literal["call", "redispatch", "unexplained"] = "call"
        considered = fresh
        if fresh[:1] != (key.name,):
            how = "unexplained"
        if parent is not None and parent.op == op._name:
            below = torch._C._dispatch_keyset_full_after(getattr(_DispatchKey, parent.key))
            lower = predicted(table, brought.values(), include, exclude, below)
            passes_on = _keys.group_of(parent.key) in _REDISPATCHING or parent.key == "PythonTLSSnapshot"
            # Where both rules give this key, it depends on how the kernels of the parent's key are written.
            if lower[:1] == (key.name,) and (passes_on or how == "unexplained"):
                how, considered = "redispatch", lower
            elif parent.key == "BackendSelect" and key.name == _device_key(op, args, kwargs):
                how, considered = "redispatch", (key.name,)
        step = Step(
            op=op._name,
            key=key.name,
            row=table.rows.get(key.name),
            depth=0 if parent is None else parent.depth + 1,
            how=how,
            args={name: _keys.names(keys) for name, keys in brought.items()},
            include=_keys.names(include),
            exclude=_keys.names(exclude),
            considered=considered,
            parent=parent,
        )
        self.steps.append(step)
        if key.name == "Python":
            modes = torch.utils._python_dispatch._get_current_dispatch_mode_stack()
            step.note = (
                f"calls {type(modes[-1]).__name__}.__torch_dispatch__"
                if modes
                else "a tensor subclass's __torch_dispatch__"
            )
        elif key.name == "FuncTorchDynamicLayerFrontMode":
            layer = torch._C._functorch.peek_interpreter_stack()
            step.note = f"enters the innermost transform: {layer.key().name}" if layer is not None else ""
        return step


def trace() -> Trace:
    """Watches every kernel that the dispatcher starts in a ``with`` block. See :class:`Trace`.

    Raises:
        OphookError: on entering, when another trace is running.
    """
    return Trace()


def predicted(table: Table, brought: Any, include: Any, exclude: Any, below: Any = None) -> tuple[str, ...]:
    """The dispatcher's rule, written out: the keys of a call in the order of priority, without fallthroughs.

    Args:
        brought: the key sets of the arguments.
        include, exclude: the thread's.
        below: for a redispatch, the keys that it may still use.
    """
    keys = include
    for one in brought:
        keys = keys | one
    keys = keys - exclude
    if below is not None:
        keys = keys & below
    result = []
    keys = keys.remove(_DispatchKey.PythonDispatcher)
    while (key := keys.highestPriorityTypeId()) != _DispatchKey.Undefined:
        row = table.rows.get(key.name)
        if row is None or row.kind != "fallthrough":
            result.append(key.name)
        keys = keys.remove(key)
    return tuple(result) or ("Undefined",)


_active: list[Trace] = []
# Groups of keys whose kernels pass the same call on; those of other keys call anew.
_REDISPATCHING = frozenset({"autograd", "lazy bits", "select", "tracing"})
_torch_get_dispatch = OpOverload._get_dispatch


def _asked(self: OpOverload, key: Any) -> Any:
    watcher = _active[-1] if _active else None
    if watcher is None or not watcher._watches():
        return _torch_get_dispatch(self, key)
    return watcher.answer(self, key)


def _loaded_overloads() -> Iterator[OpOverload]:
    for space in list(vars(torch.ops).values()):
        if isinstance(space, torch._ops._OpNamespace):
            for packet in list(vars(space).values()):
                if isinstance(packet, torch._ops.OpOverloadPacket):
                    yield from (op for op in list(vars(packet).values()) if isinstance(op, OpOverload))


def _key(name: str) -> Any:
    return torch._C._dispatch_key_parse(name)


def _registered_under(table: Table, key: Any) -> Any:
    """The key to ask torch for, which does not look a kernel up under the alias that it was registered for."""
    row = table.rows.get(key.name)
    return _key(row.source) if row is not None and row.source not in ("*", row.key) else key


def _brought(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for argument, value in zip(op._schema.arguments, args, strict=False):
        values[argument.name] = value
    values.update(kwargs)
    types = {argument.name: str(argument.type) for argument in op._schema.arguments}
    result = {}
    for name, value in values.items():
        if types.get(name) in ("Tensor", "Optional[Tensor]") and isinstance(value, (bool, int, float, complex)):
            # A Python number in a tensor's place travels as a CPU tensor of no dimensions.
            result[name] = _keys.of_device("cpu")
            continue
        keys = _keys.of_value(value)
        if keys is not None:
            result[name] = keys
    return result


_NUMBER = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


def _number_as_tensor(op: OpOverload, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """``args`` with a number as tensor where it is the only tensor: Python shows a wrapped number as a bare number,
    which some operators (``item``) then refuse. Next to other tensors it stays a number, because it promotes types
    as one.
    """
    arguments = op._schema.arguments
    places = [i for i in range(len(args)) if str(arguments[i].type) == "Tensor"]
    if not places or not all(isinstance(args[i], (bool, int, float, complex)) for i in places):
        return args
    # Neither this trace nor the program's modes may take the making of the tensor for the program's doing.
    with torch._C._DisablePythonDispatcher(), torch._C._DisableTorchDispatch():
        return tuple(torch.tensor(arg, dtype=_NUMBER[type(arg)]) if i in places else arg for i, arg in enumerate(args))


def _device_key(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """The key that a BackendSelect kernel goes on to: that of the ``device`` argument, if there is one."""
    named = dict(zip((argument.name for argument in op._schema.arguments), args, strict=False)) | kwargs
    device = named.get("device")
    return None if device is None else _keys.key_of_device(torch.device(device).type)


def _annotate(step: Step, result: Any) -> None:
    first = result[0] if isinstance(result, (list, tuple)) and result else result
    if not isinstance(first, torch.Tensor) or (step.row is not None and step.row.kind == "composite implicit"):
        return
    if step.key.startswith("Autograd") and first.grad_fn is not None:
        step.note = f"records {first.grad_fn.name()}"
    elif step.key.startswith("Autograd"):
        step.note = "nothing to record"
    elif step.key == "BackendSelect" and not step.args:
        step.note = f"goes on to {_keys.key_of_device(first.device.type)}, by the device asked for"
