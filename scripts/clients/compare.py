"""How far what a program gave on the device is from what it gave on the CPU."""

from __future__ import annotations

import math
from typing import Any


def difference(got: Any, wanted: Any, where: str = "") -> tuple[float, str]:
    """The largest |got - wanted| / max(1, |wanted|) and where it is; infinite where anything else differs."""
    if isinstance(wanted, bool) or isinstance(got, bool) or isinstance(wanted, str) or wanted is None:
        return (0.0 if got == wanted and type(got) is type(wanted) else math.inf), where
    if isinstance(wanted, int | float):
        if not isinstance(got, int | float):
            return math.inf, where
        if math.isnan(wanted) or math.isnan(got):
            return (0.0 if math.isnan(wanted) and math.isnan(got) else math.inf), where
        if math.isinf(wanted) or math.isinf(got):
            return (0.0 if wanted == got else math.inf), where
        return abs(got - wanted) / max(1.0, abs(wanted)), where
    if isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            return math.inf, where
        pairs = [(g, w, f"{where}[{i}]") for i, (g, w) in enumerate(zip(got, wanted, strict=True))]
    else:
        if not isinstance(got, dict) or set(got) != set(wanted):
            return math.inf, where
        pairs = [(got[name], wanted[name], f"{where}.{name}" if where else name) for name in wanted]
    return max((difference(*pair) for pair in pairs), key=lambda found: found[0], default=(0.0, where))
