"""Everything that differs between the supported versions of torch, or that torch keeps private. Nothing else may
look there."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock
from weakref import WeakKeyDictionary

import torch
from torch._ops import OpOverload, OpOverloadPacket

# --- kernels --------------------------------------------------------------------------------------------------------

HAS_GET_KERNEL = hasattr(torch.library, "get_kernel")  # torch >= 2.9


def kernel(op: OpOverload, key: str) -> Callable[..., Any] | None:
    """The kernel the dispatcher computed for ``op`` at ``key``, callable as ``f(keyset, *args, **kwargs)``; ``None``
    before torch 2.9, which cannot hand it out."""
    return torch.library.get_kernel(op, key).call_boxed if HAS_GET_KERNEL else None


_AFTER_BACKEND_SELECT = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)
_BY_LAYOUT = {
    torch.sparse_coo: "Sparse",
    torch.sparse_csr: "SparseCsr",
    torch.sparse_csc: "SparseCsr",
    torch.sparse_bsr: "SparseCsr",
    torch.sparse_bsc: "SparseCsr",
    torch._mkldnn: "Mkldnn",  # type: ignore[attr-defined]
}  # fmt: skip
_QUANTIZED = (torch.quint8, torch.qint8, torch.qint32, torch.quint4x2, torch.quint2x4)


def backend_of_factory(op: OpOverload) -> Callable[..., Any]:
    """What a factory's own kernel at BackendSelect does: from ``(keyset, args, kwargs)`` the key set below it.

    Needed before torch 2.9 only, where that kernel cannot be asked for once another stands in its place.
    """
    names = [argument.name for argument in op._schema.arguments]
    takes_tensors = any("Tensor" in str(argument.type) for argument in op._schema.arguments)

    def below(keyset: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = dict(zip(names, args, strict=False)) | kwargs
        device = torch.device(given.get("device") or "cpu").type
        prefix = _BY_LAYOUT.get(given.get("layout"), "")
        if given.get("dtype") in _QUANTIZED:
            prefix = "Quantized"
        key = getattr(torch._C.DispatchKey, prefix + torch._C._dispatch_key_for_device(device))
        computed = torch._C.DispatchKeySet(key)
        if takes_tensors:
            computed = computed | (keyset & _AFTER_BACKEND_SELECT).remove(torch._C.DispatchKey.PythonDispatcher)
        return computed

    return below


def overloads(packet: OpOverloadPacket) -> list[str]:
    """The names of a packet's overloads, as its attributes."""
    names: list[str] = packet.overloads()
    return names


def destroy(library: torch.library.Library) -> None:
    """Takes a library's registrations out of the dispatcher now, not when the garbage collector comes by."""
    library._destroy()


def devices() -> list[str]:
    """The device types operators can run on here."""
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return ["cpu"] if accelerator is None else ["cpu", accelerator.type]


def recording() -> Callable[[], bool] | None:
    """Asks whether what runs now on the accelerator is recorded, to be replayed without Python; ``None`` where nothing
    is ever."""
    accelerator = devices()[1:]
    return (
        getattr(torch.get_device_module(accelerator[0]), "is_current_stream_capturing", None) if accelerator else None
    )


# --- dispatch modes -------------------------------------------------------------------------------------------------

# Before torch 2.10 the compiler leaves code alone under any mode but one of its own ("infra"), and then runs with it.
HAS_IGNORE_COMPILE_INTERNALS = hasattr(
    torch.utils._python_dispatch.TorchDispatchMode, "ignore_compile_internals"
)  # torch >= 2.10


def modes() -> list[Any]:
    """This thread's dispatch modes, outermost first."""
    return torch.utils._python_dispatch._get_current_dispatch_mode_stack()


# torch keeps "inside a dispatch mode" in process-wide flags that each mode saves and restores, so modes that threads
# leave in another order than they entered would leave them set. The first of our modes notes them, the last puts them
# back.
_mode_lock = threading.RLock()
_mode_count = 0
_flags_found: list[Any] = []


def enter_mode(mode: Any) -> None:
    """Puts ``mode`` on top of this thread's stack."""
    global _mode_count, _flags_found
    with _mode_lock:
        if _mode_count == 0:
            _flags_found = _flags()
        _mode_count += 1
        mode.__enter__()


