"""The experiments of the matrix: one function for each situation, and the program that all of them run.

The program is ``relu(mm(x, w)) + 1`` with ``mm`` replaced by one that adds 1000, so that a miss shows in the result.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from ophook_npu.hooks import _compat, _stance, _trampoline
from ophook_npu.hooks._call import original
from ophook_npu.hooks._hook import Hook, hook

YES, EAGER, CAPTURE, NO, ABSENT = "yes", "eager", "capture", "no", "-"


class _Mm(nn.Module):
    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.mm(x, w)


def torch_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.mm(a, b)


class _Program(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mm = _Mm()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.mm(x * self.scale, w)) + 1


class Bench:
    """The program, its inputs and a hook on it, for one mechanism on one device; without one, the hook only watches
    an operator that the program never calls."""

    def __init__(self, mechanism: str | None, device: str) -> None:
        self.mechanism = mechanism
        self.device = device
        self.model = _Program().to(device)
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(4, 4, generator=generator).to(device).requires_grad_()
        self.w = torch.randn(4, 4, generator=generator).to(device).requires_grad_()
        self.native = self.model(self.x, self.w).detach().cpu()

    def hook(self) -> Hook:
        def shifted(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = original()(a, b)
            return result + 1000

        if self.mechanism is None:
            return hook("aten::erfinv", before=lambda call: None, via="dispatch_mode", on_miss="ignore")
        if self.mechanism == "module_hook":
            return hook(self.model.mm, replace=shifted, via="module_hook")
        if self.mechanism == "pattern_rewrite":
            square = [torch.ones(4, 4)] * 2
            return hook(
                torch_mm, replace=lambda a, b: torch.mm(a, b) + 1000, via="pattern_rewrite", example_inputs=square
            )
        return hook("aten::mm", replace=shifted, via=self.mechanism)

    def compiled(self, backend: Any, **kwargs: Any) -> Any:
        torch._dynamo.reset()
        return torch.compile(self.model, backend=backend, **kwargs)

    def answer(self, y: torch.Tensor) -> str:
        if y.detach().min().item() < 500:
            return NO
        return EAGER if _stance.is_eager() and self._is_compiling else YES

    _is_compiling = False


def _eager(b: Bench) -> str:
    with b.hook():
        return b.answer(b.model(b.x, b.w))


def _backward(b: Bench) -> str:
    h = b.hook()
    want = torch.autograd.grad(b.model(b.x, b.w).relu().sum(), [b.x])[0]
    with h:
        y = b.model(b.x, b.w)
        before = h.hits
        grad = torch.autograd.grad(y.sum(), [b.x])[0]
    if h.hits == before:
        return NO
    # The shift makes every relu positive, so only the sum over rows of w is left.
    expected = b.w.detach().sum(1).expand_as(grad)
    seen_in_backward = bool((grad.detach() - expected).abs().min().item() > 500)
    return YES if seen_in_backward and want.shape == grad.shape else NO


def _inference(b: Bench) -> str:
    with b.hook(), torch.inference_mode():
        return b.answer(b.model(b.x, b.w))


def _vmap(b: Bench) -> str:
    with b.hook():
        return b.answer(torch.vmap(b.model.mm)(b.x.expand(2, 4, 4), b.w.expand(2, 4, 4)))


def _func_grad(b: Bench) -> str:
    with b.hook():
        return b.answer(torch.func.vjp(lambda x: b.model(x, b.w), b.x)[0])


def _forward_mode(b: Bench) -> str:
    with b.hook():
        return b.answer(torch.func.jvp(lambda x: b.model(x, b.w), (b.x,), (torch.ones_like(b.x),))[0])


def _cond(b: Bench) -> str:
    x, w = b.x.detach(), b.w.detach()
    with b.hook(), torch.no_grad():
        # Called in the dispatcher, as a program does that was traced: torch.cond itself compiles what it is given.
        found = torch.ops.higher_order.cond(torch.tensor(True), lambda *a: [b.model(*a)], lambda *a: [a[0]], (x, w))
        return b.answer(found[0])


def _export(b: Bench) -> str:
    with b.hook(), torch.no_grad():
        return b.answer(torch.export.export(b.model, (b.x, b.w)).module()(b.x, b.w))


def _threads(b: Bench) -> str:
    result: list[str] = []
    with b.hook():
        thread = threading.Thread(target=lambda: result.append(b.answer(b.model(b.x, b.w))))
        thread.start()
        thread.join()
    return result[0]


def _compile(backend: Any, *, warm: bool = True, **kwargs: Any) -> Callable[[Bench], str]:
    def run(b: Bench) -> str:
        b._is_compiling = True
        f = b.compiled(backend, **kwargs)
        if warm:
            f(b.x, b.w)
        h = b.hook()
        with h:
            answer = b.answer(f(b.x, b.w))
            seen = h.hits
            f(b.x, b.w)
        return CAPTURE if answer == YES and h.hits == seen else answer

    return run


def _compiled_backward(b: Bench) -> str:
    b._is_compiling = True
    f = b.compiled("aot_eager")
    f(b.x, b.w)
    h = b.hook()
    with h:
        y = f(b.x, b.w)
        before = h.hits
        torch.autograd.grad(y.sum(), [b.x])
        eager = _stance.is_eager()
    return NO if h.hits == before else EAGER if eager else YES


def _npu_backend(name: str) -> Callable[[Bench], str]:
    def run(b: Bench) -> str:
        import torchair  # also for npugraph_ex: torch_npu 2.13 cannot import them the other way round

        backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig()) if name == "torchair" else name
        return _compile(backend)(b)

    return run


@contextmanager
def _one_rank(b: Bench) -> Iterator[None]:
    import torch.distributed as dist

    if sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # else it asks for this machine's name, which may take long
    with tempfile.TemporaryDirectory() as folder:  # the store removes its own file
        dist.init_process_group(
            {"cpu": "gloo", "npu": "hccl"}[b.device], init_method=f"file://{folder}/store", rank=0, world_size=1
        )
        try:
            yield
        finally:
            dist.destroy_process_group()


def _ddp(b: Bench) -> str:
    with _one_rank(b):
        model = y = None
        try:
            model = nn.parallel.DistributedDataParallel(b.model)
            with b.hook():
                y = model(b.x, b.w)
                y.sum().backward()
                return b.answer(y)
        finally:
            # The reducer goes first: as the group's last owner it would join the group's threads with the GIL held,
            # and a thread that lets go of a Python callback waits for the GIL.
            del model, y


def _dtensor(b: Bench) -> str:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, distribute_module, distribute_tensor

    with _one_rank(b):
        mesh = init_device_mesh(b.device, (1,))
        model = distribute_module(b.model, mesh)
        x, w = (distribute_tensor(t.detach(), mesh, [Replicate()]) for t in (b.x, b.w))
        with b.hook():
            return b.answer(model(x, w).full_tensor())


def _undo(b: Bench) -> str:
    runs = []

    def backend(gm: Any, inputs: Any) -> Any:
        def run(*args: Any) -> Any:
            runs.append(1)
            return gm(*args)

        return run

    f = b.compiled(backend)
    f(b.x, b.w)
    if b.mechanism in ("impl_override", "dispatch_mode", "backend"):
        _trampoline.purge()
    before = _tables()
    stance = _compat.get_stance()
    h = b.hook()
    with h:
        f(b.x, b.w)
    h.remove()
    _trampoline.purge()
    runs.clear()
    same = (
        torch.equal(b.model(b.x, b.w).detach().cpu(), b.native)
        and torch.allclose(f(b.x, b.w).detach().cpu(), b.native)
        and len(runs) == 1  # still compiled: not left to run eagerly for ever
        and _tables() == before
        and _compat.get_stance() == stance
        and not _compat.modes()
    )
    return YES if same else NO


def _tables() -> list[str]:
    return [
        torch._C._dispatch_dump_table(name) + torch._C._dispatch_dump(name) for name in ("aten::mm", "aten::mm.out")
    ]


SITUATIONS: dict[str, Callable[[Bench], str]] = {
    "eager": _eager,
    "backward": _backward,
    "inference_mode": _inference,
    "vmap": _vmap,
    "torch.func.grad": _func_grad,
    "torch.func.jvp": _forward_mode,
    "cond": _cond,
    "export": _export,
    "other threads": _threads,
    "compile inside": _compile("eager", warm=False),
    "compile warm": _compile("eager"),
    "fullgraph": _compile("eager", warm=False, fullgraph=True),
    "aot_eager": _compile("aot_eager"),
    "compiled backward": _compiled_backward,
    "inductor": _compile("inductor"),
    "torchair": _npu_backend("torchair"),
    "npugraph_ex": _npu_backend("npugraph_ex"),
    "DDP": _ddp,
    "DTensor": _dtensor,
    "undo": _undo,
}
