"""CUDA-only code of a program: what it imports, what it calls, and what its source names where it has not run."""

from __future__ import annotations

import ast
import functools
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from ophook_npu.observe.port.finding import Findings, key
from ophook_npu.observe.port.where import LIBRARY, OWN, Where, classify

REPLACEMENTS = {
    "amp_C": "torch_npu.optim.NpuFusedAdamW and its like",
    "apex": "torch.amp, and torch_npu.optim.NpuFusedAdamW and its like",
    "auto_gptq": "torch_npu.npu_weight_quant_batchmatmul",
    "bitsandbytes": "torch_npu.npu_weight_quant_batchmatmul for weights, torch.optim for its optimizers",
    "causal_conv1d": "torch.nn.functional.conv1d",
    "cupy": "torch, or numpy on the host",
    "flash_attn": "torch.nn.functional.scaled_dot_product_attention, or torch_npu.npu_fusion_attention",
    "flash_attn_interface": "torch.nn.functional.scaled_dot_product_attention, or torch_npu.npu_fusion_attention",
    "fused_layer_norm_cuda": "torch.nn.functional.layer_norm",
    "liger_kernel": "torch_npu.npu_rms_norm, npu_swiglu, npu_rotary_mul",
    "mamba_ssm": "its own reference in PyTorch",
    "numba.cuda": "torch, or an Ascend C operator",
    "pycuda": "an Ascend C operator (ophook-npu op new)",
    "pynvml": "npu-smi, or torch.npu.mem_get_info",
    "tensorrt": "torch.compile with torchair",
    "torch_tensorrt": "torch.compile with torchair",
    "transformer_engine": "torch.nn, and torch_npu's fused operators",
    "triton": "triton-ascend, or an Ascend C operator (ophook-npu op new)",
    "unsloth": "transformers and peft",
    "xformers": "torch.nn.functional.scaled_dot_product_attention",
}
"""Packages that are made for CUDA, and what to use instead."""


def _listed(name: str) -> str | None:
    """The entry of :data:`REPLACEMENTS` that a module belongs to."""
    parts = name.split(".")
    return next((one for i in range(len(parts), 0, -1) if (one := ".".join(parts[:i])) in REPLACEMENTS), None)


