"""scripts/upstream_report.py over small reports."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "scripts/upstream_report.py"
CASE = '<testcase classname="a.TestOne" name="test_{}">{}</testcase>'
FORMAT = '<failure message="e">[simulated Ascend] aclnnX: dstFormat is 3; Ascend950 allows 2 (ND)</failure>'
FAULT = '<failure message="RuntimeError">[simulated Ascend] aclnnCeil: INT32 is not allowed</failure>'


def run_of(folder: Path, configuration: str, *outcomes: str) -> Path:
    folder.mkdir()
    text = "".join(CASE.format(number, outcome) for number, outcome in enumerate(outcomes))
    (folder / "test_base_ops.test_one.xml").write_text(f"<testsuites><testsuite>{text}</testsuite></testsuites>")
    (folder / "configuration").write_text(configuration + "\n")
    (folder / "about").write_text("op-plugin of some commit.\n")
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    first = run_of(tmp_path / "a", "Ascend910B4, CANN 8.5.0", "", "", '<skipped message="other SoC"/>', FAULT)
    second = run_of(tmp_path / "b", "Ascend950PR_9589, CANN 9.0.0", "", '<skipped message="s"/>', "", FORMAT)
    (second / "test_base_ops.test_two.died").write_text("SIGKILL\n")
    return [first, second]


def report(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, timeout=60)


def test_a_run_is_counted_by_outcome_and_by_configuration(runs: list[Path]) -> None:
    lines = report(*runs).stdout.splitlines()
    assert "1 files, 4 tests." in lines and "2 files, 5 tests." in lines
    assert "| refused by an operator of the simulator | 1 | aclnnCeil 1 |" in lines
    assert "| the process ended or hung | 1 files | test_base_ops.test_two: SIGKILL |" in lines
    # A file whose process ended is one test that ran and did not pass.
    assert "| test_base_ops | Ascend910B4, CANN 8.5.0 | 1 | 4 | 1 | 3 | 2 | 66.7% | 0 | 66.7% |" in lines
    assert "| test_base_ops | Ascend950PR_9589, CANN 9.0.0 | 2 | 5 | 1 | 4 | 2 | 50.0% | 1 | 66.7% |" in lines


def test_each_table_goes_between_its_own_marks(runs: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    titles = [
        "by configuration",
        "test_base_ops: Ascend950PR_9589, CANN 9.0.0",
        "test_base_ops: Ascend910B4, CANN 8.5.0",
    ]
    page.write_text("".join(f"before\n<!-- {title} -->\nold\n<!-- end -->\n" for title in titles) + "after\n")
    assert report(*runs, "--into", page).returncode == 0
    parts = page.read_text().split("<!-- end -->\n")
    assert "of those run" in parts[0] and "SIGKILL" in parts[1] and "aclnnCeil" in parts[2] and parts[3] == "after\n"
    assert "old" not in page.read_text()


def test_what_cannot_be_reported_is_named(runs: list[Path], tmp_path: Path) -> None:
    assert "has no results of upstream_tests.sh" in report(tmp_path).stderr
    page = tmp_path / "page.md"
    page.write_text("no marks\n")
    done = report(*runs, "--into", page)
    assert done.returncode == 1 and "<!-- test_base_ops: Ascend910B4, CANN 8.5.0 -->" in done.stderr
    assert page.read_text() == "no marks\n"
    assert "comes last" in report("--into", page, runs[0]).stderr


def test_tests_that_contradict_themselves_are_counted_by_themselves_where_they_fail(tmp_path: Path) -> None:
    name = 'name="test_npu_950_"'
    for folder, outcome, line in (
        ("fails", FAULT, "| 1 | 0 | 0.0% | 1 | - |"),
        ("passes", "", "| 1 | 1 | 100.0% | 0 |"),
    ):
        where = run_of(tmp_path / folder, "Ascend950PR_9589, CANN 9.0.0", outcome)
        one = where / "test_base_ops.test_one.xml"
        (where / "test_custom_ops.test_group_norm_silu.xml").write_text(one.read_text().replace('name="test_0"', name))
        one.unlink()
        assert line in report(where).stdout


def test_every_contradiction_names_a_test_and_says_what() -> None:
    lines = SCRIPT.with_name("upstream_contradictions.txt").read_text().splitlines()
    entries = [line for line in lines if not line.startswith("#")]
    assert entries and len({entry.partition("|")[0] for entry in entries}) == len(entries)
    for entry in entries:
        name, _, why = entry.partition(" | ")
        assert re.fullmatch(r"test_\w+\.test\w*", name) and why.strip(), entry
