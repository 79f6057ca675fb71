"""The observers on programs that nobody edited."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from ophook_npu import OphookError, observe
from ophook_npu.observe.program import run

TRAIN = """
import argparse, sys, torch
parser = argparse.ArgumentParser(); parser.add_argument("--epochs", type=int); epochs = parser.parse_args().epochs
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.body = torch.nn.Linear(4, 4)
    def forward(self, x):
        return self.body(x).relu()
net = Net()
for _ in range(epochs):
    net(torch.ones(2, 4)).sum().backward()
print("argv", sys.argv[1:], __name__, sys.modules["__main__"].Net is Net)
"""


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    return str(path)


@pytest.fixture
def command(run_python):
    return lambda *arguments: run_python("-m", "ophook_npu", *arguments)


def test_profile_of_a_program(command, train, tmp_path):
    html, chrome, out = (tmp_path / name for name in ("p.html", "p.trace", "p.json"))
    files = ["--html", html, "--timeline", chrome, "--json", out]
    done = command("profile", "--by-module", *map(str, files), "--", train, "--epochs", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "argv ['--epochs', '3'] __main__ True\n"
    assert "aten::addmm" in done.stderr and "body" in done.stderr
    rows = {row["name"]: row for row in json.loads(out.read_text())["by_operator"]}
    assert rows["aten::addmm"]["calls"] == 3 and rows["aten::threshold_backward"]["calls"] == 3
    assert html.read_text().startswith("<!doctype html>") and json.loads(chrome.read_text())["traceEvents"]


def test_the_program_finds_pythons_collector_of_garbage_as_it_was(command):
    program = "import gc, torch; torch.ones(2); print(gc.isenabled(), *gc.get_threshold())"
    plain = "import gc; gc.set_threshold(300, 7, 5); import runpy, sys; sys.argv = ['', *sys.argv[1:]]; "
    started = plain + "runpy.run_module('ophook_npu', run_name='__main__', alter_sys=True)"
    assert command("stats", "-c", program).stdout == "True 700 10 10\n"
    done = subprocess.run([sys.executable, "-c", started, "stats", "-c", program], capture_output=True, text=True)
    assert done.stdout == "True 300 7 5\n", done.stderr


def test_ctrl_c_leaves_a_report(tmp_path):
    path = tmp_path / "endless.py"
    path.write_text("import torch\nx = torch.ones(2)\nprint('go', flush=True)\nwhile True:\n    x.sin()\n")
    arguments = [sys.executable, "-m", "ophook_npu", "stats", "--", str(path)]
    environ = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout.readline() == "go\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # it prints where it is, and ends: this test never waits for ever
            raise AssertionError(f"Ctrl-C did not end it:\n{process.communicate()[1]}") from None
    assert process.returncode == 130
    assert "interrupted: the report covers what ran until then" in errors and "aten::sin" in errors


def test_exit_status_errors_and_arguments(tmp_path, capsys):
    def status(code):
        path = tmp_path / "program.py"
        path.write_text(code)
        return run([str(path), "a", "b"], observe.Log(to=None))

    assert status("import torch, sys; torch.ones(2); assert sys.argv[1:] == ['a', 'b']") == 0
    assert status("import torch, sys; torch.ones(2); sys.exit(7)") == 7
    assert status("import torch; torch.ones(2); raise SystemExit('no')") == 1
    assert status("import torch; torch.ones(2); 1 / 0") == 1
    text = capsys.readouterr().err
    assert "ZeroDivisionError" in text and "program.py" in text and "ophook_npu" not in text.split("Traceback")[1]
    with pytest.raises(OphookError, match=r"no such program: nothere.py; allowed: a Python script"):
        run(["nothere.py"], observe.Log(to=None))


def test_code_and_modules(tmp_path, monkeypatch, capsys):
    assert run(["-c", "import torch, sys; torch.ones(2); print(sys.argv, __name__)", "x"], observe.Log(to=None)) == 0
    assert capsys.readouterr().out == "['-c', 'x'] __main__\n"
    (tmp_path / "amodule.py").write_text("import torch\ntorch.ones(2)\nprint(__name__)\n")
    monkeypatch.chdir(tmp_path)
    with_stats = observe.Stats()
    assert run(["-m", "amodule"], with_stats) == 0
    assert capsys.readouterr().out == "__main__\n" and "aten::ones" in with_stats.report()


@pytest.mark.parametrize(
    ("last", "status", "told"),
    [
        ("1 / 0", 1, "ended early by ZeroDivisionError: this is what ran until then"),
        ("sys.exit(1)", 1, "ended early by exit status 1"),
        ("os._exit(3)", 3, "ended early by exit status 3"),
        ("raise KeyboardInterrupt", 130, "ended early by Ctrl-C"),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, "ended early by SIGTERM"),
        ("torch.ones(2, device='npu')", 1, "next: there is no npu in this process; --device auto before the program"),
        ("raise ValueError('an input is wrong')", 1, "ended early by ValueError"),
        ("os._exit(0)", 0, "no problem found"),
        ("sys.exit()", 0, "no problem found"),
        # Children end as without an observer, and say nothing.
        ("os.fork() or os._exit(4); print(os.wait()[1] >> 8)", 0, "no problem found"),
    ],
)
def test_how_a_program_ended_is_told_and_passed_on(last, status, told, command, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(f"import os, signal, sys, torch\ntorch.ones(2).sin()\n{last}\n")
    done = command("validate", "--json", str(tmp_path / "out.json"), str(path))
    assert done.returncode == status and done.stderr.count("0 problems in 2 calls") == 1, done.stderr
    assert told in done.stderr and ("no problem found" in done.stderr) == (status == 0)
    assert ("npu in this process" in done.stderr) == ("npu" in last and "input" not in last)
    assert ("ended early" in json.loads((tmp_path / "out.json").read_text())["how"]) == (status != 0)


def test_log_trace_and_filters(command, train, tmp_path):
    log = tmp_path / "log.jsonl"
    done = command("log", "--json", "--to", str(log), "--op", "aten::addmm", "--", train, "--epochs", "2")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["module"] for line in log.read_text().splitlines()] == ["body", "body"]
    done = command("trace", "--module", "body", "--", train, "--epochs", "2")
    assert "train.py:8 forward" in done.stderr and "threshold" not in done.stderr
    seen = "Seen: calls that match module body, of this thread, forward and backward; composite ones as the operators"
    assert f". {seen} they call\n" in done.stderr


@pytest.mark.parametrize(
    ("filters", "seen"),
    [
        ({}, "all operators of this thread, forward and backward; composite ones as the operators they call"),
        ({"target": "aten::relu"}, "calls that match op aten::relu, of this thread, forward and backward"),
        ({"target": "aten::mm", "phase": "forward"}, "calls that match op aten::mm and phase forward, of this thread"),
        ({"target": "aten::linear"}, "calls that match op aten::linear, of all threads, forward and backward"),
    ],
)
def test_what_was_seen_is_one_plain_line(filters, seen):
    assert observe.Stats(**filters).how == f"Seen: {seen}"


def test_a_log_says_that_the_program_ended_early(command, tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import torch\ntorch.ones(2).sin()\n1 / 0\n")
    assert "2 calls logged\nended early by ZeroDivisionError" in command("log", str(path)).stderr
    (line,) = (one for one in command("stats", "--op", "aten::cosh", str(path)).stderr.splitlines() if "[stats]" in one)
    assert line.endswith("matches op aten::cosh before it ended early by ZeroDivisionError")


def test_validate_and_compare_tell_by_exit_status(command, train, tmp_path):
    assert command("compare", "--", train, "--epochs", "1").returncode == 0
    bad = tmp_path / "bad.py"
    bad.write_text("import torch\nprint(torch.tensor([-1.0]).log())\n")
    page = tmp_path / "compare.html"
    validated = command("validate", "--", str(bad))
    assert validated.returncode == 1 and "bad.py:2 <module>" in validated.stderr and "aten::log" in validated.stderr
    compared = command("compare", "--drift", "--html", str(page), "--", str(bad))
    assert compared.returncode == 0 and "aten::log" in page.read_text()
