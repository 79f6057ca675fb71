"""Custom operators in place of the modules of a model that nobody edits, in eager mode and in compiled functions.

A module's ``forward`` is replaced on the instance, so torch.compile traces the replacement and guards on it.
"""

from __future__ import annotations

import contextlib
import fnmatch
import types
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _forward


def rms_norm_forward(self: Any, hidden_states: torch.Tensor) -> torch.Tensor:
    """``forward`` of a LlamaRMSNorm and its like (``weight``, ``variance_epsilon``), by npu_rms_norm_custom."""
    result: torch.Tensor = torch.ops.npu.npu_rms_norm_custom(hidden_states, self.weight, self.variance_epsilon)[0]
    return result


def swiglu_forward(self: Any, x: torch.Tensor) -> torch.Tensor:
    """``forward`` of a LlamaMLP and its like (``gate_proj``, ``up_proj``, ``down_proj``, silu), by
    npu_swiglu_custom."""
    halves = torch.cat([self.gate_proj(x), self.up_proj(x)], -1)
    result: torch.Tensor = self.down_proj(torch.ops.npu.npu_swiglu_custom(halves))
    return result


class Replaced:
    """Replacements in force until `restore`, or the end of ``with``.

    Attributes:
        modules: names of the modules replaced, by class name.
    """

    def __init__(self, model: nn.Module, rules: Mapping[str, Callable[..., Any]]) -> None:
        self.modules: dict[str, list[str]] = {}
        self._undo = contextlib.ExitStack()
        for name, module in model.named_modules():
            for glob, forward in rules.items():
                if fnmatch.fnmatchcase(type(module).__name__, glob):
                    self.modules.setdefault(type(module).__name__, []).append(name)
                    self._undo.callback(_forward.put(module, _layer(forward)))
                    break
        missing = [g for g in rules if not any(fnmatch.fnmatchcase(found, g) for found in self.modules)]
        if missing:
            self.restore()
            classes = sorted({type(module).__name__ for module in model.modules()})
            raise OphookError(
                f"replace {type(model).__name__}",
                f"no module's class is called {missing[0]!r}",
                allowed=", ".join(classes),
            )

    def restore(self) -> None:
        """Give every module the forward it had, or that of other replacements in force. May be called again."""
        self._undo.close()

    def __enter__(self) -> Replaced:
        return self

    def __exit__(self, *exc: object) -> None:
        self.restore()


def _layer(forward: Callable[..., Any]) -> _forward.Layer:
    return lambda module, below: types.MethodType(forward, module)


def replace(model: nn.Module, rules: Mapping[str, Callable[..., Any]]) -> Replaced:
    """Replace ``forward`` of every module whose class name matches a glob: ``{"*RMSNorm": rms_norm_forward}``.

    Replacements, and hooks on modules, may be undone in any order; the newest one stands before the others.

    Raises:
        OphookError: a glob matches no module of the model.
    """
    return Replaced(model, rules)
