"""Build ggml's CANN backend, unmodified, and run its own tests against ggml's CPU backend on the simulated Ascend.

    python scripts/ggml_backend.py CHECKOUT                          # a checkout of llama.cpp, or of ggml
    python scripts/ggml_backend.py CHECKOUT --only MUL_MAT ROPE      # some operators
    python scripts/ggml_backend.py CHECKOUT --only ARCHS --sync      # the models, which run when they are asked for
    python scripts/ggml_backend.py CHECKOUT --log LOG --table docs/llama-cpp.md docs/llama-cpp.zh.md

llama.cpp, whisper.cpp and others compute with ggml. Its test-backend-ops makes graphs of one operator or a few, and
compares what a backend computes with what its CPU backend does; test-llama-archs, of llama.cpp, does so with a small
model of random weights for each architecture. A test that ends the process counts as stopped, and the others go on.
The build is in --build (default: CHECKOUT with -cann behind it), and needs cmake, ninja and a C++ compiler.
With --log, what has a result there is not run again. Exit status: 0 all equal, 1 some are not.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import marked
from processes import finished

from ophook_npu import sim
from ophook_npu.sim.variables import apply, environment

ARCHS = "ARCHS"
_OPERATORS, _MODELS = "test-backend-ops", "test-llama-archs"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# The beginning of what is said of a test: its parameters, or the architecture, the device and the kind of model.
_BEGINS = {
    _OPERATORS: re.compile(r"^\s*(?:\[.*?\] .*?)?[A-Z0-9_]+\((.*?)\): ", re.M),
    _MODELS: re.compile(r"^\| *([\w.-]+)\|[^|\n]*\| *(Dense|MoE)\|", re.M),
}
_ENDED = re.compile(r"CANN error: (.*)|((?:GGML_ASSERT|terminate called|fatal error|[^|\n]*: GGML_ASSERT).*)")
_ENGLISH = (
    ": of {} tests of operators that the backend takes, {} equal, {} differ, {} end the process.",
    "operator | equal | differ | stopped | what",
)
_CHINESE = (
    "：该后端接受的 {} 个算子测试中，{} 个相等，{} 个不同，{} 个使进程中止。",
    "算子 | 相等 | 不同 | 中止 | 说明",
)
_EQUAL, _DIFFERS, _ABSENT, _STOPPED = "equal", "differs", "not supported", "stopped"


def build(source: Path, into: Path, environ: dict[str, str], programs: list[str]) -> None:
    # A release of llama.cpp has no tests of ggml's own in it.
    tests = "OFF" if _MODELS in programs else "ON"
    options = [
        "-DGGML_CANN=on", "-DCMAKE_BUILD_TYPE=Release", "-DGGML_BUILD_EXAMPLES=OFF", f"-DGGML_BUILD_TESTS={tests}",
        "-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_SERVER=OFF",
    ]  # fmt: skip
    for command in (
        ["cmake", "-S", str(source), "-B", str(into), "-G", "Ninja", *options],
        ["cmake", "--build", str(into), "--parallel", "2", "--target", *programs],
    ):
        done = subprocess.run(command, env=environ, capture_output=True, text=True)
        if done.returncode:
            said = (done.stdout + done.stderr).splitlines()[-20:]
            sys.exit("\n".join([*said, f"failed: {' '.join(command)}"]))


def verdict(said: str) -> str | None:
    """What became of a test, by the line that was printed of it; None where the process ended in it."""
    found = re.search(r"^.*(?:not supported|SKIP|FAIL|OK).*$", said, re.M)
    if found is None:
        return None
    if "FAIL" in found[0]:
        return _DIFFERS
    return _EQUAL if "OK" in found[0] else _ABSENT


def told(program: Path, text: str) -> dict[str, list[str]]:
    """Test -> what became of it, and why. A model is printed before it runs, an operator's test behind what it did."""
    text = _COLOURS.sub("", text)
    tests = list(_BEGINS[program.name].finditer(text))
    ends = [*(test.start() for test in tests[1:]), len(text)]
    said = {" ".join(test.groups()): verdict(text[test.end() : end]) for test, end in zip(tests, ends, strict=False)}
    return {test: [became, ""] for test, became in said.items() if became}


def compared(program: Path, options: list[str], tests: list[str], environ: dict[str, str], seconds: float):
    """As `told`, of all tests in their order: one that ends the process is left out when the others run again."""
    models = program.name == _MODELS
    results: dict[str, list[str]] = {}
    left_out: list[str] = []
    while True:
        names = "|".join(re.sub(r"([\\^$.|?*+(){}\[\]])", r"\\\1", name) for name in left_out)
        chosen = ["-a" if models else "-p", f"^(?!({names})$)"] if left_out else []
        # Unbuffered: a process that aborts loses what it has not written yet.
        command = ["stdbuf", "-o0", str(program), *options, *chosen]
        status, text = finished(command, program.parent, environ, seconds)
        new = {test: became for test, became in told(program, text).items() if test not in results}
        results |= new
        if status in (0, 1):
            return results | {test: [_STOPPED, "it did not run"] for test in tests if test not in results}
        begun = (
            [" ".join(test.groups()) for test in _BEGINS[_MODELS].finditer(_COLOURS.sub("", text))] if models else tests
        )
        guilty = next((test for test in begun if test not in results), None)
        if models and new:
            # Another thread prints what a test did, and may not have come to it. The next run begins behind what is
            # known; an architecture may have a second model.
            left_out = list({test.split()[0]: None for test in results})[:-1]
            continue
        if guilty is None:
            return results
        ended = list(_ENDED.finditer(text))
        why = (ended[0][1] or ended[0][2]).strip() if ended else ""
        results[guilty] = [_STOPPED, why or ("not over in time" if status is None else f"it ended with {status}")]
        left_out.append(guilty.split()[0] if models else guilty)


