#!/usr/bin/env python3
"""Run generated programs on the CPU and on the simulated Ascend, and tell where the two differ.

usage: scripts/fuzz.py [--seed 0] [--programs 1000 | --minutes 10] [--only N] [--match OP] [--graphs EVERY]
                       [--alias] [--strict-memory] [--check-order] [--out FILE]

A program is one of torch's own operator samples (`torch.testing._internal`), drawn by its number and the seed: an
operator, a data type, a form (the function, its in-place method, `out=`), and for each tensor a layout (as it is,
transposed in memory, with gaps, at an offset, expanded); with --alias also tensors, and results of `out=`, that lie in
the memory of the first tensor: they are it, or a view of its memory in another order. With --graphs, every so manyth
program also runs compiled, by torchair and by npugraph_ex. Programs run in one process, which is started anew when a
program ends it.

Verdicts: `equal` (floats that differ are compared with float64); `both` (CPU and npu refuse); `refused` (npu refuses at
the call, as a rule or torch_npu says); `taken` (npu takes what the CPU refuses); `no program` (what was drawn cannot be
made); and the bad ones: `late` (accepted, then failed on the device), `wrong`, `race` (with --check-order: nothing
orders two accesses to the same memory), `crash`, `hang`. A bad program is made smaller by taking away what is not
needed for it, and is told with the command that runs it alone. The status is 1 where a bad program is not in
scripts/fuzz_known.txt: lines of `operator verdict reason`. Programs that once differed stand in scripts/fuzz_found.txt,
each with the verdict that it has to get; tests/sim/test_fuzz.py runs them again.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import copy
import dataclasses
import json
import math
import os
import random
import re
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).resolve()
KNOWN = HERE.with_name("fuzz_known.txt")
FOUND = HERE.with_name("fuzz_found.txt")
BAD = ("late", "wrong", "race", "crash", "hang")
LAYOUTS = ("as it is", "transposed", "gaps", "offset", "expanded")
ALIASES = ("the first", "overlaps the first")
FORMS = ("function", "in place", "out=")
DTYPES = ("float32", "float16", "bfloat16", "int32", "int64", "bool", "uint8", "int8", "int16", "complex64")
SECONDS = 120  # for one program

# Words of the names of what gives other values each time, or is free to: shapes and data types are compared.
FREE = frozenset(
    {"rand", "randn", "randint", "normal", "bernoulli", "multinomial", "dropout", "dropout2d", "dropout3d", "empty",
     "exponential", "geometric", "cauchy", "uniform", "rrelu", "fractional", "svd", "eig", "eigh", "qr", "geqrf", "lu",
     "lobpcg", "lstsq", "lowrank"}
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Program:
    number: int
    op: str
    variant: str
    dtype: str
    sample: int
    form: str
    layouts: tuple[str, ...]

    def __str__(self) -> str:
        name = f"{self.op}.{self.variant}" if self.variant else self.op
        layouts = ", ".join(self.layouts)
        return f"{name} of {self.dtype}, sample {self.sample}, {self.form}, tensors: {layouts or 'none'}"

    @classmethod
    def told(cls, text: str) -> Program:
        """The program that `str` tells."""
        what, sample, form, tensors = re.split(", sample |, (?=[^,]*, tensors)|, tensors: ", text)
        name, _, dtype = what.rpartition(" of ")
        return cls(0, name, "", dtype, int(sample), form, () if tensors == "none" else tuple(tensors.split(", ")))


def main(
    worker: Callable[[argparse.Namespace], Worker] | None = None, doc: str | None = __doc__, **more: dict[str, Any]
) -> int:
    """`more`: options of a script that runs a worker of its own."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--minutes", type=float, help="as many programs as this time allows")
    parser.add_argument("--only", type=int, metavar="N", help="program N alone, and how it looks")
    parser.add_argument("--match", default="", metavar="OP", help="operators whose name has this word")
    parser.add_argument("--graphs", type=int, default=0, metavar="EVERY", help="every so manyth program in graphs, too")
    parser.add_argument("--alias", action="store_true", help="half of the programs with tensors in one memory")
    parser.add_argument("--strict-memory", action="store_true", help="as of `ophook-npu run`")
    parser.add_argument("--check-order", action="store_true", help="each program under the check of order")
    parser.add_argument("--out", type=Path, help="a JSON line for each program")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    for name, asked in more.items():
        parser.add_argument(f"--{name}", **asked)
    options = parser.parse_args()
    if options.worker is not None:
        (worker or Worker)(options).run(options.worker)
        return 0
    return fuzz(options)


