"""What scripts/ggml_backend.py makes of what ggml's tests print, also where one of them ends the process."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"

OPERATORS = """
case "$*" in *'?!'*) left_out=$*;; esac
for one in 'a=1,ne=[2,3]' 'a=2,ne=[2,3]' 'a=3' 'a=4'; do
    case "$left_out" in *"$(printf %s "$one" | sed 's/[][]/\\\\&/g')"*) continue;; esac
    case $one in
        a=2*) echo 'CANN error: [simulated Ascend] aclnnCat: refused' >&2; kill -ABRT $$;;
        a=3) echo "[CONCAT] ERR = 1 > 0.1   CONCAT($one): FAIL";;
        a=4) echo "  CONCAT($one): not supported [CANN0] ";;
        *) printf '  CONCAT(%s): \\033[1;32mOK\\033[0m\\n' "$one";;
    esac
done
echo '  Backend CANN0: FAIL'; exit 1
"""
MODELS = """
case "$*" in *'?!'*) left_out=$*;; esac
for one in llama openelm arcee t5; do
    case "$left_out" in *"$one"*) continue;; esac
    printf '|  %s|Ascend910B4| Dense|' $one
    [ $one != arcee ] || kill -ABRT $$
    [ $one = t5 ] && echo '  SKIP  |  SKIP|' || echo '  OK (4.66e-10)|   OK|'
    [ $one != llama ] || echo '|  llama|Ascend910B4|   MoE|  OK (1e-10)|   FAIL|'
done
"""


@pytest.fixture
def ggml(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("ggml_backend")


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/bash\n{text}")
    path.chmod(0o755)
    return path


def test_an_operator_that_ends_the_process_is_left_out_and_the_others_run(ggml: Any, tmp_path: Path) -> None:
    tests = ["a=1,ne=[2,3]", "a=2,ne=[2,3]", "a=3", "a=5"]
    found = ggml.compared(program(tmp_path, "test-backend-ops", OPERATORS), [], tests, dict(os.environ), 60)
    assert found == {
        "a=1,ne=[2,3]": ["equal", ""],
        "a=2,ne=[2,3]": ["stopped", "[simulated Ascend] aclnnCat: refused"],
        "a=3": ["differs", ""],
        "a=4": ["not supported", ""],
        "a=5": ["stopped", "it did not run"],
    }
    assert ggml.row("CONCAT", found) == (
        "| `CONCAT` | 1 | 1 | 2 | 1 differ, as `a=3`<br>`[simulated Ascend] aclnnCat: refused`<br>`it did not run` |"
    )


def test_a_model_that_ends_the_process_is_left_out(ggml: Any, tmp_path: Path) -> None:
    found = ggml.compared(program(tmp_path, "test-llama-archs", MODELS), [], [], dict(os.environ), 60)
    assert {name: became for name, (became, _) in found.items()} == {
        "llama Dense": "equal", "llama MoE": "differs", "openelm Dense": "equal", "arcee Dense": "stopped",
        "t5 Dense": "not supported",
    }  # fmt: skip


@pytest.mark.parametrize(("chinese", "begins"), [(False, "x: of 2 tests of operators"), (True, "x：该后端接受的 2 个")])
def test_the_table_counts_operators_without_models(ggml: Any, chinese: bool, begins: str) -> None:
    results = {
        "ADD": {"a": ["equal", ""], "b": ["differs", ""], "c": ["not supported", ""]},
        "NONE": {"a": ["not supported", ""]},
        ggml.ARCHS: {"llama Dense": ["equal", ""]},
    }
    lines = ggml.table(results, "x", chinese).splitlines()
    assert lines[0].startswith(begins)
    assert [line.split("|")[1].strip() for line in lines[4:]] == ["`ADD`", "`ARCHS`"]
