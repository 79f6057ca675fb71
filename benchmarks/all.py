"""What a simulated device costs next to torch on the same processor: one table, of ratios.

    python benchmarks/all.py [--rows attention ...] [--write] [--plot docs/images/performance.svg]

Each row compares two ways in one process that take turns (benchmarks/alternating.py). The ratio is of the processors'
time over all threads; the wall's stands beside it. On a machine where others work the wall says little. `--rows` takes
words of the names of rows. `--write` puts the table into docs/performance.md and its Chinese twin; rows that were not
measured keep what stands there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PAGES = [HERE.parent / "docs" / name for name in ("performance.md", "performance.zh.md")]
BEGIN, END = "<!-- benchmarks/all.py -->", "<!-- end -->"


@dataclass(frozen=True)
class Row:
    name: str
    before: str
    """As it was before anything was done for speed, on another day: ratios only."""
    bar: float
    group: str
    ours: str = "npu"
    theirs: str = "cpu"
    absolute: bool = False
    """The bar is in µs."""
    clock: str = ""
    """The one that the bar is of. Without a name: the processors', where it was measured."""


ROWS = [
    Row("npu_add_custom", "1211", 100, "add", absolute=True, clock="wall"),
    Row("a + b", "2.9", 1.8, "add"),
    Row("aclnnAddCustom", "1211", 75, "core", absolute=True),
    Row("aclnnAdd, both phases", "2.9 for the first", 1.5, "core", absolute=True),
    Row("layer_norm float16", "6.9", 1.3, "operators"),
    Row("layer_norm float16, with gradient", "", 1.3, "operators"),
    Row("layer_norm float32", "1.3", 1.3, "operators"),
    Row("layer_norm float32, with gradient", "", 1.3, "operators"),
    Row("softmax float16", "2.5", 1.3, "operators"),
    Row("softmax float16, with gradient", "", 1.3, "operators"),
    Row("gelu float32", "3.4", 1.3, "operators"),
    Row("gelu float32, with gradient", "", 1.3, "operators"),
    Row("gelu bfloat16", "4.7", 1.3, "operators"),
    Row("gelu bfloat16, with gradient", "", 1.3, "operators"),
    Row("npu_fusion_attention", "2.6 to 4.9", 1.2, "attention"),
    Row("mm bfloat16", "3.7", 1.2, "products"),
    Row("conv2d float32", "1.7", 1.2, "products"),
    Row("conv2d bfloat16", "2.1", 1.2, "products"),
    *(
        Row(f"all_reduce {size}", before, 0.8, "collectives", "hccl", "gloo")
        for size, before in {"1 KB": "", "1 MB": "0.95", "64 MB": "2.2", "256 MB": ""}.items()
    ),
    Row("step of an MLP", "1.7", 1.3, "models"),
    Row("step of a convolutional net", "1.4", 1.15, "models"),
    Row("step of a transformer", "1.05", 1.05, "models"),
    *(
        Row(f"{name} on an add", before, bar, "observers", name, against)
        for name, before, bar, against in [
            ("Stats", "1.19", 1.1, "bare mode"),
            ("Profile", "1.21", 1.1, "bare mode"),
            ("Stats in C++", "1.26", 1.15, "nothing"),
            ("Profile in C++", "1.33", 1.25, "nothing"),
            ("Stats by module", "2.5", 1.5, "bare mode"),
            ("Trace", "5.3", 2.0, "bare mode"),
            ("Validate", "3.1", 1.5, "bare mode"),
        ]
    ),
    Row("Digest of a step", "1.41", 1.2, "observers", "Digest", "nothing"),
    Row("compiled rewrite", "1.021", 1.01, "compiled", "pattern_rewrite", "by hand"),
]