class Cuda:
    """Watches imports and calls while its block runs.

    Args:
        transferred: torch_npu's transfer_to_npu is in force: what it covers is no finding.
    """

    def __init__(self, findings: Findings, transferred: bool) -> None:
        self._findings, self._transferred = findings, transferred
        self._undo: list[Callable[[], None]] = []
        self._found: set[tuple[str, int, str]] = set()

    # ---- imports: the first finder of all, which finds nothing

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        entry = _listed(name)
        if entry is None:
            return
        frame: Any = sys._getframe(1)
        imports = False
        while frame is not None:
            imports = imports or frame.f_code.co_name == "_find_and_load"
            kind = classify(frame.f_code)
            if kind in (OWN, LIBRARY):
                break
            if frame.f_code.co_filename.startswith(torch.__path__[0]):
                return  # torch looks for triton by itself
            frame = frame.f_back
        if frame is None or not imports:
            return
        there = _exists(name, path)
        where = _of(frame, kind)
        code = "cuda_import" if there else "missing_module"
        self._add(key("cuda", code, name, where, instead=REPLACEMENTS[entry]))

    # ---- calls

    def _called(self, name: str, code: str, **values: str) -> None:
        frame = sys._getframe(2)
        kind = classify(frame.f_code)
        # Packages ask for CUDA where there may be one; what they cannot do without still counts.
        if kind == OWN or (kind == LIBRARY and code != "cuda_transfer"):
            self._add(key("cuda", code, name, _of(frame, kind), **values))

    def _add(self, of: Any) -> None:
        self._found.add((of.where.file, of.where.line, of.operator))
        self._findings.add(of)

    def _wrap(self, owner: Any, name: str, shown: str, code: str, when: Callable[..., bool] | None = None) -> None:
        inner = owner.__dict__.get(name)
        if not isinstance(inner, types.FunctionType):
            return

        @functools.wraps(inner)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if when is None or when(*args, **kwargs):
                self._called(shown, code)
            return inner(*args, **kwargs)

        setattr(owner, name, watched)
        self._undo.append(lambda: setattr(owner, name, inner) if owner.__dict__.get(name) is watched else None)

    def __enter__(self) -> Cuda:
        sys.meta_path.insert(0, self)
        replaced = _transferable()
        for name, function in list(vars(torch.cuda).items()):
            if name.startswith("_") or not isinstance(function, types.FunctionType):
                continue
            if name in _HARMLESS or function.__module__.startswith("torch_npu"):
                continue
            if name not in replaced:
                self._wrap(torch.cuda, name, f"torch.cuda.{name}", "cuda_call")
            elif not self._transferred:
                self._wrap(torch.cuda, name, f"torch.cuda.{name}", "cuda_transfer")
        if not self._transferred:
            for owner, shown in ((torch.nn.Module, "Module.cuda"),):
                self._wrap(owner, "cuda", shown, "cuda_transfer")
        from torch.utils import cpp_extension

        self._wrap(cpp_extension, "CUDAExtension", "CUDAExtension", "cuda_extension")
        self._wrap(cpp_extension, "load", "cpp_extension.load", "cuda_extension", _has_cuda_sources)
        self._wrap(cpp_extension, "load_inline", "cpp_extension.load_inline", "cuda_extension", _has_cuda_sources)
        return self

    def __exit__(self, *exc: object) -> None:
        sys.meta_path.remove(self)
        while self._undo:
            self._undo.pop()()

    # ---- what has not run

    def read_sources(self, main: Path | None) -> None:
        """Looks through the program's own files for CUDA-only code that was not run into."""
        for path in _own_files(main):
            try:
                tree = ast.parse(path.read_text(), str(path))
            except (OSError, SyntaxError, UnicodeDecodeError, ValueError):
                continue
            for line, name, instead in _named(tree, self._transferred):
                if not any(file == str(path) and at == line for file, at, _ in self._found):
                    where = Where(str(path), line, "", str(path), line)
                    code = "source_import" if instead else "source_call"
                    known = "source"
                    self._findings.add(key("cuda", code, name, where, known, instead=instead), 0)


_HARMLESS = frozenset(
    [
        "is_available",
        "is_initialized",
        "init",
        "device_count",
        "current_device",
        "is_bf16_supported",
        "is_current_stream_capturing",
    ]
)


@functools.cache
def _transferable() -> frozenset[str]:
    """The names of torch.cuda that torch_npu has too."""
    module = sys.modules.get("torch_npu")
    return frozenset() if module is None else frozenset(dir(module.npu))


def _has_cuda_sources(*args: Any, **kwargs: Any) -> bool:
    if kwargs.get("cuda_sources"):
        return True
    sources = kwargs.get("sources") or (args[1] if len(args) > 1 else ())
    return any(str(one).endswith((".cu", ".cuh")) for one in ([sources] if isinstance(sources, str) else sources))


def _exists(name: str, path: Any) -> bool:
    try:
        return importlib.machinery.PathFinder.find_spec(name, path) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def _of(frame: Any, kind: int) -> Where:
    file, line = frame.f_code.co_filename, frame.f_lineno
    own = (file, line) if kind == OWN else ("", 0)
    return Where(file, line, frame.f_code.co_name, *own)


def _own_files(main: Path | None) -> Iterator[Path]:
    files = {} if main is None else {str(main.resolve()): None}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and classify(compile("", file, "exec")) == OWN:
            files[file] = None
    return map(Path, files)


def _named(tree: ast.AST, transferred: bool) -> Iterator[tuple[int, str, str]]:
    """(line, name, what to use instead or "") of CUDA-only names in a source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            for name in names:
                if (entry := _listed(name)) is not None:
                    yield node.lineno, name, REPLACEMENTS[entry]
        elif isinstance(node, ast.Attribute):
            name = _dotted(node)
            if name.startswith("torch.cuda.") and name.count(".") == 2:
                last = name.rpartition(".")[2]
                if last not in _HARMLESS and (not transferred or last not in _transferable()):
                    yield node.lineno, name, ""


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return f"{_dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""
