"""``ophook-npu run -- PROGRAM``: what is Python, what is any other program, and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from ophook_npu import cli
from ophook_npu.cli._command import ProgramCommand, command, program_at
from ophook_npu.errors import OphookError

BIN = str(Path(sys.executable).parent)


def run(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    start = [sys.executable, "-m", "ophook_npu", "run", "--device", "cpu", "--", *arguments]
    environ = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", **environment}
    return subprocess.run(start, capture_output=True, text=True, env=environ, timeout=120, cwd=cwd)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"p.py": "#!/bin/sh\n", "sometool": "#!/bin/sh\n", "data": "x", "noshebang": "echo\n"}.items():
        (tmp_path / name).write_text(text)
    for name in ("p.py", "sometool", "noshebang"):
        (tmp_path / name).chmod(0o755)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").touch()
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize("arguments", [["-m", "x"], ["-c", "1"], ["-X", "dev", "p.py"], ["p.py", "a"], ["package"]])
def test_python_runs_python(folder: Path, arguments: list[str]) -> None:
    assert command(arguments, os.environ) == (sys.executable, [sys.executable, *arguments])


def test_anything_else_is_started_as_it_is(folder: Path) -> None:
    assert command(["./sometool", "-c"], os.environ) == ("./sometool", ["./sometool", "-c"])
    assert command([str(folder / "sometool")], os.environ)[0] == str(folder / "sometool")
    assert command(["sh", "-c", "true"], {"PATH": "/usr/bin:/bin"})[0] in ("/usr/bin/sh", "/bin/sh")
    # A virtual environment's own programs come first, on a PATH without them too.
    assert command(["python", "p.py"], {"PATH": "/usr/bin:/bin"})[0] == f"{BIN}/python"
    assert command(["sometool"], {"PATH": str(folder)})[0] == str(folder / "sometool")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("gone.py", "no such script: gone.py"),
        ("./gone", "no such program: ./gone"),
        ("gone", "no such program: gone is not on PATH"),
        ("sometool", "./sometool is a file here: write `./sometool`, or `python sometool`"),
        ("./data", "./data is neither named *.py nor executable"),
        ("./empty", "./empty is a folder without __main__.py"),
    ],
)
def test_neither_is_refused_with_what_to_do(folder: Path, program: str, message: str) -> None:
    with pytest.raises(OphookError) as refused:
        command([program], {"PATH": "/usr/bin:/bin"})
    assert message in str(refused.value)


def test_what_the_system_cannot_start_is_said(folder: Path) -> None:
    result = run("./noshebang", cwd=folder)
    assert result.returncode == 2
    assert "./noshebang cannot be started" in result.stderr and "such as `bash ./noshebang`" in result.stderr


def test_status_output_arguments_and_signal_are_the_programs_own() -> None:
    result = run("sh", "-c", 'echo "$1|$2" "$TORCH_DEVICE_BACKEND_AUTOLOAD"; exit 7', "name", "a b", "")
    assert (result.returncode, result.stdout, result.stderr) == (7, "a b| 0\n", "")
    assert run("sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    ("words", "start"),
    [
        ("p.py --device cpu", 0),
        ("--device cpu p.py --device sim -- x", 2),
        ("--device=cpu --sync p.py", 2),
        ("--sync -m module --sync", 1),
        ("--device cpu -cprint(1)", 2),
        ("--diff a b p.py", 3),
        ("--sync -- p.py --sync", 1),
        ("--devcie cpu p.py", 1),
        ("--device", 2),
        ("- --sync", 0),
    ],
)
def test_the_program_begins_at_the_first_word_that_is_no_option(words: str, start: int) -> None:
    given = words.split()
    assert program_at(given, {"--device": 1, "--diff": 2}) == min(start, len(given))


def test_every_command_that_takes_a_program_leaves_the_program_its_options() -> None:
    app = typer.Typer()
    cli.register(app)
    taken = []
    for name, one in typer.main.get_command(app).commands.items():
        programs = [p for p in one.params if p.param_type_name == "argument" and p.nargs == -1 and p.name != "captures"]
        assert isinstance(one, ProgramCommand) == bool(programs), name
        if programs:
            words = ["p.py", "--device", "cpu", "--json", "-h", "--", "--unknown"]
            context = one.make_context(name, ["--device", "sim", *words])
            assert context.params[programs[0].name] == words and context.params["device"] == "sim", name
            taken.append(name)
    assert {"run", "profile", "port", "bisect", "digest", "capture"} <= set(taken)


def test_so_do_the_commands_of_groups() -> None:
    app = typer.Typer()
    cli.register(app)
    taken = []
    for group in typer.main.get_command(app).commands.values():
        for name, one in getattr(group, "commands", {}).items():
            programs = [p for p in one.params if p.param_type_name == "argument" and p.nargs == -1]
            assert isinstance(one, ProgramCommand) == bool(programs), name
            for program in programs:
                words = ["p.asc", "--soc", "x", "--strict", "-h", "--", "--unknown"]
                context = one.make_context(name, ["--soc", "Ascend910B1", *words])
                assert (context.params[program.name], context.params["soc"]) == (words, "Ascend910B1")
                taken.append(f"{group.name} {name}")
    assert taken == ["kernel run"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("run --devcie cpu p.py", "error [run] no such option: --devcie, did you mean --device?"),
        ("profile --htlm a.html p.py", "error [profile] no such option: --htlm, did you mean --html?"),
        ("run --strict p.py", "no such option: --strict, did you mean --strict-memory?"),
        ("run -u p.py", "Python's behind `--`"),
        ("port --steps", "error [port] option '--steps' requires an argument"),
        ("bisect --one", "error [bisect] no program\n  allowed: ophook-npu bisect [OPTIONS] PROGRAM [ARGS]..."),
        ("stats --json p.py", "error [stats] no program: --json takes p.py for its value\n"),
        ("port --html p.py", "error [port] no program: --html takes p.py for its value\n"),
        ("prfile p.py", "error [ophook-npu] no such command 'prfile'. Did you mean 'profile'?"),
        ("p.py --steps 3", "error [ophook-npu] no such command 'p.py'\n  next: ophook-npu run p.py"),
        ("dispatch aten::add --after gone.py", "/gone.py: No such file or directory\n  next: check the path"),
        ("stats --op aten::reluu p.py", "`ophook-npu log -- PROGRAM` lists"),
        ("stats package/ p.py", "it is a folder: name a file in it"),
        ("sim rules --json aclnnAdd x", "error [sim rules] got unexpected extra argument(s) (x)"),
    ],
)
def test_a_wrong_command_line_is_told_as_everything_else(
    folder: Path, words: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["ophook-npu", *words.split()])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2 and told in capsys.readouterr().err
