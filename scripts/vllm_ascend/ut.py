"""Run vllm-ascend's own tests/ut over the simulated Ascend with the real torch_npu, and write how each test ended.

usage: ophook-npu run --after-failure continue -- ut.py [--hidden] CHECKOUT OUT [TEXT…]

in the environment of scripts/vllm_ascend.sh --checkout CHECKOUT; nothing of the checkout is changed or copied. Its
conftest.py puts mocks in torch_npu's and pyACL's place unless `npu-smi info` works, and it does here. TEXT chooses
files whose path has it; OUT gets a .jsonl for each file, as from scripts/device_tests.py, whose runner this is: each
file runs in a fork of its own, since some put mocks of vllm_ascend's modules into sys.modules, and a test that crashes,
hangs or takes too much memory ends itself alone. Files with results in OUT do not run again.
Folders of tests for other products than the simulated one, or for more devices, are left out, by their names. There is
no network: the models that the tests name have the configurations that transformers gives their kinds, and no weights.
vLLM takes Triton, whose interpreter runs the kernels. report.py makes tables of the lines.
Started without `ophook-npu run`, the same tests run with the mocks, as in the CI of vllm-ascend: what fails there, too,
has nothing to do with a device. With --hidden the operators in whose places the tests put mocks get the same calls, and
what they say is in the lines (hidden.py).
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import device_tests

ELSEWHERE = {"a2_2", "a3_2", "a3_4", "310p", "_310p", "a5"}
# What the tests ask a hub for: the kind of each model, for transformers and for vLLM, and what transformers' own values
# for the kind have otherwise. Sixteen heads in place of 128 make the tests of DeepSeek's attention eight times faster.
MODELS = {
    "Qwen/Qwen3-8B": ("qwen3", "Qwen3ForCausalLM", {"num_key_value_heads": 8}),
    "deepseek-ai/DeepSeek-V2": (
        "deepseek_v2",
        "DeepseekV2ForCausalLM",
        {"num_attention_heads": 16, "num_key_value_heads": 16, "max_position_embeddings": 163840},
    ),
    "deepseek-ai/DeepSeek-V3.2-Exp": (
        "deepseek_v3",
        "DeepseekV32ForCausalLM",
        {"model_type": "deepseek_v32", "index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048}
        | {"num_attention_heads": 16, "num_key_value_heads": 16, "max_position_embeddings": 163840},
    ),
}
BEGIN: list[Callable[[], None]] = []  # what a fork does first
HIDDEN, FIRST = "--hidden" in sys.argv, "--first" in sys.argv
SECONDS, GIGABYTES = 300, 14  # the tests of attention fill caches of 4 GiB
OPTIONS = ("-q", "-c", os.devnull, "-p", "no:cacheprovider", "--import-mode=importlib", "-o", "asyncio_mode=auto")


class Lines:
    """Writes a line when a test begins, and one when it ends."""

    def __init__(self, out: IO[str], done: set[str]) -> None:
        self.out, self.done = out, done
        self.line: dict[str, Any] = {}
        self.calls: list[dict[str, str]] = []  # of operators that mocks hide

    def say(self, line: dict[str, Any]) -> None:
        self.out.write(json.dumps(line) + "\n")
        self.out.flush()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in (items[:1] if FIRST else items) if item.nodeid not in self.done]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:  # as a file that cannot be imported, or skips itself
            end = "skip" if report.skipped else "fail"
            self.say({"test": "the file", "outcome": end, "text": str(report.longrepr)[-device_tests.TEXT :]})

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        if not HIDDEN:
            return (yield)
        from hidden import Hidden

        hidden = Hidden()
        self.calls = hidden.calls
        with hidden.watched():
            return (yield)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.line = {"test": nodeid, "outcome": "pass", "began": time.monotonic()}
        self.say({"begins": nodeid})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            printed = (report.capstdout + report.capstderr)[-device_tests.TEXT :]
            self.line |= {"outcome": "fail", "text": report.longreprtext[-device_tests.TEXT :], "printed": printed}
        elif report.skipped and self.line["outcome"] == "pass":
            self.line |= {"outcome": "skip", "text": report.longreprtext}

    def pytest_runtest_logfinish(self) -> None:
        late = device_tests.late_failure()
        if late and self.line["outcome"] in ("pass", "skip"):
            self.line |= {"outcome": "fail", "text": late}
        if self.calls:
            self.line["hidden"] = self.calls
        self.line["seconds"] = round(time.monotonic() - self.line.pop("began"), 2)
        self.say(self.line)

    def pytest_sessionfinish(self) -> None:
        self.say({"ended": True})


def files(tests: Path, chosen: list[str]) -> list[Path]:
    """Those for one device of this product, and those that vllm-ascend runs without any."""
    every = sorted(tests.rglob("test_*.py"), key=lambda test: (test.parent, test.name))
    here = [file for file in every if not ELSEWHERE & set(file.relative_to(tests).parts)]
    return [file for file in here if not chosen or any(text in str(file.relative_to(tests)) for text in chosen)]


def worker(file: Path, root: Path, done: set[str], lines: IO[str], log: int) -> None:
    for begin in BEGIN:
        begin()
    pytest.main([*OPTIONS, f"--rootdir={root}", str(file)], plugins=[Lines(lines, done)])


def run_file(file: Path, root: Path, log: Path, seconds: float = SECONDS) -> list[dict[str, Any]]:
    """A line for each test; where one ends its fork, those after it run in another."""
    ends: dict[str, dict[str, Any]] = {}
    while True:
        before, ended = len(ends), False
        for line in device_tests.run(functools.partial(worker, file, root, set(ends)), log, seconds, GIGABYTES):
            if "test" in line:
                ends[line["test"]] = line
            ended |= "ended" in line
        if ended:
            return [ends[name] for name in sorted(ends)]
        if len(ends) == before:  # it ended outside of a test
            printed = log.read_text(errors="replace")[-device_tests.TEXT :]
            return [*ends.values(), {"test": "the file", "outcome": "crash", "printed": printed}]


def make_hub(hub: Path) -> None:
    """A cache as huggingface_hub keeps it, with a configuration for each model."""
    from transformers import AutoConfig

    for name, (kind, architecture, more) in MODELS.items():
        folder = hub / f"models--{name.replace('/', '--')}"
        snapshot = folder / "snapshots" / ("0" * 40)
        for each in (snapshot, folder / "refs"):
            each.mkdir(parents=True, exist_ok=True)
        (folder / "refs" / "main").write_text(snapshot.name)
        config = AutoConfig.for_model(kind).to_dict() | {"architectures": [architecture], "dtype": "bfloat16"} | more
        (snapshot / "config.json").write_text(json.dumps(config))


def prepare(checkout: Path, hub: Path) -> None:
    """What the tests of this process and of its forks see."""
    # The checkout is there for its tests: what they import is what is installed.
    sys.path[1:1] = [sysconfig.get_path("purelib"), str(checkout)]
    os.environ["PYTHONPATH"] = os.pathsep.join([*sys.path[1:3], os.environ.get("PYTHONPATH", "")])
    # vLLM looks at a model in a `python -m` of its own, which otherwise finds the checkout, where nothing is built.
    os.environ["PYTHONSAFEPATH"] = "1"
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(hub)}
    if shutil.which("npu-smi"):  # as the checkout's conftest.py asks; with its mocks there is no Triton
        # vLLM then takes a Triton without an active driver (importing.py).
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ.setdefault("TASK_QUEUE_ENABLE", "0")  # with torch_npu's queue, a kernel that fails ends the process
    os.chdir(checkout)


def run_files(checkout: Path, tests: Path, chosen: list[Path], out: Path, seconds: float = SECONDS) -> None:
    # Once for all forks: what the tests' conftest.py imports. It opens no device.
    specification = importlib.util.spec_from_file_location("conftest_before", tests / "conftest.py")
    assert specification and specification.loader
    specification.loader.exec_module(importlib.util.module_from_spec(specification))
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    names = ("vllm", "torch", "torch_npu", "transformers", "triton")
    header = {"checkout": commit} | {name: importlib.metadata.version(name) for name in names}
    for number, file in enumerate(chosen):
        name = file.relative_to(tests).as_posix()
        kept = out / f"{name.removesuffix('.py').replace('/', '-')}.jsonl"
        if kept.is_file():
            continue
        print(f"{number + 1} of {len(chosen)}: {name}", file=sys.stderr, flush=True)
        lines = run_file(file, checkout, out / "log", seconds)
        kept.write_text("".join(json.dumps(line) + "\n" for line in [header | {"file": name}, *lines]))


def main(checkout: Path, out: Path, *chosen: str) -> None:
    checkout, out = checkout.absolute(), out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    prepare(checkout, out / "hub")
    make_hub(out / "hub")
    tests = checkout / "tests" / "ut"
    run_files(checkout, tests, files(tests, list(chosen)), out)


if __name__ == "__main__":
    folder, results, *texts = [argument for argument in sys.argv[1:] if argument != "--hidden"]
    main(Path(folder), Path(results), *texts)
