"""Run the cases of scripts/vllm_ascend.sh and print their table; any Python starts it, and nothing has to be in it.

usage: run.py --env DIR --work DIR [--case TEXT] [--device D] [--into PAGE] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import marked

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
VERSIONS = ("vllm", "vllm-ascend", "torch", "torch-npu", "transformers", "triton")
LIMIT = 1500  # seconds a case may take: on two busy cores a run takes minutes
EAGER = {"enforce_eager": True}
ASKED = "enable_custom_op() of vllm-ascend is called first"


def graphs(mode: str) -> dict[str, object]:
    return {
        "enforce_eager": False,
        "compilation_config": {"cudagraph_mode": mode, "cudagraph_capture_sizes": [1, 2, 4]},
    }


@dataclass
class Case:
    name: str
    model: str
    arguments: dict[str, object]
    devices: int = 1
    needs: str = ""  # what the program has that a user's would not


CASES = [
    Case(f"{kind}, {how}, {devices} device{'s' * (devices > 1)}", kind.lower(), arguments, devices, needs)
    for how, arguments, needs, devices in (
        ("eager", EAGER, "", 1),
        ("eager", EAGER, "", 2),
        ("captured graphs", graphs("PIECEWISE"), ASKED, 1),
        ("captured graphs", graphs("PIECEWISE"), ASKED, 2),
        ("full captured graphs", graphs("FULL_DECODE_ONLY"), ASKED, 1),
        ("full captured graphs", graphs("FULL_DECODE_ONLY"), ASKED, 2),
    )
    for kind in ("Llama", "Qwen2")
]


class Runner:
    def __init__(self, environment: Path, work: Path, device: str) -> None:
        self.environment, self.work, self.device = environment, work, device
        kept = {name: os.environ[name] for name in ("HOME", "OPHOOK_NPU_CACHE", "CXX") if name in os.environ}
        path = f"{environment / 'bin'}:/usr/local/bin:/usr/bin:/bin"
        # The folder where vLLM's processes meet is not one that another run on this machine uses.
        self.variables = {**kept, "PATH": path, "VLLM_NO_USAGE_STATS": "1", "VLLM_CACHE_ROOT": str(work / "cache")}

    def __call__(self, name: str, *command: str, devices: int = 1) -> subprocess.CompletedProcess[str]:
        start = [str(self.environment / "bin" / "ophook-npu"), "run", "--device", self.device]
        if self.device != "npu":
            start += ["--devices", str(devices)]
        with open(self.work / f"{name}.log", "w") as log:
            done = subprocess.run(
                [*start, "--", "python", *command],
                stdout=subprocess.PIPE, stderr=log, text=True, env=self.variables, cwd=self.work, timeout=LIMIT,
            )  # fmt: skip
            log.write(done.stdout)
        return done


def generate(run: Runner, case: Case) -> dict[str, str]:
    folder, log = run.work / "models" / case.model, re.sub(r"\W+", "-", case.name)
    wanted = json.loads((folder / "tokens.json").read_text())["tokens"]
    arguments = {"dtype": "float16", "gpu_memory_utilization": 0.05, **case.arguments}
    if case.devices > 1:
        arguments["tensor_parallel_size"] = case.devices
    program = str(EXAMPLES / "vllm" / "generate.py")
    row = {"ran": case.name + (f" ({case.needs})" if case.needs else ""), "equal": "", "stops": ""}
    try:
        done = run(log, program, str(folder), json.dumps(arguments), devices=case.devices)
    except subprocess.TimeoutExpired:
        return {**row, "equal": "no tokens", "stops": f"not done after {LIMIT} s"}
    if done.returncode:
        return {**row, "equal": "no tokens", "stops": reason((run.work / f"{log}.log").read_text(errors="replace"))}
    # vLLM's processes log on standard output, too, and end after the program.
    got = json.loads([line for line in done.stdout.splitlines() if line.startswith("[[")][-1])
    same = sum(a == b for mine, theirs in zip(got, wanted, strict=True) for a, b in zip(mine, theirs, strict=True))
    total = sum(map(len, wanted))
    return {**row, "equal": "all tokens" if got == wanted else f"{same} of {total} tokens"}


def reason(log: str) -> str:
    """What a log's first error says, without the names of processes."""
    found = re.findall(r"^.*?\b(\w+(?:\.\w+)*(?:Error|Exception): .{1,200})", log, re.M)
    return found[0].replace("|", "/") if found else "see its log"


def triton(run: Runner) -> dict[str, str]:
    done = run("triton", str(EXAMPLES / "triton" / "vector_add.py"))
    row = {"ran": "a Triton kernel over npu tensors (examples/triton/vector_add.py)", "equal": "", "stops": ""}
    if done.returncode:
        return {**row, "equal": "no", "stops": reason((run.work / "triton.log").read_text(errors="replace"))}
    return {**row, "equal": "all sums"}


def without_mocks(run: Runner) -> dict[str, str]:
    program = str(EXAMPLES / "vllm" / "test_rms_norm.py")
    # Without our own settings, with which a warning of any plugin that vllm-ascend's tests need would be an error.
    done = run("without-mocks", "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", program)
    row = {"ran": "vllm-ascend's RMSNorm without mocks (examples/vllm/test_rms_norm.py)", "equal": "", "stops": ""}
    if done.returncode:
        return {**row, "equal": "no", "stops": reason(done.stdout)}
    return {**row, "equal": "all numbers"}


def versions(environment: Path) -> list[str]:
    code = "import importlib.metadata as m, sys; print(*(f'{n} {m.version(n)}' for n in sys.argv[1:]), sep='\\n')"
    command = [environment / "bin" / "python", "-c", code, *VERSIONS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def put_into(page: Path, what: str, text: str) -> None:
    """Put text between the page's lines `<!-- WHAT -->` and `<!-- end of WHAT -->`."""
    try:
        marked.replace(page, f"<!-- {what} -->", f"<!-- end of {what} -->", text)
    except marked.NoMarks as error:
        raise SystemExit(str(error)) from None


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--env", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--case", default="")
    parser.add_argument("--into", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    run = Runner(given.env, given.work, given.device)
    given.work.mkdir(parents=True, exist_ok=True)
    made = run("models", str(ROOT / "scripts" / "vllm_ascend" / "models.py"), str(given.work / "models"))
    if made.returncode:
        print(f"the models could not be made: {given.work / 'models.log'}", file=sys.stderr)
        return 2
    rows = []
    small = [("triton", lambda: triton(run)), ("without mocks", lambda: without_mocks(run))]
    for name, work in [*small, *((c.name, lambda c=c: generate(run, c)) for c in CASES)]:
        if given.case.lower() in name.lower():
            rows.append(work())
            print(f"{rows[-1]['ran']}: {rows[-1]['equal']} {rows[-1]['stops']}".strip(), flush=True)
    told = versions(given.env)
    table = ["| ran | equal | where it stops |", "|---|---|---|"]
    table += [f"| {row['ran']} | {row['equal']} | {row['stops']} |" for row in rows]
    table += ["", f"With {', '.join(told)}."]
    print("", *table, sep="\n")
    if given.json:
        result = {"project": "vllm-ascend", "versions": told, "rows": rows}
        given.json.write_text(json.dumps(result, indent=1) + "\n")
    if given.into:
        put_into(given.into, "vllm-ascend", "\n".join(table))
    return 0 if all(row["equal"].startswith("all") for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