def _shown(reason: str) -> str:
    """Without what differs from run to run, and from machine to machine."""
    reason = re.sub(r"/\S*/(?=[^/\s]+:\d+)", "", reason).partition(": 0x")[0]
    return re.sub(r"\(\d+ bytes\) ", "", reason)


def row(name: str, results: dict[str, list[str]]) -> str:
    by = {
        became: [test for test, (of, _) in results.items() if of == became] for became in (_EQUAL, _DIFFERS, _STOPPED)
    }
    why = [f"{len(by[_DIFFERS])} differ, as `{by[_DIFFERS][0]}`"] if by[_DIFFERS] else []
    reasons = dict.fromkeys(_shown(results[test][1]) for test in by[_STOPPED])
    why += [f"`{reason}`" for reason in list(reasons)[:2]]
    cells = [f"`{name}`", *(str(len(tests)) for tests in by.values()), "<br>".join(why).replace("|", "\\|") or "–"]
    return f"| {' | '.join(cells)} |"


def table(results: dict[str, dict[str, list[str]]], version: str, chinese: bool) -> str:
    ran = {name: tests for name, tests in results.items() if any(of != _ABSENT for of, _ in tests.values())}
    became = Counter(of for name, tests in ran.items() if name != ARCHS for of, _ in tests.values() if of != _ABSENT)
    counts = (became.total(), became[_EQUAL], became[_DIFFERS], became[_STOPPED])
    told, heads = _CHINESE if chinese else _ENGLISH
    lines = [f"{version}{told.format(*counts)}", "", f"| {heads} |", "|---|---|---|---|---|"]
    return "\n".join(lines + [row(name, tests) for name, tests in sorted(ran.items())])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument(
        "--only", nargs="+", metavar="OPERATOR", help=f"some of them, or {ARCHS} (default: all operators)"
    )
    parser.add_argument("--build", type=Path, help="where it is built, or was")
    parser.add_argument("--version", help="what the checkout is, where git does not say it")
    parser.add_argument("--log", type=Path, help="results, one operator a line")
    parser.add_argument("--table", type=Path, nargs="+", default=[], help="the pages that have the results")
    parser.add_argument("--sync", action="store_true", help="each task runs before its call returns")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for the tests of an operator (default 600)")
    given = parser.parse_args()

    source = given.checkout.resolve()
    llama = (source / "tests" / f"{_MODELS}.cpp").exists()
    if not llama and not (source / "src" / "ggml-cann").is_dir():
        parser.error(f"{source} is a checkout neither of llama.cpp nor of ggml")
    environ = dict(os.environ) | {"GGML_NO_BACKTRACE": "1"}
    apply(environ, environment(sim.active() or sim.build(), synchronous=given.sync))
    into = (given.build or source.with_name(f"{source.name}-cann")).resolve()
    build(source, into, environ, [_OPERATORS, _MODELS] if llama else [_OPERATORS])
    listed = subprocess.run(
        [into / "bin" / _OPERATORS, "test", "--list-ops"], env=environ, capture_output=True, text=True
    )
    names = re.findall(r"^  ([A-Z0-9_]+)$", listed.stdout, re.M)
    if unknown := set(given.only or []) - {*names, *([ARCHS] if llama else [])}:
        parser.error(f"{source} has no tests of {', '.join(sorted(unknown))}")
    results: dict[str, dict[str, list[str]]] = {}
    if given.log and given.log.exists():
        results = {line["name"]: line["tests"] for line in map(json.loads, given.log.read_text().splitlines())}
    for name in given.only or names:
        if name in results:
            continue
        if name == ARCHS:
            program, options, tests = into / "bin" / _MODELS, ["-b", "CANN0", "-s", "1"], []
        else:
            program, options = into / "bin" / _OPERATORS, ["test", "-b", "CANN0", "-o", name]
            asked = [program, "support", *options[1:], "--output", "csv"]
            listed = subprocess.run(asked, env=environ, capture_output=True, text=True)
            tests = [
                line[2] for line in csv.reader(listed.stdout.splitlines()) if line[1:2] == [name] and line[5] == "yes"
            ]
        results[name] = compared(program, options, tests, environ, given.timeout)
        print(row(name, results[name]), flush=True)
        if given.log:
            with given.log.open("a") as log:
                print(json.dumps({"name": name, "tests": results[name]}), file=log)
    for page in given.table:
        described = ["git", "-C", source, "describe", "--always", "--tags"]
        version = given.version or subprocess.run(described, capture_output=True, text=True).stdout.strip()
        text = table(results, version, page.name.endswith(".zh.md"))
        marked.replace(page, "<!-- ggml -->", "<!-- end of ggml -->", text)
    return int(any(of in (_DIFFERS, _STOPPED) for tests in results.values() for of, _ in tests.values()))


if __name__ == "__main__":
    sys.exit(main())
