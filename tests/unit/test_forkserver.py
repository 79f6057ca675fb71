"""The fork server of these tests: a program that it runs is a process of its own, and ends as one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from forkserver import ForkServer


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    server = ForkServer([sys.executable], ["decimal"], {**os.environ, "FORK_SERVER_TEST": "1"})
    yield server
    server.close()


def test_output_status_and_environment(server: ForkServer) -> None:
    done = server.run(
        "-c", "import os, sys; print(os.environ['FORK_SERVER_TEST'], sys.argv); sys.exit(3)", "x", timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "1 ['-c', 'x']\n", "")
    failed = server.run("-c", "1 / 0", timeout=60)
    assert failed.returncode == 1 and failed.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert server.run("-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", timeout=60).returncode == -11


def test_modules_are_imported_and_nothing_is_left_from_one_program_to_the_next(server: ForkServer) -> None:
    code = "import builtins, sys; print('decimal' in sys.modules, hasattr(builtins, 'left')); builtins.left = 1"
    assert [server.run("-c", code, timeout=60).stdout for _ in range(2)] == ["True False\n"] * 2


def test_exit_functions_run_and_buffers_are_written(server: ForkServer) -> None:
    code = "import atexit, os; atexit.register(print, 'bye'); os.write(1, b'raw '); print('buffered')"
    assert server.run("-c", code, timeout=60).stdout == "raw buffered\nbye\n"


def test_threads_are_waited_for_and_what_c_buffers_is_written(server: ForkServer) -> None:
    late = "import threading, time; threading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()"
    assert server.run("-c", late, timeout=60).stdout == "late\n"
    assert server.run("-c", "import ctypes; ctypes.CDLL(None).printf(b'from C\\n')", timeout=60).stdout == "from C\n"


def test_a_message_as_status_is_written_and_is_1(server: ForkServer) -> None:
    done = server.run("-c", "import sys; sys.exit('no such file')", timeout=60)
    assert (done.returncode, done.stderr) == (1, "no such file\n")


def test_modules_and_scripts(server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "amodule.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    monkeypatch.chdir(tmp_path)
    for how in (("-m", "amodule"), (str(tmp_path / "amodule.py"),)):
        assert server.run(*how, "one", timeout=60).stdout == "__main__ ['one']\n"


def test_a_program_that_hangs_is_killed(server: ForkServer) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        server.run("-c", "import time; time.sleep(600)", timeout=1)
    assert server.run("-c", "print('next')", timeout=60).stdout == "next\n"


def test_variables_of_one_program_are_its_own(server: ForkServer) -> None:
    code = "import os; print(os.environ.get('ONLY_ONE'), os.environ['FORK_SERVER_TEST'])"
    answers = [server.run("-c", code, timeout=60, environment=e).stdout for e in ({"ONLY_ONE": "yes"}, {})]
    assert answers == ["yes 1\n", "None 1\n"]


def test_a_server_that_ended_is_started_again(server: ForkServer) -> None:
    for when in ("between two programs", "while one runs"):
        number = int(server.run("-c", "import os; print(os.getppid())", timeout=60).stdout)
        if when == "between two programs":
            os.kill(number, signal.SIGKILL)
        else:
            with pytest.raises(RuntimeError, match="the fork server ended"):
                server.run("-c", f"import os, time; os.kill({number}, 9); time.sleep(60)", timeout=60)
        code = "import os, sys; print(os.getppid(), 'decimal' in sys.modules)"
        other, imported = server.run("-c", code, timeout=60).stdout.split()
        assert int(other) != number and imported == "True", when


def test_a_server_that_cannot_start_says_why() -> None:
    server = ForkServer([sys.executable], ["no_such_module"], dict(os.environ))
    with pytest.raises(RuntimeError, match="No module named 'no_such_module'"):
        server.run("-c", "pass", timeout=60)
    server.close()
