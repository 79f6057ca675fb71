"""Convert the models of ONNX's own backend tests, run them on the simulated Ascend, and compare with what they expect.

    ophook-npu run --device sim -- scripts/onnx_backend.py                       # all that need no network
    ophook-npu run --device sim -- scripts/onnx_backend.py --only Conv Gemm      # the models that have such a node
    ophook-npu run --device sim -- scripts/onnx_backend.py --opsets cann         # refused as CANN refuses other opsets
    ophook-npu run --device sim -- scripts/onnx_backend.py --log LOG --tests test_relu test_abs

The tests come with the package onnx: models of one operator, of a few, and those that PyTorch once exported. Any opset
is converted, unless --opsets says otherwise: most of these models have a later one than CANN takes. An input that has
to be a constant becomes one, with the value that the test feeds.

A test is equal; or drawn, when its model draws numbers, of which only the data type and the shape are compared; or
refused while the model is converted, by an error of atc; or refused by the engine, when it compiles the graph or runs
it; or it differs. The table has a line for each operator: the model's only one, or that which its
name has. A process that ends in a test is started again behind it. Exit status: 0 no test differs, 1 some do.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
EQUAL, DRAWN, REFUSED, ENGINE, DIFFERS = "equal", "drawn", "refused", "refused by the engine", "differs"
# Two of the last places: the tests' values are computed in these types step by step.
_ULPS = {"bfloat16": 2**-6, "float16": 2**-9}
_STATES = (EQUAL, DRAWN, REFUSED, ENGINE, DIFFERS)
_DRAWING = ["Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"]


def cases() -> dict[str, Any]:
    """Every test by its name."""
    from onnx.backend.test import loader

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cases are computed when they are loaded, with overflows on purpose
        return {one.name: one for kind in KINDS for one in loader.load_model_tests(kind=kind)}


def model_of(case: Any) -> Any:
    import onnx

    return case.model if case.model is not None else onnx.load(os.path.join(case.model_dir, "model.onnx"))


def operator_of(case: Any) -> str:
    """What the test is about: its only operator, or the one that its name has."""
    import onnx

    nodes = model_of(case).graph.node
    named = case.name.removeprefix("test_").replace("_", "").lower()
    types = list(dict.fromkeys(node.op_type for node in nodes))
    known = {one.name for one in onnx.defs.get_all_schemas_with_history()}
    fit = [one for one in {*types, *known} if named.startswith(one.lower())]
    if len(types) == 1 or not fit:
        return types[0] if types else "none"
    return max(fit, key=len)


def data_of(case: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    """Inputs and outputs of each set, as messages or as arrays."""
    import onnx

    if case.data_sets is not None:
        yield from case.data_sets
        return
    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        sets = []
        for kind in ("input", "output"):
            files = sorted(folder.glob(f"{kind}_*.pb"), key=lambda one: int(one.stem.partition("_")[2]))
            sets.append([onnx.TensorProto.FromString(one.read_bytes()) for one in files])
        yield sets[0], sets[1]


def array_of(value: Any) -> Any:
    import onnx

    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def frozen(model: Any, name: str, inputs: list[Any]) -> list[Any]:
    """Makes an input of the model a constant; the inputs that are left."""
    import onnx

    names = [one.name for one in model.graph.input]
    place = names.index(name)
    model.graph.initializer.append(onnx.numpy_helper.from_array(array_of(inputs[place]), name))
    del model.graph.input[place]
    return [*inputs[:place], *inputs[place + 1 :]]


def converted(model: Any, inputs: list[Any], opsets: Any) -> tuple[Any, list[Any]]:
    """The graph, and its inputs: those that have to be constants are made so, one after the other."""
    from ophook_npu.sim.atc.errors import AtcError
    from ophook_npu.sim.atc.onnx_graph import graph_of

    while True:
        try:
            return graph_of(model, opsets=opsets), inputs
        except AtcError as error:
            missing = re.search(r"has to be a constant, '(.*)' is none", error.text)
            free = [one.name for one in model.graph.input if one.name not in {i.name for i in model.graph.initializer}]
            if missing is None or missing[1] not in free or len(free) == 1:
                raise
            inputs = frozen(model, missing[1], inputs)


def draws(model: Any) -> bool:
    return any(node.op_type in _DRAWING for node in model.graph.node)


def judged(case: Any, opsets: Any) -> tuple[str, str]:
    """What became of a test, and why."""
    import onnx
    from offline import graph_run

    from ophook_npu.sim.atc.errors import AtcError

    drawn = draws(model_of(case))
    for inputs, expected in data_of(case):
        model = onnx.ModelProto()
        model.CopyFrom(model_of(case))
        try:
            graph, fed = converted(model, list(inputs), opsets)
        except AtcError as error:
            return REFUSED, str(error)
        try:
            results = graph_run(graph, *(array_of(one) for one in fed))
        except RuntimeError as error:
            return ENGINE, str(error)
        for found, value in zip(results, expected, strict=True):
            wanted = array_of(value)
            if found.dtype != wanted.dtype or found.shape != wanted.shape:
                return DIFFERS, f"{found.dtype}{list(found.shape)}, expected {wanted.dtype}{list(wanted.shape)}"
            kind = np.float64 if wanted.dtype.kind not in "biuc" else wanted.dtype
            relative = max(case.rtol, _ULPS.get(wanted.dtype.name, 0))
            near = np.isclose(found.astype(kind), wanted.astype(kind), relative, case.atol, equal_nan=True)
            if not near.all() and not drawn:
                return DIFFERS, f"{found[~near][:4]}, expected {wanted[~near][:4]}"
    return DRAWN if drawn else EQUAL, ""


def work(names: list[str], opsets: Any) -> None:
    """In a process of its own: a line before each test and one behind it."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "sim"))
    all_cases = cases()
    for name in names:
        print(json.dumps([name]), flush=True)
        try:
            became, why = judged(all_cases[name], opsets)
        except Exception as error:
            became, why = DIFFERS, f"{type(error).__name__}: {error}"
        print(json.dumps([name, became, why]), flush=True)


