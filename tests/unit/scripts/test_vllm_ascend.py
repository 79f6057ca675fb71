"""What scripts/vllm_ascend.sh prints: a row for each case, with the number of equal tokens or the log's first error."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def run():
    specification = importlib.util.spec_from_file_location(
        "vllm_ascend_run", ROOT / "scripts" / "vllm_ascend" / "run.py"
    )
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # its dataclass asks for its module
    specification.loader.exec_module(module)
    yield module
    del sys.modules[specification.name]


class Runner:
    """In place of a start of vLLM: a status, and what was printed and logged."""

    def __init__(self, work: Path, status: int, printed: str, logged: str = "") -> None:
        self.work, self.status, self.printed, self.logged = work, status, printed, logged
        self.arguments: dict[str, object] = {}
        (work / "models" / "llama").mkdir(parents=True)
        (work / "models" / "llama" / "tokens.json").write_text(json.dumps({"tokens": [[1, 2], [3, 4]]}))

    def __call__(self, name: str, *command: str, devices: int = 1) -> subprocess.CompletedProcess[str]:
        self.arguments = json.loads(command[2]) | {"devices": devices}
        (self.work / f"{name}.log").write_text(self.logged)
        return subprocess.CompletedProcess(command, self.status, self.printed)


@pytest.mark.parametrize(
    ("printed", "equal"),
    [("a log\n[[1, 2], [3, 4]]\nan end\n", "all tokens"), ("[[1, 2], [3, 5]]\n", "3 of 4 tokens")],
)
def test_tokens_are_counted(run, tmp_path: Path, printed: str, equal: str) -> None:
    start = Runner(tmp_path, 0, printed)
    row = run.generate(start, run.Case("Llama, eager, 2 devices", "llama", run.EAGER, 2))
    assert row == {"ran": "Llama, eager, 2 devices", "equal": equal, "stops": ""}
    assert start.arguments["tensor_parallel_size"] == start.arguments["devices"] == 2


def test_what_stopped_is_the_first_error_of_the_log(run, tmp_path: Path) -> None:
    log = "(EngineCore pid=7) RuntimeError: aclnnNone is | not there\nvllm.EngineDeadError: see above\n"
    row = run.generate(
        Runner(tmp_path, 1, "", log), run.Case("Llama", "llama", run.graphs("PIECEWISE"), 1, "one bypass")
    )
    assert row == {
        "ran": "Llama (one bypass)", "equal": "no tokens", "stops": "RuntimeError: aclnnNone is / not there",
    }  # fmt: skip


def test_the_table_goes_between_the_pages_marks(run, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nold\n<!-- end of x -->\nb\n")
    run.put_into(page, "x", "new")
    assert page.read_text() == "a\n<!-- x -->\nnew\n<!-- end of x -->\nb\n"
    with pytest.raises(SystemExit, match="have to be there once"):
        run.put_into(page, "y", "new")


def test_tests_of_a_folder_come_together_and_those_of_other_products_are_left_out(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "vllm_ascend"))
    ut = importlib.import_module("ut")
    for name in ("ut", "run"):
        del sys.modules[name]
    for name in (
        "ops/test_b.py",
        "ops/deep/test_a.py",
        "ops/test_a.py",
        "ops/a5/test_a.py",
        "_310p/test_x.py",
        "ops/x.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [file.relative_to(tmp_path).as_posix() for file in ut.files(tmp_path, [])]
    assert found == ["ops/test_a.py", "ops/test_b.py", "ops/deep/test_a.py"]
    assert [file.name for file in ut.files(tmp_path, ["deep"])] == ["test_a.py"]
