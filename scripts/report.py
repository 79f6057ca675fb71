"""Print the table that ends run_op_plugin.sh, from the JSON files that run_modes.py had written.

usage: report.py [--check] ROUTE PLACE LOGS     --check: print nothing but what failed; exit status 1 if something did
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

MODES = ("eager", "torchair", "npugraph_ex")


def main(arguments: list[str]) -> int:
    check = arguments[:1] == ["--check"]
    route, place, folder = arguments[check:]
    results: dict[str, dict[str, float]] = {}
    for mode in MODES:
        file = Path(folder) / f"{mode}.json"
        results |= json.loads(file.read_text()) if file.exists() else {}
    if check:
        failed = [mode for mode in MODES if not results.get(mode, {}).get("passed")]
        for mode in failed:
            print(f"{mode}: {results.get(mode, 'was not run')}")
        return 1 if failed else 0
    device = f"simulated {os.environ.get('OPHOOK_SIM_SOC') or 'Ascend910B4'}" if place == "sim" else "NPU"
    table = Table("route", "device", *MODES, "max error", "times")
    times = ", ".join(f"{mode} {results[mode]['seconds']:.1f} s" for mode in MODES)
    worst = max(results[mode]["max_error"] for mode in MODES)
    table.add_row(route, device, *("[green]pass[/]" for _ in MODES), f"{worst:g}", times)
    Console(width=120 if not sys.stdout.isatty() else None).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
