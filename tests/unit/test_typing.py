"""What a type checker and an editor see of the installed package, from outside."""

import importlib
import os
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

import ophook_npu
from ophook_npu import OphookError, hooks, observe
from ophook_npu.hooks import _choose, _protocol

PROGRAM = """
import ophook_npu
from ophook_npu import hook, observe, ops, swap

reveal_type(ophook_npu.hook)
reveal_type(ophook_npu.swap)
reveal_type(swap("aten::add", "aten::mul").report())
reveal_type(ophook_npu.kernel.load("project").findings)
reveal_type(ophook_npu.sim.enable())
reveal_type(ophook_npu.ops.Operator)
reveal_type(observe.Stats("aten::mm", modules="layers.*", phase="forward", by_module=True).report())
reveal_type(ops.same_as)
hook("aten::mm", before=print, devices=["cpu"])
ophook_npu.hok  # wrong
observe.Stats(modul="layers.*")  # wrong
observe.Log(phase="forwards")  # wrong
hook("aten::mm", before=print, device=["cpu"])  # wrong
ophook_npu.sim.take_out  # wrong
"""
# Types of torch are not what is looked at, and following its imports takes most of a minute.
SETTINGS = "[mypy]\n[mypy-torch.*,torch_npu.*,numpy.*]\nfollow_imports = skip\nignore_missing_imports = true\n"


@pytest.mark.parametrize("found", ["by MYPYPATH", "where it is installed"])
def test_public_names_have_types_outside_the_checkout(found: str, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    installed = any(one.read_text("RECORD") for one in distributions(name="ophook-npu"))
    if found == "where it is installed" and not installed:
        pytest.skip("it is on PYTHONPATH")
    package = Path(ophook_npu.__file__).parent
    assert (package / "py.typed").is_file()
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "ophook_npu").symlink_to(package)
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "program.py").write_text(PROGRAM)
    (tmp_path / "user" / "mypy.ini").write_text(SETTINGS)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-color-output", "--cache-dir", str(tmp_path / "cache"), "program.py"],
        cwd=tmp_path / "user", capture_output=True, text=True,
        env=os.environ | ({"MYPYPATH": str(tmp_path / "site")} if found == "by MYPYPATH" else {}),
    )  # fmt: skip
    told = [line for line in done.stdout.splitlines() if line.startswith("program.py")]
    revealed = [line.split("Revealed type is ")[1].strip('"') for line in told if "Revealed" in line]
    assert len(revealed) == PROGRAM.count("reveal_type") and "Any" not in revealed, done.stdout
    assert revealed[0].startswith("def (target: Any, *, replace: ") and "-> ophook_npu.hooks._hook.Hook" in revealed[0]
    assert revealed[1].endswith("-> ophook_npu.hooks._swap.Swap") and revealed[2] == "str"
    assert "list[ophook_npu.kernel.findings.Mistake]" in revealed[3] and revealed[4] == "pathlib.Path"
    wrong = [int(line.split(":")[1]) for line in told if " error: " in line]
    assert wrong == [n for n, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")], done.stdout


def test_dir_is_what_users_call() -> None:
    packages = [name for name in ophook_npu.__all__ if (Path(ophook_npu.__file__).parent / name).is_dir()]
    assert {"hooks", "observe", "kernel", "sim", "npu", "ops"} <= set(packages)
    assert dir(ophook_npu) == sorted(ophook_npu.__all__)
    for name in packages:
        module = getattr(ophook_npu, name)
        assert module is importlib.import_module(f"ophook_npu.{name}") and dir(module) == sorted(module.__all__), name
        assert not [one for one in module.__all__ if not hasattr(module, one)], name
    assert {"active", "build", "check_order", "enable", "fault", "info", "operators"} <= set(dir(ophook_npu.sim))
    for name in ("Call", "Hook", "MissWarning", "Swap", "hook", "original", "swap"):
        assert getattr(ophook_npu, name) is getattr(hooks, name)


def test_the_typed_keywords_are_those_of_the_mechanisms() -> None:
    mechanisms = [_choose.mechanism(name) for name in _choose.MECHANISMS]
    assert {option for one in mechanisms for option in one.OPTIONS} == set(_protocol.MechanismOptions.__annotations__)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: observe.Stats(modul="x"), r"\[stats\] unknown keyword 'modul', did you mean 'modules'\?"),
        (lambda: observe.Capture("x", per_operators=1), "unknown keyword 'per_operators', did you mean 'per_operator'"),
        (lambda: observe.Profile(by_modul=True, via="record_function"), "did you mean 'by_module'"),
        (lambda: ophook_npu.hook("aten::mm", befor=print), "unknown keyword 'befor', did you mean 'before'"),
        (lambda: ophook_npu.hook("aten::mm", before=print, device="cpu"), "did you mean 'devices'"),
    ],
)
def test_a_misspelled_keyword_names_the_nearest(make, told) -> None:
    with pytest.raises(OphookError, match=told):
        make()
