"""Capture, replay, digest, align and bisect from the command line, on a program that nobody edited."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import threading

import pytest

from ophook_npu import OphookError, cli
from ophook_npu.cli import runs
from ophook_npu.observe.trial import RunEnd, same_output

TRAIN = """
import sys, torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(16, 4))
x = torch.randn(5, 8)
for step in range(2):
    loss = net(x).square().mean()
    loss.backward()
    print(f"step {step} loss {loss.item():.6f}")
"""
REPLACEMENTS = """
from ophook_npu import original
def good(*args): return original()(*args)
def bad(*args): return original()(*args) * 1.1
REPLACEMENTS = {"aten::addmm": good, "aten::relu": bad}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "replacements.py").write_text(REPLACEMENTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(here, monkeypatch, capsys):
    """The command line in this process: starting torch anew takes most of the time of a run."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["ophook-npu", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            cli.main()
        written = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, left.value.code, written.out, written.err)

    return run


def test_a_full_disk_ends_the_writing_and_not_the_program(here, command, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python does not notice that it wrote half of a module's
    (here / "wide.py").write_text(
        "import torch\nx = torch.ones(100, 400)\nfor _ in range(300):\n    x = x.relu()\n"
        "print('whole', x.sum().item())\n"
    )
    for arguments in (("digest", "--to", "d.jsonl"), ("capture", "--to", "c"), ("log", "--to", "l.txt")):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
        try:
            done = command(*arguments, "--", "wide.py")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert done.returncode == 1 and "whole 40000.0" in done.stdout, done.stderr
        assert done.stderr.count("cannot write") == 1 and "Traceback" not in done.stderr, done.stderr
    assert not list((here / "c").iterdir())  # no half of a capture


def test_a_filter_that_matches_nothing_is_one_line_and_a_status(here, command):
    for name in ("digest", "compare", "stats", "validate"):
        done = command(name, "--op", "aten::cosh", "--module", "nowhere.*", "--", "train.py")
        (line,) = done.stderr.splitlines()
        assert done.returncode == 1 and line.endswith("matches op aten::cosh and module nowhere.*"), done.stderr


def test_compare_says_which_calls_a_hook_of_the_program_replaced(here, command):
    (here / "hooked.py").write_text(
        "import torch\nfrom ophook_npu import hook, original\n"
        "with hook('aten::relu', replace=lambda x: original()(x) + 1):\n    torch.ones(2).relu()\n"
    )
    done = command("compare", "--", "hooked.py")
    assert "not compared: 1 x a hook of the program replaced aten::relu" in done.stderr, done.stderr


def test_captured_calls_are_replayed_and_become_tests(here, command):
    done = command(
        "capture", "--op", "aten::addmm", "--op", "aten::native_dropout", "--op", "aten::bernoulli_.float",
        "--to", "calls", "--limit", "4", "--tests", "--json", "out.json", "--", "train.py",
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.startswith("step 0 loss"), done.stderr
    saved = json.loads((here / "out.json").read_text())["saved"]
    assert len(saved) == 4 and f"next: ophook-npu replay {saved[0]}" in done.stderr
    assert (here / "calls" / "test_0001_aten_addmm.py").is_file()
    replayed = command("replay", "calls", "--json", "replayed.json", "--repeat", "2")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    rows = json.loads((here / "replayed.json").read_text())
    assert [row["differences"] for row in rows] == [[]] * 4 and all(row["us"] > 0 for row in rows)
    assert {row["note"] for row in rows} == {"", "draws random numbers: not compared"}
    # A capture that does not reproduce is named, and the exit status says so.
    path = here / saved[0]
    record = json.loads(path.read_text())
    record["kwargs"]["beta"] = 2
    path.write_text(json.dumps(record))
    wrong = command("replay", saved[0], "--test", "test_one.py")
    assert wrong.returncode == 1 and "result 0: off by" in wrong.stdout and (here / "test_one.py").is_file()


def test_two_runs_are_aligned(here, command):
    for name in ("a.jsonl", "b.jsonl"):
        done = command("digest", "--exact", "--inputs", "--to", name, "--", "train.py")
        assert done.returncode == 0 and f"written to {name}" in done.stderr, done.stderr
    same = command("align", "a.jsonl", "b.jsonl")
    assert same.returncode == 0 and "all that correspond agree" in same.stdout, same.stdout
    lines = (here / "b.jsonl").read_text().splitlines()
    index = next(i for i, line in enumerate(lines) if '"aten::relu"' in line)
    row = json.loads(lines[index])
    row["results"][0] |= {"norm": 9.0, "bits": 1}
    lines[index] = json.dumps(row)
    (here / "b.jsonl").write_text("\n".join(lines) + "\n")
    apart = command("align", "a.jsonl", "b.jsonl", "--html", "two.html", "--json", "two.json")
    assert apart.returncode == 1 and "first divergence: aten::relu" in apart.stdout
    assert "made an error themselves: aten::relu" in apart.stdout
    assert json.loads((here / "two.json").read_text())["differing"] == 1
    assert "aten::relu" in (here / "two.html").read_text()


def test_a_guilty_replacement_is_found(here, run_python):
    arguments = ["bisect", "--replace", "replacements.py", "--output", "--json", "guilty.json", "--", "train.py"]
    done = run_python("-m", "ophook_npu", *arguments)
    assert done.returncode == 0, done.stderr
    assert json.loads((here / "guilty.json").read_text())["guilty"] == ["aten::relu"]
    assert "guilty: aten::relu" in done.stdout and "run 1: 0 of 2 replaced: right" in done.stderr


def test_outputs_are_the_same_but_for_small_differences_of_numbers():
    assert same_output("loss 0.1000 at 3", "loss 0.1001 at 3", 1e-2)
    assert not same_output("loss 0.1", "loss 0.2", 1e-2) and not same_output("loss 1", "cost 1", 1e-2)
    assert same_output("nan -inf 1e-9", "nan -inf 0", 1e-3) and not same_output("nan", "1.0", 1e-3)


def test_bisect_says_that_a_difference_is_under_its_tolerance():
    class Runs:
        replacements = "mine.py"

        def names(self):
            return ["aten::relu"]

        def replacing(self, names):
            return RunEnd(0, "loss 1.002 at 3" if names else "loss 1.000 at 3")

    with pytest.raises(OphookError, match=r"differs by 0.002, relative, which is under --tolerance 0.01"):
        runs._bisect(Runs(), True, 1e-2, True)
    assert runs._bisect(Runs(), True, 1e-3, True).guilty == ["aten::relu"]
    with pytest.raises(OphookError, match="passes with the one replacement;"):
        runs._bisect(Runs(), False, 1e-2, True)


def test_contracts_of_the_user(here, command):
    (here / "contracts.py").write_text(
        "def small(call):\n    return None if call.result.abs().max() < 1e-3 else 'too large'\n"
        "CONTRACTS = {'aten::relu': small}\n"
    )
    arguments = ["validate", "--contracts", "contracts.py", "--check", "nan", "--json", "found.json", "--", "train.py"]
    done = command(*arguments)
    found = json.loads((here / "found.json").read_text())["problems"]
    assert done.returncode == 1 and {(p["kind"], p["op"], p["text"]) for p in found} == {
        ("contract", "aten::relu", "too large")
    }
    assert "no such file: none.py" in command("validate", "--contracts", "none.py", "--", "train.py").stderr
    assert "unknown check 'nans'" in command("validate", "--check", "nans", "--", "train.py").stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["bisect", "--", "train.py"], "say who is suspected"),
        (["bisect", "--replace", "nothere.py", "--", "train.py"], "no such file: nothere.py"),
        (["bisect", "--replace", "empty.py", "--", "train.py"], "empty.py does not define REPLACEMENTS"),
        (["replay", "nothing.json"], "no such capture: nothing.json"),
        (["align", "train.py", "train.py"], "train.py:1 is not a row of a digest"),
        (["profile", "--html", "nowhere/p.html", "--", "train.py"], "no such folder: nowhere"),
        (["digest", "--to", "nowhere/d.jsonl", "--", "train.py"], "no such folder: nowhere"),
        (["capture", "--", "nothere.py"], "no such program: nothere.py"),
    ],
)
def test_errors_say_what_and_come_before_the_program_runs(arguments, told, here, command):
    (here / "empty.py").write_text("REPLACEMENTS = 3\n")
    done = command(*arguments)
    assert done.returncode == 2 and told in done.stderr and "loss" not in done.stdout


def test_a_long_run_shows_a_bar_and_ctrl_c_leaves_whole_files(here):
    # Standard error is a terminal and standard output a pipe, as in `… | tee`: the bar must leave the pipe alone.
    import pyarrow.parquet

    (here / "endless.py").write_text(
        "import time, torch\nx = torch.ones(4)\nprint('go', flush=True)\nstart = time.time()\n"
        "while True:\n    x.sin(); time.sleep(0.001)\n"
        "    if time.time() - start > 3.5: print('still', flush=True); start += 99\n"
    )
    arguments = [sys.executable, "-m", "ophook_npu", "compare", "--rows", "rows.parquet", "--html", "page.html", "--"]
    master, slave = pty.openpty()
    with subprocess.Popen([*arguments, "endless.py"], stdout=subprocess.PIPE, stderr=slave, text=True) as process:
        os.close(slave)
        assert [process.stdout.readline() for _ in range(2)] == ["go\n", "still\n"]
        process.send_signal(signal.SIGINT)
        killer = threading.Timer(120, process.kill)  # or a Ctrl-C that was lost would leave this test waiting
        killer.start()
        shown = b""
        with contextlib.suppress(OSError):  # the other end closes when the program ends
            while piece := os.read(master, 65536):
                shown += piece
        killer.cancel()
        assert process.wait(60) == 130 and process.stdout.read() == ""
    os.close(master)
    text = shown.decode()
    assert "calls; Ctrl-C ends with a report of what ran" in text and "interrupted: the report covers" in text
    assert pyarrow.parquet.read_table(here / "rows.parquet").num_rows > 10
    assert "aten::sin" in (here / "page.html").read_text()
