"""Run upstream test files one after the other, each in a process of its own, and leave a JUnit report a file.

usage: upstream_files.py OUT TESTS FILE…      (scripts/upstream_tests.sh calls it, over the simulator or the NPU)

A file's tests change the process that they run in: the compile mode, default dtypes, or they end it. So every file gets
a fork of this process, which has loaded what they all load, and has no device open yet.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import torch_npu
import torch_npu.testing.common_utils  # loading these two takes seconds: once for all forks
import torch_npu.testing.testcase

SECONDS = 300


def run_here(file: Path, tests: Path, report: Path) -> None:
    log = os.open(report.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.setpgid(0, 0)
    sys.path.append(str(tests))  # processes that a test spawns import its module by name
    options = ["-q", "-c", os.devnull, "--rootdir", str(tests), "-p", "no:cacheprovider", "--import-mode=importlib"]
    # A kernel's error message reaches stderr only: the report counts by it.
    options += ["-o", "junit_logging=out-err", "-o", "junit_log_passing_tests=false"]
    status = pytest.main([*options, "--junitxml", str(report), str(file)])
    sys.stdout.flush()
    os._exit(int(status))


def run_forked(file: Path, tests: Path, report: Path) -> None:
    died = report.with_suffix(".died")
    for old in (report, died):  # of an earlier run, which must not be counted for this one
        old.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        run_here(file, tests, report)
    end = time.monotonic() + SECONDS
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            break
        time.sleep(0.02)
    code = os.waitstatus_to_exitcode(status)
    if not report.is_file():
        late = time.monotonic() > end
        how = f"no end after {SECONDS} s" if late else signal.Signals(-code).name if code < 0 else f"exit status {code}"
        died.write_text(how + "\n")


def configuration() -> str:
    """The SoC and the CANN release that tests find. Asked in a fork: this process opens no device."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        cann = torch_npu.npu.utils.get_cann_version()
        os.write(into, f"{torch_npu.npu.get_device_name(0)}, CANN {cann}".encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text or "no device"


def main(out: Path, tests: Path, files: list[Path]) -> None:
    (out / "work").mkdir(parents=True, exist_ok=True)
    os.chdir(out / "work")  # what tests write goes here
    (out / "configuration").write_text(configuration() + "\n")
    commit = subprocess.run(["git", "-C", tests, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    versions = f"torch {torch.__version__}, torch_npu {torch_npu.__version__}"
    (out / "about").write_text(f"op-plugin {commit.stdout.strip() or 'of unknown commit'}, {versions}.\n")
    for number, file in enumerate(files, 1):
        name = ".".join(file.relative_to(tests).with_suffix("").parts)
        run_forked(file, tests, out / f"{name}.xml")
        print(f"\r{number} of {len(files)} files", end="", flush=True)
    print()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]])