def leave_mode(mode: Any) -> None:
    """Takes ``mode`` off this thread's stack, from wherever it is; the modes above it stay, in order."""
    global _mode_count
    with _mode_lock:
        above = _take_out(mode)
        _mode_count -= 1
        if _mode_count == 0:
            _put_flags(_flags_found)
        for other in above:
            # Those above found the flags we had set.
            for saved, now in zip(_saved_flags(other), _flags(), strict=True):
                if saved:
                    saved[-1] = now
        if above:
            _set_flags_for(above)


def _take_out(mode: Any) -> list[Any]:
    from torch.utils import _python_dispatch as dispatch

    above = []
    while modes() and modes()[-1] is not mode:
        above.append(dispatch._pop_mode())
    mode.__exit__(None, None, None)
    for other in reversed(above):
        dispatch._push_mode(other)
    return above


_FLAG_NAMES = (
    ("old_dispatch_mode_flags", "_is_in_torch_dispatch_mode"),
    ("old_non_infra_dispatch_mode_flags", "_is_in_non_infra_torch_dispatch_mode"),
    (
        "old_without_ignore_compile_internals_dispatch_mode_flags",  # torch >= 2.10
        "_is_in_any_mode_without_ignore_compile_internals",
    ),
)


def _saved_flags(mode: Any) -> list[Any]:
    return [getattr(mode, attribute, None) for attribute, _ in _FLAG_NAMES]


def _flags() -> list[Any]:
    return [getattr(torch.utils._python_dispatch, name, None) for _, name in _FLAG_NAMES]


def _put_flags(values: list[Any]) -> None:
    from torch.utils import _python_dispatch as dispatch

    for (_, name), value in zip(_FLAG_NAMES, values, strict=True):
        if value is not None:
            setattr(dispatch, name, value)
    if hasattr(dispatch, "set_is_in_mode_without_ignore_compile_internals"):
        dispatch.set_is_in_mode_without_ignore_compile_internals(values[2])


def _set_flags_for(present: list[Any]) -> None:
    from torch.utils import _python_dispatch as dispatch

    dispatch._is_in_torch_dispatch_mode = True
    if any(not mode.is_infra_mode() for mode in present):
        dispatch._is_in_non_infra_torch_dispatch_mode = True
    if hasattr(dispatch, "set_is_in_mode_without_ignore_compile_internals") and any(
        not mode.ignore_compile_internals() for mode in present
    ):
        dispatch._is_in_any_mode_without_ignore_compile_internals = True
        dispatch.set_is_in_mode_without_ignore_compile_internals(True)


def function_modes() -> list[Any]:
    """This thread's torch function modes, outermost first."""
    stack: list[Any] = torch.overrides._get_current_function_mode_stack()
    return stack


def exchange_function_mode(old: Any, new: Any) -> None:
    """Puts ``new`` in the place of ``old`` on this thread's stack; either may be ``None``. Those above stay, in
    order."""
    above = []
    if old is not None:
        while function_modes()[-1] is not old:
            above.append(torch.overrides._pop_mode())
        old.__exit__(None, None, None)
    if new is not None:
        new.__enter__()
    for other in reversed(above):
        torch.overrides._push_mode(other)


# --- torch.compile --------------------------------------------------------------------------------------------------


def get_stance() -> Any:
    """What ``torch.compiler.set_stance`` last set; opaque, for :func:`restore_stance`."""
    return torch._dynamo.eval_frame._stance


def restore_stance(saved: Any) -> None:
    torch._dynamo.eval_frame._set_stance(saved)


def is_compiling_here() -> bool:
    """Whether this thread is inside torch.compile's own work, where operators run for the compiler, not for the
    program."""
    return (
        torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None
        or torch.compiler.is_compiling()
        or torch._guards.CompileContext.try_get() is not None
    )


# Before, compiled code holds a bare pointer to its compiler, and compares with what it points at in each call.
_CODE_OWNS_ITS_COMPILER = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 10)


