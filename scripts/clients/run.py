"""Run the cases of projects as scripts/clients/NAME.toml has them, compare with the CPU, and write the table.

A case:
    name      for --case
    ran       what is run, for the table
    command   started in a folder of its own; {programs} is examples/clients, {out} a file that gets
              results as JSON, {sources} the unpacked source distribution that the file names under `sources`,
              {NAME} the checkout of `[checkout.NAME]`, which has the git repository's `address`, `commit`, and `shown`
    cpu       the command on the CPU, where it is another; "none": nothing to compare, the program checks itself
    devices   how many; 1 by default
    within    largest difference from the CPU's results, of max(1, |value|)
    says      a pattern that the output has, where exit status 0 is not all; its groups go into `ran` as {0}, {1} …
    stops     a pattern that the output has when the case stops where it is known to stop
    cause     then: where, why, and whose limit it is
    limit     seconds; 600 by default
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import env
import table
from compare import difference

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # of pytest, before Python has one

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE.parents[1] / "examples" / "clients"
_KEYS = {"name", "ran", "command", "cpu", "devices", "within", "says", "stops", "cause", "limit", "note"}


_OWN = "its own checks pass"


@dataclass
class Case:
    name: str
    ran: str
    command: str
    cpu: str = ""
    devices: int = 1
    within: float | None = None
    says: str = ""
    stops: str = ""
    cause: str = ""
    limit: int = 600
    note: str = ""

    @property
    def compared(self) -> bool:
        return self.within is not None

    @property
    def bound(self) -> str:
        return f"within {self.within:.0e}".replace("e-0", "e-")

    def earlier(self, rows: list[dict[str, str]]) -> dict[str, str] | None:
        """What an earlier run gave, where it was what is recorded now."""
        equal = f"yes, {self.bound}" if self.compared else "–" if self.stops else _OWN
        ran = re.sub(r"\\\{\d+\\\}", ".+", re.escape(self.ran))  # what `says` found takes the place of {0}
        wanted = {"equal": equal, "stops": self.cause or self.note or "–"}
        return next((row for row in rows if re.fullmatch(ran, row["ran"]) and {**row, **wanted} == row), None)


def cases(file: Path) -> tuple[dict[str, Any], list[Case]]:
    """A project's file.

    Raises:
        table.Unusable: a key is unknown, or a case says neither what to compare nor that there is nothing.
    """
    told = tomllib.loads(file.read_text(encoding="utf-8"))
    found = []
    for case in told.pop("case"):
        unknown = set(case) - _KEYS
        if unknown:
            raise table.Unusable(f"{file.name}: {case.get('name')}: unknown {', '.join(sorted(unknown))}")
        made = Case(**case)
        if bool(made.stops) != bool(made.cause):
            raise table.Unusable(f"{file.name}: {made.name}: stops and cause belong together")
        if not made.stops and made.compared == (made.cpu == "none"):
            raise table.Unusable(f'{file.name}: {made.name}: give either within or cpu = "none"')
        found.append(made)
    return told, found


def start(command: list[str | Path], folder: Path, environ: dict[str, str], log: Path, limit: int) -> int | None:
    """The exit status; None where it took longer than ``limit``, and then its whole group is ended."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with log.open("w") as out:
        process = subprocess.Popen(
            command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out, process_group=0
        )
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            subprocess.run(["kill", "-KILL", "--", f"-{process.pid}"], timeout=10)
            process.wait(60)
            return None


