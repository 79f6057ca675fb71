"""A number and what it counts: one problem, two problems."""

import re
from pathlib import Path

import pytest

import ophook_npu
from ophook_npu.plural import counted

# A number in a text, and behind it a noun with an s. "2 of 3 files" counts the files that there are.
COUNT = re.compile(
    r"(?<!of )(?<!of the )\{(?:len\([^{}]*\)|self\.(?:seen|found|hits|dropped))(?::,)?\} (?:[a-z]+ )?[a-z]+s\b"
)


@pytest.mark.parametrize(("number", "text"), [(0, "0 calls"), (1, "1 call"), (2, "2 calls"), (4096, "4,096 calls")])
def test_a_number_and_what_it_counts(number: int, text: str) -> None:
    assert counted(number, "call") == text


def test_no_text_has_a_plural_that_one_would_break() -> None:
    assert counted(1, "batch", "batches") == "1 batch" and counted(2, "batch", "batches") == "2 batches"
    assert COUNT.search('f"{len(names)} functions"') and not COUNT.search('f"{done} of {len(names)} files"')
    found = [
        f"{path.name}: {line.strip()}"
        for path in Path(ophook_npu.__file__).parent.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if COUNT.search(line)
    ]
    assert found == []
