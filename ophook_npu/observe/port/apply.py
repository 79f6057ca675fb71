"""Tries the fused operators that a program misses, with its own numbers: how far off from the CPU they are.

Each occurrence of a pattern is computed three times with what the program gives it: as it is written, by torch_npu's
operator, and in float64 on the CPU. Then the whole module runs with all of them replaced.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx, nn
from torch.utils._pytree import tree_leaves, tree_map

from ophook_npu.observe._numbers import TOLERANCES, dense, error
from ophook_npu.observe.port.finding import Findings, Key, key
from ophook_npu.observe.port.fused import OPTIMIZERS, Occurrence, occurrences
from ophook_npu.observe.port.graphs import lower, of_class, of_node, quiet
from ophook_npu.observe.port.judge import brief
from ophook_npu.observe.port.where import Where

_STEPS = 3  # of an optimizer that is tried
_NOTHING = torch.finfo(torch.float32).min / 4  # a mask that adds less than that leaves the element out


# ---- what each name stands for: arguments, the operator of torch_npu, the formula


def arguments(found: Occurrence, given: Sequence[Any]) -> tuple[Any, ...]:
    """What the operator is called with, from the values of an occurrence's inputs."""
    name = found.fusion.formula.__name__
    if name.startswith("rms_norm_of_torch"):
        eps = found.numbers[1] if len(found.numbers) > 1 else None
        return (*given, torch.finfo(given[0].dtype).eps if eps is None else eps)
    if name.startswith("attention"):
        q, k, v, scale, *mask = given
        scale = float(scale)
        return q, k, v, 1 / scale if "_divided" in name else scale, mask[0] if mask else None
    if name.startswith("rms_norm"):
        return (*given[:2], float(given[2]))
    return tuple(given)


def _attention(q: Any, k: Any, v: Any, scale: float, mask: Any) -> Any:
    import torch_npu

    heads = q.shape[1] if q.dim() == 4 else 1
    four = [one if one.dim() == 4 else one.unsqueeze(1) for one in (q, k, v)]
    options: dict[str, Any] = {}
    if mask is not None:
        mask = mask.expand(*q.shape[:-1], k.shape[-2])
        mask = mask if mask.dim() == 4 else mask.unsqueeze(1)
        out = mask <= _NOTHING if mask.dtype is not torch.float16 else mask <= torch.finfo(torch.float16).min / 4
        options["atten_mask"] = out.contiguous()
        added = mask.masked_fill(out, 0) / scale  # the operator multiplies the sum by the scale
        if bool(added.any()):
            options["pse"] = added.to(q.dtype).contiguous()
    result = torch_npu.npu_fusion_attention(*four, heads, "BNSD", scale=scale, **options)[0]
    return result if q.dim() == 4 else result.squeeze(1)


def _raised(x: Any, to: Any) -> Any:
    """With as many dimensions, as the device wants it of what is broadcast."""
    return x[(None,) * (to.dim() - x.dim())]


def _fused(name: str) -> Callable[..., Any]:
    import torch_npu

    operators: dict[str, Callable[..., Any]] = {
        "RMSNorm": lambda x, weight, eps: torch_npu.npu_rms_norm(x, weight, eps)[0],
        "SwiGLU": lambda gate, up: torch_npu.npu_swiglu(torch.cat([gate, up], -1)),
        "rotary embedding": lambda x, *angles: torch_npu.npu_rotary_mul(x, *(_raised(one, x) for one in angles)),
        "attention": _attention,
    }
    return operators[name]


def _exact_attention(q: Any, k: Any, v: Any, scale: float, mask: Any) -> Any:
    weights = q @ k.transpose(-2, -1) * scale
    return torch.softmax(weights if mask is None else weights + mask, -1) @ v


def _exact_rotary(x: Any, cos: Any, sin: Any) -> Any:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


_EXACT: dict[str, Callable[..., Any]] = {
    "RMSNorm": lambda x, weight, eps: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight,
    "SwiGLU": lambda gate, up: nn.functional.silu(gate) * up,
    "rotary embedding": _exact_rotary,
    "attention": _exact_attention,
}


# ---- trying


