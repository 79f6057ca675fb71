"""scripts/published_projects.py: which folders are projects, what became of one, and the table."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    yield importlib.import_module("published_projects")
    for name in [n for n in sys.modules if n.split(".")[0].startswith("published")]:
        del sys.modules[name]


def test_projects_are_folders_with_both_parts(script: Any, tmp_path: Path) -> None:
    for path in ("a/Add", "a/Add/build_out/Add", "b/question", "b/answer/0"):
        for part in ("op_host", "op_kernel"):
            (tmp_path / path / part).mkdir(parents=True)
            (tmp_path / path / part / "add.cpp").touch()
    (tmp_path / "half/op_kernel").mkdir(parents=True)
    (tmp_path / "half/op_kernel/add.cpp").touch()
    assert script.projects(tmp_path) == [Path("a/Add"), Path("b/answer/0")]


def test_what_became_of_a_project_is_the_worst_of_it(script: Any) -> None:
    def result(*statuses: str, found: str = "") -> list[dict[str, Any]]:
        lost = ("crash", "timeout")
        outcomes = [{"status": "fail" if s in lost else s, "where": s if s in lost else ""} for s in statuses]
        return [{"outcomes": outcomes, "findings": [{"severity": found}] * bool(found)}]

    assert script.state(2, []) == script.state(-1, []) == "not compiled"
    assert script.state(0, result("pass", found="note")) == "clean"
    assert script.state(1, result("pass", "error")) == "refused"
    assert script.state(1, result("error", "crash")) == script.state(1, result("timeout")) == "stopped"
    assert script.state(1, result("crash") + result("pass", found="error")) == "findings"
    assert script.state(1, result("crash", "fail")) == "findings"


def test_a_project_of_ours_is_clean_and_one_without_code_is_told(script: Any, tmp_path: Path) -> None:
    assert script.check(ROOT / "op_plugin_patch/ascendc", 120)["state"] == "clean"
    nothing = script.check(tmp_path, 120)
    assert nothing["state"] == "not compiled" and "op_host" in nothing["text"]


def test_the_table_has_a_row_for_each_repository_and_their_sums(script: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- projects -->\nold\n<!-- end of projects -->\n")
    first, second, *_ = script.COMMITS
    script.write(page, Counter({(first, "clean"): 3, (second, "clean"): 1, (second, "refused"): 2}))
    rows = page.read_text().splitlines()
    assert len(rows) == len(script.COMMITS) + 5 and "old" not in page.read_text()
    assert rows[3].endswith("| 3 | 3 | 0 | 0 | 0 | 0 |") and rows[4].endswith("| 3 | 1 | 0 | 2 | 0 | 0 |")
    assert rows[-2] == "| all | 6 | 4 | 0 | 2 | 0 | 0 |"
