#!/usr/bin/env python3
"""Run PyTorch's own device tests, as Ascend/pytorch adapts them to npu, one by one, and write how each ended.

usage: ophook-npu run --device sim --after-failure continue -- scripts/device_tests.py --out DIR CHECKOUT FILE…

On hardware: --device npu.

CHECKOUT is Ascend/pytorch at the release of the torch_npu that is installed; nothing in it is changed or copied. FILE
is below its folder test, such as test_modules.py. DIR gets FILE.jsonl: a line about the run, and a line for each test:
its name, how it ended (pass, fail, skip, disabled, crash, time-out, memory), the seconds and what it said. `disabled`
are the tests that Ascend/pytorch and the wheel themselves list as failing on hardware; --disabled runs these instead.

Tests run in a fork of this process. Where a test ends that fork, or takes longer than it may, the line says so and
the tests after it run in a new one. scripts/device_tests_report.py makes tables of the lines.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import functools
import importlib
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

DISABLED = "unsupported_test_cases/.pytorch-disabled-tests.json"
SKIPPED = "npu test skipped!"  # what the wheel's list of operators' tests says
LOADING = 300  # seconds between tests, as for a file that is imported, or a class that is made ready
TEXT = 20000  # characters that are kept of what a failure says, from its end
Line = dict[str, Any]
Worker = Callable[[IO[str], int], None]  # what a fork does: it writes lines, and has its output in a log


def name_of(test: unittest.TestCase) -> str:
    return f"{type(test).__name__}.{test._testMethodName}"


def tests_in(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_in(test)
        else:
            yield test


def disabled_tests(tests: Path) -> set[str]:
    """Names such as ``TestOptim.test_x_npu``. Entries for an Ascend910A say so and do not count here."""
    path = tests / DISABLED
    if not path.is_file():
        return set()
    names = set()
    for entry, (_, products, *_) in json.loads(path.read_text()).items():
        found = re.fullmatch(r"(\w+) \((?:\S*\.)?(\w+)\)", entry)
        if found and "910A" not in products:
            names.add(f"{found[2].removesuffix('PRIVATEUSE1').removesuffix('NPU')}.{found[1]}")
    return names


def is_disabled(name: str, disabled: set[str]) -> bool:
    """Whether a test, or all its forms for data types, is listed."""
    group, _, method = name.partition(".")
    group = group.removesuffix("PRIVATEUSE1").removesuffix("NPU")
    return f"{group}.{method}" in disabled or f"{group}.{re.sub('_npu(_[a-z0-9]+)?$', '', method)}" in disabled


def told(error: Any) -> str:
    return "".join(traceback.format_exception(*error))


def late_failure() -> str:
    """What a test left on the device, and how that fails: it is this test's and not the next one's."""
    npu = getattr(sys.modules.get("torch"), "npu", None)
    try:
        if npu and npu.is_initialized():
            npu.synchronize()
    except RuntimeError:
        return told(sys.exc_info())
    return ""


class Reporter(unittest.TestResult):
    """Writes a line when a test begins, and one when it ends."""

    def __init__(self, out: IO[str], log: int) -> None:
        super().__init__()
        self.out, self.log = out, log
        self.line: Line = {}

    def say(self, line: Line) -> None:
        self.out.write(json.dumps(line) + "\n")
        self.out.flush()

    def startTest(self, test: unittest.TestCase) -> None:
        os.ftruncate(self.log, 0)
        self.line = {"test": name_of(test), "outcome": "pass", "began": time.monotonic()}
        self.say({"begins": self.line["test"]})

    def stopTest(self, test: unittest.TestCase) -> None:
        late = late_failure()
        if late and self.line["outcome"] in ("pass", "skip"):
            self.failed(test, late)
        self.line["seconds"] = round(time.monotonic() - self.line.pop("began"), 2)
        if self.line["outcome"] == "fail":  # an operator's own message may reach stderr only
            self.line["printed"] = os.pread(self.log, 10**7, 0).decode(errors="replace")[-TEXT:]
        self.say(self.line)

    def failed(self, test: unittest.TestCase, text: str) -> None:
        if hasattr(test, "_testMethodName"):
            self.line |= {"outcome": "fail", "text": text[-TEXT:]}
        else:  # what is done before the tests of a class
            self.say({"class": str(test), "text": text[-TEXT:]})

    def addError(self, test: Any, err: Any) -> None:
        self.failed(test, told(err))

    def addFailure(self, test: Any, err: Any) -> None:
        self.failed(test, told(err))

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self.failed(test, told(err))

    def addSkip(self, test: Any, reason: str) -> None:
        self.line |= {"outcome": "skip", "text": reason}

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.line |= {"outcome": "fail", "text": "passed, though it is marked as one that fails"}


def load(file: Path) -> list[unittest.TestCase]:
    sys.path.insert(0, str(file.parent))
    module = importlib.import_module(file.stem)
    return sorted(tests_in(unittest.defaultTestLoader.loadTestsFromModule(module)), key=name_of)


def lend_names() -> None:
    """A list that test_binary_ufuncs.py wants from torch, and torch 2.13 has no more."""
    from torch.testing._internal import common_methods_invocations as described

    if not hasattr(described, "binary_ufuncs_and_refs"):
        binary = [each for each in described.ops_and_refs if isinstance(each, described.BinaryUfuncInfo)]
        described.binary_ufuncs_and_refs = binary


def without_skips() -> None:
    """Take the wheel's own skips from torch's descriptions of operators."""
    from torch.testing._internal.common_methods_invocations import op_db, python_ref_db
    from torch_npu.testing._npu_testing_utils import skip_list

    for operator in (*op_db, *python_ref_db):
        listed = set(map(id, skip_list.get(operator.name, ())))
        operator.skips = tuple(each for each in operator.skips or () if id(each) not in listed)


def skipped(test: unittest.TestCase) -> bool:
    return getattr(getattr(test, test._testMethodName), "__unittest_skip_why__", "") == SKIPPED


def worker(file: Path, wanted: list[str] | None, disabled: bool, lines: IO[str], log: int) -> None:
    """Tell the names of all tests, and which the wheel skips, or run some of them."""
    try:
        if disabled and wanted:
            without_skips()
        tests = load(file)
    except (Exception, SystemExit):  # as a module that skips itself, or asks for arguments
        lines.write(json.dumps({"class": "the file", "text": traceback.format_exc()[-TEXT:]}) + "\n")
        return
    if wanted is None:
        skips = [name_of(test) for test in tests if skipped(test)]
        lines.write(json.dumps({"names": [name_of(test) for test in tests], "skipped": skips}) + "\n")
        return
    chosen = set(wanted)
    unittest.TestSuite([test for test in tests if name_of(test) in chosen]).run(Reporter(lines, log))


@contextlib.contextmanager
def forked(work: Worker, path: Path) -> Iterator[tuple[int, IO[bytes]]]:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            log = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            os.setpgid(0, 0)
            for stream in (1, 2):
                os.dup2(log, stream)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            faulthandler.enable(file=log)
            with os.fdopen(write, "w") as lines:
                work(lines, log)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb", buffering=0) as lines:
        yield child, lines


def resident(process: int) -> float:
    """GiB of memory."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize() / 2**30
    return 0.0


