"""What a simulated device costs next to torch on the same processor: one table, of ratios.

    python benchmarks/all.py [--rows attention ...] [--write]

Each row compares two ways in one process that take turns (benchmarks/alternating.py). The ratio is of the processors'
time over all threads; the wall's stands beside it. On a machine where others work the wall says little. `--rows` takes
words of the names of rows. `--write` puts the table into docs/performance.md and its Chinese twin, and draws it; rows
that were not measured keep what stands there. The last line says how far apart the machine's cores were meanwhile.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PAGES = [HERE.parent / "docs" / name for name in ("performance.md", "performance.zh.md")]
PICTURE = HERE.parent / "docs" / "images" / "performance.svg"
BEGIN, END = "<!-- benchmarks/all.py -->", "<!-- end -->"
CORES = [  # for each page
    "Between groups of rows, a line of cache went from one core to another and back in {} ns (`round_trip.cpp`).",
    "各组之间测得：一个缓存行从一个核到另一个核再返回需 {} ns（`round_trip.cpp`）。",
]


@dataclass(frozen=True)
class Row:
    name: str
    before: str
    """As it was before anything was done for speed, on another day: ratios only."""
    bar: float
    group: str
    ours: str = "npu"
    theirs: str = "cpu"
    unit: str = ""
    """Of the bar; without one it is a ratio."""
    clock: str = ""
    """The one that the bar is of. Without a name: the processors', where it was measured."""


ROWS = [
    Row("npu_add_custom", "1211", 100, "add", unit="µs", clock="wall"),
    Row("a + b", "2.9", 1.8, "add"),
    Row("aclnnAddCustom", "1211", 75, "core", unit="µs"),
    Row("aclnnAddCustom, without checks", "", 30, "core", unit="µs"),
    Row("aclnnAdd, both phases", "2.9 for the first", 1.5, "core", unit="µs"),
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
    Row("Compare of a step, less its reference", "1.6", 1.3, "observers", "Compare", "nothing"),
    Row("kernel check of AddCustom after an edit", "6 to 20", 3, "edit", unit="s", clock="wall"),
    Row("compiled rewrite", "1.021", 1.01, "compiled", "pattern_rewrite", "by hand"),
]
CLOCKS = {row.name: row.clock for row in ROWS}


def run(*command: str, **environ: str) -> str:
    every = {**os.environ, "OMP_NUM_THREADS": "1", **environ}
    done = subprocess.run([sys.executable, *command], env=every, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def python(program: str) -> str:
    """The last line that it prints, without the simulator."""
    return run("-c", program, TORCH_DEVICE_BACKEND_AUTOLOAD="0", PYTHONPATH=str(HERE)).splitlines()[-1]


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

    custom, plain, add, unchecked = eager_overhead.in_our_libraries(sim.build())
    yield "aclnnAddCustom", {"npu": {"cpu": custom}, "cpu": {"cpu": plain}}
    yield "aclnnAddCustom, without checks", {"npu": {"cpu": unchecked}, "cpu": {"cpu": plain}}
    yield "aclnnAdd, both phases", {"npu": {"cpu": add}, "cpu": {"cpu": plain}}


def observers() -> Iterator[tuple[str, Costs]]:
    names = {name for row in ROWS if row.group == "observers" for name in (row.ours, row.theirs)}
    names |= {"bare mode", "its reference alone"}
    program = f"found = o.costs(27, layers=4, names={names!r}); print(json.dumps([*found, o.compare_alone(found[1])]))"
    adds, step, compare = json.loads(python(f"import observe_overhead as o, json; {program}"))
    for name in adds:
        yield f"{name} on an add", {one: {"cpu": value} for one, value in adds.items()}
    for name in step:
        yield f"{name} of a step", {one: {"cpu": value} for one, value in step.items()}
    costs = {"Compare": {"cpu": compare}, "nothing": {"cpu": step["nothing"]}}
    yield "Compare of a step, less its reference", costs


def edit() -> Iterator[tuple[str, Costs]]:
    import kernel_build

    yield "kernel check of AddCustom after an edit", {"npu": kernel_build.after_an_edit()}


def compiled() -> Iterator[tuple[str, Costs]]:
    found = json.loads(python("import hook_overhead, json; print(json.dumps(hook_overhead.compiled(100)['compiled']))"))
    pairs = {"pattern_rewrite": "pattern_rewrite", "by hand": "written with the replacement"}
    yield "compiled rewrite", {name: {"wall": found[key]} for name, key in pairs.items()}


@contextmanager
def between_cores() -> Iterator[Callable[[], list[int]]]:
    """A function that measures how many ns a line of cache takes from one core to another and back; none where there is
    one core.
    """
    from ophook_npu import toolchain

    if len(os.sched_getaffinity(0)) < 2:
        yield list
        return

    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "round_trip")
        source = str(HERE / "round_trip.cpp")
        subprocess.run([*toolchain.compiler(), "-std=c++20", "-O2", "-pthread", source, "-o", program], check=True)
        yield lambda: [int(subprocess.run([program], capture_output=True, check=True).stdout)]


