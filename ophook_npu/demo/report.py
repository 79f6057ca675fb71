"""Print the table that ends the demonstration, from the JSON files that its modes wrote.

usage: python -m ophook_npu.demo.report [--check] ROUTE PLACE LOGS
--check: print nothing but what failed; exit status 1 if something did
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

MODES = ("eager", "torchair", "npugraph_ex")


def results(logs: Path) -> dict[str, dict[str, float]]:
    """Mode -> what it found, for those that wrote something."""
    found: dict[str, dict[str, float]] = {}
    for mode in MODES:
        file = logs / f"{mode}.json"
        found |= json.loads(file.read_text()) if file.exists() else {}
    return found


def failures(found: dict[str, dict[str, float]]) -> list[str]:
    return [f"{mode}: {found.get(mode, 'was not run')}" for mode in MODES if not found.get(mode, {}).get("passed")]


def table(found: dict[str, dict[str, float]], route: str, place: str, soc: str | None = None) -> Table:
    """One row, for modes that all passed."""
    simulated = soc or os.environ.get("OPHOOK_SIM_SOC") or "Ascend910B4"
    made = Table("route", "device", *MODES, "max error", "times")
    times = ", ".join(f"{mode} {found[mode]['seconds']:.1f} s" for mode in MODES)
    worst = max(found[mode]["max_error"] for mode in MODES)
    device = f"simulated {simulated}" if place == "sim" else "NPU"
    made.add_row(route, device, *("[green]pass[/]" for _ in MODES), f"{worst:g}", times)
    return made


def show(made: Table) -> None:
    Console(width=120 if not sys.stdout.isatty() else None).print(made)


def main(arguments: list[str]) -> int:
    check = arguments[:1] == ["--check"]
    route, place, folder = arguments[check:]
    found = results(Path(folder))
    if check:
        for failure in failures(found):
            print(failure)
        return 1 if failures(found) else 0
    show(table(found, route, place))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
