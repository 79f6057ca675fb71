"""Run by scripts/architectures.py: runs models on npu and on the CPU.

usage: worker.py LIBRARY --names     prints the names of its architectures, a JSON list
       worker.py LIBRARY WAY         reads names, one a line, and answers each with a line of JSON

WAY is one of `training`, `bfloat16` and `graph`.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore")
import numpy  # noqa: E402
import torch  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import makers  # noqa: E402

Numbers = dict[str, torch.Tensor]
# Of the norm of a tensor: what is closer to the CPU is equal. Otherwise a device may be so many times as far from
# float64, or from float32 for bfloat16, as the CPU's own numbers are.
LEAST, TIMES = {"training": 1e-4, "graph": 1e-4, "bfloat16": 2e-2}, {"training": 20, "bfloat16": 3}
_DROPS = ("p", "drop_prob", "dropout", "attention_dropout", "stochastic_depth_prob", "layerdrop", "drop_rate")


class TanhGelu(TorchFunctionMode):
    """aclnnGelu is the form by tanh (docs/results.md), and torch_npu calls it for both."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        gelu = func in (torch.nn.functional.gelu, torch._C._nn.gelu)
        return func(*args, **{**(kwargs or {}), **({"approximate": "tanh"} if gelu else {})})


def to(tree: Any, where: Any) -> Any:
    def moved(leaf: Any) -> Any:
        fits = isinstance(leaf, torch.Tensor) and (not isinstance(where, torch.dtype) or leaf.is_floating_point())
        return leaf.to(where) if fits else leaf

    return pytree.tree_map(moved, tree)


def without_dropout(model: torch.nn.Module) -> torch.nn.Module:
    for module in model.modules():
        for name in _DROPS:
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return model