def run(*command: str, **environ: str) -> str:
    every = {**os.environ, "OMP_NUM_THREADS": "1", **environ}
    done = subprocess.run([sys.executable, *command], env=every, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def on_simulator(program: str, *arguments: str, devices: int = 1) -> str:
    how = ("--device", "sim", "--devices", str(devices), "--")
    return run("-m", "ophook_npu", "run", *how, str(HERE / program), *arguments)


Costs = dict[str, dict[str, float]]
"""For each candidate its wall and its cpu in µs, or the one of them that was measured."""


def rows_of(output: str) -> Iterator[tuple[str, Costs]]:
    for line in output.splitlines():
        if line.startswith('["'):
            yield json.loads(line)


def core() -> Iterator[tuple[str, Costs]]:
    import eager_overhead

    from ophook_npu import sim

    custom, plain, add = eager_overhead.in_our_libraries(sim.build())
    yield "aclnnAddCustom", {"npu": {"cpu": custom}, "cpu": {"cpu": plain}}
    yield "aclnnAdd, both phases", {"npu": {"cpu": add}, "cpu": {"cpu": plain}}


def observers() -> Iterator[tuple[str, Costs]]:
    with tempfile.NamedTemporaryFile() as file:
        run(str(HERE / "observe_overhead.py"), "--json", file.name, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        found = json.loads(file.read())
    for table, suffix in (("operator_us", "on an add"), ("step_s", "of a step")):
        costs = {name: {"cpu": value} for name, value in found[table].items()}
        for name in costs:
            yield f"{name} {suffix}", costs


def compiled() -> Iterator[tuple[str, Costs]]:
    program = "import hook_overhead, json; print(json.dumps(hook_overhead.compiled(100)['compiled']))"
    found = json.loads(run("-c", program, TORCH_DEVICE_BACKEND_AUTOLOAD="0", PYTHONPATH=str(HERE)).splitlines()[-1])
    pairs = {"pattern_rewrite": "pattern_rewrite", "by hand": "written with the replacement"}
    yield "compiled rewrite", {name: {"wall": found[key]} for name, key in pairs.items()}


def measured(groups: set[str]) -> dict[str, Costs]:
    found: dict[str, Costs] = {}
    here = [name for name in ("add", "operators", "attention", "products", "models") if name in groups]
    if here:
        found.update(rows_of(on_simulator("through_torch_npu.py", *here)))
    if "collectives" in groups:
        found.update(rows_of(on_simulator("collectives.py", devices=2)))
    for function in (core, observers, compiled):
        if function.__name__ in groups:
            found.update(function())
    return found


def shown(row: Row, costs: Costs) -> tuple[str, str, str]:
    """What it is now by the processors' time and by the wall ("" for the one that was not measured), and whether the
    bar's own clock, or the first of them that was measured, reaches the bar.
    """
    against = [row.theirs, *(name for name in costs if name.startswith(f"{row.theirs} "))]
    ours = costs[row.ours]
    now = {
        clock: ours[clock] / (1 if row.absolute else min(costs[name][clock] for name in against))
        for clock in ("cpu", "wall")
        if clock in ours
    }
    told = {clock: f"{value:.3g} µs" if row.absolute else f"{value:.2f}" for clock, value in now.items()}
    reached = now[row.clock or next(iter(now))] <= row.bar
    return told.get("cpu", ""), told.get("wall", ""), "yes" if reached else "no"


def table(found: dict[str, Costs], kept: dict[str, str]) -> str:
    lines = ["| what | before | now | by the wall | to reach | reached |", "|---|---|---|---|---|---|"]
    for row in ROWS:
        if row.name in found:
            cpu, wall, reached = shown(row, found[row.name])
            unit = " µs" if row.absolute else ""
            before = f"{row.before}{unit}" if row.before[:1].isdigit() and row.before[-1].isdigit() else row.before
            lines.append(f"| {row.name} | {before} | {cpu} | {wall} | {row.bar:g}{unit} | {reached} |")
        elif row.name in kept:
            lines.append(kept[row.name])
    return "\n".join(lines)


def between(page: Path) -> str:
    return page.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0] if page.exists() else ""


def write(text: str) -> None:
    for page in PAGES:
        whole = page.read_text(encoding="utf-8")
        replaced = re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n{END}", whole, flags=re.S)
        page.write_text(replaced, encoding="utf-8")


def plot(text: str, path: str) -> None:
    """A bar for each ratio, over what it was to reach."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    ratios = [(name, float(now or wall), float(bar)) for name, _, now, wall, bar, _ in cells if "µs" not in bar]
    figure, axis = plt.subplots(figsize=(8, 0.28 * len(ratios) + 1))
    names = [name for name, _, _ in ratios]
    colours = ["tab:blue" if now <= bar else "tab:orange" for _, now, bar in ratios]
    axis.barh(names, [now for _, now, _ in ratios], color=colours)
    axis.plot([bar for _, _, bar in ratios], names, "k|", markersize=10)
    axis.axvline(1, color="0.7", linewidth=0.8)
    axis.invert_yaxis()
    axis.set_xlabel("processor time, ours / torch's (a mark: what is to be reached)")
    axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", default=[""], metavar="WORD")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--plot", metavar="FILE", help="needs matplotlib: pip install matplotlib")
    options = parser.parse_args()
    wanted = [row for row in ROWS if any(word in row.name for word in options.rows)]
    if not wanted:
        parser.error(f"no row of these words; the rows: {', '.join(row.name for row in ROWS)}")
    found: dict[str, Costs] = {}
    text = ""
    for group in dict.fromkeys(row.group for row in wanted):
        every = measured({group})
        found |= {row.name: every[row.name] for row in wanted if row.group == group}
        kept = {line.split("|")[1].strip(): line for line in between(PAGES[0]).strip().splitlines()[2:]}
        text = table(found, kept if options.write else {})
        if options.write:
            write(text)
    print(text)
    if options.plot:
        plot(text, options.plot)


if __name__ == "__main__":
    main()
