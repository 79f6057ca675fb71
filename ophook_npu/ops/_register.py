"""From a declaration to torch: every registration that makes it an operator."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch

from ophook_npu.errors import OphookError
from ophook_npu.npu.torchair import when_loaded
from ophook_npu.ops import _ge, _vmap
from ophook_npu.ops._checks import checker, number_checker, shape_checker, size_checker, tensors_of
from ophook_npu.ops.declare import Operator
from ophook_npu.ops.rules import Same

# qualified name -> the declaration and the library object that keeps its registrations alive
_registered: dict[str, tuple[Operator, Any]] = {}
# those that npu tensors reach; the others were registered before torch_npu was imported
_on_npu: set[str] = set()


def register(op: Operator) -> Any:
    """Register ``op`` for every backend that is here; returns its ``torch.ops`` packet. The same one again is no error.

    Raises:
        OphookError: the name is taken, by another schema or by another declaration.
    """
    known = _registered.get(op.qualname)
    if known is not None:
        if known[0].schema != op.schema:
            raise OphookError(
                op.qualname, f"it is registered as {known[0].schema}", allowed=op.schema, todo="rename one of the two"
            )
        _implement_on_npu(*known)
        return op.packet
    present = schema_in_torch(op)
    if present is not None and str(present) != str(op.parsed):
        raise OphookError(op.name, f"torch already has {present}", allowed=str(op.parsed), todo="rename one of the two")
    if present is not None and torch._C._dispatch_has_kernel_for_dispatch_key(op.qualname, "CPU"):
        raise OphookError(op.name, f"torch already has {present} with a CPU implementation", todo="rename the operator")
    library = torch.library.Library(op.namespace, "FRAGMENT")
    try:
        if present is None:
            library.define(op.schema.split("::", 1)[1], tags=(torch.Tag.pt2_compliant_tag,))
        _implement(op, library)
    except BaseException:
        library._destroy()
        raise
    _registered[op.qualname] = (op, library)
    for other in op.needs() if op.needs else ():
        register(other)
    if op.ge is not None:
        # Without a converter torchair compiles no graph that contains the operator.
        when_loaded(lambda torchair: _ge.register_converter(op, torchair))
    return op.packet


def schema_in_torch(op: Operator) -> Any:
    """The schema that torch has under this name, or None."""
    return next((s for s in torch._C._jit_get_schemas_for_operator(op.qualname) if s.overload_name == ""), None)


def has_npu_kernel(op: Operator) -> bool:
    return schema_in_torch(op) is not None and torch._C._dispatch_has_kernel_for_dispatch_key(
        op.qualname, "PrivateUse1"
    )


def _implement(op: Operator, library: Any) -> None:
    library.impl(op.name, cpu_implementation(op), "CPU")
    torch.library.register_fake(op.qualname, fake_implementation(op), lib=library)
    backward, setup_context = _gradient(op)
    if backward is not None:
        torch.library.register_autograd(op.qualname, backward, setup_context=setup_context, lib=library)
    vmap = _vmap.rule(op)
    if vmap is not None:
        torch.library.register_vmap(op.qualname, vmap, lib=library)
    if op.autocast is not None:
        _autocast(op, library, "cpu")
    _implement_on_npu(op, library)


def cpu_implementation(op: Operator) -> Callable[..., Any]:
    """The declaration's function after the checks that its NPU kernel makes too."""
    check, function = checker(op), op.cpu
    more = [also for also in (shape_checker(op), number_checker(op)) if also is not None]
    if op.max_elements is not None:
        more.append(size_checker(op))
    elif any(not isinstance(rule, (Same, type(None))) for rule in op.outputs.values()):
        more.append(_rules_hold(op))

    def cpu(*args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        for also in more:
            also(*args, **kwargs)
        return function(*args, **kwargs)

    return cpu


def _rules_hold(op: Operator) -> Callable[..., None]:
    def check(*args: Any, **kwargs: Any) -> None:
        values = op.bind(args, kwargs)
        for rule in op.outputs.values():
            if rule is not None:
                rule.shape(op.name, values)

    return check


def fake_implementation(op: Operator) -> Callable[..., Any]:
    """What ``op`` returns for fake tensors: the checks of the CPU implementation, and empty results."""
    checks = [check for check in (checker(op), shape_checker(op), number_checker(op)) if check is not None]

    def fake(*args: Any, **kwargs: Any) -> Any:
        for check in checks:
            check(*args, **kwargs)
        if op.fake is not None:
            return op.fake(*args, **kwargs)
        values = op.bind(args, kwargs)
        results = []
        for rule in op.outputs.values():
            assert rule is not None
            like = values[rule.of[0]]
            results.append(torch.empty(rule.shape(op.name, values), dtype=rule.dtype or like.dtype, device=like.device))
        if not results:
            return None
        return results[0] if len(results) == 1 else tuple(results)

    return fake


def _gradient(op: Operator) -> tuple[Any, Any]:
    if not op.derivatives:
        return op.backward, op.setup_context
    names = [a.name for a in op.arguments]
    wanted = [i for i, name in enumerate(names) if name in op.derivatives]

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.shapes = [inputs[i].shape for i in wanted]

    def backward(ctx: Any, grad: Any) -> Any:
        grads: list[Any] = [None] * len(names)
        for i, shape in zip(wanted, ctx.shapes, strict=True):
            if ctx.needs_input_grad[i]:
                grads[i] = grad.sum_to_size(shape)
        return tuple(grads)

    return backward, setup_context


def _implement_on_npu(op: Operator, library: Any) -> None:
    if "torch_npu" not in sys.modules or op.qualname in _on_npu:
        return
    _kernel_on_npu(op, library)
    if op.autocast is not None:
        _autocast(op, library, "npu")
    _on_npu.add(op.qualname)


def _kernel_on_npu(op: Operator, library: Any) -> None:
    if has_npu_kernel(op):  # built into this torch_npu
        return
    reason = _no_kernel(op)
    if reason is not None:
        library.impl(op.name, _by_the_cpu(op, reason), "PrivateUse1")
        return
    from ophook_npu.ops.extension import build

    torch.ops.load_library(str(build(op)))


def _no_kernel(op: Operator) -> str | None:
    """Why no C++ kernel can be made of the declaration and used here, or None."""
    if op.aclnn_name is None:
        return "it has no aclnn function"
    from ophook_npu.npu.aclnn import missing
    from ophook_npu.ops.export.cpp import require

    try:
        require(op)
    except OphookError as error:
        return f"it has no C++ kernel, as {error.what}"
    return missing(op.aclnn_name)


def _by_the_cpu(op: Operator, reason: str) -> Callable[..., Any]:
    """Copies NPU tensors to the CPU, which waits for the stream; computes on this thread; copies the results back."""
    function = cpu_implementation(op)
    told = False

    def reference(*args: Any, **kwargs: Any) -> Any:
        nonlocal told
        if not told:
            told = True
            warnings.warn(f"[{op.name}] runs on the CPU, with copies both ways: {reason}", RuntimeWarning, stacklevel=2)
        values = op.bind(args, kwargs)
        device = next(tensor.device for name in op.tensors for tensor in tensors_of(values[name]))
        on_cpu = {name: _moved(value, "cpu") for name, value in values.items()}
        keywords = {a.name for a in op.arguments if a.kwarg_only}
        try:
            result = function(
                *(value for name, value in on_cpu.items() if name not in keywords),
                **{name: value for name, value in on_cpu.items() if name in keywords},
            )
        except Exception as error:
            raise RuntimeError(
                f"[{op.name}] its CPU implementation, which runs for {device} here, raised "
                f"{type(error).__name__}: {error}"
            ) from error
        for name in op.mutated:
            for target, source in zip(tensors_of(values[name]), tensors_of(on_cpu[name]), strict=True):
                target.copy_(source)
        return _moved(result, device)

    return reference


def _moved(value: Any, device: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in value):
        return type(value)(_moved(item, device) for item in value)
    return value


def _autocast(op: Operator, library: Any, device: str) -> None:
    key = "AutocastCPU" if device == "cpu" else "AutocastPrivateUse1"
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

    def cast(value: Any, dtype: torch.dtype) -> Any:
        if isinstance(value, torch.Tensor):
            return value.to(dtype) if value.is_floating_point() and value.dtype != torch.float64 else value
        if isinstance(value, (list, tuple)):
            return type(value)(cast(item, dtype) for item in value)
        return value

    def autocast(*args: Any, **kwargs: Any) -> Any:
        dtype = torch.float32 if op.autocast == "float32" else torch.get_autocast_dtype(device)
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return op.packet(*(cast(a, dtype) for a in args), **{k: cast(a, dtype) for k, a in kwargs.items()})

    library.impl(op.name, autocast, key)