class Trial:
    """The fused operators that are tried while :func:`~ophook_npu.observe.port.graphs.trace` runs the modules.

    Attributes:
        said: what to say of each, by name and place.
    """

    def __init__(self) -> None:
        self.said: dict[tuple[str, Where], Key] = {}
        self._worst: dict[tuple[str, Where], float] = {}

    def measured(self, graph: fx.GraphModule, run: Callable[..., Any]) -> Callable[..., Any]:
        """``run``, before which the operators of ``graph`` are computed one by one and the fused ones tried."""
        found = {one.node: one for one in occurrences(graph)}

        def measuring(*inputs: Any) -> Any:
            with torch.no_grad():
                _Attempting(graph, found, self._try).run(*inputs)
            return run(*inputs)

        return measuring if found else run

    def _try(self, found: Occurrence, given: Sequence[Any], written: torch.Tensor) -> None:
        place = (found.fusion.name, of_node(found.node))
        try:
            off, values = _compared(found, given, written)
        except Exception as wrong:
            off, values = float("inf"), {"reason": brief(f"{type(wrong).__name__}: {wrong}")}
        if place in self._worst and self._worst[place] >= off:
            return
        self._worst[place] = off
        code = "fused_failed" if "reason" in values else "fused_off" if off > 1 else "fused_tried"
        self.said[place] = key("fused", code, place[0], place[1], "simulator", fused=found.fusion.operator, **values)

    def whole(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], into: Findings) -> None:
        """Runs a module as it is evaluated, without gradients, with everything replaced that was found."""
        count = 0

        def backend(gm: fx.GraphModule, inputs: Any) -> Callable[..., Any]:
            nonlocal count
            graph = lower(gm, inputs)
            if isinstance(graph, str):
                return gm.forward
            done = replaced(graph)
            count += done
            return graph.forward if done else gm.forward

        trains = module.training
        torch._dynamo.reset()
        try:
            module.eval()
            with torch.no_grad(), quiet():
                got = torch.compile(module, backend=backend)(*args, **kwargs)
                if not count:
                    return
                as_written = module(*args, **kwargs)
                on_cpu = copy.deepcopy(module).cpu().float()
                wanted = on_cpu(*tree_map(_down, args), **tree_map(_down, kwargs))
            off, written = (_furthest(result, wanted) for result in (got, as_written))
            name, where, shown = type(module).__name__, of_class(module), (f"{off:.2g}", f"{written:.2g}")
            found = key("fused", "fused_whole", name, where, "simulator", off=shown[0], written=shown[1], places=count)
        except Exception as wrong:
            reason = brief(f"{type(wrong).__name__}: {wrong}")
            found = key("fused", "whole_failed", type(module).__name__, of_class(module), reason=reason)
        finally:
            module.train(trains)
            torch._dynamo.reset()
        into.add(found)


class _Attempting(fx.Interpreter):
    """Runs a graph; at each occurrence tries the operator on the values that are there."""

    def __init__(self, graph: fx.GraphModule, found: dict[fx.Node, Occurrence], attempt: Callable[..., None]) -> None:
        super().__init__(graph)
        self._found, self._attempt = found, attempt
        self._wanted = {each for one in found.values() for each in one.given if isinstance(each, fx.Node)}
        self._kept: dict[fx.Node, Any] = {}

    def run_node(self, node: fx.Node) -> Any:
        result = super().run_node(node)
        if node in self._wanted:
            # Later operators may write into it.
            self._kept[node] = result.detach().clone() if isinstance(result, torch.Tensor) else result
        if (found := self._found.get(node)) is not None:
            given = [self._kept[one] if isinstance(one, fx.Node) else one for one in found.given]
            self._attempt(found, given, result)
        return result


def _compared(found: Occurrence, given: Sequence[Any], written: torch.Tensor) -> tuple[float, dict[str, str]]:
    """How far off in parts of the tolerance, and the values of the sentence."""
    called = arguments(found, given)
    with torch.enable_grad():
        there = [_leaf(one) for one in called]
        here = [_leaf(_down(one, torch.float64)) for one in called]
        got, wanted = _fused(found.fusion.name)(*there), _EXACT[found.fusion.name](*here)
        if got.shape != wanted.shape:
            raise RuntimeError(f"shape {tuple(got.shape)}, not {tuple(wanted.shape)}")
        seed = torch.linspace(-1, 1, wanted.numel(), dtype=wanted.dtype).reshape(wanted.shape)
        got.backward(seed.to(got.device, got.dtype))
        wanted.backward(seed)
    off = _off(got, wanted)
    pairs = [(a.grad, b.grad) for a, b in zip(there, here, strict=True) if isinstance(a, torch.Tensor)]
    gradients = max((_off(a, b) for a, b in pairs if a is not None and b is not None), default=0.0)
    allowed = TOLERANCES.get(written.dtype, (0.0, 1e-4))[1]
    values = {"off": off, "written": _off(written, wanted), "gradients": gradients}
    said = {name: f"{value:.2g}" for name, value in values.items()}
    return max(off, gradients) / allowed, {**said, "dtype": str(written.dtype).removeprefix("torch.")}


def _off(got: torch.Tensor, wanted: torch.Tensor) -> float:
    """The largest error in parts of the largest value."""
    largest, size = error(dense(got).cpu(), dense(wanted).cpu())
    return largest / size if size else largest


