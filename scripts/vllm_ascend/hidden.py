"""What mocks hide: the operator in whose place a test puts a mock gets the same call, and what it says is kept."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
import torch_npu
from torch.utils import _pytree as pytree

Call = dict[str, str]


def operator_of(original: object, name: str) -> Callable[..., object] | None:
    """Whether what a mock replaces is an operator of torch_npu's."""
    if isinstance(original, torch._ops.OpOverloadPacket):
        return original if original._qualified_op_name.startswith("npu::") else None
    taken = getattr(torch_npu, name, None) is original and name.lstrip("_").startswith("npu_")
    return original if taken and callable(original) else None


def on_device(value: object) -> object:
    if isinstance(value, mock.NonCallableMock):
        raise LookupError("a mock among its arguments")
    if isinstance(value, torch.Tensor):
        if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.device.type not in ("cpu", "npu"):
            raise LookupError("no tensor of a device")
        return value.detach().clone().to("npu")
    return torch.device("npu") if isinstance(value, torch.device) else value


def shown(value: object) -> object:
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, torch.Tensor) else value


class Hidden:
    """Active inside `watched()`; `calls` has what operators said, by the name of each."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.replaced: dict[int, tuple[object, Any]] = {}  # the mock, kept so that its number stays its own
        self.busy = False

    def behind(self, replacement: Any) -> tuple[str, Callable[..., object]] | None:
        """The operator in whose place this mock is: itself, or as an attribute of one in the module's place."""
        path: list[str] = []
        while replacement is not None:
            if id(replacement) in self.replaced:
                original = self.replaced[id(replacement)][1]
                name = getattr(original, "__name__", "")
                for part in reversed(path):
                    name, original = part, getattr(original, part, None)
                operator = operator_of(original, name)
                return (name, operator) if operator else None
            path.append(replacement._mock_new_name)
            replacement = replacement._mock_new_parent
        return None

    def ask(self, name: str, operator: Callable[..., object], args: Any, kwargs: Any) -> None:
        said = ""
        self.busy = True
        try:
            moved_args, moved = pytree.tree_map(on_device, (args, kwargs))
            with torch.no_grad():
                operator(*moved_args, **moved)
            torch.npu.synchronize()
        except LookupError as error:
            said = f"not asked: {error}"
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        finally:
            self.busy = False
        call = str(pytree.tree_map(shown, (args, kwargs)))[:1000]
        self.calls.append({"operator": name, "said": said[:2000], "call": call})

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        enter, call = mock._patch.__enter__, mock.CallableMixin._mock_call

        def entered(patcher: Any) -> Any:
            got = enter(patcher)
            with contextlib.suppress(AttributeError):
                new = getattr(patcher.target, patcher.attribute)
                original = patcher.temp_original
                module = isinstance(original, types.ModuleType) and original is torch_npu
                if isinstance(new, mock.CallableMixin) and (module or operator_of(original, patcher.attribute)):
                    self.replaced[id(new)] = new, original
            return got

        def called(replacement: Any, /, *args: Any, **kwargs: Any) -> Any:
            found = None if self.busy else self.behind(replacement)
            if found:
                self.ask(*found, args, kwargs)
            return call(replacement, *args, **kwargs)

        mock._patch.__enter__, mock.CallableMixin._mock_call = entered, called
        try:
            yield
        finally:
            mock._patch.__enter__, mock.CallableMixin._mock_call = enter, call