# The process that starts others


def fuzz(options: argparse.Namespace) -> int:
    known = {tuple(line.split()[:2]) for line in KNOWN.read_text().splitlines() if line and line[0] != "#"}
    counts: collections.Counter[str] = collections.Counter()
    graphs: collections.Counter[str] = collections.Counter()
    bad: list[dict[str, Any]] = []
    out = options.out.open("w") if options.out else None
    print(f"seed {options.seed}", flush=True)
    for record in records(options):
        counts[record["verdict"]] += 1
        graphs.update(f"{backend} {how}" for backend, how in record.get("graphs", {}).items())
        if out:
            print(json.dumps(record), file=out, flush=True)
        if options.only is not None or record["verdict"] in BAD:
            listed = (record["op"], record["verdict"]) in known
            print(
                f"{record['verdict']}{' (known)' if listed else ''}: {record['program']}\n  {record['why']}", flush=True
            )
            print(
                f"  scripts/{HERE.name} --seed {options.seed} --only {record['number']}{matched(options)}", flush=True
            )
            if not listed and record["verdict"] in BAD:
                bad.append(record)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    if graphs:
        print("graphs: " + ", ".join(f"{count} {how}" for how, count in graphs.most_common()))
    print(f"{len(bad)} programs differ and are not in {KNOWN.name}" if bad else "no program differs that is not known")
    return 1 if bad else 0


def matched(options: argparse.Namespace) -> str:
    return "".join(f" {one}" for one in more_options(options))


def more_options(options: argparse.Namespace) -> list[str]:
    """What changes the programs or how they run, beside the seed and the number."""
    more = ["--match", options.match] if options.match else []
    more += ["--examples", str(options.examples)] if "examples" in options else []  # of fuzz_schemas.py
    return more + [
        f"--{one}" for one in ("alias", "strict-memory", "check-order") if getattr(options, one.replace("-", "_"))
    ]


def records(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    first = 0 if options.only is None else options.only
    last = options.programs if options.only is None else options.only + 1
    end = time.monotonic() + options.minutes * 60 if options.minutes else None
    if end is not None:
        last = 1 << 40
    while first < last and (end is None or time.monotonic() < end):
        process = start(options, first, last)
        assert process.stdout is not None
        running: dict[str, Any] | None = None
        try:
            for line in lines(process.stdout):
                record = json.loads(line)
                if record["verdict"] == "runs":
                    running = record
                    continue
                running, first = None, record["number"] + 1
                yield record
                if end is not None and time.monotonic() > end:
                    return
        except TimeoutError:
            assert running is not None
            verdict = running.get("ends", "hang")
            yield running | {"verdict": verdict, "why": f"it had not ended after {SECONDS} s"}
            first, running = running["number"] + 1, None
        finally:
            process.kill()
            status = process.wait()
        if running is not None:
            yield running | {"verdict": running.get("ends", "crash"), "why": f"the process ended with status {status}"}
            first = running["number"] + 1
        elif first < last and status > 0:
            raise SystemExit(f"fuzz: the programs' process does not start (status {status})")


def start(options: argparse.Namespace, first: int, last: int) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "ophook_npu",
        "run",
        "--device",
        "sim",
        "--after-failure",
        "continue",
        *(["--strict-memory"] if options.strict_memory else []),
        "--",
        str(HERE),
        "--worker",
        str(first),
    ]
    command += ["--seed", str(options.seed), "--programs", str(last), "--graphs", str(options.graphs)]
    command += more_options(options)
    queue = {"TASK_QUEUE_ENABLE": "0"} if options.check_order else {}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1", **queue})


