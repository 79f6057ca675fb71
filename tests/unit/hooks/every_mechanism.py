"""What hook() promises whatever the mechanism: ``check(via)`` puts one mechanism through it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import ophook_npu
from ophook_npu import OphookError


class Multiply(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.mm(a, b)


def pattern(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.mm(a, b)


class Subject:
    """The same product for each mechanism: how it is aimed at, run, and replaced by one that is ``amount`` larger."""

    def __init__(self, via: str) -> None:
        self.via = via
        self.target: Any = {"module_hook": Multiply, "pattern_rewrite": pattern}.get(via, "aten::mm")
        device = "cpu"
        if via == "backend":
            from ophook_npu.hooks import _host_device

            device = _host_device.ensure()
        self.a, self.b = torch.ones(2, 3, device=device), torch.ones(3, 2, device=device)
        self.compiled = via in ("dynamo", "pattern_rewrite")
        self.model = Multiply()
        self.run_compiled = torch.compile(lambda a, b: torch.mm(a, b) * 1, backend="aot_eager")

    def run(self) -> float:
        run = self.run_compiled if self.compiled else self.model
        y: torch.Tensor = run(self.a, self.b)
        return float(y[0, 0].cpu())

    def larger(self, amount: float) -> ophook_npu.hooks.Hook:
        def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return (a.unsqueeze(2) * b.unsqueeze(0)).sum(1) + amount

        def around(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = ophook_npu.original()(a, b)
            return result + amount

        options: dict[str, Any] = {}
        if self.via == "pattern_rewrite":
            options["example_inputs"] = [self.a, self.b]
        # What stands in a graph has no original to call: a pattern's is gone.
        return ophook_npu.hook(self.target, replace=product if self.compiled else around, via=self.via, **options)


def check(via: str) -> None:
    torch._dynamo.reset()
    subject = Subject(via)
    assert subject.run() == 3
    one, ten = subject.larger(1), subject.larger(10)
    assert subject.run() == 3, "a hook is off until it is enabled"
    assert not one.enabled and one.hits == 0 and one.via == via and via in one.why

    with one as entered:
        assert entered is one and one.enabled
        assert subject.run() == 4
        with one:
            assert subject.run() == 4
        assert subject.run() == 4, "it nests with itself"
    assert subject.run() == 3 and not one.enabled
    assert one.hits == 3
    one.reset()
    assert one.hits == 0

    with pytest.raises(ZeroDivisionError), one:
        raise ZeroDivisionError
    assert subject.run() == 3, "an exception switches it off"

    one.enable()
    ten.enable()
    one.disable()
    assert subject.run() == 13, "hooks leave in any order"
    ten.disable()
    assert subject.run() == 3

    assert one(subject.run)() == 4, "it decorates"
    one.enable()
    one.enable()
    one.disable()
    assert subject.run() == 3, "enable() does not count"
    one.remove()
    one.remove()
    with pytest.raises(OphookError, match="it was removed"):
        one.enable()
    ten.remove()
    assert subject.run() == 3

    with pytest.raises(OphookError, match="unknown keyword 'colour'"):
        ophook_npu.hook(subject.target, replace=lambda a, b: a, via=via, colour="red")
    with pytest.raises(OphookError, match="nothing to do"):
        ophook_npu.hook(subject.target, via=via)
    torch._dynamo.reset()


if __name__ == "__main__":
    import sys

    check(sys.argv[1])