def run(work: Worker, log: Path, seconds: float, gigabytes: float) -> Iterator[Line]:
    """The lines of one fork; the last is that of the test that ended it, if one did."""
    running, rest, killed = "", b"", ""
    with forked(work, log) as (child, pipe):
        began = time.monotonic()
        while True:
            ready, _, _ = select.select([pipe], [], [], 0.5)
            if ready:
                got = pipe.read(1 << 16)
                if not got:
                    break
                *whole, rest = (rest + got).split(b"\n")
                for text in whole:
                    line = json.loads(text)
                    running, began = line.get("begins", ""), time.monotonic()
                    if "begins" not in line:
                        yield line
            if not killed:
                if time.monotonic() - began > (seconds if running else LOADING):
                    killed = "time-out"
                elif resident(child) > gigabytes:
                    killed = "memory"
                if killed:
                    os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    if running:
        printed = log.read_text(errors="replace")[-TEXT:]
        yield {"test": running, "outcome": killed or "crash", "text": "" if killed else how, "printed": printed}


def run_file(file: Path, given: argparse.Namespace, earlier: dict[str, Line]) -> list[Line]:
    """A line for each test; with earlier ones, only what did not pass then runs."""
    log = given.out / f"{file.stem}.log"

    def lines_of(wanted: list[str] | None) -> Iterator[Line]:
        work = functools.partial(worker, file, wanted, given.disabled)
        return run(work, log, given.seconds, given.gigabytes)

    first = next(lines_of(None), None)
    if first is None or "names" not in first:
        text = first["text"] if first else log.read_text(errors="replace")[-TEXT:]
        return [{"test": "the file", "outcome": "fail", "text": text}]
    names = [name for name in first["names"] if re.search(given.only, name)]
    listed, skips = disabled_tests(file.parent), set(first["skipped"])
    disabled = {name for name in names if name in skips or is_disabled(name, listed)}
    waiting = [name for name in names if (name in disabled) is given.disabled][:: given.every]
    lines = {} if given.disabled else {name: {"test": name, "outcome": "disabled"} for name in disabled}
    if earlier:
        lines = dict(earlier)
        again = {name for name, line in earlier.items() if line["outcome"] not in ("pass", "skip", "disabled")}
        waiting = [name for name in names if name in again]
    while waiting:
        batch, faults = waiting[: given.batch], []
        done = set()
        for line in lines_of(batch):
            if "test" in line:
                lines[line["test"]] = line
                done.add(line["test"])
            else:
                faults.append(line["text"])
            print(f"\r{file.stem}: {len(waiting) - len(done)} to run  ", end="", flush=True, file=sys.stderr)
        if not done:  # the class could not be made ready, or the fork ended before the first test
            text = faults[0] if faults else log.read_text(errors="replace")[-TEXT:]
            lines |= {name: {"test": name, "outcome": "fail", "text": text} for name in batch}
            done = set(batch)
        waiting = [name for name in waiting if name not in done]
    return [lines[name] for name in sorted(lines)]


