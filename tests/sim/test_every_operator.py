"""Every operator of both tables gets the tensors that are easily forgotten: an error or a result, never a signal."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "every_operator.py"
PATIENCE = 120  # seconds without a word, on a machine that has much else to do


class Worker:
    """A process that calls operators by name, and tells when it is through with one."""

    def __init__(self, program: Path = PROGRAM, soc: str = "") -> None:
        settings = {"OPHOOK_SIM_SYNC": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "OMP_NUM_THREADS": "1"}
        settings |= {"OPHOOK_SIM_SOC": soc} if soc else {}
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, **settings},
        )  # fmt: skip
        self.answers: queue.Queue[str] = queue.Queue()
        self.said: list[str] = []
        self.threads = [threading.Thread(target=target, daemon=True) for target in (self._read, self._listen)]
        for thread in self.threads:
            thread.start()
        assert self.answers.get(timeout=PATIENCE) == "ready\n", self.close()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put("")

    def _listen(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.said.append(line)

    def ask(self, name: str) -> tuple[str, str]:
        """The line that it answers, and what became of the process where there is none."""
        assert self.process.stdin
        try:
            print(name, file=self.process.stdin, flush=True)
            answer = self.answers.get(timeout=PATIENCE)
        except queue.Empty:
            return "", f"it hangs\n{self.close()}"
        except BrokenPipeError:
            answer = ""
        return answer, "" if answer else f"exit status {self.process.wait()}\n{self.close()}"

    def call(self, name: str) -> tuple[int, int] | str:
        """Calls and accepted calls of the operator, or what became of the process."""
        answer, became = self.ask(name)
        if became:
            return became
        told, calls, accepted = answer.split()
        assert told == name
        return int(calls), int(accepted)

    def close(self) -> str:
        self.process.kill()
        self.process.wait()
        for thread in self.threads:  # they end where the pipes do
            thread.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        return "".join(self.said[-12:])


@pytest.fixture(scope="module")
def operators() -> dict[str, list[str]]:
    command = [sys.executable, "-m", "ophook_npu", "sim", "info", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["operators"]


@pytest.mark.parametrize("kind", ["aclnn", "graph"])
def test_no_operator_ends_the_process(kind: str, operators: dict[str, list[str]]) -> None:
    # Functions of kernel packages do not tell their parameters; test_kernel_package.py calls those.
    names = [name for name in operators[kind] if kind != "aclnn" or not name.endswith("Custom")]
    ended, accepted = {}, 0
    worker = Worker()
    for name in names:
        answer = worker.call(name)
        if isinstance(answer, str):
            ended[name] = answer
            worker = Worker()
        else:
            accepted += answer[1] > 0
    worker.close()
    assert not ended, "\n".join(f"{name}: {what}" for name, what in ended.items())
    assert len(names) > 300
    # Most take some of these calls: the test reaches their arithmetic, not only their refusals.
    assert accepted > len(names) // 2, f"{accepted} of {len(names)} accepted a call"


def test_a_process_that_ends_is_noticed() -> None:
    worker = Worker()
    worker.process.kill()
    answer = worker.call("aclnnAdd")
    assert isinstance(answer, str) and "exit status -9" in answer


def test_each_function_tells_its_parameters() -> None:
    told = ctypes.CDLL("libopapi.so").aclnnAddParameters
    told.restype = ctypes.c_char_p
    assert told() == b"(In, self, In, other, Num, alpha, Out, out)"
