"""scripts/upstream_compare.py over small reports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "scripts/upstream_compare.py"
CASE = '<testcase classname="a.TestOne" name="{}">{}</testcase>'


def report(folder: Path, *cases: tuple[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    text = "".join(CASE.format(name, inside) for name, inside in cases)
    (folder / "test_base_ops.test_one.xml").write_text(f"<testsuites><testsuite>{text}</testsuite></testsuites>")
    return folder


def compare(one: Path, other: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, one, other], capture_output=True, text=True, timeout=60)


def test_the_same_outcomes(tmp_path: Path) -> None:
    cases = [("test_x", ""), ("test_y", '<skipped message="s"/>'), ("test_z", '<failure message="f"/>')]
    done = compare(report(tmp_path / "a", *cases), report(tmp_path / "b", *cases))
    assert done.returncode == 0
    assert "1 files, 3 tests: 1 passed, 1 skipped, 1 failed" in done.stdout
    assert done.stdout.endswith("0 tests ended in another way\n")


def test_each_way_to_differ_is_named(tmp_path: Path) -> None:
    one = report(tmp_path / "a", ("test_x", ""), ("test_y", ""), ("test_down", ""), ("test_down", "<error/>"))
    other = report(tmp_path / "b", ("test_x", "<failure/>"), ("test_down", ""), ("test_down", "<error/>"))
    (other / "test_base_ops.test_two.died").write_text("SIGKILL\n")
    done = compare(one, other)
    assert done.returncode == 1
    assert done.stdout.splitlines()[2:] == [
        "test_base_ops.test_one: TestOne.test_x: passed, failed",
        "test_base_ops.test_one: TestOne.test_y: passed, absent",
        "test_base_ops.test_two: absent, no report: SIGKILL",
        "3 tests ended in another way",
    ]


def test_a_folder_without_reports_is_no_agreement(tmp_path: Path) -> None:
    done = compare(report(tmp_path / "a", ("test_x", "")), tmp_path)
    assert done.returncode == 1 and f"no reports in {tmp_path}" in done.stderr
