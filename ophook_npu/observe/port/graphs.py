"""What a graph compiler makes of the program's modules: the breaks, the operators without a converter, other shapes.

After the program has ended, its outermost modules are traced by Dynamo with the arguments of their first call.
torchair's own decompositions and converters are asked for each operator of the graphs; nothing is compiled by it.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import fx, nn

from ophook_npu.hooks import _compat
from ophook_npu.hooks._call import GraphNode
from ophook_npu.observe._describe import hinted, is_shaped
from ophook_npu.observe.port.finding import Findings, key
from ophook_npu.observe.port.where import FRAMEWORK, NOWHERE, OWN, Where, kind_of

_MOST = 3  # modules that are traced
_MOST_SHAPES = 1000


class Modules:
    """The outermost modules of a program, and what they were called with."""

    def __init__(self) -> None:
        self.first: dict[int, tuple[nn.Module, tuple[Any, ...], dict[str, Any], bool]] = {}
        self.shapes: dict[int, set[Any]] = {}

    def called(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keeps the first call of each module, and the shapes of all."""
        if id(module) not in self.first:
            if len(self.first) >= _MOST:
                return
            self.first[id(module)] = (module, args, kwargs, torch.is_grad_enabled())
            self.shapes[id(module)] = set()
        seen = self.shapes[id(module)]
        if len(seen) < _MOST_SHAPES:
            values = (*args, *kwargs.values())
            seen.add(tuple((hinted(v.shape), v.dtype) for v in values if is_shaped(v)))


@contextmanager
def quiet() -> Iterator[None]:
    """What Dynamo warns of in the block is in the report."""
    log = logging.getLogger("torch._dynamo")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


class Tries(Protocol):
    """What is done with each graph and module on the way: :class:`~ophook_npu.observe.port.apply.Trial`."""

    def measured(self, graph: fx.GraphModule, run: Callable[..., Any]) -> Callable[..., Any]: ...

    def whole(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], into: Findings) -> None: ...


def trace(modules: Modules, into: Findings, trial: Tries | None = None) -> list[fx.GraphModule]:
    """Traces the modules and adds the findings; gives the graphs of ATen operators before autograd."""
    lowered: list[fx.GraphModule] = []
    for module, args, kwargs, grad in modules.first.values():
        if not any(p.device.type not in ("cpu", "meta") for p in module.parameters()):
            continue
        _one(module, args, kwargs, grad, into, lowered, trial)
        if trial is not None:
            trial.whole(module, args, kwargs, into)
        shapes = len(modules.shapes[id(module)])
        if shapes > 1:
            where = of_class(module)
            into.add(key("graph", "recompile", type(module).__name__, where, "torch_npu", shapes=shapes), shapes - 1)
    return lowered


def _one(
    module: nn.Module,
    args: Any,
    kwargs: Any,
    grad: bool,
    into: Findings,
    lowered: list[fx.GraphModule],
    trial: Tries | None = None,
) -> None:
    breaks: dict[tuple[str, Where], int] = {}
    missing: dict[tuple[str, Where], int] = {}
    converter = _converters()

    def backend(gm: fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        reason = getattr(gm, "compile_subgraph_reason", None)
        if reason is not None and reason.graph_break:
            place = _innermost(reason.user_stack)
            text = str(reason.reason).strip().splitlines()[0]
            breaks[text, place] = breaks.get((text, place), 0) + 1
        graph = lower(gm, inputs)
        if isinstance(graph, str):
            into.add(key("graph", "not_lowered", type(module).__name__, of_class(module), reason=graph))
        else:
            lowered.append(graph)
            for node in graph.graph.nodes:
                if converter is not None and node.op == "call_function" and not converter(node.target):
                    name = getattr(node.target, "_name", str(node.target))
                    place = of_node(node)
                    missing[name, place] = missing.get((name, place), 0) + 1
            if trial is not None:
                return trial.measured(graph, gm.forward)
        return gm.forward

    torch._dynamo.reset()
    try:
        with torch.set_grad_enabled(grad), quiet():
            torch.compile(module, backend=backend)(*args, **kwargs)
    except Exception as error:
        text = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        into.add(key("graph", "not_traced", type(module).__name__, of_class(module), reason=text))
    finally:
        torch._dynamo.reset()
    for (text, place), count in breaks.items():
        into.add(key("graph", "break", type(module).__name__, place, reason=text), count)
    for (name, place), count in missing.items():
        into.add(key("graph", "no_converter", name, place), count)


def lower(gm: fx.GraphModule, inputs: Any) -> fx.GraphModule | str:
    """The graph of ATen operators, or why there is none: autograd functions of the program, higher-order operators."""
    try:
        return _compat.lower_before_autograd(gm, inputs, places=True)
    except Exception as error:
        return f"{type(error).__name__}: {error}".strip().splitlines()[0]


def _converters() -> Callable[[Any], bool] | None:
    """Whether torchair turns an operator into nodes of its graph: by a converter, or by taking it apart first."""
    try:
        from torchair._ge_concrete_graph.fx2ge_converter import _get_converter
        from torchair._utils import get_npu_default_decompositions

        apart = get_npu_default_decompositions()
    except ImportError:
        return None

    def known(op: Any) -> bool:
        if not isinstance(op, torch._ops.OpOverload):
            return True
        composite = torch._C._dispatch_has_kernel_for_dispatch_key(op._name, "CompositeImplicitAutograd")
        return composite or op._schema.is_mutable or op in apart or _get_converter(op) is not None

    return known


def of_node(node: fx.Node) -> Where:
    """The line that a node was traced from; the module, where that is no line of the program or a package."""
    trace = node.meta.get("stack_trace") or ""
    frames = [line.strip() for line in trace.splitlines() if line.strip().startswith('File "')]
    for line in reversed(frames):
        file, number, *rest = line.removeprefix('File "').replace('", line ', "\0").replace(", in ", "\0").split("\0")
        if (kind := kind_of(file)) != FRAMEWORK:
            own = (file, int(number)) if kind == OWN else ("", 0)
            return Where(file, int(number), rest[0] if rest else "", *own)
    modules = tuple(path for path, _ in (node.meta.get("nn_module_stack") or {}).values())
    return NOWHERE._replace(module=GraphNode(node.name, modules, "").module_path(None))  # torch's own modules


def _innermost(stack: Any) -> Where:
    for frame in reversed(list(stack or ())):
        if (kind := kind_of(frame.filename)) != FRAMEWORK:
            own = (frame.filename, frame.lineno or 0) if kind == OWN else ("", 0)
            return Where(frame.filename, frame.lineno or 0, frame.name, *own)
    return NOWHERE


def of_class(module: nn.Module) -> Where:
    code = getattr(type(module).forward, "__code__", None)
    if code is None:
        return NOWHERE
    file, line = code.co_filename, code.co_firstlineno
    own = (file, line) if kind_of(file) == OWN else ("", 0)
    return Where(file, line, "forward", own[0], own[1], "")
