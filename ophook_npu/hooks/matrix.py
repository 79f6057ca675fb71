"""What each mechanism really sees on the installed torch: experiments, not claims.

Every cell runs ``relu(mm(x, w)) + 1`` with ``mm`` replaced by one that adds 1000, so that a miss shows in the result.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _compat, _stance, _trampoline
from ophook_npu.hooks._call import original
from ophook_npu.hooks._choose import MECHANISMS
from ophook_npu.hooks._hook import Hook, hook

YES, EAGER, CAPTURE, NO, ABSENT = "yes", "eager", "capture", "no", "-"


@dataclass(frozen=True)
class Cell:
    """One experiment: ``yes`` seen, ``eager`` seen because compiled code ran eagerly, ``capture`` replaced by what the
    replacement did while the graph was captured, ``no`` not seen, ``-`` the program does not run so here, hooked or
    not."""

    mechanism: str
    situation: str
    answer: str
    reason: str = ""


# Why a call ran natively. The experiment decides whether; a "no" without a reason here fails the tests.
_REASONS: dict[tuple[str, str], str] = {
    ("dispatch_mode", "other threads"): "a dispatch mode belongs to the thread that entered it",
    ("dynamo", "eager"): "it rewrites what torch.compile compiles",
    ("dynamo", "backward"): "it rewrites what torch.compile compiles",
    ("dynamo", "inference_mode"): "it rewrites what torch.compile compiles",
    ("dynamo", "vmap"): "it rewrites what torch.compile compiles",
    ("dynamo", "other threads"): "it rewrites what torch.compile compiles; compiled calls of other threads are seen",
    ("dynamo", "DDP"): "it rewrites what torch.compile compiles",
    ("custom_op", "backward"): "backward calls mm in C++, below the Python function that is redirected",
    ("custom_op", "other threads"): "a torch function mode belongs to the thread that entered it",
    ("module_hook", "backward"): "backward calls no modules; the gradient is that of what the replacement does",
    ("pattern_rewrite", "eager"): "only graphs have patterns",
    ("pattern_rewrite", "backward"): "only graphs have patterns",
    ("pattern_rewrite", "inference_mode"): "only graphs have patterns",
    ("pattern_rewrite", "vmap"): "only graphs have patterns",
    ("pattern_rewrite", "other threads"): "only graphs have patterns; compiled calls of other threads are seen",
    ("pattern_rewrite", "DDP"): "only graphs have patterns",
    (
        "pattern_rewrite",
        "compiled backward",
    ): "level='forward' gives the replacement its own gradient; level='aot' looks into backward",
    (
        "module_hook",
        "compiled backward",
    ): "backward calls no modules; the gradient is that of what the replacement does",
    ("custom_op", "compiled backward"): "the gradient is the operator's own, made of native operators",
}

# What an exception means, by what it says; another one is quoted, and fails the tests.
_ERRORS = {
    "Failed to auto-generated converter": "a GE graph calls no Python function; give an operator, as swap() does",
    "Device npu not supported": "Inductor generates no code for this device",
    "InductorError: KeyError: 'hostdev'": "Inductor generates no code for this device",
    "Failed to find function HcclGetRootInfo": "HCCL's communication is not simulated",
    "No module named 'torchair'": "torchair and npugraph_ex compile for npu only",
    "KeyError: 'hostdev'": "torch.distributed has no backend for this device",
}


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
            return original()(a, b) + 1000

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


def _ddp(b: Bench) -> str:
    import torch.distributed as dist

    with tempfile.NamedTemporaryFile() as file:
        dist.init_process_group(
            {"cpu": "gloo", "npu": "hccl"}[b.device], init_method=f"file://{file.name}", rank=0, world_size=1
        )
        try:
            model = nn.parallel.DistributedDataParallel(b.model)
            with b.hook():
                y = model(b.x, b.w)
                y.sum().backward()
                return b.answer(y)
        finally:
            dist.destroy_process_group()


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
    "undo": _undo,
}


def run(device: str = "cpu", mechanisms: Iterable[str] = MECHANISMS) -> list[Cell]:
    """Runs the experiments; about half a minute, most of it compiling.

    Where there is no NPU, ``backend`` brings a device of its own, and therefore runs in a process of its own.
    """
    if device == "npu" and "torch_npu" not in sys.modules:
        raise OphookError(
            "hooks matrix", "torch_npu is not loaded", todo="ophook-npu run -- -m ophook_npu hooks matrix --device npu"
        )
    cells = []
    for mechanism in mechanisms:
        if mechanism == "backend" and device != "npu":
            cells += _in_a_process_of_its_own()
        else:
            cells += _experiments(mechanism, device)
    return cells


def _experiments(mechanism: str, device: str) -> list[Cell]:
    return [_cell(mechanism, situation, experiment, device) for situation, experiment in SITUATIONS.items()]


def _in_a_process_of_its_own() -> list[Cell]:
    program = (
        "import json; from ophook_npu.hooks import _host_device, matrix;"
        "print(json.dumps(matrix.as_rows(matrix._experiments('backend', _host_device.ensure()))))"
    )
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    if result.returncode:
        raise OphookError("hooks matrix", f"the experiments with backend failed: {result.stderr.strip()[-500:]}")
    return [Cell(**row) for row in json.loads(result.stdout)]


def _cell(mechanism: str, situation: str, experiment: Callable[[Bench], str], device: str) -> Cell:
    absence = _absence(situation, device)
    if absence is not None:
        return Cell(mechanism, situation, ABSENT, absence)
    try:
        answer, reason = _attempt(experiment, mechanism, device), ""
    except Exception as error:
        answer, reason = NO, _meaning(error)
    if answer == NO and not reason:
        reason = _REASONS.get((mechanism, situation), "")
    return Cell(mechanism, situation, answer, reason)


@functools.cache
def _absence(situation: str, device: str) -> str | None:
    """Why the program does not run in this situation even without a hook, or ``None``."""
    try:
        _attempt(SITUATIONS[situation], None, device)
    except Exception as error:
        return _meaning(error)
    return None


def _attempt(experiment: Callable[[Bench], str], mechanism: str | None, device: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return experiment(Bench(mechanism, device))
        finally:
            torch._dynamo.reset()


def _meaning(error: Exception) -> str:
    text = f"{type(error).__name__}: {str(error).strip() or '?'}"
    known = next((meaning for sign, meaning in _ERRORS.items() if sign in text), None)
    return known or text.splitlines()[0][:140]


def as_rows(cells: list[Cell]) -> list[dict[str, str]]:
    return [asdict(cell) for cell in cells]


PREFACE = """# What each mechanism sees

