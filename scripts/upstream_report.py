"""Count the results of scripts/upstream_tests.sh and group the failures by reason: `upstream_report.py FOLDER`."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from pathlib import Path

# What a failure's text says, and what that means. The first that matches counts.
REASONS = [
    (r"the aclop operator (\w+) is not implemented", "aclop operator not simulated"),
    (r"(acl\w+) or \w+ not in libopapi", "aclnn operator not simulated"),
    (r"\[simulated Ascend\] (\w+)[^\n]* is not simulated", "a case of an operator not simulated"),
    (r"\[simulated Ascend\] (acl\w+):", "refused by an operator of the simulator"),
    (r"\[simulated Ascend\] ([^\n]{0,60})", "refused by the simulator otherwise"),
    (r"(?:ModuleNotFoundError|ImportError): ([^\n]{0,60})", "a module is missing"),
    (r"has no attribute '(\w+)'", "the wheel lacks the API"),
    (r"(result error|not close|Not Equal|AssertionError)", "a result differs"),
    (r"(\w+(?:Error|Exception))", "another error"),
]


def reason(text: str) -> tuple[str, str]:
    for pattern, meaning in REASONS:
        found = re.search(pattern, text)
        if found:
            return meaning, found.group(1)
    return "another error", text.strip().splitlines()[-1][:60] if text.strip() else ""


def main(folder: Path) -> int:
    counts: Counter[str] = Counter()
    details: dict[str, Counter[str]] = defaultdict(Counter)
    for report in sorted(folder.glob("*.xml")):
        for case in ElementTree.parse(report).iter("testcase"):
            outcome = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
            if outcome is None:
                counts["passed"] += 1
            elif outcome.tag == "skipped":
                counts["skipped"] += 1
            else:
                meaning, what = reason((outcome.get("message") or "") + "\n" + (outcome.text or ""))
                counts[meaning] += 1
                details[meaning][what] += 1
    died = sorted(path.stem for path in folder.glob("*.died"))
    print("| outcome | tests | of what |\n|---|---:|---|")
    for outcome, number in counts.most_common():
        most = ", ".join(f"{name} {times}" for name, times in details[outcome].most_common(12))
        print(f"| {outcome} | {number} | {most} |")
    if died:
        print(f"| process died or timed out | {len(died)} files | {', '.join(died)} |")
    return 0 if counts else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