def seeded(seed: int) -> None:
    """Whatever a model draws from; what a device draws itself are other numbers than the CPU's."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)


def forward(model: Any, inputs: Any) -> Numbers:
    out = model(**inputs) if isinstance(inputs, dict) else model(*inputs)
    leaves = pytree.tree_flatten_with_path(dict(out) if hasattr(out, "to_tuple") else out)[0]
    return {
        f"out{pytree.keystr(path)}": leaf
        for path, leaf in leaves
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
    }


def on_host(numbers: Numbers) -> Numbers:
    return {name: tensor.detach().cpu().double() for name, tensor in numbers.items()}


def step(model: Any, inputs: Any, seed: int = 0) -> Numbers:
    """What a model gives, and the gradients of its parameters, of a sum that has a weight for each number."""
    seeded(seed)
    found = forward(model, inputs)
    weights = torch.Generator().manual_seed(1)
    parts = [
        (one.clamp(-1e4, 1e4) * torch.randn(one.shape, generator=weights).to(one)).mean()
        for one in found.values()
        if one.requires_grad and one.numel()
    ]
    if parts:
        torch.stack([part.reshape(()) for part in parts]).sum().backward()
    found |= {f"gradient of {name}": one.grad for name, one in model.named_parameters() if one.grad is not None}
    return on_host(found)


def distance(got: Numbers, wanted: Numbers) -> tuple[float, str]:
    """The largest of all tensors, of its norm, and where. A gradient far smaller than the others counts by theirs."""
    if set(got) != set(wanted):
        return float("inf"), f"other tensors: {', '.join(sorted(set(got) ^ set(wanted)))[:200]}"
    mean = {name: float(one.nan_to_num(0, 0, 0).square().mean().sqrt()) for name, one in wanted.items() if one.numel()}
    gradients = max((size for name, size in mean.items() if name.startswith("gradient")), default=0.0)
    worst = (0.0, "")
    for name, want in wanted.items():
        have = got[name]
        odd = ~torch.isfinite(want)
        if have.shape != want.shape:
            return float("inf"), f"{name}: {tuple(have.shape)}, not {tuple(want.shape)}"
        if not torch.equal(have[odd].nan_to_num(), want[odd].nan_to_num()) or not torch.isfinite(have[~odd]).all():
            return float("inf"), f"{name}: infinities or NaN elsewhere"
        least = (1e-2 * gradients if name.startswith("gradient") else 1e-6) * max(1, want.numel()) ** 0.5
        far = float((have[~odd] - want[~odd]).norm()) / max(float(want[~odd].norm()), least, 1e-30)
        worst = max(worst, (far, name))
    return worst


class Stops(Exception):
    """The model ran on the CPU, and does not on the device."""


@contextlib.contextmanager
def on_device() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [at for at in frames if "/torch" not in at.filename]
        where = f"{Path(own[-1].filename).name}: {own[-1].line}" if own else ""
        raise Stops(f"{type(error).__name__}: {error}"[:900] + f" ({where})") from error


def training(model: Any, inputs: Any) -> dict[str, Any]:
    with TanhGelu():
        cpu = step(copy.deepcopy(model), inputs)
    with on_device():
        npu = step(copy.deepcopy(model).npu(), to(inputs, "npu"))
    far, where = distance(npu, cpu)
    if far > LEAST["training"] and distance(step(copy.deepcopy(model).npu(), to(inputs, "npu"), 1), npu)[0] > 1e-4:
        model = model.eval()  # it draws numbers as it trains
        with TanhGelu():
            cpu = step(copy.deepcopy(model), inputs)
        npu = step(copy.deepcopy(model).npu(), to(inputs, "npu"))
        far, where = distance(npu, cpu)
    own = 0.0
    if far > LEAST["training"]:
        with contextlib.suppress(RuntimeError), TanhGelu():  # some ask for float32 by name
            exact = step(copy.deepcopy(model).double(), to(inputs, torch.float64))
            own, (far, where) = distance(cpu, exact)[0], distance(npu, exact)
    return {"far": far, "own": own, "where": where}


def bfloat16(model: Any, inputs: Any) -> dict[str, Any]:
    with TanhGelu():
        exact = step(copy.deepcopy(model), inputs)
        model, inputs = model.bfloat16(), to(inputs, torch.bfloat16)
        cpu = step(copy.deepcopy(model), inputs)
    with on_device():
        npu = step(model.npu(), to(inputs, "npu"))
    far, where = distance(npu, exact)
    return {"far": far, "own": distance(cpu, exact)[0], "where": where}


def graph(model: Any, inputs: Any) -> dict[str, Any]:
    """torchair's graph of the forward pass, and the same in eager mode on the device."""
    import torchair

    torch._dynamo.reset()
    with on_device(), torch.no_grad():
        model, inputs = model.eval().npu(), to(inputs, "npu")
        seeded(0)
        eager = on_host(forward(model, inputs))
        compiled = torch.compile(model, backend=torchair.get_npu_backend(), dynamic=False)
        seeded(0)
        far, where = distance(on_host(forward(compiled, inputs)), eager)
    return {"far": far, "own": 0.0, "where": where}


WAYS: dict[str, Callable[[Any, Any], dict[str, Any]]] = {"training": training, "bfloat16": bfloat16, "graph": graph}


def run(library: str, way: str, name: str) -> dict[str, Any]:
    seeded(0)
    try:
        model, inputs = makers.LIBRARIES[library][1](name)
        result = WAYS[way](without_dropout(model).train(), inputs)
    except Stops as error:
        return {"state": "stops", "said": str(error)}
    except Exception as error:
        return {"state": "not made", "said": f"{type(error).__name__}: {error}"[:400]}
    equal = result["far"] <= max(LEAST[way], TIMES.get(way, 0) * result["own"])
    return {"state": "equal" if equal else "differs", **result}


def main() -> None:
    library = sys.argv[1]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries write there, too
    with contextlib.suppress(ImportError):
        makers.torchvision()  # before the others import it
    if sys.argv[2] == "--names":
        print(json.dumps(makers.LIBRARIES[library][0]()), file=answers, flush=True)
        return
    import torch_npu  # noqa: F401

    torch.set_num_threads(1)
    makers.FOR_GRAPHS = sys.argv[2] == "graph"
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps({"name": line.strip(), **run(library, sys.argv[2], line.strip())}), file=answers, flush=True)


if __name__ == "__main__":
    main()