def _with_compiler(callback: Any, wrap: Callable[[Any], Any], gave_up: Callable[[str], None]) -> Any:
    frame_action = _dynamo_types().FrameAction

    convert = getattr(callback, "_torchdynamo_orig_backend", getattr(callback, "_torchdynamo_orig_callable", None))
    compiler = getattr(convert, "_torchdynamo_orig_backend", getattr(convert, "_torchdynamo_orig_callable", None))
    if convert is None or compiler is None:
        return callback  # off, or not compiling
    wrapped = wrap(compiler)
    if not _CODE_OWNS_ITS_COMPILER:
        torch._dynamo.eval_frame.cached_backends[id(wrapped)] = wrapped  # until torch._dynamo.reset()
    inner = torch._dynamo.convert_frame.catch_errors_wrapper(convert._clone_with_backend(wrapped), callback.hooks)

    def compile_frame(frame: Any, *args: Any, **kwargs: Any) -> Any:
        with _limit_for_this_compiler(frame.f_code, wrapped):
            result = inner(frame, *args, **kwargs)
        _compilations[wrapped][id(frame.f_code)] += result.guarded_code is not None
        if result.guarded_code is None and result.frame_exec_strategy.cur_action == frame_action.RUN_ONLY:
            gave_up(frame.f_code.co_name)
        return result

    compile_frame._torchdynamo_orig_backend = inner  # type: ignore[attr-defined]
    compile_frame._torchdynamo_orig_callable = inner  # type: ignore[attr-defined] # torch < 2.9
    return compile_frame


_compilations: WeakKeyDictionary[Any, Counter[int]] = WeakKeyDictionary()
"""How often each compiler compiled each code object."""


@contextlib.contextmanager
def _limit_for_this_compiler(code: Any, compiler: Any) -> Iterator[None]:
    """Dynamo counts all that it compiled of a function towards its limit; here, only what ``compiler`` did of it."""
    others = max(0, len(_compiled(code)) - _compilations.setdefault(compiler, Counter())[id(code)])
    with torch._dynamo.config.patch(
        recompile_limit=torch._dynamo.config.recompile_limit + others,
        accumulated_recompile_limit=torch._dynamo.config.accumulated_recompile_limit + others,
    ) if others else contextlib.nullcontext():  # fmt: skip
        yield


def _dynamo_types() -> Any:
    import torch._dynamo.types

    return torch._dynamo.types


def _compiled(code: Any) -> Any:
    from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list

    return _debug_get_cache_entry_list(code)


def _resume_given_up() -> None:
    """Functions that Dynamo no longer compiles, because one compiler reached its limit, are offered to others."""
    from torch._C._dynamo.eval_frame import set_code_exec_strategy
    from torch._dynamo.convert_frame import input_codes

    types = _dynamo_types()
    as_usual = types.FrameExecStrategy(types.FrameAction.DEFAULT, types.FrameAction.DEFAULT)

    for reference in list(input_codes.seen):
        code = reference()
        if code is not None and len(_compiled(code)) >= torch._dynamo.config.recompile_limit:
            set_code_exec_strategy(code, as_usual)


def lookup_backend(name: str) -> Any:
    from torch._dynamo.backends.registry import lookup_backend

    return lookup_backend(name)


def backends() -> list[str]:
    return sorted(torch._dynamo.list_backends(exclude_tags=()))


def boxed(function: Callable[..., Any]) -> Callable[..., Any]:
    """For AOTAutograd: called with one list of arguments, which it may clear."""
    from functorch.compile import make_boxed_func

    result: Callable[..., Any] = make_boxed_func(function)
    return result


def aot_backend(compiler: Callable[..., Any]) -> Any:
    from torch._dynamo.backends.common import aot_autograd

    return aot_autograd(fw_compiler=compiler, bw_compiler=compiler, inference_compiler=compiler)


def is_symbol_for(value: Any, number: Any) -> bool:
    """Whether ``value``, of a graph being compiled, is a symbol that stands for ``number`` in this call.

    If so the graph is from now on for this number: torch.compile compiles anew for another one.
    """
    kind = torch.SymFloat if type(number) is float else torch.SymInt if type(number) is int else ()
    if not isinstance(value, kind) or not value.node.has_hint() or value.node.hint != number:
        return False
    return bool(value == number)  # asked of a symbol, it becomes a guard


