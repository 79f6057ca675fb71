"""Python programs in processes of their own without the seconds that importing torch takes.

Each program is a fork of one process that has imported torch, and done no more: before any device, stream or compiler
is used, when it has no thread that matters. So a program finds what it would find after its first import; its working
directory, arguments and streams are its own. What a test checks about importing itself, about how a process ends, or
about `ophook-npu run`, needs a process started anew.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from ophook_npu import collector

_LARGEST = 1 << 17  # bytes of a request: a message is sent whole or not at all


class ForkServer:
    """The side of the tests: ``run`` is like ``subprocess.run([sys.executable, *arguments])``, with output captured.

    A server that has ended is started again by the next ``run``.

    Args:
        command: what to start before the name of this file, such as ``[sys.executable]``.
        modules: what the server imports before it forks.
        environment: of the server, and so of every program.
    """

    def __init__(self, command: Sequence[str], modules: Sequence[str], environment: dict[str, str]) -> None:
        self._command, self._modules, self._environment = command, modules, environment
        self._start()

    def _start(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._served = False
        with theirs:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()
            self._process = subprocess.Popen(
                [*self._command, __file__, str(theirs.fileno()), *self._modules],
                env=self._environment, stdin=subprocess.DEVNULL, stdout=self._errors, stderr=self._errors,
                pass_fds=[theirs.fileno()],
            )  # fmt: skip

    def run(
        self,
        *arguments: str,
        timeout: float,
        environment: Mapping[str, str | None] | None = None,
        modules: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        """``environment`` is set in the program only, after the server's imports (None unsets); ``modules`` are what it
        imports then, before anything else.

        Raises:
            subprocess.TimeoutExpired: after the program was killed.
            RuntimeError: the server did not start, or ended while the program ran.
        """
        wanted = {"arguments": arguments, "cwd": os.getcwd(), "environment": dict(environment or {})}
        request = json.dumps({**wanted, "modules": list(modules)}).encode()
        assert len(request) <= _LARGEST, "pass a file, not so much code"
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            pid = self._begin(request, [out.fileno(), err.fileno()], arguments, timeout)
            try:
                self._channel.settimeout(timeout)
                status = self._receive()
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._channel.settimeout(None)
                self._receive()
                raise subprocess.TimeoutExpired(arguments, timeout) from None
            except (ConnectionError, EOFError) as error:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                raise RuntimeError(f"the fork server ended: {self._said()}") from error
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        return subprocess.CompletedProcess(list(arguments), status, *texts)

    def _begin(self, request: bytes, files: list[int], arguments: Sequence[str], timeout: float) -> int:
        """The process number of the program, which has been started."""
        while True:
            self._channel.settimeout(timeout)
            try:
                socket.send_fds(self._channel, [request], files)
                pid = self._receive()
                self._served = True
                return pid
            except TimeoutError:
                self.close()  # or the next answer would be the one to this request
                self._start()
                raise subprocess.TimeoutExpired(arguments, timeout) from None
            except (ConnectionError, EOFError) as error:
                served, said = self._served, self._said()
                self.close()
                self._start()
                if not served:
                    raise RuntimeError(f"the fork server ended: {said}") from error

    def _said(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def _receive(self) -> int:
        answer = self._channel.recv(64)
        if not answer:
            raise EOFError
        return int(answer)

    def close(self) -> None:
        self._channel.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()


def serve(channel: socket.socket, modules: Sequence[str]) -> dict[str, Any]:
    """Import, then fork at each request; returns in the children only."""
    with collector.not_in_forks():
        for module in modules:
            importlib.import_module(module)
    while True:
        message, files, *_ = socket.recv_fds(channel, _LARGEST, 2)
        if not message:
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            channel.close()
            for file, standard in zip(files, (1, 2), strict=True):
                os.dup2(file, standard)
                os.close(file)
            return json.loads(message)
        for file in files:
            os.close(file)
        channel.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        channel.send(str(os.waitstatus_to_exitcode(status)).encode())


if __name__ == "__main__":
    _request = serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
    os.chdir(_request["cwd"])
    for _name, _value in _request["environment"].items():
        os.environ.pop(_name, None)
        if _value is not None:
            os.environ[_name] = _value
    for _module in _request["modules"]:
        importlib.import_module(_module)
    from ophook_npu.demo.forked import run_to_the_end  # in the child: the server imports what it was asked for only

    run_to_the_end(_request["arguments"])