def results_of(names: list[str], given: argparse.Namespace) -> dict[str, tuple[str, str]]:
    results: dict[str, tuple[str, str]] = {}
    while missing := [name for name in names if name not in results]:
        command = [sys.executable, __file__, "--opsets", given.opsets, "--work"]
        environ = dict(os.environ) | {"OPHOOK_SIM_AFTER_FAILURE": "continue"}
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ
        ) as started:
            assert started.stdin and started.stdout
            started.stdin.write("\n".join(missing))
            started.stdin.close()
            begun = missing[0]
            for line in started.stdout:
                if not line.startswith("["):
                    continue
                name, *told = json.loads(line)
                begun = name
                if told:
                    results[name] = (told[0], told[1])
        if started.returncode and begun not in results:
            results[begun] = (DIFFERS, f"the process ended with {started.returncode}")
    return results


def table(results: dict[str, tuple[str, str]], operators: dict[str, str]) -> str:
    lines = [f"| operator | {' | '.join(_STATES)} | what |", "|---|" + "---|" * (len(_STATES) + 1)]
    for operator in sorted({operators[name] for name in results}):
        own = {name: results[name] for name in results if operators[name] == operator}
        count = Counter(became for became, _ in own.values())
        whys = dict.fromkeys(why.splitlines()[0] for became, why in own.values() if became != EQUAL and why)
        cells = [str(count[state]) for state in _STATES]
        shown = "<br>".join(list(whys)[:2]).replace("|", "\\|")
        lines.append(f"| {operator} | {' | '.join(cells)} | {shown or '–'} |")
    total = Counter(became for became, _ in results.values())
    lines += ["", ", ".join(f"{total[state]} {state}" for state in _STATES) + f"; of {len(results)} tests"]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="OPERATOR", help="the models with a node of these")
    parser.add_argument("--tests", nargs="+", metavar="TEST", help="these tests")
    parser.add_argument("--opsets", choices=("any", "cann"), default="any")
    parser.add_argument("--log", type=Path, help="a line for each test that is not equal")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    opsets = range(1, 1000) if given.opsets == "any" else range(8, 19)
    if given.work:
        work(sys.stdin.read().split("\n"), opsets)
        return 0
    found = cases()
    names = given.tests or list(found)
    if given.only:
        names = [n for n in names if {node.op_type for node in model_of(found[n]).graph.node} & set(given.only)]
    results = results_of(names, given)
    if given.log:
        told = [f"{name}\t{became}\t{why!r}" for name, (became, why) in results.items() if became != EQUAL]
        given.log.write_text("\n".join(told) + "\n", encoding="utf-8")
    print(table(results, {name: operator_of(found[name]) for name in results}))
    return 1 if any(became == DIFFERS for became, _ in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
