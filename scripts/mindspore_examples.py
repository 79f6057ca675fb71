"""Run the examples in the docstrings of MindSpore's functions on the simulated Ascend, and compare what they print.

    eval "$(ophook-npu env)"; /path/of/mindspores/python scripts/mindspore_examples.py --into results.jsonl [MODULE …]

Each example runs in a process of its own, forked from one that has imported mindspore (2.10, its Ascend wheel for
x86-64). Numbers may differ by 2e-3 of max(1, |number|). A line of JSON a function: how many outputs are equal, what
differs, and the error that ended it; one that prints nothing counts by itself. Many examples do not run anywhere (names
that they do not import, functions of older releases): read what fails before it is counted.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import importlib
import io
import json
import os
import re
import select
import signal
import time
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
MODULES = ("mint", "mint.nn", "mint.nn.functional", "mint.linalg", "mint.special", "ops", "nn")
SECONDS = 60


def equal(wanted: str, got: str) -> bool:
    wanted = wanted.replace("<BLANKLINE>", "")
    if "".join(NUMBER.sub("#", wanted).split()) != "".join(NUMBER.sub("#", got).split()):
        return False
    pairs = zip(map(float, NUMBER.findall(wanted)), map(float, NUMBER.findall(got)), strict=True)
    return all(abs(one - other) <= 2e-3 * max(1, abs(one)) for one, other in pairs)


def examples(modules: list[str]) -> dict[str, str]:
    found = {}
    for module in modules:
        inside = importlib.import_module(f"mindspore.{module}")
        for name in getattr(inside, "__all__", dir(inside)):
            text = getattr(getattr(inside, name, None), "__doc__", None) or ""
            if not name.startswith("_") and ">>>" in text:
                found[f"{module}.{name}"] = text
    return found


def run(text: str, device: str, level: str) -> dict[str, Any]:
    import mindspore
    import numpy

    mindspore.set_device(device)
    if level:
        mindspore.set_context(mode=mindspore.GRAPH_MODE, jit_config={"jit_level": level})
    told: dict[str, Any] = {"equal": 0, "different": []}
    names: dict[str, Any] = {
        "__name__": "__main__",
        "np": numpy,
        "ms": mindspore,
        "mindspore": mindspore,
        "Tensor": mindspore.Tensor,
    }
    for name in ("ops", "nn", "mint"):
        names[name] = importlib.import_module(f"mindspore.{name}")
    for example in doctest.DocTestParser().get_examples(text):
        source = re.sub(r'device_target="\w+"', f'device_target="{device}"', example.source)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                code = compile(source, "<example>", "single")
            except SyntaxError:
                code = compile(source, "<example>", "exec")
            exec(code, names)
        if not example.want.strip():
            continue
        if equal(example.want, printed.getvalue()):
            told["equal"] += 1
        else:
            told["different"].append([example.source, example.want, printed.getvalue()])
    return told


def apart(text: str, device: str, level: str, log: Path) -> dict[str, Any]:
    """The same in a process of its own."""
    back, there = os.pipe()
    child = os.fork()
    if child == 0:
        with log.open("wb") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            try:
                told = run(text, device, level)
            except BaseException as error:
                told = {"error": f"{type(error).__name__}: {error}"}
            os.write(there, json.dumps(told).encode())
        os._exit(0)
    os.close(there)
    until, answer = time.monotonic() + SECONDS, b""
    while (left := until - time.monotonic()) > 0 and select.select([back], [], [], left)[0]:
        part = os.read(back, 1 << 16)
        if not part:
            break
        answer += part
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(back)
    return json.loads(answer) if answer else {"error": f"it ended: {log.read_text(errors='replace')[-300:]}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of mindspore; {' '.join(MODULES)}")
    parser.add_argument("--into", type=Path, required=True, metavar="FILE")
    parser.add_argument("--device", default="Ascend", choices=("Ascend", "CPU"))
    parser.add_argument("--jit-level", default="", choices=("O0", "O1"), help="graph mode; without it PyNative")
    parser.add_argument("--names", default="", metavar="PATTERN")
    options = parser.parse_args()
    counts = {"equal": 0, "silent": 0, "different": 0, "error": 0}
    with options.into.open("w") as file:
        for name, text in sorted(examples(options.modules or list(MODULES)).items()):
            if not re.search(options.names, name):
                continue
            told = apart(text, options.device, options.jit_level, options.into.with_suffix(".log"))
            ended = "different" if told.get("different") else "equal" if told.get("equal") else "silent"
            counts["error" if "error" in told else ended] += 1
            file.write(json.dumps({"name": name, **told}) + "\n")
            file.flush()
    print(*(f"{key} {count}" for key, count in counts.items()), sep=", ")


if __name__ == "__main__":
    main()