def _leaf(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().requires_grad_()
    return value


def _down(value: Any, floats: torch.dtype = torch.float32) -> Any:
    if isinstance(value, torch.Tensor):
        here = value.detach().cpu()
        return here.to(floats) if here.is_floating_point() else here
    return torch.device("cpu") if isinstance(value, torch.device) else value


def _furthest(got: Any, wanted: Any) -> float:
    pairs = [
        (a, b)
        for a, b in zip(tree_leaves(got), tree_leaves(wanted), strict=True)
        if isinstance(a, torch.Tensor) and a.is_floating_point()
    ]
    if not pairs:
        raise RuntimeError("its result has no floating point tensor that torch's pytree finds")
    return max(_off(a, b) for a, b in pairs)


def replaced(graph: fx.GraphModule) -> int:
    """Puts the fused operators into a graph, in place of what :func:`occurrences` finds; gives how many."""
    order = {node: i for i, node in enumerate(graph.graph.nodes)}
    found = sorted(occurrences(graph), key=lambda one: order[one.node])
    now: dict[Any, fx.Node] = {}  # what one computes may be given to a later one
    for one in found:
        given = tuple(now.get(each, each) if isinstance(each, fx.Node) else each for each in one.given)
        with graph.graph.inserting_before(one.node):
            call = now[one.node] = graph.graph.call_function(_caller(one), given)
        one.node.replace_all_uses_with(call)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return len(found)


def _caller(found: Occurrence) -> Callable[..., Any]:
    def fused(*given: Any) -> Any:
        return _fused(found.fusion.name)(*arguments(found, given))

    return fused


# ---- optimizers


def optimizer(tried: torch.optim.Optimizer, where: Where, into: Findings) -> None:
    """Tries torch_npu's optimizer on copies of the parameters, against torch's in float64 on the CPU."""
    name = type(tried).__name__
    shown = OPTIMIZERS[name]
    try:
        off, fits = _optimized(tried, shown.rpartition(".")[2])
    except Exception as wrong:
        reason = brief(f"{type(wrong).__name__}: {wrong}")
        into.add(key("fused", "optimizer_failed", name, where, fused=shown, reason=reason))
    else:
        code = "optimizer_tried" if fits else "optimizer_off"
        into.add(key("fused", code, name, where, "simulator", fused=shown, off=f"{off:.2g}", steps=str(_STEPS)))


def _optimized(tried: torch.optim.Optimizer, fused: str) -> tuple[float, bool]:
    """The largest error of a parameter in parts of the largest change of one, and whether data types explain it."""
    import torch_npu

    made = getattr(torch_npu.optim, fused)
    takes = inspect.signature(made).parameters
    kind: Any = type(tried)
    usual = kind([torch.zeros(1)]).defaults
    there: list[dict[str, Any]] = []
    here: list[dict[str, Any]] = []
    for group in tried.param_groups:
        options = {name: value for name, value in group.items() if name not in ("params", "initial_lr")}
        if lacks := [name for name, value in options.items() if name not in takes and value != usual.get(name)]:
            raise RuntimeError(f"{fused} has no {', '.join(lacks)}")
        shared = {name: float(value) if isinstance(value, torch.Tensor) else value for name, value in options.items()}
        shared = {name: value for name, value in shared.items() if name in takes}
        there.append({**shared, "params": [p.detach().clone().requires_grad_() for p in group["params"]]})
        here.append({**shared, "params": [_leaf(_down(p, torch.float64)) for p in group["params"]]})
    pairs = [pair for a, b in zip(there, here, strict=True) for pair in zip(a["params"], b["params"], strict=True)]
    before = [wanted.detach().clone() for _, wanted in pairs]
    on_npu, on_cpu = made(there), kind(here, foreach=False)
    random = torch.Generator().manual_seed(0)
    for _ in range(_STEPS):
        for got, wanted in pairs:
            wanted.grad = torch.randn(wanted.shape, generator=random, dtype=got.dtype, device="cpu").double()
            if got.grad is None:
                got.grad = wanted.grad.to(got.device, got.dtype)
            else:  # torch_npu has laid all gradients into one tensor
                got.grad.copy_(wanted.grad)
        on_npu.step()
        on_cpu.step()
    changed = max(float((wanted.detach() - old).abs().max()) for (_, wanted), old in zip(pairs, before, strict=True))
    off, fits = 0.0, True
    for got, wanted in pairs:
        largest, size = error(dense(got).cpu(), dense(wanted))
        # Each step rounds the parameter, which is larger than the change.
        explained = TOLERANCES[torch.float32][1] * changed + _STEPS * torch.finfo(got.dtype).eps * size
        off, fits = max(off, largest), fits and largest <= explained
    return off / (changed or 1.0), fits
