"""A captured call as a pytest file that stands alone."""

from __future__ import annotations

from pathlib import Path

import torch

from ophook_npu.observe import _capture_form as form
from ophook_npu.observe._describe import tensors
from ophook_npu.observe._numbers import TOLERANCES


def write_test(path: str | Path, to: str | Path, device: str | None = None) -> Path:
    """Writes a pytest file that runs a captured call and compares; it needs torch, safetensors and the capture's
    files only.

    Args:
        path: the capture's ``.json`` file.
        to: the test file. It refers to the tensors by a path relative to itself if they are next to or below it.
        device: where the test runs the operator; by default on the CPU.

    All text of the capture is in it as literals.

    Raises:
        OphookError: as :func:`ophook_npu.observe.capture.load`.
    """
    path, to = Path(path).resolve(), Path(to).resolve()
    captured = form.read(path, torch.device("cpu"))
    record = captured.record
    data = path.with_suffix(".safetensors")
    place = (
        f"Path(__file__).parent / {str(data.relative_to(to.parent))!r}"
        if data.is_relative_to(to.parent)
        else f"Path({str(data)!r})"
    )
    limits = [TOLERANCES[t.dtype] for t in tensors(captured.expected) if t.dtype in TOLERANCES]
    atol, rtol = limits[0] if limits else (0.0, 0.0)
    origin = {name: record[name] for name in ("op", "phase", "module", "node", "torch")} | {
        "stack": record["stack"][-3:]
    }
    lines = "".join(f"    {name!r}: {value!r},\n" for name, value in origin.items() if value is not None)
    to.write_text(
        f'''"""An operator call that was captured, run again and compared."""

from pathlib import Path

import torch
from safetensors.torch import load_file

DATA = {place}
DEVICE = {device or "cpu"!r}
# Where it was captured, in the capture's words.
ORIGIN = {{
{lines}}}


def test_{form.base_name(record)}():
    t = load_file(DATA, device=DEVICE)
    result = {form.call_source(record)}
    expected = {form.source(record["result"])}
    results = result if isinstance(result, (list, tuple)) else [result]
    wanted = expected if isinstance(expected, (list, tuple)) else [expected]
    assert len(results) == len(wanted)
    for given, want in zip(results, wanted):
        if isinstance(want, torch.Tensor):
            allowed = {atol!r} + {rtol!r} * (want.abs().max().item() if want.numel() else 0)
            torch.testing.assert_close(given, want, atol=allowed, rtol=0, equal_nan=True)
        else:
            assert given == want
''',
        encoding="utf-8",
    )
    return to
