"""What scripts/vllm_ascend.sh prints: a row for each case, with the number of equal tokens or the log's first error."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # of pytest, before Python has one

ROOT = Path(__file__).resolve().parents[3]
OPTIONS = {"w8a8", "classifier", "encoder", "minicpm", "mtp", "eagle3", "pard", "embedding", "experts"}


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


@pytest.fixture
def ut(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "vllm_ascend"))
    yield importlib.import_module("ut"), importlib.import_module("report")
    for name in ("ut", "report"):
        del sys.modules[name]


def test_tests_of_a_folder_come_together_and_those_of_other_products_are_left_out(tmp_path: Path, ut) -> None:
    ut, _ = ut
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


TESTS = """
import os, sys, pytest, types
sys.modules["tests_of_vllm_ascend"] = types.ModuleType("left in place of a module")
@pytest.mark.parametrize("n", [1, 2])
def test_a_passes(n): assert "tests_of_vllm_ascend" in sys.modules
def test_b_differs(): assert 1 == 2
def test_c_crashes(): os.abort()
def test_d_skips(): pytest.skip("no such device")
def test_e_asks(): raise AttributeError("'_OpNamespace' '_C_ascend' object has no attribute 'npu_x'")
def test_f_fails_anyway(): raise RuntimeError("not initialized")
"""


RUN = """
import json, sys
from pathlib import Path
import ut
for name in sys.argv[1:]:
    print(json.dumps(ut.run_file(Path(name), Path.cwd(), Path("log"))))
assert "tests_of_vllm_ascend" not in sys.modules
"""


def test_each_test_of_vllm_ascend_has_its_end_and_the_table_says_whose_fault(tmp_path: Path, ut) -> None:
    (tmp_path / "test_tiny.py").write_text(TESTS)
    (tmp_path / "test_none.py").write_text("import no_such_module")
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "scripts" / "vllm_ascend"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-c", RUN, "test_tiny.py", "test_none.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True, timeout=120)
    lines, (none,) = map(json.loads, done.stdout.splitlines())
    ends = {line["test"].partition("::test_")[2]: line["outcome"] for line in lines}
    passed = dict.fromkeys(("a_passes[1]", "a_passes[2]"), "pass")
    assert ends == passed | {
        "b_differs": "fail", "c_crashes": "crash", "d_skips": "skip", "e_asks": "fail", "f_fails_anyway": "fail",
    }  # fmt: skip
    assert none["test"] == "the file" and none["outcome"] == "fail" and "no_such_module" in none["text"]
    header = {"file": "test_tiny.py", "checkout": "c0ffee", "vllm": "0.27.1"}
    for name, kept in (("out", lines), ("mocked", [line for line in lines if "f_fails" in line["test"]])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [header, *kept]))
    table = ut[1].table(tmp_path / "out", tmp_path / "mocked")
    assert "with vllm 0.27.1. Of 4 tests that a simulator can run, 2 passed (50.0 %)" in table
    assert "| passed |  | 2 |" in table and "| fails with the mocks, too | test | 1 |" in table
    assert "which CANN's compiler makes | environment | 1 |" in table and "| nothing explains it |  | 1 |" in table


def test_vllm_finds_the_plugin_of_the_end_to_end_tests(tmp_path: Path, ut, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "before")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "e2e", raising=False)
    importlib.import_module("e2e").lay_plugin(tmp_path)
    monkeypatch.delitem(sys.modules, "e2e")
    (found,) = importlib.metadata.distributions(path=[str(tmp_path)])
    (entry,) = found.entry_points.select(group="vllm.general_plugins")
    module, function = entry.value.split(":")
    assert f"def {function}" in (tmp_path / f"{module}.py").read_text()
    assert sys.path[0] == str(tmp_path) and os.environ["PYTHONPATH"] == f"{tmp_path}{os.pathsep}before"


@pytest.fixture
def plugin(ut):
    yield importlib.import_module("without_kernels")
    del sys.modules["without_kernels"]


def test_an_engine_keeps_its_own_handler_of_sigterm(plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    def of_torchair(number: int, frame: object) -> None: ...

    def own(number: int, frame: object) -> None: ...

    of_torchair.__module__ = "torchair.core._backend"
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(signal, "signal", signal.signal)
    try:
        signal.signal(signal.SIGTERM, of_torchair)
        plugin.keep_signals()
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        signal.signal(signal.SIGTERM, own)
        signal.signal(signal.SIGTERM, of_torchair)
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)


SPAWNS = """
import multiprocessing, os, sys, time

def within(queue):
    queue.put(("within", os.environ["ASKED"], os.getppid()))

def first(queue):
    print("the output of who asked", flush=True)
    inner = multiprocessing.get_context("spawn").Process(target=within, args=(queue,))
    inner.start()
    inner.join()
    queue.put(("first", os.environ["ASKED"], os.getppid()))
    sys.exit(3 + inner.exitcode)

if __name__ == "__main__":
    import quick_spawn

    kept, (ours, others) = os.dup(1), os.pipe()
    quick_spawn.begin()
    os.environ["ASKED"] = "later"
    os.dup2(others, 1)
    os.close(others)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=first, args=(queue,))
    process.start()
    (one, asked, helper), (two, *same) = queue.get(timeout=60), queue.get(timeout=60)
    process.join()
    assert [one, two, asked, helper] == ["within", "first", *same] and helper != os.getpid()
    assert process.exitcode == 3 and os.read(ours, 100) == b"the output of who asked\\n"
    os.dup2(kept, 1)
    sleeper = context.Process(target=time.sleep, args=(60,))
    sleeper.start()
    sleeper.terminate()
    sleeper.join()
    print(sleeper.exitcode)
"""


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="vLLM asks for an older Python")
def test_what_is_spawned_comes_from_the_helper_with_the_environment_and_output_of_who_asks(tmp_path: Path) -> None:
    (tmp_path / "spawns.py").write_text(SPAWNS)
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "scripts" / "vllm_ascend")}
    command = [sys.executable, str(tmp_path / "spawns.py")]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("-15\n", 0), done.stderr


def test_fusions_that_need_triton_are_off_unless_a_test_asks(plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    class Config:
        def __init__(self, fuse_qknorm_rope: bool = True, **more: bool) -> None:
            self.kept = {"fuse_qknorm_rope": fuse_qknorm_rope} | more

    module = types.ModuleType("vllm_ascend.ascend_config")
    module.AscendCompilationConfig = Config
    monkeypatch.setitem(sys.modules, "vllm_ascend", types.ModuleType("vllm_ascend"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    plugin.leave_out_fusions()
    assert Config().kept == {"fuse_qknorm_rope": False, "fuse_muls_add": False}
    assert Config(fuse_qknorm_rope=True).kept["fuse_qknorm_rope"]


def test_each_adapter_of_the_end_to_end_tests_is_for_a_kind_that_has_a_model() -> None:
    told = tomllib.loads((ROOT / "scripts" / "vllm_ascend" / "hub.toml").read_text())
    kinds = {description.split()[0] for description in told["models"].values()}
    options = {option for description in told["models"].values() for option in description.split()[1:]}
    assert set(told["adapters"].values()) <= kinds and options <= OPTIONS
