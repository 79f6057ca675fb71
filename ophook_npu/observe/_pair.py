"""Two calls of two runs that correspond: how far apart their figures are."""

from __future__ import annotations

import math

import torch

from ophook_npu.observe._numbers import TOLERANCES
from ophook_npu.observe.digest import DigestRow

Pair = tuple[DigestRow, DigestRow]


def line(pair: Pair) -> list[str]:
    """A pair as text: numbers in a and b, operator, phase, module, result, relative distance."""
    a, b = pair
    result = a["results"][0]
    shape = f"{result['dtype']}{result['shape']}"
    module = a.get("node") or ("-" if a["module"] is None else a["module"] or "(root)")
    return [str(a["n"]), str(b["n"]), a["op"], a["phase"], module, shape, f"{distance(pair):.3g}"]


def distance(pair: Pair) -> float:
    """How far the results of a pair are apart, relative."""
    return apart(pair[0]["results"], pair[1]["results"], 0.0)[0]


def apart(a: list[DigestRow], b: list[DigestRow], tolerance: float | None) -> tuple[float, bool]:
    """The largest relative distance of the figures, and whether that is more than it may be."""
    worst, far = 0.0, False
    for x, y in zip(a, b, strict=True):
        rtol = tolerance if tolerance is not None else max(_rtol(x["dtype"]), _rtol(y["dtype"]))
        count = max(1, math.prod(x["shape"]))
        norm = max(abs(x["norm"]), abs(y["norm"]))
        # Bounds of mean and weighted sum over vectors of this norm (Cauchy-Schwarz), so that all are on one scale.
        scales = {"norm": norm, "mean": norm / math.sqrt(count), "weighted": norm * 16 * math.sqrt(count)}
        for name, scale in scales.items():
            p, q = x[name], y[name]
            if p == q or (math.isnan(p) and math.isnan(q)):
                continue
            gap = abs(p - q)
            relative = gap / scale if scale and math.isfinite(scale) and not math.isnan(gap) else math.inf
            worst = max(worst, relative)
            far = far or not (gap <= rtol * scale + (1e-12 if tolerance is None else 0.0))
        if tolerance is None and "bits" in x and "bits" in y and x["dtype"] == y["dtype"]:
            far = far or x["bits"] != y["bits"]
    return worst, far


def _rtol(dtype: str) -> float:
    return TOLERANCES.get(getattr(torch, dtype), (0.0, 0.0))[1]
