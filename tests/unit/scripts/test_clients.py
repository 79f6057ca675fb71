"""scripts/clients.sh without pip and network: its arguments, its data, the comparison and the table."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # of pytest, before Python has one

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts/clients.sh"
FILES = sorted((ROOT / "scripts/clients").glob("*.toml"))
MODULES = ("run", "table", "compare", "env")
ROW = {"ran": "a | b", "equal": "yes, within 1e-5", "stops": "–"}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(SCRIPT.parent / "clients"))
    import run

    yield run
    for name in MODULES:
        sys.modules.pop(name, None)


def start(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", SCRIPT, *map(str, arguments)], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHON": sys.executable},
    )  # fmt: skip


def result(project: str, *rows: dict[str, str]) -> dict[str, object]:
    return {"project": project, "versions": ["one 1.0"], "rows": list(rows)}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no project is named"),
        (["no_such_project"], "no project no_such_project"),
        (["--into"], "--into needs a value"),
        (["--wrong"], "unknown option --wrong"),
    ],
)
def test_wrong_arguments(arguments: list[str], said: str) -> None:
    done = start(*arguments)
    assert done.returncode == 2 and said in done.stderr


def test_help_and_list() -> None:
    text = start("--help").stdout
    assert "usage: scripts/clients.sh" in text and "Exit status" in text and "set -euo" not in text
    names = [line.split(":")[0] for line in start("--list").stdout.splitlines()]
    assert names == [file.stem for file in FILES]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_project_is_pinned_and_its_programs_are_there(script: ModuleType, file: Path) -> None:
    told, cases = script.cases(file)
    assert told["packages"] and all("==" in package for package in told["packages"])
    assert len({case.name for case in cases}) == len(cases) > 0
    assert all(re.fullmatch("[0-9a-f]{40}", each["commit"]) for each in told.get("checkout", {}).values())
    for case in cases:
        places = set(re.findall(r"\{(\w+)\}", f"{case.command} {case.cpu}"))
        assert places <= {"programs", "out", *told.get("checkout", {}), *(["sources"] if "sources" in told else [])}
        words = [word for word in f"{case.command} {case.cpu}".split() if word.startswith("{programs}/")]
        for word in words:
            assert Path(word.format(programs=ROOT / "examples/clients")).is_file(), word
        assert not case.compared or "{out}" in case.command
    page = (ROOT / "docs/clients.md").read_text()
    assert f"| **{told['project']}** (" in page


def test_a_case_says_what_is_compared(script: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    for more, said in (
        ("", "within or cpu"),
        ('cpu = "none"\nwithin = 1e-5', "within or cpu"),
        ('stops = "x"', "belong together"),
        ("wihtin = 1", "unknown wihtin"),
    ):
        file.write_text(f'project = "one"\npackages = []\n[[case]]\nname = "a"\nran = "a"\ncommand = "a"\n{more}\n')
        with pytest.raises(script.table.Unusable, match=said):
            script.cases(file)


def test_differences(script: ModuleType) -> None:
    difference = script.difference
    assert difference({"a": [1.0, 200.0]}, {"a": [1.0, 100.0]}) == (1.0, "a[1]")
    assert difference([0.25], [0.0]) == (0.25, "[0]")
    assert difference([math.nan, math.inf], [math.nan, math.inf])[0] == 0
    unlike = (([1.0], [1.0, 2.0]), ({"a": 1}, {"b": 1}), ("x", "y"), (math.nan, 1.0), (1.0, math.inf), (True, 1))
    for got, wanted in unlike:
        assert difference(got, wanted)[0] == math.inf


def test_what_a_run_means(script: ModuleType) -> None:
    case = script.Case("a", "{0} tests", "c", within=1e-2, says=r"(\d+) passed")
    good = script.judge(case, 0, "7 passed", [1.001], [1.0])
    assert good.row == {"ran": "7 tests", "equal": "yes, within 1e-2", "stops": "–"} and not good.worse
    assert "differs by" in script.judge(case, 0, "7 passed", [1.1], [1.0]).worse
    assert "no results" in script.judge(case, 0, "7 passed", {}, {}).worse
    assert "7" not in script.judge(case, 0, "", [1.0], [1.0]).row["ran"] and script.judge(case, 0, "", [1], [1]).worse
    assert script.judge(case, 1, "7 passed", [1.0], [1.0]).worse == "exit status 1"
    assert script.judge(case, None, "", None, None).worse == "no end in time"
    assert script.judge(case, 0, "7 passed", [1.1], [1.0]).row["equal"] == "no, not within 1e-2"
    stopping = script.Case("a", "a", "c", stops="not there", cause="theirs")
    assert script.judge(stopping, 1, "it is not there", None, None).row["stops"] == "theirs"
    assert script.judge(stopping, 1, "something else", None, None).worse
    assert script.judge(stopping, 0, "", None, None).better and not script.judge(stopping, 0, "", None, None).worse


def test_a_case_that_is_not_run_again_keeps_only_what_is_recorded_now(script: ModuleType) -> None:
    case = script.Case("a", "a", "c", within=1e-2)
    rows = [script.judge(case, 0, "", [1.0], [1.0]).row]
    assert case.earlier(rows) == rows[0] and case.earlier([]) is None
    assert script.Case("a", "a", "c", within=1e-3).earlier(rows) is None
    assert case.earlier([script.judge(case, 0, "", [2.0], [1.0]).row]) is None
    stopping = script.Case("a", "a", "c", stops="x", cause="theirs")
    assert stopping.earlier([script.judge(stopping, 1, "x", None, None).row]) and not stopping.earlier(rows)
    counting = script.Case("a", "{0} pass", "c", cpu="none", says=r"(\d+) passed")
    told = script.judge(counting, 0, "12 passed", None, None).row
    assert told["ran"] == "12 pass" and counting.earlier([*rows, told]) == told


def test_a_program_that_does_not_end_is_ended(script: ModuleType, tmp_path: Path) -> None:
    status = script.start(["sleep", "60"], tmp_path / "run", dict(os.environ), tmp_path / "log", 1)
    assert status is None


def test_a_checkout_is_the_repository_at_its_commit(script: ModuleType, tmp_path: Path) -> None:
    made = tmp_path / "project"
    made.mkdir()
    (made / "file").write_text("first")

    def git(*arguments: str) -> str:
        named = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(named, cwd=made, capture_output=True, text=True, timeout=60, check=True).stdout.strip()

    git("init", "-q")
    git("add", "file")
    git("commit", "-q", "-m", "first")
    first = git("rev-parse", "HEAD")
    (made / "file").write_text("second")
    git("commit", "-q", "-a", "-m", "second")
    folder = script.env.checkout(str(made), first, tmp_path / "work", tmp_path / "log")
    assert (folder / "file").read_text() == "first"
    assert folder == script.env.checkout("nowhere/project", first, tmp_path / "work", tmp_path / "log")
    with pytest.raises(subprocess.CalledProcessError):
        script.env.checkout(str(made), "0" * 40, tmp_path / "work", tmp_path / "log")


def test_rows_of_a_project_replace_its_old_ones(script: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{script.table.BEGIN}\n{script.table.END}\nafter\n")
    script.table.put_into(page, [result("two", ROW), result("One", ROW, ROW)])
    script.table.put_into(page, [result("two", {**ROW, "ran": "new"})])
    lines = page.read_text().splitlines()
    assert lines[0] == "before" and lines[-1] == "after"
    assert [line.split("|")[1].strip() for line in lines if line.startswith("| **")] == [
        "**One** (one 1.0)", "**One**", "**two** (one 1.0)",
    ]  # fmt: skip
    assert page.read_text().count("a \\| b") == 2 and "| new |" in page.read_text()
    page.write_text("no markers")
    with pytest.raises(script.table.Unusable, match="has no line"):
        script.table.put_into(page, [])


def test_a_result_of_another_script_is_taken(tmp_path: Path) -> None:
    page, file = tmp_path / "page.md", tmp_path / "vllm.json"
    page.write_text("<!-- clients -->\n<!-- end of clients -->\n")
    file.write_text(json.dumps(result("vllm-ascend", ROW)))
    done = start("--work", tmp_path / "work", "--take", file, "--into", page)
    assert done.returncode == 0, done.stderr
    assert "| **vllm-ascend** (one 1.0) | a \\| b | yes, within 1e-5 | – |" in page.read_text()
    file.write_text(json.dumps({"project": "vllm-ascend", "versions": [], "rows": [{"ran": 1}]}))
    done = start("--work", tmp_path / "work", "--take", file)
    assert done.returncode == 2 and "is no result" in done.stderr


def test_the_data_has_no_folders_of_one_machine() -> None:
    for file in FILES:
        assert not re.search(r"""(?:^|[\s"'=])/[\w.]+/""", file.read_text(), re.M), file
        assert tomllib.loads(file.read_text())["project"]
