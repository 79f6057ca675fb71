"""scripts/device_tests.py over a tiny file of tests, and the tables that scripts/device_tests_report.py makes."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
import device_tests
import device_tests_report

TESTS = """
import os, signal, time, unittest

class TestOneNPU(unittest.TestCase):
    def test_a_passes_npu(self): pass
    def test_b_fails_npu_float32(self):
        raise RuntimeError("161002 [simulated Ascend] aclnnAdd: self has data type DOUBLE; Ascend910B allows FLOAT")
    def test_c_crashes_npu(self): os.kill(os.getpid(), signal.SIGSEGV)
    def test_d_hangs_npu(self): time.sleep(60)
    def test_e_skips_npu(self): self.skipTest("no such device")
    def test_f_differs_npu(self): self.assertEqual(1, 2)
    def test_g_listed_npu_float64(self): self.fail("never run")

class TestTwoNPU(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise OSError("no device")
    def test_a_npu(self): pass
"""
LISTED = {
    "test_g_listed_npu_float64 (__main__.TestOnePRIVATEUSE1)": ["", [""]],
    "test_a_passes_npu (__main__.TestOnePRIVATEUSE1)": ["", ["910A"]],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("device_tests")
    (folder / "test_tiny.py").write_text(TESTS)
    listed = folder / device_tests.DISABLED
    listed.parent.mkdir()
    listed.write_text(json.dumps(LISTED))
    given = argparse.Namespace(out=folder, seconds=4, gigabytes=8, batch=3, every=1, only="", disabled=False)
    lines = device_tests.run_file(folder / "test_tiny.py", given, {})
    header = {"file": "test_tiny.py", "every": 1, "disabled": False}
    (folder / "test_tiny.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [header, *lines]))
    return folder


def test_each_test_has_its_end_and_a_crash_or_a_hang_ends_no_other(results: Path) -> None:
    lines = list(map(json.loads, (results / "test_tiny.jsonl").read_text().splitlines()))[1:]
    ends = {line["test"].partition(".")[2]: line["outcome"] for line in lines}
    assert ends == {
        "test_a_passes_npu": "pass",
        "test_b_fails_npu_float32": "fail",
        "test_c_crashes_npu": "crash",
        "test_d_hangs_npu": "time-out",
        "test_e_skips_npu": "skip",
        "test_f_differs_npu": "fail",
        "test_g_listed_npu_float64": "disabled",
        "test_a_npu": "fail",
    }
    said = {line["test"]: line.get("text", "") for line in lines}
    assert said["TestOneNPU.test_c_crashes_npu"] == "SIGSEGV" and "no device" in said["TestTwoNPU.test_a_npu"]


def test_a_table_counts_by_what_the_messages_mean(results: Path) -> None:
    found = device_tests_report.tables(results)
    columns = dict(zip(*(row.strip("| ").split(" | ") for row in found["files"].splitlines()[:3:2]), strict=True))
    assert (columns["disabled"], columns["skipped"], columns["pass"]) == ("1", "1", "1")
    assert (columns["refused"], columns["wrong"], columns["crash"], columns["time-out"]) == ("1", "2", "1", "1")
    assert "| refused | CANN's check of an aclnn operator | 1 | aclnnAdd 1 |" in found["reasons"]


def test_only_what_did_not_pass_runs_again(results: Path) -> None:
    given = argparse.Namespace(out=results, seconds=4, gigabytes=8, batch=9, every=1, only="", disabled=False)
    earlier = {
        f"TestOneNPU.test_{name}_npu": {"outcome": end} for name, end in (("a_passes", "fail"), ("c_crashes", "pass"))
    }
    lines = device_tests.run_file(results / "test_tiny.py", given, earlier)
    assert [line["outcome"] for line in lines] == ["pass", "pass"] and "seconds" in lines[0]
    assert "seconds" not in lines[1]
    given.disabled = True
    listed = device_tests.run_file(results / "test_tiny.py", given, {})
    assert [(line["test"], line["outcome"]) for line in listed] == [("TestOneNPU.test_g_listed_npu_float64", "fail")]


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"has no results of device_tests\.py"):
        device_tests_report.main([str(tmp_path)])