@contextlib.contextmanager
def nested_compilation(example_inputs: Any) -> Iterator[None]:
    """A backend called from another one's compilation must not write into the outer one's tracing context."""
    from torch._guards import TracingContext, detect_fake_mode, tracing

    fake_mode = detect_fake_mode(example_inputs)
    if fake_mode is None:
        yield
        return
    context = TracingContext(fake_mode)
    outer = TracingContext.try_get()
    if outer is not None:
        # Which sizes of the inputs are symbols; without it the inner compilation would make all of them symbols.
        context.tensor_to_context = outer.tensor_to_context
    with tracing(context):
        yield


def lower_before_autograd(
    gm: torch.fx.GraphModule, example_inputs: Any, *, places: bool = False
) -> torch.fx.GraphModule:
    """``gm`` as a graph of ATen operators that autograd has not been through: in-place operators and views stay.

    With ``places`` the nodes keep the ``stack_trace`` of those that they come from.
    """
    from torch._guards import detect_fake_mode
    from torch.fx import traceback
    from torch.fx.experimental.proxy_tensor import make_fx

    fake_mode = detect_fake_mode(example_inputs)
    fakes = [_as_fake(value, fake_mode) for value in example_inputs]
    with contextlib.ExitStack() as places_kept:
        run: Any = gm
        if places:
            run = torch.fx.Interpreter(gm).run
            places_kept.enter_context(traceback.preserve_node_meta())
            if fake_mode is not None:  # tensors that the graph holds as constants are real
                places_kept.enter_context(mock.patch.object(fake_mode, "allow_non_fake_inputs", True))
        return make_fx(run, tracing_mode="real", pre_dispatch=True, _allow_non_fake_inputs=True)(*fakes)


def _as_fake(value: Any, fake_mode: Any) -> Any:
    if fake_mode is not None and isinstance(value, torch.Tensor):
        return fake_mode.from_tensor(value)
    return value


def trace_pattern(function: Callable[..., Any], inputs: list[Any], *, before_autograd: bool) -> torch.fx.GraphModule:
    """``function`` as the same kind of graph that :func:`lower_before_autograd` or AOTAutograd make of a program."""
    from torch.fx.experimental.proxy_tensor import make_fx

    if before_autograd:
        return make_fx(lambda *args: function(*args), tracing_mode="fake", pre_dispatch=True)(*inputs)
    functional = torch.func.functionalize(lambda *args: function(*args), remove="mutations_and_views")
    with torch.no_grad():
        return make_fx(functional, tracing_mode="fake")(*inputs)


_callback_from_stance: Any = None


def wrap_compilers(wrap: Callable[[Any], Any] | None, gave_up: Callable[[str], None]) -> None:
    """While ``wrap`` is set, functions are compiled with ``wrap(compiler)`` in place of the compiler they were given.

    torch.compiler.set_stance(force_backend=…) would do it with a fixed compiler; it does not tell which one it
    displaces.
    Code compiled before stays where it is: Dynamo keeps what it compiled apart by compiler. ``gave_up`` is told the
    name of a function that Dynamo compiles no more with ``wrap(compiler)``, and runs as it stands.

    Raises:
        RuntimeError: called while Dynamo traces.
    """
    global _callback_from_stance
    from torch._C._dynamo.eval_frame import get_eval_frame_callback
    from torch._dynamo import eval_frame

    if get_eval_frame_callback() not in (False, None):
        raise RuntimeError("inside a function that torch.compile is running")
    if wrap is None:
        if _callback_from_stance is not None:
            eval_frame._callback_from_stance = _callback_from_stance
            _callback_from_stance = None
        return
    if _callback_from_stance is None:
        _callback_from_stance = eval_frame._callback_from_stance
    found = _callback_from_stance
    known: dict[Any, Any] = {}  # asked for each call of a compiled function
    plain = eval_frame._stance if eval_frame._stance == eval_frame.DynamoStance() else None

    def callback_from_stance(callback: Any) -> Any:
        if eval_frame._stance is not plain:
            callback = found(callback)
        ours = known.get(callback, known)  # a callback may be None
        if ours is known:
            ours = known[callback] = _with_compiler(callback, wrap, gave_up)
        return ours

    _resume_given_up()
    eval_frame._callback_from_stance = callback_from_stance
