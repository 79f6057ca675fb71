"""`op new`: what it makes passes `op check` as it is, for schemas of every kind."""

import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.ops.check import check
from ophook_npu.ops.load import load
from ophook_npu.ops.new import write

SCHEMAS = {
    "one": "(Tensor x) -> Tensor",
    "two": "(Tensor a, Tensor b) -> Tensor",
    "attributes": "(Tensor x, float scale, int dim=-1, bool flag=False, str mode='a', int[] sizes=[1, 2]) -> Tensor",
    "several": "(Tensor x, Tensor? bias=None, *, float eps=1e-6) -> (Tensor, Tensor)",
    "list": "(Tensor x, Tensor[] rest) -> Tensor",
    "in_place": "(Tensor(a!) cache, Tensor updates) -> ()",
    "numbers": "(Tensor x, Scalar alpha=1, *, float[] weights=[0.5, 1.0], ScalarType dtype=6) -> Tensor",
    "by_keyword": "(Tensor x, *, Tensor(a!) out) -> ()",
    "attention": "(Tensor q, Tensor k, Tensor v, int heads=8, bool causal=True) -> (Tensor out, Tensor lse)",
}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_new_operator_passes_as_generated(kind: str, tmp_path: Path) -> None:
    name = f"new_{kind}"
    write(f"mylib::{name}", SCHEMAS[kind], tmp_path)
    (op,) = load(str(tmp_path / name / "operator.py"))
    assert [f"{o.check}: {o.reason}" for o in check(op) if o.status == "fail"] == []


def test_its_own_tests_pass_when_installed(tmp_path: Path) -> None:
    write("mylib::new_installed", "(Tensor x, Tensor y) -> Tensor", tmp_path)
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests"], cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},  # a shell in which nothing was set
    )  # fmt: skip
    assert result.returncode == 0 and "12 passed, 5 skipped" in result.stdout, result.stdout


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(OphookError, match="the name is 'Scale'"):
        write("Scale", "(Tensor x) -> Tensor", tmp_path)
    with pytest.raises(OphookError, match="does not parse"):
        write("mylib::scale", "(Tensor x -> Tensor", tmp_path)
    with pytest.raises(OphookError, match="there is no Tensor argument"):
        write("mylib::scale", "(int n) -> Tensor", tmp_path)
    with pytest.raises(OphookError, match=r"argument d is Device; allowed: Tensor, Tensor\?, Tensor\[\], int, float"):
        write("mylib::scale", "(Tensor x, Device d) -> Tensor", tmp_path)
    with pytest.raises(OphookError, match=r"argument eps is float\?; .*next: give it a default instead of \?"):
        write("mylib::scale", "(Tensor x, float? eps=None) -> Tensor", tmp_path)
    for result in ("Tensor[]", "(Tensor, int)"):
        with pytest.raises(OphookError, match=r"result . is (Tensor\[\]|int); allowed: Tensor"):
            write("mylib::scale", f"(Tensor x) -> {result}", tmp_path)
    with pytest.raises(OphookError, match="an argument is called 'mode', a name that torch itself uses; allowed: any"):
        write("mylib::scale", "(Tensor(a!) x, str mode='set') -> ()", tmp_path)
    (tmp_path / "mine").write_text("")
    with pytest.raises(OphookError, match="is there and not empty"):
        write("mylib::scale", "(Tensor x) -> Tensor", tmp_path)
