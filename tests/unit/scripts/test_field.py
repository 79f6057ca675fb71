"""docs/field.md says what the other pages say, and scripts/replay.py takes its programs and its rules from data."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCRIPTS = Path(__file__).parents[3] / "scripts"
TABLES = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted((SCRIPTS / "replay").glob("*.toml"))
}
FIXES = [(name, fix) for name, table in TABLES.items() for fix in table["fix"]]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_what_the_other_pages_say() -> None:
    done = subprocess.run([sys.executable, SCRIPTS / "field.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_fix_has_a_program_or_a_reason_and_a_row() -> None:
    programs = [(path.parent.name, path.name) for path in (SCRIPTS / "replay").glob("*/*.py")]
    assert sorted((name, fix["program"]) for name, fix in FIXES if "program" in fix) == sorted(programs)
    for page in ("field.md", "field.zh.md"):
        text = (SCRIPTS.parent / "docs" / page).read_text(encoding="utf-8")
        rows = dict(re.findall(r"^\| [\w/-]+ \| \[(\w+)\].*?\| (shown|not shown) \| .*\|$", text, re.M))
        assert rows == {fix["commit"][:8]: "shown" if "program" in fix else "not shown" for _, fix in FIXES}
    assert all(("fails" in fix) == ("program" in fix) != ("reason" in fix) for _, fix in FIXES)


def test_a_rule_chooses_from_the_subjects(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], check=True, capture_output=True)

    git("init", "-b", "main")
    for subject in ("fix a crash", "a crash of cars", "Bugfix: shapes", "fix a word", "[Fix] a graph"):
        for file in ("tests/shapes.cpp", f"{subject[-4:]}.{'cpp' if subject[0] == '[' else 'py'}"):
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text(subject, encoding="utf-8")
        git("add", "-A")
        git("commit", "-m", subject)
    replay = load(SCRIPTS / "replay.py")
    rule = {"branch": "main", "words": ["crash", "shape", "graph"], "every": 2}
    assert [subject for _, subject in replay.chosen(tmp_path, rule)] == ["[Fix] a graph", "fix a crash"]
    rule = {"branch": "main", "words": [], "every": 1, "files": r".*\.py"}
    assert [subject for _, subject in replay.chosen(tmp_path, rule)] == ["fix a word", "Bugfix: shapes", "fix a crash"]


def test_a_program_that_hangs_fails_with_what_it_started() -> None:
    replay = load(SCRIPTS / "replay.py")
    child = "import subprocess; subprocess.run(['sleep', '60'])"  # it holds the pipes open, too
    done = replay.within(1, [sys.executable, "-c", child], dict(os.environ))
    assert done.returncode == -signal.SIGKILL and "did not end within 1 s" in done.stderr


def test_rows_of_other_projects_stay(tmp_path: Path) -> None:
    replay = load(SCRIPTS / "replay.py")
    page = tmp_path / "field.md"
    page.write_text((SCRIPTS.parent / "docs" / "field.md").read_text(encoding="utf-8"), encoding="utf-8")
    before = page.read_text(encoding="utf-8")
    assert replay.rewritten(page, []) == before and replay.unlike(page, before) == []
    name, fix = FIXES[-1]
    told = {"project": TABLES[name]["project"], "subject": "a | b", "result": "fails after", "before": "Error"}
    differs = [line for line in replay.unlike(page, replay.rewritten(page, [fix | told])) if line[:1] in "+-"][2:]
    assert all(fix["commit"][:8] in line or " shown, " in line or not line[1:] for line in differs)
    assert any(line.endswith("| a \\| b | fails after | Error |") for line in differs if line[0] == "+")


def test_a_program_takes_functions_out_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import math\nfrom nowhere import missing\nclass Sum:\n def more(self, x: missing) -> Sum:\n"
        "  return math.ceil(x) + beside\n",
        encoding="utf-8",
    )
    taken = load(SCRIPTS / "replay" / "taken.py")
    taken.FOLDER = tmp_path
    assert taken.take("a.py", "Sum.more", beside=2).more(None, 0.5) == 3
    with pytest.raises(SystemExit, match=r"a.py has no Sum.less"):
        taken.take("a.py", "Sum.less")


def test_a_file_stands_in_for_an_installed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, number in (("installed", 1), ("fix", 2)):
        (tmp_path / folder / "laid").mkdir(parents=True)
        (tmp_path / folder / "laid" / "__init__.py").write_text("", encoding="utf-8")
        (tmp_path / folder / "laid" / "a.py").write_text(f"here = __file__, {number}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    monkeypatch.setattr(sys, "meta_path", sys.meta_path[:])
    taken = load(SCRIPTS / "replay" / "taken.py")
    taken.FOLDER = tmp_path / "fix"
    taken.lay("laid/a.py")
    assert importlib.import_module("laid.a").here == (str(tmp_path / "installed" / "laid" / "a.py"), 2)
    with pytest.raises(SystemExit, match=r"laid.a is there already"):
        taken.lay("laid/a.py")
    for name in ("laid.a", "laid"):
        del sys.modules[name]


def test_all_that_a_file_defines_can_be_taken(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("two = 2\nmissing()\ndef four(): return two * given\n", encoding="utf-8")
    taken = load(SCRIPTS / "replay" / "taken.py")
    taken.FOLDER = tmp_path
    assert taken.take("a.py", given=2).four() == 4
