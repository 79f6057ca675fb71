"""Whether plain ``import torch`` works here, and what this package does where it does not.

``import torch`` loads torch_npu by itself (an entry point of the torch_npu wheel), and torch_npu needs CANN's
libraries. Where torch_npu is installed and neither CANN nor the simulated Ascend is in the environment, every
``import torch`` therefore raises. `settle` tells torch not to try, for this process and its children: they run on the
CPU. It acts nowhere else, and never against a TORCH_DEVICE_BACKEND_AUTOLOAD that the user has set.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path

from ophook_npu.npu import place
from ophook_npu.npu.installed import torch_npu_wheel

VARIABLE = "TORCH_DEVICE_BACKEND_AUTOLOAD"
_OURS = "OPHOOK_NPU_AUTOLOAD_OFF"  # set together with VARIABLE by `settle`: not what the user wanted, only what works
_LIBRARY = "libhccl.so"  # the first that torch_npu asks for


def fails(environ: Mapping[str, str] | None = None) -> bool:
    """Whether ``import torch`` in a plain program would raise, because torch_npu is here and CANN is not."""
    environ = os.environ if environ is None else environ
    return (environ.get(VARIABLE, "1") == "1" or _OURS in environ) and _misses_cann(environ)


def _misses_cann(environ: Mapping[str, str]) -> bool:
    if any((Path(folder) / _LIBRARY).exists() for folder in environ.get("LD_LIBRARY_PATH", "").split(":") if folder):
        return False
    host = place.detect(environ)
    return host.home is None and not host.devices and torch_npu_wheel() is not None


@contextmanager
def not_found() -> Iterator[None]:
    """Where torch_npu cannot be imported, libraries that look whether it is there (transformers, accelerate) and then
    import it by themselves do not find it, in this process."""
    inner = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "torch_npu" else inner(name, package)

    if "torch_npu" not in sys.modules and _misses_cann(os.environ):
        importlib.util.find_spec = find_spec
    try:
        yield
    finally:
        if importlib.util.find_spec is find_spec:  # and not one of the program's own
            importlib.util.find_spec = inner


def settle(environ: MutableMapping[str, str] | None = None) -> None:
    """Make ``import torch`` work in this process and its children, on the CPU, where it would raise. Call it before."""
    environ = os.environ if environ is None else environ
    if VARIABLE not in environ and "torch" not in sys.modules and fails(environ):
        environ[VARIABLE] = "0"
        environ[_OURS] = "1"


def unsettle(environ: MutableMapping[str, str]) -> None:
    """Take back what `settle` set, here or in a parent process; leave what the user set."""
    if environ.pop(_OURS, None) is not None:
        environ.pop(VARIABLE, None)


def next_lines() -> list[str]:
    """What to type, in a shell, so that plain ``python`` has an npu."""
    activate = Path(sys.prefix) / "bin" / "activate"
    lines = [f"source {activate}"] if sys.prefix != sys.base_prefix and activate.exists() else []
    return [*lines, 'eval "$(ophook-npu env)"']
