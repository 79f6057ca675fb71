"""Dispatch keys: names, groups, what each is for, and key sets as ordered names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import torch

KeySet = Any  # torch._C.DispatchKeySet

# group -> (pattern of key names, what keys of the group are for). In the order in which tables print them; first
# match wins.
GROUPS: dict[str, tuple[str, str]] = {
    "modes": (r"^(Python\w*|PreDispatch)$", "Python code: dispatch modes and tensor subclasses"),
    "transforms": (r"^(FuncTorch\w*|Batched\w*|VmapMode)$", "torch.func: vmap, grad, jvp"),
    "autocast": (r"^Autocast", "torch.autocast casts arguments"),
    "tracing": (r"^(Tracer|Functionalize)$", "torch.jit.trace; functionalization"),
    "autograd": (r"^(Autograd\w*|ADInplaceOrView)$", "records what backward needs; tracks views and versions"),
    "lazy bits": (r"^(Conjugate|Negative|ZeroTensor)$", "tensors whose conjugation or negation is still to be done"),
    "select": (
        r"^(BackendSelect|Named|Fake|DeferredInit|TESTING_ONLY\w*)$",
        "no tensor argument: another says the device",
    ),
    "nested": (r"^NestedTensor", "nested tensors"),
    "sparse": (r"^Sparse", "sparse tensors"),
    "quantized": (r"^(Quantized\w*|CustomRNGKeyId)$", "quantized tensors"),
    "backends": (r"", "the kernels that compute, by device"),
}


def group_of(key: str) -> str:
    """The name in :data:`GROUPS` that ``key`` belongs to."""
    return next(name for name, (pattern, _) in GROUPS.items() if re.search(pattern, key))


def names(keys: KeySet) -> tuple[str, ...]:
    """The keys of a set, highest priority first."""
    inside = re.sub(r"^DispatchKeySet\((.*)\)$", r"\1", str(keys))
    return tuple(reversed([name for name in inside.split(", ") if name and name != "Undefined"]))


def key_set(keys: Iterable[str]) -> KeySet:
    """A set of the keys of these names. Names that torch does not give to Python (``AutocastXLA``) are left out."""
    result = torch._C.DispatchKeySet(torch._C.DispatchKey.Undefined)
    for name in keys:
        if name not in torch._C.DispatchKey.__members__:
            continue
        result = result | torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name))
    return result


def tls() -> tuple[KeySet, KeySet]:
    """What this thread adds to every call's key set, and what it takes out, without the observer's own key."""
    include = torch._C._dispatch_tls_local_include_set().remove(torch._C.DispatchKey.PythonDispatcher)
    return include, torch._C._dispatch_tls_local_exclude_set()


def of_value(value: Any) -> KeySet | None:
    """The keys an argument brings: a tensor's own, those of all tensors of a list, ``None`` for what brings none."""
    if isinstance(value, torch.Tensor):
        return torch._C._dispatch_keys(value)
    if isinstance(value, torch.Generator):
        return key_set([key_of_device(value.device.type)])
    if isinstance(value, (list, tuple)):
        found = [keys for keys in map(of_value, value) if keys is not None]
        result = found[0] if found else None
        for keys in found[1:]:
            result = result | keys
        return result
    return None


def undefined() -> KeySet:
    """What a tensor that is not there brings: a kernel in C++ may pass one on where Python passes ``None``."""
    return key_set(["AutogradOther", "ADInplaceOrView"])


def name_of(key: Any) -> str:
    """A key's name. Torch's own ``key.name`` is ``???`` for keys that it does not give to Python (``Tracer``)."""
    return str(torch._C._dispatch_key_name(key))


def key_of_factory(device: str, layout: torch.layout | None) -> str:
    """The backend key of a new tensor on ``device`` with ``layout``, which is strided if ``None``."""
    backend = key_of_device(device)
    if layout in (None, torch.strided):
        return backend
    if layout == torch.sparse_coo:
        return f"Sparse{backend}"
    if layout == torch._mkldnn:  # type: ignore[attr-defined]
        return f"Mkldnn{backend}"
    return f"NestedTensor{backend}" if layout == torch.jagged else f"SparseCsr{backend}"


def key_of_device(device: str) -> str:
    """The backend key of a device type; ``PrivateUse1`` for ``npu`` also while torch_npu has not taken that name."""
    return "PrivateUse1" if device == "npu" else str(torch._C._dispatch_key_for_device(device))


def of_device(device: str, *, autograd: bool = True) -> KeySet:
    """The keys an ordinary (strided, dense) tensor on ``device`` would have, whether or not the device is here."""
    backend = key_of_device(device)
    wanted = [backend]
    if autograd:
        wanted += ["ADInplaceOrView", f"Autograd{backend}"]
    if f"Autocast{backend}" in torch._C.DispatchKey.__members__:
        wanted.append(f"Autocast{backend}")
    return key_set(wanted)


def label(key: str) -> str:
    """``PrivateUse1 (npu)`` where a backend took the private key's name, otherwise the key itself."""
    name = torch._C._get_privateuse1_backend_name()
    return f"{key} ({name})" if key.endswith("PrivateUse1") and name != "privateuseone" else key