def measured(groups: set[str]) -> dict[str, Costs]:
    found: dict[str, Costs] = {}
    here = [name for name in ("add", "operators", "attention", "products", "models") if name in groups]
    if here:
        found.update(rows_of(on_simulator("through_torch_npu.py", *here)))
    if "collectives" in groups:
        found.update(rows_of(on_simulator("collectives.py", devices=2)))
    for function in (core, observers, edit, compiled):
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
        clock: ours[clock] / (1 if row.unit else min(costs[name][clock] for name in against))
        for clock in ("cpu", "wall")
        if clock in ours
    }
    told = {clock: f"{value:.3g} {row.unit}" if row.unit else f"{value:.2f}" for clock, value in now.items()}
    reached = now[row.clock or next(iter(now))] <= row.bar
    return told.get("cpu", ""), told.get("wall", ""), "yes" if reached else "no"


def table(found: dict[str, Costs], kept: dict[str, str]) -> str:
    lines = ["| what | before | now | by the wall | to reach | reached |", "|---|---|---|---|---|---|"]
    for row in ROWS:
        if row.name in found:
            cpu, wall, reached = shown(row, found[row.name])
            unit = f" {row.unit}" if row.unit else ""
            before = f"{row.before}{unit}" if row.before[:1].isdigit() and row.before[-1].isdigit() else row.before
            lines.append(f"| {row.name} | {before} | {cpu} | {wall} | {row.bar:g}{unit} | {reached} |")
        elif row.name in kept:
            lines.append(kept[row.name])
    return "\n".join(lines)


def between(page: Path) -> list[str]:
    """The rows that stand there."""
    block = page.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    return [line for line in block.splitlines() if line.startswith("|")][2:]


def apart(trips: list[int]) -> str:
    return f"{min(trips)} to {max(trips)}" if trips else "?"


def write(text: str, trips: list[int]) -> None:
    for page, said in zip(PAGES, CORES, strict=True):
        whole = page.read_text(encoding="utf-8")
        block = "\n".join([BEGIN, text, "", said.format(apart(trips)), END])
        replaced = re.sub(f"{BEGIN}.*{END}", lambda _, block=block: block, whole, flags=re.S)
        page.write_text(replaced, encoding="utf-8")
    PICTURE.write_text(picture(text.splitlines()[2:]), encoding="utf-8")


STYLE = """
text { font: 12px sans-serif; fill: #24292f } .line { stroke: #24292f } .yes { fill: #4c8eda } .no { fill: #e8923a }
@media (prefers-color-scheme: dark) { text { fill: #d0d7de } .line { stroke: #d0d7de } }
"""


def picture(rows: list[str]) -> str:
    """The table as SVG: each row as a part of what is to be reached, which is the line."""
    left, unit, most, step = 280, 110, 3.0, 20
    parts = []
    for number, line in enumerate(rows):
        name, _, cpu, wall, bar, reached = (cell.strip() for cell in line.strip("|").split("|"))
        now = wall if not cpu or CLOCKS[name] == "wall" else cpu
        share = float(now.split()[0]) / float(bar.split()[0])
        y, length = number * step + 30, unit * min(share, most)
        more = " …" if share > most else ""
        parts.append(f'<text x="{left - 8}" y="{y + 11}" text-anchor="end">{html.escape(name)}</text>')
        parts.append(f'<rect class="{reached}" x="{left}" y="{y}" width="{length:.1f}" height="14" rx="2"/>')
        parts.append(f'<text x="{left + max(length, unit) + 6:.1f}" y="{y + 11}">{now}{more} (≤ {bar})</text>')
    height, x = len(parts) // 3 * step + 40, left + unit
    parts.append(f'<line class="line" x1="{x}" x2="{x}" y1="24" y2="{height - 10}" stroke-dasharray="3 3"/>')
    parts.append(f'<text x="{x}" y="16" text-anchor="middle">to be reached</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" width="760" height="{height}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", default=[""], metavar="WORD")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    wanted = [row for row in ROWS if any(word in row.name for word in options.rows)]
    if not wanted:
        parser.error(f"no row of these words; the rows: {', '.join(row.name for row in ROWS)}")
    found: dict[str, Costs] = {}
    with between_cores() as trip:
        trips = trip()
        for group in dict.fromkeys(row.group for row in wanted):
            every = measured({group})
            trips += trip()
            found |= {row.name: every[row.name] for row in wanted if row.group == group}
            kept = {line.split("|")[1].strip(): line for line in between(PAGES[0])}
            text = table(found, kept if options.write else {})
            if options.write:
                write(text, trips)
    print(text, "", CORES[0].format(apart(trips)), sep="\n")


if __name__ == "__main__":
    main()
