"""Run vllm-ascend's own tests/ut over the simulated Ascend, and count.

usage: ophook-npu run -- ut.py CHECKOUT OUT [--into PAGE] [TEXT…]      in the environment of scripts/vllm_ascend.sh

CHECKOUT is a checkout of vllm-ascend at the tag that is installed; nothing of it is changed or copied. Its conftest.py
puts mocks in torch_npu's and pyACL's place unless `npu-smi info` works, and it does here: torch_npu is the real one.
TEXT chooses files whose path has it. Each folder runs in a process of its own: when they are imported, some files put
mocks of vllm_ascend's modules into sys.modules. Folders of tests for other products than the simulated one, or for more
devices, are left out, by their names. Without a network: what asks for a model of a hub fails at once.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from run import put_into

ELSEWHERE = {"a2_2", "a3_2", "a3_4", "310p", "_310p", "a5"}
SECONDS = 120  # a test that takes longer is a failure, and its process is replaced
OPTIONS = (
    "-q", "-c", os.devnull, "-p", "no:cacheprovider", "--import-mode=importlib", "-n", "1", "--dist", "loadfile",
    "--max-worker-restart", "40", "-o", f"faulthandler_timeout={SECONDS}", "-o", "faulthandler_exit_on_timeout=true",
    "-o", "junit_logging=out-err", "-o", "junit_log_passing_tests=false",
)  # fmt: skip
# What a failure says, and whose cause it is; the first that is found counts.
CAUSES = (
    (r"Invalid repository ID or local directory", "asks for a model of a hub, and there is no network"),
    (r"No such file or directory: '\S*/(tools|vllm_ascend)/", "asks for sources next to tests that the checkout lacks"),
    (r"No module named '(tools|ray|pytest_mock)", "asks for a module that is not installed"),
    (
        r"\(unknown location\)|No module named 'vllm_ascend\.|'vllm_ascend\.worker' has no attribute",
        "meets a mock that another file left in place of a module of vllm_ascend",
    ),
    (r"'function' object is not subscriptable", "calls a Triton kernel, which needs triton-ascend"),
    (r"Invalid version: 'not known'", "reads torch.version.cann, which was 'not known'"),
    (r"'_C_ascend' object has no attribute", "asks for vllm-ascend's own kernels, which are not compiled"),
    (r"ACL stream synchronize failed", "an operator failed on the simulator"),
    (r"AssertionError", "a result or a call differs"),
)


def table(reports: list[Path]) -> str:
    counts: Counter[str] = Counter()
    for case in (case for report in reports for case in ElementTree.parse(report).iter("testcase")):
        outcome = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
        if outcome is None or outcome.tag == "skipped":
            counts["passed" if outcome is None else "skipped by the test itself"] += 1
            continue
        text = f"{outcome.get('message')}\n{outcome.text}"
        counts[next((cause for found, cause in CAUSES if re.search(found, text)), "another failure")] += 1
    rows = [f"| {what} | {number} |" for what, number in counts.most_common()]
    return "\n".join(["| outcome | tests |", "|---|---:|", *rows])


def files(tests: Path, chosen: list[str]) -> list[Path]:
    """Those for one device of this product, and those that vllm-ascend runs without any."""
    every = sorted(tests.rglob("test_*.py"), key=lambda test: (test.parent, test.name))
    here = [file for file in every if not ELSEWHERE & set(file.relative_to(tests).parts)]
    return [file for file in here if not chosen or any(text in str(file.relative_to(tests)) for text in chosen)]


def main(checkout: Path, out: Path, *rest: str) -> None:
    page = Path(rest[1]).absolute() if rest[:1] == ("--into",) else None
    chosen = list(rest[2:] if page else rest)
    checkout, out = checkout.absolute(), out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.xml"):
        old.unlink()
    tests = files(checkout / "tests" / "ut", chosen)
    # The checkout is there for its tests: what they import is what is installed.
    path = os.pathsep.join([sysconfig.get_path("purelib"), str(checkout), os.environ.get("PYTHONPATH", "")])
    environ = {**os.environ, "HF_HUB_OFFLINE": "1", "OPHOOK_SIM_AFTER_FAILURE": "continue", "PYTHONPATH": path}
    reports = []
    with open(out / "ut.log", "w") as log:
        for folder, group in itertools.groupby(tests, key=lambda test: test.parent):
            name = folder.relative_to(checkout / "tests").as_posix().replace("/", "-")
            reports.append(out / f"{name}.xml")
            command = [sys.executable, "-P", "-m", "pytest", *OPTIONS, "--rootdir", checkout, *group]
            subprocess.run(
                [*command, f"--junitxml={reports[-1]}"],
                cwd=checkout, env=environ, stdout=log, stderr=subprocess.STDOUT, timeout=2 * 3600,
            )  # fmt: skip
    text = f"{len(tests)} files, each test once.\n\n{table(reports)}"
    print(text)
    if page:
        put_into(page, "tests/ut", text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