def tail(log: Path) -> str:
    """The last line that names an error, or the last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(?:\[rank\d+\]: ?)?[\w.]*(?:Error|Exception)\b", line)]
    errors = [line for line in errors if "ChildFailedError" not in line] or errors  # torchrun's, about a rank's
    return (errors or lines or ["no output"])[-1][:300]


@dataclass
class Outcome:
    row: dict[str, str]
    worse: str = ""
    better: str = ""
    measured: str = ""


def judge(case: Case, status: int | None, output: str, got: Any, wanted: Any) -> Outcome:
    """What a case's run means. ``wanted`` is the CPU's, None where there is nothing to compare."""
    row = {"ran": case.ran, "equal": "–", "stops": case.note or "–"}
    if case.stops:
        row["stops"] = case.cause
        if status == 0:
            return Outcome(row, better="it no longer stops: record what it does now")
        seen = re.search(case.stops, output)
        return Outcome(row, worse="" if seen else f"it stops elsewhere than recorded (no {case.stops!r} in its output)")
    if status != 0:
        return Outcome(row, worse="no end in time" if status is None else f"exit status {status}")
    if case.says:
        found = re.search(case.says, output)
        if not found:
            return Outcome(row, worse=f"no {case.says!r} in its output")
        row["ran"] = case.ran.format(*found.groups())
    if not case.compared:
        row["equal"] = _OWN
        return Outcome(row)
    if not got or not wanted:
        return Outcome(row, worse="it gave no results to compare")
    far, where = difference(got, wanted)
    measured = f"{far:.1e} at {where}" if far else "to the last digit"
    assert case.within is not None
    good = far <= case.within
    row["equal"] = f"yes, {case.bound}" if good else f"no, not {case.bound}"
    return Outcome(row, worse="" if good else f"differs by {measured}, not {case.bound}", measured=measured)


def _load(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def run_case(case: Case, venv: Path, work: Path, view: Path, device: str, folders: dict[str, Path]) -> Outcome:
    logs = work / "logs" / f"{venv.name}.{case.name}"
    logs.mkdir(parents=True, exist_ok=True)
    python, results, status = venv / "bin" / "python", [], None
    for place in ("cpu", "npu") if case.compared else ("npu",):
        out = logs / f"{place}.json"
        out.unlink(missing_ok=True)
        text = case.cpu if place == "cpu" and case.cpu else case.command
        command: list[str | Path] = [word.format(programs=PROGRAMS, out=out, **folders) for word in shlex.split(text)]
        if place == "npu":
            command = [
                python, "-m", "ophook_npu", "run", "--device", device, "--devices", str(case.devices), "--", *command,
            ]  # fmt: skip
        surroundings = env.environ(venv, work, view if place == "cpu" else None)
        log = logs / f"{place}.log"
        status = start(command, logs / f"in-{place}", surroundings, log, case.limit)
        if place == "cpu" and status != 0:
            return Outcome({"ran": case.ran, "equal": "–", "stops": "–"}, worse=f"on the CPU: {tail(log)} ({log})")
        results.append(_load(out))
    outcome = judge(case, status, log.read_text(errors="replace"), results[-1], results[0] if case.compared else None)
    if outcome.worse:
        outcome.worse += f": {tail(log)} ({log})"
    return outcome


def cpu_seconds() -> float:
    """What this process's children that ended took of the CPU, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_project(name: str, arguments: argparse.Namespace, view: Path) -> tuple[dict[str, Any], int]:
    """The project's result, and 0, or 1 if a case got worse, or 2 if it could not be tried."""
    told, found = cases(HERE / f"{name}.toml")
    log = arguments.work / "logs" / f"{name}.pip.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        venv = env.make(name, told["packages"], told.get("pip", []), arguments.venv, arguments.work, log)
        folders = {
            name: env.checkout(each["address"], each["commit"], arguments.work, log)
            for name, each in told.get("checkout", {}).items()
        }
        if "sources" in told:
            folders["sources"] = env.sources(told["sources"], arguments.venv, arguments.work, log)
    except subprocess.SubprocessError:
        print(f"{name}: its environment cannot be made: {tail(log)} ({log})")
        return {}, 2
    shown = [re.split(r"[=<>\[]", package)[0] for package in told["packages"]]
    result: dict[str, Any] = {"project": told["project"], "rows": []}
    result["versions"] = env.versions(venv, [*told.get("shown", shown), "torch", "torch_npu"])
    result["versions"] = [each["shown"] for each in told.get("checkout", {}).values()] + result["versions"]
    bad = 0
    kept = arguments.work / f"{name}.json"
    before = table.read(kept)["rows"] if arguments.case and kept.is_file() else []
    for case in found:
        if arguments.case and arguments.case not in case.name:
            row = case.earlier(before)
            bad |= row is None
            print(f"{name} {case.name}: {'as an earlier run found' if row else 'not run yet'}")
            result["rows"] += [row] if row else []
            continue
        before_it = cpu_seconds()
        outcome = run_case(case, venv, arguments.work, view, arguments.device, folders)
        result["rows"].append(outcome.row)
        word = "WORSE" if outcome.worse else "better" if outcome.better else "as recorded"
        more = outcome.worse or outcome.better or outcome.measured
        took = f"{cpu_seconds() - before_it:.0f} s of CPU"
        print(f"{name} {case.name}: {word}{': ' + more if more else ''} ({took})", flush=True)
        bad |= bool(outcome.worse)
    told_size = subprocess.run(["du", "-sm", venv], capture_output=True, text=True, timeout=600, check=True).stdout
    print(f"{name}: its environment takes {told_size.split()[0]} MB")
    if arguments.throw_away:
        shutil.rmtree(venv)
    return result, int(bad)


def main() -> int:
    parser = argparse.ArgumentParser(prog="clients.sh")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--venv", type=Path, required=True)
    parser.add_argument("--device", default="auto", choices=["auto", "sim", "npu"])
    parser.add_argument("--case", default="")
    parser.add_argument("--take", type=Path, action="append", default=[])
    parser.add_argument("--into", type=Path)
    parser.add_argument("--throw-away", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    try:
        results = [table.read(file) for file in arguments.take]
        status = 0
        if arguments.names:
            view = env.without_npu(arguments.venv, arguments.work / "without-npu")
        for name in arguments.names:
            result, bad = run_project(name, arguments, view)
            status = max(status, bad)
            if result.get("rows"):
                results.append(result)
                (arguments.work / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
        print("", *table.HEAD, *table.merged([], results), sep="\n")
        if arguments.into and status:
            print(f"{arguments.into} was left as it is", file=sys.stderr)
        elif arguments.into:
            table.put_into(arguments.into, results)
        return status
    except table.Unusable as error:
        print(f"clients.sh: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
