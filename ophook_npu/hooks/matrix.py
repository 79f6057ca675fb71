"""What each mechanism really sees on the installed torch: experiments, not claims."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

import torch

from ophook_npu.errors import OphookError
from ophook_npu.hooks._choose import MECHANISMS
from ophook_npu.hooks._situations import ABSENT, CAPTURE, EAGER, NO, SITUATIONS, YES, Bench

__all__ = ["ABSENT", "CAPTURE", "EAGER", "NO", "SITUATIONS", "YES", "Cell", "as_rows", "markdown", "run", "updated"]


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
_UNCOMPILED = (
    *("eager", "backward", "inference_mode", "vmap", "torch.func.grad", "torch.func.jvp", "cond", "export", "DDP"),
    "DTensor",
)
_NO_MODULES = "backward calls no modules; the gradient is that of what the replacement does"
_TRANSFORMED = "torch.func and forward mode see into no custom operator"
_REASONS: dict[tuple[str, str], str] = {
    **{("dynamo", situation): "it rewrites what torch.compile compiles" for situation in _UNCOMPILED},
    **{("pattern_rewrite", situation): "only graphs have patterns" for situation in _UNCOMPILED},
    ("dispatch_mode", "other threads"): "a dispatch mode belongs to the thread that entered it",
    ("dynamo", "other threads"): "it rewrites what torch.compile compiles; compiled calls of other threads are seen",
    ("custom_op", "backward"): "backward calls mm in C++, below the Python function that is redirected",
    ("custom_op", "torch.func.grad"): _TRANSFORMED,
    ("custom_op", "torch.func.jvp"): _TRANSFORMED,
    ("custom_op", "other threads"): "a torch function mode belongs to the thread that entered it",
    ("custom_op", "compiled backward"): "the gradient is the operator's own, made of native operators",
    ("custom_op", "DTensor"): "a DTensor runs operators itself, and knows torch's alone",
    ("module_hook", "backward"): _NO_MODULES,
    ("module_hook", "compiled backward"): _NO_MODULES,
    ("pattern_rewrite", "other threads"): "only graphs have patterns; compiled calls of other threads are seen",
    (
        "pattern_rewrite",
        "compiled backward",
    ): "level='forward' gives the replacement its own gradient; level='aot' looks into backward",
}

# What an exception means, by what it says; another one is quoted, and fails the tests.
_ERRORS = {
    "Failed to auto-generated converter": "a GE graph calls no Python function; give an operator, as swap() does",
    "Device npu not supported": "Inductor generates no code for this device",
    "InductorError: KeyError: 'hostdev'": "Inductor generates no code for this device",
    "No module named 'torchair'": "torchair and npugraph_ex compile for npu only",
    "KeyError: 'hostdev'": "torch.distributed has no backend for this device",
}


def run(device: str = "cpu", mechanisms: Iterable[str] = MECHANISMS) -> list[Cell]:
    """Runs the experiments; about half a minute, most of it compiling.

    Where there is no NPU, ``backend`` brings a device of its own, and therefore runs in a process of its own.
    """
    if device == "npu" and "torch_npu" not in sys.modules:
        try:
            import torch_npu  # noqa: F401  # a program started by one that imported it may have to
        except ImportError as error:
            raise OphookError(
                "hooks matrix",
                f"torch_npu cannot be loaded: {error}",
                todo="ophook-npu run -- -m ophook_npu hooks matrix --device npu",
            ) from error
    cells = []
    for mechanism in mechanisms:
        if mechanism == "backend" and device != "npu":
            cells += _in_a_process_of_its_own()
        else:
            cells += _experiments(mechanism, device)
    return cells


def _experiments(mechanism: str, device: str) -> list[Cell]:
    return [_cell(mechanism, situation, experiment, device) for situation, experiment in SITUATIONS.items()]


_MOST_SECONDS = 600


def _in_a_process_of_its_own() -> list[Cell]:
    program = (
        "import json; from ophook_npu.hooks import _host_device, matrix;"
        "print(json.dumps(matrix.as_rows(matrix._experiments('backend', _host_device.ensure()))))"
    )
    # Compile workers would inherit the pipes, and keep them open while they live.
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    try:
        result = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True, text=True, env=environment, check=False, timeout=_MOST_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise OphookError(
            "hooks matrix",
            f"the experiments with backend did not end within {_MOST_SECONDS} s",
            todo=f"run them alone to see where they stop: python -c {program!r}",
        ) from error
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

`record_function` has no column: it counts and times calls in C++ for the observers, and nothing can be replaced by it.
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
