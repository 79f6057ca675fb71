"""Run vllm-ascend's own tests/ut over the simulated Ascend, and count.

usage: ophook-npu run -- ut.py CHECKOUT OUT [--into PAGE] [TEXT…]      in the environment of scripts/vllm_ascend.sh

CHECKOUT is a checkout of vllm-ascend at the tag that is installed; nothing of it is changed or copied. Its conftest.py
puts mocks in torch_npu's and pyACL's place unless `npu-smi info` works, and it does here: torch_npu is the real one.
TEXT chooses files whose path has it. Folders of tests for other products than the simulated one, or for more devices,
are left out, by their names. Without a network: what asks for a model of a hub fails at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import upstream_report
from run import put_into

ELSEWHERE = {"a2_2", "a3_2", "a3_4", "310p", "_310p", "a5"}
SECONDS = 120  # a test that takes longer is a failure, and its process is replaced
OPTIONS = (
    "-q", "-c", os.devnull, "-p", "no:cacheprovider", "--import-mode=importlib", "-n", "1", "--dist", "loadfile",
    "--max-worker-restart", "40", "-o", f"faulthandler_timeout={SECONDS}", "-o", "faulthandler_exit_on_timeout=true",
    "-o", "junit_logging=out-err", "-o", "junit_log_passing_tests=false",
)  # fmt: skip


def files(tests: Path, chosen: list[str]) -> list[Path]:
    """Those for one device of this product, and those that vllm-ascend runs without any."""
    here = [file for file in sorted(tests.rglob("test_*.py")) if not ELSEWHERE & set(file.relative_to(tests).parts)]
    return [file for file in here if not chosen or any(text in str(file.relative_to(tests)) for text in chosen)]


def main(checkout: Path, out: Path, *rest: str) -> None:
    page = Path(rest[1]).absolute() if rest[:1] == ("--into",) else None
    chosen = list(rest[2:] if page else rest)
    checkout, out = checkout.absolute(), out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    report = out / "ut.xml"
    report.unlink(missing_ok=True)
    tests = files(checkout / "tests" / "ut", chosen)
    command = [sys.executable, "-m", "pytest", *OPTIONS, "--rootdir", checkout, f"--junitxml={report}", *tests]
    environ = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": f"{checkout}:{os.environ.get('PYTHONPATH', '')}"}
    with open(out / "ut.log", "w") as log:
        subprocess.run(command, cwd=checkout, env=environ, stdout=log, stderr=subprocess.STDOUT, timeout=4 * 3600)
    text = upstream_report.table(out).replace("1 files", f"{len(tests)} files", 1)
    print(text)
    if page:
        put_into(page, "tests/ut", text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