def about(tests: Path) -> Line:
    import torch
    import torch_npu

    commit = subprocess.run(["git", "-C", tests, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "checkout": commit.stdout.strip() or "of unknown commit",
        "torch": torch.__version__,
        "torch_npu": torch_npu.__version__,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="run every Nth of a file's tests, by name")
    parser.add_argument("--only", default="", metavar="REGEX", help="run the tests with this in their names")
    parser.add_argument("--failed", action="store_true", help="run again what did not pass; keep the other lines")
    parser.add_argument("--disabled", action="store_true", help="run what is listed as failing")
    parser.add_argument("--seconds", type=float, default=60, help="for one test (60)")
    parser.add_argument("--gigabytes", type=float, default=8, help="of memory for one test (8)")
    parser.add_argument("--batch", type=int, default=500, metavar="N", help="tests of one process at most (500)")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("files", nargs="+", metavar="FILE")
    given = parser.parse_args()
    os.environ["PYTORCH_TESTING_DEVICE_ONLY_FOR"] = "privateuse1"
    os.environ["PYTORCH_DISABLE_RUNNING_SCRIPT_CHK"] = "1"  # the files are loaded, not run
    os.environ["PYTORCH_PRINT_REPRO_ON_FAILURE"] = "0"
    os.environ["TORCH_EXTENSIONS_DIR"] = str(given.out.resolve() / "extensions")  # what is killed leaves locks there
    os.environ.setdefault("TASK_QUEUE_ENABLE", "0")  # with torch_npu's queue, a kernel that fails ends the process
    import torch_npu.testing  # noqa: F401  (once for all forks; it opens no device)
    from torch.testing._internal import common_utils

    sys.argv[1:] = []
    common_utils.parse_cmd_line_args()  # its defaults, which a file that is run asks for
    lend_names()

    tests = given.checkout.resolve() / "test"
    given.out = given.out.resolve()
    (given.out / "work").mkdir(parents=True, exist_ok=True)
    os.chdir(given.out / "work")  # what tests write goes here
    header = about(tests) | {"every": given.every, "only": given.only, "disabled": given.disabled}
    for name in given.files:
        file = tests / name
        if not file.is_file():
            parser.error(f"{file} is not there")
        kept = given.out / f"{file.stem}.jsonl"
        earlier = list(map(json.loads, kept.read_text().splitlines())) if given.failed and kept.is_file() else []
        lines = run_file(file, given, {line["test"]: line for line in earlier[1:]})
        if earlier:
            header["every"] = earlier[0]["every"]
        kept.write_text("".join(json.dumps(line) + "\n" for line in [header | {"file": name}, *lines]))
        print(file=sys.stderr)


if __name__ == "__main__":
    main()