def lines(stream: IO[bytes]) -> Iterator[str]:
    """Raises TimeoutError where a line does not come within the time of a program."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        rest, seconds = b"", 5 * SECONDS  # until it has started
        while True:
            if not selector.select(seconds):
                raise TimeoutError
            if not (piece := os.read(stream.fileno(), 1 << 16)):
                return
            *whole, rest = (rest + piece).split(b"\n")
            seconds = SECONDS
            for line in whole:
                if line.startswith(b"{"):  # torch_npu and graphs print, too
                    yield line.decode()


# The process that runs programs


class Worker:
    def __init__(self, options: argparse.Namespace) -> None:
        import torch
        import torch_npu  # noqa: F401
        from torch.testing._internal.common_methods_invocations import op_db

        self.torch, self.options = torch, options
        self.ops = [op for op in op_db if options.match in op.name and not op.name.startswith("_refs")]
        self.cache: dict[tuple[str, str, str], list[Any]] = {}
        self.ended = False  # torch_npu runs nothing more in this process
        self.graphs: dict[str, str] = {}  # of the program that runs: what became of each graph

    def run(self, first: int) -> None:
        import warnings

        warnings.simplefilter("ignore")
        for number in range(first, self.options.programs):
            program = self.draw(number)
            if program is None:
                continue
            told = {"number": number, "program": str(program), "op": program.op, "why": ""}
            self.graphs = {}
            print(json.dumps(told | {"verdict": "runs"}), flush=True)
            try:
                verdict, why = self.judge(program)
                if verdict in BAD:
                    program, why = self.smaller(program, verdict, why)
            except NoProgram as error:
                verdict, why = "no program", first_line(error)
            told |= {"program": str(program), "verdict": verdict, "why": why, "graphs": self.graphs}
            print(json.dumps(told), flush=True)
            if self.ended:
                return

    def draw(self, number: int) -> Program | None:
        rng = random.Random(f"{self.options.seed} {number}")
        op = rng.choice(self.ops)
        here = {str(dtype).removeprefix("torch.") for dtype in op.supported_dtypes("cpu")}
        dtypes = [dtype for dtype in DTYPES if dtype in here]
        if not dtypes:
            return None
        dtype = rng.choice(dtypes)
        samples = self.samples(op, dtype)
        if not samples:
            return None
        index = rng.randrange(len(samples))
        tensors = list(tensors_of(self.torch, samples[index]))
        forms = [FORMS[0]] + [FORMS[1]] * (op.inplace_variant is not None) + [FORMS[2]] * bool(op.supports_out)
        layouts = tuple(rng.choice((LAYOUTS[0], *LAYOUTS)) for _ in tensors)
        form = rng.choice(forms)
        if self.options.alias and (places := [*range(1, len(layouts) + (form == FORMS[2]))]) and rng.random() < 0.5:
            place, more = rng.choice(places), (*layouts, LAYOUTS[0])
            layouts = (*more[:place], rng.choice(ALIASES), *layouts[place + 1 :])
        return Program(number, op.name, op.variant_test_name, dtype, index, form, layouts)

    def samples(self, op: Any, dtype: str) -> list[Any]:
        key = (op.name, op.variant_test_name, dtype)
        if key not in self.cache:
            self.torch.manual_seed(0)
            try:
                found = list(op.sample_inputs("cpu", getattr(self.torch, dtype), requires_grad=False))
            except Exception:
                found = []
            self.cache[key] = found
        return self.cache[key]

    def op(self, program: Program) -> Any:
        """A program that was read has its variant in the name of its operator."""
        name = f"{program.op}.{program.variant}".rstrip(".")
        return next(op for op in self.ops if name == f"{op.name}.{op.variant_test_name}".rstrip("."))

    def sample(self, program: Program) -> Any:
        return self.samples(self.op(program), program.dtype)[program.sample]

    def judge(self, program: Program) -> tuple[str, str]:
        if not self.options.check_order:
            return self.compared(program)
        from ophook_npu.sim import check_order

        with check_order() as found:
            verdict, why = self.compared(program)
        return ("race", first_line(found.races[0])) if found.races else (verdict, why)

    def compared(self, program: Program) -> tuple[str, str]:
        cpu = self.outcome(program, "cpu")
        npu = self.outcome(program, "npu")
        if npu[0] == "late":
            return ("both", "") if cpu[0] == "refused" else ("late", npu[1])
        if npu[0] == "refused":
            return ("both" if cpu[0] == "refused" else "refused"), npu[1]
        if cpu[0] == "refused":
            return "taken", cpu[1]
        difference = self.difference(program, cpu[1], npu[1])
        if difference and program.form == FORMS[1] and program.layouts[:1] == (LAYOUTS[4],):
            raise NoProgram("numbers of an expanded tensor share their place, and nothing says which is written last")
        if difference and program.form != FORMS[0] and not set(ALIASES).isdisjoint(program.layouts):
            apart = tuple(LAYOUTS[0] if one in ALIASES else one for one in program.layouts)
            alone = self.outcome(dataclasses.replace(program, layouts=apart), "cpu")
            if alone[0] != "done" or self.difference(program, alone[1][:1], cpu[1][:1]):
                raise NoProgram("it reads what it writes, and nothing says in which order")
        if difference:
            return "wrong", difference
        if self.options.graphs and program.number % self.options.graphs == 0 and program.form == FORMS[0]:
            for backend in ("torchair", "npugraph_ex"):
                graph = self.outcome(program, "npu", backend)
                self.graphs[backend] = graph[0]
                if graph[0] == "done" and (difference := self.difference(program, npu[1], graph[1])):
                    return "wrong", f"{backend}: {difference}"
                if graph[0] == "late":
                    return "late", f"{backend}: {graph[1]}"
        return "equal", ""

    def outcome(self, program: Program, device: str, backend: str = "", wide: bool = False) -> tuple[str, Any]:
        """`done` with the results on the CPU, `refused` or `late` with the message."""
        try:
            call, arguments = self.call(program, device, wide)
            if device == "npu":
                self.torch.npu.synchronize()
        except Exception as error:  # the tensors cannot be laid so, or not on npu: a sparse one, one of float64
            raise NoProgram(str(error)) from error
        if backend:
            self.torch._dynamo.reset()
            call = self.torch.compile(call, backend=graph_backend(backend), dynamic=False)
        result: Any = None
        refused = ""
        try:
            result = call(arguments)
        except Exception as error:
            refused = first_line(error)
        try:
            if device == "npu":
                self.torch.npu.synchronize()
        except Exception as error:
            self.settle()
            # torch_npu calls an operator by its type (aclop) behind the caller's back, where it is refused, too; and
            # runs nothing more, for which another process is needed.
            self.ended = "aclop operator" in str(error)
            return "refused" if self.ended else "late", first_line(error)
        if refused:
            return "refused", refused
        try:
            return "done", self.results(result, arguments)
        except Exception as error:  # there is no copy of such a tensor to the CPU
            return "refused", first_line(error)

    def results(self, result: Any, arguments: Arguments) -> list[Any]:
        return [tensor.detach().cpu() for tensor in flat(self.torch, [result, arguments.inputs])]

    def settle(self) -> None:
        with contextlib.suppress(Exception):
            self.torch.npu.synchronize()

    def call(self, program: Program, device: str, wide: bool = False) -> tuple[Callable[[Arguments], Any], Arguments]:
        op, sample = self.op(program), self.sample(program)
        if sample.kwargs.get("max_norm") and LAYOUTS[4] in program.layouts:
            raise NoProgram("rows of an expanded weight are renormalised in place, and all are the same row")
        laid = iter(program.layouts)
        moved: list[Any] = []

        def move(value: Any) -> Any:
            if isinstance(value, self.torch.Tensor):
                value = value.detach().double() if wide and value.is_floating_point() else value.detach()
                layout = next(laid, LAYOUTS[0])
                shared = share(self.torch, value, moved[0], layout) if layout in ALIASES and moved else None
                moved.append(lay(self.torch, value, layout, device) if shared is None else shared)
                return moved[-1]
            if isinstance(value, (list, tuple)):
                return type(value)(move(one) for one in value) if type(value) in (list, tuple) else value
            if isinstance(value, dict):
                return {name: move(one) for name, one in value.items()}
            if isinstance(value, self.torch.device) or value == "cpu":
                return device
            return value

        first, args, kwargs = move(sample.input), move(list(sample.args)), move(dict(sample.kwargs))
        function = op.inplace_variant if program.form == FORMS[1] else op.op
        if program.form == FORMS[2]:
            # Some write into their arguments, as running statistics.
            one, more, named = copy.deepcopy((sample.input, sample.args, sample.kwargs))
            plain = op.op(one, *more, **named)
            if isinstance(plain, self.torch.Tensor):
                kwargs["out"] = move(self.torch.zeros_like(plain))

        def run(given: Arguments) -> Any:
            self.torch.manual_seed(1)
            return function(given.inputs[0], *given.inputs[1], **given.inputs[2])

        return run, Arguments((first, args, kwargs))

    def difference(self, program: Program, expected: list[Any], found: list[Any]) -> str:
        if len(expected) != len(found):
            return f"{len(found)} tensors instead of {len(expected)}"
        free = not FREE.isdisjoint(re.split(r"[._]", program.op)) or self.drops_out(program)
        for place, (a, b) in enumerate(zip(expected, found, strict=True)):
            if a.shape != b.shape or a.dtype != b.dtype:
                return f"tensor {place} is {list(b.shape)} of {b.dtype}, on the CPU {list(a.shape)} of {a.dtype}"
            if free or not a.numel():
                continue
            try:
                self.torch.testing.assert_close(b, a, equal_nan=True, **self.tolerance(a))
            except AssertionError as error:
                if self.as_near(program, place, a, b):
                    continue
                return f"tensor {place}: " + "; ".join(str(error).split("\n")[1:4]).replace("; ;", ";").strip("; ")
        return ""

    def drops_out(self, program: Program) -> bool:
        sample = self.sample(program)
        named = [value for name, value in sample.kwargs.items() if name in ("dropout_p", "dropout_prob")]
        return any(named) or program.op == "nn.functional.multi_head_attention_forward"

    def as_near(self, program: Program, place: int, cpu: Any, npu: Any) -> bool:
        """Whether both are about as far from what the operator gives with float64: they round elsewhere."""
        if not cpu.is_floating_point():
            return False
        exact = self.outcome(program, "cpu", wide=True)
        if exact[0] != "done" or len(exact[1]) <= place or exact[1][place].shape != cpu.shape:
            return False
        off = [(one.double() - exact[1][place]).abs().nan_to_num(0.0).max().item() for one in (cpu, npu)]
        same = bool((cpu.isfinite() == npu.isfinite()).all())
        return same and off[1] <= 2 * off[0]

    def tolerance(self, tensor: Any) -> dict[str, float]:
        """Numbers of 16 bits are compared more widely: CPU and NPU both round what they hold in between elsewhere."""
        bits = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 2e-4, "complex64": 2e-4, "complex32": 2e-2}
        wide = bits.get(str(tensor.dtype).removeprefix("torch."), 0.0)
        return {"rtol": wide, "atol": wide}

    def smaller(self, program: Program, verdict: str, why: str) -> tuple[Program, str]:
        """The same verdict with as few layouts and as plain a form as show it."""
        for place, layout in enumerate(program.layouts):
            if layout == LAYOUTS[0]:
                continue
            layouts = (*program.layouts[:place], LAYOUTS[0], *program.layouts[place + 1 :])
            trial = dataclasses.replace(program, layouts=layouts)
            found, reason = self.judge(trial)
            if found == verdict:
                program, why = trial, reason
        if program.form != FORMS[0]:
            trial = dataclasses.replace(program, form=FORMS[0])
            found, reason = self.judge(trial)
            if found == verdict:
                program, why = trial, reason
        return program, f"{why} [{', '.join(self.shapes(program))}]"

    def shapes(self, program: Program) -> list[str]:
        _, arguments = self.call(program, "cpu")
        return [f"{list(t.shape)} strides {list(t.stride())}" for t in flat(self.torch, arguments.inputs)][:4]


class NoProgram(Exception):
    """What was drawn is no program: its tensors cannot be made."""


@dataclasses.dataclass
class Arguments:
    inputs: tuple[Any, list[Any], dict[str, Any]]


def graph_backend(name: str) -> Any:
    if name == "npugraph_ex":
        return name
    import torchair

    return torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())


def lay(torch: Any, value: Any, layout: str, device: str) -> Any:
    """The tensor's values on the device, in memory as the layout says."""
    there = value.to(device, copy=True)  # as_strided would read what lies beside a view on the CPU
    if layout == "transposed" and value.dim() >= 2:
        return there.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "gaps" and value.dim() >= 1:
        wide = torch.zeros(*value.shape[:-1], value.shape[-1] * 2, dtype=value.dtype, device=device)
        wide[..., ::2] = there
        return wide[..., ::2]
    if layout == "offset" and value.is_contiguous():
        flat = torch.zeros(value.numel() + 3, dtype=value.dtype, device=device)
        flat[3:] = there.reshape(-1)
        return flat[3:].view(value.shape)
    if layout == "expanded" and value.dim() >= 1 and value.shape[0] > 1:
        return there[:1].expand_as(there)
    return there.clone()


def share(torch: Any, value: Any, first: Any, how: str) -> Any:
    """A tensor of the value's shape in the memory of another; None where that has another type or no room."""
    if value.dtype != first.dtype or not value.numel() or not (value.is_floating_point() or value.is_complex()):
        return None
    if how == ALIASES[0]:
        return first if value.shape == first.shape else None
    room = first.untyped_storage().nbytes() // first.element_size()
    strides = [math.prod(value.shape[:place]) for place in range(value.dim())]
    return first.as_strided(value.shape, strides, room - value.numel()) if value.numel() <= room else None


def tensors_of(torch: Any, sample: Any) -> Iterator[Any]:
    return flat(torch, (sample.input, sample.args, sample.kwargs))


def flat(torch: Any, value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from flat(torch, one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from flat(torch, one)


def first_line(error: object) -> str:
    text = [line for line in str(error).splitlines() if line.strip()]
    told = next((line for line in text if "[simulated" in line), text[0] if text else "")
    return f"{type(error).__name__}: {told.strip()}"[:300]


if __name__ == "__main__":
    sys.exit(main())