Generated; do not edit. `ophook-npu hooks matrix --update docs/hooks-matrix.md` measures the table for the CPU again,
`ophook-npu run -- -m ophook_npu hooks matrix --device npu --update docs/hooks-matrix.md` the one for npu.
Every cell is an experiment: `relu(mm(x, w)) + 1` with `mm` replaced, so that a miss shows in the result.

`yes`: the call was replaced · `eager`: it was, because compiled functions run eagerly while the hook is on ·
`capture`: it was, by the operators that the replacement called while the graph was captured; its Python does not run
again at replay, and cannot read values · `no`: it ran natively, or the hook could not be compiled ·
`-`: the program does not run so here, with or without a hook.
"""


def markdown(cells: list[Cell], device: str = "cpu") -> str:
    """The section of docs/hooks-matrix.md for one device: its table and its footnotes."""
    mechanisms = list(dict.fromkeys(cell.mechanism for cell in cells))
    at = {(cell.mechanism, cell.situation): cell for cell in cells}
    notes: dict[str, int] = {}

    def text(cell: Cell) -> str:
        if not cell.reason:
            return cell.answer
        return f"{cell.answer} [{notes.setdefault(cell.reason, len(notes) + 1)}]"

    lines = [
        _heading(device),
        "",
        f"With {versions(device)}.",
        "",
        "| situation | " + " | ".join(mechanisms) + " |",
        "|---|" + "---|" * len(mechanisms),
    ]
    for situation in SITUATIONS:
        lines.append(f"| {situation} | " + " | ".join(text(at[m, situation]) for m in mechanisms) + " |")
    lines.append("")
    lines += [f"{number}. {reason}" for reason, number in notes.items()]
    return "\n".join(lines) + "\n"


def versions(device: str = "cpu") -> str:
    """What the answers depend on."""
    found = [f"torch {torch.__version__.split('+')[0]}"]
    if device == "npu":
        found.append(f"torch_npu {sys.modules['torch_npu'].__version__.split('+')[0]}")
    return " and ".join(found)


def updated(document: str, cells: list[Cell], device: str = "cpu") -> str:
    """``document`` with the section for ``device`` measured anew, the others as they were."""
    sections = {part.split("\n", 1)[0]: part for part in document.split("\n## ")[1:]}
    mine = markdown(cells, device).removeprefix("## ")
    sections[mine.split("\n", 1)[0]] = mine
    return "\n## ".join([PREFACE, *(sections[name].rstrip("\n") + "\n" for name in sorted(sections))])


def _heading(device: str) -> str:
    if device == "npu" and os.environ.get("OPHOOK_SIM_ROOT"):
        return "## On npu (simulated Ascend)"
    return f"## On {device}"
