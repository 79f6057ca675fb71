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
        """The step for ``json.dumps``."""
        result = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("parent", "row")}
        result["row"] = dataclasses.asdict(self.row) if self.row else None
        return result


class KernelTrace:
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
        self._by_program = _ByProgram()

    def __enter__(self) -> KernelTrace:
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
        self._by_program.watch()
        return self

    def __exit__(self, *exc: object) -> None:
        self._by_program.unwatch()
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
        """What torch calls for this operator and key while the trace is on: the kernel, with a step around it."""

        def run(*args: Any, **kwargs: Any) -> Any:
            step = self._begin(op, key, args, kwargs)
            self._local.top = step
            try:
                result = self._kernel(op, key)(*args, **kwargs)
            except BaseException as error:
                step.error = f"{type(error).__name__}: {error}"
                raise
            finally:
                self._local.top = step.parent
            _annotate(step, result)
            return result

        self._keep.append(run)  # the C++ side borrows it
        return run

    def _kernel(self, op: OpOverload, key: Any) -> Callable[..., Any]:
        """What torch would start for ``key`` without this trace."""
        # Modes before autograd live in the Python dispatcher alone, and a program that uses it (torch.export) has
        # kernels of its own there.
        if self._by_program.depth or key == _DispatchKey.PreDispatch:
            found = _torch_get_dispatch(op, key)
            op._dispatch_cache.pop(key, None)  # a remembered answer would be taken without asking
            if callable(found):
                return found
            key = found
        registered = _registered_under(self._table(op._name), key)
        return lambda *args, **kwargs: _call_boxed(op, registered, args, kwargs)

    def _table(self, name: str) -> Table:
        if name not in self._tables:
            self._tables[name] = Table(name)
        return self._tables[name]

    def _begin(self, op: OpOverload, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Step:
        table = self._table(op._name)
        name = _keys.name_of(key)
        parent: Step | None = getattr(self._local, "top", None)
        include, exclude = _keys.tls()
        brought = _brought(op, args, kwargs)
        how, considered = _why(table, name, brought, include, exclude, parent, lambda: _selected(op, args, kwargs))
        absent = _absent(op, args, kwargs)
        if how == "unexplained" and absent:
            # Python shows an undefined tensor and no tensor alike as None; which of them it was shows in the key.
            also = {argument: _keys.undefined() for argument in absent}
            second = _why(table, name, brought | also, include, exclude, parent, lambda: None)
            if second[0] != "unexplained":
                brought, (how, considered) = brought | also, second
        step = Step(
            op=op._name,
            key=name,
            row=table.rows.get(name),
            depth=0 if parent is None else parent.depth + 1,
            how=how,
            args={argument: _keys.names(keys) for argument, keys in brought.items()},
            include=_keys.names(include),
            exclude=_keys.names(exclude),
            considered=considered,
            parent=parent,
        )
        self.steps.append(step)
        if name == "Python":
            modes = torch.utils._python_dispatch._get_current_dispatch_mode_stack()
            step.note = (
                f"calls {type(modes[-1]).__name__}.__torch_dispatch__"
                if modes
                else "a tensor subclass's __torch_dispatch__"
            )
        elif name == "FuncTorchDynamicLayerFrontMode":
            layer = torch._C._functorch.peek_interpreter_stack()
            step.note = f"enters the innermost transform: {layer.key().name}" if layer is not None else ""
        return step


def trace() -> KernelTrace:
    """Watches every kernel that the dispatcher starts in a ``with`` block. See :class:`Trace`.

    Raises:
        OphookError: on entering, when another trace is running.
    """
    return KernelTrace()


How = Literal["call", "redispatch", "unexplained"]


def _why(
    table: Table,
    key: str,
    brought: dict[str, Any],
    include: Any,
    exclude: Any,
    parent: Step | None,
    selected: Callable[[], str | None],
) -> tuple[How, tuple[str, ...]]:
    """By which rule ``key`` was chosen, and the keys that this rule chose from."""
    fresh = predicted(table, brought.values(), include, exclude)
    how: How = "call" if fresh[:1] == (key,) else "unexplained"
    if parent is None or parent.op != table.op:
        return how, fresh
    below = torch._C._dispatch_keyset_full_after(torch._C._dispatch_key_parse(parent.key))
    lower = predicted(table, brought.values(), include, exclude, below)
    passes_on = _keys.group_of(parent.key) in _REDISPATCHING or parent.key in ("PythonTLSSnapshot", "PreDispatch")
    # Where both rules give this key, it depends on how the kernels of the parent's key are written.
    if lower[:1] == (key,) and (passes_on or how == "unexplained"):
        return "redispatch", lower
    if parent.key == "BackendSelect" and key == selected():
        return "redispatch", (key,)
    return how, fresh


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
        name = _keys.name_of(key)
        row = table.rows.get(name)
        if row is None or row.kind != "fallthrough":
            result.append(name)
        keys = keys.remove(key)
    return tuple(result) or ("Undefined",)


_active: list[KernelTrace] = []
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
    row = table.rows.get(_keys.name_of(key))
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
            result[name] = _keys.of_device("cpu", autograd=not torch.is_inference_mode_enabled())
            continue
        keys = _keys.of_value(value)
        if keys is not None:
            result[name] = keys
    return result


def _absent(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """The tensor arguments that Python sees as ``None`` or left out."""
    named = dict(zip((argument.name for argument in op._schema.arguments), args, strict=False)) | kwargs
    tensors = (a.name for a in op._schema.arguments if str(a.type) in ("Tensor", "Optional[Tensor]"))
    return [name for name in tensors if named.get(name) is None]


_EXACT = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


def _call_boxed(op: OpOverload, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Starts the kernel, with numbers that travel as tensors put back into that form where the operator needs it.

    Python shows a wrapped number as a bare number, and torch takes a bare number for a tensor in some operators only.
    A tensor of the default dtype then promotes types as the number did.
    """
    arguments = op._schema.arguments
    places = [i for i in range(len(args)) if str(arguments[i].type) == "Tensor"]
    numbers = [i for i in places if isinstance(args[i], (bool, int, float, complex))]
    if numbers and len(numbers) == len(places):
        args = _as_tensors(args, numbers, _EXACT)
    try:
        return op._op_dk(key, *args, **kwargs)
    except RuntimeError as error:
        refused = str(error).startswith(f"{op._schema.name}() Expected a value of type 'Tensor' for argument")
        if not refused or not numbers or len(numbers) == len(places):
            raise
    default = torch.get_default_dtype()
    promoting = _EXACT | {float: default, complex: default.to_complex()}
    return op._op_dk(key, *_as_tensors(args, numbers, promoting), **kwargs)


def _as_tensors(args: tuple[Any, ...], places: list[int], dtypes: dict[type, torch.dtype]) -> tuple[Any, ...]:
    # Neither this trace nor the program's modes may take the making of the tensor for the program's doing.
    with torch._C._DisablePythonDispatcher(), torch._C._DisableTorchDispatch():
        return tuple(torch.tensor(a, dtype=dtypes[type(a)]) if i in places else a for i, a in enumerate(args))


def _selected(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """The key that a BackendSelect kernel goes on to: that of ``device`` and ``layout``, if there is a device."""
    named = dict(zip((argument.name for argument in op._schema.arguments), args, strict=False)) | kwargs
    device = named.get("device")
    return None if device is None else _keys.key_of_factory(torch.device(device).type, named.get("layout"))


class _ByProgram:
    """How deep this thread is in the program's own uses of the Python dispatcher, which the trace uses too."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._found: Any = None

    @property
    def depth(self) -> int:
        return getattr(self._local, "depth", 0)

    def watch(self) -> None:
        guard = torch._C._EnablePythonDispatcher
        self._found = enter, leave = guard.__init__, guard.__exit__

        def entering(this: Any) -> None:
            self._local.depth = self.depth + 1
            enter(this)

        def leaving(this: Any, *exc: Any) -> Any:
            self._local.depth = self.depth - 1
            return leave(this, *exc)

        guard.__init__, guard.__exit__ = entering, leaving  # type: ignore[method-assign,assignment]

    def unwatch(self) -> None:
        guard = torch._C._EnablePythonDispatcher
        guard.__init__, guard.__exit__ = self._found  # type: ignore[method-assign]


def _annotate(step: Step, result: Any) -> None:
    first = result[0] if isinstance(result, (list, tuple)) and result else result
    if not isinstance(first, torch.Tensor) or (step.row is not None and step.row.kind == "composite implicit"):
        return
    if step.key.startswith("Autograd") and first.grad_fn is not None:
        step.note = f"records {first.grad_fn.name()}"
    elif step.key.startswith("Autograd"):
        step.note = "nothing to record"
    elif step.key == "BackendSelect" and not step.args:
        key = _keys.key_of_factory(first.device.type, first.layout)
        step.note = f"goes on to {key}, by the device asked for"
